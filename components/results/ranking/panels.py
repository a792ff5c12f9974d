"""Contents of the ranking panels: leaderboard, comparison of orders, Elo curves, head-to-head
matrix.

This module does not import Gradio.
"""

from itertools import pairwise, permutations
from typing import Final

import pandas as pd

from components.charts.elo_chart import elo_curve_figure
from components.charts.figure_parts import Figure
from components.html import heatmap, pieces, scales
from components.html.format import NARROW_SPACE, count, join_names, number, points, share, spaced_ci
from components.html.markup import EMPTY, Markup, join
from components.html.tables import forest_tables
from components.html.tables.forest_cells import axis_html
from components.html.templates import macros
from components.results.bias.sentences import missing_orders_text
from components.results.ranking.computed import Ranking
from metrics.estimation.planning.power import E_VALUE_THRESHOLD, further_verdicts_to_separate
from metrics.ratings.bradley_terry import Leaderboard
from metrics.ratings.online_elo import EloRating
from metrics.summary.rating_sections import neighbour_evidence
from studies.domain import Estimate

MAX_EVIDENCE: Final = 4
"""Maximum number of e-values shown (first against second model, second against third, …)."""
MAX_EVIDENCE_ROWS: Final = 300_000
"""Largest number of judgements for which the page shows e-values; with more, it shows none."""
MAX_E_VALUE: Final = 1_000_000
TEMPLATE: Final = "results/ranking/ranking.html"


def no_ranking_html(ranking: Ranking) -> Markup:
    return pieces.empty_state("No ranking here.", ranking.why_empty)


# ------------------------------------------------------------------- the leaderboard


def leaderboard_html(ranking: Ranking) -> Markup:
    """HTML leaderboard, one table per group of models that are linked by comparisons; with a mark
    for the rating from people's votes, if people and judges rated the same models. A message
    without pairs."""
    if not ranking.boards:
        return no_ranking_html(ranking)
    parts = [_leaderboard_table_html(board, ranking) for board in ranking.boards]
    if len(parts) > 1:
        text = "Models of different groups were never compared, so they have no common ranking."
        parts.insert(0, pieces.notice_html("warn", f"{len(parts)} groups.", text))
    return join(parts)


def _leaderboard_table_html(board: Leaderboard, ranking: Ranking) -> Markup:
    names, ratings, ranks = board.names, board.ratings, board.ranks
    gaps = {above: board.gap(above, below) for above, below in pairwise(names)}
    people = people_ratings(board, ranking)
    rows = [
        forest_tables.LeaderRow(
            name,
            (ranks[name].low, ranks[name].high),
            ratings[name],
            ranking.win_rates.get(name),
            gaps.get(name),
            int(board.matches[place]),
            people.get(name),
            colour=ranking.colour_index_by_model.get(name, 0),
            select={"contestant": name},
            battles_needed=further_verdicts_to_separate(board.adjusted_gap(name, names[place + 1]))
            if name in gaps
            else None,
            is_ahead=place + 1 == len(names)
            or board.is_significantly_better(name, names[place + 1]),
        )
        for place, name in enumerate(names)
    ]
    table = forest_tables.leaderboard_table(rows)
    if board.regularised:
        text = (
            "A model won or lost every battle, so its rating has no finite estimate. A small "
            "pseudo-count was added to estimate it."
        )
        table = pieces.notice_html("warn", "Regularised.", text) + table
    return table


def people_ratings(board: Leaderboard, ranking: Ranking) -> dict[str, Estimate]:
    """Model -> rating from people's votes. Empty unless people rated the same models as `board`,
    because a rating is relative to the mean of the rated models."""
    people = ranking.people
    if people is None or set(people.names) != set(board.names):
        return {}
    return {name: rating for name, rating in people.ratings.items() if rating.value is not None}


# ------------------------------------------------------------------ one order or both


