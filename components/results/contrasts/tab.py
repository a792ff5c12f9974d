"""The view Compare two of the Results tab: two judges or two prompts compared on the same items."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import share_in_drawing
from components.html.format import NARROW_SPACE
from components.html.markup import EMPTY, Markup
from components.html.panel import finding_html, panel_heading, wrap
from components.results.contrasts import panels, sides
from components.results.contrasts.computed import PairedSides
from components.results.contrasts.item_differences import show_items
from components.results.contrasts.measure_families import CATEGORY_MEASURES, FAMILIES, POINT_NAMES
from components.results.pass_fail.scores.computed import has_comparisons, verdict_kinds
from components.results.view import result_view
from components.results.view.address_choices import pick_choice
from components.results.view.result_view import Body, Control, Drawn, Panel, PanelGroup, View
from metrics.catalogue.label_records import SINGLE_ANSWERS

NAME: Final = "Compare two"
ITEMS_TITLE: Final = "Items that differ most"
INTERVAL_LEGEND: Final = Markup(
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="thick"></i>95\u202f% CI</span>'
    '<span class="eh-key"><i class="thin"></i>adjusted for all measures shown</span>'
    '<span class="eh-key"><i class="chance"></i>no difference</span></div>'
)


HOW_FAMILY: Final = (
    "Paired by item, so the difficulty of an item cancels: `d = measure(A) − measure(B)` on the "
    "items both sides have. Interval: jackknife over items. Adjusted interval: the same standard "
    "error times the 95\u202f% quantile of the family's largest |t|. The quantile comes from 1,000 "
    "bootstrap rounds over items (max-t). All adjusted intervals of the family hold "
    "simultaneously. With more than two judges (or prompts), the family contains all pairs of "
    "them, because the two shown were chosen among them.\n\n"
    "No significant difference: the adjusted interval covers 0. This does not prove equality; "
    "consider the width of the interval."
)
HOW_CATEGORIES: Final = (
    "The categories form a family of their own, adjusted by max-t. Categories with fewer than "
    "five items are shown without an interval and are not part of the family."
)


def side_state(filtered: FilteredStudy, wanted: str | None, side: int) -> result_view.ControlState:
    """State of the menu of one side. The default side has the empty value, so that the default view
    has a short address."""
    known = sides.list_sides(filtered)
    default = sides.default_sides(filtered, known)[side]
    names = [*known, *sides.sides_in_other_studies(filtered)]
    offered = [(name, "" if name == default else name) for name in names]
    offered = offered if default else [("\u2013", ""), *offered]
    return result_view.ControlState(
        wanted if wanted in names and wanted != default else "", offered
    )


def family_state(filtered: FilteredStudy, wanted: str | None) -> result_view.ControlState:
    """State of the menu of measure families: those that apply to the verdicts of the study."""
    return _kinds_state(filtered, wanted, tuple(FAMILIES), (SINGLE_ANSWERS,))


def within_state(filtered: FilteredStudy, wanted: str | None) -> result_view.ControlState:
    """State of the menu of measures by category: those that apply to the study's verdicts."""
    return _kinds_state(filtered, wanted, tuple(CATEGORY_MEASURES), POINT_NAMES)


def _kinds_state(
    filtered: FilteredStudy, wanted: str | None, known: tuple[str, ...], points: tuple[str, ...]
) -> result_view.ControlState:
    """State of a menu. Of all choices (`known`), it offers those in `points` if the study has
    verdicts on single answers, and the others if it has comparisons."""
    kinds = verdict_kinds(filtered)
    pairs = [] if kinds.only_points else [name for name in known if name not in points]
    single = [name for name in known if name in points and (kinds.pass_fail or kinds.scores)]
    offered = [*pairs, *single]
    return result_view.ControlState(pick_choice(wanted, offered), offered)


def applied_choice(filtered: FilteredStudy, chosen: str, known: tuple[str, ...]) -> str:
    """The choice to draw: `chosen`, unless it needs comparisons and the study has none; then the
    first of `known`, the choices that apply to single answers."""
    return chosen if chosen in known or has_comparisons(filtered) else known[0]


@share_in_drawing
def find_pair(filtered: FilteredStudy, left: str, right: str) -> PairedSides:
    """The two chosen sides, ready to compare; an empty or unknown name selects the default side."""
    known = sides.list_sides(filtered)
    if {left, right} - {""} - set(known):
        known |= sides.sides_in_other_studies(filtered)
    first, second = (
        (left, right) if {left, right} <= set(known) else sides.default_sides(filtered, known)
    )
    empty = sides.Side("")
    return PairedSides(
        filtered,
        known.get(left) or known.get(first, empty),
        known.get(right) or known.get(second, empty),
    )


