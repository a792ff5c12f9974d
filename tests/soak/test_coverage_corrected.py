"""Do people's win rates cover when a judge's verdicts help, however good or bad the judge is?

A study: many items, one or three pairs each, judged in both orders; people voted on a random part
of the items. What people think of a pair is a probability that varies by item; the judge sees it
through `insight` (0: not at all, 1: as clearly as people) and favours the contestant by `bias`.
Truth is the people's win rate over infinitely many items. `python -m
tests.soak.test_coverage_corrected` prints the table of docs/coverage.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from metrics.win_rates.prediction_powered import correct_votes_with_verdicts
from tests.soak.coverage_studies import SEEDS, Tally, shown, within

STUDIES = 2 * SEEDS
VOTED = (20, 64)


@dataclass(frozen=True)
class Setting:
    """One line: how the judge sees what people see, and how they voted."""

    name: str
    insight: float = 1.0
    bias: float = 0.0
    strength: float = 0.4
    spread: float = 1.5
    pairs: int = 1
    voters: int = 1
    items: int = 400

    @property
    def limit(self) -> float:
        """The people's win rate: E σ(strength + spread·z)."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        return float(expit(self.strength + self.spread * nodes) @ weights / weights.sum())


GRID = [
    Setting("a judge like people"),
    Setting("a biased judge", bias=1.0),
    Setting("a judge of little insight", insight=0.3),
    Setting("a judge of no insight", insight=0.0),
    Setting("a judge against people", insight=-0.7),
    Setting("three voters", voters=3),
    Setting("three pairs per item", pairs=3),
    Setting("few more items than votes", items=100),
    Setting("one-sided", strength=2.5),
    Setting("people agree on every pair", spread=6.0, voters=3),
]


def study(setting: Setting, voted: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """(votes, verdicts, item) of every case; nan where nobody voted."""
    shape = (setting.items, setting.pairs)
    # What an item's pairs share is two thirds of what varies between pairs.
    seen = np.sqrt(2 / 3) * rng.normal(size=(setting.items, 1))
    seen = (
        seen + np.sqrt(1 / 3) * rng.normal(size=shape)
        if setting.pairs > 1
        else rng.normal(size=shape)
    )
    people = expit(setting.strength + setting.spread * seen)
    judge = expit(setting.strength + setting.bias + setting.spread * setting.insight * seen)
    votes = rng.binomial(setting.voters, people) / setting.voters
    verdicts = rng.binomial(2, judge) / 2
    votes[voted:] = np.nan
    item = np.broadcast_to(np.arange(setting.items)[:, None], shape)
    return votes.ravel(), verdicts.ravel(), item.ravel()


@dataclass(frozen=True)
class Line:
    """Coverage by people alone and with help, and how many times the votes the help is worth."""

    people: float
    helped: float
    judge: float
    worth: float
    widest: float


def coverage(setting: Setting, voted: int, seeds: int) -> Line:
    people, helped, judge = Tally(), Tally(), Tally()
    worth, widest, truth = [], 0.0, setting.limit
    for seed in range(seeds):
        got = correct_votes_with_verdicts(
            *study(setting, voted, np.random.default_rng([voted, seed]))
        )
        people.add(got.people, truth)
        helped.add(got.corrected, truth)
        judge.add(got.judge, truth)
        worth.append(got.worth or 1.0)
        widest = max(widest, worth[-1] ** -0.5)
    return Line(people.share, helped.share, judge.share, float(np.median(worth)), widest)


@pytest.mark.parametrize("voted", VOTED)
@pytest.mark.parametrize("setting", GRID, ids=lambda setting: setting.name)
def test_the_correction_covers_and_is_never_wider_than_people_alone(setting, voted, capsys):
    got = coverage(setting, voted, STUDIES)
    with capsys.disabled():
        print(f"\n{_row(setting, voted, got)}", flush=True)
    assert within(got.helped, STUDIES)
    assert got.widest <= 1.05


def _row(setting: Setting, voted: int, got: Line) -> str:
    cells = " | ".join(shown(share) for share in (got.people, got.helped, got.judge))
    return f"| {setting.name} | {voted} of {setting.items} | {cells} | {got.worth:.2f} |"


if __name__ == "__main__":
    print("| setting | items voted on | people alone | corrected | judge alone | worth |")
    print("|---|---|---|---|---|---|")
    for one in GRID:
        for size in VOTED:
            print(_row(one, size, coverage(one, size, STUDIES)), flush=True)
