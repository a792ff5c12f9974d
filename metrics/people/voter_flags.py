"""Who stands out among the people who voted, by which rule, in words. Never a reason to remove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy import stats

from metrics.people.vote_arrays import VotesByPerson

FlagRule = Literal["apart", "one side", "unsteady", "too fast"]

MIN_VOTES: Final = 10
"""Votes that a rule needs; `unsteady` needs LEAST_TWICE comparisons seen twice."""
MIN_REPEATED: Final = 5
SIGNIFICANCE_LEVEL: Final = 0.05
"""After Holm's adjustment over all people that a rule can look at."""
MIN_GAP: Final = 0.15
"""How far below the rest, besides being surely below: many votes make small gaps sure."""
MIN_LEAN: Final = 0.25
"""How far from what the others would pick on the same side."""
MAX_READING_SPEED: Final = 100.0
"""Characters a second, about 1,000 words a minute: nobody reads two answers so fast."""
MIN_SECONDS: Final = 1.0
"""Seconds, where the length of the answers is not known."""


@dataclass(frozen=True, slots=True)
class VoterFlag:
    """Why somebody stands out; `p` is adjusted, None where the rule is a plain threshold."""

    rule: FlagRule
    reason: str
    p: float | None = None


# -------------------------------------------------------------------------------------- rules


def flag_voters(people: VotesByPerson) -> list[tuple[VoterFlag, ...]]:
    """For each person the rules they fall under, in words."""
    rules = (
        _flag_disagreeing(people),
        _flag_one_sided(people),
        _flag_inconsistent(people),
        _flag_too_fast(people),
    )
    return [tuple(flag for flag in mine if flag) for mine in zip(*rules, strict=True)]


def _flag_disagreeing(people: VotesByPerson) -> list[VoterFlag | None]:
    """Sides with the others far less than they do with each other: Fisher's exact test.

    A comparison is one trial of the person however many others voted on it, and every two of those
    others one trial of theirs; shares are rounded toward agreement: the test errs on the side of
    not flagging.
    """
    held = people.peer_agreement
    lines = [
        (float(k), int(n), float(rest), int(m))
        for k, n, rest, m in zip(held.own, held.n, held.rest, held.m, strict=True)
    ]
    tables = [
        (math.ceil(k - 1e-9), n, math.floor(rest / max(m, 1) * pairs + 1e-9), pairs)
        for (k, n, rest, m), pairs in zip(lines, held.pairs.tolist(), strict=True)
    ]
    adjusted = holm_adjust(
        [_fisher_p(*t) if t[1] >= MIN_VOTES and t[3] >= MIN_VOTES else None for t in tables]
    )
    return [
        None
        if p is None
        else _significant_flag(
            "apart",
            p,
            k / n,
            rest / m,
            f"sides with the others on {_format_percent(k / n)} of {n:,} comparisons; those others side "
            f"with each other on {_format_percent(rest / m)}",
        )
        for (k, n, rest, m), p in zip(lines, adjusted, strict=True)
    ]


def _flag_inconsistent(people: VotesByPerson) -> list[VoterFlag | None]:
    """Changes their mind when the sides are swapped, more than the rest do: the same test."""
    seen = [(round((e.value or 0.0) * e.n), e.n) for e in people.steady]
    hits, n = (sum(pair[k] for pair in seen) for k in (0, 1))
    tables = [(k, m, hits - k, n - m) for k, m in seen]
    enough = [t[1] >= MIN_REPEATED and t[3] >= MIN_REPEATED for t in tables]
    adjusted = holm_adjust(
        [_fisher_p(*t) if ok else None for t, ok in zip(tables, enough, strict=True)]
    )
    return [
        None if p is None else _significant_flag(
            "unsteady", p, k / m, rest / others,
            f"says the same in {k} of {m} comparisons that were put to them again with the sides "
            f"swapped; the rest in {_format_percent(rest / others)}",
        )
        for (k, m, rest, others), p in zip(tables, adjusted, strict=True)
    ]  # fmt: skip


def _significant_flag(
    rule: FlagRule, p: float, mine: float, theirs: float, reason: str
) -> VoterFlag | None:
    if p >= SIGNIFICANCE_LEVEL or theirs - mine < MIN_GAP:
        return None
    return VoterFlag(rule, f"{reason} ({_format_p(p)})", p)


def _flag_one_sided(people: VotesByPerson) -> list[VoterFlag | None]:
    """Takes the same side whatever stands there: exact binomial test against what the others
    would take, or against even sides where that is nearer to what they did."""
    hits, n = (
        people.count(people.decisive_known_order & (people.pick == 0)),
        people.count(people.decisive_known_order),
    )
    wanted = people.mean_of(people.expected_first, people.decisive_known_order)
    lines = [
        _SidePicks(int(k), int(m), float(e), float(c))
        for k, m, e, c in zip(hits, n, wanted, people.chance, strict=True)
    ]
    adjusted = holm_adjust([one.p if one.n >= MIN_VOTES else None for one in lines])
    return [one.flag(p) for one, p in zip(lines, adjusted, strict=True)]


@dataclass(frozen=True, slots=True)
class _SidePicks:
    """How often somebody took the first answer, and how often the others or chance would."""

    first: int
    n: int
    expected: float
    chance: float

    @property
    def toward_first(self) -> bool:
        return self.first > self.n * self.chance

    @property
    def reference_share(self) -> float:
        nearest = max if self.toward_first else min
        return nearest(self.expected, self.chance)

    @property
    def p(self) -> float:
        law = stats.binom(self.n, self.reference_share)
        tail = law.sf(self.first - 1) if self.toward_first else law.cdf(self.first)
        return min(1.0, 2 * float(tail))

    def flag(self, p: float | None) -> VoterFlag | None:
        if (
            p is None
            or p >= SIGNIFICANCE_LEVEL
            or abs(self.first / self.n - self.reference_share) < MIN_LEAN
        ):
            return None
        taken = self.first if self.toward_first else self.n - self.first
        others = self.expected if self.toward_first else 1 - self.expected
        what = "first" if self.toward_first else "second" if self.chance == 0.5 else "later"
        reason = (
            f"takes the {what} answer in {taken:,} of {self.n:,} decisive votes; the others would "
            f"take it in {_format_percent(others)} ({_format_p(p)})"
        )
        return VoterFlag("one side", reason, p)


def _flag_too_fast(people: VotesByPerson) -> list[VoterFlag | None]:
    """Most of the votes came faster than anybody reads."""
    timed = np.isfinite(people.seconds)
    least = np.where(np.isfinite(people.length), people.length / MAX_READING_SPEED, MIN_SECONDS)
    hasty = people.count(timed & (np.nan_to_num(people.seconds) < least))
    return [
        VoterFlag(
            "too fast",
            f"{k:,} of {n:,} timed votes came faster than the answers can be read ({MAX_READING_SPEED:.0f} "
            f"characters a second); median {people.vote_timing(code)[0]:.1f} s",
        )
        if n >= MIN_VOTES and 2 * k > n
        else None
        for code, (k, n) in enumerate(zip(hasty, people.count(timed), strict=True))
    ]


# -------------------------------------------------------------------------------------- tests


def _fisher_p(k: int, n: int, rest: int, m: int) -> float:
    """Fisher's exact test, one-sided: k of n is no less than rest of m."""
    return float(stats.hypergeom.cdf(k, n + m, k + rest, n))


def holm_adjust(values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment over all that were tested; None stays None."""
    order = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, at) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        adjusted[at] = highest
    return adjusted


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


def _format_p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")
