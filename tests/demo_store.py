"""A store with the recorded demos, made once for all tests: importing them takes 2.5 s of CPU."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from components.study.plan.demo_studies import import_demo_studies
from studies.store.store import Store


@cache
def prepared_demo() -> Path:
    """The file to copy. Workers inherit it from the process that is forked."""
    path = Path(tempfile.mkdtemp(prefix="evenhand-demo-")) / "demo.db"
    store = Store(path)
    import_demo_studies(store)
    store.close()
    return path


def copy_demo(path: Path) -> Path:
    """Copy the store with the demos to a path, unless a store is there already."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(prepared_demo(), path)
    return path


def remove_prepared() -> None:
    if prepared_demo.cache_info().currsize:
        shutil.rmtree(prepared_demo().parent, ignore_errors=True)
