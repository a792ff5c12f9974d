"""The leaderboard VisIT-Bench prints: Elo, matches, win rate against the reference, and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metrics import selection, wins
from metrics.elo import EloRating, EloSettings, elo
from metrics.intervals import joined, mean, unknown
from metrics.measures import Evidence
from studies.records import REFERENCE, Estimate

ALL: Final = "all"
NO_REFERENCE: Final = "the reference did not play"
IS_REFERENCE: Final = "this is the reference"
NEVER_MET: Final = "no decisive head-to-head with the reference"
NO_COST: Final = "no cost is known"


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One contestant in one category. `matches` are head-to-heads under the rule, ties included;
    `against_reference` is wins / decisive, and its n is the decisive ones."""

    category: str
    model: str
    elo: EloRating
    matches: int
    wins: int
    losses: int
    ties: int
    against_reference: Estimate
    reference_matches: int


def leaderboard_rows(
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    combine: wins.Combine = "strict",
    unreadable: wins.Unreadable = "tie",
    reference: str = REFERENCE,
    by: str | None = None,
    judges: Sequence[str] | None = None,
    settings: EloSettings | None = None,
    orders: int = 100,
    rounds: int = 200,
) -> list[LeaderboardRow]:
    """Every contestant of every category, best Elo first within it.

    The defaults are VisIT-Bench's code: both orders merged (2-0 wins, anything else is a tie), a
    reply without a verdict is a tie, K 4, one online pass in plan order. `by` is a column of the
    frame that splits it (`selection.grouped` adds one: single and multi image, skill); each value
    is rated by itself. People's votes are left out unless `judges` names them.
    """
    heard = selection.pairs(selection.voices(frame, judges))
    evidence = Evidence(heard, [by] if by else [])
    cell = evidence.frame["cell"].to_numpy()
    rows: list[LeaderboardRow] = []
    for code, key in enumerate(evidence.cells if len(heard) else []):
        part = selection.rows_of(heard, cell == code)
        played = elo(
            wins.outcomes(part, combine, unreadable),
            rng=rng,
            settings=settings,
            orders=orders,
            rounds=rounds,
            points=1,
        ).table
        met = _against(part, combine, unreadable, reference)
        counts = wins.record(part, combine, unreadable)
        for name in _best_first(played, selection.contestants(part)):
            rated = played.get(name) or _unrated(settings)
            rows.append(_row(key[0] if key else ALL, name, rated, counts, met, reference))
    return rows


def _best_first(table: dict[str, EloRating], names: Sequence[str]) -> list[str]:
    """The rated, best first, then whoever has no head-to-head under the rule."""
    return [*table, *(name for name in names if name not in table)]


def _unrated(settings: EloSettings | None) -> EloRating:
    start = (settings or EloSettings()).start
    note = "no readable head-to-head yet: the rating is the start"
    return EloRating(Estimate(start, unit="Elo", note=note), None, None, 0)


def _row(
    category: str,
    name: str,
    rating: EloRating,
    counts: dict[str, dict[str, int]],
    met: dict[str, tuple[Estimate, int]],
    reference: str,
) -> LeaderboardRow:
    nobody = NO_REFERENCE if not met else NEVER_MET
    missing = unknown(IS_REFERENCE if name == reference else nobody, "share"), 0
    against, games = met.get(name, missing)
    own = counts.get(name, {"matches": 0, "wins": 0, "losses": 0, "ties": 0})
    return LeaderboardRow(
        category, name, rating, own["matches"], own["wins"], own["losses"], own["ties"],
        against, games,
    )  # fmt: skip


def _against(
    frame: pd.DataFrame, combine: wins.Combine, unreadable: wins.Unreadable, reference: str
) -> dict[str, tuple[Estimate, int]]:
    """(wins / decisive, all head-to-heads) of each contestant that met the reference."""
    if len(frame) == 0 or reference not in selection.contestants(frame):
        return {}
    playing = (frame["first"] == reference) | (frame["second"] == reference)
    rows = selection.rows_of(frame, playing)
    note = f"{combine}, unreadable {unreadable}, ties dropped"
    decisive = wins.head_to_head(rows, combine, unreadable, ties="drop")
    counts = wins.record(rows, combine, unreadable)
    return {
        name: (_noted(decisive.get(name, {}).get(reference), note), counts[name]["matches"])
        for name in counts
        if name != reference
    }


def _noted(got: Estimate | None, note: str) -> Estimate:
    if got is None or got.value is None:
        return unknown(joined(NEVER_MET, note), "share")
    return replace(got, note=joined(got.note, note))


# -- what a head-to-head costs -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeadToHeadCost:
    """Dollars per head-to-head (all its orders and repeats by one judge with one prompt)."""

    dollars: Estimate
    head_to_heads: int
    calls: int
    total: float | None
    unpriced: int


def cost_per_head_to_head(
    frame: pd.DataFrame, cost: ArrayLike | None = None, extra: float = 0.0
) -> HeadToHeadCost:
    """What comparing two answers to one item cost on average, whatever came of it.

    `cost` has a number of dollars for each row of the frame, nan where the price is not known
    (default: its column `cost`). `extra` is what was paid outside the frame, for extraction say;
    it is shared out evenly. Noise-floor repeats are no part of a head-to-head. A head-to-head with
    an unpriced call is left out and counted in `unpriced`.
    """
    paid = frame["cost"].to_numpy(np.float64) if cost is None and "cost" in frame else cost
    if paid is None:
        return HeadToHeadCost(unknown(NO_COST, "USD"), 0, 0, None, 0)
    dollars = np.asarray(paid, np.float64)
    if len(dollars) != len(frame):
        raise ValueError(f"{len(dollars)} costs for {len(frame)} rows: one per row is needed")
    asked = (frame["options"] == 2).to_numpy() & ~frame["noise"].to_numpy()
    rows, dollars = selection.rows_of(frame, asked), dollars[asked]
    comparison, count = selection.group_codes(rows, selection.COMPARISON)
    each = np.bincount(comparison, dollars, minlength=count)  # nan makes the whole sum nan
    known = np.isfinite(each)
    item = selection.item_codes(rows)[selection.first_rows(comparison, count)]
    share = extra / count if count else 0.0
    note = "" if known.any() else NO_COST
    got = mean(each[known] + share, item[known], "USD", (0, np.inf), note)
    total = float(np.nansum(dollars)) + extra if known.any() else None
    return HeadToHeadCost(got, int(known.sum()), len(rows), total, int((~known).sum()))
