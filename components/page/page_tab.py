"""The whole page: header, tabs, Share drawer, and the events between them.

A read-only page has no Home, Study, Run and Vote tabs; they are not built, so that their events
cannot be called. A voter's page (`blind` in its address) receives the ballot and nothing that
reveals which model wrote an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components import api_tab
from components.filtering.filtered_study import FilteredStudy
from components.home import tab as home_tab
from components.html.markup import EMPTY, escape
from components.inspect import tab as inspect_tab
from components.inspect.url_selection import Selection, parse_selection
from components.layout import header
from components.results import results_tab, view_drawing
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.controls.results_parts_tab import (
    ResultsTab,
    parse_request,
    view_drawing_script,
    view_filter_and_controls,
)
from components.results.overview.run_outcome import run_outcome_html
from components.results.remedies.improve_actions import perform_improve_action
from components.results.remedies.pilots import pilot_study_text
from components.run import actions_tab
from components.run import tab as run_tab
from components.run.live_figures import LiveStudies
from components.server import visitor_identity_tab
from components.server.gradio_private import click_data, disable_status_updates
from components.share import link_tab as share_link_tab
from components.share import tab as share_tab
from components.study import files_tab, form_layout_tab, form_updates_tab
from components.study import tab as study_tab
from components.study.plan import cost_preview, demo_studies
from components.vote import tab as vote_tab
from judges.engine.engine import Engine
from studies.errors import EvenhandError
from studies.sharing.visitor_store import VisitorStore
from studies.store.store import Store

TEMP_FILE_EXPIRY: Final = (3_600, 86_400)
"""Public mode: (seconds between two clean-ups, age in seconds at which Gradio deletes uploads and
exports)."""
QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
REMEMBER_INSPECT_TAB: Final[dict[str, Any]] = {"js": "() => evenhand.remember({tab: 'inspect'})"}


@dataclass(frozen=True)
class InteractiveTabs:
    """The tabs that a read-only page lacks: Home; Study and Run, which collect verdicts of judges;
    and Vote, which collects verdicts of people."""

    home: home_tab.HomeTab
    on_home: gr.Tab
    study: form_layout_tab.StudyTab
    on_study: gr.Tab
    run: run_tab.RunTab
    on_run: gr.Tab
    engine: Engine
    live: LiveStudies
    vote: vote_tab.VoteTab
    on_vote: gr.Tab


@dataclass(frozen=True)
class PageParts:
    """All parts of the page, for binding events between them."""

    requested_address: gr.State
    """Query parameters of the page address, kept until the study that they name is shown."""
    header: header.Header
    tabs: gr.Tabs
    names: tuple[str, ...]
    interactive: InteractiveTabs | None
    results: ResultsTab
    on_results: gr.Tab
    inspect: inspect_tab.InspectTab
    on_inspect: gr.Tab
    share: share_tab.ShareTab


def create_page(store: Store, engine: Engine | None) -> gr.Blocks:
    """Build the page. All tabs are built before events are bound, so that an event can use
    components of several tabs. If `engine` is None, the page is read-only. With a VisitorStore
    (public mode), every event also sends who the visitor is."""
    shared = isinstance(store, VisitorStore)
    expiry = TEMP_FILE_EXPIRY if shared else None
    blocks: gr.Blocks
    with gr.Blocks(title="Evenhand", analytics_enabled=False, delete_cache=expiry) as blocks:
        visitor = visitor_identity_tab.build(store.path) if shared else None
        page = _build_page(store, engine)
        if page.interactive:
            tabs = page.interactive
            home_tab.bind(
                tabs.home, tabs.study, page.header, page.tabs, tabs.on_home, store, tabs.engine
            )
            study_tab.bind(tabs.study, page.header, page.tabs, store, tabs.engine)
            run_tab.bind(tabs.run, page.header, store, tabs.engine, tabs.live, tabs.on_run)
            vote_tab.bind(tabs.vote, page.header, store, tabs.on_vote)
        results_tab.bind(page.results, page.header, store, engine)
        inspect_tab.bind(page.inspect, store)
        _bind_opening(blocks, page, store)
        _bind_study_choice(page, store)
        _bind_mark_clicks(page, store)
        _bind_remedies(page, store)
        _bind_share(page, store)
        api_tab.register_api_functions(store, engine)
        if visitor and isinstance(store, VisitorStore):
            visitor_identity_tab.bind(blocks, visitor)
            visitor_identity_tab.guard_events(blocks, visitor, page.header.study, store)
        results_tab.bind_request_text(blocks, page.results)
        disable_status_updates(blocks)
    return blocks


def _build_page(store: Store, engine: Engine | None) -> PageParts:
    requested = gr.State({})
    top = header.build()
    share = share_tab.build(shared=isinstance(store, VisitorStore))
    interactive = None
    with gr.Tabs(elem_id="eh-tabs", selected="home" if engine else "results") as tabs:
        if engine:
            with gr.Tab("Home", id="home") as on_home:
                home = home_tab.build()
            with gr.Tab("Study", id="study") as on_study:
                study = form_layout_tab.build()
            with gr.Tab("Run", id="run") as on_run:
                run = run_tab.build()
        with gr.Tab("Results", id="results") as on_results:
            results = results_tab.build()
        with gr.Tab("Inspect", id="inspect") as on_inspect:
            inspect = inspect_tab.build()
        if engine:
            with gr.Tab("Vote", id="vote") as on_vote:
                vote = vote_tab.build()
            live = LiveStudies(
                store,
                lambda name: view_drawing.study_headline(store, name),
                lambda name: run_outcome_html(store, name),
                lambda name: cost_preview.stored_plan_quote(store, name),
            )
            interactive = InteractiveTabs(
                home, on_home, study, on_study, run, on_run, engine, live, vote, on_vote
            )
    results_tab.render_hidden_components(results)
    if interactive:
        form_layout_tab.render_load_study_button(interactive.study)
    names: tuple[str, ...] = ("results", "inspect")
    if engine:
        names = ("home", "study", "run", "results", "inspect", "vote")
    return PageParts(
        requested, top, tabs, names, interactive, results, on_results, inspect, on_inspect, share
    )


def _bind_opening(blocks: gr.Blocks, page: PageParts, store: Store) -> None:
    """Bind the event that, when the page loads, opens the study, tab and filters that the address
    names in its query parameters; on a voter's page, only the ballot of the study that it names."""
    interactive = page.interactive

    def open_page(request: gr.Request) -> list[Any]:
        requested = dict(request.query_params)
        name = requested.get("study", "")
        names = study_tab.study_names(store)
        if name and name not in names:
            gr.Warning(
                escape(f"There is no study named {name!r} on this page. Choose a study at the top.")
            )
        demo = demo_studies.LARGER_STUDY
        start = demo if demo in names else next(iter(names), None)
        tab = requested.get("tab", "")
        if interactive and tab == "study" and not name:
            start = None  # the form of a new study
        if interactive and is_voter_page(requested):
            only = [name] if name in names else []  # never a ballot of another study
            shown = gr.Dropdown(choices=only, value=name if only else None, interactive=False)
            skipped = [gr.skip()] * (len(outputs) - 3)
            return [requested, shown, gr.Tabs(selected="vote"), *skipped]
        first, opened = [], tab if tab in page.names else "results" if name else page.names[0]
        if interactive:
            # Home and the form of Study are drawn when they are opened: counting the calls of large
            # studies takes seconds, and every output of an event costs time in the browser.
            first = [gr.skip()] * len(home_tab.outputs_of_show_home(interactive.home))
            if opened == "home":
                first = home_tab.show_home(store, interactive.engine)
        # assets/first.js has opened these tabs; the visitor may have gone on to another since.
        stays = opened == page.names[0] or (opened == "results" and tab in ("", opened))
        return [
            requested,
            gr.Dropdown(choices=names, value=name if name in names else start),
            gr.skip() if stays else gr.Tabs(selected=opened),
            *first,
        ]

    outputs = [page.requested_address, page.header.study, page.tabs]
    if interactive:
        outputs += home_tab.outputs_of_show_home(interactive.home)
    blocks.load(open_page, None, outputs, **QUIET).then(
        None, page.header.study, None, js="(study) => evenhand.followStudy(study)"
    )


