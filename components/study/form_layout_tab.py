"""Layout of the Study tab, which is the form of one study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.markup import Markup
from components.html.pieces import finding_html
from components.layout.widgets import ClickableHTML
from components.study.collect import collect_layout_tab
from components.study.file.lenient_study import START_YAML, FormState
from components.study.plan.example_files import example_names

UPLOAD_SUFFIXES: Final = [
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".parquet",
    ".xlsx",
    ".eval",
    ".gz",
]
_FORM_SCRIPT: Final = (
    "evenhand.clicks(element, trigger, watch); evenhand.form(element, trigger, watch);"
    " /* triggers 'select' */"
)
_BROWSER_VALUE_SCRIPT: Final = "evenhand.wire({name!r}, props, trigger); /* triggers 'select' */"


@dataclass(frozen=True)
class StudyTab:
    title: gr.HTML
    new: gr.Button
    follow: gr.Button
    """Hidden button that loads the study of the header into the form."""
    steps: gr.HTML
    power: gr.HTML
    plan: gr.HTML
    run: gr.Button
    attempt: gr.Button
    said: gr.HTML
    source: gr.HTML
    upload: gr.UploadButton
    records: gr.HTML
    judges: gr.HTML
    more: gr.HTML
    drawer: gr.HTML
    prompt_drawer: gr.Column
    prompt: gr.HTML
    writing: gr.Column
    draft: gr.Code
    save_prompt: gr.Button
    import_prompts: gr.UploadButton
    body: gr.HTML
    profile: gr.HTML
    yaml: gr.Code
    open_file: gr.UploadButton
    save_file: gr.DownloadButton
    example: gr.Dropdown
    collect: collect_layout_tab.CollectTab
    run_bar: gr.HTML
    edits: gr.HTML
    """Component through which the browser sends the changes of the form."""
    errand: gr.HTML
    keys: gr.HTML
    """Component through which the browser sends typed keys, when a run or a test needs them."""
    view: gr.State
    tested: gr.State

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
    parts: dict[str, Any] = {"view": gr.State(FormState()), "tested": gr.State({})}
    for name in ("edits", "errand", "keys"):
        parts[name] = _browser_value(name)
    parts["follow"] = gr.Button(
        "Show the study", visible="hidden", elem_id="eh-follow", render=False
    )
    with gr.Column(elem_id="eh-form"):
        _build_head(parts)
        with gr.Row(equal_height=True, elem_classes="eh-pair eh-steps-row"):
            with gr.Column(elem_classes="eh-panel", elem_id="eh-step-data"):
                parts["source"] = _form_html("eh-source")
                parts["upload"] = gr.UploadButton(
                    "Choose a file", file_count="multiple", file_types=UPLOAD_SUFFIXES,
                    elem_id="eh-upload",
                )  # fmt: skip
                parts["records"] = _form_html("eh-records")
            with gr.Column(elem_classes="eh-panel", elem_id="eh-step-judge"):
                parts["judges"] = _form_html("eh-judges")
        with gr.Column(elem_classes="eh-panel", elem_id="eh-more-panel"):
            parts["more"] = _form_html("eh-protocol")
        with gr.Column(elem_classes="eh-panel", elem_id="eh-power-panel"):
            parts["power"] = _form_html("eh-power")
        _build_run(parts)
        with gr.Column(elem_classes="eh-panel", elem_id="eh-profile-panel"):
            parts["profile"] = _form_html("eh-profile")
        parts["collect"] = collect_layout_tab.build()
        with gr.Column(elem_classes="eh-panel", elem_id="eh-file-panel"):
            _build_file(parts)
        parts["run_bar"] = _form_html("eh-run-bar")
    parts["drawer"] = _form_html("eh-judge-drawer")
    with gr.Column(
        visible=False, elem_id="eh-prompt-drawer", elem_classes="eh-drawer"
    ) as prompt_drawer:
        _build_prompt(parts)
    return StudyTab(prompt_drawer=prompt_drawer, **parts)


def render_hidden(tab: StudyTab) -> None:
    """Render the hidden button outside all tabs, since an unopened tab has no content."""
    tab.follow.render()  # type: ignore[no-untyped-call]


def _form_html(elem_id: str) -> gr.HTML:
    """A component for one part of the form; the page's script sends its changes and clicks."""
    return gr.HTML(
        "",
        js_on_load=_FORM_SCRIPT,
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=["eh-html"],
    )


