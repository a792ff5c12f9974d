"""Contents of the ranking panels: leaderboard, comparison of orders, Elo curves, head-to-head
matrix.

This module does not import Gradio.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pandas as pd

from components.charts.figures import Figure, elo_curve_figure
from components.html import heatmap as heat
from components.html import scales
from components.html.format import NARROW_SPACE, count, interval, join_names, number, share
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.panel import (
    LeaderRow,
    contestant_swatch,
    empty_state,
    fit_rating_axis,
    leaderboard_table,
    notice_html,
    wrap,
)
from components.html.tables.forest_cells import Axis, axis_html
from components.results.ranking.computed import Ranking
from metrics.estimation.planning.power import E_VALUE_THRESHOLD, battles_to_separate
from metrics.ratings.bradley_terry import Leaderboard
from metrics.ratings.online_elo import EloResult
from metrics.summary.rating_sections import neighbour_evidence
from studies.domain import Estimate

MAX_EVIDENCE: Final = 4
"""Number of e-values shown (first against second model, second against third, …)."""
MAX_EVIDENCE_ROWS: Final = 300_000
"""Largest number of judgements for which the page shows e-values; with more, it shows none."""
MAX_E_VALUE: Final = 1_000_000
NO_PAIRS_HTML: Final = empty_state(
    "No pairs here.", "Ratings and head-to-heads need pairwise comparisons."
)


# ------------------------------------------------------------------- the leaderboard


def leaderboard_html(ranking: Ranking) -> Markup:
    """HTML leaderboard, one table per group of connected models; with a mark for the rating from
    people's votes, if there are votes."""
    if not ranking.boards:
        return NO_PAIRS_HTML
    parts = [_board_html(board, ranking) for board in ranking.boards]
    if len(parts) > 1:
        text = "Models of different groups were never compared, so they have no common ranking."
        parts.insert(0, notice_html("warn", f"{len(parts)} groups.", text))
    return join(parts)


def _board_html(board: Leaderboard, ranking: Ranking) -> Markup:
    names, ratings, ranks = board.names, board.ratings, board.ranks
    gaps = {above: board.gap(above, below) for above, below in pairwise(names)}
    people = people_ratings(board, ranking)
    rows = [
        LeaderRow(
            name,
            (ranks[name].low, ranks[name].high),
            ratings[name],
            ranking.win_rates.get(name),
            gaps.get(name),
            int(board.matches[place]),
            people.get(name),
            colour=ranking.colours.get(name, 0),
            select={"contestant": name},
            battles_needed=battles_to_separate(gaps[name]) if name in gaps else None,
        )
        for place, name in enumerate(names)
    ]
    table = leaderboard_table(rows)
    if board.regularised:
        text = (
            "A model won or lost every battle, so its rating has no finite estimate. A small "
            "pseudo-count was added to estimate it."
        )
        table = notice_html("warn", "Regularised.", text) + table
    return table


def people_ratings(board: Leaderboard, ranking: Ranking) -> dict[str, float]:
    """Ratings from people's votes; empty unless people and judges rated the same models, because
    ratings are relative to the mean of the rated models."""
    people = ranking.people
    if people is None or set(people.names) != set(board.names):
        return {}
    found = ((name, rating.value) for name, rating in people.ratings.items())
    return {name: value for name, value in found if value is not None}


# ------------------------------------------------------------------ one order or both


def evidence_html(rows: pd.DataFrame, ranking: Ranking) -> Markup:
    """HTML sentence on the evidence (e-value) that each of the top models beats the next model on
    the leaderboard; empty for very large studies."""
    if ranking.board is None or len(rows) > MAX_EVIDENCE_ROWS:
        return EMPTY
    found = neighbour_evidence(rows, ranking.board.names, MAX_EVIDENCE)
    if not found:
        return EMPTY
    parts = [
        f"{one.above} wins {count(one.won)} of {count(one.votes, 'item')} against {one.below} "
        f"(e-value {_e_value_text(one.e_value)})"
        for one in found
    ]
    text = (
        "Evidence that two models do not win equally often, valid at any time of a run: "
        f"{'; '.join(parts)}. For one pair of models chosen in advance, a run may be stopped "
        f"once the e-value reaches {E_VALUE_THRESHOLD} (error rate at most 5{NARROW_SPACE}%)."
    )
    return wrap(fill('<p class="eh-small eh-under" id="eh-evidence">{}</p>', text))


def _e_value_text(value: float) -> str:
    return number(value, 1) if value < MAX_E_VALUE else f"over {count(MAX_E_VALUE)}"


