"""Formatted numbers and escaped text."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.html.format import (
    count,
    decimal,
    dollars,
    duration,
    more_items_text,
    number,
    percent,
    rating,
    share,
    tokens,
)
from components.html.markup import escape, escape_plot, inline_markup
from studies.domain import Estimate
from tests.page_words import says


def test_a_percentage_carries_interval_and_n():
    estimate = Estimate(0.69125, 0.655, 0.729, n=800)
    assert percent(estimate) == "69.1\u202f% [65.5, 72.9], n 800"


def test_a_percentage_without_interval_still_says_its_n():
    assert percent(Estimate(0.5, n=1)) == "50.0\u202f%, n 1"


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_unknown_is_a_dash_never_zero_or_nan(value):
    assert percent(Estimate(value, n=3)) == "–"
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
        inline_markup("**4** of <b>5</b>, `n`")
        == "<b>4</b> of &lt;b&gt;5&lt;/b&gt;, <code>n</code>"
    )


def test_one_end_of_an_interval_without_the_other_says_which():
    least = Estimate(137.2, 137.2, None, n=16, unit="Elo")
    assert rating(least) == "≥\u202f137"
    assert rating(Estimate(-137.2, None, -137.2, n=16, unit="Elo")) == "≤\u202f−137"
    assert percent(Estimate(0.69, 0.69, None, n=8), n=False) == "≥\u202f69.0\u202f%"


def test_further_items_are_those_of_the_further_battles():
    gap = Estimate(20.0, -20.0, 60.0, n=400, items=80)
    assert says(more_items_text(2400, gap), "480 more items", "2,400 battles")
    assert says(more_items_text(1234, replace(gap, items=0)), "1,200 more battles")
