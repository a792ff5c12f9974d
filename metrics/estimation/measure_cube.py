"""Item totals of several measures, counted once and then filtered and pooled.

A measure is a statistic of item totals, so filtering by judge or category needs no second pass over
the rows: the totals of the remaining cells are sufficient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import integer_codes, row_selection
from metrics.estimation.intervals import Floats, Ints, Statistic, join_notes, unknown_estimate
from metrics.estimation.measures import (
    ONE_ORDER_NOTE,
    CellKey,
    GroupedFrame,
    Mask,
    Measure,
    note_missing_order_if_no_data,
    sum_by_cell_item,
)
from studies.domain import Estimate

_ORDER_COLUMNS: Final = ("status", "noise", "pick", "orders")
"""Columns that determine in which orders the verdicts of a cell were requested."""
BLOCK_ROWS: Final = 500_000
"""Number of rows counted at once. A larger frame is counted in blocks of items, because counting
all rows at once would take ten times the memory of the frame."""


@dataclass(frozen=True, eq=False)
class _MeasureTotals:
    """Sums of one measure: a row of `sums` for every (cell, item), sorted by cell. `statistic`
    computes the measure from rows of `sums` that are added up."""

    measure: Measure
    cell: Ints
    item: Ints
    sums: Floats
    statistic: Statistic


class MeasureCube:
    """Item totals of several measures in every cell of a frame; a cell is a combination of values
    in the columns `by`.

    The estimates equal those of the measure on the frame's rows after the same filter. They may
    differ if cells are pooled whose comparisons differ in their number of options, or of which only
    some record the order.
    """

    def __init__(self, frame: pd.DataFrame, by: Sequence[str], measures: Iterable[Measure]) -> None:
        evidence = self._set_cells_from_frame(frame, by)
        counted = list(measures)
        if evidence is self._flags:
            self._totals = {
                measure.name: _sum_tally_by_cell_and_item(measure, evidence) for measure in counted
            }
        else:
            self._totals = _count_in_blocks(counted, evidence, self._flags)
        del self._flags  # frees memory: the flags are computed

    def with_coarser_cells(self, frame: pd.DataFrame, by: Sequence[str]) -> MeasureCube:
        """Return the cube of the same frame and measures with larger cells: `by` names some of this
        cube's columns.

        For a large frame the totals of this cube are added up, if that gives the same result as
        counting the frame again.
        """
        measures = [totals.measure for totals in self._totals.values()]
        if not is_counted_in_blocks(frame):
            return MeasureCube(frame, by, measures)
        made = MeasureCube.__new__(MeasureCube)
        made._set_cells_from_frame(frame, by)
        del made._flags
        number = {cell: place for place, cell in enumerate(made.cells)}
        places = [self.by.index(name) for name in by]
        code = np.array([number[tuple(c[p] for p in places)] for c in self.cells], np.int64)
        cells = slice(len(self.cells))
        same = (made._single[code] == self._single[cells]).all()
        if not same or (made._orderless[code] != self._orderless[cells]).any():
            return MeasureCube(frame, by, measures)
        pooled = (_pool_totals(totals, code) for totals in self._totals.values())
        made._totals = dict(zip(self._totals, _deduplicate_indices(pooled), strict=True))
        return made

    def _set_cells_from_frame(self, frame: pd.DataFrame, by: Sequence[str]) -> GroupedFrame:
        """Set the cube's cells, and the flags of each cell (judged in one order only, order
        unknown), from a frame; return the frame grouped by cell."""
        evidence = GroupedFrame(frame, by)
        self._flags = evidence
        if is_counted_in_blocks(frame):
            columns = row_selection.columns_with_person_and_question(frame, (*by, *_ORDER_COLUMNS))
            self._flags = GroupedFrame(frame[[*dict.fromkeys(columns)]], by)
        self.by = tuple(by)
        self.cells: list[CellKey] = evidence.cells if len(frame) else []
        self._single: Mask = self._flags.one_order_cells
        self._orderless: Mask = self._flags.unknown_order_cells
        self._ordered: Mask = self._flags.known_order_cells
        self._estimate_cache: dict[tuple[str, tuple[str, ...]], dict[CellKey, Estimate]] = {}
        if self._flags is not evidence:
            del self._flags.picks  # frees memory: the flags are computed
        return evidence

    def by_cell(
        self, name: str, by: Sequence[str] = (), where: Mapping[str, str] | None = None
    ) -> dict[CellKey, Estimate]:
        """Return combination of values in the columns `by` -> estimate of the measure `name`, from
        the cells that match `where` (column -> value). If no cell matches, the result is empty or,
        if `by` is empty too, has the one key () with an estimate without a value."""
        columns = tuple(dict.fromkeys((*by, *(where or {}))))
        wanted = [(columns.index(column), value) for column, value in (where or {}).items()]
        found = {
            group[: len(by)]: one
            for group, one in self._cached_estimates_by(name, columns).items()
            if all(group[place] == value for place, value in wanted)
        }
        return found if found or by else {(): self._empty_estimate(name)}

    def _cached_estimates_by(self, name: str, by: tuple[str, ...]) -> dict[CellKey, Estimate]:
        """Return combination of values in the columns `by` -> estimate of one measure, and cache
        the result. A filter keeps or drops whole combinations, so later filters only select from
        this result."""
        key = (name, by)
        if key not in self._estimate_cache:
            self._estimate_cache[key] = self._compute_estimates(name, by)
        return self._estimate_cache[key]

    def _empty_estimate(self, name: str) -> Estimate:
        """Return an estimate without a value, for a filter that no cell matches."""
        measure = self._totals[name].measure
        return unknown_estimate(measure.empty, measure.unit)

    def _compute_estimates(self, name: str, by: Sequence[str]) -> dict[CellKey, Estimate]:
        code, groups = self._group_cells(by, {})
        totals = self._totals[name]
        measure = totals.measure
        single = self._one_order_groups(code, len(groups))
        if measure.prefers_order_sets:
            totals = self._without_one_order_cells(totals, code, single)
        cell, _, sums = _sum_rows_of_equal_cell_and_item(
            code[totals.cell], totals.item, totals.sums
        )
        found = measure.estimate_cells(sums, cell, max(len(groups), 1), totals.statistic)
        if measure.notes_one_order:
            found = [
                (replace(one, note=join_notes(one.note, ONE_ORDER_NOTE)) if one.n else one)
                if alone
                else one
                for one, alone in zip(found, single, strict=True)
            ]
        if measure.needs_order:
            lacking = self._groups_without_recorded_order(code, len(groups))
            found = [
                note_missing_order_if_no_data(one) if off else one
                for one, off in zip(found, lacking, strict=True)
            ]
        return dict(zip(groups, found[: len(groups)], strict=True))

    def pooled_estimate(self, name: str, where: Mapping[str, str] | None = None) -> Estimate:
        """Estimate the measure `name` on all cells that match `where` (column -> value), pooled."""
        return self.by_cell(name, (), where)[()]

    def count_items(self, name: str, where: Mapping[str, str] | None = None) -> int:
        """Count the items with data for the measure `name` in the cells that match `where` (column
        -> value)."""
        code, _ = self._group_cells((), where or {})
        totals = self._totals[name]
        return len(np.unique(totals.item[code[totals.cell] >= 0]))

    def _group_cells(
        self, by: Sequence[str], where: Mapping[str, str]
    ) -> tuple[Ints, list[CellKey]]:
        """Return, for every cell, the number of its combination of values in `by` (−1: excluded by
        the filter `where`); and these combinations, in order of appearance."""
        places = [self.by.index(name) for name in by]
        wanted = [(self.by.index(name), value) for name, value in where.items()]
        groups: dict[CellKey, int] = {} if by else {(): 0}
        code = np.full(len(self.cells), -1, np.int64)
        for number, cell in enumerate(self.cells):
            if all(cell[place] == value for place, value in wanted):
                code[number] = groups.setdefault(tuple(cell[p] for p in places), len(groups))
        return code, list(groups)

    def _without_one_order_cells(
        self, totals: _MeasureTotals, code: Ints, single: Mask
    ) -> _MeasureTotals:
        """Leave out the totals of cells judged in one order only, except in groups that have no
        other cells (mask `single`, by group). `code` is the group of each cell."""
        keep = (~self._single[: len(code)] | single[code])[totals.cell]
        if keep.all():
            return totals
        return replace(
            totals, cell=totals.cell[keep], item=totals.item[keep], sums=totals.sums[keep]
        )

    def _groups_without_recorded_order(self, code: Ints, groups: int) -> Mask:
        """Mask of the groups of cells that have verdicts, but none for which it is recorded which
        answer was shown first. `code` is the group of each cell (−1: none), `groups` the number of
        groups."""
        found = np.zeros(max(groups, 1), bool)
        for flags, lacks in ((self._orderless, True), (self._ordered, False)):
            found[code[(code >= 0) & flags[: len(code)]]] = lacks
        return found

    def _one_order_groups(self, code: Ints, groups: int) -> Mask:
        """Mask of the groups of cells in which all cells were judged in one order only. `code` is
        the group of each cell (−1: none), `groups` the number of groups."""
        several = np.zeros(max(groups, 1), bool)
        inside = code >= 0
        np.logical_or.at(several, code[inside], ~self._single[: len(code)][inside])
        return ~several


def _sum_tally_by_cell_and_item(measure: Measure, grouped: GroupedFrame) -> _MeasureTotals:
    tally = measure.tally(grouped)
    return _MeasureTotals(measure, *sum_by_cell_item(tally), tally.statistic)


def is_counted_in_blocks(frame: pd.DataFrame) -> bool:
    """Whether a frame is so large that it is counted in blocks of items.

    Only frames of pairs with a categorical item column are counted in blocks; with more than two
    options some measures need all items of a cell at once.
    """
    # Blocks can be merged only if they share the item codes.
    shared = isinstance(frame["item"].dtype, pd.CategoricalDtype)
    return shared and len(frame) > BLOCK_ROWS and bool((frame["options"] == 2).all())


class _ItemBlock(GroupedFrame):
    """Rows of some items of a frame. The list of cells, and the two flags of each cell (judged in
    one order only; order unknown), are those of the whole frame, so that totals of blocks can be
    joined."""

    def __init__(self, whole: GroupedFrame, rows: Mask, flags: GroupedFrame) -> None:
        self.cells, self.count = whole.cells, whole.count
        self.frame = row_selection.select_rows(whole.frame, rows)
        self.one_order_cells = flags.one_order_cells
        self.unknown_order_cells = flags.unknown_order_cells


def _count_in_blocks(
    measures: list[Measure], whole: GroupedFrame, flags: GroupedFrame
) -> dict[str, _MeasureTotals]:
    """Return name of a measure -> its sums for each cell and item. To save memory the rows are
    counted in one block of items after the other. `whole` has all rows; `flags` states which cells
    were judged in one order only or in unknown order."""
    item, items = row_selection.column_codes(row_selection.resampling_unit(whole.frame))
    blocks = len(item) // BLOCK_ROWS + 1
    block = (item * blocks // max(items, 1)).astype(np.int16)
    del item
    found: dict[str, list[_MeasureTotals]] = {measure.name: [] for measure in measures}
    for number in range(blocks):
        part = _ItemBlock(whole, block == number, flags)
        for totals in _deduplicate_indices(
            _sum_tally_by_cell_and_item(measure, part) for measure in measures
        ):
            found[totals.measure.name].append(totals)
    names = list(found)
    merged = _deduplicate_indices(_merge_blocks(found.pop(name), items) for name in names)
    return dict(zip(names, merged, strict=True))


def _deduplicate_indices(totals: Iterable[_MeasureTotals]) -> Iterator[_MeasureTotals]:
    """Make totals with equal (cell, item) indices use the same arrays, to save memory."""
    known: list[_MeasureTotals] = []
    for one in totals:
        same = [k for k in known if np.array_equal(k.cell, one.cell)]
        same = [k for k in same if np.array_equal(k.item, one.item)]
        if same:
            yield replace(one, cell=same[0].cell, item=same[0].item)
        else:
            known.append(one)
            yield one


def _merge_blocks(parts: list[_MeasureTotals], items: int) -> _MeasureTotals:
    cell, item, sums = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("cell", "item", "sums")
    )
    order = np.argsort(cell * items + item, kind="stable")
    return replace(parts[0], cell=cell[order], item=item[order], sums=sums[order])


def _sum_rows_of_equal_cell_and_item(
    cell: Ints, item: Ints, sums: Floats
) -> tuple[Ints, Ints, Floats]:
    """Add up the rows of `sums` with equal cell and item; returns the cell and the item of each
    sum, and the sums, sorted by cell."""
    items = int(item.max(initial=0)) + 1
    present, code = integer_codes.unique_codes(cell * items + item)
    added = [np.bincount(code, column, minlength=len(present)) for column in sums.T]
    return present // items, present % items, np.stack(added, axis=1) if added else sums[:0]


def _pool_totals(totals: _MeasureTotals, code: Ints) -> _MeasureTotals:
    """Add up totals over cells; `code` is the coarser cell of each cell."""
    cell, item, sums = _sum_rows_of_equal_cell_and_item(code[totals.cell], totals.item, totals.sums)
    return replace(totals, cell=cell, item=item, sums=sums)
