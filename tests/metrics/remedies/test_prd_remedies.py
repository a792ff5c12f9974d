"""Remedies on PRD's records: the published verdicts of five judges and the majority of people."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metrics.__main__ import main, render_tables
from metrics.remedies.budget_plan import plan_budget
from metrics.remedies.effective_votes import effective_votes
from metrics.remedies.order_identity import count_order_patterns
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.risk_coverage import jury_risk_curve
from metrics.remedies.rule_sets import jury_rules, rules_of_rater
from metrics.remedies.rule_table import estimate_rules
from metrics.summary.remedy_section import RemedyInputs
from metrics.summary.summary import summarise_frame
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.metrics.frames import prd, records
from tests.page_words import says

BARD_JURY = ("gpt-4", "gpt-3.5-turbo", "bard")


@pytest.fixture(scope="module")
def study() -> RemedyStudy:
    return build_remedy_study(prd())


@pytest.fixture(scope="module")
def section() -> dict:
    found = summarise_frame(prd(), quick=True, remedies=RemedyInputs(juries=(BARD_JURY,)))
    return found["remedies"]


def test_the_comparisons_are_those_with_a_majority_and_all_ten_verdicts(study):
    assert study.grid.size == 685
    assert dict(study.left_out) == {"no truth": 115, "incomplete": 0}
    assert study.grid.source == "people's majority"


@pytest.mark.parametrize(
    ("judge", "rule", "agreement", "decided", "right"),
    [
        ("gpt-4", "single", 0.758, 0.88, 0.793),
        ("gpt-4", "agree", 0.739, 0.67, 0.858),
        ("gpt-4", "pool", 0.777, 0.83, 0.834),
        ("claude-v1", "single", 0.717, 0.93, 0.734),
        ("claude-v1", "agree", 0.707, 0.57, 0.864),
        ("claude-v1", "pool", 0.726, 0.69, 0.826),
    ],
)
def test_agreement_to_the_third_decimal(section, judge, rule, agreement, decided, right):
    line = section["rules"][judge]["p"][rule]
    assert line["agreement"]["value"] == pytest.approx(agreement, abs=5e-4)
    assert line["decided"]["value"] == pytest.approx(decided, abs=6e-3)
    assert line["right_when_decided"]["value"] == pytest.approx(right, abs=5e-4)


def test_the_jury_of_three_in_both_orders(section):
    line = section["juries"][" + ".join(BARD_JURY)]["jury-both"]
    assert line["calls"] == 6
    assert line["agreement"]["value"] == pytest.approx(0.793, abs=5e-4)
    assert line["decided"]["value"] == pytest.approx(0.93, abs=5e-3)
    assert line["right_when_decided"]["value"] == pytest.approx(0.817, abs=5e-4)


@pytest.mark.parametrize(
    ("rule", "low", "high"), [("pool", 0.011, 0.027), ("agree", -0.027, -0.011)]
)
def test_differences_to_one_call(section, rule, low, high):
    got = section["rules"]["gpt-4"]["p"][rule]["difference"]
    assert got["value"] == pytest.approx((low + high) / 2, abs=5e-4)
    assert (got["low"], got["high"]) == (
        pytest.approx(low, abs=1.5e-3),
        pytest.approx(high, abs=1.5e-3),
    )


def test_the_jury_against_both_orders_of_the_best_judge(study):
    cells = [study.rater_index(name) for name in BARD_JURY]
    pool = next(rule for rule in rules_of_rater(study.grid, cells[0]) if rule.id == "pool")
    both = next(rule for rule in jury_rules(study.grid, cells) if rule.id == "jury-both")
    _, line = estimate_rules(study.grid, [pool, both], np.random.default_rng(7))
    assert line.difference.value == pytest.approx(0.017, abs=5e-4)
    assert line.difference.low == pytest.approx(0.0, abs=2e-3)
    assert line.difference.high == pytest.approx(0.033, abs=2e-3)


def test_five_judges_carry_two_votes(study):
    assert effective_votes(study.grid, range(5)).value == pytest.approx(1.92, abs=5e-3)


def test_the_identity_with_the_numbers_of_gpt_4(study):
    cell = study.rater_index("gpt-4")
    found = count_order_patterns(study.grid, cell)
    assert vars(found) == {
        "same_right": 392,
        "same_wrong": 65,
        "opposite": 90,
        "tie_twice": 28,
        "tie_once_right": 81,
        "tie_once_wrong": 29,
    }
    pool = next(line for line in study.estimate_rules_of_rater(cell) if line.rule.id == "pool")
    assert found.gain == pytest.approx(pool.difference.value)
    assert pool.changed == 81 + 29


def test_more_votes_required_means_fewer_and_better_decisions(study):
    curve = jury_risk_curve(study.grid, [study.rater_index(name) for name in BARD_JURY])
    assert [point.margin for point in curve] == [1, 2, 3, 4, 5, 6]
    decided = [point.decided.value for point in curve]
    right = [point.right_when_decided.value for point in curve]
    assert decided == sorted(decided, reverse=True) and right == sorted(right)
    assert (right[0], right[-1]) == (pytest.approx(0.817, abs=5e-4), pytest.approx(0.905, abs=5e-4))


def test_gpt_4_is_told_to_add_up_and_vicuna_that_nothing_helps(section):
    best = section["recommendation"]
    assert (best["rule"], best["judge"]) == ("pool", "gpt-4")
    assert 0.01 < best["gain"]["value"] < 0.019  # held out: below the plain difference
    assert best["gain"]["low"] > 0
    assert section["recommendations"]["vicuna-13b"]["p"]["rule"] is None
    assert section["recommendations"]["vicuna-13b"]["p"]["sentence"].startswith(
        "No remedy was shown"
    )


def test_the_plan_for_two_calls_is_what_the_headline_recommends(study):
    """Another judge's rule at two calls agrees a little more often, but not significantly."""
    chosen = study.advice(study.best_rater_index()).chosen
    plan = plan_budget(study, {})
    (two_calls,) = (step for step in plan.steps if step.cost == 2)
    assert (two_calls.rule.id, two_calls.rule.members) == ("pool", chosen.rule.members)
    assert two_calls.gain == chosen.gain


@pytest.mark.extra
def test_the_command_prints_the_same_numbers(tmp_path, capsys):
    store = Store(tmp_path / "prd.db")
    import_verdicts(store, records("prd"), "prd")
    store.close()
    arguments = [
        str(tmp_path / "prd.db"),
        "--study",
        "prd",
        "--quick",
        "--jury",
        ",".join(BARD_JURY),
    ]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["remedies"]
    assert found["truth"]["comparisons"] == 685
    assert found["rules"]["gpt-4"]["prd"]["pool"]["agreement"]["value"] == pytest.approx(
        0.777, abs=5e-4
    )
    assert found["juries"][" + ".join(BARD_JURY)]["jury-both"]["calls"] == 6
    text = "\n".join(render_tables({"remedies": found}))
    assert "0.777 [" in text and says(text, "orders, added up")


@pytest.mark.extra
def test_a_jury_with_an_unknown_judge_is_refused(tmp_path, capsys):
    with pytest.raises(ValueError, match="no judge named 'gpt-5'"):
        summarise_frame(prd(), quick=True, remedies=RemedyInputs(juries=(("gpt-4", "gpt-5"),)))
