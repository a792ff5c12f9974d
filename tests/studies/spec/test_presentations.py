"""Presentations of a study: counts worked by hand, and properties that always hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import Item, Preference
from studies.errors import StudyError
from studies.spec.presentations import (
    Presentation,
    all_answers_presentations,
    is_reference_judged,
    orders_of_options,
    pair_presentations,
    resolve_contestants,
    single_presentations,
    unrelated_answer,
)
from studies.spec.study import DataSpec, TwinSpec
from studies.texts.twin_families import is_twin, twin_name
from tests.page_words import pattern
from tests.studies.small_items import item, prefers, study

ITEMS = [item(f"q{n}", "xyz", reference="ideal") for n in range(40)]


def shown(showings: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(s.item.id, s.shown) for s in showings]


def rotated(n: int, orders: str = "rotations") -> list[tuple[str, ...]]:
    return orders_of_options(tuple(str(k) for k in range(n)), orders, Random(0))


# ---- orders of options -------------------------------------------------------------------------


def test_rotations_are_those_of_the_paper() -> None:
    # Rotations of Iourovitski 2024: [0,1,2] -> [2,0,1], [1,2,0], [0,1,2]
    assert rotated(3) == [("2", "0", "1"), ("1", "2", "0"), ("0", "1", "2")]


@given(st.integers(2, 9))
def test_under_rotation_each_option_stands_in_each_slot_exactly_once(n: int) -> None:
    rows = rotated(n)
    assert len(rows) == n
    assert all(len({row[slot] for row in rows}) == n for slot in range(n))


@given(st.integers(2, 9))
def test_a_williams_design_balances_slots_and_neighbours(n: int) -> None:
    # N rows if N is even, 2 N if odd; each option in each slot, and after each other option,
    # equally often: once, or twice for odd N.
    rows = rotated(n, "williams")
    times = 1 if n % 2 == 0 else 2
    assert len(rows) == n * times
    slots = Counter((slot, name) for row in rows for slot, name in enumerate(row))
    follows = Counter(step for row in rows for step in pairwise(row))
    assert set(slots.values()) == {times} and len(slots) == n * n
    assert set(follows.values()) == {times} and len(follows) == n * (n - 1)


def test_all_orders_are_for_four_options_at_most() -> None:
    assert sorted(rotated(4, "all")) == sorted(permutations("0123"))
    with pytest.raises(StudyError, match=pattern("orders", "4 options", "5")):
        rotated(5, "all")


def test_one_order_is_a_seeded_draw_that_differs_between_items() -> None:
    made = shown(all_answers_presentations(study(orders="one"), ITEMS))
    assert made == shown(all_answers_presentations(study(orders="one"), ITEMS))
    assert len(made) == 40 and len({order for _, order in made}) > 3


# ---- pairs -------------------------------------------------------------------------------------


def test_every_pair_of_every_item_is_shown_in_both_orders() -> None:
    # 3 contestants: 3 pairs x 2 orders = 6 showings an item.
    made = shown(pair_presentations(study(), ITEMS[:2]))
    assert made[:6] == [
        ("q0", ("x", "y")), ("q0", ("y", "x")), ("q0", ("x", "z")), ("q0", ("z", "x")),
        ("q0", ("y", "z")), ("q0", ("z", "y")),
    ]  # fmt: skip
    assert len(made) == 12
    assert {s.orders for s in pair_presentations(study(), ITEMS)} == {2}


def test_one_order_of_a_pair_is_about_half_each_and_does_not_hang_on_how_names_are_listed() -> None:
    # 120 pairs: 60 in listed order expected, standard deviation 5.5.
    made = shown(pair_presentations(study(orders="one"), ITEMS))
    listed = sum(order == tuple(sorted(order)) for _, order in made)
    assert len(made) == 120 and abs(listed - 60) < 5 * 5.5
    backwards = study(orders="one", contestants=("z", "y", "x"))
    assert sorted(shown(pair_presentations(backwards, ITEMS))) == sorted(made)


def test_a_contestant_missing_in_some_items_plays_only_where_it_answered() -> None:
    blank = replace(item("c"), responses={"x": "1", "y": " ", "z": "3"})
    items = [item("a", "xyz"), item("b", "xy"), blank]
    pairs = Counter(
        (name, frozenset(order)) for name, order in shown(pair_presentations(study(), items))
    )
    assert {key: n for key, n in pairs.items() if key[0] != "a"} == {
        ("b", frozenset("xy")): 2,
        ("c", frozenset("xz")): 2,
    }


def test_an_item_with_one_answer_has_nothing_to_compare_but_can_be_rated() -> None:
    alone = [item("a", "x"), item("b", "xy")]
    assert shown(pair_presentations(study(), alone)) == [("b", ("x", "y")), ("b", ("y", "x"))]
    assert shown(all_answers_presentations(study(), alone)) == [
        ("b", ("y", "x")),
        ("b", ("x", "y")),
    ]
    assert shown(single_presentations(study(), alone)) == [
        ("a", ("x",)),
        ("b", ("x",)),
        ("b", ("y",)),
    ]


def test_crossed_labels_hold_for_both_orders_of_a_pair_and_for_about_half_the_pairs() -> None:
    by_pair: dict[tuple[str, frozenset[str]], set[bool]] = {}
    for s in pair_presentations(study(labels="crossed", repeats=2, noise_floor=0.5), ITEMS):
        by_pair.setdefault((s.item.id, frozenset(s.shown)), set()).add(s.crossed)
    assert all(len(marks) == 1 for marks in by_pair.values())
    # 120 pairs, 60 expected, standard deviation 5.5.
    assert abs(sum(True in marks for marks in by_pair.values()) - 60) < 5 * 5.5
    assert len(list(pair_presentations(study(labels="crossed"), ITEMS))) == 240
    assert not any(s.crossed for s in pair_presentations(study(), ITEMS))


@pytest.mark.parametrize("design", ["duel", "substitution"])
def test_labels_of_twins_are_crossed_only_in_a_study_with_crossed_labels(design: str) -> None:
    twins = {twin_name("x", "crowd"): "many say: x"}
    items = [replace(one, twins=twins) for one in ITEMS]
    for labels in ("plain", "crossed"):
        one = study(labels=labels, twins=TwinSpec(("crowd",), design=design, items=40))
        crossed: dict[str, set[bool]] = {}
        for s in pair_presentations(one, items):
            if any(is_twin(name) for name in s.shown):
                crossed.setdefault(s.item.id, set()).add(s.crossed)
        assert len(crossed) > 10 and all(len(kinds) == 1 for kinds in crossed.values())
        among = Counter(kind for (kind,) in crossed.values())
        assert among[True] == 0 if labels == "plain" else 2 < among[True] < len(crossed) - 2


# ---- repeats and noise -------------------------------------------------------------------------


def test_repeats_are_numbered_and_the_noise_floor_is_one_more_in_the_same_order() -> None:
    made = list(pair_presentations(study(repeats=2, noise_floor=1.0), [item("a")]))
    assert [(s.shown, s.repeat, s.noise) for s in made] == [
        (("x", "y"), 0, False), (("x", "y"), 1, False), (("x", "y"), 2, True),
        (("y", "x"), 0, False), (("y", "x"), 1, False), (("y", "x"), 2, True),
    ]  # fmt: skip


def test_the_noise_floor_repeats_its_share_of_the_asks_and_leaves_the_others_alone() -> None:
    # 240 asks, a fifth of them again: 48 expected, standard deviation 6.2.
    plain = shown(pair_presentations(study(), ITEMS))
    made = list(pair_presentations(study(noise_floor=0.2), ITEMS))
    again = [s for s in made if s.noise]
    assert abs(len(again) - 48) < 5 * 6.2
    assert shown(s for s in made if not s.noise) == plain
    assert all(s.repeat == 1 for s in again)


def test_a_larger_floor_repeats_what_a_smaller_one_did_and_more() -> None:
    def noisy(floor: float) -> set[Any]:
        made = pair_presentations(study(noise_floor=floor), ITEMS)
        return {(s.item.id, s.shown) for s in made if s.noise}

    assert noisy(0.1) < noisy(0.3) < noisy(1.0)


# ---- baseline and new --------------------------------------------------------------------------


def test_against_a_baseline_only_its_pairs_are_asked() -> None:
    made = shown(pair_presentations(study(pairing="baseline", baseline="y"), ITEMS[:1]))
    assert made == [("q0", ("y", "x")), ("q0", ("x", "y")), ("q0", ("y", "z")), ("q0", ("z", "y"))]


def test_the_reference_plays_as_the_baseline_where_there_is_one() -> None:
    items = [item("a", "xy", reference="ideal"), item("b", "xy")]
    made = shown(pair_presentations(study(pairing="baseline", baseline="@reference"), items))
    assert made == [
        ("a", ("@reference", "x")), ("a", ("x", "@reference")),
        ("a", ("@reference", "y")), ("a", ("y", "@reference")),
    ]  # fmt: skip
    with pytest.raises(StudyError, match=pattern("no item", "slice", "reference")):
        list(pair_presentations(study(pairing="baseline", baseline="@reference"), items[1:]))


def test_a_new_contestant_meets_one_drawn_opponent_an_item_and_the_baseline_n_times() -> None:
    spec = study(pairing="new", new="x", baseline="@reference", reference_games=7)
    pairs = Counter(frozenset(order) for _, order in shown(pair_presentations(spec, ITEMS)))
    # 40 items x 2 orders against y or z, 7 x 2 against the reference.
    assert pairs.pop(frozenset({"x", "@reference"})) == 14
    assert set(pairs) == {frozenset("xy"), frozenset("xz")}
    assert sum(pairs.values()) == 80
    # 20 each expected, standard deviation 3.2, in both orders.
    assert abs(pairs[frozenset("xy")] / 2 - 20) < 5 * 3.2


def test_there_are_no_more_games_against_the_baseline_than_items() -> None:
    spec = study(pairing="new", new="x", baseline="y", reference_games=100)
    pairs = Counter(frozenset(order) for _, order in shown(pair_presentations(spec, ITEMS)))
    assert pairs == {frozenset("xy"): 80, frozenset("xz"): 80}


def test_the_draws_hang_on_the_seed_and_not_on_the_order_of_the_items() -> None:
    def opponents(seed: int, items: list[Item]) -> list[Any]:
        spec = study(pairing="new", new="x", baseline="@reference", data=DataSpec(seed=seed))
        return sorted(shown(pair_presentations(spec, items)))

    assert opponents(1, ITEMS) == opponents(1, ITEMS[::-1])
    assert opponents(1, ITEMS) != opponents(2, ITEMS)


# ---- who plays ---------------------------------------------------------------------------------


def test_a_contestant_nobody_has_answers_of_is_named_with_those_found() -> None:
    for spec in (study(contestants=("x", "w")), study(pairing="baseline", baseline="w")):
        with pytest.raises(StudyError, match=pattern("no", "named 'w'", "z")):
            resolve_contestants(spec, ITEMS)


def test_the_reference_plays_only_where_it_is_listed_or_is_the_baseline_of_a_pairing() -> None:
    assert is_reference_judged(study(contestants=("x", "@reference")))
    assert is_reference_judged(study(pairing="baseline", baseline="@reference"))
    assert not is_reference_judged(study(baseline="@reference"))
    assert resolve_contestants(study(baseline="@reference"), [item("a")]) == ["x", "y"]


# ---- unrelated ---------------------------------------------------------------------------------


def ranked(id: str) -> Item:
    ranks = Preference("ann", None, None, ranks={"x": 2, "y": 3, "z": 1})
    return replace(item(id, "xyz"), human=(ranks,))


def test_an_unrelated_option_is_one_more_in_front_of_the_others() -> None:
    made = list(all_answers_presentations(study(unrelated="add"), ITEMS[:3]))
    # N + 1 = 4 options, 4 rotations, the last of them the order as it is.
    assert len(made) == 12
    assert made[3].shown == ("@unrelated", "x", "y", "z") and made[3].orders == 4
    assert all(s.unrelated_item and s.unrelated_item.id != s.item.id for s in made)


def test_replace_drops_the_worst_ranked_so_that_n_stays() -> None:
    made = list(all_answers_presentations(study(unrelated="replace"), [ranked("a"), ranked("b")]))
    assert len(made) == 6
    assert {frozenset(s.shown) for s in made} == {frozenset({"@unrelated", "x", "z"})}


def test_replace_takes_pairwise_preferences_for_ranks() -> None:
    human = (prefers("z", "x", "z"), prefers("x", "x", "y"), prefers("tie", "z", "y"))
    # x is beaten once (by z), y once (by x), z never; of the two the last listed goes: y.
    items = [replace(item(name, "xyz"), human=human) for name in "ab"]
    made = next(all_answers_presentations(study(unrelated="replace"), items))
    assert set(made.shown) == {"@unrelated", "x", "z"}


def test_replace_without_ranks_is_refused_and_never_takes_the_first_for_the_worst() -> None:
    with pytest.raises(StudyError, match=pattern("'q0'", "answers without", "ranking")):
        list(all_answers_presentations(study(unrelated="replace"), ITEMS))


def test_an_unrelated_answer_needs_a_second_item() -> None:
    with pytest.raises(StudyError, match=pattern("slice", "only", "item")):
        list(all_answers_presentations(study(unrelated="add"), ITEMS[:1]))


def test_the_unrelated_answer_is_never_empty_and_is_the_same_for_a_stored_ask() -> None:
    silent = replace(item("b", "xyz"), responses={"x": "", "y": "only this", "z": " "})
    assert unrelated_answer(item("a"), silent) == "only this"
    other = ITEMS[1]
    assert unrelated_answer(ITEMS[0], other) == unrelated_answer(ITEMS[0], other)
    assert unrelated_answer(ITEMS[0], other) in other.responses.values()


def test_every_other_item_can_lend_its_answer() -> None:
    drawn = [s.unrelated_item for s in all_answers_presentations(study(unrelated="add"), ITEMS)]
    assert len({lent.id for lent in drawn if lent}) > 15


def test_a_showing_is_plain_data() -> None:
    assert Presentation(ITEMS[0], ("x", "y"), False, 0, False, 2).unrelated_item is None


@given(
    st.lists(st.sets(st.sampled_from("uvwxyz"), min_size=1), min_size=1, max_size=6),
    st.sampled_from(["plain", "crossed"]),
    st.integers(1, 3),
    st.floats(0, 1),
)
def test_every_order_of_a_pair_is_asked_equally_often(
    answered: list[set[str]], labels: str, repeats: int, floor: float
) -> None:
    items = [item(f"q{n}", sorted(names)) for n, names in enumerate(answered)]
    spec = study(labels=labels, repeats=repeats, noise_floor=floor)
    made = [s for s in pair_presentations(spec, items) if not s.noise]
    counts = Counter((s.item.id, s.shown) for s in made)
    assert all(
        counts[name, order[::-1]] == times == repeats for (name, order), times in counts.items()
    )
    assert len(counts) == sum(len(names) * (len(names) - 1) for names in answered)
