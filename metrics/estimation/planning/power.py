"""Planning of sample sizes: battles needed, detectable share, and sequential tests."""

from __future__ import annotations

import math
from typing import Final

from scipy import stats
from scipy.optimize import brentq
from scipy.special import betaln

from metrics.estimation.intervals import student_t_quantile
from studies.domain import Estimate

ELO_PER_LOGIT: Final = 400 / math.log(10)
E_VALUE_THRESHOLD: Final = 20
"""Stopping at an e-value of 20 has at most a 5 % error, however often it is checked."""


def _normal_quantile(probability: float) -> float:
    return float(stats.norm.ppf(probability))


def design_effect(per_item: float, correlation: float) -> float:
    """Design effect 1 + (m−1)ρ, at least 0, of m = `per_item` verdicts per item with correlation ρ.

    The verdicts of an item are those in both orders, on all pairs, by all judges. A negative ρ
    (effects of the two orders that cancel) gives a design effect below 1.
    """
    return max(1 + (per_item - 1) * correlation, 0.0)


def detectable_share(n: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest win share above ½ that n independent verdicts without a tie distinguish from ½ with
    probability `power` at the significance level `alpha`. None if even a share of 1 needs more
    verdicts.

    A win share p needs ((z_{α/2}/2 + z_β·√(pq))/(p − ½))² verdicts, with q = 1 − p."""

    def verdicts_needed_minus_n(share: float) -> float:
        half = _normal_quantile(1 - alpha / 2) / 2
        half += _normal_quantile(power) * math.sqrt(share * (1 - share))
        return (half / (share - 0.5)) ** 2 - n

    return (
        float(brentq(verdicts_needed_minus_n, 0.5 + 1e-6, 1.0))
        if verdicts_needed_minus_n(1.0) <= 0
        else None
    )


def half_width_after_more_verdicts(
    estimate: Estimate, more_verdicts: int, correlation: float | None = None
) -> float | None:
    """Expected half-width of an estimate's interval after `more_verdicts` further verdicts; None
    for an estimate without an interval.

    By default these are on new items, with as many verdicts per item as now. With a `correlation`
    (of verdicts on one item) they are on the *same* items: the half-width then shrinks less and
    less, as the number of items stays the same.
    """
    if estimate.low is None or estimate.high is None or estimate.n == 0:
        return None
    half, after = (estimate.high - estimate.low) / 2, estimate.n + more_verdicts
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


def further_verdicts_to_separate(gap: Estimate, power: float = 0.8) -> int | None:
    """Number of further verdicts until the interval of a rating gap excludes zero with probability
    `power`, if the present estimate of the gap is right.

    The half-width is assumed to shrink with 1/√n. Returns 0 if the gap is significant now; None
    without an interval, for a gap of zero, or if more than MAX_BATTLES are needed.
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


def items_with_verdicts(verdicts: int, gap: Estimate) -> int | None:
    """Number of items on which `verdicts` further verdicts are given, at as many verdicts an item
    as `gap` has now; None if it counts no items or no verdicts."""
    return max(1, round(verdicts * gap.items / gap.n)) if gap.items and gap.n else None
