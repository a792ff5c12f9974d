"""A store with the recorded demos, made once for all tests: importing them takes 2.5 s of CPU."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path

from components.study.plan.demo_studies import import_demo_studies
from studies.store.store import Store

_MAKERS: list[BaseProcess] = []
"""The process that makes the file, if there is one."""


@cache
def _demo_path() -> Path:
    return Path(tempfile.mkdtemp(prefix="evenhand-demo-")) / "demo.db"


def _make_demo(path: Path) -> None:
    store = Store(path)
    import_demo_studies(store)
    store.close()


def begin_demo() -> None:
    """Make the file in a process of its own, while this one collects the tests on another core."""
    maker = multiprocessing.get_context("fork").Process(target=_make_demo, args=[_demo_path()])
    maker.start()
    _MAKERS.append(maker)


@cache
def prepared_demo() -> Path:
    """The file to copy. Workers inherit it from the process that is forked."""
    path = _demo_path()
    if _MAKERS:
        _MAKERS[0].join()
        assert _MAKERS[0].exitcode == 0, "the store with the demos could not be made"
    else:
        _make_demo(path)
    return path


def copy_demo(path: Path) -> Path:
    """Copy the store with the demos to a path, unless a store is there already."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(prepared_demo(), path)
    return path


def remove_prepared() -> None:
    if _demo_path.cache_info().currsize:
        shutil.rmtree(_demo_path().parent, ignore_errors=True)
