"""The judgement frame: slots are converted to contestants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import Preference
from studies.frames.battle_frame import frame_from_battles
from studies.frames.frame import NO_PICK, SEP, TIE, frame_from_rows
from studies.frames.known_answers import best_answer
from tests.page_words import pattern

NARROW = {
    "q1": {
        "category": "maths",
        "lengths": {"x": 10, "y": 20, "@reference": 7},
        "human": [["by-design", ["x", "y"], "y", {}]],
    },
    "q2": {"category": "", "lengths": {"x": 1}, "human": []},
}


def row(item: str = "q1", shown: str = "x y", pick: int | None = 0, **more: Any) -> tuple[Any, ...]:
    values = {
        "position": 0, "item": item, "judge": "j", "prompt": "p", "shown": shown.replace(" ", SEP),
        "labels": f"A{SEP}B", "repeat": 0, "noise": 0, "orders": 2,
        "status": "unreadable" if pick is None else "ok", "pick": pick,
        "margin": None if pick is None else 1, "scores": None, "probabilities": None, "seq": 1,
        **more,
    }  # fmt: skip
    assert len(values) == 15  # `more` overrides a column, it adds none
    return tuple(values.values())


def framed(*rows: tuple[Any, ...], **more: Any) -> pd.DataFrame:
    return frame_from_rows(rows, NARROW, study="s", **more)


def test_a_pick_without_a_margin_has_the_margin_zero() -> None:
    """A folder of another program may lack margins."""
    assert list(framed(row(margin=None), row(pick=None))["margin"]) == [0, 0]


def test_a_slot_becomes_a_contestant() -> None:
    frame = framed(row(shown="x y"), row(shown="y x"))
    assert list(frame["first"]) == ["x", "y"] and list(frame["second"]) == ["y", "x"]
    assert list(frame["comparison"]) == [f"x{SEP}y"] * 2
    assert list(frame["category"]) == ["maths", "maths"]
    assert list(frame["options"]) == [2, 2]


def test_the_truth_is_the_slot_in_which_the_better_answer_stands() -> None:
    # By design y is better: slot 1 of (x, y), slot 0 of (y, x). Nobody judged q2.
    frame = framed(row(shown="x y"), row(shown="y x"), row("q2"), row(shown="x @reference"))
    assert list(frame["known_answer"]) == [1, 0, NO_PICK, NO_PICK]


def test_a_vote_is_right_by_the_votes_of_the_other_people_alone() -> None:
    """Of three answers, ann chooses x, bob and cat y: without bob or cat there is no majority."""
    names, picks = ["x", "y", "z"], {"ann": 0, "bob": 1, "cat": 1}
    votes = [[name, names, names[pick], {}] for name, pick in picks.items()]
    items = {"q1": {"category": "", "lengths": {}, "human": votes}}
    rows = [row(shown="x y z", pick=pick, judge=f"human:{name}") for name, pick in picks.items()]
    frame = frame_from_rows([*rows, row(shown="x y z", pick=1)], items, study="s")
    assert list(frame["known_answer"]) == [1, TIE, TIE, 1]
    assert list(frame["right"]) == [0, 1, 1, 1] and list(frame["right_options"]) == [1, 2, 2, 1]


def test_lengths_follow_the_slots_and_what_is_not_known_is_minus_one() -> None:
    frame = framed(row(shown="y x"), row("q2", "x y"), row(shown="@reference x"), row(shown="x"))
    assert list(frame["length_0"]) == [20, 1, 7, 10]
    assert list(frame["length_1"]) == [10, -1, 10, -1]


def test_what_is_no_evidence_has_no_pick_whatever_was_stored() -> None:
    frame = framed(row(pick=1, status="truncated"), row(pick=None), row(pick=-1, margin=0))
    assert list(frame["pick"]) == [NO_PICK, NO_PICK, TIE]
    assert list(frame["margin"]) == [0, 0, 0]
    assert list(frame["status"]) == ["truncated", "unreadable", "ok"]


def test_an_extracted_verdict_is_evidence() -> None:
    assert list(framed(row(status="extracted", pick=1))["pick"]) == [1]


def test_scores_and_probabilities_have_a_column_for_each_slot() -> None:
    frame = framed(row(scores="[7, 4.5]"), row(scores=None), row(shown="x", scores="[3]"))
    assert frame["score_0"].tolist()[0::2] == [7.0, 3.0] and np.isnan(frame["score_0"][1])
    assert frame["score_1"].tolist()[0] == 4.5 and frame["score_1"][1:].isna().all()
    assert not [name for name in frame if name.startswith("p_")]
    tied = framed(row(probabilities="[0.25, 0.75]"))
    assert (tied["p_0"][0], tied["p_1"][0]) == (0.25, 0.75)


def test_a_rating_has_a_first_and_no_second() -> None:
    frame = framed(row(shown="x", pick=None, status="ok", scores="[8]"))
    assert list(frame["first"]) == ["x"] and frame["second"].isna().all()
    assert list(frame["known_answer"]) == [NO_PICK] and list(frame["pick"]) == [NO_PICK]


def test_families_are_there_only_where_both_sides_have_some() -> None:
    families, judges = {"x": "openai"}, {"j": "openai"}
    frame = framed(row(shown="y x"), families=families, judge_families=judges)
    assert list(frame["family"]) == ["openai"]
    assert (frame["family_0"][0], frame["family_1"][0]) == ("", "openai")
    assert "family" not in framed(row(), families=families, judge_families={"j": ""})


@pytest.mark.parametrize(
    ("families", "judge", "found"),
    [
        ({}, "", ("x", "", "x")),
        ({"x": "openai", "y": "openai"}, "", ("openai", "openai", "openai")),
        ({}, "acme", ("acme", "", "acme")),
        ({"x": "openai"}, "acme", ("acme", "", "openai")),
    ],
)
def test_a_judge_with_the_name_of_a_contestant_wrote_its_answers(families, judge, found) -> None:
    made = row(judge="x", shown="y x")
    frame = framed(made, families=families, judge_families={"x": judge})
    assert (frame["family"][0], frame["family_0"][0], frame["family_1"][0]) == found
    assert "family" not in framed(row(judge="x-2", shown="y x"), judge_families={"x-2": ""})


def test_the_table_is_narrow() -> None:
    frame = framed(*[row() for _ in range(10)])
    assert frame["pick"].dtype == frame["known_answer"].dtype == np.int8
    assert frame["noise"].dtype == bool
    for name in ("item", "judge", "prompt", "shown", "labels", "comparison", "status", "first"):
        assert isinstance(frame[name].dtype, pd.CategoricalDtype), name


def test_an_empty_study_has_the_columns_and_no_rows() -> None:
    empty = framed()
    assert len(empty) == 0
    assert set(framed(row(pick=None))) - {"length_0", "length_1"} == set(empty)


contestants = st.permutations("wxyz").flatmap(
    lambda order: st.integers(1, 4).map(lambda n: order[:n])
)
votes = st.tuples(
    st.sampled_from(["by-design", "ann", "bob"]),
    st.sampled_from([["w", "x"], ["y", "x"], ["w", "x", "y", "z"], None]),
    st.sampled_from(["w", "x", "y", "z", "tie"]),
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["q1", "q2", "gone"]), contestants), min_size=1, max_size=12
    ),
    st.lists(votes, max_size=4),
)
def test_the_fast_frame_agrees_with_the_plain_definition(rows: Any, said: Any) -> None:
    human = [[judge, shown, picked, {}] for judge, shown, picked in said]
    items = {
        "q1": {"category": "a", "lengths": {"w": 1, "x": 2}, "human": human},
        "q2": {"category": "b", "lengths": {"z": 3}, "human": []},
    }
    table = [row(item, " ".join(shown)) for item, shown in rows]
    frame = frame_from_rows(table, items, study="s")
    for at, (item, shown) in enumerate(rows):
        facts: dict[str, Any] = items.get(item, {})
        people = [
            Preference(j, tuple(s) if s else None, p) for j, s, p, _ in facts.get("human", [])
        ]
        winner = best_answer(people, shown) if len(shown) > 1 else None
        slot = NO_PICK if winner is None else TIE if winner == "tie" else shown.index(winner)
        assert frame["known_answer"][at] == slot
        assert frame["category"][at] == facts.get("category", "")
        assert frame["first"][at] == shown[0]
        for place, name in enumerate(shown):
            known = facts.get("lengths", {}).get(name, -1)
            assert frame.get(f"length_{place}", pd.Series([-1] * len(rows)))[at] == known


# ---- battles -----------------------------------------------------------------------------------


def battles(*rows: tuple[str, ...], columns: str = "model_a model_b winner") -> pd.DataFrame:
    return frame_from_battles(pd.DataFrame(list(rows), columns=columns.split()))


def test_battles_are_read_with_model_a_shown_first() -> None:
    frame = battles(("x", "y", "model_a"), ("y", "x", "model_b"), ("x", "y", "tie (bothbad)"))
    assert list(frame["pick"]) == [0, 1, TIE] and list(frame["margin"]) == [1, 1, 0]
    assert list(frame["first"]) == ["x", "y", "x"]
    assert frame["item"].nunique() == 3 and set(frame["judge"]) == {"all"}


def test_battles_with_items_know_their_orders_and_repeats() -> None:
    frame = battles(
        ("x", "y", "model_a", "q"), ("y", "x", "tie", "q"), ("x", "y", "model_b", "q"),
        ("x", "y", "model_a", "r"), columns="model_a model_b winner item",
    )  # fmt: skip
    assert list(frame["orders"]) == [2, 2, 2, 1]
    assert list(frame["repeat"]) == [0, 0, 1, 0]


def test_a_winner_nobody_knows_names_its_row_and_the_known_words() -> None:
    with pytest.raises(ValueError, match=pattern("2: winner", "'nobody'", "model_a, model_b")):
        battles(("x", "y", "model_a"), ("x", "y", "nobody"))
    with pytest.raises(ValueError, match="missing: model_b, winner"):
        frame_from_battles(pd.DataFrame({"model_a": ["x"]}))


@pytest.mark.parametrize("column", ["model_a", "item", "judge"])
def test_an_empty_cell_names_its_row_and_column(column: str) -> None:
    columns = "model_a model_b winner item judge category"
    table = pd.DataFrame([["x", "y", "model_a", "q", "j", "c"]] * 3, columns=columns.split())
    table.loc[1, column] = None
    with pytest.raises(ValueError, match=rf"row 2: .*{column}"):
        frame_from_battles(table)


def test_a_battle_without_a_category_is_in_none() -> None:
    rows = (("x", "y", "tie", "maths"), ("x", "y", "tie", None))
    frame = battles(*rows, columns="model_a model_b winner category")
    assert list(frame["category"]) == ["maths", ""]


@pytest.mark.parametrize(("kind", "given"), [("category", "maths"), ("Int64", 7)])
def test_a_category_of_another_type_may_have_missing_cells(kind: str, given: object) -> None:
    table = pd.DataFrame([["x", "y", "tie"]] * 2, columns=["model_a", "model_b", "winner"])
    frame = frame_from_battles(table.assign(category=pd.Series([given, None], dtype=kind)))
    assert list(frame["category"]) == [str(given), ""]


def test_no_battles_are_an_empty_frame() -> None:
    assert len(battles()) == 0


def test_real_battles_keep_every_row_and_every_outcome(records: Path) -> None:
    table = pd.read_csv(records / "evalica" / "llmfao.csv")
    words = {"left": "model_a", "right": "model_b", "tie": "tie"}
    renamed = table.rename(columns={"left": "model_a", "right": "model_b", "id": "item"})
    renamed["winner"] = renamed["winner"].map(words)
    frame = frame_from_battles(renamed[["model_a", "model_b", "winner", "item"]])
    said = table["winner"].value_counts()
    assert len(frame) == len(table) == 8931
    assert (frame["pick"] == 0).sum() == said["left"]
    assert (frame["pick"] == TIE).sum() == said["tie"]
    assert list(frame["first"].astype(str)) == list(table["left"])


def test_words_of_ones_own_name_the_winner_and_the_truth():
    table = pd.DataFrame(
        {"model_a": ["x"] * 5, "model_b": ["y"] * 5, "winner": ["1", "2", "0", "x", None],
         "truth": ["2", "1", "y", "tie", None]}
    )  # fmt: skip
    words = {"1": "first", "2": "second", "0": "tie"}
    frame = frame_from_battles(table, words)
    assert list(frame["pick"]) == [0, 1, -1, 0, -2]
    assert list(frame["known_answer"]) == [1, 0, 1, -1, -2]
    assert list(frame["margin"]) == [1, 1, 0, 1, 0]
    assert list(frame["status"].astype(str)) == ["ok"] * 4 + ["unreadable"]
    with pytest.raises(ValueError, match="1"):
        frame_from_battles(table)
    with pytest.raises(ValueError, match="words"):
        frame_from_battles(table.assign(winner="x"))
    without = frame_from_battles(table.drop(columns="truth"), words)
    assert list(without["known_answer"]) == [-2] * 5
