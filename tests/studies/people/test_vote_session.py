"""Vote sessions on a real store: choice of ballots, order of answers, stored votes."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.domain import AnswerCheck, Ask, Item, Judgement, Preference, Verdict
from studies.errors import StudyError
from studies.people.next_ballot import MIN_REPEAT_GAP, rotate_order
from studies.people.votable import _single_answers, disagreement_weights, votable_comparisons
from studies.people.vote_session import StaleBallot, VoteSession, list_voters, open_vote_session
from studies.spec.study import Study
from studies.store.ballot_queries import (
    Ballot,
    VotingRules,
    checks_by_item,
    count_non_random_and_all_votes,
    read_ballots,
    read_voting_rules,
    selection_reasons,
    voter_id,
)
from studies.store.rows import RequestRecord
from studies.store.store import Store

TICK = count(1_000)


def clock() -> float:
    """Every look at the clock is a second later: times differ, and tests do not wait."""
    return float(next(TICK))


def study_of(
    store: Store, items: int = 12, names: str = "xy", name: str = "s", **more: str
) -> list[Item]:
    """A study whose answers everybody may vote on; no judge is asked."""
    made = [
        Item(f"q{k}", f"question {k}", {n: f"{n} on {k}" for n in names}, **more)  # type: ignore[arg-type]
        for k in range(items)
    ]
    store.save_study(Study(name), made, ())
    return made


def enter(store: Store, who: str = "ann", mode: str = "pair", **rules: object) -> VoteSession:
    if rules:
        store.set_voting_rules("s", VotingRules(**rules))  # type: ignore[arg-type]
    return replace(open_vote_session(store, "s", voter_id(who), mode), clock=clock)  # type: ignore[arg-type]


def vote_all(at: VoteSession, most: int = 10_000, pick: int = 0) -> list[Ballot]:
    """Votes until there is nothing left; the ballots in the order they were shown."""
    seen = []
    while len(seen) < most and (ballot := at.next_ballot()) is not None:
        seen.append(at.vote(ballot.position, ballot.done, Verdict(pick)))
    return seen


# ------------------------------------------------------------------------------- order and sides


@pytest.mark.extra
def test_sides_are_balanced_within_five_per_cent_over_two_hundred_votes(store: Store) -> None:
    study_of(store, 200)
    cast = vote_all(enter(store, repeats=0.0))
    first = Counter(ballot.shown[0] for ballot in cast)
    assert len(cast) == 200 and abs(first["x"] - 100) <= 10
    assert abs(first["x"] - first["y"]) <= 1  # blocks of two: better than asked for
    turns = [ballot.shown[0] for ballot in cast]
    assert len({"".join(turns[k : k + 2]) for k in range(0, 200, 2)}) == 2  # and yet by chance


@pytest.mark.extra
def test_with_several_contestants_each_pair_and_each_contestant_is_balanced(store: Store) -> None:
    study_of(store, 34, "abcd")  # 34 items x 6 pairs: 204 votes
    cast = vote_all(enter(store, repeats=0.0))
    pairs = Counter(ballot.shown for ballot in cast)
    assert all(abs(n - pairs[shown[::-1]]) <= 1 for shown, n in pairs.items())
    left, right = (Counter(ballot.shown[slot] for ballot in cast) for slot in (0, 1))
    assert all(abs(left[who] / (left[who] + right[who]) - 0.5) <= 0.05 for who in "abcd")


def test_options_stand_in_each_slot_equally_often(store: Store) -> None:
    study_of(store, 60, "abc")
    cast = vote_all(enter(store, mode="options", repeats=0.0))
    slots = Counter((name, slot) for b in cast for slot, name in enumerate(b.shown))
    assert len(cast) == 60
    assert all(abs(slots[name, slot] - 20) <= 3 for name in "abc" for slot in range(3))  # 5 %


def test_two_people_see_the_same_item_from_both_sides(store: Store) -> None:
    study_of(store, 30)
    ann = {b.item: b.shown for b in vote_all(enter(store, repeats=0.0))}
    bob = {b.item: b.shown for b in vote_all(enter(store, "bob"))}
    other = sum(ann[item] == bob[item][::-1] for item in ann)
    assert other >= 15  # where the person's own balance leaves the choice, the other side is taken


def test_the_order_of_items_is_the_persons_own_and_the_same_each_time(store: Store) -> None:
    study_of(store, 20)
    orders = {}
    for who in ("ann", "bob"):
        orders[who] = [b.item for b in vote_all(enter(store, who, repeats=0.0), 5)]
    assert orders["ann"] != orders["bob"]
    again = Store(store.path.with_name("again.db"))
    study_of(again, 20)
    assert [b.item for b in vote_all(enter(again, "ann", repeats=0.0), 5)] == orders["ann"]
    again.close()


# ------------------------------------------------------------------------------------ assignment


@settings(max_examples=15)
@given(
    items=st.integers(1, 9),
    people=st.integers(1, 5),
    wanted=st.integers(1, 3),
    share=st.sampled_from([0.0, 0.1, 0.3, 0.5]),
    turns=st.lists(st.integers(0, 4), max_size=60),
)
def test_laws_of_assignment(tmp_path_factory, items, people, wanted, share, turns) -> None:
    """However people take turns: nobody gets a comparison twice but as a repeat with the sides
    swapped and far enough away, and nothing gets more votes than it should."""
    store = Store(tmp_path_factory.mktemp("laws") / "s.db")
    study_of(store, items)
    store.set_voting_rules("s", VotingRules(votes=wanted, repeats=share))
    for turn in [*turns, *range(people)]:
        at = enter(store, f"p{turn % people}")
        if (ballot := at.next_ballot()) is not None:
            at.vote(ballot.position, ballot.done, Verdict(turn % 2))
    cast = read_ballots(store.read_connection, "s")
    fresh = Counter(b.item for b in cast if b.chosen != "repeat" and b.state == "voted")
    assert all(n <= wanted for n in fresh.values())
    assert max(fresh.values()) - min((fresh[f"q{k}"] for k in range(items)), default=0) <= wanted
    for who in {b.voter for b in cast}:
        mine = [b for b in cast if b.voter == who]
        first = {b.item: b for b in mine if b.chosen != "repeat"}
        repeats = [b for b in mine if b.chosen == "repeat"]
        assert len(first) + len(repeats) == len(mine)
        assert len(repeats) <= share * len(first)
        for ballot in repeats:
            assert ballot.shown == rotate_order(first[ballot.item].shown)
            assert ballot.position - first[ballot.item].position > MIN_REPEAT_GAP
    store.close()


def test_each_item_gets_k_votes_the_fewest_first(store: Store) -> None:
    study_of(store, 10)
    store.set_voting_rules("s", VotingRules(votes=2, repeats=0.0, each=4))
    got = Counter(b.item for who in "abcde" for b in vote_all(enter(store, who)))
    assert got == {f"q{k}": 2 for k in range(10)}  # 5 people x 4 = 10 items x 2
    assert enter(store, "late").next_ballot() is None


def test_what_somebody_left_on_the_screen_is_free_again_after_a_while(store: Store) -> None:
    study_of(store, 1)
    store.set_voting_rules("s", VotingRules(votes=1))
    now = [0.0]
    ann = replace(enter(store), clock=lambda: now[0])
    bob = replace(enter(store, "bob"), clock=lambda: now[0])
    now[0] = 10_000.0
    assert ann.next_ballot() is not None and bob.next_ballot() is None
    now[0] += 31 * 60
    assert bob.next_ballot() is not None


def test_a_tenth_comes_again_with_the_sides_swapped(store: Store) -> None:
    study_of(store, 40)
    ann = enter(store)
    cast = vote_all(ann)
    assert [b.chosen for b in cast].count("repeat") == 4 and len(cast) == 44
    assert ann.progress() == (44, 0, 44, 4)
    frame = store.frame("s")
    twice = frame[frame["orders"] == 2]
    assert len(twice) == 8 and twice.groupby("item", observed=True)["shown"].nunique().eq(2).all()
    assert set(frame["repeat"]) == {0}


def test_three_options_move_on_by_one_when_they_come_again() -> None:
    assert rotate_order(("a", "b")) == ("b", "a") and rotate_order(("a", "b", "c")) == (
        "b",
        "c",
        "a",
    )


# -------------------------------------------------------------------------------- voting, undoing


def test_a_vote_is_a_judgement_like_any_other(store: Store) -> None:
    study_of(store)
    ann = enter(store)
    ballot = ann.next_ballot()
    assert ballot is not None
    ann.vote(ballot.position, ballot.done, Verdict(1, 2), "  B says why ")
    (made,) = store.judgements("s")
    assert made.ask.judge == "human:ann" and made.ask.shown == ballot.shown
    assert (made.ask.prompt, made.rule, made.status) == ("vote", "vote", "ok")
    assert made.verdict == Verdict(1, 2) and made.reply == "B says why"
    assert made.time > 0 and made.seconds > 0
    frame = store.frame("s")
    assert list(frame["pick"]) == [1] and list(frame["margin"]) == [2]


def test_time_is_not_recorded_where_it_is_switched_off(store: Store) -> None:
    study_of(store)
    vote_all(enter(store, timed=False), 2)
    assert [j.seconds for j in store.judgements("s")] == [0.0, 0.0]


def test_undo_takes_the_last_vote_back_and_shows_it_again(store: Store) -> None:
    study_of(store)
    ann = enter(store)
    first, second = vote_all(ann, 2)
    ann.next_ballot()  # the third is on the screen
    before = store.frame("s")
    opened = ann.undo()
    assert opened is not None and (opened.item, opened.shown) == (second.item, second.shown)
    assert len(before) == 2 and len(store.frame("s")) == 1
    assert ann.next_ballot() == replace(opened, seen=pytest.approx(opened.seen, abs=60))  # type: ignore[arg-type]
    ann.vote(opened.position, opened.done, Verdict("tie", 0))
    assert [j.verdict.pick for j in store.judgements("s") if j.verdict] == [0, "tie"]
    assert ann.progress().voted == 2
    assert first.key != second.key


def test_undo_of_an_older_vote_is_seen_by_the_frame(store: Store) -> None:
    """Another's vote is newer: the highest seq stays as it is, and yet the frame is another."""
    study_of(store)
    ann = enter(store)
    vote_all(ann, 1)
    vote_all(enter(store, "bob"), 1)
    assert len(store.frame("s")) == 2
    ann.undo()
    assert list(store.frame("s")["judge"]) == ["human:bob"]


