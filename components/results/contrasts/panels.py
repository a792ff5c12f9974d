"""Panels of the control "Compare with": headline, table of differences, differences by category.

A flip is a comparison whose verdict changes with the order of the answers."""

from collections.abc import Sequence
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import is_agreement_with_people
from components.html.format import NARROW_SPACE, count, number, percent, points, spaced_ci
from components.html.markup import Markup
from components.html.pieces import empty_state
from components.html.tables.forest_cells import Axis, axis_html, fit_share_axis
from components.html.tables.range_table import difference_track
from components.html.templates import macros
from components.results.contrasts import computed
from components.results.contrasts.computed import MeasureContrast, PairedSides, is_significant
from components.results.contrasts.measure_families import CATEGORY_MEASURES, QUALITY
from components.results.contrasts.sides import Side, name_both
from metrics.catalogue.answer_records import AGREEMENT
from metrics.catalogue.position_records import CONSISTENCY, LEAN
from metrics.catalogue.record import MeasureRecord
from metrics.estimation.contrasts import Contrast
from studies.domain import Estimate

_CONTRASTS: Final = macros("results/contrasts/contrasts.html")
MIN_OPPOSITE_LEAN: Final = 0.05
"""Two sides are said to flip toward opposite positions if their net flip rates (share of pairs that
flip toward the first position minus share toward the second) have opposite signs, both are further
from 0 than this value, and their difference is significant."""


# ---------------------------------------------------------------------------- headline


def contrast_headline(pair: PairedSides, family: str) -> tuple[str, str]:
    """Headline, one difference between the sides, and the sentence below it, the number of
    significant differences. If nothing can be compared, both say so.

    The headline takes the first of these that applies: for the family QUALITY, the difference
    in agreement; the difference in consistency, if it is significant or the flips of the two
    sides go toward opposite positions; the largest significant difference."""
    if pair.problem:
        return "Nothing to compare.", pair.problem
    lines = computed.contrasts_with_value(pair.family_contrasts(family))
    if not lines:
        return "Nothing to compare.", "No measure of this group can be computed for both A and B."
    significant = [line for line in lines if is_significant(line[1])]
    lead = _significance_sentence(lines, pair.common_item_count)
    if len(pair.candidates) > 2:
        lead += (
            f" The intervals are widened because A and B were chosen from {len(pair.candidates)} "
            "judges or prompts."
        )
    right = [line for line in lines if family == QUALITY and line[0].key == AGREEMENT.key]
    if right:
        return _difference_sentence(pair, *right[0]), lead
    by_key = {one.key: line for one, line in lines}
    consistency, lean = by_key.get(CONSISTENCY.key), by_key.get(LEAN.key)
    opposite = lean is not None and _have_opposite_leans(lean)
    if consistency is not None and (opposite or is_significant(consistency)):
        return _consistency_sentence(pair, consistency, opposite), lead
    return _largest_difference_sentence(pair, significant), lead


def _significance_sentence(contrasts: Sequence[MeasureContrast], items: int) -> str:
    on = f"on the same {count(items, 'item')}"
    if any(line.adjusted.low != line.raw.low for _, line in contrasts):
        on += ", adjusted for multiple comparisons"
    lines, significant = len(contrasts), sum(is_significant(line) for _, line in contrasts)
    if lines == 1:
        return f"The difference is {'' if significant else 'not '}significant {on}."
    number_of = "None" if not significant else "All" if significant == lines else str(significant)
    verb = "is" if significant < 2 else "are"
    of = "" if significant == lines else "of "
    return f"{number_of} {of}{lines} differences in this view {verb} significant {on}."


def _consistency_sentence(pair: PairedSides, contrast: Contrast, opposite: bool) -> str:
    gap = 100 * (contrast.raw.value or 0.0)
    if not is_significant(contrast):
        both = name_both(pair.left, pair.right)
        head = f"No significant difference in consistency between {both}"
    else:
        more, less = _higher_and_lower(pair, gap)
        head = f"{more} is {points(number(abs(gap)))} more consistent than {less}"
        head = _begin_sentence(head, pair)
    return f"{head}{'; their flips go toward opposite positions' if opposite else ''}."


def _have_opposite_leans(contrast: Contrast) -> bool:
    low, high = sorted((contrast.left_value or 0.0, contrast.right_value or 0.0))
    return is_significant(contrast) and low < -MIN_OPPOSITE_LEAN and high > MIN_OPPOSITE_LEAN


def _largest_difference_sentence(pair: PairedSides, significant: Sequence[MeasureContrast]) -> str:
    if not significant:
        return f"No significant difference between {name_both(pair.left, pair.right)}."
    return _difference_sentence(
        pair, *max(significant, key=lambda line: abs(line[1].raw.value or 0.0))
    )


def _difference_sentence(pair: PairedSides, record: MeasureRecord, contrast: Contrast) -> str:
    if not is_significant(contrast):
        sides = name_both(pair.left, pair.right)
        return f"{record.name}: no significant difference between {sides}."
    gap = 100 * (contrast.raw.value or 0.0)
    more, less = _higher_and_lower(pair, gap)
    if record.key == "win_rate":
        size = points(number(abs(gap)))
        told = f"{more} gives {record.name} a win rate {size} higher than {less} does."
        return _begin_sentence(told, pair)
    return f"{record.name}: {more} is {points(number(abs(gap)))} above {less}."


def _higher_and_lower(pair: PairedSides, gap: float) -> tuple[str, str]:
    """Names, with their kinds, of the side with the higher and of the side with the lower value, if
    the left value minus the right one is `gap`."""
    more, less = (pair.left, pair.right) if gap > 0 else (pair.right, pair.left)
    return more.title, less.name if more.kind == less.kind else less.title


