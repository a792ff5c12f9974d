"""Outcomes under an applied remedy: the same decisions as in the table of remedies."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.remedies.remedy_study import build_remedy_study
from metrics.win_rates import counting_rules, win_rates
from metrics.win_rates.remedy_outcomes import _sum_of_orders, applicable_rule
from studies.frames.frame import SEP
from tests.metrics.frames import build, pair
from tests.metrics.remedies.known_judges import GradedJudge, HardJudge, simulate


def points_by_comparison(rows):
    """(item, comparison) -> mean credit of the contestant that is first by name."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows.itertuples():
        first, second = str(row.shown).split(SEP)
        turned = first > second
        credit = 0.5 if row.pick < 0 else float((row.pick == 0) != turned)
        found.setdefault((str(row.item), str(row.comparison)), []).append(credit)
    return {key: float(np.mean(values)) for key, values in found.items()}


def expected_points(frame, rule):
    """The same from the decisions of the rule in the table of remedies."""
    study = build_remedy_study(frame)
    rows = frame.iloc[study.grid.row]
    decisions = rule.decisions
    credit = decisions.first + (1 - decisions.probability_decided) / 2
    keys = zip(rows["item"].astype(str), rows["comparison"].astype(str), strict=True)
    return dict(zip(keys, credit.tolist(), strict=True))


def table_rule(frame, id):
    study = build_remedy_study(frame)
    return next(rule for rule in study.rules_shown_for_rater(0) if rule.id == id)


@pytest.mark.parametrize("id", ["calibrated", "margin(0.25)", "margin(0.5)"])
def test_graded_remedies_decide_as_in_the_table(id):
    frame = simulate([GradedJudge(0.8, 0.6)], 60, np.random.default_rng(3))
    got = points_by_comparison(counting_rules.outcome_rows(frame, id))
    assert got == pytest.approx(expected_points(frame, table_rule(frame, id)))


@pytest.mark.parametrize("id", ["repeats(3)", "repeats(3)-both"])
def test_repeats_decide_as_in_the_table(id):
    frame = simulate([HardJudge(0.3, 0.7, 0.1)], 60, np.random.default_rng(4), repeats=3)
    got = points_by_comparison(counting_rules.outcome_rows(frame, id))
    assert got == pytest.approx(expected_points(frame, table_rule(frame, id)))


@pytest.mark.parametrize("id", ["opposite", "jury-both", "round-robin"])
def test_juries_decide_as_in_the_table(id):
    judges = [HardJudge(0.3, 0.7, 0.1), HardJudge(0.1, 0.6, 0.2)]
    frame = simulate(judges, 60, np.random.default_rng(5))
    rule = table_rule(frame, id)
    key = "|".join([id, *(judge for judge, _ in rule.members)])
    rows = counting_rules.outcome_rows(frame, key)
    assert points_by_comparison(rows) == pytest.approx(expected_points(frame, rule))
    if id != "round-robin":
        assert {str(name) for name in rows["judge"]} == {
            " + ".join(judge for judge, _ in rule.members)
        }


def test_a_jury_needs_two_of_its_judges_in_the_rows():
    frame = build(pair("q", 0, "tie") + pair("q", 1, 0, judge="other"))
    assert applicable_rule("jury-both|j|other", frame) == "jury-both|j|other"
    alone = frame[frame["judge"] == "j"]
    assert applicable_rule("jury-both|j|other", alone) == "majority"
    assert applicable_rule("jury|j|other", alone) == "pooled"
    assert win_rates.win_rate(alone, "jury-both|j|other")["x"].value == 1.0


def test_a_prompt_rule_counts_only_that_prompt():
    frame = build(pair("q", 0, 1) + pair("q", 1, 0, prompt="other"))
    assert win_rates.win_rate(frame)["x"].value == 0.5
    assert win_rates.win_rate(frame, "prompt:other")["x"].value == 0.0
    assert win_rates.win_rate(frame, "prompt:other+pool")["x"].value == 0.0
    assert applicable_rule("prompt:missing", frame) == "pooled"


def test_missing_replies_fall_back_to_the_stored_ones():
    rows = pair("q", 0, None) + pair("q", 0, 1, judge="other")
    frame = build(rows)
    decided = counting_rules.outcome_rows(frame, "jury-both|j|other")
    assert decided["pick"].tolist() == [0]  # three usable verdicts, all for x
    ungraded = build(pair("r", 0, "tie"))
    assert win_rates.win_rate(ungraded, "margin(0.5)")["x"].value == 1.0  # as added up
    assert win_rates.win_rate(ungraded, "calibrated")["x"].value == 0.75  # each verdict


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="No rule named"):
        counting_rules.outcome_rows(build(pair("q", 0, 1)), "coin")


def test_votes_of_people_and_single_orders_are_left_as_they_are():
    """A person's vote has no judge to correct; a comparison without both orders keeps the one."""
    vote = {"item": "q0", "shown": ("x", "y"), "pick": 0, "judge": "human:1", "prompt": "vote"}
    judged = [row for k in range(3) for row in pair(f"q{k}", 0, 1)]
    with_people, alone = (counting_rules.outcome_rows(build(rows), "repeats(2)-both")
                          for rows in ([*judged, vote], judged))  # fmt: skip
    assert sorted(alone["item"].astype(str)) == ["q0", "q1", "q2"]
    assert points_by_comparison(with_people) == points_by_comparison(alone)
    assert set(points_by_comparison(alone).values()) == {1.0}
    none = np.nan
    one = _sum_of_orders(np.array([[1.0, none, -1.0], [none, none, none]], np.float32))
    assert one.tolist()[::2] == [1.0, -1.0]
    both = _sum_of_orders(np.array([[1.0, none, -1.0], [1.0, 1.0, none]], np.float32))
    assert both[0] == 2 and np.isnan(both[1:]).all()
