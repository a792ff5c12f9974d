"""Parts of a panel: texts, escaping, and the data of a click."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from components.html import pieces, run_progress
from components.html.pieces import Action, Kpi
from components.html.run_progress import ReplyRow, reply_ending
from components.html.scales import CONSISTENCY_SCALE
from components.html.static_matrix import StaticCell, _static_cell_html, static_matrix
from components.html.tables import forest_tables
from components.html.tables.forest_cells import Axis, forest_html
from components.html.tables.forest_tables import FlipRow, LeaderRow
from studies.domain import STATUSES, Estimate
from tests.page_words import says

EVIL = '<img src=x onerror="alert(1)"><script>alert(2)</script>\'"'
SURE = Estimate(0.08, 0.05, 0.13, 180, 90)


class Tags(HTMLParser):
    """Collects tags and attribute names, and checks that every tag is closed in order."""

    void = frozenset({"br", "col", "wbr", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def evil_pieces() -> dict[str, str]:
    action = Action(EVIL, {"x": EVIL})
    return {
        "finding": pieces.finding_html(EVIL, EVIL),
        "kpis": pieces.kpi_strip([Kpi(EVIL, EVIL, EVIL, EVIL, EVIL, {"x": EVIL}, (0.1, 2))]),
        "notice": pieces.notice_html("warn", EVIL, EVIL, action),
        "empty": pieces.empty_state(EVIL, EVIL, action),
        "how": pieces.how_computed(EVIL),
        "data": pieces.data_note(EVIL),
        "heading": pieces.panel_heading(EVIL, EVIL, [("first", EVIL)]),
        "panel": pieces.panel_html(EVIL, EVIL, "", how_text=EVIL),
        "flips": forest_tables.flips_table([FlipRow(EVIL, 3, 0, EVIL)]),
        "leaders": forest_tables.leaderboard_table(
            [LeaderRow(EVIL, (1, 2), SURE, select={"x": EVIL})]
        ),
        "replies": run_progress.last_replies_html(
            [ReplyRow("ok", 0, (EVIL, EVIL), EVIL, {"x": EVIL})]
        ),
        "pill": pieces.run_pill(EVIL),
        "brand": pieces.brand_html(),
        "progress": run_progress.progress_bar({"ok": 3}, 9, waiting=1),
    }


@pytest.mark.parametrize("name", evil_pieces())
def test_text_from_data_becomes_neither_tag_nor_attribute(name):
    tags = Tags()
    tags.feed(evil_pieces()[name])
    assert not tags.open
    assert not tags.names & {"img", "script"}
    assert not {attribute for attribute in tags.attributes if attribute.startswith("on")}


@pytest.mark.parametrize("name", evil_pieces())
def test_what_a_click_sends_survives_the_escaping(name):
    for sent in re.findall(r'data-select="([^"]*)"', evil_pieces()[name]):
        assert EVIL in json.loads(html.unescape(sent)).values()


def test_a_finding_is_a_headline_with_its_reading():
    made = pieces.finding_html("Four of five **prefer** a slot.", "More ink is more bias.")
    assert says(made, "<h1>Four", "five <b>prefer</b>", "slot.</h1><p>More ink", "bias.</p>")


def test_a_strip_holds_five_numbers_at_most():
    with pytest.raises(ValueError, match="at most five"):
        pieces.kpi_strip([Kpi("a", "1")] * 6)


def test_failures_are_a_link_to_themselves():
    made = pieces.kpi_strip(
        [Kpi("Failures", "18", "of 8,000", "0 unreadable", "18 empty", {"s": 1})]
    )
    assert re.search(r'<button[^>]*class="eh-link"[^>]*>18 empty</button>; 0 unreadable', made)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_glyph_word_and_colour(status):
    badge = pieces.status_badge(status, 1600)
    assert f"s-{status}" in badge
    assert f"<i>{pieces.STATUS_GLYPHS[status]}</i>" in badge
    assert status.replace("_", " ") in badge
    assert "<b>1,600</b>" in badge


def test_verdict_chips_name_the_slot():
    assert ">1st<" in pieces.verdict_chip(0)
    assert "second" in pieces.verdict_chip(1)
    assert ">3rd<" in pieces.verdict_chip(2)
    assert ">4th<" in pieces.verdict_chip(3)
    assert ">21st<" in pieces.verdict_chip(20)
    assert ">tie<" in pieces.verdict_chip("tie")
    assert ">–<" in pieces.verdict_chip(None)


def test_a_forest_row_places_dot_and_whisker_on_its_axis():
    made = forest_html(Estimate(0.5, 0.25, 0.75, 10, 10), Axis(chance=0.5))
    assert '<i class="w" style="left:25.00%;width:50.00%"></i>' in made
    assert '<i class="p" style="left:50.00%"></i>' in made
    assert '<i class="c" style="left:50.00%"></i>' in made


def test_too_few_items_are_hollow_and_unknown_draws_nothing():
    few = forest_html(Estimate(0.5, 0.1, 0.9, 10, 3), Axis())
    assert 'class="p hollow"' in few
    assert 'class="w"' not in few
    assert 'class="p' not in forest_html(Estimate(None), Axis())


def test_flips_share_one_scale_and_name_how_many_open():
    made = forest_tables.flips_table([FlipRow("a", 100, 0, "x"), FlipRow("b", 50, 25, "y")])
    assert re.findall(r'class="[lr]" style="width:([\d.]+)%', made) == [
        "38.00",
        "0.00",
        "19.00",
        "9.50",
    ]
    assert ">Open 100 flips<" in made
    assert ">Open 75 flips<" in made
    sent = html.unescape(re.findall(r'data-select="([^"]*)"', made)[1])
    assert json.loads(sent) == {"judge": "b", "flipped": True}


def test_a_judge_without_flips_has_nothing_to_open():
    assert "Open" not in forest_tables.flips_table([FlipRow("a", 0, 0, "Never wavers.")])


def test_a_leaderboard_shows_ranges_and_says_tied_where_zero_is_covered():
    rows = [
        LeaderRow("x", (1, 1), Estimate(1276, 1231, 1330), above_next=Estimate(130, 84, 181)),
        LeaderRow("y", (2, 3), Estimate(1146, 1121, 1180), above_next=Estimate(4, -44, 61)),
        LeaderRow("z", (2, 3), Estimate(1142, 1100, 1190)),
    ]
    made = forest_tables.leaderboard_table(rows)
    assert "<b>2–3</b>" in made
    assert made.count("not significant") == 1
    assert '<b>4</b> <span class="eh-ci">[−44, 61]</span>' in made


def test_the_rating_by_people_has_its_interval_on_the_leaderboard():
    people = Estimate(1300, 1100, 1500, 40, 20)
    row = LeaderRow("x", (1, 1), Estimate(1276, 1231, 1330), people=people)
    axis = forest_tables.fit_rating_axis([row])
    assert axis.low < 1100 and axis.high > 1500
    made = forest_tables.leaderboard_table([row])
    assert 'class="u"' in made
    assert says(made, "people: 1,300 [1,100, 1,500]", "40 comparisons")
    assert "1100," in unescape(made)  # in the file of the table, too


def test_the_axis_of_ratings_has_round_ticks_inside_the_data():
    rows = [
        LeaderRow("x", (1, 1), Estimate(1276, 1231, 1330)),
        LeaderRow("y", (2, 2), Estimate(810, 767, 849)),
    ]
    axis = forest_tables.fit_rating_axis(rows)
    assert list(axis.labels.values()) == ["800", "900", "1,000", "1,100", "1,200", "1,300"]
    assert axis.low < 767
    assert axis.high > 1330


def test_an_axis_of_nothing_is_still_an_axis():
    assert forest_tables.fit_rating_axis([]).ticks
    assert "<table" in forest_tables.leaderboard_table([])


def test_progress_counts_everything_and_shows_only_statuses_that_occurred():
    made = run_progress.progress_bar({"ok": 563, "unreadable": 41}, 960, waiting=14)
    # 604 of 960 = 62.9 %; 356 left, of which 14 wait.
    assert "<b>62.9\u202f%</b> done, 356 left, <b>14 waiting</b>" in made
    assert "s-unreadable" in made
    assert "s-refusal" not in made
    assert 'aria-valuenow="604"' in made


def test_progress_of_nothing_planned_divides_by_nothing():
    assert "<b>0.0\u202f%</b> done" in run_progress.progress_bar({}, 0)


def test_a_reply_shows_its_end_where_the_verdict_stands():
    made = run_progress.last_replies_html([ReplyRow("ok", 1, ("x", "y"), "word " * 100 + "[[B]]")])
    assert "[[B]]</bdi>" in made
    assert ">… word" in made
    assert ">2nd<" in made


def test_a_reply_without_verdict_shows_its_status_instead():
    made = run_progress.last_replies_html(
        [ReplyRow("unreadable", None, ("x", "y"), "Both are good.")]
    )
    assert "s-unreadable" in made
    assert "eh-slot" not in made


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("short one", "short one"),
        ("one two three", "\u2026 two three"),
        ("\u4e00" * 20, "\u2026 " + "\u4e00" * 10),
    ],
    ids=["whole", "at a space", "without spaces"],
)
def test_the_end_of_a_reply_is_shown_with_or_without_spaces(text, end):
    assert reply_ending(text, 10) == end


def test_keys_of_the_json_may_follow_an_option_and_stand_without_a_text():
    made = pieces.how_computed("One *way*.", ["summary.flips", "--by category: by.*"])
    assert says(made, "How is", "computed?") and made.count("<code>") == 4
    assert "<code>summary.flips</code>, with <code>--by category</code>: <code>by.*</code> " in made
    keys = pieces.how_computed("", ["summary.flips"])
    assert "computed?" not in keys and "<code>summary.flips</code> " in keys
    assert "eh-json" not in pieces.how_computed("One way.")


@pytest.mark.parametrize(
    ("level", "corners"), [(0, "<td>"), (1, '<td class="flag">'), (2, '<td class="flag flag2">')]
)
def test_a_cell_without_clicks_has_marked_corners_as_a_warning(level, corners):
    cell = StaticCell(0.625, ("n 80", "<i>"), level, "50–70")
    made = _static_cell_html(cell, CONSISTENCY_SCALE)
    assert made.startswith(corners) and 'class="b10" tabindex="0"' in made
    assert "<b>62</b><small>50–70</small>" in made and "62\nn 80\n&lt;i&gt;" in made
    assert "<small>" not in _static_cell_html(replace(cell, below=""), CONSISTENCY_SCALE)


def test_a_matrix_without_clicks_has_a_dash_where_nothing_is_known():
    known = StaticCell.from_estimate(Estimate(0.5, 0.4, 0.6), CONSISTENCY_SCALE, "n 80")
    assert known == StaticCell(0.5, ("n 80",), 0, "40–60")
    assert StaticCell.from_estimate(Estimate(None), CONSISTENCY_SCALE) is None
    cells = {("j", "a"): known, ("j", "b"): None}
    columns = [("a", "4 items"), ("b", ""), ("c", "")]
    made = static_matrix(["j"], columns, cells, CONSISTENCY_SCALE, title="Mine", label_width=90)
    assert made.count('<td class="none"><span>–</span></td>') == 2 and "--lab: 90px" in made
    assert '<th scope="col">a<small>4 items</small></th>' in made and ">Mine</p>" in made
    assert "still mini" in made
    plain = static_matrix(["j"], columns, cells, CONSISTENCY_SCALE, small=False)
    assert "mini" not in plain and "eh-still-title" not in plain
