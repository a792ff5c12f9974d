"""Results: one view at a time of the study in the header, through one bar of filters."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import gradio as gr

from components.agreement import tab as agreement_tab
from components.bias import position_tab
from components.bias import view as bias_view
from components.bias.counts import bias_in
from components.cards import tab as cards_tab
from components.contrasts import tab as contrasts_tab
from components.drawing.panels import data_line, finding
from components.header import Header
from components.inspect.selection import WITHOUT, Selection, selection_from
from components.neighbours import neighbours
from components.plot import ClickableHTML, Switch
from components.protocol import tab as protocol_tab
from components.ranking import tab as ranking_tab
from components.results_parts import Parts, pick
from components.rows import (
    ALL,
    AS_STUDY,
    RULES,
    WITH_SUSPECTS,
    WITHOUT_SUSPECTS,
    Filter,
    choices,
    contestants_in,
    machine_rows,
    row_names,
)
from components.scene import Scene
from components.suspects.compared import suspects_line
from components.voices import right_label
from components.wins import tab as wins_tab
from metrics.concord import PEOPLE
from studies.frame import SUSPECT
from studies.store import Store
from studies.verified import standing

VIEWS: Final[dict[str, Any]] = {
    module.NAME: module
    for module in (
        position_tab,
        ranking_tab,
        wins_tab,
        agreement_tab,
        contrasts_tab,
        cards_tab,
        protocol_tab,
    )
}
QUIET: Final[dict[str, Any]] = {
    "show_progress": "hidden", "trigger_mode": "always_last", "api_visibility": "private",
}  # fmt: skip
FILTERS: Final = ("judge", "prompt", "category", "contestants", "rule", "suspects")
_AT_WORK: Final = threading.BoundedSemaphore(2)
"""Python draws one at a time whatever we do: sixteen at once would only all be late."""
FIXED: Final = {"rule": [AS_STUDY, *RULES], "suspects": [WITH_SUSPECTS, WITHOUT_SUSPECTS]}
"""Filters whose choices no study changes."""


@dataclass(frozen=True)
class ResultsTab:
    view: gr.Radio
    filters: list[gr.Dropdown]
    """In the order of Filter's fields."""
    finding: gr.HTML
    kpis: gr.HTML
    pages: gr.Tabs
    parts: dict[str, Parts]
    data: gr.HTML
    draw: dict[str, gr.Button]
    """Unseen, one a view: the page presses the one whose view is in sight. An event names its
    outputs beforehand, and Gradio's page pays for every one of them, shown or not."""
    asked: gr.Textbox
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

    def outputs_of(self, view: str) -> list[Any]:
        """What `show` fills."""
        return [self.finding, self.kpis, *self.parts[view].shown, self.data]

    def kept_of(self, view: str) -> dict[str, gr.State]:
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
        filters = [_filter(name) for name in FILTERS]
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


def build_unseen(tab: ResultsTab) -> None:
    """Outside all tabs: what is in a tab is not there before it is opened."""
    for part in (*tab.draw.values(), tab.asked):
        part.render()


def _filter(name: str) -> gr.Dropdown:
    several = name == "contestants"
    known = FIXED.get(name, [ALL])
    return gr.Dropdown(
        [] if several else known, value=[] if several else known[0], multiselect=several,
        label=name.capitalize(), visible=name != "suspects",
        show_label=False, container=False, interactive=True, elem_classes="eh-filter",
        elem_id=f"eh-filter-{name}",
    )  # fmt: skip


def bind(tab: ResultsTab, header: Header, store: Store) -> None:
    """A filter redraws what is in view; a view's own control redraws no more than it must."""

    for name, button in tab.draw.items():
        _bind_view(tab, header, store, name, button)
    for control in (tab.view, *tab.filters):
        control.input(None, control, None, js=_with(tab, control, draw_script(tab, changed=True)))
    tab.view.change(None, tab.view, tab.pages, js="view => ({__type__: 'update', selected: view})")
    for name, parts in tab.parts.items():
        for control_name in parts.controls:
            _bind_control(tab, header, store, name, control_name)
        if hasattr(VIEWS[name], "bind"):
            VIEWS[name].bind(parts)


def _bind_view(tab: ResultsTab, header: Header, store: Store, view: str, button: gr.Button) -> None:
    kept = tab.kept_of(view)

    def redraw(name: str, asked: str, *held: Any) -> list[Any]:
        values = asked_values(tab, asked, dict(zip(kept, held, strict=True)))
        return show(store, name, tab, view, values)

    inputs = [header.study, tab.asked, *kept.values()]
    button.click(redraw, inputs, tab.outputs_of(view), **QUIET).then(
        None, None, None, js="() => evenhand.drawing(false)"
    )


