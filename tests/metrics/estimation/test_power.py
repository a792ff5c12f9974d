"""Sample size planning: verdicts needed, detectable share, sequential testing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.estimation.planning import power as w
from studies.domain import Estimate


def test_the_design_effect_of_ten_verdicts_per_item():
    # Kish 1965: m = 10, ρ = .2: 1 + 9·.2 = 2.8.
    assert w.design_effect(10, 0.2) == pytest.approx(2.8)
    assert w.design_effect(1, 0.9) == 1
    assert w.design_effect(2, -1) == 0  # two orders that cancel exactly


@pytest.mark.parametrize(
    ("wins", "n", "value"),
    [(8, 10, 1.675781), (60, 100, 0.596072), (70, 100, 298.000166), (10, 10, 180.425781)],
)
def test_the_e_value_of_a_coin(wins, n, value):
    assert w.e_value(wins, n) == pytest.approx(value, abs=1e-6)


def test_looking_after_every_battle_seldom_alarms_on_a_fair_coin():
    # From n = 10: 2.3 % of fair-coin runs ever reach 20, where a fixed-n test alarms in 26.8 %.
    flips = np.random.default_rng(0).random((1000, 200)) < 0.5
    wins = np.cumsum(flips, axis=1)
    table = {(k, n): w.e_value(k, n) for n in range(10, 201, 1) for k in range(n + 1)}
    alarms = sum(
        any(table[(int(row[n - 1]), n)] >= w.E_VALUE_THRESHOLD for n in range(10, 201))
        for row in wins
    )
    assert 0.01 < alarms / 1000 < 0.04


def test_looking_at_a_fixed_n_test_after_every_battle_alarms_in_a_quarter_of_runs():
    # By simulation: the binomial test at each n = 10…200 raises a false alarm in 26.8 %.
    wins = np.cumsum(np.random.default_rng(0).random((4000, 200)) < 0.5, axis=1)[:, 9:]
    n = np.arange(10, 201)
    fewer = np.minimum(wins, n - wins)
    p = np.minimum(1, 2 * stats.binom.cdf(fewer, n, 0.5))
    assert (p < 0.05).any(axis=1).mean() == pytest.approx(0.268, abs=0.02)


def test_half_width_shrinks_with_the_root_of_n():
    now = Estimate(0.6, 0.5, 0.7, n=100)
    assert w.half_width_after_more_verdicts(now, 300) == pytest.approx(0.05)
    assert w.half_width_after_more_verdicts(now, 0) == pytest.approx(0.1)
    assert w.half_width_after_more_verdicts(Estimate(None), 10) is None


def test_new_items_also_bring_a_smaller_t():
    # 10 → 40 items: t falls from 2.2622 to 2.0227, on top of the halving.
    now = Estimate(0.6, 0.5, 0.7, n=100, items=10)
    assert w.half_width_after_more_verdicts(now, 300) == pytest.approx(
        0.05 * 2.022691 / 2.262157, abs=1e-7
    )


def test_asking_the_same_items_again_teaches_less():
    # 20 items of 10, ρ = .2: deff 2.8, of 20 4.8. Variance: (4.8/400)/(2.8/200) = .857 of it.
    now = Estimate(0.6, 0.5, 0.7, n=200, items=20)
    assert w.half_width_after_more_verdicts(now, 200, 0.2) == pytest.approx(
        0.1 * (4.8 / 400 / (2.8 / 200)) ** 0.5
    )
    # For ever more it stops at ρ per item: √(.2·10/2.8) = .845 of what it was.
    assert w.half_width_after_more_verdicts(now, 10**9, 0.2) == pytest.approx(0.0845, abs=1e-4)
    # Independent verdicts gain in full.
    assert w.half_width_after_more_verdicts(now, 600, 0.0) == pytest.approx(0.05)


@pytest.mark.parametrize(("n", "share"), [(783, 0.55), (194, 0.60), (85, 0.65), (29, 0.75)])
def test_the_detectable_share_of_a_number_of_battles(n, share):
    assert w.detectable_share(n) == pytest.approx(share, abs=5e-4)


def test_too_few_battles_detect_nothing():
    assert w.detectable_share(2) is None


def test_other_levels_of_power_and_error():
    # z of 90 %: 1.2816; z of 5 % two-sided at 10 %: 1.6449. p = .6: (.8224 + 1.2816·.4899)²/.01.
    assert w.detectable_share(211, power=0.9, alpha=0.1) == pytest.approx(0.6, abs=1e-3)
    # A share of 1 has no variance: (1.96/2/.5)² = 3.84, so 4.
    assert w.detectable_share(4) is not None and w.detectable_share(3) is None


def test_a_planned_width_needs_an_interval_and_verdicts():
    assert w.half_width_after_more_verdicts(Estimate(0.6, 0.5, None, n=10), 10) is None
    assert w.half_width_after_more_verdicts(Estimate(0.6, None, 0.7, n=10), 10) is None
    assert w.half_width_after_more_verdicts(Estimate(0.6, 0.5, 0.7, n=0), 10) is None
    # One item has no t quantile to shrink with; no items ignore a correlation.
    assert w.half_width_after_more_verdicts(Estimate(0.6, 0.5, 0.7, 100, 1), 300) == pytest.approx(
        0.05
    )
    assert w.half_width_after_more_verdicts(
        Estimate(0.6, 0.5, 0.7, 100, 0), 300, 0.5
    ) == pytest.approx(0.05)
    # Two verdicts per item that cancel exactly have a design effect of 0 now.
    assert w.half_width_after_more_verdicts(
        Estimate(0.6, 0.5, 0.7, 40, 20), 120, -1.0
    ) == pytest.approx(0.05)


def test_the_e_value_of_few_and_of_very_many_battles():
    assert w.e_value(0, 0) == pytest.approx(1)
    assert w.e_value(1, 1) == pytest.approx(1)  # B(3/2, 1/2)/B(1/2, 1/2)·2 = ½·2
    assert w.e_value(2, 2) == pytest.approx(1.5)  # 3/8·4
    assert w.e_value(0, 2) == w.e_value(2, 2)
    assert w.e_value(10_000, 10_000) == pytest.approx(np.exp(700))
