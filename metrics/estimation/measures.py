"""Measures as statistics of item totals, so that all measures have intervals and contrasts computed
in the same way.

Rows are selected (`GroupedFrame`), counted for each verdict or comparison (`MeasureTally`), and the
counts are added up by item. Leaving out or redrawing items then needs only these totals. An order
set is one comparison in all its orders, at least two; it is complete if a verdict was read in each,
and a flip if these verdicts differ. Noise-floor repeats are calls repeated only to measure how much
a judge varies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import integer_codes, row_selection
from metrics.estimation.intervals import (
    CLUSTER_T_METHOD,
    NO_SPREAD,
    ONE_ITEM_NOTE,
    Floats,
    Ints,
    Statistic,
    equal_items_half_width,
    jackknife_estimate,
    join_notes,
    proportions,
    proportions_of_failures,
    safe_divide,
    student_t_quantile,
    unknown_estimate,
)
from metrics.estimation.rare_events import finite_distance_to_farther_bound
from studies.domain import Estimate
from studies.frames.frame import NO_PICK
from studies.lazy_values import cached_property

Mask = row_selection.Mask
CellKey = tuple[str, ...]
"""Values of the `by` columns for one cell; () if all rows form one cell."""

ONE_ORDER_NOTE = "judged in one order only: position and content are confounded"
ORDER_UNKNOWN_NOTE = "not computed: the records do not say which answer was shown first"


class GroupedFrame:
    """A frame divided into cells (combinations of values in some columns, such as judge and
    prompt), with the selections of rows that measures need; each selection is computed once."""

    def __init__(self, frame: pd.DataFrame, by: Sequence[str] = ()) -> None:
        cell, count = row_selection.group_codes(frame, by)
        first = row_selection.first_row_per_group(cell, count)
        values = [frame[name].iloc[first].astype(str).tolist() for name in by]
        self.cells: list[CellKey] = list(zip(*values, strict=True)) if by else [()]
        self.frame = frame.assign(cell=cell)
        self.count = max(count, 1)

    @cached_property
    def picks(self) -> pd.DataFrame:
        """Rows with a usable verdict for a slot or a tie, without noise-floor repeats (calls
        repeated only to measure noise)."""
        return row_selection.select_picks(self.frame)

    @cached_property
    def picks_of_repeated_comparisons(self) -> pd.DataFrame:
        """Rows of the comparisons that have repeats in at least one order, with a usable verdict
        for a slot or a tie. Calls repeated only to measure noise are included. Most comparisons of
        a large study have no repeats."""
        usable = row_selection.usable_status_mask(self.frame)
        rows = row_selection.select_rows(
            self.frame, usable & (self.frame["pick"] != NO_PICK).to_numpy()
        )
        order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
        if orders == len(rows):
            return rows.iloc[:0]
        comparison, comparisons = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
        repeated = np.zeros(comparisons, np.bool_)
        repeated[comparison[np.bincount(order, minlength=orders)[order] > 1]] = True
        return row_selection.select_rows(rows, repeated[comparison])

    @cached_property
    def in_complete_set(self) -> Mask:
        """Mask of the picks that belong to comparisons read in all their orders, at least two."""
        return row_selection.complete_set_mask(self.picks)

    @cached_property
    def complete_picks(self) -> pd.DataFrame:
        """Picks of comparisons read in all their orders, at least two."""
        return row_selection.select_rows(self.picks, self.in_complete_set)

    @cached_property
    def one_order_cells(self) -> Mask:
        """Mask of the cells judged in one order only: no comparison with a usable verdict was
        planned in several orders. Cells without verdicts are marked too, cells of unknown order are
        not."""
        several = self._count_picks(self.picks["orders"] > 1)
        return np.asarray((several == 0) & ~self.unknown_order_cells, np.bool_)

    @cached_property
    def known_order_cells(self) -> Mask:
        """Mask of the cells that have a verdict for which it is recorded which answer was shown
        first."""
        return np.asarray(self._count_picks(self.picks["orders"] > 0) > 0, np.bool_)

    @cached_property
    def unknown_order_cells(self) -> Mask:
        """Mask of the cells that have verdicts, but none for which it is recorded which answer was
        shown first."""
        unknown = self._count_picks(self.picks["orders"] == 0) > 0
        return np.asarray(unknown & ~self.known_order_cells, np.bool_)

    def _count_picks(self, mask: pd.Series) -> Ints:
        """Count the picks of each cell for which the mask is true."""
        cells = self.picks["cell"].to_numpy()[mask.to_numpy(bool)]
        return np.bincount(cells, minlength=self.count).astype(np.int64)

    @cached_property
    def picks_for_position_measures(self) -> pd.DataFrame:
        """Verdicts for measures of position: those on comparisons read in all their orders (at
        least two) or, in cells judged in one order only, all. Verdicts of unknown order are left
        out."""
        keep = self.in_complete_set | self.one_order_cells[self.picks["cell"].to_numpy()]
        return row_selection.select_rows(self.picks, keep & (self.picks["orders"] != 0).to_numpy())

    @cached_property
    def picks_for_order_free_measures(self) -> pd.DataFrame:
        """Verdicts for measures that do not depend on position: those on comparisons read in all
        their orders (at least two), and those of unknown order. In cells judged in one order only,
        all verdicts."""
        keep = self.in_complete_set | self.one_order_cells[self.picks["cell"].to_numpy()]
        return row_selection.select_rows(self.picks, keep | (self.picks["orders"] == 0).to_numpy())

    @cached_property
    def order_sets(self) -> pd.DataFrame:
        """One row for each comparison read in all its orders (at least two), with the columns of
        `order_set_flips`, from which consistency and flips are computed."""
        return order_set_flips(row_selection.modal_verdicts(self.complete_picks))


def order_set_flips(rows: pd.DataFrame) -> pd.DataFrame:
    """Reduce each complete order set (one row per order) to one row with columns on its flip.

    Added columns: consistent (same winner, or a tie, in every order), hard (two different winners),
    soft (one winner and a tie), tied (number of ties), slot_0, slot_1, … (picks of each slot), lean
    (slot_0 − slot_1; for a pair, its sign is the direction of the flip).
    """
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    names = row_selection.contestants(rows) if len(rows) else []
    winner = row_selection.chosen_contestants(rows, names)
    lowest, highest = np.full(count, len(names), np.int64), np.full(count, -1, np.int64)
    decided = winner >= 0
    np.minimum.at(lowest, comparison[decided], winner[decided])
    np.maximum.at(highest, comparison[decided], winner[decided])
    tied = np.bincount(comparison[~decided], minlength=count)
    hard = (lowest < highest) & (highest >= 0)
    soft = ~hard & (tied > 0) & (highest >= 0)
    counts = _count_picks_by_slot(rows, comparison, count)
    first = row_selection.first_row_per_group(comparison, count)
    table = rows.iloc[first].assign(consistent=~hard & ~soft, hard=hard, soft=soft, tied=tied)
    table["lean"] = counts[:, 0] - counts[:, 1]
    table[[f"slot_{slot}" for slot in range(counts.shape[1])]] = counts
    return table


def _count_picks_by_slot(rows: pd.DataFrame, group: Ints, groups: int) -> Ints:
    """Count the picks of each slot in each group: [group, slot], with at least two columns."""
    counts = row_selection.count_picks(rows, group, groups)[:, 1:]
    return np.pad(counts, ((0, 0), (0, max(2 - counts.shape[1], 0))))


@dataclass(frozen=True)
class MeasureTally:
    """Counts of a measure: `sums` has a row for each unit (a verdict or a comparison), and its last
    column counts the units. `rows` has the frame's row of each unit.

    `statistic` computes the measure from the column totals. By default it is the first total
    divided by the last: a share or a mean.
    """

    rows: pd.DataFrame
    sums: Floats
    statistic: Statistic = field(default=lambda totals: first_over_last(totals))


def jackknife_estimate_of_measure(sums: Floats, statistic: Statistic, measure: Measure) -> Estimate:
    """Estimate a measure from its item totals (`sums`: [item, total]) with a delete-one-item
    interval, for measures that are neither a share nor a mean."""
    n = round(float(sums[:, -1].sum()))
    effect = measure.change_if_units_reversed(sums.sum(axis=0), statistic)
    return jackknife_estimate(sums, statistic, n, measure.unit, measure.value_range, effect=effect)


SHARES: Final = ("share", "failures")
TEXT_FACT: Final = "text_fact"
"""Attribute of a tally made by `reply_fact_tally`: the column of the frame that it counts."""


@dataclass(frozen=True)
class Measure:
    """A named statistic of item totals, such as consistency.

    `tally` counts the measure in a frame. `kind` selects the interval: "share" Wilson at the
    effective n, "failures" the same by `proportions_of_failures`, "mean" the t interval clustered
    by item, "other" the function `interval`. `value_range`: smallest and largest possible value;
    `empty`: note of an estimate without data; with `notes_one_order`, estimates of cells judged in
    one order only get a note.
    """

    name: str
    unit: str
    tally: Callable[[GroupedFrame], MeasureTally]
    kind: Literal["share", "failures", "mean", "other"] = "share"
    value_range: tuple[float, float] = (-math.inf, math.inf)
    empty: str = "no verdicts"
    notes_one_order: bool = False
    prefers_order_sets: bool = False
    """Whether verdicts of comparisons judged in one order count only in cells that have no others
    (`picks_for_position_measures`, `picks_for_order_free_measures`)."""
    is_shifted_share: bool = False
    """Whether a mean is a share minus a known number, the second column of the tally. Its interval
    then reaches at least as far as that of the share (`widen_to_share`)."""
    needs_order: bool = False
    """Whether the measure depends on position: records without the shown order give no estimate."""
    interval: Callable[[Floats, Statistic, Measure], Estimate] = jackknife_estimate_of_measure
    effect: Callable[[Floats], float] | None = None
    """Function that computes `change_if_units_reversed` from the totals; None for its default."""
    batch_interval: Callable[[Floats, Ints, int, Measure], list[Estimate] | None] | None = None
    """Function that estimates all cells at once; if it is None or returns None, `interval` is
    called for each cell."""

    @property
    def reads_texts(self) -> bool:
        """Whether the measure counts a fact about the texts of replies (`reply_fact_tally`)."""
        return hasattr(self.tally, TEXT_FACT)

    def change_if_units_reversed(self, totals: Floats, statistic: Statistic) -> float:
        """Change of the measure if all units (verdicts or comparisons) had the opposite outcome;
        `totals` are the column totals of the tally. It sets the width of the interval if all items
        have the same value.

        By default it is the distance from the value to the farther bound; 0 if a bound is infinite.
        """
        if self.effect is not None:
            return self.effect(totals)
        return finite_distance_to_farther_bound(float(statistic(totals)), self.value_range)

    def estimate(self, frame: pd.DataFrame) -> Estimate:
        """Estimate the measure on all rows of a frame together."""
        return self.by_cell(GroupedFrame(frame))[()]

    def by_cell(self, grouped: GroupedFrame) -> dict[CellKey, Estimate]:
        """Return cell -> estimate of the measure in this cell of a grouped frame."""
        tally = self.tally(grouped)
        cell, _, sums = sum_by_cell_item(tally)
        estimates = self.estimate_cells(sums, cell, grouped.count, tally.statistic)
        if self.notes_one_order:
            estimates = [
                replace(one, note=join_notes(one.note, ONE_ORDER_NOTE)) if single and one.n else one
                for one, single in zip(estimates, grouped.one_order_cells, strict=True)
            ]
        if self.needs_order:
            estimates = [
                note_missing_order_if_no_data(one) if orderless else one
                for one, orderless in zip(estimates, grouped.unknown_order_cells, strict=True)
            ]
        # A frame without rows has no cells, yet one (empty) estimate is always made.
        return dict(zip(grouped.cells, estimates[: len(grouped.cells)], strict=True))

    def estimate_cells(
        self, sums: Floats, cell_codes: Ints, count: int, statistic: Statistic
    ) -> list[Estimate]:
        """Return the estimate of each of `count` cells. `sums` has the totals of each item in each
        cell, sorted by cell; `cell_codes` is the number of the cell of each row of `sums`."""
        if self.kind in SHARES:
            estimate = proportions if self.kind == "share" else proportions_of_failures
            shares = estimate(sums[:, 0], sums[:, -1], cell_codes, count, self.unit)
            return [one if one.n else unknown_estimate(self.empty, self.unit) for one in shares]
        if self.kind == "mean":
            means = _mean_estimates_by_cell(sums, cell_codes, count, self)
            return widen_to_share(means, sums, cell_codes) if self.is_shifted_share else means
        batch = self.batch_interval
        if batch and (found := batch(sums, cell_codes, count, self)) is not None:
            return found
        edges = np.searchsorted(cell_codes, np.arange(count + 1))
        return [self._estimate_cell(sums[start:end], statistic) for start, end in pairwise(edges)]

    def _estimate_cell(self, sums: Floats, statistic: Statistic) -> Estimate:
        sums = sums[sums[:, -1] > 0]
        if len(sums):
            return self.interval(sums, statistic, self)
        return unknown_estimate(self.empty, self.unit)


def note_missing_order_if_no_data(estimate: Estimate) -> Estimate:
    """If the estimate has no data, replace its note by one stating that the shown order is not
    recorded; any other estimate is returned unchanged."""
    return estimate if estimate.n else replace(estimate, note=ORDER_UNKNOWN_NOTE)


def first_over_last(totals: Floats) -> Floats:
    """Divide the first total on the last axis by the last total; nan where the last is 0."""
    return safe_divide(totals[..., 0], totals[..., -1])


def sum_by_cell_item(tally: MeasureTally) -> tuple[Ints, Ints, Floats]:
    """Sum a tally's rows; return cell, item and sums of every (cell, item), sorted by cell."""
    item, items = row_selection.column_codes(row_selection.resampling_unit(tally.rows))
    key = tally.rows["cell"].to_numpy().astype(np.int64) * items + item
    present, code = integer_codes.unique_codes(key)
    sums = [np.bincount(code, column, minlength=len(present)) for column in tally.sums.T]
    return *np.divmod(present, items), np.stack(sums, axis=1)