def test_undo_and_vote_again_counts_once_and_orders_follow(store: Store) -> None:
    study_of(store, 6)
    ann = enter(store, repeats=0.2)
    cast = vote_all(ann)
    assert cast[-1].chosen == "repeat" and len(cast) == 7
    assert sorted(store.frame("s")["orders"]) == [1] * 5 + [2] * 2
    ann.undo()
    assert sorted(store.frame("s")["orders"]) == [1] * 6
    vote_all(ann)
    assert sorted(store.frame("s")["orders"]) == [1] * 5 + [2] * 2


def test_nothing_to_undo(store: Store) -> None:
    study_of(store)
    assert enter(store).undo() is None


def test_going_back_and_voting_again_replaces_the_vote(store: Store) -> None:
    study_of(store)
    ann = enter(store)
    first, second = vote_all(ann, 2)
    third = ann.next_ballot()
    assert third is not None
    back = ann.show_previous_ballot(third.position)
    assert back is not None and back.position == second.position
    assert ann.show_previous_ballot(first.position) is None
    ann.vote(back.position, back.done, Verdict(1))
    picks = [j.verdict.pick for j in store.judgements("s") if j.verdict]
    assert picks == [0, 1] and ann.show_following_done_ballot(back.position) is None
    assert ann.show_following_done_ballot(first.position) is not None


