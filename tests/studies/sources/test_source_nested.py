"""Mappings of real tables: nested and list columns, Excel, several files, gold and scores."""

from __future__ import annotations

import contextlib
import datetime
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from metrics.position.position_measures import accuracy
from studies.__main__ import main
from studies.errors import SourceError, StudyError
from studies.exchange.recorded_studies import import_verdicts
from studies.files.read_limits import current_limits
from studies.files.table_formats import json_lines
from studies.files.tables import read_table
from studies.frames.frame import NO_PICK
from studies.store.store import Store
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, parquet, table, verdicts

PAIR = {"q": "instruction", "one": "first", "two": "second", "won": "winner"}


def pair_row(number: int, won: str = "A", **more: Any) -> dict[str, Any]:
    return {"q": f"question {number}", "one": "x", "two": "y", "won": won, **more}


# ---- nested and list columns ---------------------------------------------------------------------

NESTED = {
    "question": "instruction",
    "answer1.name": "first",
    "answer2.name": "second",
    "answer1.text": "response_first",
    "answer2.text": "response_second",
    "verdicts.0": "winner",
}


def nested_row() -> dict[str, Any]:
    return {"question": "why?", "answer1": {"name": "x", "text": "because"},
            "answer2": {"name": "y", "text": "so"}, "verdicts": ["B", "A"]}  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_parts_of_objects_and_lists_are_columns(tmp_path: Path, kind: str) -> None:
    row, path = nested_row(), tmp_path / f"t.{kind}"
    if kind == "csv":
        row = {key: value if isinstance(value, str) else json.dumps(value)
               for key, value in row.items()}  # fmt: skip
    {"jsonl": jsonl, "parquet": parquet, "csv": table}[kind](path, [row])
    found = loaded(path, mapping=NESTED)
    assert verdicts(found) == [("recorded", "x > y", "y")]
    assert found.items[0].responses == {"x": "because", "y": "so"}


def test_each_element_of_a_list_is_an_answer(tmp_path: Path) -> None:
    rows = [
        {"question": f"question {k}",
         "answers": [{"model": name, "text": f"{name} {k}", "mark": k} for name in "xyz"]}
        for k in range(2)
    ]  # fmt: skip
    mapping = {"question": "instruction", "answers[].model": "contestant",
               "answers[].text": "response", "answers[].mark": "score"}  # fmt: skip
    found = loaded(jsonl(tmp_path / "a.jsonl", rows), mapping=mapping)
    assert [item.responses for item in found.items] == [
        {name: f"{name} {k}" for name in "xyz"} for k in range(2)
    ]
    assert [j.verdict.scores for j in found.judgements if j.verdict] == [(0.0,)] * 3 + [(1.0,)] * 3


def test_a_conversation_in_a_cell_becomes_text(tmp_path: Path) -> None:
    row = pair_row(0) | {"q": [{"role": "user", "content": "why?"}, {"content": "and how?"}]}
    (item,) = loaded(jsonl(tmp_path / "t.jsonl", [row]), mapping=PAIR).items
    assert item.instruction == "why?\n\nand how?"


def test_a_missing_column_lists_the_parts_that_exist(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "t.jsonl", [nested_row()])
    with pytest.raises(StudyError, match=r"no column 'answer9.model'; its columns: .*answer1.name"):
        loaded(path, mapping={"answer9.model": "judge"})
    with pytest.raises(SourceError, match=pattern("only", "list", "become rows")):
        loaded(path, mapping={"verdicts[]": "winner", "answer1[]": "first"})


# ---- gold, scores, indices -----------------------------------------------------------------------


def test_gold_is_the_truth_and_no_persons_vote(tmp_path: Path, store: Store) -> None:
    rows = [pair_row(k, "AAAB"[k], best="ABAA"[k]) for k in range(4)]
    path = jsonl(tmp_path / "t.jsonl", rows)
    import_verdicts(store, path, "g", mapping={**PAIR, "best": "gold"})
    frame = store.frame("g")
    assert set(frame["judge"].astype(str)) == {"recorded"}
    right = accuracy(frame)
    assert (right.value, right.n) == (0.5, 4)


def test_gold_of_several_pairs_of_one_question(tmp_path: Path, store: Store) -> None:
    rows = [{"q": "why?", "one": one, "two": two, "won": "A", "best": best}
            for one, two, best in (("x", "y", "x"), ("y", "z", "z"))]  # fmt: skip
    path = jsonl(tmp_path / "t.jsonl", rows)
    import_verdicts(store, path, "g", mapping={**PAIR, "best": "gold"})
    right = accuracy(store.frame("g"))
    assert (right.value, right.n) == (0.5, 2)


