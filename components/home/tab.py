"""The Home tab: what Evenhand is, the recorded demo, own data, stored studies and examples."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import gradio as gr

from components.home import study_list
from components.home.demo_panel import live_demo_html, live_demo_study_name, recorded_demo_html
from components.home.paper_claims import claims_html
from components.home.study_list import running_study_names
from components.home.uploaded_data import UploadedData, store_and_read_uploads, uploads_html
from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.pieces import finding_html, notice_html, panel_heading
from components.layout.glossary import mark_terms
from components.layout.header import Header
from components.layout.loading_screen import LEAD, TITLE, FirstContent
from components.layout.widgets import ClickableHTML
from components.run import actions_tab
from components.server.gradio_private import click_data
from components.study import jobs
from components.study.file.lenient_study import START_YAML, FormState, read_lenient_study
from components.study.file.yaml_edit import put_value
from components.study.files_tab import save_and_show_new_study, study_menu_update
from components.study.form_layout_tab import QUIET, UPLOAD_SUFFIXES, StudyTab
from components.study.form_updates_tab import form_outputs
from components.study.plan import demo_studies, example_files
from components.study.tab import MARK_ENDED, MARK_STARTING, open_study, study_names
from judges.engine.engine import Engine
from judges.planning.plan import plan_for_current_visitor, save_plan
from studies.exchange.recorded_studies import list_own_studies_of_source
from studies.files.upload_names import hide_hashes
from studies.store.store import Store

_LIST_SCRIPT: Final = (
    "evenhand.clicks(element, trigger, watch); evenhand.fields(element, trigger, watch);"
    " evenhand.studies(element, watch); /* triggers 'select' */"
)
"""Script of the list of studies: its buttons and fields send their data to `.select`."""
SHOW_HOME: Final = "() => evenhand.showHome()"
MARK_DRAWN: Final = "() => evenhand.demoDrawn()"
"""Script that keeps the button of the demo disabled while the run is active."""
READ_ENDED: Final = "() => evenhand.filesRead()"
REMEMBER_TAB: Final[dict[str, Any]] = {"js": "(study) => evenhand.rememberTab(study)"}
TOUR_OFFER: Final = study_list.html.tour_offer()
"""Line that offers the tour; assets/page.js shows it until the visitor takes or declines the
tour."""


class HomeTab(SimpleNamespace):
    """The components of the Home tab by name, as `build` makes them."""


def build() -> HomeTab:
    tab = HomeTab(timer=gr.Timer(1.0, active=False))  # redraws the live demo while it runs
    with gr.Row(elem_classes="eh-hero"):
        with gr.Column(scale=5):
            ClickableHTML(finding_html(TITLE, LEAD), elem_id="eh-home-title")
            tab.again = gr.Button(
                str(study_list.html.live_words()),
                variant="primary",
                elem_classes="eh-fit eh-big",
                elem_id="eh-again",
            )
            ClickableHTML(study_list.html.below_demo(TOUR_OFFER))
        with gr.Column(scale=6, elem_classes="eh-panel"):
            tab.finding = ClickableHTML(elem_id="eh-first-finding")
            tab.squares = ClickableHTML(elem_id="eh-first-squares")
    with gr.Column(elem_classes="eh-panel", elem_id="eh-open-data"):
        ClickableHTML(study_list.html.open_data())
        with gr.Row(elem_classes="eh-drop"):
            tab.upload = gr.UploadButton(
                "Choose files", file_count="multiple", file_types=UPLOAD_SUFFIXES,
                elem_classes="eh-fit", elem_id="eh-door-files",
            )  # fmt: skip
            ClickableHTML(study_list.html.drop_here())
        tab.judge = gr.Textbox(
            "", label="The file does not name its judge", placeholder="gpt-4", max_lines=1,
            visible=False, elem_id="eh-door-judge",
        )  # fmt: skip
        tab.seen = ClickableHTML(elem_id="eh-seen")
        tab.read = gr.State(None)  # UploadedData of the files read last
        tab.notice = ClickableHTML(elem_id="eh-home-notice")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head", elem_id="eh-home-head"):
            ClickableHTML(panel_heading("My studies"))
            ClickableHTML(study_list.SEARCH_FIELD, elem_id="eh-home-find")
            tab.new = gr.Button("New study", elem_classes="eh-fit", elem_id="eh-home-new")
        tab.studies = gr.HTML(
            "", js_on_load=_LIST_SCRIPT, apply_default_css=False, elem_id="eh-home-studies",
            elem_classes=["eh-html"],
        )  # fmt: skip
    tab.examples = ClickableHTML(elem_id="eh-home-examples")
    return tab


def outputs_of_show_home(tab: HomeTab) -> list[Any]:
    """The Gradio outputs of `show_home`, in the order of its return values."""
    return [tab.finding, tab.squares, tab.studies, tab.examples]


def show_home(store: Store, engine: Engine) -> list[Any]:
    shown = study_list.studies_html(store, running_study_names(store, engine))
    return [*recorded_demo_html(store), shown, study_list.examples_html(store, claims_html(store))]


def opens_home(address: Mapping[str, str]) -> bool:
    """Whether a page with these query parameters opens with the Home tab."""
    tab = address.get("tab", "")
    return set(address) <= {"__theme", "tab", "study"} and (
        tab == "home" or not (tab or "study" in address)
    )


def first_content_of_home(store: Store, engine: Engine) -> FirstContent | None:
    """Content of Home that the page shows until the server has answered its first request for Home;
    None while the live demo runs."""
    if engine.active_run(live_demo_study_name(store)) is not None:
        return None
    finding, squares, studies, examples = shown = show_home(store, engine)
    ids = ("eh-first-finding", "eh-first-squares", "eh-home-studies", "eh-home-examples")
    values = (mark_terms(finding), mark_terms(squares), studies, mark_terms(examples))
    loading = study_list.html.preview(finding_html(TITLE, LEAD), *shown)
    return FirstContent(loading, dict(zip(ids, values, strict=True)))


def bind(
    tab: HomeTab, study: StudyTab, header: Header, tabs: gr.Tabs, on_tab: gr.Tab,
    store: Store, engine: Engine,
) -> None:  # fmt: skip
    _bind_demo(tab, header, store, engine)
    _bind_file_upload(tab, study, header, tabs, store)
    _bind_studies(tab, study, header, tabs, store, engine)

    def show_home_or_running_demo() -> list[Any]:
        shown = show_home(store, engine)
        if engine.active_run(live_demo_study_name(store)) is None:
            return [gr.skip(), *shown]
        return [gr.Timer(active=True), *live_demo_html(store, engine), *shown[2:]]

    # A voter's page shows no Home tab, and is sent no names of studies and judges.
    fresh = gr.Button("Show the studies", visible="hidden", elem_id="eh-show-studies")
    fresh.click(show_home_or_running_demo, None, [tab.timer, *outputs_of_show_home(tab)], **QUIET)
    on_tab.select(None, None, None, js=SHOW_HOME)


def _bind_demo(tab: HomeTab, header: Header, store: Store, engine: Engine) -> None:
    """Bind the events that run the demo and fill its squares while it runs. The timer is inactive
    at any other time: a page without a run sends no requests."""

    def run_demo() -> list[Any]:
        plan = plan_for_current_visitor(demo_studies.live_demo_plan(store), store)
        save_plan(plan, store)
        actions_tab.start_run(store, engine, plan.study.name)
        shown = study_menu_update(store, plan.study.name)
        return [shown, gr.Timer(active=True), *live_demo_html(store, engine)]

    def show_running_demo(study: str) -> list[Any]:
        parts = live_demo_html(store, engine)
        running = engine.active_run(live_demo_study_name(store)) is not None
        pill = actions_tab.show_latest_run_pill(engine, study) if study else gr.skip()
        return [gr.skip() if running else gr.Timer(active=False), *parts, pill]

    outputs = [tab.timer, tab.finding, tab.squares]
    tab.again.click(None, None, None, js=MARK_STARTING)
    event = tab.again.click(run_demo, None, [header.study, *outputs], **QUIET)
    event.success(None, None, None, js=MARK_DRAWN)
    event.failure(None, None, None, js=MARK_ENDED)
    ticked = tab.timer.tick(
        show_running_demo, header.study, [*outputs, header.pill], trigger_mode="once", **QUIET
    )
    ticked.then(None, None, None, js=MARK_DRAWN)


def _bind_file_upload(
    tab: HomeTab, study: StudyTab, header: Header, tabs: gr.Tabs, store: Store
) -> None:
    """Bind the events of an upload: the files are stored and the page shows what they contain; a
    study is saved only when the button is pressed."""
    form = form_outputs(study)
    shown = [tab.read, tab.seen, tab.judge, tab.notice]
    outputs = [*form, header.study, tabs, *shown]

    def show_upload_error(error: Exception) -> list[Any]:
        told = notice_html("bad", "This file cannot be opened.", hide_hashes(str(error)))
        return [None, EMPTY, gr.Textbox(visible=False), told]

    def read_chosen_files(paths: list[str]) -> list[Any]:
        try:
            seen = store_and_read_uploads([Path(path) for path in paths], store.folder)
        except jobs.REPORTED_ERRORS as error:
            return show_upload_error(error)
        return [seen, uploads_html(seen), gr.Textbox(value="", visible=seen.judge_unnamed), EMPTY]

    def handle_upload_click(
        seen: UploadedData | None, judge: str, text: str, state: FormState, tested: Any,
        event: gr.EventData,
    ) -> list[Any]:  # fmt: skip
        keep, asked = [gr.skip()] * (len(form) + 2), click_data(event)
        if seen is None:
            return [*keep, *[gr.skip()] * len(shown)]
        if asked.get("do") == "kind":
            other = replace(seen, chosen=str(asked.get("kind")))
            return [*keep, other, uploads_html(other), gr.skip(), EMPTY]
        done = [None, EMPTY, gr.Textbox(visible=False), EMPTY]
        if asked.get("do") == "columns" or not seen.opens_results:
            source = read_lenient_study(seen.text, store.folder).source
            if begun := list_own_studies_of_source(store, source)[1]:
                made = open_study(store, begun[0], text, state, tested)
                made.append(study_menu_update(store, begun[0]))
            else:
                named = put_value(seen.text, ("name",), jobs.study_name_from_data_file(seen.text))
                made = save_and_show_new_study(store, named, state, tested)
            return [*made, gr.Tabs(selected="study"), *done]
        try:
            name = jobs.import_recorded_verdicts(seen.text, store, judge)
        except jobs.REPORTED_ERRORS as error:
            return [*keep, *show_upload_error(error)]
        names = study_menu_update(store, name)
        return [*[gr.skip()] * len(form), names, gr.Tabs(selected="results"), *done]

    tab.upload.upload(read_chosen_files, tab.upload, shown, **QUIET).then(
        None, None, None, js=READ_ENDED
    )
    inputs = [tab.read, tab.judge, study.yaml, study.state, study.tested]
    tab.seen.select(handle_upload_click, inputs, outputs, **QUIET).then(
        None, header.study, None, **REMEMBER_TAB
    )


def _bind_studies(
    tab: HomeTab, study: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine
) -> None:
    form = form_outputs(study)
    outputs = [*form, header.study, tabs, tab.studies, tab.notice]
    keep: list[Any] = [gr.skip()] * len(form)

    def list_studies_html(**options: str) -> Markup:
        active = running_study_names(store, engine)
        return study_list.studies_html(store, active, **options)  # type: ignore[arg-type]

    def save_and_open_in_form(text: str, state: FormState, tested: Any) -> list[Any]:
        made = save_and_show_new_study(store, text, state, tested)
        return [*made, gr.Tabs(selected="study"), list_studies_html(), EMPTY]

    def handle_list_click(
        text: str, state: FormState, tested: Any, event: gr.EventData
    ) -> list[Any]:
        asked = click_data(event)
        try:
            return perform_list_action(
                asked if isinstance(asked, Mapping) else {}, text, state, tested
            )
        except jobs.REPORTED_ERRORS as error:
            told = notice_html("bad", "Not changed.", str(error))
            return [*keep, gr.skip(), gr.skip(), list_studies_html(), told]

    def perform_list_action(
        asked: Mapping[str, Any], text: str, state: FormState, tested: Any
    ) -> list[Any]:
        if isinstance(asked.get("set"), Mapping):
            (name, wanted), *_ = asked["set"].items()
            new = study_list.rename_study(store, engine, str(name), str(wanted))
            names = study_menu_update(store, new)
            return [*keep, names, gr.skip(), list_studies_html(), EMPTY]
        do, name = str(asked.get("do")), str(asked.get("study"))
        if do == "example":
            return save_and_open_in_form(example_files.example_text(name), state, tested)
        if name not in study_names(store):
            return [*keep, gr.skip(), gr.skip(), list_studies_html(), EMPTY]
        if do == "open":
            at = str(asked.get("tab") or "results")
            if at == "study":
                made = open_study(store, name, text, state, tested)
                return [*made, name, gr.Tabs(selected="study"), gr.skip(), EMPTY]
            return [*keep, name, gr.Tabs(selected=at), gr.skip(), EMPTY]
        if do == "duplicate":
            copied = put_value(jobs.stored_study_yaml(store, name), ("name",), name)
            return save_and_open_in_form(copied, state, tested)
        if do == "delete now":
            gone = study_list.delete_study(store, engine, name)
            left = study_names(store)
            names = gr.Dropdown(choices=left, value=next(iter(left), None))
            told = notice_html(
                "calm", f"{name} was deleted.", f"Replies deleted with it: {count(gone)}."
            )
            return [*keep, names, gr.skip(), list_studies_html(), told]
        question = do if do in ("rename", "delete") else ""
        return [
            *keep,
            gr.skip(),
            gr.skip(),
            list_studies_html(question=question, asked=name),
            EMPTY,
        ]

    inputs = [study.yaml, study.state, study.tested]
    lists = [part.select for part in (tab.studies, tab.examples)]
    gr.on(lists, handle_list_click, inputs, outputs, **QUIET).then(
        None, header.study, None, **REMEMBER_TAB
    )

    def save_and_open_start_study(state: FormState, tested: Any) -> list[Any]:
        return save_and_open_in_form(START_YAML, state, tested)

    tab.new.click(save_and_open_start_study, inputs[1:], outputs, **QUIET).then(
        None, header.study, None, **REMEMBER_TAB
    )
