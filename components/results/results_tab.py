"""The Results tab: one view of the selected study at a time, with a common filter bar."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import (
    ALL_CHOICE,
    COUNTING_RULES,
    STUDY_RULE,
    WITH_SUSPECTS,
    WITHOUT_SUSPECTS,
    Filter,
    filter_choices,
    machine_rows,
    row_names,
    rule_text,
    shown_contestants,
)
from components.filtering.raters import accuracy_label
from components.filtering.related_studies import related_studies
from components.html.markup import Markup
from components.html.panel import data_note, finding_html
from components.inspect.url_selection import NO_SUSPECTS, Selection, parse_selection
from components.layout.header import Header
from components.layout.widgets import ClickableHTML, Switch
from components.results import active_run_tab
from components.results.active_run_tab import RunFollower, mark_partial, run_progress
from components.results.agreement import tab as agreement_tab
from components.results.bias import panels as bias_view
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.cards import tab as cards_tab
from components.results.contrasts import tab as contrasts_tab
from components.results.injection.effect_on_numbers import suspects_notice
from components.results.overview import tab as overview_tab
from components.results.pass_fail import tab as pass_fail_tab
from components.results.pass_fail.computed import has_pass_fail
from components.results.pass_fail.scores import tab as scores_tab
from components.results.pass_fail.scores.computed import has_only_points, has_scores
from components.results.protocol import tab as protocol_tab
from components.results.ranking import tab as ranking_tab
from components.results.remedies import tab as remedies_tab
from components.results.view_contract import ViewParts, pick_choice
from components.results.wins import tab as wins_tab
from components.server.gradio_private import set_scripts
from judges.engine.engine import Engine
from metrics.agreement.pairwise_agreement import PEOPLE
from studies.frames.frame import SUSPECT_COLUMN
from studies.store.ballot_queries import verification_stamp
from studies.store.store import Store

VIEWS: Final[dict[str, Any]] = {
    module.NAME: module
    for module in (
        overview_tab,
        bias_tab,
        ranking_tab,
        agreement_tab,
        remedies_tab,
        wins_tab,
        contrasts_tab,
        cards_tab,
        protocol_tab,
        pass_fail_tab,
        scores_tab,
    )
}
POINT_VIEWS: Final = (pass_fail_tab.NAME, scores_tab.NAME)
"""Views of verdicts on single answers."""
PAIR_VIEWS: Final = tuple(name for name in VIEWS if name not in POINT_VIEWS)
"""Views of studies whose judges compare answers."""
QUIET_EVENT: Final[dict[str, Any]] = {
    "show_progress": "hidden",
    "trigger_mode": "always_last",
    "api_visibility": "private",
}
FILTER_NAMES: Final = ("judge", "prompt", "category", "contestants", "rule", "suspects")
_DRAW_SLOTS: Final = threading.BoundedSemaphore(2)
"""At most two views are drawn at once: more threads would only delay each other."""
FIXED_CHOICES: Final = {
    "rule": [STUDY_RULE, *COUNTING_RULES],
    "suspects": [WITH_SUSPECTS, WITHOUT_SUSPECTS],
}
"""Filters with the same choices for every study."""


_MORE_MENU: Final = Markup(
    '<div class="eh"><details class="eh-pop" data-more-views><summary class="eh-btn">More'
    '</summary><div class="list"></div></details></div>'
)
"""Menu of the views that the switch does not show; the page fills it when it opens."""
_FILTER_PILL: Final = Markup(
    '<div class="eh"><button type="button" class="eh-btn" data-unfold="#eh-filter-box" '
    'aria-expanded="false" aria-controls="eh-filter-box">Filter</button>'
    '<span id="eh-filter-active"></span></div>'
)
"""Button that shows the filters, and the values of those in use."""


@dataclass(frozen=True)
class ResultsTab:
    view: gr.Radio
    filters: list[gr.Dropdown]
    """The filter menus, in the order of Filter's fields."""
    finding: gr.HTML
    kpis: gr.HTML
    pages: gr.Tabs
    parts: dict[str, ViewParts]
    data: gr.HTML
    draw_buttons: dict[str, gr.Button]
    """One hidden button per view; the page presses that of the view in sight. Separate buttons
    keep the outputs of each event few, as Gradio updates all of them, visible or not."""
    request_text: gr.Textbox
    """Hidden text box for the values of `inputs` as one JSON text, since every Gradio input costs
    time. It stays empty; the page replaces its value when it sends an event."""
    follower: RunFollower

    @property
    def clickable(self) -> list[gr.HTML]:
        """HTML components in which a click on a mark selects judgements."""
        marks = [mark for parts in self.parts.values() for mark in parts.clickable]
        return [self.kpis, *marks]

    @property
    def controls(self) -> dict[str, Any]:
        """Controls of all views by name; names are unique because they are also address
        parameters."""
        return {k: v for parts in self.parts.values() for k, v in parts.controls.items()}

    @property
    def inputs(self) -> list[Any]:
        """Inputs of `render_view`: the view, the filters and the controls."""
        return [self.view, *self.filters, *self.controls.values()]

    def view_outputs(self, view: str) -> list[Any]:
        """Outputs of `render_view` for one view."""
        return [self.finding, self.kpis, *self.parts[view].outputs, self.data]

    def session_states(self, view: str) -> dict[str, gr.State]:
        """Controls of a view whose values are stored in the Gradio session instead of on the
        page."""
        return {k: v for k, v in self.parts[view].controls.items() if isinstance(v, gr.State)}

    @property
    def settings(self) -> list[Any]:
        """Outputs of `initial_controls`, which are the same components as `inputs`."""
        return self.inputs


