"""Contrasts: paired differences between judges, prompts or settings on the same items.

A cell is a combination of values in some columns, such as one judge with one prompt; a contrast
compares two cells. Each contrast has a raw interval and one adjusted for the whole family of
comparisons.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.stats import norm

from metrics.estimation import intervals
from metrics.estimation.measures import SHARES, CellKey, GroupedFrame, Measure, sum_by_cell_item
from metrics.estimation.multiple_comparisons import max_t_quantile, t_quantile_from_normal
from metrics.estimation.rare_events import TANGO_METHOD, Z95, tango_bounds
from studies.domain import Estimate

ADJUSTED_METHOD = "item jackknife t, max-t over the item bootstrap"
BOOTSTRAP_ROUNDS = 1000
MAX_BOOTSTRAP_FAMILY = 400
"""Largest family (pairs of cells times measures) whose critical value
`critical_value_for_all_pairs` estimates by bootstrap; for larger families it returns
Bonferroni's."""
MIN_DISCORDANT = 10
"""Number of units (verdicts or comparisons) that must differ between the two cells for the t
interval of a difference of shares to be reliable; with fewer, it is widened to Tango's score
interval."""


@dataclass(frozen=True)
class Contrast:
    """Difference left − right of a measure between two cells, on the items that both cells have.
    `adjusted` has the interval that holds simultaneously for all contrasts of the family."""

    measure: str
    left: CellKey
    right: CellKey
    raw: Estimate
    adjusted: Estimate
    left_value: float | None
    right_value: float | None


class PairedMeasure(Protocol):
    """Attributes that a measure must have for its paired differences to be computed: name, unit,
    kind, range, and the change of its value if all outcomes were reversed."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def value_range(self) -> tuple[float, float]: ...
    def change_if_units_reversed(
        self, totals: intervals.Floats, statistic: intervals.Statistic
    ) -> float: ...


@dataclass(frozen=True, eq=False)
class PairedTotals:
    """Totals of each item (such as flips and pairs) from which a measure is computed, for two cells
    (a cell: a judge, or a judge with a prompt) and the items that both have. `sums` [item, total]
    has the totals of the left cell in the first half of its columns, those of the right cell in the
    second half. The function `side` computes the measure from the totals of one cell."""

    measure: PairedMeasure
    left: CellKey
    right: CellKey
    items: intervals.Ints
    sums: intervals.Floats
    side: intervals.Statistic
    step: float = 1.0
    """Typical difference between the two cells in a unit (verdict or comparison) on which they
    differ: 1 if a unit is right or wrong, less if it has a fractional credit."""

    def difference(self, totals: intervals.Floats) -> intervals.Floats:
        """Compute the measure in the left cell minus the measure in the right cell; the first half
        of `totals` belongs to the left cell, the second to the right."""
        width = totals.shape[-1] // 2
        return self.side(totals[..., :width]) - self.side(totals[..., width:])

    @property
    def n(self) -> int:
        """Number of counted units (such as verdicts) in the cell with fewer units."""
        totals = self.sums.sum(axis=0)
        return round(float(min(totals[len(totals) // 2 - 1], totals[-1])))


def paired_contrasts(
    frame: pd.DataFrame,
    by: Sequence[str],
    measures: Iterable[Measure],
    rng: np.random.Generator,
    pairs: Sequence[tuple[CellKey, CellKey]] | None = None,
    rounds: int = BOOTSTRAP_ROUNDS,
    critical: float = 0.0,
) -> list[Contrast]:
    """Estimate the differences of every measure between two cells, on the items that both cells
    have. A cell is a combination of values in the columns `by`, such as one judge with one prompt.

    `pairs` lists the cells to compare (default: all pairs); ValueError if one of them has no rows.
    All differences, of every pair and every measure, form one family; a difference without common
    items has no value. If the pairs were selected from a larger family because of their values,
    `critical` is the critical value of that family (`critical_value_for_all_pairs`): the adjustment
    then uses no smaller one."""
    evidence = GroupedFrame(frame, by)
    chosen = list(combinations(evidence.cells, 2)) if pairs is None else list(pairs)
    return _estimate_families(evidence, measures, rng, [chosen], rounds, critical)[0]


def critical_value_for_all_pairs(
    frame: pd.DataFrame,
    by: Sequence[str],
    measures: Sequence[Measure],
    rng: np.random.Generator,
    cells: Sequence[CellKey] | None = None,
    rounds: int = BOOTSTRAP_ROUNDS,
) -> float:
    """Estimate the 95 % quantile of the largest |z| among the differences of all measures between
    all pairs of `cells` (default: all cells). A cell is a combination of values in the columns
    `by`.

    With this critical value, the interval stays valid for two cells that were selected because of
    their values, such as the highest and the lowest. Families of more than MAX_BOOTSTRAP_FAMILY
    differences use Bonferroni's quantile. If no difference has an interval, the result is 1.96."""
    evidence = GroupedFrame(frame, by)
    known = [cell for cell in evidence.cells if cells is None or cell in cells]
    pairs = list(combinations(known, 2))
    members = len(pairs) * len(measures)
    if members > MAX_BOOTSTRAP_FAMILY:
        return float(norm.isf(0.025 / members))
    columns = [
        one for measure in measures for one in item_totals_of_cell_pairs(evidence, measure, pairs)
    ]
    with_interval = [one for one in columns if _raw_difference(one).low is not None]
    return _critical_value(with_interval, rng, rounds) if with_interval else Z95


