"""What strangers left goes when its time is over; the house's studies and live runs stay."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.plan import make_plan, save_plan
from studies.guarded import VisitorsStore
from studies.owner import Owner
from studies.reaper import DAY, Reaper, reap
from studies.store import Store
from studies.study import parse
from studies.visitors import new_secret, visiting, visitor_of

STUDY = """
name: {name}
data: {{source: probe, count: 1}}
contestants: [precise, flawed]
judges: [{{name: fair, model: simulated, seed: 1}}]
prompts: [brief-letters]
"""
WHO = visitor_of(new_secret())


@pytest.fixture
def guarded(store: Store) -> Iterator[VisitorsStore]:
    made = VisitorsStore(store)
    save_plan(make_plan(parse(STUDY.format(name="house"))), store)
    with visiting(WHO):
        for name in ("old", "run lately", "running"):
            save_plan(make_plan(parse(STUDY.format(name=name))), made)
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


def test_only_visitors_old_studies_go_and_their_runs_with_them(guarded: VisitorsStore) -> None:
    store, later = guarded.bare, time.time() + 8 * DAY
    note(store, "gone", "old", "dead-owner", ended=5.0)
    note(store, "late", "run lately", "dead-owner", ended=later - DAY)
    alive = Owner(store.owners)
    note(store, "live", "running", alive.id, ended=None)
    assert reap(store, 9, later).studies == 0
    assert reap(store, 7, later).studies == 1
    assert names(store) == {"house", "run lately", "running"}
    assert {run.id for run in store.runs()} == {"late", "live"}
    alive.close()
    assert reap(store, 7, later + 8 * DAY).studies == 2
    assert names(store) == {"house"}
    assert store.counts("house")["planned"] == 2


def test_uploads_stay_as_long_as_a_study_of_theirs_or_their_age_keeps_them(
    guarded: VisitorsStore,
) -> None:
    with visiting(WHO):
        folder = guarded.folder
    age(folder, 30 * DAY)
    assert reap(guarded.bare, 7).folders == 0  # studies of theirs are here
    for name in ("old", "run lately", "running"):
        guarded.bare.delete_study(name)
    age(folder, 3 * DAY)
    assert reap(guarded.bare, 7).folders == 0
    age(folder, 8 * DAY)
    assert reap(guarded.bare, 7).folders == 1
    assert not folder.exists()


def test_the_reaper_looks_by_itself_and_ends_when_told(guarded: VisitorsStore) -> None:
    reaper = Reaper(guarded.bare, 7, every=0.05, wall=lambda: time.time() + 30 * DAY)
    until = time.monotonic() + 10
    while names(guarded.bare) != {"house"}:
        assert time.monotonic() < until
        time.sleep(0.02)
    reaper.close()
    assert not reaper._thread.is_alive()
