"""Differences between two sides item by item: a histogram, and the items that differ most."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from components.html.format import count, number, share
from components.html.markup import Markup
from components.html.pieces import empty_state
from components.html.templates import macros
from components.results.contrasts.computed import PairedSides
from components.results.contrasts.sides import LEFT, RIGHT
from metrics.catalogue.record import MeasureRecord
from metrics.estimation.measures import GroupedFrame, sum_by_cell_item
from studies.frames.frame import QUESTION_COLUMN

MAX_ITEMS: Final = 8
MAX_BARS: Final = 21


@dataclass(frozen=True, slots=True)
class ItemDifference:
    """Two raters, left and right, compared on one item by a measure such as consistency: the sum of
    the measure over the verdicts or pairs of each (`left`, `right`), and their number (`left_n`,
    `right_n`)."""

    item: str
    left: float
    left_n: int
    right: float
    right_n: int

    @property
    def gap(self) -> float:
        """Mean of the left side minus mean of the right side."""
        return self.left / self.left_n - self.right / self.right_n

    @property
    def has_whole_counts(self) -> bool:
        """Whether both sums are whole and of equally many values, so that counts can be shown."""
        counts = self.left % 1 == 0 and self.right % 1 == 0
        return counts and self.left_n == self.right_n


def item_differences(pair: PairedSides, compared: MeasureRecord) -> list[ItemDifference]:
    """The items on which both sides have a value of the measure, the largest difference in
    absolute value first."""
    # Items are listed one by one, also those that share a question.
    evidence = GroupedFrame(pair.frame.drop(columns=QUESTION_COLUMN, errors="ignore"), ["side"])
    tally = compared.estimator.tally(evidence)
    cell, item, sums = sum_by_cell_item(tally)
    names = tally.rows["item"].cat.categories
    known = sums[:, -1] > 0
    found: dict[str, dict[int, tuple[float, int]]] = {}
    for place, code, total in zip(cell[known], item[known], sums[known], strict=True):
        found.setdefault(str(names[code - 1]), {})[int(place)] = (float(total[0]), int(total[-1]))
    sides = [evidence.cells.index((side,)) for side in (LEFT, RIGHT)]
    both = [
        ItemDifference(name, *parts[sides[0]], *parts[sides[1]])
        for name, parts in found.items()
        if sides[0] in parts and sides[1] in parts
    ]
    return sorted(both, key=lambda one: (-abs(one.gap), -min(one.left_n, one.right_n), one.item))


def show_item_differences(pair: PairedSides, compared: MeasureRecord) -> Markup:
    """HTML of the histogram, then of the items that differ most, each with a link to Inspect; a
    message if no item can be compared."""
    if pair.problem:
        return empty_state("Nothing to compare.", pair.problem)
    items = item_differences(pair, compared)
    if not items:
        return empty_state("No item to compare.", f"{compared.name}: {compared.estimator.empty}.")
    top = [one for one in items[:MAX_ITEMS] if one.gap]
    questions = pair.filtered.store.questions(pair.filtered.name, [one.item for one in top])
    categories: dict[str, str] = dict(
        pair.frame[["item", "category"]].astype(str).drop_duplicates("item").itertuples(index=False)
    )
    whole = all(one.has_whole_counts for one in top)  # one number format for the whole list
    rows = [
        {
            "question": " ".join((questions.get(one.item) or one.item).split())[:160],
            "category": categories.get(one.item, ""),
            "select": {"item": one.item, **_common_inspect_filters(pair)},
            **_format_values_of_sides(one, whole, compared.name),
        }
        for one in top
    ]
    made: Markup = macros("results/contrasts/contrasts.html").items(
        *_difference_histogram(items, pair), rows
    )
    return made


def _common_inspect_filters(pair: PairedSides) -> dict[str, str]:
    """Filters for a link to the Inspect tab: the judge if both sides have the same one, and
    likewise the prompt."""
    sides = {field: {getattr(side, field) for side in (pair.left, pair.right)}
             for field in ("judge", "prompt")}  # fmt: skip
    return {field: min(names) for field, names in sides.items() if len(names) == 1 and any(names)}


def _format_values_of_sides(item: ItemDifference, as_counts: bool, label: str) -> dict[str, str]:
    """Texts on one item for the template: the values of both sides (keys "left" and "right"), as
    counts or as shares, and their hover card ("tip"), in which `label` names the measure."""
    if as_counts:
        tip = f"{label}, A : B, as numbers out of {count(item.left_n)}"
        return {"left": number(item.left), "right": number(item.right), "tip": tip}
    left, right = share(item.left / item.left_n, 0), share(item.right / item.right_n, 0)
    tip = f"{label}, A : B; n {count(item.left_n)} for A, {count(item.right_n)} for B"
    return {"left": left, "right": right, "tip": tip}


def _difference_histogram(items: Sequence[ItemDifference], pair: PairedSides) -> tuple[Any, ...]:
    """(bars, tick labels, description, counts by difference as JSON) of the histogram of the
    differences. A bar is (whether it is at 0, number of items, height).

    A bar stands for one count, if every item has the same small number of values on both sides
    and all sums are whole numbers; otherwise for 10 percentage points."""
    sizes = {one.left_n for one in items} | {one.right_n for one in items}
    each = sizes.pop() if len(sizes) == 1 and all(one.has_whole_counts for one in items) else 0
    if each and 2 * each + 1 <= MAX_BARS:
        values = [round(one.left - one.right) for one in items]
        unit, scale = f"comparisons of {count(each)} per item", 1
    else:
        values = [round(10 * one.gap) for one in items]
        unit, scale = "in points", 10
    low, high = min(*values, 0), max(*values, 0)
    counts = np.bincount(np.asarray(values) - low, minlength=high - low + 1).tolist()
    bars = [(at + low == 0, n, 64 * n / max(counts)) for at, n in enumerate(counts)]
    step = max(1, -(-(high - low) // 6))
    ticks = [number(scale * value) if value % step == 0 else "" for value in range(low, high + 1)]
    words = (
        f"{pair.left.name} minus {pair.right.name}, {unit}; bars: number of items, "
        f"{count(len(items))} in all"
    )
    return bars, ticks, words, json.dumps(dict(zip(range(low, high + 1), counts, strict=True)))
