"""Effect of the order in which a rubric lists its criteria: on the overall score, and on the level
of each criterion by its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from metrics.estimation.intervals import unknown_estimate
from metrics.labels.option_order import ONE_ORDER_NOTE, OrderEffect, order_effect, rows_by_rater
from metrics.labels.point_table import ANSWER, answer_verdicts, chosen_options, table_scale
from studies.domain import Estimate, Rater


@dataclass(frozen=True, slots=True)
class CriteriaOrder:
    """Effects of the order of the criteria on the verdicts of one judge with one rubric."""

    overall: OrderEffect
    first: Estimate
    """Level of a criterion listed first minus its level at other places of the list, mean over all
    criteria."""
    by_place: Mapping[str, tuple[Estimate, ...]]
    """Criterion -> for each place in the list: its level there minus its level at other places, on
    the same answers."""

    @property
    def is_shown(self) -> bool:
        """Whether an effect of the order is shown: more scores change than on a repeat, or the
        level of a criterion listed first differs from its level at other places."""
        return self.overall.exceeds_noise or self.first.excludes_zero


def criteria_order_effects(frame: pd.DataFrame) -> dict[Rater, CriteriaOrder]:
    """Return (judge, prompt) -> effects of the criteria's order, for judges and rubrics with two or
    more orders; rubrics without stored levels of the criteria are left out."""
    if not (frame["options"] == 1).any():
        return {}
    table = answer_verdicts(frame)
    varied = {rater: own for rater, own in rows_by_rater(table) if own["criteria"].nunique() > 1}
    if not varied:
        return {}
    levels = dict(rows_by_rater(chosen_options(frame)))
    return {
        rater: _build_criteria_order(order_effect(own, "criteria", "options"), levels[rater])
        for rater, own in varied.items()
        if rater in levels  # without levels, an imported rubric has overall scores only
    }


def criteria_order_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on the order of the criteria, as judge -> prompt -> estimates."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in criteria_order_effects(frame).items():
        nested.setdefault(judge, {})[prompt] = {
            "changed": found.overall.changed,
            "noise_floor": found.overall.noise_floor,
            "shift": found.overall.shift,
            "first": found.first,
            "by_place": {name: list(places) for name, places in found.by_place.items()},
        }
    return nested


def _build_criteria_order(overall: OrderEffect, levels: pd.DataFrame) -> CriteriaOrder:
    main = levels[~levels["noise"]]
    count = int(main["place"].max()) + 1
    by_place = {
        str(name): tuple(_level_gap_at_place(own, place) for place in range(count))
        for name, own in main.groupby("criterion", sort=True)
    }
    return CriteriaOrder(overall, _level_gap_at_place(main, 0), by_place)


def _level_gap_at_place(levels: pd.DataFrame, place: int) -> Estimate:
    """Estimate the level of a criterion at this place minus its level at other places, on the same
    answers with the same order of options; mean over all criteria in `levels`. Unknown if no answer
    has both levels."""
    here = (levels["place"] == place).rename("here")
    means = levels.groupby([*ANSWER, "options", "criterion", here])["score"].mean().unstack()
    if True not in means or False not in means:
        return unknown_estimate(ONE_ORDER_NOTE, "score")
    gap = (means[True] - means[False]).dropna()
    if not len(gap):
        return unknown_estimate(ONE_ORDER_NOTE, "score")
    items = gap.index.get_level_values("item").to_numpy()
    return table_scale(levels).mean_difference(gap.to_numpy(), items)
