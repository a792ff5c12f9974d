"""Plan for a budget: the best rule of any judge, depending on how many comparisons the budget must
pay for.

With few comparisons the budget pays for an expensive rule, with many only for a cheap one. The plan
is a list of rules, each more expensive and significantly better than the one before; the first is
usually "one call" of a judge (the verdict of a single call). Another rule can enter only if a
remedy is recommended for its judge, so that plan and recommendation do not contradict each other.
All agreements are measured on items that were not used to choose the rule.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.estimation.intervals import Floats, jackknife_estimate
from metrics.estimation.measures import first_over_last
from metrics.remedies.recommendation import SAME_PRICE, held_out_credits, interval_is_above_zero
from metrics.remedies.remedy_study import MAX_SELECTED, SEED, RemedyStudy
from metrics.remedies.rule_sets import SINGLE, Rule, one_call_rule
from metrics.remedies.rule_table import credit_totals_by_item
from studies.domain import Estimate, Rater

Currency = Literal["dollars", "calls"]


@dataclass(frozen=True, eq=False)
class PlanStep:
    """A rule, its cost per comparison, and its agreement with the known better answers on items not
    used to choose it. `gain` is the agreement minus that of the step before, on the same items;
    None for the cheapest step."""

    rule: Rule
    cost: float
    agreement: Estimate
    gain: Estimate | None = None

    def affordable_comparisons(self, budget: float) -> float:
        """Number of comparisons that a budget pays for; infinite if a call costs nothing."""
        return math.floor(budget / self.cost + 1e-9) if self.cost > 0 else math.inf


@dataclass(frozen=True, eq=False)
class BudgetPlan:
    """Steps from the cheapest to the most expensive; costs in dollars, or in calls if no judge has
    a price. `unpriced` are the judges left out because their price is unknown."""

    currency: Currency
    steps: tuple[PlanStep, ...]
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _PlanOption:
    """A rule that may enter the plan. `credits` has the credit (1 if right, ½ if undecided, 0 if
    wrong), summed over the comparisons of each item, of the rule that was best on other items;
    `advised` is the rater (index of a judge and prompt) for which the rule is recommended, else
    None."""

    rule: Rule
    cost: float
    credits: Floats
    advised: int | None = None

    @property
    def sort_key(self) -> tuple[float, float, bool, bool]:
        """Sorting key: by cost, then by number of calls, then the rule "one call" first, then
        recommended rules."""
        calls = self.rule.calls_per_comparison
        return round(self.cost, 12), calls, self.rule.id != SINGLE, self.advised is None


def plan_budget(study: RemedyStudy, prices: Mapping[Rater, float]) -> BudgetPlan | None:
    """Compute the plan over all judges of a study; None without comparisons with a known better
    answer.

    `prices` has the dollars per call. A judge of unknown price is left out, because its calls may
    not be free. If no price is known, costs are counted in calls.
    """
    if not study.grid.size:
        return None
    known = {rater: prices[rater] for rater in study.raters if rater in prices}
    currency: Currency = "dollars" if known else "calls"
    costs = known or dict.fromkeys(study.raters, 1.0)
    steps = _choose_steps(study, _list_plan_options(study, costs))
    unpriced = dict.fromkeys(
        judge for judge, prompt in study.raters if (judge, prompt) not in costs
    )
    return BudgetPlan(currency, tuple(_estimate_steps(study, steps)), tuple(unpriced))


def _list_plan_options(study: RemedyStudy, costs: Mapping[Rater, float]) -> list[_PlanOption]:
    """List the rules that may enter the plan, the cheapest first. For each cost that occurs: the
    best single call at this cost or less. For each rater with a recommended remedy: that remedy,
    and the rater's best rule at each cost or less. At equal cost, the rules of the judge with the
    best single calls come first, so that a rule of another judge must be significantly better than
    the one recommended for the best judge."""
    raters = sorted(
        (k for k, rater in enumerate(study.raters) if rater in costs),
        key=study.total_single_call_credit,
        reverse=True,
    )
    singles = [one_call_rule(study.grid, rater) for rater in raters]
    options = list(_best_rule_at_each_cost(study, singles, costs))
    for rater in raters:
        options += _options_of_rater(study, rater, costs)
    return sorted(options, key=lambda one: one.sort_key)


def _best_rule_at_each_cost(
    study: RemedyStudy, rules: Sequence[Rule], costs: Mapping[Rater, float]
) -> Iterator[_PlanOption]:
    """Yield, for each cost that occurs, the best rule with this cost or less. Of rules with the
    same cost, the one with fewer calls counts as cheaper.

    A rule is chosen on half of the items and measured on the other half.
    """
    keys = [
        _PlanOption(rule, _cost_per_comparison(rule, costs), np.empty(0)).sort_key[:2]
        for rule in rules
    ]
    ranks = {key: float(rank) for rank, key in enumerate(sorted(set(keys)))}
    totals = credit_totals_by_item(study.grid, rules)
    rng = np.random.default_rng(SEED)
    for _, place, held in held_out_credits(totals[:, :-1], [ranks[key] for key in keys], rng):
        yield _PlanOption(rules[place], _cost_per_comparison(rules[place], costs), held)


def _options_of_rater(
    study: RemedyStudy, rater: int, costs: Mapping[Rater, float]
) -> Iterator[_PlanOption]:
    """Yield the rule recommended for a judge and prompt, with `advised` set, then the judge's best
    rule at each cost or less; nothing if no remedy is recommended. Rules of unknown price are left
    out.

    The best rules are neither "one call" nor rules with the judge's other prompts, because these
    are options of their own. With more than MAX_SELECTED comparisons, the best rules by number of
    calls (those of the recommendation) are taken instead, to save time.
    """
    advice = study.advice(rater)
    if advice.chosen is None:
        return
    if _has_price(advice.chosen.rule, costs):
        rule = advice.chosen.rule
        yield _PlanOption(
            rule, _cost_per_comparison(rule, costs), advice.chosen.credits, advised=rater
        )
    if study.grid.size > MAX_SELECTED:  # to save time, only the best rules by calls
        for one in advice.prices:
            if _has_price(one.rule, costs):
                yield _PlanOption(one.rule, _cost_per_comparison(one.rule, costs), one.credits)
        return
    rules = [rule for rule in study.rules_to_recommend_from(rater) if _has_price(rule, costs)]
    own = [rule for rule in rules if not rule.id.startswith("prompt:")]
    yield from (one for one in _best_rule_at_each_cost(study, own, costs) if one.rule.id != SINGLE)


def _choose_steps(study: RemedyStudy, options: Sequence[_PlanOption]) -> list[_PlanOption]:
    """Choose the steps of the plan: go through the options from the cheapest on, and take each that
    is significantly better than the last step.

    Instead of "one call" of a judge, the rule recommended for this judge is taken if it costs no
    more. Earlier steps that do not cost less than the new one are removed.
    """
    advised = {one.advised: one for one in options if one.advised is not None}
    steps: list[_PlanOption] = []
    for option in options:
        if steps and not _is_next_step(study, option, steps[-1]):
            continue
        rater = _rater_of_single_call(study, option)
        better = advised.get(rater) if rater is not None else None
        if better is not None and better.cost <= option.cost + SAME_PRICE:
            option = better
        while steps and steps[-1].cost >= option.cost - SAME_PRICE:
            steps.pop()
        steps.append(option)
    return steps


def _is_next_step(study: RemedyStudy, option: _PlanOption, previous: _PlanOption) -> bool:
    """Whether an option becomes the next step: it is significantly better than the last step, or it
    is the rule recommended for the judge whose single call is the last step."""
    if option.advised is not None and option.advised == _rater_of_single_call(study, previous):
        return True
    return interval_is_above_zero(_mean_credit(study, option.credits - previous.credits))


def _rater_of_single_call(study: RemedyStudy, option: _PlanOption) -> int | None:
    """Return the number of the rater (judge and prompt) of an option with the rule "one call"; None
    for other rules."""
    rule = option.rule
    return study.raters.index(rule.members[0]) if rule.id == SINGLE else None


def _estimate_steps(study: RemedyStudy, steps: Sequence[_PlanOption]) -> Iterator[PlanStep]:
    """Yield each step with its agreement, and its gain over the step before. A recommended rule
    after one call of the same judge has the gain of the recommendation."""
    before: _PlanOption | None = None
    for step in steps:
        agreement = _mean_credit(study, step.credits, 0.0)
        gain = None if before is None else _gain_of_step(study, step, before)
        yield PlanStep(step.rule, step.cost, agreement, gain)
        before = step


def _gain_of_step(study: RemedyStudy, step: _PlanOption, before: _PlanOption) -> Estimate:
    if step.advised is not None and step.advised == _rater_of_single_call(study, before):
        chosen = study.advice(step.advised).chosen
        assert chosen is not None
        return chosen.gain
    return _mean_credit(study, step.credits - before.credits)


def _has_price(rule: Rule, costs: Mapping[Rater, float]) -> bool:
    return all(rater in costs for rater in rule.calls)


def _cost_per_comparison(rule: Rule, costs: Mapping[Rater, float]) -> float:
    return sum(costs[rater] * calls for rater, calls in rule.calls.items())


def _mean_credit(study: RemedyStudy, values: Floats, lowest: float = -1.0) -> Estimate:
    """Estimate the mean of credits (or of their differences) over comparisons; `values` are their
    sums by item, `lowest` the smallest possible mean."""
    count = study.comparison_count_by_item
    sums = np.stack([values, count], axis=1)
    bounds = (lowest, 1.0)
    return jackknife_estimate(sums, first_over_last, study.grid.size, "share", bounds, effect=1.0)
