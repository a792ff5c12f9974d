"""A store whose file is removed, moved or replaced while it is in use."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from studies.spec.study import Study
from studies.store.database import RESTORED_NOTICE
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
