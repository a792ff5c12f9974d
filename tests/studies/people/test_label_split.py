"""Labels of comparisons, and the split of their items into learn and hold-out."""

from __future__ import annotations

import json
from dataclasses import asdict

from evenhand.recorded_demo import FILES
from studies.domain import AnswerLabel, Ask, Item, Judgement, Verdict
from studies.people.label_split import (
    CandidateRecord,
    LabelSplit,
    Look,
    PromptToImprove,
    draw_split,
    find_prompt_improved_by,
    load_labels_and_extend_split,
    record_prompt_comparison,
    stored_split,
)
from studies.people.study_labels import (
    StudyLabels,
    keep_only_labelled_answers,
    label_answers,
    read_labels,
)
from studies.spec.derived_names import PILOT_MARK, candidate_study_name, writer_study_name
from studies.spec.study import Study
from studies.store.queries.alignment_queries import write_label_split_text
from studies.store.store import Store
from studies.texts.twin_families import twin_name
from tests.voted_studies import Sheet


def items_of(count: int, per_question: int = 1) -> dict[str, Item]:
    found = {}
    for k in range(count):
        meta = {"question": f"Q{k // per_question}"} if per_question > 1 else {}
        found[f"q{k}"] = Item(f"q{k}", "?", {"x": "1", "y": "2"}, meta=meta)
    return found


def sizes(split: LabelSplit) -> tuple[int, int]:
    assert not set(split.learn) & set(split.hold_out)
    return len(split.learn), len(split.hold_out)


def test_labels_are_the_majority_and_votes_without_one_are_disputed(store: Store) -> None:
    sheet = Sheet("votes")
    for item in ("q1", "q2", "q3", "q4"):
        sheet.both(item, "j", "xx")
    sheet.votes("q1", ann="x", bob="x", eve="y").votes("q2", ann="x", bob="y")
    sheet.votes("q3", ann="=", bob="=")
    sheet.save(store)
    labels = read_labels(store, "votes")
    assert [(o.item, o.winner, o.votes) for o in labels.comparisons] == [("q1", "x", 3)]
    assert [item for item, *_ in labels.disputed] == ["q2", "q3"]


def test_a_known_answer_counts_before_votes(store: Store) -> None:
    sheet = Sheet("known").both("q1", "j", "xx").votes("q1", ann="x", bob="x")
    sheet.save(store, design={"q1": "y"})
    assert [one.winner for one in read_labels(store, "known").comparisons] == ["y"]


def test_recorded_verdicts_are_labelled_by_design(recorded_demos: Store) -> None:
    """On 64 items; five of the six pairs of an item have a better answer."""
    labels = read_labels(recorded_demos, FILES["second"])
    assert len(labels.comparisons) == 64 * 5 and labels.disputed == ()


def test_half_of_the_items_are_held_out_and_thirty_if_ten_remain() -> None:
    items = items_of(200)
    names = list(items)
    assert sizes(draw_split(items, names, None)) == (100, 100)
    assert sizes(draw_split(items, names[:60], None)) == (30, 30)
    assert sizes(draw_split(items, names[:45], None)) == (15, 30)
    assert sizes(draw_split(items, names[:20], None)) == (10, 10)
    assert draw_split(items, names, None) == draw_split(items, names, None)
    assert draw_split(items, names, None, seed=8).learn != draw_split(items, names, None).learn


def test_items_never_change_their_part_when_labels_are_added() -> None:
    items = items_of(100)
    first = draw_split(items, list(items)[:40], None)
    later = draw_split(items, list(items), first, seed=99)
    assert later.seed == first.seed
    assert set(first.learn) < set(later.learn)
    assert set(first.hold_out) < set(later.hold_out)
    assert sizes(later) == (50, 50)


def test_items_of_one_question_are_in_the_same_part() -> None:
    items = items_of(80, per_question=4)
    split = draw_split(items, list(items), None)
    questions = [
        {items[one].meta["question"] for one in part} for part in (split.learn, split.hold_out)
    ]
    assert not questions[0] & questions[1]
    more = items_of(84, per_question=4) | {"new": Item("new", "?", {}, meta={"question": "Q0"})}
    later = draw_split(more, [*items, "new"], split)
    assert ("new" in later.learn) == ("q0" in later.learn)


def test_the_split_is_stored_and_the_same_candidates_are_no_second_look(store: Store) -> None:
    sheet = Sheet("kept")
    for k in range(4):
        sheet.both(f"q{k}", "j", "xx")
    sheet.save(store, design={f"q{k}": "x" for k in range(4)})
    _, split = load_labels_and_extend_split(store, "kept")
    assert stored_split(store, "kept") == split
    rules = CandidateRecord("p+rules", "rules", "sha1", split.learn, "writer")
    look = Look("j", "p", (rules,))
    assert len(record_prompt_comparison(store, "kept", look).looks) == 1
    assert len(record_prompt_comparison(store, "kept", look).looks) == 1
    other = Look("j", "p", (CandidateRecord("p+rules", "rules", "sha2"),))
    assert len(record_prompt_comparison(store, "kept", other).looks) == 2
    kept = stored_split(store, "kept")
    assert kept is not None and kept.looks[0].candidates == (rules,)
    store.delete_study("kept")
    assert stored_split(store, "kept") is None


