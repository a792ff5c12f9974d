"""Pages of a database file, read without SQLite and compared with what SQLite reads."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from studies.store.recovery.backup import find_damage
from studies.store.recovery.damage import find_fault_or_raise
from studies.store.recovery.file_header import HEADER_BYTES, parse_header, read_header
from studies.store.recovery.page_reader import (
    INDEX_NODE,
    TABLE_LEAF,
    TABLE_NODE,
    PageFile,
    Row,
    Unreadable,
    _parse_record_values,
    _read_varint,
)
from studies.store.recovery.page_trees import PageTrees, TreeLosses
from studies.store.recovery.table_shapes import parse_table_shapes
from studies.store.recovery.wal_check import read_wal, wal_path

SCHEMA = (
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, a, b)",
    "CREATE INDEX notes_by_a ON notes(a)",
    "CREATE TABLE pairs (k TEXT NOT NULL, n INTEGER NOT NULL, v, PRIMARY KEY (n, k)) WITHOUT ROWID",
)
VALUES: list[Any] = [
    None, 0, 1, 2, -1, 127, 128, -129, 40_000, -40_000, 2**23, 2**31, -(2**40), 2**62, -(2**63),
    0.5, -1e300, "", "text", "é" * 40, "x" * 600, "y" * 5000, "z" * 1300,
]  # fmt: skip


def fill(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        connection.execute(statement)
    rows = [(-5, VALUES[0], VALUES[1]), (2**40, VALUES[2], VALUES[3])]
    rows += [(10 + n, VALUES[n % len(VALUES)], VALUES[n * 7 % len(VALUES)]) for n in range(150)]
    connection.executemany("INSERT INTO notes VALUES (?,?,?)", rows)
    pairs = [(f"k{n % 7}", n, VALUES[n % len(VALUES)]) for n in range(150)]
    connection.executemany("INSERT INTO pairs VALUES (?,?,?)", pairs)
    connection.commit()


@pytest.fixture(params=[512, 4096, 65_536])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size={request.param}")
        fill(connection)
    return path


def read_trees(path: Path, wal: Any = None) -> tuple[PageTrees, dict[str, list[Row]]]:
    with PageFile(path, wal) as pages:
        trees = PageTrees(pages, parse_table_shapes(SCHEMA))
        trees.find_roots()
        return trees, {name: list(trees.rows(name)) for name in trees.shapes}


def expected(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def walk(pages: PageFile, number: int) -> Iterator[Row]:
    page = pages.btree_page(number)
    yield from page.rows
    for child in page.children:
        yield from walk(pages, child)


def test_the_rows_are_those_that_sqlite_reads(database):
    trees, found = read_trees(database)
    notes = [(row.rowid, *row.values[1:]) for row in found["notes"]]
    assert notes == expected(database, "SELECT id, a, b FROM notes ORDER BY id")
    assert all(row.values[0] is None for row in found["notes"]), "the row id is not in the record"
    pairs = expected(database, "SELECT n, k, v FROM pairs ORDER BY n, k")
    assert sorted(map(repr, (row.values for row in found["pairs"]))) == sorted(map(repr, pairs))
    with PageFile(database, None) as pages:
        indexed = list(walk(pages, trees.roots["notes_by_a"]))
    assert sorted(repr(row.values) for row in indexed) == sorted(
        map(repr, expected(database, "SELECT a, id FROM notes"))
    )
    assert {row.rowid for row in indexed} == {None}
    assert not any(trees.losses[name].has_losses for name in ("notes", "pairs"))
    record = trees.shapes["notes"].row_as_dict(found["notes"][0])
    assert record == {"id": -5, "a": None, "b": 0}


@pytest.mark.parametrize(("more", "listed"), [(0, True), (1, False)])
def test_a_full_page_of_the_free_list_is_read_and_an_overfull_one_is_damage(database, more, listed):
    header = read_header(database)
    fits = header.page_size // 4 - 2
    content = bytearray(database.read_bytes())
    content[32:36] = struct.pack(">I", 2)  # the first page of the free list
    start = header.page_size
    leaves = struct.pack(f">II{fits}I", 0, fits + more, *([3] * fits))
    content[start : start + len(leaves)] = leaves
    database.write_bytes(content)
    with PageFile(database, None) as pages:
        assert pages.free_pages() == ({2, 3} if listed else {2})


def test_the_header_states_what_sqlite_wrote(database):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version=7")
        connection.execute("PRAGMA application_id=123456")
        connection.execute("DELETE FROM notes WHERE id > 12")
        connection.commit()
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        count = connection.execute("PRAGMA page_count").fetchone()[0]
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    header = read_header(database)
    assert header is not None
    assert (header.page_size, header.pages, header.reserved) == (size, count, 0)
    assert (header.user_version, header.application_id) == (7, 123456)
    with PageFile(database, None) as pages:
        assert pages.count == count
        assert len(pages.free_pages()) == free
        assert all(1 < number <= count for number in pages.free_pages())
        for number in (0, -1, count + 1):
            with pytest.raises(Unreadable):
                pages.page(number)
        assert [len(pages.page(number)) for number in (1, count)] == [size, size]


def test_no_header_is_no_header(database):
    start = database.read_bytes()[:HEADER_BYTES]
    assert parse_header(start) is not None
    assert parse_header(start[:-1]) is None
    for at, value in ((0, b"X"), (16, struct.pack(">H", 500)), (16, b"\0\0"), (21, b"\0")):
        assert parse_header(start[:at] + value + start[at + len(value) :]) is None
    stale = start[:92] + struct.pack(">I", 9999) + start[96:]
    found = parse_header(stale)
    assert found is not None and found.pages == 0, "written by a program that does not count"


def test_pages_in_the_log_replace_those_in_the_file(tmp_path):
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("PRAGMA journal_mode=wal")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        fill(connection)
        connection.execute("UPDATE notes SET b='new' WHERE id=10")
        connection.commit()
        copy = tmp_path / "copy.db"
        for name in ("", "-wal"):
            shutil.copy(f"{path}{name}", f"{copy}{name}")
        rows = connection.execute("SELECT id, a, b FROM notes ORDER BY id").fetchall()
        count = connection.execute("PRAGMA page_count").fetchone()[0]
    for verify in (False, True):
        wal = read_wal(wal_path(copy), verify=verify)
        assert wal is not None and wal.database_page_count == count and wal.page_size == 512
        _, found = read_trees(copy, wal)
        assert [(row.rowid, *row.values[1:]) for row in found["notes"]] == rows


def test_a_log_is_valid_up_to_the_first_changed_byte(tmp_path):
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("PRAGMA journal_mode=wal")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        for n in range(6):
            connection.execute(f"CREATE TABLE t{n} (a)")
            connection.commit()
        content = wal_path(path).read_bytes()
    log = tmp_path / "log"

    def frames(changed: bytes, *, verify: bool = True) -> int:
        log.write_bytes(changed)
        found = read_wal(log, verify=verify)
        return len(found.frames) if found else 0

    size = 24 + 512
    count = (len(content) - 32) // size
    assert frames(content) == count == frames(content, verify=False)
    ends = [
        n + 1
        for n in range(count)
        if struct.unpack_from(">I", content, 32 + n * size + 4)[0]  # the last of a transaction
    ]
    assert len(ends) == 6
    for place in (0, count // 2, count - 1):
        for offset in (0, 5, 16, 23, 24, size - 1):
            at = 32 + place * size + offset
            changed = content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]
            kept = max((end for end in ends if end <= place), default=0)
            assert frames(changed) == kept, (place, offset)
    assert frames(content[: 32 + 3 * size - 1]) == max(end for end in ends if end <= 2)
    for at in (0, 8, 16, 24, 31):
        changed = content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]
        assert frames(changed) == 0, at
    assert frames(b"") == frames(content[:31]) == frames(content[:32]) == 0
    assert read_wal(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("content", "value"),
    [(b"\0", 0), (b"\x7f", 127), (b"\x81\0", 128), (b"\xff\x7f", 16_383), (b"\x81\x80\0", 16_384),
     (b"\xff" * 9, 2**64 - 1), (b"\x80" * 8 + b"\x05", 5)],
)  # fmt: skip
def test_variable_length_integers(content, value):
    assert _read_varint(content + b"\x01", 0) == (value, len(content))
    assert _read_varint(b"\x07" + content, 1) == (value, len(content) + 1)


@pytest.mark.parametrize(
    ("payload", "values"),
    [
        (b"\x01", ()),
        (b"\x04\0\x08\x09", (None, 0, 1)),
        (b"\x02\x01\xff", (-1,)),
        (b"\x02\x05\0\0\0\0\x01\0", (256,)),
        (b"\x02\x07" + struct.pack(">d", 0.5), (0.5,)),
        (b"\x03\x11\x10ab\0\x01", ("ab", b"\0\x01")),
        (b"\x02\x01", None),  # a value without its byte
        (b"\x02\x08\0", None),  # a byte too many
        (b"\x02\x0a", None),  # a type that is not used
        (b"\x09\x08", None),  # a header that is too long
        (b"\x02\x11a", None),
        (b"\x02\x81", None),  # a number that goes on beyond the header
    ],
)
def test_a_record_is_read_only_if_its_lengths_fit(payload, values):
    if values is None:
        with pytest.raises(IndexError if payload == b"\x02\x81" else Unreadable):
            _parse_record_values(payload)
    else:
        assert _parse_record_values(payload) == values


def test_a_damaged_cell_and_a_damaged_page_lose_their_rows_alone(tmp_path):
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, a, b)")
        rows = [(n, "x" * 20, "y" * 20) for n in range(1, 101)]
        connection.executemany("INSERT INTO notes VALUES (?,?,?)", rows)
        connection.commit()
    with PageFile(path, None) as pages:
        leaves = [n for n in range(2, pages.count + 1) if pages.btree_page(n).rows]
        first, second = (pages.btree_page(leaf) for leaf in leaves[:2])
        root = pages.btree_page(2)
        assert root.is_table_page and not root.rows and root.bad_cells == 0
        assert set(root.children) == set(leaves)
    content = bytearray(path.read_bytes())
    page = (leaves[0] - 1) * 512
    (cell,) = struct.unpack_from(">H", content, page + 8)
    content[page + cell + 2] = 0x7F  # the size of this record's header
    content[(leaves[1] - 1) * 512] = 99  # no kind of page
    path.write_bytes(content)
    shapes = parse_table_shapes(["CREATE TABLE notes (id INTEGER PRIMARY KEY, a, b)"])
    with PageFile(path, None) as pages:
        assert pages.btree_page(leaves[0]).bad_cells == 1
        with pytest.raises(Unreadable):
            pages.btree_page(leaves[1])
        trees = PageTrees(pages, shapes)
        trees.find_roots()
        found = {row.rowid for row in trees.rows("notes")}
    lost = {first.rows[0].rowid} | {row.rowid for row in second.rows}
    assert found == set(range(1, 101)) - lost
    losses = trees.losses["notes"]
    assert (losses.cells, losses.pages, losses.has_losses) == (1, 1, True)


def test_a_page_belongs_to_one_tree_of_its_own_kind(database):
    with PageFile(database, None) as pages:
        trees = PageTrees(pages, parse_table_shapes(SCHEMA))
        trees.find_roots()
        notes, pairs = trees.roots["notes"], trees.roots["pairs"]
        assert list(trees.rows("notes", pairs)) == [] and list(trees.rows("pairs", notes)) == []
        assert trees.losses["notes"].pages == trees.losses["pairs"].pages == 1
        assert len(list(trees.rows("notes"))) == 152
        assert list(trees.rows("notes")) == [], "its pages are taken"


@pytest.mark.parametrize(("lost", "kept"), [("one", "two"), ("two", "one")])
def test_the_rows_of_a_lost_tree_are_found_on_its_pages(tmp_path, lost, kept):
    path, names = tmp_path / "d.db", ("CREATE TABLE one (a TEXT NOT NULL, b INTEGER NOT NULL)",
                                      "CREATE TABLE two (a INTEGER NOT NULL, b TEXT)")  # fmt: skip
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        for statement in names:
            connection.execute(statement)
        connection.executemany("INSERT INTO one VALUES (?,?)", [(f"t{n}", n) for n in range(100)])
        connection.executemany("INSERT INTO two VALUES (?,?)", [(n, f"t{n}") for n in range(100)])
        connection.commit()
    content = bytearray(path.read_bytes())
    content[512 if lost == "one" else 1024] = 99  # its first page; `two` has the file's last page
    path.write_bytes(content)
    with PageFile(path, None) as pages:
        trees = PageTrees(pages, parse_table_shapes(names))
        trees.find_roots()
        assert list(trees.rows(lost)) == []
        assert len(list(trees.rows(kept))) == 100
        found = list(trees.orphaned_rows(["one", "two"]))
    assert {name for name, _ in found} == {lost}
    assert sorted(row.values[lost == "one"] for _, row in found) == list(range(100))


def test_a_lost_page_is_taken_to_have_as_many_rows_as_the_others():
    assert TreeLosses(pages=3, cells=2, read_pages=2, read_rows=8).estimate_lost_rows() == 2 + 3 * 4
    assert TreeLosses(pages=3, cells=2).estimate_lost_rows() == 2 + 3 * 1


def test_the_first_fault_of_a_file_is_one_line(database):
    assert find_fault_or_raise(database) == "" == find_damage(database)
    content = bytearray(database.read_bytes())
    with PageFile(database, None) as pages:
        leaf = next(n for n in range(pages.count, 1, -1) if n not in pages.free_pages())
        size = pages.page_size
    content[(leaf - 1) * size : leaf * size] = b"\x63" * size
    database.write_bytes(content)
    fault = find_damage(database)
    assert fault.strip() and "\n" not in fault and "*" not in fault


def second_page(path: Path, start: bytes, at: int, cell: bytes) -> PageFile:
    """A database whose second page of 512 bytes begins with `start` and has `cell` at `at`; the
    last 12 bytes of every page are reserved."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("CREATE TABLE notes (a)")
        connection.commit()
    content = bytearray(path.read_bytes())
    content[20] = 12
    content[512 : 512 + len(start)] = start
    content[512 + at : 512 + at + len(cell)] = cell
    path.write_bytes(content)
    return PageFile(path, None)


