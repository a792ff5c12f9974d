"""What the ranking says: who leads, whether that is sure, what people and either order say."""

from __future__ import annotations

from itertools import pairwise

from components.bias.words import ORDINALS
from components.format import NARROW, about, interval, number
from components.ranking.counts import Ranking
from metrics.bradley_terry import Leaderboard
from metrics.separation import battles_to_separate
from studies.records import Estimate


def finding_of(ranking: Ranking) -> tuple[str, str]:
    """Who leads, and whether that is sure: read off the interval of the difference."""
    board = ranking.board
    if board is None:
        return "No ranking here.", "Ratings need pairs of answers that met each other."
    return f"{_leader(board, ranking)}{_people(board, ranking)}.", _lead(board, ranking)


def sure(gap: Estimate) -> bool:
    """Above for sure: the interval of the difference leaves out zero."""
    return gap.low is not None and gap.low > 0


def _leader(board: Leaderboard, ranking: Ranking) -> str:
    first, second = board.names[:2]
    if not sure(board.gap(first, second)):
        if board.strong[0] != board.strong[1]:
            return f"{first} won every battle that tells it from {second}"
        return f"{first} and {second} cannot be told apart yet"
    if ranking.judges == (first,):
        return f"{first} ranks itself first"
    return f"{first} is ahead of {second}"


def _people(board: Leaderboard, ranking: Ranking) -> str:
    people = ranking.people
    if people is None or set(people.names) != set(board.names):
        return ""
    if people.names == board.names:
        return ", and people give the same order"
    if people.names[0] != board.names[0]:
        return f"; people put {people.names[0]} first"
    return "; people agree on the first and order the others differently"


def _lead(board: Leaderboard, ranking: Ranking) -> str:
    parts = [_tied(board), _orders(ranking)]
    plain = "Bradley–Terry on the Elo scale. “Above” is read off the interval of the difference."
    return " ".join(part for part in parts if part) or plain


def _tied(board: Leaderboard) -> str:
    """The closest neighbours that cannot be told apart, and what it would take."""
    for place, (above, below) in enumerate(pairwise(board.names)):
        gap = board.gap(above, below)
        if gap.low is None or gap.high is None or sure(gap):
            continue
        places = f"{_ordinal(place)} and {_ordinal(place + 1).lower()} place"
        told = f"{places} cannot be told apart: {number(gap.value)} points, 95{NARROW}% CI "
        told += interval(gap, 0)
        more = battles_to_separate(gap)
        return told + (f"; about {about(more)} more battles would." if more else ".")
    return ""


def _ordinal(place: int) -> str:
    return (ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th").capitalize()


def _orders(ranking: Ranking) -> str:
    """Whether one order alone would have crowned somebody else."""
    one, two, both = ranking.one, ranking.two, ranking.board
    if one is None or two is None or both is None:
        return ""
    leaders = {one.names[0], two.names[0]} - {both.names[0]}
    if not leaders:
        return ""
    which = "first" if one.names[0] in leaders else "second"
    return f"From the {which} order alone, {leaders.pop()} would lead."
