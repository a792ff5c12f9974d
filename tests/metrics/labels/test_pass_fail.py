"""Pass/fail rates against hand-worked tables, and coverage of the true pass rate."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from metrics.labels.pass_fail import (
    UNKNOWN,
    Confusion,
    PassFailRows,
    equal_errors_p_value,
    pass_fail_rates,
)
from metrics.labels.true_pass_rate import prediction_powered_rate, true_pass_rate
from tests.page_words import says
from tests.samples import ALL, sample


def rows_of(pass_good: int, pass_bad: int, fail_good: int, fail_bad: int, **more) -> PassFailRows:
    """One row per item; `unlabelled`: (passes, fails) without a label; `unusable` rows."""
    passes, fails = more.get("unlabelled", (0, 0))
    verdict = [1] * (pass_good + pass_bad) + [0] * (fail_good + fail_bad)
    label = [1] * pass_good + [0] * pass_bad + [1] * fail_good + [0] * fail_bad
    verdict += [1] * passes + [0] * fails + [UNKNOWN] * more.get("unusable", 0)
    label += [UNKNOWN] * (passes + fails) + [1] * more.get("unusable", 0)
    return PassFailRows.from_values(verdict, label, range(len(verdict)))


def test_a_hand_worked_table():
    found = pass_fail_rates(rows_of(90, 12, 10, 28, unusable=5))
    assert found.confusion == Confusion(90, 12, 10, 28) and found.unusable == 5
    assert found.sensitivity.value == pytest.approx(0.9)
    assert found.specificity.value == pytest.approx(0.7)
    assert found.precision.value == pytest.approx(90 / 102)
    assert found.agreement.value == pytest.approx(118 / 140)
    assert found.youden.value == pytest.approx(0.6)
    assert found.base_rate.value == pytest.approx(100 / 140)
    assert found.observed_pass_rate.value == pytest.approx(102 / 140)
    # expected agreement: (102·100 + 38·40) / 140² = .59796; (.842857 − .59796) / .40204 = .60914
    assert found.kappa.value == pytest.approx(0.60914, abs=1e-5)
    # Wilson for 90 of 100
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(
        (0.82563, 0.94477), abs=1e-4
    )


def test_one_kind_of_label_leaves_the_other_rate_unknown():
    found = pass_fail_rates(rows_of(9, 0, 1, 0))
    assert found.sensitivity.value == pytest.approx(0.9)
    assert found.specificity.value is None and "fail" in found.specificity.note
    assert found.youden.value is None
    assert found.kappa.value == pytest.approx(0.0)


def test_with_all_labels_the_true_rate_is_that_of_the_labels():
    found = true_pass_rate(rows_of(215, 30, 7, 48))
    assert found.value == pytest.approx(222 / 300)
    assert (found.low, found.high) == pytest.approx((0.687, 0.786), abs=2e-3)


def test_rogan_gladen_by_hand():
    # observed .6, sensitivity .9, specificity .8: (.6 + .8 − 1) / .7 = .571429 on 1,000 verdicts;
    # 100 of 200 labels are good: pooled (200·.5 + 1000·.571429) / 1200 = .559524
    found = true_pass_rate(rows_of(90, 20, 10, 80, unlabelled=(600, 400)))
    assert found.value == pytest.approx((100 + 571.428571) / 1200)
    assert found.low < found.value < found.high


def test_a_judge_that_hardly_tells_good_from_bad_is_refused():
    found = true_pass_rate(rows_of(60, 50, 40, 50, unlabelled=(60, 40)))
    assert found.value is None and "hardly distinguishes" in found.note
    few = true_pass_rate(rows_of(3, 2, 1, 2, unlabelled=(60, 40)))
    assert few.value is None and "no correction" in few.note


def test_a_value_outside_the_scale_is_set_to_its_limit_with_a_note():
    found = true_pass_rate(rows_of(60, 40, 0, 60, unlabelled=(10, 990)))
    assert found.value is not None and found.value >= 0
    assert says(found.note, "set", "limit")


ROUNDS = 300 if ALL else 120


def simulate(rng, prevalence: float, sens: float, spec: float, labelled: int, others: int):
    truth = rng.random(labelled + others) < prevalence
    passed = np.where(truth, rng.random(len(truth)) < sens, rng.random(len(truth)) >= spec)
    label = np.where(np.arange(len(truth)) < labelled, truth.astype(int), UNKNOWN)
    return PassFailRows.from_values(passed.astype(int), label, np.arange(len(truth)))


@pytest.mark.parametrize("prevalence", sample([0.1, 0.5, 0.9], 0.1))
@pytest.mark.parametrize(("sens", "spec"), sample([(0.9, 0.9), (0.7, 0.9), (0.9, 0.7)], (0.7, 0.9)))
def test_the_interval_covers_the_true_rate(prevalence, sens, spec):
    rng = np.random.default_rng(7)
    inside = tried = 0
    for _ in range(ROUNDS):
        found = true_pass_rate(simulate(rng, prevalence, sens, spec, 200, 1000))
        if found.value is not None:
            tried += 1
            inside += found.low <= prevalence <= found.high
    assert tried > ROUNDS * 5 / 6
    assert 0.91 <= inside / tried <= 0.985


@pytest.mark.extra
def test_prediction_powered_rate_covers_and_is_narrower_than_labels_alone():
    rng = np.random.default_rng(3)
    inside, narrower = 0, 0
    for _ in range(300):
        rows = simulate(rng, 0.6, 0.9, 0.9, 150, 1500)
        found, labels = prediction_powered_rate(rows), pass_fail_rates(rows).base_rate
        inside += found.low <= 0.6 <= found.high
        narrower += found.high - found.low < labels.high - labels.low
    assert inside / 300 >= 0.91 and narrower > 290


def test_errors_that_depend_on_the_contestant_are_found():
    one, like, unlike = (
        rows_of(*counts) for counts in ((80, 10, 20, 40), (82, 9, 18, 41), (50, 30, 50, 20))
    )
    assert equal_errors_p_value([one, like]) > 0.2
    assert equal_errors_p_value([one, unlike]) < 0.001
    assert equal_errors_p_value([rows_of(1, 0, 0, 0)]) is None
    by_fisher = [stats.fisher_exact(t)[1] for t in ([[80, 20], [50, 50]], [[10, 40], [30, 20]])]
    assert equal_errors_p_value([one, unlike]) == pytest.approx(2 * min(by_fisher))


@pytest.mark.parametrize("times", [2, 5])
def test_repeated_verdicts_on_an_answer_are_no_further_evidence(times):
    rows = [rows_of(*counts) for counts in ((30, 6, 10, 14), (22, 9, 18, 11))]
    repeated = [
        PassFailRows.from_values(*(np.repeat(x, times) for x in (r.verdict, r.label, r.item)))
        for r in rows
    ]
    assert equal_errors_p_value(repeated) == pytest.approx(equal_errors_p_value(rows))


def judged_alike(rng, answers, verdicts, spread):
    """Two contestants on whose answers the judge errs equally often, in 15 % of verdicts; the
    error rate differs between answers (Beta with this concentration)."""
    found = []
    for _ in range(2):
        good = rng.random(answers) < 0.5
        right = rng.beta(0.85 * spread, 0.15 * spread, answers)[:, None]
        verdict = (rng.random((answers, verdicts)) < right) == good[:, None]
        item = np.repeat(np.arange(answers), verdicts)
        found.append(PassFailRows.from_values(verdict.ravel(), good[item], item))
    return found


def share_called_different(answers, verdicts, spread, studies):
    rng = np.random.default_rng([12, answers, verdicts])
    found = [
        equal_errors_p_value(judged_alike(rng, answers, verdicts, spread)) for _ in range(studies)
    ]
    return np.mean([p is not None and p < 0.05 for p in found])


def test_five_verdicts_on_an_answer_do_not_make_equal_errors_differ():
    assert share_called_different(60, 5, 2, 30) <= 0.05 + 3 * (0.05 * 0.95 / 30) ** 0.5


@pytest.mark.extra
@pytest.mark.parametrize(("answers", "verdicts", "spread"), [
    (60, 1, 2), (60, 2, 2), (60, 3, 2), (60, 5, 2), (200, 5, 1),
])  # fmt: skip
def test_equal_errors_differ_in_one_study_of_twenty(answers, verdicts, spread):
    assert share_called_different(answers, verdicts, spread, 400) <= 0.05 + 0.027


def labelled_items(rng, items, answers, labelled):
    """Pass/fail verdicts on several answers an item; prevalence .6, sensitivity .85 and
    specificity .8 differ between items (Beta with concentration 3)."""
    good, passed, failed = (rng.beta(3 * p, 3 * (1 - p), (items, 1)) for p in (0.6, 0.85, 0.8))
    is_good = rng.random((items, answers)) < good
    verdict = (rng.random((items, answers)) < np.where(is_good, passed, failed)) == is_good
    label = np.where(np.arange(items)[:, None] < labelled, is_good, UNKNOWN)
    item = np.repeat(np.arange(items), answers)
    return PassFailRows.from_values(verdict.ravel(), label.ravel(), item)


@pytest.mark.parametrize(("items", "answers", "labelled"), [(40, 10, 5), (60, 5, 10), (60, 6, 8)])
def test_prediction_powered_rate_covers_with_few_labelled_items(items, answers, labelled):
    rng, studies = np.random.default_rng([32, items]), 200
    drawn = (labelled_items(rng, items, answers, labelled) for _ in range(studies))
    found = [prediction_powered_rate(rows) for rows in drawn]
    inside = np.mean([one.low <= 0.6 <= one.high for one in found])
    assert inside >= 0.95 - 2.5 * (0.95 * 0.05 / studies) ** 0.5


@pytest.mark.extra
@pytest.mark.parametrize("labels", [8, 15, 30])
def test_rates_of_a_near_perfect_judge_cover(labels):
    rng, studies, inside = np.random.default_rng([9, labels]), 300, Counter()
    for _ in range(studies):
        rates = pass_fail_rates(simulate(rng, 0.5, 0.97, 0.97, labels, 0))
        for name in ("sensitivity", "specificity", "precision"):
            one = getattr(rates, name)
            inside[name] += one.low is None or one.low <= 0.97 <= one.high
    least = 0.95 - 2.5 * (0.95 * 0.05 / studies) ** 0.5
    assert {name: n / studies for name, n in inside.items() if n / studies < least} == {}
