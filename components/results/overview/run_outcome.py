"""Panels of the Run tab at the end of a run: direction of the flips, next steps with links."""

from __future__ import annotations

import json
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, interval, number, share
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import panel_html, wrap
from components.results.bias.computed import Bias, load_bias
from components.results.bias.flip_leans import FlipLean, flip_leans
from components.results.bias.pair_tests import format_p
from components.results.overview.panels import swap_chart
from components.results.overview.tab import has_known_winners
from components.results.remedies import tab as remedies_tab
from components.results.view.next_steps import NextStep, step_rows
from components.results.view.unusable_replies import (
    EXPLANATION_TITLE,
    NO_MEASURE_TEXT,
    UnusableReplies,
    explanation_html,
    find_unusable,
    repair_steps,
)
from metrics.catalogue.position_records import EFFECT
from studies.store.store import Store

WIDE: Final = 0.05
"""Half-width of the interval of the consistency above which the panel proposes more questions."""


def run_outcome_html(store: Store, name: str) -> Markup:
    """HTML of the panels on flips and on next steps, for a study whose calls have all been made."""
    filtered = FilteredStudy(store, name)
    bias = load_bias(filtered)
    if not bias.calls:
        return EMPTY
    unusable = find_unusable(filtered)
    if unusable is not None:
        parts = _unusable_html(filtered, unusable, store.owns(name))
    else:
        parts = join([_flips_html(bias), _next_html(next_steps(filtered, bias))])
    return wrap(fill('<div class="eh-outcome">{}</div>', parts))


def _compared(bias: Bias) -> list[FlipLean]:
    """Flips of the judges and prompts that have pairs judged in both orders; empty for choices
    among N options."""
    return [row for row in flip_leans(bias) if row.pairs] if bias.options == 2 else []


def _half_width(bias: Bias) -> float | None:
    """Half-width of the interval of the share of comparisons that change when swapped."""
    same = bias.whole("consistency")
    return None if same.low is None or same.high is None else (same.high - same.low) / 2


def _flips_html(bias: Bias) -> Markup:
    rows = _compared(bias)
    if not rows:
        return EMPTY
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    subtitle = f"{count(flips)} of {count(pairs, 'comparison')} flip"
    told = join(
        fill('<p class="eh-small">{}</p>', text)
        for text in (repetition_text(bias), f"{_direction(rows)}{_precision(bias)}")
    )
    return panel_html(
        "Which way verdicts flip", subtitle, swap_chart(bias, legend_only=True) + told
    )


def repetition_text(bias: Bias) -> str:
    """Text on the share of verdicts that change on a repeat in the same order, and on how many more
    change when swapped."""
    repeats, effect = bias.whole("noise_floor"), bias.whole("order_effect")
    if repeats.value is None:
        return (
            "No call was repeated in the same order, so it is unknown how many verdicts change "
            "without a swap."
        )
    told = (
        f"On a repeat in the same order, {share(repeats.value)} "
        f"{interval(repeats, 1, scale=100)} of verdicts change, n {count(repeats.n)}. "
    )
    if effect.value is None or effect.low is None or effect.high is None:
        return told
    sure = "" if effect.low > 0 or effect.high < 0 else "; no significant difference"
    return told + (
        f"{EFFECT.name} (disagreement between orders minus changes on a repeat): "
        f"{number(100 * effect.value, 1, signed=True)} points "
        f"{interval(effect, 1, scale=100)}, {count(effect.n, 'repeated comparison')}{sure}."
    )


def _direction(rows: list[FlipLean]) -> str:
    if len(rows) > 1:
        leaning = sum(row.is_significant for row in rows)
        return (
            f"{count(leaning)} of {count(len(rows), 'combination')} of judge and prompt "
            f"significantly {'prefers' if leaning == 1 else 'prefer'} a position. "
        )
    p = format_p(rows[0].p)
    return f"Sign test by questions: p {p if p.startswith('<') else f'= {p}'}. "


def _precision(bias: Bias) -> str:
    half = _half_width(bias)
    if half is None:
        return ""
    return f"95\u202f% interval of the share of flips: ± {number(100 * half, 1)} points."


def next_steps(filtered: FilteredStudy, bias: Bias) -> list[NextStep]:
    """Rows of the panel "Next steps", as far as they apply: read the flips; compare remedies or, if
    no better answer is known, ask people; ask more questions; share."""
    flips = sum(row.flips for row in _compared(bias))
    steps = []
    if flips:
        steps.append(
            NextStep(
                "See which comparisons flipped",
                f"{count(flips, 'comparison')} with the replies in both orders side by side",
                f"Open {count(flips)}",
                {"data-select": json.dumps({"flipped": True})},
            )
        )
    if has_known_winners(filtered):
        steps.append(
            NextStep(
                "Compare remedies",
                (
                    "rules that combine several verdicts, compared by how often they are right; "
                    "no new calls"
                ),
                "Remedies",
                {"data-view": remedies_tab.NAME},
            )
        )
    else:
        steps.append(
            NextStep(
                "Ask people",
                "votes by people on some pairs show how often the judge is right",
                "Vote",
                {"data-tab": "vote"},
            )
        )
    half = _half_width(bias)
    if half is not None and half > WIDE:
        steps.append(
            NextStep(
                "Ask more questions",
                f"the interval of the share of flips (± {number(100 * half)} points) is "
                "wide; the Study tab shows how to narrow it",
                "Study",
                {"data-tab": "study"},
            )
        )
    report = "report, tables for a paper, data and a link; none of them contains an API key"
    return [*steps, NextStep("Share", report, "Report", {"data-click": "#eh-share"})]


def _next_html(steps: list[NextStep]) -> Markup:
    return panel_html("Next steps", "", step_rows(steps))


def _unusable_html(filtered: FilteredStudy, unusable: UnusableReplies, may_run: bool) -> Markup:
    """HTML for a study without a usable verdict: expected form, example of a reply, next steps."""
    steps = repair_steps(filtered, unusable, on_run=True, may_run=may_run)
    why = panel_html(EXPLANATION_TITLE, NO_MEASURE_TEXT, explanation_html(filtered))
    return why + _next_html(steps)
