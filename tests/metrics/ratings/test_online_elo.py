"""Online Elo: hand-worked values, evalica, invariances, the band over orders, live ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.ratings.battles import count_wins_by_pair, extract_battles
from metrics.ratings.online_elo import (
    EloSettings,
    EloState,
    advance_elo,
    compute_elo,
    elo_table,
    items_per_contestant,
)
from tests.metrics.battle_frames import all_finite, duels, fought, golden, simulated, some_battles
from tests.metrics.frames import build
from tests.page_words import pattern, says

FIVE = [
    (0, "A", "B", 0),
    (1, "B", "C", 0),
    (2, "A", "C", "tie"),
    (3, "C", "A", 0),
    (4, "A", "B", 1),
]


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def ratings(frame: pd.DataFrame, k: float = 4.0) -> dict[str, float]:
    table = elo_table(frame, rng=rng(), k=k, orders=0, rounds=0)
    return {name: rating.estimate.value or 0.0 for name, rating in table.items()}


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (4, {"A": 997.954414, "B": 1002.011182, "C": 1000.034404}),
        (32, {"A": 981.297115, "B": 1016.570287, "C": 1002.132599}),
    ],
)
def test_five_battles_give_the_ratings_worked_out_elsewhere(k, expected):
    # A>B, B>C, A=C, C>A, then A first and B wins, by hand. The first step at K=4:
    # equal ratings, so A 1000 + 4(1 − ½) = 1002 and B 998.
    assert ratings(fought(FIVE), k) == pytest.approx(expected, abs=1e-6)
    assert ratings(fought(FIVE[:1])) == {"A": 1002.0, "B": 998.0}


@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_the_published_ratings_of_evalica_come_out(name):
    frame, scores = golden(name, "elo")
    got = ratings(frame)
    assert len(got) == len(scores)
    assert max(abs(got[item] - score) for item, score in scores.items()) < 1e-9


def test_evalica_as_a_second_implementation_agrees_on_random_battles():
    import evalica

    frame = simulated(rng(), 30)
    winner = frame["pick"].map({0: evalica.Winner.X, 1: evalica.Winner.Y, -1: evalica.Winner.Draw})
    firsts, seconds = frame["first"].astype(str).tolist(), frame["second"].astype(str).tolist()
    theirs = evalica.elo(firsts, seconds, winner.tolist()).scores
    ours = ratings(frame)
    assert max(abs(ours[name] - theirs[name]) for name in ours) < 1e-9


def test_scale_base_and_start_are_arguments():
    # Base e and scale 1 make a rating a logit: after a 2-point lead the next win earns
    # 4(1 − σ(4)) = 0.071945.
    settings = EloSettings(k=4, scale=1, base=np.e, start=0)
    frame = fought([(0, "A", "B", 0), (1, "A", "B", 0)])
    got = compute_elo(frame, rng=rng(), settings=settings, orders=0, rounds=0)
    assert got.table["A"].estimate.value == pytest.approx(2 + 4 * (1 - 1 / (1 + np.exp(-4.0))))


@given(some_battles())
def test_the_ratings_sum_to_what_they_started_with(rows):
    got = compute_elo(fought(rows), rng=rng(), orders=20, rounds=20)
    assert sum(r.estimate.value for r in got.table.values()) == pytest.approx(1000 * len(got.table))
    assert got.curve.value.sum(axis=1) == pytest.approx(1000.0 * len(got.table))


@given(some_battles())
def test_swapping_the_sides_of_every_battle_changes_nothing(rows):
    # A first and picked 0 is B first and picked 1: a rating knows no places.
    turned = {0: 1, 1: 0}
    swapped = [(item, b, a, turned.get(pick, pick)) for item, a, b, pick in rows]
    assert ratings(fought(swapped)) == pytest.approx(ratings(fought(rows)), abs=1e-9)


@given(some_battles())
def test_swapping_all_verdicts_mirrors_the_ratings(rows):
    turned = {0: 1, 1: 0}
    lost = [(item, a, b, turned.get(pick, pick)) for item, a, b, pick in rows]
    mirror = {name: 2000 - value for name, value in ratings(fought(rows)).items()}
    assert ratings(fought(lost)) == pytest.approx(mirror, abs=1e-9)


@given(some_battles())
def test_renaming_contestants_renames_their_ratings(rows):
    new = dict(zip("abcd", "zxwy", strict=True))
    renamed = ratings(fought([(i, new[a], new[b], pick) for i, a, b, pick in rows]))
    assert renamed == pytest.approx({new[k]: v for k, v in ratings(fought(rows)).items()})


@given(some_battles(readable=True))
def test_unreadable_rows_change_no_rating(rows):
    plain = ratings(fought(rows))
    padded = ratings(fought([*rows, *((9, a, b, None) for _, a, b, _ in rows)]))
    assert padded == plain


def test_probabilities_are_refused_and_not_rounded_to_ties_and_losses():
    rows = [{"item": f"q{k}", "shown": ("A", "B"), "pick": 0, "p": (0.7, 0.3)} for k in range(3)]
    soft = extract_battles(build(rows), outcome="probability")
    assert soft.outcome == pytest.approx(0.7)
    with pytest.raises(ValueError, match="probability"):
        compute_elo(soft, rng=rng(), rounds=0, orders=0)


def test_noise_repeats_are_no_battles():
    row = {"item": "q", "shown": ("A", "B"), "pick": 0}
    assert ratings(build([row, {**row, "noise": True, "repeat": 1}])) == {"A": 1002.0, "B": 998.0}


def test_the_band_holds_what_other_orders_of_the_items_give():
    # Two items, A wins one and B the other; K=32. Whoever wins last ends ahead: first win +16 from
    # equal, then the other wins against a lead of 32: 32(1 − 1/(1 + 10^(32/400))) = 17.4698. So the
    # two orders end at 998.5302 and 1001.4698, and the band spans them.
    frame = fought([(0, "A", "B", 0), (1, "A", "B", 1)])
    rating = elo_table(frame, rng=rng(), k=32, orders=100)["A"]
    gain = 32 * (1 - 1 / (1 + 10 ** (32 / 400)))
    assert rating.order_low == pytest.approx(1016 - gain)
    assert rating.order_high == pytest.approx(984 + gain)
    assert rating.matches == 2


def test_the_order_moves_whole_items_and_the_bootstrap_draws_them():
    # One item: there is no other order and nothing to draw from.
    frame = fought([(0, "A", "B", 0), (0, "A", "B", 1), (0, "B", "A", 0)])
    rating = elo_table(frame, rng=rng())["A"]
    assert (rating.order_low, rating.order_high) == (None, None)
    assert (rating.estimate.low, rating.estimate.high) == (None, None)
    assert "one item" in rating.estimate.note


def test_identical_items_have_no_luck_of_the_order():
    frame = fought([(item, "A", "B", 0) for item in range(6)])
    rating = elo_table(frame, rng=rng())["A"]
    assert rating.order_low == pytest.approx(rating.estimate.value)
    assert rating.order_high == pytest.approx(rating.estimate.value)


def test_the_curve_starts_at_the_start_and_ends_at_the_table():
    got = compute_elo(simulated(rng(), 30), rng=rng(), points=50)
    assert got.curve.battles[[0, -1]].tolist() == [0, 360]
    assert len(got.curve.battles) == 51
    for name, rating in got.table.items():
        assert got.curve.ratings_of(name)[0] == 1000
        assert got.curve.ratings_of(name)[-1] == rating.estimate.value
        column = got.curve.names.index(name)
        assert got.curve.low[-1, column] == pytest.approx(rating.order_low)


def test_passes_in_small_batches_give_the_same_numbers(monkeypatch):
    frame = simulated(rng(), 12)
    whole = compute_elo(frame, rng=rng(), orders=9, rounds=9)
    monkeypatch.setattr("metrics.ratings.elo_orders._MAX_CELLS", 4 * 144)
    parts = compute_elo(frame, rng=rng(), orders=9, rounds=9)
    assert parts.table == whole.table
    assert (parts.curve.low == whole.curve.low).all()


def test_the_same_seed_gives_the_same_numbers():
    frame = simulated(rng(), 12)
    assert elo_table(frame, rng=rng()) == elo_table(frame, rng=rng())


@given(some_battles(least=3))
def test_feeding_rows_as_they_arrive_ends_where_feeding_all_at_once_does(rows):
    frame = fought(rows)
    state, seen = EloState(), 0
    for start in range(0, len(frame), 3):
        state, curve = advance_elo(state, frame.iloc[start : start + 3])
        assert curve.battles[0] == seen
        seen = int(curve.battles[-1])
    assert dict(state.ratings) == pytest.approx(ratings(frame), abs=1e-9)
    assert state.battles == len(extract_battles(frame))
    assert dict(state.matches) == {n: r.matches for n, r in elo_table(frame, rng=rng()).items()}


def test_a_much_better_counts_three_wins_only_under_the_name_arena_hard():
    frame = build([{"item": "q", "shown": ("A", "B"), "pick": 0, "margin": 2}])
    assert ratings(frame)["A"] == 1002.0
    strong = elo_table(frame, rng=rng(), weighting="arena-hard")["A"]
    thrice = ratings(fought([(0, "A", "B", 0)] * 3))["A"]
    assert strong.estimate.value == pytest.approx(thrice)
    assert strong.matches == 1
    with pytest.raises(ValueError, match=pattern("No weighting named", "'arena'")):
        extract_battles(frame, weighting="arena")


def test_a_contestant_nobody_could_read_a_verdict_on_stays_at_the_start():
    frame = fought([(0, "A", "B", 0), (1, "A", "C", None)])
    rating = elo_table(frame, rng=rng())["C"]
    assert (rating.estimate.value, rating.estimate.low, rating.matches) == (1000.0, None, 0)
    assert "no readable verdict" in rating.estimate.note


@pytest.mark.parametrize(
    "frame",
    [
        duels([]),
        fought([(0, "A", "B", None)]),
        duels([("A", "B", 0, 0, 9)]),
        duels([("A", "B", 9, 0)]),
        duels([("A", "B", 2, 1), ("C", "D", 1, 1)]),
        duels([("A", "A", 1, 1)]),
    ],
    ids=["no data", "all unreadable", "all ties", "separable", "disconnected", "itself"],
)
def test_thin_data_give_finite_numbers(frame):
    got = compute_elo(frame, rng=rng())
    assert all_finite(got)
    assert all_finite(advance_elo(EloState(), frame))


def test_counts_per_item_add_up_to_the_totals():
    # Ties are half to each side, so each pair's two directions sum to its verdicts.
    frame = simulated(rng(), 7)
    counts = count_wins_by_pair(extract_battles(frame))
    times = counts.multiplicity[counts.kind]
    assert np.bincount(counts.pair, counts.won * times) == pytest.approx(counts.wins_low)
    assert np.bincount(counts.pair, counts.lost * times) == pytest.approx(counts.wins_high)
    assert counts.total_wins == pytest.approx(counts.verdicts)
    assert counts.items == 7


def test_a_rating_that_hangs_on_the_order_says_so():
    # x wins the first half, y the second: plan order ends with y ahead; shuffled, they are even.
    half = 200
    rows = [(item, "x", "y", int(item >= half)) for item in range(2 * half)]
    found = elo_table(fought(rows), rng=rng(), k=32)["y"]
    rating = found.estimate
    assert rating.value > found.order_high > 1000, "far above all mixed orders"
    assert found.outside_interval and (rating.low, rating.high) == (None, None)
    assert says(rating.note, "no interval", "Bradley–Terry")
    mixed = [(item, "x", "y", item % 2) for item in range(2 * half)]
    assert elo_table(fought(mixed), rng=rng(), k=32)["y"].estimate.note == ""


def test_items_are_those_in_which_a_contestant_played() -> None:
    battles = extract_battles(fought([(0, "A", "B", 0), (0, "A", "B", 1), (1, "C", "A", 0)]))
    assert dict(zip(battles.names, items_per_contestant(battles).tolist(), strict=True)) == {
        "A": 2, "B": 1, "C": 1,
    }  # fmt: skip


def test_a_rating_of_one_item_has_no_interval_and_that_of_two_has() -> None:
    one, two = (
        elo_table(fought([(k, "A", "B", k % 2) for k in range(items)]), rng=rng(), rounds=20)["A"]
        for items in (1, 2)
    )
    assert one.estimate.low is None and "one item" in one.estimate.note
    assert two.estimate.low is not None and "one item" not in two.estimate.note


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from((0, 1, "tie")), min_size=2, max_size=30), st.integers(1, 64))
def test_an_interval_contains_its_rating(wins: list[object], k: int) -> None:
    rows = [(item, "x", "y", pick) for item, pick in enumerate(wins)]
    for found in elo_table(fought(rows), rng=rng(), k=k, orders=5, rounds=20).values():
        one = found.estimate
        assert one.low is None or one.low <= one.value <= one.high
