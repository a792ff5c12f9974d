"""Statistics of a slice, worked by hand on four items."""

from __future__ import annotations

from studies.domain import Item, Preference
from studies.texts.slice_statistics import count_coverage, profile_slice, summarise_lengths

ITEMS = [
    Item(
        "1", "Write one.", {"x": "a b c", "y": "a"}, category="art", images=("p.png",), context="c"
    ),
    Item(
        "2", "Write two.", {"x": "a b c d e", "y": " "}, category="art", images=("p.png", "q.png")
    ),
    Item("3", "Why?", {"x": "a"}, category="law", reference="r r"),
    Item("4", "So.", {"x": "a b", "y": "a b c d"}, human=(Preference("ann", None, "x"),)),
]


def test_categories_come_by_size_and_one_may_be_unnamed():
    assert profile_slice(ITEMS).categories == (("art", 2), ("", 1), ("law", 1))


def test_missing_and_empty_answers_are_told_apart_and_are_no_short_answers():
    found = {one.name: one for one in profile_slice(ITEMS).coverage}
    assert (found["x"].found, found["x"].missing, found["x"].empty) == (4, 0, 0)
    assert (found["y"].found, found["y"].missing, found["y"].empty) == (2, 1, 1)
    assert {one.name: one.n for one in profile_slice(ITEMS).answers} == {
        "x": 4,
        "y": 2,
        "@reference": 1,
    }


def test_the_median_is_the_middle_and_a_lone_text_is_its_own():
    # words of x: 1 2 3 5; median 2.5; quarters 1.75 and 3.5 (inclusive)
    x = summarise_lengths("x", ["a", "a b", "a b c", "a b c d e"])
    assert x is not None
    assert (x.lower_quartile, x.median, x.upper_quartile) == (1.75, 2.5, 3.5)
    alone = summarise_lengths("y", ["a b c", None, ""])
    assert alone is not None and alone.n == 1
    assert {alone.low, alone.median, alone.high} == {3.0}
    assert summarise_lengths("z", [None, " "]) is None


def test_images_descriptions_and_opinions_are_counted():
    found = profile_slice(ITEMS)
    assert found.images == ((0, 2), (1, 1), (2, 1))
    assert (found.described, found.judged) == (1, 1)
    assert profile_slice(ITEMS[2:3]).images == ()


def test_only_those_who_play_are_profiled():
    assert [one.name for one in profile_slice(ITEMS, ["y"]).coverage] == ["y"]
    assert count_coverage("x", ["a", None, " "]) == count_coverage("x", ["a", None, ""])