def top_models_e_values_html(rows: pd.DataFrame, ranking: Ranking) -> Markup:
    """HTML sentence on the evidence (e-value) that each of the top models and the next one on the
    leaderboard do not win equally often; empty without a leaderboard, and with more than
    MAX_EVIDENCE_ROWS judgements."""
    if ranking.largest_group_leaderboard is None or len(rows) > MAX_EVIDENCE_ROWS:
        return EMPTY
    parts = []
    for one in neighbour_evidence(rows, ranking.largest_group_leaderboard.names, MAX_EVIDENCE):
        over = f"over {count(MAX_E_VALUE)}"
        e_value = number(one.e_value, 1) if one.e_value < MAX_E_VALUE else over
        won = f"{one.above} wins {count(one.won)} of {count(one.votes, 'item')}"
        parts.append(f"{won} against {one.below} (e-value {e_value})")
    text = (
        "Evidence that two models do not win equally often, valid at any time of a run: "
        f"{'; '.join(parts)}. For one pair of models chosen in advance, a run may be stopped "
        f"once the e-value reaches {E_VALUE_THRESHOLD} (error rate at most 5{NARROW_SPACE}%)."
    )
    return pieces.wrap(macros(TEMPLATE).evidence(text)) if parts else EMPTY


def order_comparison_html(ranking: Ranking) -> Markup:
    """HTML table of ranks and ratings from the first order of the answers, the second, and both; a
    message without pairs, or if no pair has verdicts in both orders."""
    both, one, two = ranking.largest_group_leaderboard, ranking.first_order, ranking.second_order
    if both is None:
        return no_ranking_html(ranking)
    if one is None or two is None:
        why = missing_orders_text(ranking.orders)
        return pieces.empty_state("No effect of the order.", why)
    boards = (one, two, both)
    ends = [rating for board in boards for rating in board.ratings.values()]
    axis = forest_tables.fit_rating_axis(
        [forest_tables.LeaderRow("", (1, 1), rating) for rating in ends]
    )
    rows = [_order_row(name, ranking, boards) for name in both.names]
    return pieces.wrap(macros(TEMPLATE).orders(rows, axis, axis_html(axis)))


def _order_row(
    name: str, ranking: Ranking, boards: tuple[Leaderboard, Leaderboard, Leaderboard]
) -> dict[str, object]:
    """Values of a model in the table of orders: swatch, ranks, ratings, text of the hover card. A
    rank is the range that is possible within the intervals, such as "2–4"."""
    ratings = [board.ratings.get(name) for board in boards]
    words = ("first order alone", "second order alone", "both orders")
    lines = [
        f"{number(rating.value)}{spaced_ci(rating, 0)} {word}"
        for rating, word in zip(ratings, words, strict=True)
        if rating is not None and rating.value is not None
    ]
    return {
        "name": name,
        "swatch": forest_tables.contestant_swatch(ranking.colour_index_by_model.get(name, 0)),
        "ranks": [str(board.ranks[name]) if name in board.names else "–" for board in boards],
        "orders": ratings[:2],
        "both": ratings[2] or Estimate(None),
        "tip": "\n".join([name, *lines]),
    }


# ----------------------------------------------------------------------- Elo curves


def elo_figure(ranking: Ranking) -> Figure | None:
    """Figure of the Elo curves in plan order, with the band over shuffled orders of the items for
    the model pointed at, and a slider that replays the battles; None without pairs."""
    if ranking.elo_curve is None:
        return None
    curve = ranking.elo_curve.curve
    names = sorted(curve.names)
    band = None
    if curve.low is not None and curve.high is not None:
        at = {name: curve.names.index(name) for name in names}
        band = {n: (curve.low[:, at[n]].tolist(), curve.high[:, at[n]].tolist()) for n in names}
    curves = {name: curve.ratings_of(name).tolist() for name in names}
    x, limits = curve.battles.tolist(), bradley_terry_by_model(ranking)
    return elo_curve_figure(x, curves, band=band, bradley_terry=limits, height=230, replay=True)


def bradley_terry_by_model(ranking: Ranking) -> dict[str, float]:
    """Model -> Bradley–Terry rating, the value that Elo approaches with more comparisons. Models
    are left out if the ratings of their group are not finite, because some models of the group
    never lost to the others."""
    return {
        name: rating.value
        for board in ranking.boards
        if not board.regularised
        for name, rating in board.ratings.items()
        if rating.value is not None
    }


