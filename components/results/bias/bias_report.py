"""Position bias in the report file, and its table for a paper."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import row_names
from components.html.format import count
from components.results.bias import panels
from components.results.view.paper_table import (
    PaperTable,
    decimal_cell,
    percent_cells,
    slice_text,
)
from components.results.view.result_view import ReportPanel
from metrics.position.position_measures import position_profile


def report_matrix(view: FilteredStudy) -> ReportPanel | None:
    """Different people in different orders are not one judge that flips: no panel for them."""
    if view.has_only_people:
        return None
    rows = "judge" if view.machines["judge"].nunique() > 1 else "prompt"
    return ReportPanel(
        f"Consistency by {rows} and category",
        panels.SUBTITLES["Consistency"],
        panels.show_matrix(view.frame, "Consistency"),
    )


def report_slots(view: FilteredStudy) -> ReportPanel:
    verdicts = "votes" if view.has_only_people else "verdicts"
    subtitle = f"% of decisive {verdicts} for each position, 95 % CI"
    return ReportPanel("Chosen positions", subtitle, panels.show_slots(view.frame))


def report_flips(view: FilteredStudy) -> ReportPanel | None:
    if view.has_only_people:
        return None
    return ReportPanel(
        "Direction of flips",
        "number of pairs whose verdict changes when the answers are swapped, by direction",
        panels.show_flips(view.frame),
    )


def position_table(view: FilteredStudy) -> PaperTable | None:
    """Table of position bias, one row for each judge and prompt."""
    frame = view.machines
    if frame.empty or view.has_only_people:
        return None
    found = position_profile(frame, ["judge", "prompt"])
    rows = []
    for key, name in row_names(frame).items():
        cell = found[key]
        rows.append(
            (
                name,
                *percent_cells(cell["consistency"]),
                *percent_cells(cell["first_share"]),
                decimal_cell(cell["entropy"]),
                *percent_cells(cell["noise_floor"]),
                count(cell["consistency"].n),
            )
        )
    caption = (
        f"Position bias on {view.name}. Consistency: % of comparisons with the same verdict "
        "in every order. First: % of decisive verdicts for the answer shown first. Entropy: "
        "entropy of the chosen position (1 is even). Noise (noise floor): % of verdicts that "
        f"change when a call is repeated in the same order. {slice_text(view)} 95 % intervals "
        "over items; n: comparisons with a readable verdict in every order."
    )
    head = (
        *("Judge", "Consistency", "95 % CI", "First", "95 % CI"),
        *("Entropy", "Noise", "95 % CI", "n"),
    )
    return PaperTable("Position bias", caption, head, tuple(rows))