def _bind_study_choice(page: PageParts, store: Store) -> None:
    """Bind the events that show the study chosen in the header in Study, Run, Results and Inspect,
    and those that update these tabs when they are opened. Vote binds its own."""
    top, interactive, results = page.header, page.interactive, page.results

    def show_run(name: str) -> list[Any]:
        if interactive is None:
            return []
        engine = interactive.engine
        shown = actions_tab.render(store, engine, interactive.live, name)
        return [*shown, actions_tab.show_latest_run_pill(engine, name)]

    def show_run_and_size(name: str) -> list[Any]:
        """Outputs that show the run and the size of a study; the size is included because a new
        study gets its items only when its run starts."""
        return [*show_run(name), header.study_size_html(store, name) if name else gr.skip()]

    def show_run_after_results(name: str, requested: dict[str, str]) -> list[Any]:
        """Values for the outputs of `show_run_and_size`; on a voter's page, or without a study,
        only the size changes. This event comes after the results are shown, because counting the
        calls of a large study takes a second."""
        if name and not (interactive and is_voter_page(requested)):
            return show_run_and_size(name)
        size = header.study_size_html(store, name) if name else gr.skip()
        return [*[gr.skip()] * len(run_outputs), size]

    def show_study(name: str, requested: dict[str, str], selection: Selection) -> list[Any]:
        if not name or (interactive and is_voter_page(requested)):
            return [gr.skip()] * len(outputs)
        wanted = requested if requested.get("study", name) == name else {}
        inspected = wanted if wanted.get("tab") == "inspect" else {}
        return [
            {},
            *results_tab.initial_controls(
                store, name, results, {} if inspected else wanted
            ).values(),
            *list_comparisons_of_study(name, selection, inspected),
        ]

    def list_comparisons_of_study(
        name: str, selection: Selection, address: Mapping[str, str]
    ) -> Sequence[Any]:
        """Values for the outputs of Inspect after a study was chosen. If the page's `address` names
        comparisons, they are listed now. Else the list stays empty until the tab is opened, since
        listing the comparisons of a large study takes a second."""
        if address:
            return inspect_tab.render(store, parse_selection({**address, "study": name}))
        if selection.study == name:  # a click has chosen both the study and a comparison
            return [gr.skip()] * len(inspect_outputs)
        return [Selection(), *[EMPTY] * (len(inspect_outputs) - 1)]

    def show_inspect(name: str, requested: dict[str, str], selection: Selection) -> Sequence[Any]:
        awaited = requested.get("tab") == "inspect"  # `show_study` lists what the address names
        if not name or awaited:
            return [gr.skip()] * len(inspect_outputs)
        # A selection of this study stays; replies may have arrived since it was listed.
        chosen = selection if selection.study == name else Selection(study=name)
        return inspect_tab.render(store, chosen)

    run_outputs = [*interactive.run.outputs, top.pill] if interactive else []
    inspect_outputs = inspect_tab.outputs_of_render(page.inspect)
    outputs = [page.requested_address, *results.inputs, *inspect_outputs]
    sized = [*run_outputs, top.note]
    drawn: dict[str, Any] = {"fn": None, "inputs": results.inputs, "outputs": None}
    settle = view_drawing_script(results, settling=True)
    top.study.change(None, top.study, None, js="(study) => evenhand.opening(study)")
    chosen = [top.study, page.requested_address, page.inspect.selection]
    top.study.change(show_study, chosen, outputs, **QUIET).then(
        None, top.study, None, js="(study) => evenhand.remember({study})"
    ).then(**drawn, js=f"(...v) => evenhand.blind || ({settle})(...v)").then(
        show_run_after_results, [top.study, page.requested_address], sized, **QUIET
    ).then(None, top.study, None, js="(study) => evenhand.shown(study)")
    page.on_results.select(**drawn, js=view_drawing_script(results))
    listed = gr.Button("Show the comparisons", visible="hidden", elem_id="eh-show-inspect")
    listed.click(show_inspect, chosen, inspect_outputs, **QUIET)
    page.on_inspect.select(None, None, None, js="() => evenhand.listComparisons()")
    if interactive:
        interactive.on_run.select(show_run_and_size, top.study, sized, **QUIET)
        fresh = gr.Button("Show the run", visible="hidden", elem_id="eh-show-run")
        fresh.click(show_run_and_size, top.study, sized, **QUIET).then(
            None, None, None, js="() => evenhand.arrived()"
        )
        interactive.on_study.select(
            None, top.study, None, js="(study) => evenhand.followStudy(study)"
        )


