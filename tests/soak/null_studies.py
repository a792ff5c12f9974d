"""Studies without any effect: coin judges, no position effect, equal models, missing verdicts.

Whatever a sentence claims about such a study is false. Rows are those of
`tests.voted_studies.save`: (item, judge, prompt, shown, picked contestant, orders).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

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

    def rows(self, seed: int) -> list[Row]:
        """Draw one study; voters are drawn as judges are, so that none is closer to people."""
        draw = np.random.default_rng([seed, len(self.name)])
        names = "abcdefgh"[: self.models]
        found: list[Row] = []
        for k in range(self.items):
            worth = dict(zip(names, self.sharp * draw.normal(size=self.models), strict=True))
            for pair in combinations(names, 2):
                for judge in range(self.judges):
                    for shown in (pair, pair[::-1]):
                        picked = self._pick(shown, worth, draw)
                        found.append((f"q{k}", f"j{judge}", "p", shown, picked, 2))
                for voter in range(self.voters):
                    picked = self._choose(pair, worth, draw)
                    found.append((f"q{k}", f"human:v{voter}", "vote", pair, picked, 1))
        return found

    def _choose(self, shown: tuple[str, ...], worth: dict[str, float], draw: Any) -> str:
        if draw.random() < self.ties:
            return "tie"
        first = 1 / (1 + np.exp(worth[shown[1]] - worth[shown[0]]))
        return shown[0] if draw.random() < first else shown[1]

    def _pick(self, shown: tuple[str, ...], worth: dict[str, float], draw: Any) -> str | None:
        picked = self._choose(shown, worth, draw)
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
GUESSES = NullStudy("coin judges, better answers known", sharp=0.0, ties=0.0, models=2, known=True)
EQUAL_MODELS = NullStudy("equal models", judges=2, models=4)