def build_tally(rows: pd.DataFrame, *columns: object) -> MeasureTally:
    """Build a tally of `rows`. Each of `columns` becomes a column of the tally's `sums`: an array
    with one value per row, or a single number for all rows."""
    full = [np.broadcast_to(np.asarray(column, np.float64), len(rows)) for column in columns]
    return MeasureTally(rows, np.stack(full, axis=1))


def reply_fact_tally(column: str) -> Callable[[GroupedFrame], MeasureTally]:
    """Return a function that sums the values of a fact about replies (a column made by
    `studies/frames/reply_facts.py`) and counts the replies that have one; the measure is their
    share or mean. Calls repeated only to measure noise are left out. Without the column there are
    no sums."""

    def tally(grouped: GroupedFrame) -> MeasureTally:
        frame = grouped.frame
        values = (
            frame[column].to_numpy(np.float64) if column in frame else np.full(len(frame), np.nan)
        )
        kept = np.isfinite(values) & ~frame["noise"].to_numpy(np.bool_)
        return build_tally(row_selection.select_rows(frame, kept), values[kept], 1)

    setattr(tally, TEXT_FACT, column)
    return tally


def _mean_estimates_by_cell(
    sums: Floats, cell: Ints, count: int, measure: Measure
) -> list[Estimate]:
    """Estimate a mean in each of `count` cells with a t interval clustered by item; `sums` and
    `cell` as in `Measure.estimate_cells`."""
    filled = sums[:, -1] > 0
    sums, cell = sums[filled], cell[filled]
    n = np.bincount(cell, sums[:, -1], minlength=count)
    items = np.bincount(cell, minlength=count)
    total = np.bincount(cell, sums[:, 0], minlength=count)
    centre = np.nan_to_num(safe_divide(total, n))
    spread = np.bincount(cell, (sums[:, 0] - centre[cell] * sums[:, -1]) ** 2, minlength=count)
    error = np.sqrt(np.nan_to_num(safe_divide(items, items - 1)) * spread) / np.maximum(n, 1)
    half = np.where(items > 1, student_t_quantile(items), 0) * error
    for g in np.flatnonzero((error < NO_SPREAD) & (items > 1)):
        half[g] = equal_items_half_width(
            int(items[g]), finite_distance_to_farther_bound(centre[g], measure.value_range)
        )
    return [
        _build_mean_estimate(float(centre[g]), float(half[g]), int(n[g]), int(items[g]), measure)
        for g in range(count)
    ]