def is_voter_page(parameters: Mapping[str, str]) -> bool:
    """Whether the query parameters of an address contain `blind`, as a link for voters does."""
    return bool(parameters.get("blind"))


def _bind_mark_clicks(page: PageParts, store: Store) -> None:
    """Bind the clicks on numbers, cells, points and bars of Results, and on numbers and replies of
    Run: open the judgements behind them in Inspect."""
    results, study = page.results, page.header.study

    def open_judgements_of_mark(event: gr.EventData, name: str, request: str) -> Any:
        values = parse_request(results, request)
        _, chosen, _ = view_filter_and_controls(results, values)
        selection = inspect_filters_for_mark(FilteredStudy(store, name, chosen), click_data(event))
        return [gr.Tabs(selected="inspect"), *inspect_tab.render(store, selection)]

    def open_reply(name: str, event: gr.EventData) -> Any:
        selection = parse_selection({**click_data(event), "study": name})
        return [gr.Tabs(selected="inspect"), *inspect_tab.render(store, selection)]

    shown = [page.tabs, *inspect_tab.outputs_of_render(page.inspect)]
    asked = [study, results.request_text]
    opened = [results.marks.select(open_judgements_of_mark, asked, shown, **QUIET)]
    if page.interactive:
        marks = page.interactive.run.components_opening_judgements
        opened.append(gr.on([mark.select for mark in marks], open_reply, study, shown, **QUIET))
    for event in opened:
        event.then(None, None, None, **REMEMBER_INSPECT_TAB)


