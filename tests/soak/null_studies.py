"""Studies without any effect: coin judges, no position effect, equal models, missing verdicts.

Whatever a sentence claims about such a study is false. `first`, `lead` and `coins` add an effect,
to show that a claim is seen where it is true. Rows are those of
`tests.voted_studies.save`: (item, judge, prompt, shown, picked contestant, orders).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from metrics.position.order_tests import item_sign_test

Row = tuple[str, str, str, tuple[str, ...], Any, int]


@dataclass(frozen=True)
class NullStudy:
    """Judges on pairs of equally good models; content decides by item, position never.

    `sharp`: how clearly a judge sees which answer to an item is better (0: a coin). Items differ in
    which one that is, so that verdicts on one item are alike. `lost` and `lost_second`: shares of
    all replies, and of those for the second slot, that cannot be read.
    """

    name: str
    judges: int = 4
    items: int = 36
    models: int = 3
    categories: int = 6
    sharp: float = 1.5
    ties: float = 0.1
    lost: float = 0.0
    lost_second: float = 0.0
    voters: int = 0
    known: bool = False
    """Whether the first model is recorded as the better answer to every item."""
    first: float = 0.0
    """Effect of the first position on the log odds."""
    lead: float = 0.0
    """Advantage of the first model over the second, of the second over the third and so on."""
    coins: tuple[str, ...] = ()
    """Judges and voters that choose at random."""

    def rows(self, seed: int) -> list[Row]:
        """Draw one study; voters are drawn as judges are, so that none is closer to people."""
        draw = np.random.default_rng([seed, len(self.name)])
        names = "abcdefgh"[: self.models]
        found: list[Row] = []
        for k in range(self.items):
            values = self.sharp * draw.normal(size=self.models) - self.lead * np.arange(self.models)
            worth = dict(zip(names, values, strict=True))
            for pair in combinations(names, 2):
                for judge in range(self.judges):
                    for shown in (pair, pair[::-1]):
                        picked = self._pick(f"j{judge}", shown, worth, draw)
                        found.append((f"q{k}", f"j{judge}", "p", shown, picked, 2))
                for voter in range(self.voters):
                    picked = self._choose(f"v{voter}", pair, worth, draw)
                    found.append((f"q{k}", f"human:v{voter}", "vote", pair, picked, 1))
        return found

    def _choose(self, who: str, shown: tuple[str, ...], worth: dict[str, float], draw: Any) -> str:
        if draw.random() < self.ties:
            return "tie"
        odds = 0.0 if who in self.coins else worth[shown[0]] - worth[shown[1]] + self.first
        first = 1 / (1 + np.exp(-odds))
        return shown[0] if draw.random() < first else shown[1]

    def _pick(
        self, judge: str, shown: tuple[str, ...], worth: dict[str, float], draw: Any
    ) -> str | None:
        picked = self._choose(judge, shown, worth, draw)
        chance = self.lost + self.lost_second * (picked == shown[1])
        return None if draw.random() < chance else picked

    def design(self) -> dict[str, str] | None:
        return {f"q{k}": "a" for k in range(self.items)} if self.known else None

    def category_of(self) -> dict[str, str]:
        return {f"q{k}": f"c{k % self.categories}" for k in range(self.items)}


COINS = NullStudy("coin judges", sharp=0.0, ties=1 / 3)
NO_POSITION = NullStudy("no position effect")
MISSING = NullStudy("missing at random", lost=0.1)
MISSING_SECOND = NullStudy("missing not at random", lost_second=0.3)
EIGHT_JUDGES = NullStudy("eight equal judges", judges=8, items=20)
PEOPLE = NullStudy("judges that vote as people do", judges=3, voters=3, items=24)


@dataclass(frozen=True)
class LeanScreen:
    """Smallest p-values of a drawn study, computed from its rows alone, with the correction of
    Holm's first step: a preference can be significant only if one of them is below .05.

    Most null studies are decided by this screen, which takes a hundredth of the time of the page's
    computation. `test_the_screen_has_the_p_values_of_the_page` compares the two.
    """

    rows: float
    categories: float
    models: float
    consistency: float
    """Share of pairs with the same verdict in both orders, minus that of random choices."""

    @property
    def passes(self) -> bool:
        return min(self.rows, self.categories, self.models) < 0.05

    @property
    def may_be_inconsistent(self) -> bool:
        """Whether an interval of the consistency can lie below chance: with 432 pairs and the least
        possible design effect (0.3) its half-width is .024."""
        return self.consistency < -0.02


def screen(study: NullStudy, rows: list[Row]) -> LeanScreen:
    """Screen the rows of a drawn study."""
    seen: dict[tuple[str, str, tuple[str, ...]], dict[bool, Any]] = {}
    for item, judge, _, shown, picked, orders in rows:
        if orders == 2:
            pair = tuple(sorted(shown))
            slot = {shown[0]: 1, shown[1]: -1, "tie": 0}.get(picked)
            seen.setdefault((item, judge, pair), {})[shown == pair] = (slot, picked)
    leans: dict[tuple[str, ...], dict[str, int]] = {}
    category, same, picks = study.category_of(), [], []
    for (item, judge, pair), both in seen.items():
        (one, first), (two, second) = both[True], both[False]
        complete = one is not None and two is not None
        lean = int(np.sign(one + two)) if complete else 0
        if complete:
            same.append(first == second)
            picks += [first, second]
        for cell in ((judge,), (judge, category[item]), (judge, "", *pair)):
            by_item = leans.setdefault(cell, {})
            by_item[item] = by_item.get(item, 0) + lean
    p = {cell: item_sign_test(list(one.values())).p or 0.0 for cell, one in leans.items()}
    sizes = {1: [], 2: [], 4: []}
    for cell, value in p.items():
        sizes[len(cell)].append(value)
    pairs = len({cell[2:] for cell in p if len(cell) == 4})
    ties = picks.count("tie") / len(picks)
    chance = ties**2 + (1 - ties) ** 2 / 2
    return LeanScreen(
        min(sizes[1]) * len(sizes[1]) / 0.79,
        min(sizes[2]) * len(sizes[2]) / 0.1,
        min(sizes[4]) * len(sizes[1]) * pairs / 0.1,
        sum(same) / len(same) - chance,
    )


TIED_GUESSES = NullStudy(
    "coin judges that tie in 20 %, better answers known", judges=2, sharp=0.0, ties=0.2, models=2,
    known=True,
)  # fmt: skip
GUESSES = NullStudy("coin judges, better answers known", sharp=0.0, ties=0.0, models=2, known=True)
EQUAL_MODELS = NullStudy("equal models", judges=2, models=4)
