"""The whole page: header, tabs, Share, and what connects one to another.

A page that only shows (a frozen study) has no Study, no Run and no Vote tab: they are not built, so
nothing of them can be called either. A voter's page (`blind` in its address) is sent the ballot and
nothing that would tell who wrote what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components import api_tab, demo, header, results_tab, visitors_tab
from components.format import safe
from components.inspect import tab as inspect_tab
from components.inspect.selection import selection_from
from components.live import LiveViews
from components.run import tab as run_tab
from components.scene import Scene
from components.share import link_tab as share_link_tab
from components.share import tab as share_tab
from components.study import tab as study_tab
from components.vote import tab as vote_tab
from judges.engine import Engine
from studies.guarded import VisitorsStore
from studies.store import Store

FORGETS: Final = (3_600, 86_400)
"""Where strangers share the page: every hour, uploads and exports of the day before go."""
QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
TO_INSPECT: Final[dict[str, Any]] = {"js": "() => evenhand.remember({tab: 'inspect'})"}


@dataclass(frozen=True)
class Asking:
    """The tabs that ask: judges, and people."""

    study: study_tab.StudyTab
    run: run_tab.RunTab
    on_run: gr.Tab
    engine: Engine
    live: LiveViews
    vote: vote_tab.VoteTab
    on_vote: gr.Tab


@dataclass(frozen=True)
class Page:
    """The parts of the page, so that one can be connected to another."""

    wanted: gr.State
    """What the address asked for, until the study it names is shown."""
    header: header.Header
    tabs: gr.Tabs
    names: tuple[str, ...]
    asking: Asking | None
    results: results_tab.ResultsTab
    on_results: gr.Tab
    inspect: inspect_tab.InspectTab
    share: share_tab.ShareTab


def create_page(store: Store, engine: Engine | None) -> gr.Blocks:
    """All tabs are built before any is bound, so that one may bind to another's components.

    Without an engine the page shows and asks nobody. A store that strangers share has a door.
    """
    shared = isinstance(store, VisitorsStore)
    forgets = FORGETS if shared else None
    with gr.Blocks(title="Evenhand", analytics_enabled=False, delete_cache=forgets) as blocks:
        door = visitors_tab.build(store.path) if shared else None
        page = _build(store, engine)
        if page.asking:
            asking = page.asking
            study_tab.bind(asking.study, page.header, page.tabs, store, asking.engine)
            run_tab.bind(asking.run, page.header, store, asking.engine, asking.live, asking.on_run)
            vote_tab.bind(asking.vote, page.header, store, asking.on_vote)
        results_tab.bind(page.results, page.header, store)
        inspect_tab.bind(page.inspect, store)
        _bind_opening(blocks, page, store)
        _bind_view(page, store)
        _bind_marks(page, store)
        _bind_share(page, store)
        api_tab.build(store, engine)
        if door and isinstance(store, VisitorsStore):
            visitors_tab.bind(blocks, door)
            visitors_tab.guard(blocks, door, page.header.study, store)
        results_tab.send_asked(blocks, page.results)
        say_no_status(blocks)
    return blocks


def say_no_status(blocks: gr.Blocks) -> None:
    """An event without a progress animation tells no component that it is pending or over.

    Gradio's page would write that into every component that any event so far has filled, with a
    copy of all their properties each time: most of what a filter took.
    """
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def _build(store: Store, engine: Engine | None) -> Page:
    wanted = gr.State({})
    top = header.build()
    share = share_tab.build(shared=isinstance(store, VisitorsStore))
    asking = None
    with gr.Tabs(elem_id="eh-tabs", selected="study" if engine else "results") as tabs:
        if engine:
            with gr.Tab("Study", id="study"):
                study = study_tab.build()
            with gr.Tab("Run", id="run") as on_run:
                run = run_tab.build()
        with gr.Tab("Results", id="results") as on_results:
            results = results_tab.build()
        with gr.Tab("Inspect", id="inspect"):
            inspect = inspect_tab.build()
        if engine:
            with gr.Tab("Vote", id="vote") as on_vote:
                vote = vote_tab.build()
            asking = Asking(study, run, on_run, engine, LiveViews(store), vote, on_vote)
    results_tab.build_unseen(results)
    names = ("study", "run", "results", "inspect", "vote") if engine else ("results", "inspect")
    return Page(wanted, top, tabs, names, asking, results, on_results, inspect, share)


def _bind_opening(blocks: gr.Blocks, page: Page, store: Store) -> None:
    """The address carries the view: a link shows a collaborator exactly what you see."""
    asking = page.asking

    def open_page(request: gr.Request) -> list[Any]:
        names = study_tab.study_names(store)
        wanted = dict(request.query_params)
        name = wanted.get("study", "")
        if name and name not in names:
            gr.Warning(safe(f"There is no study named {name!r} here."))
        start = demo.PAIRS if demo.PAIRS in names else names[0] if names else None
        tab = wanted.get("tab", "")
        if asking and is_blind(wanted) and name in names:
            shown = gr.Dropdown(choices=[name], value=name, interactive=False)
            skipped = [gr.skip()] * (len(outputs) - 3)
            return [wanted, shown, gr.Tabs(selected="vote"), *skipped]
        first = [*study_tab.show_first(store), *study_tab.show_start(store)] if asking else []
        return [
            wanted,
            gr.Dropdown(choices=names, value=name if name in names else start),
            gr.Tabs(selected=tab if tab in page.names else page.names[0]),
            *first,
        ]

    outputs = [page.wanted, page.header.study, page.tabs]
    outputs += study_tab.opening_outputs(asking.study) if asking else []
    blocks.load(open_page, None, outputs, **QUIET)


def _bind_view(page: Page, store: Store) -> None:
    """The study in the header is shown in every tab; a tab that is opened is brought up to date."""
    top, asking, results = page.header, page.asking, page.results

    def show_run(name: str) -> list[Any]:
        if asking is None:
            return []
        engine = asking.engine
        shown = run_tab.show(store, engine, asking.live, name)
        return [*shown, run_tab.show_running(engine, name)]

    def show_study(name: str, wanted: dict[str, str]) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        if asking and is_blind(wanted):
            return [wanted, header.show_note(store, name), *[gr.skip()] * (len(outputs) - 2)]
        seen = wanted if wanted.get("study", name) == name else {}
        inspected = seen if seen.get("tab") == "inspect" else {}
        return [
            {},
            header.show_note(store, name),
            *results_tab.settle(store, name, results, {} if inspected else seen),
            *show_run(name),
            *inspect_tab.show(store, selection_from({**inspected, "study": name})),
        ]

    run_outputs = [*asking.run.outputs, top.pill] if asking else []
    outputs = [
        page.wanted, top.note, *results.inputs, *run_outputs,
        *inspect_tab.refresh_outputs(page.inspect),
    ]  # fmt: skip
    drawn: dict[str, Any] = {"fn": None, "inputs": results.inputs, "outputs": None}
    top.study.change(show_study, [top.study, page.wanted], outputs, **QUIET).then(
        None, top.study, None, js="(study) => evenhand.remember({study})"
    ).then(**drawn, js=f"(...v) => evenhand.blind || ({results_tab.draw_script(results)})(...v)")
    page.on_results.select(**drawn, js=results_tab.draw_script(results, opening=True))
    if asking:
        asking.on_run.select(show_run, top.study, run_outputs, **QUIET)


def is_blind(wanted: Mapping[str, str]) -> bool:
    """Whether an address is a voter's."""
    return bool(wanted.get("blind"))


