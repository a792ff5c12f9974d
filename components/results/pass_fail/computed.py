"""Pass/fail results of a filtered study, computed once for all panels of the view."""

from dataclasses import dataclass, field, replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rater_names
from components.filtering.memo import cache_in_filtered_study
from metrics.labels.label_sections import (
    PARTS,
    PassFailResult,
    pass_fail_rates_by,
    pass_fail_results,
)
from metrics.labels.option_order import OptionOrder, option_order_effects
from metrics.labels.pass_by_order import PassByOrder, group_pass_rates_by_order, pass_rates_by_order
from metrics.labels.pass_fail import PassFailRates
from metrics.labels.reliability import ReliabilityPoint, reliability_curves
from studies.frames.point_columns import GOLD_COLUMN, pass_fail_mask

GROUP_WORDS: Final = {"contestant": "model", "category": "category"}
"""Name of the column by which answers are grouped -> word for the column on the page."""


NO_LABELS: Final = (
    "No answer has a label. Name the column of the labels on the Study tab, add labels to the "
    "items, or let people judge answers on the Vote tab."
)


def missing_labels_text(filtered: FilteredStudy) -> str:
    """Sentence on why no verdict can be compared with a label: no label in the study, or under the
    filters, or none on an answer with a usable verdict."""
    shown, whole = (
        GOLD_COLUMN in rows and bool(rows[GOLD_COLUMN].notna().any())
        for rows in (filtered.measured_judge_rows, filtered.unfiltered_frame)
    )
    if shown:
        return "No usable verdict of the judge shown is on an answer with a label."
    return "No answer that passes the filters has a label for its verdicts." if whole else NO_LABELS


@dataclass(frozen=True, slots=True)
class PassFailResults:
    """Results on pass/fail verdicts by judge and prompt (agreement with labels, effect of the
    order of the options). The panels show the judge and prompt with the most verdicts."""

    results: dict[tuple[str, str], PassFailResult]
    order: dict[tuple[str, str], OptionOrder]
    reliability: dict[tuple[str, str], tuple[ReliabilityPoint, ...]]
    parts: dict[str, dict[str, PassFailRates]]
    """Rates of the judge and prompt shown: "contestant" -> model -> rates, if there are several
    models; "category" -> category -> rates, if there are several categories."""
    shift: PassByOrder | None = None
    """Pass rates of the judge and prompt shown, by the option listed first; None if only one order
    was used."""
    shift_parts: dict[str, dict[str, PassByOrder]] = field(default_factory=dict)
    """Like `shift`, for each model and each category; keys as in `parts`."""
    why_unlabelled: str = NO_LABELS
    """Sentence on why no verdict is compared with a label, if none is."""
    tests: int = 1
    """Number of judges and prompts with verdicts, also those that a filter hides."""

    @property
    def shown_rater(self) -> tuple[str, str] | None:
        """The judge and prompt with the most verdicts, which the panels show; None without
        verdicts."""
        counts = {rater: one.rates.observed_pass_rate.n for rater, one in self.results.items()}
        return max(counts, key=lambda rater: counts[rater]) if counts else None

    @property
    def shown_result(self) -> PassFailResult | None:
        """Result of `shown_rater`; None without verdicts."""
        return self.results[self.shown_rater] if self.shown_rater else None


@cache_in_filtered_study
def load_pass_fail(filtered: FilteredStudy) -> PassFailResults:
    rows = filtered.measured_judge_rows.loc[pass_fail_mask(filtered.measured_judge_rows)]
    everyone = filtered.of_all_raters.measured_judge_rows
    tests = len(rater_names(everyone.loc[pass_fail_mask(everyone)]))
    curves = reliability_curves(rows)
    found = PassFailResults(
        pass_fail_results(rows),
        option_order_effects(rows),
        curves,
        {},
        why_unlabelled=missing_labels_text(filtered),
        tests=tests,
    )
    if found.shown_rater is None:
        return found
    parts = {column: pass_fail_rates_by(rows, found.shown_rater, column) for column in PARTS}
    found = replace(found, parts={name: one for name, one in parts.items() if len(one) > 1})
    if found.shown_rater not in found.order:
        return found
    several = [column for column in PARTS if column in found.parts]
    shifts = {str(one): group_pass_rates_by_order(rows, found.shown_rater, one) for one in several}
    return replace(found, shift=pass_rates_by_order(rows, found.shown_rater), shift_parts=shifts)


def has_pass_fail_verdicts(filtered: FilteredStudy) -> bool:
    return bool(pass_fail_mask(filtered.unfiltered_frame).any())
