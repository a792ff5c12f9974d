"""The limit on what all visitors together store: the longest unused studies go first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.planning.plan import make_plan, save_plan
from studies.errors import StudyError
from studies.sharing.expiry import (
    RECENT_SECONDS,
    VisitorStorageLimit,
    delete_unused_until_room,
    total_used_bytes,
)
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import Visitor, as_visitor, new_secret, visitor_from_secret
from studies.spec.study import parse_study
from studies.store.run_owners import LeaseOwner
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.page_words import pattern
from tests.studies.sharing.test_expiry import STUDY, names, note

DENIAL = "denial of service"
ONE, OTHER = (visitor_from_secret(new_secret()) for _ in range(2))
FILE_BYTES = 400_000


def save(store: Store, name: str, who: Visitor | None = None) -> None:
    plan = make_plan(parse_study(STUDY.format(name=name)))
    with as_visitor(who or Visitor()):
        save_plan(plan, store)


def upload(guarded: VisitorStore, who: Visitor) -> Path:
    with as_visitor(who):
        file = guarded.folder / "uploads" / "x.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x" * FILE_BYTES)
    return file


def set_used(store: Store, name: str, seconds_ago: float) -> None:
    at = (time.time() - seconds_ago, name)
    store.writer.run(lambda c: c.execute("UPDATE studies SET updated=? WHERE name=?", at))


@pytest.fixture
def guarded(store: Store) -> Iterator[VisitorStore]:
    """Studies of the owner and of two visitors, unused for two to five hours but for one; each has
    a long text, so that it takes pages of its own."""
    made = VisitorStore(store)
    save(store, "house")
    for name, who in (("oldest", ONE), ("old", OTHER), ("running", OTHER), ("recent", OTHER)):
        save(made, name, who)
    longer = "UPDATE studies SET yaml=yaml || ?"
    store.writer.run(lambda c: c.execute(longer, ("#" * 50_000 + "\n",)))
    for hours, name in enumerate(("running", "old", "oldest", "house"), 2):
        set_used(store, name, hours * RECENT_SECONDS)
    yield made
    made.close()


def test_the_longest_unused_go_first_and_what_is_in_use_stays(guarded: VisitorStore) -> None:
    store = guarded.unrestricted
    alive = LeaseOwner(store.run_locks_folder)
    note(store, "live", "running", alive.id, ended=None)
    before = total_used_bytes(store)
    assert delete_unused_until_room(store, before + 1) and len(names(store)) == 5, (
        "nothing is deleted in vain"
    )
    with attempt(DENIAL, PUBLIC, "studies beyond the space of all visitors"):
        assert delete_unused_until_room(store, before)
        assert names(store) == {"house", "old", "running", "recent"}
        assert total_used_bytes(store) < before
        assert not delete_unused_until_room(store, 1)
        assert names(store) == {"house", "running", "recent"}
    alive.close()
    assert store.status_counts("house")["planned"] == 2


def test_files_count_and_go_with_the_last_study_of_their_visitor(guarded: VisitorStore) -> None:
    store, empty = guarded.unrestricted, total_used_bytes(guarded.unrestricted)
    files = [upload(guarded, who) for who in (ONE, OTHER)]
    assert total_used_bytes(store) >= empty + 2 * FILE_BYTES
    in_an_hour = time.time() + RECENT_SECONDS - 60
    assert delete_unused_until_room(store, total_used_bytes(store), in_an_hour)
    assert names(store) == {"house", "old", "running", "recent"}
    assert all(file.exists() for file in files), "uploaded in the last hour"
    assert not delete_unused_until_room(store, 1, in_an_hour + 120)
    assert names(store) == {"house"} and not any(file.exists() for file in files)


def test_old_files_of_visitors_without_a_study_go_before_any_study(guarded: VisitorStore) -> None:
    store = guarded.unrestricted
    file = upload(guarded, visitor_from_secret(new_secret()))
    before, full = names(store), total_used_bytes(store)
    later = time.time() + 2 * RECENT_SECONDS
    assert delete_unused_until_room(store, full - FILE_BYTES // 2, later)
    assert not file.exists() and names(store) == before


def test_without_room_a_study_is_refused_in_words_and_others_are_kept(
    guarded: VisitorStore,
) -> None:
    store = guarded.unrestricted
    for name in names(store):
        set_used(store, name, 60)
    space = VisitorStorageLimit(store, total_used_bytes(store))
    full = VisitorStore(store, has_room=space.make_room_if_needed)
    before = names(store)
    with (
        attempt(DENIAL, PUBLIC, "a study when nothing unused is left"),
        pytest.raises(StudyError, match=pattern("all visitors", "full", "Nothing was saved")),
    ):
        save(full, "one more", ONE)
    assert names(store) == before
    with as_visitor(ONE):
        full.delete_study("oldest")
    full.close()
    assert names(store) == before - {"oldest"}, "whoever has studies can delete them"


def test_the_space_is_counted_again_after_some_seconds_or_when_it_is_full(
    guarded: VisitorStore,
) -> None:
    now, store = [0.0], guarded.unrestricted
    space = VisitorStorageLimit(
        store, total_used_bytes(store) + FILE_BYTES, every=10, clock=lambda: now[0]
    )
    assert space.make_room_if_needed()
    files = [upload(guarded, who) for who in (ONE, OTHER)]
    for name in names(store):
        set_used(store, name, 60)
    assert space.make_room_if_needed(), "counted less than 10 s ago"
    now[0] = 10.0
    assert not space.make_room_if_needed()
    for file in files:
        file.unlink()
    assert space.make_room_if_needed()
