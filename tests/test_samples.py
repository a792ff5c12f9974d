"""Many cases in one test: all are tried, and a failure names those that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples import each

TRIED: list[tuple[int, str]] = []


@each("number, word", [(1, "a"), (2, "b")])
@each("more", "xy")
def test_every_case_is_tried_with_the_fixtures(
    number: int, word: str, more: str, tmp_path: Path
) -> None:
    assert tmp_path.is_dir()
    TRIED.append((number, word + more))
    assert sorted(TRIED) == [(1, "ax"), (1, "ay"), (2, "bx"), (2, "by")][: len(TRIED)]


def test_a_failure_names_the_cases_that_fail() -> None:
    seen = []

    @each("number", range(5), lambda number: f"number {number}")
    def is_even(number: int) -> None:
        seen.append(number)
        if number == 3:
            pytest.fail("three")
        assert number % 2 == 0

    with pytest.raises(AssertionError) as failed:
        is_even()
    assert seen == [0, 1, 2, 3, 4]
    (note,) = failed.value.__notes__
    assert note.startswith("2 of 5") and note.splitlines()[1:] == ["number 1", "number 3"]
