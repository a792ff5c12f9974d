"""Filters above every view of Results: menus, their values, and their choices for a study."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gradio as gr

from components.filtering import filters
from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, STUDY_RULE, WITH_SUSPECTS, Filter
from components.html.markup import Markup
from components.layout.widgets import ClickableHTML
from components.results.contrasts import comparison
from components.results.view.address_choices import choice_or_default
from metrics.estimation.row_selection import contestants
from studies.frames.frame import SUSPECT_COLUMN

FILTER_NAMES: Final = ("judge", "prompt", "category", "contestants", "rule", "suspects")
COLUMN_FILTERS: Final = ("judge", "prompt", "category")
FIXED_CHOICES: Final = {
    "rule": [STUDY_RULE, *filters.COUNTING_RULES],
    "suspects": [WITH_SUSPECTS, filters.WITHOUT_SUSPECTS],
}
"""Filter -> its choices, for the filters with the same choices in every study."""
_FILTER_PILL: Final = Markup(
    '<div class="eh"><button type="button" class="eh-btn" data-unfold="#eh-filter-box" '
    'aria-expanded="false" aria-controls="eh-filter-box">Filter</button>'
    '<span id="eh-filter-active"></span></div>'
)
"""HTML of the button that shows the filters, and of a list of the filters in use."""


def build_filters_and_compare_menu() -> tuple[dict[str, gr.Dropdown], gr.Dropdown]:
    """Build the judge filter, the menu "Compare with", and the other filters behind a button;
    return the filters by name, and the menu."""
    judge = _build_filter("judge")
    compare = gr.Dropdown(
        [(comparison.NOBODY, "")],
        value="",
        label="Compare with",
        show_label=False,
        container=False,
        interactive=True,
        filterable=False,
        elem_classes="eh-filter",
        elem_id="eh-compare",
    )
    ClickableHTML(_FILTER_PILL, elem_id="eh-filter-pill")
    with gr.Column(elem_id="eh-filter-box"):
        others = {name: _build_filter(name) for name in FILTER_NAMES if name != "judge"}
    return {"judge": judge, **others}, compare


def _build_filter(name: str) -> gr.Dropdown:
    several = name == "contestants"
    known = FIXED_CHOICES.get(name, [ALL_CHOICE])
    return gr.Dropdown(
        [] if several else known,
        value=[] if several else known[0],
        multiselect=several,
        label="Models" if several else name.capitalize(),
        visible=name != "suspects",
        show_label=False,
        container=False,
        interactive=True,
        elem_classes="eh-filter",
        elem_id=f"eh-filter-{name}",
    )


def parse_filter(values: Sequence[Any]) -> Filter:
    """The filter from the values of the menus, in the order of FILTER_NAMES."""
    judge, prompt, category, contestants, rule, suspects = values
    return Filter(
        judge or ALL_CHOICE,
        prompt or ALL_CHOICE,
        category or ALL_CHOICE,
        tuple(contestants or ()),
        rule or STUDY_RULE,
        suspects or WITH_SUSPECTS,
    )


def filter_choices_from_verdicts(whole: FilteredStudy) -> dict[str, list[str]]:
    """Name of a filter -> its choices, for the filters whose choices depend on the verdicts."""
    frame = whole.unfiltered_frame
    columns = {column: filters.filter_choices(frame, column) for column in COLUMN_FILTERS}
    return {**columns, "contestants": contestants(frame)}


def initial_filter_menus(whole: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, gr.Dropdown]:
    """Name of a filter -> its menu for a study, set to the value in the page address (`wanted`) if
    the study has it, else to its default. The menu `suspects` is visible only if the study has
    injection suspects."""
    known = filter_choices_from_verdicts(whole)
    made = {
        column: gr.Dropdown(
            choices=known[column], value=choice_or_default(wanted.get(column), known[column])
        )
        for column in COLUMN_FILTERS
    }
    models = known["contestants"]
    left, chosen = f",{wanted.get('contestants', '')},", []
    for name in sorted(models, key=len, reverse=True):  # a name may contain commas and other names
        if f",{name}," in left:
            left = left.replace(f",{name},", ",,")
            chosen.append(name)
    made["contestants"] = gr.Dropdown(choices=models, value=chosen)
    made["rule"] = gr.Dropdown(value=choice_or_default(wanted.get("rule"), FIXED_CHOICES["rule"]))
    suspicious = SUSPECT_COLUMN in whole.unfiltered_frame
    asked = wanted.get("suspects") if suspicious else WITH_SUSPECTS
    suspects = choice_or_default(asked, FIXED_CHOICES["suspects"])
    made["suspects"] = gr.Dropdown(value=suspects, visible=suspicious)
    return made
