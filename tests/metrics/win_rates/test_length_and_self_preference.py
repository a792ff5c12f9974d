"""Biases other than position: labels, length, the judge's own family."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from metrics.catalogue.nudge_records import LONGER
from metrics.position import label_effect
from metrics.win_rates import length_effects, self_preference
from metrics.win_rates.win_rates import head_to_head
from studies.frames.frame_codes import TIE
from tests.metrics.frames import build, pair
from tests.page_words import says


def test_crossed_labels_tell_the_name_from_the_place():
    # Always the label "A": plain labels (A, B) pick slot 0, turned ones (B, A) pick slot 1.
    plain = [row for k in range(4) for row in pair(f"p{k}", 0, 0)]
    turned = [row for k in range(4) for row in pair(f"t{k}", 1, 1, labels="BA")]
    got = label_effect.slot_and_label_effects(build([*plain, *turned]))
    assert (got["slot"].value, got["label"].value) == (0.5, 1)


def test_the_effects_do_not_rest_on_how_many_had_which_labels():
    # Always the first slot, three sets plain and one turned: slot 1, label ½ all the same.
    rows = [row for k in range(3) for row in pair(f"p{k}", 0, 0)] + pair("t", 0, 0, labels="BA")
    got = label_effect.slot_and_label_effects(build(rows))
    assert (got["slot"].value, got["label"].value) == (1, 0.5)


def test_uncrossed_labels_cannot_be_told_apart():
    for frame in (build(pair("q", 0, 0)), build([])):
        got = label_effect.slot_and_label_effects(frame)
        assert got["slot"].value is None and "not crossed" in got["label"].note


def test_label_probabilities_split_into_content_and_position():
    # ℓ₁ = logit .8 with x first, ℓ₂ = logit .6 with y first: content (ℓ₁ − ℓ₂)/2 for x.
    rows = pair("q", 0, 0)
    rows[0]["p"], rows[1]["p"] = [0.8, 0.2], [0.6, 0.4]
    one, two = math.log(4), math.log(1.5)
    table = label_effect.content_and_position_table(build(rows))
    assert table["content"].iloc[0] == pytest.approx((one - two) / 2, abs=1e-6)
    assert table["position"].iloc[0] == pytest.approx((one + two) / 2, abs=1e-6)
    assert label_effect.mean_content_and_position_terms(build(rows))[
        "position"
    ].value == pytest.approx((one + two) / 2, abs=1e-6)


def test_probabilities_of_repeats_are_averaged_and_kept_away_from_certainty():
    # The first row of q2 shows z first, the second x, the first in the alphabet.
    rows = [*pair("q1", 0, 0), *pair("q1", 0, 0, repeat=1), *pair("q2", 0, 0, x="z", y="x")]
    shares = [[1, 0], [0.5, 0.5], [0.3, 0.1], [0, 0], [0.8, 0.2], [0.5, 0.5]]
    for row, share in zip(rows, shares, strict=True):
        row["p"] = share
    table = label_effect.content_and_position_table(build(rows)).set_index("item")
    # q1: ln 10⁶ (as 1 − 10⁻⁶) and ln 3 with x first, 0 and 0 with y first; q2: ln 4 with z first.
    one = (math.log(1e6 - 1) + math.log(3)) / 2
    assert table.loc["q1", ["content", "position"]].tolist() == pytest.approx([one / 2, one / 2])
    half = math.log(4) / 2
    assert table.loc["q2", ["content", "position"]].tolist() == pytest.approx([-half, half])


def test_probabilities_of_one_order_or_none_say_why():
    rows = pair("q", 0, None)
    rows[0]["p"] = [0.8, 0.2]
    for frame in (build(rows), build(pair("q", 0, 0)), build([])):
        assert (
            "no label probabilities"
            in label_effect.mean_content_and_position_terms(frame)["position"].note
        )


def test_the_longer_answer_is_counted_where_lengths_differ():
    # q1: x (100) longer, wins twice. q2: y longer, x wins once, tie once. q3: equal, out.
    assert says(LONGER.definition, "ties and", "equal length", "left out")
    rows = [*pair("q1", 0, 1), *pair("q2", 0, "tie"), *pair("q3", 0, 1)]
    sizes = [(100, 10), (10, 100), (10, 90), (90, 10), (5, 5), (5, 5)]
    for row, lengths in zip(rows, sizes, strict=True):
        row["length"] = lengths
    got = length_effects.length_preference(build(rows))
    assert (got.value, got.n) == (pytest.approx(2 / 3), 3)
    none = length_effects.length_preference(build(pair("q", 0, 0)))
    assert none.note == length_effects.NO_LENGTHS_NOTE


def test_the_longer_of_equally_good_answers_is_counted_apart():
    """By hand: of the pair that is equally good, x (longer) wins one of two decided verdicts; the
    pair with a better answer, always won by the longer one, is left out."""
    rows = [*pair("q1", 0, 0), *pair("q2", 0, 1)]
    for row, lengths in zip(rows, [(100, 10), (10, 100)] * 2, strict=True):
        row["length"] = lengths
    truth = np.array([TIE, TIE, 0, 1], np.int8)
    got = length_effects.length_preference_at_equal_quality(build(rows).assign(known_answer=truth))
    assert (got.value, got.n, got.items) == (0.5, 2, 1)
    none = length_effects.length_preference_at_equal_quality(
        build(rows).assign(known_answer=np.int8(0))
    )
    assert none.value is None


def simulated(theta: float, phi: float, n: int = 3000, seed: int = 4):
    rng = np.random.default_rng(seed)
    gap = rng.normal(0, 100, n).round().astype(int)
    p = expit(theta + phi * np.tanh(gap / gap.std()))
    won = rng.random(n) < p
    return build(
        [
            {
                "item": f"q{k}", "shown": ("m", "base"), "orders": 1, "pick": 0 if won[k] else 1,
                "length": (1000 + int(gap[k]), 1000),
            }
            for k in range(n)
        ]
    )  # fmt: skip


def test_length_control_recovers_the_strength_without_length():
    got = length_effects.length_controlled_win_rates(simulated(0.5, 1.5), "base")["m"]
    assert got.value == pytest.approx(expit(0.5), abs=0.03)
    assert got.low < expit(0.5) < got.high


def test_a_model_against_itself_is_half_and_sides_mirror():
    rows = []
    for k in range(20):
        a, b = 100 + 7 * k, 240 - 5 * k
        for row, lengths in zip(
            pair(f"q{k}", 0, 0, x="base", y="m"), [(a, b), (b, a)], strict=True
        ):
            rows.append({**row, "length": lengths})
    # First always wins, whoever it is: m and base are the same model.
    assert length_effects.length_controlled_win_rates(build(rows), "base")[
        "m"
    ].value == pytest.approx(0.5, abs=1e-6)
    frame = simulated(0.4, 1.0, 400)
    one = length_effects.length_controlled_win_rates(frame, "base")["m"].value
    other = length_effects.length_controlled_win_rates(frame, "m")["base"].value
    assert one + other == pytest.approx(1, abs=1e-9)


def test_equal_lengths_drop_the_term_and_a_clean_sweep_says_so():
    rows = [{**row, "length": (50, 50)} for k in range(4) for row in pair(f"q{k}", 0, k % 2)]
    got = length_effects.length_controlled_win_rates(build(rows), "y")["x"]
    # x: first order always, second order (slot 1 = x) for k = 1, 3: 6 of 8.
    assert got.value == pytest.approx(0.75, abs=1e-6) and "dropped" in got.note
    sweep = [{**row, "length": (50, 60)} for k in range(5) for row in pair(f"q{k}", 0, 1)]
    assert length_effects.length_controlled_win_rates(build(sweep), "y")["x"].value == 1
    assert length_effects.length_controlled_win_rates(build(pair("q", 0, 0)), "y") == {}


@pytest.mark.parametrize(("longer", "known"), [(4, False), (5, True), (15, True), (16, False)])
def test_a_rate_at_equal_length_needs_both_models_to_be_longer_on_five_items(longer, known):
    rows = [
        {**row, "length": lengths}
        for k in range(20)
        for one in [100 + k if k < longer else 90 - k]
        for row, lengths in zip(pair(f"q{k}", k % 3 % 2, 1), [(one, 95), (95, one)], strict=True)
    ]
    got = length_effects.length_controlled_win_rates(build(rows), "y")["x"]
    assert (got.value is not None) is known and (says(got.note, "hardly overlap") is not known)


def test_a_tenth_of_the_items_must_be_on_each_side():
    rows = [
        {
            "item": f"q{k}",
            "shown": "xy",
            "orders": 1,
            "pick": k % 2,
            "length": (9 + 2 * (k < 6), 10),
        }
        for k in range(61)
    ]
    got = length_effects.length_controlled_win_rates(build(rows), "y")["x"]
    assert got.value is None
    assert length_effects.length_controlled_win_rates(build(rows[:60]), "y")["x"].value is not None


def test_the_rate_at_equal_length_is_not_surer_than_the_plain_one():
    """Every item has three wins and one loss, two of each in either order of lengths, so the items
    do not differ at all but for one: the sandwich is nearly zero wide, Wilson's interval is not."""
    rows = [
        {"item": f"q{k}", "shown": "xy", "orders": 1, "repeat": n, "pick": int(n == 0 and k > 0),
         "length": (12 - 4 * (k % 2), 10)}
        for k in range(12) for n in range(4)
    ]  # fmt: skip
    got = length_effects.length_controlled_win_rates(build(rows), "y")["x"]
    plain = head_to_head(build(rows))["x"]["y"]
    assert logit(got.high) - logit(got.low) >= logit(plain.high) - logit(plain.low) - 1e-9
    assert got.low < got.value < got.high


