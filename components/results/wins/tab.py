"""The Win rates view of the Results tab: layout of its panels and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from components.html.panel import how_computed, legend_key, panel_heading, wrap
from components.layout.widgets import ClickableHTML, PlotlyView, Switch
from components.results.bias.computed import load_bias
from components.results.bias.sentences import low_consistency_warning
from components.results.view_contract import ViewParts, pick_choice
from components.results.wins import length_panel as wins_length
from components.results.wins import panels as wins_view
from components.results.wins import precision_panel as precision_view
from components.results.wins import sentences as wins_words

NAME: Final = "Win rates"


def build() -> ViewParts:
    with gr.Column(elem_classes="eh-panel"):
        interval = f"95{NARROW_SPACE}% CI by items"
        subtitle = f"% of verdicts, ties as half; {interval}; grey: bounds for missing verdicts"
        ClickableHTML(panel_heading("Win rate by model", subtitle))
        rates = ClickableHTML(elem_id="eh-rates")
        ClickableHTML(how_computed(HOW_WINS))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(panel_heading("Win rate by category"))
                by = Switch(tuple(wins_view.SPLIT_COLUMNS), "Split by")
                voice = Switch(wins_view.RATER_CHOICES, "Whose verdicts")
            table = ClickableHTML(elem_id="eh-rate-matrix")
            ClickableHTML(how_computed(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10) as by_length:
            ClickableHTML(
                panel_heading("Does length decide?", f"% won by length ratio, 95{NARROW_SPACE}% CI")
            )
            ClickableHTML(
                wrap(
                    Markup('<div class="eh-row">'),
                    legend_key("dot", "judges, with fit"),
                    legend_key("diamond", "people"),
                    legend_key("even", "even"),
                    Markup("</div>"),
                )
            )
            length = PlotlyView(height=330, elem_id="eh-length")
            length_text = ClickableHTML(elem_id="eh-length-said")
            ClickableHTML(how_computed(HOW_LENGTH))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1) as held_equal:
            subtitle = "raw, and as if both answers were equally long; descriptive, not causal"
            ClickableHTML(panel_heading("Win rate with length held equal", subtitle))
            controlled = ClickableHTML(elem_id="eh-controlled")
            ClickableHTML(how_computed(HOW_CONTROLLED))
        with gr.Column(elem_classes="eh-panel", scale=1) as tied:
            ClickableHTML(panel_heading("Ties", f"% of verdicts, 95{NARROW_SPACE}% CI by items"))
            ties = ClickableHTML(elem_id="eh-ties")
    levels = ClickableHTML(elem_id="eh-levels")
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1) as planned:
            ClickableHTML(panel_heading("What to buy next", "how the interval would narrow"))
            precision = ClickableHTML(elem_id="eh-precision")
            ClickableHTML(how_computed(HOW_PRECISION))
        with gr.Column(elem_classes="eh-panel", scale=1) as judged:
            ClickableHTML(panel_heading("Jury and tie models", "other ways to count"))
            jury = ClickableHTML(elem_id="eh-jury")
            tie_models = ClickableHTML(elem_id="eh-tie-models")
            ClickableHTML(how_computed(HOW_JURY))
    return ViewParts(
        outputs=[
            rates,
            head,
            table,
            by_length,
            length,
            length_text,
            held_equal,
            controlled,
            tied,
            ties,
            levels,
            planned,
            precision,
            judged,
            jury,
            tie_models,
        ],
        clickable=[rates, table, controlled, ties, levels],
        controls={"by": by, "voice": voice},
        partial_redraws={
            "by": ([head, table], render_matrix),
            "voice": ([head, table], render_matrix),
        },
    )


HOW_WINS: Final = (
    "`(wins + ties/2) / usable verdicts`. Among N options a win is being chosen, so even is 1/N. "
    "Wilson intervals at the effective n, items as clusters. The grey span behind a dot is the "
    "range if all missing verdicts were lost or all won (Manski bounds, without sampling error)."
)
HOW_MATRIX: Final = (
    "The same rate in each category, judge or prompt. People: every vote is a verdict. Difference: "
    "judges − people on the same pairs of answers to the same items; t interval, items as clusters."
)
HOW_LENGTH: Final = (
    "Every verdict counts for both of its answers. `logit P(win) = β · log2(its length / the "
    "other's)`; `exp(β)` is the factor on the odds of winning for twice the length; interval by "
    "the sandwich estimator, clustered by item. Longer answers may also be better: only the padded "
    "answers of the probe set separate length from quality."
)
HOW_CONTROLLED: Final = (
    "`logit P(preferred) = θ + φ · tanh(Δlength / sd)`, with φ the effect of length. The rate is "
    "`σ(θ)`, the win probability at equal length. The simplest form of AlpacaEval 2, without its "
    "instruction difficulty; interval by the sandwich estimator, clustered by item."
)


HOW_PRECISION: Final = (
    "A generalizability study: balanced analysis of variance of the points of the model with the "
    "highest win rate, by item, judge, prompt and slot, over the items that have all of them. "
    "`variance of the mean = σ²_item/n_items + σ²_item×judge/(n_items·n_judges) + …`: twice as "
    "many of a kind halves the parts it divides. Judges, prompts and orders are those of the study."
)
HOW_JURY: Final = (
    "Jury: each judge merges its orders, then the strict majority of all judges decides; undecided "
    "cases are missing. Independent judges: `K / (1 + (K − 1)·r)`, r the mean correlation of two "
    "judges' verdicts on the same case. Davidson: `P(tie) = ν√(αβ)/Z`; Rao–Kupper: "
    "`P(win) = α/(α + κβ)`; both give the order of Bradley–Terry on other scales."
)


def finding(filtered_study: FilteredStudy) -> tuple[str, str]:
    title, lead = wins_words.wins_finding(filtered_study)
    return title, f"{low_consistency_warning(load_bias(filtered_study))} {lead}".strip()


def kpis(filtered_study: FilteredStudy) -> Markup:
    return wins_words.show_kpis(filtered_study)


def initial_controls(filtered_study: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Initial values of the view's controls, from the page address or from the data of a new
    study."""
    return {
        "by": gr.Radio(
            value=pick_choice(
                wanted.get("by"),
                list(wins_view.SPLIT_COLUMNS),
                wins_view.default_split(filtered_study),
            )
        ),
        "voice": gr.Radio(value=pick_choice(wanted.get("voice"), list(wins_view.RATER_CHOICES))),
    }