def send_asked(blocks: gr.Blocks, tab: ResultsTab) -> None:
    """Last of all, when every event is bound: those that read `asked` are given the page's text."""
    for event in blocks.fns.values():
        if tab.asked in event.inputs:
            place = event.inputs.index(tab.asked)
            event.js = f"(...values) => values.with({place}, evenhand.asked ?? '')"


def asked_values(
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
            _could_hold(part.value, value) for part, value in zip(parts, values, strict=True)
        )
    ):
        raise gr.Error("This is not what the page asks for. Reload the page.", duration=None)
    first = len(values) - len(tab.controls)
    named = dict(zip(tab.controls, values[first:], strict=True))
    return (*values[:first], *{**named, **(kept or {})}.values())


def _could_hold(start: Any, value: Any) -> bool:
    """Whether a control that began with `start` may hold this: a text, or several."""
    if isinstance(start, list):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return value is None or isinstance(value, str)


def _bind_control(
    tab: ResultsTab, header: Header, store: Store, view: str, control_name: str
) -> None:
    parts = tab.parts[view]
    outputs, draw = parts.alone.get(control_name, (parts.shown, VIEWS[view].show))

    kept = tab.kept_of(view)

    def redraw(name: str, asked: str, *held: Any) -> list[Any]:
        known = dict(zip(kept, held, strict=True))
        # A state that a session sees for the first time counts as changed: nothing is in it yet.
        if not name or known.get(control_name, True) is None:
            return [gr.skip()] * len(outputs)
        _, chosen, controls = read(tab, asked_values(tab, asked, known))
        mine = {k: controls[k] for k in parts.controls}
        return list(draw(Scene(store, name, chosen), **mine))

    control = parts.controls[control_name]
    listen = control.input if hasattr(control, "input") else control.change  # a gr.State
    # First: the next one reads what it leaves.
    listen(None, control, None, js=_with(tab, control, address_script(tab)))
    inputs = [header.study, tab.asked, *kept.values()]
    listen(redraw, inputs, outputs, **QUIET)


def _with(tab: ResultsTab, control: Any, script: str) -> str:
    """A script of all values for the event of one: the page holds the others. Gradio's page looks
    for every input of an event all over its tree."""
    place = tab.inputs.index(control)
    held = "evenhand.held"
    return f"value => {held} && void ({script})(...{held}.with({place}, value))"


def address_script(tab: ResultsTab) -> str:
    """The address carries the view: what differs from the start is written into it. The page holds
    the values, and as a text what `asked` sends."""
    names = json.dumps(["view", *FILTERS, *tab.controls])
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
    places = json.dumps({name: f"#eh-draw-{place}" for place, name in enumerate(tab.draw)})
    settled = "evenhand.settled" if opening else "(evenhand.settled = true)"
    return (
        f"(...values) => {{ if (!{settled}) return; "
        f"const before = {before}; ({address_script(tab)})(...values); "
        "if (evenhand.asked === before) return; "
        f"evenhand.draw({places}[values[0]]); }}"
    )


def read(tab: ResultsTab, values: tuple[Any, ...]) -> tuple[str, Filter, dict[str, Any]]:
    """(view, filter, controls) from the values of `tab.inputs`."""
    view, judge, prompt, category, contestants, rule, suspects, *rest = values
    chosen = Filter(judge or ALL, prompt or ALL, category or ALL, tuple(contestants or ()),
                    rule or AS_STUDY, suspects or WITH_SUSPECTS)  # fmt: skip
    return view, chosen, dict(zip(tab.controls, rest, strict=True))


def show(store: Store, name: str, tab: ResultsTab, view: str, values: tuple[Any, ...]) -> list[Any]:
    """One view, drawn from the values of `tab.inputs`; the others are left as they are."""
    if not name:
        return [gr.skip()] * len(tab.outputs_of(view))
    _, chosen, controls = read(tab, values)
    mine = {k: controls[k] for k in tab.parts[view].controls}
    written = json.dumps(mine, default=str)
    if json.loads(written) != mine:  # a setting that is no plain value
        return draw(Scene(store, name, chosen), view, mine)
    around = (neighbours(store, name), standing(store, name))
    wanted = (store, name, store.version(name), around, view, chosen, written)
    with _turn(*wanted):  # who wants the same meanwhile waits for it
        return list(_drawn(*wanted))


