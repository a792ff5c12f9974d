"""Files of the shapes in which record sets are published: rows inside objects, order flags, joined
reviews, folders of `datasets`, several raters, and files without any row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metrics.labels.labelled_rows import score_rows_by_rater
from studies.__main__ import main as command
from studies.errors import SourceError, StudyError
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.exchange.unsaved_study import frame_from_source
from studies.files.tables import read_table
from studies.sources.detection.detect import choose_format
from studies.sources.detection.mapping_guess import guess_mapping
from studies.store.store import Store
from tests.metrics.frames import json_sections
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, parquet, table, verdicts

BATTLES = [
    {"question_id": "q1", "model_a": "x", "model_b": "y", "winner": "model_a"},
    {"question_id": "q2", "model_a": "y", "model_b": "x", "winner": "tie"},
]


def as_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


# ---- rows inside objects ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"name": "a set", "data": BATTLES},
        {"meta": {"version": 2}, "data": BATTLES},
        {"benchmark": {"name": "a set", "examples": BATTLES}},
        {"first": BATTLES[0], "second": BATTLES[1]},
    ],
)
def test_rows_inside_an_object_are_found(tmp_path: Path, content: Any) -> None:
    found = loaded(as_json(tmp_path / "set.json", content))
    assert found.format == "arena"
    assert verdicts(found) == [("all", "x > y", "x"), ("all", "y > x", "tie")]


def test_a_mapping_reads_rows_inside_an_object_from_its_top_and_from_the_list(
    tmp_path: Path,
) -> None:
    rows = [
        {"q": "Why?", "good": "because", "bad": "why not"},
        {"q": "How?", "good": "so", "bad": "like"},
    ]
    path = as_json(tmp_path / "set.json", {"name": "a set", "cases": rows})
    inner = {"q": "instruction", "good": "responses.good", "bad": "responses.bad"}
    outer = {f"cases[].{column}": field for column, field in inner.items()}
    for mapping in (inner, outer):
        items = loaded(path, mapping=mapping).items
        assert [item.instruction for item in items] == ["Why?", "How?"]
        assert [item.responses["bad"] for item in items] == ["why not", "like"]


def test_an_object_with_two_lists_is_not_guessed(tmp_path: Path) -> None:
    path = as_json(tmp_path / "set.json", {"train": BATTLES, "test": BATTLES})
    with pytest.raises(SourceError, match="no known format"):
        loaded(path)
    mapping = {"test[].model_a": "first", "test[].model_b": "second", "test[].winner": "winner"}
    assert len(loaded(path, mapping=mapping).judgements) == 2


# ---- the proposed mapping --------------------------------------------------------------------


def test_a_proposal_fits_the_values(tmp_path: Path) -> None:
    rows = [
        {"prompt": f"Question number {n}, what is it?", "model": n, "score": "good",
         "output": f"Assistant A is better here, since it explains more. Final verdict: [[{w}]]",
         "answer_x": f"A long enough answer about the number {n}, with words",
         "answer_y": f"Another answer about the number {n}, also with words"}
        for n, w in enumerate("ABABAB")
    ]  # fmt: skip
    guess = guess_mapping(list(rows[0]), rows)
    assert guess == {"prompt": "instruction", "answer_x": "responses.x",
                     "answer_y": "responses.y", "output": "reply"}  # fmt: skip
    path = jsonl(tmp_path / "t.jsonl", [{**row, "odd": 1} for row in rows])
    with pytest.raises(SourceError) as refused:
        choose_format("auto", read_table(path), path)
    assert all(f"row {n}: instruction: 'Question number {n - 1}" in str(refused.value)
               for n in (1, 2, 3))  # fmt: skip
    assert "row 4" not in str(refused.value)


def test_scores_of_named_models_are_proposed_whole() -> None:
    rows = [{"item": f"i{n}", "contestant": "A", "rater": f"r{n}", "score": n} for n in range(3)]
    assert guess_mapping(list(rows[0]), rows) == {
        "item": "id", "contestant": "contestant", "rater": "person", "score": "score",
    }  # fmt: skip


# ---- Vicuna's reviews ------------------------------------------------------------------------

REVIEWS = [
    {"review_id": "r1", "question_id": 1, "answer1_id": "a1", "answer2_id": "b1",
     "text": "9 8.5\nThe first is better."},
    {"review_id": "r2", "question_id": 2, "answer1_id": "a2", "answer2_id": "b2",
     "text": "7 7\nBoth are alike."},
    {"review_id": "r3", "question_id": 3, "answer1_id": "a3", "answer2_id": "b3",
     "text": "I cannot rate them."},
]  # fmt: skip


def vicuna(folder: Path, scored: bool) -> Path:
    for name, letter in (("alpaca", "a"), ("vicuna", "b")):
        answers = [{"answer_id": f"{letter}{n}", "question_id": n, "model_id": f"{name}-13b",
                    "text": f"{name} {n}"} for n in (1, 2, 3)]  # fmt: skip
        jsonl(folder / "answer" / f"answer_{name}.jsonl", answers)
    asked = [{"question_id": n, "text": f"Why {n}?", "category": "c"} for n in (1, 2, 3)]
    jsonl(folder / "question.jsonl", asked)
    scores = ([9.0, 8.5], [7.0, 7.0], [-1, -1])
    more = [{"score": pair} for pair in scores] if scored else [{}] * 3
    rows = [{**row, **extra} for row, extra in zip(REVIEWS, more, strict=True)]
    return jsonl(folder / "review" / "review_alpaca_vicuna.jsonl", rows)


@pytest.mark.parametrize("scored", [True, False])
def test_reviews_have_the_models_of_the_answer_files(tmp_path: Path, scored: bool) -> None:
    reviews = vicuna(tmp_path / "table", scored)
    files = {"a": "../answer/answer_alpaca.jsonl", "b": "../answer/answer_vicuna.jsonl",
             "q": "../question.jsonl"}  # fmt: skip
    for found in (loaded(reviews, files=files), loaded(tmp_path / "table")):
        assert found.format == "vicuna"
        wanted = [("recorded", "alpaca-13b > vicuna-13b", word)
                  for word in ("alpaca-13b", "tie", "unreadable")]  # fmt: skip
        assert verdicts(found) == wanted
        assert found.judgements[0].verdict is not None
        assert found.judgements[0].verdict.scores == (9.0, 8.5)
        assert (found.items[0].instruction, found.items[0].category) == ("Why 1?", "c")
    with pytest.raises(SourceError, match=pattern("answers by id", "missing", "data.files")):
        loaded(reviews)


# ---- order in a flag, pairs without names ----------------------------------------------------


def test_pairs_without_names_have_verdict_gold_and_order(tmp_path: Path) -> None:
    """A judge that always says A: right when A is gold and shown first, or B is and A is not."""
    rows = [
        {"id": "q1", "judge": "j", "verdict": "A", "gold": "A", "swapped": "false"},
        {"id": "q1", "judge": "j", "verdict": "A", "gold": "A", "swapped": "true"},
        {"id": "q2", "judge": "j", "verdict": "B", "gold": "B", "swapped": "0"},
    ]
    mapping = {"id": "id", "judge": "judge", "verdict": "winner", "gold": "gold",
               "swapped": "swap"}  # fmt: skip
    found = loaded(table(tmp_path / "t.csv", rows), mapping=mapping)
    said = [(shown.replace("answer ", ""), word[-1]) for _, shown, word in verdicts(found)]
    assert said == [("A > B", "A"), ("B > A", "B"), ("A > B", "B")]
    assert [j.ask.orders for j in found.judgements] == [2, 2, 1] and found.order_known
    frame = frame_from_source(found, "s")
    assert frame["known_answer"].tolist() == [0, 1, 1]
    without = {k: v for k, v in mapping.items() if k != "swapped"}
    assert not loaded(tmp_path / "t.csv", mapping=without).order_known


@pytest.mark.parametrize("flag", ["swapped", "ba", "true", "reversed"])
def test_named_pairs_take_their_order_from_a_flag(tmp_path: Path, flag: str) -> None:
    rows = [{"q": "q1", "m1": "x", "m2": "y", "best": "x", "order": flag, "s1": 3, "s2": 1}]
    mapping = {"q": "id", "m1": "a", "m2": "b", "best": "winner", "order": "swap"}
    path = table(tmp_path / "t.csv", rows)
    assert verdicts(loaded(path, mapping=mapping)) == [("recorded", "y > x", "x")]
    scored = {**mapping, "s1": "score_a", "s2": "score_b"}
    del scored["best"]
    (judgement,) = loaded(path, mapping=scored).judgements
    assert judgement.verdict is not None and judgement.verdict.scores == (1.0, 3.0)
    rows[0]["order"] = "sideways"
    with pytest.raises(SourceError, match=pattern("line 2: swap", "'sideways'", "known")):
        loaded(table(path, rows), mapping=mapping)


@pytest.mark.parametrize(
    ("order", "other"),
    [("plain_first", "rich_first"), ("plain", "rich"), ("Plain first", "RICH FIRST")],
)
def test_an_order_may_name_the_model_shown_first(tmp_path: Path, order: str, other: str) -> None:
    rows = [
        {"q": "q1", "m1": "rich", "m2": "plain", "best": "plain", "order": order},
        {"q": "q1", "m1": "rich", "m2": "plain", "best": "A", "order": other},
    ]
    wanted = [("recorded", "plain > rich", "plain"), ("recorded", "rich > plain", "rich")]
    named = {"q": "id", "m1": "a", "m2": "b", "best": "winner", "order": "swap"}
    path = jsonl(tmp_path / "t.jsonl", rows)
    assert verdicts(loaded(path, mapping=named)) == wanted
    flags = [{**row, "plain_first": row["order"] == order} for row in rows]
    flagged = {**named, "plain_first": "swap"}
    del flagged["order"]
    assert verdicts(loaded(jsonl(path, flags), mapping=flagged)) == wanted


def test_orders_name_the_models_that_no_column_names(tmp_path: Path) -> None:
    rows = [{"q": "q1", "best": "rich", "order": "plain_first"},
            {"q": "q1", "best": "tie", "order": "rich_first"}]  # fmt: skip
    path = jsonl(tmp_path / "t.jsonl", rows)
    found = loaded(path, mapping={"q": "id", "best": "winner", "order": "swap"})
    assert verdicts(found) == [("recorded", "plain > rich", "rich"),
                               ("recorded", "rich > plain", "tie")]  # fmt: skip
    assert found.order_known


def test_one_side_without_the_other_is_said(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [{"m": "x", "w": "x", "q": "why"}])
    with pytest.raises(StudyError, match=pattern("'m'", "'first'", "no column to 'second'")):
        loaded(path, mapping={"m": "first", "w": "winner", "q": "instruction"})


def test_a_list_on_each_line_is_said_as_such(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('["q", "a"]\n["q2", "b"]\n')
    with pytest.raises(SourceError) as refused:
        read_table(path)
    assert says(str(refused.value), "is a list", "one object")
    assert "rename" not in str(refused.value)


# ---- choices among rotated answers -----------------------------------------------------------


def rotation(order: list[int], dataset: str, letters: dict[str, str]) -> list[dict[str, Any]]:
    """Records as THEMIS writes them; its own `results` says whether the letter is the right one."""
    right = "ABCD"[order.index(0)]
    about = {"_record": "metadata", "model": "org/judge", "permutation": order,
             "chosen_at_slot": right, "dataset": f"data/{dataset}",
             "prompt": "prompts/original.txt (verbatim)"}  # fmt: skip
    verdicts = [{"id": id, "subset": "Math", "parsed_letter": letter,
                 "results": 0.25 if letter == "error" else letter == right,
                 "judgement_text": f"[[{letter}]]"} for id, letter in letters.items()]  # fmt: skip
    return [about, *verdicts]


def test_letters_of_rotated_answers_are_positions(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    runs = [
        rotation([0, 1, 2, 3], "hard", {"1": "A", "2": "D"}),
        rotation([1, 2, 0, 3], "hard", {"1": "A", "2": "error"}),
        rotation([1, 2, 3, 0], "hard", {"1": "D", "2": "B"}),
        rotation([1, 2, 3, 0], "easy", {"1": "D"}),
    ]
    for number, rows in enumerate(runs):
        jsonl(folder / f"run_{number}.jsonl", rows)
    found = loaded(folder)
    assert found.format == "themis"
    assert [word for _, _, word in verdicts(found)] == [
        "chosen", "rejected-3", "rejected-1", "unreadable", "chosen", "rejected-2", "chosen",
    ]  # fmt: skip
    assert verdicts(found)[2][1] == "rejected-1 > rejected-2 > chosen > rejected-3"
    assert {(j.ask.prompt, j.ask.labels) for j in found.judgements} == {
        ("original", ("A", "B", "C", "D"))
    }
    assert [(item.id, item.category) for item in found.items] == [
        ("hard/1", "Math"), ("hard/2", "Math"), ("easy/1", "Math"),
    ]  # fmt: skip
    frame = frame_from_source(found, "s")
    published = [row["results"] for rows in runs for row in rows[1:] if row["results"] != 0.25]
    usable = frame[frame["status"] == "ok"]
    assert (usable["pick"] == usable["known_answer"]).tolist() == published
    assert frame.groupby("item")["question"].first().to_dict() == {
        "hard/1": "1", "hard/2": "2", "easy/1": "1",
    }  # fmt: skip


def test_letters_without_their_order_are_refused(tmp_path: Path) -> None:
    rows = rotation([0, 1], "hard", {"1": "A"})
    path = jsonl(tmp_path / "late.jsonl", [rows[1], rows[0]])
    with pytest.raises(SourceError, match=pattern("late.jsonl, line 1", "'permutation'", "add")):
        loaded(path)
    path = jsonl(path, [{**rows[0], "permutation": [0, 0]}, rows[1]])
    with pytest.raises(SourceError, match=pattern("late.jsonl, line 1", "'permutation'", "add")):
        loaded(path)


# ---- promptfoo -------------------------------------------------------------------------------


def graded(type: str, passed: bool, **more: Any) -> dict[str, Any]:
    part = {"pass": passed, "score": float(passed), "reason": "so", "assertion": {"type": type}}
    return {
        "provider": {"id": "openai:m"}, "prompt": {"raw": "p", "label": "p"}, "success": passed,
        "response": {"output": "text"}, "vars": {"prompt": "Tell me"},
        "gradingResult": {"pass": passed, "componentResults": [part]}, **more,
    }  # fmt: skip


def test_red_team_gradings_are_verdicts_of_a_model(tmp_path: Path) -> None:
    kinds = ("promptfoo:redteam:harmful", "promptfoo:redteam:pii", "equals")
    rows = [graded(kind, n == 0, testIdx=n) for n, kind in enumerate(kinds)]
    found = loaded(as_json(tmp_path / "r.json", {"results": {"version": 3, "results": rows}}))
    assert [j.verdict.scores for j in found.judgements if j.verdict] == [(1.0,), (0.0,)]
    assert {j.ask.prompt for j in found.judgements} == set(kinds[:2])


def test_promptfoo_s_first_version_opens(tmp_path: Path) -> None:
    rows = [graded("llm-rubric", n == 0, vars={"prompt": f"Tell me {n}"}) for n in (0, 1)]
    for row in rows:
        row["provider"] = "openai:m"  # version 1 has names, and no index of the test
        row["prompt"] = {"raw": "p", "display": "p"}
    content = {"results": {"version": 1, "results": rows, "stats": {}, "table": {}}, "config": {}}
    found = loaded(as_json(tmp_path / "v1.json", content))
    assert found.format == "promptfoo" and len(found.items) == 2
    assert [j.verdict.scores for j in found.judgements if j.verdict] == [(1.0,), (0.0,)]


# ---- folders of datasets ---------------------------------------------------------------------


def saved_to_disk(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write the files that `datasets.save_to_disk` writes: an Arrow stream and its state."""
    folder.mkdir(parents=True)
    made = pa.Table.from_pylist(rows)
    path = str(folder / "data-00000-of-00001.arrow")
    with pa.OSFile(path, "wb") as out, pa.ipc.new_stream(out, made.schema) as writer:
        writer.write_table(made)
    (folder / "state.json").write_text('{"_data_files": []}')
    (folder / "dataset_info.json").write_text("{}")


