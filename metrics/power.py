"""How many verdicts it takes, where to ask next, and when one may look."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import betaln

from metrics.intervals import Floats, unknown
from metrics.reliability import pearson, spearman
from studies.records import Estimate

ELO_PER_LOGIT: Final = 400 / math.log(10)
STOP_AT: Final = 20
"""An e-value of 20 is a 5 % error however often one looks."""


def _z(probability: float) -> float:
    return float(stats.norm.ppf(probability))


def expected_share(elo_gap: float) -> float:
    """The win probability that an Elo gap means."""
    return 1 / (1 + 10 ** (-elo_gap / 400))


def battles_needed(
    share: float,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
    tie_rate: float = 0.0,
) -> int | None:
    """Battles to tell a true decisive win share from ½; None at exactly ½, which never shows.

    n = ((z_{α/2}/2 + z_β·√(pq))/(p − ½))² decisive ones, times the design effect, over the share
    that is decisive.
    """
    if share == 0.5 or tie_rate >= 1:
        return None
    half = _z(1 - alpha / 2) / 2 + _z(power) * math.sqrt(share * (1 - share))
    return math.ceil((half / (share - 0.5)) ** 2 * design_effect / (1 - tie_rate) - 1e-9)


def battles_for_half_width(elo: float, design_effect: float = 1.0, level: float = 0.95) -> int:
    """Battles for a two-contestant gap known to ± `elo`, near p = ½: SE = 2/√n logits."""
    logits = elo / ELO_PER_LOGIT
    n = 4 * (_z((1 + level) / 2) / logits) ** 2 * design_effect
    return math.ceil(n - 1e-9)


def half_width_after(estimate: Estimate, more: int) -> float | None:
    """The half-width an estimate would have after `more` verdicts like those it rests on."""
    if estimate.low is None or estimate.high is None or estimate.n == 0:
        return None
    return (estimate.high - estimate.low) / 2 * math.sqrt(estimate.n / (estimate.n + more))


def mcnemar_pairs(
    discordance: float, primacy_share: float, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Pairs in both orders needed to see a lean, given how many flip and where flips go.

    Connor (1987): n = (z_{α/2}·√ψ + z_β·√(ψ − δ²))²/δ², ψ the share that flips, δ = ψ·(2p − 1).
    """
    lean = discordance * (2 * primacy_share - 1)
    if lean == 0:
        return None
    half = _z(1 - alpha / 2) * math.sqrt(discordance)
    half += _z(power) * math.sqrt(discordance - lean * lean)
    return math.ceil((half / lean) ** 2 - 1e-9)


def sampling_weights(counts: ArrayLike, shares: ArrayLike) -> Floats:
    """Where the next battle teaches most (Chatbot Arena): P(pair) ∝ √(V/n) − √(V/(n+1)).

    V = p(1 − p). A pair never asked comes first: such pairs share everything. Unequal sampling
    makes raw win rates depend on opponents; Bradley–Terry handles it.
    """
    n, p = np.asarray(counts, np.float64), np.asarray(shares, np.float64)
    fresh = n <= 0
    if fresh.any():
        return np.where(fresh, 1 / fresh.sum(), 0.0)
    v = p * (1 - p)
    gain: Floats = np.sqrt(v / n) - np.sqrt(v / (n + 1))
    return gain / gain.sum() if gain.sum() > 0 else np.full(len(n), 1 / max(len(n), 1))


def e_value(wins: int, n: int) -> float:
    """Evidence against a fair coin that one may look at after every battle (Krichevsky–Trofimov):
    B(w + ½, n − w + ½)/B(½, ½)·2ⁿ. Stop at 20. One vote per item, both orders merged."""
    log = betaln(wins + 0.5, n - wins + 0.5) - betaln(0.5, 0.5) + n * math.log(2)
    return math.exp(min(float(log), 700.0))


# -- between benchmarks --------------------------------------------------------------------------


def between_benchmarks(
    first: Mapping[str, float],
    second: Mapping[str, float],
    rng: np.random.Generator,
    rounds: int = 2000,
) -> dict[str, Estimate]:
    """Spearman and R² (squared Pearson) of two benchmarks' scores of the same models.

    The models are what is resampled: percentile bootstrap over them.
    """
    models = sorted(set(first) & set(second))
    a = np.array([first[name] for name in models])
    b = np.array([second[name] for name in models])
    if len(models) < 3:
        note = f"{len(models)} models in common: at least 3 are needed"
        return {"spearman": unknown(note, "rho"), "r2": unknown(note, "R²")}
    draws = rng.integers(0, len(models), (rounds, len(models)))
    return {
        "spearman": _resampled(
            spearman(a, b), [spearman(a[d], b[d]) for d in draws], len(a), "rho"
        ),
        "r2": _resampled(
            _squared(pearson(a, b)), [_squared(pearson(a[d], b[d])) for d in draws], len(a), "R²"
        ),
    }


def _squared(value: float | None) -> float | None:
    return None if value is None else value * value


def _resampled(value: float | None, draws: Sequence[float | None], n: int, unit: str) -> Estimate:
    if value is None:
        return unknown("all scores are the same", unit)
    kept = [draw for draw in draws if draw is not None]
    low, high = np.quantile(kept, [0.025, 0.975]) if len(kept) > 1 else (value, value)
    method = "percentile bootstrap over models"
    return Estimate(
        value, min(float(low), value), max(float(high), value), n, 0, unit, 0.95, method
    )
