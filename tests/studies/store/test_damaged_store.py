"""Damaged stores: every command refuses them in one line and changes no byte."""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import shutil
import sqlite3
import time
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import pytest

from components.__main__ import main as components
from judges.__main__ import main as judges
from metrics.__main__ import main as metrics
from studies.__main__ import main as studies
from studies.errors import StoreDamaged, StoreUnusable
from studies.store.database import connect
from studies.store.recovery import damage, store_connection, wal_check
from studies.store.recovery.file_header import FileHeader, read_header
from studies.store.recovery.wal_check import read_wal, wal_path, why_wal_is_foreign
from studies.store.store import Store
from tests.other_user import let_others_enter, without_rights
from tests.page_words import says
from tests.studies.store.damaged_stores import (
    DAMAGE,
    add_foreign_log,
    crashed_copy,
    file_contents,
    fill_store,
    flip_bytes,
)
from tests.waiting import free_port

STUDY = """name: small
data: {source: probe, count: 2}
judges: [{name: sim, model: simulated}]
prompts: [brief-letters]
"""
COMMANDS = {
    "studies list": (studies, ["list", "--store"]),
    "studies show": (studies, ["show", "mine", "--store"]),
    "studies export": (studies, ["export", "mine", "--store"]),
    "studies delete": (studies, ["delete", "mine", "--store"]),
    "studies backup": (studies, ["backup", "--store"]),
    "judges run": (judges, ["run", "study.yaml", "--store"]),
    "judges retry": (judges, ["retry", "--study", "mine", "--store"]),
    "judges reread": (judges, ["reread", "--study", "mine", "--store"]),
    "components report": (components, ["report", "mine", "r.html", "--store"]),
    "metrics": (metrics, []),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "evenhand.db"
    fill_store(path).close()
    return path


@pytest.fixture
def place(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of a whole store; the pauses before an alarm are left out."""
    monkeypatch.setattr(damage, "_RETRY_SECONDS", (0.01,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    shutil.copyfile(whole, tmp_path / "evenhand.db")
    return tmp_path


@pytest.mark.parametrize("name", DAMAGE)
def test_every_command_refuses_a_damaged_store_in_one_line(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, expected = DAMAGE[name]
    spoil(place / "evenhand.db")
    before = file_contents(place)
    for command, (main, arguments) in COMMANDS.items():
        if command == "metrics" and name in ("garbage header", "empty", "folder"):
            continue  # it takes them for a table of battles, and refuses that
        assert main([*arguments, "evenhand.db"]) == 2, command
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1, (command, error)
        assert re.search(expected, error), (command, error)
        if name != "folder":
            assert "python -m studies repair evenhand.db" in error, command
        assert file_contents(place) == before, command


def test_the_app_does_not_start_with_a_damaged_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.local_app import app_main  # imports Gradio

    monkeypatch.setattr(damage, "_RETRY_SECONDS", (0.01,))
    paths = []
    for name, (spoil, _) in DAMAGE.items():
        folder = tmp_path / name
        folder.mkdir()
        paths.append(folder / "evenhand.db")
        fill_store(paths[-1], asks=400).close()
        spoil(paths[-1])
    before = [file_contents(path.parent) for path in paths]
    with app_main() as main:
        port = str(free_port())
        codes = [main(["--port", port, "--store", str(path)]) for path in paths]
    lines = capsys.readouterr().err.splitlines()
    assert codes == [2] * len(paths), lines
    assert all(
        line.startswith("error: ") and str(path) in line
        for line, path in zip(lines, paths, strict=True)
    )
    assert [file_contents(path.parent) for path in paths] == before


def test_damage_in_a_large_store_is_found_by_the_query_that_reads_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(damage, "QUICK_CHECK_BYTES", 0)
    flip_bytes(place / "evenhand.db")
    store = Store(place / "evenhand.db")  # opens: nothing damaged was read yet
    with pytest.raises(StoreDamaged, match=r"evenhand\.db cannot be read: .*repair"):
        store.frame("mine")
    store.close()
    assert studies(["export", "mine", "--store", "evenhand.db"]) == 2
    assert "python -m studies repair evenhand.db" in capsys.readouterr().err


@pytest.mark.extra
def test_opening_a_large_store_reads_a_few_pages_only(place: Path) -> None:
    """The checks of a store above the limit cost the header, not the pages."""
    path = place / "evenhand.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ballast (text BLOB)")
        connection.executemany("INSERT INTO ballast VALUES (zeroblob(1000000))", [()] * 300)
    connection.close()
    assert path.stat().st_size > 10 * damage.QUICK_CHECK_BYTES
    began = time.process_time()
    damage.check_store_file(path)
    assert time.process_time() - began < 0.05


@pytest.mark.skipif(os.name == "nt", reason="POSIX rights")
@pytest.mark.parametrize("command", ["studies delete", "judges run"])
def test_a_read_only_store_is_refused_by_commands_that_write(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    let_others_enter(place)
    path = place / "evenhand.db"
    path.chmod(0o444)
    before = file_contents(place)
    main, arguments = COMMANDS[command]
    with without_rights():
        assert main([*arguments, "evenhand.db"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and "Traceback" not in error
    assert file_contents(place) == before


@pytest.mark.skipif(os.name == "nt", reason="POSIX rights")
def test_the_app_does_not_start_with_a_read_only_store(place: Path) -> None:
    from app import open_store

    let_others_enter(place)
    path = place / "evenhand.db"
    path.chmod(0o444)
    before = file_contents(place)
    with without_rights(), pytest.raises(StoreUnusable, match=r"evenhand\.db is read-only; allow"):
        open_store(path)
    assert file_contents(place) == before


# ---- write-ahead logs --------------------------------------------------------------------------


def test_a_log_left_by_a_crash_is_applied(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "evenhand.db", asks=300)
    copy = crashed_copy(store, tmp_path / "copy.db")
    assert read_wal(wal_path(copy)) is not None
    opened = Store(copy)
    assert (
        opened.status_counts("mine") == store.status_counts("mine") == {"planned": 300, "ok": 300}
    )
    opened.close()
    store.close()


def test_a_backup_copied_over_a_store_does_not_get_the_old_log(place: Path) -> None:
    """The usual way to a foreign log: a crash leaves it, then a backup is restored by hand."""
    path = place / "evenhand.db"
    assert studies(["backup", "kept.db", "--store", "evenhand.db"]) == 0
    store = fill_store(path, "later", 200)
    log = wal_path(path).read_bytes()
    store.close()
    shutil.copyfile("kept.db", path)
    wal_path(path).write_bytes(log)
    with pytest.raises(StoreDamaged, match="is another store's"):
        Store(path)
    wal_path(path).unlink()
    restored = Store(path)
    assert [study.name for study in restored.studies()] == ["mine"]
    restored.close()


def test_no_log_of_a_store_of_the_same_shape_is_applied(tmp_path: Path) -> None:
    """Stores of equal size, with logs of one row up to many, beside each other's files."""
    copies: list[list[Path]] = []
    for name in ("mine", "ours", "your"):
        store = fill_store(tmp_path / f"{name}.db", name, 60)
        copies.append([crashed_copy(store, tmp_path / f"{name}-all.db")])
        for rows in (1, 1, 30):
            add_replies(store, rows)
            with contextlib.closing(connect(store.path)) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            add_replies(store, 1)
            copies[-1].append(crashed_copy(store, tmp_path / f"{name}-{len(copies[-1])}.db"))
        store.close()
    tried = 0
    for own, foreign in permutations(copies, 2):
        for file, log in product(own, foreign):
            target = tmp_path / "mixed.db"
            shutil.copyfile(file, target)
            shutil.copyfile(wal_path(log), wal_path(target))
            header = read_header(target)
            assert header is not None and why_wal_is_foreign(target, header), (file.name, log.name)
            tried += 1
    assert tried == 96
    for copy in (copy for group in copies for copy in group):
        header = read_header(copy)
        assert header is not None and why_wal_is_foreign(copy, header) == "", copy.name


def add_replies(store: Store, rows: int) -> None:
    values = [(secrets.token_hex(8), "x" * 300) for _ in range(rows)]
    statement = "INSERT INTO replies VALUES (?,?,'','',NULL)"
    store.writer.run(lambda connection: connection.executemany(statement, values) and None)


def test_a_log_without_a_first_page_must_fit_the_file_s_number_of_pages(tmp_path: Path) -> None:
    """As older versions wrote it: an update in place changes no first page."""
    logs = {}
    for name, asks in (("small", 60), ("large", 400)):
        path = tmp_path / f"{name}.db"
        fill_store(path, asks=asks).close()
        with contextlib.closing(connect(path)) as plain:
            plain.execute("UPDATE replies SET reply='y' || substr(reply, 2)")
            logs[name] = wal_path(path).read_bytes()
            header = read_header(path)
            assert header is not None and why_wal_is_foreign(path, header) == ""
            wal = read_wal(wal_path(path))
            assert wal is not None and all(frame.page != 1 for frame in wal.frames)
    target = tmp_path / "small.db"
    wal_path(target).write_bytes(logs["large"])
    header = read_header(target)
    assert header is not None and "pages, not" in why_wal_is_foreign(target, header)


def test_a_store_without_an_identity_gets_one_when_it_is_opened(place: Path) -> None:
    path = place / "evenhand.db"
    with contextlib.closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA application_id=0")
    store = Store(path)
    with contextlib.closing(connect(path)) as other:
        (identity,) = other.execute("PRAGMA application_id").fetchone()
        assert identity
        header = read_header(path)
        assert header is not None and why_wal_is_foreign(path, header) == ""
        other.execute("PRAGMA wal_checkpoint(PASSIVE)")
        header = read_header(path)  # has the identity; the log still begins without it
        assert header is not None and why_wal_is_foreign(path, header) == ""
    store.close()


def test_a_store_whose_last_pages_are_in_its_log_alone_is_whole(place: Path) -> None:
    """A crash while the log was written back: the first page is, the new pages at the end not."""
    path, copy = place / "grown.db", place / "copy.db"
    with contextlib.closing(sqlite3.connect(path)) as store:
        store.executescript("PRAGMA journal_mode=WAL; PRAGMA application_id=7; CREATE TABLE a (x)")
        store.executemany("INSERT INTO a VALUES (?)", [("a" * 3000,)] * 9)
        store.commit()
        store.executescript("PRAGMA wal_checkpoint(TRUNCATE); CREATE TABLE b (x)")
        store.executemany("INSERT INTO b VALUES (?)", [("b" * 3000,)] * 9)
        store.commit()
        for file in (path, wal_path(path)):
            shutil.copyfile(file, file.with_name(file.name.replace("grown", "copy")))
    log, header = read_wal(wal_path(copy)), read_header(copy)
    assert log is not None and header is not None
    offsets, size = log.latest_offsets_by_page(), header.page_size
    have = copy.stat().st_size // size
    assert (
        have not in offsets and set(range(have + 1, log.database_page_count + 1)) <= offsets.keys()
    )
    page = wal_path(copy).read_bytes()[offsets[1] :][:size]
    with copy.open("r+b") as file:
        file.write(page)
    damage.check_store_file(copy)
    wal_path(copy).unlink()
    with pytest.raises(StoreDamaged, match="cut off"):
        damage.check_store_file(copy)


def test_the_shared_memory_of_another_store_does_no_harm(place: Path) -> None:
    add_foreign_log(place / "evenhand.db")
    wal_path(place / "evenhand.db").unlink()
    opened = Store(place / "evenhand.db")
    assert opened.status_counts("mine")["ok"] == opened.status_counts("mine")["planned"]
    opened.close()


@pytest.mark.parametrize("seed", range(4))
def test_no_store_s_own_log_is_taken_for_another_s(seed: int, tmp_path: Path) -> None:
    """Random writes of three connections, with partial checkpoints, old readers and VACUUM."""
    chance = random.Random(seed)
    path = tmp_path / "evenhand.db"
    fill_store(path, asks=20).close()
    with sqlite3.connect(path) as plain:
        if seed % 2:
            plain.execute("PRAGMA application_id=0")  # as in a store of an older version
    plain.close()
    writers = [connect(path) for _ in range(3)]
    for connection in writers:
        for pragma in ("busy_timeout=0", "synchronous=OFF", "wal_autocheckpoint=20"):
            connection.execute(f"PRAGMA {pragma}")
    checked = 0
    for _ in range(60):
        _write_at_random(chance, chance.choice(writers))
        header = read_header(path)
        assert header is not None and why_wal_is_foreign(path, header) == ""
        checked += read_wal(wal_path(path)) is not None
    for connection in writers:
        connection.close()
    assert checked > 20, "there was a log to check"


def _write_at_random(chance: random.Random, connection: sqlite3.Connection) -> None:
    row = (hex(chance.getrandbits(12)), "x" * chance.choice((3, 300, 9000)))
    statement, values = chance.choice(
        [
            ("INSERT OR REPLACE INTO replies VALUES (?,?,'','',NULL)", row),
            ("INSERT OR REPLACE INTO replies VALUES (?,?,'','',NULL)", row),
            ("UPDATE replies SET reply='y' || substr(reply, 2) WHERE key<?", row[:1]),
            ("DELETE FROM replies WHERE key<?", ("0x2",)),
            ("SELECT count(*) FROM replies", ()),
            ("PRAGMA wal_checkpoint(PASSIVE)", ()),
            ("PRAGMA wal_checkpoint(RESTART)", ()),
            ("BEGIN", ()),
            ("COMMIT", ()),
            ("VACUUM", ()),
        ]
    )
    try:
        connection.execute(statement, values).fetchall()
    except sqlite3.OperationalError:
        return  # locked, or no transaction to commit


@pytest.mark.parametrize(("change", "fits"), [(4, False), (5, True), (8, True), (9, False)])
def test_a_log_continues_the_last_change_of_its_file(change: int, fits: bool) -> None:
    """A log with the changes 6 to 8: its file is at 5, or at one that was copied into it."""
    header = FileHeader(4096, 0, change, 9, 0, 1, 7)
    firsts = [header._replace(change_counter=counter) for counter in (6, 7, 8)]
    said = wal_check._compare_first_pages(header, firsts)
    assert (said == "") is fits
    assert fits or said.endswith(str(change))


def test_all_four_kinds_of_pages_are_told_apart() -> None:
    """The file format of SQLite (sqlite.org/fileformat2.html, "B-tree Pages"): interior and leaf
    pages of an index begin with 2 and 10, those of a table with 5 and 13."""
    kinds = [wal_check._btree_page_kind(bytes([first])) for first in (2, 10, 5, 13)]
    assert len(set(kinds)) == 4 and 0 not in kinds
    assert [wal_check._btree_page_kind(text) for text in (b"", b"\0", b"\1", b"\x0b")] == [0] * 4


def test_a_log_of_other_pages_is_another_store_s(tmp_path: Path) -> None:
    """The own log fits; it does not with pages of another size, of another kind, or with a first
    page that has no header. It ends at a page of number 0."""
    store = fill_store(tmp_path / "evenhand.db", asks=300)
    copy = crashed_copy(store, tmp_path / "copy.db")
    store.close()
    header, log = read_header(copy), read_wal(wal_path(copy))
    assert header is not None and log is not None
    assert wal_check._compare_log_with_store(copy, header, log) == ""
    other = header._replace(page_size=512)
    said = wal_check._compare_log_with_store(copy, other, log)
    assert says(said, f"{log.page_size} bytes", "not 512")
    assert says(wal_check._compare_first_pages(header, [header, None]), "without a header")

    page = next(frame.page for frame in log.frames if frame.page > 1)
    content = bytearray(copy.read_bytes())
    place = (page - 1) * header.page_size
    content += bytes(max(0, place + header.page_size - len(content)))
    end = log.latest_offsets_by_page()[page]
    content[place] = wal_path(copy).read_bytes()[end]
    with wal_path(copy).open("rb") as opened:
        for first, said in ((content[place], ""), (content[place] ^ 8 ^ 7, "another kind")):
            content[place] = first
            (tmp_path / "file").write_bytes(content[: place + 1])
            with (tmp_path / "file").open("rb") as file:
                only = replace(log, frames=tuple(f for f in log.frames if f.page == page))
                found = wal_check._compare_page_kinds(only, opened, file)
            assert found.endswith(said) and bool(found) == bool(said)
    frames = len(log.frames)
    text = bytearray(wal_path(copy).read_bytes())
    half = log.frames[frames // 2].offset - wal_check.FRAME_HEADER_BYTES
    text[half : half + 4] = bytes(4)
    wal_path(copy).write_bytes(text)
    with wal_path(copy).open("rb") as opened:
        salts = bytes(text[16:24])
        assert len(list(wal_check._read_frames(opened, log.page_size, salts))) == frames // 2


def test_every_query_names_the_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way of reading rows meets an error in the third row; it is raised as it is, or with the
    path of the store if the file is damaged."""
    connection = connect(tmp_path / "a.db", create=True)
    connection.execute("CREATE TABLE n (k INTEGER PRIMARY KEY)")
    rows = [(1,), (2,)]
    assert connection.executemany("INSERT INTO n VALUES (?)", rows).rowcount == 2

    def cursor() -> sqlite3.Cursor:
        return connection.execute(
            "SELECT k FROM n UNION ALL SELECT abs(-9223372036854775807 - k) FROM n"
        )

    reads = {
        "executemany": lambda: connection.executemany("INSERT INTO n VALUES (?)", rows),
        "fetchone": lambda: [cursor_.fetchone() for cursor_ in [cursor()] for _ in range(3)],
        "fetchmany": lambda: cursor().fetchmany(3),
        "fetchall": lambda: cursor().fetchall(),
        "loop": lambda: list(cursor()),
    }
    for name, read in reads.items():
        with pytest.raises(sqlite3.DatabaseError) as plain:
            read()
        assert not isinstance(plain.value, StoreDamaged), name
        with monkeypatch.context() as inside:
            inside.setattr(store_connection, "is_damage", lambda _: True)
            with pytest.raises(StoreDamaged, match=r"a\.db"):
                read()
    assert cursor().fetchmany(1) == rows[:1] and cursor().fetchone() == (1,)
    connection.close()


def test_a_file_that_cannot_be_looked_at_is_a_message(tmp_path: Path) -> None:
    found = damage._find_fault_in_closed_file(tmp_path / "none.db")
    assert type(found) is StoreUnusable and says(str(found), "cannot open", "none.db")


def test_a_store_that_lacks_a_table_is_damaged(place: Path) -> None:
    path = place / "evenhand.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE leases")
        connection.execute("DROP TABLE attempts")
    with pytest.raises(StoreDamaged, match="tables attempts, leases"):
        Store(path)
