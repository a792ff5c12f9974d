"""Results: one view at a time of the study in the header, through one bar of filters."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
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
    shown_contestants,
)
from components.filtering.raters import accuracy_label
from components.filtering.related_studies import related_studies
from components.html.panel import data_note, finding_html
from components.inspect.url_selection import NO_SUSPECTS, Selection, parse_selection
from components.layout.header import Header
from components.layout.widgets import ClickableHTML, Switch
from components.results.agreement import tab as agreement_tab
from components.results.bias import panels as bias_view
from components.results.bias import tab as bias_tab
from components.results.bias.computed import load_bias
from components.results.cards import tab as cards_tab
from components.results.contrasts import tab as contrasts_tab
from components.results.injection.effect_on_numbers import suspects_notice
from components.results.protocol import tab as protocol_tab
from components.results.ranking import tab as ranking_tab
from components.results.view_contract import ViewParts, pick_choice
from components.results.wins import tab as wins_tab
from metrics.agreement.pairwise_agreement import PEOPLE
from studies.frames.frame import SUSPECT_COLUMN
from studies.people.verifications import verification_stamp
from studies.store.store import Store

VIEWS: Final[dict[str, Any]] = {
    module.NAME: module
    for module in (
        bias_tab,
        ranking_tab,
        wins_tab,
        agreement_tab,
        contrasts_tab,
        cards_tab,
        protocol_tab,
    )
}
QUIET_EVENT: Final[dict[str, Any]] = {
    "show_progress": "hidden",
    "trigger_mode": "always_last",
    "api_visibility": "private",
}
FILTER_NAMES: Final = ("judge", "prompt", "category", "contestants", "rule", "suspects")
_DRAW_SLOTS: Final = threading.BoundedSemaphore(2)
"""Python draws one at a time whatever we do: sixteen at once would only all be late."""
FIXED_CHOICES: Final = {
    "rule": [STUDY_RULE, *COUNTING_RULES],
    "suspects": [WITH_SUSPECTS, WITHOUT_SUSPECTS],
}
"""Filters whose choices no study changes."""


@dataclass(frozen=True)
class ResultsTab:
    view: gr.Radio
    filters: list[gr.Dropdown]
    """In the order of Filter's fields."""
    finding: gr.HTML
    kpis: gr.HTML
    pages: gr.Tabs
    parts: dict[str, ViewParts]
    data: gr.HTML
    draw_buttons: dict[str, gr.Button]
    """Unseen, one a view: the page presses the one whose view is in sight. An event names its
    outputs beforehand, and Gradio's page pays for every one of them, shown or not."""
    request_text: gr.Textbox
    """Unseen: the values of `inputs` as one text, since Gradio's page pays for every input too.
    Empty; the page sends its text in this one's place."""

    @property
    def clickable(self) -> list[gr.HTML]:
        """What a click turns into a selection of judgements."""
        marks = [mark for parts in self.parts.values() for mark in parts.clickable]
        return [self.kpis, *marks]

    @property
    def controls(self) -> dict[str, Any]:
        """Every view's own settings by name: names are shared with the address, so they differ."""
        return {k: v for parts in self.parts.values() for k, v in parts.controls.items()}

    @property
    def inputs(self) -> list[Any]:
        """What `show` reads: the view, the filters, the controls."""
        return [self.view, *self.filters, *self.controls.values()]

    def view_outputs(self, view: str) -> list[Any]:
        """What `show` fills."""
        return [self.finding, self.kpis, *self.parts[view].outputs, self.data]

    def session_states(self, view: str) -> dict[str, gr.State]:
        """A view's settings that the page does not know: Gradio keeps them with the session."""
        return {k: v for k, v in self.parts[view].controls.items() if isinstance(v, gr.State)}

    @property
    def settings(self) -> list[Any]:
        """What `settle` sets."""
        return self.inputs


def build() -> ResultsTab:
    names = list(VIEWS)
    with gr.Row(elem_classes="eh-panel-head eh-filters"):
        view = Switch(names, "View")
        filters = [_filter_dropdown(name) for name in FILTER_NAMES]
    told = ClickableHTML()
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
    asked = gr.Textbox(visible="hidden", elem_id="eh-asked", label="Asked", render=False)
    return ResultsTab(view, filters, told, kpis, pages, parts, ClickableHTML(), draw, asked)


def render_hidden(tab: ResultsTab) -> None:
    """Outside all tabs: what is in a tab is not there before it is opened."""
    for part in (*tab.draw_buttons.values(), tab.request_text):
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


def bind(tab: ResultsTab, header: Header, store: Store) -> None:
    """A filter redraws what is in view; a view's own control redraws no more than it must."""

    for name, button in tab.draw_buttons.items():
        _bind_view(tab, header, store, name, button)
    for control in (tab.view, *tab.filters):
        control.input(
            None,
            control,
            None,
            js=_single_control_script(tab, control, draw_script(tab, changed=True)),
        )
    tab.view.change(None, tab.view, tab.pages, js="view => ({__type__: 'update', selected: view})")
    for name, parts in tab.parts.items():
        for control_name in parts.controls:
            _bind_control(tab, header, store, name, control_name)
        if hasattr(VIEWS[name], "bind"):
            VIEWS[name].bind(parts)


