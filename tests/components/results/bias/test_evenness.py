"""Entropy among N options against its chance band: marks, colours and the layout by prompt."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from components.charts.slot_histogram import SlotRow, slot_histogram_figure
from components.results.bias import option_tests as evenness
from components.results.bias.bias_matrix import (
    BY_CATEGORY,
    BY_PROMPT,
    _entropy_line,
    bias_matrix_html,
    list_matrix_measures,
)
from components.results.bias.computed import bias_from_frame
from components.results.bias.option_tests import EVENNESS_RULE, Evenness
from components.results.bias.tab import TESTS
from studies.domain import Estimate
from tests.metrics.frames import build, rotated
from tests.page_words import says

OPTIONS = 4


def test_the_hover_states_the_entropy_with_the_decimals_of_the_cell() -> None:
    assert says(_entropy_line(Estimate(0.996), None, None), "0.996")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """`first` takes the first position in most trials, `random` any position."""
    rng = np.random.default_rng(5)
    rows = []
    for prompt in ("simple", "debias"):
        for item in range(18):
            first = [0 if rng.random() < 0.9 else int(rng.integers(4)) for _ in range(4)]
            even = [int(rng.integers(4)) for _ in range(4)]
            rows += rotated(f"q{item}", first, judge="first", prompt=prompt)
            rows += rotated(f"q{item}", even, judge="random", prompt=prompt)
    return build(rows)


@pytest.fixture(scope="module")
def found(frame) -> dict[tuple[str, ...], Evenness]:
    return evenness.slot_evenness(frame)


def test_a_judge_of_one_position_is_marked_and_a_random_one_is_not(found):
    assert set(found) == {
        ("first",), ("random",), ("first", "simple"), ("first", "debias"),
        ("random", "simple"), ("random", "debias"),
    }  # fmt: skip
    for cell, one in found.items():
        if cell[0] == "first":
            assert one.text.startswith("≠ even, 1st 9") and one.is_uneven
        else:
            assert one.text in ("within chance", "not significant") and not one.is_uneven


def test_the_matrix_says_it_in_words_and_colours_what_it_calls_uneven(frame, found):
    html = bias_matrix_html(bias_from_frame(frame), "Position entropy", BY_PROMPT, evenness=found)
    assert html.count("≠ even, 1st") >= 3 and "within chance" in html
    assert 'class="b20"' in html
    plain = bias_matrix_html(bias_from_frame(frame), "Position entropy", BY_PROMPT)
    assert "≠ even" not in plain


def test_the_colour_is_that_of_the_printed_entropy(frame, found):
    """The entropy of the test, of the most frequent choices, may differ from it."""
    other = {
        cell: replace(one, entropy=one.entropy / 2) if one.is_uneven else one
        for cell, one in found.items()
    }
    bias = bias_from_frame(frame)
    assert other != found and "≠ even" in bias_matrix_html(
        bias, "Position entropy", BY_PROMPT, evenness=other
    )
    assert bias_matrix_html(
        bias, "Position entropy", BY_PROMPT, evenness=other
    ) == bias_matrix_html(bias, "Position entropy", BY_PROMPT, evenness=found)


@pytest.mark.parametrize(
    ("measure", "layout"), [("Consistency", BY_PROMPT), ("Position entropy", BY_CATEGORY)]
)
def test_other_measures_and_layouts_do_not_use_the_bands(frame, found, measure, layout):
    bias = bias_from_frame(frame)
    with_bands = bias_matrix_html(bias, measure, layout, evenness=found)
    assert with_bands == bias_matrix_html(bias, measure, layout)


def test_a_lower_entropy_is_never_paler_and_only_uneven_cells_have_a_colour(frame):
    """Also where the band is narrower, and where the printed entropy is close to 1."""
    even = {
        ("first", "simple"): Evenness(0.50, 0.80, 0.01, 0, 0.4),
        ("first", "debias"): Evenness(0.50, 0.99, 0.01, 0, 0.4),
        ("random", "simple"): Evenness(0.50, 0.99, 0.2, 0, 0.4),
        ("random", "debias"): Evenness(0.50, 0.99, 0.01, 0, 0.4),
    }
    bias = bias_from_frame(frame)
    html = bias_matrix_html(bias, "Position entropy", BY_PROMPT, evenness=even)
    (data,) = re.findall(r'data-heat="([^"]*)"', html)
    inks = {(row, name): ink for row, name, *_, ink, _, _ in json.loads(unescape(data))["cells"]}
    printed = bias.by_rater("entropy")
    by_value = sorted(even, key=lambda cell: printed[cell].value)
    lowest, low, close = (inks[cell] for cell in by_value if even[cell].is_uneven)
    assert lowest >= low > close > 0 == inks["random", "simple"]


@pytest.mark.parametrize(
    ("entropy", "p", "text"),
    [
        (0.98, 0.9, "within chance"),
        (0.90, 0.2, "not significant"),
        (0.90, 0.01, "≠ even, 4th 44\u202f%"),
    ],
)
def test_the_mark_needs_the_band_and_the_adjusted_test(entropy, p, text):
    assert Evenness(entropy, 0.975, p, 3, 0.44).text == text


def test_entropy_is_the_first_measure_among_several_options():
    assert list_matrix_measures(OPTIONS)[0] == "Position entropy"
    assert list_matrix_measures(2)[0] == "Consistency"


def test_every_position_has_its_label():
    shares = [Estimate(value, value - 0.05, value + 0.05, 40, 20) for value in (0.4, 0.3, 0.2, 0.1)]
    figure = slot_histogram_figure([SlotRow("a", shares), SlotRow("b", shares)])
    texts = " ".join(str(note["text"]) for note in figure["layout"]["annotations"])
    for name in ("1st", "2nd", "3rd", "4th"):
        assert texts.count(name) == 2


def test_a_click_on_a_bar_opens_the_verdicts_for_its_position():
    share = Estimate(0.5, 0.4, 0.6, 40, 20)
    rows = [SlotRow("a, p", [share] * 3, select={"judge": "a", "prompt": "p"})]
    both = [*rows, SlotRow("b", [share] * 3)]
    (one,) = [bars for bars in slot_histogram_figure(rows)["data"] if "customdata" in bars]
    assert one["customdata"] == [{"judge": "a", "prompt": "p", "slot": k} for k in range(3)]
    several = [bars["customdata"] for bars in slot_histogram_figure(both)["data"]]
    assert several[2] == [{"judge": "a", "prompt": "p", "slot": 2}, {"judge": "b", "slot": 2}]


def test_the_band_is_described_alike_beside_the_matrix_and_beside_the_tests():
    for how in (EVENNESS_RULE, TESTS.how):
        assert says(how, "middle 95 %") and "quantile" not in how


def test_a_significant_test_is_named_also_inside_the_band():
    """The headline rests on the same test: it must not stand above “within chance”."""
    inside = Evenness(entropy=0.993, band_low=0.991, p=0.016, top_slot=0, top_share=0.3)
    assert inside.text.startswith("≠ even, 1st 30") and inside.is_uneven
    assert Evenness(0.993, 0.991, 0.3, 0, 0.3).text == "within chance"
    few = Evenness(0.0, 0.0, 0.08, 0, 1.0, least_p=0.08)
    assert few.text == "too few items" and few.text in EVENNESS_RULE
    assert replace(few, p=0.01).is_uneven and "≠" in replace(few, p=0.01).text


def test_the_smallest_p_value_of_a_cell_is_that_of_choices_of_one_position():
    """Two items of four options, 4/24², and the two prompts together, 4/24⁴; each of the two sets
    of tests has half of the error rate, and Holm's factor of two is for the prompts."""
    rows = [
        row
        for prompt in ("one", "two")
        for k in range(2)
        for row in rotated(f"q{k}", [k] * 4, judge="j", prompt=prompt)
    ]
    found = evenness.slot_evenness(build(rows), tests=1)
    assert found["j", "one"].least_p == pytest.approx(2 * 4 / 24**2 / 0.5)
    assert found["j",].least_p == pytest.approx(4 / 24**4 / 0.5)
