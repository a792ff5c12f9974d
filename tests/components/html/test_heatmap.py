"""The matrix: colour bins, hatching, dashes, clicks; the colours of the stylesheet."""

from __future__ import annotations

import html
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from components.html.heatmap import matrix_html, total_name
from components.html.matrix_heads import MatrixColumn
from components.html.scales import (
    COLOUR_BINS,
    CONSISTENCY_SCALE,
    ENTROPY_SCALE,
    FIRST_SHARE_SCALE,
    KAPPA_SCALE,
    LEAN_SCALE,
    WINS_SCALE,
    ColourScale,
    colour_scale_of,
    fit_scale,
)
from metrics.catalogue.record import MeasureRecord
from studies.domain import Estimate

STYLE = (Path(__file__).parents[3] / "assets" / "style.css").read_text(encoding="utf-8")
EVIL = '<img src=x onerror="alert(1)">'


def one(value: float | None, items: int = 80, **more: object) -> str:
    """The wide table of a single cell."""
    cells = {("judge-a", "coding"): Estimate(value, 0.5, 0.6, 100, items)}
    return matrix_html(["judge-a"], ["coding"], cells, CONSISTENCY_SCALE, **more).split("</table>")[
        0
    ]


@pytest.mark.parametrize(
    ("scale", "value", "name"),
    [
        (CONSISTENCY_SCALE, 1.0, "b0"),
        (CONSISTENCY_SCALE, 0.25, "b20"),
        (CONSISTENCY_SCALE, 0.0, "b20"),  # beyond the domain: full ink, never a missing class
        (CONSISTENCY_SCALE, 0.625, "b10"),
        (ENTROPY_SCALE, 0.4, "b20"),
        (FIRST_SHARE_SCALE, 0.5, "f10"),
        (FIRST_SHARE_SCALE, 0.0, "f0"),
        (LEAN_SCALE, 1.0, "f20"),
        (LEAN_SCALE, -0.5, "f5"),
        (WINS_SCALE, 0.3, "w0"),
        (WINS_SCALE, 1.0, "w20"),
    ],
)
def test_a_value_gets_the_bin_of_its_fixed_scale(scale, value, name):
    assert scale.css_class(value) == name


def test_a_cell_shows_value_and_interval_and_is_a_button():
    table = one(0.691)
    assert "<b>69</b><small>50–60</small>" in table
    assert "<button" in table
    assert 'class="b8"' in table  # (1 − .691)/.75 = .412; times 20 = 8.24


@pytest.mark.parametrize(
    ("items", "few", "thin"), [(4, True, False), (5, False, True), (10, False, False)]
)
def test_under_five_items_hatched_under_ten_grey(items, few, thin):
    table = one(0.5, items)
    assert ('class="few"' in table) == few
    assert ('class="thin"' in table) == thin
    assert 'class="b13"' in table  # a hatched cell keeps its colour; the stylesheet makes it pale
    assert ("4 items" in table) == few


def test_what_was_not_asked_is_a_dash_that_cannot_be_clicked():
    for table in (one(None), matrix_html(["a"], ["b"], {}, CONSISTENCY_SCALE)):
        assert "–</span>" in table
        assert "<button" not in table


def test_why_a_number_is_missing_stands_in_the_card():
    cells = {("a", "b"): Estimate(None, note="one order only")}
    assert "one order only" in matrix_html(["a"], ["b"], cells, CONSISTENCY_SCALE)


def test_a_click_sends_row_and_column_under_their_names():
    table = matrix_html(
        ["x"],
        [EVIL],
        {("x", EVIL): Estimate(0.5, n=9, items=9)},
        WINS_SCALE,
        keys=("row", "column"),
    )
    sent = html.unescape(re.findall(r'data-select="([^"]*)"', table)[0])
    assert json.loads(sent) == {"row": "x", "column": EVIL}