def contrast_families(
    frame: pd.DataFrame,
    by: Sequence[str],
    measures: Iterable[Measure],
    rng: np.random.Generator,
    groups: Sequence[Sequence[tuple[CellKey, CellKey]]],
    rounds: int = BOOTSTRAP_ROUNDS,
) -> list[list[Contrast]]:
    """Estimate paired differences for several lists of pairs of cells (`groups`); each list is
    adjusted as a separate family, which contains all measures for all its pairs. ValueError if a
    cell has no rows."""
    return _estimate_families(GroupedFrame(frame, by), measures, rng, groups, rounds)


def _estimate_families(
    grouped: GroupedFrame,
    measures: Iterable[Measure],
    rng: np.random.Generator,
    groups: Sequence[Sequence[tuple[CellKey, CellKey]]],
    rounds: int,
    critical: float = 0.0,
) -> list[list[Contrast]]:
    pairs = [pair for group in groups for pair in group]
    _check_cells_exist(pairs, grouped.cells)
    columns = [item_totals_of_cell_pairs(grouped, measure, pairs) for measure in measures]
    found, start = [], 0
    for group in groups:
        end = start + len(group)
        family = [one for each in columns for one in each[start:end]]
        found.append(estimate_contrast_family(family, rng, rounds, critical))
        start = end
    return found


def estimate_contrast_family(
    family: Sequence[PairedTotals],
    rng: np.random.Generator,
    rounds: int = BOOTSTRAP_ROUNDS,
    min_critical: float = 0.0,
) -> list[Contrast]:
    """Estimate the differences of a family, each with a raw interval and an interval adjusted for
    the family. `min_critical` is the smallest critical value that the adjustment may use."""
    raws = [_raw_difference(one) for one in family]
    with_interval = [one for one, raw in zip(family, raws, strict=True) if raw.low is not None]
    critical = _critical_value(with_interval, rng, rounds) if with_interval else Z95
    critical = max(critical, min_critical)
    return [_build_contrast(one, raw, critical) for one, raw in zip(family, raws, strict=True)]


def _check_cells_exist(pairs: Sequence[tuple[CellKey, CellKey]], cells: Sequence[CellKey]) -> None:
    absent = {cell for pair in pairs for cell in pair} - set(cells)
    if absent:
        named = ", ".join("/".join(cell) for cell in sorted(absent))
        known = ", ".join("/".join(cell) for cell in cells)
        raise ValueError(f"No verdicts are recorded for {named}. Known: {known}")


def item_totals_of_cell_pairs(
    grouped: GroupedFrame, measure: Measure, pairs: Sequence[tuple[CellKey, CellKey]]
) -> list[PairedTotals]:
    """Return the item totals of a measure for pairs of cells, on the items that both have."""
    tally = measure.tally(grouped)
    cell, item, sums = sum_by_cell_item(tally)
    filled = sums[:, -1] > 0
    cell, item, sums = cell[filled], item[filled], sums[filled]
    edges = np.searchsorted(cell, np.arange(grouped.count + 1))
    slices = {key: slice(edges[k], edges[k + 1]) for k, key in enumerate(grouped.cells)}
    paired = []
    for left, right in pairs:
        one, two = slices[left], slices[right]
        common, a, b = np.intersect1d(item[one], item[two], return_indices=True)
        both = np.concatenate([sums[one][a], sums[two][b]], axis=1)
        paired.append(PairedTotals(measure, left, right, common, both, tally.statistic))
    return paired


def _raw_difference(paired: PairedTotals) -> Estimate:
    if len(paired.items) == 0:
        return intervals.unknown_estimate("no items in common", paired.measure.unit)
    raw = intervals.jackknife_estimate(
        paired.sums,
        paired.difference,
        paired.n,
        paired.measure.unit,
        effect=_change_if_one_side_reversed(paired),
    )
    return _widen_to_score_interval(paired, raw) if paired.measure.kind in SHARES else raw


def _change_if_one_side_reversed(paired: PairedTotals) -> float:
    """Change of the difference left − right if every verdict (or other unit) in one of the two
    cells had the opposite outcome, for the cell where this changes more; multiplied by
    `paired.step`, the typical difference in one unit. It sets the width of the interval if leaving
    out items changes nothing."""
    width = paired.sums.shape[1] // 2
    totals = paired.sums.sum(axis=0)
    sides = totals[:width], totals[width:]
    change = max(paired.measure.change_if_units_reversed(side, paired.side) for side in sides)
    return change * paired.step