def _bind_marks(page: Page, store: Store) -> None:
    """Every mark is one click from the replies behind it."""
    results, study = page.results, page.header.study

    def open_marked(event: gr.EventData, name: str, asked: str) -> Any:
        _, chosen, _ = results_tab.read(results, results_tab.asked_values(results, asked))
        selection = results_tab.selection_of(Scene(store, name, chosen), event._data)
        return [gr.Tabs(selected="inspect"), *inspect_tab.show(store, selection)]

    def open_reply(name: str, event: gr.EventData) -> Any:
        selection = selection_from({**event._data, "study": name})
        return [gr.Tabs(selected="inspect"), *inspect_tab.show(store, selection)]

    def open_first(event: gr.EventData) -> Any:
        return [demo.PAIRS, *open_reply(demo.PAIRS, event)]

    shown = [page.tabs, *inspect_tab.refresh_outputs(page.inspect)]
    opened = [
        mark.select(open_marked, [study, results.asked], shown, **QUIET)
        for mark in results.clickable
    ]
    if page.asking:
        marks, table = page.asking.run.marks, page.asking.study.table
        opened += [mark.select(open_reply, study, shown, **QUIET) for mark in marks]
        opened.append(table.select(open_first, None, [study, *shown], **QUIET))
    for event in opened:
        event.then(None, None, None, **TO_INSPECT)


def _bind_share(page: Page, store: Store) -> None:
    """Share speaks of what is in view: the study, seen through the filters of Results."""

    results = page.results

    def scene_of(name: str, asked: str) -> Scene | None:
        values = results_tab.asked_values(results, asked)
        return Scene(store, name, results_tab.read(results, values)[1]) if name else None

    inputs = [page.header.study, results.asked]
    share_tab.bind(page.share, page.header.share, inputs, scene_of)
    if page.share.links and isinstance(store, VisitorsStore):
        share_link_tab.bind(page.share.links, page.header.share, page.header.study, store)
