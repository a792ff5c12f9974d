"""Results, win rates: how often each contestant wins, and where. The panels and what fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.bias.counts import bias_in
from components.bias.words import caution
from components.drawing.panels import heading, how, key, wrap
from components.format import NARROW
from components.plot import ClickableHTML, PlotlyView, Switch
from components.results_parts import Parts, pick
from components.scene import Scene
from components.wins import length as wins_length
from components.wins import view as wins_view
from components.wins import words as wins_words

NAME: Final = "Win rates"


def build() -> Parts:
    with gr.Column(elem_classes="eh-panel"):
        subtitle = (
            f"% of verdicts, ties as half; 95{NARROW}% CI by items; grey: if verdicts are missing"
        )
        ClickableHTML(heading("Win rate by contestant", subtitle))
        rates = ClickableHTML(elem_id="eh-rates")
        ClickableHTML(how(HOW_WINS))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(heading("Win rate by category"))
                by = Switch(tuple(wins_view.BY), "Split by")
                voice = Switch(wins_view.VOICES, "Whose verdicts")
            table = ClickableHTML(elem_id="eh-rate-matrix")
            ClickableHTML(how(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10) as by_length:
            ClickableHTML(heading("Does length decide?", f"% won by length ratio, 95{NARROW}% CI"))
            ClickableHTML(
                wrap('<div class="eh-row">', key("dot", "judges, with fit"),
                     key("diamond", "people"), key("even", "even"), "</div>")
            )  # fmt: skip
            length = PlotlyView(height=330, elem_id="eh-length")
            said = ClickableHTML(elem_id="eh-length-said")
            ClickableHTML(how(HOW_LENGTH))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1) as held_equal:
            subtitle = "raw, and as if both answers were equally long; describes, does not identify"
            ClickableHTML(heading("Win rate with length held equal", subtitle))
            controlled = ClickableHTML(elem_id="eh-controlled")
            ClickableHTML(how(HOW_CONTROLLED))
        with gr.Column(elem_classes="eh-panel", scale=1) as tied:
            ClickableHTML(heading("Ties", f"% of verdicts, 95{NARROW}% CI by items"))
            ties = ClickableHTML(elem_id="eh-ties")
    levels = ClickableHTML(elem_id="eh-levels")
    return Parts(
        shown=[
            rates,
            head,
            table,
            by_length,
            length,
            said,
            held_equal,
            controlled,
            tied,
            ties,
            levels,
        ],
        clickable=[rates, table, controlled, ties, levels],
        controls={"by": by, "voice": voice},
        alone={"by": ([head, table], show_split), "voice": ([head, table], show_split)},
    )


HOW_WINS: Final = (
    "`(wins + ties/2) / readable verdicts`. Among N options a win is being chosen, so even is 1/N. "
    "Wilson intervals at the effective n, items as clusters. The grey span behind a dot is what "
    "the missing verdicts could make of it: all lost, all won (Manski bounds, no sampling in them)."
)
HOW_MATRIX: Final = (
    "The same rate in each part. People: every vote is a verdict. Difference: judges − people, "
    "paired by pair and item, so that both sides speak of the same cases; item-cluster t."
)
HOW_LENGTH: Final = (
    "Every verdict counts for both of its answers. `logit P(win) = β · log2(its length / the "
    "other's)`, item sandwich; the odds for twice the length are `exp(β)`. Length may be what made "
    "an answer better: only the padded answers of the probe set tell the two apart."
)
HOW_CONTROLLED: Final = (
    "`logit P(preferred) = θ + φ · tanh(Δlength / sd)`; the rate is σ(θ), length term at 0. "
    "The minimal form of AlpacaEval 2, without its instruction difficulty; item sandwich."
)


def tell(scene: Scene) -> tuple[str, str]:
    title, lead = wins_words.tell(scene)
    return title, f"{caution(bias_in(scene))} {lead}".strip()


def kpis(scene: Scene) -> str:
    return wins_words.show_kpis(scene)


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The controls as an address or a new study wants them."""
    return {
        "by": gr.Radio(value=pick(wanted.get("by"), list(wins_view.BY), wins_view.split_of(scene))),
        "voice": gr.Radio(value=pick(wanted.get("voice"), list(wins_view.VOICES))),
    }


def show(scene: Scene, by: str, voice: str) -> list[Any]:
    """Panels about length and ties are there only where answers have lengths and judges tie."""
    long, ties = wins_length.show_plot(scene), wins_view.show_ties(scene)
    return [
        wins_view.show_rates(scene), *show_split(scene, by, voice),
        gr.Column(visible=long is not None), long, wins_length.show_sentence(scene),
        gr.Column(visible=long is not None), wins_length.show_controlled(scene),
        gr.Column(visible=bool(ties)), ties, wins_view.show_levels(scene),
    ]  # fmt: skip


def show_split(scene: Scene, by: str, voice: str) -> list[Any]:
    what = "Judges − people" if voice == "Difference" else "Win rate"
    of = "" if voice == "Judges" else " by people" if voice == "People" else ""
    split = by.lower() if voice == "Judges" else "category"
    subtitle = f"%; 95{NARROW}% CI; below even is blank"
    if voice == "Difference":
        subtitle = f"points, on the pairs both judged; 95{NARROW}% CI"
    head = heading(f"{what}{of} by {split}", subtitle)
    return [head, wins_view.show_matrix(scene, by, voice)]
