"""Plan for a budget: the best rule of any judge by number of comparisons that it must pay for.

With few comparisons the budget pays for an expensive rule, with many only for a cheap one. The rule
at each price is chosen on half of the items and its agreement measured on the other half, as for
the recommendation. A more expensive rule enters the plan only if it agrees significantly more often
than the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.estimation.intervals import Floats, jackknife_estimate
from metrics.estimation.measures import first_over_last
from metrics.remedies.order_grid import Cell
from metrics.remedies.recommendation import held_out_credits
from metrics.remedies.remedy_study import MAX_SELECTED, SEED, RemedyStudy
from metrics.remedies.rule_sets import Rule, jury_rules, own_rules
from metrics.remedies.rule_table import credit_totals
from studies.domain import Estimate

Currency = Literal["dollars", "calls"]


@dataclass(frozen=True, eq=False)
class PlanStep:
    """A rule, its cost per comparison, and its agreement on items not used to choose it.

    `gain` is the agreement minus that of the step before it, on the same items; None for the
    cheapest.
    """

    rule: Rule
    cost: float
    agreement: Estimate
    gain: Estimate | None = None

    def comparisons(self, budget: float) -> float:
        """Number of comparisons that a budget pays for; infinite if a call costs nothing."""
        return math.floor(budget / self.cost + 1e-9) if self.cost > 0 else math.inf


@dataclass(frozen=True, eq=False)
class BudgetPlan:
    """Steps from the cheapest to the most expensive; costs in dollars, or in calls if no judge has
    a price. `unpriced` are the judges left out because their price is unknown."""

    currency: Currency
    steps: tuple[PlanStep, ...]
    unpriced: tuple[str, ...] = ()


def plan_budget(study: RemedyStudy, prices: Mapping[Cell, float]) -> BudgetPlan | None:
    """Compute the plan over all judges of a study; None without comparisons with a known better
    answer.

    `prices`: dollars per call. A judge of unknown price is never free: it is left out, and without
    any known price costs are counted in calls.
    """
    if not study.grid.size:
        return None
    priced = [k for k, cell in enumerate(study.cells) if cell in prices]
    currency: Currency = "dollars" if priced else "calls"
    rules = _candidates(study, priced or range(len(study.cells)))
    costs = [_cost(rule, prices if priced else None) for rule in rules]
    totals = credit_totals(study.grid, rules)
    rng = np.random.default_rng(SEED)
    steps: list[PlanStep] = []
    before: Floats | None = None
    for cost, place, held in held_out_credits(totals[:, :-1], costs, rng):
        gain = None if before is None else _estimate(held - before, totals[:, -1], (-1.0, 1.0))
        if gain is not None and not (gain.low is not None and gain.low > 0):
            continue
        agreement = _estimate(held, totals[:, -1], (0.0, 1.0))
        steps.append(PlanStep(rules[place], cost, agreement, gain))
        before = held
    unpriced = dict.fromkeys(
        judge for k, (judge, _) in enumerate(study.cells) if priced and k not in priced
    )
    return BudgetPlan(currency, tuple(steps), tuple(unpriced))


def _candidates(study: RemedyStudy, cells: Sequence[int]) -> list[Rule]:
    """List the rules of each judge that need no votes and are known on every comparison, and the
    juries of the best judges."""
    if study.grid.size > MAX_SELECTED:  # time: the orders of one judge decide what matters
        return [rule for cell in cells for rule in own_rules(study.grid, cell)[:2]]
    found = [rule for cell in cells for rule in own_rules(study.grid, cell)]
    for prompt in dict.fromkeys(study.cells[cell][1] for cell in cells):
        panel = study.best_cells(cell for cell in cells if study.cells[cell][1] == prompt)
        for size in dict.fromkeys((2, 3, len(panel))):
            if 1 < size <= len(panel):
                found += jury_rules(study.grid, panel[:size], picked=size < len(panel))
    return [rule for rule in found if not rule.votes and np.isfinite(rule.decisions.first).all()]


def _cost(rule: Rule, prices: Mapping[Cell, float] | None) -> float:
    if prices is None:
        return rule.price
    return sum(prices[cell] * calls for cell, calls in rule.calls.items())


def _estimate(values: Floats, count: Floats, bounds: tuple[float, float]) -> Estimate:
    sums = np.stack([values, count], axis=1)
    n = round(float(count.sum()))
    return jackknife_estimate(sums, first_over_last, n, "share", bounds, effect=1.0)