def build() -> ResultsTab:
    names = list(VIEWS)
    with gr.Row(elem_classes="eh-panel-head eh-filters"):
        view = Switch(names, "View", elem_id="eh-results-view")
        ClickableHTML(_MORE_MENU, elem_id="eh-results-more")
        judge = _filter_dropdown(FILTER_NAMES[0])
        ClickableHTML(_FILTER_PILL, elem_id="eh-filter-pill")
        with gr.Column(elem_id="eh-filter-box"):
            others = [_filter_dropdown(name) for name in FILTER_NAMES[1:]]
        filters = [judge, *others]
    finding = ClickableHTML(elem_id="eh-results-finding")
    kpis = ClickableHTML()
    parts = {}
    with gr.Tabs(selected=names[0], elem_classes="eh-view") as pages:
        for name, module in VIEWS.items():
            with gr.Tab(name, id=name):
                parts[name] = module.build()
    draw = {
        name: gr.Button(f"Draw {name}", visible="hidden", elem_id=f"eh-draw-{place}", render=False)
        for place, name in enumerate(names)
    }
    request_text = gr.Textbox(visible="hidden", elem_id="eh-asked", label="Asked", render=False)
    return ResultsTab(
        view, filters, finding, kpis, pages, parts, ClickableHTML(), draw, request_text,
        active_run_tab.build(),
    )  # fmt: skip


def render_hidden(tab: ResultsTab) -> None:
    """Render the hidden components outside all tabs, because the content of a tab exists only once
    it is opened."""
    for part in (*tab.draw_buttons.values(), tab.request_text, *tab.follower.hidden):
        part.render()


def _filter_dropdown(name: str) -> gr.Dropdown:
    several = name == "contestants"
    known = FIXED_CHOICES.get(name, [ALL_CHOICE])
    return gr.Dropdown(
        [] if several else known,
        value=[] if several else known[0],
        multiselect=several,
        label=name.capitalize(),
        visible=name != "suspects",
        show_label=False,
        container=False,
        interactive=True,
        elem_classes="eh-filter",
        elem_id=f"eh-filter-{name}",
    )


def bind(tab: ResultsTab, header: Header, store: Store, engine: Engine | None = None) -> None:
    """Connect the events: a filter redraws the whole view, a control redraws only its own outputs.

    With an engine, views are also redrawn during its active runs.
    """
    for name in tab.draw_buttons:
        _bind_view(tab, header, store, engine, name)
    if engine:
        _bind_refresh(tab, header, store)
    controls: list[Any] = [tab.view, *tab.filters]
    for control in controls:
        script = _single_control_script(tab, control, draw_script(tab, changed=True))
        if control is tab.view:  # chosen before the study is shown: applied when it is
            script = f"view => {{ evenhand.chooseView(view); ({script})(view); }}"
        control.input(None, control, None, js=script)
    tab.view.change(None, tab.view, tab.pages, js="view => ({__type__: 'update', selected: view})")
    for name, parts in tab.parts.items():
        for control_name in parts.controls:
            _bind_control(tab, header, store, name, control_name)
        if hasattr(VIEWS[name], "bind"):
            VIEWS[name].bind(parts)


