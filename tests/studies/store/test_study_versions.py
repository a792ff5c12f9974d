"""Versions of a study: changed by its own judgements, not by those of others."""

from __future__ import annotations

import pytest

from studies.domain import Ask, Item, Judgement, Verdict, assign_recorded_keys
from studies.spec.study import Study
from studies.store.rows import put_judgement
from studies.store.store import Store
from studies.store.study_versions import StudyVersions

ITEMS = [Item("q1", "why?", {"x": "so", "y": "thus"})]


def save(store: Store, name: str) -> list[Judgement]:
    made = Judgement(Ask("", "q1", "j", "p", ("x", "y"), ("A", "B")), "ok", Verdict(0))
    recorded = assign_recorded_keys(name, [made])
    store.save_study(Study(name), ITEMS, (), recorded=recorded, only_recorded=True)
    return recorded


@pytest.mark.parametrize("fresh", [False, True])
def test_a_version_is_current_until_the_study_itself_changes(store: Store, fresh: bool) -> None:
    """Oracle: what was written. With `fresh`, another process asks, which remembers nothing."""
    own = save(store, "one")
    versions = StudyVersions()

    def is_current(version: tuple[str, int]) -> bool:
        return (StudyVersions() if fresh else versions).is_current("one", version, store.read)

    first = versions.current_version("one", store.read)
    assert is_current(first) and not is_current((first[0], first[1] + 1))
    assert not is_current(("another", first[1]))
    save(store, "other")
    assert is_current(first), "a judgement of another study"
    store.writer.run(lambda c: c.execute("DELETE FROM judgements WHERE key=?", (own[0].ask.key,)))
    store.writer.run(lambda c: put_judgement(c, own[0]))
    assert not is_current(first), "a new judgement of its own"
    second = versions.current_version("one", store.read)
    assert second[1] == first[1] + 2 and is_current(second)
    save(store, "one")
    assert not is_current(second), "saved again"
    assert versions.current_version("none", store.read) == ("", 0)


def test_new_judgements_are_read_once_for_all_studies(store: Store) -> None:
    """A list of studies asks for the version of each, while a run stores judgements."""
    names = [f"study {number}" for number in range(5)]
    own = {name: save(store, name)[0] for name in names}
    versions, scans = StudyVersions(), []

    def read(sql, values=()):
        scans.extend([sql] * ("seq>?" in sql))
        return store.read(sql, values)

    before = {name: versions.current_version(name, read) for name in names}
    for name in names[:2]:
        store.writer.run(lambda c, name=name: put_judgement(c, own[name]))
    after = {name: versions.current_version(name, read) for name in names}
    assert len(scans) == 1
    assert [name for name in names if after[name] != before[name]] == names[:2]
    assert {name: versions.current_version(name, read) for name in names} == after


def test_a_store_that_goes_back_is_read_anew(store: Store) -> None:
    """Oracle: a version that remembers nothing. A file replaced by an older copy has lower sequence
    numbers, and may then get other judgements with the same ones."""
    own, other = save(store, "one")[0], save(store, "other")[0]
    versions = StudyVersions()
    first = versions.current_version("one", store.read)
    store.writer.run(lambda c: c.execute("DELETE FROM judgements WHERE key=?", (other.ask.key,)))
    back = versions.current_version("one", store.read)
    assert back != first and back == StudyVersions().current_version("one", store.read)
    store.writer.run(lambda c: put_judgement(c, own))
    assert versions.current_version("one", store.read)[1] > back[1]
