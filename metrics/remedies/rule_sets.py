"""Remedies that can be computed from stored verdicts in both orders, for one judge or for a
jury."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from metrics.remedies import decision_rules
from metrics.remedies.decision_rules import Decisions
from metrics.remedies.order_grid import Cell, OrderGrid

SINGLE: Final = "single"
PEOPLE_SHARES: Final = (0.1, 0.25)
"""Shares of comparisons sent to people by the rule `ask-people`."""
REPEAT_COUNTS: Final = (3, 5)
SHOWN_MARGINS: Final = (0.25, 0.5)
"""Margins of the mean graded score that have a line in the table of remedies; the risk-coverage
curve uses further margins."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A remedy with its decisions on every comparison of a grid. `calls` is the number of judge
    calls per comparison, by cell; `votes` is the number of human votes per comparison."""

    id: str
    members: tuple[Cell, ...]
    decisions: Decisions
    calls: Mapping[Cell, float]
    votes: float = 0.0
    note: str = ""
    picked: bool = False
    """Whether the judges were selected by their agreement on these same comparisons."""

    @property
    def price(self) -> float:
        """Judge calls per comparison, over all judges."""
        return sum(self.calls.values())


def rules_of_cell(grid: OrderGrid, cell: int) -> list[Rule]:
    """List the rules over the verdicts of one cell; the first is the rule without a remedy."""
    return [*_verdict_rules(grid, cell), *_graded_rules(grid, cell), *_repeat_rules(grid, cell)]


def single_rule(grid: OrderGrid, cell: int) -> Rule:
    """Build the rule without a remedy: the verdict of one call of a judge with a prompt decides."""
    return _rule_of_one_judge(
        grid, cell, SINGLE, decision_rules.single_call(grid.verdicts[cell]), 1
    )


def _verdict_rules(grid: OrderGrid, cell: int) -> list[Rule]:
    verdicts = grid.verdicts[cell]
    rules = [
        single_rule(grid, cell),
        _rule_of_one_judge(grid, cell, "pool", decision_rules.pooled_orders(verdicts), 2),
        _rule_of_one_judge(grid, cell, "agree", decision_rules.both_orders_agree(verdicts), 2),
    ]
    if grid.votes is not None:
        rules += [_people_rule(grid, cell, share) for share in PEOPLE_SHARES]
    return rules


def _people_rule(grid: OrderGrid, cell: int, share: float) -> Rule:
    assert grid.votes is not None
    decisions = decision_rules.ask_people(grid.verdicts[cell], grid.votes, share)
    name = grid.cells[cell]
    return Rule(
        f"ask-people({share:g})",
        (name,),
        decisions,
        {name: 2.0},
        votes=share,
        note="the vote is part of the majority" if grid.source != "known answers" else "",
    )


def _graded_rules(grid: OrderGrid, cell: int) -> list[Rule]:
    if grid.graded is None or not np.isfinite(grid.graded[cell]).any():
        return []
    graded = grid.graded[cell]
    calibrated = decision_rules.calibrated_call(graded, grid.labels[cell], grid.items)
    rules = [
        _rule_of_one_judge(
            grid, cell, "calibrated", calibrated, 1, "position effect from the other items"
        ),
        _rule_of_one_judge(grid, cell, "graded", decision_rules.graded_orders(graded), 2),
    ]
    for margin in SHOWN_MARGINS:
        decisions = decision_rules.graded_with_margin(graded, margin)
        rules.append(_rule_of_one_judge(grid, cell, f"margin({margin:g})", decisions, 2))
    return rules


def _repeat_rules(grid: OrderGrid, cell: int) -> list[Rule]:
    if grid.repeats is None:
        return []
    repeats, rules = grid.repeats[cell], []
    for k in REPEAT_COUNTS:
        if repeats.shape[1] >= k and np.isfinite(repeats[:, k - 1]).any():
            one = decision_rules.repeated_in_one_order(repeats, k)
            both = decision_rules.repeated_in_both_orders(repeats, k)
            rules.append(_rule_of_one_judge(grid, cell, f"repeats({k})", one, k))
            rules.append(_rule_of_one_judge(grid, cell, f"repeats({k})-both", both, 2 * k))
    return rules


def _rule_of_one_judge(
    grid: OrderGrid, cell: int, id: str, decisions: Decisions, calls: float, note: str = ""
) -> Rule:
    name = grid.cells[cell]
    return Rule(id, (name,), decisions, {name: float(calls)}, note=note)


def prompt_rules(grid: OrderGrid, cell: int) -> list[Rule]:
    """List rules with the same judge's other prompts: one call, and both orders added up."""
    judge, prompt = grid.cells[cell]
    rules = []
    for other, (name, words) in enumerate(grid.cells):
        if name == judge and words != prompt:
            verdicts = grid.verdicts[other]
            single = decision_rules.single_call(verdicts)
            pool = decision_rules.pooled_orders(verdicts)
            rules.append(_rule_of_one_judge(grid, other, f"prompt:{words}", single, 1))
            rules.append(_rule_of_one_judge(grid, other, f"prompt:{words}+pool", pool, 2))
    return rules


def jury_rules(grid: OrderGrid, cells: Sequence[int], picked: bool = False) -> list[Rule]:
    """List the rules of a jury: judges take turns ("round-robin"), one call of each judge
    ("opposite" for two judges, else "jury"), both orders of each judge ("jury-both"). `picked`
    states whether the members were selected by their agreement."""
    verdicts = [grid.verdicts[cell] for cell in cells]
    members = tuple(grid.cells[cell] for cell in cells)
    found = {
        "round-robin": (decision_rules.round_robin(verdicts), 1 / len(cells)),
        "opposite" if len(cells) == 2 else "jury": (decision_rules.jury_one_order(verdicts), 1.0),
        "jury-both": (decision_rules.jury_both_orders(verdicts), 2.0),
    }
    return [
        Rule(id, members, decisions, dict.fromkeys(members, calls), picked=picked)
        for id, (decisions, calls) in found.items()
    ]
