"""Panels of the view Compare two: headline, table of differences, differences by category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.html.format import NARROW_SPACE, count, interval, number
from components.html.markup import EMPTY, Markup, escape, fill, inline_markup, link
from components.html.panel import empty_state, no_difference_badge, wrap
from components.html.tables.forest_cells import fit_share_axis
from components.html.tables.range_table import axis_cell, difference_track, range_table
from components.html.tables.table import TableCell, TableRow
from components.results.contrasts.computed import (
    MeasureContrast,
    PairedSides,
    is_significant,
    known_differences,
)
from components.results.contrasts.measure_families import CATEGORY_MEASURES
from components.results.contrasts.sides import Side
from metrics.catalogue.position_records import CONSISTENCY, LEAN
from metrics.catalogue.record import MeasureRecord
from metrics.estimation.contrasts import Contrast
from studies.domain import Estimate

MIN_OPPOSITE_LEAN: Final = 0.05
"""Two sides are said to flip toward opposite positions if the net flip rate (share of pairs that
flip toward the first position minus share toward the second) of one is above this value, that of
the other below its negative, and the difference is significant."""


# ---------------------------------------------------------------------------- headline


def contrast_finding(pair: PairedSides, family: str) -> tuple[str, str]:
    """Headline (the difference in consistency or, in a family without it, the largest significant
    difference) and the sentence below it (number of significant differences)."""
    if pair.problem:
        return "Nothing to compare.", pair.problem
    lines = known_differences(pair.family(family))
    if not lines:
        return "Nothing to compare.", "No measure of this group can be computed for both A and B."
    significant = [line for line in lines if is_significant(line[1])]
    lead = _significance_sentence(len(significant), len(lines), pair.common_count)
    if len(pair.rivals) > 2:
        lead += (
            f" The intervals are widened because A and B were chosen from {len(pair.rivals)} "
            "judges or prompts."
        )
    consistency = next((line for one, line in lines if one.key == CONSISTENCY.key), None)
    if consistency is not None and family != "Win rates":
        by_name = {one.name: line for one, line in lines}
        return _consistency_sentence(pair, consistency, by_name), lead
    return _largest_difference(pair, significant), lead


def _significance_sentence(significant: int, lines: int, items: int) -> str:
    on = f"on the same {count(items, 'item')}"
    if lines == 1:
        return f"The difference is {'' if significant else 'not '}significant {on}."
    number_of = "None" if not significant else "All" if significant == lines else str(significant)
    verb = "is" if significant < 2 else "are"
    of = "" if significant == lines else "of "
    return (
        f"{number_of} {of}{lines} differences between A and B {verb} significant {on}, adjusted "
        "for multiple comparisons."
    )


def _consistency_sentence(pair: PairedSides, line: Contrast, lines: dict[str, Contrast]) -> str:
    left, right = pair.left.name, pair.right.name
    gap = 100 * (line.raw.value or 0.0)
    if not is_significant(line):
        head = f"No significant difference in consistency between {left} and {right}"
    else:
        more, less = (left, right) if gap > 0 else (right, left)
        head = f"{more} is {number(abs(gap))} points more consistent than {less}"
    lean = lines.get(LEAN.name)
    return (
        f"{head}; their flips go toward opposite positions."
        if lean and _lean_opposite(lean)
        else f"{head}."
    )


def _lean_opposite(line: Contrast) -> bool:
    left, right = line.left_value or 0.0, line.right_value or 0.0
    return (
        is_significant(line)
        and min(left, right) < -MIN_OPPOSITE_LEAN
        and max(left, right) > MIN_OPPOSITE_LEAN
    )


def _largest_difference(pair: PairedSides, significant: Sequence[MeasureContrast]) -> str:
    if not significant:
        return f"No significant difference between {pair.left.name} and {pair.right.name}."
    one, line = max(significant, key=lambda line: abs(line[1].raw.value or 0.0))
    gap = 100 * (line.raw.value or 0.0)
    more, less = (pair.left.name, pair.right.name) if gap > 0 else (pair.right.name, pair.left.name)
    if one.key == "win_rate":
        return (
            f"{more} gives {one.name} a win rate {number(abs(gap))} points higher than {less} does."
        )
    return f"{one.name}: {more} is {number(abs(gap))} points above {less}."


# ------------------------------------------------------------------------------- table


def show_family(pair: PairedSides, family: str) -> Markup:
    """HTML table: measure, values of both sides, difference on a common axis, adjusted interval."""
    if pair.problem:
        return empty_state("Nothing to compare.", pair.problem)
    lines = pair.family(family)
    shown = known_differences(lines)
    if not shown:
        return empty_state("Nothing to compare.", _missing_measures(lines))
    axis = fit_share_axis([line.adjusted for _, line in shown], signed=True, holds=(0.0,))
    heads = [
        TableCell("Measure, %", "nm"),
        TableCell(escape(pair.left.name), "num a"),
        TableCell(escape(pair.right.name), "num b"),
        axis_cell(axis),
        TableCell("Difference, adjusted CI", "num d"),
        TableCell(Markup('<span class="eh-vh">Verdict</span>'), "bd"),
    ]
    rows = [
        TableRow(
            [
                TableCell(escape(one.name) + _small_text(one.description), "nm"),
                TableCell(_side_value(pair.left, one, line.left_value), "num a"),
                TableCell(_side_value(pair.right, one, line.right_value), "num b"),
                TableCell(difference_track(axis, line.raw, line.adjusted), "trk"),
                TableCell(_difference_html(line.adjusted, 1), "num d"),
                TableCell(significance_badge(line), "bd"),
            ],
            tip=_hover_text(one, line),
        )
        for one, line in shown
    ]
    left_out = [line for line in lines if line[1].raw.value is None]
    note = (
        fill(
            '<p class="eh-small eh-mute eh-under">{}</p>',
            inline_markup(_missing_measures(left_out)),
        )
        if left_out
        else ""
    )
    label = f"{pair.left.name} minus {pair.right.name}"
    return range_table(heads, rows, "contrast", label, axis) + wrap(note)


def _small_text(text: str) -> Markup:
    return fill('<span class="eh-small eh-mute">{}</span>', text)


def _side_value(side: Side, one: MeasureRecord, value: float | None) -> Markup:
    """HTML of one side's value; with a link to the side's judgements in Inspect, unless they are in
    another study."""
    own = {"judge": side.judge, "prompt": side.prompt}
    select = None if side.study else {k: v for k, v in own.items() if v} | dict(one.selection)
    return link(_percent_text(value), select)


def _percent_text(value: float | None) -> str:
    return number(None if value is None else 100 * value, 1)


def _difference_html(estimate: Estimate, decimals: int) -> Markup:
    value = None if estimate.value is None else 100 * estimate.value
    bounds = interval(estimate, decimals, scale=100)
    return fill(
        '<b>{}</b> <span class="eh-ci">{}</span>', number(value, decimals, signed=True), bounds
    )


def significance_badge(line: Contrast) -> Markup:
    """HTML badge "no significant difference", or the number of items if there is no interval; empty
    if the difference is significant."""
    if line.adjusted.low is None:
        return fill('<span class="eh-small eh-mute">{}</span>', count(line.raw.items, "item"))
    if is_significant(line):
        return EMPTY
    return no_difference_badge()


def _hover_text(one: MeasureRecord, line: Contrast) -> str:
    raw = f"CI {interval(line.raw, 1, scale=100)}, adjusted "
    raw += interval(line.adjusted, 1, scale=100)
    head = f"{number(100 * (line.raw.value or 0.0), 1, signed=True)} points, {one.name.lower()}"
    where = f"{count(line.raw.items, 'item')}, n {count(line.raw.n)}"
    return "\n".join(part for part in (head, raw, where, line.raw.note) if part)


def _missing_measures(lines: Sequence[MeasureContrast]) -> str:
    reasons = [f"{one.name} ({one.estimator.empty})" for one, _ in lines]
    return (
        f"Not compared: {'; '.join(reasons)}."
        if reasons
        else "No measure of this group can be computed for this study."
    )


def show_categories(pair: PairedSides, within: str) -> Markup:
    """HTML table of one measure's difference by category, adjusted as one family; without interval
    for categories with too few items."""
    if pair.problem:
        return empty_state("Nothing to compare.", pair.problem)
    enough, few = pair.by_category(CATEGORY_MEASURES[within])
    shown = sorted(known_differences(enough), key=lambda line: -(line[1].raw.value or 0.0))
    if not shown and not known_differences(few):
        return empty_state("No categories.", _why_no_categories(enough + few))
    axis = fit_share_axis([line.adjusted for _, line in shown], signed=True, holds=(0.0, 0.1))
    heads = [
        TableCell("Category", "nm"),
        axis_cell(axis),
        TableCell("Difference, adjusted CI", "num d"),
    ]
    rows = [
        TableRow(
            [
                TableCell(link(line.left[1], {"category": line.left[1]}), "nm"),
                TableCell(difference_track(axis, line.raw, line.adjusted), "trk"),
                TableCell(_difference_html(line.adjusted, 0) + significance_badge(line), "num d"),
            ],
            tip=_hover_text(one, line),
        )
        for one, line in shown
    ]
    rows += [
        TableRow(
            [
                TableCell(escape(line.left[1]), "nm"),
                TableCell(_small_text(f"{count(line.raw.items, 'item')}: too few"), "trk"),
                TableCell(fill('<span class="eh-mute">{}</span>', _points_text(line)), "num d"),
            ]
        )
        for _, line in known_differences(few)
    ]
    return range_table(heads, rows, "contrast short", f"{within} by category", axis)


def _points_text(line: Contrast) -> str:
    return number(100 * (line.raw.value or 0.0), 0, signed=True)


def _why_no_categories(lines: Sequence[MeasureContrast]) -> str:
    notes = {f"{one.name}: {one.estimator.empty}." for one, _ in lines}
    return " ".join(sorted(notes)) or "The items that both A and B judged have no category."


def family_subtitle(pair: PairedSides) -> str:
    if pair.problem:
        return ""
    items = count(pair.common_count, "item")
    return f"differences A − B in points on the same {items}; 95{NARROW_SPACE}% CI, by items"
