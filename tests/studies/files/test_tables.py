"""Tables from files: kinds, columns, rows, and the places of errors."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from studies.errors import SourceError
from studies.files.archives import ZSTANDARD, ZipArchive
from studies.files.partial_files import assign_name_if_free, delete_abandoned_partial_files
from studies.files.read_limits import LOCAL_LIMITS, MEGABYTE, PUBLIC_LIMITS, current_limits
from studies.files.table_formats.nested_columns import (
    expand_nested_paths,
    find_rows_in_object,
    is_nested_path,
    list_nested_paths,
    value_at_path,
)
from studies.files.table_formats.parquet import (
    BYTES_PER_VALUE,
    _skip_rows,
    check_footer,
    check_row_groups,
    column_paths,
    read_arrow,
    read_bounded_batches,
    unpacked_size,
)
from studies.files.tables import SourceTable, is_table_file, read_table, rename_columns, text_of
from tests.page_words import says


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- text files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (math.nan, ""), (3.0, "3"), (3.5, "3.5"), (-2.0, "-2"), (7, "7"), ("x", "x"),
     (True, "True"), (math.inf, "inf")],
)  # fmt: skip
def test_a_cell_becomes_text(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("name", "known"),
    [("a.csv", True), ("a.CSV", True), ("a.tsv", True), ("a.jsonl", True), ("a.json.gz", True),
     ("a.csv.GZ", True), ("a.parquet", True), ("a.parquet.gz", False), ("a.xlsx.gz", False),
     ("a.gz", False), ("a.zip", False), ("a", False), ("csv", False), ("my.data.csv", True)],
)  # fmt: skip
def test_the_suffix_is_the_kind_of_a_file(name, known):
    assert is_table_file(Path(name)) == known


def test_an_unknown_kind_is_refused_and_an_archive_is_to_be_unpacked(tmp_path):
    for name, hint in (("a.pdf", False), ("a.zip", True), ("a.7z", True)):
        with pytest.raises(SourceError) as refused:
            read_table(write(tmp_path, name, "x"))
        assert ("unpack" in str(refused.value)) == hint
    with pytest.raises(SourceError, match=r"missing\.csv"):
        read_table(tmp_path / "missing.csv")


def test_rows_keep_the_lines_on_which_they_begin(tmp_path):
    table = read_table(write(tmp_path, "t.csv", 'a,b\n1,"two\nlines"\n\n3,4\n'))
    assert table.columns == ("a", "b") and table.kind == "csv"
    assert table.rows == [{"a": "1", "b": "two\nlines"}, {"a": "3", "b": "4"}]
    assert [table.row_place(n) for n in (0, 1)] == ["t.csv, line 2", "t.csv, line 5"]
    assert table.has_columns("a", "b") and not table.has_columns("a", "c")


def test_semicolons_separate_columns_where_there_is_no_comma(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "a;b\n1;2\n"))
    assert table.rows == [{"a": "1", "b": "2"}] and len(table.notes) == 1
    table = read_table(write(tmp_path, "t.csv", "a;x,b\n1;x,2\n"))
    assert table.columns == ("a;x", "b") and table.notes == ()
    table = read_table(write(tmp_path, "t.tsv", "a;b\tc\n1\t2\n"))
    assert table.columns == ("a;b", "c") and table.kind == "tsv"


@pytest.mark.parametrize(
    ("content", "said"),
    [("a,b\n1\n", "line 2"), ("a,b\n1,2\n1,2,3\n", "line 3"), ("a,a\n1,2\n", "'a'"),
     ("", "empty"), ('a,b\n"x"y,2\n', "line 2"), (b"\xff\xfea\0", "UTF-16"),
     (b"a,b\n1,\0\n", "line 2"), (b"a,b\n1,\xff\n", "line 2"), ("a,b\r1,2\r", "LF line ends")],
)  # fmt: skip
def test_a_wrong_line_is_named(content, said, tmp_path):
    with pytest.raises(SourceError, match=said):
        read_table(write(tmp_path, "t.csv", content))


def test_a_column_without_a_name_gets_its_number_and_a_byte_order_mark_is_dropped(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "\ufeffa, ,c\n1,2,3\n"))
    assert table.columns == ("a", "(unnamed 2)", "c")


def test_json_lines_have_the_columns_of_all_rows(tmp_path):
    lines = '{"a": 1}\n\n{"b": 2, "a": 3}\n'
    table = read_table(write(tmp_path, "t.jsonl", lines))
    assert table.columns == ("a", "b") and table.lines == [1, 3]
    packed = read_table(write(tmp_path, "t.jsonl.gz", gzip.compress(lines.encode())))
    assert packed.rows == table.rows
    with pytest.raises(SourceError, match="gzip"):
        read_table(write(tmp_path, "t.jsonl.gz", gzip.compress(lines.encode())[:-6]))


@pytest.mark.parametrize(
    ("content", "hint"),
    [('[{"a": 1}]\n', ".json"), ("[1, 2]\n[3, 4]\n", "names"), ("[\n", ".json")],
)
def test_lists_are_no_json_lines(content, hint, tmp_path):
    with pytest.raises(SourceError, match=hint):
        read_table(write(tmp_path, "t.jsonl", content))


def test_a_json_file_is_a_list_an_object_or_lines(tmp_path):
    assert read_table(write(tmp_path, "t.json", '[{"a": 1}, {"b": 2}]')).columns == ("a", "b")
    lines = read_table(write(tmp_path, "t.json", '{"a": 1}\n{"a": 2}\n'))
    assert [row["a"] for row in lines.rows] == [1, 2] and len(lines.notes) == 1
    one = read_table(write(tmp_path, "t.json", '{"a": 1}\n'))
    assert one.rows == [] and one.json_object == {"a": 1} and one.columns == ("a",)
    # The first line ends like an object, but is none.
    split = read_table(write(tmp_path, "t.json", '{"meta": {"v": 1}\n, "rows": [{"a": 1}]}\n'))
    assert split.json_object == {"meta": {"v": 1}, "rows": [{"a": 1}]}
    for wrong in ("[1]", '"text"', '[{"a": 1}, 2]'):
        with pytest.raises(SourceError):
            read_table(write(tmp_path, "t.json", wrong))


def test_as_many_columns_as_allowed_are_read_and_not_one_more(tmp_path):
    most = LOCAL_LIMITS.columns
    for count, refused in ((most, False), (most + 1, True)):
        names = [f"c{n}" for n in range(count)]
        files = {
            "t.csv": ",".join(names) + "\n" + ",".join("1" * count) + "\n",
            "t.jsonl": json.dumps(dict.fromkeys(names, 1)) + "\n",
            "t.json": json.dumps(dict.fromkeys(names, 1)),
        }
        for name, content in files.items():
            path = write(tmp_path, name, content)
            if refused:
                with pytest.raises(SourceError, match=f"{count:,}"):
                    read_table(path)
            else:
                assert len(read_table(path).columns) == count


def test_columns_are_renamed_and_an_unknown_one_is_named():
    table = SourceTable("t", "csv", ("a", "b"), [{"a": 1, "b": 2}])
    renamed = rename_columns(table, {"a": "x"})
    assert renamed.columns == ("x", "b") and renamed.rows == [{"x": 1, "b": 2}]
    with pytest.raises(SourceError, match="'c'"):
        rename_columns(table, {"c": "x"})
    for twice in ({"a": "b"}, {"a": "x", "b": "x"}):
        with pytest.raises(SourceError, match="two columns"):
            rename_columns(table, twice)
    assert rename_columns(table, {"a": "b", "b": "a"}).rows == [{"b": 1, "a": 2}]


# --- limits -------------------------------------------------------------------------------------


def exceeds(check: Any, *values: Any) -> bool:
    try:
        check(*values, "t")
    except SourceError:
        return True
    return False


def test_each_limit_allows_its_own_value(monkeypatch):
    for limits in (LOCAL_LIMITS, PUBLIC_LIMITS):
        for check, most in (
            (limits.check_bytes, limits.file_bytes),
            (limits.check_rows, limits.rows),
            (limits.check_columns, limits.columns),
            (limits.check_values, limits.values),
            (limits.check_categories, limits.categories),
            (limits.check_blank_lines, 100_000),
        ):
            assert not exceeds(check, most) and exceeds(check, most + 1)
        assert not exceeds(limits.check_participants, limits.contestants, limits.judges)
        assert exceeds(limits.check_participants, limits.contestants + 1, 1)
        assert exceeds(limits.check_participants, 1, limits.judges + 1)
        assert not exceeds(limits.check_unpacked, limits.unpacked_bytes, 0)
        assert exceeds(limits.check_unpacked, limits.unpacked_bytes + 1, 0)
        free = 16 * MEGABYTE
        assert not exceeds(limits.check_unpacked, free, 1), "a small text may shrink to anything"
        assert exceeds(limits.check_unpacked, free + 1, 1)
        packed = free // limits.ratio + 1
        assert not exceeds(limits.check_unpacked, packed * limits.ratio, packed)
        assert exceeds(limits.check_unpacked, packed * limits.ratio + 1, packed)
        assert exceeds(limits.check_archive, limits.archive_bytes + 1, limits.archive_bytes)
        assert not exceeds(limits.check_archive, limits.archive_bytes, limits.archive_bytes)
    assert current_limits() is LOCAL_LIMITS
    monkeypatch.setenv("EVENHAND_MAX_FILE_MB", "7")
    assert current_limits().file_bytes == 7 * MEGABYTE


# --- rows inside one object, and paths into cells -----------------------------------------------


def rows_in(content: dict[str, Any]) -> list[Any] | None:
    table = SourceTable("t", "json", tuple(content), [], json_object=content)
    found = find_rows_in_object(table)
    return None if found is None else found.rows


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ({"v": 1, "rows": [{"a": 1}, {"a": 2}]}, [{"v": 1, "a": 1}, {"v": 1, "a": 2}]),
        ({"v": 1, "in": {"w": "x", "rows": [{"a": 1}]}}, [{"v": 1, "w": "x", "a": 1}]),
        ({"x": {"y": {"rows": [{"a": 1}]}}}, [{"a": 1}]),
        ({"w": {"x": {"y": {"rows": [{"a": 1}]}}}}, None),  # four levels deep
        ({"q1": {"a": 1}, "q2": {"a": 2}}, [{"key": "q1", "a": 1}, {"key": "q2", "a": 2}]),
        ({"q1": {"a": 1}, "q2": {"a": 2}, "v": 1}, None),  # not all are objects
        ({"q1": {"a": 1}, "q2": {}}, None),
        ({"one": [{"a": 1}], "two": [{"a": 2}]}, None),
        ({"one": [], "two": [{"a": 2}]}, [{"a": 2}]),
        ({"one": [1, 2]}, None),
        ({"v": 1}, None),
        ({}, None),
    ],
)
def test_the_rows_of_one_object(content, rows):
    assert rows_in(content) == rows


def nested(rows: list[dict[str, Any]]) -> SourceTable:
    return SourceTable("t", "jsonl", tuple(rows[0]), rows)


def test_a_path_leads_into_objects_lists_and_json_texts():
    row = {"a.b": {"c": [10, {"d": 5}]}, "t": '{"x": 1}'}
    columns = ("a.b", "t")
    for name in ("a.b.c", "a.b.c[1].d", "t.x"):
        assert is_nested_path(name, columns)
    for name in ("a.b", "t", "other.x", ""):
        assert not is_nested_path(name, columns)
    table = expand_nested_paths(nested([row]), ["a.b.c.0", "a.b.c[1].d", "t.x", "a.b.none.x", "t"])
    assert table.columns == ("a.b", "t", "a.b.c.0", "a.b.c[1].d", "t.x", "a.b.none.x")
    cells = table.rows[0]
    assert (cells["a.b.c.0"], cells["a.b.c[1].d"], cells["t.x"]) == (10, 5, 1)
    assert cells["a.b.none.x"] is None
    assert value_at_path([1], ["1"]) is None and value_at_path([1], ["x"]) is None
    assert value_at_path([1], ["0"]) == 1 and value_at_path(3, []) == 3


def test_each_element_of_a_list_becomes_a_row_with_the_place_of_its_own():
    table = nested([{"q": "1", "l": [{"t": "x"}, {"t": "y"}]}, {"q": "2", "l": []},
                    {"q": "3", "l": [{"s": 1}]}])  # fmt: skip
    found = expand_nested_paths(table, ["l[].t", "l[].s"])
    assert [(row["q"], row["l[].t"], row["l[].s"]) for row in found.rows] == [
        ("1", "x", None), ("1", "y", None), ("3", None, 1),
    ]  # fmt: skip
    assert [found.row_place(n) for n in range(3)] == ["t, row 1", "t, row 1", "t, row 3"]
    plain = expand_nested_paths(nested([{"l": ["x", "y"]}]), ["l[]"])
    assert [row["l[]"] for row in plain.rows] == ["x", "y"]
    odd = nested([{"l": "ab"}, {"l": {"a": 1}}, {"l": None}, {}, {"l": "[1]"}])
    assert [(row["l[]"], row["l"]) for row in expand_nested_paths(odd, ["l[]"]).rows] == [
        (1, "[1]")
    ], "only lists have elements, also written as JSON"
    with pytest.raises(SourceError) as refused:
        expand_nested_paths(nested([{"k": [1], "l": [1]}]), ["l[]", "k[]"])
    assert "k.0" in str(refused.value)


def test_the_paths_that_exist_are_listed():
    row = {"o": {"a": 1, "b": 2}, "few": [{"x": 1}, 2], "many": [{"n": 1}] * 5, "t": "text",
           "numbers": [1] * 5, "none": []}  # fmt: skip
    assert list_nested_paths(nested([row, row])) == [
        "o.a", "o.b", "few.0.x", "few.1", "many[].n",
    ]  # fmt: skip


# --- workbooks and Parquet ----------------------------------------------------------------------


def workbook(path: Path, *sheets: tuple[str, str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, state, rows in sheets:
        sheet = book.create_sheet(title)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_visible_sheet_is_read(tmp_path):
    rows: list[list[Any]] = [[None, None], ["a", "b", None], ["1", 2], ["3"]]
    path = workbook(
        tmp_path / "t.xlsx",
        ("draft", "hidden", [["x"], ["no"]]),
        ("data", "visible", rows),
        ("more", "visible", [["y"], ["no"]]),
    )
    table = read_table(path)
    assert table.columns == ("a", "b")
    assert table.rows == [{"a": "1", "b": 2}, {"a": "3", "b": None}]
    assert len(table.notes) == 1 and "data" in table.notes[0]
    alone = read_table(workbook(tmp_path / "u.xlsx", ("data", "visible", rows)))
    assert alone.rows == table.rows and alone.notes == ()
    with pytest.raises(SourceError, match="empty"):
        read_table(workbook(tmp_path / "v.xlsx", ("data", "visible", [])))


def test_the_unpacked_size_counts_every_repeated_text():
    pa = pytest.importorskip("pyarrow")
    texts = pa.array(["ten letters"[:10]] * 100)
    assert unpacked_size(texts.dictionary_encode()) == 100 * (10 + BYTES_PER_VALUE)
    numbers = pa.array([7] * 100, pa.int64())
    plain = 100 * (8 + BYTES_PER_VALUE)
    assert unpacked_size(numbers) == plain
    coded = numbers.dictionary_encode()
    assert unpacked_size(coded) == coded.nbytes + 100 * BYTES_PER_VALUE
    lists = pa.array([[7, 7], [7]], pa.list_(pa.int64()))
    assert unpacked_size(lists) == 3 * (8 + BYTES_PER_VALUE) + 2 * BYTES_PER_VALUE
    struct = pa.StructArray.from_arrays([numbers, numbers], ["a", "b"])
    assert unpacked_size(struct) == 2 * plain
    assert unpacked_size(pa.array([], pa.int64())) == 0


# --- Parquet and Arrow within limits --------------------------------------------------------------


def test_an_arrow_file_with_an_index_is_read_like_a_stream(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    for name, writer in (("s.arrow", pa.ipc.new_stream), ("f.arrow", pa.ipc.new_file)):
        with writer(tmp_path / name, table.schema) as out:
            out.write_table(table, max_chunksize=2)
        names, rows = read_arrow(tmp_path / name, LOCAL_LIMITS)
        assert (names, rows) == (("a", "b"), table.to_pylist())
    read_arrow(tmp_path / "f.arrow", replace(LOCAL_LIMITS, rows=3))
    with pytest.raises(SourceError):
        read_arrow(tmp_path / "f.arrow", replace(LOCAL_LIMITS, rows=2))


def test_a_footer_is_held_to_each_limit_exactly(tmp_path: Path) -> None:
    """Two row groups of three rows and two columns: 12 values, at most 3 in a column."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1] * 6, "b": ["x"] * 6}), path, row_group_size=3)
    footer = pq.read_metadata(path)
    sizes = [footer.row_group(g).column(c).total_uncompressed_size for g in (0, 1) for c in (0, 1)]
    whole = {"columns": 2, "rows": 6, "values": 12, "unpacked_bytes": sum(sizes)}
    part = {"columns": 2, "values": 3, "unpacked_bytes": max(sizes)}
    for check, limits in ((check_footer, whole), (check_row_groups, part)):
        check(footer, "a", replace(LOCAL_LIMITS, **limits))
        for name, value in limits.items():
            with pytest.raises(SourceError):
                check(footer, "a", replace(LOCAL_LIMITS, **limits | {name: value - 1}))
    assert column_paths(footer) == ["a", "b"]


