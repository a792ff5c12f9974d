"""Rename and delete studies from the Home tab; this module does not import gradio."""

from __future__ import annotations

from components.home.study_list import MAX_NAME, is_demo
from judges.engine.engine import Engine
from studies.errors import AccessDenied, StudyError
from studies.store.store import Store


def active_studies(store: Store, engine: Engine) -> list[str]:
    """Names of the studies with a run that has not ended."""
    runs = {line.name: engine.latest_run(line.name) for line in store.studies()}
    return [name for name, run in runs.items() if run is not None and not run.finished.is_set()]


def rename_study(store: Store, engine: Engine, name: str, wanted: str) -> str:
    """Rename a study; return its new name."""
    other = " ".join(wanted.split())
    if other == name:
        return name
    _check_changeable(store, engine, name)
    if not other or len(other) > MAX_NAME:
        raise StudyError(f"A name has 1 to {MAX_NAME} characters.")
    other = store.name_for_owner(other)
    if other != name:
        store.rename_study(name, other)
    return other


def delete_study(store: Store, engine: Engine, name: str) -> int:
    """Delete a study and the replies that only it uses; return the number of deleted replies."""
    _check_changeable(store, engine, name)
    return store.delete_study(name)


def _check_changeable(store: Store, engine: Engine, name: str) -> None:
    if not store.owns(name):
        raise AccessDenied(f"{name!r} belongs to another visitor.")
    if is_demo(name):
        raise StudyError("The recorded demo cannot be changed.")
    if name in active_studies(store, engine):
        raise StudyError(f"{name!r} is running. Stop its run first.")
