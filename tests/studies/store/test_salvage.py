"""`python -m studies repair` and `backup`: rows kept and lost, and files that stay unchanged."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from studies.__main__ import main as studies
from studies.errors import StoreUnusable
from studies.files.partial_files import delete_abandoned_partial_files, replace_when_written
from studies.spec.study import Study
from studies.store import database
from studies.store.recovery import damage, rolling_backups, salvage
from studies.store.recovery.backup import find_damage
from studies.store.recovery.rolling_backups import (
    DailyBackupThread,
    _require_disk_space,
    backup_daily,
    backup_folder,
    daily_backups,
)
from studies.store.recovery.salvage import RepairReport, _insert_row, repair_store
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.conftest import ROOT
from tests.page_words import says
from tests.samples import sample
from tests.studies.small_items import ask, item, judged, planned
from tests.studies.store.damaged_stores import (
    ASKS,
    PAGE,
    add_foreign_log,
    crashed_copy,
    cut_off,
    file_contents,
    fill_store,
    flip_bytes,
    spoil_header,
)
from tests.waiting import until

TABLES = ("studies", "items", "study_items", "requests", "plan", "judgements", "replies")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "evenhand.db"
    fill_store(path).close()
    return path


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(whole, tmp_path / "evenhand.db"))


def rows_of(path: Path, table: str) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return set(connection.execute(f"SELECT * FROM {table}").fetchall())


def repaired(source: Path) -> RepairReport:
    before = file_contents(source.parent)
    report = repair_store(source, source.with_name("new.db"))
    after = file_contents(source.parent)
    assert {name: after[name] for name in before} == before, "the damaged files are only read"
    assert find_damage(report.target) == ""
    return report


def test_all_rows_of_undamaged_pages_are_copied_unchanged(whole: Path, damaged: Path) -> None:
    flip_bytes(damaged)
    report = repaired(damaged)
    kept = {table.name: table.kept for table in report.tables}
    assert report.lost_rows > 0 and kept["judgements"] > 0.8 * ASKS
    for table in TABLES:
        found = rows_of(report.target, table)
        assert found <= rows_of(whole, table), f"{table}: only rows that were there"
    opened = Store(report.target)
    assert opened.status_counts("mine")["ok"] > 0.8 * ASKS
    assert len(opened.frame("mine")) > 0.8 * ASKS
    opened.close()


@pytest.mark.parametrize("seed", sample(range(6), 0, 1))
def test_lost_rows_are_counted(seed: int, whole: Path, damaged: Path) -> None:
    """Overwrite random pages; the counts that the report calls exact are exact."""
    chance = random.Random(seed)
    content = bytearray(damaged.read_bytes())
    for page in chance.sample(range(20, len(content) // PAGE), 6):
        content[page * PAGE : (page + 1) * PAGE] = chance.randbytes(PAGE)
    damaged.write_bytes(content)
    for table in repaired(damaged).tables:
        if table.name not in TABLES:
            continue
        missing = len(rows_of(whole, table.name)) - table.kept
        assert table.lost == missing if table.exact else table.lost >= (missing > 0)


def test_a_file_without_its_end_gives_the_rows_before_it(whole: Path, damaged: Path) -> None:
    cut_off(damaged)
    report = repaired(damaged)
    assert report.lost_rows > 0
    assert 0 < len(rows_of(report.target, "judgements")) <= ASKS


def test_a_file_without_its_first_page_loses_no_row(whole: Path, damaged: Path) -> None:
    """The list of tables is lost with it: pages are assigned by the form of their rows."""
    spoil_header(damaged)
    report = repaired(damaged)
    for table in TABLES:
        assert rows_of(report.target, table) == rows_of(whole, table), table
    assert any("list of tables" in note for note in report.notes)


def test_a_log_of_another_store_is_not_applied(whole: Path, damaged: Path) -> None:
    add_foreign_log(damaged)
    report = repaired(damaged)
    assert report.lost_rows == 0 and any("another store" in note for note in report.notes)
    for table in TABLES:
        assert rows_of(report.target, table) == rows_of(whole, table), table


def test_the_own_log_of_a_crashed_store_is_applied(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "first.db", asks=300)
    copy = crashed_copy(store, tmp_path / "evenhand.db")
    store.close()
    report = repaired(copy)
    assert {table.name: table.kept for table in report.tables}["judgements"] == 300
    assert report.lost_rows == 0


def test_long_texts_of_any_alphabet_are_copied(tmp_path: Path) -> None:
    text = "ä\0日本🎉 " * 9_000  # on some ten pages of their own
    path = tmp_path / "evenhand.db"
    store = fill_store(path, asks=10)
    store.writer.run(lambda c: put_judgement(c, judged(ask("k"), reply=text)))
    store.close()
    spoil_header(path)
    (found,) = (row for row in rows_of(repaired(path).target, "replies") if row[0] == "k")
    assert found[1] == text


def test_deleted_rows_do_not_come_back_and_their_numbers_stay_unused(tmp_path: Path) -> None:
    path = tmp_path / "evenhand.db"
    store = fill_store(path, "deleted", 800)
    last = store.read("SELECT max(seq) FROM judgements").fetchone()[0]
    store.delete_study("deleted")
    made = ask("k", "q0")
    store.save_study(Study(name="kept"), [item("q0")], planned(made))
    store.close()
    target = repaired(path).target
    opened = Store(target)
    assert [study.name for study in opened.studies()] == ["kept"]
    assert rows_of(target, "judgements") == set()
    opened.writer.run(lambda c: put_judgement(c, judged(made)))
    assert opened.read("SELECT max(seq) FROM judgements").fetchone()[0] > last
    opened.close()


def test_a_lost_study_keeps_its_asks_under_a_new_name(damaged: Path) -> None:
    with closing(sqlite3.connect(damaged)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM studies")
        connection.commit()
    report = repaired(damaged)
    opened = Store(report.target)
    (study,) = opened.studies()
    assert study.name == "recovered study 1" and len(opened.frame(study.name)) == ASKS
    opened.close()


def test_items_that_are_lost_take_their_asks_along(damaged: Path) -> None:
    with closing(sqlite3.connect(damaged)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name='items'")
        (page,) = root.fetchone()
    with damaged.open("r+b") as file:  # the first page of the table's tree, with rows of its own
        file.seek((page - 1) * PAGE + 100)
        file.write(b"\xff" * (PAGE - 100))
    report = repaired(damaged)
    opened = Store(report.target)
    counts = opened.status_counts("mine")
    assert 0 < counts["planned"] < ASKS and len(opened.frame("mine")) == counts["planned"]
    assert len(opened.items("mine")) == len(rows_of(report.target, "items"))
    opened.close()


# ---- the commands ------------------------------------------------------------------------------


def test_the_command_reports_tables_and_names_the_new_file(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(damage, "_RETRY_SECONDS", (0.01,))
    flip_bytes(damaged)
    for number in ("", "-2"):
        assert studies(["repair", str(damaged)]) == 0
        said = capsys.readouterr().out
        assert re.search(r"judgements: [\d,]+ rows copied", said) and "lost" in said
        assert f"evenhand-repaired{number}.db" in said
        assert damaged.with_name(f"evenhand-repaired{number}.db").exists()
    before = file_contents(damaged.parent)
    taken = str(damaged.with_name("evenhand-repaired.db"))
    assert studies(["repair", str(damaged), "--out", taken]) == 2
    assert says(capsys.readouterr().err, "exists", "another file")
    assert file_contents(damaged.parent) == before


def test_a_whole_store_needs_no_repair(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = file_contents(damaged.parent)
    assert studies(["repair", str(damaged)]) == 0
    assert says(capsys.readouterr().out, "no damage", "nothing", "written")
    assert file_contents(damaged.parent) == before


@pytest.mark.parametrize(("content", "told"), [(None, "there is no store at"), (b"", "is empty")])
def test_nothing_to_repair_is_an_error(
    content: bytes | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evenhand.db"
    if content is not None:
        path.write_bytes(content)
    assert studies(["repair", str(path)]) == 2
    assert told in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == (content is not None)


def test_a_backup_is_made_while_a_run_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = fill_store(tmp_path / "evenhand.db", asks=50)
    stop = threading.Event()
    written = []

    def write() -> None:
        while not stop.is_set():
            made = judged(ask(f"k{len(written)}"))
            store.writer.run(lambda c, made=made: put_judgement(c, made))
            written.append(made)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(3):
            before = 50 + len(written)
            out = tmp_path / f"copy-{number}.db"
            assert studies(["backup", str(out), "--store", str(store.path)]) == 0
            assert find_damage(out) == ""
            assert before <= len(rows_of(out, "judgements")) <= 50 + len(written) + 1
    finally:
        stop.set()
        thread.join(120)
        store.close()
    assert studies(["backup", str(out), "--store", str(store.path)]) == 2, "no file is replaced"
    capsys.readouterr()
    assert studies(["backup", "--store", str(store.path)]) == 0
    (made,) = backup_folder(store.path).glob("manual-*.db")
    assert capsys.readouterr().err.startswith(f"{made}: {made.stat().st_size:,} bytes")
    assert len(list(backup_folder(store.path).glob("manual-*.db"))) == 1


# ---- automatic backups -------------------------------------------------------------------------


def test_a_backup_needs_twice_the_room_of_the_store(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    _require_disk_space(int(0.45 * free), tmp_path / "e.db")
    size = int(0.55 * free)
    with pytest.raises(StoreUnusable) as refused:
        _require_disk_space(size, tmp_path / "e.db")
    assert f"{2 * size / 1e9:.1f} GB" in str(refused.value)


def test_a_value_that_no_table_takes_is_left_out() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b NOT NULL)")
        records: list[dict[str, Any]] = [
            {"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2**70, "b": 1}, {"a": 2, "b": None},
        ]  # fmt: skip
        assert [_insert_row(connection, "t", record) for record in records] == [1, 0, 0, 0]


def older_store(path: Path) -> None:
    """A store of the schema before: without the table and column of its last change."""
    fill_store(path, asks=30).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE adapted_requests")
        connection.execute("DROP TABLE alignments")
        connection.execute("ALTER TABLE attempts DROP COLUMN reasoning_tokens")
        connection.execute("PRAGMA user_version=6")
        connection.commit()


def test_a_store_is_copied_before_its_schema_changes(tmp_path: Path) -> None:
    path = tmp_path / "evenhand.db"
    older_store(path)
    Store(path).close()
    (copy,) = backup_folder(path).iterdir()
    assert copy.name.startswith("schema-6-") and find_damage(copy) == ""
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (6,)
        assert connection.execute("SELECT count(*) FROM judgements").fetchone() == (30,)
    Store(path).close()
    assert list(backup_folder(path).iterdir()) == [copy], "an unchanged schema needs no copy"


def test_without_room_for_the_copy_the_schema_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "evenhand.db"
    older_store(path)
    before = path.read_bytes()
    backup_folder(path).write_text("a file where the folder would be")
    with pytest.raises(StoreUnusable, match="EVENHAND_BACKUPS=0"):
        Store(path)
    assert path.read_bytes() == before
    monkeypatch.setenv("EVENHAND_BACKUPS", "0")
    Store(path).close()
    assert path.read_bytes() != before


def test_daily_backups_replace_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fill_store(tmp_path / "evenhand.db", asks=20)
    monkeypatch.setenv("EVENHAND_BACKUPS", "2")
    folder = backup_folder(store.path)
    folder.mkdir()
    for day in ("2020-01-01", "2020-01-02", "2020-01-03"):
        shutil.copyfile(store.path, folder / f"daily-{day}.db")
    (folder / "manual.db").write_text("not touched")
    store.writer.run(lambda c: put_judgement(c, judged(ask("k"))))
    made = backup_daily(store.path)
    assert made is not None and find_damage(made) == ""
    assert daily_backups(store.path) == [folder / "daily-2020-01-03.db", made]
    assert (folder / "manual.db").exists()
    assert backup_daily(store.path) is None, "one a day"
    store.close()


def test_no_daily_backup_of_an_unchanged_store(tmp_path: Path) -> None:
    path = tmp_path / "evenhand.db"
    fill_store(path, asks=20).close()
    first = backup_daily(path)
    assert first is not None
    first.rename(first.with_name("daily-2020-01-01.db"))
    assert backup_daily(path) is None


@pytest.mark.parametrize(
    ("variable", "value", "made"),
    [
        ("EVENHAND_BACKUPS", "0", False),
        ("EVENHAND_PUBLIC", "1", False),
        ("EVENHAND_PUBLIC", "0", True),
    ],
)
def test_daily_backups_can_be_switched_off(
    variable: str, value: str, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "evenhand.db"
    fill_store(path, asks=20).close()
    monkeypatch.setenv(variable, value)
    assert (backup_daily(path) is not None) == made


def test_a_store_too_large_for_daily_copies_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "evenhand.db"
    fill_store(path, asks=20).close()
    monkeypatch.setattr(rolling_backups, "MAX_DAILY_BYTES", 1000)
    thread = DailyBackupThread(path, first=0.01, every=0.01)
    threading.Event().wait(0.3)
    thread.close()
    (line,) = [record.getMessage() for record in caplog.records if "backup" in record.getMessage()]
    assert "no daily backup" in line and "python -m studies backup" in line
    assert not backup_folder(path).exists()


def test_the_thread_makes_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "evenhand.db"
    fill_store(path, asks=20).close()
    thread = DailyBackupThread(path, first=0.01, every=0.01)
    until(lambda: daily_backups(path))
    thread.close()
    assert len(daily_backups(path)) == 1


# --- killed while writing -----------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from studies.store.recovery import {module}

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

{module}.{name} = die
{module}.{call}
"""