def _begin_sentence(told: str, pair: PairedSides) -> str:
    """The sentence with a capital letter, unless it begins with the name of a side."""
    titles = tuple(side.title for side in (pair.left, pair.right) if side.kind)
    return told[:1].upper() + told[1:] if told.startswith(titles) else told


# ------------------------------------------------------------------------------- table

BOUNDS: Final = (-1.0, 1.0)
"""Ends of the axis: differences of two shares cannot be larger. An interval of κ with few items
can; its bar then ends in an arrow, and its text has the exact ends."""


def show_measure_family(pair: PairedSides, family: str) -> Markup:
    """HTML table of the measures of a family (a key of FAMILIES): values of both sides, difference
    on a common axis, adjusted interval; below, the measures that cannot be compared. A message if
    none can."""
    if pair.problem:
        return empty_state("Nothing to compare.", pair.problem)
    lines = pair.family_contrasts(family)
    shown = computed.contrasts_with_value(lines)
    if not shown:
        return empty_state("Nothing to compare.", _missing_measures_text(lines))
    estimates = [line.adjusted for _, line in shown]
    axis = fit_share_axis(estimates, signed=True, holds=(0.0,), bounds=BOUNDS)
    own = pair.values_on_items_of_each_side([one for one, _ in shown if one.measure is not None])
    rows = []
    for record, line in shown:
        # A measure without a value for one side alone shows the values on the common items.
        ends = (line.left_value, line.right_value)
        values = own.get(record.name) or tuple(map(Estimate, ends))
        sides = (pair.left, pair.right)
        lines_of_sides = [
            f"{side.name}: {percent(one, n=one.n > 0)}"
            for side, one in zip(sides, values, strict=True)
        ]
        left, right = (_inspect_filters_of_side(pair.filtered, side, record) for side in sides)
        model = record.name if record.key == "win_rate" else ""
        more = {"left": left, "right": right, "own": values, "model": model}
        rows.append(_difference_row(axis, record, line, lines_of_sides) | more)
    left_out = [line for line in lines if line[1].raw.value is None]
    missing = _missing_measures_text(left_out) if left_out else ""
    return _CONTRASTS.family(pair, rows, axis_html(axis), missing)


def _difference_row(
    axis: Axis, record: MeasureRecord, line: Contrast, sides: Sequence[str] = ()
) -> dict[str, Any]:
    """One row of the table as field of the template -> value: the record of the measure, its
    difference and whether it is significant, the HTML of its plot, and the text of its hover card.
    `sides`: lines of the card with the value of each side."""
    name = record.name if record.key == "win_rate" else record.name.lower()
    head = f"{points(number(100 * (line.raw.value or 0.0), 1, signed=True))}, {name}"
    raw = f"CI{spaced_ci(line.raw, scale=100)}, adjusted{spaced_ci(line.adjusted, scale=100)}"
    ends = (number(100 * (end or 0.0), 1) for end in (line.left_value, line.right_value))
    where = f"{' − '.join(ends)} on {count(line.raw.items, 'common item')}, n {count(line.raw.n)}"
    return {
        "record": record,
        "line": line,
        "significant": is_significant(line),
        "track": difference_track(axis, line.raw, line.adjusted),
        "tip": "\n".join(part for part in (head, raw, where, *sides, line.raw.note) if part),
    }


def _inspect_filters_of_side(
    filtered: FilteredStudy, side: Side, record: MeasureRecord
) -> dict[str, object] | None:
    """Filters with which the Inspect tab lists the judgements behind the value of one side. None
    if they cannot be listed: for a side from another study, and for the agreement with known
    answers."""
    own = {"judge": side.judge, "prompt": side.prompt}
    if side.study or ("unlike" in record.selection and not is_agreement_with_people(filtered)):
        return None
    return {k: v for k, v in own.items() if v} | dict(record.selection)


def _missing_measures_text(lines: Sequence[MeasureContrast]) -> str:
    reasons = "; ".join(f"{one.name} ({one.estimator.empty})" for one, _ in lines)
    none = "No measure of this group can be computed for this study."
    return f"Not compared: {reasons}." if reasons else none


def show_contrasts_by_category(pair: PairedSides, within: str) -> Markup:
    """HTML table of the difference in the measure `within` (a key of CATEGORY_MEASURES) by
    category, adjusted as one family; without interval for categories with too few items. A message
    if there is nothing to compare."""
    if pair.problem:
        return empty_state("Nothing to compare.", pair.problem)
    enough, few = pair.contrasts_by_category(CATEGORY_MEASURES[within])
    known, small = computed.contrasts_with_value(enough), computed.contrasts_with_value(few)
    shown = sorted(known, key=lambda line: -(line[1].raw.value or 0.0))
    if not shown and not small:
        notes = {f"{one.name}: {one.estimator.empty}." for one, _ in enough + few}
        none = "The items that both A and B judged have no category."
        return empty_state("No categories.", " ".join(sorted(notes)) or none)
    estimates = [line.adjusted for _, line in shown]
    axis = fit_share_axis(estimates, signed=True, holds=(0.0, 0.1), bounds=BOUNDS)
    rows, rest = [_difference_row(axis, *line) for line in shown], [line for _, line in small]
    return _CONTRASTS.categories(f"{within} by category", rows, rest, axis_html(axis))


def family_subtitle(pair: PairedSides) -> str:
    if pair.problem:
        return ""
    items = count(pair.common_item_count, "item")
    left, right = map(count, pair.item_counts)
    return (
        f"each side on all its items ({left} and {right}); differences A − B in points "
        f"on the {items} of both; 95{NARROW_SPACE}% CI, by items"
    )
