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

from components import api_tab
from components.filtering.filtered_study import FilteredStudy
from components.html.format import escape
from components.inspect import tab as inspect_tab
from components.inspect.url_selection import parse_selection
from components.layout import header
from components.results import results_tab
from components.run import tab as run_tab
from components.run.live_figures import LiveStudies
from components.server import visitor_identity_tab
from components.share import link_tab as share_link_tab
from components.share import tab as share_tab
from components.study import tab as study_tab
from components.study.plan import demo_studies
from components.vote import tab as vote_tab
from judges.engine.engine import Engine
from studies.sharing.visitor_store import VisitorStore
from studies.store.store import Store

TEMP_FILE_EXPIRY: Final = (3_600, 86_400)
"""Where strangers share the page: every hour, uploads and exports of the day before go."""
QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
REMEMBER_INSPECT_TAB: Final[dict[str, Any]] = {"js": "() => evenhand.remember({tab: 'inspect'})"}


@dataclass(frozen=True)
class InteractiveTabs:
    """The tabs that ask: judges, and people."""

    study: study_tab.StudyTab
    run: run_tab.RunTab
    on_run: gr.Tab
    engine: Engine
    live: LiveStudies
    vote: vote_tab.VoteTab
    on_vote: gr.Tab


@dataclass(frozen=True)
class PageParts:
    """The parts of the page, so that one can be connected to another."""

    requested_view: gr.State
    """What the address asked for, until the study it names is shown."""
    header: header.Header
    tabs: gr.Tabs
    names: tuple[str, ...]
    interactive: InteractiveTabs | None
    results: results_tab.ResultsTab
    on_results: gr.Tab
    inspect: inspect_tab.InspectTab
    share: share_tab.ShareTab


def create_page(store: Store, engine: Engine | None) -> gr.Blocks:
    """All tabs are built before any is bound, so that one may bind to another's components.

    Without an engine the page shows and asks nobody. A store that strangers share has a door.
    """
    shared = isinstance(store, VisitorStore)
    forgets = TEMP_FILE_EXPIRY if shared else None
    with gr.Blocks(title="Evenhand", analytics_enabled=False, delete_cache=forgets) as blocks:
        door = visitor_identity_tab.build(store.path) if shared else None
        page = _build_page(store, engine)
        if page.interactive:
            asking = page.interactive
            study_tab.bind(asking.study, page.header, page.tabs, store, asking.engine)
            run_tab.bind(asking.run, page.header, store, asking.engine, asking.live, asking.on_run)
            vote_tab.bind(asking.vote, page.header, store, asking.on_vote)
        results_tab.bind(page.results, page.header, store)
        inspect_tab.bind(page.inspect, store)
        _bind_opening(blocks, page, store)
        _bind_view(page, store)
        _bind_mark_clicks(page, store)
        _bind_share(page, store)
        api_tab.build(store, engine)
        if door and isinstance(store, VisitorStore):
            visitor_identity_tab.bind(blocks, door)
            visitor_identity_tab.guard_events(blocks, door, page.header.study, store)
        results_tab.bind_request_text(blocks, page.results)
        disable_status_updates(blocks)
    return blocks


def disable_status_updates(blocks: gr.Blocks) -> None:
    """An event without a progress animation tells no component that it is pending or over.

    Gradio's page would write that into every component that any event so far has filled, with a
    copy of all their properties each time: most of what a filter took.
    """
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def _build_page(store: Store, engine: Engine | None) -> PageParts:
    wanted = gr.State({})
    top = header.build()
    share = share_tab.build(shared=isinstance(store, VisitorStore))
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
            asking = InteractiveTabs(study, run, on_run, engine, LiveStudies(store), vote, on_vote)
    results_tab.render_hidden(results)
    names = ("study", "run", "results", "inspect", "vote") if engine else ("results", "inspect")
    return PageParts(wanted, top, tabs, names, asking, results, on_results, inspect, share)


def _bind_opening(blocks: gr.Blocks, page: PageParts, store: Store) -> None:
    """The address carries the view: a link shows a collaborator exactly what you see."""
    asking = page.interactive

    def open_page(request: gr.Request) -> list[Any]:
        names = study_tab.study_names(store)
        wanted = dict(request.query_params)
        name = wanted.get("study", "")
        if name and name not in names:
            gr.Warning(escape(f"There is no study named {name!r} here."))
        start = (
            demo_studies.PAIRS_STUDY
            if demo_studies.PAIRS_STUDY in names
            else names[0]
            if names
            else None
        )
        tab = wanted.get("tab", "")
        if asking and is_voter_page(wanted) and name in names:
            shown = gr.Dropdown(choices=[name], value=name, interactive=False)
            skipped = [gr.skip()] * (len(outputs) - 3)
            return [wanted, shown, gr.Tabs(selected="vote"), *skipped]
        first = (
            [*study_tab.show_welcome(store), *study_tab.show_initial_form(store)] if asking else []
        )
        return [
            wanted,
            gr.Dropdown(choices=names, value=name if name in names else start),
            gr.Tabs(selected=tab if tab in page.names else page.names[0]),
            *first,
        ]

    outputs = [page.requested_view, page.header.study, page.tabs]
    outputs += study_tab.opening_outputs(asking.study) if asking else []
    blocks.load(open_page, None, outputs, **QUIET)


