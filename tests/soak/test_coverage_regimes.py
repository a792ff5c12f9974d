"""Do intervals cover where samples hardly vary, vary by items, have N options, or are people's?

The regimes of docs/coverage.md beyond the grid. `python -m tests.soak.test_coverage_regimes`
prints their table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from metrics.agreement.pairwise_agreement import PeopleVotes, agreement_among_votes, pair_agreement
from metrics.estimation.intervals import mean_estimate, proportions
from metrics.position.position_measures import SLOT_ENTROPY
from metrics.position.position_tallies import PooledEntropy, estimate_slot_entropy
from tests.soak.coverage_studies import Setting, Tally, shown, tolerance
from tests.soak.test_coverage_measures import coverage

STUDIES = int(os.environ.get("EVENHAND_SEEDS", "1000"))
ITEMS = (10, 20, 40)
TRUTH_ITEMS = 200_000

JUDGES = (
    Setting("near-perfect judges, one pair an item", accuracy=0.97, first_bias=0.03, tie_rate=0.0,
            difficulty_sd=0.5, lean_sd=0.5, contestants=2, rival=(0.93, 0.06)),
    Setting("near-perfect judges, three pairs an item", accuracy=0.97, first_bias=0.03,
            tie_rate=0.0, difficulty_sd=0.5, lean_sd=0.5, rival=(0.93, 0.06)),
    Setting("heavy item effects", item_sd=3.0, difficulty_sd=3.0, lean_sd=3.0),
)  # fmt: skip


# -- N options -------------------------------------------------------------------------------------


def draw_options(rng: np.random.Generator, items: int) -> np.ndarray:
    """Slots picked in four rotations of four options: content by item, a pull to the first slot."""
    worth, pull = rng.normal(size=(items, 4)), np.array([0.6, 0.2, 0.0, -0.2])
    turned = np.stack([np.roll(worth, k, axis=1) for k in range(4)], axis=1) + pull
    share = np.exp(turned) / np.exp(turned).sum(axis=2, keepdims=True)
    drawn = (rng.random((items, 4, 1)) > share.cumsum(axis=2)).sum(axis=2).clip(0, 3)
    return np.stack([(drawn == slot).sum(axis=1) for slot in range(4)], axis=1).astype(float)


def option_lines(items: int, studies: int) -> dict[str, Tally]:
    totals = draw_options(np.random.default_rng(1), TRUTH_ITEMS).sum(axis=0)
    statistic = PooledEntropy((4,))
    first, entropy = totals[0] / totals.sum(), float(statistic(np.append(totals, totals.sum())))
    found = {"first share": Tally(), "entropy": Tally()}
    rng = np.random.default_rng(items)
    for _ in range(studies):
        counts = draw_options(rng, items)
        one = np.zeros(items, np.int64)
        found["first share"].add(proportions(counts[:, 0], counts.sum(axis=1), one, 1)[0], first)
        sums = np.column_stack([counts, counts.sum(axis=1)])
        found["entropy"].add(estimate_slot_entropy(sums, statistic, SLOT_ENTROPY), entropy)
    return found


# -- raters and people -----------------------------------------------------------------------------


def draw_votes(rng: np.random.Generator, cases: int, voters: int, error: float) -> np.ndarray:
    """Votes of people who miss the better answer with a probability that differs by case."""
    better = rng.integers(0, 2, (cases, 1))
    miss = 1 / (1 + (1 - error) / error * np.exp(-rng.normal(size=(cases, 1))))
    return np.where(rng.random((cases, voters)) < miss, 1 - better, better)


def agreement_truth(error: float) -> tuple[float, float]:
    votes = draw_votes(np.random.default_rng(2), TRUTH_ITEMS, 2, error)
    share = float((votes[:, 0] == votes[:, 1]).mean())
    ones = float(votes.mean())
    return share, 1 - (1 - share) / (2 * ones * (1 - ones))


def people_lines(items: int, studies: int) -> dict[str, Tally]:
    """Three people on each item."""
    share, alpha = agreement_truth(0.2)
    found = {"two people": Tally(), "alpha": Tally()}
    rng, case = np.random.default_rng(items), np.repeat(np.arange(items), 3)
    voter = np.tile(np.arange(3), items)
    for _ in range(studies):
        votes = draw_votes(rng, items, 3, 0.2).ravel().astype(np.int64)
        got = agreement_among_votes(PeopleVotes(case, items, case, voter, votes)).pair
        found["two people"].add(got.share, share)
        found["alpha"].add(got.alpha, alpha)
    return found


def rater_lines(items: int, studies: int) -> dict[str, Tally]:
    """Two raters who seldom disagree, one case an item."""
    share, alpha = agreement_truth(0.04)
    found = {"agreement": Tally(), "kappa": Tally(), "alpha": Tally()}
    rng, item = np.random.default_rng(items), np.arange(items)
    for _ in range(studies):
        votes = draw_votes(rng, items, 2, 0.04).astype(np.int64)
        got = pair_agreement(votes[:, 0], votes[:, 1], item)
        for name, one in (("agreement", got.share), ("kappa", got.kappa), ("alpha", got.alpha)):
            found[name].add(one, share if name == "agreement" else alpha)
    return found


def order_effect_lines(items: int, studies: int) -> dict[str, Tally]:
    """The noise-corrected order effect of one pair an item, two replies in each order."""
    rng, found = np.random.default_rng(items), {"order effect": Tally()}

    def draw(count: int, source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        content, lean = source.normal(size=(2, count)) * 1.5
        return 1 / (1 + np.exp(-content - lean)), 1 / (1 + np.exp(-content + lean))

    one, two = draw(TRUTH_ITEMS, np.random.default_rng(3))
    truth = float(((one - two) ** 2).mean())
    for _ in range(studies):
        replies = [source[:, None] > rng.random((items, 2)) for source in draw(items, rng)]
        across = np.mean([replies[0][:, a] != replies[1][:, b] for a in (0, 1) for b in (0, 1)], 0)
        within = np.mean([part[:, 0] != part[:, 1] for part in replies], axis=0)
        found["order effect"].add(
            mean_estimate(across - within, np.arange(items), bounds=(-1, 1)), truth
        )
    return found


@dataclass(frozen=True)
class Regime:
    name: str
    lines: Callable[[int, int], dict[str, Tally]]


def judge_lines(setting: Setting) -> Callable[[int, int], dict[str, Tally]]:
    return lambda items, studies: coverage(setting, items, studies)


REGIMES = (
    *(Regime(setting.name, judge_lines(setting)) for setting in JUDGES),
    Regime("four options", option_lines),
    Regime("three people an item", people_lines),
    Regime("two raters who seldom disagree", rater_lines),
    Regime("two replies in each order", order_effect_lines),
)
EXCUSED = {("near-perfect judges, three pairs an item", 40): {"consistency"}}
"""Lines that may lie below 93 %: docs/coverage.md gives the reason."""


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("regime", REGIMES, ids=lambda regime: regime.name)
def test_intervals_cover_in_every_regime(regime, items, capsys):
    got = regime.lines(items, STUDIES)
    with capsys.disabled():
        print(f"\n{_row(regime, items, got)}", flush=True)
    excused = EXCUSED.get((regime.name, items), set())
    least = 0.93 - tolerance(STUDIES)
    low = {name: tally.share for name, tally in got.items() if tally.share < least}
    assert {name: value for name, value in low.items() if name not in excused} == {}


def _row(regime: Regime, items: int, got: dict[str, Tally]) -> str:
    shares = ", ".join(f"{name} {shown(tally.share)}" for name, tally in got.items())
    return f"| {regime.name} | {items} | {shares} |"


def table() -> Iterator[str]:
    yield "| regime | items | coverage |"
    yield "|---|---|---|"
    for regime in REGIMES:
        for items in ITEMS:
            yield _row(regime, items, regime.lines(items, STUDIES))


if __name__ == "__main__":
    for text in table():
        print(text, flush=True)
