"""Measures of single voters: by hand, and against simulated voters of known skill."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metrics.agreement.pairwise_agreement import PeopleVotes
from metrics.estimation import row_selection
from metrics.estimation.intervals import equal_items_half_width
from metrics.estimation.multiple_comparisons import holm_adjust
from metrics.people.vote_arrays import PeerAgreement, VotesByPerson
from metrics.people.voter_flags import (
    MAX_READING_SPEED,
    MIN_VOTES,
    _fisher_p_if_own_smaller,
    _flag_disagreeing,
    _flag_inconsistent,
    _format_p_value,
    _SidePicks,
)
from metrics.people.voter_skill import MAX_PEOPLE, _skill_estimate, voter_skills
from metrics.people.voters import Voter, drop_voters, measure_voters
from metrics.win_rates.prediction_powered import corrected_win_rates
from studies.domain import Estimate
from tests.metrics.frames import build, prd
from tests.page_words import says
from tests.samples import examples


def vote(item: str, who: str, pick, shown: str = "xy", **more):
    return {
        "item": item, "judge": f"human:{who}", "prompt": "vote", "shown": shown, "pick": pick,
        "orders": 1, **more,
    }  # fmt: skip


def by_name(rows, seconds=None) -> dict[str, Voter]:
    frame = build(rows)
    if seconds is not None:
        frame = frame.assign(seconds=np.asarray(seconds, float))
    return {one.name: one for one in measure_voters(frame)}


def rules(one: Voter) -> set[str]:
    return {flag.rule for flag in one.flags}


# Three people, four pairs. ann: x x tie y; bob: x y x y (q2 shown turned, so slot 0 is y);
# cy: x on q1 only, and once more with the sides swapped: again x.
SMALL = [
    vote("q1", "ann", 0), vote("q2", "ann", 0), vote("q3", "ann", "tie"), vote("q4", "ann", 1),
    vote("q1", "bob", 0), vote("q2", "bob", 0, "yx"), vote("q3", "bob", 0), vote("q4", "bob", 1),
    vote("q1", "cy", 0, orders=2), vote("q1", "cy", 1, "yx", orders=2),
]  # fmt: skip


def test_a_person_by_hand():
    got = by_name(SMALL)
    ann, bob, cy = got["ann"], got["bob"], got["cy"]
    assert (ann.votes, ann.comparisons, cy.votes, cy.comparisons) == (4, 4, 2, 1)
    # ann decides three times, twice for the first; one vote of four is a tie.
    assert (ann.first.value, ann.first.n) == (pytest.approx(2 / 3), 3)
    assert ann.bias.value == pytest.approx(1 / 3)
    # ann saw each pair in one order, cy the only pair in both.
    assert "better answers may" in ann.first.note and ann.bias.note == ann.first.note
    assert "answers" not in cy.first.note + cy.bias.note
    assert ann.ties.value == 0.25 and bob.ties.value == 0
    # q1: bob and cy both say x. q2: bob says y. q3: tie against x. q4: y, y. (1 + 0 + 0 + 1)/4.
    assert (ann.others.value, ann.others.n) == (pytest.approx(0.5), 4)
    # cy's second vote is no second person: q1 is two of two for cy, and one pair for the others.
    assert (cy.others.value, cy.others.n) == (1.0, 1)
    assert (cy.steady.value, cy.steady.n) == (1.0, 1)
    assert ann.steady.value is None and "twice" in ann.steady.note
    assert ann.seconds is None and ann.timed == 0
    assert all(not one.flags for one in got.values())


def test_what_cannot_be_known_has_a_reason():
    unknown = [vote(f"q{k}", "ann", 0, orders=0) for k in range(3)]
    (ann,) = measure_voters(build(unknown))
    assert ann.first.value is None and "order" in ann.first.note
    assert (
        ann.bias.value is None and ann.others.value is None and "no other person" in ann.others.note
    )
    assert ann.rest is None and ann.skill.value is None
    (tied,) = measure_voters(build([vote("q1", "bob", "tie")]))
    assert tied.first.value is None and "decisive" in tied.first.note
    assert measure_voters(build([])) == []
    assert (
        measure_voters(build([{"item": "q", "shown": "xy", "pick": 0}])) == []
    )  # a machine is nobody


def test_the_first_of_three_is_held_against_one_third():
    shown = ["xyz" if k % 2 else "zyx" for k in range(30)]
    rows = [vote(f"q{k}", "ann", k % 3, shown[k]) for k in range(30)]
    rows += [vote(f"q{k}", "bob", 0, shown[k]) for k in range(30)]
    got = by_name(rows)
    assert got["ann"].bias.value == pytest.approx(0)
    assert got["bob"].bias.value == 1
    # A third of votes is expected from the others; always is far from that.
    assert rules(got["bob"]) == {"one side"} and "33" in got["bob"].flags[0].reason


def test_who_was_asked_twice_has_one_vote_and_what_was_sought_is_known():
    frame = build([*SMALL, {"item": "q1", "shown": "xy", "pick": 0}])
    once = row_selection.keep_first_votes(frame)
    # cy's second vote goes, the first of everybody and the machine's verdict stay.
    assert len(once) == len(frame) - 1
    assert (once["judge"].astype(str) == "human:cy").sum() == 1
    assert not row_selection.disputed_case_vote_mask(frame).any()
    why = ["flipped", "split", "random", *[""] * (len(frame) - 3)]
    assert row_selection.disputed_case_vote_mask(frame.assign(chosen=why)).tolist() == [
        w in why[:2] for w in why
    ]


def test_a_vote_cast_twice_moves_no_corrected_win_rate():
    rows = [vote("q1", "ann", 0), vote("q1", "bob", 1), vote("q2", "ann", 0)]
    rows += [{"item": f"q{k}", "shown": "xy", "pick": 0} for k in range(1, 5)]
    again = [*rows, vote("q1", "ann", 1, "yx")]
    plain = corrected_win_rates(build(rows))["x"].people
    assert plain.value == pytest.approx((0.5 + 1) / 2)
    assert corrected_win_rates(build(again))["x"].people == plain


# -- people whose skill is known -------------------------------------------------------------------


def simulated(people: dict[str, tuple[float, float]], items: int, seed: int, share: float = 1.0):
    """People as docs/coverage.md simulates judges: with probability b the first, else the better
    answer with probability p. Sides are drawn for each person and pair; x is better on half."""
    rng = np.random.default_rng(seed)
    better = rng.integers(0, 2, items)
    rows = []
    for who, (p, b) in people.items():
        for k in range(items):
            turned = int(rng.integers(0, 2))
            if rng.random() > share:
                continue
            right = int(better[k]) ^ turned
            pick = 0 if rng.random() < b else right if rng.random() < p else 1 - right
            rows.append(vote(f"q{k}", who, pick, "yx" if turned else "xy"))
    return rows


KNOWN = {"sure": (0.95, 0.0), "good": (0.85, 0.1), "fair": (0.75, 0.0), "first": (0.8, 0.4)}


@pytest.mark.extra
def test_people_of_known_skill_and_bias_are_recovered():
    # What shows are the implied marginals: the first with (1 + b)/2, right with b/2 + (1 − b)·p.
    seeds, hit = 50, {"bias": 0, "skill": 0}
    values: dict[str, list[float]] = {name: [] for name in KNOWN}
    for seed in range(seeds):
        for name, one in by_name(simulated(KNOWN, 120, seed)).items():
            p, b = KNOWN[name]
            for key, estimate, truth in (
                ("bias", one.bias, b), ("skill", one.skill, b / 2 + (1 - b) * p),
            ):  # fmt: skip
                hit[key] += estimate.low <= truth <= estimate.high
            values[name].append(one.skill.value)
    n = seeds * len(KNOWN)
    # 95 % of 200 intervals, give or take three standard errors.
    for key, count in hit.items():
        assert 0.90 <= count / n <= 0.995, key
    for name, (p, b) in KNOWN.items():
        assert np.mean(values[name]) == pytest.approx(b / 2 + (1 - b) * p, abs=0.02)


def test_agreement_with_the_others_is_what_skills_imply():
    # Right with .95, .85·.9 + .05 = .815 …: two people agree with s·u + (1 − s)(1 − u).
    got = by_name(simulated({"a": (0.9, 0), "b": (0.9, 0), "c": (0.6, 0)}, 3000, 1))
    assert got["c"].others.value == pytest.approx(0.9 * 0.6 + 0.1 * 0.4, abs=0.03)
    assert got["a"].others.value == pytest.approx((0.82 + 0.58) / 2, abs=0.03)
    assert got["c"].rest == pytest.approx(0.82, abs=0.03)  # a with b


# -- who stands out --------------------------------------------------------------------------------


@pytest.mark.extra
def test_nobody_stands_out_among_people_alike():
    flags = 0
    for seed in range(30):
        people = {f"p{k}": (0.8, 0.0) for k in range(6)}
        flags += sum(bool(one.flags) for one in by_name(simulated(people, 40, seed)).values())
    # Two rules at 5 % a family: at most 30 · .1 = 3 false alarms expected, far fewer for gaps.
    assert flags <= 3


def test_who_votes_by_lot_stands_out_and_is_kept():
    people = {f"p{k}": (0.9, 0.0) for k in range(4)} | {"lot": (0.5, 0.0)}
    rows = simulated(people, 60, 3)
    got = by_name(rows)
    assert {name for name, one in got.items() if one.flags} == {"lot"}
    (flag,) = got["lot"].flags
    assert flag.rule == "apart" and flag.p < 0.05
    assert says(flag.reason, "agrees", "others") and "60 comparisons" in flag.reason
    assert next(iter(measure_voters(build(rows)))).name == "lot"  # first in the list, and in it
    left = drop_voters(build(rows), ["lot"])
    assert len(left) == 240 and "lot" not in {one.name for one in measure_voters(left)}


def test_who_always_takes_one_side_stands_out():
    people = {f"p{k}": (0.85, 0.0) for k in range(3)} | {"left": (0.9, 1.0)}
    got = by_name(simulated(people, 40, 2))
    (side,) = [flag for flag in got["left"].flags if flag.rule == "one side"]
    assert says(side.reason, "first answer", "40", "40")
    assert got["left"].bias.value == 1
    mirrored = [
        {**row, "pick": 1} if row["judge"] == "human:left" else row
        for row in simulated(people, 40, 2)
    ]
    assert any(
        says(flag.reason, "second answer", "40", "40") for flag in by_name(mirrored)["left"].flags
    )


def test_a_side_that_deserves_it_is_no_bias():
    # x always stands first and is always better: everybody takes the first, nobody stands out.
    rows = [vote(f"q{k}", who, 0) for k in range(30) for who in "abc"]
    assert all(not one.flags for one in measure_voters(build(rows)))
    for one in measure_voters(build(rows)):
        assert one.first.value is None and says(one.first.note, "always", "one order")


def test_who_changes_their_mind_stands_out():
    rows = []
    for who in "abcd":
        for k in range(12):
            rows += [vote(f"q{k}", who, 0, orders=2), vote(f"q{k}", who, 1, "yx", orders=2)]
    assert all(one.steady.value == 1 for one in measure_voters(build(rows)))
    for row in rows:
        if row["judge"] == "human:d" and row["shown"] == "yx":
            row["pick"] = 0
    got = by_name(rows)
    assert got["d"].steady.value == 0
    assert "unsteady" in rules(got["d"]) and "0 of 12" in next(
        flag.reason for flag in got["d"].flags if flag.rule == "unsteady"
    )
    assert not any(got[name].flags for name in "abc")


@pytest.mark.parametrize(("length", "least"), [(1000, 2000 / MAX_READING_SPEED), (None, 1.0)])
def test_faster_than_reading(length, least):
    more = {} if length is None else {"length": (length, length)}
    rows = [vote(f"q{k}", who, k % 2, **more) for who in ("slow", "fast") for k in range(MIN_VOTES)]
    seconds = [least * 1.01] * MIN_VOTES + [least * 0.99] * MIN_VOTES
    got = by_name(rows, seconds)
    assert got["slow"].flags == () and rules(got["fast"]) == {"too fast"}
    assert got["fast"].seconds == pytest.approx(0.99 * least) and got["fast"].timed == MIN_VOTES
    # Half of them fast is not most of them; votes without a time say nothing.
    half = [least * 1.01] * MIN_VOTES + [least * 0.5, least * 2] * (MIN_VOTES // 2)
    assert by_name(rows, half)["fast"].flags == ()
    assert by_name(rows, [0.0] * 2 * MIN_VOTES)["fast"].seconds is None


def test_too_few_votes_are_never_a_reason():
    people = {f"p{k}": (1.0, 0.0) for k in range(4)} | {"lot": (0.0, 0.0)}
    got = by_name(simulated(people, MIN_VOTES - 1, 0))
    assert got["lot"].others.value == 0 and got["lot"].flags == ()


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_holm_is_that_of_scipy_where_all_were_tested(values):
    got = holm_adjust(values)
    tested = [p for p in values if p is not None]
    assert [p is None for p in got] == [p is None for p in values]
    mine = [p for p in got if p is not None]
    # Step down: the k-th smallest times what is left, never below the one before.
    order = np.argsort(tested, kind="stable")
    plain = np.minimum(1, np.maximum.accumulate(
        [tested[at] * (len(tested) - rank) for rank, at in enumerate(order)] or [0.0]
    ))  # fmt: skip
    assert [mine[at] for at in order] == pytest.approx(list(plain[: len(tested)]))


@examples(20)
@given(st.integers(0, 10**6))
def test_swapping_all_sides_turns_the_bias_and_nothing_else(seed):
    rows = simulated({"a": (0.8, 0.3), "b": (0.7, 0.0), "c": (0.9, 0.1)}, 15, seed)
    turned = [
        {**row, "shown": row["shown"][::-1], "pick": 1 - row["pick"]} for row in rows
    ]  # fmt: skip
    one, two = by_name(rows), by_name(turned)
    for name in one:
        assert two[name].bias.value == pytest.approx(-one[name].bias.value)
        assert two[name].others.value == pytest.approx(one[name].others.value)
        assert two[name].ties == one[name].ties


def test_fishers_test_is_scipys():
    for table in ((3, 10, 9, 10), (0, 5, 5, 5), (10, 10, 2, 10)):
        k, n, rest, m = table
        wanted = stats.fisher_exact([[k, n - k], [rest, m - rest]], alternative="less").pvalue
        assert _fisher_p_if_own_smaller(*table) == pytest.approx(wanted)


def test_prds_three_voters():
    got = {one.name: one for one in measure_voters(prd())}
    # 1,760 votes; 480 pairs have three. Each side with another on (434+…)/960: all pairs 754/1440.
    assert {name: one.votes for name, one in got.items()} == {
        "vote1": 800, "vote2": 480, "vote3": 480,
    }  # fmt: skip
    shares = [one.others.value for one in got.values()]
    assert np.mean(shares) == pytest.approx(754 / 1440)
    for one in got.values():
        assert one.others.n == 480
        # Those others are the two remaining people: 1440 pairs are 3 · 480.
        assert one.rest == pytest.approx(3 * 754 / 1440 - 2 * one.others.value)
        assert not one.flags and one.skill.low < one.skill.value < one.skill.high


def test_hundreds_of_people_are_counted_in_no_time():
    people = {f"p{k:03}": (0.8, 0.0) for k in range(300)}
    rows = simulated(people, 60, 5, share=0.2) + simulated({"lot": (0.5, 0.9)}, 60, 5)
    got = measure_voters(build(rows))
    assert len(got) == 301 and "lot" in {one.name for one in got if one.flags}
    assert sum(bool(one.flags) for one in got) <= 3


def cast(table: dict[int, dict[int, int]]) -> PeopleVotes:
    """Votes from case -> voter -> choice; each case is an item."""
    rows = [(case, who, choice) for case, own in table.items() for who, choice in own.items()]
    case, voter, choice = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return PeopleVotes(case, int(case.max()) + 1, case, voter, choice)


def skills(votes: PeopleVotes, people: int, options: int = 2):
    return voter_skills(votes, np.full(len(votes.case), options), people)


def test_three_people_who_share_comparisons_have_skills_by_hand():
    # 0 and 1 always agree, 2 agrees with them in 9 of 12: above chance 1, ½, ½; skills 1, 1, ½,
    # so they are right in (1 + skill)/2.
    votes = cast({k: {0: 0, 1: 0, 2: int(k < 3)} for k in range(12)})
    got = skills(votes, 3)
    assert [one.value for one in got] == pytest.approx([1, 1, 0.75], abs=1e-4)
    assert [(one.n, one.items) for one in got] == [(24, 12)] * 3
    assert got[2].low < 0.75 < got[2].high <= 1
    # Of four options: above chance (4·¾ − 1)/3 = ⅔, right in (1 + 3·⅔)/4.
    four = skills(votes, 3, 4)
    assert four[2].value == pytest.approx((1 + 3 * 2 / 3) / 4, abs=1e-4)


def test_each_voter_has_the_chance_level_of_the_own_votes():
    """Three people saw 12 comparisons of two answers, three others 12 of four; in each group the
    third agrees with the first two in 9 of 12, hence (1 + ½)/2, and (1 + 3·⅔)/4 of four."""
    votes = cast({
        k: {first: 0, first + 1: 0, first + 2: int(k % 12 < 3)}
        for first in (0, 3) for k in range(4 * first, 4 * first + 12)
    })  # fmt: skip
    got = voter_skills(votes, np.where(votes.voter < 3, 2, 4), 6)
    assert [one.value for one in got] == pytest.approx([1, 1, 0.75] * 2, abs=1e-4)
    # One more comparison of four answers, seen by nobody else, counts as the other 12 of two do:
    # the mean of 1/N is (12/2 + 1/4)/13, the skill ½ is the same.
    more = cast({**{k: {0: 0, 1: 0, 2: int(k < 3)} for k in range(12)}, 12: {2: 0}})
    mixed = voter_skills(more, np.where(more.case < 12, 2, 4), 3)
    chance = (12 / 2 + 1 / 4) / 13
    assert mixed[2].value == pytest.approx(chance + (1 - chance) / 2, abs=1e-4)


def test_a_skill_needs_ten_shared_votes_and_a_third_person_between_two():
    five = cast({k: {0: 0, 1: 0, 2: 0} for k in range(5)})
    assert all(one.value is not None for one in skills(five, 3))
    four = cast({k: {0: 0, 1: 0, 2: 0} for k in range(4)})
    assert all(one.value is None and one.note for one in skills(four, 3))
    # 0 meets 1 and 1 meets 2, but 0 and 2 never meet: two products for three skills.
    chain = cast({k: ({0: 0, 1: 0} if k < 20 else {1: 0, 2: 0}) for k in range(40)})
    assert all(one.value is None for one in skills(chain, 3))
    # A fourth person without shared votes is unknown, the others are not.
    beside = cast({k: ({0: 0, 1: 0, 2: 0} if k < 12 else {3: 0}) for k in range(14)})
    assert [one.value is None for one in skills(beside, 4)] == [False, False, False, True]
    # Ties are not decisive votes.
    tied = cast({k: {0: -1, 1: 0, 2: 0} for k in range(20)})
    assert all(one.value is None for one in skills(tied, 3))


def test_too_many_people_have_no_skills():
    votes = cast({0: {0: 0}})
    got = skills(votes, MAX_PEOPLE + 1)
    assert len(got) == MAX_PEOPLE + 1 and got[0].value is None
    assert str(MAX_PEOPLE) in got[0].note
    assert str(MAX_PEOPLE) not in skills(votes, MAX_PEOPLE)[0].note


def test_people_who_always_agree_are_not_certain_to_be_right():
    (got, *_) = skills(cast({k: dict.fromkeys(range(3), k % 2) for k in range(12)}), 3)
    assert got.value == pytest.approx(1) and got.high == 1
    assert got.low == pytest.approx(12 / (12 + stats.norm.ppf(0.975) ** 2))


def test_the_interval_of_a_skill_is_that_of_the_jackknife() -> None:
    # .7 on all items; .6, .7 and .8 without each of three groups: √(2/3 · 0.02), two degrees.
    got = _skill_estimate(np.array([0.7, 0.6, 0.7, 0.8]), 30, 12)
    half = stats.t.ppf(0.975, 2) * np.sqrt(2 / 3 * 0.02)
    assert (got.value, got.low, got.high) == pytest.approx((0.7, 0.7 - half, 1.0))
    assert (got.n, got.items) == (30, 12)
    small = _skill_estimate(np.array([0.7, 0.69, 0.7, 0.71]), 30, 12)
    assert (small.low, small.high) == pytest.approx((0.7 - half / 10, 0.7 + half / 10))
    above = _skill_estimate(np.array([1.1, 1.0, 1.2]), 30, 12)
    assert (above.value, above.high) == (1.0, 1.0)
    assert _skill_estimate(np.array([0.7, 0.7]), 30, 1).low is None


def test_a_skill_that_no_group_changes_may_hide_other_items() -> None:
    got = _skill_estimate(np.array([0.7, 0.7, 0.7]), 30, 12)
    half = equal_items_half_width(12, 0.7)
    assert (got.low, got.high) == pytest.approx((0.7 - half, min(0.7 + half, 1.0)))


def test_the_first_answer_is_expected_as_often_as_others_chose_it() -> None:
    """ann alone saw three answers: 1/3. On q2, two of three others chose x, which ann saw first and
    dan second; ann's own vote does not count."""
    rows = [
        vote("q1", "ann", 0, ("x", "y", "z")), vote("q2", "ann", 1), vote("q2", "bob", 0),
        vote("q2", "cy", 0), vote("q2", "dan", 0, "yx"),
    ]  # fmt: skip
    got = VotesByPerson(build(rows)).expected_first_probability
    assert got.tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3])


