"""Verdicts read from recorded replies at import: files with replies in place of winners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judges.verdicts.verdict import RecordedReplyReader
from studies.__main__ import main
from studies.domain import Judgement
from studies.errors import SourceError, StudyError
from studies.exchange.recorded_studies import import_verdicts
from studies.sources.load import load_source
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.page_words import pattern

MAPPING = {"q": "instruction", "one": "first", "two": "second", "said": "reply"}
REPLIES = ("Both fine. [[A]]", "Hm. [[B]]", "Equal. [[C]]", "I cannot decide.", "[[A]]")


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def reply_rows(replies: tuple[str, ...] = REPLIES, **more: Any) -> list[dict[str, Any]]:
    return [
        {"q": f"question {k}", "one": "y", "two": "x", "said": reply, **more}
        for k, reply in enumerate(replies)
    ]


def picked(judgement: Judgement) -> str:
    verdict = judgement.verdict
    if verdict is None or verdict.pick is None:
        return judgement.status
    return "tie" if verdict.pick == "tie" else judgement.ask.shown[verdict.pick]


def load(path: Path, **spec: Any) -> Any:
    return load_source(DataSpec(str(path), **spec), path.parent)


def test_replies_without_winners_are_read_in_the_detected_format(tmp_path: Path) -> None:
    found = load(write_rows(tmp_path / "r.jsonl", reply_rows()), mapping=MAPPING)
    assert [picked(j) for j in found.judgements] == ["y", "x", "tie", "unreadable", "y"]
    (note,) = [note for note in found.notes if "read from" in note]
    assert note.startswith("4 verdicts read from 5 replies as mt-bench (detected")
    assert note.endswith("; 1 unusable")
    assert found.judgements[3].detail


def test_labels_mean_the_columns_also_where_the_order_is_unknown(tmp_path: Path) -> None:
    mapping = {**MAPPING, "one": "a", "two": "b"}
    found = load(write_rows(tmp_path / "r.jsonl", reply_rows()), mapping=mapping)
    assert {j.ask.shown for j in found.judgements} == {("x", "y")}
    assert [picked(j) for j in found.judgements] == ["y", "x", "tie", "unreadable", "y"]


def test_a_named_format_replaces_recorded_winners_and_counts_differences(tmp_path: Path) -> None:
    rows = [
        {"question_id": k, "model_1": "x", "model_2": "y", "g1_winner": "model_1",
         "g2_winner": "model_1", "g1_judgment": first, "g2_judgment": second,
         "judge": ["gpt-4", "pair-v2"], "turn": 1}
        for k, (first, second) in enumerate([("[[A]]", "[[A]]"), ("[[A]] or", "none")])
    ]  # fmt: skip
    path = write_rows(tmp_path / "gpt-4_pair.jsonl", rows)
    found = load(path, read="mt-bench")
    assert [picked(j) for j in found.judgements] == ["x", "y", "x", "unreadable"]
    assert any(note.startswith("2 verdicts read from replies, un") for note in found.notes)
    assert [picked(j) for j in load(path).judgements] == ["x"] * 4


def test_ratings_are_read_as_scores(tmp_path: Path) -> None:
    rows = reply_rows(("Rating: [[7]]", "no rating"))
    mapping = {"q": "instruction", "one": "contestant", "said": "reply"}
    found = load(write_rows(tmp_path / "r.jsonl", rows), mapping=mapping, read="rating")
    first, second = found.judgements
    assert first.verdict is not None and first.verdict.scores == (7.0,)
    assert (first.ask.shown, second.status) == (("y",), "unreadable")


@pytest.mark.parametrize(
    ("reply", "options", "format"),
    [
        ("Final Verdict is: [[A>>B]]", 2, "five-level"),
        ("[[B>A]]", 2, "arena-hard"),
        ("[[7, 4]]", 2, "rating-pair"),
        ("Rating: [[7]]", 1, "rating"),
        ("Overall, Response B is better.", 2, "overall-response"),
        ("Selection: Option 3\nExplanation: it is", 4, "selection-option"),
        ('{"winner": "A"}', 2, "json-winner"),
        ("GRADE: C", 1, "grade-letter"),
        ("well, maybe A", 2, ""),
    ],
)
def test_plain_markers_are_detected(reply: str, options: int, format: str) -> None:
    assert RecordedReplyReader().detect_format([(reply, options)] * 4) == format


def test_few_readable_replies_are_not_a_format(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", reply_rows(("[[A]]", "no", "no", "no")))
    with pytest.raises(SourceError, match=r"no plain verdict markers. Set the .* data.read"):
        load(path, mapping=MAPPING)
    found = load(path, mapping=MAPPING, read="mt-bench")
    assert [j.status for j in found.judgements] == ["ok"] + ["unreadable"] * 3


def test_unknown_formats_and_files_without_replies_are_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", reply_rows())
    with pytest.raises(StudyError, match=pattern("data.read", "'mtbench'", "known")):
        load(path, mapping=MAPPING, read="mtbench")
    rows = [{"model_a": "x", "model_b": "y", "winner": "model_a"}]
    with pytest.raises(SourceError, match=r"the file contains no judge's replies"):
        load(write_rows(tmp_path / "b.jsonl", rows), read="mt-bench")


@pytest.mark.parametrize("format", RecordedReplyReader.format_names)
def test_every_offered_format_reads_a_reply(format: str) -> None:
    """The levels of a scale or rubric are stated by a prompt, which a file does not have."""
    scores = "Response A Visual Factuality Score: 7/10\nResponse B Visual Factuality Score: 2/10"
    replies = {
        "overall-response": "Overall, Response A is better.", "final-answer": "Final Answer: A",
        "selection-option": "Selection: Option 1", "five-level": "Final Verdict is: [[A>B]]",
        "arena-hard": "[[A>B]]", "factuality": scores, "mt-bench": "[[A]]", "label": "A",
        "rating": "Rating: [[7]]", "rating-pair": "[[7, 4]]", "json-winner": '{"winner": "A"}',
        "result-n": "[RESULT] 4", "grade-letter": "GRADE: C", "pass-fail": "Verdict: PASS",
        "score-scale": "Score: 4", "rubric": "Clarity: 4",
    }  # fmt: skip
    assert RecordedReplyReader().read(format, replies[format], 2).verdict


def test_replies_whose_labels_are_not_recorded_are_refused(tmp_path: Path) -> None:
    row = {"instruction": "why?", "output_1": "a", "output_2": "b", "generator_1": "x",
           "generator_2": "y", "annotator": "j", "preference": 1,
           "raw_completion": "m"}  # fmt: skip
    with pytest.raises(SourceError, match=r"which answer its replies call A"):
        load(write_rows(tmp_path / "a.jsonl", [row]), read="label")


def test_the_import_command_reads_replies_and_the_study_keeps_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "r.jsonl", reply_rows())
    options = [f"--mapping={column}={field}" for column, field in MAPPING.items()]
    store_path = tmp_path / "s.db"
    arguments = ["import", str(path), *options, "--read", "mt-bench", "--store", str(store_path)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "set by --read" in printed and "4 ok" in printed and "1 unreadable" in printed
    store = Store(store_path)
    assert store.study("r").data.read == "mt-bench"
    loaded = import_verdicts(store, store.study("r").data, "again", folder=store_path.parent)
    assert sum(j.verdict is not None for j in loaded.judgements) == 4