@lru_cache(maxsize=256)
def _turn(*wanted: Any) -> threading.Lock:
    """One for each view that somebody may be drawing."""
    return threading.Lock()


@lru_cache(maxsize=256)
def _drawn(
    store: Store, name: str, version: Any, around: Any, view: str, chosen: Filter, controls: str
) -> tuple[Any, ...]:
    """A view is a pure function of what the store holds: fifty readers of one study get one."""
    with _AT_WORK:
        return tuple(draw(Scene(store, name, chosen), view, json.loads(controls)))


def draw(scene: Scene, view: str, controls: Mapping[str, Any]) -> list[Any]:
    module = VIEWS[view]
    drawn = module.show(scene, **controls)
    kpis = getattr(module, "kpis", show_kpis)
    told = module.tell(scene)  # a view whose finding depends on its controls tells it itself
    said = finding(*told) if told[0] else ""
    return [said, suspects_line(scene) + kpis(scene), *drawn, show_data(scene)]


def show_kpis(scene: Scene) -> str:
    return bias_view.strip_of(bias_in(scene), right=right_label(scene))


def selection_of(scene: Scene, mark: Any) -> Selection:
    """From a mark that was clicked to the judgements behind it, within the filters."""
    said = mark.get("customdata", mark) if isinstance(mark, dict) else {}
    kept = {k: v for k, v in asdict(scene.filter).items() if k in ("judge", "prompt", "category")}
    values = {k: v for k, v in kept.items() if v != ALL}
    if len(scene.filter.contestants) == 1:
        values["contestant"] = scene.filter.contestants[0]
    if scene.filter.suspects == WITHOUT_SUSPECTS:
        values["suspect"] = WITHOUT
    values |= {k: v for k, v in said.items() if v != "All"} if isinstance(said, dict) else {}
    if values.get("row") == PEOPLE:  # people against a judge is that judge against people
        values["row"], values["unlike"] = values.get("unlike", ""), PEOPLE
    if "row" in values:
        seen = (machine_rows(scene.whole), scene.machines)
        by_row = {row: cell for rows in seen for cell, row in row_names(rows).items()}
        judge_and_prompt = by_row.get(str(values.pop("row")), ("", ""))
        values["judge"], values["prompt"] = judge_and_prompt
    if values.get("judge") == PEOPLE and scene.whole is not scene.everybody:
        del values["judge"]  # people who judged alone: all of them
    if "opponent" in values:
        values["against"] = values.pop("opponent")
    return selection_from({**values, "study": scene.name})


def settle(store: Store, name: str, tab: ResultsTab, wanted: Mapping[str, str]) -> list[Any]:
    """Filters and controls for a study, as an address wants them; what is not there is left out."""
    whole = Scene(store, name)
    frame = whole.whole
    players = contestants_in(frame)
    asked = [n for n in wanted.get("contestants", "").split(",") if n in players]
    singles = []
    for column in ("judge", "prompt", "category"):
        known = choices(frame, column)
        singles.append(gr.Dropdown(choices=known, value=pick(wanted.get(column), known)))
    suspicious = SUSPECT in frame
    left_out = pick(wanted.get("suspects"), FIXED["suspects"]) if suspicious else WITH_SUSPECTS
    controls: dict[str, Any] = {}
    for view, parts in tab.parts.items():
        if hasattr(VIEWS[view], "settle"):
            controls |= VIEWS[view].settle(whole, wanted)
        controls |= {k: gr.skip() for k in parts.controls if k not in controls}
    return [
        gr.Radio(value=pick(wanted.get("view"), list(VIEWS))),
        *singles,
        gr.Dropdown(choices=players, value=asked),
        gr.Dropdown(value=pick(wanted.get("rule"), FIXED["rule"])),
        gr.Dropdown(value=left_out, visible=suspicious),
        *(controls[k] for k in tab.controls),
    ]


def show_data(scene: Scene) -> str:
    """What is real here, and what is simulated."""
    simulated = [judge.name for judge in scene.study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in scene.study.judges if judge.kind != "simulated"]
    parts = [f"{bias_in(scene).asked:,} judgements of {scene.name}."]
    if real:
        parts.append(f"Real replies: {', '.join(real)}.")
    if simulated:
        parts.append(f"Simulated judges, with known parameters: {', '.join(simulated)}.")
    combine, unreadable = scene.rule
    if (combine, unreadable) != ("pooled", "exclude"):
        parts.append(f"Ratings and win rates: {combine}, unreadable replies: {unreadable}.")
    return data_line(" ".join(parts))
