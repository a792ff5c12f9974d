"""Pass/fail verdicts of a judge against labels: confusion table and the rates computed from it.

A row is one verdict on one answer; intervals are clustered by item. Unusable replies are counted
separately and enter no rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from metrics.estimation import intervals
from studies.domain import Estimate

PASS, FAIL, UNKNOWN = 1, 0, -1
"""Codes of verdicts and labels; UNKNOWN: no usable verdict, or no label."""
MOVER_METHOD: Final = "sum of two shares, from their Wilson limits"
PERMUTATIONS: Final = 2_000
PERMUTATION_SEED: Final = 5
MAX_PERMUTED: Final = 2_000
"""Number of answers above which an F test replaces the permutation test; the p-values of the two
are then nearly equal."""
NO_GOOD_NOTE: Final = "no verdict is on an answer labelled good"
NO_BAD_NOTE: Final = "no verdict is on an answer labelled bad"
NO_LABEL_NOTE: Final = "no verdict has a label"
ONE_LABEL_NOTE: Final = "all labels are alike, so chance agreement cannot be told from any other"
NO_SIDE_NOTE: Final = "needs verdicts on answers labelled good and on answers labelled bad"


@dataclass(frozen=True, slots=True)
class Confusion:
    """Confusion table: number of verdicts (pass, fail) on good and on bad answers."""

    pass_good: int
    pass_bad: int
    fail_good: int
    fail_bad: int

    @property
    def total(self) -> int:
        return self.pass_good + self.pass_bad + self.fail_good + self.fail_bad


@dataclass(frozen=True, slots=True)
class PassFailRates:
    """Sensitivity, specificity and further rates of a judge's pass/fail verdicts, with the
    confusion table."""

    confusion: Confusion
    sensitivity: Estimate
    """Share of passes among good answers."""
    specificity: Estimate
    """Share of fails among bad answers."""
    precision: Estimate
    """Share of good answers among passes."""
    agreement: Estimate
    kappa: Estimate
    youden: Estimate
    """Sensitivity + specificity − 1: 0 for a judge that ignores the answer, 1 without errors."""
    base_rate: Estimate
    """Share of good answers among the labelled answers."""
    observed_pass_rate: Estimate
    """Share of passes among all verdicts, labelled or not."""
    excess: Estimate
    """Share of passes minus share of good answers, paired, among verdicts on labelled answers."""
    unusable: int


@dataclass(frozen=True, eq=False)
class PassFailRows:
    """One row per verdict: the verdict and the label of the answer (each PASS, FAIL or UNKNOWN),
    and the codes of the item and of the answer."""

    verdict: intervals.Ints
    label: intervals.Ints
    item: intervals.Ints
    answer: intervals.Ints

    @classmethod
    def from_values(
        cls, verdict: ArrayLike, label: ArrayLike, item: ArrayLike, answer: ArrayLike | None = None
    ) -> PassFailRows:
        """Rows from sequences of equal length; without `answer`, each verdict is on another
        answer."""
        own = np.arange(len(np.asarray(verdict))) if answer is None else answer
        return cls(*(np.asarray(one, np.int64) for one in (verdict, label, item, own)))

    def select(self, mask: np.ndarray) -> PassFailRows:
        return PassFailRows(
            self.verdict[mask], self.label[mask], self.item[mask], self.answer[mask]
        )

    @property
    def one_per_answer(self) -> PassFailRows:
        """The first row of each answer."""
        _, first = np.unique(self.answer, return_index=True)
        return PassFailRows(
            *(one[first] for one in (self.verdict, self.label, self.item, self.answer))
        )

    @property
    def usable(self) -> PassFailRows:
        return self.select(self.verdict != UNKNOWN)

    @property
    def labelled(self) -> PassFailRows:
        """The rows with a usable verdict and a label."""
        return self.select((self.verdict != UNKNOWN) & (self.label != UNKNOWN))


def pass_fail_rates(rows: PassFailRows) -> PassFailRates:
    """Compute the confusion table and all rates from the verdicts of one judge with one prompt."""
    known, usable = rows.labelled, rows.usable
    good, bad = known.label == PASS, known.label == FAIL
    passed = known.verdict == PASS
    sensitivity = intervals.rare_proportion(
        passed[good], known.item[good], note="" if good.any() else NO_GOOD_NOTE
    )
    specificity = intervals.rare_proportion(
        ~passed[bad], known.item[bad], note="" if bad.any() else NO_BAD_NOTE
    )
    return PassFailRates(
        confusion=Confusion(
            int((passed & good).sum()),
            int((passed & bad).sum()),
            int((~passed & good).sum()),
            int((~passed & bad).sum()),
        ),
        sensitivity=sensitivity,
        specificity=specificity,
        precision=intervals.rare_proportion(
            good[passed], known.item[passed], note=_missing_data_note(known, passed)
        ),
        agreement=intervals.rare_proportion(
            passed == good, known.item, note=_missing_data_note(known, good | bad)
        ),
        kappa=_kappa_estimate(known),
        youden=youden_index(sensitivity, specificity, len(np.unique(known.item))),
        base_rate=intervals.rare_proportion(
            good, known.item, note=_missing_data_note(known, good | bad)
        ),
        observed_pass_rate=intervals.rare_proportion(usable.verdict == PASS, usable.item),
        excess=intervals.mean_estimate(
            passed.astype(np.float64) - good, known.item, "difference of shares", (-1.0, 1.0)
        ),
        unusable=int((rows.verdict == UNKNOWN).sum()),
    )


def labelled_pass_rate(rows: PassFailRows) -> Estimate:
    """Estimate the share of good answers among the labelled answers. Each answer counts once,
    however many of its verdicts are usable."""
    answers = rows.select(rows.label != UNKNOWN).one_per_answer
    note = "" if len(answers.label) else NO_LABEL_NOTE
    return intervals.rare_proportion(answers.label == PASS, answers.item, note=note)


def _missing_data_note(known: PassFailRows, chosen: np.ndarray) -> str:
    """Return the reason why a rate has no data: no labels, or the mask `chosen` selects none of the
    labelled rows `known` (no answer passed); empty if it has data."""
    if not len(known.verdict):
        return NO_LABEL_NOTE
    return "" if chosen.any() else "no labelled answer passed"


def _kappa_estimate(known: PassFailRows) -> Estimate:
    """Estimate Cohen's κ of verdict and label, with a jackknife interval over items; unknown
    without labels, or if all labels are alike: κ is then 0 whatever the judge does."""
    if not len(known.verdict):
        return intervals.unknown_estimate(NO_LABEL_NOTE, "kappa")
    if len(np.unique(known.label)) < 2:
        return intervals.unknown_estimate(ONE_LABEL_NOTE, "kappa")
    cells = np.stack(
        [(known.verdict == v) & (known.label == one) for v in (FAIL, PASS) for one in (FAIL, PASS)],
        axis=1,
    ).astype(np.float64)
    _, sums = intervals.sum_by_item(cells, known.item)
    return intervals.jackknife_estimate(
        sums, _kappa_of_totals, len(known.verdict), "kappa", (-1.0, 1.0)
    )


def _kappa_of_totals(totals: intervals.Floats) -> intervals.Floats:
    """Compute Cohen's κ of verdict and label. The last axis of `totals` counts: failed bad answers,
    failed good, passed bad, passed good."""
    n = totals.sum(axis=-1)
    fail, bad = totals[..., 0] + totals[..., 1], totals[..., 0] + totals[..., 2]
    observed = intervals.safe_divide(totals[..., 0] + totals[..., 3], n)
    expected = intervals.safe_divide(fail * bad + (n - fail) * (n - bad), n * n)
    return intervals.safe_divide(observed - expected, 1 - expected)


def youden_index(sensitivity: Estimate, specificity: Estimate, items: int) -> Estimate:
    """Estimate Youden's index J = sensitivity + specificity − 1 from the two estimates, which count
    as independent; unknown if one of them is. `items` is the number of labelled items: an item may
    have good and bad answers.

    The distance of J to its lower limit is √(a² + b²), with a and b the distances of the two
    estimates to their lower limits; likewise for the upper limit (Donner and Zou 2012).
    """
    if sensitivity.value is None or specificity.value is None:
        return intervals.unknown_estimate(NO_SIDE_NOTE, "share")
    value = sensitivity.value + specificity.value - 1
    low = _limit_distance([(1.0, sensitivity), (1.0, specificity)], lower=True)
    high = _limit_distance([(1.0, sensitivity), (1.0, specificity)], lower=False)
    low = None if low is None else max(-1.0, value - low)
    high = None if high is None else min(1.0, value + high)
    n = sensitivity.n + specificity.n
    return Estimate(value, low, high, n, items, "share", 0.95, MOVER_METHOD)


def _limit_distance(parts: Sequence[tuple[float, Estimate]], *, lower: bool) -> float | None:
    """Distance from a weighted sum of independent estimates to its lower or upper limit; `parts`
    lists (weight, estimate). None if one of the estimates lacks that limit."""
    total = 0.0
    for weight, one in parts:
        limit = one.low if lower else one.high
        if one.value is None or limit is None:
            return None
        total += (weight * (one.value - limit)) ** 2
    return math.sqrt(total)


def combine_independent(
    parts: Sequence[tuple[float, Estimate]], items: int, unit: str, method: str, note: str = ""
) -> Estimate:
    """Estimate a weighted sum of independent estimates; `parts` lists (weight, estimate), with
    positive weights, and `items` is the number of items in all. An estimate without a value counts
    as 0, and the sum then has no interval.

    The distance of the sum to its lower limit is √Σ(weight·distance of the estimate to its lower
    limit)²; likewise for the upper limit."""
    value = sum(weight * (one.value or 0.0) for weight, one in parts)
    low, high = (_limit_distance(parts, lower=side) for side in (True, False))
    low, high = None if low is None else value - low, None if high is None else value + high
    n = sum(one.n for _, one in parts)
    return Estimate(value, low, high, n, items, unit, 0.95, method, note)


def equal_errors_p_value(contestants: Sequence[PassFailRows]) -> float | None:
    """p-value of the hypothesis that the judge has the same sensitivity and specificity for all
    contestants; None if no test is possible. `contestants`: the verdicts on each one's answers.

    Sensitivity and specificity are tested separately; the smaller p-value is doubled if both tests
    were possible. Verdicts on the same answer are not independent, so an answer counts once, by
    its share of passes.
    """
    shares = [
        [_item_pass_shares(rows.labelled, label) for rows in contestants] for label in (PASS, FAIL)
    ]
    found = [p for side in shares if (p := _equal_shares_p_value(side)) is not None]
    return min(1.0, len(found) * min(found)) if found else None


def _item_pass_shares(rows: PassFailRows, label: int) -> intervals.Floats:
    """Return, for each item, the share of passes among the verdicts on its answer, for the answers
    with this label. `rows` are those of one contestant."""
    own = rows.select(rows.label == label)
    counted = np.stack([own.verdict == PASS, np.ones(len(own.item))], axis=1).astype(np.float64)
    sums = intervals.sum_by_item(counted, own.item)[1]
    return np.asarray(sums[:, 0] / sums[:, 1], np.float64)


def _equal_shares_p_value(by_contestant: Sequence[intervals.Floats]) -> float | None:
    """p-value of equal mean shares of passes, from the share of each answer; None with fewer than
    two contestants, or if all shares are equal.

    If every answer has one verdict (or equal ones), this is Fisher's exact test for two contestants
    and a likelihood-ratio test for more; else a permutation test, which assigns the answers to the
    contestants at random, or an F test for more than MAX_PERMUTED answers.
    """
    groups = [shares for shares in by_contestant if len(shares)]
    values = np.concatenate([np.zeros(0), *groups])
    if len(groups) < 2 or np.ptp(values) == 0:
        return None
    if np.isin(values, (0.0, 1.0)).all():
        table = np.asarray([[shares.sum(), len(shares) - shares.sum()] for shares in groups])
        if len(groups) == 2:
            return float(stats.fisher_exact(table)[1])
        return float(stats.chi2_contingency(table, lambda_="log-likelihood")[1])
    if len(values) > MAX_PERMUTED:
        return float(stats.f_oneway(*groups)[1])
    starts = np.cumsum([0, *(len(shares) for shares in groups[:-1])])
    sizes = np.asarray([len(shares) for shares in groups], np.float64)
    draw = np.random.default_rng(PERMUTATION_SEED)
    drawn = draw.permuted(np.tile(values, (PERMUTATIONS + 1, 1)), axis=1)
    drawn[0] = values
    spread = (np.add.reduceat(drawn, starts, axis=1) ** 2 / sizes).sum(axis=1)
    return float((spread >= spread[0] - 1e-9).mean())
