"""Position measures: hand-worked values, a worked example, invariances and edge cases."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.catalogue.records import estimate_position_measures
from metrics.position import position_measures as p
from tests.metrics.frames import PICKS, build, pair, patterns, prd, rotated
from tests.page_words import says

ORACLE = {"AA": 12, "AB": 40, "BA": 30, "BB": 5, "CC": 6, "AC": 4, "BC": 3}


def values(frame: pd.DataFrame) -> dict[str, float | None]:
    return {name: got.value for name, got in estimate_position_measures(frame)[()].items()}


def test_a_verdict_that_follows_the_position_is_not_consistent():
    # q1: x both times, kept. q2: the first shown both times, so x then y, flipped. q3: tie both
    # times, kept. q4: one reply unreadable, left out. So 2 of 3, and n is 3, not 4.
    frame = build(
        [*pair("q1", 0, 1), *pair("q2", 0, 0), *pair("q3", "tie", "tie"), *pair("q4", 0, None)]
    )
    got = p.consistency(frame)
    assert (got.value, got.n, got.items) == (pytest.approx(2 / 3), 3, 3)


def test_the_oracle_of_a_hundred_pairs():
    # AB40 + BA30 + CC6 = 76 consistent; AA12 + AC4 = 16 primacy; BB5 + BC3 = 8 recency.
    got = values(patterns(ORACLE))
    assert got["consistency"] == pytest.approx(0.76)
    assert got["conflict"] == pytest.approx(0.24)
    assert (got["primacy"], got["recency"]) == (pytest.approx(0.16), pytest.approx(0.08))
    assert got["fairness"] == pytest.approx(-0.08)
    assert (got["hard_flips"], got["soft_flips"]) == (pytest.approx(0.17), pytest.approx(0.07))
    assert p.flip_counts(patterns(ORACLE)) == {
        "pairs": 100, "flips": 24, "toward_first": 16, "toward_second": 8,
        "first_twice": 12, "second_twice": 5,
    }  # fmt: skip


def test_preference_fairness_is_recency_minus_primacy():
    # raw = rc·rc/(rc+pc) − pc·pc/(rc+pc) = 64/24 − 256/24 = −8, over n = 100.
    raw = 8 * 8 / 24 - 16 * 16 / 24
    assert p.fairness(patterns(ORACLE)).value == pytest.approx(raw / 100)


def test_chance_and_kappa_from_the_judges_own_shares():
    # Of 200: first 12·2+40+30+4 = 98, second 5·2+40+30+3 = 83, tie 6·2+4+3 = 19.
    t, f, s = 19 / 200, 98 / 200, 83 / 200
    chance = t * t + 2 * f * s
    got = values(patterns(ORACLE))
    assert got["expected_consistency"] == pytest.approx(chance)
    assert got["kappa"] == pytest.approx((0.76 - chance) / (1 - chance))
    assert got["first_share"] == pytest.approx(98 / 181)
    assert got["tie_rate"] == pytest.approx(19 / 200)


def test_no_flips_is_perfectly_fair_not_nan():
    got = p.fairness(patterns({"AB": 4, "BA": 3}))
    unseen = 3.841459 / (7 + 3.841459)  # Wilson's upper limit of the flips for 0 of 7
    assert (got.value, got.low, got.high) == pytest.approx((0, -unseen, unseen))


def test_repetition_stability_is_the_mean_share_of_the_mode():
    # AAA 1, AAB 2/3, ABC 1/3, BBB 1: mean .75, by hand.
    rows = [
        {"item": word, "shown": "xy", "orders": 1, "repeat": k, "pick": PICKS[letter]}
        for word in ("AAA", "AAB", "ABC", "BBB")
        for k, letter in enumerate(word)
    ]
    assert p.stability(build(rows)).value == pytest.approx(0.75)
    repeated = build([{**row, "noise": k > 0} for k, row in enumerate(rows)])
    assert p.noise_floor(repeated).n and says(p.stability(repeated).note, "noise floor", "left out")


def test_noise_repeats_enter_the_noise_floor_and_nothing_else():
    # q1: the noise repeat differs, q2: it agrees. Floor 1/2; the flip of q2's noise row is no flip.
    rows = [
        *pair("q1", 0, 1),
        *pair("q2", 0, 1),
        {"item": "q1", "shown": "xy", "pick": 1, "repeat": 1, "noise": True},
        {"item": "q2", "shown": "xy", "pick": 0, "repeat": 1, "noise": True},
    ]
    with_noise, without = values(build(rows)), values(build(rows[:4]))
    assert with_noise.pop("noise_floor") == 0.5
    assert without.pop("noise_floor") is None
    # q1: between orders 1 of 2 pairs of replies differs, between repeats 1 of 1; q2: none differs.
    assert with_noise.pop("order_effect") == pytest.approx(-0.25)
    assert without.pop("order_effect") is None
    assert with_noise == without


def test_first_share_looks_at_complete_sets_only():
    # q1 complete: first, second. q2: the read half says first, but its other half is missing.
    frame = build([*pair("q1", 0, 1), *pair("q2", 0, None)])
    got = p.first_share(frame)
    assert (got.value, got.n) == (0.5, 2)


def test_where_one_order_was_asked_all_verdicts_count_and_a_note_says_so():
    rows = [{"item": str(k), "shown": "xy", "pick": k % 3 == 0, "orders": 1} for k in range(6)]
    got = p.first_share(build([{**row, "pick": 0 if row["pick"] else 1} for row in rows]))
    assert got.value == pytest.approx(2 / 6)
    assert "one order" in got.note
    assert p.consistency(build([{**row, "pick": 0} for row in rows])).value is None


def test_a_cell_with_one_order_does_not_change_the_rule_of_another():
    rows = [*pair("q1", 0, 1), *pair("q2", 0, None)]
    other = [{"item": "q3", "shown": "xy", "pick": 0, "orders": 1, "judge": "k"}]
    got = estimate_position_measures(build([*rows, *other]), ["judge"])
    assert (got[("j",)]["first_share"].n, got[("k",)]["first_share"].n) == (2, 1)
    assert "one order" in got[("k",)]["first_share"].note
    assert "one order" not in got[("j",)]["first_share"].note


def test_accuracy_leaves_out_true_ties_and_counts_a_tie_verdict_as_wrong():
    rows = [
        *pair("q1", 0, 1, better="x"),  # right, right
        *pair("q2", "tie", 0, better="x"),  # tie: wrong; y picked: wrong
        *pair("q3", 0, 0, known_answer=-1),  # truly tied: out
        *pair("q4", None, 1, better="x"),  # unread: out; right
    ]
    got = p.accuracy(build(rows))
    assert (got.value, got.n) == (pytest.approx(3 / 5), 5)


def test_n_options_have_a_share_for_each_slot_and_a_chance_level():
    # Perfect on option 0 of three: rotations put it in slots 1, 2, 0. Always first: 0, 0, 0.
    perfect, first = rotated("q1", [1, 2, 0]), rotated("q2", [0, 0, 0])
    frame = build([*perfect, *first])
    assert [share.value for share in p.slot_shares(frame, 3)] == [4 / 6, 1 / 6, 1 / 6]
    assert p.slot_and_tie_counts(frame, 3) == {"slots": [4, 1, 1], "ties": 0}
    h = -(4 / 6 * math.log2(4 / 6) + 2 / 6 * math.log2(1 / 6)) / math.log2(3)
    assert p.slot_entropy(frame).value == pytest.approx(h)
    assert p.consistency(frame).value == 0.5
    assert p.EXPECTED_CONSISTENCY.estimate(frame).value == pytest.approx(3 * 4 / 6 * 1 / 6 * 1 / 6)


def test_a_prompt_of_pairs_does_not_hide_the_chance_level_of_one_with_options():
    rows = [*pair("q1", 0, 1), *rotated("q2", [1, 2, 0]), *rotated("q3", [0, 0, 0])]
    got = estimate_position_measures(build(rows), ["prompt"])
    assert got[("p",)]["expected_consistency"].value == pytest.approx(0.5)
    assert got[("choice",)]["expected_consistency"].value == pytest.approx(
        3 * 4 / 6 * 1 / 6 * 1 / 6
    )


def test_entropy_of_a_perfect_judge_is_one_and_of_a_constant_slot_zero():
    perfect = build([row for k in range(6) for row in rotated(f"q{k}", [1, 2, 3, 0])])
    fixed = build([row for k in range(6) for row in rotated(f"q{k}", [2, 2, 2, 2])])
    assert p.slot_entropy(perfect).value == pytest.approx(1)
    assert p.slot_entropy(perfect).low < 1
    assert p.slot_entropy(fixed).value == 0
    assert p.slot_entropy(fixed).high > 0


def test_several_n_are_weighted_by_their_verdicts():
    # Pairs always first: entropy 0, 2 verdicts. Three options perfect: entropy 1, 3 verdicts.
    frame = build([*pair("q1", 0, 0), *rotated("q2", [1, 2, 0])])
    assert p.slot_entropy(frame).value == pytest.approx(3 / 5)


@pytest.mark.parametrize(
    "frame",
    [
        build([]),
        build([*pair("q1", None, None), *pair("q2", None, None)]),
        build(pair("q1", "tie", "tie")),
        build([{"item": "q", "shown": "x", "pick": None, "status": "ok", "scores": [7]}]),
        build([{"item": "q", "shown": "xy", "pick": 0, "orders": 1}]),
        build(rotated("q1", [None] * 4)),
        build(rotated("q1", ["tie"] * 4)),
    ],
    ids=["none", "unreadable", "ties", "single", "one order", "options unread", "options tied"],
)
def test_degenerate_frames_give_a_number_or_a_reason(frame):
    for got in estimate_position_measures(frame)[()].values():
        assert got.value is None or math.isfinite(got.value)
        assert got.value is not None or got.note
    p.flip_counts(frame), p.slot_and_tie_counts(frame), p.slot_shares(frame)


PICK = st.sampled_from([0, 1, "tie", None])
PAIRS = st.lists(st.tuples(PICK, PICK), min_size=1, max_size=12)


@given(PAIRS)
def test_swapping_all_slots_mirrors_the_lean_and_keeps_consistency(picks):
    flip = {0: 1, 1: 0, "tie": "tie", None: None}
    rows = [row for k, (a, b) in enumerate(picks) for row in pair(f"q{k}", a, b)]
    mirrored = [{**row, "pick": flip[row["pick"]]} for row in rows]
    one, two = values(build(rows)), values(build(mirrored))
    for same in ("consistency", "hard_flips", "soft_flips", "tie_rate", "entropy", "kappa"):
        assert one[same] == pytest.approx(two[same])
    assert one["primacy"] == two["recency"]
    if one["first_share"] is not None:
        assert one["first_share"] == pytest.approx(1 - two["first_share"])


@given(PAIRS)
def test_renaming_contestants_changes_nothing(picks):
    rows = [row for k, (a, b) in enumerate(picks) for row in pair(f"q{k}", a, b)]
    names = {"x": "zebra", "y": "ant"}
    renamed = [{**row, "shown": [names[name] for name in row["shown"]]} for row in rows]
    assert estimate_position_measures(build(rows)) == estimate_position_measures(build(renamed))


@given(PAIRS, st.integers(1, 5))
def test_unreadable_rows_change_no_value(picks, more):
    rows = [row for k, (a, b) in enumerate(picks) for row in pair(f"q{k}", a, b)]
    noise = [row for k in range(more) for row in pair(f"bad{k}", None, None)]
    noise += pair("q0", None, None, repeat=1)
    assert estimate_position_measures(build(rows)) == estimate_position_measures(
        build(rows + noise)
    )


PUBLISHED = {
    # judge: PC, chance, kappa, hard, flips first/second, slots, ties, entropy
    "gpt-4": (0.68875, 0.3617, 0.512, 0.14375, 237, 12, [848, 512], 240, 0.9555),
    "gpt-3.5-turbo": (0.69125, 0.3635, 0.515, 0.08375, 121, 126, [634, 660], 306, 0.9997),
    "claude-v1": (0.54875, 0.3961, 0.253, 0.31, 74, 287, [532, 937], 131, 0.9445),
    "bard": (0.36875, 0.2852, 0.117, 0.5925, 498, 7, [1253, 290], 57, 0.6972),
    "vicuna-13b": (0.37375, 0.4554, -0.150, 0.5925, 178, 323, [631, 922], 47, 0.9745),
}


def test_position_bias_of_the_prd_judges_is_as_published():
    frame = prd()
    profiles = estimate_position_measures(frame, ["judge"])
    for judge, (pc, chance, kappa, hard, first, second, slots, ties, entropy) in PUBLISHED.items():
        got = {name: estimate.value for name, estimate in profiles[(judge,)].items()}
        assert got["consistency"] == pytest.approx(pc, abs=1e-9)
        assert got["hard_flips"] == pytest.approx(hard, abs=1e-9)
        assert got["expected_consistency"] == pytest.approx(chance, abs=6e-5)
        assert got["kappa"] == pytest.approx(kappa, abs=6e-4)
        assert got["entropy"] == pytest.approx(entropy, abs=6e-5)
        mine = frame[frame["judge"] == judge]
        counts = p.flip_counts(mine)
        assert (counts["toward_first"], counts["toward_second"]) == (first, second)
        assert p.slot_and_tie_counts(mine) == {"slots": slots, "ties": ties}


@pytest.mark.parametrize("picks", [(0, 1, 0, 1), (0, 0, 0, 1)])
def test_four_options_picked_in_two_slots_are_divided_by_the_log_of_four(picks):
    # [20, 20, 0, 0] is log 2/log 4 = .5 of the entropy of four slots, not 1.
    frame = build([row for k in range(10) for row in rotated(f"q{k}", picks)])
    first = picks.count(0) / 4
    bits = -(first * math.log2(first) + (1 - first) * math.log2(1 - first))
    got = p.slot_entropy(frame)
    assert got.value == pytest.approx(bits / 2)
    assert got.low < got.value < got.high < 1


def test_pairs_beside_four_options_keep_the_interval_of_pairs():
    pairs = [row for k in range(6) for row in pair(f"p{k}", 0, k % 2, judge="a")]
    four = [row for k in range(6) for row in rotated(f"q{k}", (0, 1, 2, 3), judge="b")]
    both = estimate_position_measures(build(pairs + four), ["judge"])[("a",)]["entropy"]
    assert both == p.slot_entropy(build(pairs))
