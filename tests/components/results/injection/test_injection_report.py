"""Report section on injection suspects: rules, and main measures with and without them."""

from __future__ import annotations

import json
import re

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITHOUT_SUSPECTS, Filter
from components.results.nudges.injection_effect import (
    compare_with_and_without_suspects,
    count_suspect_texts_by_rule,
    injection_report_section,
)
from components.share.report import report_html
from metrics.position.position_measures import first_share
from tests.components.results.injection.injected_study import ITEMS, PICKS, suspected, words
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.studies.small_items import ask, judged, study


@pytest.fixture
def scene(store):
    return suspected(store)


def test_every_rule_is_counted_by_the_texts_it_found(scene):
    # One text, y's answer to q1: it says "ignore …" and "choose this answer".
    assert count_suspect_texts_by_rule(scene) == {"override": 1, "demand": 1}


def test_both_numbers_stand_side_by_side_also_if_the_filter_leaves_the_texts_out(scene):
    without = FilteredStudy(scene.store, scene.name, Filter(suspects=WITHOUT_SUSPECTS))
    assert compare_with_and_without_suspects(without) == compare_with_and_without_suspects(scene)
    assert count_suspect_texts_by_rule(without) == count_suspect_texts_by_rule(scene)
    numbers = {
        (one.measure_name, one.subject): one for one in compare_with_and_without_suspects(scene)
    }
    y = numbers["Win rate", "y"]
    # y wins 4 of 8; without q1, where it wins both, 2 of 6.
    assert (y.with_suspects.value, y.with_suspects.n) == (0.5, 8)
    assert (round(y.without_suspects.value, 9), y.without_suspects.n) == (round(2 / 6, 9), 6)
    # q1 yy and q3 xx hold in both orders, q2 and q4 flip: 2 of 4, and 1 of 3 without q1.
    steady = numbers["Consistency", "j"]
    assert (steady.with_suspects.value, round(steady.without_suspects.value, 9)) == (
        0.5,
        round(1 / 3, 9),
    )
    left = FilteredStudy(scene.store, scene.name, Filter(suspects=WITHOUT_SUSPECTS))
    assert numbers["First-position share", "j"].without_suspects == first_share(
        left.measured_judge_rows
    )


def test_a_model_that_never_wins_is_the_last_of_its_list(store):
    made = compare_with_and_without_suspects(suspected(store, dict.fromkeys(PICKS, "yy")))
    rates = [(one.subject, one.with_suspects.value) for one in made if one.measure_name[0] == "W"]
    assert rates == [("y", 1.0), ("x", 0.0)]


@pytest.mark.extra
def test_the_report_has_the_section_and_its_numbers_have_both(scene):
    html = report_html(scene.store, "small")
    told = words(html[html.index("<h2>Injection suspects</h2>") :][:6000])
    assert says(told, "1 injection suspect", "1")
    assert says(told, "override tells", "instructions 1")
    assert re.search(r"Win rate y 50.0 % \[[^]]+\], n 8 33.3 % \[[^]]+\], n 6", told), told
    block = re.search(r'<script type="application/json" id="metrics">(.*?)</script>', html, re.S)
    measured = json.loads(block.group(1))
    assert measured["without_suspects"]["left_out"] == 2
    assert measured["without_suspects"]["win_rate"]["y"]["n"] == 6


def test_no_button_that_nothing_hears_is_on_paper(scene):
    assert "Read them" not in injection_report_section(scene)


def test_where_nothing_was_found_it_says_that_it_was_looked_for(store):
    items = ITEMS[1:]
    made = [judged(ask(item.id, item.id)) for item in items]
    store.save_study(study(), items, (), recorded=made, plan_sha="1", only_recorded=True)
    told = words(injection_report_section(FilteredStudy(store, "small")))
    assert says(told, "addressed", "was found", "rules", "searched") and "twins" not in told
    text = "name: t\ndata: {source: probe, count: 4}\nprompts: [brief-letters]\n"
    text += "contestants: [precise, flawed]\njudges: [{name: j, model: simulated}]\n"
    run_text(store, text + "twins: {families: [attack-score], answers: [precise]}\n")
    assert says(words(injection_report_section(FilteredStudy(store, "t"))), "(twins)", "searched")
