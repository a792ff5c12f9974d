"""Key figures of a forecast written by hand: time, dollars, calls, and what can be detected."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from components.study.plan import cost_preview
from components.study.plan.cost_preview import ForecastByJudge
from components.study.steps import power_panel, run_strip
from tests.page_words import says


def numbers(asks: int = 10, noise: int = 0, stored: int = 0, **judges: tuple[Any, Any]) -> Any:
    """Judges: (dollars, seconds) each."""
    by_judge: Any = {
        name: SimpleNamespace(
            dollars=cost, seconds=seconds, prompt_tokens=100, completion_tokens=20, cached_tokens=0
        )
        for name, (cost, seconds) in judges.items()
    }
    return ForecastByJudge(asks, noise, by_judge, stored=stored)


def test_the_time_of_several_judges_is_said_to_be_parallel_or_not() -> None:
    both = numbers(a=(0.0, 30.0), b=(0.0, 60.0))
    note = cost_preview._time_kpi(both).note
    assert note.startswith("a 30 s") and says(note, "b 1 min") and "parallel" in note
    one = cost_preview._time_kpi(numbers(a=(0.0, 30.0), b=(0.0, None)))
    assert one.note == "a 30 s"
    simulated = ForecastByJudge(10, 0, both.by_judge, limits={"a": "simulated", "b": "simulated"})
    said = cost_preview._time_kpi(simulated).note
    assert "parallel" not in said and said.startswith("a 30 s") and says(said, "b 1 min")


@pytest.mark.parametrize(
    ("judges", "text"),
    [
        ({"a": (0.0, 1.0)}, ""),
        ({"a": (2.0, 1.0)}, "all for a"),
        ({"a": (2.0, 1.0), "b": (0.0, 1.0)}, "all for a; b free"),
        ({"a": (2.0, 1.0), "b": (1.0, 1.0)}, "a $2.00, b $1.00"),
        ({"a": (2.0, 1.0), "b": (1.0, 1.0), "c": (0.0, 1.0)}, "a $2.00, b $1.00; c free"),
    ],
)
def test_the_cost_is_split_by_judges_that_are_paid(judges: dict[str, Any], text: str) -> None:
    assert cost_preview._cost_by_judge_text(numbers(**judges)) == text


@pytest.mark.parametrize(
    ("cost", "budget", "value", "unit", "meter"),
    [
        (2.0, None, "$2.00", "", None),
        (0.0, None, "free", "", None),
        (2.0, 4.0, "$2.00", "of $4.00", (0.5, 0.5)),
        (4.0, 4.0, "$4.00", "of $4.00", (1.0, 1.0)),
        (8.0, 4.0, "$8.00", "of $4.00", (1.0, 1.0)),
        (None, 4.0, "unknown", "", None),
    ],
)
def test_dollars_are_shown_beside_the_budget(
    cost: float | None, budget: float | None, value: str, unit: str, meter: Any
) -> None:
    study: Any = SimpleNamespace(budget_usd=budget)
    found = cost_preview._dollars_kpi(study, numbers(a=(cost, 1.0)))
    assert (found.value, found.unit, found.meter) == (value, unit, meter)
    above = cost is not None and budget is not None and cost > budget
    assert ("above" in found.note) is above
    assert ("no budget" in found.note) is (budget is None and bool(cost))


@pytest.mark.parametrize(
    ("asks", "stored", "text"),
    [
        (10, 0, "Run 10 calls, $2.00"),
        (10, 4, "Run 6 new calls (4 stored), $2.00"),
        (10, 9, "Run 1 new call (9 stored), $2.00"),
        (10, 10, "All 10 calls stored: show them"),
    ],
)
def test_the_button_counts_new_and_stored_calls(asks: int, stored: int, text: str) -> None:
    found = cost_preview.run_button_text(numbers(asks, stored=stored, a=(2.0, 1.0)))
    assert found == text


def plan(items: int = 100, judges: int = 1, prompts: int = 1, budget: float | None = None) -> Any:
    study = SimpleNamespace(judges=[0] * judges, budget_usd=budget)
    return SimpleNamespace(
        items=[0] * items, prompts=[0] * prompts, study=study, judges_single_answers=False
    )


def test_the_smallest_detected_share_counts_the_verdicts_of_one_judge_and_prompt() -> None:
    """100 items in two orders, two judges, one prompt: 400 calls, 2 verdicts an item each. With
    the assumed correlation r they count as 200 / (1 + r) independent ones."""
    found = cost_preview.detectable_first_slot_share_kpi(plan(judges=2), numbers(440, noise=40))
    # r .1: 200/1.1 = 181.8 verdicts; .5 + (.98 + .8416 · .489)/√181.8
    assert found.value.startswith("60") and "100 items, 2 verdicts" in found.note
    few = cost_preview.detectable_first_slot_share_kpi(plan(items=3), numbers(3))
    assert few.value == "–" and "3 items" in few.note


def test_a_preference_among_flips_is_a_ratio_that_adds_to_a_hundred() -> None:
    found = power_panel._detectable_preference_kpi(400)
    # .3 · 400 flips: .5 + (.98 + .8416 · .484)/√120
    assert found.value == "63 : 37" and "about 120 flips" in found.note
    assert power_panel._detectable_preference_kpi(4).value == "not detectable"


def test_agreement_with_people_depends_on_the_questions_with_votes_or_labels() -> None:
    def found(*labelled: bool) -> Any:
        items = [SimpleNamespace(human=one, labels=()) for one in labelled]
        made: Any = SimpleNamespace(plan=SimpleNamespace(items=items))
        return power_panel._agreement_with_people_kpi(made)

    some = found(True, False, True)
    assert "2 questions" in some.note and some.value == "± 69"  # 1.96 · √(¼/2)
    assert not found(False).value.startswith("±")


@pytest.mark.parametrize(
    ("cost", "budget", "word"),
    [(2.0, 4.0, "within"), (4.0, 4.0, "within"), (5.0, 4.0, "above"), (5.0, None, ""),
     (None, 4.0, "")],
)  # fmt: skip
def test_the_strip_says_whether_the_cost_is_within_the_budget(
    cost: float | None, budget: float | None, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_strip, "count_planned_orders", lambda _: 2)
    monkeypatch.setattr(run_strip, "precision_text", lambda *_: "precision")
    found = run_strip._list_cost_details(plan(budget=budget), numbers(11, noise=1, a=(cost, 1.0)))
    assert found[0] == "5 comparisons × 2 orders + 1 repeat" and found[-1] == "precision"
    assert found[1].startswith("11 tokens"), "120 tokens for 11 calls"
    assert [one for one in ("within", "above") if any(one in text for text in found)] == (
        [word] if word else []
    )
    assert len(run_strip._list_cost_details(plan(), numbers(4, stored=4, a=(0.0, 1.0)))) == 2


def test_one_order_without_repeats_is_a_number_of_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_strip, "count_planned_orders", lambda _: 1)
    assert run_strip._call_factors_text(plan(), numbers(1)) == "1 comparison"
    assert run_strip._format_new_calls(numbers(7)) == "7 calls"
    assert run_strip._format_new_calls(numbers(7, stored=6)) == "1 new call"