def test_skipped_ballots_wait_until_they_are_asked_for(store: Store) -> None:
    study_of(store, 3)
    ann = enter(store)
    ballot = ann.next_ballot()
    assert ballot is not None
    ann.skip(ballot.position, ballot.done)
    assert len(vote_all(ann)) == 2 and ann.next_ballot() is None
    assert ann.progress() == (2, 1, 3, 0)
    assert ann.reopen_skipped() == 1
    opened = ann.next_ballot()
    assert opened is not None and opened.item == ballot.item


def test_resume_by_name(store: Store) -> None:
    study_of(store)
    left = vote_all(enter(store), 3)
    on_screen = enter(store).next_ballot()
    later = Store(store.path)
    again = enter(later)
    assert again.progress().voted == len(left)
    resumed = again.next_ballot()
    assert resumed is not None and on_screen is not None
    assert (resumed.position, resumed.shown) == (on_screen.position, on_screen.shown)
    later.close()


def test_one_name_in_two_windows_votes_once(store: Store) -> None:
    study_of(store)
    here, there = enter(store), enter(store)
    one, two = here.next_ballot(), there.next_ballot()
    assert one is not None and two is not None and one.position == two.position
    here.vote(one.position, one.done, Verdict(0))
    with pytest.raises(StaleBallot, match="another window"):
        there.vote(two.position, two.done, Verdict(1))
    (made,) = store.judgements("s")
    assert made.verdict == Verdict(0)