def widen_to_share(means: list[Estimate], sums: Floats, cell: Ints) -> list[Estimate]:
    """Widen the intervals of means to those of the shares that they are, minus a known number:
    the share's interval does not trust a small spread between items (MIN_DESIGN_EFFECT), so the
    same verdicts must not look more certain as a difference. `sums` are item totals: of the mean,
    of the number subtracted, and of the verdicts."""
    found = []
    shares = proportions(sums[:, 0] + sums[:, 1], sums[:, -1], cell, len(means))
    for mean, one in zip(means, shares, strict=True):
        if mean.low is not None and mean.high is not None:
            shift = (mean.value or 0.0) - (one.value or 0.0)
            low, high = shift + (one.low or 0.0), shift + (one.high or 0.0)
            mean = replace(mean, low=min(mean.low, low), high=max(mean.high, high))
        found.append(mean)
    return found


def _build_mean_estimate(
    centre: float, half_width: float, n: int, items: int, measure: Measure
) -> Estimate:
    """Return the estimate `centre` ± `half_width`, clipped to the measure's range; without interval
    for one item, without value if n is 0."""
    if n == 0:
        return unknown_estimate(measure.empty, measure.unit)
    facts = (n, items, measure.unit, 0.95, CLUSTER_T_METHOD)
    if items < 2:
        return Estimate(centre, None, None, *facts, ONE_ITEM_NOTE)
    least, most = measure.value_range
    return Estimate(centre, max(centre - half_width, least), min(centre + half_width, most), *facts)
