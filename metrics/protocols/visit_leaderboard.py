"""VisIT-Bench's leaderboard: Elo, matches, win rate against the reference answer, and cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metrics.estimation import measures, row_selection
from metrics.estimation.intervals import join_notes, mean_estimate, unknown_estimate
from metrics.ratings.online_elo import EloRating, EloSettings, compute_elo
from metrics.win_rates import counting_rules, win_rates
from studies.domain import REFERENCE, Estimate

ALL_CATEGORIES: Final = "all"
NO_REFERENCE_NOTE: Final = "the reference is in no pair"
IS_REFERENCE_NOTE: Final = "this is the reference"
NEVER_MET_NOTE: Final = "no decisive head-to-head with the reference"
NO_COST_NOTE: Final = "no cost is known"


@dataclass(frozen=True, slots=True)
class VisitLeaderboardRow:
    """Numbers of one contestant in one category. A head-to-head is one outcome: a single verdict
    or, if the counting rule merges orders, the verdicts of both orders.

    `matches` counts head-to-heads, ties included. `against_reference` is the share of wins among
    decisive head-to-heads with the reference answer, `reference_matches` the number of
    head-to-heads with the reference answer, ties included.
    """

    category: str
    model: str
    elo: EloRating
    matches: int
    wins: int
    losses: int
    ties: int
    against_reference: Estimate
    reference_matches: int


def visit_leaderboard_rows(
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    combine: counting_rules.CombineRule = "strict",
    unreadable: counting_rules.UnreadableRule = "tie",
    reference: str = REFERENCE,
    by: str | None = None,
    judges: Sequence[str] | None = None,
    settings: EloSettings | None = None,
    orders: int = 100,
    rounds: int = 200,
) -> list[VisitLeaderboardRow]:
    """Compute the rows of every contestant in every category, best Elo first in each category.

    The defaults are those of VisIT-Bench's code: both orders merged (a win needs both, otherwise a
    tie), a reply without a verdict is a tie, K = 4, one online pass in plan order. `by` is a column
    of the frame, such as single or multi image (`row_selection.add_column_by_item` adds one); each
    of its values is rated separately. People's votes are left out unless `judges` names them or
    there are no other verdicts."""
    judged = row_selection.select_pairs(row_selection.select_judges(frame, judges))
    evidence = measures.GroupedFrame(judged, [by] if by else [])
    cell = evidence.frame["cell"].to_numpy()
    rows: list[VisitLeaderboardRow] = []
    for code, key in enumerate(evidence.cells if len(judged) else []):
        part = row_selection.select_rows(judged, cell == code)
        played = compute_elo(
            counting_rules.outcome_rows(part, combine, unreadable),
            rng=rng,
            settings=settings,
            orders=orders,
            rounds=rounds,
            points=1,
        ).table
        against = _win_shares_against_reference(part, combine, unreadable, reference)
        counts = win_rates.win_loss_record(part, combine, unreadable)
        for name in _names_best_first(played, row_selection.contestants(part)):
            rated = played.get(name) or _start_rating(settings)
            rows.append(
                _build_leaderboard_row(
                    key[0] if key else ALL_CATEGORIES, name, rated, counts, against, reference
                )
            )
    return rows


def _names_best_first(table: dict[str, EloRating], names: Sequence[str]) -> list[str]:
    """List the contestants with a rating, best first, then those without a usable head-to-head."""
    return [*table, *(name for name in names if name not in table)]


def _start_rating(settings: EloSettings | None) -> EloRating:
    start = (settings or EloSettings()).start
    note = "no readable head-to-head yet: the rating is the starting value"
    return EloRating(Estimate(start, unit="Elo", note=note), None, None, 0)


def _build_leaderboard_row(
    category: str,
    name: str,
    rating: EloRating,
    counts: dict[str, dict[str, int]],
    reference_shares: dict[str, tuple[Estimate, int]],
    reference: str,
) -> VisitLeaderboardRow:
    reason = NO_REFERENCE_NOTE if not reference_shares else NEVER_MET_NOTE
    missing = unknown_estimate(IS_REFERENCE_NOTE if name == reference else reason, "share"), 0
    against, games = reference_shares.get(name, missing)
    own = counts.get(name, {"matches": 0, "wins": 0, "losses": 0, "ties": 0})
    return VisitLeaderboardRow(
        category=category,
        model=name,
        elo=rating,
        matches=own["matches"],
        wins=own["wins"],
        losses=own["losses"],
        ties=own["ties"],
        against_reference=against,
        reference_matches=games,
    )


def _win_shares_against_reference(
    frame: pd.DataFrame,
    combine: counting_rules.CombineRule,
    unreadable: counting_rules.UnreadableRule,
    reference: str,
) -> dict[str, tuple[Estimate, int]]:
    """Return, for each contestant compared with the reference answer, the contestant's share of
    wins among decisive head-to-heads with the reference, and the number of head-to-heads with the
    reference, ties included. Empty if the reference answer is in no pair."""
    if len(frame) == 0 or reference not in row_selection.contestants(frame):
        return {}
    playing = (frame["first"] == reference) | (frame["second"] == reference)
    rows = row_selection.select_rows(frame, playing)
    note = f"{counting_rules.counting_rule_note(combine, unreadable)}, ties left out"
    decisive = win_rates.head_to_head(rows, combine, unreadable, ties="drop")
    counts = win_rates.win_loss_record(rows, combine, unreadable)
    return {
        name: (_add_note(decisive.get(name, {}).get(reference), note), counts[name]["matches"])
        for name in counts
        if name != reference
    }


def _add_note(estimate: Estimate | None, note: str) -> Estimate:
    """Return the estimate with `note` added to its own note. If there is no estimate or no value,
    return an unknown estimate with `note` and the reason: the contestant has no decisive
    head-to-head with the reference answer."""
    if estimate is None or estimate.value is None:
        return unknown_estimate(join_notes(NEVER_MET_NOTE, note), "share")
    return replace(estimate, note=join_notes(estimate.note, note))


# -- cost per head-to-head -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeadToHeadCost:
    """Dollars per head-to-head, which comprises all orders and repeats of one comparison by one
    judge with one prompt. `head_to_heads` counts those of known cost, `unpriced` the others,
    `calls` the calls of both; `total` are the dollars of all calls of known cost, with extra costs
    (None if no head-to-head has a known cost)."""

    dollars: Estimate
    head_to_heads: int
    calls: int
    total: float | None
    unpriced: int


def cost_per_head_to_head(
    frame: pd.DataFrame, cost: ArrayLike | None = None, extra: float = 0.0
) -> HeadToHeadCost:
    """Estimate the mean cost of comparing two answers to one item. Calls repeated only to measure
    noise are left out.

    `cost` is the dollars of each row, nan if unknown (default: the column `cost`). `extra` is a
    cost outside the frame, such as that of extracting verdicts; it is divided evenly among the
    head-to-heads. Those with a call of unknown cost are not in the mean; without others the cost is
    unknown. ValueError if `cost` has not one entry per row."""
    paid = frame["cost"].to_numpy(np.float64) if cost is None and "cost" in frame else cost
    if paid is None:
        return HeadToHeadCost(unknown_estimate(NO_COST_NOTE, "USD"), 0, 0, None, 0)
    dollars = np.asarray(paid, np.float64)
    if len(dollars) != len(frame):
        raise ValueError(f"{len(dollars)} costs for {len(frame)} rows: pass one cost per row")
    counted = (frame["options"] == 2).to_numpy() & ~frame["noise"].to_numpy()
    rows, dollars = row_selection.select_rows(frame, counted), dollars[counted]
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    each = np.bincount(comparison, dollars, minlength=count)  # nan if a call is unpriced
    known = np.isfinite(each)
    item = row_selection.item_codes(rows)[row_selection.first_row_per_group(comparison, count)]
    share = extra / count if count else 0.0
    note = "" if known.any() else NO_COST_NOTE
    mean = mean_estimate(each[known] + share, item[known], "USD", (0, np.inf), note)
    total = float(np.nansum(dollars)) + extra if known.any() else None
    return HeadToHeadCost(mean, int(known.sum()), len(rows), total, int((~known).sum()))