def page_start(kind: int, *pointers: int) -> bytes:
    """The header of a page, with 7 as its last child, and the offsets of its cells."""
    last = struct.pack(">I", 7) if kind in (INDEX_NODE, TABLE_NODE) else b""
    header = struct.pack(">BHHHB", kind, 0, len(pointers), 0, 0) + last
    return header + struct.pack(f">{len(pointers)}H", *pointers)


@pytest.mark.parametrize(("more", "damaged"), [(0, False), (1, True)])
def test_a_page_has_as_many_cells_as_it_has_room_for(tmp_path, more, damaged):
    """A leaf of 512 - 12 bytes has room for 246 offsets after its 8 bytes of header."""
    start = page_start(TABLE_LEAF, *([600] * (246 + more)))
    with second_page(tmp_path / "d.db", start, 0, b"") as pages:
        if damaged:
            with pytest.raises(Unreadable, match="too many"):
                pages.btree_page(2)
        else:
            page = pages.btree_page(2)
            assert (page.rows, page.bad_cells) == ((), 246)


@pytest.mark.parametrize(("at", "found"), [(12, 0), (15, 0), (17, 0), (18, 1)])
def test_a_cell_lies_behind_the_offsets_of_all_cells(tmp_path, at, found):
    """The five offsets of this leaf end at byte 18. Four of them lead out of the page."""
    start = page_start(TABLE_LEAF, at, *([0xFFFF] * 4))
    row = bytes([2, 5, 2, 8])  # two bytes of record, row 5, a header of two bytes, the value 0
    with second_page(tmp_path / "d.db", start, at, row) as pages:
        page = pages.btree_page(2)
    assert [(one.rowid, one.values) for one in page.rows] == [(5, (0,))] * found
    assert page.bad_cells == 5 - found


