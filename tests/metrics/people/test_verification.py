"""Measures of verifications: by hand, against a second implementation, and simulated."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.estimation.intervals import equal_items_half_width, wilson_bounds
from metrics.people.verification import (
    CONSTANT_ANSWERS_NOTE,
    NO_MIXED_PAIR_NOTE,
    NONE_FAIL_NOTE,
    NOT_SHARED_NOTE,
    VerificationArrays,
    verification_summary,
)
from studies.domain import REFERENCE, AnswerCheck
from studies.frames.frame import TIE
from studies.sources.load import load_source
from studies.spec.study import DataSpec
from tests.metrics.frames import build
from tests.metrics.reference_coefficients import cohen_kappa_from_table, krippendorff_alpha


def table(*lines: str) -> dict[str, list[AnswerCheck]]:
    """ "q1 x ann yes", "q1 x bob no:caption!": item, contestant, person, word; ! is harmful."""
    found: dict[str, list[AnswerCheck]] = {}
    for line in lines:
        item, contestant, who, word = line.split()
        said, _, fault = word.rstrip("!").partition(":")
        check = AnswerCheck(who, contestant, said == "yes", fault or None, word.endswith("!"))
        found.setdefault(item, []).append(check)
    return found


HAND = table(
    "q1 x ann yes", "q1 x bob yes", "q1 y ann no:answer", "q1 y bob no:answer!",
    "q2 x ann yes", "q2 x bob no:caption", "q2 y ann no:caption", "q2 y bob no",
    "q3 x ann no:answer", "q3 y ann yes!",
)  # fmt: skip


def verdicts(*lines: str) -> list[dict[str, object]]:
    """ "q1 judge xy x": item, judge, shown, picked."""
    rows = []
    for line in lines:
        item, judge, shown, picked = line.split()
        pick = TIE if picked == "=" else shown.index(picked)
        rows.append({"item": item, "judge": judge, "shown": tuple(shown), "pick": pick})
    return rows


# ------------------------------------------------------------------------------------- shares


def test_shares_of_a_table_worked_by_hand() -> None:
    # 10 words: yes are q1x twice, q2x once, q3y once: 4 of 10. Six say no: the answer's fault 3,
    # the caption's 2, neither's 1. Harmful: q1y by bob, q3y: 2 of 10.
    all_of_it = VerificationArrays(HAND).overall
    assert all_of_it.follows.value == pytest.approx(0.4)
    assert (all_of_it.follows.n, all_of_it.follows.items) == (10, 3)
    faults = (all_of_it.fault_answer, all_of_it.fault_caption, all_of_it.fault_neither)
    assert [e.value for e in faults] == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert all(e.n == 6 for e in faults)
    assert all_of_it.harmful.value == pytest.approx(0.2)


def test_contestants_apart() -> None:
    # x: yes, yes, yes, no, no: 3 of 5. y: no, no, no, no, yes: 1 of 5.
    by = VerificationArrays(HAND).by_contestant
    assert list(by) == ["x", "y"]
    assert by["x"].follows.value == pytest.approx(0.6)
    assert by["y"].follows.value == pytest.approx(0.2)
    assert by["x"].fault_caption.value == pytest.approx(1 / 2)
    assert by["y"].harmful.value == pytest.approx(2 / 5)


def test_one_word_an_item_has_the_plain_interval() -> None:
    # 7 of 10, published: Wilson (.396778, .892209), STATISTICS 8.
    checks = table(*(f"q{k} x ann {'yes' if k < 7 else 'no'}" for k in range(10)))
    follows = VerificationArrays(checks).overall.follows
    assert (follows.low, follows.high) == pytest.approx((0.396778, 0.892209), abs=1e-6)


def test_two_people_who_say_the_same_are_not_two_items() -> None:
    # 20 items, each verified by both with the same word: as sure as 20 words, not as 40.
    lines = [f"q{k} x {who} {'yes' if k < 12 else 'no'}" for k in range(20) for who in ("a", "b")]
    follows = VerificationArrays(table(*lines)).overall.follows
    low, high = (float(end) for end in wilson_bounds(12, 20))
    assert follows.n == 40 and follows.items == 20
    assert follows.high - follows.low > 0.95 * (high - low)


def test_nothing_wrong_has_no_faults_and_nothing_verified_is_nothing() -> None:
    fine = VerificationArrays(table("q1 x ann yes", "q2 x ann yes")).overall
    assert fine.follows.value == 1 and fine.fault_answer.value is None
    assert fine.fault_answer.note == NONE_FAIL_NOTE
    assert verification_summary({}, build([])) == {} == verification_summary({"q": []}, build([]))


def test_a_fault_in_other_words_is_neithers() -> None:
    odd = {
        "q1": [AnswerCheck("a", "x", False, "the weather")],
        "q2": [AnswerCheck("a", "x", False)],
    }
    assert VerificationArrays(odd).overall.fault_neither.value == 1


# ---------------------------------------------------------------------------------- verifiers


def test_agreement_of_verifiers_worked_by_hand() -> None:
    # Both verified q1x (yes, yes), q1y (no, no), q2x (yes, no), q2y (no, no): 3 of 4 the same.
    # Both ways round: yes-yes 2, no-no 4, apart 2 of 8; yes 3/8. Chance (3/8)² + (5/8)² = 34/64.
    # κ = (.75 − .53125) / (1 − .53125) = .466667.
    got = VerificationArrays(HAND).verifier_agreement
    assert (got.people, got.answers, got.twice) == (2, 6, 4)
    assert got.same.value == pytest.approx(0.75) and got.same.n == 4
    assert got.kappa.value == pytest.approx(0.4666667)
    assert cohen_kappa_from_table([[2, 1], [1, 4]]).kappa == pytest.approx(got.kappa.value)
    # α = 1 − (8 − 1)·(coincidences apart 1 + 1)/(2·3·5) = 1 − 14/30.
    assert got.alpha.value == pytest.approx(1 - 14 / 30)


WORDS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.sampled_from("xy"), st.sampled_from("abcd")), st.booleans(),
    min_size=2, max_size=40,
)  # fmt: skip


@given(WORDS)
def test_alpha_is_krippendorffs(words: dict[tuple[int, str, str], bool]) -> None:
    answers = sorted({key[:2] for key in words})
    grid = np.full((4, len(answers)), np.nan)
    for (item, contestant, who), word in words.items():
        grid["abcd".index(who), answers.index((item, contestant))] = float(word)
    lines = [f"q{i} {c} {who} {'yes' if w else 'no'}" for (i, c, who), w in words.items()]
    got = VerificationArrays(table(*lines)).verifier_agreement
    want = krippendorff_alpha(grid)
    if want is None:
        assert got.alpha.value is None
        assert got.alpha.note == (CONSTANT_ANSWERS_NOTE if got.twice else NOT_SHARED_NOTE)
    else:
        assert got.alpha.value == pytest.approx(want)


@given(WORDS)
def test_turning_every_word_round_mirrors_the_shares(words) -> None:
    lines = [(f"q{i} {c} {who}", word) for (i, c, who), word in words.items()]
    one = VerificationArrays(table(*(f"{a} {'yes' if w else 'no'}" for a, w in lines)))
    other = VerificationArrays(table(*(f"{a} {'no' if w else 'yes'}" for a, w in lines)))
    assert one.overall.follows.value == pytest.approx(1 - other.overall.follows.value)
    assert one.verifier_agreement.same.value == other.verifier_agreement.same.value
    assert {
        key: not word for key, word in one.follows_instruction_by_majority.items()
    } == other.follows_instruction_by_majority


# ------------------------------------------------------------------------------ against judges


def test_whom_a_judge_prefers_worked_by_hand() -> None:
    # Standing: q1 x yes, y no. q2 x is split (nothing is known of it), y no. q3 x no, y yes.
    # good: q1 right twice, q3 tie and right: 3 of 3 decided, 1 tie of 4. bad: q1 wrong, q3 right.
    frame = build(
        verdicts(
            "q1 good xy x", "q1 good yx x", "q3 good xy =", "q3 good yx y", "q2 good xy y",
            "q1 bad xy y", "q3 bad xy y", "q9 bad xy x", "q1 human:ann xy y",
        )
    )  # fmt: skip
    told = verification_summary(HAND, frame)
    (good,), (bad,) = (told["judges"][name].values() for name in ("good", "bad"))
    assert good["prefers_following"].value == 1 and good["prefers_following"].n == 3
    assert good["ties"].value == pytest.approx(0.25) and good["ties"].n == 4
    assert bad["prefers_following"].value == pytest.approx(0.5)
    assert bad["prefers_following"].items == 2
    assert told["people"]["prefers_following"].value == 0
    assert VerificationArrays(HAND).follows_instruction_by_majority == {
        ("q1", "x"): True, ("q1", "y"): False, ("q2", "y"): False, ("q3", "x"): False,
        ("q3", "y"): True,
    }  # fmt: skip


def test_where_no_pair_is_mixed_no_judge_is_listed() -> None:
    frame = build(verdicts("q2 good xy y"))
    told = verification_summary(HAND, frame)
    assert told["judges"] == {} and "people" not in told
    assert (
        VerificationArrays(HAND).following_preference_measure.estimate(frame).note
        == NO_MIXED_PAIR_NOTE
    )


def test_unread_replies_noise_and_several_options_are_no_evidence() -> None:
    rows = verdicts("q1 good xy x", "q1 good yx y")
    rows[1] |= {"status": "unreadable"}
    rows.append({**rows[0], "pick": 1, "noise": True, "repeat": 1})
    rows.append({"item": "q1", "judge": "good", "shown": ("x", "y", "z"), "pick": 1})
    got = VerificationArrays(HAND).following_preference_measure.estimate(build(rows))
    assert (got.value, got.n) == (1.0, 1)


# ---------------------------------------------------------------------------------- simulated


def simulated(
    seed: int, items: int = 60
) -> tuple[dict[str, list[AnswerCheck]], list[dict[str, object]]]:
    """x follows in 70 %, y in 40 % of items; three people err in 10 %; a judge prefers the one that
    follows in 80 %, whatever the order."""
    rng = np.random.default_rng(seed)
    checks: dict[str, list[AnswerCheck]] = {}
    rows = []
    for k in range(items):
        true = {"x": rng.random() < 0.7, "y": rng.random() < 0.4}
        checks[f"q{k}"] = [
            AnswerCheck(who, name, bool(word != (rng.random() < 0.1)), "answer")
            for name, word in true.items()
            for who in "abc"
        ]
        for shown in ("xy", "yx"):
            right = "x" if true["x"] else "y"
            picked = right if rng.random() < 0.8 else "yx"["xy".index(right)]
            rows += verdicts(f"q{k} judge {shown} {picked}")
    return checks, rows


@pytest.mark.extra
def test_simulated_verifiers_are_recovered() -> None:
    # People say yes of x with .7·.9 + .3·.1 = .66, of y with .4·.9 + .6·.1 = .42; two of them say
    # the same with .9² + .1² = .82. Most of three err in .1³ + 3·.1²·.9 = .028, so that mixed pairs
    # are almost always truly mixed, and the judge's .8 is to be seen.
    covered = np.zeros(4)
    rounds, middle = 60, np.zeros(4)
    for seed in range(rounds):
        checks, rows = simulated(seed)
        verified = VerificationArrays(checks)
        by = verified.by_contestant
        got = (by["x"].follows, by["y"].follows, verified.verifier_agreement.same,
               verified.following_preference_measure.estimate(build(rows)))  # fmt: skip
        for at, (one, truth) in enumerate(zip(got, (0.66, 0.42, 0.82, 0.8), strict=True)):
            covered[at] += one.low <= truth <= one.high
            middle[at] += one.value / rounds
    assert middle[:3] == pytest.approx([0.66, 0.42, 0.82], abs=0.02)
    assert 0.76 <= middle[3] <= 0.82
    assert (covered / rounds >= 0.87).all(), covered / rounds  # 95 %, give or take three errors


@pytest.mark.records
def test_of_visit_benchs_references_529_of_578_follow(records: Path) -> None:
    # Counted from the file itself: 529 correct; of the 49 others the caption's flag comes first.
    loaded = load_source(DataSpec("visit"), records)
    got = VerificationArrays({item.id: item.checks for item in loaded.items}).by_contestant[
        REFERENCE
    ]
    with (records / "visit" / "single_image.csv").open(encoding="utf-8", newline="") as file:
        wrong = [row for row in csv.DictReader(file)
                 if row["human_ratings_gpt4_correct"].lower() != "true"]  # fmt: skip
    caption = sum(row["human_ratings_problem_in_caption"].lower() == "true" for row in wrong)
    assert len(wrong) == 49
    assert got.follows.value == pytest.approx(529 / 578) and got.follows.n == 578
    assert got.fault_caption.value == pytest.approx(caption / 49)
    # One word an item: plain Wilson.
    assert (got.follows.low, got.follows.high) == pytest.approx(
        [float(e) for e in wilson_bounds(529, 578)]
    )


@pytest.mark.parametrize(("failing", "effect"), [("y", 1 / (2 / 4)), ("", 0)])
def test_verifiers_who_always_agree_may_differ_on_other_items(failing: str, effect: float) -> None:
    """A full disagreement costs α 1/(2·yes·no): half of the answers fail, so 2. With none that
    fails α is unknown."""
    lines = [
        f"q{k} {contestant} {who} {'no' if contestant == failing else 'yes'}"
        for k in range(4) for contestant in "xy" for who in ("ann", "bob")
    ]  # fmt: skip
    got = VerificationArrays(table(*lines)).verifier_agreement.alpha
    if effect:
        assert (got.value, got.low) == pytest.approx((1, 1 - equal_items_half_width(4, effect)))
    else:
        assert got.value is None