def order_comparison_html(ranking: Ranking) -> Markup:
    """HTML table of ranks and ratings from the first order of the answers, the second, and both."""
    both, one, two = ranking.board, ranking.first_order, ranking.second_order
    if both is None:
        return NO_PAIRS_HTML
    if one is None or two is None:
        text = (
            "Every pair was judged in one order only. Run the study in both orders to see the "
            "effect of the order."
        )
        return empty_state("One order only.", text)
    boards = [board.ratings for board in (one, two, both)]
    ends = [e for board in boards for e in board.values()]
    axis = fit_rating_axis([LeaderRow("", (1, 1), estimate) for estimate in ends])
    body = join(_order_row(name, ranking, (one, two, both), axis) for name in both.names)
    head = fill(
        '<div class="eh-ord h"><span>Model</span><span class="eh-num">1st order</span>'
        '<span class="eh-num">2nd order</span><span class="eh-num">Both</span>{}'
        '<span class="eh-num">Rating, both orders</span></div>',
        axis_html(axis),
    )
    return wrap(head, body)


def _order_row(
    name: str, ranking: Ranking, boards: tuple[Leaderboard, Leaderboard, Leaderboard], axis: Axis
) -> Markup:
    places = [_rank_text(board, name) for board in boards]
    ranks = join(fill('<span class="eh-num rk">{}</span>', text) for text in places)
    one, two, both = (board.ratings.get(name) for board in boards)
    value = fill("<b>{}</b>", number(both.value if both else None))
    bounds = fill(' <span class="eh-ci">{}</span>', interval(both, 0)) if both else ""
    swatch = contestant_swatch(ranking.colours.get(name, 0))
    return fill(
        '<div class="eh-ord"><span class="nm">{}{}</span>'
        '{}<div class="plot">{}</div>'
        '<span class="eh-num eh-nw val">{}{}</span></div>',
        swatch,
        name,
        ranks,
        _order_dumbbell(name, one, two, both, axis),
        value,
        bounds,
    )


def _rank_text(board: Leaderboard, name: str) -> str:
    """Text of the ranks that are possible for a model within the intervals, such as "2–4"; a dash
    for a model that is not on the board."""
    return str(board.ranks[name]) if name in board.names else "–"


def _order_dumbbell(
    name: str, one: Estimate | None, two: Estimate | None, both: Estimate | None, axis: Axis
) -> Markup:
    """HTML plot of one model's ratings: hollow marks for each single order, a solid mark with
    interval for both. The hover card gives all three values."""
    marks = join(fill('<i class="g" style="left:{}"></i>', axis.place(v)) for v in axis.ticks)
    lines = [name]
    if both is not None and both.low is not None and both.high is not None:
        left, right = axis.place(both.low), axis.place(both.high)
        width = float(right[:-1]) - float(left[:-1])
        marks += fill('<i class="t" style="left:{};width:{:.2f}%"></i>', left, width)
    for number_of, estimate in ((1, one), (2, two)):
        if estimate is not None and estimate.value is not None:
            word = ("first", "second")[number_of - 1]
            lines.append(f"{number(estimate.value)} {interval(estimate, 0)} {word} order alone")
            marks += fill(
                '<i class="n" style="left:{}">{}</i>', axis.place(estimate.value), number_of
            )
    if both is not None and both.value is not None:
        lines.append(f"{number(both.value)} {interval(both, 0)} both orders")
        marks += fill('<i class="p" style="left:{}"></i>', axis.place(both.value))
    return fill(
        "<div{}>{}</div>",
        attributes({"class": "eh-forest", "data-tip": chr(10).join(lines)}),
        marks,
    )


# ----------------------------------------------------------------------- Elo curves


def elo_figure(ranking: Ranking, lines: bool = True) -> Figure | None:
    """Figure of the Elo bands over shuffled orders of the items, the Bradley–Terry ratings as
    limits and, with `lines`, the Elo curves in plan order."""
    if ranking.elo_curve is None:
        return None
    curve = ranking.elo_curve.curve
    names = sorted(curve.names)
    band = None
    if curve.low is not None and curve.high is not None:
        at = {name: curve.names.index(name) for name in names}
        band = {n: (curve.low[:, at[n]].tolist(), curve.high[:, at[n]].tolist()) for n in names}
    curves = {name: curve.of(name).tolist() for name in names}
    return elo_curve_figure(
        curve.battles.tolist(),
        curves,
        band=band,
        limits=rating_limits(ranking),
        lines=lines,
        replay=lines,
    )