def test_first_picks_are_tested_against_the_nearer_of_what_is_expected_and_chance() -> None:
    """Never the first of three in 12 votes, where 30 % are expected: 2·0.7¹². Ten of 12 are no
    more than the 90 % expected."""
    never = _SidePicks(0, 12, 0.3, 1 / 3)
    assert (never.prefers_first_slot, never.reference_share) == (False, 0.3)
    assert never.p_value == pytest.approx(2 * 0.7**12)
    flag = never.flag_if_significant(0.01)
    assert flag is not None and says(flag.reason, "later", "12", "12", "70")
    assert never.flag_if_significant(0.05) is None and never.flag_if_significant(None) is None
    often = _SidePicks(10, 12, 0.9, 0.5)
    assert (often.prefers_first_slot, often.reference_share, often.p_value) == (True, 0.9, 1.0)
    # A quarter more than expected is enough, and less is not.
    assert _SidePicks(9, 12, 0.5, 0.5).flag_if_significant(0.01) is not None
    assert _SidePicks(8, 12, 0.5, 0.5).flag_if_significant(0.01) is None
    assert _SidePicks(8, 12, 0.25, 0.5).p_value == pytest.approx(2 * stats.binom.sf(7, 12, 0.5))


@pytest.mark.parametrize(
    ("own", "n", "others", "m", "flagged"),
    [(0, 5, 1.0, 20, True), (0, 4, 1.0, 20, False), (0, 20, 1.0, 4, False),
     (0.85, 400, 0.99, 400, False), (0.8, 400, 0.99, 400, True)],
)  # fmt: skip
def test_who_changes_more_often_needs_five_repeats_and_a_gap(own, n, others, m, flagged) -> None:
    voters: Any = SimpleNamespace(
        consistency_by_person=[Estimate(own, None, None, n), Estimate(others, None, None, m)]
    )
    one, other = _flag_inconsistent(voters)
    assert (one is not None) is flagged and other is None


