"""Alarms of the gate over a year without change, and nights until a drop of 10 points is found.

`python -m tests.soak.test_coverage_gate` prints the tables of docs/coverage.md; EVENHAND_SEEDS
is the number of series in each line.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.drift.simulated_nights import first_alarm, first_alarm_of_spread_drop
from tests.soak.coverage_studies import SEEDS

NIGHTS = 365
WEEK = 7
QUIET = ((50, 0.1), (100, 0.02), (100, 0.1), (100, 0.3))
"""(items, share of items whose verdict differs between two nights)"""
DROPS = (
    (50, 0.1, 1, 30), (100, 0.1, 1, 30), (100, 0.3, 1, 30), (200, 0.1, 1, 30), (100, 0.1, 1, 300),
    (100, 0.1, 5, 1), (200, 0.1, 5, 1), (100, 0.1, 3, 1), (100, 0.1, 2, 1), (100, 0.1, 1, 1),
    (200, 0.1, 1, 1), (100, 0.02, 1, 1), (50, 0.1, 1, 1), (100, 0.3, 1, 1), (100, 0.1, 1, 2),
    (100, 0.1, 1, 4),
)  # fmt: skip
"""(items, noise, nights of the baseline, night of the drop)"""
SPREAD_DROPS = ((1, 1), (2, 1), (3, 1), (5, 1), (10, 1), (1, 30), (5, 30))
"""(nights of the baseline, night of a drop that is spread over all items)"""
FOUND = {
    line for line in DROPS if line[0] >= 100 and line[1] <= 0.1 and line[2:] not in ((2, 1), (3, 1))
}
"""Lines that the promise covers: 100 items of which few vary, and a baseline of 1 or 5 nights."""


def quiet_share(items: int, noise: float, series: int) -> float:
    """Share of series without a change that alarm within a year."""
    rng = np.random.default_rng([items, round(100 * noise)])
    alarms = [first_alarm(rng, items=items, noise=noise, nights=NIGHTS) for _ in range(series)]
    return sum(alarm is not None for alarm in alarms) / series


def nights_to_find(
    items: int, noise: float, baseline: int, at: int, series: int
) -> tuple[float, float | None]:
    """(share of drops found within a week, median night of the alarm among them)."""
    rng = np.random.default_rng([items, round(100 * noise), baseline, at])
    alarms = [
        first_alarm(
            rng, items=items, noise=noise, nights=at + WEEK - 1, baseline=baseline, drop_at=at,
            drop=0.1,
        )
        for _ in range(series)
    ]  # fmt: skip
    found = [alarm - at + 1 for alarm in alarms if alarm is not None and alarm >= at]
    return len(found) / series, float(np.median(found)) if found else None


def spread_drops_found(baseline: int, at: int, series: int) -> float:
    """Share of drops by 10 points, spread over all of 100 items, that are found within a week."""
    rng = np.random.default_rng([92, baseline, at])
    alarms = [
        first_alarm_of_spread_drop(
            rng, items=100, nights=at + WEEK - 1, baseline=baseline, drop_at=at, drop=0.1
        )
        for _ in range(series)
    ]
    return sum(alarm is not None and alarm >= at for alarm in alarms) / series


def test_five_baseline_nights_find_a_spread_drop_that_one_misses() -> None:
    series = min(SEEDS, 60)
    assert spread_drops_found(5, 1, series) >= 0.7 - 3 * (0.21 / series) ** 0.5
    assert spread_drops_found(1, 1, series) <= 0.3


def limit(share: float, series: int) -> float:
    """Three standard errors above a share."""
    return share + 3 * (share * (1 - share) / series) ** 0.5


@pytest.mark.parametrize(("items", "noise"), QUIET)
def test_few_years_without_change_have_an_alarm(items: int, noise: float) -> None:
    series = min(SEEDS, 100)
    assert quiet_share(items, noise, series) <= limit(0.05, series)


@pytest.mark.parametrize(("items", "noise", "baseline", "at"), sorted(FOUND))
def test_a_drop_of_ten_points_is_found_in_a_week(
    items: int, noise: float, baseline: int, at: int
) -> None:
    series = min(SEEDS, 60)
    share, _ = nights_to_find(items, noise, baseline, at, series)
    assert share >= 0.9 - 3 * (0.09 / series) ** 0.5


def print_tables(series: int) -> None:
    print(f"| items | noise floor | series that alarm in {NIGHTS} nights |\n|---|---|---|")
    for items, noise in QUIET:
        print(f"| {items} | {noise:.0%} | {quiet_share(items, noise, series):.3f} |", flush=True)
    print("\n| baseline nights | drop at night | found in 7 nights |\n|---|---|---|")
    for baseline, at in SPREAD_DROPS:
        print(f"| {baseline} | {at} | {spread_drops_found(baseline, at, series):.2f} |", flush=True)
    print(
        "\n| items | noise floor | baseline nights | drop at night | found in 7 nights | median |"
    )
    print("|---|---|---|---|---|---|")
    for items, noise, baseline, at in DROPS:
        share, median = nights_to_find(items, noise, baseline, at, series)
        shown = "–" if median is None else f"{median:g}"
        print(f"| {items} | {noise:.0%} | {baseline} | {at} | {share:.2f} | {shown} |", flush=True)


if __name__ == "__main__":
    print_tables(SEEDS)
