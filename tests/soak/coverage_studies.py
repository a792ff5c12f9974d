"""Simulated studies whose limits are known: what the coverage of intervals is measured on.

Judges are simulated as in docs/coverage.md: with probability `first_bias` the first slot; else
with probability `tie_rate` a tie; else the truly better answer with probability `accuracy`. Items
differ in three ways: which answer is truly better (quality is strength plus item noise of sd
`item_sd`), how hard that is to see (`difficulty_sd`, on the logit of accuracy) and how tempting the
first slot is (`lean_sd`, on the logit of first_bias). All judges of a study see the same items.
Truth is the estimator's limit over infinitely many items, in closed form.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.stats import norm

from metrics.position.position_measures import ACCURACY, CONSISTENCY, CONSISTENCY_KAPPA, FIRST_SHARE
from metrics.win_rates.win_rates import win_rate_measure
from studies.domain import STATUSES, Estimate
from studies.frames.frame import SEP, TIE

SEEDS = int(os.environ.get("EVENHAND_SEEDS", "1000"))
ITEMS = (8, 20, 64)
LOW, HIGH = 0.93, 0.97
WIN_RATE = win_rate_measure("a")


def tolerance(seeds: int) -> float:
    """Two standard errors of a coverage of .95 from so many seeds: .014 at 1,000, .007 at 4,000.

    The claim is about the true coverage; what is measured differs from it by luck.
    """
    return 2 * math.sqrt(0.95 * 0.05 / seeds)


def within(share: float, seeds: int) -> bool:
    """Whether a measured coverage agrees with 93–97 %."""
    return LOW - tolerance(seeds) <= share <= HIGH + tolerance(seeds)


def shown(share: float) -> str:
    """Three digits, bold where it is not within 93–97 %."""
    text = f"{share:.3f}".removeprefix("0")
    return text if LOW <= share <= HIGH else f"**{text}**"


@dataclass
class Tally:
    """How many intervals were given and covered, and where the values lay on average."""

    seeds: int = 0
    given: int = 0
    covered: int = 0
    width: float = 0.0

    def add(self, got: Estimate, truth: float) -> bool:
        self.seeds += 1
        if got.low is None or got.high is None:
            return False
        hit = bool(got.low - 1e-12 <= truth <= got.high + 1e-12)
        self.given += 1
        self.covered += hit
        self.width += got.high - got.low
        return hit

    @property
    def share(self) -> float:
        return self.covered / max(self.given, 1)

    @property
    def withheld(self) -> float:
        return 1 - self.given / max(self.seeds, 1)


@dataclass(frozen=True)
class Judge:
    accuracy: float
    first_bias: float
    tie_rate: float
    repeats: int = 1


@dataclass(frozen=True)
class Setting:
    """One line of the grid: a judge, others to compare it with, and the items."""

    name: str
    accuracy: float = 0.8
    first_bias: float = 0.3
    tie_rate: float = 0.1
    item_sd: float = 1.0
    difficulty_sd: float = 1.0
    lean_sd: float = 1.0
    repeats: int = 1
    contestants: int = 3
    rival: tuple[float, float] = (0.7, 0.2)
    """Accuracy and first_bias of the judge it is compared with."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judge of the line, and two others to compare it with."""
        own = Judge(self.accuracy, self.first_bias, self.tie_rate, self.repeats)
        return (
            own,
            replace(own, accuracy=self.rival[0], first_bias=self.rival[1]),
            replace(own, accuracy=0.85),
        )

    @property
    def strength(self) -> np.ndarray:
        return np.linspace(0.6, -0.6, self.contestants)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.contestants), 2))


GRID = [
    Setting("plain"),
    Setting("no bias", first_bias=0.0),
    Setting("strong bias", first_bias=0.6),
    Setting("weak judge", accuracy=0.6),
    Setting("sharp judge", accuracy=0.95, first_bias=0.1),
    Setting("no ties", tie_rate=0.0),
    Setting("many ties", tie_rate=0.4),
    Setting("no item effects", item_sd=0.0, difficulty_sd=0.0, lean_sd=0.0),
    Setting("strong item effects", item_sd=3.0, difficulty_sd=2.0, lean_sd=2.0),
    Setting("three repeats", repeats=3),
    Setting("two contestants", contestants=2),
    Setting("two contestants, no item effects", contestants=2, difficulty_sd=0.0, lean_sd=0.0),
    Setting("five contestants", contestants=5),
]


def shifted(share: float, sd: float, z: np.ndarray) -> np.ndarray:
    """A share moved on the logit scale; 0 and 1 stay where they are."""
    if share in (0.0, 1.0):
        return np.full_like(z, share)
    return 1 / (1 + (1 - share) / share * np.exp(-sd * z))


# -- one study -----------------------------------------------------------------------------------


