"""Planning of sample sizes: battles needed, the pair to sample next, and sequential tests."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betaln

from metrics.estimation.intervals import Floats, student_t_quantile, sum_by_item
from studies.domain import Estimate

ELO_PER_LOGIT: Final = 400 / math.log(10)
E_VALUE_THRESHOLD: Final = 20
"""Stopping at an e-value of 20 has at most a 5 % error, however often it is checked."""


def _normal_quantile(probability: float) -> float:
    return float(stats.norm.ppf(probability))


def expected_win_share(elo_gap: float) -> float:
    """Expected win share of a model that is `elo_gap` Elo points stronger."""
    return 1 / (1 + 10 ** (-elo_gap / 400))


def design_effect(per_item: float, correlation: float) -> float:
    """Design effect 1 + (m−1)ρ, at least 0, of m = `per_item` verdicts per item with correlation ρ.

    The verdicts of an item are those in both orders, on all pairs, by all judges. A negative ρ
    (effects of the two orders that cancel) gives a design effect below 1.
    """
    return max(1 + (per_item - 1) * correlation, 0.0)


def item_correlation(successes: ArrayLike, items: ArrayLike) -> float | None:
    """Estimate the correlation ρ = (deff − 1)/(m − 1) of verdicts on the same item, for planning.

    deff is the design effect, m the mean number of verdicts per item. None with fewer than two
    items, if no item has two verdicts, or if all verdicts are equal.
    """
    y, codes = np.asarray(successes, np.float64), np.asarray(items)
    if len(y) == 0:
        return None
    _, sums = sum_by_item(np.stack([y, np.ones_like(y)], axis=1), codes)
    groups, n, p = len(sums), len(y), float(y.mean())
    if groups < 2 or n == groups or p * (1 - p) <= 0:
        return None
    spread = float(((sums[:, 0] - p * sums[:, 1]) ** 2).sum())
    deff = groups / (groups - 1) * spread / (n * p * (1 - p))
    return (deff - 1) / (n / groups - 1)


def battles_needed(
    share: float,
    power: float = 0.8,
    alpha: float = 0.05,
    deff: float = 1.0,
    tie_rate: float = 0.0,
) -> int | None:
    """Number of battles needed to distinguish a true decisive win share from ½; None at exactly ½.

    Decisive battles: ((z_{α/2}/2 + z_β·√(pq))/(p − ½))², with p the win share and q = 1 − p. This
    is multiplied by the design effect and divided by the share of decisive battles.
    """
    if share == 0.5 or tie_rate >= 1:
        return None
    half = _normal_quantile(1 - alpha / 2) / 2 + _normal_quantile(power) * math.sqrt(
        share * (1 - share)
    )
    return _round_up((half / (share - 0.5)) ** 2 * deff / (1 - tie_rate))


def detectable_share(n: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest share above ½ that n independent decisive battles distinguish from ½.

    The inverse of `battles_needed`; None if even a share of 1 needs more battles.
    """

    def excess(share: float) -> float:
        half = _normal_quantile(1 - alpha / 2) / 2
        half += _normal_quantile(power) * math.sqrt(share * (1 - share))
        return (half / (share - 0.5)) ** 2 - n

    return float(brentq(excess, 0.5 + 1e-6, 1.0)) if excess(1.0) <= 0 else None


def battles_for_half_width(
    elo: float, deff: float = 1.0, tie_rate: float = 0.0, level: float = 0.95
) -> int | None:
    """Number of battles needed to estimate the rating gap of two contestants to ± `elo`.

    For contestants of similar strength (p near ½) the standard error is 2/√n logits.
    """
    if elo <= 0 or tie_rate >= 1:
        return None
    logits = elo / ELO_PER_LOGIT
    return _round_up(4 * (_normal_quantile((1 + level) / 2) / logits) ** 2 * deff / (1 - tie_rate))


def pairs_needed(
    discordance: float,
    primacy_share: float,
    power: float = 0.8,
    alpha: float = 0.05,
    deff: float = 1.0,
) -> int | None:
    """Number of pairs, judged in both orders, needed to detect a preference for one position.

    Connor (1987): n = (z_{α/2}·√ψ + z_β·√(ψ − δ²))²/δ², with ψ the share of pairs that flip, p the
    share of flips toward the first position and δ = ψ·(2p − 1). If items have several pairs, n is
    multiplied by the design effect.
    """
    lean = discordance * (2 * primacy_share - 1)
    if lean == 0:
        return None
    half = _normal_quantile(1 - alpha / 2) * math.sqrt(discordance)
    half += _normal_quantile(power) * math.sqrt(discordance - lean * lean)
    return _round_up((half / lean) ** 2 * deff)


