"""Sections of the summary that compare verdicts on single answers with their labels."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.labels import labelled_rows, pass_fail, true_pass_rate
from metrics.labels.scores.score_agreement import score_agreement
from studies.domain import Estimate
from studies.frames.point_columns import pass_fail_mask

RATE_NAMES: Final = (
    "sensitivity", "specificity", "precision", "agreement", "kappa", "youden", "base_rate",
    "observed_pass_rate",
)  # fmt: skip
PARTS: Final[tuple[Literal["contestant", "category"], ...]] = ("contestant", "category")
"""Columns by which rates are also split: by contestant if there are several contestants, by
category if there are several categories."""
MAX_ERRORS_P: Final = 0.05
"""p-value below which the error rates count as different between contestants."""
REVERSAL_NOTE: Final = (
    "the judge's error rates differ between models, so one correction for all can reverse their "
    "ranking; correct each model by labels of its own answers"
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PassFailResult:
    """All pass/fail measures of one judge with one prompt."""

    rates: pass_fail.PassFailRates
    true_pass_rate: Estimate
    power_tuned: Estimate
    """True pass rate by another method (`prediction_powered_rate`)."""
    errors_p: float | None
    """p-value of equal error rates for all contestants; None if no test is possible: for one
    contestant, without labels, or if the verdicts on good answers are all equal and those on bad
    answers too."""

    @property
    def may_reverse_ranking(self) -> bool:
        """Whether error rates differ significantly between contestants (p below MAX_ERRORS_P), so
        that one correction for all of them can reverse their ranking."""
        return self.errors_p is not None and self.errors_p < MAX_ERRORS_P

    @property
    def excess(self) -> Estimate:
        """Observed pass rate minus true pass rate. If every answer has a label, the interval is
        that of the verdicts compared with their labels; else that of the true pass rate."""
        true, observed = self.true_pass_rate, self.rates.observed_pass_rate.value
        if observed is None:
            return self.rates.excess
        if true_pass_rate.is_by_labels(true):  # verdicts may be missing for some labelled answers
            paired = self.rates.excess
            moved = (self.rates.base_rate.value or 0.0) - (true.value or 0.0)
            ends = (paired.value, paired.low, paired.high)
            gap, low, high = (None if x is None else x + moved for x in ends)
            return replace(paired, value=gap, low=low, high=high)
        gap, low, high = (
            None if x is None else observed - x for x in (true.value, true.high, true.low)
        )
        unit = "difference of shares"
        return Estimate(gap, low, high, true.n, true.items, unit, note=true.note)


def pass_fail_results(frame: pd.DataFrame) -> dict[tuple[str, str], PassFailResult]:
    """Compute the pass/fail measures of each judge and prompt: (judge, prompt) -> result."""
    return {
        rater: _build_pass_fail_result(rows, pass_fail_rows_by_contestant(frame, rater))
        for rater, rows in labelled_rows.pass_fail_rows_by_rater(frame).items()
    }


def _build_pass_fail_result(
    rows: pass_fail.PassFailRows, contestants: dict[str, pass_fail.PassFailRows]
) -> PassFailResult:
    rates = pass_fail.pass_fail_rates(rows)
    errors_p = (
        pass_fail.equal_errors_p_value(list(contestants.values())) if len(contestants) > 1 else None
    )
    true = true_pass_rate.true_pass_rate(rows, rates)
    if true_pass_rate.is_by_labels(true):  # exact for these answers; for others, see the base rate
        true = replace(true, low=None, high=None, method=true_pass_rate.BY_LABELS)
    return PassFailResult(rates, true, true_pass_rate.prediction_powered_rate(rows), errors_p)


def pass_fail_rows_by_contestant(
    frame: pd.DataFrame, rater: tuple[str, str]
) -> dict[str, pass_fail.PassFailRows]:
    """Return contestant -> pass/fail verdicts of one judge and prompt on the contestant's answers.
    Unusable replies are included, calls repeated only to measure noise are not."""
    return _pass_fail_rows_by(frame, rater, "first")


def pass_fail_rates_by(
    frame: pd.DataFrame, rater: tuple[str, str], column: Literal["contestant", "category"]
) -> dict[str, pass_fail.PassFailRates]:
    """Return contestant (or category, as `column` states) -> rates of one judge and prompt on its
    answers; rows without a category are left out."""
    found = _pass_fail_rows_by(frame, rater, "first" if column == "contestant" else column)
    return {name: pass_fail.pass_fail_rates(rows) for name, rows in found.items() if name}


def _pass_fail_rows_by(
    frame: pd.DataFrame, rater: tuple[str, str], column: str
) -> dict[str, pass_fail.PassFailRows]:
    """Return, by value of the column, the pass/fail verdicts of one judge and prompt, without
    noise-floor repeats (calls made only to measure noise)."""
    judge, prompt = (frame[name].astype(str).to_numpy() for name in ("judge", "prompt"))
    noise = frame["noise"].to_numpy(np.bool_)
    mask = pass_fail_mask(frame) & ~noise & (judge == rater[0]) & (prompt == rater[1])
    rows = row_selection.select_rows(frame, mask)
    who = rows[column].astype(str).to_numpy()
    return {
        name: labelled_rows.pass_fail_codes(row_selection.select_rows(rows, who == name))
        for name in sorted(set(who))
    }


def pass_fail_section(frame: pd.DataFrame) -> Json:
    """Build the section of pass/fail measures, as judge -> prompt -> values. The values are a
    sentence, the rates, the true pass rate (if possible also by `prediction_powered_rate`), the
    confusion table and the number of unusable replies; with several contestants or categories also
    the rates of each, and the test that error rates are equal for all contestants."""
    nested: Json = {}
    for (judge, prompt), found in pass_fail_results(frame).items():
        values: Json = {"sentence": pass_fail_sentence(found)}
        values |= {name: getattr(found.rates, name) for name in RATE_NAMES}
        values |= {"true_pass_rate": found.true_pass_rate, "excess": found.excess}
        if found.power_tuned.value is not None:
            values["power_tuned_pass_rate"] = found.power_tuned
        values["confusion"] = asdict(found.rates.confusion)
        values["unusable"] = found.rates.unusable
        if found.errors_p is not None:
            note = {"note": REVERSAL_NOTE} if found.may_reverse_ranking else {}
            values["errors_by_contestant"] = {"p": found.errors_p, **note}
        for column in PARTS:
            parts = pass_fail_rates_by(frame, (judge, prompt), column)
            if len(parts) > 1:
                values[f"by_{column}"] = {name: _rates_as_json(one) for name, one in parts.items()}
        nested.setdefault(judge, {})[prompt] = values
    return nested


def _rates_as_json(rates: pass_fail.PassFailRates) -> Json:
    values: Json = {name: getattr(rates, name) for name in RATE_NAMES}
    return values | {"confusion": asdict(rates.confusion), "unusable": rates.unusable}


def scores_section(frame: pd.DataFrame) -> Json:
    """Build the section on agreement of scores with labels, as judge -> prompt -> estimates.

    Judges and prompts without labelled answers are left out. The key `expected` has the same
    estimates for the expected score, if the judge gave probabilities of the options; the key
    `by_contestant` has the mean of score − label (`bias`) of each of several contestants.
    """
    nested: Json = {}
    for (judge, prompt), rows in labelled_rows.score_rows_by_rater(frame).items():
        if np.isfinite(rows.label).any():
            found = score_agreement(rows.score, rows.label, rows.item, rows.scale)
            values: Json = dict(estimates_by_field(found))
            if np.isfinite(rows.expected).any():
                expected = score_agreement(rows.expected, rows.label, rows.item, rows.scale)
                values["expected"] = estimates_by_field(expected)
            if parts := rows.bias_by_contestant():
                values["by_contestant"] = {name: {"bias": one} for name, one in parts.items()}
            nested.setdefault(judge, {})[prompt] = values
    return nested


def estimates_by_field(record: Any) -> dict[str, Estimate]:
    """Return the fields of a dataclass object, all of which are estimates, as name -> estimate."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def pass_fail_sentence(result: PassFailResult) -> str:
    """Return a sentence: shares of good and bad answers that pass, true pass rate (if known) and
    observed pass rate; only the observed one if no usable verdict is on a labelled answer; "No
    usable verdicts." if there are none."""
    rates, true = result.rates, result.true_pass_rate
    observed = rates.observed_pass_rate
    if observed.value is None:
        return "No usable verdicts."
    errors = format_pass_shares(rates.sensitivity.value, rates.specificity.value)
    if not errors:
        passed = _format_percent_interval(observed)
        return f"The judge passes {passed} of the answers; no verdict has a label."
    name, known = true_pass_rate.true_rate_name(true), true.value is not None
    corrected = f"{name} {_format_percent_interval(true)}, " if known else ""
    return f"{errors}; {corrected}observed {_format_percent(observed.value)}."


def format_pass_shares(sensitivity: float | None, specificity: float | None) -> str:
    """Return a sentence without full stop: the shares of good and of bad answers that the judge
    passes. If one share is unknown, the sentence states that no usable verdict is on an answer with
    this label; empty if both shares are unknown."""
    if sensitivity is not None and specificity is not None:
        bad = _format_percent(1 - specificity)
        return (
            f"The judge passes {_format_percent(sensitivity)} of good answers and {bad} of bad ones"
        )
    if sensitivity is not None:
        good = _format_percent(sensitivity)
        return f"The judge passes {good} of good answers, and no verdict is on a bad one"
    if specificity is not None:
        bad = _format_percent(1 - specificity)
        return f"The judge passes {bad} of bad answers, and no verdict is on a good one"
    return ""


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _format_percent_interval(estimate: Estimate) -> str:
    value = _format_percent(estimate.value or 0.0)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"
