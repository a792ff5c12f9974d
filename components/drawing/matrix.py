"""A matrix as an HTML table whose cells are buttons: blank is even-handed, more ink is more bias.

A table and not a Plotly heatmap, so that text stays readable and keyboards and screen readers work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.drawing.scales import (
    ACCURACY,
    BINS,
    CHOICE,
    CONSISTENCY,
    ENTROPY,
    FIRST_SHARE,
    GRADE,
    KAPPA,
    LEAN,
    POSITION_TERM,
    RIGHT,
    WINS,
    Scale,
    even_share,
)
from components.format import NONE, attributes, count, interval, known, safe
from studies.records import Estimate

__all__ = [
    "ACCURACY",
    "BINS",
    "CHOICE",
    "CONSISTENCY",
    "ENTROPY",
    "FIRST_SHARE",
    "GRADE",
    "KAPPA",
    "LEAN",
    "POSITION_TERM",
    "RIGHT",
    "WINS",
    "Cells",
    "Column",
    "Scale",
    "even_share",
    "matrix",
]

FEW_ITEMS: Final = 5
"""Below: hatched and uncoloured. From here to THIN_ITEMS: coloured, with a grey number."""
THIN_ITEMS: Final = 10
_TURNS_UP_TO: Final = 6
"""As many rows fit side by side on a phone; a longer matrix scrolls instead of turning."""
_CROWDED_COLUMNS: Final = 7
"""More columns than these have no room for intervals in a narrow panel; the hover card has them."""
_MANY_COLUMNS: Final = 12
_SOFT, _BREAK = "\u00ad", "\u200b"
_SYLLABLE: Final = re.compile(
    r"(?<=[aeiouy][^\Waeiouy])(?=[^\Waeiouy][aeiouy]\w{2,})", re.IGNORECASE
)
"""Between the consonants of vowel, consonant, consonant, vowel; at least four letters follow."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_UNBROKEN: Final = re.compile(rf"[^\s{_SOFT}/_-]{{12}}(?=[^\s{_SOFT}/_-])")
_BREAKS: Final = re.compile(rf"[-_/]|{_BREAK}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and what stands under its name, usually how many items it has."""

    name: str
    note: str = ""


Cells = Mapping[tuple[str, str], Estimate | None]


def matrix(
    rows: Sequence[str],
    columns: Sequence[Column | str],
    cells: Cells,
    scale: Scale,
    *,
    total: bool = False,
    keys: tuple[str, str] = ("judge", "category"),
    flags: Mapping[tuple[str, str], int] | None = None,
    label_width: int = 132,
    turns: bool | None = None,
    click: str = "Click to read them",
    select: Mapping[tuple[str, str], Any] | None = None,
    more: Mapping[tuple[str, str], Sequence[str]] | None = None,
    beside: Mapping[tuple[str, str], str] | None = None,
    least: int = 0,
    aside: str = "",
) -> str:
    """The matrix with its scale strip.

    `cells[row, column]` is an Estimate; None or absent is "not asked": a dash. `total` sets the
    first column apart. A click sends {keys[0]: row, keys[1]: column}. `flags` fold corners (1, 2).
    On a phone rows and columns change places, unless they mean different things ("row beats
    column") or are too many. `select` is what a click on a cell sends instead; `more` adds lines
    to its hover card, `beside` a small line in it that stays where intervals go; a cell of fewer
    than `least` verdicts is hatched too. `aside` stands at the end of the scale strip.
    """
    heads = [column if isinstance(column, Column) else Column(column) for column in columns]
    view = _View(
        cells, scale, keys, flags or {}, click, select or {}, more or {}, beside or {}, least
    )
    if turns is None:
        turns = scale.kind != "w" and len(rows) <= _TURNS_UP_TO
    made = {(r, head.name): _cell(r, head.name, view) for r in rows for head in heads}
    tables = _wide(rows, heads, made, view, total, turns)
    if turns:
        tables += _tall(rows, heads, made, view, total)
    style = attributes({"style": f"--lab: {label_width}px"})
    data = attributes({"data-heat": json.dumps(_data(rows, heads, view))})
    hatched = any(e is not None and view.few(e) for e in cells.values())
    return (
        f'<div class="eh"><div class="eh-heat-box"{style}{data}>{tables}</div>'
        f"{_strip(scale, hatched, aside)}</div>"
    )


@dataclass(frozen=True, slots=True)
class _View:
    cells: Cells
    scale: Scale
    keys: tuple[str, str]
    flags: Mapping[tuple[str, str], int]
    click: str
    select: Mapping[tuple[str, str], Any]
    more: Mapping[tuple[str, str], Sequence[str]]
    beside: Mapping[tuple[str, str], str]
    least: int

    def few(self, estimate: Estimate) -> bool:
        """Too little to colour: under five items, or under as many verdicts as it takes."""
        if estimate.value is None:
            return False
        return 0 < estimate.items < FEW_ITEMS or 0 < estimate.n < self.least


def _data(rows: Sequence[str], columns: Sequence[Column], view: _View) -> dict[str, Any]:
    """The same numbers for the page's downloads: a heatmap as PNG or SVG, a table as CSV."""
    scale = view.scale
    cells = []
    for row in rows:
        for column in columns:
            estimate = view.cells.get((row, column.name))
            if estimate is not None and known(estimate.value):
                cells.append(_numbers(row, column.name, estimate, view))
    return {
        "name": scale.name, "kind": scale.kind, "unit": scale.unit, "keys": view.keys,
        "rows": list(rows), "columns": [column.name for column in columns], "cells": cells,
    }  # fmt: skip


def _numbers(row: str, column: str, estimate: Estimate, view: _View) -> list[Any]:
    """Row, column, value, low, high, n, items, ink from 0 to 1 (none where hatched), two lines."""
    scale = view.scale
    ink = None if view.few(estimate) else int(scale.bin(estimate.value or 0.0)[1:]) / BINS
    return [
        row, column, estimate.value, estimate.low, estimate.high, estimate.n, estimate.items, ink,
        scale.text(estimate.value), _below(estimate, view),
    ]  # fmt: skip


def _below(estimate: Estimate, view: _View) -> str:
    if not view.few(estimate):
        return view.scale.bounds(estimate)
    if 0 < estimate.items < FEW_ITEMS:
        return count(estimate.items, "item")
    return count(estimate.n, "verdict")


def _wide(
    rows: Sequence[str],
    columns: Sequence[Column],
    made: Mapping[tuple[str, str], str],
    view: _View,
    total: bool,
    turns: bool,
) -> str:
    gap = total and len(columns) > 1
    cols = "<col>" + ('<col class="gap">' if gap else "") + "<col>" * (len(columns) - 1)
    heads = [_head(column, bold=total and i == 0) for i, column in enumerate(columns)]
    if gap:
        heads.insert(1, "<td></td>")
    body = ""
    for row in rows:
        inside = [made[row, column.name] for column in columns]
        if gap:
            inside.insert(1, "<td></td>")
        body += f'<tr><th scope="row">{_wrapped(row)}</th>{"".join(inside)}</tr>'
    kind = " turns" if turns else ""
    kind += " many" if len(columns) > _MANY_COLUMNS else ""
    kind += " crowded" if len(columns) > _CROWDED_COLUMNS else ""
    return _table(f"wide{kind}", view, cols, "".join(heads), body)


def _tall(
    rows: Sequence[str],
    columns: Sequence[Column],
    made: Mapping[tuple[str, str], str],
    view: _View,
    total: bool,
) -> str:
    heads = "".join(_head(Column(row)) for row in rows)
    body = "".join(
        f'<tr><th scope="row">{_named(column.name, bold=total and i == 0)}</th>'
        f"{''.join(made[row, column.name] for row in rows)}</tr>"
        for i, column in enumerate(columns)
    )
    return _table("tall", view, "<col>" * len(rows), heads, body)


def _table(kind: str, view: _View, cols: str, heads: str, body: str) -> str:
    label = safe(f"{view.scale.name} by {view.keys[0]} and {view.keys[1]}")
    return (
        f'<table class="eh-heat {kind}" aria-label="{label}"><colgroup><col class="lab">{cols}'
        f"</colgroup><thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def _head(column: Column, bold: bool = False) -> str:
    name = _named(column.name, bold)
    note = f"<small>{safe(column.note)}</small>" if column.note else ""
    return f'<th scope="col">{name}{note}</th>'


def _named(name: str, bold: bool) -> str:
    return f"<b>{_wrapped(name)}</b>" if bold else _wrapped(name)


def _wrapped(name: str) -> str:
    """Names may break after - _ / and inside long words: between syllables, else anywhere."""
    long = 10 if " " in name else 9  # where there are spaces, a line ends there first
    out = _LETTERS.sub(
        lambda word: _SYLLABLE.sub(_SOFT, word[0]) if len(word[0]) >= long else word[0], name
    )
    out = _UNBROKEN.sub(rf"\g<0>{_BREAK}", out)
    return _BREAKS.sub(lambda m: m.group().strip(_BREAK) + "<wbr>", safe(out))


def _cell(row: str, column: str, view: _View) -> str:
    estimate = view.cells.get((row, column))
    if estimate is None or not known(estimate.value):
        why = attributes(_unknown(row, column, estimate))
        return f'<td class="none"><span{why}>{NONE}</span></td>'
    few = view.few(estimate)
    thin = not few and FEW_ITEMS <= estimate.items < THIN_ITEMS
    flag = view.flags.get((row, column), 0)
    classes = [name for name, on in (("few", few), ("thin", thin), ("flag", flag)) if on]
    classes += ["flag2"] if flag > 1 else []
    below = _below(estimate, view)
    also = view.beside.get((row, column), "")
    third = f'<small class="also">{safe(also)}</small>' if also else ""
    own = {view.keys[0]: row, view.keys[1]: column}
    card = _card(row, column, estimate, view)
    button = attributes(
        {
            "type": "button",
            "class": None if few else view.scale.bin(estimate.value or 0.0),
            "data-select": json.dumps(view.select.get((row, column)) or own),
            "data-tip": "\n".join(card),
            "aria-label": ". ".join(card),
        }
    )
    box = attributes({"class": " ".join(classes) or None})
    value = view.scale.text(estimate.value)
    return f"<td{box}><button{button}><b>{value}</b><small>{below}</small>{third}</button></td>"


def _unknown(row: str, column: str, estimate: Estimate | None) -> dict[str, object]:
    why = estimate.note if estimate and estimate.note else "not asked"
    return {"data-tip": f"{NONE} {why}\n{row}, {column}"}


def _card(row: str, column: str, estimate: Estimate, view: _View) -> list[str]:
    """Value and interval; who, where, n; what a click does."""
    bounds = interval(estimate, view.scale.decimals, scale=view.scale.times)
    unit = f"\u202f{view.scale.unit}" if view.scale.unit == "%" else ""
    value = f"{view.scale.text(estimate.value)}{unit} {bounds}".strip()
    where = f"n {count(estimate.n)}"
    if estimate.items:
        where = f"{count(estimate.items, 'item')}, {where}"
    lines = [value, f"{view.scale.name}: {row}, {column}", where]
    lines += view.more.get((row, column), ())
    return [*lines, estimate.note, view.click] if estimate.note else [*lines, view.click]


def _strip(scale: Scale, hatched: bool, aside: str = "") -> str:
    few = f'<span class="eh-grow"></span><span>{safe(aside)}</span>' if aside else ""
    if hatched:
        few += '<span class="eh-grow"></span>' if not aside else ""
        few += f'<span class="hatch"></span><span>fewer than {FEW_ITEMS} items: not coloured</span>'
    ends = [safe(end).replace(" %", "\u202f%") for end in scale.ends]
    return (
        f'<div class="eh-scale"><span>{ends[0]}</span><i class="{scale.kind}"></i>'
        f"<span>{ends[1]}</span>{few}</div>"
    )
