"""Results, report cards: one screen a judge, in words and numbers, on one printed page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.cards.view import show_card
from components.plot import ClickableHTML
from components.results_parts import Parts
from components.scene import Scene
from components.voices import Voices

NAME: Final = "Report cards"


def build() -> Parts:
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
    return Parts(shown=[sheet], clickable=[sheet], controls={"card": card}, own={"print": print_it})


def bind(parts: Parts) -> None:
    """The browser prints what it shows: nothing to ask of Python."""
    parts.own["print"].click(None, None, None, js="() => window.print()", api_visibility="private")


def tell(scene: Scene) -> tuple[str, str]:
    """A card speaks for itself: its name and its sentences are on the sheet."""
    return "", ""


def kpis(scene: Scene) -> str:
    return ""


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    names = list(Voices(scene).names)
    default = names[0] if names else ""
    offered = [(name, "" if name == default else name) for name in names]
    chosen = wanted.get("card", "")
    value = chosen if chosen in names and chosen != default else ""
    return {"card": gr.Dropdown(choices=offered or [("\u2013", "")], value=value)}


def show(scene: Scene, card: str) -> list[Any]:
    """The card chosen; where the filters leave it nothing, the first that has something."""
    voices = Voices(scene)
    names = list(voices.names)
    wanted = card or (names[0] if names else "")
    heard = voices.heard
    return [show_card(voices, wanted if wanted in heard else heard[0] if heard else wanted)]