def test_gold_of_a_wide_table_names_a_model(tmp_path: Path) -> None:
    rows = [{"q": "why?", "m1": "a", "m2": "b", "best": "m2"}]
    mapping = {"q": "instruction", "m1": "responses.m1", "m2": "responses.m2", "best": "gold"}
    (item,) = loaded(jsonl(tmp_path / "t.jsonl", rows), mapping=mapping).items
    assert [(vote.judge, vote.picked) for vote in item.human] == [("by-design", "m2")]


def test_labels_by_people_are_votes_and_the_truth(tmp_path: Path, store: Store) -> None:
    # Two judges a pair: the label stands in both rows and is one vote.
    rows = [pair_row(k, "AAAB"[k], best="ABA"[k : k + 1], by=by) for k in range(4) for by in "jk"]
    path = jsonl(tmp_path / "t.jsonl", rows)
    import_verdicts(store, path, "g", mapping={**PAIR, "best": "human", "by": "judge"})
    frame = store.frame("g")
    judges = frame["judge"].astype(str).value_counts().to_dict()
    assert judges == {"j": 4, "k": 4, "human:best": 3}, "an empty label is no vote"
    machine = frame[frame["judge"] == "j"]
    assert machine["known_answer"].tolist().count(NO_PICK) == 1
    assert (accuracy(machine).value, accuracy(machine).n) == (pytest.approx(2 / 3), 3)


def test_labels_by_people_of_a_wide_table_are_votes(tmp_path: Path) -> None:
    rows = [{"q": "why?", "m1": "a", "m2": "b", "m3": "c", "liked": "m2", "best": "m1"}]
    answers = {name: f"responses.{name}" for name in ("m1", "m2", "m3")}
    mapping = {"q": "instruction", **answers, "liked": "human", "best": "gold"}
    (item,) = loaded(jsonl(tmp_path / "t.jsonl", rows), mapping=mapping).items
    votes = [(vote.judge, vote.picked) for vote in item.human]
    assert votes == [("by-design", "m1"), ("liked", "m2")]


def test_scores_decide_where_no_winner_is_mapped(tmp_path: Path) -> None:
    rows = [pair_row(k, s1=s1, s2=s2) for k, (s1, s2) in enumerate([(7, 4), (3, 3), (1, None)])]
    mapping = {**PAIR, "s1": "score_first", "s2": "score_second"}
    del mapping["won"]
    found = loaded(jsonl(tmp_path / "t.jsonl", rows), mapping=mapping)
    assert [said for *_, said in verdicts(found)] == ["x", "tie", "unreadable"]
    assert found.judgements[0].verdict is not None
    assert found.judgements[0].verdict.scores == (7.0, 4.0)
    with pytest.raises(StudyError, match=r"'score_first' and one to 'score_second'"):
        loaded(tmp_path / "t.jsonl", mapping={**PAIR, "s1": "score_first"})


def test_a_winner_counted_from_zero_has_a_field_of_its_own(tmp_path: Path) -> None:
    rows = [pair_row(k, str(k)) for k in range(3)]
    path = jsonl(tmp_path / "t.jsonl", rows)
    with pytest.raises(
        SourceError, match=r"line 1: winner '0' .* map the column to 'winner_index'"
    ):
        loaded(path, mapping=PAIR)
    found = loaded(path, mapping={**PAIR, "won": "winner_index"})
    assert [said for *_, said in verdicts(found)] == ["x", "y", "tie"]


# ---- Excel ---------------------------------------------------------------------------------------


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path: Path) -> None:
    head, day = ["q", "one", "two", "won", None], datetime.date(2024, 5, 1)
    rows = [[], head, ["why?", "x", "y", 1, None], [], ["how?", "x", "y", "tie"], [day, "x", "y"]]
    path = workbook(tmp_path / "t.xlsx", {"votes": rows, "notes": [["other"], [1]]})
    found = loaded(path, mapping=PAIR)
    assert [said for *_, said in verdicts(found)] == ["x", "tie", "unreadable"]
    assert found.items[2].instruction.startswith("2024-05-01")
    assert says(found.notes, "only", "sheet 'votes'", "read")