def draw_headline(filtered: FilteredStudy, left: str, right: str, family: str) -> Markup:
    family = applied_choice(filtered, family, (SINGLE_ANSWERS,))
    return finding_html(*panels.contrast_finding(find_pair(filtered, left, right), family))


def draw_family(filtered: FilteredStudy, left: str, right: str, family: str) -> Drawn:
    family = applied_choice(filtered, family, (SINGLE_ANSWERS,))
    pair = find_pair(filtered, left, right)
    title = (
        "Paired differences" if pair.problem else f"Paired differences, {_difference_label(pair)}"
    )
    heading = panel_heading(title, panels.family_subtitle(pair))
    return Drawn({"contrasts": panels.show_family(pair, family)}, heading)


def draw_categories(filtered: FilteredStudy, left: str, right: str, within: str) -> Drawn:
    within = applied_choice(filtered, within, POINT_NAMES)
    pair = find_pair(filtered, left, right)
    points = (
        f"difference in points, {_difference_label(pair)}; 95{NARROW_SPACE}% CI, widened for the "
        "number of categories"
    )
    heading = panel_heading(f"{within} by category", "" if pair.problem else points)
    return Drawn({"categories": panels.show_categories(pair, within)}, heading)


def draw_items(filtered: FilteredStudy, left: str, right: str, within: str) -> Drawn:
    within = applied_choice(filtered, within, POINT_NAMES)
    compared = CATEGORY_MEASURES[within]
    heading = panel_heading(ITEMS_TITLE, f"{within.lower()}: {compared.description}")
    items = show_items(find_pair(filtered, left, right), compared)
    return Drawn({"items": items}, heading)


def _difference_label(pair: PairedSides) -> str:
    return f"{pair.left.name} minus {pair.right.name}"


SIDE_STYLE: Final[dict[str, Any]] = {"css": "eh-side", "searchable": False}
HEADLINE: Final = Panel(
    "headline",
    draw_headline,
    (Body("headline", "eh-contrast-told"),),
    controls=(
        Control(
            "left",
            "A",
            [("", "")],
            "menu",
            "eh-left",
            state=partial(side_state, side=0),
            **SIDE_STYLE,
        ),
        Control(
            "right",
            "B",
            [("", "")],
            "menu",
            "eh-right",
            state=partial(side_state, side=1),
            **SIDE_STYLE,
        ),
    ),
    css="eh-title-row eh-sides",
    heading_row=True,
    json_keys=("contrast_families.*.*.*.adjusted",),
)
FAMILY: Final = Panel(
    "contrasts",
    draw_family,
    (Body("contrasts", "eh-contrasts", clickable=True),),
    "Paired differences",
    heading_changes=True,
    legend=wrap(INTERVAL_LEGEND),
    controls=(Control("family", "Family of measures", list(FAMILIES), state=family_state),),
    how=HOW_FAMILY,
    json_keys=(
        "contrast_families.*.*.*.raw",
        "contrast_families.*.*.*.adjusted",
        "contrast_families.*.*.*.left_value",
        "contrast_families.*.*.*.right_value",
    ),
)
CATEGORIES: Final = Panel(
    "categories",
    draw_categories,
    (Body("categories", "eh-contrast-categories", clickable=True),),
    "By category",
    heading_changes=True,
    controls=(
        Control(
            "within",
            "Measure by category",
            list(CATEGORY_MEASURES),
            "menu",
            "eh-within",
            state=within_state,
        ),
    ),
    how=HOW_CATEGORIES,
    head_css="eh-panel-head eh-one-filter",
    json_keys=("--by category: by.*.contrast_families.*.*.*.raw",),
)
ITEMS: Final = Panel(
    "items",
    draw_items,
    (Body("items", "eh-contrast-items", clickable=True),),
    ITEMS_TITLE,
    heading_changes=True,
)
VIEW: Final = View(
    NAME,
    (HEADLINE, FAMILY, PanelGroup((CATEGORIES, ITEMS))),
    kpis=lambda _: EMPTY,
    json_keys=("contrast_families.*.*.*.adjusted",),
)
"""The view Compare two; its headline is a panel, because it depends on the two chosen sides."""
