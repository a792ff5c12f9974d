"""Pass/fail rates against hand-worked tables, and coverage of the true pass rate."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from metrics.labels.label_sections import PassFailResult
from metrics.labels.pass_fail import (
    NO_LABEL_NOTE,
    UNKNOWN,
    Confusion,
    PassFailRows,
    combine_independent,
    equal_errors_p_value,
    pass_fail_rates,
    youden_index,
)
from metrics.labels.true_pass_rate import (
    _lang_reiczigel_limits,
    clip_share,
    corrected_pass_rate,
    pooled_pass_rate,
    prediction_powered_rate,
    true_pass_rate,
    why_not_correctable,
)
from studies.domain import Estimate
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
    assert found.excess.value == pytest.approx((12 - 10) / 140)
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
    assert found.specificity.value is None and "bad" in found.specificity.note
    assert found.youden.value is None
    assert found.kappa.value is None and "alike" in found.kappa.note


def test_with_all_labels_the_true_rate_is_that_of_the_labels():
    found = true_pass_rate(rows_of(215, 30, 7, 48))
    assert found.value == pytest.approx(222 / 300)
    assert (found.low, found.high) == pytest.approx((0.687, 0.786), abs=2e-3)


def test_a_labelled_answer_counts_once_whether_or_not_its_verdict_is_readable():
    """Answers 0 and 1 are good, 2 and 3 are bad: half of them, however many verdicts each has. Of
    the four readable verdicts on them three pass, so the pass rate is 3/4 - 1/2 too high."""
    rows = PassFailRows.from_values(
        [1, UNKNOWN, UNKNOWN, 1, 0, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 3, 2], [0, 0, 1, 2, 3, 2]
    )
    rates, true = pass_fail_rates(rows), true_pass_rate(rows)
    assert rates.base_rate.value == 0.25  # of the readable verdicts
    assert (true.value, true.n, true.items) == (0.5, 4, 4)
    excess = PassFailResult(rates, true, true, None).excess
    assert excess.value == pytest.approx(0.75 - 0.5) and excess.low < 0.25 < excess.high
    # With two more answers without a label, of which .8 are good: (4 * .5 + 2 * .8) / 6.
    more = PassFailRows.from_values(
        [*rows.verdict, 1, 1, 0, UNKNOWN], [*rows.label, *[UNKNOWN] * 4],
        [*rows.item, 4, 4, 5, 6], [*rows.answer, 4, 4, 5, 6],
    )  # fmt: skip
    assert pooled_pass_rate(more, Estimate(0.8, 0.7, 0.9, 3, 2)).value == pytest.approx(0.6)


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


def test_the_p_value_of_two_tests_without_a_difference_is_one():
    # Sensitivity 40 of 80 and 41 of 82, specificity 20 of 40 and 21 of 42: each p is 1, twice is 2.
    one, like = rows_of(40, 20, 40, 20), rows_of(41, 21, 41, 21)
    assert equal_errors_p_value([one, like]) == 1.0


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


# -- sums of independent estimates, and corrections, by hand ---------------------------------------


def test_youdens_index_by_hand():
    # .9 (.8 to .95) and .7 (.6 to .8): .6; below √(.1² + .1²), above √(.05² + .1²).
    one, two = Estimate(0.9, 0.8, 0.95, 100, 90), Estimate(0.7, 0.6, 0.8, 40, 30)
    got = youden_index(one, two, 95)
    assert (got.value, got.low, got.high) == pytest.approx(
        (0.6, 0.6 - math.hypot(0.1, 0.1), 0.6 + math.hypot(0.05, 0.1))
    )
    assert (got.n, got.items, got.unit) == (140, 95, "share")
    assert youden_index(replace(one, low=None), two, 95).low is None
    assert youden_index(replace(one, low=None), two, 95).high == got.high
    assert youden_index(one, replace(two, high=None), 95).high is None
    assert youden_index(Estimate(None), two, 95).value is None
    assert youden_index(one, Estimate(None), 95).value is None
    wide = youden_index(Estimate(0.9, 0.0, 1.0, 2, 2), Estimate(0.9, 0.0, 1.0, 2, 2), 2)
    assert wide.high == pytest.approx(0.8 + math.hypot(0.1, 0.1)) and wide.low > -1
    best = youden_index(Estimate(0.9, 0.5, 1.1, 2, 2), Estimate(1.0, 0.5, 1.2, 2, 2), 2)
    assert best.high == 1.0
    worst = youden_index(Estimate(0.0, 0.0, 1.0, 2, 2), Estimate(0.1, 0.0, 1.0, 2, 2), 2)
    assert worst.low == -1.0


def test_a_weighted_sum_of_independent_estimates_by_hand():
    # ¼·.4 + ¾·.8 = .7; below √((¼·.1)² + (¾·.2)²), above √((¼·.2)² + (¾·.1)²).
    parts = [(0.25, Estimate(0.4, 0.3, 0.6, 10, 5)), (0.75, Estimate(0.8, 0.6, 0.9, 20, 8))]
    got = combine_independent(parts, 11, "share", "by hand", "why")
    assert (got.value, got.low, got.high) == pytest.approx(
        (0.7, 0.7 - math.hypot(0.025, 0.15), 0.7 + math.hypot(0.05, 0.075))
    )
    assert (got.n, got.items, got.unit, got.method, got.note) == (30, 11, "share", "by hand", "why")
    open_end = combine_independent([parts[0], (0.75, Estimate(0.8, None, 0.9))], 11, "", "")
    assert open_end.low is None and open_end.high == pytest.approx(got.high)


def test_an_item_with_a_good_and_a_bad_answer_is_one_item():
    """Four items, each with a good and a bad answer; two of them also with one without a label."""
    rows = PassFailRows.from_values(
        [1, 0] * 4 + [1, 1], [1, 0] * 4 + [UNKNOWN] * 2, [0, 0, 1, 1, 2, 2, 3, 3, 0, 4]
    )
    found = pass_fail_rates(rows)
    assert (found.youden.n, found.youden.items) == (8, 4)
    assert (found.kappa.items, found.base_rate.items) == (4, 4)
    pooled = pooled_pass_rate(rows, Estimate(0.5, 0.2, 0.8, 2, 2))
    assert (pooled.n, pooled.items) == (10, 5)


def test_rates_without_labels_or_passes_say_why():
    nothing = pass_fail_rates(rows_of(0, 0, 0, 0, unlabelled=(3, 1)))
    for name in ("sensitivity", "precision", "agreement", "kappa", "base_rate", "youden"):
        one = getattr(nothing, name)
        assert one.value is None and one.note, name
    for name in ("precision", "agreement", "kappa", "base_rate"):
        assert getattr(nothing, name).note == NO_LABEL_NOTE
    assert nothing.observed_pass_rate.value == 0.75
    assert nothing.confusion.total == 0
    failed = pass_fail_rates(rows_of(0, 0, 3, 4))
    assert failed.precision.value is None and "passed" in failed.precision.note
    assert failed.agreement.value == pytest.approx(4 / 7)
    assert (failed.sensitivity.value, failed.specificity.value) == (0, 1)
    assert failed.kappa.value == 0
    alike = pass_fail_rates(rows_of(4, 0, 0, 0))
    assert alike.kappa.value is None and alike.kappa.note


def test_kappa_of_pass_and_fail_has_the_interval_of_its_jackknife():
    # 4 1 / 2 3 of ten items: seen .7, chance .5, κ .4; leaving out each item in turn.
    table = {"pass_good": 4, "pass_bad": 1, "fail_good": 2, "fail_bad": 3}

    def kappa(pg: int, pb: int, fg: int, fb: int) -> float:
        n = pg + pb + fg + fb
        seen = (pg + fb) / n
        chance = ((pg + pb) * (pg + fg) + (fg + fb) * (pb + fb)) / n**2
        return (seen - chance) / (1 - chance)

    counts = list(table.values())
    left = []
    for place, n in enumerate(counts):
        left += [kappa(*(c - (k == place) for k, c in enumerate(counts)))] * n
    error = math.sqrt(9 / 10 * sum((x - np.mean(left)) ** 2 for x in left))
    got = pass_fail_rates(rows_of(*counts)).kappa
    assert got.value == pytest.approx(0.4) == kappa(*counts)
    half = stats.t.ppf(0.975, 9) * error
    assert (got.low, got.high) == pytest.approx(
        (max(got.value - half, -1), min(got.value + half, 1))
    )


def test_three_contestants_are_compared_by_the_likelihood_ratio():
    passes, answers = np.array([30, 20, 25]), 40
    rows = [rows_of(k, 0, answers - k, 0) for k in passes]
    seen = np.concatenate([passes, answers - passes])
    expected = np.repeat([passes.mean(), answers - passes.mean()], 3)
    ratio = 2 * (seen * np.log(seen / expected)).sum()
    assert equal_errors_p_value(rows) == pytest.approx(stats.chi2.sf(ratio, 2))
    # Equal verdicts everywhere leave nothing to test; one contestant neither.
    assert equal_errors_p_value([rows_of(5, 0, 0, 0), rows_of(7, 0, 0, 0)]) is None
    assert equal_errors_p_value(rows[:1]) is None


def test_answers_with_different_verdicts_are_permuted():
    # Shares of passes 1, ½ against 0, ½, 0: by hand, 10 ways to choose the two; the spread is that
    # of the chosen sum s (total 2): s²/2 + (2 − s)²/3. Observed 1.5; as large: s = 1.5 (twice), 0.
    one = PassFailRows.from_values([1, 1, 1, 0], [1] * 4, [0, 0, 1, 1])
    two = PassFailRows.from_values([0, 0, 1, 0, 0, 0], [1] * 6, [0, 0, 1, 1, 2, 2])
    spreads = []
    shares = [1, 0.5, 0, 0.5, 0]
    for i in range(5):
        for j in range(i):
            s = shares[i] + shares[j]
            spreads.append(s**2 / 2 + (2 - s) ** 2 / 3)
    wanted = np.mean([x >= 1.5**2 / 2 + 0.5**2 / 3 - 1e-9 for x in spreads])
    assert equal_errors_p_value([one, two]) == pytest.approx(wanted, abs=0.04)


def test_very_many_answers_are_compared_by_the_f_test():
    rng = np.random.default_rng(4)
    shares = [rng.integers(0, 3, 1100) / 2, rng.integers(0, 3, 1000) / 2]
    rows = [
        PassFailRows.from_values(
            np.stack([own > 0, own > 0.5], axis=1).ravel(),
            np.ones(2 * len(own)),
            np.repeat(np.arange(len(own)), 2),
        )
        for own in shares
    ]
    assert equal_errors_p_value(rows) == pytest.approx(stats.f_oneway(*shares)[1])


def test_corrected_limits_are_those_of_lang_and_reiczigel():
    # Lang and Reiczigel (2014): .6 of 1,000 with sensitivity .9 of 100 and specificity .8 of 100.
    # Adjusted .599617, 91/102 and 81/102: J .686275, centre .573728, shift −.001092, se .042254.
    rows = rows_of(90, 20, 10, 80, unlabelled=(600, 400))
    got = corrected_pass_rate(rows.select(rows.label == UNKNOWN), rows.labelled)
    assert got.value == pytest.approx(0.4 / 0.7)
    assert (got.n, got.items) == (1000, 1000)
    assert (got.low, got.high) == pytest.approx((0.48982, 0.65545), abs=2e-4)


def test_exchanging_pass_and_fail_mirrors_the_corrected_rate():
    one = true_pass_rate(rows_of(45, 8, 5, 32, unlabelled=(130, 70)))
    two = true_pass_rate(rows_of(32, 5, 8, 45, unlabelled=(70, 130)))
    assert (one.value, one.low, one.high) == pytest.approx(
        (1 - two.value, 1 - two.high, 1 - two.low), abs=1e-9
    )
    assert one.n == two.n == 290


def test_judges_are_corrected_only_above_both_limits():
    rates = pass_fail_rates(rows_of(90, 20, 10, 80))

    def refused(value: float | None, low: float | None) -> bool:
        return bool(why_not_correctable(replace(rates, youden=Estimate(value, low, 1.0))))

    assert not refused(0.2, 0.07) and not refused(0.9, 0.061)
    assert refused(0.19, 0.1) and refused(0.5, 0.06) and refused(0.5, None) and refused(None, None)


def test_a_share_outside_its_scale_is_clipped_with_a_note():
    inside = Estimate(0.5, -0.2, 1.2, 10, 5, "share", 0.9, "m", "why")
    got = clip_share(inside)
    assert (got.value, got.low, got.high, got.note) == (0.5, 0.0, 1.0, "why")
    assert (got.n, got.items, got.level, got.method) == (10, 5, 0.9, "m")
    for outside, limit in ((1.1, 1.0), (-0.1, 0.0)):
        cut = clip_share(Estimate(outside, None, None, 1, 1, note="why"))
        assert cut.value == limit and cut.low is None and cut.note.startswith("why; ")


def test_without_unlabelled_or_usable_verdicts_nothing_is_corrected():
    rows = rows_of(9, 2, 1, 8)
    assert true_pass_rate(rows) == pass_fail_rates(rows).base_rate
    assert true_pass_rate(rows_of(0, 0, 0, 0, unusable=2)).value is None
    assert prediction_powered_rate(rows).value is None
    assert prediction_powered_rate(rows_of(1, 0, 0, 0, unlabelled=(3, 3))).value is None
    assert prediction_powered_rate(rows_of(1, 1, 0, 0, unlabelled=(1, 0))).value is None
    assert prediction_powered_rate(rows_of(1, 1, 0, 0, unlabelled=(1, 1))).value is not None


def test_the_prediction_powered_rate_by_hand():
    # Labels: 6 of 10 good; 7 passes. Covariance E[yf] − .6·.7 = .5 − .42 = .08. Of 30 verdicts 22
    # pass: variance 22·8/900 (of 20 others 15). Weight .08/((1 + 10/20)·.195556) = .272727.
    rows = rows_of(5, 2, 1, 2, unlabelled=(15, 5))
    weight = 0.08 / (1.5 * 22 * 8 / 900)
    got = prediction_powered_rate(rows)
    value = 0.6 + weight * (0.75 - 0.7)
    assert (got.value, got.n, got.items) == (pytest.approx(value), 30, 30)
    # Residuals (y − .6) − w(f − .7), squared, over 10² and times 10/8; verdicts w²·15·5/20 over
    # 20²; the size of a share with this variance, by t with Satterthwaite's degrees of freedom.
    y = np.array([1] * 5 + [0] * 2 + [1] + [0] * 2)
    f = np.array([1] * 7 + [0] * 3)
    labelled = 10 / 8 * (((y - 0.6) - weight * (f - 0.7)) ** 2).sum() / 100
    whole = labelled + weight**2 * (15 * 5 / 20) / 400
    t = stats.t.ppf(0.975, 8 * (whole / labelled) ** 2)
    n = value * (1 - value) / whole * (stats.norm.ppf(0.975) / t) ** 2
    z2 = stats.norm.ppf(0.975) ** 2
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (value * (1 - value) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    assert (got.low, got.high) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_a_judge_that_always_passes_adds_nothing_to_the_labels():
    got = prediction_powered_rate(rows_of(6, 4, 0, 0, unlabelled=(20, 0)))
    assert got.value == pytest.approx(0.6)


def test_a_prediction_powered_rate_above_one_is_one():
    # 9 of 10 labels good, 6 of these passed; all 1,000 others passed: .9 + 1·(1 − .6) = 1.3.
    got = prediction_powered_rate(rows_of(6, 0, 3, 1, unlabelled=(1000, 0)))
    assert (got.value, got.high) == (1, 1) and "limit" in got.note
    size = 10 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 8)) ** 2
    assert got.low == pytest.approx(size / (size + stats.norm.ppf(0.975) ** 2))


def test_limits_of_a_corrected_rate_by_hand_and_none_for_a_judge_that_may_be_blind():
    """Shares .5 of 100, .9 of 50 and .7 of 50, by the formula of Lang and Reiczigel; with a
    sensitivity and a specificity of one half, J is 0."""
    p, n = 0.5, 100 + 1.959964**2
    se, sp, m = 46 / 52, 36 / 52, 52
    j = se + sp - 1
    centre = (p + sp - 1) / j
    a, b = se * (1 - se) / m, sp * (1 - sp) / m
    half = 1.959964 * math.sqrt((p * (1 - p) / n + centre**2 * a + (1 - centre) ** 2 * b) / j**2)
    middle = centre + 2 * 1.959964**2 * (centre * a - (1 - centre) * b)
    found = _lang_reiczigel_limits((0.5, 100), (0.9, 50), (0.7, 50))
    assert found == (pytest.approx(middle - half), pytest.approx(middle + half))
    for sensitivity, specificity in ((0.5, 0.5), (0.2, 0.3)):
        blind = _lang_reiczigel_limits((0.4, 9), (sensitivity, 50), (specificity, 50))
        assert blind == (-math.inf, math.inf)
