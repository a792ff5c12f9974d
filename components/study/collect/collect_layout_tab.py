"""Layout of the Collect section in the Study tab: forms for a new item or an image caption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.markup import Markup, fill
from components.html.pieces import panel_heading
from components.layout.widgets import ClickableHTML, Switch
from components.study.collect.save_collected import ANSWER_BOXES
from studies.people.new_items import LICENCES, MAX_CAPTION_CHARS, MAX_INSTRUCTION_CHARS

ITEM_FORM: Final = "New item"
CAPTION_FORM: Final = "Dense caption"
IMAGE_SUFFIXES: Final = [".png", ".jpg", ".jpeg", ".gif", ".webp"]
COLLECT_SUBTITLE: Final = (
    "the item or caption is saved in a new version of the study’s data; the original file is "
    "unchanged"
)


@dataclass(frozen=True)
class CollectTab:
    fold: gr.Accordion
    which: gr.Radio
    item_form: gr.Column
    instruction: gr.Textbox
    length: gr.HTML
    images: gr.File
    addresses: gr.Textbox
    licence: gr.Dropdown
    category: gr.Dropdown
    reference: gr.Textbox
    context: gr.Textbox
    names: list[gr.Textbox]
    answers: list[gr.Textbox]
    fresh: gr.Checkbox
    save_item: gr.Button
    caption_form: gr.Column
    item: gr.Dropdown
    preview: gr.HTML
    image: gr.Dropdown
    caption: gr.Textbox
    caption_length: gr.HTML
    save_caption: gr.Button
    by: gr.Textbox
    version: gr.Dropdown
    said: gr.HTML


def build() -> CollectTab:
    parts: dict[str, Any] = {}
    with (
        gr.Column(elem_classes="eh-panel", elem_id="eh-collect"),
        gr.Accordion("Write data: add an item, or a caption to an image", open=False) as parts[
            "fold"
        ],
    ):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(panel_heading("Add to the data", COLLECT_SUBTITLE))
            parts["which"] = Switch((ITEM_FORM, CAPTION_FORM), "What to collect")
        with gr.Row(elem_classes="eh-collect-top"):
            parts["by"] = gr.Textbox(label="Your name (optional)")
            parts["version"] = gr.Dropdown(
                [],
                value=None,
                label="Data version used by the study",
                visible=False,
                interactive=True,
                elem_id="eh-collect-version",
            )
        with gr.Column(elem_classes="eh-collect") as parts["item_form"]:
            _build_item(parts)
        with gr.Column(visible=False, elem_classes="eh-collect") as parts["caption_form"]:
            _build_caption(parts)
        parts["said"] = ClickableHTML(elem_id="eh-collect-said")
    return CollectTab(**parts)


def _build_item(parts: dict[str, Any]) -> None:
    parts["instruction"] = gr.Textbox(
        label="Instruction",
        lines=2,
        max_lines=8,
        elem_id="eh-new-instruction",
        placeholder="Question or task about the image",
    )
    parts["length"] = ClickableHTML(length_html(MAX_INSTRUCTION_CHARS), elem_classes="eh-length")
    with gr.Row():
        with gr.Column():
            parts["images"] = gr.File(
                label="Images",
                file_types=IMAGE_SUFFIXES,
                file_count="multiple",
                height=120,
                interactive=True,
                elem_id="eh-new-images",
            )
            parts["addresses"] = gr.Textbox(
                label="or type https:// addresses of images, one per line",
                lines=1,
                max_lines=4,
            )
            parts["licence"] = gr.Dropdown(
                list(LICENCES),
                value=None,
                label="Licence of the images",
                allow_custom_value=True,
                interactive=True,
            )
        with gr.Column():
            parts["category"] = gr.Dropdown(
                [], value=None, label="Category", allow_custom_value=True, interactive=True
            )
            parts["reference"] = gr.Textbox(label="Expected output", lines=3, max_lines=12)
            parts["context"] = gr.Textbox(label="Dense caption (optional)", lines=2, max_lines=12)
    parts["names"], parts["answers"] = [], []
    with gr.Accordion("Answers of models (optional)", open=False, elem_classes="eh-answers"):
        for k in range(ANSWER_BOXES):
            with gr.Row():
                parts["names"].append(gr.Textbox(label=f"Model {k + 1}", scale=1))
                parts["answers"].append(
                    gr.Textbox(label=f"Answer {k + 1}", lines=1, max_lines=10, scale=3)
                )
    with gr.Row(elem_classes="eh-collect-end"):
        parts["fresh"] = gr.Checkbox(label="Start a new data file with this item")
        parts["save_item"] = gr.Button(
            "Save the item", variant="primary", elem_classes="eh-fit", elem_id="eh-save-item"
        )


def _build_caption(parts: dict[str, Any]) -> None:
    parts["item"] = gr.Dropdown(
        [],
        value=None,
        label="Item (items with an image and without a caption are listed first)",
        interactive=True,
        elem_id="eh-caption-item",
    )
    parts["preview"] = ClickableHTML(elem_id="eh-caption-preview")
    parts["image"] = gr.Dropdown(
        [], value=None, label="Caption for", visible=False, interactive=True
    )
    parts["caption"] = gr.Textbox(
        label="Caption: detailed enough to answer the instruction without the image",
        lines=6,
        max_lines=20,
        elem_id="eh-caption",
    )
    parts["caption_length"] = ClickableHTML(
        length_html(MAX_CAPTION_CHARS), elem_classes="eh-length"
    )
    with gr.Row(elem_classes="eh-collect-end"):
        parts["save_caption"] = gr.Button(
            "Save the caption", variant="primary", elem_classes="eh-fit", elem_id="eh-save-caption"
        )


def length_html(most: int) -> Markup:
    """HTML of the character count for an empty text; `length_script` updates it in the browser."""
    return fill('<div class="eh"><span class="eh-mute">0 of {:,} characters</span></div>', most)


def length_script(most: int) -> str:
    """JavaScript that counts characters in the browser, so that typing sends nothing."""
    return f"text => evenhand.length(text, {most})"
