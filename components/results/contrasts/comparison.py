"""The control "Compare with" of every view: its choices, its headline and its panels."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.memo import cache_in_filtered_study
from components.html.format import NARROW_SPACE
from components.html.markup import Markup, join
from components.html.pieces import panel_html
from components.html.templates import macros
from components.results.contrasts import measure_families, panels, sides
from components.results.contrasts.computed import PairedSides
from components.results.contrasts.item_differences import show_item_differences
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.view.result_view import ControlState
from metrics.catalogue.label_records import SINGLE_ANSWERS
from metrics.catalogue.position_records import CONSISTENCY
from metrics.catalogue.records import RECORDS
from metrics.summary.contrast_families import WIN_RATES

CONTROL: Final = "compare"
NOBODY: Final = "none"
HOW_COMPARED: Final = (
    "Paired by item, so the difficulty of an item cancels: `d = measure(A) − measure(B)` on the "
    "items both sides have. Interval: jackknife over items, times the 95\u202f% quantile of the "
    "largest |t| of the measures of all views, from 1,000 bootstrap rounds over items (max-t; with "
    "twins, Bonferroni): all hold together, and a difference has one interval in all views. Win "
    "rates of the models are adjusted for each other. With more than two judges (or prompts), all "
    "pairs of them count, because the two shown were chosen among them. Categories are adjusted as "
    "a family of their own; those with fewer than five items have no interval. An arrow: the "
    "interval goes on beyond ±100 points.\n\n"
    "No significant difference: the interval covers 0. This does not prove equality; consider the "
    "width of the interval."
)
_CATEGORY_MEASURE: Final = {
    measure_families.QUALITY: RECORDS["agreement"].name,
    measure_families.NUDGES: RECORDS["longer"].name,
    SINGLE_ANSWERS: RECORDS["point_right"].name,
}
"""Family -> the measure that is compared by category; consistency in other families."""


def compare_menu_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    """State of the menu: the judges and prompts that can be compared, with `wanted` chosen if it is
    one of them, else none; hidden if there are fewer than two."""
    names = sides.list_sides_of_whole_study(filtered) | sides.sides_in_other_studies(filtered)
    value = wanted if wanted in names else ""
    return ControlState(value, [(NOBODY, ""), *((name, name) for name in names)], len(names) > 1)


def address_for_two_sides(whole: FilteredStudy, left: str, right: str) -> dict[str, str]:
    """Parameters of today's page address for an older address that named two sides: the judge and
    prompt of `left` become filters, and `right` becomes the value of "Compare with"."""
    pair = pair_sides(whole, left, right)
    one = pair.left
    chosen = {"judge": one.judge, "prompt": one.prompt, CONTROL: pair.right.name}
    return {name: value for name, value in chosen.items() if value}


@cache_in_filtered_study
def pair_sides(filtered: FilteredStudy, left: str, right: str) -> PairedSides:
    """The sides (judges or prompts) with the names `left` and `right`, as a PairedSides. A default
    side replaces a name that is empty or unknown. If there is no default side, a side without
    a name takes its place, and `PairedSides.problem` tells that nothing can be compared."""
    known = sides.list_sides_of_whole_study(filtered)
    if {left, right} - {""} - set(known):
        known |= sides.sides_in_other_studies(filtered)
    defaults = sides.default_sides(filtered, known)
    empty = sides.Side("")
    one = known.get(left) or known.get(next((n for n in defaults if n != right), ""), empty)
    other = known.get(right) or known.get(next((n for n in defaults[::-1] if n != one.name), ""))
    return PairedSides(filtered, one, other or empty)


def pair_with_filtered_side(filtered: FilteredStudy, other: str) -> PairedSides:
    """Pair two sides: the judge or prompt that the filters select, and the side named `other`. If
    the filters select neither, the first side is the most consistent judge or, in a study with one
    judge, prompt; if `other` is this side, it is the least consistent judge or prompt."""
    chosen = filtered.filter
    wanted = {
        name: "" if value == ALL_CHOICE else value
        for name, value in (("judge", chosen.judge), ("prompt", chosen.prompt))
    }
    known = sides.list_sides_of_whole_study(filtered)
    for name in wanted:  # no side names the only judge, or the only prompt, of a study
        if not any(getattr(one, name) for one in known.values()):
            wanted[name] = ""
    rater = (wanted["judge"], wanted["prompt"])
    selected = (name for name, one in known.items() if (one.judge, one.prompt) == rater)
    return pair_sides(filtered, next(selected, "") if any(rater) else "", other)


def count_judgements_beyond_filters(filtered: FilteredStudy, other: str) -> tuple[int, str]:
    """(number, study): how many judgements of the side `other` do not pass the filters, although
    the comparison uses them. If the side is from another study, all its judgements count, and
    `study` is its name, otherwise "". (0, "") if the sides cannot be compared."""
    pair = pair_with_filtered_side(filtered, other)
    if pair.problem:
        return 0, ""
    rows = sides.rows_of_side(filtered, pair.right)
    known = filtered.measured_judge_rows.index
    return len(rows) if pair.right.study else len(rows.index.difference(known)), pair.right.study


def compared_measure_family(filtered: FilteredStudy, view: str) -> str:
    """Name of the family of measures (a key of FAMILIES) that a view compares: that of single
    answers if the study has no comparisons, else `measure_family_of_view`."""
    if not has_comparisons(filtered):
        return SINGLE_ANSWERS
    return measure_families.measure_family_of_view(view)


def comparison_headline(filtered: FilteredStudy, other: str, view: str) -> tuple[str, str]:
    """Headline and the sentence below it: the difference between the side that the filters select
    and the side named `other`, in the measures of `view`. If the filters select no side, the
    sentence names the judge or prompt that is compared instead."""
    pair, family = pair_with_filtered_side(filtered, other), compared_measure_family(filtered, view)
    title, lead = panels.contrast_headline(pair, family)
    kind = "judge" if pair.left.judge else "prompt"
    if not pair.problem and getattr(filtered.filter, kind) == ALL_CHOICE:
        lead += f" No {kind} is chosen in the filters, so {pair.left.name} is compared."
    return title, lead


def comparison_html(filtered: FilteredStudy, other: str, view: str) -> Markup:
    """HTML panels that compare the side that the filters select with the side named `other`: the
    measures of `view` with their differences and, unless these are win rates, one measure by
    category and the items that differ most. Empty if the sides cannot be compared."""
    pair, family = pair_with_filtered_side(filtered, other), compared_measure_family(filtered, view)
    if pair.problem:
        return Markup("")
    difference = f"{pair.left.name} minus {pair.right.name}"
    shown = panels.show_measure_family(pair, family)
    table = panel_html(difference, panels.family_subtitle(pair), shown, how_text=HOW_COMPARED)
    if family == WIN_RATES:
        return table
    within = _CATEGORY_MEASURE.get(family, CONSISTENCY.name)
    categories = panel_html(
        f"{within} by category",
        f"difference in points; 95{NARROW_SPACE}% CI, adjusted for the number of categories",
        panels.show_contrasts_by_category(pair, within),
    )
    items = show_item_differences(pair, measure_families.CATEGORY_MEASURES[within])
    fold = macros("results/view/view.html").fold("Items that differ most", "", items)
    return join([table, categories, fold])