def _widen_to_score_interval(paired: PairedTotals, raw: Estimate) -> Estimate:
    """Widen a t interval to Tango's score interval if few units (such as verdicts) differ between
    the two cells, or if the standard error is 0.

    The standard error is then too small, because a sample of this size may miss rare differences.
    The sample size of the score interval is the number of independent units that would give the
    observed standard error.
    """
    if raw.value is None or raw.low is None or raw.high is None:
        return raw
    discordance = max(_mean_absolute_item_difference(paired), abs(raw.value))
    n = _tango_sample_size(paired, raw, discordance)
    differing = discordance / paired.step * n
    if (
        differing >= MIN_DISCORDANT
        and intervals.jackknife_error(paired.sums, paired.difference) >= intervals.NO_SPREAD
    ):
        return raw
    gained = raw.value / paired.step * n
    low, high = (
        paired.step * bound
        for bound in tango_bounds((differing + gained) / 2, (differing - gained) / 2, n)
    )
    if low >= raw.low and high <= raw.high:
        return raw
    return replace(raw, low=min(low, raw.low), high=max(high, raw.high), method=TANGO_METHOD)


def _mean_absolute_item_difference(paired: PairedTotals) -> float:
    """Return the mean over items of |mean in the left cell − mean in the right cell|, weighted by
    the number of values of each item."""
    width = paired.sums.shape[1] // 2
    left, right = paired.sums[:, :width], paired.sums[:, width:]
    gap = np.abs(left[:, 0] / left[:, -1] - right[:, 0] / right[:, -1])
    weight = left[:, -1] / left[:, -1].sum() + right[:, -1] / right[:, -1].sum()
    return float((gap * weight).sum() / 2)


def _tango_sample_size(paired: PairedTotals, raw: Estimate, discordance: float) -> float:
    """Return the sample size for Tango's interval: the number of independent units (such as
    verdicts) that would give the observed standard error. It is the number of items if all items
    have the same difference, or if each item has one unit. `raw` is the estimate of the difference,
    `discordance` the mean absolute difference of an item."""
    error = intervals.jackknife_error(paired.sums, paired.difference)
    variance = discordance * paired.step - (raw.value or 0.0) ** 2
    if error < intervals.NO_SPREAD or variance < intervals.NO_SPREAD or paired.n == raw.items:
        return float(raw.items)
    shrink = (Z95 / float(intervals.student_t_quantile(raw.items))) ** 2
    return max(min(variance / error**2, paired.n) * shrink, 1.0)


def _critical_value(family: list[PairedTotals], rng: np.random.Generator, rounds: int) -> float:
    """Critical value of the max-t adjustment of a family; in every bootstrap round an item has the
    same random weight for all differences of the family."""
    union = np.unique(np.concatenate([one.items for one in family]))
    deviations = np.zeros((len(union), len(family)))
    for member, one in enumerate(family):
        deviations[np.searchsorted(union, one.items), member] = intervals.leave_one_out_deviations(
            one.sums, one.difference
        )
    return max_t_quantile(deviations, rng, rounds)


def _build_contrast(paired: PairedTotals, raw: Estimate, critical: float) -> Contrast:
    """Return the contrast: the raw estimate, and the same with an interval adjusted by the critical
    value (normal quantile) `critical` of the family; both intervals are limited to the largest
    possible difference."""
    adjusted = replace(raw, method=ADJUSTED_METHOD)
    if raw.value is not None and raw.low is not None and raw.high is not None:
        ratio = float(
            t_quantile_from_normal(critical, raw.items) / intervals.student_t_quantile(raw.items)
        )
        low = raw.value - (raw.value - raw.low) * ratio
        high = raw.value + (raw.high - raw.value) * ratio
        most = largest_possible_difference(paired.measure)
        raw = replace(raw, low=max(raw.low, -most), high=min(raw.high, most))
        adjusted = replace(adjusted, low=max(low, -most), high=min(high, most))
    left, right = _left_and_right_values(paired)
    return Contrast(paired.measure.name, paired.left, paired.right, raw, adjusted, left, right)


def largest_possible_difference(measure: PairedMeasure) -> float:
    """Largest possible difference of a measure between two cells: 1 for shares, else the width of
    its range."""
    return 1.0 if measure.kind in SHARES else measure.value_range[1] - measure.value_range[0]


def _left_and_right_values(paired: PairedTotals) -> tuple[float | None, float | None]:
    """Values of the measure in the left and in the right cell, on the common items; None where
    undefined."""
    if len(paired.items) == 0:
        return None, None
    totals = paired.sums.sum(axis=0)
    width = len(totals) // 2
    left, right = float(paired.side(totals[:width])), float(paired.side(totals[width:]))
    return left if math.isfinite(left) else None, right if math.isfinite(right) else None
