"""A finished study of simulated judges, so that panels are shown what really comes out of a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studies.store.store import Store
from tests.judges.small_studies import run_text

STUDY = """
name: two judges
data: {source: probe, per: {category: 5}, seed: 1}
contestants: [precise, flawed]
judges:
  - {name: always first, model: simulated, first_bias: 1, seed: 1}
  - {name: fair, model: simulated, accuracy: 1, seed: 2}
prompts: [brief-letters]
noise_floor: 0.5
"""


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("judged") / "evenhand.db")
    run_text(store, STUDY)
    yield store
    store.close()


@pytest.fixture(scope="module")
def module_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty store for all tests of a file."""
    store = Store(tmp_path_factory.mktemp("module") / "evenhand.db")
    yield store
    store.close()
