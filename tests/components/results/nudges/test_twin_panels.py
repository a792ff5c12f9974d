"""Panels on twins and style from effects written by hand: numbers, dashes, bands and sentences."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from components.filtering.filters import Filter
from components.html.format import DASH
from components.html.tables.forest_cells import Axis
from components.results.nudges import twin_pairs, twin_panels
from metrics.twins.twin_effects import TwinEffect
from studies.domain import Estimate, Item
from studies.frames.frame import TIE
from studies.texts.twin_families import CONTROLS, FAMILIES, twin_name
from tests.page_words import says

PLAIN = next(name for name in FAMILIES if name not in CONTROLS)
CONTROL = next(iter(CONTROLS))
KNOWN = Estimate(0.2, 0.1, 0.3, 40, 20)


def effect(judge: str = "j", prompt: str = "p", family: str = PLAIN, **more: Any) -> TwinEffect:
    values = dict.fromkeys(("change", "floor", "beyond_floor", "adjusted"), KNOWN) | {"skipped": 3}
    return TwinEffect(judge, prompt, family, more.pop("design", "pair"), **{**values, **more})


def study(*effects: TwinEffect, **chosen: str) -> Any:
    return SimpleNamespace(filter=Filter(**chosen), twin_effects=list(effects))  # type: ignore[arg-type]


def test_a_judge_has_its_own_effects_and_its_own_controls_of_the_same_design() -> None:
    own, other = effect(), effect("k")
    control, foreign = effect(prompt="", family=CONTROL), effect("k", "", CONTROL)
    designed = effect(prompt="", family=CONTROL, design="substitution")
    effects = (own, other, control, foreign, designed)
    found = twin_panels.twin_effects_by_rater(study(*effects))
    assert list(found) == [("j", "p"), ("k", "p")]
    assert found["j", "p"] == [own, control] and found["k", "p"] == [other, foreign]
    assert list(twin_panels.twin_effects_by_rater(study(*effects, judge="k"))) == [("k", "p")]
    assert twin_panels.twin_effects_by_rater(study(*effects, prompt="q")) == {}


def test_the_table_lists_each_effect_once_with_its_smallest_detectable_one() -> None:
    unknown = effect(prompt="q", adjusted=Estimate(0.2, None, None, 40, 20), skipped=1_234)
    control = effect(prompt="", family=CONTROL)
    one = effect(
        floor=Estimate(0.05, 0.0, 0.1, 40, 20), adjusted=Estimate(0.15, 0.02, 0.28, 40, 20)
    )
    made = twin_panels.render_all_twin_effects(study(one, unknown, control))
    assert made is not None
    assert made.count(f">{CONTROL}<") == 1 and made.count(f">{PLAIN}<") == 2
    assert "1,234" in made and ">+20<" in made and ">+5 (" in made and ">+15 [2, 28]<" in made
    assert ">17<" in made  # half-width .13, and .8416 standard errors, .1/2.093, of the effect
    assert f">{DASH}<" in made, "no interval: nothing is known to be detectable"
    assert twin_panels.render_all_twin_effects(study()) is None
    score = Estimate(0.15, 0.02, 0.28, 40, 20, unit="score")
    made = twin_panels.render_all_twin_effects(study(effect(adjusted=score)))
    assert made is not None and ">0.17<" in made


@pytest.mark.parametrize(
    ("floor", "drawn"),
    [
        (Estimate(0.1, 0.0, 0.3), True),
        (Estimate(None, 0.0, 0.3), False),
        (Estimate(0.1, None, 0.3), False),
        (Estimate(0.1, 0.0, None), False),
    ],
)
def test_a_floor_is_drawn_around_zero_if_its_interval_is_known(
    floor: Estimate, drawn: bool
) -> None:
    """From 0.0 − 0.1 to 0.3 − 0.1 on an axis from −0.5 to 0.5: place 40 %, width 30 %."""
    found = twin_panels._floor_band_css(effect(floor=floor), Axis(-0.5, 0.5))
    assert found == (("40.00%", "30.00%") if drawn else None)


def test_families_are_drawn_from_the_largest_effect_down_with_unknown_ones_at_zero() -> None:
    low, unknown, high = [name for name in FAMILIES if name not in CONTROLS][:3]
    values = {low: -0.2, unknown: None, high: 0.2}
    effects = [effect(family=name, adjusted=Estimate(value)) for name, value in values.items()]
    made = twin_panels.render_twin_effects(study(*effects))
    assert made is not None
    titles = [FAMILIES[name].words for name in (high, unknown, low)]
    assert sorted(titles, key=made.index) == titles


def test_effects_are_in_points_and_scores_in_levels() -> None:
    score = Estimate(0.25, 0.1, 0.4, 9, 9, unit="score")
    assert twin_panels._format_effect(KNOWN) == "+20"
    assert twin_panels._format_effect(score) == "+0.25"
    assert twin_panels._format_effect(Estimate(None)) == DASH
    assert twin_panels._format_effect_interval(score) == "[0.10, 0.40]"


def weights(own: Estimate, minus: Estimate | None = None) -> dict[str, dict[str, Estimate]]:
    return {"coefficients": {"length": own}} | (
        {"minus_people": {"length": minus}} if minus else {}
    )


@pytest.mark.parametrize(
    ("part", "has", "lacks"),
    [
        (weights(Estimate(0.5, 0.2, 0.8)), "+0.50", "No"),
        (weights(Estimate(-0.5, -0.8, -0.2)), "−0.50", "No"),
        (weights(Estimate(0.1, -0.2, 0.4)), "No weight", "people"),
        (weights(Estimate(0.1, -0.01, 0.4)), "No weight", "people"),
        (weights(Estimate(0.5, 0.2, 0.8), Estimate(0.3, 0.1, 0.5)), "0.30 more", "less"),
        (weights(Estimate(0.5, 0.2, 0.8), Estimate(-0.3, -0.5, -0.1)), "0.30 less", "more"),
        (weights(Estimate(0.5, 0.2, 0.8), Estimate(0.1, -0.1, 0.3)), "No difference", "more"),
        (weights(Estimate(0.5, 0.2, 0.8), Estimate(None)), "+0.50", "people"),
    ],
)
def test_the_weight_of_length_is_compared_with_people_if_they_voted(
    part: dict[str, dict[str, Estimate]], has: str, lacks: str
) -> None:
    said = twin_panels._length_weight_text("judge-1", part, True, 1)
    assert has in said and lacks not in said and "judge-1" in said
    assert "judge-1" not in twin_panels._length_weight_text("judge-1", part, False, 1)


@pytest.mark.parametrize(
    ("value", "low", "has"),
    [(0.23, 0.02, "No"), (0.43, 0.22, "0.43 more"), (0.3, 0.07, "No"), (0.3, 0.08, "0.30 more")],
)
def test_a_weight_of_length_is_named_if_it_is_shown_among_all_judges(
    value: float, low: float, has: str
) -> None:
    """A sentence on one of five judges needs t(0.005; 79 df) = 2.640 instead of t(0.025) = 1.990
    (printed tables), so half widths grow by 1.326: 0.21 to 0.279, 0.23 to 0.305, 0.22 to 0.292."""
    minus = Estimate(value, low, 2 * value - low, 1600, 80)
    assert has in twin_panels._length_weight_text("j", weights(KNOWN, minus), True, 5)
    alone = weights(minus)
    assert says(twin_panels._length_weight_text("j", alone, True, 5), "No weight") is (has == "No")


@pytest.mark.parametrize("tests", [1, 5])
def test_an_interval_of_a_weight_is_called_adjusted_if_it_is_widened(tests: float) -> None:
    own, none = Estimate(0.5, 0.2, 0.8, 1600, 80), Estimate(0.1, -0.2, 0.4, 1600, 80)
    for part in (weights(own), weights(none), weights(KNOWN, own), weights(KNOWN, none)):
        said = twin_panels._length_weight_text("j", part, True, tests)
        assert says(said, "adjusted CI") is (tests > 1)
    assert says(twin_panels._length_weight_text("j", weights(none), True, 1), "equally strong")


def test_one_judge_with_one_prompt_has_one_interval_in_row_and_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error rate is spent on one test, so the sentence is not widened; with two it is."""
    found = {"j": weights(Estimate(0.14, -0.4, 0.68, 100, 50))}
    monkeypatch.setattr(twin_panels, "longer_of_equally_right_sentence", lambda _: "Wins 75 %.")
    for tests, same in ((1, True), (2, False)):
        bias = SimpleNamespace(order_test_count=tests, bonferroni_factor=tests / 0.79)
        monkeypatch.setattr(twin_panels, "load_bias", lambda _, bias=bias: bias)
        filtered: Any = SimpleNamespace(filter="", memoise=lambda *_: found)
        made = twin_panels.render_style_weights(filtered)
        drawn = str(made.bodies["style"]) if made else ""
        assert (drawn.count("[−0.40, 0.68]") == 2) is same and "95\u202f% CI" in drawn
        assert says(drawn, "ratings equal, not", "Wins 75 %.")


