"""Profile of a slice: ticks of its scale, marks of a row of lengths, missing answers in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from components.study.form.data_step import slice_profile


@pytest.mark.parametrize(
    ("top", "step"),
    [(1, 1), (5, 1), (5.5, 2), (10, 2), (11, 5), (25, 5), (26, 10), (50, 10), (51, 20),
     (100, 20), (101, 50), (250, 50), (251, 100), (1_000, 200), (12_345, 5_000)],
)  # fmt: skip
def test_ticks_divide_the_scale_into_at_most_five_parts(top: float, step: float) -> None:
    assert slice_profile._tick_step(top) == step
    assert top / step <= 5


def test_a_row_of_lengths_is_drawn_in_percent_of_the_scale() -> None:
    line: Any = SimpleNamespace(
        name="x", low=10, high=90, lower_quartile=20, upper_quartile=60, median=40, n=7
    )
    tip, marks = slice_profile._length_hover_and_marks(line, 200)
    assert marks == [5, 40, 10, 20, 20]
    assert "median 40" in tip and "7 texts: 20 to 60" in tip and "10 to 90" in tip


def footer(**values: Any) -> str:
    known = {"coverage": (), "items": 9, "images": (), "described": 0, "judged": 0}
    found: Any = SimpleNamespace(**{**known, **values})
    return slice_profile._profile_footer(found)


def covered(name: str, missing: int = 0, empty: int = 0) -> Any:
    return SimpleNamespace(name=name, missing=missing, empty=empty)


def test_missing_and_empty_answers_are_counted_together() -> None:
    assert "no answers" in footer()
    assert "Every model" in footer(coverage=(covered("x"), covered("y")))
    said = footer(coverage=(covered("x", 1, 2), covered("y"), covered("z", 0, 4)))
    assert "x lacks 3 of 9" in said and "z lacks 4 of 9" in said and "y lacks" not in said
    many = footer(coverage=tuple(covered(f"m{number}", 1) for number in range(7)))
    assert "m5 lacks" in many and "m6" not in many


def test_items_with_images_and_known_answers_are_counted() -> None:
    said = footer(images=((0, 2), (1, 3), (2, 4)), described=5, judged=6)
    assert "7 items with images (4 " in said and "5 have" in said and "6 items" in said
    assert "images" not in footer() and "known" not in footer()
