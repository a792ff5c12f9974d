"""Differences between win rates by judges and by people, on the cases that both judged."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import Raters
from components.html import scales
from metrics.win_rates.people_gaps import ALL_CATEGORIES, win_rate_gaps
from studies.domain import Estimate

GAP_SCALE: Final = scales.ColourScale(
    "Judges − people",
    "r",
    0,
    0.3,
    (
        "−30 points or less: lower win rate by judges than by people; no colour: 0",
        "+30 points or more: higher win rate by judges than by people",
    ),
    0,
    100,
    "points",
    signed=True,
)


@memoise_by_study
def judge_people_gaps(filtered: FilteredStudy) -> dict[tuple[str, str], Estimate]:
    """(model, category or "All") -> win rate by judges minus win rate by people, on the cases that
    both judged."""
    return win_rate_gaps(Raters(filtered).rows)


def overall_gaps(filtered: FilteredStudy) -> dict[str, Estimate]:
    """Model -> win rate by judges minus win rate by people, over all categories."""
    found = judge_people_gaps(filtered).items()
    return {
        name: got
        for (name, group), got in found
        if group == ALL_CATEGORIES and got.value is not None
    }
