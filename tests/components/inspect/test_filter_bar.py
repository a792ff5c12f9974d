"""Filter bar of Inspect: which buttons and menus appear, and the selection that each sets."""

from __future__ import annotations

import html
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from components.inspect import filter_bar
from components.inspect.list_html import list_html
from components.inspect.load_comparison import InspectedStudy, load_inspect_page
from components.inspect.url_selection import FAILURES, NO_SUSPECTS, ONLY_SUSPECTS, Selection
from studies.domain import STATUSES
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says

COUNTS = {"all": 9, "flipped": 4, "first": 3, "second": 1, "noise": 0, "suspect": 0, FAILURES: 0}
COUNTS |= {status: COUNTS.get(status, 0) for status in STATUSES}
CHOICES = {"judge": ["a", "b"], "prompt": ["p"], "category": [], "contestant": ["x", "y", "z"]}
POINTS = """
name: one
data: {source: probe, count: 2, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, seed: 2}]
prompts: [score-scale]
"""
Button = tuple[str, bool, dict[str, Any]]


def inspected(total: int = 3, **more: Any) -> InspectedStudy:
    values = {"counts": COUNTS, "choices": CHOICES, "selection": Selection(study="s"), **more}
    return InspectedStudy(studies=1, planned=9, total=total, **values)


def buttons(counts: dict[str, int] | None = None, **selected: Any) -> list[Button]:
    """Text, whether pressed, and what it sets, of each button."""
    selection = Selection(study="s", **selected)
    made = filter_bar.filter_bar(inspected(counts=COUNTS | (counts or {}), selection=selection))
    found = re.findall(r"<button(.*?)>(.*?)</button>", made)
    return [
        (
            " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split()),
            'aria-pressed="true"' in attributes,
            json.loads(html.unescape(re.findall(r'data-select="(.*?)"', attributes)[0]))["set"],
        )
        for attributes, text in found
    ]


FLIPPED: Button = ("Flipped 4", False, {"flipped": True})
UNUSABLE: Button = ("With unusable replies 0", False, {"status": FAILURES})


def test_without_a_filter_two_buttons_are_offered() -> None:
    assert buttons() == [FLIPPED, UNUSABLE]


def test_single_answers_have_no_flips_to_offer(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "e.db")) as store:
        run_text(store, POINTS)
        found = load_inspect_page(store, Selection(study="one"))
    assert "Flipped" not in filter_bar.filter_bar(found)
    assert "position" not in list_html(found) and says(list_html(found), "score", "pass")


def test_flips_toward_a_position_are_offered_with_flips() -> None:
    pressed = ("Flipped 4 ×", True, {"flipped": False})
    first = ("Toward first 3", False, {"flipped": True, "toward": "first"})
    second = ("Toward second 1", False, {"flipped": True, "toward": "second"})
    assert buttons(flipped=True) == [pressed, first, second, UNUSABLE]
    on = ("Toward first 3 ×", True, {"flipped": True, "toward": ""})
    assert buttons(flipped=True, toward="first") == [pressed, on, second, UNUSABLE]
    assert buttons(toward="first") == [FLIPPED, on, second, UNUSABLE]


@pytest.mark.parametrize(
    ("counts", "selected", "button"),
    [
        ({"noise": 2}, {}, ("Changes on a repeat 2", False, {"noise": True})),
        ({}, {"noise": True}, ("Changes on a repeat 0 ×", True, {"noise": False})),
        ({"suspect": 5}, {}, ("Injection suspects 5", False, {"suspect": ONLY_SUSPECTS})),
        ({}, {"suspect": ONLY_SUSPECTS}, ("Injection suspects 0 ×", True, {"suspect": ""})),
        ({}, {"suspect": NO_SUSPECTS}, ("Without injection suspects ×", True, {"suspect": ""})),
        ({}, {"slot": 0}, ("Picked position 1 ×", True, {"slot": None})),
        ({}, {"slot": 1}, ("Picked position 2 ×", True, {"slot": None})),
        ({}, {"slot": -1}, ("Picked tie ×", True, {"slot": None})),
        ({}, {"unlike": "people"}, ("Differs from people ×", True, {"unlike": ""})),
        ({}, {"checked": "pass_bad"}, ("False passes ×", True, {"checked": ""})),
        ({}, {"checked": "other"}, ("other ×", True, {"checked": ""})),
        ({}, {"item": "q7"}, ("Item q7 ×", True, {"item": ""})),
    ],
)
def test_each_further_filter_has_a_button_that_sets_or_removes_it(
    counts: dict[str, int], selected: dict[str, Any], button: Button
) -> None:
    assert buttons(counts, **selected) == [FLIPPED, UNUSABLE, button]