def render(filtered_study: FilteredStudy, by: str, voice: str) -> list[Any]:
    """One value per output of the view; the panels on length and ties are hidden if there are no
    such data."""
    long, ties = wins_length.length_figure(filtered_study), wins_view.show_ties(filtered_study)
    return [
        wins_view.show_win_rates(filtered_study),
        *render_matrix(filtered_study, by, voice),
        gr.Column(visible=long is not None),
        long,
        wins_length.show_length_sentence(filtered_study),
        gr.Column(visible=long is not None),
        wins_length.show_length_controlled(filtered_study),
        gr.Column(visible=bool(ties)),
        ties,
        wins_view.show_levels(filtered_study),
        *render_precision(filtered_study),
    ]


def render_precision(filtered_study: FilteredStudy) -> list[Any]:
    """Outputs of the panels on precision, jury and tie models; each panel is hidden if its data are
    missing."""
    plan = precision_view.show_precision(filtered_study)
    jury = precision_view.show_jury(filtered_study)
    ties = precision_view.show_tie_models(filtered_study)
    return [gr.Column(visible=bool(plan)), plan, gr.Column(visible=bool(jury or ties)), jury, ties]


def render_matrix(filtered_study: FilteredStudy, by: str, voice: str) -> list[Any]:
    what = "Judges − people" if voice == "Difference" else "Win rate"
    of = "" if voice == "Judges" else " by people" if voice == "People" else ""
    split = by.lower() if voice == "Judges" else "category"
    subtitle = f"%; 95{NARROW_SPACE}% CI; no colour below even"
    if voice == "Difference":
        subtitle = f"points, on pairs judged by both; 95{NARROW_SPACE}% CI"
    head = panel_heading(f"{what}{of} by {split}", subtitle)
    return [head, wins_view.show_matrix(filtered_study, by, voice)]
