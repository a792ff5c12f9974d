"""Results, report cards: one screen a judge, in words and numbers, on one printed page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.layout.widgets import ClickableHTML
from components.results.cards.card_html import show_card
from components.results.view_contract import ViewParts

NAME: Final = "Report cards"


def build() -> ViewParts:
    with gr.Column(elem_classes="eh-panel eh-sheet"):
        with gr.Row(elem_classes="eh-filters eh-sheet-bar"):
            card = gr.Dropdown(
                [("", "")], value="", label="Judge", show_label=False, container=False,
                interactive=True, elem_id="eh-card-judge", elem_classes="eh-filter",
                filterable=False,
            )  # fmt: skip
            print_it = gr.Button(
                "Print or save as PDF", size="sm", elem_id="eh-print", elem_classes="eh-fit"
            )
        sheet = ClickableHTML(elem_id="eh-card")
    return ViewParts(
        outputs=[sheet],
        clickable=[sheet],
        controls={"card": card},
        private_components={"print": print_it},
    )


def bind(parts: ViewParts) -> None:
    """The browser prints what it shows: nothing to ask of Python."""
    parts.private_components["print"].click(
        None, None, None, js="() => window.print()", api_visibility="private"
    )


def finding(scene: FilteredStudy) -> tuple[str, str]:
    """A card speaks for itself: its name and its sentences are on the sheet."""
    return "", ""


def kpis(scene: FilteredStudy) -> str:
    return ""


def initial_controls(scene: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    names = list(Raters(scene).names)
    default = names[0] if names else ""
    offered = [(name, "" if name == default else name) for name in names]
    chosen = wanted.get("card", "")
    value = chosen if chosen in names and chosen != default else ""
    return {"card": gr.Dropdown(choices=offered or [("\u2013", "")], value=value)}


def render(scene: FilteredStudy, card: str) -> list[Any]:
    """The card chosen; where the filters leave it nothing, the first that has something."""
    voices = Raters(scene)
    names = list(voices.names)
    wanted = card or (names[0] if names else "")
    heard = voices.in_view
    return [show_card(voices, wanted if wanted in heard else heard[0] if heard else wanted)]