def test_people_in_threads_vote_at_once_and_nothing_is_lost(store: Store) -> None:
    study_of(store, 15)
    store.set_voting_rules("s", VotingRules(votes=2, repeats=0.2))
    faults: list[BaseException] = []

    def sit(who: str) -> None:
        try:
            vote_all(enter(store, who))
        except BaseException as error:
            faults.append(error)

    people = [threading.Thread(target=sit, args=(who,)) for who in ("ann", "bob", "cat", "dan")]
    for thread in people:
        thread.start()
    for thread in people:
        thread.join(60)
    assert faults == []
    cast = [b for b in read_ballots(store.read_connection, "s") if b.state == "voted"]
    fresh = Counter(b.item for b in cast if b.chosen != "repeat")
    assert fresh == {f"q{k}": 2 for k in range(15)}
    assert len(list(store.judgements("s"))) == len(cast) == len({b.key for b in cast})


# ------------------------------------------------------------------------------------ other forms


def test_a_verification_is_a_check_and_no_judgement(store: Store) -> None:
    study_of(store, 2, reference="the checked answer")
    ann = enter(store, mode="verify")
    ballot = ann.next_ballot()
    assert ballot is not None and ballot.shown == ("@reference",)
    ann.store_verification(
        ballot.position, ballot.done, AnswerCheck("", "", False, "caption", True), "cut off"
    )
    assert list(store.judgements("s")) == []
    said = AnswerCheck("human:ann", "@reference", False, "caption", True)
    assert checks_by_item(read_ballots(store.read_connection, "s")) == {ballot.item: (said,)}
    ann.undo()
    assert checks_by_item(read_ballots(store.read_connection, "s")) == {}


def test_without_references_the_answers_are_verified(store: Store) -> None:
    study_of(store, 2)
    units = votable_comparisons(store, "s", "verify", VotingRules())
    assert {unit.names for unit in units} == {("x",), ("y",)} and len(units) == 4
    study_of(store, 2, reference="r")
    assert {
        u.names for u in votable_comparisons(store, "s", "verify", VotingRules(whom="answers"))
    } == {("x",), ("y",)}


def test_what_has_no_text_cannot_be_voted_on(store: Store) -> None:
    store.save_study(Study("s"), [Item("q", "", {}), Item("r", "why?", {"x": "a", "y": ""})], ())
    assert (
        enter(store).next_ballot() is None and enter(store, mode="verify").next_ballot() is not None
    )


