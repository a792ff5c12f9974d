"""Which answer is truly better: the design of the data says so, else the majority of the people."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from studies.records import BY_DESIGN, Preference

Better = str | Literal["tie"] | None
"""A contestant, "tie", or None where nobody said."""


def better(preferences: Iterable[Preference], x: str, y: str) -> Better:
    """The truly better of two answers; a split vote is a tie."""
    votes = [(p.judge, vote) for p in preferences if (vote := _vote(p, x, y)) is not None]
    design = [vote for judge, vote in votes if judge == BY_DESIGN]
    counts = Counter(design or [vote for _, vote in votes])
    if not counts:
        return None
    (first, most), *rest = counts.most_common(2)
    return "tie" if rest and rest[0][1] == most else first


def best(preferences: Sequence[Preference], options: Sequence[str]) -> Better:
    """The option that no other beats; "tie" if several are unbeaten, None if a pair is unknown."""
    if len(options) == 2:
        return better(preferences, options[0], options[1])
    beaten: set[str] = set()
    for x, y in itertools.combinations(options, 2):
        winner = better(preferences, x, y)
        if winner is None:
            return None
        if winner != "tie":
            beaten.add(y if winner == x else x)
    unbeaten = [name for name in options if name not in beaten]
    return unbeaten[0] if len(unbeaten) == 1 else "tie"


def _vote(preference: Preference, x: str, y: str) -> str | None:
    if preference.ranks:
        return _by_rank(preference.ranks.get(x), preference.ranks.get(y), x, y)
    if preference.shown is not None and set(preference.shown) == {x, y}:
        return preference.picked
    return preference.picked if preference.shown is None and preference.picked in (x, y) else None


@lru_cache(maxsize=1 << 16)
def _by_rank(rank_x: int | None, rank_y: int | None, x: str, y: str) -> str | None:
    if rank_x is None or rank_y is None:
        return None
    return "tie" if rank_x == rank_y else x if rank_x < rank_y else y