@pytest.mark.parametrize(
    ("agreed", "n", "pairs", "p"),
    [(1.2, 10, 10, (2, 10, 9, 10)), (1.2, 10, 9, None), (1.2, 9, 10, None)],
)
def test_agreement_is_tested_by_whole_comparisons_in_the_persons_favour(
    agreed: float, n: int, pairs: int, p: tuple[int, int, int, int] | None
) -> None:
    """1.2 of n are counted as 2, the others' 19 of 20 as 9 of 10 pairs."""
    sums = ([agreed], [n], [19.0], [20], [pairs])
    peers = PeerAgreement(*(np.array(one) for one in sums))
    voters: Any = SimpleNamespace(peer_agreement=peers)
    (flag,) = _flag_disagreeing(voters)
    if p is None:
        assert flag is None
    else:
        assert flag is not None and flag.p == pytest.approx(_fisher_p_if_own_smaller(*p))
        assert says(flag.reason, "12", "10", "95")


def test_small_p_values_are_not_written_out():
    assert [_format_p_value(p) for p in (0.0004, 0.001, 0.0123, 0.5)] == [
        f"{p}, adjusted" for p in ("p < .001", "p .001", "p .012", "p .500")
    ]  # fmt: skip


def test_a_better_answer_that_is_always_first_is_no_preference():
    """x is better than z and always shown first: 8 first picks. x and y stand in either order, and
    the voter picks each side twice."""
    fixed = [{"item": f"f{k}", "shown": ("x", "z"), "pick": 0} for k in range(8)]
    varied = [
        {"item": f"v{k}", "shown": ("x", "y") if k % 2 else ("y", "x"), "pick": k // 2 % 2}
        for k in range(4)
    ]
    more = {"judge": "human:ann", "orders": 1}
    (ann,) = measure_voters(build([row | more for row in fixed + varied]))
    assert (ann.first.value, ann.first.n, ann.bias.value) == (0.5, 4, 0)
    assert says(ann.first.note, "one order", "left out")
    (ann,) = measure_voters(build([row | more for row in fixed]))
    assert ann.first.value is None and ann.bias.value is None


def test_in_prd_no_voter_prefers_the_first_position():
    """claude-v1 is always shown first, in 320 votes of vote1. On the other 480 comparisons vote1
    picks the first answer in 49.9 % of its decisive votes."""
    voters = {one.name: one for one in measure_voters(prd())}
    first = voters["vote1"]
    assert first.first.value == pytest.approx(0.499, abs=0.0005) and first.first.n <= 480
    assert first.bias.low < 0 < first.bias.high
