"""Records of a visitor who left do not stay in memory; objects are counted, not bytes."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path

import pytest

from components.study.plan import idle_cache
from components.study.plan.idle_cache import PUBLIC_SECONDS, RECORDS, IdleCache
from components.study.plan.study_preview import load_records
from studies.domain import Item
from studies.errors import EvenhandError
from studies.spec.study import DataSpec
from tests.components.server.strangers import Stranger
from tests.local_app import LocalApp

MARK = "left-in-memory"
ROWS = [
    {"id": f"{MARK}-{n}", "instruction": "i", "responses": {"a": "x", "b": "y"}} for n in range(300)
]


def count_alive(mark: str) -> int:
    """Items and rows of the marked records that something still refers to."""
    gc.collect()
    return sum(
        (isinstance(one, Item) and one.id.startswith(mark))
        or (type(one) is dict and str(one.get("id")).startswith(mark))
        for one in gc.get_objects()
    )


def leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time pass after which unused records are deleted."""
    monkeypatch.setattr(RECORDS, "clock", lambda: time.monotonic() + PUBLIC_SECONDS + 1)
    RECORDS.delete_idle_values()


def test_the_records_of_a_visitor_who_left_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp"))
    app = LocalApp(tmp_path / "evenhand.db")
    uploaded = tmp_path / "tmp" / "abc" / "mine.json"
    uploaded.parent.mkdir(parents=True)
    uploaded.write_text(json.dumps([{**row, "id": f"left {row['id']}"} for row in ROWS]))
    file = {"path": str(uploaded), "orig_name": "mine.json", "meta": {"_type": "gradio.FileData"}}
    try:
        visitor = Stranger(app.url)
        visitor.open()
        worked, said = visitor.call(visitor.step("eh-upload", "upload"), {"eh-upload": [file]})
        assert worked and "300" in said
        assert count_alive(f"left {MARK}") >= 300  # a fair test: they were read, and are cached
        leave(monkeypatch)
        assert count_alive(f"left {MARK}") == 0
    finally:
        app.close()


def test_a_file_that_cannot_be_read_leaves_no_rows(tmp_path: Path) -> None:
    """The error is raised again for a minute; its traceback would hold the rows before it."""
    lines = [json.dumps({**row, "id": f"failed {row['id']}"}) for row in ROWS]
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines, "{oops"]))
    for _ in range(2):
        with pytest.raises(EvenhandError, match="line 301"):
            load_records(DataSpec("bad.jsonl"), tmp_path)
    del lines
    assert count_alive(f"failed {MARK}") == 0


def test_what_is_used_stays_and_what_is_not_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    now = [0.0]
    cache = IdleCache(lambda: now[0])
    cache._schedule_deletion = lambda: None  # type: ignore[method-assign]
    computed: list[str] = []

    def use(key: str, version: int = 1) -> None:
        cache.compute_once(key, version, lambda: computed.append(key))

    for seconds in (0.0, 0.6, 1.2):
        now[0] = seconds * PUBLIC_SECONDS
        cache.delete_idle_values()
        use("used")
        if not seconds:
            use("left")
    assert len(cache) == 1 and computed == ["used", "left"]
    use("used", 2)
    assert computed[2:] == ["used"] and len(cache) == 1


def test_one_thread_deletes_and_ends_with_the_last_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_cache, "_idle_seconds", lambda: 0.0)
    started: list[float] = []

    class Timer:
        def __init__(self, seconds: float, work: object) -> None:
            started.append(seconds)

        def start(self) -> None:
            """The test calls the work itself."""

    monkeypatch.setattr(idle_cache.threading, "Timer", Timer)
    cache = IdleCache(lambda: 0.0)
    for key in ("a", "b"):
        cache.compute_once(key, 1, lambda: 1)
    assert len(started) == 1
    cache._delete_and_reschedule()
    assert (len(cache), len(started)) == (0, 1)
    cache.compute_once("a", 1, lambda: 1)
    assert len(started) == 2
