"""Measures of each voter: number of votes, speed, consistency, position bias, agreement, skill.

A person is a judge `human:<name>`. Voters who differ from the others are flagged with a reason
(metrics.people.voter_flags) but stay in every result; results without them are shown in addition.
"""

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
    """Measures of one person. `votes` counts all votes, `comparisons` the distinct comparisons."""

    name: str
    votes: int
    comparisons: int
    first: Estimate
    """Share of decisive votes for the answer shown first, where the order is recorded."""
    bias: Estimate
    """Position bias (first − 1/N)/(1 − 1/N) for N answers: 0 none, 1 always the first, −1 (for N =
    2) always the last. Answer quality cancels if positions are randomised."""
    steady: Estimate
    """Consistency: share of comparisons seen twice, positions swapped, with the same outcome."""
    ties: Estimate
    others: Estimate
    """Mean share of the other people who gave the same verdict as this person on a case."""
    rest: float | None
    """Mean agreement of the other people with each other on the same answers, with which `others`
    is compared; None without comparisons that two other people judged."""
    skill: Estimate
    """Probability of a correct decisive vote, from pairwise agreement."""
    seconds: float | None
    """Median seconds of the timed votes; None if no vote is timed."""
    timed: int
    flags: tuple[VoterFlag, ...] = ()


def measure_voters(frame: pd.DataFrame) -> list[Voter]:
    """Measure all voters of a frame; flagged people first, then by number of votes. Empty without
    votes.

    An optional column `seconds` gives the time of each vote (nan or 0: not timed). If a person
    voted repeatedly on a comparison, only the first vote is compared with other people's.
    """
    people = VotesByPerson(row_selection.select_picks(frame))
    if not people.names:
        return []
    flags = flag_voters(people)
    found = [
        replace(one, flags=found_flags)
        for one, found_flags in zip(_voters_before_flagging(people), flags, strict=True)
    ]
    return sorted(found, key=_voter_sort_key)


def _voter_sort_key(voter: Voter) -> tuple[bool, int, float, str]:
    """Sort key of a voter: flagged first, then most votes, then least agreement with the others,
    then name."""
    agreement = 1.0 if voter.others.value is None else voter.others.value
    return (not voter.flags, -voter.votes, agreement, voter.name)


def drop_voters(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """Return the frame without the votes of these people (names without the prefix `human:`)."""
    judges = {HUMAN_PREFIX + name for name in names}
    return row_selection.select_rows(
        frame, ~frame["judge"].astype(str).isin(list(judges)).to_numpy()
    )


def _voters_before_flagging(people: VotesByPerson) -> list[Voter]:
    everything = np.ones(len(people.rows), bool)
    ties = people.estimate_mean_over_votes_by_person(
        (people.pick < 0).astype(np.float64), everything, ""
    )
    skill = voter_skills(people.votes, people.options[people.first_vote_rows], len(people.names))
    cast = people.votes_per_person()
    seen = np.bincount(people.votes.voter, minlength=len(people.names))
    return [
        Voter(
            name,
            int(cast[code]),
            int(seen[code]),
            people.first_share_by_person[code],
            people.position_bias_by_person[code],
            people.consistency_by_person[code],
            ties[code],
            people.agreement_with_others[code],
            people.agreement_among_others[code],
            skill[code],
            *people.median_seconds_and_timed_votes(code),
        )
        for code, name in enumerate(people.names)
    ]
