"""Frames of simulated judges with known parameters, and the closed forms of their remedies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy import integrate
from scipy.stats import norm

from studies.domain import STATUSES
from studies.frames.frame import SEP, TIE


@dataclass(frozen=True)
class HardJudge:
    """Picks the first slot with probability `bias`, else ties, else is right with `accuracy`.

    On half of the items the accuracy is higher by `spread`, on the other half lower.
    """

    bias: float
    accuracy: float
    ties: float = 0.0
    spread: float = 0.0

    @property
    def kinds(self) -> tuple[HardJudge, HardJudge]:
        """The judge on its easy and on its hard items."""
        easy, hard = self.accuracy + self.spread, self.accuracy - self.spread
        return HardJudge(self.bias, easy, self.ties), HardJudge(self.bias, hard, self.ties)

    def chances(self, truth_first: bool) -> dict[int, float]:
        """Probability of being right (+1), tied (0) and wrong (−1) in one order."""
        right = (1 - self.bias) * (1 - self.ties) * self.accuracy + self.bias * truth_first
        tied = (1 - self.bias) * self.ties
        return {1: right, 0: tied, -1: 1 - right - tied}


@dataclass(frozen=True)
class GradedJudge:
    """Logit for the first slot: ± signal + first + normal noise."""

    signal: float
    first: float = 0.0
    noise: float = 1.0


def expected_credit(judges: Sequence[HardJudge], rule: Callable[[list[list[int]]], float]) -> float:
    """Expectation of a rule's credit over all verdicts, [judge][order], right +1 and wrong −1."""
    calls = [judge.chances(first) for judge in judges for first in (True, False)]
    total = 0.0
    for outcome in product((1, 0, -1), repeat=len(calls)):
        chance = math.prod(calls[k][value] for k, value in enumerate(outcome))
        total += chance * rule([list(outcome[k : k + 2]) for k in range(0, len(outcome), 2)])
    return total


def credit(score: float) -> float:
    """Half credit of a sum of verdicts."""
    return 1.0 if score > 0 else 0.5 if score == 0 else 0.0


def simulate(
    judges: Sequence[HardJudge | GradedJudge],
    items: int,
    rng: np.random.Generator,
    repeats: int = 1,
    pairs: int = 1,
) -> pd.DataFrame:
    """A frame of all judges on the same items, every pair in both orders, better answers known."""
    columns: dict[str, list[np.ndarray]] = {}
    names = [chr(ord("a") + k) for k in range(pairs + 1)]
    better = rng.random((items, pairs)) < 0.5
    for number, judge in enumerate(judges):
        easy = rng.random(items) < 0.5
        for pair, order, repeat in product(range(pairs), (0, 1), range(repeats)):
            truth = np.where(better[:, pair] == (order == 0), 0, 1)
            pick, chance = _draw(judge, truth, easy, rng)
            part = {
                "item": np.arange(items),
                "judge": np.full(items, number),
                "shown": np.full(items, 2 * pair + order),
                "repeat": np.full(items, repeat),
                "pick": pick,
                "known_answer": truth,
                "p_0": chance,
            }
            for name, values in part.items():
                columns.setdefault(name, []).append(values)
    table = {name: np.concatenate(parts) for name, parts in columns.items()}
    return _frame(table, items, len(judges), names)


def _draw(judge, truth, easy, rng):
    n = len(truth)
    if isinstance(judge, GradedJudge):
        logit = np.where(truth == 0, judge.signal, -judge.signal) + judge.first
        logit = logit + judge.noise * rng.normal(size=n)
        return np.where(logit > 0, 0, 1), 1 / (1 + np.exp(-logit))
    accuracy = np.where(easy, judge.kinds[0].accuracy, judge.kinds[1].accuracy)
    by_content = np.where(rng.random(n) < accuracy, truth, 1 - truth)
    pick = np.where(rng.random(n) < judge.ties, TIE, by_content)
    return np.where(rng.random(n) < judge.bias, 0, pick), np.full(n, np.nan)


