"""Differences of two sides (judges or prompts), paired by item, by measure family and category."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import norm

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.contrasts import measure_families
from components.results.contrasts.sides import (
    SIDE_CELLS,
    Side,
    candidate_sides,
    stack_candidates_and_people,
    stack_sides_and_people,
)
from metrics.catalogue.label_records import SINGLE_ANSWERS
from metrics.catalogue.record import MeasureRecord
from metrics.estimation import contrasts as paired
from metrics.estimation import row_selection
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.measures import CellKey as Group
from metrics.summary.contrast_families import WIN_RATES
from metrics.twins.twin_effects import paired_twin_totals
from studies.domain import Estimate
from studies.lazy_values import cached_property

SEED: Final = 20_24
MIN_ITEMS: Final = 5

MeasureContrast = tuple[MeasureRecord, paired.Contrast]


@dataclass(frozen=True)
class PairedSides:
    """The two sides that are compared (each a judge, a prompt, or a judge with a prompt) of a
    filtered study, with the judgements of both."""

    filtered: FilteredStudy
    left: Side
    right: Side

    @cached_property
    def frame(self) -> pd.DataFrame:
        return stack_sides_and_people(self.filtered, self.left, self.right)

    @cached_property
    def problem(self) -> str:
        """The reason why the sides cannot be compared; "" if they can."""
        if not self.right.name:
            return "This view needs two judges or two prompts. This study has one of each."
        if self.left.name == self.right.name:
            return (
                f"{self.left.name} is selected as A and as B. Choose another judge or prompt for B."
            )
        read = self._usable_items_by_side
        without_verdicts = [
            side.name
            for (which,), side in zip(SIDE_CELLS, (self.left, self.right), strict=True)
            if not (read["side"] == which).any()
        ]
        if without_verdicts:
            names = " and ".join(without_verdicts)
            return f"No usable verdict of {names} passes the filters. Remove a filter."
        if not self.common_item_count:
            return f"{self.left.name} and {self.right.name} have no item in common."
        return ""

    @cached_property
    def _usable_items_by_side(self) -> pd.DataFrame:
        """Rows (side, category, item), one for each item on which a side has usable verdicts."""
        rows = row_selection.select_readable_without_noise(self.frame)
        cell, cells = row_selection.group_codes(rows, ("side", "category", "item"))
        return rows.iloc[row_selection.first_row_per_group(cell, cells)][
            ["side", "category", "item"]
        ].astype(str)

    @cached_property
    def common_items(self) -> pd.Series:
        """Category of each item on which both sides have usable verdicts, indexed by item."""
        left, right = (
            self._usable_items_by_side[self._usable_items_by_side["side"] == which]
            for (which,) in SIDE_CELLS
        )
        return left[left["item"].isin(right["item"])].set_index("item")["category"]

    @property
    def item_counts(self) -> list[int]:
        """Number of items on which the left, and on which the right side has usable verdicts."""
        side = self._usable_items_by_side["side"]
        return [int((side == which).sum()) for (which,) in SIDE_CELLS]

    @property
    def common_item_count(self) -> int:
        return len(self.common_items)

    def values_on_items_of_each_side(
        self, compared: Sequence[MeasureRecord]
    ) -> dict[str, tuple[Estimate, Estimate]]:
        """Name of a measure -> its estimates for the left and the right side. Each side's estimate
        is on all items that this side judged, as in the other views, whereas the differences
        use only the items that both judged."""
        measures = [one.estimator for one in compared]
        found = estimate_all(measures, self.frame, ["side"])
        return {
            one.name: (found[measure.name][SIDE_CELLS[0]], found[measure.name][SIDE_CELLS[1]])
            for one, measure in zip(compared, measures, strict=True)
        }

    @cached_property
    def contestants(self) -> list[str]:
        return row_selection.contestants(row_selection.select_picks(self.frame))

    @cached_property
    def _contrasts_cache(self) -> dict[str, list[MeasureContrast]]:
        """Cache of the jointly adjusted contrasts: name of a family -> its contrasts; empty at
        first."""
        return {}

    def family_contrasts(self, name: str) -> list[MeasureContrast]:
        """(measure, difference left minus right side) for each measure of the family `name`. In the
        family Nudges, each kind of twins that both sides judged, such as padding, is a measure too.

        Intervals are adjusted for all measures of comparisons together, so that a difference has
        the same interval in every view. Win rates are adjusted only for each other, and so are
        measures of single answers.
        """
        together = name if name in (WIN_RATES, SINGLE_ANSWERS) else measure_families.COMPARISONS
        if together not in self._contrasts_cache:
            self._contrasts_cache[together] = self._jointly_adjusted_contrasts(together)
        found = self._contrasts_cache[together]
        if together == name:
            return found
        shown = {one.key for one in measure_families.FAMILIES[name]} | (
            {measure_families.TWINS.key} if name == measure_families.NUDGES else set()
        )
        return [line for line in found if line[0].key in shown]

    def _jointly_adjusted_contrasts(self, name: str) -> list[MeasureContrast]:
        """(measure, difference left minus right side) for each measure of the family `name`. For
        COMPARISONS, each kind of twins that both sides judged is a measure too.

        The intervals are adjusted for all measures of the family and, if the two sides were
        chosen from more than two `candidates`, for all pairs of these. If twins are among the
        measures, the adjustment is Bonferroni's."""
        by_people = Raters(self.filtered).known_answer_source == "people"
        compared = measure_families.family_measures(name, self.contestants, by_people)
        twins = self._twin_totals if name == measure_families.COMPARISONS else {}
        if twins:
            pairs = math.comb(len(self.candidates), 2)
            critical = float(norm.isf(0.025 / (pairs * (len(twins) + len(compared)))))
        else:
            critical = self._critical_value_for_choice(compared)
        lines = self._compute_contrasts(compared, ["side"], [SIDE_CELLS], critical)
        rng = np.random.default_rng(SEED)
        found = paired.estimate_contrast_family(list(twins.values()), rng, min_critical=critical)
        moved = [
            (one, clip_or_remove_interval(line))
            for one, line in zip(
                map(measure_families.twin_effect_record, twins), found, strict=True
            )
        ]
        return [*moved, *lines]

    @cached_property
    def _twin_totals(self) -> dict[str, paired.PairedTotals]:
        """Kind of twins, such as "padding" -> sums by item of both sides' verdicts on these twins,
        from which the difference of the sides is estimated. Empty if a side is from another
        study."""
        filtered, sides = self.filtered, (self.left, self.right)
        if any(side.study for side in sides):
            return {}
        chosen = Filter(category=filtered.filter.category)
        twins = chosen.apply(filtered.store.frame(filtered.name, "only"))
        left, right = ((side.judge, side.prompt) for side in sides)
        return paired_twin_totals(twins, chosen.apply(filtered.whole_frame_by_person), left, right)

    @cached_property
    def candidates(self) -> list[Side]:
        """All sides from which a reader could have chosen the two compared sides. The intervals
        are adjusted for all pairs of them."""
        return candidate_sides(self.filtered, self.left, self.right)

    def _critical_value_for_choice(self, compared: Sequence[MeasureRecord]) -> float:
        """Smallest critical value with which the intervals hold although the two sides may have
        been chosen for their difference: the 95 % quantile of the largest |z| over all pairs of
        `candidates`. 0 with two candidates, because then there was no choice."""
        if len(self.candidates) < 3 or not compared:
            return 0.0
        frame = stack_candidates_and_people(self.filtered, self.candidates)
        cells = [(name,) for name in frame["side"].cat.categories if name != "people"]
        measures = [one.estimator for one in compared]
        return paired.critical_value_for_all_pairs(
            frame, ["side"], measures, np.random.default_rng(SEED), cells
        )

    def contrasts_by_category(
        self, compared: MeasureRecord
    ) -> tuple[list[MeasureContrast], list[MeasureContrast]]:
        """Two lists of contrasts by category: categories with at least MIN_ITEMS common items, with
        intervals adjusted as one family; and smaller categories, without intervals."""
        sizes = self.common_items[self.common_items != ""].value_counts().sort_index()
        pairs = [
            (((SIDE_CELLS[0][0], str(name)), (SIDE_CELLS[1][0], str(name))), n)
            for name, n in sizes.items()
        ]
        enough = [pair for pair, n in pairs if n >= MIN_ITEMS]
        few = [pair for pair, n in pairs if n < MIN_ITEMS]
        by = ["side", "category"]
        return self._compute_contrasts([compared], by, enough), self._compute_contrasts(
            [compared], by, few
        )

    def _compute_contrasts(
        self,
        compared: Sequence[MeasureRecord],
        by: list[str],
        pairs: Sequence[tuple[Group, Group]],
        critical: float = 0.0,
    ) -> list[MeasureContrast]:
        """For each measure in `compared`, the difference between the two groups of each pair,
        paired by item. A group is a combination of values of the columns `by`, such as (side,
        category). `critical`: least critical value of the intervals."""
        if not pairs or not compared:
            return []
        rng = np.random.default_rng(SEED)
        measures = [one.estimator for one in compared]
        made = paired.paired_contrasts(self.frame, by, measures, rng, pairs, critical=critical)
        labels = [one for one in compared for _ in pairs]
        return [
            (one, clip_or_remove_interval(line)) for one, line in zip(labels, made, strict=True)
        ]


def clip_or_remove_interval(contrast: paired.Contrast) -> paired.Contrast:
    """Clip the interval of a contrast to [−1, 1], except for κ; remove it below MIN_ITEMS items."""
    if 0 < contrast.raw.items < MIN_ITEMS:
        value_only = replace(contrast.raw, low=None, high=None)
        return replace(contrast, raw=value_only, adjusted=value_only)
    return replace(
        contrast, raw=_clip_interval(contrast.raw), adjusted=_clip_interval(contrast.adjusted)
    )


def _clip_interval(estimate: Estimate) -> Estimate:
    if estimate.low is None or estimate.high is None or estimate.unit == "kappa":
        return estimate
    return replace(estimate, low=max(estimate.low, -1.0), high=min(estimate.high, 1.0))


def is_significant(contrast: paired.Contrast) -> bool:
    """Whether the adjusted interval excludes 0; False without an interval."""
    return contrast.adjusted.excludes_zero


def contrasts_with_value(contrasts: Sequence[MeasureContrast]) -> list[MeasureContrast]:
    """The contrasts that have a value."""
    return [one for one in contrasts if one[1].raw.value is not None]
