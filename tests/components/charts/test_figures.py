"""Figures: marks, summaries, data of a click; escaped texts and no NaN."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest

from components.charts.elo_chart import elo_curve_figure
from components.charts.figure_parts import MAX_POINTS, Figure
from components.charts.run_charts import FirstSharePoint, live_first_share_figure, win_rate_figure
from components.charts.scatter import ScatterPlot, scatter_figure
from components.charts.slot_histogram import SlotRow, slot_histogram_figure
from studies.domain import Estimate

EVIL = '<img src=x onerror="alert(1)"> $x$ %{y} ${z} &lt;'
NOTHING = Estimate(None, note="no verdicts")
UNDRAWN = ("customdata", "meta", "summary", "table")
"""What Plotly never gets to print: it travels back with a click, is read aloud, or downloaded."""


def sample_figures() -> dict[str, Figure]:
    battles, curve = [0, 1, 2], [1000.0, 1010.0, 1005.0]
    share = Estimate(0.6, 0.5, 0.7, 100, 20)
    return {
        "elo": elo_curve_figure(
            battles,
            {EVIL: curve, "b": curve},
            band={EVIL: (curve, curve)},
            bradley_terry={"b": 990},
        ),
        "elo without battles": elo_curve_figure([], {"a": []}),
        "share": live_first_share_figure(
            [FirstSharePoint(3, 0.66, 0.2, 0.9), FirstSharePoint(9, 0.4, 0.3, 0.49)]
        ),
        "share without verdicts": live_first_share_figure([]),
        "wins": win_rate_figure({EVIL: share, "b": NOTHING}),
        "two slots": slot_histogram_figure([SlotRow(EVIL, [share, share], share)]),
        "no slots": slot_histogram_figure([]),
        "four slots": slot_histogram_figure([SlotRow(EVIL, [share, share, NOTHING, share])]),
    }


@pytest.mark.parametrize("name", sample_figures())
def test_a_figure_is_plain_json_without_nan(name):
    json.dumps(sample_figures()[name], allow_nan=False)


def texts(part: object, key: str = "") -> list[str]:
    """All strings Plotly may print: everything but what only travels back with a click."""
    if isinstance(part, dict):
        inner = [texts(v, k) for k, v in part.items() if k not in UNDRAWN]
        return [text for found in inner for text in found]
    if isinstance(part, list):
        return [text for value in part for text in texts(value, key)]
    return [part] if isinstance(part, str) else []


@pytest.mark.parametrize("name", sample_figures())
def test_text_from_data_is_inert_in_every_figure(name):
    for text in texts(sample_figures()[name]):
        assert "<img" not in text
        assert "$" not in text
        # Only our own templates are left.
        assert set(re.findall(r"%\{(\w+)", text)) <= {"x", "y", "hovertext"}


@pytest.mark.parametrize("name", sample_figures())
def test_every_figure_says_in_words_what_it_shows_and_keeps_the_zoom(name):
    figure = sample_figures()[name]
    assert figure["summary"]
    assert figure["layout"]["uirevision"]
    assert "title" not in figure["layout"]


def test_a_click_sends_the_name_as_it_is_in_the_data():
    figure = win_rate_figure({EVIL: Estimate(0.6, 0.5, 0.7, 100, 20)})
    assert figure["data"][0]["customdata"] == [{"contestant": EVIL}]
    curve = elo_curve_figure([0, 1], {EVIL: [1000, 1001]})
    assert curve["data"][0]["meta"] == {"contestant": EVIL}


def test_end_labels_are_twenty_pixels_apart_and_stay_at_their_rating():
    curves = {name: [1000.0, 1000.0 + i] for i, name in enumerate("abcde")}
    figure = elo_curve_figure([0, 100], curves, height=380)
    low, high = figure["layout"]["yaxis"]["range"]
    inner = 380 - 8 - 44
    pixels = sorted(
        inner * (label["y"] - low) / (high - low) + label["yshift"]
        for label in figure["layout"]["annotations"]
    )
    gaps = [b - a for a, b in itertools.pairwise(pixels)]
    assert min(gaps) > 19
    assert [label["y"] for label in figure["layout"]["annotations"]] == [
        1000,
        1001,
        1002,
        1003,
        1004,
    ]


def test_contestants_are_dashed_from_the_sixth_and_grey_from_the_eighth():
    curves = {str(i): [1000.0, 1000.0 + 30 * i] for i in range(9)}
    lines = elo_curve_figure([0, 1], curves)["data"]
    assert [line["line"]["dash"] for line in lines] == ["solid"] * 5 + ["dash"] * 2 + ["solid"] * 2
    assert lines[0]["line"] == {"color": "var(--c1)", "width": 3, "dash": "solid"}
    assert {line["line"]["color"] for line in lines[7:]} == {"var(--tie)"}


def test_a_long_curve_is_thinned_but_keeps_its_ends():
    length = 5000
    figure = elo_curve_figure(range(length), {"a": [1000 + i / 100 for i in range(length)]})
    x = figure["data"][0]["x"]
    assert len(x) == MAX_POINTS
    assert (x[0], x[-1]) == (0, length - 1)


@pytest.mark.parametrize(
    ("low", "high", "colour"),
    [(0.55, 0.7, "var(--first)"), (0.3, 0.45, "var(--second)"), (0.4, 0.6, "var(--tie)")],
)
def test_a_share_gets_a_slot_colour_only_when_its_interval_lies_on_one_side(low, high, colour):
    figure = live_first_share_figure([FirstSharePoint(200, (low + high) / 2, low, high)])
    assert figure["data"][1]["line"]["color"] == colour


def test_the_range_of_a_live_share_ignores_its_first_wild_verdicts():
    # 1 of 1 is a share of 100 %; that says nothing, so the axis does not open for it.
    points = [FirstSharePoint(1, 1.0, 0.2, 1.0), FirstSharePoint(400, 0.4, 0.35, 0.45)]
    assert live_first_share_figure(points)["layout"]["yaxis"]["range"] == [0.25, 0.75]
    wild = [*points, FirstSharePoint(500, 0.9, 0.85, 0.94)]
    assert live_first_share_figure(wild)["layout"]["yaxis"]["range"] == [0, 1]


def test_too_few_items_give_a_hollow_dot_without_whisker():
    figure = win_rate_figure({"math": Estimate(0.8, 0.3, 1.0, n=30, items=3)})
    dot = figure["data"][0]
    assert dot["marker"]["symbol"] == "circle-open"
    assert dot["error_x"] == {"visible": False}
    assert "3 items" in [note["text"] for note in figure["layout"]["annotations"]]


def test_an_unknown_share_draws_no_bar_and_no_whisker():
    figure = slot_histogram_figure([SlotRow("j", [Estimate(0.6, 0.5, 0.7, 9), NOTHING])])
    second = figure["data"][1]
    assert second["x"] == [None]
    assert second["error_x"]["array"] == [0.0]


def test_chance_is_one_over_the_number_of_slots():
    share = Estimate(0.25, 0.2, 0.3, 100)
    figure = slot_histogram_figure([SlotRow("j", [share] * 4)])
    assert figure["layout"]["shapes"][0]["y0"] == 0.25
    assert any("1/4: 25" in note["text"] for note in figure["layout"]["annotations"])
    assert figure["data"][0]["marker"]["color"][:3] == [
        "var(--first)",
        "var(--second)",
        "var(--ink-3)",
    ]


def test_whiskers_reach_from_the_value_to_the_ends_of_its_interval():
    figure = win_rate_figure({"a": Estimate(0.6, 0.5, 0.75, 100, 20)})
    error = figure["data"][0]["error_x"]
    assert math.isclose(error["array"][0], 0.15)
    assert math.isclose(error["arrayminus"][0], 0.1)


def test_names_are_shorter_where_the_box_is_narrow():
    figure = win_rate_figure({"a-contestant-with-a-long-name": Estimate(0.5, 0.4, 0.6, 9, 9)})
    assert figure["narrow"]["margin.l"] < figure["layout"]["margin"]["l"]
    assert figure["narrow"]["annotations"][0]["text"] == "a-contestant-…"


@pytest.mark.parametrize("name", sorted(set(sample_figures()) - {"elo without battles"}))
def test_every_figure_brings_its_numbers_along(name):
    # Only a curve without band and limits does not: the points it draws are all there is.
    table = sample_figures()[name]["table"]
    assert table["columns"]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_the_numbers_of_a_chart_are_its_estimates():
    figure = win_rate_figure({"a": Estimate(0.6, 0.5, 0.75, 100, 20, "share")})
    assert figure["table"]["rows"] == [["a", "win rate", 0.6, 0.5, 0.75, 100, 20, "share", ""]]
    curve = elo_curve_figure([0, 1], {"a": [1000, 1002]}, bradley_terry={"a": 1010.0})
    assert curve["table"]["rows"][-1] == ["a", 1, 1002, None, None, 1010.0]


def test_every_row_of_bars_adds_its_height():
    """A row of two positions 55 pixels, of more positions 19 for each; 52 for the axes."""
    share = Estimate(0.5, 0.4, 0.6, 9)
    for slots, rows, height in ((2, 1, 107), (2, 3, 217), (4, 2, 204), (4, 3, 280)):
        bars = slot_histogram_figure([SlotRow(str(k), [share] * slots) for k in range(rows)])
        assert bars["layout"]["height"] == height, (slots, rows)


def test_the_number_over_a_bar_stands_at_its_end_or_at_the_end_of_its_interval():
    shares = [Estimate(0.2, 0.1, 0.3, 9), Estimate(0.5, n=1), NOTHING]
    figure = slot_histogram_figure([SlotRow("j", shares)])
    numbers = [(note["x"], note["y"]) for note in figure["layout"]["annotations"][:-1]]
    assert numbers == [(0, 0.3), (1, 0.5)]
    assert figure["layout"]["yaxis"]["range"] == [0, pytest.approx(0.5 * 1.18)]


def test_scatter_plots_fill_their_rows_and_do_not_touch():
    plot = ScatterPlot([("a", 1, 5), ("b", 2, 7), ("c", 4, 8)], "x", "y", "title")
    for plots, across in ((2, 2), (3, 3), (5, 3)):
        figure = scatter_figure([plot] * plots)
        domains = [figure["layout"][f"xaxis{k or ''}"]["domain"] for k in (0, *range(2, plots + 1))]
        rows = [figure["layout"][f"yaxis{k or ''}"]["domain"] for k in (0, *range(2, plots + 1))]
        first, last = domains[0], domains[across - 1]
        assert first[0] == 0 and last[1] == pytest.approx(1)
        for one, other in itertools.pairwise(domains[:across]):
            assert other[0] - one[1] == pytest.approx(0.09)
            assert other[1] - other[0] == pytest.approx(first[1])
        assert rows[0][1] == 1 and rows[-1][0] == pytest.approx(0)
        assert domains[across:] == domains[: plots - across]
        assert figure["layout"]["height"] == (540 if plots > 3 else 290)
        assert rows[0][1] - rows[0][0] == pytest.approx(rows[-1][1] - rows[-1][0])
        gap = 500 * (rows[0][0] - rows[-1][1])
        assert plots <= 3 or gap == pytest.approx(70)  # pixels, for the titles of the second row


def test_a_line_is_fitted_to_three_points_or_more_of_different_x():
    def line(*points: tuple[float, float]) -> list[dict[str, object]]:
        named = [(str(k), *point) for k, point in enumerate(points)]
        return scatter_figure([ScatterPlot(named, "x", "y", "title")])["data"][:-1]

    (fitted,) = line((0, 1), (2, 5), (3, 7), (1, 3))  # y = 1 + 2 x
    assert (fitted["x"], fitted["y"]) == ([0, 3], pytest.approx([1, 7]))
    assert len(line((0, 1), (1, 2), (5, 0))) == 1
    for points in (((0, 1), (1, 2)), ((2, 1), (2, 2), (2, 3)), ((0, 1), (1, math.nan), (2, 3))):
        assert line(*points) == []


def test_bars_of_a_row_touch_and_their_row_is_centred():
    """Bars of two positions are 0.4 rows apart, of four positions 0.2; a bar is 18 % thinner."""
    share = Estimate(0.5, 0.4, 0.55, 9)
    for slots, first in ((2, [-0.2, 0.2]), (4, [-0.3, -0.1, 0.1, 0.3])):
        figure = slot_histogram_figure([SlotRow(name, [share] * slots) for name in "ab"])
        for bar, place in zip(figure["data"], first, strict=True):
            assert bar["y"] == pytest.approx([place, 1 + place])
            assert bar["width"] == pytest.approx(0.82 * 0.8 / slots)
        axis = figure["layout"]["xaxis"]
        assert axis["tickvals"] == [0, 1 / slots, 1] and axis["range"][0] == 0 < axis["range"][1]
        assert axis["ticktext"] == ["0", f"{100 // slots}", "100"]
        assert figure["layout"]["shapes"][0]["x0"] == 1 / slots
        texts = [note["text"] for note in figure["layout"]["annotations"]]
        assert ("<b>50</b> 1st" in texts) == (slots > 2) != ("<b>50</b>" in texts)


def test_upright_bars_are_named_and_measured_in_percent():
    shares = [Estimate(0.6, 0.5, 0.7, 9), Estimate(0.25, 0.2, 0.3, 9), NOTHING]
    layout = slot_histogram_figure([SlotRow("j", shares)])["layout"]
    assert (layout["xaxis"]["tickvals"], layout["xaxis"]["range"]) == ([0, 1, 2], [-0.6, 2.6])
    assert layout["xaxis"]["ticktext"] == ["1st", "2nd", "3rd"]
    ticks = layout["yaxis"]
    assert [float(text) / 100 for text in ticks["ticktext"]] == ticks["tickvals"]
    assert [one["text"] for one in layout["annotations"][:-1]] == ["<b>60</b>", "<b>25</b>"]
    assert not layout["dragmode"] and all(layout[axis]["fixedrange"] for axis in ("xaxis", "yaxis"))
