"""The sequential test of nights: exact tails, a martingale by enumeration, alarms by simulation."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import norm

from metrics.drift.change_evidence import HORIZON, SHIFTS, ChangeEvidence, start_weight
from metrics.drift.exchangeable_tail import lower_tail_probability
from metrics.drift.night_history import StreamHistory
from tests.metrics.drift.simulated_nights import first_alarm


def test_one_earlier_night_gives_mcnemars_exact_test() -> None:
    # 7 items changed for the worse, 2 for the better: P(at most 2 better of 9).
    bags = [{0: 1, 60: 1}] * 9 + [{60: 2}] * 20
    tonight = [0] * 7 + [60] * 2 + [60] * 20
    assert lower_tail_probability(bags, tonight) == pytest.approx(
        sum(comb(9, k) for k in range(3)) / 2**9
    )


def test_the_tail_is_that_of_all_draws() -> None:
    bags = [{0: 1, 30: 2, 60: 1}, {0: 3, 60: 1}, {20: 1, 60: 3}, {60: 4}]
    tonight = [30, 0, 20, 60]
    total = hits = 0
    for draw in product(*([value for value, n in bag.items() for _ in range(n)] for bag in bags)):
        total += 1
        hits += sum(draw) <= sum(tonight)
    assert lower_tail_probability(bags, tonight) == pytest.approx(hits / total)
    assert lower_tail_probability([{60: 3}], [60]) == 1.0


def test_a_bet_is_fair_and_the_starts_share_one_unit() -> None:
    # The mean over uniform p-values, as an integral over z: p is the upper tail of z.
    z = np.linspace(-8, 16, 2_401)
    bets = np.array([ChangeEvidence().after(float(norm.sf(x))).started for x in z])
    means = (bets * norm.pdf(z)[:, None]).sum(axis=0) * (z[1] - z[0]) / start_weight(1)
    assert means == pytest.approx(np.ones(len(SHIFTS)), rel=0.001)
    assert sum(start_weight(night) for night in range(1, HORIZON + 1)) == pytest.approx(1)
    assert ChangeEvidence().e_value == pytest.approx(1)
    assert ChangeEvidence().after(0.5).e_value < 1.01


def test_history_survives_its_file() -> None:
    history = StreamHistory("accuracy").with_baseline({"a": "60", "b": "0"})
    night, longer = history.compare({"a": "0", "b": "60", "new": "60"})
    assert night.difference.items == 2 and night.p == pytest.approx(0.75)
    assert StreamHistory.from_data(longer.to_data()) == longer


@pytest.mark.extra
def test_few_series_without_change_alarm_and_drops_are_found() -> None:
    """A small version of tests/soak/test_coverage_gate.py, which prints the rates of docs."""
    rng = np.random.default_rng(26)
    quiet = [first_alarm(rng, items=40, noise=0.1, nights=120) for _ in range(12)]
    assert sum(alarm is not None for alarm in quiet) <= 2
    found = [
        first_alarm(rng, items=100, noise=0.1, nights=16, drop_at=10, drop=0.1) for _ in range(15)
    ]
    assert sum(alarm is not None and 10 <= alarm <= 16 for alarm in found) >= 12
