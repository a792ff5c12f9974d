"""Do nominal 95 % intervals of ratings and position terms cover, with 8, 20 and 64 items?

Judges are simulated as in docs/coverage.md: with probability `first_bias` the first slot; else
with probability `tie_rate` a tie; else the truly better answer with probability `accuracy`. Which
answer is truly better varies by item: quality is strength plus item noise of sd `item_sd`, and
repeats share their item's truth. Truth here is the estimator's limit over infinitely many items,
worked out exactly: the fit to the expected share of each ordered pair. `python -m
tests.soak.test_coverage_ratings` prints the table of docs/coverage.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from metrics.ratings import conditional_logit
from metrics.ratings.battles import Battles
from metrics.ratings.bradley_terry import ELO_PER_LOGIT, leaderboards_from_battles
from metrics.ratings.position_term import identified_design
from tests.soak.coverage_studies import ITEMS, SEEDS, Tally, shown, within


@dataclass(frozen=True)
class Setting:
    """One line of the grid. `pairs` per item: all of them, or one drawn at random; both orders."""

    name: str
    accuracy: float = 0.8
    first_bias: float = 0.3
    tie_rate: float = 0.1
    item_sd: float = 1.0
    repeats: int = 1
    contestants: int = 4
    pairs: str = "all"

    @property
    def strength(self) -> np.ndarray:
        return np.linspace(0.6, -0.6, self.contestants)

    def share(self, first: int, second: int) -> float:
        """Expected outcome of the first shown, over all items."""
        gap = self.strength[first] - self.strength[second]
        better = norm.cdf(gap / (self.item_sd * np.sqrt(2))) if self.item_sd else float(gap > 0)
        right = self.accuracy * better + (1 - self.accuracy) * (1 - better)
        judged = self.tie_rate / 2 + (1 - self.tie_rate) * right
        return float(self.first_bias + (1 - self.first_bias) * judged)


GRID = [
    Setting("plain"),
    Setting("no bias", first_bias=0.0),
    Setting("strong bias", first_bias=0.6),
    Setting("weak judge", accuracy=0.6),
    Setting("sharp judge", accuracy=0.95),
    Setting("no ties", tie_rate=0.0),
    Setting("many ties", tie_rate=0.4),
    Setting("no item effects", item_sd=0.0, accuracy=0.7),
    Setting("mild item effects", item_sd=0.5),
    Setting("strong item effects", item_sd=3.0),
    Setting("three repeats", repeats=3),
    Setting("two contestants, three repeats", contestants=2, repeats=3),
    Setting("two contestants", contestants=2),
    Setting("one pair per item", pairs="one", contestants=3, repeats=2),
]


def simulate(setting: Setting, items: int, rng: np.random.Generator) -> Battles:
    """One study: every pair (or one per item) in both orders, `repeats` times."""
    size = setting.contestants
    quality = setting.strength + setting.item_sd * rng.normal(size=(items, size))
    orders = np.array(list(permutations(range(size), 2)))
    item, order = np.divmod(np.arange(items * len(orders)), len(orders))
    first, second = orders[order].T
    if setting.pairs == "one":
        drawn = np.array([sorted(rng.choice(size, 2, replace=False)) for _ in range(items)])
        low, high = np.minimum(first, second), np.maximum(first, second)
        kept = (drawn[item, 0] == low) & (drawn[item, 1] == high)
        item, first, second = item[kept], first[kept], second[kept]
    item, first, second = (np.repeat(x, setting.repeats) for x in (item, first, second))
    n = len(item)
    better = quality[item, first] > quality[item, second]
    right = rng.random(n) < setting.accuracy
    outcome = np.where(better == right, 1.0, 0.0)
    outcome[rng.random(n) < setting.tie_rate] = 0.5
    outcome[rng.random(n) < setting.first_bias] = 1.0
    names = tuple("abcdefgh"[:size])
    zero = np.zeros(n, np.int64)
    return Battles(names, ("judge",), first, second, outcome, item, zero, zero + 1, items)


def limits(setting: Setting) -> tuple[float, float]:
    """Where the gap of the first two contestants (Elo) and γ go with ever more items.

    Newton on the expected shares of all ordered pairs, as exact fractional outcomes.
    """
    orders = list(permutations(range(setting.contestants), 2))
    share = np.array([setting.share(a, b) for a, b in orders])
    sign = np.zeros((len(orders), setting.contestants))
    for row, (a, b) in enumerate(orders):
        sign[row, a], sign[row, b] = 1.0, -1.0
    design = sign @ conditional_logit.zero_sum_basis(setting.contestants)
    placed = np.column_stack([design, np.ones(len(orders))])
    gap = np.array([1.0, -1.0] + [0.0] * (setting.contestants - 2))
    theta = conditional_logit.zero_sum_basis(setting.contestants) @ _newton(design, share)
    return float(gap @ theta) * ELO_PER_LOGIT, float(_newton(placed, share)[-1])


def _newton(design: np.ndarray, share: np.ndarray) -> np.ndarray:
    beta = np.zeros(design.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-design @ beta))
        information = design.T @ (design * (p * (1 - p))[:, None])
        beta = beta + np.linalg.solve(information, design.T @ (share - p))
    return beta


def coverage(setting: Setting, items: int) -> tuple[Tally, Tally]:
    """Of the gap between the first two contestants, and of the position term."""
    gap_limit, term_limit = limits(setting)
    gaps, terms = Tally(), Tally()
    for seed in range(SEEDS):
        data = simulate(setting, items, np.random.default_rng([items, seed]))
        board = next(
            (b for b in leaderboards_from_battles(data) if {"a", "b"} <= set(b.names)), None
        )
        if board is not None:
            gaps.add(board.gap("a", "b"), gap_limit)
        layout = identified_design(
            data, "half"
        )  # the γ of position_model, without its other results
        if layout is not None:
            terms.add(
                layout.position_term(conditional_logit.fit_conditional_logit(layout.problem), 0),
                term_limit,
            )
    return gaps, terms


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("setting", GRID, ids=lambda setting: setting.name)
def test_intervals_cover_the_limit_of_the_estimator(setting, items, capsys):
    with threadpool_limits(limits=1, user_api="blas"):
        gaps, terms = coverage(setting, items)
    with capsys.disabled():
        print(f"\n{_row(setting, items, gaps, terms)}", flush=True)
    assert within(gaps.share, gaps.given)
    assert within(terms.share, terms.given)
    assert max(gaps.withheld, terms.withheld) <= 0.1


def _row(setting: Setting, items: int, gaps: Tally, terms: Tally) -> str:
    """An interval that has no end on one side is not counted: its share stands beside."""
    cells = " | ".join(f"{shown(one.share)} | {one.withheld:.3f}" for one in (gaps, terms))
    return f"| {setting.name} | {items} | {cells} |"


def table() -> Iterator[str]:
    """Row by row as they are ready."""
    yield "| setting | items | gap | without end | position term | without end |"
    yield "|---|---|---|---|---|---|"
    for setting in GRID:
        for items in ITEMS:
            yield _row(setting, items, *coverage(setting, items))


if __name__ == "__main__":
    with threadpool_limits(limits=1, user_api="blas"):
        for line in table():
            print(line, flush=True)
