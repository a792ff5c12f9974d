"""Expiry of visitors' studies and files; ownerless studies and live runs are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.planning.plan import make_plan, save_plan
from studies.sharing.expiry import DAY_SECONDS, ExpiryThread, delete_unused_studies_and_uploads
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, new_secret, visitor_from_secret
from studies.spec.study import parse_study
from studies.store.run_owners import LeaseOwner
from studies.store.store import Store
from tests.waiting import until

STUDY = """
name: {name}
data: {{source: probe, count: 1}}
contestants: [precise, flawed]
judges: [{{name: fair, model: simulated, seed: 1}}]
prompts: [brief-letters]
"""
WHO = visitor_from_secret(new_secret())


@pytest.fixture
def guarded(store: Store) -> Iterator[VisitorStore]:
    made = VisitorStore(store)
    save_plan(make_plan(parse_study(STUDY.format(name="house"))), store)
    with as_visitor(WHO):
        for name in ("old", "run lately", "running"):
            save_plan(make_plan(parse_study(STUDY.format(name=name))), made)
        uploads = made.folder / "uploads"
        uploads.mkdir(parents=True)
        (uploads / "x.jsonl").write_text("{}")
    yield made
    made.close()


def note(store: Store, run: str, study: str, owner: str, ended: float | None) -> None:
    values = (run, study, owner, "done", "", 0.0, ended)
    store.writer.run(lambda c: c.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", values))


def age(folder: Path, seconds: float) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - seconds, time.time() - seconds))


def names(store: Store) -> set[str]:
    return {line.name for line in store.studies()}


def test_only_visitors_old_studies_go_and_their_runs_with_them(guarded: VisitorStore) -> None:
    store, later = guarded.unrestricted, time.time() + 8 * DAY_SECONDS
    note(store, "gone", "old", "dead-owner", ended=5.0)
    note(store, "late", "run lately", "dead-owner", ended=later - DAY_SECONDS)
    alive = LeaseOwner(store.run_locks_folder)
    note(store, "live", "running", alive.id, ended=None)
    assert delete_unused_studies_and_uploads(store, 9, later).studies == 0
    assert delete_unused_studies_and_uploads(store, 7, later).studies == 1
    assert names(store) == {"house", "run lately", "running"}
    assert {run.id for run in store.runs()} == {"late", "live"}
    alive.close()
    assert delete_unused_studies_and_uploads(store, 7, later + 8 * DAY_SECONDS).studies == 2
    assert names(store) == {"house"}
    assert store.status_counts("house")["planned"] == 2


def test_uploads_stay_as_long_as_a_study_of_theirs_or_their_age_keeps_them(
    guarded: VisitorStore,
) -> None:
    with as_visitor(WHO):
        folder = guarded.folder
    age(folder, 30 * DAY_SECONDS)
    assert (
        delete_unused_studies_and_uploads(guarded.unrestricted, 7).folders == 0
    )  # studies of theirs are here
    for name in ("old", "run lately", "running"):
        guarded.unrestricted.delete_study(name)
    age(folder, 3 * DAY_SECONDS)
    assert delete_unused_studies_and_uploads(guarded.unrestricted, 7).folders == 0
    age(folder, 8 * DAY_SECONDS)
    assert delete_unused_studies_and_uploads(guarded.unrestricted, 7).folders == 1
    assert not folder.exists()


def test_the_reaper_looks_by_itself_and_ends_when_told(guarded: VisitorStore) -> None:
    reaper = ExpiryThread(
        guarded.unrestricted, 7, every=0.05, clock=lambda: time.time() + 30 * DAY_SECONDS
    )
    until(lambda: names(guarded.unrestricted) == {"house"})
    reaper.close()
    assert not reaper._thread.is_alive()


def test_without_a_visitor_there_is_no_folder_to_delete(tmp_path: Path) -> None:
    store = Store(tmp_path / "new.db")
    assert delete_unused_studies_and_uploads(store, 7).folders == 0
    store.close()