def test_a_folder_of_datasets_opens_as_one_study(tmp_path: Path) -> None:
    saved_to_disk(tmp_path / "one", BATTLES)
    saved_to_disk(tmp_path / "splits" / "train", BATTLES[:1])
    saved_to_disk(tmp_path / "splits" / "test", BATTLES[1:])
    (tmp_path / "splits" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    (tmp_path / "shards").mkdir()
    for n, row in enumerate(BATTLES):
        parquet(tmp_path / "shards" / f"train-0000{n}-of-00002.parquet", [row])
    wanted = {("all", "x > y", "x"), ("all", "y > x", "tie")}
    for name in ("one", "splits", "shards"):
        found = loaded(tmp_path / name)
        assert found.format == "arena" and set(verdicts(found)) == wanted, name
    mapping = {"model_a": "first", "model_b": "second", "winner": "winner", "question_id": "id"}
    assert len(loaded(tmp_path / "one", mapping=mapping).judgements) == 2


def test_a_damaged_arrow_file_is_said(tmp_path: Path) -> None:
    saved_to_disk(tmp_path / "one", BATTLES)
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"nothing of the kind")
    with pytest.raises(SourceError, match=pattern("data-00000", "cannot be read as Arrow")):
        loaded(tmp_path / "one")


# ---- several raters --------------------------------------------------------------------------