_HIDDEN: Final = Markup("<i hidden></i>")


def _browser_value(name: str) -> gr.HTML:
    """An invisible component that sends a value of the page to the server."""
    return gr.HTML(
        "", html_template=_HIDDEN, js_on_load=_BROWSER_VALUE_SCRIPT.format(name=name),
        apply_default_css=False, elem_classes=["eh-html", "eh-wire"],
    )  # fmt: skip


_FILE_MENU: Final = Markup(
    '<div class="eh"><div class="eh-form"><details class="eh-pop"><summary class="eh-btn">File'
    '</summary><div class="list">'
    '<button type="button" data-press="#eh-new">New study</button>'
    '<button type="button" data-press="#eh-open-file">Open a study file</button>'
    '<button type="button" data-press="#eh-save-file">Save study.yaml</button>'
    '<button type="button" data-press="#eh-show-file">Show study.yaml and examples</button>'
    '<button type="button" data-press="#eh-collect button">Collect items and captions</button>'
    "</div></details></div></div>"
)


def _build_head(parts: dict[str, Any]) -> None:
    with gr.Row(elem_classes="eh-title-row"):
        parts["title"] = ClickableHTML(
            finding_html("Set up a study", "No call is made until you press Run."),
            elem_id="eh-study-title",
        )
        parts["new"] = gr.Button("New study", elem_classes="eh-unseen", elem_id="eh-new")
        menu = _form_html("eh-file-menu")
        menu.value = _FILE_MENU
    parts["steps"] = _form_html("eh-steps")
    parts["said"] = _form_html("eh-study-said")


def _build_run(parts: dict[str, Any]) -> None:
    with gr.Row(elem_classes="eh-plan-row", elem_id="eh-step-run"):
        parts["plan"] = _form_html("eh-plan")
        with gr.Column(elem_classes="eh-go"):
            parts["run"] = gr.Button(
                "Run", variant="primary", elem_classes="eh-big", elem_id="eh-run"
            )
            parts["attempt"] = gr.Button("Try one item", elem_classes="eh-ghost", elem_id="eh-try")


def _build_prompt(parts: dict[str, Any]) -> None:
    parts["prompt"] = _form_html("eh-prompt")
    with gr.Column(visible=False, elem_classes="eh-editor") as parts["writing"]:
        parts["draft"] = gr.Code(
            language="yaml", show_label=False, interactive=True, elem_id="eh-draft",
            lines=18, max_lines=30, show_line_numbers=False, label="Prompt file", wrap_lines=True,
        )  # fmt: skip
        with gr.Row():
            parts["save_prompt"] = gr.Button(
                "Save as a new version", elem_classes="eh-fit", elem_id="eh-save-prompt"
            )
            parts["import_prompts"] = gr.UploadButton(
                "Import judge_prompts.jsonl", file_types=[".jsonl"], elem_classes="eh-fit"
            )
    parts["body"] = _form_html("eh-prompt-body")


_FOLD_FILE: Final = Markup(
    '<div class="eh"><div class="eh-form"><button type="button" class="eh-foldhead" '
    'id="eh-show-file" data-fold="#eh-file-panel" aria-expanded="false"><b>study.yaml</b>'
    '<span class="eh-small eh-mute">the form edits this file and Run uses it; settings without a '
    "control are kept</span></button></div></div>"
)


def _build_file(parts: dict[str, Any]) -> None:
    head = _form_html("eh-file-head")
    head.value = _FOLD_FILE
    with gr.Column(elem_classes="eh-folded"):
        parts["example"] = gr.Dropdown(
            example_names(), value=None, label="Open an example", interactive=True,
            show_label=False, container=False, elem_classes="eh-filter", elem_id="eh-example",
        )  # fmt: skip
        parts["yaml"] = gr.Code(
            START_YAML, language="yaml", show_label=False, interactive=True, label="study.yaml",
            elem_id="eh-yaml", lines=10, max_lines=24, show_line_numbers=False, wrap_lines=True,
        )  # fmt: skip
        with gr.Row():
            parts["open_file"] = gr.UploadButton(
                "Open a study file", file_types=[".yaml", ".yml"], elem_classes="eh-fit",
                elem_id="eh-open-file",
            )  # fmt: skip
            parts["save_file"] = gr.DownloadButton(
                "Save study.yaml", elem_classes="eh-fit", elem_id="eh-save-file"
            )