# ---- single answers ------------------------------------------------------------------------------


def answer_labels(
    labels: dict[str, list[tuple[object, str]]], votes: dict[str, dict[str, float]], kind: str
) -> StudyLabels:
    """Labels of one answer x to each item: labels are (value, source), votes are by person."""
    items = {
        name: Item(name, "?", {"x": "1"}, labels=tuple(
            AnswerLabel("x", value, source) for value, source in labels.get(name, ())))
        for name in {**labels, **votes}
    }  # fmt: skip
    options = ("fail", "pass") if kind == "pass" else tuple("12345")
    asks = [Ask(f"j{name}", name, "j", "p", ("x",), options) for name in items]
    asks.append(Ask("twin", next(iter(items)), "j", "p", (twin_name("x", "crowd"),), options))
    cast = [
        Judgement(Ask(f"{who}{name}", name, f"human:{who}", "vote", ("x",), options), "ok",
                  Verdict(scores=(score,)))
        for name, by in votes.items()
        for who, score in by.items()
    ]  # fmt: skip
    return label_answers(items, asks, cast, kind)


def test_labels_of_answers_count_before_votes_and_even_ones_are_disputed() -> None:
    got = answer_labels(
        {"q1": [("fail", "gold"), ("pass", "ann"), ("pass", "bob")], "q2": [(3.0, "gold")],
         "q3": [("pass", "ann"), ("fail", "bob")]},
        {"q1": {"eve": 1.0}, "q4": {"ann": 1.0, "bob": 1.0, "eve": 0.0},
         "q5": {"ann": 1.0, "bob": 0.0}},
        "pass",
    )  # fmt: skip
    found = [(one.item, one.value, one.votes) for one in got.answers]
    assert found == [("q1", 0.0, 0), ("q4", 1.0, 3)], "q2 has a score, no pass or fail"
    assert got.disputed == (("q3", "x"), ("q5", "x")) and any(one.votes for one in got.cases)


def test_labels_of_scores_are_means_and_never_disputed() -> None:
    got = answer_labels(
        {"q1": [(2.0, "ann"), (5.0, "bob")], "q2": [("pass", "gold")]},
        {"q3": {"ann": 1.0, "bob": 4.0}},
        "score",
    )
    assert [(one.item, one.value) for one in got.answers] == [("q1", 3.5), ("q3", 2.5)]
    assert got.disputed == ()


def test_held_out_answers_keep_their_labels_and_nothing_else() -> None:
    got = answer_labels({"q1": [("fail", "ann")]}, {}, "pass")
    item = Item("q1", "?", {"x": "1", "y": "2"}, labels=(AnswerLabel("y", "pass"),))
    kept = keep_only_labelled_answers(item, got)
    assert dict(kept.responses) == {"x": "1"}
    assert kept.labels == (AnswerLabel("x", "fail"),)


def test_items_of_another_kind_of_label_keep_their_part() -> None:
    """Sixty items with labelled comparisons are split. Forty with labelled answers, twenty of them
    new, join without moving any; of the forty, thirty are held out as far as the new ones reach."""
    items = items_of(100)
    names = list(items)
    first = draw_split(items, names[:60], None)
    both = draw_split(items, names[40:80], first)
    assert both.select_items(names[:60]) == first
    before, own = first.select_items(names[40:60]), both.select_items(names[40:80])
    assert len(own.hold_out) == min(30, len(before.hold_out) + 20)
    assert sum(sizes(own)) == 40 and sum(sizes(both)) == 80


def test_studies_made_from_a_study_are_renamed_with_it(store: Store) -> None:
    made = [f"s{PILOT_MARK}repeats", candidate_study_name("s", "j", "p"),
            writer_study_name("s", "p", "w")]  # fmt: skip
    taken = [f"new{PILOT_MARK}repeats"]
    others = ["s: own", candidate_study_name("s: own", "j", "p"), "sand", *taken]
    for name in ("s", *made, *others):
        store.save_study(Study(name), [], ())
    write_label_split_text(
        store, "s", json.dumps(asdict(LabelSplit(1, (), (), (Look("j", "p", ()),))))
    )
    store.rename_study("s", "new")
    follow = [candidate_study_name("new", "j", "p"), writer_study_name("new", "p", "w")]
    assert {line.name for line in store.studies()} == {"new", *follow, *others, made[0]}
    assert [store.study(name).name for name in follow] == follow
    assert find_prompt_improved_by(store, follow[0]) == PromptToImprove("new", "j", "p")


def test_a_study_of_rules_or_of_another_prompt_is_told_from_a_candidate(store: Store) -> None:
    store.save_study(Study("s"), [], ())
    looks = tuple(Look("j", prompt, ()) for prompt in ("p", "other"))
    write_label_split_text(store, "s", json.dumps(asdict(LabelSplit(1, (), (), looks))))
    for name, found in (
        (candidate_study_name("s", "j", "other"), PromptToImprove("s", "j", "other")),
        (writer_study_name("s", "p by q", "w"), PromptToImprove("s", "w", "p by q")),
        (candidate_study_name("s", "j", "none"), None),
        ("s: own", None),
        ("s", None),
    ):
        assert find_prompt_improved_by(store, name) == found
