"""Table files: all kinds give the same rows; errors name file, line and remedy."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.errors import SourceError
from studies.files.read_limits import PUBLIC_LIMITS
from studies.files.tables import SourceTable, check_file_size, read_table, text_of
from studies.sources.folder_tables import _concatenate_tables
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, parquet, table

ROWS = [{"left": "x", "right": "y", "winner": "left"}, {"left": "y", "right": "x", "winner": "tie"}]


def refused(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read_table(path)
    return str(caught.value)


def test_the_same_rows_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    plain = [
        table(tmp_path / "a.csv", ROWS),
        table(tmp_path / "b.tsv", ROWS),
        jsonl(tmp_path / "c.jsonl", ROWS),
        parquet(tmp_path / "d.parquet", ROWS),
    ]
    (tmp_path / "e.json").write_text(json.dumps(ROWS), encoding="utf-8")
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(plain[0].read_bytes()))
    (tmp_path / "g.JSONL.GZ").write_bytes(gzip.compress(plain[2].read_bytes()))
    for name in ("a.csv", "b.tsv", "c.jsonl", "d.parquet", "e.json", "f.csv.gz", "g.JSONL.GZ"):
        found = read_table(tmp_path / name)
        assert found.rows == ROWS, name
        assert found.columns == ("left", "right", "winner"), name


def test_a_row_is_named_by_the_line_it_begins_in(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('left,right\n"two\nlines",b\nc,d\n', encoding="utf-8")
    found = read_table(path)
    assert [found.row_place(k) for k in (0, 1)] == ["a.csv, line 2", "a.csv, line 4"]
    assert found.rows[0]["left"] == "two\nlines"


def test_a_csv_with_semicolons_is_read_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("left;right;winner\nx;y;left\n", encoding="utf-8")
    assert says(loaded(tmp_path / "a.csv").notes[0], "columns", "separated", "semicolons")


def test_a_ragged_row_says_where_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("left,right,winner\nx,y,tie\nx,y\n", encoding="utf-8")
    message = refused(tmp_path / "a.csv")
    assert says(message, "a.csv", "3: 2", "header", "3", "winner")
    assert says(message, "double quotes")


def test_a_quote_that_never_ends_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('left,right\nx,y\n"never,ends\n', encoding="utf-8")
    assert says(refused(tmp_path / "a.csv"), "a.csv", "3: unexpected end")


def test_another_encoding_is_named_by_line_and_byte(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("left,right\nx,caf\xe9\n".encode("latin-1"))
    message = refused(tmp_path / "a.csv")
    assert says(message, "a.csv", "2: not UTF-8", "byte 5", "save", "UTF-8")
    (tmp_path / "b.csv").write_bytes("left,right\n".encode("utf-16"))
    assert "UTF-16" in refused(tmp_path / "b.csv")
    (tmp_path / "c.jsonl").write_bytes(b'{"a": "\xff"}\n')
    assert says(refused(tmp_path / "c.jsonl"), "c.jsonl, line 1: not UTF-8", "byte 7")


def test_a_mark_at_the_start_of_the_file_is_no_part_of_a_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffleft,right\nx,y\n", encoding="utf-8")
    assert read_table(tmp_path / "a.csv").columns == ("left", "right")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("left,left\nx,y\n", encoding="utf-8")
    assert says(refused(tmp_path / "a.csv"), "a.csv", "columns", "named", "rename")


def test_an_empty_file_an_archive_and_a_folder_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    assert says(refused(tmp_path / "a.csv"), "expected", "line", "column")
    (tmp_path / "b.zip").write_bytes(b"PK")
    assert refused(tmp_path / "b.zip").endswith("unpack it first")
    assert "No such file" in refused(tmp_path / "gone.csv")


def test_a_gzip_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(ROWS[0]).encode() * 50)
    (tmp_path / "a.jsonl.gz").write_bytes(whole[:-9])
    assert says(refused(tmp_path / "a.jsonl.gz"), "a.jsonl.gz: incomplete", "damaged gzip")


def test_json_that_is_deep_or_broken_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 100_000, encoding="utf-8")
    assert says(refused(tmp_path / "a.json"), "a.json: lists", "more than 100 deep")
    (tmp_path / "c.json").write_text('[{"a": 1}, {"b"', encoding="utf-8")
    assert refused(tmp_path / "c.json").startswith("c.json: not valid JSON: ")
    (tmp_path / "b.json").write_text("[1, 2]", encoding="utf-8")
    assert says(refused(tmp_path / "b.json"), "b.json", "objects", "these forms")


def test_a_file_over_the_cap_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as out:  # 301 MB that take no room: reading them would, and would fail
        out.truncate(301 << 20)
    assert says(refused(path), "big.csv: 301 MB", "300 MB")
    monkeypatch.setenv("EVENHAND_MAX_FILE_MB", "400")
    check_file_size(path)  # the owner of the machine may raise it


def test_a_parquet_that_unpacks_to_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    # One text of 10 kB, a million times: 10 GB unpacked, some hundred kB on disk.
    column = pa.DictionaryArray.from_arrays(
        pa.array([0] * 1_000_000, pa.int32()), pa.array(["x" * 10_000])
    )
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"left": column}), path)
    assert path.stat().st_size < 1_000_000
    assert says(refused(path), "bomb.parquet: unpacks", "read")


def test_a_gzip_that_unpacks_to_gigabytes_is_refused_on_the_way(tmp_path: Path) -> None:
    # 24 lines of a megabyte of blanks: 24 MB out of 24 kB, a thousand times its size.
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress((b" " * (1 << 20) + b"\n") * 24))
    assert says(refused(path), "a.jsonl.gz: unpacks", "100 times")


def test_a_line_that_does_not_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "' + b"x" * PUBLIC_LIMITS.line_bytes)
    assert says(refused(tmp_path / "a.jsonl"), "line longer")


def test_a_parquet_of_another_schema_is_told_what_was_expected(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", [{"colour": "red", "size": 3}])
    with pytest.raises(SourceError, match=pattern("matches no", "columns: colour")):
        loaded(path)
    (tmp_path / "b.parquet").write_bytes(os.urandom(200))
    assert refused(tmp_path / "b.parquet").startswith("b.parquet: cannot be read as Parquet")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))))
def test_whatever_text_a_csv_holds_comes_back(tmp_path_factory: object, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("t") / "a.csv"  # type: ignore[attr-defined]
    rows = [{"n": str(k), "text": text} for k, text in enumerate(texts)] or [{"n": "", "text": ""}]
    assert read_table(table(path, rows)).rows == rows


def test_a_number_is_written_without_its_point_and_nan_is_nothing() -> None:
    assert [text_of(v) for v in (3.0, 2.5, None, float("nan"), True)] == [
        "3",
        "2.5",
        "",
        "",
        "True",
    ]


def test_a_note_names_three_files_that_were_left_out_and_says_whether_there_are_more(tmp_path):
    table = SourceTable("a.csv", "csv", ("x",), [{"x": "1"}])
    for names, more in ((["b"], False), ([*"bcd"], False), ([*"bcde"], True)):
        note = _concatenate_tables(tmp_path, [table], names).notes[-1]
        assert note.startswith(f"{len(names)} file") and note.endswith("\u2026") == more