def _bind_view(tab: ResultsTab, header: Header, store: Store, view: str, button: gr.Button) -> None:
    kept = tab.session_states(view)

    def redraw(name: str, asked: str, *held: Any) -> list[Any]:
        values = parse_request(tab, asked, dict(zip(kept, held, strict=True)))
        return render_view(store, name, tab, view, values)

    inputs = [header.study, tab.request_text, *kept.values()]
    button.click(redraw, inputs, tab.view_outputs(view), **QUIET_EVENT).then(
        None, None, None, js="() => evenhand.drawing(false)"
    )


def bind_request_text(blocks: gr.Blocks, tab: ResultsTab) -> None:
    """Last of all, when every event is bound: those that read `asked` are given the page's text."""
    for event in blocks.fns.values():
        if tab.request_text in event.inputs:
            place = event.inputs.index(tab.request_text)
            event.js = f"(...values) => values.with({place}, evenhand.asked ?? '')"


def parse_request(
    tab: ResultsTab, asked: str, kept: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """The values of `tab.inputs` out of the page's text; a page sends what its controls hold."""
    parts = tab.inputs
    if not asked:
        return tuple(part.value for part in parts)
    try:
        values = json.loads(asked)
    except ValueError:
        values = None
    if (
        not isinstance(values, list)
        or len(values) != len(parts)
        or not all(
            _is_valid_value(part.value, value) for part, value in zip(parts, values, strict=True)
        )
    ):
        raise gr.Error("This is not what the page asks for. Reload the page.", duration=None)
    first = len(values) - len(tab.controls)
    named = dict(zip(tab.controls, values[first:], strict=True))
    return (*values[:first], *{**named, **(kept or {})}.values())


def _is_valid_value(start: Any, value: Any) -> bool:
    """Whether a control that began with `start` may hold this: a text, or several."""
    if isinstance(start, list):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def _bind_control(
    tab: ResultsTab, header: Header, store: Store, view: str, control_name: str
) -> None:
    parts = tab.parts[view]
    outputs, draw = parts.partial_redraws.get(control_name, (parts.outputs, VIEWS[view].render))

    kept = tab.session_states(view)

    def redraw(name: str, asked: str, *held: Any) -> list[Any]:
        known = dict(zip(kept, held, strict=True))
        # A state that a session sees for the first time counts as changed: nothing is in it yet.
        if not name or known.get(control_name, True) is None:
            return [gr.skip()] * len(outputs)
        _, chosen, controls = split_values(tab, parse_request(tab, asked, known))
        mine = {k: controls[k] for k in parts.controls}
        return list(draw(FilteredStudy(store, name, chosen), **mine))

    control = parts.controls[control_name]
    listen = control.input if hasattr(control, "input") else control.change  # a gr.State
    # First: the next one reads what it leaves.
    listen(None, control, None, js=_single_control_script(tab, control, address_script(tab)))
    inputs = [header.study, tab.request_text, *kept.values()]
    listen(redraw, inputs, outputs, **QUIET_EVENT)


def _single_control_script(tab: ResultsTab, control: Any, script: str) -> str:
    """A script of all values for the event of one: the page holds the others. Gradio's page looks
    for every input of an event all over its tree."""
    place = tab.inputs.index(control)
    held = "evenhand.held"
    return f"value => {held} && void ({script})(...{held}.with({place}, value))"


def address_script(tab: ResultsTab) -> str:
    """The address carries the view: what differs from the start is written into it. The page holds
    the values, and as a text what `asked` sends."""
    names = json.dumps(["view", *FILTER_NAMES, *tab.controls])
    starts = json.dumps([part.value for part in tab.inputs])
    return (
        f"(...values) => {{ evenhand.scope('results', {names}, {starts}, values); "
        "evenhand.held = values; evenhand.asked = JSON.stringify(values); }"
    )


def draw_script(tab: ResultsTab, *, opening: bool = False, changed: bool = False) -> str:
    """Writes the address and has the view in sight drawn.

    `opening`: the Results tab was opened; before its controls have been settled for a study there
    is nothing to draw, and settling draws it. `changed`: only if the values differ from the last
    ones; Gradio's menus tell of one choice twice.
    """
    before = "evenhand.asked" if changed else "null"
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw_buttons)})
    settled = "evenhand.settled" if opening else "(evenhand.settled = true)"
    return (
        f"(...values) => {{ if (!{settled}) return; "
        f"const before = {before}; ({address_script(tab)})(...values); "
        "if (evenhand.asked === before) return; "
        f"evenhand.draw({places}[values[0]]); }}"
    )


