"""The store survives a disk that forgets: saved to a dataset, fetched again, never half."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from studies import snapshot
from studies.errors import StoreUnusable
from studies.records import Item
from studies.store import Store
from studies.study import Study
from tests.hub_stand_in import Hub, hub

__all__ = ["hub"]
TOKEN = "hf_" + "secret" * 5
ITEMS = [Item("q", "why?", {"x": "a", "y": "b"})]


def test_what_was_saved_comes_back(hub: Hub, store: Store, tmp_path: Path) -> None:
    store.save_study(Study("kept"), ITEMS, (), ())
    snapshot.save(store, "me/data", TOKEN)
    assert hub.created[0]["type"] == "dataset"
    assert hub.created[0]["visibility"] == "private"
    fresh = tmp_path / "fresh" / "evenhand.db"
    assert snapshot.restore(fresh, "me/data", TOKEN)
    restored = Store(fresh)
    assert [line.name for line in restored.studies()] == ["kept"]
    restored.close()


def test_a_store_that_is_there_is_not_replaced(hub: Hub, store: Store) -> None:
    assert not snapshot.restore(store.path, "me/data", TOKEN)
    assert hub.fetched == []


def test_no_snapshot_yet_is_no_error(hub: Hub, tmp_path: Path) -> None:
    assert not snapshot.restore(tmp_path / "new.db", "me/data", TOKEN)
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("content", [b"SQLite format 3\x00 and then nothing", b"<html>" * 50])
def test_a_broken_snapshot_is_refused(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.files[snapshot.FILE] = content
    target = tmp_path / "new.db"
    with pytest.raises(StoreUnusable, match="no whole store"):
        snapshot.restore(target, "me/data", TOKEN)
    assert not target.exists()


def test_a_hub_that_refuses_stops_the_start_instead_of_paying_for_all_again(
    hub: Hub, tmp_path: Path
) -> None:
    hub.refused = True
    with pytest.raises(StoreUnusable, match="cannot be fetched") as failed:
        snapshot.restore(tmp_path / "new.db", "me/data", TOKEN)
    assert TOKEN not in str(failed.value)


def test_the_keeper_saves_only_what_is_new_and_once_more_at_the_end(hub: Hub, store: Store) -> None:
    keeper = snapshot.Keeper(store, "me/data", TOKEN, every=0.05)
    time.sleep(0.3)
    assert hub.files == {}
    store.save_study(Study("new"), ITEMS, (), ())
    end = time.monotonic() + 10
    while snapshot.FILE not in hub.files and time.monotonic() < end:
        time.sleep(0.05)
    assert snapshot.FILE in hub.files
    keeper.close()
    first = hub.files[snapshot.FILE]
    last = snapshot.Keeper(store, "me/data", TOKEN, every=999)
    store.save_study(Study("at the end"), ITEMS, (), ())
    last.close()
    assert hub.files[snapshot.FILE] != first


def test_a_failed_snapshot_does_not_end_the_page(
    hub: Hub, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    hub.refused = True
    keeper = snapshot.Keeper(store, "me/data", TOKEN, every=999)
    store.save_study(Study("new"), ITEMS, (), ())
    keeper.close()
    assert "no snapshot to me/data" in caplog.text
    assert TOKEN not in caplog.text
