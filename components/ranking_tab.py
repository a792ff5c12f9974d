"""Results, ranking: who is better, and is that sure? The panels and what fills them."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from components import ranking_view
from components.format import NARROW
from components.panels import heading, how
from components.plot import ClickableHTML, PlotlyView
from components.results_parts import Parts
from components.scene import Scene

NAME: Final = "Ranking"


def build() -> Parts:
    with gr.Column(elem_classes="eh-panel"):
        subtitle = f"Bradley–Terry on the Elo scale, ties as half a win; 95{NARROW}% CI by items"
        ClickableHTML(heading("Leaderboard", subtitle))
        leaders = ClickableHTML(elem_id="eh-leaders")
        ClickableHTML(how(HOW_RANKING))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=29):
            subtitle = (
                f"one order of the same battles; band: 95{NARROW}% of 100 shuffled orders; K 4"
            )
            ClickableHTML(heading("Elo as battles come in", subtitle))
            elo = PlotlyView(height=380, elem_id="eh-elo")
            ClickableHTML(how(HOW_ELO))
        with gr.Column(elem_classes="eh-panel", scale=20):
            ClickableHTML(heading("Head-to-head", "row beats column, %, ties as half"))
            heads = ClickableHTML(elem_id="eh-heads")
    return Parts(shown=[leaders, elo, heads], clickable=[leaders, elo, heads])


HOW_RANKING: Final = (
    "Each readable verdict of each order is one battle. "
    "`P(a beats b) = 1/(1 + 10^((Rb − Ra)/400))` is fitted by maximum likelihood; intervals by the "
    "item sandwich. Ranks are ranges that the intervals of differences allow."
)
HOW_ELO: Final = (
    "`R += 4 (S − E)` battle by battle, start 1000. The order of battles is luck: the band shows "
    "what other orders of the items would have given. The tick at the right end is Bradley–Terry."
)


def tell(scene: Scene) -> tuple[str, str]:
    return ranking_view.show_ranking_finding(scene.outcomes)


def show(scene: Scene) -> list[Any]:
    rows = scene.outcomes
    return [
        ranking_view.show_leaderboard(rows), ranking_view.show_elo(rows),
        ranking_view.show_head_to_head(rows),
    ]  # fmt: skip
