"""A store whose file is removed, moved or replaced while it is in use."""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from studies.spec.study import Study
from studies.store import database, run_owners
from studies.store.database import RESTORED_NOTICE, restore_deleted_file
from studies.store.run_owners import try_lock
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged, planned, study


def saved(store: Store, name: str = "small") -> list[str]:
    one = Study(name=name)
    store.save_study(one, [item()], planned(ask("k1")), plan_sha=name)
    return [line.name for line in store.studies()]


def remove(path: Path, *, log_too: bool = True) -> None:
    path.unlink()
    for tail in ("-wal", "-shm") if log_too else ():
        path.with_name(path.name + tail).unlink(missing_ok=True)


@pytest.mark.parametrize("log_too", [True, False])
def test_what_was_there_is_written_again_and_what_comes_later_is_kept(store, log_too):
    saved(store)
    store.writer.run(lambda c: c.execute("UPDATE studies SET updated=5"))
    remove(store.path, log_too=log_too)
    assert saved(store, "later") == ["later", "small"]
    assert store.file_watch.notice == RESTORED_NOTICE
    store.close()
    again = Store(store.path)
    assert {line.name: line.updated for line in again.studies()}["small"] == 5
    assert again.read("PRAGMA integrity_check").fetchone() == ("ok",)
    assert again.read("PRAGMA journal_mode").fetchone() == ("wal",)
    assert again.file_watch.notice == ""
    again.close()


def test_a_thread_that_reads_for_the_first_time_finds_everything(store):
    saved(store)
    remove(store.path)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(s.name for s in store.studies()))
    thread.start()
    thread.join()
    assert found == ["small"]
    assert store.path.is_file()


def test_a_whole_folder_that_is_removed_comes_back(tmp_path):
    store = Store(tmp_path / "folder" / "evenhand.db")
    saved(store)
    shutil.rmtree(store.path.parent)
    assert saved(store, "later") == ["later", "small"]
    store.close()


def test_another_file_in_its_place_is_the_store_from_then_on(store, tmp_path):
    """An older copy put in its place is read, and not overwritten."""
    saved(store)
    other = Store(tmp_path / "other.db")
    saved(other, "yesterday")
    other.close()
    remove(store.path)
    (tmp_path / "other.db").rename(store.path)
    assert [line.name for line in store.studies()] == ["yesterday"]
    assert store.file_watch.notice == ""
    assert saved(store, "later") == ["later", "yesterday"]


def test_two_stores_in_one_process_agree_on_what_was_put_back(store):
    saved(store)
    second = Store(store.path)
    assert [line.name for line in second.studies()] == ["small"]
    remove(store.path)
    assert saved(store, "later") == ["later", "small"]
    assert [line.name for line in second.studies()] == ["later", "small"]
    second.close()


def test_judgements_survive_too(store):
    one = ask("k1")
    store.save_study(study(), [item()], (), recorded=[judged(one)], plan_sha="x")
    remove(store.path)
    assert [judgement.reply for judgement in store.recorded_judgements("small")] == ["reply to k1"]


RESTORE = """
import sqlite3, sys
from pathlib import Path
from studies.store import database
path = Path(sys.argv[1])
connection = sqlite3.connect(path)
connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
print("open", flush=True)
sys.stdin.readline()
print(database.restore_deleted_file(connection, path), flush=True)
"""


def test_of_several_processes_one_restores_the_file(tmp_path):
    """The second process waits, so that it does not delete the log of a file just restored."""
    store = Store(tmp_path / "evenhand.db")
    saved(store)
    other = subprocess.Popen(
        [sys.executable, "-c", RESTORE, str(store.path)], cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout is not None and other.stdout.readline() == "open\n"
    lock = store.path.with_name("evenhand.db.restoring").open("ab")
    assert try_lock(lock)  # as a process that restores it at present
    remove(store.path)
    said = []
    thread = threading.Thread(target=lambda: said.append(other.communicate("go\n", 60)[0]))
    thread.start()
    thread.join(1)
    assert not said, "it waits"
    lock.close()
    thread.join(60)
    assert said == ["True\n"]
    assert saved(store, "later") == ["later", "small"] and store.file_watch.notice == ""
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="locks are simulated through fcntl")
def test_on_a_disk_without_locks_the_file_is_restored_at_once(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    path = tmp_path / "small.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE kept (one)")
        path.unlink()
        monkeypatch.setattr(
            run_owners, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4)
        )
        monkeypatch.setattr(database, "time", SimpleNamespace(sleep=pytest.fail))
        assert restore_deleted_file(connection, path)
    assert [one.name for one in tmp_path.iterdir()] == ["small.db"]


def test_who_waits_for_another_process_finds_the_file_that_it_restored(tmp_path, monkeypatch):
    path = tmp_path / "small.db"
    lock = tmp_path.joinpath("small.db.restoring").open("ab")
    assert try_lock(lock)

    def restore_meanwhile(seconds):
        path.write_text("restored by another process")
        lock.close()

    monkeypatch.setattr(database, "time", SimpleNamespace(sleep=restore_meanwhile))
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        assert not restore_deleted_file(connection, path)
    assert path.read_text() == "restored by another process"


def test_a_file_that_another_process_restored_is_not_touched(store):
    saved(store)
    log = store.path.with_name(store.path.name + "-wal")
    kept = log.read_bytes()
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert not restore_deleted_file(connection, store.path)
    assert kept and log.read_bytes() == kept


def test_a_file_that_appears_while_the_data_are_written_is_kept(tmp_path):
    """Another program makes a store of this name during the copy, which takes long if it is
    large."""
    store = Store(tmp_path / "evenhand.db")
    saved(store)
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    store.path.unlink()

    class Slow:
        def execute(self, *arguments: object) -> None:
            connection.execute(*arguments)  # type: ignore[arg-type]
            store.path.write_text("another store")
            store.path.with_name("evenhand.db-wal").write_text("its log")

    assert not restore_deleted_file(Slow(), store.path)  # type: ignore[arg-type]
    connection.close()
    assert store.path.read_text() == "another store"
    assert store.path.with_name("evenhand.db-wal").read_text() == "its log"
    assert not store.path.with_name("evenhand.db.restored").exists()
