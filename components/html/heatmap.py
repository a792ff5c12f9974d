"""A heatmap as an HTML table; its cells are buttons, coloured by a scale of `scales.py`.

It is HTML because a Plotly heatmap shrinks its text and cannot be used by keyboard or screen
reader.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import (
    CLICK_HINT,
    DASH,
    MIN_COLOURED_ITEMS,
    count,
    interval,
    is_known,
    sample_size_text,
)
from components.html.markup import EMPTY, Markup, attributes, escape, fill, join
from components.html.matrix_heads import (
    MatrixColumn,
    break_name,
    head_html,
    name_html,
    needs_upright_heads,
    total_name,
)
from components.html.pieces import wrap
from components.html.scales import COLOUR_BINS, ColourScale
from components.html.tables.table import Matrix
from components.html.templates import with_chance
from studies.domain import Estimate

__all__ = [
    "EndColumn",
    "MatrixCells",
    "MatrixColumn",
    "colour_scale_html",
    "matrix_html",
    "total_name",
]
MIN_INK_ITEMS: Final = 10
"""Number of items below which a coloured cell shows its number in thin type, with its interval."""
_MAX_TURNED_ROWS: Final = 6
"""Maximum rows of a matrix that is transposed on a phone; a larger one scrolls."""
_CROWDED_COLUMNS: Final = 7
"""Number of columns above which a matrix in a narrow panel shows intervals only on hover."""
_MANY_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True)
class EndColumn:
    """A last column, without colours, that shows a second measure of each row with its interval."""

    head: MatrixColumn
    values: Mapping[str, Estimate]
    """Row -> the measure."""
    scale: ColourScale
    """Name, unit and decimals of the measure."""


MatrixCells = Mapping[tuple[str, str], Estimate | None]


def matrix_html(
    rows: Sequence[str],
    columns: Sequence[MatrixColumn | str],
    cells: MatrixCells,
    scale: ColourScale,
    *,
    total: bool = False,
    keys: tuple[str, str] = ("judge", "category"),
    label_width: int = 132,
    turns: bool | None = None,
    click: str = CLICK_HINT,
    select: Mapping[tuple[str, str], Any] | None = None,
    more: Mapping[tuple[str, str], Sequence[str]] | None = None,
    beside: Mapping[tuple[str, str], str] | None = None,
    least: int = 0,
    aside: str = "",
    strengths: Mapping[tuple[str, str], float] | None = None,
    end: EndColumn | None = None,
    intervals: bool = True,
) -> Markup:
    """HTML of a matrix of estimates, with its colour scale below. `cells`: (row, column) ->
    estimate; a missing or unknown one is shown as a dash.

    - `total`: the first column is a total, set apart and the only one with intervals in its cells,
      except for cells with fewer than MIN_INK_ITEMS items.
    - `keys`: names of the two filters that a click on a cell sets: to the row's name and to the
      column's name (in the total only the first). If `select` has an entry for (row, column), that
      is sent instead.
    - `label_width`: pixels of the row names.
    - `turns`: whether a phone shows the matrix with rows and columns exchanged. None: only if it
      has at most six rows and does not show win rates.
    - `click`: last line of each hover card, on what a click does.
    - `more`: (row, column) -> further lines of the hover card.
    - `beside`: (row, column) -> a small text in the cell itself.
    - `least`: a cell with fewer verdicts than this is hatched, as is one with fewer than
      MIN_COLOURED_ITEMS items.
    - `aside`: text after the colour scale.
    - `strengths`: (row, column) -> colour strength, 0 to 1, used instead of that of the value.
    - `end`: a last column without colours.
    - `intervals`: whether cells with enough items show intervals; if False, only their hover cards
      do. A hatched cell of a column with intervals shows its sample size above its interval."""
    heads = [
        column if isinstance(column, MatrixColumn) else MatrixColumn(column) for column in columns
    ]
    bounded = (heads[:1] if total else heads) if intervals else []
    options = _MatrixOptions(
        cells, scale, keys, click, select or {}, more or {}, beside or {}, least,
        strengths or {}, frozenset(head.name for head in bounded), heads[0].name if total else None,
    )  # fmt: skip
    if turns is None:
        turns = scale.kind != "w" and len(rows) <= _MAX_TURNED_ROWS
    made = {(r, head.name): _cell_html(r, head.name, options) for r in rows for head in heads}
    tables = _wide_table(rows, heads, made, options, total, turns, end)
    if turns:
        tables += _transposed_table(rows, heads, made, options, total, end)
    style = attributes({"style": f"--lab: {label_width}px"})
    data = attributes({"data-heat": json.dumps(_data_for_download(rows, heads, options, aside))})
    hatched = any(e is not None and options.has_too_small_sample(e) for e in cells.values())
    legend = _matrix_legend_html(scale, hatched, aside, least)
    box = fill('<div class="eh-heat-box"{}{}>{}</div>', style, data, tables)
    return wrap(box, legend)


@dataclass(frozen=True, slots=True)
class _MatrixOptions:
    cells: MatrixCells
    scale: ColourScale
    keys: tuple[str, str]
    click: str
    select: Mapping[tuple[str, str], Any]
    more: Mapping[tuple[str, str], Sequence[str]]
    beside: Mapping[tuple[str, str], str]
    min_verdicts: int
    strengths: Mapping[tuple[str, str], float]
    bounded: frozenset[str] = frozenset()
    """Columns whose cells all show their intervals; others show them on hover, if not thin."""
    total: str | None = None
    """Name of the column with the total; None without one."""

    def css_class(self, row: str, column: str, value: float) -> str:
        strength = self.strengths.get((row, column))
        if strength is None:
            return self.scale.css_class(value)
        return f"{self.scale.kind}{round(COLOUR_BINS * min(max(strength, 0.0), 1.0))}"

    @property
    def label(self) -> str:
        return f"{self.scale.name} by {self.keys[0]} and {self.keys[1]}"

    def has_too_small_sample(self, estimate: Estimate) -> bool:
        """Whether the estimate has too few items or verdicts for a coloured cell; False if it has
        no value."""
        few = 0 < estimate.items < MIN_COLOURED_ITEMS or 0 < estimate.n < self.min_verdicts
        return few and estimate.value is not None


def _data_for_download(
    rows: Sequence[str], columns: Sequence[MatrixColumn], options: _MatrixOptions, aside: str
) -> dict[str, Any]:
    """The matrix as a dict for JSON, from which the page's script makes the PNG, SVG and CSV
    downloads; `aside`: text after the colour scale."""
    scale = options.scale
    cells = [
        _cell_values(row, column.name, estimate, options)
        for row in rows
        for column in columns
        if (estimate := options.cells.get((row, column.name))) is not None
        and is_known(estimate.value)
    ]
    return {
        "name": scale.name,
        "kind": scale.kind,
        "unit": scale.unit,
        "legend": [*([text for _, text in scale.marks] or scale.ends), *([aside] if aside else [])],
        "keys": options.keys,
        "rows": list(rows),
        "columns": [column.name for column in columns],
        "cells": cells,
    }


def _cell_values(row: str, column: str, estimate: Estimate, options: _MatrixOptions) -> list[Any]:
    """The values of one cell: row, column, value, low, high, n, items, colour strength from 0 to 1
    (None if hatched), and the cell's two lines of text."""
    ink = None
    if not options.has_too_small_sample(estimate):
        ink = int(options.css_class(row, column, estimate.value or 0.0)[1:]) / COLOUR_BINS
    value, below = options.scale.text(estimate.value), _interval_or_size_text(estimate, options)
    numbers = (estimate.value, estimate.low, estimate.high, estimate.n, estimate.items)
    return [row, column, *numbers, ink, value, below]


