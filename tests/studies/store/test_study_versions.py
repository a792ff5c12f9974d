"""Versions of a study: changed by its own judgements, not by those of others."""

from __future__ import annotations

import pytest

from studies.domain import Ask, Item, Judgement, Verdict
from studies.recorded_keys import assign_recorded_keys
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