def simulate(
    setting: Setting, items: int, seeds: range, rng: np.random.Generator, judges: int = 2
) -> pd.DataFrame:
    """One study per seed, all in one frame: every pair in both orders, `repeats` times.

    Study s is the judges "sL", "sR" and "sX". Axes: seed, judge, item, pair, order, repeat.
    """
    pairs = np.array(setting.pairs)
    count = len(seeds)
    shape = (count, judges, items, len(pairs), 2, setting.repeats)
    quality = setting.strength + setting.item_sd * rng.normal(
        size=(count, items, setting.contestants)
    )
    hard, tempting = rng.normal(size=(2, count, 1, items, 1, 1, 1))
    asked = setting.judges[:judges]
    accuracy, bias = (
        np.concatenate([shifted(getattr(j, what), sd, z) for j in asked], axis=1)
        for what, sd, z in (
            ("accuracy", setting.difficulty_sd, hard),
            ("first_bias", setting.lean_sd, tempting),
        )
    )
    second = quality[:, :, pairs[:, 0]] < quality[:, :, pairs[:, 1]]
    truth = np.stack([second, ~second], axis=-1)[:, None, ..., None].astype(np.int8)
    pick = np.where(rng.random(shape) < accuracy, truth, 1 - truth)
    pick[rng.random(shape) < setting.tie_rate] = TIE
    pick[rng.random(shape) < bias] = 0
    return _framed(setting, seeds, pick, np.broadcast_to(truth, shape))


def _framed(setting: Setting, seeds: range, pick: np.ndarray, truth: np.ndarray) -> pd.DataFrame:
    seed, judge, item, pair, order, repeat = np.indices(pick.shape, np.int32).reshape(6, -1)
    names = "abcdefgh"[: setting.contestants]
    slots = np.array([[pair, pair[::-1]] for pair in setting.pairs])[pair, order].T
    n, sides = pick.size, pick.shape[1]

    def coded(codes: np.ndarray, categories: list[str]) -> pd.Categorical:
        return pd.Categorical.from_codes(codes, categories)

    shown = [SEP.join(two) for two in product(names, repeat=2)]
    width = setting.contestants
    return pd.DataFrame(
        {
            "study": coded(np.zeros(n, np.int8), ["soak"]),
            "item": coded(item, [str(k) for k in range(pick.shape[2])]),
            "judge": coded(sides * seed + judge, [f"{s}{x}" for s in seeds for x in "LRX"[:sides]]),
            "prompt": coded(np.zeros(n, np.int8), ["p"]),
            "shown": coded(slots[0] * width + slots[1], shown),
            "comparison": coded(slots.min(axis=0) * width + slots.max(axis=0), shown),
            "options": np.full(n, 2, np.int8),
            "orders": np.full(n, 2, np.int16),
            "repeat": repeat.astype(np.int16),
            "noise": np.zeros(n, bool),
            "status": coded(np.full(n, STATUSES.index("ok"), np.int8), list(STATUSES)),
            "pick": pick.reshape(-1).astype(np.int8),
            "known_answer": truth.reshape(-1).astype(np.int8),
        }
    )


# -- where the estimators go ---------------------------------------------------------------------


def limits(setting: Setting, judge: Judge) -> dict[str, float]:
    """Every measure of one judge: over item effects by Gauss–Hermite, over verdicts by listing."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weight = np.outer(weights, weights).ravel() / weights.sum() ** 2
    hard, tempting = (z.ravel() for z in np.meshgrid(nodes, nodes, indexing="ij"))
    bias = shifted(judge.first_bias, setting.lean_sd, tempting)
    right = shifted(judge.accuracy, setting.difficulty_sd, hard) * (1 - bias) * (1 - judge.tie_rate)
    tie = (1 - bias) * judge.tie_rate
    wrong = 1 - bias - tie - right
    # Probabilities of (first, second, tie) where the better answer stands first, and second.
    ahead, behind = np.stack([bias + right, wrong, tie]), np.stack([bias + wrong, right, tie])
    first, second, _ = (ahead + behind) @ weight / 2
    accuracy = float((ahead[0] + behind[1]) @ weight / 2)
    better = float(accuracy + tie @ weight / 2)
    one, two = modal(ahead, judge.repeats), modal(behind, judge.repeats)
    consistent = float((one[0] * two[1] + one[1] * two[0] + one[2] * two[2]) @ weight)
    f, s, t = (one + two) @ weight / 2
    chance = float(t * t + 2 * f * s)
    best = np.mean([_better(setting, b) for a, b in setting.pairs if a == 0])
    return {
        WIN_RATE.name: float(best * better + (1 - best) * (1 - better)),
        FIRST_SHARE.name: float(first / (first + second)),
        CONSISTENCY.name: consistent,
        ACCURACY.name: accuracy,
        CONSISTENCY_KAPPA.name: (consistent - chance) / (1 - chance),
    }


def _better(setting: Setting, other: int) -> float:
    """How often contestant 0 is truly better than another."""
    gap = setting.strength[0] - setting.strength[other]
    return float(norm.cdf(gap / (setting.item_sd * np.sqrt(2)))) if setting.item_sd else 1.0


def modal(shares: np.ndarray, repeats: int) -> np.ndarray:
    """Probabilities of the modal verdict of so many repeats; no mode is a tie (row 2)."""
    result = np.zeros_like(shares)
    for drawn in product(range(3), repeat=repeats):
        counts = np.bincount(drawn, minlength=3)
        mode = int(counts.argmax()) if (counts == counts.max()).sum() == 1 else 2
        result[mode] += shares[list(drawn)].prod(axis=0)
    return result
