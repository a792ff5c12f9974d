"""Results, win rates: how often each contestant wins, and where. The panels and what fills them."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from components import ranking_view
from components.format import NARROW
from components.panels import heading, how
from components.plot import ClickableHTML, PlotlyView
from components.results_parts import Parts
from components.scene import Scene

NAME: Final = "Win rates"


def build() -> Parts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=10):
            ClickableHTML(heading("Win rate", f"%, 95{NARROW}% CI by items, ties as half"))
            rates = PlotlyView(height=260, elem_id="eh-rates")
            ClickableHTML(how(HOW_WINS))
        with gr.Column(elem_classes="eh-panel", scale=19):
            ClickableHTML(
                heading("Win rate by category", f"%; 95{NARROW}% CI; below half is blank")
            )
            table = ClickableHTML(elem_id="eh-rate-matrix")
    return Parts(shown=[rates, table], clickable=[rates, table])


HOW_WINS: Final = (
    "`(wins + ties/2) / readable verdicts`. Among N options a win is being chosen, so even is 1/N. "
    "Wilson intervals at the effective n, items as clusters."
)


def tell(scene: Scene) -> tuple[str, str]:
    return ranking_view.show_wins_finding(scene.outcomes)


def show(scene: Scene) -> list[Any]:
    rows = scene.outcomes
    return [ranking_view.show_win_rates(rows), ranking_view.show_win_matrix(rows)]