def _interval_or_size_text(estimate: Estimate, options: _MatrixOptions) -> str:
    """Second line of a cell: the interval or, if the cell is hatched because it has too few items
    or verdicts, their number."""
    if not options.has_too_small_sample(estimate):
        return options.scale.interval(estimate)
    if 0 < estimate.items < MIN_COLOURED_ITEMS:
        return count(estimate.items, "item")
    return count(estimate.n, "verdict")


def _wide_table(
    rows: Sequence[str],
    columns: Sequence[MatrixColumn],
    html: Mapping[tuple[str, str], Markup],
    options: _MatrixOptions,
    total: bool,
    turns: bool,
    end: EndColumn | None,
) -> Markup:
    gaps = [1] if total and len(columns) > 1 else []
    upright = needs_upright_heads([column.name for column in columns])
    heads = [
        head_html(column, bold=total and i == 0, upright=upright)
        for i, column in enumerate(columns)
    ]
    lines = [(break_name(row), [html[row, column.name] for column in columns]) for row in rows]
    if end is not None:
        gaps.append(len(heads) + len(gaps))
        heads.append(head_html(end.head))
        for row, (_, cells) in zip(rows, lines, strict=True):
            cells.append(_end_cell_html(row, end))
    for gap in gaps:
        for cells in (heads, *(cells for _, cells in lines)):
            cells.insert(gap, Markup("<td></td>"))
    kind = "wide" + (" turns" if turns else "")
    kind += " many" if len(columns) > _MANY_COLUMNS else ""
    kind += " crowded" if len(columns) > _CROWDED_COLUMNS else ""
    kind += " upright" if upright else ""
    return Matrix(heads, lines, kind, options.label, gaps).html()


