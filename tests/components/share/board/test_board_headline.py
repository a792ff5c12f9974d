"""Headline of a board's page: the rows that may be first in its largest set of items."""

from __future__ import annotations

from typing import Any

import pytest

from components.share.board.board_page import board_headline
from tests.page_words import says

COLUMNS = [{"key": "longer", "name": "Longer"}, {"key": "accuracy", "name": "Accuracy"}]


def row(judge: str, place: list[int] | None, prompt: str = "p", among: str = "s") -> dict[str, Any]:
    numbers = {"longer": {"value": 0.5, "place": None}, "accuracy": {"value": 1, "place": place}}
    return {"judge": judge, "prompt": prompt, "set": among, "numbers": numbers}


def board(*rows: dict[str, Any], **sizes: int) -> dict[str, Any]:
    sets = {
        name: {"items": items, "source": f"source of {name}", "comparisons": 10 * items}
        for name, items in (sizes or {"s": 40}).items()
    }
    return {"title": "Judges", "rows": list(rows), "columns": COLUMNS, "sets": sets, "verdicts": 7}


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([row("a", [1, 1]), row("b", [2, 2])], "a is first of 2 by accuracy."),
        ([row("a", [1, 1])], "a is first of 1 by accuracy."),
        (
            [row("a", [1, 2]), row("b", [1, 2]), row("c", [3, 3])],
            "a and b may be first of 3 by accuracy.",
        ),
        (
            [*(row(name, [1, 3]) for name in "abc"), row("d", [4, 4])],
            "3 of 4 rows may be first by accuracy.",
        ),
        ([row("a", [1, 1], "q"), row("a", [2, 2])], "a with q is first of 2 by accuracy."),
        ([row("a", [1, 1]), row("b", None)], "a is first of 1 by accuracy."),
    ],
)
def test_the_title_names_at_most_two_rows(rows: list[dict[str, Any]], title: str) -> None:
    assert board_headline(board(*rows))[0] == title


def test_rows_that_may_all_be_first_are_not_ranked() -> None:
    title, _ = board_headline(board(row("a", [1, 2]), row("b", [1, 2])))
    assert "a" not in title.split() and "2 rows" in title


def test_the_largest_set_decides_and_others_are_counted() -> None:
    rows = [
        row("few", [1, 1], among="small"), row("few", [2, 2], among="small"),
        row("most", [1, 1], among="large"),
    ]  # fmt: skip
    title, lead = board_headline(board(*rows, small=5, large=40))
    assert title.startswith("most is first")
    assert says(lead, "40 items", "source of large", "400 comparisons", "1 other set")
    assert "other" not in board_headline(board(row("a", [1, 1])))[1]


def test_among_sets_of_equal_size_that_with_more_rows_decides() -> None:
    rows = [
        row("lone", [1, 1], among="a"),
        row("won", [1, 1], among="b"),
        row("lost", [2, 2], among="b"),
    ]
    assert board_headline(board(*rows, a=9, b=9))[0].startswith("won is first")


def test_a_board_without_places_has_its_title() -> None:
    assert board_headline(board(row("a", None), row("b", None))) == ("Judges", "2 rows")
