"""The view Nudges of Results: properties of answers, other than quality, that move a judge."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, interval, number, share
from components.html.markup import EMPTY, Markup
from components.html.panel import legend_key, wrap
from components.results.nudges import injection_effect, length_panel
from components.results.view.result_view import Body, Drawn, Panel, View, folded
from metrics.win_rates.length_effects import length_preference
from studies.frames.frame import SUSPECT_COLUMN

NAME: Final = "Nudges"
HOW_LENGTH: Final = (
    "Every verdict counts for both of its answers. `logit P(win) = β · log2(own length / "
    "other length)`; `exp(β)` is the factor on the odds of winning for twice the length; interval "
    "by the sandwich estimator, clustered by item. Longer answers may also be better: only the "
    "padded answers of the probe set separate length from quality."
)
HOW_CONTROLLED: Final = (
    "`logit P(preferred) = θ + φ · tanh(Δlength / sd)`: φ is the effect of length, Δlength the "
    "difference of the two lengths, sd its standard deviation. The win rate "
    "is `σ(θ)`, the win probability at equal length. This is the length-controlled win rate of "
    "AlpacaEval 2 without its term for the difficulty of the instruction. Interval by the "
    "sandwich estimator, clustered by item."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline: the share of verdicts for the longer answer, against an even share."""
    longer = length_preference(filtered.machines)
    if longer.value is None:
        return (
            "No nudge can be measured here.",
            "Length needs pairs of answers with stored texts.",
        )
    over = number(100 * (longer.value - 0.5), 0, signed=True)
    title = (
        f"The longer answer wins {share(longer.value, 0)} of verdicts "
        f"{interval(longer, 0, scale=100)}, {over} points from an even share."
    )
    judges, persons = length_panel.length_effects(filtered)
    lead = "" if judges is None else length_panel.length_sentence(judges, persons)
    return title, lead.replace("**", "")


def draw_length(filtered: FilteredStudy) -> Drawn | None:
    """Draw the win rate by length ratio; None if the lengths are not known."""
    figure = length_panel.length_figure(filtered)
    return None if figure is None else Drawn({"length": figure})


def draw_controlled(filtered: FilteredStudy) -> Markup | None:
    """Draw win rates with length held equal; None if the lengths are not known."""
    if length_panel.length_effects(filtered)[0] is None:
        return None
    return length_panel.show_length_controlled(filtered)


def draw_injection(filtered: FilteredStudy) -> Markup | None:
    """Draw the results with and without injection suspects; None without suspects."""
    if SUSPECT_COLUMN not in filtered.unfiltered_frame:
        return None
    return injection_effect.injection_section(filtered) or None


LENGTH: Final = Panel(
    "length",
    draw_length,
    (Body("length", "eh-length", chart_height=330),),
    "Does length decide?",
    "% of verdicts that an answer wins, by its length relative to the other answer; "
    f"95{NARROW_SPACE}% CI",
    legend=wrap(
        Markup('<div class="eh-row">'),
        legend_key("dot", "judges, with fit"),
        legend_key("diamond", "people"),
        legend_key("even", "even"),
        Markup("</div>"),
    ),
    how=HOW_LENGTH,
    visibility="shown",
    needs="pairs of answers with stored texts",
    json_keys=(
        "length.judges.bins.*.win_rate",
        "length.judges.odds_ratio",
        "people_length.bins.*.win_rate",
        "people_length.odds_ratio",
    ),
)
CONTROLLED: Final = Panel(
    "controlled",
    draw_controlled,
    (Body("controlled", "eh-controlled", clickable=True),),
    "Win rate with length held equal",
    "win rate as observed, and as if both answers were equally long; length need not be the "
    "cause of the difference",
    how=HOW_CONTROLLED,
    visibility="shown",
    json_keys=("length.controlled.*",),
)
INJECTION: Final = Panel(
    "injection",
    draw_injection,
    (Body("injection", "eh-injection", clickable=True),),
    css="eh-kind",
    visibility="hidden",
    needs="no answer or question contains text addressed to the judge",
    json_keys=("without_suspects.*",),
)
TWINS: Final[tuple[Panel, ...]] = ()
"""Panels on twins (an answer and its changed copy), which stand first in the view."""
VIEW: Final = View(
    NAME,
    (*TWINS, LENGTH, folded(CONTROLLED.title, CONTROLLED), INJECTION),
    finding,
    kpis=lambda _: EMPTY,
    json_keys=("length.longer", "length.judges.odds_ratio"),
)
