"""Results, ranking: who is better, and is that sure? The panels and what fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.bias.counts import bias_in
from components.bias.words import caution
from components.drawing.marks import blank
from components.drawing.panels import KeyMark, heading, how
from components.format import NARROW, count
from components.plot import ClickableHTML, PlotlyView, Switch
from components.ranking import view
from components.ranking.counts import Ranking, ranking_in
from components.ranking.words import finding_of
from components.results_parts import Parts, pick
from components.scene import Scene

NAME: Final = "Ranking"
ONE_ORDER: Final = "One order"
BAND: Final = "Band only"
CURVES: Final = (ONE_ORDER, BAND)


def build() -> Parts:
    with gr.Column(elem_classes="eh-panel"):
        board_head = ClickableHTML(heading("Leaderboard"))
        leaders = ClickableHTML(elem_id="eh-leaders")
        ClickableHTML(how(HOW_RANKING))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=29):
            with gr.Row(elem_classes="eh-panel-head"):
                elo_head = ClickableHTML(heading("Elo as battles come in"))
                curves = Switch(CURVES, "Curves", elem_id="eh-curves")
            badge = ClickableHTML(elem_id="eh-converged")
            elo = PlotlyView(height=380, elem_id="eh-elo")
            ClickableHTML(how(HOW_ELO))
        with gr.Column(elem_classes="eh-panel", scale=20):
            heads_head = ClickableHTML(heading("Head-to-head"))
            heads = ClickableHTML(elem_id="eh-heads")
            ClickableHTML(how(HOW_HEADS))
    with gr.Column(elem_classes="eh-panel"):
        keys: list[tuple[KeyMark, str]] = [
            ("ring", "one order alone"), ("dot", "both"),
        ]  # fmt: skip
        told = f"what asking in one order only would have given; line: 95{NARROW}% CI of both"
        ClickableHTML(heading("One order, the other, both", told, keys))
        orders = ClickableHTML(elem_id="eh-orders")
        ClickableHTML(how(HOW_ORDERS))
    return Parts(
        shown=[board_head, leaders, elo_head, badge, elo, heads_head, heads, orders],
        clickable=[leaders, elo, heads],
        controls={"curves": curves},
        alone={"curves": ([elo], show_curves)},
    )


HOW_RANKING: Final = (
    "Each readable verdict of each order is one battle, unless the rule combines the orders. "
    "`P(a beats b) = 1/(1 + 10^((Rb − Ra)/400))` is fitted by maximum likelihood; ratings average "
    "1000; intervals by the item sandwich. The interval to read for “a is above b” is that of the "
    "difference, not the overlap of two bars; ranks are the ranges that these intervals allow.\n\n"
    "More battles: `n·(h·(1 + 0.84/1.96)/gap)² − n`, h the half-width now: verdicts like those so "
    f"far until the interval leaves out 0, with a chance of 80{NARROW}%."
)
HOW_ELO: Final = (
    "`R += 4 (S − E)` battle by battle, start 1000, in the order of the plan. The order of battles "
    "is luck: the band shows what other orders of the items would have given. With more battles "
    "the curves run to the Bradley–Terry ratings (dotted); Elo has converged where these lie "
    "within the band at the end. A curve that ends outside its band comes from battles in blocks "
    "(one judge, then the next): Elo forgets, and the last block decides. Read the band then."
)
HOW_HEADS: Final = (
    "`(wins + ties/2) / battles` of the two; Wilson intervals at the effective n, items as "
    "clusters. The card also has what Bradley–Terry expects from all battles: a large difference "
    "means that the two do not fit on one scale."
)
HOW_ORDERS: Final = (
    "First order: the one that the plan lists first for a pair of contestants; second: its mirror "
    "image. Each board is Bradley–Terry on the verdicts of that order alone, every verdict one "
    "battle. Where the two differ, the order has entered the ranking; both together cancel most of "
    "it."
)


def tell(scene: Scene) -> tuple[str, str]:
    title, lead = finding_of(ranking_in(scene))
    return title, f"{caution(bias_in(scene))} {lead}".strip()


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    return {"curves": gr.Radio(value=pick(wanted.get("curves"), CURVES))}


def show(scene: Scene, curves: str) -> list[Any]:
    ranking = ranking_in(scene)
    sizes = view.battles_a_cell(ranking)
    return [
        board_heading(ranking),
        view.leaderboard_of(ranking),
        elo_heading(ranking),
        view.convergence_of(ranking),
        *show_curves(scene, curves),
        heading("Head-to-head", f"row beats column, %, ties as half; {sizes}" if sizes else ""),
        view.heads_of(ranking),
        view.orders_of(ranking),
    ]


def show_curves(scene: Scene, curves: str) -> list[Any]:
    drawn = view.elo_of(ranking_in(scene), curves != BAND)
    return [drawn or blank("Elo needs pairs of answers.", 200)]


def board_heading(ranking: Ranking) -> str:
    if not ranking.board:
        return heading("Leaderboard")
    items = ranking.board.items
    told = f"Bradley–Terry on the Elo scale, ties as half a win; 95{NARROW}% CI over "
    keys: list[tuple[KeyMark, str]] = []
    if ranking.board and view.people_ratings(ranking.board, ranking):
        who = f"judge {ranking.judges[0]}" if len(ranking.judges) == 1 else "judges"
        keys = [("dot", who), ("diamond", "people")]
    return heading("Leaderboard", told + count(items, "item"), keys)


def elo_heading(ranking: Ranking) -> str:
    if ranking.curve is None:
        return heading("Elo as battles come in")
    told = f"one order of the same battles; band: 95{NARROW}% of {ranking.orders} shuffled orders"
    return heading(
        "Elo as battles come in", f"{told}; K 4", [("limit", "Bradley–Terry, the limit")]
    )
