"""Filters above every view of Results: their menus, their values and their choices for a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import (
    ALL_CHOICE,
    COUNTING_RULES,
    STUDY_RULE,
    WITH_SUSPECTS,
    WITHOUT_SUSPECTS,
    Filter,
    filter_choices,
    shown_contestants,
)
from components.results.view.address_choices import pick_choice
from studies.frames.frame import SUSPECT_COLUMN

FILTER_NAMES: Final = ("judge", "prompt", "category", "contestants", "rule", "suspects")
COLUMN_FILTERS: Final = ("judge", "prompt", "category")
FIXED_CHOICES: Final = {
    "rule": [STUDY_RULE, *COUNTING_RULES],
    "suspects": [WITH_SUSPECTS, WITHOUT_SUSPECTS],
}
"""Filters with the same choices for every study."""


def build_filter(name: str) -> gr.Dropdown:
    several = name == "contestants"
    known = FIXED_CHOICES.get(name, [ALL_CHOICE])
    return gr.Dropdown(
        [] if several else known,
        value=[] if several else known[0],
        multiselect=several,
        label=name.capitalize(),
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


def changing_choices(whole: FilteredStudy) -> dict[str, list[str]]:
    """Filter -> choices, for the filters whose choices depend on the verdicts."""
    frame = whole.unfiltered_frame
    columns = {column: filter_choices(frame, column) for column in COLUMN_FILTERS}
    return {**columns, "contestants": shown_contestants(frame)}


def initial_filters(whole: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, gr.Dropdown]:
    """Menus of the filters for a study, with the values of the address where they exist."""
    known = changing_choices(whole)
    made = {
        column: gr.Dropdown(
            choices=known[column], value=pick_choice(wanted.get(column), known[column])
        )
        for column in COLUMN_FILTERS
    }
    contestants = known["contestants"]
    chosen = [n for n in wanted.get("contestants", "").split(",") if n in contestants]
    made["contestants"] = gr.Dropdown(choices=contestants, value=chosen)
    made["rule"] = gr.Dropdown(value=pick_choice(wanted.get("rule"), FIXED_CHOICES["rule"]))
    suspicious = SUSPECT_COLUMN in whole.unfiltered_frame
    asked = wanted.get("suspects") if suspicious else WITH_SUSPECTS
    suspects = pick_choice(asked, FIXED_CHOICES["suspects"])
    made["suspects"] = gr.Dropdown(value=suspects, visible=suspicious)
    return made
