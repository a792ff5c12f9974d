"""Scores and rubrics as tables for a paper: agreement with labels, effects of the orders."""

from __future__ import annotations

from collections.abc import Iterator

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import row_names
from components.html.format import count
from components.results.pass_fail.label_tables import (
    ORDER_CAPTION,
    ORDER_HEAD,
    decimal_cells,
    order_rows,
)
from components.results.pass_fail.scores.computed import ScoreResults, load_scores
from components.results.view.paper_table import PaperTable, percent_cells, slice_text
from metrics.labels.scores.score_agreement import ScoreAgreement


def score_agreement_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the agreement with labels: of scores, of expected scores, and by criterion."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    found = load_scores(filtered)
    rows = tuple(
        (
            name,
            *decimal_cells(one.mae),
            *decimal_cells(one.bias),
            *percent_cells(one.within_one),
            *decimal_cells(one.spearman),
            *decimal_cells(one.kendall),
            *decimal_cells(one.quadratic_kappa),
            count(one.mae.n),
        )
        for name, one in _agreements(filtered, found)
    )
    caption = (
        f"Scores on {filtered.name} against labels. MAE: mean |score − label|; bias: mean of score "
        "− label; within one: % of scores at most one step from the label; rank correlations "
        f"(Spearman, Kendall's τ-b); quadratic κ. {slice_text(filtered)} 95 % intervals over "
        "items; "
        "n: labelled scores."
    )
    head = (
        *("Judge", "MAE", "95 % CI", "Bias", "95 % CI", "Within one", "95 % CI"),
        *("Spearman", "95 % CI", "Kendall", "95 % CI", "Quadratic κ", "95 % CI", "n"),
    )
    return PaperTable("Scores", caption, head, rows)


def _agreements(
    filtered: FilteredStudy, found: ScoreResults
) -> Iterator[tuple[str, ScoreAgreement]]:
    names = row_names(filtered.machines)
    for cell, one in found.agreement.items():
        yield names[cell], one
        if cell in found.expected:
            yield f"{names[cell]}, expected score", found.expected[cell]
    for cell, by_criterion in found.by_criterion.items():
        for criterion, one in by_criterion.items():
            yield f"{names[cell]}, {criterion}", one


def score_order_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the effect of the options' order on scores, one row for each judge and prompt."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    caption = (
        f"Order of the score options on {filtered.name}. {ORDER_CAPTION} {slice_text(filtered)} "
        "95 % intervals over items; n: answers judged in several orders."
    )
    return PaperTable(
        "Score order", caption, ORDER_HEAD, order_rows(filtered, load_scores(filtered).order)
    )


def criteria_order_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the effect of the criteria's order in rubrics, one row for each judge and prompt."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    names = row_names(filtered.machines)
    rows = tuple(
        (
            names[cell],
            *percent_cells(one.overall.changed),
            *percent_cells(one.overall.noise_floor),
            *decimal_cells(one.first),
            count(one.overall.changed.n),
        )
        for cell, one in load_scores(filtered).criteria.items()
    )
    caption = (
        f"Order of the criteria on {filtered.name}. Changed: % of answers whose overall score "
        "depends on the order of the criteria. Noise: % of scores that change when repeated in "
        "the same order. First: mean score of a criterion when listed first minus its mean "
        f"score when listed later, in scale points. {slice_text(filtered)} 95 % intervals over "
        "items; n: answers judged in several orders."
    )
    head = ("Judge", "Changed", "95 % CI", "Noise", "95 % CI", "First", "95 % CI", "n")
    return PaperTable("Criteria order", caption, head, rows)
