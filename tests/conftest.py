"""Fixtures and settings of all tests: a store for each, no proxy, the real records if present."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from components.server.stub_files import skip_stub_files
from studies.store.store import Store
from tests.attacks.attack_log import each_mode  # noqa: F401 - a fixture of several folders
from tests.demo_store import begin_demo, copy_demo, prepared_demo, remove_prepared
from tests.samples import ALL, examples

pytest_plugins = ("tests.forked_workers",)
settings.register_profile("evenhand", examples(40), derandomize=True)
settings.load_profile("evenhand")
if not ALL:  # constants of all our modules, read from their source, take 3 s in each worker
    vars(providers)["is_local_module_file"] = lambda path: False

ROOT = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")
"""A file system in memory. Stores wait for the disk at every commit: there a run of two calls takes
0.08 s, on a disk 0.18 s."""
ENOUGH_MEMORY = 2 << 30
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_MEMORY:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # before the first temporary folder
GARBAGE_COLLECTION = (10_000, 10, 20)
"""Thresholds of the garbage collector. With Python's own, parsing all modules takes half as long
again."""
_NUMBER = count()


@pytest.fixture(autouse=True)
def nobody_elses_store(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that forgets --store must not write into the store of whoever runs the tests."""
    fresh = tmp_path_factory.getbasetemp() / f"default-store-{next(_NUMBER)}" / "evenhand.db"
    monkeypatch.setenv("EVENHAND_STORE", str(fresh))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(fresh.parent / "config"))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "evenhand.db")
    yield made
    made.close()


@pytest.fixture
def demo_store(tmp_path: Path) -> Iterator[Store]:
    """A store with the recorded demos."""
    made = Store(copy_demo(tmp_path / "demo.db"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def recorded_demos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The recorded demos for tests that only read and replace no function: what the store computes
    from them is computed once in each worker."""
    made = Store(copy_demo(tmp_path_factory.mktemp("recorded-demos") / "demo.db"))
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


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Import Gradio, with the first test that uses it, as app.py does: without its type stubs.
    Modules and collected tests stay for the whole session: no garbage collection looks at them.
    Before the process is forked it imports openai, which the product imports at the first call, and
    waits for the store with the demos, which another process makes meanwhile."""
    gc.disable()
    forks = session.config.getoption("workers") > 1
    if forks:
        begin_demo()
    with skip_stub_files():
        yield
    if forks:
        import openai  # noqa: F401

        prepared_demo()
    gc.freeze()
    gc.set_threshold(*GARBAGE_COLLECTION)
    gc.enable()


def pytest_unconfigure() -> None:
    remove_prepared()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests first, then the files of this folder, which read all source files: they take
    longest, and what is short fills up the end."""
    here = Path(__file__).parent
    items.sort(
        key=lambda item: (item.get_closest_marker("browser") is None, item.path.parent != here)
    )
