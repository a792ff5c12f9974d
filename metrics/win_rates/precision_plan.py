"""Precision plan: how much narrower a win rate's interval becomes with more items, judges or
repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import prompt_kinds, row_selection
from metrics.estimation.intervals import Floats, Ints
from metrics.estimation.planning.variance_components import (
    ITEM,
    REPEAT,
    VarianceComponents,
    count_interaction_as_noise,
    variance_components,
)
from metrics.win_rates.win_rates import appearance_points
from studies.frames.frame import NO_PICK

FACETS: Final = (ITEM, "judge", "prompt", "order")
MIN_GRID_ITEMS: Final = 5
"""Minimum number of items judged by every judge with every prompt in every order; with fewer, no
variance components are reported."""


@dataclass(frozen=True)
class PrecisionPlan:
    """Variance components of one contestant's points, and the gain in precision from twice as many
    items, judges, prompts or repeats."""

    contestant: str
    items: int
    components: VarianceComponents
    narrowing: Mapping[str, float]
    """Items, judges, prompts or repeats -> share by which the interval narrows with twice as many
    of them."""
    repeat_known: bool
    """Whether repeats were measured; if not, `narrowing` of repeats is an upper limit."""


def precision_plan(frame: pd.DataFrame, contestant: str) -> PrecisionPlan | None:
    """Compute the precision plan of one contestant's win rate; None with fewer than MIN_GRID_ITEMS
    complete items.

    An item is complete if every judge judged it with every prompt and with the contestant in each
    slot; other items are left out. Points are averaged over opponents and repeats. Calls repeated
    only to measure noise enter only the variance of repeats."""
    rows = _select_readable_ordered_pairs(frame)
    names = row_selection.contestants(rows) if len(rows) else []
    if contestant not in names:
        return None
    row, who, points = appearance_points(rows, names)
    mine = who == names.index(contestant)
    picked = rows.iloc[row[mine]]
    slot = (picked["second"].astype(str) == contestant).to_numpy().astype(np.int64)
    cells = _GridCells(picked, slot)
    means, counted = cells.means_and_counts(points[mine], ~picked["noise"].to_numpy())
    whole = (counted > 0).all(axis=(1, 2, 3))
    if int(whole.sum()) < MIN_GRID_ITEMS:
        return None
    within = _repeat_variance(points[mine], picked)
    # A cell is a mean over opponents and repeats; both reduce the variance of a single reply.
    own = variance_components(means[whole], FACETS, within, float(counted[whole].mean()))
    return PrecisionPlan(
        contestant,
        int(whole.sum()),
        own,
        _narrowing_by_doubling(own),
        repeat_known=within is not None,
    )


def _select_readable_ordered_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Readable verdicts of known order on pairs by judges other than people (by people if there are
    no others). Calls repeated only to measure noise are included."""
    rows = row_selection.select_judges(frame)
    usable = row_selection.usable_status_mask(rows) & (rows["pick"] != NO_PICK).to_numpy()
    usable &= ~prompt_kinds.scoring_mask(rows) & (rows["orders"] != 0).to_numpy()
    return row_selection.select_pairs(row_selection.select_rows(rows, usable))


class _GridCells:
    """Rows arranged in the grid items × judges × prompts × orders (slot of the contestant)."""

    def __init__(self, rows: pd.DataFrame, slot: Ints) -> None:
        parts = [np.unique(rows[name].astype(str), return_inverse=True) for name in FACETS[:3]]
        used, order = np.unique(slot, return_inverse=True)
        self.codes = [*(code for _, code in parts), order]
        self.shape = (*(len(names) for names, _ in parts), len(used))

    def means_and_counts(
        self, points: Floats, counted: row_selection.Mask
    ) -> tuple[Floats, Floats]:
        """Return, for each cell of the grid (item, judge, prompt and order), the mean points (0
        without verdicts) and the number of verdicts, over the rows that the mask `counted` marks.
        `points` has an entry for every row."""
        flat = np.ravel_multi_index([code[counted] for code in self.codes], self.shape)
        size = int(np.prod(self.shape))
        n = np.bincount(flat, minlength=size).astype(np.float64)
        total = np.bincount(flat, points[counted], minlength=size)
        return (total / np.maximum(n, 1)).reshape(self.shape), n.reshape(self.shape)


def _repeat_variance(points: Floats, rows: pd.DataFrame) -> float | None:
    """Variance of single replies to the same call; None if no call was repeated."""
    group, groups = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    n = np.bincount(group, minlength=groups)
    several = n > 1
    if not several.any():
        return None
    mean = np.bincount(group, points, minlength=groups) / n
    squares = np.bincount(group, (points - mean[group]) ** 2, minlength=groups)
    return float(squares[several].sum() / (n[several] - 1).sum())


def _narrowing_by_doubling(components: VarianceComponents) -> dict[str, float]:
    """Return facet (item, judge, prompt) or repeat -> share by which the interval narrows if their
    number is doubled. Judges or prompts are left out if there is only one, as their variance is
    unknown."""
    several = [name for name in FACETS[1:3] if components.facets[name] > 1]
    found = {name: components.narrowing(name) for name in (ITEM, *several)}
    if components.repeat is None:
        return {**found, REPEAT: count_interaction_as_noise(components).narrowing(REPEAT)}
    return {**found, REPEAT: components.narrowing(REPEAT)}
