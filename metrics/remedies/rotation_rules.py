"""Remedies for choices among N options: one call, or the option chosen most often over all
rotations.

A rule decides a comparison from one or more stored verdicts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, safe_divide
from metrics.remedies.decision_rules import Decisions
from metrics.remedies.order_grid import OrderGrid, grid_without_verdicts
from metrics.remedies.rule_sets import SINGLE, Rule
from metrics.remedies.rule_table import RuleEstimate, estimate_rules
from studies.domain import Rater
from studies.frames.frame import TIE


@dataclass(frozen=True, eq=False)
class _OrderSets:
    """Choices in complete order sets (comparisons read in all their orders) of more than two
    options: by row, the order set (`group`), the chosen and the best option."""

    rows: pd.DataFrame
    group: Ints
    groups: int
    chosen: Ints
    best: Ints

    @property
    def first_row_of_each_set(self) -> Ints:
        """Row number of the first row of each order set."""
        return row_selection.first_row_per_group(self.group, self.groups)


def rotation_rule_tables(
    frame: pd.DataFrame, rng: np.random.Generator
) -> dict[Rater, list[RuleEstimate]]:
    """Return (judge, prompt) -> estimates of the rules `single` (one call) and `rotations` (most
    frequent choice over all rotations), for judges and prompts that chose among more than two
    options.

    Only comparisons with a known best option and a verdict in every order count, by the first call
    in each order; an undecided one has the credit 1/N.
    """
    frame = row_selection.select_rows(frame, (frame["options"] > 2).to_numpy())
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    rows = row_selection.select_picks_of_complete_sets(machine)
    rows = row_selection.select_rows(rows, rows["known_answer"] >= 0)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    rows = rows.iloc[row_selection.first_row_per_group(order, orders)]
    found: dict[Rater, list[RuleEstimate]] = {}
    for rater in (
        row_selection.observed_combinations(rows, ("judge", "prompt")) if len(rows) else ()
    ):
        judge, prompt = rater
        own = (rows["judge"] == judge) & (rows["prompt"] == prompt)
        found[judge, prompt] = _estimate_rotation_rules((judge, prompt), rows.loc[own], rng)
    return found


def _estimate_rotation_rules(
    rater: Rater, rows: pd.DataFrame, rng: np.random.Generator
) -> list[RuleEstimate]:
    group, groups = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    names = row_selection.contestants(rows)
    best = row_selection.chosen_contestants(rows.assign(pick=rows["known_answer"]), names)
    sets = _OrderSets(rows, group, groups, row_selection.chosen_contestants(rows, names), best)
    calls = float(np.bincount(sets.group, minlength=sets.groups).mean())
    chance = 1 / sets.rows["options"].to_numpy()[sets.first_row_of_each_set]
    rules = [
        Rule(SINGLE, (rater,), _decide_by_one_call(sets, chance), {rater: 1.0}),
        Rule("rotations", (rater,), _decide_by_most_chosen(sets, chance), {rater: calls}),
    ]
    return estimate_rules(_grid_without_verdicts(sets), rules, rng)


def _grid_without_verdicts(sets: _OrderSets) -> OrderGrid:
    items = row_selection.item_codes(sets.rows)[sets.first_row_of_each_set]
    return grid_without_verdicts(items, sets.first_row_of_each_set)


def _decide_by_one_call(sets: _OrderSets, chance: Floats) -> Decisions:
    """Decide by one call in a random order. In the result, `first` is the probability of deciding
    for the best option, `second` that of deciding for another one. `chance` is the credit of no
    decision, 1/N."""
    asked = np.bincount(sets.group, minlength=sets.groups)
    right = np.bincount(sets.group, sets.chosen == sets.best, minlength=sets.groups)
    decided = np.bincount(sets.group, sets.chosen != TIE, minlength=sets.groups)
    return Decisions(safe_divide(right, asked), safe_divide(decided - right, asked), chance)


def _decide_by_most_chosen(sets: _OrderSets, chance: Floats) -> Decisions:
    """Decide for the option chosen most often over all rotations; undecided if there are several.
    In the result, `first` is 1 if that is the best option, `second` is 1 if it is another one.
    `chance` is the credit of no decision, 1/N."""
    width = int(max(sets.chosen.max(initial=0), sets.best.max(initial=0))) + 1
    picked = sets.chosen >= 0
    key = sets.group[picked] * width + sets.chosen[picked]
    counts = np.bincount(key, minlength=sets.groups * width).reshape(sets.groups, width)
    most = counts.max(axis=1)
    decided = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
    right = decided & (counts.argmax(axis=1) == sets.best[sets.first_row_of_each_set])
    return Decisions(right.astype(np.float64), (decided & ~right).astype(np.float64), chance)