def test_names_from_data_are_escaped_everywhere():
    cells = {(EVIL, EVIL): Estimate(0.5, 0.4, 0.6, 9, 9, note=EVIL)}
    table = matrix_html([EVIL], [MatrixColumn(EVIL, EVIL)], cells, CONSISTENCY_SCALE, total=True)
    assert "<img" not in table
    assert "onerror=" not in re.sub(r'="[^"]*"', "", table).replace("onerror=&quot;", "")


def test_the_card_gives_value_who_where_n_and_what_a_click_does():
    tip = html.unescape(re.findall(r'data-tip="([^"]*)"', one(0.691))[0])
    assert tip.split("\n") == [
        "69\u202f% [50, 60]",
        "Consistency: judge-a, coding",
        "80 items, n 100",
        "Click to read the replies",
    ]


def test_beside_a_total_only_the_total_shows_its_interval():
    cells = {("a", name): Estimate(0.7, 0.6, 0.8, 100, 20) for name in ("All", "b")}
    table = matrix_html(["a"], ["All", "b"], cells, CONSISTENCY_SCALE, total=True, turns=False)
    assert table.count("<small>60–80</small>") == 1 and table.count("[60, 80]") >= 2  # on hover
    cells["a", "b"] = Estimate(0.17, 0.03, 0.56, 6, 6)
    table = matrix_html(["a"], ["All", "b"], cells, CONSISTENCY_SCALE, total=True, turns=False)
    assert "<b>17</b><small>3–56</small>" in table, "and a cell with few items"


def test_a_fitted_scale_has_no_colour_at_the_best_cell_and_seven_tenths_at_chance():
    scale = fit_scale(CONSISTENCY_SCALE, [0.2, 0.5, 0.8], 0.4)
    assert [scale.css_class(value) for value in (0.8, 0.6, 0.4, 0.3, 0.2)] == [
        "b0", "b7", "b14", "b17", "b20",
    ]  # fmt: skip
    assert [at for at, _ in scale.marks] == [0.0, 0.7, 1.0]
    above = fit_scale(CONSISTENCY_SCALE, [0.5, 0.8], 0.4)
    assert above.css_class(0.5) == "b10" and above.marks[2] == (1.0, "below chance")
    assert fit_scale(CONSISTENCY_SCALE, [0.5, 0.5], 0.4) is CONSISTENCY_SCALE


def test_a_signed_interval_keeps_its_brackets():
    cells = {("a", "b"): Estimate(-0.04, -0.18, 0.08, 100, 10)}
    assert "<b>−4</b><small>[−18, 8]</small>" in matrix_html(["a"], ["b"], cells, LEAN_SCALE)


def test_it_turns_on_a_phone_unless_rows_and_columns_mean_different_things():
    cells = {("a", "b"): Estimate(0.7, n=9, items=20)}
    assert "eh-heat tall" in matrix_html(["a"], ["b"], cells, CONSISTENCY_SCALE)
    assert "eh-heat tall" not in matrix_html(["a"], ["b"], cells, WINS_SCALE)
    many = [f"judge {i}" for i in range(7)]
    assert "eh-heat tall" not in matrix_html(many, ["b"], {}, CONSISTENCY_SCALE)


def test_long_names_may_break_between_syllables_but_read_as_before():
    table = matrix_html(["a"], ["counterfactual", "knowledge", "x" * 30], {}, CONSISTENCY_SCALE)
    assert "coun\u00adter\u00adfac\u00adtual" in table
    assert "know\u00adledge" in table
    assert "x" * 12 + "<wbr>" in table


def test_bounds_below_zero_stand_in_brackets():
    assert KAPPA_SCALE.interval(Estimate(-0.06, -0.09, -0.02)) == "[−0.09, −0.02]"
    assert KAPPA_SCALE.interval(Estimate(0.22, 0.1, 0.33)) == "0.10–0.33"