def _round_up(n: float) -> int:
    return math.ceil(n - 1e-9)


def half_width_after(
    estimate: Estimate, more: int, correlation: float | None = None
) -> float | None:
    """Expected half-width of an estimate after `more` further verdicts like the present ones.

    By default the further verdicts are on new items, with as many verdicts per item as now: the
    half-width shrinks by √(n/(n + more)) and by Student's t for the larger number of items. With a
    `correlation` ρ they are on the *same* items (m verdicts each): the variance is proportional to
    (1 + (m−1)ρ)/n and cannot fall below ρ per item, so further repeats help less and less.
    """
    if estimate.low is None or estimate.high is None or estimate.n == 0:
        return None
    half, after = (estimate.high - estimate.low) / 2, estimate.n + more
    fewer = estimate.n / after
    if correlation is not None and estimate.items:
        now, then = (design_effect(n / estimate.items, correlation) for n in (estimate.n, after))
        return half * math.sqrt(fewer * then / now) if now > 0 else half * math.sqrt(fewer)
    shrink = 1.0
    if estimate.items > 1:
        shrink = float(
            student_t_quantile(round(estimate.items / fewer)) / student_t_quantile(estimate.items)
        )
    return half * math.sqrt(fewer) * shrink


def sampling_weights(counts: ArrayLike, shares: ArrayLike) -> Floats:
    """Probability of sampling each pair next, by expected gain: P ∝ √(V/n) − √(V/(n+1)).

    The rule is Chatbot Arena's; n is the number of battles so far, V = p(1 − p) with p the share of
    wins. Pairs without any battle share all the probability. Unequal sampling makes raw win rates
    depend on the opponents; Bradley–Terry ratings correct for that.
    """
    n, p = np.asarray(counts, np.float64), np.asarray(shares, np.float64)
    fresh = n <= 0
    if fresh.any():
        return np.where(fresh, 1 / fresh.sum(), 0.0)
    v = p * (1 - p)
    gain: Floats = np.sqrt(v / n) - np.sqrt(v / (n + 1))
    return gain / gain.sum() if gain.sum() > 0 else np.full(len(n), 1 / max(len(n), 1))


def e_value(wins: int, n: int) -> float:
    """E-value against a win share of ½ that may be checked after every battle
    (Krichevsky–Trofimov).

    B(w + ½, n − w + ½)/B(½, ½)·2ⁿ, with w wins in n battles and B the beta function. At 20 the test
    may be stopped. Each item must count once, with both orders merged.
    """
    log = betaln(wins + 0.5, n - wins + 0.5) - betaln(0.5, 0.5) + n * math.log(2)
    return math.exp(min(float(log), 700.0))


MAX_BATTLES: Final = 10_000_000
"""Largest number of battles that is reported; models that need more are practically equal."""


def battles_to_separate(gap: Estimate, power: float = 0.8) -> int | None:
    """Number of further verdicts until the interval of a rating gap excludes zero.

    Assumes that the interval shrinks with 1/√n, as items, indirect comparisons and ties keep their
    proportions. Total verdicts: n' = n·(h·(1 + z_β/z)/gap)², with h the half-width now; `power` is
    the probability that the interval then excludes zero. Returns 0 if the gap is already
    significant; None without an interval, at a gap of zero, or beyond MAX_BATTLES.
    """
    if (gap.low is not None and gap.low > 0) or (gap.high is not None and gap.high < 0):
        return 0
    if gap.value is None or gap.low is None or gap.high is None or gap.n == 0:
        return None
    half = (gap.high - gap.low) / 2
    z, z_beta = float(stats.norm.ppf((1 + gap.level) / 2)), float(stats.norm.ppf(power))
    if abs(gap.value) * math.sqrt(MAX_BATTLES) < half:
        return None
    needed = gap.n * (half * (1 + z_beta / z) / abs(gap.value)) ** 2
    more = math.ceil(needed - gap.n)
    return more if more <= MAX_BATTLES else None