def test_rows_are_read_once_where_the_reader_gives_a_dictionary_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader that keeps dictionaries fails after the first batch of each row group: the plain
    reader goes on with the next row. Texts in lists are then counted: 20 in a group."""
    rows = [{"n": k, "l": [f"a{k}", f"b{k}"]} for k in range(25)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=10)

    class Failing(pq.ParquetFile):  # type: ignore[misc]
        def __init__(self, file: Any, **options: Any) -> None:
            super().__init__(file, **options)
            self.fails = bool(options.get("read_dictionary"))

        def iter_batches(self, **options: Any) -> Any:
            found = super().iter_batches(**options)
            yield next(found)
            if self.fails:
                raise pa.ArrowNotImplementedError("mixed")
            yield from found

    monkeypatch.setattr(pq, "ParquetFile", Failing)
    footer = pq.read_metadata(path)

    def read(texts: int) -> list[Any]:
        limits = replace(LOCAL_LIMITS, nested_texts=texts)
        with path.open("rb") as file:
            batches = read_bounded_batches(file, footer, "a", limits, rows=4)
            return [row for batch in batches for row in batch.to_pylist()]

    assert read(20) == rows
    with pytest.raises(SourceError) as error:
        read(19)
    assert says(str(error.value), "a: one row", "20 texts", "at most 19")
    batches = [pa.record_batch({"n": list(range(3 * k, 3 * k + 3))}) for k in range(3)]
    for skipped in range(10):
        left = [n for batch in _skip_rows(skipped, iter(batches)) for n in batch["n"].to_pylist()]
        assert left == list(range(skipped, 9))


# --- entries of archives, and finished files ------------------------------------------------------


def test_an_entry_is_held_to_its_limit_and_to_its_stated_size(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("x", b"0" * 1000)
    for most, stated, passes in ((1000, 1000, True), (999, 1000, False), (1000, 999, False)):
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            own = ZipArchive(archive, file, replace(LOCAL_LIMITS, entry_bytes=most))
            own.entries["x"].file_size = 1000
            if passes:
                assert own.read("x") == b"0" * 1000
            entry = own.entries["x"]
            entry.file_size = stated
            if not passes:
                with pytest.raises(SourceError):
                    own.read("x")
            entry.compress_type, entry.header_offset = ZSTANDARD, 5
            entry.file_size = 1
            with pytest.raises(SourceError) as error:
                own.read("x")
            assert says(str(error.value), "'x' is damaged", "no local header")


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV])
def test_a_disk_without_hard_links_reserves_the_name_first(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "link", refuse)
    partial, wanted = write(tmp_path, "part", "new"), tmp_path / "wanted"
    assert assign_name_if_free(partial, wanted) is True
    assert wanted.read_text() == "new" and not partial.exists()
    assert assign_name_if_free(write(tmp_path, "part", "later"), wanted) is False
    assert wanted.read_text() == "new"


def test_another_fault_of_the_disk_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    partial = write(tmp_path, "part", "new")
    assert assign_name_if_free(partial, tmp_path / "linked") is True
    assert assign_name_if_free(partial, tmp_path / "linked") is False
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="full"):
        assign_name_if_free(partial, tmp_path / "wanted")
    assert not (tmp_path / "wanted").exists()


def test_a_partial_file_of_another_user_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of another user cannot be signalled: its file may still be written."""
    faults: dict[int, type[OSError]] = {1: PermissionError, 2: ProcessLookupError}

    def refuse(process: int, _: int) -> None:
        raise faults[process]

    monkeypatch.setattr(os, "kill", refuse)
    for process in faults:
        write(tmp_path, f"a.db.00.{process}.part", "")
    delete_abandoned_partial_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db.00.1.part"]
