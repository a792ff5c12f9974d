"""Which answer is truly better: the design of the data says so, else the majority of the people."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from studies.domain import BY_DESIGN, UNRELATED, Preference

TrueWinner = str | Literal["tie"] | None
"""A contestant, "tie", or None where nobody said."""


def better_answer(preferences: Iterable[Preference], x: str, y: str) -> TrueWinner:
    """The truly better of two answers; a split vote is a tie. An answer to another question is
    worse than any other by its making."""
    if UNRELATED in (x, y):
        return y if x == UNRELATED else x
    votes = [(p.judge, vote) for p in preferences if (vote := _pairwise_vote(p, x, y)) is not None]
    if not votes:
        return None
    design = [vote for judge, vote in votes if judge == BY_DESIGN]
    counts = Counter(design or [vote for _, vote in votes])
    (first, most), *rest = counts.most_common(2)
    return "tie" if rest and rest[0][1] == most else first


def best_answer(preferences: Sequence[Preference], options: Sequence[str]) -> TrueWinner:
    """The option that beats all others, whatever is known of those among themselves; else the only
    one unbeaten, "tie" if there are several, None if a pair is unknown."""
    if len(options) == 2:
        return better_answer(preferences, options[0], options[1])
    pairs = list(itertools.combinations(options, 2))
    winners = [better_answer(preferences, x, y) for x, y in pairs]
    wins = Counter(winner for winner in winners if winner not in (None, "tie"))
    for name, count in wins.items():
        if count == len(options) - 1:
            return name
    if None in winners:
        return None
    beaten = {y if winner == x else x for (x, y), winner in zip(pairs, winners, strict=True)
              if winner != "tie"}  # fmt: skip
    unbeaten = [name for name in options if name not in beaten]
    return unbeaten[0] if len(unbeaten) == 1 else "tie"


def _pairwise_vote(preference: Preference, x: str, y: str) -> str | None:
    """What one person says about two answers. A pick out of several beats each of them; where it
    is not known what was shown, it was all the answers."""
    if preference.ranks:
        return _compare_ranks(preference.ranks.get(x), preference.ranks.get(y), x, y)
    seen = preference.shown is None or {x, y} <= set(preference.shown)
    return preference.picked if seen and preference.picked in (x, y, "tie") else None


def _compare_ranks(rank_x: int | None, rank_y: int | None, x: str, y: str) -> str | None:
    if rank_x is None or rank_y is None:
        return None
    return "tie" if rank_x == rank_y else x if rank_x < rank_y else y
