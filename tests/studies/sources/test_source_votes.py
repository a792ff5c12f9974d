"""Votes on items become human judgements; preferences by design do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.planning.plan import make_plan, save_plan
from metrics.summary.summary import summarise_frame
from studies.domain import Ask, Item, Judgement, Preference
from studies.exchange.unsaved_study import frame_from_source
from studies.people.item_votes import has_votes, votes_as_judgements
from studies.sources.building.recorded_verdict import ORDER_UNKNOWN
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec, parse_study
from studies.store.store import Store
from tests.page_words import says
from tests.studies.sources.source_files import jsonl


def item(*human: Preference, names: str = "xyz") -> Item:
    return Item("q1", "why?", {name: f"{name} says" for name in names}, human=human)


def asks(*shown: str) -> list[Ask]:
    return [Ask(f"k{k}", "q1", "j", "p", tuple(names), ("A",) * len(names))
            for k, names in enumerate(shown)]  # fmt: skip


def told(votes: list[Judgement]) -> list[tuple[str, str, object, int]]:
    return [(v.ask.judge, "".join(v.ask.shown), v.verdict and v.verdict.pick, v.ask.orders)
            for v in votes]  # fmt: skip


def test_a_vote_keeps_the_order_it_was_given_in() -> None:
    votes = votes_as_judgements([item(Preference("ann", ("y", "x"), "x", 2))], "study")
    assert told(votes) == [("human:ann", "yx", 1, 1)]
    verdict = votes[0].verdict
    assert verdict is not None and verdict.margin == 2
    assert votes[0].ask.key.startswith("r") and votes[0].status == "ok"


def test_without_an_order_names_stand_in_alphabetical_order_and_say_nothing_of_place() -> None:
    votes = votes_as_judgements([item(Preference("ann", None, "y"), names="yx")], "study")
    assert told(votes) == [("human:ann", "xy", 1, ORDER_UNKNOWN)]


def test_the_design_of_the_data_is_no_person() -> None:
    designed = item(Preference("by-design", None, "x"))
    assert votes_as_judgements([designed], "study") == [] and not has_votes([designed])
    assert has_votes([item(Preference("ann", None, "x"))])


def test_a_ranking_is_what_it_says_about_the_answers_that_are_asked_about() -> None:
    ranked = item(Preference("ann", None, None, ranks={"x": 2, "y": 1, "z": 3}))
    # Nothing is asked: the best of all. All three are shown: the same.
    assert told(votes_as_judgements([ranked], "s")) == [("human:ann", "xyz", 1, 0)]
    assert told(votes_as_judgements([ranked], "s", asks("zxy", "xyz"))) == [
        ("human:ann", "xyz", 1, 0)
    ]
    # Pairs are asked: one preference for each.
    assert told(votes_as_judgements([ranked], "s", asks("xy", "yx", "xz"))) == [
        ("human:ann", "xy", 1, 0),
        ("human:ann", "xz", 0, 0),
    ]


def test_equal_ranks_are_a_tie() -> None:
    ranked = item(Preference("ann", None, None, ranks={"x": 1, "y": 1, "z": 2}))
    assert told(votes_as_judgements([ranked], "s", asks("xy", "xyz", "xz"))) == [
        ("human:ann", "xy", "tie", 0),
        ("human:ann", "xyz", "tie", 0),
        ("human:ann", "xz", 0, 0),
    ]


def test_a_pick_out_of_three_says_nothing_about_the_other_two() -> None:
    picked = item(Preference("ann", ("z", "x", "y"), "x"))
    assert told(votes_as_judgements([picked], "s", asks("xy", "yz"))) == [("human:ann", "xy", 0, 0)]
    assert told(votes_as_judgements([picked], "s")) == [("human:ann", "zxy", 1, 1)]


def test_votes_on_what_nobody_is_asked_about_are_left_out() -> None:
    other = item(Preference("ann", ("x", "z"), "x"))
    assert votes_as_judgements([other], "s", asks("xy")) == []


def test_an_answer_to_another_question_is_worse_than_any() -> None:
    ranked = item(Preference("ann", None, None, ranks={"x": 2, "y": 1, "z": 3}))
    shown = ("@unrelated", "x", "z")
    (vote,) = votes_as_judgements([ranked], "s", [Ask("k", "q1", "j", "p", shown, ("1", "2", "3"))])
    assert told([vote]) == [("human:ann", "@unrelatedxz", 1, 0)]


def test_who_votes_twice_is_a_repeat_and_two_orders_are_two() -> None:
    same = Preference("ann", ("x", "y"), "x")
    votes = votes_as_judgements([item(same, same, Preference("ann", ("y", "x"), "y"))], "s")
    assert [(v.ask.repeat, v.ask.orders) for v in votes] == [(0, 2), (1, 2), (0, 2)]
    assert len({v.ask.key for v in votes}) == 3


def test_people_whose_verdicts_the_file_holds_are_not_counted_twice() -> None:
    one = item(Preference("ann", ("x", "y"), "x"), Preference("bob", ("x", "y"), "y"))
    anns = [v for v in votes_as_judgements([one], "s") if v.ask.judge == "human:ann"]
    assert [v.ask.judge for v in votes_as_judgements([one], "s", existing=anns)] == ["human:bob"]


@given(st.permutations(["x", "y", "z"]), st.permutations(["x", "y", "z"]))
def test_a_vote_says_the_same_whatever_the_order_it_was_given_in(
    shown: list[str], ranking: list[str]
) -> None:
    ranks = {name: place for place, name in enumerate(ranking, 1)}
    by_rank = votes_as_judgements(
        [item(Preference("a", None, None, ranks=ranks))], "s", asks("".join(shown))
    )
    by_pick = votes_as_judgements([item(Preference("a", tuple(shown), ranking[0]))], "s")
    best = [v.ask.shown[v.verdict.pick] for v in (*by_rank, *by_pick) if v.verdict]  # type: ignore[index]
    assert best == [ranking[0]] * 2


STUDY = """
name: mine
data: {source: items.jsonl}
judges: [{name: sim, model: simulated, accuracy: 1}]
prompts: [brief-letters]
"""


def line(id: str, *human: dict[str, object]) -> dict[str, object]:
    return {"id": id, "instruction": "why?", "responses": {"x": "so", "y": "thus"},
            "human": list(human)}  # fmt: skip


def test_a_live_study_holds_the_votes_of_its_items(store: Store, tmp_path: Path) -> None:
    ann = {"judge": "ann", "shown": ["x", "y"], "picked": "x"}
    bob = {"judge": "bob", "shown": None, "picked": "y"}
    jsonl(tmp_path / "items.jsonl", [line("q1", ann, bob), line("q2", ann)])
    plan = make_plan(parse_study(STUDY, folder=tmp_path))
    save_plan(plan, store)
    people = [j for j in store.judgements("mine") if j.ask.judge.startswith("human:")]
    assert [(j.ask.item, j.ask.judge) for j in people] == [
        ("q1", "human:ann"), ("q1", "human:bob"), ("q2", "human:ann"),
    ]  # fmt: skip
    assert store.status_counts("mine") == {"planned": 4, "pending": 4}  # votes are no asks
    assert store.studies()[0].planned == 4
    save_plan(plan, store)
    assert sum(1 for _ in store.judgements("mine")) == 3  # saved again: still once each


def test_a_person_is_held_against_the_others_and_never_against_themselves(
    store: Store, tmp_path: Path
) -> None:
    def vote(judge: str, picked: str) -> dict[str, object]:
        return {"judge": judge, "shown": ["x", "y"], "picked": picked}

    # q1: ann x; bob, cem y. q2: only ann voted, so there is nobody to hold her against.
    three = (vote("ann", "x"), vote("bob", "y"), vote("cem", "y"))
    jsonl(tmp_path / "items.jsonl", [line("q1", *three), line("q2", vote("ann", "x"))])
    save_plan(make_plan(parse_study(STUDY, folder=tmp_path)), store)
    frame = store.frame("mine").set_index(["item", "judge"])["known_answer"]
    assert frame["q1", "human:ann"] == 1  # bob and cem say y
    assert frame["q1", "human:bob"] == -1  # ann says x, cem y: a tie
    assert frame["q2", "human:ann"] == -2  # nobody else said


def test_results_can_show_agreement_with_people(store: Store, tmp_path: Path) -> None:
    from judges.__main__ import main

    votes = [{"judge": name, "shown": ["x", "y"], "picked": "x"} for name in ("ann", "bob")]
    jsonl(tmp_path / "items.jsonl", [line(f"q{k}", *votes) for k in range(4)])
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert main(["run", str(tmp_path / "study.yaml"), "--store", str(store.path)]) == 0
    # A judge whose accuracy is 1 follows the human majority, which is x everywhere.
    shown = summarise_frame(store.frame("mine"), quick=True)
    assert shown["agreement"]["people"]["sim"]["agreement"]["value"] == 1


# ------------------------------------------------------------- votes beside a judge's verdicts

BESIDE = """question,{0},{1},winner,judge,human
Q1,x,y,x,j,x
Q1,y,x,x,j,model_b
Q2,x,y,y,j,tie
Q3,x,y,tie,j,
"""
"""People prefer x on Q1, which two rows say in their own order, and neither answer on Q2."""


def read_csv(folder: Path, text: str, **more: Any) -> LoadedSource:
    (folder / "t.csv").write_text(text)
    return load_source(DataSpec("t.csv", **more), folder)


@pytest.mark.parametrize(
    ("sides", "format"), [(("model_a", "model_b"), "arena"), (("left", "right"), "evalica")]
)
def test_a_column_of_people_beside_the_judge_is_votes(tmp_path, sides, format) -> None:
    found = read_csv(tmp_path, BESIDE.format(*sides))
    assert found.format == format and not any("not used" in note for note in found.notes)
    ranks = [[dict(vote.ranks or {}) for vote in one.human] for one in found.items]
    assert ranks == [[{"x": 1, "y": 2}], [{"x": 1, "y": 1}], []]
    mapping = {"question": "instruction", "winner": "winner", "judge": "judge", "human": "human"}
    mapping |= dict(zip(sides, ("first", "second"), strict=True))
    mapped = read_csv(tmp_path, BESIDE.format(*sides), format="table", mapping=mapping)
    assert [one.human for one in mapped.items] == [one.human for one in found.items]


def test_head_to_heads_have_votes_too(tmp_path: Path) -> None:
    text = "model_a,model_b,winner,prompt,Human_Winner\nx,y,A,Q1,B\nx,y,-,Q2,-\n"
    found = read_csv(tmp_path, text)
    assert found.format == "autoarena"
    assert [dict(one.human[0].ranks or {}) for one in found.items] == [
        {"x": 2, "y": 1},
        {"x": 1, "y": 1},
    ]


def test_the_votes_are_measured_against_the_judge(tmp_path: Path) -> None:
    """By hand: the judge agrees on Q1 in both orders, and not on Q2."""
    found = read_csv(tmp_path, BESIDE.format("model_a", "model_b"))
    frame = frame_from_source(found, "s")
    people = frame[frame["judge"] == "human:human"]
    assert len(people) == 2 and sorted(people["item"]) == sorted({*people["item"]})


def test_a_column_that_holds_other_texts_is_no_vote_and_is_named(tmp_path: Path) -> None:
    text = BESIDE.format("model_a", "model_b").replace(",j,tie", ",j,Ann")
    found = read_csv(tmp_path, text)
    assert not any(one.human for one in found.items)
    assert any(says(note, "not used: human;", "data.mapping") for note in found.notes)


FILES = {
    "arena": "model_a,model_b,winner,extra,empty\nx,y,x,1,\n",
    "evalica": "left,right,winner,extra,empty\nx,y,x,1,\n",
    "autoarena": "model_a,model_b,winner,extra,empty\nx,y,A,1,\n",
    "preference": "prompt,chosen,rejected,extra,empty\nQ,good,bad,1,\n",
    "verdict-label": "verdict,label,extra,empty\npass,fail,1,\n",
    "llmbar": "input,output_1,output_2,label,extra,empty\nQ,a,b,1,1,\n",
    "alpaca-eval": "instruction,output_1,output_2,preference,extra,empty\nQ,a,b,1,1,\n",
    "pandalm": "instruction,response1,response2,annotator1,extra,empty\nQ,a,b,1,1,\n",
    "judgebench": "pair_id,question,response_A,response_B,label,extra,empty\np,Q,a,b,A>B,1,\n",
}


@pytest.mark.parametrize("format", FILES)
def test_no_format_drops_a_column_silently(tmp_path, format) -> None:
    """A column with values that is not read is named; a column without values holds nothing."""
    found = read_csv(tmp_path, FILES[format])
    assert found.format == format
    assert any("not used: extra;" in note for note in found.notes)


def test_a_mapping_names_the_columns_that_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"q": "Q", "a": {"x": "1", "y": "2"}, "extra": 1}\n')
    mapping = {"q": "instruction", "a.x": "responses.x", "a.y": "responses.y"}
    found = load_source(DataSpec("t.jsonl", mapping=mapping), tmp_path)
    assert any("not used: extra;" in note for note in found.notes)
    whole = load_source(DataSpec("t.jsonl", mapping={**mapping, "extra": "meta.extra"}), tmp_path)
    assert whole.notes == ()
