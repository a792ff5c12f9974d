"""Who stands out among the people who voted, by which rule, in words. Never a reason to remove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy import stats

from metrics.people import People

Rule = Literal["apart", "one side", "unsteady", "too fast"]

LEAST: Final = 10
"""Votes that a rule needs; `unsteady` needs LEAST_TWICE comparisons seen twice."""
LEAST_TWICE: Final = 5
LEVEL: Final = 0.05
"""After Holm's adjustment over all people that a rule can look at."""
GAP: Final = 0.15
"""How far below the rest, besides being surely below: many votes make small gaps sure."""
LEAN: Final = 0.25
"""How far from what the others would pick on the same side."""
PACE: Final = 100.0
"""Characters a second, about 1,000 words a minute: nobody reads two answers so fast."""
BLINK: Final = 1.0
"""Seconds, where the length of the answers is not known."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Why somebody stands out; `p` is adjusted, None where the rule is a plain threshold."""

    rule: Rule
    reason: str
    p: float | None = None


# -------------------------------------------------------------------------------------- rules


def flagged(people: People) -> list[tuple[Flag, ...]]:
    """For each person the rules they fall under, in words."""
    rules = (_apart(people), _one_side(people), _unsteady(people), _too_fast(people))
    return [tuple(flag for flag in mine if flag) for mine in zip(*rules, strict=True)]


def _apart(people: People) -> list[Flag | None]:
    """Sides with the others far less than they do with each other: Fisher's exact test.

    A comparison is one trial of the person however many others voted on it, and every two of those
    others one trial of theirs; shares are rounded toward agreement: the test errs on the side of
    not flagging.
    """
    held = people.held
    lines = [
        (float(k), int(n), float(rest), int(m))
        for k, n, rest, m in zip(held.own, held.n, held.rest, held.m, strict=True)
    ]
    tables = [
        (math.ceil(k - 1e-9), n, math.floor(rest / max(m, 1) * pairs + 1e-9), pairs)
        for (k, n, rest, m), pairs in zip(lines, held.pairs.tolist(), strict=True)
    ]
    adjusted = holm([_below(*t) if t[1] >= LEAST and t[3] >= LEAST else None for t in tables])
    return [
        None if p is None else _told(
            "apart", p, k / n, rest / m,
            f"sides with the others on {_percent(k / n)} of {n:,} comparisons; those others side "
            f"with each other on {_percent(rest / m)}",
        )
        for (k, n, rest, m), p in zip(lines, adjusted, strict=True)
    ]  # fmt: skip


def _unsteady(people: People) -> list[Flag | None]:
    """Changes their mind when the sides are swapped, more than the rest do: the same test."""
    seen = [(round((e.value or 0.0) * e.n), e.n) for e in people.steady]
    hits, n = (sum(pair[k] for pair in seen) for k in (0, 1))
    tables = [(k, m, hits - k, n - m) for k, m in seen]
    enough = [t[1] >= LEAST_TWICE and t[3] >= LEAST_TWICE for t in tables]
    adjusted = holm([_below(*t) if ok else None for t, ok in zip(tables, enough, strict=True)])
    return [
        None if p is None else _told(
            "unsteady", p, k / m, rest / others,
            f"says the same in {k} of {m} comparisons that were put to them again with the sides "
            f"swapped; the rest in {_percent(rest / others)}",
        )
        for (k, m, rest, others), p in zip(tables, adjusted, strict=True)
    ]  # fmt: skip


def _told(rule: Rule, p: float, mine: float, theirs: float, reason: str) -> Flag | None:
    if p >= LEVEL or theirs - mine < GAP:
        return None
    return Flag(rule, f"{reason} ({_chance(p)})", p)


def _one_side(people: People) -> list[Flag | None]:
    """Takes the same side whatever stands there: exact binomial test against what the others
    would take, or against even sides where that is nearer to what they did."""
    hits, n = people.count(people.sided & (people.pick == 0)), people.count(people.sided)
    wanted = people.mean_of(people.expected_first, people.sided)
    lines = [
        _Sided(int(k), int(m), float(e), float(c))
        for k, m, e, c in zip(hits, n, wanted, people.chance, strict=True)
    ]
    adjusted = holm([one.p if one.n >= LEAST else None for one in lines])
    return [one.flag(p) for one, p in zip(lines, adjusted, strict=True)]


@dataclass(frozen=True, slots=True)
class _Sided:
    """How often somebody took the first answer, and how often the others or chance would."""

    first: int
    n: int
    expected: float
    chance: float

    @property
    def toward_first(self) -> bool:
        return self.first > self.n * self.chance

    @property
    def yardstick(self) -> float:
        nearest = max if self.toward_first else min
        return nearest(self.expected, self.chance)

    @property
    def p(self) -> float:
        law = stats.binom(self.n, self.yardstick)
        tail = law.sf(self.first - 1) if self.toward_first else law.cdf(self.first)
        return min(1.0, 2 * float(tail))

    def flag(self, p: float | None) -> Flag | None:
        if p is None or p >= LEVEL or abs(self.first / self.n - self.yardstick) < LEAN:
            return None
        taken = self.first if self.toward_first else self.n - self.first
        others = self.expected if self.toward_first else 1 - self.expected
        what = "first" if self.toward_first else "second" if self.chance == 0.5 else "later"
        reason = (
            f"takes the {what} answer in {taken:,} of {self.n:,} decisive votes; the others would "
            f"take it in {_percent(others)} ({_chance(p)})"
        )
        return Flag("one side", reason, p)


def _too_fast(people: People) -> list[Flag | None]:
    """Most of the votes came faster than anybody reads."""
    timed = np.isfinite(people.seconds)
    least = np.where(np.isfinite(people.length), people.length / PACE, BLINK)
    hasty = people.count(timed & (np.nan_to_num(people.seconds) < least))
    return [
        Flag(
            "too fast",
            f"{k:,} of {n:,} timed votes came faster than the answers can be read ({PACE:.0f} "
            f"characters a second); median {people.pace(code)[0]:.1f} s",
        )
        if n >= LEAST and 2 * k > n
        else None
        for code, (k, n) in enumerate(zip(hasty, people.count(timed), strict=True))
    ]


# -------------------------------------------------------------------------------------- tests


def _below(k: int, n: int, rest: int, m: int) -> float:
    """Fisher's exact test, one-sided: k of n is no less than rest of m."""
    return float(stats.hypergeom.cdf(k, n + m, k + rest, n))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment over all that were tested; None stays None."""
    order = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, at) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        adjusted[at] = highest
    return adjusted


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


def _chance(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")
