"""Contrasts of judges whose difference is known, family by family."""

from __future__ import annotations

import re

import pytest
from voted_studies import Sheet, save, six_items

from components.contrasts import tab as contrasts_tab
from components.contrasts.families import CONSISTENCY, FAMILIES, WITHIN
from components.contrasts.items import differing
from components.contrasts.pair import sure, told
from components.contrasts.tab import pair_of
from components.contrasts.view import show_categories, show_family, show_finding
from components.rows import Filter
from components.scene import Scene


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def steady_and_not(name: str, items: int = 20, flips: int = 10) -> Sheet:
    """`steady` never flips; `shaky` takes the first place in the first `flips` items."""
    sheet = Sheet(name)
    for k in range(items):
        sheet.both(f"q{k:02}", "steady", "xx")
        sheet.both(f"q{k:02}", "shaky", "xy" if k < flips else "xx")
    return sheet


@pytest.fixture
def scene(store) -> Scene:
    kinds = {f"q{k:02}": "hard" if k < 12 else "easy" if k < 18 else "rare" for k in range(20)}
    steady_and_not("contrast").save(store, categories=kinds)
    return Scene(store, "contrast")


def test_the_steadiest_and_the_least_steady_open_a_study(scene):
    pair = pair_of(scene, "", "")
    assert (pair.left.name, pair.right.name) == ("steady", "shaky")
    assert show_finding(pair, "Behaviour")[0] == "steady is 50 points steadier than shaky."


def test_a_difference_is_left_minus_right_with_both_values(scene):
    lines = {one.label: line for one, line in told(pair_of(scene, "", "").family("Behaviour"))}
    got = lines["Consistency"]
    assert (got.left_value, got.right_value, got.raw.value) == (1.0, 0.5, 0.5)
    assert got.raw.items == 20
    assert got.adjusted.low <= got.raw.low and got.raw.high <= got.adjusted.high
    assert sure(got)
    # shaky: 30 firsts of 40, steady 20 of 40; lean 10 of 20 flips to the first.
    assert lines["First-slot share"].raw.value == pytest.approx(0.5 - 0.75 + 0.0)
    assert lines["Lean"].raw.value == pytest.approx(-0.5)
    assert lines["Ties"].raw.value == 0.0


def test_turned_round_every_difference_turns(scene):
    there = {one.label: line for one, line in told(pair_of(scene, "", "").family("Position"))}
    back = {o.label: c for o, c in told(pair_of(scene, "shaky", "steady").family("Position"))}
    assert there.keys() == back.keys()
    for label, line in there.items():
        assert line.raw.value == pytest.approx(-back[label].raw.value, abs=1e-9)


def test_same_is_said_where_the_adjusted_interval_covers_nothing(scene):
    html = show_family(pair_of(scene, "", ""), "Behaviour")
    ties = html[html.index("Ties<") :]
    assert "not told apart" in ties[: ties.index("</tr>")]
    first = html[html.index("Consistency<") :]
    assert "not told apart" not in first[: first.index("</tr>")]


def test_what_cannot_be_compared_is_named_with_its_reason(scene):
    said = text(show_family(pair_of(scene, "", ""), "Quality"))
    assert "Not compared: Same as people (no verdict that people judged too)" in said
    assert "Consistency" in said


def test_the_same_items_only(store):
    # steady has q0…q9, shaky q5…q14: five in common, three of which flip.
    sheet = Sheet("half")
    for k in range(10):
        sheet.both(f"q{k}", "steady", "xx").both(f"q{k + 5}", "shaky", "xy" if k < 3 else "xx")
    sheet.save(store)
    pair = pair_of(Scene(store, "half"), "steady", "shaky")
    (line,) = [line for one, line in pair.family("Behaviour") if one is CONSISTENCY]
    assert pair.common == 5
    assert (line.left_value, line.right_value) == (1.0, pytest.approx(0.4))


def test_categories_are_a_family_of_their_own_and_few_items_have_no_interval(scene):
    pair = pair_of(scene, "", "")
    enough, few = pair.by_category(CONSISTENCY)
    assert {line.left[1]: line.raw.value for _, line in enough} == {"hard": 10 / 12, "easy": 0.0}
    assert [(line.left[1], line.raw.low) for _, line in few] == [("rare", None)]
    said = text(show_categories(pair, "Consistency"))
    assert "2 items: too few" in said