def own(item: str, pick, people, judge: str = "j", family: str = "f"):
    shown, families = ("mine", "other"), ("f", "g")
    vote = {
        "item": item, "shown": shown, "pick": people, "judge": "human:a", "prompt": "vote",
        "orders": 1, "family": "", "families": families,
    }  # fmt: skip
    said = {
        "item": item, "shown": shown, "pick": pick, "judge": judge, "orders": 1,
        "family": family, "families": families,
    }  # fmt: skip
    return [vote, said]


def test_following_people_more_readily_when_they_like_ones_own():
    # People pick own on 50: the judge follows 45. People pick the other on 50: it follows 30.
    rows = [row for k in range(50) for row in own(f"o{k}", 0 if k < 45 else 1, 0)]
    rows += [row for k in range(50) for row in own(f"t{k}", 1 if k < 30 else 0, 1)]
    got = self_preference.self_preference(build(rows))["j"]
    assert got.value == pytest.approx(0.30)
    assert got.low < 0.30 < got.high


def test_self_preference_needs_people_on_both_sides():
    rows = [row for k in range(5) for row in own(f"o{k}", 0, 0)]
    assert self_preference.self_preference(build(rows))["j"].value is None
    assert self_preference.self_preference(build(pair("q", 0, 0))) == {}


