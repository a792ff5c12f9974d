"""Two sides of a study on the items both have: their paired differences, by family and category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from components.contrasts.families import Compared, family_of
from components.contrasts.sides import SIDES, Side, both_sides
from components.scene import Scene
from components.voices import Voices
from metrics import selection
from metrics.contrasts import Contrast, contrasts
from metrics.measures import Cell as Group
from studies.records import Estimate

SEED: Final = 20_24
FEW_ITEMS: Final = 5

Line = tuple[Compared, Contrast]


@dataclass(frozen=True)
class Pair:
    """Two sides of a scene, with their common frame."""

    scene: Scene
    left: Side
    right: Side

    @cached_property
    def frame(self) -> pd.DataFrame:
        return both_sides(self.scene, self.left, self.right)

    @cached_property
    def trouble(self) -> str:
        """Why there is nothing to compare; empty where there is."""
        if not self.right.name:
            return "A contrast needs two judges or two prompts; this study has one of each."
        if self.left.name == self.right.name:
            return f"{self.left.name} stands on both sides. Choose another one for B."
        read = self._read
        silent = [
            side.name
            for (which,), side in zip(SIDES, (self.left, self.right), strict=True)
            if not (read["side"] == which).any()
        ]
        if silent:
            return f"No readable verdict of {' and '.join(silent)} passes the filters."
        if not self.common:
            return f"{self.left.name} and {self.right.name} have no item in common."
        return ""

    @cached_property
    def _read(self) -> pd.DataFrame:
        """Which items of which category each side has readable verdicts on."""
        rows = selection.readable(self.frame)
        cell, cells = selection.group_codes(rows, ("side", "category", "item"))
        return rows.iloc[selection.first_rows(cell, cells)][["side", "category", "item"]].astype(
            str
        )

    @cached_property
    def common_items(self) -> pd.Series:
        """The categories of the items that both sides have, by item."""
        left, right = (self._read[self._read["side"] == which] for (which,) in SIDES)
        return left[left["item"].isin(right["item"])].set_index("item")["category"]

    @property
    def common(self) -> int:
        return len(self.common_items)

    @cached_property
    def contestants(self) -> list[str]:
        return selection.contestants(selection.picked(self.frame))

    @cached_property
    def _families(self) -> dict[str, list[Line]]:
        return {}

    def family(self, name: str) -> list[Line]:
        """Every measure of a family, those that both sides have with an adjusted interval."""
        if name not in self._families:
            by_people = Voices(self.scene).truth == "people"
            compared = family_of(name, self.contestants, by_people)
            self._families[name] = self._compare(compared, ["side"], [SIDES])
        return self._families[name]

    def by_category(self, compared: Compared) -> tuple[list[Line], list[Line]]:
        """(categories with enough items, which are a family of their own; the others)."""
        sizes = self.common_items[self.common_items != ""].value_counts().sort_index()
        pairs = [(((SIDES[0][0], name), (SIDES[1][0], name)), n) for name, n in sizes.items()]
        enough = [pair for pair, n in pairs if n >= FEW_ITEMS]
        few = [pair for pair, n in pairs if n < FEW_ITEMS]
        by = ["side", "category"]
        return self._compare([compared], by, enough), self._compare([compared], by, few)

    def _compare(
        self, compared: Sequence[Compared], by: list[str], pairs: Sequence[tuple[Group, Group]]
    ) -> list[Line]:
        if not pairs or not compared:
            return []
        rng = np.random.default_rng(SEED)
        made = contrasts(self.frame, by, [one.measure for one in compared], rng, pairs)
        labels = [one for one in compared for _ in pairs]
        return [(one, within(line)) for one, line in zip(labels, made, strict=True)]


def within(line: Contrast) -> Contrast:
    """Differences of shares lie between −1 and 1; too few items have no interval to show."""
    if 0 < line.raw.items < FEW_ITEMS:
        bare = replace(line.raw, low=None, high=None)
        return replace(line, raw=bare, adjusted=bare)
    return replace(line, raw=_clipped(line.raw), adjusted=_clipped(line.adjusted))


def _clipped(estimate: Estimate) -> Estimate:
    if estimate.low is None or estimate.high is None or estimate.unit == "kappa":
        return estimate
    return replace(estimate, low=max(estimate.low, -1.0), high=min(estimate.high, 1.0))


def sure(line: Contrast) -> bool:
    """The adjusted interval does not cover 0."""
    low, high = line.adjusted.low, line.adjusted.high
    return low is not None and high is not None and not low <= 0 <= high


def told(lines: Sequence[Line]) -> list[Line]:
    """Those that have a difference to show."""
    return [line for line in lines if line[1].raw.value is not None]
