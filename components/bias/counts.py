"""What the bias panels count, once for each version of a study; a filter then only picks cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, TypeVar

import pandas as pd

from components.rows import ALL, Filter, as_judges, machine_rows, names_of
from components.scene import Scene
from metrics import position, selection
from metrics.cube import Cube
from metrics.grade import grade_measure
from metrics.labels import LABEL, SLOT
from metrics.measures import Cell, Evidence, Measure, Tally, tallied
from metrics.order_tables import OrderTable, order_tables, pooled
from studies.records import EVIDENCE, Estimate
from studies.store import Store

Kept = TypeVar("Kept")

ROW: Final = ("judge", "prompt")
CELL: Final = (*ROW, "category")


def _asked(evidence: Evidence) -> Tally:
    failed = ~evidence.frame["status"].isin(list(EVIDENCE))
    return tallied(evidence.frame, failed, 1)


ASKED: Final = Measure("asked", "share", _asked)
"""Share of asks that are no evidence; its items and n say what was asked."""


def slot_measure(slot: int, options: int) -> Measure:
    """One slot's share of the decisive verdicts of complete sets of N options."""

    def tally(evidence: Evidence) -> Tally:
        rows = evidence.balanced
        rows = selection.rows_of(rows, (rows["options"] == options) & (rows["pick"] >= 0))
        return tallied(rows, rows["pick"] == slot, 1)

    empty = position.NO_SETS
    return Measure(f"slot {slot}", "share", tally, empty=empty, notes_one_order=True)


def _measures(options: int) -> list[Measure]:
    found = [
        ASKED, position.CONSISTENCY, position.CONFLICT, position.ENTROPY, position.FIRST_SHARE,
        position.TIE_RATE, position.NOISE_FLOOR, position.ACCURACY, position.CHANCE,
        *(slot_measure(slot, options) for slot in range(options)),
    ]  # fmt: skip
    if options == 2:
        return [*found, position.FAIRNESS, SLOT, LABEL]
    return [*found, grade_measure(), grade_measure("entropy"), grade_measure("choice")]


class Counts:
    """A study's machine verdicts, counted by judge, prompt and category."""

    def __init__(self, frame: pd.DataFrame) -> None:
        rows = machine_rows(frame)
        self.options = int(rows["options"].max()) if len(rows) else 2
        self.orders = int(rows["orders"].max()) if len(rows) else 0
        measures = _measures(self.options)
        self.rows = Cube(rows, ROW, measures)
        self.cells = Cube(rows, CELL, measures)
        self.tables = order_tables(selection.pairs(rows), CELL)
        self.labels = _labels(rows)


def _labels(rows: pd.DataFrame) -> dict[Cell, tuple[str, ...]]:
    """The labels that each judge and prompt read."""
    pairs = rows.groupby([*ROW, "labels"], observed=True).size().index
    found: dict[Cell, set[str]] = {}
    for judge, prompt, labels in pairs:
        found.setdefault((str(judge), str(prompt)), set()).update(str(labels).split("\x1f"))
    return {cell: tuple(sorted(names)) for cell, names in found.items()}


