"""Flags for voters who differ from the others, by four rules, each with its reason in words.

A flag removes nothing: flagged voters stay in every result.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy import stats

from metrics.estimation.multiple_comparisons import holm_adjust
from metrics.people.vote_arrays import VotesByPerson

FlagRule = Literal["apart", "one side", "unsteady", "too fast"]

MIN_VOTES: Final = 10
"""Smallest number of votes for a flag's rule to be applied to a voter; the rule `unsteady` needs
MIN_REPEATED comparisons seen twice instead."""
MIN_REPEATED: Final = 5
SIGNIFICANCE_LEVEL: Final = 0.05
"""Level of the tests for flags, after Holm's adjustment over all people with enough votes for the
rule."""
MIN_GAP: Final = 0.15
"""A voter is flagged for lower agreement or consistency than the others only if the difference is
at least this large, besides significant: with many votes small differences are significant."""
MIN_LEAN: Final = 0.25
"""Minimum difference between a voter's share of first picks and the expected share for a flag."""
MAX_READING_SPEED: Final = 100.0
"""Characters per second, about 1,000 words per minute: faster than reading."""
MIN_SECONDS: Final = 1.0
"""Seconds below which a vote counts as too fast, if the length of the answers is unknown."""


@dataclass(frozen=True, slots=True)
class VoterFlag:
    """Rule by which a voter is flagged, with the reason; `p` is adjusted (Holm), None for a rule
    without a test."""

    rule: FlagRule
    reason: str
    p: float | None = None


# -------------------------------------------------------------------------------------- rules


def flag_voters(people: VotesByPerson) -> list[tuple[VoterFlag, ...]]:
    """Return the flags of each person, by all four rules; empty for people without a flag."""
    rules = (
        _flag_disagreeing(people),
        _flag_one_sided(people),
        _flag_inconsistent(people),
        _flag_too_fast(people),
    )
    return [tuple(flag for flag in flags if flag) for flags in zip(*rules, strict=True)]


def _flag_disagreeing(people: VotesByPerson) -> list[VoterFlag | None]:
    """Return the flag "apart", or None, of each person. The flag is set if the person agrees with
    the others less than they agree with each other: significantly (Fisher's exact test), and by at
    least MIN_GAP.

    For the person each comparison counts once. For the others, pairs of voters count, such that no
    voter is in two pairs of the same comparison. Counts are rounded in the person's favour.
    """
    peers = people.peer_agreement
    lines = [
        (float(k), int(n), float(rest), int(m))
        for k, n, rest, m in zip(peers.own, peers.n, peers.rest, peers.m, strict=True)
    ]
    tables = [
        (math.ceil(k - 1e-9), n, math.floor(rest / max(m, 1) * pairs + 1e-9), pairs)
        for (k, n, rest, m), pairs in zip(lines, peers.pairs.tolist(), strict=True)
    ]
    adjusted = holm_adjust(
        [
            _fisher_p_if_own_smaller(*t) if t[1] >= MIN_VOTES and t[3] >= MIN_VOTES else None
            for t in tables
        ]
    )
    return [
        None
        if p is None
        else _significant_flag(
            "apart",
            p,
            k / n,
            rest / m,
            f"agrees with the others on {_format_percent(k / n)} of {n:,} comparisons; those "
            f"others agree with each other on {_format_percent(rest / m)}",
        )
        for (k, n, rest, m), p in zip(lines, adjusted, strict=True)
    ]


def _flag_inconsistent(people: VotesByPerson) -> list[VoterFlag | None]:
    """Return the flag "unsteady", or None, of each person. The flag is set if the person's votes
    change when the answers are swapped, more often than the others' votes: significantly (Fisher's
    exact test), and by at least MIN_GAP."""
    seen = [(round((e.value or 0.0) * e.n), e.n) for e in people.consistency_by_person]
    hits, n = (sum(pair[k] for pair in seen) for k in (0, 1))
    tables = [(k, m, hits - k, n - m) for k, m in seen]
    enough = [t[1] >= MIN_REPEATED and t[3] >= MIN_REPEATED for t in tables]
    adjusted = holm_adjust(
        [_fisher_p_if_own_smaller(*t) if ok else None for t, ok in zip(tables, enough, strict=True)]
    )
    return [
        None
        if p is None
        else _significant_flag(
            "unsteady",
            p,
            k / m,
            rest / others,
            f"gives the same verdict in {k} of {m} comparisons repeated with swapped positions; "
            f"the others in {_format_percent(rest / others)}",
        )
        for (k, m, rest, others), p in zip(tables, adjusted, strict=True)
    ]