def _transposed_table(
    rows: Sequence[str],
    columns: Sequence[MatrixColumn],
    html: Mapping[tuple[str, str], Markup],
    options: _MatrixOptions,
    total: bool,
    end: EndColumn | None,
) -> Markup:
    upright = needs_upright_heads(rows)
    heads = [head_html(MatrixColumn(row), upright=upright) for row in rows]
    lines = [
        (name_html(column.name, bold=total and i == 0), [html[row, column.name] for row in rows])
        for i, column in enumerate(columns)
    ]
    if end is not None:
        cells = [_end_cell_html(row, end) for row in rows]
        lines.append((name_html(end.head.name, bold=False), cells))
    return Matrix(heads, lines, "tall upright" if upright else "tall", options.label).html()


def _cell_html(row: str, column: str, options: _MatrixOptions) -> Markup:
    estimate = options.cells.get((row, column))
    if estimate is None or not is_known(estimate.value):
        return _unknown_cell_html(row, column, estimate)
    few = options.has_too_small_sample(estimate)
    thin = not few and MIN_COLOURED_ITEMS <= estimate.items < MIN_INK_ITEMS
    classes = [name for name, on in (("few", few), ("thin", thin)) if on]
    bounded = column in options.bounded
    known = few or bounded or (thin and options.bounded)
    below = _interval_or_size_text(estimate, options) if known else ""
    bounds = options.scale.interval(estimate) if few and bounded else ""
    second = fill("<small>{}</small>", bounds) if bounds else ""
    also = options.beside.get((row, column), "")
    third = fill('{}<small class="also">{}</small>', second, also) if also else second
    own = {options.keys[0]: row}
    own |= {options.keys[1]: column} if column != options.total else {}
    card = _hover_lines(row, column, estimate, options)
    button = attributes(
        {
            "type": "button",
            "class": options.css_class(row, column, estimate.value or 0.0),
            "data-select": json.dumps(options.select.get((row, column)) or own),
            "data-tip": "\n".join(card),
            "aria-label": ". ".join(card),
        }
    )
    box = attributes({"class": " ".join(classes) or None})
    value = options.scale.text(estimate.value)
    made = fill("<button{}><b>{}</b><small>{}</small>{}</button>", button, value, below, third)
    return fill("<td{}>{}</td>", box, made)