def test_an_unknown_weight_has_no_sentence() -> None:
    for own in (Estimate(None), Estimate(0.1, None, 0.2), Estimate(0.1, 0.0, None)):
        assert twin_panels._length_weight_text("j", weights(own), True, 1) == ""


def test_the_weight_of_people_is_that_of_the_judge_minus_the_difference() -> None:
    weight = twin_panels._people_style_weight
    assert weight(weights(Estimate(0.5), Estimate(0.3)), "length") == pytest.approx(0.2)
    assert weight(weights(Estimate(0.5)), "length") is None
    assert weight(weights(Estimate(0.5), Estimate(None)), "length") is None
    assert weight(weights(Estimate(None), Estimate(0.3)), "length") is None


def test_a_weight_without_an_interval_and_that_of_people_are_drawn_at_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Judge 0.1 without an interval, people 0.4: an axis from 0 to 0.4 has them at 25 and 100 %."""
    found = {"j": weights(Estimate(0.1), Estimate(-0.3))}
    found["j"]["coefficients"]["lists"] = Estimate(None, note="few items")
    shown = SimpleNamespace(store=None, name="", filter=Filter(), memoise=lambda *_: found)
    monkeypatch.setattr(twin_panels, "style_counts_of_study", lambda *_: {})
    monkeypatch.setattr(twin_panels, "longer_of_equally_right_sentence", lambda _: "")
    five = SimpleNamespace(order_test_count=5, bonferroni_factor=5)
    monkeypatch.setattr(twin_panels, "load_bias", lambda _: five)
    made = twin_panels.render_style_weights(shown)  # type: ignore[arg-type]
    assert made is not None
    html = made.bodies["style"]
    assert 'class="w"' not in html and 'class="p control" style="left:25.00%"' in html
    assert 'class="q" style="left:100.00%"' in html and "+0.10" in html
    assert says(html, "No weight of", "lists: few items.")
    # A reason of one of two judges names this judge.
    found["k"] = weights(Estimate(0.1))
    found["k"]["coefficients"]["lists"] = Estimate(None, note="none differ")
    found["k"]["minus_people"] = {"length": Estimate(0.23, 0.02, 0.44, 1600, 80)}
    two = twin_panels.render_style_weights(shown).bodies["style"]  # type: ignore[arg-type, union-attr]
    assert says(two, "shown for k", "[−0.05, 0.51]"), "not shown among five judges"
    assert says(two, "lists for j:", "few items.", "lists for k:", "none differ.")


def test_the_axis_of_effects_holds_the_floor() -> None:
    wide = effect(floor=Estimate(0.1, -0.5, 0.7))
    axis = twin_panels._fit_effect_axis([wide])
    assert axis.low <= -0.6 and axis.high >= 0.6


TWIN = twin_name("x", PLAIN)


def marked(original: str, changed: str) -> list[tuple[str, str]]:
    item = Item("q", "?", {"x": original}, twins={TWIN: changed})
    return list(twin_pairs._mark_changed_words(item, TWIN))


def test_changed_words_are_marked_where_they_are_added_removed_or_replaced() -> None:
    assert marked("a b c", "a b c") == [("a b c", "")]
    assert marked("a b", "a  so b") == [("a", ""), ("so", "added"), ("b", "")]
    assert marked("a b c", "b c") == [("a", "removed"), ("b c", "")]
    assert marked("a b", "a c") == [("a", ""), ("b", "removed"), ("c", "added")]


def test_words_that_a_long_answer_repeats_are_compared_as_well() -> None:
    """Half of 24 words each: the last of an unchanged beginning, the first of what follows."""
    long = " ".join(["good", "answer"] * 150)
    assert marked(long, f"{long} indeed") == [
        ("… " + " ".join(["good", "answer"] * 6), ""), ("indeed", "added"),
    ]  # fmt: skip
    assert marked(f"so {long}", long) == [
        ("so", "removed"), (" ".join(["good", "answer"] * 6) + " …", ""),
    ]  # fmt: skip


def test_a_run_shows_its_part_of_the_words_and_at_least_eight() -> None:
    def shown(*runs: tuple[int, twin_pairs.Change]) -> list[tuple[int, str]]:
        made = [([f"w{k}" for k in range(n)], change) for n, change in runs]
        found = twin_pairs._join_and_shorten_runs(made)
        return [(len(re.findall(r"w\d", text)), text.strip("w0123456789 ")) for text, _ in found]

    assert shown((24, "")) == [(24, "")] and shown((25, "")) == [(24, "…")]
    assert shown((13, "added"), (12, "")) == [(12, "…"), (12, "")]
    assert shown((9, "added"), *[(8, "")] * 4) == [(8, "…"), *[(8, "")] * 4]
    (first, _), *_ = twin_pairs._join_and_shorten_runs([(["old"] * 30, "removed")])
    assert first.endswith(" …"), "of changed words, the first ones"


def test_the_verdicts_on_a_twin_are_told_in_the_order_of_the_calls() -> None:
    twin, original, tie = (
        twin_pairs._TwinVerdict(*given, "") for given in ((1, 1), (1, 0), (TIE, 1))
    )
    told = twin_pairs._describe_verdicts
    assert says(told([twin, twin]), ": the twin,", "both orders.")
    assert says(told([original]), ": the original,", "all calls.")
    mixed = told([twin, original, tie])
    assert says(mixed, ": the twin, then", "the original, then", "a tie, by", "order shown.")
    count = twin_pairs._count_verdicts_for
    rows = [twin, twin, twin, original, tie]
    assert (count(rows, True), count(rows, False), count([], True)) == (3, 1, 0)


def test_an_axis_of_scores_is_in_scale_points_and_one_of_shares_in_percent() -> None:
    score = Estimate(0.35, 0.22, 0.48, 40, 20, unit="score")
    axes = [twin_panels._fit_effect_axis([effect(adjusted=one)]) for one in (score, KNOWN)]
    assert [[*axis.labels.values()][-1] for axis in axes] == ["0.6", "+30"]
    assert [axis.ticks[-1] for axis in axes] == pytest.approx([0.6, 0.3])