def test_only_pairs_that_judges_are_asked_about(store: Store) -> None:
    item = Item("q", "why?", {"x": "a", "y": "b", "z": "c"})
    ask = Ask("k", "q", "gpt", "p", ("z", "x"), ("A", "B"))
    store.save_study(Study("s"), [item], [(ask, RequestRecord("k", "e", "m", "sha", "{}"))])
    assert [unit.names for unit in votable_comparisons(store, "s", "pair", VotingRules())] == [
        ("x", "z")
    ]
    assert [unit.names for unit in votable_comparisons(store, "s", "options", VotingRules())] == [
        ("x", "z")
    ]


# ------------------------------------------------------------------------------ what is voted on


def judged(store: Store, said: dict[str, dict[str, str]]) -> None:
    """said[item][judge] is what the judge picks with x first, then with y first: "xx", "xy"."""
    items = [Item(k, f"question {k}", {"x": "a", "y": "b"}) for k in said]
    rows = []
    for item, by in said.items():
        for judge, words in by.items():
            for shown, word in zip((("x", "y"), ("y", "x")), words, strict=True):
                ask = Ask(f"{item}{judge}{shown}", item, judge, "p", shown, ("A", "B"), orders=2)
                pick = Verdict("tie", 0) if word == "=" else Verdict(shown.index(word))
                rows.append(Judgement(ask, "ok", pick))
    store.save_study(Study("s"), items, (), recorded=rows, only_recorded=True)


def test_where_orders_flip_and_where_judges_disagree(store: Store) -> None:
    # q0: both say x, twice. q1: one flips (its two orders make a tie), the other says x. q2: nobody
    # flips, one x, one y. q3: both flip, both are ties.
    judged(store, {
        "q0": {"a": "xx", "b": "xx"}, "q1": {"a": "xy", "b": "xx"},
        "q2": {"a": "xx", "b": "yy"}, "q3": {"a": "xy", "b": "xy"},
    })  # fmt: skip
    xy = ("x", "y")
    assert disagreement_weights(store, "s", "flipped") == {("q1", xy): 1, ("q3", xy): 2}
    assert disagreement_weights(store, "s", "split") == {("q1", xy): 1, ("q2", xy): 1}
    assert len(votable_comparisons(store, "s", "pair", VotingRules())) == 4


def test_votes_say_why_they_were_chosen(store: Store) -> None:
    judged(store, {f"q{k}": {"a": "xy" if k < 3 else "xx"} for k in range(8)})
    vote_all(enter(store, choose="flipped", repeats=0.0))
    assert count_non_random_and_all_votes(store.read_connection, "s") == (3, 3)
    vote_all(enter(store, choose="random", repeats=0.0))
    assert count_non_random_and_all_votes(store.read_connection, "s") == (3, 8)
    cast = {b.key: b.item for b in read_ballots(store.read_connection, "s")}
    reasons = selection_reasons(store.read_connection, "s")
    assert {cast[k] for k, why in reasons.items() if why == "flipped"} == {"q0", "q1", "q2"}


def test_a_repeat_of_a_chosen_one_was_chosen_too(store: Store) -> None:
    judged(store, {f"q{k}": {"a": "xy"} for k in range(7)})
    cast = vote_all(enter(store, choose="split", repeats=0.5))
    assert cast == []  # one judge alone disagrees with nobody
    cast = vote_all(enter(store, choose="flipped", repeats=0.5))
    assert [b.chosen for b in cast].count("repeat") == 3
    assert set(selection_reasons(store.read_connection, "s").values()) == {
        "flipped"
    } and count_non_random_and_all_votes(store.read_connection, "s") == (10, 10)


# ---------------------------------------------------------------------- a study that is saved again


def test_votes_outlive_a_study_that_is_saved_again(store: Store) -> None:
    items = study_of(store, 8)
    cast = vote_all(enter(store, repeats=0.2))
    before = store.frame("s")
    store.save_study(Study("s"), items, (), plan_sha="other")
    assert store.frame("s").drop(columns="seq").equals(before.drop(columns="seq"))
    assert enter(store).progress().voted == len(cast)


