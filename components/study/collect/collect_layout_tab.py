"""Layout of the Collect section in the Study tab: forms for a new item or an image caption."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

import gradio as gr

from components.html import pieces, templates
from components.html.markup import Markup, fill
from components.layout.widgets import ClickableHTML, HiddenText, Switch
from components.study.collect.save_collected import ANSWER_BOXES
from studies.people.new_items import LICENCES, MAX_CAPTION_CHARS, MAX_INSTRUCTION_CHARS

_HTML: Final = templates.macros("study/form_layout.html")
READ_ANSWERS: Final = "(...inputs) => [...inputs.slice(0, -1), evenhand.answers()]"
"""Script that sets the last input of an event to the answers typed, as JSON."""
ITEM_FORM: Final = "New item"
CAPTION_FORM: Final = "Dense caption"
IMAGE_SUFFIXES: Final = [".png", ".jpg", ".jpeg", ".gif", ".webp"]
COLLECT_SUBTITLE: Final = (
    "the item or caption is saved in a new version of the study’s data; the original file is "
    "unchanged"
)


class CollectTab(SimpleNamespace):
    """The components of the Collect section by name, as `build` makes them."""


def build() -> CollectTab:
    tab = CollectTab()
    title = "Write data: add an item, or a caption to an image"
    with (
        gr.Column(elem_classes="eh-panel", elem_id="eh-collect"),
        gr.Accordion(title, open=False) as tab.fold,
    ):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(pieces.panel_heading("Add to the data", COLLECT_SUBTITLE))
            tab.which = Switch((ITEM_FORM, CAPTION_FORM), "What to collect")
        with gr.Row(elem_classes="eh-collect-top"):
            tab.by = gr.Textbox(label="Your name (optional)")
            tab.version = _make_dropdown(
                "Data version used by the study", visible=False, elem_id="eh-collect-version"
            )
        with gr.Column(elem_classes="eh-collect") as tab.item_form:
            _build_item_form(tab)
        with gr.Column(visible=False, elem_classes="eh-collect") as tab.caption_form:
            _build_caption_form(tab)
        tab.said = ClickableHTML(elem_id="eh-collect-said")
    return tab


def _make_dropdown(label: str, choices: Sequence[str] = (), **more: Any) -> gr.Dropdown:
    return gr.Dropdown(list(choices), value=None, label=label, interactive=True, **more)


def _build_item_form(tab: CollectTab) -> None:
    tab.instruction = gr.Textbox(
        label="Instruction", lines=2, max_lines=8, elem_id="eh-new-instruction",
        placeholder="Question or task about the image",
    )  # fmt: skip
    tab.length = ClickableHTML(
        character_count_html(MAX_INSTRUCTION_CHARS), elem_classes="eh-length"
    )
    with gr.Row():
        with gr.Column():
            tab.images = gr.File(
                label="Images", file_types=IMAGE_SUFFIXES, file_count="multiple", height=120,
                interactive=True, elem_id="eh-new-images",
            )  # fmt: skip
            addresses = "or type https:// addresses of images, one per line"
            tab.addresses = gr.Textbox(label=addresses, lines=1, max_lines=4)
            tab.licence = _make_dropdown("Licence of the images", LICENCES, allow_custom_value=True)
        with gr.Column():
            tab.category = _make_dropdown("Category", allow_custom_value=True)
            tab.reference = gr.Textbox(label="Expected output", lines=3, max_lines=12)
            tab.context = gr.Textbox(label="Dense caption (optional)", lines=2, max_lines=12)
    tab.answers = ClickableHTML(answer_fields_html([]), elem_id="eh-new-answers")
    tab.typed = HiddenText("answers typed")
    with gr.Row(elem_classes="eh-collect-end"):
        tab.fresh = gr.Checkbox(label="Start a new data file with this item")
        tab.save_item = gr.Button(
            "Save the item", variant="primary", elem_classes="eh-fit", elem_id="eh-save-item"
        )


def _build_caption_form(tab: CollectTab) -> None:
    listed = "Item (items with an image and without a caption are listed first)"
    tab.item = _make_dropdown(listed, elem_id="eh-caption-item")
    tab.preview = ClickableHTML(elem_id="eh-caption-preview")
    tab.image = _make_dropdown("Caption for", visible=False)
    wanted = "Caption: detailed enough to answer the instruction without the image"
    tab.caption = gr.Textbox(label=wanted, lines=6, max_lines=20, elem_id="eh-caption")
    tab.caption_length = ClickableHTML(
        character_count_html(MAX_CAPTION_CHARS), elem_classes="eh-length"
    )
    tab.save_caption = gr.Button(
        "Save the caption", variant="primary", elem_classes="eh-fit", elem_id="eh-save-caption"
    )


def answer_fields_html(typed: Sequence[tuple[str, str]], names: Sequence[str] = ()) -> Markup:
    """HTML of ANSWER_BOXES pairs of fields for a model and its answer. The first show the pairs
    `typed` so far, the next the other models `names` of the data with an empty answer, the rest are
    empty."""
    known = [name for name, _ in typed if name]
    rows = [*((name, answer) for name, answer in typed if name or answer)]
    rows += [(name, "") for name in names if name not in known]
    return pieces.wrap(_HTML.answer_fields([*rows, *[("", "")] * ANSWER_BOXES][:ANSWER_BOXES]))


def character_count_html(max_chars: int) -> Markup:
    """HTML of the character count of an empty text field with at most `max_chars` characters;
    `character_count_script` updates it in the browser."""
    return fill(
        '<div class="eh"><span class="eh-mute">0 of {:,} characters</span></div>', max_chars
    )


def character_count_script(max_chars: int) -> str:
    """JavaScript function from the text of a field to HTML such as "12 of 500 characters", marked
    if there are more than `max_chars`. It runs in the browser, so that typing sends nothing."""
    return f"text => evenhand.length(text, {max_chars})"