def _bind_view(
    tab: ResultsTab, header: Header, store: Store, engine: Engine | None, view: str
) -> None:
    states = tab.session_states(view)

    def redraw(name: str, request_text: str, *state_values: Any) -> list[Any]:
        session_values = dict(zip(states, state_values, strict=True))
        values = parse_request(tab, request_text, session_values)
        progress = run_progress(engine, name)
        drawn = mark_partial(render_view(store, name, tab, view, values), progress)
        return [gr.Timer(active=progress is not None), *drawn]

    inputs = [header.study, tab.request_text, *states.values()]
    outputs = [tab.follower.timer, *tab.view_outputs(view)]
    tab.draw_buttons[view].click(redraw, inputs, outputs, **QUIET_EVENT).then(
        None, None, None, js="() => evenhand.drawing(false)"
    )


def _bind_refresh(tab: ResultsTab, header: Header, store: Store) -> None:
    """During a run, update the choices of the menus, which grow with the verdicts, and redraw the
    view."""
    columns = ("judge", "prompt", "category", "contestants")
    menus = [tab.filters[FILTER_NAMES.index(name)] for name in columns]
    views = [name for name, module in VIEWS.items() if hasattr(module, "available_choices")]

    def refresh(name: str) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        whole = FilteredStudy(store, name)
        known = {one: filter_choices(whole.unfiltered_frame, one) for one in columns[:-1]}
        known["contestants"] = shown_contestants(whole.unfiltered_frame)
        found = [VIEWS[view].available_choices(whole) for view in views]
        return active_run_tab.choice_updates(known, {k: v for one in found for k, v in one.items()})

    switches = [tab.controls[k] for view in views for k in VIEWS[view].CHANGING_CONTROLS]
    outputs = [*menus, *switches]
    active_run_tab.bind_timer(tab.follower)
    tab.follower.refresh.click(refresh, header.study, outputs, **QUIET_EVENT).then(
        None, None, None, js=redraw_script(tab)
    )


def bind_request_text(blocks: gr.Blocks, tab: ResultsTab) -> None:
    """Make every event with the input `request_text` send the page's filter and control values as
    JSON. Call this after all events are bound."""
    set_scripts(
        blocks,
        tab.request_text,
        lambda place: f"(...values) => values.with({place}, evenhand.asked ?? '')",
    )


