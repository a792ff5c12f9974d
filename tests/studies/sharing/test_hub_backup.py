"""Backup of the store in a Hub dataset: saved and restored, never partially."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from studies.domain import Item
from studies.errors import StoreUnusable
from studies.sharing import hub_backup
from studies.spec.study import Study
from studies.store.store import Store
from tests.hub_stand_in import Hub, hub
from tests.waiting import until

__all__ = ["hub"]
TOKEN = "hf_" + "secret" * 5
ITEMS = [Item("q", "why?", {"x": "a", "y": "b"})]


def test_what_was_saved_comes_back(hub: Hub, store: Store, tmp_path: Path) -> None:
    store.save_study(Study("kept"), ITEMS, (), ())
    hub_backup.upload_snapshot(store, "me/data", TOKEN)
    assert hub.created[0]["type"] == "dataset"
    assert hub.created[0]["visibility"] == "private"
    fresh = tmp_path / "fresh" / "evenhand.db"
    assert hub_backup.restore_snapshot(fresh, "me/data", TOKEN)
    restored = Store(fresh)
    assert [line.name for line in restored.studies()] == ["kept"]
    restored.close()


def test_a_store_that_is_there_is_not_replaced(hub: Hub, store: Store) -> None:
    assert not hub_backup.restore_snapshot(store.path, "me/data", TOKEN)
    assert hub.fetched == []


def test_no_snapshot_yet_is_no_error(hub: Hub, tmp_path: Path) -> None:
    assert not hub_backup.restore_snapshot(tmp_path / "new.db", "me/data", TOKEN)
    assert not (tmp_path / "new.db").exists()


def test_a_missing_dataset_is_created_and_is_no_error(hub: Hub, tmp_path: Path) -> None:
    hub.repository = "missing"
    assert not hub_backup.restore_snapshot(tmp_path / "new.db", "me/data", TOKEN)
    assert [one["visibility"] for one in hub.created] == ["private"]


def test_a_dataset_that_the_token_may_not_see_stops_the_start(hub: Hub, tmp_path: Path) -> None:
    hub.repository = "hidden"
    with pytest.raises(StoreUnusable, match="cannot be fetched") as failed:
        hub_backup.restore_snapshot(tmp_path / "new.db", "me/data", TOKEN)
    assert "token may write" in str(failed.value) and TOKEN not in str(failed.value)


@pytest.mark.parametrize("content", [b"SQLite format 3\x00 and then nothing", b"<html>" * 50])
def test_a_broken_snapshot_is_refused(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.files[hub_backup.SNAPSHOT_FILE] = content
    target = tmp_path / "new.db"
    with pytest.raises(StoreUnusable, match="is damaged"):
        hub_backup.restore_snapshot(target, "me/data", TOKEN)
    assert not target.exists()


def test_a_hub_that_refuses_stops_the_start_instead_of_paying_for_all_again(
    hub: Hub, tmp_path: Path
) -> None:
    hub.refused = True
    with pytest.raises(StoreUnusable, match="cannot be fetched") as failed:
        hub_backup.restore_snapshot(tmp_path / "new.db", "me/data", TOKEN)
    assert TOKEN not in str(failed.value)


def test_the_keeper_saves_only_what_is_new_and_once_more_at_the_end(hub: Hub, store: Store) -> None:
    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=0.05)
    time.sleep(0.3)
    assert hub.files == {}
    store.save_study(Study("new"), ITEMS, (), ())
    until(lambda: hub_backup.SNAPSHOT_FILE in hub.files)
    keeper.close()
    first = hub.files[hub_backup.SNAPSHOT_FILE]
    last = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=999)
    store.save_study(Study("at the end"), ITEMS, (), ())
    last.close()
    assert hub.files[hub_backup.SNAPSHOT_FILE] != first


def test_a_run_that_is_paused_is_kept_at_once(hub: Hub, store: Store) -> None:
    def note(state: str) -> None:
        row = ("id", "study", "owner", state, "", 1.0, None)
        store.writer.run(
            lambda c: c.execute("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?)", row)
        )

    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=999, poll=0.02)
    note("running")
    time.sleep(0.3)
    assert not hub.files, "while it is on, every few minutes will do"
    note("paused")
    until(lambda: hub_backup.SNAPSHOT_FILE in hub.files)
    keeper.close()


def test_what_is_no_judgement_is_kept_too(hub: Hub, store: Store) -> None:
    # A link to a study changes neither the study nor any judgement.
    store.save_study(Study("mine"), ITEMS, (), ())
    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=0.05)
    store.writer.run(lambda c: c.execute("INSERT INTO shares VALUES ('hash', 1, 0, 0)"))
    until(lambda: hub_backup.SNAPSHOT_FILE in hub.files)
    keeper.close()


def test_the_log_of_an_older_file_does_not_spoil_what_is_fetched(
    hub: Hub, store: Store, tmp_path: Path
) -> None:
    store.save_study(Study("kept"), ITEMS, (), ())
    hub_backup.upload_snapshot(store, "me/data", TOKEN)
    other = Store(tmp_path / "new.db")
    other.save_study(Study("older"), ITEMS, (), ())
    log = (tmp_path / "new.db-wal").read_bytes()
    other.close()
    (tmp_path / "new.db").unlink()
    (tmp_path / "new.db-wal").write_bytes(log)
    assert log
    assert hub_backup.restore_snapshot(tmp_path / "new.db", "me/data", TOKEN)
    found = Store(tmp_path / "new.db")
    assert [line.name for line in found.studies()] == ["kept"]
    found.close()


def test_a_failed_snapshot_does_not_end_the_page(
    hub: Hub, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    hub.refused = True
    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=999)
    store.save_study(Study("new"), ITEMS, (), ())
    keeper.close()
    assert "no snapshot to me/data" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("error", [StoreUnusable("it is gone"), sqlite3.OperationalError("gone")])
def test_a_store_that_cannot_be_read_is_a_warning_and_no_end_of_the_thread(
    store: Store,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def unreadable(_: Store) -> object:
        raise error

    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=999, poll=999)
    monkeypatch.setattr(hub_backup, "paused_or_ended_runs_stamp", unreadable)
    assert keeper._paused_or_ended_runs_stamp() is None
    assert [record.args for record in caplog.records] == [(error,)]
    keeper.close()
    assert not keeper._thread.is_alive() and len(caplog.records) == 2


def test_a_failed_upload_is_tried_again_after_pauses_that_double(
    hub: Hub, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[float] = []

    def upload(*_: object) -> None:
        tries.append(time.monotonic())
        raise OSError("no network")

    real = hub_backup.upload_snapshot
    monkeypatch.setattr(hub_backup, "upload_snapshot", upload)
    keeper = hub_backup.SnapshotThread(store, "me/data", TOKEN, every=999, poll=0.05)
    row = ("id", "study", "owner", "paused", "", 1.0, None)
    store.writer.run(lambda c: c.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", row))
    until(lambda: len(tries) == 4)
    assert all(tries[n + 1] - tries[n] >= 0.05 * 2 ** (n + 1) for n in range(3)), tries
    monkeypatch.setattr(hub_backup, "upload_snapshot", real)
    until(lambda: hub_backup.SNAPSHOT_FILE in hub.files)
    keeper.close()


def test_a_token_is_not_cut_in_two_by_the_length_of_a_message() -> None:
    for before in range(260, 304):
        said = hub_backup._error_text_without_token(
            ValueError("x" * before + TOKEN + " end"), TOKEN
        )
        assert "hf_" not in said and len(said) <= 300
    assert hub_backup._error_text_without_token(ValueError("a  b"), None) == "a b"