@pytest.mark.parametrize("rule", ["agree", "jury+a+b"])
def test_the_rule_that_changed_a_comparison_can_be_removed(rule: str) -> None:
    *_, last = buttons(rule=rule, judge="a")
    assert last[0].startswith("Changed by: ") and last[0].endswith(" ×")
    assert last[1:] == (True, {"rule": ""})


def test_kinds_of_unusable_replies_are_offered_once_one_is_chosen() -> None:
    bad = {FAILURES: 3, "unreadable": 2, "refusal": 1}
    on = ("With unusable replies 3 ×", True, {"status": ""})
    off = ("With unusable replies 3", False, {"status": FAILURES})
    refusal = ("Refusal 1", False, {"status": "refusal"})
    unreadable = ("Unreadable 2", False, {"status": "unreadable"})
    assert buttons(bad) == [FLIPPED, off]
    assert set(map(str, buttons(bad, status=FAILURES))) == set(
        map(str, [FLIPPED, on, refusal, unreadable])
    )
    assert buttons({**bad, "refusal": 0}, status=FAILURES) == [FLIPPED, on]
    pressed = ("Refusal 1 ×", True, {"status": FAILURES})
    assert set(map(str, buttons(bad, status="refusal"))) == set(
        map(str, [FLIPPED, off, pressed, unreadable])
    )
    gone = ("Refusal 0 ×", True, {"status": FAILURES})
    assert buttons({**bad, "refusal": 0}, status="refusal") == [FLIPPED, off, unreadable, gone]


def menus(
    found: dict[str, int] | None = None, **selected: Any
) -> dict[str, list[tuple[str, bool]]]:
    """Field of each menu -> its options: value, whether chosen."""
    shown = inspected(verified=found, selection=Selection(study="s", **selected))
    made = filter_bar.filter_bar(shown)
    return {
        field: [
            (html.unescape(value), "selected" in rest)
            for value, rest in re.findall(r'<option value="(.*?)"(.*?)>', options)
        ]
        for field, options in re.findall(r'data-field="(\w+)">(.*?)</select>', made)
    }


def test_a_menu_appears_with_two_choices_or_a_chosen_one() -> None:
    found = menus()
    assert list(found) == ["judge", "contestant"]
    assert found["judge"] == [("", True), ("a", False), ("b", False)]
    assert menus(prompt="p")["prompt"][-1] == ("p", True)
    assert menus(judge="gone")["judge"][-1] == ("gone", True)
    assert ("b", True) in menus(judge="b")["judge"] and len(menus(judge="b")["judge"]) == 3


def test_an_opponent_is_offered_only_for_a_chosen_model_and_is_another() -> None:
    assert "against" not in menus()
    assert [value for value, _ in menus(contestant="x")["against"]] == ["", "y", "z"]
    assert menus(against="y")["against"][2] == ("y", True)


def test_the_bar_is_empty_without_a_study_or_without_anything_to_filter() -> None:
    assert filter_bar.filter_bar(inspected()).count("<h1") == 1  # the tab has no other heading
    assert not filter_bar.filter_bar(inspected(choices=None))
    assert not filter_bar.filter_bar(inspected(0))
    assert filter_bar.filter_bar(inspected(0, selection=Selection(study="s", judge="a")))


def test_verifications_are_offered_with_their_numbers_if_there_are_any() -> None:
    assert "verified" not in menus()
    assert "verified" not in menus({filter_bar.ANY_CHECK: 0})
    kinds = list(filter_bar.VERIFICATION_KINDS)
    one = next(kind for kind in kinds if kind != filter_bar.ANY_CHECK)
    found = {filter_bar.ANY_CHECK: 4, one: 4}
    assert len(menus(found)["verified"]) == 3
    assert "(4)" in filter_bar.filter_bar(inspected(verified=found))
    assert menus({}, verified=one)["verified"] == [("", False), (one, True)]


def test_the_search_keeps_its_text() -> None:
    typed = filter_bar.filter_bar(inspected(selection=Selection(study="s", text="a <b>")))
    assert 'class="eh-search on"' in typed and 'value="a &lt;b&gt;"' in typed
    assert 'class="eh-search"' in filter_bar.filter_bar(inspected())
