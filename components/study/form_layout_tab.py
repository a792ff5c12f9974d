"""Layout of the Study tab, which is the form of one study."""

from types import SimpleNamespace
from typing import Any, Final

import gradio as gr

from components.html import pieces, templates
from components.html.markup import Markup
from components.layout.widgets import ClickableHTML
from components.study.collect import collect_layout_tab
from components.study.file.lenient_study import START_YAML, FormState
from components.study.plan.example_files import example_names

UPLOAD_SUFFIXES: Final = [
    f".{one}" for one in ["csv", "tsv", "jsonl", "ndjson", "json", "parquet", "xlsx", "eval", "gz"]
]
QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
"""Settings of an event without a progress bar that is no endpoint for programs."""
_FORM_SCRIPT: Final = (
    "evenhand.clicks(element, trigger, watch); evenhand.form(element, trigger, watch);"
    " /* triggers 'select' */"
)
_HTML: Final = templates.macros("study/form_layout.html")
_BROWSER_VALUE_SCRIPT: Final = "evenhand.wire({name!r}, props, trigger); /* triggers 'select' */"


class StudyTab(SimpleNamespace):
    """The components of the Study tab by name, as `build` makes them."""

    @property
    def form_components(self) -> list[Any]:
        """The components of the form, in the order of `form_html.render_form`."""
        return [
            self.title, self.said, self.source, self.records, self.judges, self.more, self.drawer,
            self.prompt, self.body,
        ]  # fmt: skip

    @property
    def plan_components(self) -> list[Any]:
        """Components that show the plan, in the order of `form_updates_tab.plan_updates`."""
        return [
            self.steps, self.plan, self.run, self.attempt, self.run_bar, self.profile,
            self.save_file, self.power,
        ]  # fmt: skip


# --------------------------------------------------------------------------------- layout


def build() -> StudyTab:
    tab = StudyTab(state=gr.State(FormState()), tested=gr.State({}))
    # Through these components the browser sends changes of the form, slow jobs, and typed keys
    # (when a run or a test needs them).
    tab.edits, tab.errand, tab.keys = map(_browser_value_component, ("edits", "errand", "keys"))
    # This hidden button loads the study of the header into the form.
    tab.follow = gr.Button("Show the study", visible="hidden", elem_id="eh-follow", render=False)
    with gr.Column(elem_id="eh-form"):
        _build_head(tab)
        with gr.Row(equal_height=True, elem_classes="eh-pair eh-steps-row"):
            with _panel_column("eh-step-data"):
                tab.source = _form_html("eh-source")
                tab.upload = gr.UploadButton(
                    "Choose a file", file_count="multiple", file_types=UPLOAD_SUFFIXES,
                    elem_id="eh-upload",
                )  # fmt: skip
                tab.records = _form_html("eh-records")
            tab.judges = _form_html("eh-judges", panel=True)
        tab.more = _form_html("eh-protocol", panel=True)
        tab.power = _form_html("eh-power", panel=True)
        with gr.Row(elem_classes="eh-plan-row", elem_id="eh-step-run"):
            tab.plan = _form_html("eh-plan")
            with gr.Column(elem_classes="eh-go"):
                tab.run = gr.Button(
                    "Run", variant="primary", elem_classes="eh-big", elem_id="eh-run"
                )
                tab.attempt = gr.Button("Try one item", elem_classes="eh-ghost", elem_id="eh-try")
        tab.profile = _form_html("eh-profile", panel=True)
        tab.collect = collect_layout_tab.build()
        with _panel_column("eh-file-panel"):
            _build_file_panel(tab)
        tab.run_bar = _form_html("eh-run-bar")
    tab.drawer = _form_html("eh-judge-drawer")
    with gr.Column(visible=False, elem_id="eh-prompt-drawer", elem_classes="eh-drawer") as drawer:
        _build_prompt_drawer(tab)
    tab.prompt_drawer = drawer
    return tab


def _panel_column(elem_id: str) -> gr.Column:
    return gr.Column(elem_classes="eh-panel", elem_id=elem_id)


def render_load_study_button(tab: StudyTab) -> None:
    """Place the hidden button that loads the header's study into the form. It must be outside all
    tabs: what is inside a tab does not exist in the browser until the tab is opened."""
    tab.follow.render()


def _form_html(elem_id: str, value: str = "", *, panel: bool = False) -> gr.HTML:
    """A component for one part of the form; the page's script sends its changes and clicks.
    `panel`: draw the part with the frame of a panel."""
    return gr.HTML(
        value, js_on_load=_FORM_SCRIPT, apply_default_css=False, elem_id=elem_id,
        elem_classes=["eh-html", "eh-panel"] if panel else ["eh-html"],
    )  # fmt: skip


def _browser_value_component(name: str) -> gr.HTML:
    """An invisible component that sends a value of the page to the server."""
    return gr.HTML(
        "", html_template=Markup("<i hidden></i>"), apply_default_css=False,
        js_on_load=_BROWSER_VALUE_SCRIPT.format(name=name), elem_classes=["eh-html", "eh-wire"],
    )  # fmt: skip


def _build_head(tab: StudyTab) -> None:
    with gr.Row(elem_classes="eh-title-row"):
        tab.title = ClickableHTML(
            pieces.finding_html("Set up a study", "No call is made until you press Run."),
            elem_id="eh-study-title",
        )
        tab.new = gr.Button("New study", elem_classes="eh-unseen", elem_id="eh-new")
        _form_html("eh-file-menu", _HTML.file_menu())
    tab.steps = _form_html("eh-steps")
    tab.said = _form_html("eh-study-said")


def _build_prompt_drawer(tab: StudyTab) -> None:
    tab.prompt = _form_html("eh-prompt")
    with gr.Column(visible=False, elem_classes="eh-editor") as tab.writing:
        tab.draft = gr.Code(
            language="yaml", show_label=False, interactive=True, elem_id="eh-draft",
            lines=18, max_lines=30, show_line_numbers=False, label="Prompt file", wrap_lines=True,
        )  # fmt: skip
        with gr.Row():
            tab.save_prompt = gr.Button(
                "Save as a new version", elem_classes="eh-fit", elem_id="eh-save-prompt"
            )
            tab.import_prompts = gr.UploadButton(
                "Import judge_prompts.jsonl", file_types=[".jsonl"], elem_classes="eh-fit"
            )
    tab.body = _form_html("eh-prompt-body")


def _build_file_panel(tab: StudyTab) -> None:
    _form_html("eh-file-head", _HTML.file_head())
    with gr.Column(elem_classes="eh-folded"):
        tab.example = gr.Dropdown(
            example_names(), value=None, label="Open an example", interactive=True,
            show_label=False, container=False, elem_classes="eh-filter", elem_id="eh-example",
        )  # fmt: skip
        tab.yaml = gr.Code(
            START_YAML, language="yaml", show_label=False, interactive=True, label="study.yaml",
            elem_id="eh-yaml", lines=10, max_lines=24, show_line_numbers=False, wrap_lines=True,
        )  # fmt: skip
        with gr.Row():
            tab.open_file = gr.UploadButton(
                "Open a study file", file_types=[".yaml", ".yml"], elem_classes="eh-fit",
                elem_id="eh-open-file",
            )  # fmt: skip
            tab.save_file = gr.DownloadButton(
                "Save study.yaml", elem_classes="eh-fit", elem_id="eh-save-file"
            )
