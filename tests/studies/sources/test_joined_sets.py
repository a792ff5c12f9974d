"""VisIT-Bench's battles and Auto-J's test set: fields as their READMEs describe them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studies.errors import SourceError
from tests.page_words import says
from tests.studies.sources.source_files import jsonl, loaded, table, verdicts

# ---- VisIT-Bench ---------------------------------------------------------------------------------


def preference(number: int, first: Any, second: Any) -> dict[str, Any]:
    return {"image_url": f"https://x.org/{number}.png", "instruction": "what is it?",
            "A": f"text a{number}", "B": f"text b{number}", "A_model": "m2", "B_model": "m1",
            "model_selection.A": first, "model_selection.B": second}  # fmt: skip


def test_visit_human_preferences_are_votes_of_unknown_order(tmp_path: Path) -> None:
    rows = [preference(1, "True", "False"), preference(1, "False", "True"),
            preference(2, "True", "True"), preference(3, "", "")]  # fmt: skip
    found = loaded(table(tmp_path / "visit_bench_human_preferences.csv", rows))
    assert found.format == "visit-battles"
    assert verdicts(found) == [
        ("human:annotator-1", "m1 > m2", "m2"),
        ("human:annotator-2", "m1 > m2", "m1"),
        ("human:annotator-1", "m1 > m2", "tie"),
        ("human:annotator-1", "m1 > m2", "unreadable"),
    ]
    assert len(found.items) == 3 and found.items[0].images == ("https://x.org/1.png",)
    assert not found.order_known


def battle(number: int, results: list[str], replies: list[str]) -> dict[str, Any]:
    return {"A_model": "m1", "B_model": "m2", "A": "a", "B": "b", "engine": "gpt-4",
            "image_url": f"https://x.org/{number}.png", "instruction": "what is it?",
            "instruction_category": "home", "evaluated_with_reference": False,
            "auto_evaluation_result": results, "auto_evaluation_cot": replies}  # fmt: skip


def reply_for(letter: str) -> str:
    return f"Let me compare them. Overall, Response {letter} is better."


def test_visit_battles_in_both_orders(tmp_path: Path) -> None:
    # The second query shows m2 as A. Its reply prefers m1, called B there.
    rows = [
        battle(1, ["A", "A"], [reply_for("A"), reply_for("B")]),
        battle(2, ["Tie", "B"], ["", reply_for("A")]),
    ]
    found = loaded(jsonl(tmp_path / "battles.jsonl", rows))
    assert verdicts(found) == [
        ("gpt-4", "m1 > m2", "m1"),
        ("gpt-4", "m2 > m1", "m1"),  # letters of the second verdict are the models A and B
        ("gpt-4", "m1 > m2", "tie"),
        ("gpt-4", "m2 > m1", "m2"),
    ]
    assert {item.category for item in found.items} == {"home"}
    rows = [battle(1, ["A", "B"], [reply_for("A"), reply_for("B")])]
    found = loaded(jsonl(tmp_path / "battles.jsonl", rows))
    assert [said for *_, said in verdicts(found)] == ["m1", "m1"]  # letters are the places shown
    rows = [battle(1, ["m1", "m2"], ["", ""])]
    found = loaded(jsonl(tmp_path / "battles.jsonl", rows))
    assert [said for *_, said in verdicts(found)] == ["m1", "m2"]


def test_a_second_visit_verdict_without_a_reply_is_not_guessed(tmp_path: Path) -> None:
    found = loaded(jsonl(tmp_path / "battles.jsonl", [battle(1, ["A", "B"], [])]))
    assert verdicts(found) == [("gpt-4", "m1 > m2", "m1")]
    assert any(says(note, "only", "verdict", "pair", "read") for note in found.notes)


# ---- Auto-J --------------------------------------------------------------------------------------


def autoj_files(folder: Path) -> Path:
    rows = [{"scenario": "planning", "label": k, "prompt": f"question {k}",
             "response 1": f"one {k}", "response 2": f"two {k}"} for k in range(3)]  # fmt: skip
    jsonl(folder / "testdata_pairwise.jsonl", rows)
    jsonl(folder / "gpt-4_output.jsonl", [{"output": k} for k in (0, 1, 2)])
    jsonl(folder / "gpt-4_exchange_output.jsonl", [{"output": k} for k in (1, 1, "hm")])
    return folder


def test_three_auto_j_files_are_joined_by_line(tmp_path: Path) -> None:
    folder = autoj_files(tmp_path / "autoj")
    found = loaded(folder)
    assert found.format == "auto-j"
    judged = [v for v in verdicts(found) if v[0] == "gpt-4"]
    swapped, given = "response 2 > response 1", "response 1 > response 2"
    assert sorted(judged) == sorted([
        ("gpt-4", given, "response 1"), ("gpt-4", given, "response 2"), ("gpt-4", given, "tie"),
        ("gpt-4", swapped, "response 1"), ("gpt-4", swapped, "response 1"),
        ("gpt-4", swapped, "unreadable"),
    ])  # fmt: skip
    people = [said for judge, _, said in verdicts(found) if judge.startswith("human:")]
    assert people == ["response 1", "response 2", "tie"]
    named = loaded(
        folder / "testdata_pairwise.jsonl",
        files={"mine": "gpt-4_output.jsonl", "mine exchange": "gpt-4_exchange_output.jsonl"},
    )
    assert {judge for judge, *_ in verdicts(named)} == {"mine", "human:annotator"}
    assert len(named.judgements) == len(found.judgements)


def test_auto_j_outputs_of_another_length_are_refused(tmp_path: Path) -> None:
    folder = autoj_files(tmp_path / "autoj")
    jsonl(folder / "gpt-4_output.jsonl", [{"output": 0}])
    with pytest.raises(SourceError, match=r"1 outputs of gpt-4_output for 3 pairs; .* one output"):
        loaded(folder)