def parse_request(
    tab: ResultsTab, request_text: str, session_values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Read the values of `tab.inputs` from the JSON text that the page sent.

    `session_values`: controls stored in the session; they replace those in the text.
    """
    parts = tab.inputs
    if not request_text:
        return tuple(part.value for part in parts)
    try:
        values = json.loads(request_text)
    except ValueError:
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(parts)
        or not all(
            _is_valid_value(part.value, value) for part, value in zip(parts, values, strict=True)
        )
    ):
        raise gr.Error("The request is not valid. Reload the page.", duration=None)
    first = len(values) - len(tab.controls)
    named = dict(zip(tab.controls, values[first:], strict=True))
    return (*values[:first], *{**named, **(session_values or {})}.values())


def _is_valid_value(start: Any, value: Any) -> bool:
    """Whether a value has the type of the control's initial value: a text, or a list of texts."""
    if isinstance(start, list):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def _bind_control(
    tab: ResultsTab, header: Header, store: Store, view: str, control_name: str
) -> None:
    parts = tab.parts[view]
    outputs, draw = parts.partial_redraws.get(control_name, (parts.outputs, VIEWS[view].render))

    states = tab.session_states(view)

    def redraw(name: str, request_text: str, *state_values: Any) -> list[Any]:
        session_values = dict(zip(states, state_values, strict=True))
        # Gradio reports a new session state as changed; it is still empty.
        if not name or session_values.get(control_name, True) is None:
            return [gr.skip()] * len(outputs)
        _, chosen, controls = split_values(tab, parse_request(tab, request_text, session_values))
        mine = {k: controls[k] for k in parts.controls}
        return list(draw(FilteredStudy(store, name, chosen), **mine))

    control = parts.controls[control_name]
    listen = control.input if hasattr(control, "input") else control.change  # a gr.State
    # Bound first: the redraw reads the request text that this script writes.
    listen(None, control, None, js=_single_control_script(tab, control, address_script(tab)))
    inputs = [header.study, tab.request_text, *states.values()]
    listen(redraw, inputs, outputs, **QUIET_EVENT)


def _single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """Adapt a script that takes all values to the event of one control; the page keeps the other
    values.

    The event has one input only, because Gradio searches its whole component tree for each input.
    """
    place = tab.inputs.index(control)
    values = "evenhand.held"
    return f"value => {values} && void ({script})(...{values}.with({place}, value))"


def address_script(tab: ResultsTab) -> str:
    """JavaScript that writes the values that differ from their defaults into the page address.

    It also keeps the values on the page, as the text that `request_text` sends.
    """
    names = json.dumps(["view", *FILTER_NAMES, *tab.controls])
    starts = json.dumps([part.value for part in tab.inputs])
    return (
        f"(...values) => {{ evenhand.scope('results', {names}, {starts}, values); "
        "evenhand.held = values; evenhand.asked = JSON.stringify(values); }"
    )


def draw_script(tab: ResultsTab, *, opening: bool = False, changed: bool = False) -> str:
    """JavaScript that writes the page address and draws the visible view.

    `opening`: the Results tab was opened. Nothing is drawn until its controls have been set for a
    study; setting them draws the view. `changed`: draw only if the values differ from the last
    ones, because Gradio's menus report one choice twice.
    """
    before = "evenhand.asked" if changed else "null"
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    settled = "evenhand.settled" if opening else "(evenhand.settled = true)"
    return (
        f"(...values) => {{ if (!{settled}) return; "
        f"const before = {before}; ({address_script(tab)})(...values); "
        "if (evenhand.asked === before) return; "
        "if (evenhand.earlyView(values[0])) return; "
        f"evenhand.draw({places}[values[0]]); }}"
    )


def redraw_script(tab: ResultsTab) -> str:
    """JavaScript that draws the visible view again, without the message that it is being drawn."""
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    return f"() => evenhand.held && document.querySelector({places}[evenhand.held[0]])?.click()"


def split_values(tab: ResultsTab, values: tuple[Any, ...]) -> tuple[str, Filter, dict[str, Any]]:
    """View, filter and controls, taken from the values of `tab.inputs`."""
    view, judge, prompt, category, contestants, rule, suspects, *rest = values
    chosen = Filter(
        judge or ALL_CHOICE,
        prompt or ALL_CHOICE,
        category or ALL_CHOICE,
        tuple(contestants or ()),
        rule or STUDY_RULE,
        suspects or WITH_SUSPECTS,
    )
    return view, chosen, dict(zip(tab.controls, rest, strict=True))


def render_view(
    store: Store, name: str, tab: ResultsTab, view: str, values: tuple[Any, ...]
) -> list[Any]:
    """Draw one view from the values of `tab.inputs`; the other views stay unchanged."""
    if not name:
        return [gr.skip()] * len(tab.view_outputs(view))
    _, chosen, controls = split_values(tab, values)
    mine = {k: controls[k] for k in tab.parts[view].controls}
    serialised = json.dumps(mine, default=str)
    if json.loads(serialised) != mine:  # a setting that JSON cannot hold: not cached
        return render_panels(FilteredStudy(store, name, chosen), view, mine)
    context = (related_studies(store, name), verification_stamp(store.read_connection, name))

    def draw() -> list[Any]:
        with _DRAW_SLOTS:
            return render_panels(FilteredStudy(store, name, chosen), view, mine)

    version = (store.version(name), context)
    return list(store.memoised(name, ("view", view, chosen, serialised), draw, version))


def study_finding(store: Store, name: str) -> str:
    """Headline of a study without filters, which is the headline of its first view."""
    whole = FilteredStudy(store, name)
    return str(VIEWS[offered_views(whole)[0]].finding(whole)[0])


def render_panels(
    filtered_study: FilteredStudy, view: str, controls: Mapping[str, Any]
) -> list[Any]:
    module = VIEWS[view]
    panels = module.render(filtered_study, **controls)
    kpis = getattr(module, "kpis", default_kpis)
    title, lead = module.finding(
        filtered_study
    )  # empty if the view draws a finding that its controls change
    headline = finding_html(title, lead) if title else ""
    return [
        headline,
        suspects_notice(filtered_study) + kpis(filtered_study),
        *panels,
        show_data_note(filtered_study),
    ]


def default_kpis(filtered_study: FilteredStudy) -> Markup:
    return bias_view.default_kpis_html(
        load_bias(filtered_study), right=accuracy_label(filtered_study)
    )


def mark_selection(filtered_study: FilteredStudy, mark: Any) -> Selection:
    """Selection for Inspect of the judgements behind a clicked mark, within the current filters."""
    data = mark.get("customdata", mark) if isinstance(mark, dict) else {}
    filters = {
        k: v
        for k, v in asdict(filtered_study.filter).items()
        if k in ("judge", "prompt", "category")
    }
    values = {k: v for k, v in filters.items() if v != ALL_CHOICE}
    if len(filtered_study.filter.contestants) == 1:
        values["contestant"] = filtered_study.filter.contestants[0]
    if filtered_study.filter.suspects == WITHOUT_SUSPECTS:
        values["suspect"] = NO_SUSPECTS
    values |= {k: v for k, v in data.items() if v != "All"} if isinstance(data, dict) else {}
    if values.get("row") == PEOPLE:  # people against a judge: select that judge against people
        values["row"], values["unlike"] = values.get("unlike", ""), PEOPLE
    if "row" in values:
        frames = (machine_rows(filtered_study.unfiltered_frame), filtered_study.machines)
        by_row = {row: cell for rows in frames for cell, row in row_names(rows).items()}
        judge_and_prompt = by_row.get(str(values.pop("row")), ("", ""))
        values["judge"], values["prompt"] = judge_and_prompt
    if (
        values.get("judge") == PEOPLE
        and filtered_study.unfiltered_frame is not filtered_study.stored_frame
    ):
        del values["judge"]  # people are the only judges: select all of them
    if "opponent" in values:
        values["against"] = values.pop("opponent")
    return parse_selection({**values, "study": filtered_study.name})


def initial_controls(
    store: Store, name: str, tab: ResultsTab, wanted: Mapping[str, str]
) -> list[Any]:
    """Values of filters and controls for a study; taken from the page address if they exist in the
    study."""
    whole = FilteredStudy(store, name)
    frame = whole.unfiltered_frame
    contestants = shown_contestants(frame)
    chosen = [n for n in wanted.get("contestants", "").split(",") if n in contestants]
    singles = []
    for column in ("judge", "prompt", "category"):
        known = filter_choices(frame, column)
        singles.append(gr.Dropdown(choices=known, value=pick_choice(wanted.get(column), known)))
    suspicious = SUSPECT_COLUMN in frame
    left_out = (
        pick_choice(wanted.get("suspects"), FIXED_CHOICES["suspects"])
        if suspicious
        else WITH_SUSPECTS
    )
    controls: dict[str, Any] = {}
    for view, parts in tab.parts.items():
        if hasattr(VIEWS[view], "initial_controls"):
            controls |= VIEWS[view].initial_controls(whole, wanted)
        controls |= {k: gr.skip() for k in parts.controls if k not in controls}
    return [
        _view_switch(whole, wanted),
        *singles,
        gr.Dropdown(choices=contestants, value=chosen),
        gr.Dropdown(value=pick_choice(wanted.get("rule"), FIXED_CHOICES["rule"])),
        gr.Dropdown(value=left_out, visible=suspicious),
        *(controls[k] for k in tab.controls),
    ]


def _view_switch(filtered_study: FilteredStudy, wanted: Mapping[str, str]) -> gr.Radio:
    """The switch of views, set to the view that the address names.

    An address without a view but with a control of Position bias was made when that was the first
    view, so it opens that view.
    """
    older = any(name in wanted for name in ("measure", "columns"))
    asked = wanted.get("view") or (bias_tab.NAME if older else None)
    names = offered_views(filtered_study, asked)
    return gr.Radio(choices=names, value=pick_choice(asked, names))


def offered_views(whole: FilteredStudy, asked: str | None = None) -> list[str]:
    """Names of the views that have data to show: pass/fail verdicts have no pairs, and pairs have
    no labels.

    Protocol is offered only with a preset, or if the address names it.
    """
    points = [pass_fail_tab.NAME] if has_pass_fail(whole) else []
    points += [scores_tab.NAME] if has_scores(whole) else []
    if has_only_points(whole):
        return points
    protocol = bool(whole.study.preset) or asked == protocol_tab.NAME
    pairs = [name for name in PAIR_VIEWS if name != protocol_tab.NAME or protocol]
    return [*pairs, *points]


def show_data_note(filtered_study: FilteredStudy) -> Markup:
    """HTML note on the data: number of judgements, real and simulated judges, counting rule."""
    simulated = [judge.name for judge in filtered_study.study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in filtered_study.study.judges if judge.kind != "simulated"]
    parts = [f"{load_bias(filtered_study).calls:,} judgements of {filtered_study.name}."]
    if real:
        parts.append(f"Real replies: {', '.join(real)}.")
    if simulated:
        parts.append(f"Simulated judges, with known parameters: {', '.join(simulated)}.")
    if filtered_study.rule != ("pooled", "exclude"):
        parts.append(rule_text(*filtered_study.rule))
    return data_note(" ".join(parts))