@pytest.mark.parametrize(("at", "children"), [(13, (7,)), (14, (9, 7)), (496, (9, 7)), (497, (7,))])
def test_a_child_is_named_inside_the_page_and_behind_its_header(tmp_path, at, children):
    start = page_start(TABLE_NODE, at)
    with second_page(tmp_path / "d.db", start, at, struct.pack(">I", 9)) as pages:
        assert pages.btree_page(2).children == children


@pytest.mark.parametrize("reserved", [0, 12])
def test_rows_of_every_length_are_read_where_sqlite_wrote_them(tmp_path, reserved):
    """A page of 512 bytes keeps records of up to 102 bytes in an index, of up to 477 in a table;
    of longer ones it keeps a part, and the rest is on overflow pages."""
    path = tmp_path / "d.db"
    lengths = [*range(84, 110), *range(465, 480), *range(560, 620, 7), *range(970, 990)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.commit()
        connection.execute("VACUUM")
    content = bytearray(path.read_bytes())
    content[20] = reserved
    content[105:107] = struct.pack(">H", 512 - reserved)  # where the cells of the first page begin
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        for statement in SCHEMA[:2]:
            connection.execute(statement)
        rows = [(n, "x" * length, None) for n, length in enumerate(lengths)]
        connection.executemany("INSERT INTO notes VALUES (?,?,?)", rows)
        connection.commit()
    trees, found = read_trees(path)
    assert [(row.rowid, *row.values[1:]) for row in found["notes"]] == rows
    with PageFile(path, None) as pages:
        indexed = [row.values for row in walk(pages, trees.roots["notes_by_a"])]
    assert sorted(indexed) == sorted((text, n) for n, text, _ in rows)


def test_rows_on_the_first_and_the_last_page_without_a_tree_are_found(tmp_path):
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(SCHEMA[0])
        connection.execute("INSERT INTO notes VALUES (5, 'a', 'b')")
        connection.execute(SCHEMA[2])
        connection.execute("INSERT INTO pairs VALUES ('k', 1, 2.5)")
        connection.commit()
    with PageFile(path, None) as pages:
        assert pages.count == 3, "the list of tables, and a page for each table"
        trees = PageTrees(pages, parse_table_shapes(SCHEMA))
        found, again = (
            [(name, row.values) for name, row in trees.orphaned_rows(["notes", "pairs"])]
            for _ in range(2)
        )
    assert found == [("notes", (None, "a", "b")), ("pairs", (1, "k", 2.5))]
    assert again == [], "each page belongs to one tree"