def split_values(tab: ResultsTab, values: tuple[Any, ...]) -> tuple[str, Filter, dict[str, Any]]:
    """(view, filter, controls) from the values of `tab.inputs`."""
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
    """One view, drawn from the values of `tab.inputs`; the others are left as they are."""
    if not name:
        return [gr.skip()] * len(tab.view_outputs(view))
    _, chosen, controls = split_values(tab, values)
    mine = {k: controls[k] for k in tab.parts[view].controls}
    written = json.dumps(mine, default=str)
    if json.loads(written) != mine:  # a setting that is no plain value
        return render_panels(FilteredStudy(store, name, chosen), view, mine)
    around = (related_studies(store, name), verification_stamp(store, name))
    wanted = (store, name, store.version(name), around, view, chosen, written)
    with _view_lock(*wanted):  # who wants the same meanwhile waits for it
        return list(_cached_panels(*wanted))


@lru_cache(maxsize=256)
def _view_lock(*wanted: Any) -> threading.Lock:
    """One for each view that somebody may be drawing."""
    return threading.Lock()


@lru_cache(maxsize=256)
def _cached_panels(
    store: Store, name: str, version: Any, around: Any, view: str, chosen: Filter, controls: str
) -> tuple[Any, ...]:
    """A view is a pure function of what the store holds: fifty readers of one study get one."""
    with _DRAW_SLOTS:
        return tuple(render_panels(FilteredStudy(store, name, chosen), view, json.loads(controls)))


def render_panels(scene: FilteredStudy, view: str, controls: Mapping[str, Any]) -> list[Any]:
    module = VIEWS[view]
    drawn = module.render(scene, **controls)
    kpis = getattr(module, "kpis", default_kpis)
    told = module.finding(scene)  # a view whose finding depends on its controls tells it itself
    said = finding_html(*told) if told[0] else ""
    return [said, suspects_notice(scene) + kpis(scene), *drawn, show_data_note(scene)]


def default_kpis(scene: FilteredStudy) -> str:
    return bias_view.default_kpis_html(load_bias(scene), right=accuracy_label(scene))


def mark_selection(scene: FilteredStudy, mark: Any) -> Selection:
    """From a mark that was clicked to the judgements behind it, within the filters."""
    said = mark.get("customdata", mark) if isinstance(mark, dict) else {}
    kept = {k: v for k, v in asdict(scene.filter).items() if k in ("judge", "prompt", "category")}
    values = {k: v for k, v in kept.items() if v != ALL_CHOICE}
    if len(scene.filter.contestants) == 1:
        values["contestant"] = scene.filter.contestants[0]
    if scene.filter.suspects == WITHOUT_SUSPECTS:
        values["suspect"] = NO_SUSPECTS
    values |= {k: v for k, v in said.items() if v != "All"} if isinstance(said, dict) else {}
    if values.get("row") == PEOPLE:  # people against a judge is that judge against people
        values["row"], values["unlike"] = values.get("unlike", ""), PEOPLE
    if "row" in values:
        seen = (machine_rows(scene.unfiltered_frame), scene.machines)
        by_row = {row: cell for rows in seen for cell, row in row_names(rows).items()}
        judge_and_prompt = by_row.get(str(values.pop("row")), ("", ""))
        values["judge"], values["prompt"] = judge_and_prompt
    if values.get("judge") == PEOPLE and scene.unfiltered_frame is not scene.stored_frame:
        del values["judge"]  # people who judged alone: all of them
    if "opponent" in values:
        values["against"] = values.pop("opponent")
    return parse_selection({**values, "study": scene.name})


def initial_controls(
    store: Store, name: str, tab: ResultsTab, wanted: Mapping[str, str]
) -> list[Any]:
    """Filters and controls for a study, as an address wants them; what is not there is left out."""
    whole = FilteredStudy(store, name)
    frame = whole.unfiltered_frame
    players = shown_contestants(frame)
    asked = [n for n in wanted.get("contestants", "").split(",") if n in players]
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
        gr.Radio(value=pick_choice(wanted.get("view"), list(VIEWS))),
        *singles,
        gr.Dropdown(choices=players, value=asked),
        gr.Dropdown(value=pick_choice(wanted.get("rule"), FIXED_CHOICES["rule"])),
        gr.Dropdown(value=left_out, visible=suspicious),
        *(controls[k] for k in tab.controls),
    ]


def show_data_note(scene: FilteredStudy) -> str:
    """What is real here, and what is simulated."""
    simulated = [judge.name for judge in scene.study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in scene.study.judges if judge.kind != "simulated"]
    parts = [f"{load_bias(scene).asked:,} judgements of {scene.name}."]
    if real:
        parts.append(f"Real replies: {', '.join(real)}.")
    if simulated:
        parts.append(f"Simulated judges, with known parameters: {', '.join(simulated)}.")
    combine, unreadable = scene.rule
    if (combine, unreadable) != ("pooled", "exclude"):
        parts.append(f"Ratings and win rates: {combine}, unreadable replies: {unreadable}.")
    return data_note(" ".join(parts))
