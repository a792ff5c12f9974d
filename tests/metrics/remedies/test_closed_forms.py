"""Every rule's expected agreement in closed form, recovered from simulated judges."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from metrics.error_models.certified_share import certify_share
from metrics.remedies.decision_rules import (
    decide_by_calibrated_call,
    decide_with_share_sent_to_people,
)
from metrics.remedies.effective_votes import (
    effective_votes,
    mean_error_correlation,
    votes_from_correlation,
)
from metrics.remedies.order_grid import build_order_grid
from metrics.remedies.order_identity import count_order_patterns
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.risk_coverage import graded_risk_curve
from metrics.remedies.rule_sets import jury_rules, rules_of_rater
from metrics.remedies.rule_table import RuleEstimate, estimate_rules
from tests.metrics.frames import build, pair
from tests.metrics.remedies.known_judges import (
    GradedJudge,
    HardJudge,
    credit,
    expected_credit,
    graded_both,
    graded_calibrated,
    graded_margin,
    graded_single,
    simulate,
)

BIASED = HardJudge(bias=0.3, accuracy=0.8, ties=0.15)
OTHER = HardJudge(bias=0.1, accuracy=0.7, ties=0.05)
THIRD = HardJudge(bias=0.5, accuracy=0.9)
GRADED = GradedJudge(signal=0.8, first=0.9, noise=1.2)
ITEMS = 3000


@cache
def study_of(*judges, repeats: int = 1) -> RemedyStudy:
    return build_remedy_study(simulate(judges, ITEMS, np.random.default_rng(3), repeats))


def lines_of(study: RemedyStudy, rules) -> dict[str, RuleEstimate]:
    return {
        line.rule.id: line for line in estimate_rules(study.grid, rules, np.random.default_rng(1))
    }


def assert_recovered(line: RuleEstimate, expected: float) -> None:
    """Within 1.6 times the half-width of the interval, so that a right seed never fails."""
    got = line.agreement
    assert abs(got.value - expected) <= 1.6 * (got.high - got.low) / 2, (
        line.rule.id,
        got,
        expected,
    )


def single(verdicts):
    return np.mean([credit(value) for value in verdicts])


HARD_FORMS = {
    "single": lambda v: single(v[0]),
    "pool": lambda v: credit(sum(v[0])),
    "agree": lambda v: credit(v[0][0] if v[0][0] == v[0][1] else 0),
}


@pytest.mark.parametrize("rule", HARD_FORMS)
@pytest.mark.parametrize("judge", [BIASED, OTHER, THIRD], ids=str)
def test_one_judge_with_hard_verdicts(judge, rule):
    study = study_of(judge)
    line = lines_of(study, rules_of_rater(study.grid, 0))[rule]
    assert_recovered(line, expected_credit([judge], HARD_FORMS[rule]))


JURY_FORMS = {
    "jury": lambda v: (
        credit(v[0][0] + v[1][1] + v[2][0]) + credit(v[0][1] + v[1][0] + v[2][1])
    ) / 2,
    "jury-both": lambda v: credit(sum(map(sum, v))),
    "round-robin": lambda v: np.mean([single(one) for one in v]),
}  # fmt: skip


@pytest.mark.parametrize("rule", JURY_FORMS)
def test_three_judges(rule):
    study = study_of(BIASED, OTHER, THIRD)
    line = lines_of(study, jury_rules(study.grid, [0, 1, 2]))[rule]
    assert_recovered(line, expected_credit([BIASED, OTHER, THIRD], JURY_FORMS[rule]))


def test_two_judges_in_opposite_orders():
    study = study_of(BIASED, OTHER)
    line = lines_of(study, jury_rules(study.grid, [0, 1]))["opposite"]
    expected = expected_credit(
        [BIASED, OTHER], lambda v: (credit(v[0][0] + v[1][1]) + credit(v[0][1] + v[1][0])) / 2
    )
    assert line.rule.calls_per_comparison == 2
    assert_recovered(line, expected)


def test_three_repeats_in_one_and_in_both_orders():
    judge = HardJudge(bias=0.2, accuracy=0.75)
    study = study_of(judge, repeats=3)
    found = lines_of(study, rules_of_rater(study.grid, 0))
    right = [judge.chances(first)[1] for first in (True, False)]
    one = np.mean([binom.sf(1, 3, p) for p in right])
    assert_recovered(found["repeats(3)"], one)
    first, second = (binom.pmf(range(4), 3, p) for p in right)
    both = sum(first[i] * second[j] * credit(i + j - 3) for i in range(4) for j in range(4))
    assert_recovered(found["repeats(3)-both"], both)
    assert found["repeats(3)-both"].rule.calls_per_comparison == 6


def test_graded_rules_of_one_judge():
    study = study_of(GRADED)
    found = lines_of(study, rules_of_rater(study.grid, 0))
    assert_recovered(found["single"], graded_single(GRADED))
    assert_recovered(found["graded"], graded_both(GRADED))
    assert_recovered(found["calibrated"], graded_calibrated(GRADED))
    assert found["graded"].adjusted.low > 0.03  # graded replies gain what hard verdicts cannot
    assert found["calibrated"].adjusted.low > 0.01


@pytest.mark.parametrize("margin", [0.25, 0.5])
def test_risk_and_coverage_of_a_margin(margin):
    study = study_of(GRADED)
    decided, right = graded_margin(GRADED, margin)
    line = lines_of(study, rules_of_rater(study.grid, 0))[f"margin({margin:g})"]
    assert_recovered(line, right + (1 - decided) / 2)
    assert line.decided.value == pytest.approx(decided, abs=0.02)
    point = next(p for p in graded_risk_curve(study.grid, 0) if p.margin == margin)
    assert point.right_when_decided.value == pytest.approx(right / decided, abs=0.02)


def test_the_calibration_of_an_item_does_not_use_its_fold():
    """All slots score .4; items 0 and 5 share a fold, and item 5 is extreme.

    With the effect .4 of the other folds, item 0 favours the first by name in both orders; an
    effect that included item 5 would exceed its score in both.
    """
    slot = np.full((2, 10), 0.4)
    slot[:, 0] = 0.45, 0.35
    slot[:, 5] = 10.0
    side = np.array([[1.0], [-1.0]])
    found = decide_by_calibrated_call(slot * side, np.zeros((2, 10), np.int16), np.arange(10))
    assert (found.first[0], found.second[0]) == (1.0, 0.0)


def test_people_decide_the_share_with_the_highest_entropy():
    verdicts = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, -1.0, 0.0, 0.0]])
    votes = (np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    half = decide_with_share_sent_to_people(
        verdicts, votes, 0.5
    )  # the two comparisons whose orders differ
    assert half.first.tolist() == [1.0, 1.0, 1.0, 0.0]
    quarter = decide_with_share_sent_to_people(
        verdicts, votes, 0.25
    )  # one of the two, either with probability 1/2
    assert quarter.first.tolist() == [1.0, 0.5, 1.0, 0.0]
    everything = decide_with_share_sent_to_people(verdicts, votes, 1.0)
    assert everything.first.tolist() == [0.0, 1.0, 1.0, 1.0]


def test_asking_twice_gains_exactly_what_the_identity_says():
    study = study_of(BIASED)
    found = lines_of(study, rules_of_rater(study.grid, 0))
    gain = count_order_patterns(study.grid, 0).gain
    assert found["pool"].difference.value == pytest.approx(gain, abs=1e-12)
    assert found["agree"].difference.value == pytest.approx(-gain, abs=1e-12)


def test_a_rule_that_changes_no_credit_can_change_a_quarter_of_it_at_most():
    """The judge flips 10 of 40 comparisons and never ties. A tie in one order has a share of at
    most z²/(40 + z²) = 8.8 %, and changes the credit by ¼."""
    rows = [row for k in range(40) for row in pair(f"q{k}", 0, int(k >= 10), better="x")]
    study = build_remedy_study(build(rows))
    found = lines_of(study, rules_of_rater(study.grid, 0))
    most = 1.96**2 / (40 + 1.96**2) / 4
    for rule in ("pool", "agree"):
        raw = found[rule].difference
        assert (found[rule].changed, raw.value) == (0, 0)
        assert (raw.low, raw.high) == pytest.approx((-most, most), abs=1e-4)
        assert found[rule].adjusted.high <= 0.25


def test_patterns_of_two_orders_by_hand():
    """x is better. Of 8 comparisons, both orders are right in 1 and wrong in 1, 1 flips, 1 has two
    ties; 3 have a tie and a right verdict, 1 a tie and a wrong one: (3 − 1)/4/8."""
    picks = [(0, 1), (1, 0), (0, 0), ("tie", "tie"), (0, "tie"), ("tie", 1), (0, "tie"), (1, "tie")]
    rows = [row for k, both in enumerate(picks) for row in pair(f"q{k}", *both, better="x")]
    found = count_order_patterns(build_order_grid(build(rows)), 0)
    assert (found.same_right, found.same_wrong, found.opposite, found.tie_twice) == (1, 1, 1, 1)
    assert (found.tie_once_right, found.tie_once_wrong, found.comparisons) == (3, 1, 8)
    assert found.gain == 1 / 16


def test_votes_from_a_correlation_by_hand():
    # 3/(1 + 2r); below r = −1/4 the divisor stays ½.
    got = votes_from_correlation(3, np.array([0.0, 1.0, 0.5, -0.25, -1.0]))
    assert got.tolist() == pytest.approx([3, 1, 1.5, 6, 6])


def test_the_correlation_of_errors_is_the_mean_over_pairs_of_judges():
    errors = np.array([[0.0, 1.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.5, 0.0]])
    products = [errors[0] * errors[1], errors[0] * errors[2], errors[1] * errors[2]]
    totals = np.concatenate([errors, errors**2, products, np.ones((1, 4))]).sum(axis=1)
    found = np.corrcoef(errors)
    assert float(mean_error_correlation(totals, 3)) == pytest.approx(
        (found[0, 1] + found[0, 2] + found[1, 2]) / 3
    )


def test_effective_votes_of_judges_with_opposite_errors_are_in_their_interval():
    rows = [
        row
        for k in range(40)
        for judge, right in (("one", k % 2 == 0), ("two", k % 2 == 1))
        for row in pair(f"q{k}", 1 - right, int(right), better="x", judge=judge)
    ]
    got = effective_votes(build_remedy_study(build(rows)).grid, [0, 1])
    assert got.low is not None and got.low <= got.value == got.high == 2


def test_the_curve_counts_scores_that_equal_a_margin():
    # Scores 9 and 2 on a range of 10: a mean score of .7, stored in 32 bits.
    rows = [pair(f"q{k}", 0, 1, better="x") for k in range(40)]
    for k, (one, two) in enumerate(rows):
        one["scores"] = (10, 0) if k == 0 else (9, 2)
        two["scores"] = one["scores"][::-1]
    grid = build_remedy_study(build([row for both in rows for row in both])).grid
    assert {one.margin: one.decided.value for one in graded_risk_curve(grid, 0)}[0.7] == 1
    grades = np.float32([0.7]).astype(np.float64).repeat(29)
    certified = certify_share(grades, np.ones(29), np.arange(29), (0.7,))
    assert certified.share.value == 1
