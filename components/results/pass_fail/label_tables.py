"""Pass/fail verdicts as tables for a paper: confusion, rates with intervals, order of options."""

from __future__ import annotations

from collections.abc import Mapping

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import row_names
from components.html.format import count
from components.results.pass_fail.computed import load_pass_fail
from components.results.view.paper_table import (
    EMPTY_CELL,
    PaperTable,
    decimal_cell,
    interval_cell,
    percent_cells,
    slice_text,
)
from metrics.labels.option_order import Cell, OptionOrder
from studies.domain import Estimate


def confusion_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the verdicts on good and on bad answers, one row for each judge and prompt."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    names = row_names(filtered.machines)
    rows = []
    for cell, found in load_pass_fail(filtered).results.items():
        table = found.rates.confusion
        if table.total:
            counts = (table.pass_good, table.fail_good, table.pass_bad, table.fail_bad)
            rows.append((names[cell], *map(count, counts), count(found.rates.unusable)))
    caption = (
        f"Verdicts on labelled answers of {filtered.name}: how many good and bad answers each "
        "judge "
        f"passed and failed. Unusable replies are never counted as a fail. {slice_text(filtered)}"
    )
    head = ("Judge", "Good, passed", "Good, failed", "Bad, passed", "Bad, failed", "Unusable")
    return PaperTable("Confusion", caption, head, tuple(rows))


def pass_rates_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of sensitivity, specificity, Youden's J, κ, and observed and true pass rate, one row
    for each judge and prompt."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    names = row_names(filtered.machines)
    rows = tuple(
        (
            names[cell],
            *percent_cells(found.rates.sensitivity),
            *percent_cells(found.rates.specificity),
            *decimal_cells(found.rates.youden),
            *decimal_cells(found.rates.kappa),
            *percent_cells(found.rates.base_rate)[:1],
            *percent_cells(found.rates.observed_pass_rate),
            *percent_cells(found.true_pass_rate),
            count(found.rates.confusion.total),
        )
        for cell, found in load_pass_fail(filtered).results.items()
    )
    caption = (
        f"Pass/fail verdicts on {filtered.name} against labels. Sensitivity: % of good answers "
        "passed; "
        "specificity: % of bad answers failed; J: sensitivity + specificity − 1; κ: agreement "
        "beyond chance at the base rate (Base: % of labelled answers that are good). Observed: % "
        "of answers passed; true: that rate corrected for the judge's errors (Rogan and Gladen, "
        f"limits of Lang and Reiczigel). {slice_text(filtered)} 95 % intervals over items; n: "
        "labelled "
        "verdicts."
    )
    head = (
        *("Judge", "Sensitivity", "95 % CI", "Specificity", "95 % CI", "J", "95 % CI"),
        *("κ", "95 % CI", "Base", "Observed", "95 % CI", "True", "95 % CI", "n"),
    )
    return PaperTable("Pass or fail", caption, head, rows)


def pass_order_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the effect of the order of pass and fail, one row for each judge and prompt."""
    if filtered.machines.empty or filtered.has_only_people:
        return None
    rows = order_rows(filtered, load_pass_fail(filtered).order)
    caption = (
        f"Order of the options pass and fail on {filtered.name}. {ORDER_CAPTION} "
        f"{slice_text(filtered)} "
        "95 % intervals over items; n: answers judged in both orders."
    )
    return PaperTable("Pass/fail order", caption, ORDER_HEAD, rows)


ORDER_HEAD = (
    *("Judge", "Changed", "95 % CI", "Noise", "95 % CI"),
    *("First", "95 % CI", "Expected", "n"),
)
ORDER_CAPTION = (
    "Changed: % of answers whose verdict depends on the order of the options. Noise: % of verdicts "
    "that change when repeated in the same order. First: % of verdicts for the option listed "
    "first. Expected: value of First without an order effect."
)


def order_rows(
    filtered: FilteredStudy, effects: Mapping[Cell, OptionOrder]
) -> tuple[tuple[str, ...], ...]:
    """Table rows on the effect of the order of options, one per judge and prompt with several
    orders."""
    names = row_names(filtered.machines)
    return tuple(
        (
            names[cell],
            *percent_cells(one.changed),
            *percent_cells(one.noise_floor),
            *percent_cells(one.first_place),
            *percent_cells(one.expected_first)[:1],
            count(one.changed.n),
        )
        for cell, one in effects.items()
    )


def decimal_cells(estimate: Estimate) -> tuple[str, str]:
    """Texts of two cells: the value with two decimals, and its interval."""
    if estimate.value is None:
        return EMPTY_CELL, ""
    return decimal_cell(estimate), interval_cell(estimate, 1, 2)
