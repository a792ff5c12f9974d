"""Labels of comparisons, and the split of their items into learn and hold-out."""

from __future__ import annotations

from evenhand.recorded_demo import FILES
from studies.domain import Item
from studies.people.label_split import (
    CandidateRecord,
    LabelSplit,
    Look,
    draw_split,
    record_look,
    split_labels,
    stored_split,
)
from studies.people.study_labels import read_labels
from studies.store.store import Store
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


def test_recorded_verdicts_are_labelled_by_design(demo_store: Store) -> None:
    """On 64 items; five of the six pairs of an item have a better answer."""
    labels = read_labels(demo_store, FILES["second"])
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
    _, split = split_labels(store, "kept")
    assert stored_split(store, "kept") == split
    rules = CandidateRecord("p+rules", "rules", "sha1", split.learn, "writer")
    look = Look("j", "p", (rules,))
    assert len(record_look(store, "kept", look).looks) == 1
    assert len(record_look(store, "kept", look).looks) == 1
    other = Look("j", "p", (CandidateRecord("p+rules", "rules", "sha2"),))
    assert len(record_look(store, "kept", other).looks) == 2
    kept = stored_split(store, "kept")
    assert kept is not None and kept.looks[0].candidates == (rules,)
    store.delete_study("kept")
    assert stored_split(store, "kept") is None
