"""Plan for a budget: known judges recovered, no price is never free, selection costs nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from metrics.remedies import budget_plan
from metrics.remedies.budget_plan import (
    BudgetPlan,
    _choose_steps,
    _estimate_steps,
    _options_of_rater,
    _PlanOption,
    plan_budget,
)
from metrics.remedies.recommendation import held_out_credits
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.rule_sets import one_call_rule, rules_of_rater
from metrics.summary.remedy_section import RemedyInputs, remedy_section
from metrics.summary.remedy_tables import render_remedies
from metrics.summary.summary import to_plain_data
from studies.domain import Estimate
from tests.metrics.frames import build, pair
from tests.metrics.remedies.known_judges import GradedJudge, HardJudge, expected_credit, simulate
from tests.metrics.remedies.test_closed_forms import single
from tests.samples import ALL

CHEAP, DEAR = HardJudge(bias=0.2, accuracy=0.65), HardJudge(bias=0.1, accuracy=0.9)
PRICES = {("j0", "p"): 0.001, ("j1", "p"): 0.02}


def plan_of(judges: list[HardJudge], prices: dict, items: int = 600, seed: int = 3) -> BudgetPlan:
    study = build_remedy_study(simulate(judges, items, np.random.default_rng(seed)))
    found = plan_budget(study, prices)
    assert found is not None
    return found


def covers(estimate: Estimate, value: float) -> bool:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low <= value <= estimate.high


def test_a_dear_judge_is_used_as_far_as_the_budget_reaches() -> None:
    plan = plan_of([CHEAP, DEAR], PRICES)
    assert plan.currency == "dollars" and plan.unpriced == ()
    cheap, dear = plan.steps[0], plan.steps[-1]
    assert (cheap.rule.id, cheap.rule.members, cheap.gain) == ("single", (("j0", "p"),), None)
    assert cheap.cost == pytest.approx(0.001) and dear.cost >= 0.02
    assert covers(cheap.agreement, expected_credit([CHEAP], lambda v: single(v[0])))
    one_call = next(
        step for step in plan.steps
        if step.rule.members == (("j1", "p"),) and step.rule.id == "single"
    )  # fmt: skip
    assert covers(one_call.agreement, expected_credit([DEAR], lambda v: single(v[0])))
    assert (cheap.affordable_comparisons(40), one_call.affordable_comparisons(40)) == (
        40_000,
        2_000,
    )
    for step in plan.steps[1:]:
        assert step.gain is not None and step.gain.low is not None and step.gain.low > 0


def test_an_unknown_price_is_never_free() -> None:
    plan = plan_of([CHEAP, DEAR], {("j1", "p"): 0.02})
    assert plan.unpriced == ("j0",)
    assert {member for step in plan.steps for member in step.rule.members} == {("j1", "p")}
    calls = plan_of([CHEAP, DEAR], {})
    assert calls.currency == "calls" and calls.unpriced == ()
    # At one call per comparison the better judge is used: it costs no more calls.
    assert calls.steps[0].rule.members == (("j1", "p"),) and calls.steps[0].cost == 1


def test_a_local_judge_pays_for_any_number() -> None:
    plan = plan_of([CHEAP, DEAR], {("j0", "p"): 0.0, ("j1", "p"): 0.02})
    assert plan.steps[0].cost == 0 and math.isinf(plan.steps[0].affordable_comparisons(40))
    assert replace(plan.steps[0], cost=0.1).affordable_comparisons(0.3) == 3  # 2.9999… in floats


def test_without_known_answers_there_is_no_plan() -> None:
    frame = simulate([CHEAP], 20, np.random.default_rng(0)).assign(known_answer=np.int8(-2))
    assert plan_budget(build_remedy_study(frame), {}) is None


@pytest.mark.extra
def test_equal_judges_get_one_step_and_an_honest_agreement() -> None:
    """Four judges that toss coins: choosing the best of many rules must not look like a gain."""
    coin = HardJudge(bias=0.0, accuracy=0.5)
    steps, gaps = [], []
    for seed in range(40):
        plan = plan_of([coin] * 4, {(f"j{k}", "p"): 0.001 * (k + 1) for k in range(4)}, 60, seed)
        steps.append(len(plan.steps))
        gaps.append((plan.steps[-1].agreement.value or 0.0) - 0.5)
    assert sum(count > 1 for count in steps) <= 12, steps  # some 20 prices are tried in each plan
    assert abs(np.mean(gaps)) < 0.02


def test_held_out_credit_is_that_of_the_rule_chosen_on_other_items() -> None:
    # The second rule is better by 1 on every item, so it is chosen on every half.
    credits = np.stack([np.zeros(10), np.ones(10)], axis=1)
    (_, first, low), (_, second, high) = held_out_credits(
        credits, [1.0, 2.0], np.random.default_rng(0)
    )
    assert (first, second) == (0, 1)
    assert low == pytest.approx(np.zeros(10)) and high == pytest.approx(np.ones(10))


def test_the_summary_has_the_plan_and_prints_it() -> None:
    frame = simulate([CHEAP, DEAR], 200, np.random.default_rng(3))
    section = remedy_section(frame, RemedyInputs(prices=PRICES))
    plan = section["plan"]
    assert (plan["currency"], plan["unpriced"]) == ("dollars", [])
    assert plan["steps"][0]["dollars"] == 0.001 and "gain" not in plan["steps"][0]
    lines = list(render_remedies(to_plain_data(section)))
    start = next(k for k, line in enumerate(lines) if "dollars per comparison" in line)
    assert lines[start + 1].split()[0] == "0.001" and lines[start + 1].endswith(": j0")


# -- laws over simulated judges --------------------------------------------------------------------


def draw_study(seed: int) -> tuple[RemedyStudy, dict]:
    """One to three judges of random quality and bias, on 30 to 150 items, at prices that are equal
    (free or not), different, or unknown."""
    rng = np.random.default_rng(seed)
    graded = rng.random() < 0.4
    judges = [
        GradedJudge(rng.choice([0.0, 0.3, 0.9]), rng.choice([0.0, 0.8]))
        if graded
        else HardJudge(rng.uniform(0, 0.6), rng.choice([0.5, 0.6, 0.8]), rng.choice([0.0, 0.3]))
        for _ in range(rng.integers(1, 4))
    ]
    study = build_remedy_study(simulate(judges, int(rng.integers(30, 150)), rng))
    kind = rng.integers(4)
    cost = [0.0, 0.01, None, 0.0][kind]
    if cost is None:
        return study, {}
    return study, {
        cell: cost + (0.0 if kind < 2 else float(rng.choice([0.0, 0.001, 0.02])))
        for cell in study.raters
    }


def check_no_contradiction(study: RemedyStudy, prices: dict) -> tuple[int, int]:
    """Compare the plan with the recommendation of every judge; return how many were recommended a
    remedy, and how many were not."""
    plan = plan_budget(study, prices)
    assert plan is not None
    costs = prices or dict.fromkeys(study.raters, 1.0)
    refused = [k for k in range(len(study.raters)) if study.advice(k).chosen is None]
    if len(refused) == len(study.raters):
        assert {step.rule.id for step in plan.steps} == {"single"}
    for step in plan.steps:
        if step.rule.id != "single" and len(step.rule.members) == 1:
            assert study.raters.index(step.rule.members[0]) not in refused, "no remedy helps"
    for cell, name in enumerate(study.raters):
        if (chosen := study.advice(cell).chosen) is None:
            continue
        cost = sum(costs[member] * calls for member, calls in chosen.rule.calls.items())
        affordable = [step for step in plan.steps if step.cost <= cost + 1e-9]
        answer = affordable[-1].rule
        assert (answer.id, answer.members) != ("single", (name,)), "the recommended rule is paid"
    check_the_rule_of_the_best_judge(study, plan, costs)
    found = [step.cost for step in plan.steps]
    assert found == sorted(found) and len(set(found)) == len(found)
    return len(study.raters) - len(refused), len(refused)


def check_the_rule_of_the_best_judge(study: RemedyStudy, plan: BudgetPlan, costs: dict) -> None:
    """After one call of the best judge, a step at the cost of its recommended rule is that rule,
    with the gain of the recommendation."""
    best = study.best_rater_index()
    assert best is not None
    chosen, first = study.advice(best).chosen, plan.steps[0].rule
    if chosen is None or (first.id, first.members) != ("single", (study.raters[best],)):
        return
    cost = sum(costs[member] * calls for member, calls in chosen.rule.calls.items())
    at_cost = [step for step in plan.steps if abs(step.cost - cost) < 1e-9]
    second = plan.steps[1] if len(plan.steps) > 1 else None
    if second is not None and second in at_cost:
        assert (second.rule.id, second.rule.members) == (chosen.rule.id, chosen.rule.members)
        assert second.gain == chosen.gain


def test_plan_and_recommendation_never_contradict_each_other() -> None:
    studies = 60 if ALL else 12
    counts = np.asarray([check_no_contradiction(*draw_study(seed)) for seed in range(studies)])
    helped, refused = counts.sum(axis=0)
    assert helped >= studies / 6 and refused >= studies / 6, "the law was tried on both sides"


def test_a_free_judge_without_signal_is_asked_once() -> None:
    """All rules of a local judge cost the same: nothing; the best of them by luck is not named."""
    coin = HardJudge(bias=0.3, accuracy=0.5, ties=0.2)
    studies = 50 if ALL else 20
    plans = [plan_of([coin], {("j0", "p"): 0.0}, 60, seed) for seed in range(studies)]
    others = sum([step.rule.id for step in plan.steps] != ["single"] for plan in plans)
    assert others <= 0.06 * studies


def test_a_free_judge_that_a_remedy_helps_gets_the_remedy() -> None:
    study = build_remedy_study(simulate([GradedJudge(0.9, 0.8)], 400, np.random.default_rng(5)))
    plan = plan_budget(study, {("j0", "p"): 0.0})
    chosen = study.advice(0).chosen
    assert plan is not None and chosen is not None
    (step,) = plan.steps
    assert step.cost == 0 and step.rule.id in ("calibrated", "graded")
    assert step.rule.calls_per_comparison >= chosen.rule.calls_per_comparison


def test_the_interval_of_a_step_is_as_wide_as_its_agreement_varies() -> None:
    """Over 40 simulated studies: 1.96 times the standard deviation of the agreement."""
    found = [plan_of([CHEAP], PRICES, 200, seed).steps[0].agreement for seed in range(40)]
    values = [one.value for one in found if one.value is not None]
    halves = [(one.high - one.low) / 2 for one in found if None not in (one.low, one.high)]
    assert len(values) == len(halves) == 40
    assert np.mean(halves) == pytest.approx(1.96 * np.std(values, ddof=1), rel=0.35)
    assert all(covers(one, value) for one, value in zip(found, values, strict=True))


def plan_options() -> tuple[RemedyStudy, dict[str, _PlanOption]]:
    """Two equal judges on 40 items. Made-up credits: one call ½ everywhere, two rules with ¾ on
    different items, and a better one."""
    rows = [row for k in range(40) for j in "ab"
            for row in pair(f"q{k}", 0, k % 2, better="x", judge=j)]  # fmt: skip
    study = build_remedy_study(build(rows))
    good = np.repeat([1.0, 0.0], [30, 10])
    first, second = (one_call_rule(study.grid, rater) for rater in (0, 1))
    pool = rules_of_rater(study.grid, 0)[1], rules_of_rater(study.grid, 1)[1]
    return study, {
        "one call": _PlanOption(first, 1.0, np.full(40, 0.5)),
        "other": _PlanOption(pool[1], 1.0, good),
        "advised": _PlanOption(pool[0], 1.0, np.roll(good, 10), advised=0),
        "dear": _PlanOption(pool[0], 2.0, np.roll(good, 10), advised=0),
        "weak": _PlanOption(pool[0], 2.0, np.full(40, 0.5), advised=0),
        "perfect": _PlanOption(second, 3.0, np.ones(40)),
    }


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ("one call, other", "other"),
        ("one call, other, advised", "advised"),
        ("one call, dear", "one call, dear"),
        ("one call, weak", "one call, weak"),
        ("one call, other, dear", "other"),
        ("one call, advised, perfect", "advised, perfect"),
        ("other, advised", "other"),
    ],
)
def test_steps_are_better_or_recommended_and_replace_those_that_cost_as_much(
    names: str, chosen: str
) -> None:
    study, options = plan_options()
    steps = _choose_steps(study, [options[name] for name in names.split(", ")])
    assert steps == [options[name] for name in chosen.split(", ")]


def test_agreement_and_gain_stay_within_their_range() -> None:
    """Two items, credits 1 and 0, then 0 and 1: standard error ½ and 1, and t of one degree."""
    rows = [row for k in range(2) for row in pair(f"q{k}", 0, 1, better="x")]
    study = build_remedy_study(build(rows))
    rule = one_call_rule(study.grid, 0)
    options = [
        _PlanOption(rule, 1.0, np.array([1.0, 0.0])), _PlanOption(rule, 2.0, np.array([0.0, 1.0])),
    ]  # fmt: skip
    first, second = _estimate_steps(study, options)
    assert (first.agreement.value, first.agreement.low, first.agreement.high) == (0.5, 0, 1)
    assert first.gain is None and second.gain is not None
    assert (second.gain.value, second.gain.low, second.gain.high) == (0, -1, 1)


def test_a_large_study_offers_the_best_rules_by_calls(monkeypatch) -> None:
    """Above MAX_SELECTED comparisons: the advised rule, then those of the recommendation, each with
    the price of its own judge; a judge without a price offers none."""
    frame = simulate([HardJudge(0.0, 0.9, 0.5), DEAR], 300, np.random.default_rng(3))
    study = build_remedy_study(frame)
    prices = {("j0", "p"): 0.001, ("j1", "p"): 0.02}
    monkeypatch.setattr(budget_plan, "MAX_SELECTED", 300)
    small = list(_options_of_rater(study, 0, prices))
    monkeypatch.setattr(budget_plan, "MAX_SELECTED", 299)
    advice, large = study.advice(0), list(_options_of_rater(study, 0, prices))
    assert advice.chosen is not None
    assert [one.rule for one in large] == [advice.chosen.rule, *(one.rule for one in advice.prices)]
    assert small[0].rule == large[0].rule and small[0].advised == large[0].advised == 0
    assert len(small) != len(large) or small[1].rule != large[1].rule
    assert all(one.advised is None for one in large[1:])
    for one in large:
        assert one.cost == sum(prices[rater] * calls for rater, calls in one.rule.calls.items())
    assert list(_options_of_rater(study, 0, {("j1", "p"): 0.02})) == []
