"""Summary sections on ratings: ranks, gaps, tie models and sample size planning."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import sum_by_item
from metrics.estimation.planning import power
from metrics.ratings.bradley_terry import Leaderboard, connected_leaderboards
from metrics.ratings.rating_by_order import leaderboards_by_order
from metrics.ratings.tie_models import fit_davidson, fit_rao_kupper
from metrics.win_rates import counting_rules
from metrics.win_rates.win_rates import win_rate_by_position
from studies.frames.frame import TIE

MAX_GAP_MATRIX: Final = 20
"""Maximum number of contestants for the full matrix of differences; with more, only neighbours in
the ranking are compared."""

Json = dict[str, Any]


def rating_gap_table(boards: list[Leaderboard]) -> Json:
    """Return above -> below -> difference in Elo, for every two contestants on the same
    leaderboard; above MAX_GAP_MATRIX contestants only for neighbours in the ranking."""
    table: Json = {}
    for board in boards:
        whole = len(board.names) <= MAX_GAP_MATRIX
        for above, below in combinations(board.names, 2) if whole else pairwise(board.names):
            table.setdefault(above, {})[below] = board.gap(above, below)
    return table


def tie_model_table(frame: pd.DataFrame) -> Json:
    """Return "davidson" and "rao_kupper" -> strengths and tie parameter of this tie model, each on
    its own scale; empty without ties."""
    pairs = row_selection.select_pairs(row_selection.select_picks(frame))
    if not (pairs["pick"] == TIE).any():
        return {}
    return {
        name: {"strength": got.strength, "parameter": got.parameter}
        for name, fit in (("davidson", fit_davidson), ("rao_kupper", fit_rao_kupper))
        for got in [fit(pairs)]
        if got.strength
    }


def planning_table(frame: pd.DataFrame, boards: list[Leaderboard]) -> Json:
    """Return "A − B" -> planning values, for each two contestants next to each other in the
    ranking.

    The values are:
    - the number of battles of either contestant so far;
    - the further battles, and the further items, after which the interval of the rating gap,
      adjusted for all pairs, excludes 0 with 80 % power, if the present gap is right (0 if it does
      now, null if unknown);
    - the half-width of the interval of the gap, now and with twice the verdicts;
    - the e-value against "no difference", with one vote per item, and the number of votes. The
      e-value may be checked at any time; from 20 on the difference is significant.
    """
    pairs = row_selection.select_pairs(frame)
    return {
        f"{above} − {below}": _planning_values_of_neighbours(pairs, board, above, below)
        for board in boards
        for above, below in pairwise(board.names)
    }


@dataclass(frozen=True)
class NeighbourEvidence:
    """Evidence that contestant `above` is better than the next in a ranking, `below`: `above` won a
    number `won` of the `votes` items that have a winner. The e-value against equal strength may be
    checked at any time."""

    above: str
    below: str
    won: int
    votes: int
    e_value: float


def neighbour_evidence(
    frame: pd.DataFrame, names: Sequence[str], max_pairs: int
) -> list[NeighbourEvidence]:
    """Return the evidence that a contestant is better than the next in the ranking `names` (best
    first). Only the first `max_pairs` pairs of neighbours are considered; of these, pairs for which
    no item has a winner are left out."""
    pairs = row_selection.select_pairs(frame)
    found = []
    for above, below in list(pairwise(names))[:max_pairs]:
        both = [above, below]
        met = pairs["first"].isin(both) & pairs["second"].isin(both)
        won, votes = _count_items_won(row_selection.select_rows(pairs, met), above)
        if votes:
            found.append(NeighbourEvidence(above, below, won, votes, power.e_value(won, votes)))
    return found


def _planning_values_of_neighbours(
    pairs: pd.DataFrame, board: Leaderboard, above: str, below: str
) -> Json:
    """Return the planning values (see `planning_table`) of two neighbours in a ranking."""
    gap, both = board.gap(above, below), [above, below]
    more = power.further_verdicts_to_separate(board.adjusted_gap(above, below))
    met = row_selection.select_rows(pairs, pairs["first"].isin(both) & pairs["second"].isin(both))
    won, votes = _count_items_won(met, above)
    return {
        "battles_so_far": gap.n,
        "further_battles": more,
        "further_items": power.items_with_verdicts(more, gap) if more else more,
        "half_width": power.half_width_after_more_verdicts(gap, 0),
        "half_width_after_as_many": power.half_width_after_more_verdicts(gap, gap.n),
        "e_value": power.e_value(won, votes),
        "votes": votes,
    }


def _points_of_contestant(rows: pd.DataFrame, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Points of contestant `name` in each verdict: win 1, tie ½, loss 0."""
    pick, mine = rows["pick"].to_numpy(), (rows["first"] == name).to_numpy()
    return np.where(pick == TIE, 0.5, (pick == 0) == mine).astype(np.float64)


def _count_items_won(met: pd.DataFrame, name: str) -> tuple[int, int]:
    """Count the items won by `name`, and the items with a winner. For each item, both orders are
    merged first, then all judges are added up."""
    rows = counting_rules.outcome_rows(met, "majority")
    if len(rows) == 0:
        return 0, 0
    _, sums = sum_by_item(_points_of_contestant(rows, name) - 0.5, row_selection.item_codes(rows))
    return int((sums > 0).sum()), int((sums != 0).sum())


def ratings_by_order_table(frame: pd.DataFrame) -> Json:
    """Return the ratings from the verdicts in one order alone: {"first": …, "second": …} ->
    contestant -> rating. "first" is the order that comes first in the plan. Empty unless both were
    judged."""
    one, two = leaderboards_by_order(row_selection.select_pairs(frame))
    if one is None or two is None:
        return {}
    return {"first": one.ratings, "second": two.ratings}


def win_rate_by_position_table(frame: pd.DataFrame) -> Json:
    """Return contestant -> "first" or "second" -> win rate where its answer was shown in this
    position; empty without verdicts on pairs."""
    return {
        name: {"first": first, "second": second}
        for name, (first, second) in win_rate_by_position(frame).items()
    }


def rating_sections(frame: pd.DataFrame) -> dict[str, Json]:
    """Build the sections on ratings, by name; a section without data is empty."""
    boards = [board for board in connected_leaderboards(frame) if len(board.names) > 1]
    return {
        "ranks": {name: asdict(rank) for board in boards for name, rank in board.ranks.items()},
        "gaps": rating_gap_table(boards),
        "tie_models": tie_model_table(frame),
        "planning": planning_table(frame, boards),
        "bradley_terry_by_order": ratings_by_order_table(frame),
        "win_rate_by_position": win_rate_by_position_table(frame),
    }
