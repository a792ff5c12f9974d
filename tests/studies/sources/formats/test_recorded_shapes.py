"""Battles, Arena-Hard and MT-Bench: whose verdict each row holds."""

from __future__ import annotations

from typing import Any

import pytest

from studies.errors import SourceError
from studies.sources.formats.any_table import _needs_reply_reading
from tests.studies.sources.source_files import jsonl, loaded, verdicts


def test_a_winner_may_be_a_word_or_the_name_of_either_model(tmp_path):
    winners = ["x", "y", "model_a", "model_b", "tie", ""]
    rows = [
        {"model_a": "x", "model_b": "y", "winner": winner, "question_id": str(n), "judge": "j"}
        for n, winner in enumerate(winners)
    ]
    found = loaded(jsonl(tmp_path / "battles.jsonl", rows))
    assert [said for _, _, said in verdicts(found)][:5] == ["x", "y", "x", "y", "tie"]
    assert {shown for _, shown, _ in verdicts(found)} == {"x > y"}
    with pytest.raises(SourceError):
        loaded(jsonl(tmp_path / "battles.jsonl", [{**rows[0], "winner": "z"}]))


def arena(*scores: str) -> list[dict[str, Any]]:
    games = [{"score": score, "judgment": f"so [[{score}]]"} for score in scores]
    return [{"uid": "u1", "model": "m", "judge": "j", "games": games}]


def test_arena_hard_takes_questions_and_answers_from_files_beside_it(tmp_path):
    path = jsonl(tmp_path / "m.jsonl", arena("A>>B", "B>A"))
    bare = loaded(path)
    assert [item.instruction for item in bare.items] == [""]
    question = {"uid": "u1", "prompt": "how far?", "category": "maths"}
    jsonl(tmp_path / "question.jsonl", [question])
    full = loaded(path, files={"questions": "question.jsonl"})
    (item,) = full.items
    assert (item.id, item.instruction, item.category) == ("u1", "how far?", "maths")
    # The baseline is A in the first game and B in the second.
    assert [(shown, said) for _, shown, said in verdicts(full)] == [
        ("baseline > m", "baseline"), ("m > baseline", "baseline"),
    ]  # fmt: skip
    margins = [one.verdict.margin for one in full.judgements if one.verdict]
    assert margins == [2, 1]
    assert len(bare.notes) == len(full.notes) + 1


def test_mt_bench_needs_turns_and_shows_each_game_in_its_order(tmp_path):
    (tmp_path / "model_answer").mkdir()
    (tmp_path / "model_judgment").mkdir()
    question = {"question_id": 81, "category": "c", "turns": ["first?", "second?"]}
    jsonl(tmp_path / "question.jsonl", [question])
    for model in ("x", "y"):
        turns = [{"turns": [f"{model} one", f"{model} two"]}]
        answer = {"question_id": 81, "model_id": model, "choices": turns}
        jsonl(tmp_path / "model_answer" / f"{model}.jsonl", [answer])
    row = {"question_id": 81, "model_1": "x", "model_2": "y", "g1_winner": "model_1",
           "g2_winner": "model_2", "judge": ["gpt", "pair-v2"], "turn": 1,
           "g1_judgment": "[[A]]", "g2_judgment": "[[A]]", "tstamp": 1.0}  # fmt: skip
    second = {**row, "turn": 2, "g1_winner": "tie", "g2_winner": "error"}
    jsonl(tmp_path / "model_judgment" / "gpt_pair.jsonl", [row, second])
    found = loaded(tmp_path)
    assert [(shown, said) for _, shown, said in verdicts(found)] == [
        ("x > y", "x"), ("y > x", "y"), ("x > y", "tie"), ("y > x", "unreadable"),
    ]  # fmt: skip
    items = {item.id: item for item in found.items}
    assert set(items) == {"081", "081-turn-2"}
    assert items["081"].instruction == "first?" and items["081"].responses["x"] == "x one"
    assert "second?" in items["081-turn-2"].instruction
    assert "y two" in items["081-turn-2"].responses["y"]
    for turns in ([], None, "text"):
        jsonl(tmp_path / "question.jsonl", [{**question, "turns": turns}])
        with pytest.raises(SourceError, match="turns"):
            loaded(tmp_path)


@pytest.mark.parametrize(
    ("fields", "needed"),
    [(("reply",), True), (("reply", "winner"), False), (("reply", "winner_index"), False),
     (("reply", "score"), False), (("reply", "score_a"), False), (("reply", "score_c"), True),
     (("winner",), False), ((), False)],
)  # fmt: skip
def test_replies_are_read_where_nothing_else_states_a_verdict(fields, needed):
    assert _needs_reply_reading(dict.fromkeys(fields, "column"), ("a", "b")) == needed