def _end_cell_html(row: str, end: EndColumn) -> Markup:
    estimate = end.values.get(row)
    if estimate is None or not is_known(estimate.value):
        return _unknown_cell_html(row, end.head.name, estimate)
    card = [f"{end.scale.name}: {row}", sample_size_text(estimate)]
    return fill(
        '<td class="plain"><span{}><b>{}</b><small>{}</small></span></td>',
        attributes({"data-tip": "\n".join(card)}),
        end.scale.text(estimate.value),
        end.scale.interval(estimate),
    )


def _unknown_cell_html(row: str, column: str, estimate: Estimate | None) -> Markup:
    unknown = "not measured" if row != column else "not compared with itself"
    why = estimate.note if estimate and estimate.note else unknown
    tip = attributes({"data-tip": f"{DASH} {why}\n{row}, {column}"})
    return fill('<td class="none"><span{}>{}</span></td>', tip, DASH)


def _hover_lines(row: str, column: str, estimate: Estimate, options: _MatrixOptions) -> list[str]:
    """Lines of a cell's hover card: value and interval; row and column; items and n; notes; the
    effect of a click."""
    bounds = interval(estimate, options.scale.decimals, scale=options.scale.times)
    unit = f"\u202f{options.scale.unit}" if options.scale.unit == "%" else ""
    value = f"{options.scale.text(estimate.value)}{unit} {bounds}".strip()
    who = f"{row} against {column}" if options.keys[1] == "opponent" else f"{row}, {column}"
    lines = [value, f"{options.scale.name}: {who}", sample_size_text(estimate)]
    lines += options.more.get((row, column), ())
    return [*lines, *filter(None, [estimate.note]), options.click]


def _matrix_legend_html(scale: ColourScale, hatched: bool, aside: str, least: int) -> Markup:
    """HTML below the matrix: the colour scale, the text `aside`, and, if a cell is hatched, the
    reason; `least` is the number of verdicts that a cell needs."""
    few = Markup('<span class="eh-grow"></span>') + with_chance(aside) if aside else EMPTY
    if hatched:
        few += Markup('<span class="eh-grow"></span>') if not aside else EMPTY
        few += fill(
            '<span class="eh-nw"><span class="hatch"></span> fewer than {} items{}</span>',
            MIN_COLOURED_ITEMS,
            f" or {least} verdicts" if least else "",
        )
    return _marked_scale_html(scale, few) if scale.marks else _plain_colour_scale_html(scale, few)


def _marked_scale_html(scale: ColourScale, after: Markup) -> Markup:
    """HTML of a colour scale fitted to the study: its marks, such as chance and the lowest cell;
    then `after`, the rest of the legend."""
    marks = join(with_chance(text, f"left:{100 * at:.0f}%") for at, text in scale.marks)
    return fill(
        '<div class="eh-scale marked"><div class="eh-marks"><i class="{}"></i>{}</div>'
        "<span>Stronger colour: lower. Scaled to this study.</span>{}</div>",
        *(scale.kind, marks, after),
    )


def _plain_colour_scale_html(scale: ColourScale, after: Markup) -> Markup:
    """HTML of a colour scale between the texts of its two ends; then `after`, the rest of the
    legend."""
    ends = [escape(end).replace(" %", "\u202f%") for end in scale.ends]
    return fill(
        '<div class="eh-scale"><span>{}</span><i class="{}"></i><span>{}</span>{}</div>',
        *(ends[0], scale.kind, ends[1], after),
    )


def colour_scale_html(scale: ColourScale, after: Markup = EMPTY) -> Markup:
    """HTML of a colour scale, to be placed below a coloured table; `after` adds entries to the
    legend."""
    return wrap(_plain_colour_scale_html(scale, Markup('<span class="eh-grow"></span>') + after))
