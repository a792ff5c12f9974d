"""Tables of verdicts beside labels: one step to a study, unclear words asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studies.domain import AnswerLabel, Item
from studies.errors import SourceError, StudyError
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.files.items import dump_item, parse_item, read_items
from studies.frames.known_answers import right_verdicts
from studies.frames.point_columns import GOLD_COLUMN, pass_fail_mask
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.page_words import pattern, says


def load(folder: Path, text: str) -> LoadedSource:
    (folder / "checks.csv").write_text(text, encoding="utf-8")
    return load_source(DataSpec("checks.csv"), folder)


@pytest.mark.parametrize(
    ("good", "bad"), [("pass", "fail"), ("TRUE", "FALSE"), ("1", "0"), ("yes", "no"), ("1.0", "0")]
)
def test_two_columns_of_known_words_are_pass_and_fail(good: str, bad: str, tmp_path: Path) -> None:
    loaded = load(tmp_path, f"verdict,label\n{good},{bad}\n{bad},{good}\n{good},\n,{bad}\n")
    assert loaded.format == "verdict-label"
    scores = [j.verdict.scores if j.verdict else None for j in loaded.judgements]
    assert scores == [(1.0,), (0.0,), (1.0,), None]
    assert [j.status for j in loaded.judgements] == ["ok", "ok", "ok", "unreadable"]
    assert [[one.value for one in item.labels] for item in loaded.items] == [
        ["fail"], ["pass"], [], ["fail"]
    ]  # fmt: skip
    asks = {(j.ask.judge, j.ask.prompt, j.ask.labels) for j in loaded.judgements}
    assert asks == {("judge", "recorded", ("fail", "pass"))}


@pytest.mark.parametrize("head", ["judge_score,human_score", "Judge score,Human Score"])
def test_scores_of_the_judge_and_of_people_are_known_by_their_columns(
    head: str, tmp_path: Path
) -> None:
    loaded = load(tmp_path, f"{head}\n4,5\n1,2\n")
    assert [j.verdict.scores for j in loaded.judgements if j.verdict] == [(4.0,), (1.0,)]
    assert [one.value for item in loaded.items for one in item.labels] == [5.0, 2.0]


def test_numbers_on_one_scale_are_scores(tmp_path: Path) -> None:
    loaded = load(tmp_path, "verdict,label\n4,5\n1,2\n3,\n")
    assert [j.verdict.scores for j in loaded.judgements if j.verdict] == [(4.0,), (1.0,), (3.0,)]
    assert [one.value for item in loaded.items for one in item.labels] == [5.0, 2.0]
    assert all(len(j.ask.labels) == 1 for j in loaded.judgements)


@pytest.mark.parametrize(
    "head", ["judge verdict,human label", "Judge_Verdict,Human_Label", "verdict,human verdict"]
)
def test_verdicts_of_the_judge_and_labels_of_people_are_known_by_their_columns(
    head: str, tmp_path: Path
) -> None:
    loaded = load(tmp_path, f"question,answer,{head}\nwhy?,so,pass,fail\nhow?,thus,fail,fail\n")
    assert loaded.format == "verdict-label"
    assert [j.verdict.scores for j in loaded.judgements if j.verdict] == [(1.0,), (0.0,)]
    assert [one.value for item in loaded.items for one in item.labels] == ["fail", "fail"]


def test_an_answer_without_a_model_says_what_to_map(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,answer\nwhy?,so\n", encoding="utf-8")
    mapping = {"q": "instruction", "answer": "response"}
    with pytest.raises(StudyError, match=pattern("answer", "responses.<model>", "contestant")):
        load_source(DataSpec("t.csv", mapping=mapping), tmp_path)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("verdict,label\npass,good\nfail,bad\n", "line 2: column 'label': does 'good' mean pass"),
        ("verdict,label\npass,pass\n5,fail\n", "line 3: column 'verdict': does '5' mean pass"),
        ("verdict,label\n4,pass\n2,fail\n", "lowest passing number is unknown"),
        ("verdict,label\npass,pass\n1e999,fail\n", "does '1e999' mean"),
    ],
)
def test_an_unclear_word_is_a_question(text: str, asked: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="pass") as caught:
        load(tmp_path, text)
    assert asked in str(caught.value)


def test_verdicts_on_two_answers_are_no_scores_of_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=pattern("no known format")):
        load(tmp_path, "question,answer_a,answer_b,verdict,label\nx?,a,b,1,2\n")


def test_two_labels_of_one_answer_must_agree(tmp_path: Path) -> None:
    table = "item,verdict,label\nq1,pass,pass\nq1,fail,fail\n"
    with pytest.raises(SourceError, match=pattern("3", "label", "'q1' differs")):
        load(tmp_path, table)


def test_a_named_status_is_kept_and_never_a_fail(tmp_path: Path) -> None:
    loaded = load(tmp_path, "verdict,label\npass,pass\nrefusal,pass\n")
    assert [(j.status, j.verdict is None) for j in loaded.judgements] == [
        ("ok", False), ("refusal", True)
    ]  # fmt: skip


def test_a_study_of_labels_round_trips_through_store_and_export(tmp_path: Path) -> None:
    table = (
        "Item,Model,Judge,Prompt,Group,Verdict,Label,labeller,extra\n"
        "q1,m,j1,strict,law,pass,pass,ann,x\n"
        "q1,m,j2,strict,law,fail,pass,ann,x\n"
        "q2,n,j1,strict,code,pass,fail,ann,x\n"
        "q3,n,j1,strict,code,pass,,,x\n"
    )
    (tmp_path / "checks.csv").write_text(table, encoding="utf-8")
    store = Store(tmp_path / "store.db")
    loaded = import_verdicts(store, "checks.csv", folder=tmp_path)
    assert says(loaded.notes, "columns not read", "extra")
    frame = store.frame("checks")
    assert pass_fail_mask(frame).all()
    assert frame[GOLD_COLUMN].tolist()[:3] == [1.0, 1.0, 0.0]
    assert frame[GOLD_COLUMN].isna().sum() == 1
    assert list(frame["category"].astype(str)) == ["law", "law", "code", "code"]
    assert store.items("checks")["q1"].labels == (AnswerLabel("m", "pass", "ann"),)
    write_export(store, "checks", "jsonl", tmp_path / "judgements.jsonl")
    write_export(store, "checks", "items", tmp_path / "items.jsonl")
    again = Store(tmp_path / "again.db")
    import_verdicts(
        again, "judgements.jsonl", "checks", folder=tmp_path, files={"items": "items.jsonl"}
    )
    columns = ["item", "judge", "labels", "status", "score_0", GOLD_COLUMN]
    assert again.frame("checks")[columns].astype(str).equals(frame[columns].astype(str))
    store.close()
    again.close()


def test_items_files_hold_labels(tmp_path: Path) -> None:
    item = Item(
        "q", "why?", {"m": "so", "n": "no"},
        labels=(AnswerLabel("m", 4.0, "ann", 12.5, "v2"), AnswerLabel("n", "fail")),
    )  # fmt: skip
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(dump_item(item)), encoding="utf-8")
    assert read_items(path) == [item]
    values = {"id": "q", "instruction": "?", "responses": {"m": "so"}}
    for wrong in ({"contestant": "x", "value": "pass"}, {"contestant": "m", "value": True}):
        with pytest.raises(SourceError, match="labels: field"):
            parse_item({**values, "labels": [wrong]}, "f")


def test_gold_counts_before_people_and_an_even_split_is_no_label() -> None:
    people = [AnswerLabel("m", "pass", "a"), AnswerLabel("m", "fail", "b")]
    assert right_verdicts(people) == {}
    assert right_verdicts([*people, AnswerLabel("m", "fail")]) == {"m": "fail"}
    assert right_verdicts([AnswerLabel("m", 2.0, "a"), AnswerLabel("m", 5.0, "b")]) == {"m": 3.5}