def test_several_raters_of_an_answer_are_people_and_their_mean_is_the_label(tmp_path: Path) -> None:
    rows = [
        {"item": f"q{n}", "verdict": 3 + n % 2, "label": 1 + n % 2 + rater, "labeller": f"r{rater}"}
        for n in range(4) for rater in (0, 1, 2)
    ]  # fmt: skip
    found = loaded(table(tmp_path / "t.csv", rows))
    assert len(found.judgements) == 4, "the verdict beside three labels counts once"
    assert [len(item.labels) for item in found.items] == [3] * 4
    (cell,) = score_rows_by_rater(frame_from_source(found, "s")).values()
    assert cell.label.tolist() == [2.0, 3.0, 2.0, 3.0]  # the means of 1, 2, 3 and 2, 3, 4
    again = [*rows, {**rows[0], "label": 5}]
    with pytest.raises(SourceError, match=pattern("label of", "differs", "keep one")):
        loaded(table(tmp_path / "t.csv", again))


def test_ratings_of_several_people_give_one_mean_for_an_answer(tmp_path: Path) -> None:
    rows = [
        {"doc": f"d{n}", "system": name, "rater": f"r{rater}", "mqm": n + bonus + rater}
        for n in range(3) for name, bonus in (("x", 0), ("y", 2)) for rater in (1, 2, 3)
    ]  # fmt: skip
    mapping = {"doc": "id", "system": "contestant", "rater": "person", "mqm": "score"}
    frame = frame_from_source(loaded(table(tmp_path / "t.csv", rows), mapping=mapping), "s")
    assert set(frame["judge"].astype(str)) == {"human:r1", "human:r2", "human:r3"}
    means = json_sections(frame, "ratings")["ratings"]
    assert (means["x"]["value"], means["y"]["value"]) == (3.0, 5.0)  # means of 2, 3, 4 and 4, 5, 6
    assert means["x"]["n"] == 3, "one for each answer, not for each rater"


