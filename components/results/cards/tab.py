"""Report cards in the Results tab: a one-page summary per judge, in sentences and numbers."""

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
                [("", "")],
                value="",
                label="Judge",
                show_label=False,
                container=False,
                interactive=True,
                elem_id="eh-card-judge",
                elem_classes="eh-filter",
                filterable=False,
            )
            print_it = gr.Button(
                "Print or save as PDF", size="sm", elem_id="eh-print", elem_classes="eh-fit"
            )
        content = ClickableHTML(elem_id="eh-card")
    return ViewParts(
        outputs=[content],
        clickable=[content],
        controls={"card": card},
        private_components={"print": print_it},
    )


def bind(parts: ViewParts) -> None:
    """Connect the print button; printing happens in the browser only."""
    parts.private_components["print"].click(
        None, None, None, js="() => window.print()", api_visibility="private"
    )


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Return an empty headline: a report card has its own title and sentences."""
    return "", ""


def kpis(filtered: FilteredStudy) -> str:
    return ""


def initial_controls(filtered: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    names = list(Raters(filtered).names)
    default = names[0] if names else ""
    offered = [(name, "" if name == default else name) for name in names]
    chosen = wanted.get("card", "")
    value = chosen if chosen in names and chosen != default else ""
    return {"card": gr.Dropdown(choices=offered or [("\u2013", "")], value=value)}


def render(filtered: FilteredStudy, card: str) -> list[Any]:
    """The outputs of the chosen card; if the filters leave it no verdicts, of the first card that
    has some."""
    raters = Raters(filtered)
    names = list(raters.names)
    wanted = card or (names[0] if names else "")
    in_view = raters.in_view
    return [show_card(raters, wanted if wanted in in_view or not in_view else in_view[0])]
