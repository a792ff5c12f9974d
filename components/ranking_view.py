"""Who wins: leaderboard, Elo curves, head-to-head, win rates by category. No gradio here."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from components import matrix as heat
from components.charts import Figure, elo_curve
from components.charts import win_rates as win_rate_figure
from components.format import count, share
from components.panels import LeaderRow, empty, leaderboard, notice
from components.rows import machine_rows
from metrics.bradley_terry import Leaderboard, leaderboards
from metrics.elo import elo
from metrics.wins import head_to_head, win_rate, win_rates
from studies.records import Estimate

SEED: Final = 20_24
"""Bands and bootstraps are drawn with this seed: the same data, the same picture."""

NO_PAIRS: Final = empty(
    "No pairs here.", "Ratings and head-to-heads need answers that met each other in pairs."
)


def pairs_of(frame: pd.DataFrame) -> pd.DataFrame:
    rows = machine_rows(frame)
    return rows[rows["options"] == 2]


def show_leaderboard(frame: pd.DataFrame) -> str:
    """Bradley–Terry on the Elo scale; one table for each group that can be compared."""
    pairs = pairs_of(frame)
    boards = leaderboards(pairs) if len(pairs) else []
    if not boards:
        return NO_PAIRS
    rates = win_rate(pairs)
    parts = [_board(board, rates) for board in boards]
    if len(boards) > 1:
        told = "Contestants of different groups never met: no ranking across them."
        parts.insert(0, notice("warn", f"{len(boards)} groups.", told))
    return "".join(parts)


def _board(board: Leaderboard, rates: dict[str, Estimate]) -> str:
    names, ratings, ranks = board.names, board.ratings, board.ranks
    gaps = {above: board.gap(above, below) for above, below in pairwise(names)}
    rows = [
        LeaderRow(
            name,
            (ranks[name].low, ranks[name].high),
            ratings[name],
            rates.get(name),
            gaps.get(name),
            int(board.matches[place]),
            colour=_colour(name, rates),
            select={"contestant": name},
        )
        for place, name in enumerate(names)
    ]
    table = leaderboard(rows)
    if board.regularised:
        told = (
            "Someone won or lost every battle, so the gap has no finite value of its own: "
            "a small pseudo-count holds it."
        )
        table = notice("warn", "Regularised.", told) + table
    return table


def _colour(name: str, rates: dict[str, Estimate]) -> int:
    return sorted(rates).index(name) if name in rates else 0


def show_elo(frame: pd.DataFrame) -> Figure | None:
    """Online Elo in plan order, its band over shuffled items, Bradley–Terry as the limit."""
    pairs = pairs_of(frame)
    if pairs.empty:
        return None
    found = elo(pairs, rng=np.random.default_rng(SEED), rounds=0)
    curve = found.curve
    boards = leaderboards(pairs)
    limits = {n: e.value for b in boards for n, e in b.ratings.items() if e.value is not None}
    names = sorted(curve.names)
    band = None
    if curve.low is not None and curve.high is not None:
        at = {name: curve.names.index(name) for name in names}
        band = {n: (curve.low[:, at[n]].tolist(), curve.high[:, at[n]].tolist()) for n in names}
    curves = {name: curve.of(name).tolist() for name in names}
    return elo_curve(curve.battles.tolist(), curves, band=band, limits=limits)


def show_head_to_head(frame: pd.DataFrame) -> str:
    pairs = pairs_of(frame)
    if pairs.empty:
        return NO_PAIRS
    table = head_to_head(pairs)
    order = [name for name in win_rate(pairs) if table.get(name)]
    cells = {(a, b): table[a].get(b) for a in order for b in order if a != b}
    return heat.matrix(order, order, cells, heat.WINS, keys=("contestant", "opponent"))


def show_win_rates(frame: pd.DataFrame) -> Figure | None:
    rates = {name: e for name, e in win_rate(machine_rows(frame)).items() if e.n}
    return win_rate_figure(rates) if rates else None


def show_win_matrix(frame: pd.DataFrame) -> str:
    """Win rates by category: 50 % is blank, more ink is more wins."""
    rows = machine_rows(frame)
    if rows.empty:
        return empty("Nothing to show yet.", "No judgement of this selection has been stored.")
    whole = {name: e for name, e in win_rate(rows).items() if e.n}
    cells: dict[tuple[str, str], Estimate | None] = {(n, "All"): e for n, e in whole.items()}
    for (category,), rates in win_rates(rows, ["category"]).items():
        cells |= {(name, str(category)): e for name, e in rates.items() if category and e.n}
    sizes = rows.groupby("category", observed=True)["item"].nunique()
    columns = [
        heat.Column("All", count(rows["item"].nunique(), "item")),
        *(heat.Column(str(name), str(size)) for name, size in sizes.items() if str(name)),
    ]
    return heat.matrix(
        list(whole),
        columns,
        cells,
        heat.WINS,
        total=True,
        turns=True,
        keys=("contestant", "category"),
    )


def show_ranking_finding(frame: pd.DataFrame) -> tuple[str, str]:
    """Who leads, and whether that is sure: read off the interval of the difference."""
    pairs = pairs_of(frame)
    boards = leaderboards(pairs) if len(pairs) else []
    lead = "Bradley–Terry on the Elo scale. “Above” is read off the interval of the difference."
    if not boards or len(boards[0].names) < 2:
        return "No ranking yet.", "Ratings need pairs of answers that met each other."
    names = boards[0].names
    gap = boards[0].gap(names[0], names[1])
    sure = gap.low is not None and gap.low > 0
    if sure:
        return f"{names[0]} is ahead of {names[1]}.", lead
    return f"{names[0]} and {names[1]} cannot be told apart yet.", lead


def show_wins_finding(frame: pd.DataFrame) -> tuple[str, str]:
    rates = {name: e for name, e in win_rate(machine_rows(frame)).items() if e.value is not None}
    if not rates:
        return "No win yet.", "Win rates need readable verdicts."
    best = next(iter(rates))
    value = rates[best].value or 0.0
    lead = "(Wins + half the ties) / readable verdicts; unreadable replies count for nobody."
    return f"{best} wins {share(value, 0)} of its verdicts.", lead
