"""Battles, Arena-Hard and MT-Bench: whose verdict each row holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studies.domain import Verdict
from studies.errors import SourceError
from studies.sources import folder_tables
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import VerdictReading
from studies.sources.cells import MappedCells, RowCells, join_turns
from studies.sources.formats import (
    any_table,
    benchmarks,
    creation_mmbench,
    inspect_log,
    preference_sets,
    tool_logs,
    visit_bench,
)
from studies.sources.formats.any_table import _needs_reply_reading
from studies.sources.formats.recorded_scores import plain_text
from studies.sources.source_format import OpenedSource
from studies.spec.study import DataSpec
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


# --- cells and refusals of single formats ---------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "flag"),
    [("", None), (None, None), ("nan", None), ("None", None), ("True", True), (False, False)],
)
def test_a_flag_of_visit_bench_may_be_empty(value, flag):
    assert visit_bench._parse_flag(RowCells({"c": value}, "f:1"), "c") is flag


def test_a_word_that_is_no_flag_is_refused_with_its_place():
    with pytest.raises(SourceError, match=r"^f:1: column 'c'.*'maybe'"):
        visit_bench._parse_flag(RowCells({"c": "Maybe"}, "f:1"), "c")


def test_the_first_filled_column_counts_also_if_it_holds_a_list():
    line = RowCells({"a": " ", "b": [], "c": ["x", 1], "d": "late"})
    assert visit_bench._first_non_empty_text(line, ("a", "b", "c", "d")) == "['x', '1']"
    assert visit_bench._first_non_empty_text(line, ("a", "d", "c")) == "late"
    assert visit_bench._first_non_empty_text(line, ("a", "b")) == ""


def test_an_object_is_read_as_paragraphs():
    assert plain_text({"a": {"b": 1}}) == "1"
    assert plain_text({"a": 1, "b": {"c": "x", "d": 2}}) == "\n\n".join(["a: 1", "b: c: x", "d: 2"])


def test_images_of_creation_mmbench_are_addresses_data_or_paths():
    png = next(
        start for start, kind in creation_mmbench._KIND_BY_BASE64_START.items() if kind == "png"
    )
    whole = png + "A" * 70
    for text, found in (
        *((same, same) for same in ("", "https://h/a.png", "data:x", "a/b.png", "x" * 1000)),
        (whole, f"data:image/png;base64,{whole}"),
        (whole[:64], whole[:64]),
    ):
        assert creation_mmbench._image_source(text, "") == found
    for text in ("/etc/passwd", "../a.png", "x" * 1001):
        with pytest.raises(SourceError, match=r"^f:2: "):
            creation_mmbench._image_source(text, "f:2")
    assert creation_mmbench._split_list("a, b") == ["a, b"]
    assert creation_mmbench._split_list("['a', \"b\"]") == ["a", "b"]
    assert creation_mmbench._split_list("[ ]") == [] and creation_mmbench._split_list("[a") == [
        "[a"
    ]
    images = {"1": "a.png", "2": "1", "3": "2", "4": "3", "5": "4"}
    for index, found in (("2", "a.png"), ("3", "a.png"), ("4", "a.png"), ("5", "1")):
        line = RowCells({"image": images[index]})
        assert creation_mmbench._image_sources(line, images) == (found,)
    beside = RowCells({"image": "", "image_path": "['a.png', 'b.png']"})
    assert creation_mmbench._image_sources(beside, {}) == ("a.png", "b.png")
    for filled in ("question", "instruction"):
        assert "why?" in creation_mmbench.build_instruction(RowCells({filled: "why?"}), "")
    with pytest.raises(SourceError, match="both empty"):
        creation_mmbench.build_instruction(RowCells({"question": " "}, "f:1"), "")


def test_a_row_without_the_answer_of_a_benchmark_is_refused_with_its_place():
    answers = {"choices": [{"turns": ["one", "two"]}], "model_id": "m", "question_id": "q"}
    assert benchmarks._answer_text(RowCells(answers)) == "one"
    talk = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "so"}]
    assert benchmarks._answer_text(RowCells({"messages": talk, **answers})) == "so"
    with pytest.raises(SourceError, match=r"^f:3: no answer"):
        benchmarks._answer_text(RowCells({"choices": []}, "f:3"))
    for judge, found in (
        (["gpt", "p"], ("gpt", "p")),
        (None, ("recorded", "mt-bench")),
        ("gpt", ("gpt", "mt-bench")),
    ):
        assert benchmarks._judge_and_prompt(RowCells({"judge": judge})) == found


def test_a_row_of_fastchat_without_turns_and_a_second_answer_are_refused(tmp_path):
    row = {"question_id": "q", "model_id": "m", "choices": [{"turns": ["one"]}]}
    for second, said in (
        ({**row, "choices": []}, "choices"),
        ({**row, "choices": [{"turns": "one"}]}, "choices"),
        ({**row, "choices": [{"turns": ["two"]}]}, "a second answer"),
    ):
        path = jsonl(tmp_path / "a.jsonl", [row, second])
        with pytest.raises(SourceError, match=said):
            loaded(path, format="mt-bench")


def test_feedback_on_two_runs_is_a_verdict():
    def members(*scores: object) -> list[RowCells]:
        return [RowCells({"session_id": f"s{k}", "score": score, "key": "k", "comment": "so"})
                for k, score in enumerate(scores)]  # fmt: skip

    for scores, pick in (
        ((1, 2), 1),
        ((2, 1), 0),
        ((1, 1), "tie"),
        ((1, None), None),
        ((None, 1), None),
    ):
        builder = SourceBuilder()
        tool_logs._add_langsmith_comparison(builder, "g", members(*scores))
        (one,) = builder.judgements()
        assert (one.verdict.pick if one.verdict else None) == pick
        assert (one.ask.judge, one.ask.shown, one.ask.orders) == ("k", ("s0", "s1"), 0)
    for group in (members(1), members(1, 2, 3)):
        builder = SourceBuilder()
        tool_logs._add_langsmith_comparison(builder, "g", group)
        assert builder.judgements() == []


def test_select_best_needs_two_answers_and_one_choice():
    def added(*passes: bool) -> list[Any]:
        builder = SourceBuilder()
        item = builder.add_item("q", "?")
        answers = [
            (f"m{k}", RowCells({"pass": one, "reason": f"r{k}"})) for k, one in enumerate(passes)
        ]
        tool_logs._add_select_best_verdict(builder, (item, "j", "p"), answers)
        return builder.judgements()

    assert added() == added(True) == []
    for passes, pick, reply in (
        ((False, True), 1, "r1"), ((True, False), 0, "r0"), ((True, True), None, "r0"),
        ((False, False), None, "r0"),
    ):  # fmt: skip
        (one,) = added(*passes)
        assert (one.verdict.pick if one.verdict else None, one.reply) == (pick, reply)
    assert tool_logs._question_from_variables({"q": "why?"}) == "why?"
    assert tool_logs._question_from_variables({"q": "why?", "n": 3}) == "q: why?\n\nn: 3"


def test_the_winner_of_a_row_is_a_name_a_word_or_an_index():
    fields = {"winner_index": "w"}

    def pick(value: object, **more: Any) -> object:
        line = MappedCells({"w": value}, "f:4", fields=more.get("fields", fields))
        return any_table._row_pick(line, str(value), ("x", "y"), more.get("scores", ()))

    assert [pick(value) for value in ("0", "1.0", "2", "")] == [0, 1, "tie", None]
    with pytest.raises(SourceError, match=r"^f:4: winner_index 'x'"):
        pick("x")
    assert [pick("", fields={}, scores=one) for one in ((1, 2), (2, 1), (1, 1))] == [1, 0, "tie"]
    assert any_table._read_winner("tie", ("x", "y", "z"), "") == "tie"
    assert any_table._read_winner("z", ("x", "y", "z"), "") == 2
    with pytest.raises(SourceError, match="'x' nor 'y'"):
        any_table._read_winner("first", ("x", "y", "z"), "")


def test_ranked_answers_and_conversations_of_openassistant():
    turns = [{"text": "a?", "role": "prompter"}, {"text": "b", "role": "assistant"}]
    assert preference_sets._join_conversation(turns[:1], "") == "a?"
    joined = preference_sets._join_conversation(turns, "")
    assert joined.endswith(": b") and joined.count("\n\n") == 1
    for bad in ([], [*turns, {"text": " "}]):
        with pytest.raises(SourceError, match=r"^f:5: the prompt"):
            preference_sets._join_conversation(bad, "f:5")
    replies = [({"text": text}, rank) for text, rank in (("x", 2.0), ("y", 0.0), ("z", 2.0))]
    builder = SourceBuilder()
    preference_sets._add_ranking(builder, "q", turns[:1], replies, "")
    (item,) = builder.items()
    assert item.responses == {"rank-2": "x", "rank-1": "y", "rank-3": "z"}
    assert item.human[0].ranks == {"rank-1": 1, "rank-2": 2, "rank-3": 2}
    with pytest.raises(SourceError, match="has no rank"):
        preference_sets._add_ranking(builder, "q", turns, [*replies, ({"text": "w"}, None)], "f:6")
    with pytest.raises(SourceError, match="first message"):
        preference_sets._add_message_tree(RowCells({"prompt": "x"}, "f:7"), builder)


def test_several_chosen_answers_are_ranked_above_the_rejected(tmp_path):
    row = {"prompt": "why?", "chosen": ["a", "b"], "rejected": ["c"]}
    (item,) = loaded(jsonl(tmp_path / "p.jsonl", [row]), format="preference").items
    (by_design,) = item.human
    assert sorted(by_design.ranks.values()) == [1, 1, 2] and len(item.responses) == 3
    worst = max(by_design.ranks, key=lambda name: by_design.ranks[name])
    assert item.responses[worst] == "c"
    said_nothing = [{"role": "user", "content": "why?"}, {"role": "assistant", "content": " "}]
    for rejected in ([], said_nothing):
        with pytest.raises(SourceError, match="'rejected' is empty"):
            loaded(
                jsonl(tmp_path / "p.jsonl", [{**row, "rejected": rejected}]), format="preference"
            )


def test_comparator_scores_name_two_models_and_their_order(tmp_path):
    def read(models: list[str], *examples: Any) -> Any:
        whole = {"models": [{"name": one} for one in models], "examples": examples}
        (tmp_path / "c.json").write_text(json.dumps(whole), encoding="utf-8")
        return loaded(tmp_path / "c.json", format="llm-comparator")

    parts = [
        {"type": "text", "data": "w"},
        {"type": "image", "data": "i"},
        {"type": "text", "data": "?"},
    ]
    texts = {"input_text": parts, "output_text_a": "a", "output_text_b": "b"}
    one = {**texts, "individual_rater_scores": [
        {"score": 1.0, "is_flipped": False}, {"score": 1.0, "is_flipped": True}, {"score": -1.5},
        {"score": 0.0}, {"score": None},
    ]}  # fmt: skip
    found = read(["m", "n"], one)
    assert found.items[0].instruction == "w?"
    picks = [
        (j.ask.shown, j.verdict and (j.verdict.pick, j.verdict.margin)) for j in found.judgements
    ]
    mn, nm = ("m", "n"), ("n", "m")
    assert picks == [(mn, (0, 1)), (nm, (1, 1)), (mn, (1, 2)), (mn, ("tie", 0)), (mn, None)]
    for models in (["m"], ["m", "m"], ["m", ""], ["m", "n", "o"]):
        with pytest.raises(SourceError, match="two different names"):
            read(models, one)
    with pytest.raises(SourceError, match="example 2: expected"):
        read(["m", "n"], one, 3)


def test_a_json_log_that_is_none_is_refused():
    for content, said in ((b"{", "not valid JSON"), (b"[1]", "expected a JSON object")):
        with pytest.raises(SourceError, match=f"^f: {said}"):
            inspect_log._parse_log_object(content, "f")
    assert inspect_log._parse_log_object(b'{"a": 1}', "f") == {"a": 1}


def test_a_question_needs_an_id_and_replies_of_people_are_not_read_again():
    builder = SourceBuilder()
    with pytest.raises(SourceError, match=r"^f:8: .*no id"):
        builder.add_item("", "why?", where="f:8")
    item = builder.add_item("q", "why?", {"x": "1", "y": "2"})
    assert [builder.add_item("q", text) for text in ("", "why?", "how?", "who?")] == [
        "q", "q", "q~2", "q~3",
    ]  # fmt: skip
    builder.add_verdict(item, "j", "p", ("x", "y"), 0, reply="y")
    builder.add_verdict(item, "k", "p", ("x", "y"), 0)
    counts = builder.reread_verdicts(lambda *_: VerdictReading(Verdict(1), "r", ""))
    assert (counts.replies, counts.read, counts.changed) == (1, 1, 1)
    assert [one.verdict.pick for one in builder.judgements()] == [1, 0]


def test_a_folder_is_no_table_and_too_many_files_are_refused(monkeypatch):
    with pytest.raises(SourceError, match="found a folder"):
        _ = OpenedSource(DataSpec("f"), Path("f"), Path()).rows
    monkeypatch.setattr(folder_tables, "MAX_FILES", 2)
    two = [Path("a"), Path("b")]
    assert folder_tables._check_file_count(two, "f") == two
    with pytest.raises(SourceError, match=r"^f: 3 files"):
        folder_tables._check_file_count([*two, Path("c")], "f")


@pytest.mark.parametrize(("questions", "answers", "joined"), [
    ([], [], ("", "")), (["Why?"], ["So.", "Again."], ("Why?", "So.")),
    (["Why?", "Who?"], ["So."], ("Turn 1: Why?\n\nTurn 2: Who?", "Turn 1: So.")),
])  # fmt: skip
def test_turns_are_numbered_and_an_answer_without_a_question_is_left_out(
    questions: list[str], answers: list[str], joined: tuple[str, str]
) -> None:
    assert join_turns(questions, answers) == joined
