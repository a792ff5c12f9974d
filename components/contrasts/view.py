"""Contrasts in numbers and words: two sides on the same items, difference by difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.contrasts.families import (
    CONSISTENCY,
    LEANS,
    WITHIN,
    Compared,
)
from components.contrasts.pair import Line, Pair, sure, told
from components.contrasts.sides import Side
from components.drawing.panels import empty, untold_badge, wrap
from components.drawing.tracks import Cell, Row, axis_cell, difference, link, spread_axis, table
from components.format import NARROW, count, interval, number, rich, safe
from metrics.contrasts import Contrast
from studies.records import Estimate

LEANS_AT: Final = 0.05
"""Two sides lean opposite ways if each leans by more than this, and the difference is sure."""


# ------------------------------------------------------------------------------- words


def show_finding(pair: Pair, family: str) -> tuple[str, str]:
    """The headline: who is steadier, by how much; the lead: how many differences hold."""
    if pair.trouble:
        return "Nothing to compare here.", pair.trouble
    lines = told(pair.family(family))
    if not lines:
        return "Nothing to compare here.", "Neither side has a number of this family."
    held = [line for line in lines if sure(line[1])]
    lead = _held(len(held), len(lines), pair.common)
    steady = next((line for one, line in lines if one is CONSISTENCY), None)
    if steady is not None and family != "Win rates":
        return _steadiness(pair, steady, {one.label: line for one, line in lines}), lead
    return _largest(pair, held or lines, bool(held)), lead


def _held(held: int, lines: int, items: int) -> str:
    on = f"on the same {count(items, 'item')}"
    if lines == 1:
        return f"{'It holds' if held else 'It does not hold'} {on}."
    if held == 0:
        return f"None of {lines} differences holds {on} after adjusting for all of them."
    which = "All" if held == lines else f"{held} of"
    verb = "hold" if held > 1 else "holds"
    return f"{which} {lines} differences {verb} {on} after adjusting for all of them."


def _steadiness(pair: Pair, line: Contrast, lines: dict[str, Contrast]) -> str:
    left, right = pair.left.name, pair.right.name
    gap = 100 * (line.raw.value or 0.0)
    if not sure(line):
        head = f"{left} and {right} cannot be told apart in steadiness"
    else:
        more, less = (left, right) if gap > 0 else (right, left)
        head = f"{more} is {number(abs(gap))} points steadier than {less}"
    lean = lines.get(LEANS.label)
    return f"{head}; they lean opposite ways." if lean and _opposite(lean) else f"{head}."


def _opposite(line: Contrast) -> bool:
    left, right = line.left_value or 0.0, line.right_value or 0.0
    return sure(line) and min(left, right) < -LEANS_AT and max(left, right) > LEANS_AT


def _largest(pair: Pair, lines: Sequence[Line], held: bool) -> str:
    one, line = max(lines, key=lambda line: abs(line[1].raw.value or 0.0))
    gap = 100 * (line.raw.value or 0.0)
    more, less = (pair.left.name, pair.right.name) if gap > 0 else (pair.right.name, pair.left.name)
    if not held:
        return f"{pair.left.name} and {pair.right.name} cannot be told apart here."
    if one.told.startswith("win rate"):
        return f"{more} gives {one.label} {number(abs(gap))} points more than {less}."
    return f"{one.label}: {more} is {number(abs(gap))} points above {less}."


# ------------------------------------------------------------------------------- table


def show_family(pair: Pair, family: str) -> str:
    """Measure, both values, the difference on a common axis, its adjusted interval."""
    if pair.trouble:
        return empty("Nothing to compare here.", pair.trouble)
    lines = pair.family(family)
    shown = told(lines)
    if not shown:
        return empty("Nothing to compare here.", _missing(lines))
    axis = spread_axis([line.adjusted for _, line in shown], signed=True, holds=(0.0,))
    heads = [
        Cell("Measure, %", "nm"), Cell(safe(pair.left.name), "num a"),
        Cell(safe(pair.right.name), "num b"), axis_cell(axis),
        Cell("Difference, adjusted CI", "num d"), Cell('<span class="eh-vh">Verdict</span>', "bd"),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(f"{safe(one.label)}{_small(one.told)}", "nm"),
                Cell(_side(pair.left, one, line.left_value), "num a"),
                Cell(_side(pair.right, one, line.right_value), "num b"),
                Cell(difference(axis, line.raw, line.adjusted), "trk"),
                Cell(_gap(line.adjusted, 1), "num d"), Cell(badge(line), "bd"),
            ],
            tip=_card(one, line),
        )
        for one, line in shown
    ]  # fmt: skip
    left_out = [line for line in lines if line[1].raw.value is None]
    note = (
        f'<p class="eh-small eh-mute eh-under">{rich(_missing(left_out))}</p>' if left_out else ""
    )
    label = f"{pair.left.name} minus {pair.right.name}"
    return table(heads, rows, "contrast", label, axis) + wrap(note)


def _small(text: str) -> str:
    return f'<span class="eh-small eh-mute">{safe(text)}</span>'


def _side(side: Side, one: Compared, value: float | None) -> str:
    """A side's value opens its judgements; those of another study are not in this one."""
    own = {"judge": side.judge, "prompt": side.prompt}
    select = None if side.study else {k: v for k, v in own.items() if v} | dict(one.opens)
    return link(_percent(value), select)


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, 1)