# ---- files without any row -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""), ("header.csv", b"model_a,model_b,winner\n"),
        ("header.jsonl", b""), ("list.json", b"[]"), ("object.json", b"{}"), ("broken.json", b"{"),
        ("noise.csv", b"\x01\x02\xff\xfe"), ("prose.csv", b"hello world\nno table\n"),
    ],
)  # fmt: skip
def test_a_file_without_rows_creates_nothing_and_is_said_once(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    store = tmp_path / "stores" / "e.db"
    store.parent.mkdir()
    assert command(["import", str(tmp_path / name), "--store", str(store)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("error: ") == 1 and printed.out == ""
    assert printed.err.count(name) == 1 and says(printed.err, name)
    assert not any(store.parent.iterdir())


# ---- cells as other tools write them ---------------------------------------------------------


def test_a_score_that_is_nan_is_no_win_for_the_first_answer(tmp_path: Path) -> None:
    rows = [
        {"q": "x?", "m1": "p", "m2": "q", "s1": "NaN", "s2": "5"},
        {"q": "y?", "m1": "p", "m2": "q", "s1": "3", "s2": "nan"},
        {"q": "z?", "m1": "p", "m2": "q", "s1": "3", "s2": "5"},
    ]
    fields = {"q": "instruction", "m1": "a", "m2": "b", "s1": "score_a", "s2": "score_b"}
    found = loaded(table(tmp_path / "t.csv", rows), mapping=fields)
    assert [said for *_, said in verdicts(found)] == ["unreadable", "unreadable", "q"]
    rating = {"question_id": 81, "model": "p", "judge": ["g", "v"], "score": "nan", "judgment": "?"}
    assert loaded(jsonl(tmp_path / "m.jsonl", [rating])).judgements[0].status == "unreadable"


def test_a_score_without_end_is_an_error_with_its_line(tmp_path: Path) -> None:
    fields = {"q": "instruction", "m1": "a", "m2": "b", "s1": "score_a", "s2": "score_b"}
    row = {"q": "x?", "m1": "p", "m2": "q", "s1": "3", "s2": "-inf"}
    with pytest.raises(SourceError, match=pattern("t.csv, line 2", "'s2'", "number", "'-inf'")):
        loaded(table(tmp_path / "t.csv", [row]), mapping=fields)


def test_people_who_score_two_answers_vote_for_the_higher_score(tmp_path: Path) -> None:
    row = {"q": "x?", "m1": "p", "m2": "q", "s1": "3", "s2": "5", "who": "ann"}
    fields = {"q": "instruction", "m1": "a", "m2": "b", "s1": "score_a", "s2": "score_b"}
    found = loaded(table(tmp_path / "t.csv", [row]), mapping={**fields, "who": "person"})
    (vote,) = found.items[0].human
    assert vote.judge == "ann" and vote.ranks == {"p": 2, "q": 1}
    assert found.judgements[0].verdict and found.judgements[0].verdict.scores == (3.0, 5.0)


@pytest.mark.parametrize(("field", "words"), [("winner", "12"), ("winner_index", "01")])
def test_a_winner_may_be_a_number_with_a_point(field: str, words: str, tmp_path: Path) -> None:
    rows = [{"q": f"{w}?", "m1": "p", "m2": "q", "w": f"{w}.0"} for w in words]
    fields = {"q": "instruction", "m1": "first", "m2": "second", "w": field}
    found = loaded(table(tmp_path / "t.csv", rows), mapping=fields)
    assert [said for *_, said in verdicts(found)] == ["p", "q"]


def test_ranks_by_criterion_do_not_replace_each_other(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "q": "x?", "m": name, "text": f"of {name}", "rank": rank, "on": criterion}
        for criterion, ranks in (("fluency", "12"), ("relevance", "21"))
        for name, rank in zip("pq", ranks, strict=True)
    ]
    fields = {"q": "instruction", "m": "contestant", "text": "response"}
    fields |= {"id": "id", "rank": "rank", "on": "meta.on"}
    with pytest.raises(SourceError, match=pattern("line 4", "second rank", "'p'")):
        loaded(table(tmp_path / "t.csv", rows), mapping=fields)


def test_a_turn_may_be_a_list_of_parts_and_follow_a_system_message(tmp_path: Path) -> None:
    def talk(answer: str) -> list[dict[str, Any]]:
        texts = {"system": "Be brief.", "user": "hi", "assistant": answer}
        parts = {role: [{"type": "text", "text": text}] for role, text in texts.items()}
        return [{"role": role, "content": part} for role, part in parts.items()]

    row = {**BATTLES[0], "turn": 1, "conversation_a": talk("A"), "conversation_b": talk("B")}
    (item,) = loaded(as_json(tmp_path / "b.json", [row])).items
    assert (item.instruction, dict(item.responses)) == ("hi", {"x": "A", "y": "B"})


def test_a_choice_may_be_a_json_list_or_a_talk_with_from_and_value(tmp_path: Path) -> None:
    talks = {
        kind: [{"from": "human", "value": "hi"}, {"from": "gpt", "value": kind}]
        for kind in ("chosen", "rejected")
    }
    rows = [
        {"prompt": "hi", **talks},
        {"prompt": "as JSON", "chosen": '[{"n": 1}]', "rejected": "no"},
    ]
    first, second = loaded(as_json(tmp_path / "p.json", rows)).items
    assert dict(first.responses) == {"chosen": "chosen", "rejected": "rejected"}
    assert dict(second.responses) == {"chosen": '[{"n": 1}]', "rejected": "no"}


def test_the_judge_of_mt_bench_may_be_a_list_in_a_cell(tmp_path: Path) -> None:
    pair = {"question_id": "81", "model_1": "p", "model_2": "q", "g1_winner": "model_1",
            "g2_winner": "tie", "judge": '["gpt-4", "pair-v2"]'}  # fmt: skip
    asks = [one.ask for one in loaded(table(tmp_path / "p.csv", [pair])).judgements]
    assert {(ask.judge, ask.prompt) for ask in asks} == {("gpt-4", "pair-v2")}
    battle = {**BATTLES[0], "judge": '["gpt-4", "pair-v2"]'}
    assert loaded(table(tmp_path / "b.csv", [battle])).judgements[0].ask.judge == "gpt-4"


def test_an_instruction_with_another_input_is_another_question(tmp_path: Path) -> None:
    rows = [
        {"instruction": "Translate.", "input": text, "output_1": "dog", "output_2": "cat",
         "preference": preference, "annotator_index": 3}
        for text, preference in (("Hund", 1), ("Katze", 2))
    ]  # fmt: skip
    items = loaded(as_json(tmp_path / "a.json", rows)).items
    assert [item.instruction for item in items] == ["Translate.\n\nHund", "Translate.\n\nKatze"]


def test_answers_of_named_models_are_not_one_models_answers(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "response": f"r{k}", "model": f"m{k}", "score": k} for k in (1, 2)]
    with pytest.raises(SourceError, match=pattern("no known format")):
        loaded(jsonl(tmp_path / "a.jsonl", rows))


def test_a_vote_on_an_empty_answer_leaves_the_study_readable(store: Store, tmp_path: Path) -> None:
    row = {"id": "1", "model_a": "p", "model_b": "q", "prompt": '["hi"]', "response_a": '["x"]'}
    row |= {"response_b": "[null]", "winner_model_a": "1", "winner_model_b": "0", "winner_tie": "0"}
    import_verdicts(store, table(tmp_path / "k.csv", [row]).name, "k", folder=tmp_path)
    (vote,) = store.items("k")["1"].human
    assert vote.shown == ("p", "q") and vote.picked == "p"
    for name in ("items", "jsonl"):
        write_export(store, "k", name, tmp_path / f"{name}.jsonl")
    found = loaded(tmp_path / "jsonl.jsonl", files={"items": "items.jsonl"})
    assert found.items[0].human == (vote,) and verdicts(found) == [("human:arena", "p > q", "p")]


def test_a_row_of_the_wrong_type_is_a_sentence(tmp_path: Path) -> None:
    row = {"gradingResult": {}, "testCase": {}, "provider": "x", "testIdx": "first"}
    with pytest.raises(SourceError, match=pattern("form of promptfoo")):
        loaded(jsonl(tmp_path / "p.jsonl", [row]))