def test_items_that_differ_most_come_first_with_their_counts(scene):
    pair = pair_of(scene, "", "")
    items = differing(pair, CONSISTENCY)
    assert len(items) == 20
    assert [one.item for one in items[:10]] == [f"q{k:02}" for k in range(10)]
    assert (items[0].left, items[0].right, items[0].left_n) == (1.0, 0.0, 1)
    assert items[-1].gap == 0


def test_win_rates_are_a_family_of_the_contestants(scene):
    lines = told(pair_of(scene, "", "").family("Win rates"))
    # steady gives x everything; shaky 30 of 40.
    assert {one.label: line.raw.value for one, line in lines} == {"x": 0.25, "y": -0.25}
    assert show_finding(pair_of(scene, "", ""), "Win rates")[0] == (
        "steady gives x 25 points more than shaky."
    )


def test_people_are_the_yardstick_where_there_are_any(store):
    six_items().save(store)
    pair = pair_of(Scene(store, "voted"), "good", "first")
    lines = {one.label: line for one, line in told(pair.family("Quality"))}
    assert lines["Same as people"].raw.value == pytest.approx(1 - 5 / 12)


def test_a_judge_is_compared_with_itself_under_two_prompts(store):
    sheet = Sheet("prompts")
    for k in range(12):
        sheet.both(f"q{k}", "j", "xx", "calm").both(f"q{k}", "j", "xy", "hasty")
    sheet.save(store)
    scene = Scene(store, "prompts")
    pair = pair_of(scene, "", "")
    assert (pair.left.name, pair.right.name) == ("calm", "hasty")
    assert show_finding(pair, "Behaviour")[0] == "calm is 100 points steadier than hasty."


def test_images_against_a_description_are_two_studies(store):
    for sees, said in (("context", "xy"), ("images", "xx")):
        rows = []
        for k in range(10):
            for shown, who in zip((("x", "y"), ("y", "x")), said, strict=True):
                rows.append((f"q{k}", "j", "p", shown, who, 2))
        save(store, sees, rows, judge_sees=sees)
    known = contrasts_tab.elsewhere(Scene(store, "context"))
    assert list(known) == ["j, images (images)"]
    pair = pair_of(Scene(store, "context"), "j", "j, images (images)")
    (line,) = [line for one, line in pair.family("Behaviour") if one is CONSISTENCY]
    assert line.raw.value == -1.0


def test_one_judge_has_no_contrast_and_says_why(store):
    Sheet("alone").both("q", "j", "xx").save(store)
    for family, within in zip(FAMILIES, WITHIN, strict=False):
        shown = contrasts_tab.show(Scene(store, "alone"), "", "", family, within)
        assert "A contrast needs two judges or two prompts" in shown[0]
        assert all("nan" not in part.lower() for part in shown)


def test_every_measure_can_be_looked_at_by_category_and_by_item(scene):
    for within in WITHIN:
        shown = contrasts_tab.show_lower(scene, "", "", "Behaviour", within)
        assert within in shown[0]
        assert all("nan" not in part.lower() for part in shown)


def test_silence_sameness_and_strangers_are_told_apart(store):
    sheet = Sheet("odd")
    for k in range(6):
        sheet.both(f"q{k}", "a", "xx").both(f"r{k}", "b", "xx").both(f"q{k}", "mute", "??")
    sheet.save(store)
    scene = Scene(store, "odd")
    assert "no item in common" in pair_of(scene, "a", "b").trouble
    assert "No readable verdict of mute" in pair_of(scene, "a", "mute").trouble
    assert "stands on both sides" in pair_of(scene, "a", "a").trouble
    nobody = Scene(store, "odd", Filter(category="nowhere"))
    assert "passes the filters" in pair_of(nobody, "a", "b").trouble


def test_an_address_brings_back_the_sides(scene):
    made = contrasts_tab.settle(scene, {"left": "shaky", "right": "gone", "family": "Quality"})
    assert made["left"].value == "shaky"
    assert made["right"].value == ""  # what a study opens with
    assert made["family"].value == "Quality"
    assert ("steady", "") in made["left"].choices