def _gap(estimate: Estimate, decimals: int) -> str:
    value = None if estimate.value is None else 100 * estimate.value
    bounds = interval(estimate, decimals, scale=100)
    return f'<b>{number(value, decimals, signed=True)}</b> <span class="eh-ci">{bounds}</span>'


def badge(line: Contrast) -> str:
    """ "Not told apart" where the adjusted interval covers 0."""
    if line.adjusted.low is None:
        return f'<span class="eh-small eh-mute">{count(line.raw.items, "item")}</span>'
    if sure(line):
        return ""
    return untold_badge()


def _card(one: Compared, line: Contrast) -> str:
    raw = f"one by one {interval(line.raw, 1, scale=100)}, adjusted "
    raw += interval(line.adjusted, 1, scale=100)
    head = f"{number(100 * (line.raw.value or 0.0), 1, signed=True)} points, {one.label.lower()}"
    where = f"{count(line.raw.items, 'item')}, n {count(line.raw.n)}"
    return "\n".join(part for part in (head, raw, where, line.raw.note) if part)


def _missing(lines: Sequence[Line]) -> str:
    reasons = [f"{one.label} ({one.measure.empty})" for one, _ in lines]
    return f"Not compared: {'; '.join(reasons)}." if reasons else "This family is empty here."


def show_categories(pair: Pair, within: str) -> str:
    """One measure category by category, a family of its own; too few items: only the number."""
    if pair.trouble:
        return empty("Nothing to compare here.", pair.trouble)
    enough, few = pair.by_category(WITHIN[within])
    shown = sorted(told(enough), key=lambda line: -(line[1].raw.value or 0.0))
    if not shown and not told(few):
        return empty("No categories here.", _why_no_categories(enough + few))
    axis = spread_axis([line.adjusted for _, line in shown], signed=True, holds=(0.0, 0.1))
    heads = [Cell("Category", "nm"), axis_cell(axis), Cell("Difference, adjusted CI", "num d")]
    rows = [
        Row(
            [
                Cell(link(line.left[1], {"category": line.left[1]}), "nm"),
                Cell(difference(axis, line.raw, line.adjusted), "trk"),
                Cell(_gap(line.adjusted, 0) + badge(line), "num d"),
            ],
            tip=_card(one, line),
        )
        for one, line in shown
    ]
    rows += [
        Row(
            [
                Cell(safe(line.left[1]), "nm"),
                Cell(f'<span class="eh-small eh-mute">{count(line.raw.items, "item")}: too few'
                     "</span>", "trk"),
                Cell(f'<span class="eh-mute">{_percent_gap(line)}</span>', "num d"),
            ]
        )
        for _, line in told(few)
    ]  # fmt: skip
    return table(heads, rows, "contrast short", f"{within} by category", axis)


def _percent_gap(line: Contrast) -> str:
    return number(100 * (line.raw.value or 0.0), 0, signed=True)


def _why_no_categories(lines: Sequence[Line]) -> str:
    notes = {f"{one.label}: {one.measure.empty}." for one, _ in lines}
    return " ".join(sorted(notes)) or "The items of this study have no category that both have."


def subtitle(pair: Pair) -> str:
    if pair.trouble:
        return ""
    return f"points; the same {count(pair.common, 'item')} for both; 95{NARROW}% CI, by items"
