"""Position bias as a table for a paper."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import row_names
from components.html.format import count
from components.results.view.paper_table import (
    PaperTable,
    decimal_cell,
    percent_cells,
    slice_text,
)
from metrics.position.position_measures import position_profile


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
        "over items; n: comparisons with a verdict in every order."
    )
    head = (
        *("Judge", "Consistency", "95 % CI", "First", "95 % CI"),
        *("Entropy", "Noise", "95 % CI", "n"),
    )
    return PaperTable("Position bias", caption, head, tuple(rows))