def test_the_saved_picture_has_the_legend_of_the_page():
    made = matrix_html(["a"], ["b"], {}, KAPPA_SCALE, aside="also this")
    data = json.loads(html.unescape(re.search(r'data-heat="([^"]*)"', made).group(1)))
    assert data["legend"] == [*KAPPA_SCALE.ends, "also this"]
    below = made.split("</table>")[-1]
    assert all(end in below for end in KAPPA_SCALE.ends) and "chance" in KAPPA_SCALE.ends[1]


def test_both_ends_of_the_scale_are_in_words_and_the_hatch_is_explained_if_there_is_one():
    assert "no colour: 100\u202f% consistent" in matrix_html(["a"], ["b"], {}, CONSISTENCY_SCALE)
    few = {("a", "b"): Estimate(0.5, n=9, items=3)}
    assert "fewer than 5 items" in matrix_html(["a"], ["b"], few, CONSISTENCY_SCALE)
    for none in ({}, {("a", "b"): Estimate(None, n=2, items=2)}):
        assert "fewer than 5 items" not in matrix_html(["a"], ["b"], none, CONSISTENCY_SCALE)
    least = matrix_html(["a"], ["b"], few, CONSISTENCY_SCALE, least=16)
    assert "5 items or 16 verdicts" in least


@pytest.mark.parametrize(
    ("items", "verdicts", "text"),
    [(1, 99, "1 item"), (4, 9, "4 items"), (0, 3, "3 verdicts"), (5, 1, "1 verdict"),
     (5, 8, "40–60"), (0, 8, "40–60"), (0, 0, "40–60")],
)  # fmt: skip
def test_a_hatched_cell_says_which_number_is_too_small(items, verdicts, text):
    """Also in the downloads, without a colour. 0 items or verdicts: their number is unknown."""
    cells = {("a", "b"): Estimate(0.5, 0.4, 0.6, verdicts, items)}
    table = matrix_html(["a"], ["b"], cells, CONSISTENCY_SCALE, least=8)
    few = text != "40–60"
    bounds = "<small>40–60</small>" if few else ""
    assert f"<b>50</b><small>{text}</small>{bounds}</button>" in table, "and its interval"
    sent = json.loads(html.unescape(re.findall(r'data-heat="([^"]*)"', table)[0]))
    (cell,) = sent["cells"]
    assert cell[:7] == ["a", "b", 0.5, 0.4, 0.6, verdicts, items] and cell[-1] == text
    assert cell[7] == (13 / 20 if text == "40–60" else None)


# ------------------------------------------------------- the stylesheet's bins

STOPS = {
    "b": [f"bias-{i}" for i in range(6)],
    "f": ["second", "second-mid", "surface", "first-mid", "first"],
    "w": ["surface", "win-soft", "win"],
}


def tokens(dark: bool) -> dict[str, str]:
    light, _, rest = STYLE.partition("\n.dark {")
    block = rest.partition("\n}")[0] if dark else light
    return dict(re.findall(r"--([\w-]+): (#[0-9A-F]{6})", block))


def channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def ramp(stops: list[str], t: float) -> str:
    x = min(t, 1 - 1e-9) * (len(stops) - 1)
    low, high = stops[int(x)], stops[int(x) + 1]
    pairs = zip(channels(low), channels(high), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (x % 1)):02X}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
            for v in (channel / 255 for channel in channels(colour))
        ]
        return sum(k * v for k, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("dark", "kind"), list(itertools.product([False, True], "bfw")))
def test_the_bins_are_the_ramp_of_the_tokens_and_their_text_can_be_read(dark, kind):
    stops = [tokens(dark)[name] for name in STOPS[kind]]
    prefix = r"\.dark " if dark else ""
    for i in range(COLOUR_BINS + 1):
        found = re.search(
            rf"^{prefix}\.{kind}{i} {{ --cell: (\S+); --cell-ink: (\S+) }}", STYLE, re.MULTILINE
        )
        assert found, f"no bin .{kind}{i}"
        cell, ink = found.groups()
        assert cell == ramp(stops, i / COLOUR_BINS)
        assert contrast(cell, ink) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_text_colours_pass_on_every_surface(dark):
    colour = tokens(dark)
    for text, below in itertools.product(("ink", "ink-2", "ink-3"), ("page", "surface", "sunken")):
        assert contrast(colour[text], colour[below]) >= 4.5, (text, below)
    for kind in ("ok", "info", "warn", "bad", "odd"):
        assert contrast(colour[kind], colour[f"{kind}-soft"]) >= 4.5, kind
    for slot in ("first", "second"):
        assert contrast(colour[f"{slot}-ink"], colour[f"{slot}-soft"]) >= 4.5, slot