def _significant_flag(
    rule: FlagRule, p_value: float, own: float, others: float, reason: str
) -> VoterFlag | None:
    """Return the flag if the person's share `own` is below the others' share by at least MIN_GAP
    and the adjusted p-value is significant; else None."""
    if p_value >= SIGNIFICANCE_LEVEL or others - own < MIN_GAP:
        return None
    return VoterFlag(rule, f"{reason} ({_format_p_value(p_value)})", p_value)


def _flag_one_sided(people: VotesByPerson) -> list[VoterFlag | None]:
    """Return the flag "one side", or None, of each person. The flag is set if the person prefers a
    position: the share of first picks differs from a reference share significantly (exact binomial
    test), and by at least MIN_LEAN.

    The reference is the share expected from the others' votes, or chance: the higher of the two for
    a person who picks first more often than by chance, else the lower.
    """
    hits, n = (
        people.votes_per_person(people.decisive_known_order_mask & (people.pick == 0)),
        people.votes_per_person(people.decisive_known_order_mask),
    )
    wanted = people.mean_by_person(
        people.expected_first_probability, people.decisive_known_order_mask
    )
    by_chance = people.chance_first_share_by_person(people.decisive_known_order_mask)
    lines = [
        _SidePicks(int(k), int(m), float(e), float(c))
        for k, m, e, c in zip(hits, n, wanted, by_chance, strict=True)
    ]
    adjusted = holm_adjust([one.p_value if one.n >= MIN_VOTES else None for one in lines])
    return [one.flag_if_significant(p) for one, p in zip(lines, adjusted, strict=True)]


@dataclass(frozen=True, slots=True)
class _SidePicks:
    """Number of first picks (`first`) of one person in `n` votes, and the share of first picks
    expected from the others' votes (`expected`) and by chance."""

    first: int
    n: int
    expected: float
    chance: float

    @property
    def prefers_first_slot(self) -> bool:
        """Whether the person picks first more often than by chance."""
        return self.first > self.n * self.chance

    @property
    def reference_share(self) -> float:
        """Share of first picks to test against: the higher of `expected` and `chance` if the person
        picks first more often than by chance, else the lower."""
        nearest = max if self.prefers_first_slot else min
        return nearest(self.expected, self.chance)

    @property
    def p_value(self) -> float:
        """Two-sided exact binomial p-value against `reference_share`, not adjusted."""
        law = stats.binom(self.n, self.reference_share)
        tail = law.sf(self.first - 1) if self.prefers_first_slot else law.cdf(self.first)
        return min(1.0, 2 * float(tail))

    def flag_if_significant(self, p_value: float | None) -> VoterFlag | None:
        """Return the flag "one side" if the adjusted p-value is significant and the share of first
        picks is at least MIN_LEAN from `reference_share`; else None."""
        if (
            p_value is None
            or p_value >= SIGNIFICANCE_LEVEL
            or abs(self.first / self.n - self.reference_share) < MIN_LEAN
        ):
            return None
        taken = self.first if self.prefers_first_slot else self.n - self.first
        others = self.expected if self.prefers_first_slot else 1 - self.expected
        what = "first" if self.prefers_first_slot else "second" if self.chance == 0.5 else "later"
        reason = (
            f"picks the {what} answer in {taken:,} of {self.n:,} decisive votes; expected from the "
            f"others' votes: {_format_percent(others)} ({_format_p_value(p_value)})"
        )
        return VoterFlag("one side", reason, p_value)


def _flag_too_fast(people: VotesByPerson) -> list[VoterFlag | None]:
    """Return the flag "too fast", or None, of each person. The flag is set if the person has at
    least MIN_VOTES timed votes, and cast most of these faster than the answers can be read."""
    timed = np.isfinite(people.seconds)
    least = np.where(
        np.isfinite(people.characters_shown),
        people.characters_shown / MAX_READING_SPEED,
        MIN_SECONDS,
    )
    fast = people.votes_per_person(timed & (np.nan_to_num(people.seconds) < least))
    return [
        VoterFlag(
            "too fast",
            f"{k:,} of {n:,} timed votes were faster than the answers can be read "
            f"({MAX_READING_SPEED:.0f} characters per second); median "
            f"{people.median_seconds_and_timed_votes(code)[0]:.1f} s",
        )
        if n >= MIN_VOTES and 2 * k > n
        else None
        for code, (k, n) in enumerate(zip(fast, people.votes_per_person(timed), strict=True))
    ]


# -------------------------------------------------------------------------------------- tests


def _fisher_p_if_own_smaller(own_hits: int, own_n: int, other_hits: int, other_n: int) -> float:
    """One-sided p-value of Fisher's exact test that the share own_hits/own_n is smaller than
    other_hits/other_n."""
    return float(stats.hypergeom.cdf(own_hits, own_n + other_n, own_hits + other_hits, own_n))


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


def _format_p_value(p: float) -> str:
    """Format a p-value, which Holm's method has adjusted over all people."""
    return ("p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")) + ", adjusted"