@dataclass(frozen=True)
class Bias:
    """The counts seen through the filters of a reader: what every bias panel is drawn from."""

    counts: Counts
    filter: Filter = field(default_factory=Filter)
    _kept: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def keep(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """What was worked out once for this view: panels ask for the same numbers."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[no-any-return]

    @cached_property
    def _where(self) -> dict[str, str]:
        chosen = {name: getattr(self.filter, name) for name in CELL}
        return {name: value for name, value in chosen.items() if value != ALL}

    @property
    def _cube(self) -> Cube:
        """Whole cells of judge and prompt, unless a category is asked for."""
        return self.counts.cells if "category" in self._where else self.counts.rows

    @property
    def options(self) -> int:
        return self.counts.options

    @property
    def orders(self) -> int:
        """In how many orders a comparison was put at most; 0: nobody wrote the order down."""
        return self.counts.orders

    @cached_property
    def names(self) -> dict[Cell, str]:
        """(judge, prompt) -> the shortest name that tells it from the others, steadiest first."""
        return names_of(self.sorted(self.each))

    def sorted(self, each: Callable[[str], dict[Cell, Estimate]]) -> list[Cell]:
        """Rows by what survives a new order (or by the grade): in every panel the same."""
        values = each("consistency" if self.options == 2 else "grade")
        known = {cell: one.value for cell, one in values.items() if one.value is not None}
        return sorted(each("asked"), key=lambda cell: -known.get(cell, -1.0))

    def whole(self, measure: str) -> Estimate:
        """One measure of everything in view."""
        return self.keep(("whole", measure), lambda: self._cube.of(measure, self._where))

    def each(self, measure: str) -> dict[Cell, Estimate]:
        """(judge, prompt) -> the measure."""
        return self.keep(("row", measure), lambda: self._cube.each(measure, ROW, self._where))

    def by_judge(self, measure: str) -> dict[Cell, Estimate]:
        """(judge,) -> the measure, prompts pooled."""
        made = lambda: self._cube.each(measure, ("judge",), self._where)  # noqa: E731
        return self.keep(("judge", measure), made)

    def by_category(self, measure: str) -> dict[Cell, Estimate]:
        """(judge, prompt, category) -> the measure."""
        made = lambda: self.counts.cells.each(measure, CELL, self._where)  # noqa: E731
        return self.keep(("cell", measure), made)

    @cached_property
    def categories(self) -> dict[str, int]:
        """Categories with their numbers of items, by name."""
        found = self.counts.cells.each("asked", ("category",), self._where)
        return {name: one.items for (name,), one in sorted(found.items()) if name}

    @cached_property
    def items(self) -> int:
        return self._cube.items("asked", self._where)

    @cached_property
    def asked(self) -> int:
        return self.whole("asked").n

    @cached_property
    def failures(self) -> int:
        """Asks that are no evidence: never counted as ties."""
        share = self.whole("asked")
        return round((share.value or 0.0) * share.n)

    @cached_property
    def fairness(self) -> dict[Cell, Estimate]:
        """Recency − primacy of every (judge, prompt, category); only pairs have it."""
        return self.by_category("fairness") if self.options == 2 else {}

    @cached_property
    def tables(self) -> dict[Cell, OrderTable]:
        """(judge, prompt, category) -> both orders of its pairs."""
        where = [(CELL.index(name), value) for name, value in self._where.items()]
        return {
            cell: table
            for cell, table in self.counts.tables.items()
            if all(cell[place] == value for place, value in where)
        }

    def table(self, row: Cell) -> OrderTable:
        """Both orders of a judge's pairs with a prompt, all categories in view."""
        return pooled(self.tables, [cell for cell in self.tables if cell[:2] == row])

    def labels(self, row: Cell) -> tuple[str, ...]:
        return self.counts.labels.get(row, ())


def bias_of(frame: pd.DataFrame) -> Bias:
    """A frame that is already filtered."""
    return Bias(Counts(frame))


def bias_in(scene: Scene) -> Bias:
    """What the scene shows; the counting is done once for each version of its study."""
    store, name, chosen = scene.store, scene.name, scene.filter
    outside = Filter(contestants=chosen.contestants, suspects=chosen.suspects)
    return _seen(_counted(store, name, store.version(name), outside), chosen)


@lru_cache(maxsize=32)
def _seen(counts: Counts, chosen: Filter) -> Bias:
    return Bias(counts, chosen)


@lru_cache(maxsize=8)
def _counted(store: Store, name: str, version: tuple[str, int], outside: Filter) -> Counts:
    """A pure function of what the store holds at a version, so it may be kept.

    `outside`: what the cells do not tell apart, and so is filtered before they are counted.
    """
    frame = as_judges(store.frame(name))
    return Counts(frame if outside == Filter() else outside.apply(frame))