def killed(module: str, name: str, call: str) -> None:
    """Run a call in a process that is killed at the first call of a function of the module."""
    script = KILLED.format(module=module, name=name, call=call)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, timeout=240)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_a_killed_repair_leaves_no_store_under_its_name_and_the_next_one_sweeps(
    damaged: Path,
) -> None:
    flip_bytes(damaged)
    target = damaged.with_name("new.db")
    killed(
        "salvage",
        "_check_new_store",
        f"repair_store(Path({str(damaged)!r}), Path({str(target)!r}))",
    )
    assert not target.exists()
    assert list(damaged.parent.glob("new.db.*.part*"))
    assert repair_store(damaged, target).target == target
    assert find_damage(target) == ""
    assert sorted(path.name for path in damaged.parent.iterdir()) == ["evenhand.db", "new.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
@pytest.mark.parametrize(
    "call", ["backup_daily(Path({!r}))", "backup_before_migration(Path({!r}), 3)"]
)
def test_what_a_killed_backup_leaves_is_swept_by_the_next(call: str, damaged: Path) -> None:
    killed("rolling_backups", "find_damage", call.format(str(damaged)))
    folder = backup_folder(damaged)
    assert [path.suffix for path in folder.iterdir()] == [".part"]
    made = backup_daily(damaged)
    assert made and list(folder.iterdir()) == [made]


def test_a_file_that_a_running_process_writes_is_not_swept(tmp_path: Path) -> None:
    mine, theirs = tmp_path / f"a.db.{os.getpid()}.part", tmp_path / f"b.db.{os.getppid()}.part"
    other = tmp_path / "notes.part"
    for path in (mine, theirs, other):
        path.touch()
    with replace_when_written(tmp_path / "c.db") as partial:
        partial.write_bytes(b"whole")
        delete_abandoned_partial_files(tmp_path)
        assert partial.exists() and not mine.exists(), "of an earlier process with our number"
        assert theirs.exists() and other.exists()
    assert (tmp_path / "c.db").read_bytes() == b"whole"
    with pytest.raises(ZeroDivisionError), replace_when_written(tmp_path / "c.db") as partial:
        partial.write_bytes(bytes(1 // 0))
    assert (tmp_path / "c.db").read_bytes() == b"whole", "what was there stays after an error"


def test_a_full_disk_during_a_repair_is_named_with_the_way_out(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flip_bytes(damaged)
    work = database.connect

    def small(path: Path, **how: bool) -> sqlite3.Connection:
        connection = work(path, **how)
        connection.execute("PRAGMA max_page_count=60")
        return connection

    monkeypatch.setattr(database, "connect", small)
    assert studies(["repair", str(damaged)]) == 2
    told = capsys.readouterr().err.replace(str(damaged.parent), "")
    assert says(told, "cannot write", "evenhand-repaired.db", "full", "make room", "--out")
    assert "--store" not in told and "resume" not in told
    assert [path.name for path in damaged.parent.iterdir()] == ["evenhand.db"]


# --- counts, notes and refusals -------------------------------------------------------------------


def test_lost_rows_are_counted_exactly_by_a_whole_index(whole: Path, damaged: Path) -> None:
    """Two leaf pages of two tables are noise; their indexes over the keys are whole and have an
    entry for each row."""
    leaves = "SELECT pageno FROM dbstat WHERE name=? AND pagetype='leaf' ORDER BY pageno"
    content = bytearray(damaged.read_bytes())
    with closing(sqlite3.connect(damaged)) as connection:
        for table in ("plan", "judgements"):
            for (page,) in connection.execute(leaves, (table,)).fetchall()[2:4]:
                content[(page - 1) * PAGE : page * PAGE] = random.Random(page).randbytes(PAGE)
    damaged.write_bytes(content)
    report = repaired(damaged)
    found = {table.name: table for table in report.tables}
    for one in (found["plan"], found["judgements"]):
        assert one.exact and one.lost == ASKS - one.kept > 0
    assert report.lost_rows == sum(table.lost for table in report.tables)


def test_a_table_that_a_later_version_added_is_not_lost(damaged: Path) -> None:
    flip_bytes(damaged)
    with closing(sqlite3.connect(damaged)) as connection:
        connection.execute(f"PRAGMA user_version={database.SCHEMA_VERSION - 1}")
        connection.execute("DROP TABLE allowance")
    (one,) = [table for table in repaired(damaged).tables if table.name == "allowance"]
    assert (one.kept, one.lost) == (0, 0)


def test_a_log_that_breaks_a_whole_file_is_not_used(
    whole: Path, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the log a page is damaged; it is left out only if the file alone is whole."""
    add_foreign_log(damaged)
    monkeypatch.setattr(salvage, "why_wal_is_foreign", lambda *_: "")
    faults = {True: "a page", False: ""}
    monkeypatch.setattr(salvage, "find_page_fault", lambda _, use_log=True: faults[use_log])
    log, note = salvage.find_usable_log(damaged)
    assert log is None and says(note, "evenhand.db-wal was not used", "whole without it")
    faults[False] = "a page"
    assert salvage.find_usable_log(damaged)[0] is not None
    faults[True] = ""
    log, note = salvage.find_usable_log(damaged)
    assert log is not None and note == ""


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.EIO, OSError), (errno.ENOSPC, StoreUnusable), (errno.EDQUOT, StoreUnusable)],
)
def test_only_a_full_disk_is_a_fault_of_the_new_file(
    code: int, kind: type[Exception], damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(salvage, "PageFile", fail)
    with pytest.raises(kind) as error:
        repair_store(damaged, damaged.with_name("new.db"))
    assert isinstance(error.value, StoreUnusable) == (kind is StoreUnusable)
    assert [path.name for path in damaged.parent.iterdir()] == ["evenhand.db"]


def test_a_new_store_with_a_row_of_no_study_fails_its_check(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "new.db", asks=3)
    salvage._check_new_store(store.path, store.path)
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("UPDATE plan SET study=99")
        connection.commit()
    with pytest.raises(StoreUnusable, match="failed its check"):
        salvage._check_new_store(store.path, store.path)


def test_a_damaged_copy_is_no_backup_and_a_large_store_is_announced(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(shutil.copyfile(whole, tmp_path / "evenhand.db"))
    size = rolling_backups.store_size_bytes(path)
    for most, said in ((size, 0), (size - 1, 1)):
        monkeypatch.setattr(rolling_backups, "MAX_DAILY_BYTES", most)
        rolling_backups.backup_before_migration(path, most)
        assert len(caplog.records) == said
    assert len(list(backup_folder(path).iterdir())) == 2
    monkeypatch.setattr(rolling_backups, "find_damage", lambda _: "a page")
    with pytest.raises(StoreUnusable, match="is damaged") as error:
        rolling_backups.write_backup(path, tmp_path / "copy.db")
    assert "a page" in str(error.value) and not (tmp_path / "copy.db").exists()


def test_the_commands_print_notes_and_name_a_backup_in_a_folder(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil_header(damaged)
    assert studies(["repair", str(damaged)]) == 0
    assert says(capsys.readouterr().out, "note: ", "list of tables")
    missing = tmp_path / "none.db"
    assert studies(["backup", "--store", str(missing)]) == 2
    assert says(capsys.readouterr().err, "no store at", "none.db")
    whole, folder = tmp_path / "whole.db", tmp_path / "kept"
    fill_store(whole, asks=3).close()
    folder.mkdir()
    assert studies(["backup", str(folder), "--store", str(whole)]) == 0
    (made,) = folder.iterdir()
    assert re.fullmatch(r"whole-\d{4}-\d\d-\d\d-\d{6}\.db", made.name)
    before = made.read_bytes()
    assert studies(["backup", str(made), "--store", str(whole)]) == 2
    assert made.read_bytes() == before
