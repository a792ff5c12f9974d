"""Injection suspects in Results and Inspect: numbers with and without them, marked texts."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import WITHOUT_SUSPECTS, Filter
from components.inspect import injection_marks
from components.inspect.filter_bar import filter_bar
from components.inspect.injection_marks import mark_suspects_or_empty
from components.inspect.list_html import detail_panel
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import NO_SUSPECTS, ONLY_SUSPECTS, Selection
from components.results.bias.computed import load_bias
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.nudges import injection_effect as injection_effect_module
from components.results.nudges.injection_effect import (
    WinRateShift,
    injection_effect,
    suspects_notice,
)
from components.study.form.data_step.slice_profile import profile_html
from studies.domain import Estimate
from studies.texts.slice_statistics import profile_slice
from tests.components.results.injection.injected_study import ITEMS, suspected, words
from tests.page_words import says
from tests.studies.small_items import ask, judged, study


@pytest.fixture
def scene(store):
    return suspected(store)


def without(scene: FilteredStudy) -> FilteredStudy:
    return FilteredStudy(scene.store, scene.name, Filter(suspects=WITHOUT_SUSPECTS))


def test_the_line_says_how_many_and_both_numbers(scene):
    told = words(suspects_notice(scene))
    assert says(told, "1 injection suspect", "1")
    assert says(told, "2", "8 judgements", "addressed")
    # x wins 4 of 8 with it, and 4 of 6 without; y 4 of 8 and 2 of 6: as far, but y is helped by it.
    assert says(told, "Without", "win rate", "33", "instead", "50")
    assert says(told, "1 reply repeats", "suspect")


def test_left_out_the_line_says_the_same_the_other_way_round(scene):
    told = words(suspects_notice(without(scene)))
    assert says(told, "1", "suspect", "1", "excluded")
    assert says(told, "win rate", "50", "instead", "33")
    assert injection_effect(without(scene)) == injection_effect(scene)


def test_where_nothing_is_suspicious_nothing_is_said(store):
    items = ITEMS[1:]
    made = [judged(ask(item.id, item.id)) for item in items]
    store.save_study(study(), items, (), recorded=made, plan_sha="1", only_recorded=True)
    assert suspects_notice(FilteredStudy(store, "small")) == ""


def test_every_count_leaves_them_out(scene):
    assert (load_bias(scene).call_count, load_bias(without(scene)).call_count) == (8, 6)
    assert (len(scene.measured_judge_rows), len(without(scene).measured_judge_rows)) == (8, 6)
    assert (len(scene.counted_outcomes), len(without(scene).counted_outcomes)) == (8, 6)


def test_a_click_opens_as_many_as_the_number_says(scene):
    only = load_inspect_page(
        scene.store, inspect_filters_for_mark(scene, {"suspect": ONLY_SUSPECTS})
    )
    rest = load_inspect_page(scene.store, inspect_filters_for_mark(without(scene), {}))
    everything = load_inspect_page(scene.store, Selection(study="small"))
    assert (only.total, rest.total, everything.total) == (1, 3, 4)
    assert rest.selection.suspect == NO_SUSPECTS
    assert "Injection suspects 1" in words(filter_bar(everything))
    assert "Without injection suspects" in words(filter_bar(rest))


def test_the_words_are_marked_and_escaped(scene):
    inspected = load_inspect_page(scene.store, Selection(study="small", suspect=ONLY_SUSPECTS))
    html = detail_panel(inspected)
    assert says(words(html), "tells", "ignore", "instructions")
    assert says(words(html), "1", "repeats those words")
    marks = re.findall(r"<mark[^>]*>(.*?)</mark>", html)
    assert says(marks, "Ignore", "previous instructions")
    assert "<b>Ignore" not in html and "&lt;b&gt;" in html


def test_a_harmless_text_is_not_marked():
    assert mark_suspects_or_empty("It is 4 & <b>so on</b>.") == ""


def test_the_profile_lists_them_before_anything_is_asked():
    found = profile_slice(ITEMS)
    html = profile_html(found, whole=False, slice_size=4, total=4)
    assert [(one.item, one.where) for one in found.suspects] == [("q1", "y")]
    assert says(words(html), "1 injection suspect", "1")
    assert "<b>Ignore" not in html
    assert profile_slice(ITEMS, ["x"]).suspects == (), (
        "whoever does not play is not shown to a judge"
    )


@pytest.mark.parametrize(
    ("inside", "echoes", "said"),
    [
        (True, 2, ("2 replies repeat", "verdict was found")),
        (False, 1, ("1 reply repeats", "from replies only")),
        (False, 0, ("from replies only",)),
    ],
)
def test_a_notice_says_whether_the_verdict_stands_in_repeated_words(
    monkeypatch, inside, echoes, said
):
    monkeypatch.setattr(injection_marks, "suspects_shown", lambda *_: ["one"])
    monkeypatch.setattr(injection_marks, "describe_suspect", lambda _: "an answer asks to win")
    monkeypatch.setattr(injection_marks, "_echo_spans", lambda order, _: order < echoes)
    found = lambda order, _: inside and order == 1  # noqa: E731
    monkeypatch.setattr(injection_marks, "_is_verdict_in_echo", found)
    opened: Any = SimpleNamespace(item=None, line=SimpleNamespace(model_names=()), orders=range(3))
    text = str(injection_marks.suspect_notice(opened))
    assert says(text, "An answer asks", *said)


@pytest.mark.parametrize(
    ("rates", "left_out", "told"),
    [
        ((0.5, 0.25), False, ("Without", "of x is 25", "instead of 50")),
        ((0.5, 0.25), True, ("With ", "of x is 50", "instead of 25")),
        ((0.5, 0.481), False, ("48.1", "instead of 50.0")),
        ((0.5, 0.48), False, ("48", "instead of 50")),
        ((0.5, 0.5), False, ("all win rates", "the same")),
        ((0.5, 0.4999), True, ("all win rates", "the same")),
    ],
)
def test_the_shift_of_a_win_rate_has_a_decimal_below_two_points(rates, left_out, told):
    shift = WinRateShift("x", *rates)
    said = injection_effect_module._shift_sentence(shift, left_out).replace("\u202f%", "")
    assert says(said, *told)
    assert "instead" not in injection_effect_module._shift_sentence(None, left_out)


def test_measures_without_an_estimate_have_no_line_in_the_report(scene, monkeypatch):
    one = injection_effect_module.SuspectComparison
    known, none = Estimate(0.5, n=4), Estimate(None)
    lines = [one("Win rate", "x", known, None), one("Accuracy", "mute", none, None)]
    assert [line.has_estimate for line in (*lines, one("a", "b", None, known))] == [
        True, False, True,
    ]  # fmt: skip
    monkeypatch.setattr(
        injection_effect_module, "compare_with_and_without_suspects", lambda _: lines
    )
    told = words(injection_effect_module.injection_report_section(scene))
    assert "Win rate" in told and "mute" not in told


def test_a_filter_for_one_model_goes_along_to_inspect(scene):
    def sent(*names: str) -> str:
        chosen = FilteredStudy(scene.store, scene.name, Filter(contestants=names))
        return inspect_filters_for_mark(chosen, {}).contestant

    assert sent("x") == "x" and sent() == sent("x", "y") == Selection().contestant
