"""What the ranking panels count, once for each version of a study and choice of filters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np
import pandas as pd

from components.rows import ALL, Filter, machine_rows
from components.scene import Scene
from metrics import selection
from metrics.battles import FOUGHT
from metrics.bradley_terry import Leaderboard, leaderboards
from metrics.elo import Elo, elo
from metrics.wins import head_to_head, win_rate
from studies.records import Estimate
from studies.store import Store

SEED: Final = 20_24
"""Bands and bootstraps are drawn with this seed: the same data, the same picture."""
PASSES: Final = 2_000_000
"""Battles times orders in the band: beyond it fewer orders are shuffled, never under 20."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The boards of a selection: all verdicts, each order alone, people; and the way there."""

    boards: list[Leaderboard]
    rates: dict[str, Estimate] = field(default_factory=dict)
    heads: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    curve: Elo | None = None
    orders: int = 0
    """Shuffled orders in the curve's band."""
    one: Leaderboard | None = None
    """The largest board from the first order of each pair alone, and from the second alone."""
    two: Leaderboard | None = None
    people: Leaderboard | None = None
    judges: tuple[str, ...] = ()

    @property
    def board(self) -> Leaderboard | None:
        """The largest group, if it ranks anybody."""
        return self.boards[0] if self.boards and len(self.boards[0].names) > 1 else None

    @property
    def colours(self) -> dict[str, int]:
        """Contestant -> place in the palette: by name, so that a filter changes no colour."""
        return {name: place for place, name in enumerate(sorted(self.rates))}


def ranking_of(
    rows: pd.DataFrame, asked: pd.DataFrame | None = None, votes: pd.DataFrame | None = None
) -> Ranking:
    """From outcomes under the rule in force; `asked` are the verdicts before both orders were
    combined, `votes` those of people."""
    pairs = pairs_of(rows)
    if pairs.empty:
        return Ranking([])
    orders = int(np.clip(PASSES // max(len(pairs), 1), 20, 100))
    rng = np.random.default_rng(SEED)
    one, two = _by_order(pairs_of(asked)) if asked is not None else (None, None)
    return Ranking(
        leaderboards(pairs),
        win_rate(pairs),
        head_to_head(pairs),
        elo(pairs, rng=rng, rounds=0, orders=orders),
        orders,
        one,
        two,
        _largest(votes[votes["options"] == 2]) if votes is not None else None,
        tuple(sorted(str(name) for name in pairs["judge"].unique())),
    )


def pairs_of(frame: pd.DataFrame) -> pd.DataFrame:
    return selection.pairs(machine_rows(frame))


def _by_order(pairs: pd.DataFrame) -> tuple[Leaderboard | None, Leaderboard | None]:
    """Boards from the order that the plan lists first for each pair of contestants, and the other.

    None where an order was not asked.
    """
    pairs = selection.picked(pairs[[*FOUGHT, "options", "comparison", "shown"]])
    case, cases = selection.group_codes(pairs, ["comparison"])
    listed = pairs["shown"].iloc[selection.first_rows(case, cases)]
    first = pairs["shown"].isin(listed)
    return _largest(pairs[first]), _largest(pairs[~first])


def _largest(pairs: pd.DataFrame) -> Leaderboard | None:
    boards = leaderboards(pairs) if len(pairs) else []
    return boards[0] if boards and len(boards[0].names) > 1 else None


def ranking_in(scene: Scene) -> Ranking:
    """What the scene shows; the work is done once for each version of its study."""
    store, name = scene.store, scene.name
    return _ranked(store, name, store.version(name), scene.filter)


@lru_cache(maxsize=16)
def _ranked(store: Store, name: str, version: tuple[str, int], chosen: Filter) -> Ranking:
    scene = Scene(store, name, chosen)
    everyone = replace(chosen, judge=ALL, prompt=ALL).apply(scene.whole)
    votes = selection.rows_of(everyone, selection.people(everyone))
    return ranking_of(scene.outcomes, scene.machines, votes)
