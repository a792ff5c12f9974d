"""Which other studies a study's results look at: those of the same data, and how they stand."""

from __future__ import annotations

from functools import lru_cache

from studies.errors import EvenhandError
from studies.store import Store
from studies.study import parse

Standing = tuple[str, tuple[str, int]]


def neighbours(store: Store, name: str) -> tuple[Standing, ...]:
    """(study, version) of every other study that asks about the same source.

    Contrasts and protocols compare studies of one source; a run of any other changes nothing here.
    """
    sources = {one: _source(text) for one, text in store.read("SELECT name, yaml FROM studies")}
    mine = sources.pop(name, "")
    return tuple(
        (one, store.version(one)) for one, source in sorted(sources.items()) if source == mine
    )


@lru_cache(maxsize=1024)
def _source(text: str) -> str:
    try:
        return parse(text).data.source
    except EvenhandError:
        return ""