def _bind_view(page: PageParts, store: Store) -> None:
    """The study in the header is shown in every tab; a tab that is opened is brought up to date."""
    top, asking, results = page.header, page.interactive, page.results

    def show_run(name: str) -> list[Any]:
        if asking is None:
            return []
        engine = asking.engine
        shown = run_tab.render(store, engine, asking.live, name)
        return [*shown, run_tab.show_study_pill(engine, name)]

    def show_study(name: str, wanted: dict[str, str]) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        if asking and is_voter_page(wanted):
            return [wanted, header.show_study_size(store, name), *[gr.skip()] * (len(outputs) - 2)]
        seen = wanted if wanted.get("study", name) == name else {}
        inspected = seen if seen.get("tab") == "inspect" else {}
        return [
            {},
            header.show_study_size(store, name),
            *results_tab.initial_controls(store, name, results, {} if inspected else seen),
            *show_run(name),
            *inspect_tab.render(store, parse_selection({**inspected, "study": name})),
        ]

    run_outputs = [*asking.run.outputs, top.pill] if asking else []
    outputs = [
        page.requested_view, top.note, *results.inputs, *run_outputs,
        *inspect_tab.view_outputs(page.inspect),
    ]  # fmt: skip
    drawn: dict[str, Any] = {"fn": None, "inputs": results.inputs, "outputs": None}
    top.study.change(show_study, [top.study, page.requested_view], outputs, **QUIET).then(
        None, top.study, None, js="(study) => evenhand.remember({study})"
    ).then(**drawn, js=f"(...v) => evenhand.blind || ({results_tab.draw_script(results)})(...v)")
    page.on_results.select(**drawn, js=results_tab.draw_script(results, opening=True))
    if asking:
        asking.on_run.select(show_run, top.study, run_outputs, **QUIET)


def is_voter_page(wanted: Mapping[str, str]) -> bool:
    """Whether an address is a voter's."""
    return bool(wanted.get("blind"))


def _bind_mark_clicks(page: PageParts, store: Store) -> None:
    """Every mark is one click from the replies behind it."""
    results, study = page.results, page.header.study

    def open_marked(event: gr.EventData, name: str, asked: str) -> Any:
        _, chosen, _ = results_tab.split_values(results, results_tab.parse_request(results, asked))
        selection = results_tab.mark_selection(FilteredStudy(store, name, chosen), event._data)
        return [gr.Tabs(selected="inspect"), *inspect_tab.render(store, selection)]

    def open_reply(name: str, event: gr.EventData) -> Any:
        selection = parse_selection({**event._data, "study": name})
        return [gr.Tabs(selected="inspect"), *inspect_tab.render(store, selection)]

    def open_first(event: gr.EventData) -> Any:
        return [demo_studies.PAIRS_STUDY, *open_reply(demo_studies.PAIRS_STUDY, event)]

    shown = [page.tabs, *inspect_tab.view_outputs(page.inspect)]
    opened = [
        mark.select(open_marked, [study, results.request_text], shown, **QUIET)
        for mark in results.clickable
    ]
    if page.interactive:
        marks, table = page.interactive.run.marks, page.interactive.study.table
        opened += [mark.select(open_reply, study, shown, **QUIET) for mark in marks]
        opened.append(table.select(open_first, None, [study, *shown], **QUIET))
    for event in opened:
        event.then(None, None, None, **REMEMBER_INSPECT_TAB)


def _bind_share(page: PageParts, store: Store) -> None:
    """Share speaks of what is in view: the study, seen through the filters of Results."""

    results = page.results

    def scene_of(name: str, asked: str) -> FilteredStudy | None:
        values = results_tab.parse_request(results, asked)
        return (
            FilteredStudy(store, name, results_tab.split_values(results, values)[1])
            if name
            else None
        )

    inputs = [page.header.study, results.request_text]
    share_tab.bind(page.share, page.header.share, inputs, scene_of)
    if page.share.links and isinstance(store, VisitorStore):
        share_link_tab.bind(page.share.links, page.header.share, page.header.study, store)