def panel(gain: float, judges: dict[str, str], n: int = 400, seed: int = 8):
    rng = np.random.default_rng(seed)
    strength, families = {"m": 0.5, "k": 0.0, "l": -0.5}, {"m": "f", "k": "g", "l": "h"}
    rows = []
    for q in range(n):
        for judge, family in judges.items():
            first, second = rng.permutation(list(strength))[:2]
            mine = (families[first] == family) - (families[second] == family)
            p = expit(strength[first] - strength[second] + gain * mine)
            rows.append(
                {
                    "item": f"q{q}", "shown": (first, second), "judge": judge, "orders": 1,
                    "pick": int(rng.random() > p), "family": family,
                    "families": (families[first], families[second]),
                }
            )  # fmt: skip
    return build(rows)


def test_the_own_family_term_is_recovered_from_a_panel():
    got = self_preference.own_family_term(panel(0.8, {"a": "f", "b": "g", "c": "z"}))
    assert got.low < 0.8 < got.high
    assert says(got.note, "not adjusted", "quality")


def test_a_tie_counts_as_half_a_win_and_half_a_loss():
    """The same term from each verdict twice, with a win and a loss in place of a tie."""
    frame = panel(0.8, {"a": "f", "b": "z"}, n=40)
    tied = np.arange(len(frame)) % 4 == 0
    parts = [frame.assign(pick=np.where(tied, pick, frame["pick"])) for pick in (TIE, 0, 1)]
    one = self_preference.own_family_term(parts[0]).value
    two = self_preference.own_family_term(pd.concat(parts[1:], ignore_index=True)).value
    assert one == pytest.approx(two, abs=1e-9) and abs(one) > 0.1


def test_people_are_of_no_family_that_wrote_an_answer():
    got = self_preference.own_family_term(panel(0.8, {"a": "f", "b": "g", "human:c": ""}))
    assert got.low < 0.8 < got.high


@pytest.mark.parametrize(
    ("judges", "reason"),
    [
        ({"a": "f"}, "two judges"),
        ({"a": "f", "b": "g"}, "wrote none"),
        ({"a": "y", "b": "z"}, "own family"),
        ({"a": "f", "b": "g", "c": ""}, "known family"),
    ],
)
def test_the_own_family_term_is_refused_with_a_reason(judges, reason):
    got = self_preference.own_family_term(panel(0.5, judges, n=20))
    assert got.value is None and reason in got.note
    assert self_preference.own_family_term(build([])).value is None


@pytest.mark.parametrize(("pick", "interval"), [("tie", True), (0, False)])
def test_items_that_cancel_give_no_certain_win_rate_at_equal_length(pick, interval):
    # All ties: Wilson's interval. Always the first position: nothing to estimate the error from.
    rows = [pair(f"q{k}", pick, pick, x="m", y="base") for k in range(20)]
    for k, (one, two) in enumerate(rows):
        one["length"], two["length"] = (100 + 7 * k, 200), (200, 100 + 7 * k)
    frame = build([row for both in rows for row in both])
    got = length_effects.length_controlled_win_rates(frame, "base")["m"]
    assert got.value == pytest.approx(0.5)
    assert (got.low is not None and got.low < 0.45) is interval
    assert interval or (got.low is None and "no interval" in got.note)


def test_a_family_whose_answer_is_always_first_is_not_told_from_position() -> None:
    """The only judge with own answers always sees its family first: its own-family term is its
    position term."""
    rows = [
        {"item": f"q{k}", "shown": ("m", "k"), "judge": judge, "orders": 1, "pick": k % 2,
         "family": family, "families": ("f", "g")}
        for k in range(8) for judge, family in (("a", "f"), ("b", "z"))
    ]  # fmt: skip
    got = self_preference.own_family_term(build(rows))
    assert (got.value, got.unit) == (None, "logit") and says(got.note, "cannot be separated")
    turned = [{**row, "shown": ("k", "m"), "families": ("g", "f")} for row in rows]
    assert self_preference.own_family_term(build([*rows, *turned])).value is not None
