"""What every test stands on: a store of its own, no proxy in the way, the real records if here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from studies.store.store import Store
from tests.attacks.attack_log import each_mode  # noqa: F401 - a fixture of several folders
from tests.samples import examples

settings.register_profile("evenhand", examples(40), derandomize=True)
settings.load_profile("evenhand")

ROOT = Path(__file__).parents[1]
_NUMBER = count()


@pytest.fixture(autouse=True)
def nobody_elses_store(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that forgets --store must not write into the store of whoever runs the tests."""
    fresh = tmp_path_factory.getbasetemp() / f"default-store-{next(_NUMBER)}" / "evenhand.db"
    monkeypatch.setenv("EVENHAND_STORE", str(fresh))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "evenhand.db")
    yield made
    made.close()


@pytest.fixture(scope="session")
def records() -> Path:
    """Real records, outside the repository."""
    named = os.environ.get("EVENHAND_RECORDS")
    path = Path(named) if named else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"NO REAL RECORDS at {path}: set EVENHAND_RECORDS to their folder")
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests first: they take longest, and what is short fills up the end."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
