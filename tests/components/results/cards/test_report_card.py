"""Words of a report card that depend on its numbers: when each is said, and with which number."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.inspect.comparison_index import ComparisonIndex
from components.results.cards import card_html, report_card
from components.results.cards.report_card import ReportCard
from studies.domain import Estimate
from tests.page_words import says

FLAT: Any = vars(ReportCard)


def stub(**values: Any) -> Any:
    return SimpleNamespace(**values)


@pytest.mark.parametrize(
    ("pairs", "flips", "toward"),
    [
        (True, (3, 2), "first"),
        (True, (2, 2), "first"),
        (True, (2, 3), "second"),
        (False, (0, 9), "third"),  # the shares of the choices decide, and flips do not
    ],
)
def test_the_preferred_position_is_that_of_more_flips_or_of_more_choices(
    pairs: bool, flips: tuple[int, int], toward: str
) -> None:
    first, second = flips
    card = stub(
        compares_pairs=pairs, flips={"toward_first": first, "toward_second": second}, _top_slot=2
    )
    assert FLAT["preferred_position"].fget(card) == toward


def test_changes_on_a_repeat_are_named_only_where_calls_were_repeated() -> None:
    def said(noise: float | None) -> str:
        return str(ReportCard._repeat_changes_text(stub(measures={"noise_floor": Estimate(noise)})))

    assert said(None) == ""
    assert "12" in said(0.12) and "0" in said(0.0)


@pytest.mark.parametrize(
    ("temperature", "high", "warns"),
    [
        (None, 0.01, False),
        (0.4, 0.01, False),
        (0.5, 0.01, True),
        (0.7, 0.02, True),
        (0.7, 0.021, False),
        (0.7, None, False),
    ],
)
def test_a_warm_judge_whose_repeats_hardly_differ_is_warned_of_a_cache(
    temperature: float | None, high: float | None, warns: bool
) -> None:
    known = {} if temperature is None else {"j": temperature}
    noise = Estimate(0.0, 0.0, high)
    card = stub(raters=stub(temperatures=known), judge="j", measures={"noise_floor": noise})
    said = ReportCard._cached_repeats_warning(card)
    assert ("cache" in said) is warns and (str(temperature) in said) is warns


@pytest.mark.parametrize(
    ("right", "ties", "numbers"),
    [
        (None, 0.1, []),
        (0.7, None, []),
        (0.7, 0.0, ["70", "30"]),
        (0.6, 0.15, ["60", "25", "15"]),
        (0.925, 0.0, ["92", "8"]),
        (204 / 256, 27 / 256, ["80", "10", "10"]),  # wrong: 25 of 256, 9.8 %
    ],
)
def test_right_wrong_and_tied_verdicts_are_the_whole(
    right: float | None, ties: float | None, numbers: list[str]
) -> None:
    card = stub(measures={"accuracy": Estimate(right)}, tie_share_with_known_answer=ties)
    said = ReportCard._right_wrong_tied_text(card)
    assert not numbers or says(said, "right", *numbers)
    assert bool(said) is bool(numbers) and ("tie" in said) is (len(numbers) == 3)


def test_the_lead_of_pairs_is_right_minus_wrong_and_of_options_accuracy_minus_chance() -> None:
    lead = Estimate(0.1, 0.05, 0.2)

    def said(pairs: bool, one: Estimate = lead, wide: Estimate = lead) -> str:
        card = stub(
            compares_pairs=pairs, accuracy_lead=one, _widen_for_all_cards=lambda given: wide
        )
        card._difference_text = partial(ReportCard._difference_text, card)
        return str(ReportCard._accuracy_above_chance_text(card))

    assert says(said(True), "right − wrong +20.0 points [10.0, 40.0]")
    assert says(said(False), "accuracy − chance +10.0 points [5.0, 20.0]")
    unsure = said(False, wide=Estimate(0.1, -0.01, 0.21))
    assert unsure.startswith(said(False)) and says(unsure, "not significant", "adjustment")
    assert said(True, Estimate(None)).strip() == "right − wrong"


@pytest.mark.parametrize(
    ("low", "high", "distance"),
    [(0.6, 0.7, 0.1), (0.2, 0.3, 0.2), (0.45, 0.7, -0.05), (None, 0.7, None), (0.2, None, None)],
)
def test_the_interval_of_a_label_has_a_distance_from_one_half(
    low: float | None, high: float | None, distance: float | None
) -> None:
    label = {"label": Estimate(0.5, low, high)}
    card = stub(slot_label_effects=label, _widen_for_all_cards=lambda given: given)
    found = ReportCard._label_interval_distance_from_half(card)
    assert found == (None if distance is None else pytest.approx(distance))


def test_shares_of_position_and_label_are_measured_from_one_half() -> None:
    def found(slot: float | None, label: float | None) -> Any:
        effects = {"slot": Estimate(slot), "label": Estimate(label)}
        return ReportCard._slot_and_label_deviations_from_half(stub(slot_label_effects=effects))

    assert found(0.3, 0.9) == pytest.approx((0.2, 0.4))
    assert found(None, 0.5) == (None, 0.0) and found(0.5, None) == (0.0, None)


def test_the_larger_end_of_an_interval_is_its_reach() -> None:
    assert report_card._largest_absolute_bound(Estimate(0.0, -0.3, 0.2)) == 0.3
    assert report_card._largest_absolute_bound(Estimate(0.0, -0.1, 0.2)) == 0.2
    assert report_card._largest_absolute_bound(Estimate(0.0, None, 0.2)) is None
    assert report_card._largest_absolute_bound(Estimate(0.0, -0.1)) is None


# ---- parts of the card ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orders", "pairs", "text"),
    [
        (1, True, "one order"),
        (2, True, "both orders"),
        (3, False, "3 orders"),
        (1, False, "one order"),
    ],
)
def test_a_card_says_in_how_many_orders_answers_were_shown(
    orders: int, pairs: bool, text: str
) -> None:
    assert card_html._orders_text(stub(facts={"orders": orders}, compares_pairs=pairs)) == text


def categories(**found: Estimate) -> str:
    card = stub(
        consistency_by_category=found,
        chance_consistency=0.5,
        inspect_filters={},
        rater="j",
        judge="j",
        prompt="p",
    )
    return str(card_html._consistency_by_category_html(card))


def test_categories_are_ranked_by_value_and_small_ones_come_last() -> None:
    made = categories(
        low=Estimate(0.2, 0.1, 0.3, 20, 10),
        unknown=Estimate(None),
        small=Estimate(0.9, 0.5, 1.0, 8, 4),
        high=Estimate(0.8, 0.7, 0.9, 20, 5),
    )
    places = [made.find(f">{name}<") for name in ("high", "low", "small")]
    assert -1 not in places and places == sorted(places)
    assert "unknown" not in made
    assert categories(unknown=Estimate(None)) == categories() == ""


@pytest.mark.parametrize(
    ("low", "high", "wide", "ends"),
    [(-0.1, 0.2, -0.2, ", no significant difference"),
     (0.01, 0.2, -0.1, "[−10.0, 40.0], adjusted, no significant difference"),
     (0.1, 0.2, 0.05, "[5.0, 40.0], adjusted")],
)  # fmt: skip
def test_a_difference_from_a_person_is_called_significant_or_not_once(
    low: float, high: float, wide: float, ends: str
) -> None:
    card = stub(
        voter_replacement=SimpleNamespace(
            advantage=Estimate(0.1, low, high), with_judge=Estimate(0.6), with_person=Estimate(0.5)
        ),
        _widen_for_all_cards=lambda given: Estimate(0.1, wide, 0.4),
    )
    card._difference_text = partial(ReportCard._difference_text, card)
    said = ReportCard._difference_from_person_text(card)
    assert said.endswith(ends) and said.count("significant") <= 1
    assert says(said.replace("\u202f", " "), "Where two people", "60 %", "50 %", "+10.0 points [")


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [
        (0.1, 0.2, True),
        (-0.2, -0.1, True),
        (-0.1, 0.1, False),
        (0.0, 0.1, False),
        (-0.1, 0.0, False),
        (None, 0.2, False),
        (0.1, None, False),
    ],
)
def test_an_interval_excludes_zero_if_both_ends_are_on_one_side(
    low: float | None, high: float | None, excludes: bool
) -> None:
    assert Estimate(0.0, low, high).excludes_zero is excludes


def test_examples_are_flips_of_different_items_the_most_lopsided_first() -> None:
    """Six comparisons: the second does not flip, the fourth is of an item that was chosen; the last
    has a category of its own and comes before the others of category c."""
    items, categories = list("aabacd"), list("ccccce")
    rows = np.arange(6)
    frame = pd.DataFrame(
        {
            "item": items, "category": categories, "judge": "j", "prompt": "p", "shown": "x",
            "status": "ok", "noise": False, "pick": 0, "seq": rows,
        }
    )  # fmt: skip
    flipped = np.array([True, False, True, True, True, True])
    lean = np.array([2, 2, 1, -1, -2, 0])
    index = ComparisonIndex(frame, rows, rows, flipped, lean, rows < 0)
    assert [row.item for row in card_html._choose_example_flips(index)] == ["a", "d", "c"]
    none = ComparisonIndex(frame, rows, rows, rows < 0, lean, rows < 0)
    assert card_html._choose_example_flips(none) == []
