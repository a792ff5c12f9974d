"""Stores that cannot or must not be written: a frozen page, a read-only store, a full disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import app as app_module
from components.share.publish import FROZEN_STORE, copy_study
from studies.__main__ import main as studies_main
from studies.errors import StudyError
from studies.exchange.export import write_export
from studies.store.store import Store
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt, in_mode
from tests.components.conftest import STUDY
from tests.components.server.strangers import Stranger
from tests.judges.small_studies import run_text
from tests.local_app import LocalApp
from tests.small_disk import filled, mounted

CLOSED = "writing to a closed store"
NAME = "two judges"
VALUES: tuple[Any, ...] = (
    NAME, "", 1, True, None, [NAME], {"study": NAME}, json.dumps({"do": "delete", "study": NAME}),
    STUDY,
)  # fmt: skip
"""Values of inputs: a function gets each of them in all its inputs in turn."""


class Served(NamedTuple):
    """A page, its mode, and the store that it opened."""

    app: LocalApp
    mode: Mode
    store: Store


@pytest.fixture(params=[PUBLIC, pytest.param(OWN, marks=pytest.mark.extra)])
def mode(request: pytest.FixtureRequest) -> Iterator[Mode]:
    with in_mode(request.param):
        yield request.param


def serve(folder: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The page of the store in a folder: read-only, if the store is a frozen one."""
    opened: list[Store] = []
    open_store = app_module.open_store

    def note_store(path: Path | None) -> tuple[Store, bool]:
        store, frozen = open_store(path, folder)
        opened.append(store)
        return store, frozen

    monkeypatch.setattr(app_module, "open_store", note_store)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder.parent / "tmp"))
    return Served(LocalApp(folder / "evenhand.db"), mode, opened[0])


def contents(path: Path) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}


def close_for_writing(store: Store) -> None:
    """Make SQLite refuse every write, also by a new connection, as if the file were read-only."""
    connect = store.writer._connect

    def connect_read_only() -> sqlite3.Connection:
        connection = connect()
        connection.execute("PRAGMA query_only=1")
        return connection

    store.writer.run(lambda connection: connection.execute("PRAGMA query_only=1"))
    store.writer._connect = connect_read_only


def call_everything(served: Served) -> Iterator[tuple[str, bool, str]]:
    """Call every function of the page, also those without a visible control: its name, whether it
    worked, and the answer."""
    stranger = Stranger(served.app.url)
    for number, step in enumerate(stranger.steps()):
        value = VALUES[number % len(VALUES)]
        stranger._value = lambda part, values, value=value: value  # type: ignore[method-assign]
        yield f"{step['api_name']} {step['id']}", *stranger.call(step, {}, {"value": value})


def test_no_function_of_a_frozen_page_changes_its_store(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = tmp_path / "store" / FROZEN_STORE
    with closing(Store(tmp_path / "made.db")) as store:
        run_text(store, STUDY)
        frozen.parent.mkdir()
        copy_study(store, NAME, frozen)
    before = frozen.read_bytes()
    served = serve(frozen.parent, mode, monkeypatch)
    try:
        rows, called = contents(served.store.path), 0
        for name, _, said in call_everything(served):
            with attempt(CLOSED, mode, f"frozen page: {name}"):
                assert "Traceback" not in said and str(frozen.parent) not in said, said[:500]
                called += 1
        with attempt(CLOSED, mode, "frozen page: all calls"):
            assert contents(served.store.path) == rows and called > 12
            assert frozen.read_bytes() == before
    finally:
        served.app.close()


@pytest.mark.extra  # every function of the page: minutes beside other work
def test_no_function_hides_that_a_store_became_read_only(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    with closing(Store(folder / "evenhand.db")) as store:
        run_text(store, STUDY)
    served = serve(folder, mode, monkeypatch)
    try:
        close_for_writing(served.store)
        rows = contents(served.store.path)
        for name, _, said in call_everything(served):
            with attempt(CLOSED, mode, f"read-only store: {name}"):
                assert "Traceback" not in said, said[:500]
                if mode == PUBLIC:
                    assert str(folder) not in said, said[:500]
        with attempt(CLOSED, mode, "read-only store: all calls"):
            assert contents(served.store.path) == rows
    finally:
        served.app.close()


def test_a_full_disk_ends_each_command_in_one_line_and_loses_nothing(
    mode: Mode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file system of 64 MB in memory, filled to its last block."""
    with mounted(tmp_path / "disk") as disk:
        path = disk / "evenhand.db"
        with closing(Store(path)) as store:
            run_text(store, STUDY)
            rows = contents(path)
            with (
                filled(disk),
                attempt(CLOSED, mode, "full disk: export"),
                pytest.raises(StudyError, match="No space left"),
            ):
                write_export(store, NAME, "jsonl", disk / "out.jsonl")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        capsys.readouterr()
        with filled(disk):
            for command in (
                ["backup", str(disk / "copy.db")],
                ["export", NAME, "--out", str(disk / "more.jsonl")],
            ):
                with attempt(CLOSED, mode, f"full disk: {command[0]}"):
                    code = studies_main([*command, "--store", str(path)])
                    said = capsys.readouterr().err
                    assert code and "Traceback" not in said and said.count("\n") == 1, (code, said)
                    assert contents(path) == rows
        with attempt(CLOSED, mode, "full disk: afterwards"):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
            with closing(Store(path)) as store:
                assert len(list(store.judgements(NAME))) > 0
