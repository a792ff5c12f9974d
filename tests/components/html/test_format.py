"""Formatted numbers and escaped text."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.html import format as formats
from components.html.format import (
    count,
    decimal,
    dollars,
    duration,
    more_items_text,
    number,
    percent,
    rating,
    rounded_shares,
    share,
    tokens,
)
from components.html.markup import bold_and_code_html, escape, escape_plot
from studies.domain import Estimate
from tests.page_words import says


def test_a_percentage_carries_interval_and_n():
    estimate = Estimate(0.69125, 0.655, 0.729, n=800)
    assert percent(estimate) == "69.1\u202f% [65.5, 72.9], n 800"


def test_a_percentage_without_interval_still_says_its_n():
    assert percent(Estimate(0.5, n=1)) == "50.0\u202f%, n 1"


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_unknown_is_a_dash_never_zero_or_nan(value):
    assert percent(Estimate(value, n=3)) == percent(Estimate(value, 0.2, n=3)) == "–"
    assert decimal(Estimate(value)) == "–"
    assert number(value) == count(value) == share(value) == duration(value) == tokens(value) == "–"


def test_numbers_have_a_true_minus_and_a_thousands_comma():
    assert number(-1276.4) == "\u22121,276"
    assert number(0.28, 2, signed=True) == "+0.28"
    # −0.4 rounds to 0, and a zero has no sign.
    assert number(-0.4) == number(0.4, signed=True) == "0"


def test_a_count_with_a_noun_agrees_with_it():
    assert count(1, "item") == "1 item"
    assert count(3, "item") == "3 items"
    assert count(1600, "category") == "1,600 categories"
    assert count(2, "day") == "2 days"


def test_ratings_have_no_decimals():
    assert rating(Estimate(1276.2, 1231.4, 1329.8)) == "1,276 [1,231, 1,330]"


def test_a_negative_bound_keeps_its_true_minus():
    assert rating(Estimate(4, -44, 61)) == "4 [\u221244, 61]"


def test_a_price_nobody_told_is_unknown_not_free():
    assert dollars(None) == "price unknown"
    assert dollars(0) == "free"
    assert dollars(0.001) == "under $0.01"
    assert dollars(1234.5) == "$1,234.50"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (38, "38 s"),
        (59.7, "1 min"),
        (76, "1 min 16 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
    ],
)
def test_a_duration_is_given_in_the_two_largest_units(seconds, words):
    assert duration(seconds) == words


def test_tokens_are_rounded_as_a_forecast_deserves():
    assert tokens(9340) == "9,340"
    assert tokens(147_312) == "147,000"
    assert tokens(1_720_000) == "1.72 million"
    assert tokens(999_900) == "1.00 million"


@given(st.text())
def test_safe_text_holds_nothing_html_could_act_on(text):
    assert not set(escape(text)) & set("<>\"'")


@given(st.text())
def test_plot_text_holds_no_tag_no_tex_and_no_template(text):
    assert not set(escape_plot(text)) & set("<>${")


def test_rich_text_is_escaped_before_its_marks_become_tags():
    assert (
        bold_and_code_html("**4** of <b>5</b>, `n`")
        == "<b>4</b> of &lt;b&gt;5&lt;/b&gt;, <code>n</code>"
    )


def test_one_end_of_an_interval_without_the_other_says_which():
    least = Estimate(137.2, 137.2, None, n=16, unit="Elo")
    assert rating(least) == "≥\u202f137"
    assert rating(Estimate(-137.2, None, -137.2, n=16, unit="Elo")) == "≤\u202f−137"
    assert percent(Estimate(0.69, 0.69, None, n=8), n=False) == "≥\u202f69.0\u202f%"


@pytest.mark.parametrize(
    ("counts", "percents"),
    [
        ((204, 25, 27), (80, 10, 10)),  # of 256: 79.7, 9.8 and 10.5
        ((986, 8, 6), (99, 1, 0)),
        ((29, 71, 0), (29, 71, 0)),
        ((1, 1, 1), (34, 33, 33)),
    ],
)
def test_rounded_shares_of_one_whole_add_up_to_100(counts, percents):
    found = rounded_shares([one / sum(counts) for one in counts])
    assert found == [f"{one}\u202f%" for one in percents]


def test_further_items_are_those_of_the_further_battles():
    gap = Estimate(20.0, -20.0, 60.0, n=400, items=80)
    assert says(more_items_text(2400, gap), "480 more items", "2,400 battles", "of either model")
    assert says(more_items_text(1234, replace(gap, items=0)), "1,200 more battles")
    assert says(more_items_text(2, gap), "1 more item,", "2 battles of")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b and 2 more"),
        (list("abcdefg"), "a, b and 5 more"),
    ],
)
def test_three_names_are_listed_and_more_are_counted(names, text):
    assert formats.join_names(names) == text


def test_another_number_of_names_may_be_listed():
    assert formats.join_names(list("abc"), 2) == "a and 2 more"
    assert formats.join_names(list("abcd"), 4).split(", ") == ["a", "b", "c and d"]


def test_small_counts_are_words():
    assert [formats.number_word(n) for n in (0, 1, 9, 10, 1200)] == [
        "no", "one", "nine", "10", "1,200",
    ]  # fmt: skip


def test_positions_are_ordinals():
    assert [formats.slot_name(slot) for slot in range(5)] == ["1st", "2nd", "3rd", "4th", "5th"]
    assert [formats.slot_name(slot) for slot in (10, 11, 12, 20, 21, 22, 23, 110)] == [
        "11th", "12th", "13th", "21st", "22nd", "23rd", "24th", "111th",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "1 kB"), (84_400, "84 kB"), (999_999, "1000 kB"), (1_000_000, "1 MB"),
     (30_000_000, "30 MB"), (1_000_000_000, "1.0 GB"), (1_234_000_000, "1.2 GB")],
)  # fmt: skip
def test_a_file_has_the_unit_of_its_size(size, text):
    assert formats.file_size(size) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (99, "99"),
        (104, "100"),
        (1_234, "1,200"),
        (1_250, "1,200"),
        (98_765, "99,000"),
    ],
)
def test_a_forecast_count_has_two_digits(value, text):
    assert formats.approximate_count(value) == text


def test_a_text_is_cut_after_so_many_characters():
    assert formats.truncate(" a \n b ", 3) == "a b"
    assert formats.truncate("abcd", 3) == "abc …"
    assert formats.truncate("ab cd", 3) == "ab …"


def test_an_even_share_is_one_of_n_or_a_range():
    assert formats.even_share_text([4]) == "25\u202f%" == formats.even_share_text([4, 4])
    assert formats.even_share_text([2, 4]) == "25 to 50\u202f%"


def test_an_interval_has_both_ends_or_none():
    assert formats.interval(Estimate(0.5, 0.25, 0.75), 0, scale=100) == "[25, 75]"
    assert formats.interval(Estimate(0.0, 0.0, 0.0)) == "[0.0, 0.0]"
    assert formats.interval(Estimate(3.1, 0.02, 6.2)) == "[0.02, 6.20]", "0 is not inside"
    assert formats.interval(Estimate(3.1, -0.02, 6.2)) == "[0.0, 6.2]"
    assert formats.interval(Estimate(0.5, None, 0.75)) == formats.interval(Estimate(0.5, 0.2)) == ""


def test_the_size_of_a_sample_leaves_out_what_it_repeats():
    assert formats.sample_size_text(Estimate(0.5, n=80, items=40)) == "40 items, n 80"
    assert formats.sample_size_text(Estimate(0.5, n=40, items=40)) == "40 items"
    assert formats.sample_size_text(Estimate(0.5, n=80)) == "n 80"
    assert formats.sample_size_text(Estimate(0.5, items=1)) == "1 item"
    assert formats.sample_size_text(Estimate(0.5)) == ""


def test_a_lean_is_turned_toward_its_position():
    first = formats.unproven_lean_text(Estimate(-0.031, -0.066, 0.004))
    assert says(first, "3.1 points toward first", "of this size,", "not adjusted", "[−0.4, 6.6]")
    assert "sign test" not in first
    second = formats.unproven_lean_text(Estimate(0.031, -0.004, 0.066))
    assert says(second, "3.1 points toward second", "[−0.4, 6.6]")
    even = formats.unproven_lean_text(Estimate(0.0, -0.04, 0.05))
    assert says(even, "0.0 points", "toward neither", "[−4.0, 5.0]")
    sure = formats.unproven_lean_text(Estimate(-0.05, -0.08, -0.02))
    assert says(sure, "sign test", "5.0 points toward first", "not adjusted", "[2.0, 8.0]")
    assert "[0.04, 8.00]" in formats.unproven_lean_text(Estimate(-0.05, -0.08, -0.0004))
    for unknown in (None, Estimate(None), Estimate(0.1, None, 0.2), Estimate(0.1, 0.0, None)):
        assert formats.unproven_lean_text(unknown) == ""


def test_amounts_and_durations_at_their_limits():
    assert dollars(0.0051) == "$0.01"
    assert dollars(0.0049) == "under $0.01" and dollars(math.nan) == "price unknown"
    assert duration(9.94) == "9.9 s" and duration(9.95) == "10 s" and duration(60) == "1 min"
    assert duration(3_660) == "1 h 1 min" and duration(0) == "0.0 s"
    assert (
        tokens(19_999) == "19,999" and tokens(20_000) == "20,000" and tokens(999_499) == "999,000"
    )
    assert count(0, "reply") == "0 replies" and count(None, "item") == "– items"