def elo_convergence_badge(ranking: Ranking) -> Markup:
    """HTML badge on whether Elo has converged: whether each model's Bradley–Terry rating is
    within the range of its final Elo over shuffled orders of the items. Empty without pairs or
    finite ratings."""
    limits, curve = bradley_terry_by_model(ranking), ranking.elo_curve
    if curve is None or not limits:
        return EMPTY
    away = {
        name: limit - (rated.estimate.value or 0.0)
        for name, limit in limits.items()
        if (rated := curve.table.get(name)) is not None and _is_outside_elo_range(rated, limit)
    }
    if not away:
        return pieces.wrap(macros(TEMPLATE).converged())
    most = max(away, key=lambda name: round(abs(away[name]), 6))
    gap = points(count(round(abs(away[most]))))
    text = f"the Elo of {most} differs by {gap} from its Bradley–Terry rating"
    return pieces.wrap(macros(TEMPLATE).not_converged(text, ", ".join(away)))


def _is_outside_elo_range(rated: EloRating, rating: float) -> bool:
    """Whether `rating` is outside the range of the model's final Elo over shuffled orders of the
    items; all are rounded to whole points, as shown. False if the range is unknown."""
    low, high = rated.order_low, rated.order_high
    if low is None or high is None:
        return False
    return not round(low) <= round(rating) <= round(high)


def elo_order_note(ranking: Ranking) -> Markup:
    """HTML note under the Elo curves: the widest range of a model's final Elo over shuffled orders
    of the items, and the models whose curve, drawn in plan order, ends outside their range. Empty
    without pairs, or if no range is known."""
    rated = sorted(ranking.elo_curve.table.items()) if ranking.elo_curve else []
    spread = {name: round((one.order_high or 0) - (one.order_low or 0)) for name, one in rated}
    if not any(spread.values()):
        return EMPTY
    name, widest = max(rated, key=lambda each: spread[each[0]])
    text = (
        f"Elo depends on the order of the battles: 95{NARROW_SPACE}% of {name}'s final ratings in "
        f"shuffled orders of the items are between {number(widest.order_low)} and "
        f"{number(widest.order_high)}, the widest range of a model."
    )
    away = [one for one, each in rated if _is_outside_elo_range(each, each.estimate.value or 0.0)]
    ends = f" Drawn in plan order, {join_names(away)} ended outside the range: use Bradley–Terry."
    return pieces.paragraph(text + ends * bool(away))


# --------------------------------------------------------------------- head-to-head


def head_to_head_html(ranking: Ranking) -> Markup:
    """HTML matrix of win shares, row against column; the hover card adds the share expected from
    the ratings of the two models. A message without pairs."""
    if not ranking.head_to_heads:
        return no_ranking_html(ranking)
    ranked = [name for board in ranking.boards for name in board.names]
    order = [name for name in ranked if ranking.head_to_heads.get(name)]
    cells = {(a, b): ranking.head_to_heads[a].get(b) for a, b in permutations(order, 2)}
    sizes = {one.n for one in cells.values() if one is not None}
    counts = {cell: f"n {count(one.n)}" for cell, one in cells.items() if one is not None}
    return heatmap.matrix_html(
        order,
        order,
        cells,
        scales.WINS_SCALE,
        keys=("contestant", "opponent"),
        more=_expected_share_lines(ranking),
        intervals=False,
        beside=counts if len(sizes) > 1 else None,
    )


def battles_per_cell_text(ranking: Ranking) -> str:
    """Text such as "82 to 160 battles a cell"; empty without head-to-heads."""
    sizes = {one.n for row in ranking.head_to_heads.values() for one in row.values()}
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    cells = count(high, "battle")
    return f"{cells} a cell" if low == high else f"{count(low)} to {cells} a cell"


def _expected_share_lines(ranking: Ranking) -> dict[tuple[str, str], list[str]]:
    found = {}
    for board in ranking.boards:
        if board.regularised:  # an infinite gap predicts only 0 or 100 %
            continue
        for above, below in permutations(board.names, 2):
            one = board.predicted_share(above, below)
            line = f"Bradley–Terry expects {share(one.value, 0)}{spaced_ci(one, 0, scale=100)}"
            found[above, below] = [line.strip()]
    return found