def rating_limits(ranking: Ranking) -> dict[str, float]:
    """Model -> Bradley–Terry rating, the limit of its Elo curve. Groups of models in which one won
    or lost every battle are left out, because they have no finite rating."""
    return {
        name: rating.value
        for board in ranking.boards
        if not board.regularised
        for name, rating in board.ratings.items()
        if rating.value is not None
    }


def convergence_badge(ranking: Ranking) -> Markup:
    """HTML badge on whether Elo has converged: it has if each model's Bradley–Terry rating lies in
    the Elo band, the range of the model's final Elo over shuffled orders of the items."""
    limits, curve = rating_limits(ranking), ranking.elo_curve
    if curve is None or not limits:
        return EMPTY
    away = {}
    for name, limit in limits.items():
        rated = curve.table.get(name)
        if rated is None or rated.order_low is None or rated.order_high is None:
            continue
        if not rated.order_low <= limit <= rated.order_high:
            away[name] = limit - (rated.estimate.value or 0.0)
    if not away:
        badge = Markup(
            '<span class="eh-badge">All Bradley–Terry ratings lie in their Elo bands</span>'
        )
        return wrap(fill('{} <span class="eh-small">{}</span>', badge, _outside_band_text(curve)))
    most = max(away, key=lambda name: abs(away[name]))
    text = (
        f"the Elo of {most} differs by {count(round(abs(away[most])))} points from its "
        "Bradley–Terry rating"
    )
    tip = attributes(
        {
            "data-tip": "Bradley–Terry ratings outside the Elo band\nThe band is the range of the "
            f"final Elo over shuffled orders of the items.\nOutside the band: {', '.join(away)}",
            "tabindex": "0",
        }
    )
    return wrap(
        fill(
            '<span class="eh-badge s-unreadable"{}><i>≠</i>Elo not converged yet</span> '
            '<span class="eh-small">{}</span>',
            tip,
            text,
        )
    )


def _outside_band_text(curve: EloResult) -> str:
    """Text on the models whose Elo curve, drawn in plan order, ends outside the Elo band; "" if
    there are none."""
    names = [
        name
        for name, rated in sorted(curve.table.items())
        if rated.order_low is not None
        and rated.order_high is not None
        and not rated.order_low <= (rated.estimate.value or 0.0) <= rated.order_high
    ]
    if not names:
        return ""
    curves = "the curve of" if len(names) == 1 else "the curves of"
    ends = "ends" if len(names) == 1 else "end"
    return (
        f"the band is the range of the final Elo over shuffled orders of the items; {curves} "
        f"{join_names(names)}, drawn in plan order, {ends} outside the band"
    )


# --------------------------------------------------------------------- head-to-head


def head_to_head_html(ranking: Ranking) -> Markup:
    """HTML matrix of win shares, row against column; the hover card adds the share expected from
    the ratings of the two models."""
    if not ranking.head_to_heads:
        return NO_PAIRS_HTML
    order = _leaderboard_order(ranking)
    cells = {(a, b): ranking.head_to_heads[a].get(b) for a in order for b in order if a != b}
    sizes = {one.n for one in cells.values() if one is not None}
    counts = {cell: f"n {count(one.n)}" for cell, one in cells.items() if one is not None}
    return heat.matrix_html(
        order,
        order,
        cells,
        scales.WINS_SCALE,
        keys=("contestant", "opponent"),
        more=_expected_lines(ranking),
        beside=counts if len(sizes) > 1 else None,
    )


def battles_per_cell(ranking: Ranking) -> str:
    """Text such as "82 to 160 battles a cell"."""
    sizes = {one.n for row in ranking.head_to_heads.values() for one in row.values()}
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    cells = count(low) if low == high else f"{count(low)} to {count(high)}"
    return f"{cells} battles a cell"


def _leaderboard_order(ranking: Ranking) -> list[str]:
    """Names of the models from the top of the leaderboard down, for the rows and columns of the
    head-to-head matrix."""
    ranked = [name for board in ranking.boards for name in board.names]
    return [name for name in ranked if ranking.head_to_heads.get(name)]


def _expected_lines(ranking: Ranking) -> dict[tuple[str, str], list[str]]:
    found = {}
    for board in ranking.boards:
        if board.regularised:  # an infinite gap predicts only 0 or 100 %
            continue
        for above in board.names:
            for below in board.names:
                if above != below:
                    one = board.predicted_share(above, below)
                    bounds = interval(one, 0, scale=100)
                    line = f"Bradley–Terry expects {share(one.value, 0)} {bounds}".strip()
                    found[above, below] = [line]
    return found
