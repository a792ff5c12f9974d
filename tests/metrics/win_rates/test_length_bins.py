"""Length and winning by bins of the length ratio, and bounds of a jury's win rates, by hand."""

from __future__ import annotations

import math

import pytest

from metrics.win_rates.jury import decide_jury
from metrics.win_rates.length_bins import length_effect
from tests.metrics.frames import build, pair
from tests.page_words import says


def rows_of(*verdicts: tuple[object, int, int]) -> list[dict[str, object]]:
    """One item for each (pick, length of the first, length of the second)."""
    return [
        {"item": f"q{k}", "shown": "xy", "pick": pick, "orders": 1, "length": [one, other]}
        for k, (pick, one, other) in enumerate(verdicts)
    ]


def test_every_verdict_counts_for_both_of_its_answers():
    # Twice as long and wins, twice; half as long and loses against; equal and a tie.
    found = length_effect(build(rows_of((0, 20, 10), (0, 20, 10), (1, 10, 20), ("tie", 10, 10))))
    assert found is not None
    # Of equal lengths half win by definition: no bin.
    assert [one.ratio for one in found.bins] == pytest.approx([-1, 1])
    assert [one.win_rate.value for one in found.bins] == pytest.approx([0, 1])
    assert [one.win_rate.n for one in found.bins] == [3, 3]
    assert found.odds_ratio.value > 1


def test_bins_have_their_edges_and_the_ratio_is_the_mean_inside():
    # log2 of 3: above 1.5; of 1.8: between .5 and .9; of 1.05: near 0, without a bin.
    found = length_effect(build(rows_of((0, 30, 10), (0, 18, 10), (1, 105, 100))))
    assert found is not None
    wanted = [-math.log2(3), -math.log2(1.8), math.log2(1.8), math.log2(3)]
    assert [one.ratio for one in found.bins] == pytest.approx(wanted)
    assert [one.win_rate.value for one in found.bins] == pytest.approx([0, 0, 1, 1])


def test_lengths_that_are_equal_or_unknown_have_no_odds():
    same = length_effect(build(rows_of((0, 10, 10), (1, 10, 10))))
    assert same is not None and same.odds_ratio.value is None and same.odds_ratio.note
    assert length_effect(build(rows_of((0, 0, 10), (1, 10, 0)))) is None
    assert length_effect(build(pair("q", 0, 1))) is None
    assert length_effect(build([])) is None


def test_a_length_without_effect_has_even_odds():
    verdicts = [(pick, *both) for pick in (0, 1) for both in ((20, 10), (10, 20))] * 5
    found = length_effect(build(rows_of(*verdicts)))
    assert found is not None and found.odds_ratio.value == pytest.approx(1, abs=1e-6)
    assert found.odds_ratio.low < 1 < found.odds_ratio.high


def test_undecided_cases_widen_the_bounds_of_a_jury():
    # q1: two of three for x. q2: one each and a tie. q3: three for y.
    picked = {"q1": (0, 0, 1), "q2": (0, 1, "tie"), "q3": (1, 1, 1)}
    rows = [
        {"item": item, "shown": "xy", "pick": pick, "judge": judge, "orders": 1}
        for item, picks in picked.items()
        for judge, pick in zip("abc", picks, strict=True)
    ]
    got = decide_jury(build(rows))
    assert (got.coverage.value, got.coverage.n, got.panel) == (
        pytest.approx(2 / 3),
        3,
        tuple("abc"),
    )
    assert got.win_rate["x"].value == 0.5
    x = got.bounds["x"]
    assert (x.value, x.low, x.high, x.n) == (0.5, pytest.approx(1 / 3), pytest.approx(2 / 3), 2)
    assert "1 of 3" in x.note
    # A panel of four needs three: two of four is undecided everywhere.
    four = decide_jury(build([*rows, {**rows[0], "judge": "d", "pick": None}]))
    assert four.coverage.value == pytest.approx(1 / 3)
    assert (four.bounds["y"].low, four.bounds["y"].high) == pytest.approx((1 / 3, 1))


def test_answers_with_one_ratio_of_lengths_are_not_equally_long():
    # The first is twice as long and wins 20 of 30 verdicts: odds of 2.
    found = length_effect(build(rows_of(*[(int(k % 3 == 0), 200, 100) for k in range(30)])))
    assert found is not None and found.odds_ratio.value == pytest.approx(2, abs=0.01)
    equal = length_effect(build(rows_of((0, 10, 10), (1, 10, 10))))
    assert equal is not None and "equally long" in equal.odds_ratio.note


def turned(count: int, first: int, second: int, lengths) -> list[dict[str, object]]:
    """Pairs in both orders, each with the same two picks and its own two lengths."""
    rows = [pair(f"q{k}", first, second) for k in range(count)]
    for k, (one, two) in enumerate(rows):
        one["length"], two["length"] = lengths(k), lengths(k)[::-1]
    return [row for both in rows for row in both]


def test_a_judge_that_follows_the_position_has_no_interval_of_width_zero():
    found = length_effect(build(turned(30, 0, 0, lambda k: (100 + 7 * k, 200))))
    assert found is not None and found.odds_ratio.value == pytest.approx(1)
    assert (found.odds_ratio.low, found.odds_ratio.high) == (None, None)


def test_an_extreme_odds_ratio_is_inside_its_interval():
    found = length_effect(build(turned(50, 0, 1, lambda _: (1450, 1000))))
    assert found is not None
    assert found.odds_ratio.low <= found.odds_ratio.value <= found.odds_ratio.high


@pytest.mark.parametrize(("long", "known"), [(9, False), (10, True)])
def test_a_doubled_length_is_not_judged_from_answers_of_about_equal_length(long, known):
    """Of 200 verdicts a twentieth must be on answers of which one is 1.41 times as long."""
    verdicts = [(k % 3 % 2, 145 if k < long else 110, 100) for k in range(200)]
    found = length_effect(build(rows_of(*verdicts)))
    assert found is not None and (found.odds_ratio.value is not None) is known
    assert known or says(found.odds_ratio.note, "answer is at", "most 1.1 times")


def test_the_largest_ratio_of_lengths_is_rounded_up():
    """1.14 is not “at most 1.1”."""
    found = length_effect(build(rows_of(*[(k % 3 % 2, 114, 100) for k in range(200)])))
    assert found is not None and says(found.odds_ratio.note, "most 1.2 times")