def _bind_remedies(page: PageParts, store: Store) -> None:
    """Bind the buttons of the panels on remedies (rules that decide a comparison from several
    stored verdicts) and on better prompts: use a rule in the study, open the study file of a pilot,
    filter by judge; write rules for a prompt, and try, adopt or undo its candidates."""
    results, study, interactive = page.results, page.header.study, page.interactive
    judge = results.filters["judge"]
    form = form_updates_tab.form_outputs(interactive.study) if interactive else []
    outputs = [page.tabs, judge, *form, *([study] if interactive else [])]

    def perform_prompt_action(filtered: FilteredStudy, click: dict[str, Any]) -> list[Any]:
        skipped = [gr.skip()] * len(outputs)
        try:
            opened, told = perform_improve_action(filtered, click)
        except EvenhandError as error:
            raise gr.Error(escape(str(error)), duration=None) from None
        if told:
            gr.Info(escape(told))
        if not opened or not interactive:
            return skipped
        return [gr.Tabs(selected="run"), *skipped[1:-1], files_tab.study_menu_update(store, opened)]

    def handle_panel_click(
        event: gr.EventData, name: str, request: str, *form_state: Any
    ) -> list[Any]:
        send, skipped = click_data(event), [gr.skip()] * len(outputs)
        _, chosen, _ = view_filter_and_controls(results, parse_request(results, request))
        if "use" in send:
            try:
                store.set_combine_rule(name, str(send["use"]))
            except EvenhandError as error:
                raise gr.Error(escape(str(error)), duration=None) from None
        if "improve" in send:
            return perform_prompt_action(FilteredStudy(store, name, chosen), send)
        if "show" in send:
            return [gr.skip(), gr.Dropdown(value=str(send["show"])), *skipped[2:]]
        text = pilot_study_text(FilteredStudy(store, name, chosen), str(send.get("pilot", "")))
        if not text or not form_state:
            return skipped
        shown = files_tab.save_and_show_new_study(store, text, *form_state)
        return [gr.Tabs(selected="study"), gr.skip(), *shown]

    state = [interactive.study.state, interactive.study.tested] if interactive else []
    redraw: dict[str, Any] = {"fn": None, "inputs": results.inputs, "outputs": None}
    done = results.outputs["panels"].select(
        handle_panel_click, [study, results.request_text, *state], outputs, **QUIET
    )
    done.then(**redraw, js=view_drawing_script(results))


def _bind_share(page: PageParts, store: Store) -> None:
    """Connect the Share drawer to the study in the header and the filters of the Results tab."""
    results = page.results

    def study_with_filters(name: str, request: str) -> FilteredStudy | None:
        if not name:
            return None
        values = parse_request(results, request)
        return FilteredStudy(store, name, view_filter_and_controls(results, values)[1])

    inputs = [page.header.study, results.request_text]
    share_tab.bind(page.share, page.header.share, inputs, study_with_filters)
    if page.share.links and isinstance(store, VisitorStore):
        share_link_tab.bind(page.share.links, page.header.share, page.header.study, store)
