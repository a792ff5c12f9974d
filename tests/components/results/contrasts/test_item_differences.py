"""Differences of two sides item by item: histogram in counts or points, values of a row."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from components.results.contrasts import item_differences
from components.results.contrasts.item_differences import ItemDifference
from components.results.contrasts.sides import Side
from tests.page_words import says


def pair(left: Side | None = None, right: Side | None = None) -> Any:
    return SimpleNamespace(left=left or Side("A"), right=right or Side("B"))


def difference(left: float, right: float, left_n: int = 2, right_n: int = 2) -> ItemDifference:
    return ItemDifference("q", left, left_n, right, right_n)


def test_a_gap_is_a_difference_of_means_and_whole_sums_of_equal_size_are_counts() -> None:
    assert difference(2, 1).gap == 0.5 and difference(1, 2, 2, 4).gap == 0.0
    assert difference(2, 1).has_whole_counts and difference(0, 0).has_whole_counts
    assert not difference(1.5, 1).has_whole_counts and not difference(1, 0.5).has_whole_counts
    assert not difference(1, 1, 2, 3).has_whole_counts


def test_equal_small_numbers_of_values_are_drawn_as_counts() -> None:
    """Differences of 2, 1, 1 and −1 comparisons out of 2: one bar for each from −1 to 2."""
    items = [difference(2, 0), difference(2, 1), difference(1, 0), difference(0, 1)]
    bars, ticks, words, data = item_differences._difference_histogram(items, pair())
    assert json.loads(data) == {"-1": 1, "0": 0, "1": 2, "2": 1}
    assert bars == [(False, 1, 32.0), (True, 0, 0.0), (False, 2, 64.0), (False, 1, 32.0)]
    assert ticks == ["−1", "0", "1", "2"]
    assert words.startswith("A minus B") and "2 per item" in words and "4 in all" in words


@pytest.mark.parametrize(
    ("items", "filled", "last"),
    [
        ([difference(1.5, 1.0), difference(2, 0)], {"2": 1, "10": 1}, "100"),
        ([difference(2, 1, 2, 2), difference(4, 0, 4, 4)], {"5": 1, "10": 1}, "100"),
        ([difference(11, 5, 11, 11)], {"5": 1}, "50"),
    ],
)
def test_other_values_are_drawn_in_tenths_of_the_scale(
    items: list[ItemDifference], filled: dict[str, int], last: str
) -> None:
    _, ticks, words, data = item_differences._difference_histogram(items, pair())
    assert {at: number for at, number in json.loads(data).items() if number} == filled
    assert "points" in words and (ticks[0], ticks[-1]) == ("0", last)


def test_ten_values_are_still_counts_and_long_axes_label_some_ticks() -> None:
    """2 · 10 + 1 = 21 bars fit. From −10 to 10 in steps of 4: multiples of 4 are labelled."""
    items = [difference(10, 0, 10, 10), difference(0, 10, 10, 10)]
    bars, ticks, words, _ = item_differences._difference_histogram(items, pair())
    assert len(bars) == 21 and "10 per item" in words
    assert [tick for tick in ticks if tick] == ["−8", "−4", "0", "4", "8"]


def test_no_difference_is_one_bar_at_zero() -> None:
    bars, ticks, _, data = item_differences._difference_histogram([difference(1, 1)], pair())
    assert bars == [(True, 1, 64.0)] and ticks == ["0"] and json.loads(data) == {"0": 1}


def test_values_of_a_row_are_counts_or_shares() -> None:
    whole = item_differences._format_values_of_sides(difference(2, 1), True, "Accuracy")
    assert (whole["left"], whole["right"]) == ("2", "1") and "out of 2" in whole["tip"]
    parts = item_differences._format_values_of_sides(difference(1, 3, 2, 4), False, "Accuracy")
    assert (parts["left"], parts["right"]) == ("50\u202f%", "75\u202f%")
    assert says(parts["tip"], "n 2 for A", "4 for B")


def test_a_link_names_the_judge_and_the_prompt_that_both_sides_have() -> None:
    def common(*sides: Side) -> dict[str, str]:
        return item_differences._common_inspect_filters(pair(*sides))

    assert common(Side("a", "j", "p"), Side("b", "j", "q")) == {"judge": "j"}
    assert common(Side("a", "j", "p"), Side("b", "k", "p")) == {"prompt": "p"}
    assert common(Side("a", "j"), Side("b", "k")) == {}
    assert common(Side("a", "j", "p"), Side("b", "j", "p")) == {"judge": "j", "prompt": "p"}