def test_damaged_and_packed_workbooks_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"PK\x03\x04 no workbook")
    with pytest.raises(SourceError, match=pattern("broken.xlsx: incomplete", "damaged", "archive")):
        read_table(broken)
    bomb = workbook(tmp_path / "bomb.xlsx", {"s": [["q"], ["why?"]]})
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b"0" * (60 << 20))
    with pytest.raises(SourceError, match=pattern("unpacks", "100 times", "size")):
        read_table(bomb)
    other = tmp_path / "other.xlsx"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "no workbook")
    with pytest.raises(SourceError, match=pattern("other.xlsx: not", "Excel workbook")):
        read_table(other)


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml", "[Content_Types].xml"]
)
@pytest.mark.parametrize("content", [b"<worksheet><row>", b"", b"<a xmlns='x'/>", b"\xff\xfe<"])
def test_a_workbook_with_an_error_in_its_xml_is_refused_in_words(
    part: str, content: bytes, tmp_path: Path
) -> None:
    whole = workbook(tmp_path / "whole.xlsx", {"s": [["q"], ["why?"]]})
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name == part else old.read(name))
    with contextlib.suppress(SourceError):  # an empty list of styles harms nothing
        assert read_table(tmp_path / "broken.xlsx").columns == ("q",)
    if content == b"<worksheet><row>" and part != "xl/styles.xml":
        with pytest.raises(
            SourceError, match=pattern("broken.xlsx: not", "Excel", "save it again")
        ):
            read_table(tmp_path / "broken.xlsx")


def test_too_many_keys_over_json_lines_are_refused_before_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, limit = tmp_path / "keys.jsonl", current_limits().columns
    path.write_text("".join(f'{{"k{n}": {n}}}\n' for n in range(limit + 5_000)), encoding="utf-8")
    parsed: list[int] = []
    work = json_lines.parse_object
    monkeypatch.setattr(json_lines, "parse_object", lambda *a: parsed.append(1) or work(*a))
    with pytest.raises(SourceError, match=f"{limit + 1:,} columns; at most {limit:,}"):
        read_table(path)
    assert len(parsed) == limit + 1


# ---- several files -------------------------------------------------------------------------------


def three_files(folder: Path) -> list[Path]:
    return [jsonl(folder / f"part{k}.jsonl", [pair_row(k), pair_row(k + 10)]) for k in range(3)]


def test_files_are_read_as_one_study_by_name_pattern_and_folder(tmp_path: Path) -> None:
    paths = three_files(tmp_path / "runs")
    named = loaded(paths[0], mapping=PAIR, parts=("part1.jsonl", "part2.jsonl"))
    assert len(named.items) == len(named.judgements) == 6
    assert says(named.notes, "3 files", "read", "study")
    folder = loaded(tmp_path / "runs", mapping=PAIR)
    assert len(folder.judgements) == 6


def test_a_pattern_names_files(tmp_path: Path) -> None:
    three_files(tmp_path)
    assert len(loaded(tmp_path / "part[01].jsonl", mapping=PAIR).judgements) == 4
    with pytest.raises(SourceError, match=r"no file matches 'other\*.jsonl'"):
        loaded(tmp_path / "other*.jsonl", mapping=PAIR)


def test_an_error_names_the_file_of_several(tmp_path: Path) -> None:
    paths = three_files(tmp_path)
    jsonl(paths[1], [pair_row(1, "maybe")])
    with pytest.raises(SourceError, match=r"part1.jsonl, line 1: winner 'maybe'"):
        loaded(paths[0], mapping=PAIR, parts=("part1.jsonl",))


def test_known_formats_are_joined_and_different_ones_refused(tmp_path: Path) -> None:
    battle = {"model_a": "x", "model_b": "y", "winner": "model_a", "question_id": "q"}
    one = jsonl(tmp_path / "a.jsonl", [battle])
    jsonl(tmp_path / "b.jsonl", [battle | {"question_id": "r"}])
    jsonl(tmp_path / "c.jsonl", [{"left": "x", "right": "y", "winner": "left"}])
    found = loaded(one, parts=("b.jsonl",))
    assert (found.format, len(found.judgements)) == ("arena", 2)
    with pytest.raises(
        SourceError, match=r"a.jsonl: arena; c.jsonl: evalica\). Import each format on its own"
    ):
        loaded(one, parts=("c.jsonl",))
    (tmp_path / "o.json").write_text('{"models": []}', encoding="utf-8")
    with pytest.raises(SourceError, match=r"o.json: holds one JSON object .* import it alone"):
        loaded(one, parts=("o.json",))


def test_the_import_command_takes_several_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = three_files(tmp_path / "runs")
    options = [f"--mapping={column}={field}" for column, field in PAIR.items()]
    store = tmp_path / "s.db"
    assert main(["import", *map(str, paths), *options, "--store", str(store)]) == 0
    assert "6 recorded" in capsys.readouterr().out
    pattern = str(tmp_path / "runs" / "*.jsonl")
    assert main(["import", pattern, *options, "--name", "all", "--store", str(store)]) == 0
    assert "6 recorded" in capsys.readouterr().out
    assert len(Store(store).study("all").data.parts) == 2