def test_votes_on_items_that_leave_come_back_with_them(store: Store) -> None:
    items = study_of(store, 8)
    cast = vote_all(enter(store, repeats=0.0))
    store.save_study(Study("s"), items[:3], (), plan_sha="less")
    assert len(store.frame("s")) == 3
    store.save_study(Study("s"), items, (), plan_sha="all")
    assert {j.ask.key for j in store.judgements("s")} == {ballot.key for ballot in cast}


def test_a_vote_on_other_words_does_not_count_for_these(store: Store) -> None:
    items = study_of(store, 2)
    vote_all(enter(store, repeats=0.0))
    changed = replace(items[0], responses={"x": "something else", "y": "y on 0"})
    store.save_study(Study("s"), [changed, items[1]], (), plan_sha="new words")
    assert list(store.frame("s")["item"]) == ["q1"]


def test_a_plan_that_keeps_recorded_votes_holds_each_once(store: Store) -> None:
    items = study_of(store, 4)
    vote_all(enter(store, repeats=0.0))
    store.save_study(
        Study("s"), items, (), plan_sha="2", recorded=list(store.recorded_judgements("s"))
    )
    assert len(store.frame("s")) == 4


def test_deleting_a_study_takes_its_votes_and_ballots(store: Store) -> None:
    items = study_of(store, 4)
    vote_all(enter(store))
    store.save_study(Study("s"), items[:1], (), plan_sha="less")
    assert store.delete_study("s") == 4
    for table in ("ballots", "judgements", "replies", "plan"):
        assert store.read(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_who_voted_in_the_file_is_not_asked_the_same_again(store: Store) -> None:
    said = Preference("ann", ("x", "y"), "x")
    items = [
        Item(f"q{k}", "why?", {"x": "a", "y": "b"}, human=(said,) if k else ()) for k in (0, 1)
    ]
    row = Judgement(Ask("k", "q1", "human:ann", "vote", ("x", "y"), ("A", "B")), "ok", Verdict(0))
    store.save_study(Study("s"), items, (), recorded=[row], only_recorded=True)
    assert [b.item for b in vote_all(enter(store))] == ["q0"]
    assert {b.item for b in vote_all(enter(store, "bob"))} == {"q0", "q1"}


# ---------------------------------------------------------------------------------- rules and names


def test_rules_are_kept_with_the_study(store: Store) -> None:
    study_of(store)
    assert read_voting_rules(store.read_connection, "s") == VotingRules()
    store.set_voting_rules(
        "s", VotingRules("levels", "split", 5, 0.25, 40, timed=False, reveal=True)
    )
    assert read_voting_rules(store.read_connection, "s") == VotingRules(
        "levels", "split", 5, 0.25, 40, timed=False, reveal=True
    )
    assert read_ballots(store.read_connection, "s") == [] and enter(store).mode == "levels"
    study_of(store, 3)
    assert read_voting_rules(store.read_connection, "s").votes == 5


def test_another_form_replaces_the_open_ballot_and_keeps_votes(store: Store) -> None:
    study_of(store, 4)
    ann = enter(store)
    vote_all(ann, 2)
    ann.next_ballot()
    ballot = enter(store, mode="levels").next_ballot()
    assert ballot is not None and ballot.mode == "levels" and ballot.position == 2
    assert [b.mode for b in read_ballots(store.read_connection, "s")] == ["pair", "pair", "levels"]


@pytest.mark.parametrize(
    "rules", [{"votes": 0}, {"repeats": 0.9}, {"mode": "ranking"}, {"choose": "best"}, {"each": -1}]
)
def test_rules_that_cannot_be_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(StudyError, match="voting: "):
        VotingRules(**rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "   ", "a" * 61, "an\x00n", "human:", " human: "])
def test_names_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(StudyError, match="name"):
        voter_id(name)


def test_names_are_tidied() -> None:
    assert voter_id("  Ann   Lee ") == "human:Ann Lee" == voter_id("human:Ann Lee")


