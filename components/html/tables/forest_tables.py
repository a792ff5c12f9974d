"""Tables with a plot in each row: flips by judge, and the leaderboard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.html import pieces
from components.html.format import DASH, count, interval, is_known, more_items_text, number, share
from components.html.markup import Markup, attributes, fill, link
from components.html.palette import PALETTE_SIZE, contestant_dash
from components.html.tables import forest_cells
from components.html.tables.csv_table import CsvCell, CsvTable, estimates_csv_table
from components.html.tables.table import Table, TableCell
from components.html.templates import macros
from metrics.estimation.planning.power import MAX_BATTLES
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class FlipRow:
    """The flips of one judge (comparisons whose verdict changes with the order). `first`: number of
    those in which it picked the first position more often than the second over both orders;
    `second`: the reverse. `finding`: a sentence on them. `select`: filters that the button sends,
    by default for the judge's flips."""

    judge: str
    first: int
    second: int
    finding: str
    select: Any = None


@dataclass(frozen=True, slots=True)
class LeaderRow:
    """One model of a leaderboard. `rank`: best and worst rank that its interval permits;
    `above_next`: its lead over the next model; `people`: its rating by people; `colour`: number of
    its colour in the palette, from 0."""

    name: str
    rank: tuple[int, int]
    rating: Estimate
    win_rate: Estimate | None = None
    above_next: Estimate | None = None
    battles: int | None = None
    people: Estimate | None = None
    colour: int = 0
    select: Any = None
    battles_needed: int | None = None
    """Estimated number of further battles, on further items, until the gap to the next model is
    significant; 0 if the gap is significant now, None if it is unknown or above MAX_BATTLES."""
    is_ahead: bool = True
    """Whether the gap to the next model is significant, adjusted for all pairs of models, as the
    ranks are; True for the last model."""


def flips_table(rows: Sequence[FlipRow]) -> Markup:
    """HTML table of flips toward the first and toward the second position: bars on both sides of a
    common zero line, and the finding in words."""
    max_flips = max((max(row.first, row.second) for row in rows), default=1) or 1
    head = Markup(
        '<div class="eh-flip h"><span>Judge</span><span>Flips</span>'
        "<span>Finding</span><span></span></div>"
    )
    return pieces.wrap(head, *(_flip_row_html(row, max_flips) for row in rows))


def _flip_row_html(row: FlipRow, max_flips: int) -> Markup:
    widths = (f"{38 * value / max_flips:.2f}%" for value in (row.first, row.second))
    total = row.first + row.second
    select = row.select if row.select is not None else {"judge": row.judge, "flipped": True}
    opens = pieces.Action(f"Open {count(total, 'flip')}", select)
    button = pieces.button_html(opens) if total else ""
    return macros(pieces.TEMPLATE).flip_row(row, *widths, button)


def leaderboard_table(rows: Sequence[LeaderRow]) -> Markup:
    """HTML of the leaderboard: rank ranges, ratings with intervals, a forest plot in each row, and
    a badge where the gap to the next model is not significant. A column has the numbers of battles
    if they differ between models."""
    axis = fit_rating_axis(rows)
    columns: list[TableCell | str] = [
        TableCell("Rank"),
        "Model",
        TableCell("Rating"),
        TableCell(forest_cells.axis_html(axis), "wide"),
        TableCell("Win rate"),
        TableCell("Lead over the next, Elo points"),
    ]
    lines = [_leader_cells(row, axis) for row in rows]
    if len({row.battles for row in rows}) > 1:
        columns.append(TableCell("Battles"))
        lines = [[*line, count(row.battles)] for line, row in zip(lines, rows, strict=True)]
    data = {"data-table": json.dumps(_leaderboard_csv(rows))}
    return Table(columns, lines, "eh-tbl dense folds", data=data).wrapped_html()


def _leaderboard_csv(rows: Sequence[LeaderRow]) -> CsvTable:
    names = ["rank_low", "rank_high", "contestant", "measure"]
    entries: list[tuple[list[CsvCell], Estimate | None]] = []
    for row in rows:
        keys: list[CsvCell] = [*row.rank, row.name]
        names_of = ("rating", "people's rating", "win rate", "above the next")
        values = (row.rating, row.people, row.win_rate, row.above_next)
        entries += [([*keys, name], one) for name, one in zip(names_of, values, strict=True)]
    return estimates_csv_table(names, entries)


def fit_rating_axis(rows: Sequence[LeaderRow]) -> forest_cells.Axis:
    """An axis over all ratings, those by people too, and their intervals, with ticks every 50, 100
    or 200 points."""
    ratings = [one for row in rows for one in (row.rating, row.people) if one is not None]
    holds = () if any(is_known(one.value) for one in ratings) else (900.0, 1100.0)
    return forest_cells.fit_axis(ratings, forest_cells.RATING_STEPS, number, holds=holds, pad=0.04)


def _leader_cells(row: LeaderRow, axis: forest_cells.Axis) -> list[TableCell | str]:
    low, high = row.rank
    rank = count(low) if low == high else f"{count(low)}\u2013{count(high)}"
    tip = _people_rating_text(row.people)
    plot = forest_cells.forest_html(row.rating, axis, people=row.people, tip=tip)
    return [
        fill("<b>{}</b>", rank),
        contestant_swatch(row.colour) + link(row.name, row.select),
        forest_cells.value_html(number(row.rating.value), interval(row.rating, 0)),
        TableCell(plot, ""),
        _win_rate_html(row.win_rate),
        _gap_html(row),
    ]


def _people_rating_text(people: Estimate | None) -> str:
    """Text of the hover card: people's rating with its interval, and the number of comparisons; ""
    if it is unknown."""
    if people is None or people.value is None:
        return ""
    rated = f"people: {number(people.value)} {interval(people, 0)}".rstrip()
    return f"{rated}\n{count(people.n, 'comparison')}"


def contestant_swatch(index: int) -> Markup:
    """HTML sample of the line that the model with this index of the palette has in the Elo
    chart."""
    colour = f"c{index + 1}" if index < PALETTE_SIZE else "c0"
    dash = " dash" if contestant_dash(index) == "dash" else ""
    return fill('<i class="eh-sw {}{}"></i>', colour, dash)


def _win_rate_html(estimate: Estimate | None) -> Markup:
    if estimate is None or estimate.value is None:
        return fill('<span class="eh-mute">{}</span>', DASH)
    return forest_cells.value_html(share(estimate.value), interval(estimate, 1, scale=100))


def _gap_html(row: LeaderRow) -> Markup:
    estimate = row.above_next
    if estimate is None or estimate.value is None:
        return fill('<span class="eh-mute">{}</span>', DASH)
    if estimate.low is None or estimate.high is None:
        text = number(estimate.value) if estimate.low is None else f"≥ {number(estimate.low)}"
        note = attributes({"data-tip": f"{text}\n{estimate.note}", "tabindex": "0"})
        return fill("<b{}>{}</b>", note, text)
    made = forest_cells.value_html(number(estimate.value), interval(estimate, 0))
    tip = f"a significant difference would need over {count(MAX_BATTLES)} further battles"
    if row.battles_needed:
        tip = f"≈ {more_items_text(row.battles_needed, estimate)}"
    word = "not significant"
    if not estimate.low <= 0 <= estimate.high:
        if row.is_ahead:
            return made
        tip = f"the interval is of this pair alone; ranks are adjusted for all pairs; {tip}"
        word = "not after adjustment"
    return fill("{} {}", made, pieces.rating_gap_badge(word, tip))
