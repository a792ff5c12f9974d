"""Frame cache on disk: exact round trip, no outdated entries."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from studies.frames import columns
from studies.store.caching import frame_cache
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.judges.small_studies import run_text

STUDY = """
name: small
data: {source: probe, count: 8}
judges:
  - {name: b, model: simulated, unreadable_rate: 0.2, seed: 1, family: acme}
  - {name: a, model: simulated, seed: 2}
prompts: [brief-letters, visit-reference-free]
families: {precise: acme}
noise_floor: 0.2
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with a finished study."""
    made = Store(tmp_path_factory.mktemp("finished") / "evenhand.db")
    run_text(made, STUDY)
    made.close()
    return made.path


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of that store, with its log."""
    shutil.copytree(finished.parent, tmp_path, dirs_exist_ok=True)
    made = Store(tmp_path / "evenhand.db")
    yield made
    made.close()


@pytest.fixture
def caches_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_cache, "MIN_CACHED_ROWS", 10)


def files(path: Path) -> list[Path]:
    return list(path.with_name(path.name + "-frames").glob("*"))


@pytest.mark.usefixtures("caches_all")
def test_a_large_frame_is_read_back_as_it_was_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = store.frame("small")
    assert len(files(store.path)) == 1
    again = Store(store.path)
    monkeypatch.setattr(Store, "_build_frame", lambda *_: pytest.fail("made again"))
    pd.testing.assert_frame_equal(again.frame("small"), made)
    for name in made.select_dtypes("category"):
        assert list(again.frame("small")[name].cat.categories) == list(made[name].cat.categories)
    again.close()


@pytest.mark.usefixtures("caches_all")
def test_a_new_judgement_makes_a_new_frame(store: Store) -> None:
    before = store.frame("small")
    key = next(store.judgements("small")).ask.key
    store.writer.run(lambda c: c.execute("DELETE FROM judgements WHERE key=?", (key,)))
    store.writer.run(lambda c: c.execute("UPDATE studies SET updated=updated+1"))
    after = Store(store.path).frame("small")
    assert len(after) == len(before) - 1
    assert len(files(store.path)) == 1


@pytest.mark.usefixtures("caches_all")
def test_other_code_makes_its_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.frame("small")
    version = store.version("small")
    assert frame_cache.read_cached_frame(store.path, "small", version.__eq__) is not None
    assert frame_cache.read_cached_frame(store.path, "small", version.__ne__) is None
    monkeypatch.setattr(frame_cache, "_code_fingerprint", lambda: "another release")
    assert frame_cache.read_cached_frame(store.path, "small", version.__eq__) is None


def test_small_frames_leave_no_file_and_a_broken_file_is_no_trouble(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = store.frame("small")
    assert files(store.path) == []
    monkeypatch.setattr(frame_cache, "MIN_CACHED_ROWS", 10)
    frame_cache.cache_frame(store.path, "small", store.version("small"), made)
    (path,) = files(store.path)
    path.write_bytes(path.read_bytes()[:500])
    pd.testing.assert_frame_equal(Store(store.path).frame("small"), made)


@pytest.mark.usefixtures("caches_all")
def test_a_deleted_study_leaves_no_frame_behind(store: Store) -> None:
    store.frame("small")
    assert len(files(store.path)) == 1
    store.delete_study("small")
    assert files(store.path) == []


def test_rows_that_come_in_pieces_make_the_same_frame(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store.frame("small")
    for size in (1, 7, 1000):
        monkeypatch.setattr(columns, "ROWS_PER_CHUNK", size)
        pd.testing.assert_frame_equal(Store(store.path).frame("small"), whole)


def other_study(store: Store) -> None:
    """Somebody asks something else in the same store."""
    text = STUDY.replace("name: small", "name: other").replace("seed: 1", "seed: 5")
    run_text(store, text)


@pytest.mark.usefixtures("caches_all")
def test_a_run_of_another_study_makes_nothing_old(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, version, counts = (
        store.frame("small"),
        store.version("small"),
        store.status_counts("small"),
    )
    other_study(store)
    assert store.version("other")[1] > version[1]
    # Judge a has the same seed in both studies: its asks are answered once, so nothing is new.
    assert store.version("small") == version
    monkeypatch.setattr(Store, "_build_frame", lambda *_: pytest.fail("made again"))
    monkeypatch.setattr(Store, "_query_ask_counts", lambda *_: pytest.fail("counted again"))
    assert store.status_counts("small") == counts
    pd.testing.assert_frame_equal(store.frame("small"), made)
    pd.testing.assert_frame_equal(Store(store.path).frame("small"), made)  # after a restart, too


def test_a_judgement_replaced_by_whoever_makes_it_old(store: Store) -> None:
    before, counts = store.version("small"), store.status_counts("small")
    elsewhere = Store(store.path)  # another process
    judgement = next(store.judgements("small"))
    changed = replace(judgement, status="error", verdict=None)
    elsewhere.writer.run(lambda connection: put_judgement(connection, changed))
    assert store.version("small") != before
    assert store.status_counts("small")["error"] == 1
    assert store.status_counts("small") != counts
    assert store.version("small") == store.version("small")
    elsewhere.close()


def test_the_list_of_studies_counts_what_is_asked(store: Store) -> None:
    (line,) = store.studies()
    whole = store.status_counts("small")["planned"]
    assert (line.planned, line.judged, line.recorded) == (whole, whole, False)
    store.writer.run(lambda c: c.execute("DELETE FROM judgements WHERE status='unreadable'"))
    (line,) = Store(store.path).studies()
    assert (line.planned, line.judged) == (whole, whole - store.read(
        "SELECT count(*) FROM replies WHERE key NOT IN (SELECT key FROM judgements)"
    ).fetchone()[0])  # fmt: skip
    assert line.judged < whole


def test_panels_that_want_a_frame_at_once_wait_for_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    work = Store._build_frame

    def slowly(self: Store, *arguments: Any) -> pd.DataFrame:
        made.append(1)
        time.sleep(0.2)
        return work(self, *arguments)

    monkeypatch.setattr(Store, "_build_frame", slowly)
    with ThreadPoolExecutor(4) as panels:
        frames = list(panels.map(store.frame, ["small"] * 4))
    assert made == [1]
    assert {len(frame) for frame in frames} == {store.status_counts("small")["planned"]}


def test_a_count_that_took_long_is_kept_over_a_restart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.store.store_file.MIN_CACHED_SECONDS", 3600.0)
    counts = store.status_counts("small")
    assert files(store.path) == []
    monkeypatch.setattr("studies.store.store_file.MIN_CACHED_SECONDS", -1.0)
    assert Store(store.path).status_counts("small") == counts
    assert [path.suffix for path in files(store.path)] == [".json"]
    monkeypatch.setattr(Store, "_query_ask_counts", lambda *_: pytest.fail("counted again"))
    assert Store(store.path).status_counts("small") == counts
    files(store.path)[0].write_text("[1, 2", encoding="utf-8")
    monkeypatch.undo()
    assert Store(store.path).status_counts("small") == counts  # a broken file is no trouble
