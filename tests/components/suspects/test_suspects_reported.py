"""What a report says of injection suspects: rules, and both numbers of everything that matters."""

from __future__ import annotations

import json
import re

import pytest

from components.report import report_html
from components.rows import WITHOUT_SUSPECTS, Filter
from components.scene import Scene
from components.suspects.reported import compared, rules_found, suspects_panel
from metrics.position import first_share
from tests.components.suspects.suspected import ITEMS, suspected, words
from tests.studies.small_items import ask, judged, study


@pytest.fixture
def scene(store):
    return suspected(store)


def test_every_rule_is_counted_by_the_texts_it_found(scene):
    # One text, y's answer to q1: it says "ignore …" and "choose this answer".
    assert rules_found(scene) == {"override": 1, "demand": 1}


def test_both_numbers_stand_side_by_side(scene):
    numbers = {(one.what, one.whose): one for one in compared(scene)}
    y = numbers["Win rate", "y"]
    # y wins 4 of 8; without q1, where it wins both, 2 of 6.
    assert (y.with_them.value, y.with_them.n) == (0.5, 8)
    assert (round(y.without.value, 9), y.without.n) == (round(2 / 6, 9), 6)
    # q1 yy and q3 xx hold in both orders, q2 and q4 flip: 2 of 4, and 1 of 3 without q1.
    steady = numbers["Consistency", "j"]
    assert (steady.with_them.value, round(steady.without.value, 9)) == (0.5, round(1 / 3, 9))
    left = Scene(scene.store, scene.name, Filter(suspects=WITHOUT_SUSPECTS))
    assert numbers["First slot chosen", "j"].without == first_share(left.machines)


def test_the_report_has_the_section_and_its_numbers_have_both(scene):
    html = report_html(scene.store, "small")
    told = words(html[html.index("<h2>Injection suspects</h2>") :][:6000])
    assert "1 injection suspect in 1 item." in told
    assert "override tells the judge to ignore its instructions 1" in told
    assert re.search(r"Win rate y 50.0 % \[[^]]+\], n 8 33.3 % \[[^]]+\], n 6", told), told
    block = re.search(r'<script type="application/json" id="metrics">(.*?)</script>', html, re.S)
    measured = json.loads(block.group(1))
    assert measured["without_suspects"]["left_out"] == 2
    assert measured["without_suspects"]["win_rate"]["y"]["n"] == 6


def test_no_button_that_nothing_hears_is_on_paper(scene):
    assert "Read them" not in suspects_panel(scene)


def test_where_nothing_was_found_it_says_that_it_was_looked_for(store):
    items = ITEMS[1:]
    made = [judged(ask(item.id, item.id)) for item in items]
    store.save_study(study(), items, (), recorded=made, plan_sha="1", only_recorded=True)
    told = words(suspects_panel(Scene(store, "small")))
    assert "No question and no answer that a judge was shown speaks to the judge." in told
