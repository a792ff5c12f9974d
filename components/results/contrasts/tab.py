"""The Contrasts view of the Results tab: two judges or two prompts compared on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from components.html.panel import finding_html, how_computed, panel_heading, wrap
from components.layout.widgets import ClickableHTML, Switch
from components.results.contrasts.computed import PairedSides
from components.results.contrasts.item_differences import show_items
from components.results.contrasts.measure_families import CATEGORY_MEASURES, FAMILIES
from components.results.contrasts.panels import (
    contrast_finding,
    family_subtitle,
    show_categories,
    show_family,
)
from components.results.contrasts.sides import (
    Side,
    default_sides,
    list_sides,
    sides_in_other_studies,
)
from components.results.view_contract import ViewParts, pick_choice

NAME: Final = "Contrasts"
INTERVAL_LEGEND: Final = Markup(
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="thick"></i>95\u202f% CI</span>'
    '<span class="eh-key"><i class="thin"></i>adjusted for all measures shown</span>'
    '<span class="eh-key"><i class="chance"></i>no difference</span></div>'
)


def build() -> ViewParts:
    with gr.Row(elem_classes="eh-title-row eh-sides"):
        headline = ClickableHTML(elem_id="eh-contrast-told")
        left = _side_dropdown("A", "eh-left")
        right = _side_dropdown("B", "eh-right")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            head = ClickableHTML(panel_heading("Paired differences"))
            family = Switch(list(FAMILIES), "Family of measures")
        ClickableHTML(wrap(INTERVAL_LEGEND))
        table = ClickableHTML(elem_id="eh-contrasts")
        ClickableHTML(how_computed(HOW_FAMILY))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1):
            with gr.Row(elem_classes="eh-panel-head eh-one-filter"):
                head_within = ClickableHTML(panel_heading("By category"))
                within = gr.Dropdown(
                    list(CATEGORY_MEASURES),
                    value=next(iter(CATEGORY_MEASURES)),
                    label="Measure by category",
                    show_label=False,
                    container=False,
                    interactive=True,
                    elem_id="eh-within",
                    elem_classes="eh-filter",
                )
            categories = ClickableHTML(elem_id="eh-contrast-categories")
            ClickableHTML(how_computed(HOW_CATEGORIES))
        with gr.Column(elem_classes="eh-panel", scale=1):
            head_items = ClickableHTML(panel_heading("Items that differ most"))
            items = ClickableHTML(elem_id="eh-contrast-items")
    lower = [head_within, categories, head_items, items]
    return ViewParts(
        outputs=[headline, head, table, *lower],
        clickable=[table, categories, items],
        controls={"left": left, "right": right, "family": family, "within": within},
        partial_redraws={
            "family": ([headline, head, table], render_family),
            "within": (lower, render_categories),
        },
    )


def _side_dropdown(label: str, elem_id: str) -> gr.Dropdown:
    """Menu of sides; its empty value selects the default side, so that a URL need not name it."""
    return gr.Dropdown(
        [("", "")],
        value="",
        label=label,
        show_label=False,
        container=False,
        interactive=True,
        elem_id=elem_id,
        elem_classes="eh-filter eh-side",
        filterable=False,
    )


HOW_FAMILY: Final = (
    "Paired by item, so the difficulty of an item cancels: `d = measure(A) − measure(B)` on the "
    "items both sides have. Interval: jackknife over items. Adjusted interval: the same standard "
    "error times the 95\u202f% quantile of the family's largest |t|. The quantile comes from 1,000 "
    "bootstrap rounds over items (max-t). All adjusted intervals of the family hold "
    "simultaneously. Of more than two judges (or prompts) the family is all pairs: the two shown "
    "were chosen among them.\n\n"
    "No significant difference: the adjusted interval covers 0. This does not prove equality; "
    "consider the width of the interval."
)
HOW_CATEGORIES: Final = (
    "The categories form a family of their own, adjusted by max-t. Categories with fewer than "
    "five items are left out of it and have no interval."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Return an empty headline: it depends on the chosen sides, so `render` returns it."""
    return "", ""


def kpis(filtered: FilteredStudy) -> str:
    return ""


def initial_controls(filtered: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    known = list_sides(filtered)
    names = [*known, *sides_in_other_studies(filtered)]
    made: dict[str, Any] = {}
    for control, default in zip(("left", "right"), default_sides(filtered, known), strict=True):
        offered = [(name, "" if name == default else name) for name in names]
        offered = offered if default else [("\u2013", ""), *offered]
        chosen = wanted.get(control, "")
        value = chosen if chosen in names and chosen != default else ""
        made[control] = gr.Dropdown(choices=offered, value=value)
    made["family"] = gr.Radio(value=pick_choice(wanted.get("family"), list(FAMILIES)))
    measures = list(CATEGORY_MEASURES)
    made["within"] = gr.Dropdown(
        choices=measures, value=pick_choice(wanted.get("within"), measures)
    )
    return made


def find_pair(filtered: FilteredStudy, left: str, right: str) -> PairedSides:
    """The two chosen sides; an empty or unknown name selects the default side."""
    known = list_sides(filtered)
    if {left, right} - {""} - set(known):
        known |= sides_in_other_studies(filtered)
    first, second = (left, right) if {left, right} <= set(known) else default_sides(filtered, known)
    empty = Side("")
    return PairedSides(
        filtered,
        known.get(left) or known.get(first, empty),
        known.get(right) or known.get(second, empty),
    )


def render(filtered: FilteredStudy, left: str, right: str, family: str, within: str) -> list[Any]:
    pair = find_pair(filtered, left, right)
    return [*_family_outputs(pair, family), *_category_outputs(pair, within)]


def render_family(
    filtered: FilteredStudy, left: str, right: str, family: str, within: str
) -> list[Any]:
    return _family_outputs(find_pair(filtered, left, right), family)


def render_categories(
    filtered: FilteredStudy, left: str, right: str, family: str, within: str
) -> list[Any]:
    return _category_outputs(find_pair(filtered, left, right), within)


def _family_outputs(pair: PairedSides, family: str) -> list[Any]:
    title = (
        "Paired differences" if pair.problem else f"Paired differences, {_difference_label(pair)}"
    )
    return [
        finding_html(*contrast_finding(pair, family)),
        panel_heading(title, family_subtitle(pair)),
        show_family(pair, family),
    ]


def _category_outputs(pair: PairedSides, within: str) -> list[Any]:
    points = f"points, {_difference_label(pair)}; 95{NARROW_SPACE}% CI, adjusted for the categories"
    compared = CATEGORY_MEASURES[within]
    return [
        panel_heading(f"{within} by category", "" if pair.problem else points),
        show_categories(pair, within),
        panel_heading("Items that differ most", f"{within.lower()}: {compared.description}"),
        show_items(pair, compared),
    ]


def _difference_label(pair: PairedSides) -> str:
    return f"{pair.left.name} minus {pair.right.name}"
