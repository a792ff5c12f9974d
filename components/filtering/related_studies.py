"""The other studies of the same data source, for comparison with a study's results."""

from functools import lru_cache

from studies.errors import EvenhandError
from studies.spec.study import parse_study
from studies.store.store import Store

StudyVersion = tuple[str, tuple[str, int]]


def studies_with_same_data_source(store: Store, name: str) -> tuple[StudyVersion, ...]:
    """Return (name, version) of every other study with the same data source; empty if the file of
    the study `name` cannot be read. The control "Compare with" and the view Paper offer these
    studies."""
    sources = {one: _data_source_of_file(text) for one, text in store.study_file_texts().items()}
    mine = sources.pop(name, None)
    if mine is None:
        return ()
    return tuple(
        (one, store.version(one)) for one, source in sorted(sources.items()) if source == mine
    )


@lru_cache(maxsize=1024)
def _data_source_of_file(text: str) -> str | None:
    """Data source of a study file; None if the file cannot be read."""
    try:
        return parse_study(text).data.source
    except EvenhandError:
        return None