@pytest.mark.parametrize("name", ["style.css", "page.js", "logo.svg"])
def test_no_asset_asks_anything_of_the_outside(name):
    text = (Path(__file__).parents[3] / "assets" / name).read_text(encoding="utf-8")
    # The SVG namespace is a name, not an address.
    assert not re.findall(
        r"(?:https?:)?//[a-z0-9.-]+\.[a-z]+", text.replace("http://www.w3.org/2000/svg", "")
    )
    assert "@import" not in text


def test_a_matrix_of_every_scale_can_be_saved_as_a_picture():
    """The script draws it with the stops of its kind, each a token of the style."""
    assets = Path(__file__).resolve().parents[3] / "assets"
    told = re.search(r"const SCALES = \{(.*)\};", (assets / "page.js").read_text())
    assert told is not None
    kinds = dict(re.findall(r"(\w): \[(.*?)\]", told[1]))
    assert set(kinds) == set(get_args(get_type_hints(ColourScale)["kind"]))
    tokens = set(re.findall(r"(--[\w-]+):", (assets / "style.css").read_text()))
    assert {name for stops in kinds.values() for name in re.findall(r'"(.*?)"', stops)} <= tokens


@pytest.mark.parametrize(
    ("names", "upright"),
    [
        (["brief-letters", "brief-numbers"], False),
        (["a", "b", "c", "d", "e", "f"], False),
        (["brief-letters", "brief-numbers", "brief-examples", "brief-warning"], True),
        (["counterfactual", "common-sense", "x"], True),
    ],
)
def test_heads_that_are_too_wide_for_a_phone_run_upwards(names, upright):
    html = matrix_html(names, ["All"], {}, CONSISTENCY_SCALE)
    tall = html[html.index("eh-heat tall") :]
    assert ("eh-heat tall upright" in tall) is upright
    assert ('<th scope="col"><span>' in tall) is upright


def test_a_total_has_a_name_that_no_other_column_has():
    assert total_name(["a"]) == "All" and total_name(["All"]) == "All (total)"
    assert total_name(["All", "All (total)"]) == "All (total) (total)"


@pytest.mark.parametrize(
    ("better", "style", "blank", "full", "ends", "text"),
    [
        ("high", "percent", 1.0, 0.0, ("100 %", "0 %"), "25"),
        ("low", "percent", 0.0, 1.0, ("0 %", "100 %"), "25"),
        ("", "percent", 0.0, 1.0, ("0 %", "100 %"), "25"),
        ("high", "decimal", 1.0, 0.0, ("1", "0"), "0.25"),
        ("low", "decimal", 0.0, 1.0, ("0", "1"), "0.25"),
    ],
)
def test_a_measure_without_a_scale_of_its_own_has_no_colour_at_its_best_value(
    better, style, blank, full, ends, text
):
    record = MeasureRecord(
        key="new", name="New", question="position", definition="d", paths=(), style=style,
        better=better,
    )  # fmt: skip
    scale = colour_scale_of(record)
    assert (scale.name, scale.kind, scale.blank, scale.full) == ("New", "b", blank, full)
    assert scale.ends == (f"no colour: {ends[0]}", f"full colour: {ends[1]}")
    assert (scale.css_class(blank), scale.css_class(full)) == ("b0", "b20")
    assert (scale.text(0.25), scale.unit) == (text, "%" if style == "percent" else "")
    own = colour_scale_of(replace(record, key="entropy"))
    assert own == replace(ENTROPY_SCALE, name="New", decimals=3)
