"""Tables: scores against labels, against people's levels by criterion, and against comparisons."""

from __future__ import annotations

from typing import Final

from components.html.format import NARROW_SPACE, count, number
from components.html.markup import EMPTY, Markup, fill
from components.html.panel import notice_html, wrap
from components.html.tables.value_table import (
    PERCENT,
    SCORE,
    ColumnHead,
    name_cell,
    value_cell,
    value_table,
)
from components.results.pass_fail.scores.computed import ScoreResults
from components.results.pass_fail.scores.panels import SHIFT
from metrics.estimation.intervals import unknown_estimate
from metrics.labels.scores.intransitive_triples import IntransitiveTriples

NO_LABELS: Final = (
    "No score has a label. Add labels to the items, or let people score answers in the Vote tab."
)


def agreement_table(results: ScoreResults) -> Markup:
    """HTML table of the agreement with labels: of the judge's scores and, in a second column, of
    expected scores (means by the judge's probabilities)."""
    cell = results.cell or ("", "")
    found, expected = results.agreement.get(cell), results.expected.get(cell)
    if found is None:
        return notice_html("calm", NO_LABELS)
    heads = [
        ColumnHead("Measure", numeric=False),
        ColumnHead(f"Computed from the scores that the judge gave, 95{NARROW_SPACE}% CI"),
    ]
    if expected is not None:
        text = "Computed from expected scores (means weighted by the judge's probabilities)"
        heads.append(ColumnHead(text))
    rows = [
        [
            name_cell(label, note=note),
            value_cell(getattr(found, name), style, who=label, n=True),
            *([value_cell(getattr(expected, name), style, who=label)] if expected else []),
        ]
        for name, label, note, style in AGREEMENT_ROWS
    ]
    return wrap(
        value_table(heads, rows, label="Agreement with labels"),
        _criteria_table(results),
        _reliability_table(results),
    )


def _criteria_table(results: ScoreResults) -> Markup:
    """HTML table by criterion of the rubric: agreement of the judge's scores with people's scores;
    empty if no person filled in the rubric."""
    found = results.by_criterion.get(results.cell or ("", ""), {})
    if not found:
        return EMPTY
    heads = [
        ColumnHead("Criterion", numeric=False),
        *(
            ColumnHead(text)
            for text in ("Mean distance", "Mean of score − label", "Within one step, %", "Spearman")
        ),
    ]
    rows = [
        [
            name_cell(name),
            value_cell(one.mae, SCORE, who=name, n=True),
            value_cell(one.bias, SHIFT, who=name),
            value_cell(one.within_one, PERCENT, who=name),
            value_cell(one.spearman, SCORE, who=name),
        ]
        for name, one in found.items()
    ]
    return value_table(heads, rows, label="Agreement with people by criterion")


AGREEMENT_ROWS: Final = (
    ("mae", "Mean distance", "mean |score − label|, scale points", SCORE),
    (
        "bias",
        "Mean of score − label",
        "in scale points; above 0: the judge's scores are higher than the labels",
        SHIFT,
    ),
    ("within_one", "Within one step", "% of scores at most one step from the label", PERCENT),
    ("spearman", "Spearman", "rank correlation", SCORE),
    ("kendall", "Kendall τ-b", "rank correlation with ties", SCORE),
    ("quadratic_kappa", "Quadratic κ", "agreement beyond chance", SCORE),
)
"""Rows of the table: field of ScoreAgreement, label, note and number format."""


def _reliability_table(results: ScoreResults) -> Markup:
    points = results.reliability.get(results.cell or ("", ""), ())
    if not points:
        return EMPTY
    heads = [ColumnHead("Score given", numeric=False), ColumnHead("Mean label")]
    rows = [[name_cell(f"{one.value:.3g}"), value_cell(one.label, SCORE, n=True)] for one in points]
    return value_table(heads, rows, label="Mean label by score")


def contradictions_table(results: ScoreResults) -> Markup:
    """HTML table by judge: how often its comparison of two answers prefers the one to which it gave
    the lower score. Empty if no judge both scored and compared."""
    if not results.contradictions:
        return EMPTY
    heads = [
        ColumnHead("Judge", numeric=False),
        ColumnHead("Pairs contradicted, %"),
        ColumnHead("Pairs with equal scores"),
        ColumnHead("Tied comparisons"),
        ColumnHead("Circular triples, %", tip=CIRCULAR_TIP),
        ColumnHead("Circular triples by chance, %"),
    ]
    rows = [
        [
            name_cell(judge, {"judge": judge}),
            value_cell(one.share, PERCENT, who=judge, n=True),
            fill("{}", count(one.equal_scores)),
            fill("{}", count(one.ties)),
            *_triple_cells(judge, one.triples),
        ]
        for judge, one in results.contradictions.items()
    ]
    return wrap(value_table(heads, rows, label="Scores against comparisons"))


CIRCULAR_TIP: Final = (
    "Circular: of three answers to one item, a wins against b, b against c, and c against a.\nBy "
    "chance: % of circular triples if the winners of each pair of models are shuffled between "
    "items"
)
NO_TRIPLES: Final = "no item has three answers whose three comparisons all have a winner"


def _triple_cells(judge: str, found: IntransitiveTriples | None) -> list[Markup]:
    if found is None:
        none = value_cell(unknown_estimate(NO_TRIPLES), PERCENT, who=judge)
        return [none, none]
    low, high = (number(100 * end, 1) for end in (found.expected_low, found.expected_high))
    expected = fill(
        '<b>{}</b> <span class="eh-ci">[{}, {}]</span>', number(100 * found.expected, 1), low, high
    )
    return [value_cell(found.share, PERCENT, who=judge, n=True), expected]
