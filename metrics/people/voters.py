"""The people who voted, one by one: how much, how fast, how steady, which side, and with whom.

A person is a judge `human:<name>`. Nobody is ever removed: who stands out is flagged with a reason
(metrics.people.voter_flags), stays in every number, and the numbers without them stand beside.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.people.vote_arrays import VotesByPerson
from metrics.people.voter_flags import VoterFlag, flag_voters
from metrics.people.voter_skill import voter_skills
from studies.domain import HUMAN_PREFIX, Estimate


@dataclass(frozen=True, slots=True)
class Voter:
    """One person. `votes` counts every vote, `comparisons` what they were about."""

    name: str
    votes: int
    comparisons: int
    first: Estimate
    """Share of decisive votes for the answer that stood first, where the order is known."""
    bias: Estimate
    """(share − 1/N)/(1 − 1/N): 0 is even-handed, 1 always the first, −1 (of two) always the last.
    Content cancels if sides are drawn by lot."""
    steady: Estimate
    """Share of comparisons seen twice, sides swapped, with the same outcome."""
    ties: Estimate
    others: Estimate
    """Share of the other people on the same answers that they side with."""
    rest: float | None
    """How far those others side with each other: what `others` is held against."""
    skill: Estimate
    """Chance to be right, by who agrees with whom."""
    seconds: float | None
    """Median of the votes that were timed."""
    timed: int
    flags: tuple[VoterFlag, ...] = ()


def list_voters(frame: pd.DataFrame) -> list[Voter]:
    """Everybody who voted, flagged people first, then by number of votes.

    `seconds` may be a column of the frame (nan or 0: not timed). Of what a person voted on twice,
    the first vote is held against the others.
    """
    people = VotesByPerson(row_selection.select_picks(frame))
    if not people.names:
        return []
    flags = flag_voters(people)
    found = [
        replace(one, flags=mine) for one, mine in zip(_unflagged_voters(people), flags, strict=True)
    ]
    return sorted(found, key=_voter_sort_key)


def _voter_sort_key(one: Voter) -> tuple[bool, int, float, str]:
    """Among equals, who sides least with the others comes first."""
    side = 1.0 if one.others.value is None else one.others.value
    return (not one.flags, -one.votes, side, one.name)


def drop_voters(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """The frame without the votes of some people, to be shown beside the whole."""
    judges = {HUMAN_PREFIX + name for name in names}
    return row_selection.select_rows(
        frame, ~frame["judge"].astype(str).isin(list(judges)).to_numpy()
    )


def _unflagged_voters(people: VotesByPerson) -> list[Voter]:
    """Everybody, without flags."""
    everything = np.ones(len(people.rows), bool)
    ties = people.share((people.pick < 0).astype(np.float64), everything, "")
    skill = voter_skills(people.votes, people.options[people.one_vote], len(people.names))
    cast, seen = people.count(), np.bincount(people.votes.voter, minlength=len(people.names))
    return [
        Voter(
            name, int(cast[code]), int(seen[code]), people.first[code], people.bias[code],
            people.steady[code], ties[code], people.others[code], people.rest[code], skill[code],
            *people.vote_timing(code),
        )
        for code, name in enumerate(people.names)
    ]  # fmt: skip
