"""Exports: lossless formats round-trip, and no format contains an unread verdict."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.__main__ import main
from studies.domain import STATUSES, AnswerCheck, Ask, Item, Judgement, Usage, Verdict
from studies.errors import StudyError
from studies.exchange.export import EXPORT_FORMATS, write_export
from studies.exchange.recorded_studies import recorded_verdicts_and_votes
from studies.exchange.unsaved_study import frame_from_judgements
from studies.files.table_formats.spreadsheet_guard import guard_formula
from studies.frames.battle_frame import frame_from_battles
from studies.frames.reply_facts import REPLY_FACTS
from studies.sources.load import load_source
from studies.spec.study import DataSpec, Study, parse_study
from studies.store.store import Store
from tests.page_words import pattern, says

ITEMS = [
    Item("q1", "Name a prime.", {"x": "two", "y": "four"}, category="maths"),
    Item("q2", "Say hello.", {"x": "=1+1", "y": "hello"}, category="writing"),
]


def judged(
    item: str, shown: tuple[str, str], pick: object, status: str = "ok", **more: object
) -> Judgement:
    ask = Ask(f"{item}-{shown[0]}-{more.get('repeat', 0)}", item, "ann", "brief", shown, ("A", "B"),
              orders=2)  # fmt: skip
    verdict = Verdict(pick) if pick is not None else None  # type: ignore[arg-type]
    return Judgement(ask, status, verdict, reply=f"I take {pick}", time=5.0)  # type: ignore[arg-type]


JUDGED = [
    judged("q1", ("x", "y"), 0),
    judged("q1", ("y", "x"), 1),
    judged("q2", ("x", "y"), "tie"),
    judged("q2", ("y", "x"), None, "unreadable"),
]


@pytest.fixture
def filled(store: Store) -> Store:
    store.save_study(Study("small"), ITEMS, (), (), recorded=JUDGED, only_recorded=True)
    return store


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def unsuspected(judgement: Judgement) -> dict[str, object]:
    """As it is written where no text speaks to the judge."""
    return {**asdict(judgement), "injection_suspect": False, "suspects": []}


def test_json_lines_hold_every_judgement_whole(filled: Store, tmp_path: Path) -> None:
    assert write_export(filled, "small", "jsonl", tmp_path / "out.jsonl") == 4
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    stored = [unsuspected(judgement) for judgement in filled.judgements("small")]
    assert [json.loads(line) for line in lines] == json.loads(json.dumps(stored))


def test_parquet_holds_the_same_as_json_lines(filled: Store, tmp_path: Path) -> None:
    assert write_export(filled, "small", "parquet", tmp_path / "out.parquet") == 4
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    wanted = json.loads(json.dumps([unsuspected(j) for j in filled.judgements("small")]))
    for row in wanted:
        if row["verdict"] and row["verdict"]["pick"] is not None:
            row["verdict"]["pick"] = str(row["verdict"]["pick"])
    assert found == wanted


def test_battles_have_the_first_shown_as_model_a_and_no_unread_row(
    filled: Store, tmp_path: Path
) -> None:
    assert write_export(filled, "small", "arena", tmp_path / "battles.csv") == 3
    battles = [(r["item"], r["model_a"], r["winner"]) for r in rows(tmp_path / "battles.csv")]
    assert battles == [("q1", "x", "model_a"), ("q1", "y", "model_b"), ("q2", "x", "tie")]


def test_battles_of_models_called_model_a_and_model_b_come_back(
    store: Store, tmp_path: Path
) -> None:
    pairs = (("model_a", "model_b"), ("model_b", "model_a"))
    made = [judged(f"q{k}", shown, k) for k, shown in enumerate(pairs)]
    store.save_study(Study("small"), [Item("q0", "", {}), Item("q1", "", {})], (), (),
                     recorded=made, only_recorded=True)  # fmt: skip
    write_export(store, "small", "arena", tmp_path / "battles.csv")
    found = load_source(DataSpec("battles.csv"), tmp_path).judgements
    assert [(j.ask.shown, j.verdict.pick) for j in found if j.verdict] == [
        (pairs[0], 0),
        (pairs[1], 1),
    ]
    frame = frame_from_battles(pd.read_csv(tmp_path / "battles.csv"))
    assert frame["pick"].tolist() == [0, 1]


def test_pair_files_are_unswapped_and_an_unread_game_is_an_error(
    filled: Store, tmp_path: Path
) -> None:
    write_export(filled, "small", "mt-bench", tmp_path / "pair.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "pair.jsonl").read_text("utf-8").splitlines()]
    games = {line["question_id"]: (line["g1_winner"], line["g2_winner"]) for line in lines}
    # q1: x was chosen when shown first and when shown second; model_1 is x both times.
    assert games == {"q1": ("model_1", "model_1"), "q2": ("tie", "error")}


def test_comparator_scores_are_positive_for_a_and_say_what_was_flipped(
    filled: Store, tmp_path: Path
) -> None:
    assert write_export(filled, "small", "llm-comparator", tmp_path / "c.json") == 2
    whole = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert [model["name"] for model in whole["models"]] == ["x", "y"]
    first = whole["examples"][0]
    assert first["score"] == 1.0
    assert [(r["is_flipped"], r["score"]) for r in first["individual_rater_scores"]] == [
        (False, 1.0), (True, 1.0),
    ]  # fmt: skip
    assert whole["examples"][1]["score"] == 0.0  # a tie; the unread game is not there
    assert len(whole["examples"][1]["individual_rater_scores"]) == 1


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_no_cell_of_a_csv_runs_as_a_formula(filled: Store, tmp_path: Path, text: str) -> None:
    assert guard_formula(text) == "'" + text
    reply = replace(JUDGED[0], reply=text)
    filled.save_study(Study("hostile"), ITEMS, (), (), recorded=[reply], only_recorded=True)
    write_export(filled, "hostile", "csv", tmp_path / "out.csv")
    cells = [cell for row in rows(tmp_path / "out.csv") for cell in row.values()]
    assert any(text.strip() in cell for cell in cells)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)


def test_numbers_are_left_alone() -> None:
    assert guard_formula(-1.5) == -1.5


def test_an_unknown_format_names_the_known_ones(filled: Store, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no export format 'xml'.*jsonl"):
        write_export(filled, "small", "xml", tmp_path / "x")


def test_a_failed_export_leaves_the_old_file_whole(store: Store, tmp_path: Path) -> None:
    store.save_study(Study("empty"), ITEMS, (), ())
    old = tmp_path / "c.json"
    old.write_text("kept", encoding="utf-8")
    with pytest.raises(StudyError, match=pattern("no usable verdict", "pair")):
        write_export(store, "empty", "llm-comparator", old)
    assert old.read_text("utf-8") == "kept"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize(
    ("source", "told"),
    [("probe", False), ("hub:a/b", False), ("${EVENHAND_RECORDS}/x", False), ("../a.jsonl", True)],
)
def test_a_study_file_says_when_its_data_stay_behind(
    store: Store, tmp_path: Path, source: str, told: bool
) -> None:
    study = Study("s", DataSpec(source))
    store.save_study(study, ITEMS, (), ())
    write_export(store, "s", "yaml", tmp_path / "s.yaml")
    written = (tmp_path / "s.yaml").read_text("utf-8")
    assert says(written, "# data.source", "local file") == told
    assert parse_study(written) == study


@pytest.mark.parametrize("name", sorted(EXPORT_FORMATS))
def test_every_format_writes_an_empty_study_or_says_why_not(
    store: Store, tmp_path: Path, name: str
) -> None:
    store.save_study(Study("empty"), ITEMS, (), ())
    try:
        written = write_export(store, "empty", name, tmp_path / "out")
    except StudyError as error:
        assert "no usable verdict" in str(error)
    else:
        assert written == {"items": 2, "yaml": 1}.get(name, 0)
        assert (tmp_path / "out").exists()


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)


@given(
    status=st.sampled_from(STATUSES), reply=TEXT, reasoning=TEXT, detail=TEXT,
    pick=st.one_of(st.none(), st.just("tie"), st.integers(0, 1)),
    probabilities=st.lists(st.floats(0, 1), min_size=0, max_size=2),
    tokens=st.one_of(st.none(), st.integers(0, 10**6)), cost=st.one_of(st.none(), st.floats(0, 9)),
)  # fmt: skip
def test_whatever_is_stored_comes_out_of_parquet_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, status, reply, reasoning, detail, pick,
    probabilities, tokens, cost,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("law")
    store = Store(folder / "evenhand.db")
    verdict = Verdict(pick, label_probabilities=tuple(probabilities))
    judgement = Judgement(
        replace(JUDGED[0].ask), status, verdict if status in ("ok", "extracted") else None,
        reply=reply, reasoning=reasoning, detail=detail, usage=Usage(tokens), cost=cost,
    )  # fmt: skip
    store.save_study(Study("law"), ITEMS, (), (), recorded=[judgement], only_recorded=True)
    write_export(store, "law", "parquet", folder / "law.parquet")
    (row,) = pq.read_table(folder / "law.parquet").to_pylist()
    (stored,) = store.judgements("law")
    store.close()
    assert (row["reply"], row["reasoning"], row["detail"]) == (reply, reasoning, detail)
    assert (row["status"], row["cost"], row["usage"]["prompt"]) == (status, cost, tokens)
    if stored.verdict is not None:
        assert tuple(row["verdict"]["label_probabilities"]) == stored.verdict.label_probabilities
        wanted = None if stored.verdict.pick is None else str(stored.verdict.pick)
        assert row["verdict"]["pick"] == wanted


def test_the_command_writes_a_file_or_lines(
    filled: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = ["small", "--store", str(filled.path)]
    assert main(["export", *rest]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    out = tmp_path / "battles.csv"
    assert main(["export", *rest, "--format", "arena", "--out", str(out)]) == 0
    assert len(rows(out)) == 3
    assert main(["export", *rest, "--format", "parquet"]) == 2
    assert "--out" in capsys.readouterr().err


def test_facts_about_replies_are_in_the_rows_of_their_replies(filled, monkeypatch) -> None:
    """The same as in the frame of the store, row by row; the second judgement has no reply."""
    monkeypatch.setitem(REPLY_FACTS, "characters", len)
    judgements = [replace(one, reply=text) for one, text in
                  zip(JUDGED, ("a", "", "ccc", "dddd"), strict=True)]  # fmt: skip
    frame = frame_from_judgements(ITEMS, judgements, "small")
    assert frame["characters"].fillna(0).tolist() == [1, 0, 3, 4]
    filled.save_study(Study("facts"), ITEMS, (), (), recorded=judgements, only_recorded=True)
    stored = filled.frame("facts")
    assert stored["characters"].fillna(0).tolist() == frame["characters"].fillna(0).tolist()


def test_a_renamed_study_keeps_each_recorded_verdict_once(filled: Store) -> None:
    """The keys of recorded verdicts contain the name of the study."""
    source = DataSpec("data.jsonl")
    study = Study("before", data=source)
    first = recorded_verdicts_and_votes(filled, study, ITEMS, JUDGED, [])
    filled.save_study(study, ITEMS, (), recorded=first, plan_sha="1")
    filled.rename_study("before", "after")
    again = recorded_verdicts_and_votes(filled, replace(study, name="after"), ITEMS, JUDGED, [])
    assert len(again) == len(first) == 4
    without_file = recorded_verdicts_and_votes(filled, replace(study, name="after"), ITEMS, (), [])
    assert {one.ask.key for one in without_file} == {one.ask.key for one in again}
    filled.save_study(replace(study, name="after"), ITEMS, (), recorded=again, plan_sha="2")
    assert len(filled.frame("after")) == 4


def test_items_with_a_question_or_answers_only_come_back(store: Store, tmp_path: Path) -> None:
    check = AnswerCheck("human:ann", "@reference", True)
    items = [
        Item("q1", "Describe it.", {}, reference="A cat.", checks=(check,)),
        Item("q2", "", {"x": "one", "y": "two"}),
    ]
    asked = [judged(item, ("x", "y"), 0) for item in ("q1", "q2")]
    store.save_study(Study("s"), items, (), (), recorded=asked, only_recorded=True)
    for name, kind in (("judgements.jsonl", "jsonl"), ("items.jsonl", "items")):
        write_export(store, "s", kind, tmp_path / name)
    files = {"items": "items.jsonl"}
    spec = DataSpec(str(tmp_path / "judgements.jsonl"), files=files)
    found = {item.id: item for item in load_source(spec, tmp_path).items}
    assert found["q1"].instruction == "Describe it." and found["q1"].checks == (check,)
    assert found["q2"].responses == {"x": "one", "y": "two"}