def test_a_pick_that_is_not_on_the_ballot_is_refused(store: Store) -> None:
    study_of(store)
    ann = enter(store)
    ballot = ann.next_ballot()
    assert ballot is not None
    with pytest.raises(StudyError, match="no answer 6"):
        ann.vote(ballot.position, ballot.done, Verdict(5))
    assert list(store.judgements("s")) == []


def test_who_votes_is_listed_the_last_first(store: Store) -> None:
    study_of(store)
    vote_all(enter(store), 3)
    bob = enter(store, "bob")
    ballot = bob.next_ballot()
    assert ballot is not None
    bob.skip(ballot.position, ballot.done)
    assert [(v.voter, v.voted, v.skipped) for v in list_voters(store, "s")] == [
        ("human:bob", 0, 1),
        ("human:ann", 3, 0),
    ]


def test_voting_again_after_a_text_has_changed_deletes_the_vote_on_the_former_text(
    store: Store,
) -> None:
    items = study_of(store, 2)
    first, second = vote_all(enter(store, repeats=0.0))
    changed = [
        replace(one, responses={"x": "new words", "y": one.responses["y"]}) if one.id == first.item
        else one for one in items
    ]  # fmt: skip
    store.save_study(Study("s"), changed, (), plan_sha="new words")
    again = enter(store, repeats=0.0).vote(first.position, first.done, Verdict(1))
    found = store.read("SELECT key FROM judgements").fetchall()
    assert {key for (key,) in found} == {again.key, second.key} and again.key != first.key


def test_votes_stay_with_a_study_that_is_renamed_and_saved_again(store: Store) -> None:
    """The keys of votes contain the name of the study. A vote on a text that has changed since is
    left out, as without the new name."""
    items = study_of(store, 4)
    cast = vote_all(enter(store, repeats=0.0))
    store.save_study(Study("s"), [replace(items[0], instruction="changed"), *items[1:]], ())
    before = store.frame("s")
    assert len(cast) == 4 and len(before) == 3
    store.rename_study("s", "new")
    assert len(store.frame("new")) == 3
    store.save_study(Study("new"), [replace(items[0], instruction="changed"), *items[1:]], ())
    after = store.frame("new")
    columns = ["item", "judge", "shown", "pick", "orders"]
    assert after[columns].astype(str).values.tolist() == before[columns].astype(str).values.tolist()
    at = open_vote_session(store, "new", voter_id("ann"), "pair")
    assert at.next_ballot() is None or at.next_ballot().item == "q0"


def test_a_vote_on_an_item_that_has_changed_is_refused_and_a_skip_keeps_a_vote(store):
    items = study_of(store, 2)
    at = enter(store)
    first = at.next_ballot()
    done = at.vote(first.position, first.done, Verdict(0))
    at.skip(done.position, done.done)
    assert [ballot.state for ballot in read_ballots(store.read_connection, "s", at.voter)] == [
        "voted"
    ]
    second = at.next_ballot()
    with pytest.raises(StudyError, match="no answer 3"):
        at.vote(second.position, second.done, Verdict(2))
    changed = [replace(item, responses={"x": "only"}) for item in items]
    store.save_study(Study("s"), changed, ())
    with pytest.raises(StudyError, match="has changed"):
        at.vote(second.position, second.done, Verdict(0))
    at.skip(second.position, second.done)
    states = [ballot.state for ballot in read_ballots(store.read_connection, "s", at.voter)]
    assert sorted(states) == ["skipped", "voted"]


def test_only_answers_of_the_study_s_contestants_are_voted_on():
    answered = {"q": {"y", "x", "@reference"}, "r": {"z"}}
    assert [(one.item, one.names) for one in _single_answers(answered, set())] == [
        ("q", ("x",)), ("q", ("y",)), ("r", ("z",)),
    ]  # fmt: skip
    assert [(one.item, one.names) for one in _single_answers(answered, {"y"})] == [("q", ("y",))]
