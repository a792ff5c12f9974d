"""Firmness of a ranking: cycles by hand, the fewest deciding verdicts against a search over all
sets of changes, halves by law, and places under other choices by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from metrics.ratings.rating_by_order import leaderboards_by_order
from metrics.win_rates.first_place import (
    EVERY,
    find_cycles,
    first_place,
    model_scores,
    pair_verdicts,
    place_ranges,
    ranking_stability_section,
    ranks_under_all_analyses,
)
from tests.metrics.battle_frames import duels
from tests.metrics.frames import build
from tests.metrics.frames import pair as both_orders


def test_a_cycle_of_three_models_is_found_and_an_even_pair_makes_none() -> None:
    cycle = duels([("a", "b", 3, 1), ("b", "c", 2, 1), ("c", "a", 4, 0), ("a", "d", 1, 1)])
    found = find_cycles(pair_verdicts(cycle))
    assert (found.found, found.triples) == ((("a", "b", "c"),), 1)
    even = duels([("a", "b", 3, 1), ("b", "c", 2, 1), ("c", "a", 2, 2)])
    assert find_cycles(pair_verdicts(even)).found == ()


def by_search(frame) -> int | None:
    """Fewest verdicts whose change to any other outcome unseats the leader, by trying all sets."""
    data = pair_verdicts(frame)
    leader = int(model_scores(data)[0].argmax())
    for size in range(1, len(data.points) + 1):
        for chosen in itertools.combinations(range(len(data.points)), size):
            for values in itertools.product((0.0, 1.0), repeat=size):
                data.points[list(chosen)], kept = values, data.points[list(chosen)].copy()
                scores = model_scores(data)[0]
                data.points[list(chosen)] = kept
                if scores.max() > scores[leader] + 1e-9:
                    return size
    return None


@pytest.mark.parametrize("seed", range(8))
def test_the_deciding_verdicts_are_the_fewest_of_all_sets_of_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    battles = [("a", "b"), ("b", "c"), ("a", "c")] if seed % 2 else [("a", "b"), ("a", "c")]
    rows = [
        {"item": f"{k}", "shown": battles[k % len(battles)], "pick": int(rng.random() < 0.35)}
        for k in range(9)
    ]
    frame = build(rows)
    found = first_place(pair_verdicts(frame))
    if found is not None:
        assert found.verdicts == by_search(frame)


def test_first_place_by_hand() -> None:
    """a wins 8 of 10 against b; nobody else plays: a leads .8 to .2, four changes make it even and
    five unseat it. In every half a has at least 3 of 5."""
    found = first_place(pair_verdicts(duels([("a", "b", 8, 2)])))
    assert (found.leader, found.challenger, found.verdicts, found.of) == ("a", "b", 4, 10)
    assert found.halves_first == found.halves == 50
    assert first_place(pair_verdicts(duels([("a", "b", 5, 5)]))) is None


def test_an_even_lead_is_lost_in_about_half_of_the_halves() -> None:
    found = first_place(pair_verdicts(duels([("a", "b", 51, 49)])), halves=400)
    assert 0.4 < found.halves_first / 400 < 0.7


def test_the_baseline_is_placed_at_one_half() -> None:
    data = pair_verdicts(duels([("base", "x", 2, 8), ("base", "y", 7, 3)]))
    assert model_scores(data)[0].tolist() == [0.5, 0.8, 0.3]
    assert first_place(data).leader == "x"


def test_places_under_other_choices_by_hand() -> None:
    """Prompt p prefers a, prompt q prefers b by less: together a leads, with q alone b does. Ties
    change nothing here, and each comparison is asked in one order only."""
    rows = []
    for prompt, winner, times in (("p", "a", 6), ("q", "b", 3)):
        for k in range(times):
            for pair in (("a", "b"), ("a", "c"), ("b", "c")):
                pick = pair.index(winner) if winner in pair else 0
                rows.append(
                    {"item": f"{k}", "shown": pair, "pick": pick, "prompt": prompt, "orders": 1}
                )
    frame = build(rows)
    analyses = ranks_under_all_analyses(frame)
    assert (analyses[0].ties, analyses[0].order, analyses[0].prompt) == ("half", "all", "all")
    assert analyses[0].places == {"a": 1, "b": 2, "c": 3}
    only_q = [one for one in analyses if (one.prompt, one.baseline) == ("q", "all")]
    assert only_q and all(one.places["b"] == 1 for one in only_q)
    ranges = place_ranges(analyses)
    assert (ranges["a"]["best"], ranges["b"]["best"], ranges["c"]["worst"]) == (1, 1, 3)
    assert ranges["a"]["first_in"] == sum(one.places["a"] == 1 for one in analyses)


def test_fewer_than_three_models_have_no_section() -> None:
    assert ranking_stability_section(duels([("a", "b", 3, 1)])) == {}


def test_one_order_is_the_one_that_the_plan_lists_first_as_for_the_leaderboards():
    """The plan lists b before a. Of these two the one shown first wins; c wins one item of four."""
    rows = []
    for k in range(4):
        for pair in (("b", "a"), ("a", "c"), ("b", "c")):
            for shown in (pair, pair[::-1]):
                first = "c" not in pair or (shown[0] == "c") == (k == 0)
                rows.append({"item": f"{k}", "shown": shown, "pick": 0 if first else 1})
    frame = build(rows)
    found = {each.order: each.places for each in ranks_under_all_analyses(frame)
             if (each.ties, each.prompt, each.baseline) == ("half", EVERY, EVERY)}  # fmt: skip
    assert found["one order"] == {"b": 1, "a": 2, "c": 3}
    assert found["the other order"] == {"a": 1, "b": 2, "c": 3}
    assert [board.names[0] for board in leaderboards_by_order(frame)] == ["b", "a"]


def test_against_one_model_its_own_place_is_at_an_even_share():
    """b wins eight of ten against a, c two of ten: against a, b is first and a second."""
    frame = duels([("a", "b", 2, 8), ("a", "c", 8, 2), ("b", "c", 5, 5)])
    found = {one.baseline: one.places for one in ranks_under_all_analyses(frame)
             if (one.ties, one.order, one.prompt) == ("half", EVERY, EVERY)}  # fmt: skip
    assert found["a"] == {"b": 1, "a": 2, "c": 3}


def test_points_of_a_tie_are_a_half_and_scores_are_win_rates() -> None:
    # a – b: won, tied, lost: ½ each. With c in no pair of all: no baseline. b – c: b wins.
    frame = duels([("a", "b", 1, 1, 1), ("b", "c", 2, 0), ("c", "a", 1, 1)])
    data = pair_verdicts(frame)
    assert sorted(data.points.tolist()) == [0, 0, 0.5, 1, 1, 1, 1]
    assert data.baseline_code == -1
    # a: 1.5 of 3 and 1 of 2; b: 1.5 of 3 and 2 of 2; c: 0 of 2 and 1 of 2.
    assert model_scores(data)[0].tolist() == pytest.approx([2.5 / 5, 3.5 / 5, 1 / 4])


def test_a_baseline_in_every_pair_has_the_score_one_half() -> None:
    data = pair_verdicts(duels([("a", "base", 3, 1), ("base", "c", 3, 1)]))
    assert data.baseline_code == data.names.index("base")
    scores = dict(zip(data.names, model_scores(data)[0].tolist(), strict=True))
    assert scores == {"a": 0.75, "base": 0.5, "c": 0.25}
    two = pair_verdicts(duels([("a", "b", 3, 1)]))
    assert two.baseline_code == -1, "two models have no baseline"
    none = pair_verdicts(build([]))
    assert none.names == [] and none.baseline_code == -1


def test_items_are_weighted_in_each_round() -> None:
    data = pair_verdicts(duels([("a", "b", 1, 1)]))
    weight = np.zeros((3, int(data.item.max()) + 1))
    weight[0, data.item] = 1.0
    weight[1, data.item[0]] = 2.0
    scores = model_scores(data, weight)
    assert scores[0].tolist() == [0.5, 0.5]
    assert scores[1].tolist() == [data.points[0], 1 - data.points[0]]
    assert np.isnan(scores[2]).all()


def test_only_triples_whose_pairs_all_met_are_counted() -> None:
    open_pair = find_cycles(pair_verdicts(duels([("a", "b", 3, 1), ("b", "c", 2, 1)])))
    assert (open_pair.found, open_pair.triples) == ((), 0)
    ordered = duels([("a", "b", 3, 1), ("b", "c", 2, 1), ("a", "c", 4, 0)])
    assert find_cycles(pair_verdicts(ordered)).triples == 1
    assert find_cycles(pair_verdicts(ordered)).found == ()
    turned = duels([("a", "b", 1, 3), ("b", "c", 1, 2), ("c", "a", 0, 4)])
    assert find_cycles(pair_verdicts(turned)).found == (("a", "c", "b"),)


def test_a_model_never_read_in_both_orders_has_no_place_where_flips_are_ties() -> None:
    rows = [
        row
        for k in range(4)
        for x, y, second in (("a", "b", 1), ("b", "c", 1), ("a", "c", 1), ("a", "d", None))
        for row in both_orders(f"q{k}", 0, second, x=x, y=y)
    ]
    found = ranks_under_all_analyses(build(rows))
    assert found[0].places == {"a": 1, "b": 2, "c": 3, "d": 3}
    assert "flips as ties" not in {one.order for one in found}


def test_an_unusable_reply_does_not_change_the_order_that_the_plan_lists_first() -> None:
    rows = [
        row
        for k in range(3)
        for x, y in itertools.combinations("abc", 2)
        for row in both_orders(f"q{k}", 0, "tie", x=x, y=y)
    ]
    rows[0] = {**rows[0], "pick": None}  # the first call on a and b, with a first
    frame = build(rows)
    one, other = leaderboards_by_order(frame)
    assert one is not None and other is not None
    assert (one.names, len(set(other.theta.round(9)))) == (("a", "b", "c"), 1)
    places = {
        each.order: each.places for each in ranks_under_all_analyses(frame) if each.ties == "half"
    }
    assert set(places["the other order"].values()) == {1}


@pytest.mark.parametrize(("items", "expected"), [(3, 1 / 3), (4, 1 / 2)])
def test_a_half_of_the_items_is_rounded_up(items: int, expected: float) -> None:
    """a wins all items but one. Half of three is two, half of four is two: a is first alone if the
    lost item is not among them, with probability 1/3 and 1/2."""
    found = first_place(pair_verdicts(duels([("a", "b", items - 1, 1)])), halves=900)
    assert found is not None and found.halves_first / 900 == pytest.approx(expected, abs=0.06)


def test_no_first_place_without_two_models_that_have_verdicts() -> None:
    one = pair_verdicts(duels([("a", "b", 3, 1)]))
    assert first_place(one).leader == "a"
    none = pair_verdicts(build([]))
    for data in (none, replace(none, names=["a"]), replace(one, names=["a", "b", "unseen"])):
        assert first_place(data) is None
    assert place_ranges(()) == {}


def test_the_places_of_two_analyses_by_hand() -> None:
    """In the default order; a is first in one of two analyses, and so is b."""
    frame = duels([("a", "b", 3, 1), ("b", "c", 3, 1), ("a", "c", 3, 1)])
    default = ranks_under_all_analyses(frame)[0]
    assert default.places == {"a": 1, "b": 2, "c": 3}
    other = replace(default, places={"a": 3, "b": 1, "c": 2})
    assert list(place_ranges([default, other]).items()) == [
        ("a", {"place": 1, "best": 1, "worst": 3, "first_in": 1, "analyses": 2}),
        ("b", {"place": 2, "best": 1, "worst": 2, "first_in": 1, "analyses": 2}),
        ("c", {"place": 3, "best": 2, "worst": 3, "first_in": 0, "analyses": 2}),
    ]
