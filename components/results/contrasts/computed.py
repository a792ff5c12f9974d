"""Two sides of a study on the items both have: their paired differences, by family and category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.results.contrasts.measure_families import ComparedMeasure, family_measures
from components.results.contrasts.sides import SIDE_CELLS, Side, stack_sides
from metrics.estimation import row_selection
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.measures import CellKey as Group
from studies.domain import Estimate

SEED: Final = 20_24
MIN_ITEMS: Final = 5

MeasureContrast = tuple[ComparedMeasure, Contrast]


@dataclass(frozen=True)
class PairedSides:
    """Two sides of a scene, with their common frame."""

    filtered_study: FilteredStudy
    left: Side
    right: Side

    @cached_property
    def frame(self) -> pd.DataFrame:
        return stack_sides(self.filtered_study, self.left, self.right)

    @cached_property
    def problem(self) -> str:
        """Why there is nothing to compare; empty where there is."""
        if not self.right.name:
            return "A contrast needs two judges or two prompts; this study has one of each."
        if self.left.name == self.right.name:
            return f"{self.left.name} stands on both sides. Choose another one for B."
        read = self._readable_items
        silent = [
            side.name
            for (which,), side in zip(SIDE_CELLS, (self.left, self.right), strict=True)
            if not (read["side"] == which).any()
        ]
        if silent:
            return f"No readable verdict of {' and '.join(silent)} passes the filters."
        if not self.common_count:
            return f"{self.left.name} and {self.right.name} have no item in common."
        return ""

    @cached_property
    def _readable_items(self) -> pd.DataFrame:
        """Which items of which category each side has readable verdicts on."""
        rows = row_selection.select_readable(self.frame)
        cell, cells = row_selection.group_codes(rows, ("side", "category", "item"))
        return rows.iloc[row_selection.first_rows(cell, cells)][
            ["side", "category", "item"]
        ].astype(str)

    @cached_property
    def common_items(self) -> pd.Series:
        """The categories of the items that both sides have, by item."""
        left, right = (
            self._readable_items[self._readable_items["side"] == which] for (which,) in SIDE_CELLS
        )
        return left[left["item"].isin(right["item"])].set_index("item")["category"]

    @property
    def common_count(self) -> int:
        return len(self.common_items)

    @cached_property
    def contestants(self) -> list[str]:
        return row_selection.contestants(row_selection.select_picks(self.frame))

    @cached_property
    def _families(self) -> dict[str, list[MeasureContrast]]:
        return {}

    def family(self, name: str) -> list[MeasureContrast]:
        """Every measure of a family, those that both sides have with an adjusted interval."""
        if name not in self._families:
            by_people = Raters(self.filtered_study).truth == "people"
            compared = family_measures(name, self.contestants, by_people)
            self._families[name] = self._compare(compared, ["side"], [SIDE_CELLS])
        return self._families[name]

    def by_category(
        self, compared: ComparedMeasure
    ) -> tuple[list[MeasureContrast], list[MeasureContrast]]:
        """(categories with enough items, which are a family of their own; the others)."""
        sizes = self.common_items[self.common_items != ""].value_counts().sort_index()
        pairs = [
            (((SIDE_CELLS[0][0], name), (SIDE_CELLS[1][0], name)), n) for name, n in sizes.items()
        ]
        enough = [pair for pair, n in pairs if n >= MIN_ITEMS]
        few = [pair for pair, n in pairs if n < MIN_ITEMS]
        by = ["side", "category"]
        return self._compare([compared], by, enough), self._compare([compared], by, few)

    def _compare(
        self,
        compared: Sequence[ComparedMeasure],
        by: list[str],
        pairs: Sequence[tuple[Group, Group]],
    ) -> list[MeasureContrast]:
        if not pairs or not compared:
            return []
        rng = np.random.default_rng(SEED)
        made = paired_contrasts(self.frame, by, [one.measure for one in compared], rng, pairs)
        labels = [one for one in compared for _ in pairs]
        return [(one, limit_interval(line)) for one, line in zip(labels, made, strict=True)]


def limit_interval(line: Contrast) -> Contrast:
    """Differences of shares lie between −1 and 1; too few items have no interval to show."""
    if 0 < line.raw.items < MIN_ITEMS:
        bare = replace(line.raw, low=None, high=None)
        return replace(line, raw=bare, adjusted=bare)
    return replace(line, raw=_clip_interval(line.raw), adjusted=_clip_interval(line.adjusted))


def _clip_interval(estimate: Estimate) -> Estimate:
    if estimate.low is None or estimate.high is None or estimate.unit == "kappa":
        return estimate
    return replace(estimate, low=max(estimate.low, -1.0), high=min(estimate.high, 1.0))


def is_significant(line: Contrast) -> bool:
    """The adjusted interval does not cover 0."""
    low, high = line.adjusted.low, line.adjusted.high
    return low is not None and high is not None and not low <= 0 <= high


def known_differences(lines: Sequence[MeasureContrast]) -> list[MeasureContrast]:
    """Those that have a difference to show."""
    return [line for line in lines if line[1].raw.value is not None]