def _frame(table, items: int, judges: int, names: Sequence[str]) -> pd.DataFrame:
    n, pairs = len(table["item"]), len(names) - 1
    arrangements = [
        SEP.join([names[0], names[k // 2 + 1]][:: 1 if k % 2 == 0 else -1])
        for k in range(2 * pairs)
    ]
    comparisons = [SEP.join([names[0], names[k + 1]]) for k in range(pairs)]

    def category(codes, values):
        return pd.Categorical.from_codes(codes, pd.Index(list(values), dtype="str"))

    zero = np.zeros(n, np.int8)
    frame = pd.DataFrame(
        {
            "study": category(zero, ["s"]),
            "item": category(table["item"], [f"i{k}" for k in range(items)]),
            "category": category(zero, [""]),
            "judge": category(table["judge"], [f"j{k}" for k in range(judges)]),
            "prompt": category(zero, ["p"]),
            "shown": category(table["shown"], arrangements),
            "labels": category(zero, [SEP.join("AB")]),
            "comparison": category(table["shown"] // 2, comparisons),
            "options": np.full(n, 2, np.int8),
            "orders": np.full(n, 2, np.int16),
            "repeat": table["repeat"].astype(np.int16),
            "noise": np.zeros(n, bool),
            "status": category(zero, STATUSES),
            "pick": table["pick"].astype(np.int8),
            "margin": np.ones(n, np.int8),
            "known_answer": table["known_answer"].astype(np.int8),
        }
    )
    if np.isfinite(table["p_0"]).any():
        frame["p_0"] = table["p_0"].astype(np.float32)
        frame["p_1"] = (1 - table["p_0"]).astype(np.float32)
    return frame


# -- closed forms of graded judges -----------------------------------------------------------------


def graded_single(judge: GradedJudge) -> float:
    ahead = norm.cdf((judge.signal + judge.first) / judge.noise)
    behind = norm.cdf((judge.signal - judge.first) / judge.noise)
    return float(ahead + behind) / 2


def graded_both(judge: GradedJudge) -> float:
    """The sum of both orders' logits has the mean 2·signal: the position effect cancels."""
    return float(norm.cdf(math.sqrt(2) * judge.signal / judge.noise))


def graded_calibrated(judge: GradedJudge) -> float:
    """One call, with the mean score for the first slot subtracted (a threshold on the logit)."""

    def mean_score(centre: float) -> float:
        value, _ = integrate.quad(
            lambda z: math.tanh((centre + judge.noise * z) / 2) * norm.pdf(z), -9, 9
        )
        return value

    effect = (mean_score(judge.signal + judge.first) + mean_score(-judge.signal + judge.first)) / 2
    cut = 2 * math.atanh(effect)
    ahead = norm.cdf((judge.signal + judge.first - cut) / judge.noise)
    behind = norm.cdf((judge.signal - judge.first + cut) / judge.noise)
    return float(ahead + behind) / 2


def graded_margin(judge: GradedJudge, margin: float) -> tuple[float, float]:
    """(share decided, share right) where the mean score of both orders must reach the margin."""

    def share(sign: int) -> float:
        # In terms of the better answer the logits are signal ± first; decided if the mean of the
        # two scores, tanh(logit/2), is at least the margin.
        def outer(z: float) -> float:
            one = math.tanh((judge.signal + judge.first + judge.noise * z) / 2) * sign
            needed = 2 * margin - one
            if needed >= 1:
                return 0.0
            if needed <= -1:
                return float(norm.pdf(z))
            cut = 2 * math.atanh(needed) * sign
            centre = judge.signal - judge.first
            tail = norm.sf if sign > 0 else norm.cdf
            return float(norm.pdf(z) * tail((cut - centre) / judge.noise))

        return integrate.quad(outer, -9, 9, limit=200)[0]

    right, wrong = share(1), share(-1)
    return right + wrong, right
