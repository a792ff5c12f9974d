"""Fingerprint of the code that builds frames: covers every module, fails if one is missing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from studies.frames import code_fingerprint, frame
from studies.frames.code_fingerprint import CodeMissing, imported_modules, module_sources
from studies.store import store
from studies.store.caching import frame_cache
from tests.samples import sample

MAKES_FRAMES = (
    "studies.frames.frame",
    "studies.frames.columns",
    "studies.frames.known_answers",
    "studies.texts.injection",
    "studies.texts.injection_rules",
    "studies.domain",
    "studies.store.rows",
    "studies.store.store",
    "studies.store.queries.judgement_queries",
    "studies.spec.study",
    "studies.spec.field_reader",
)


def test_the_modules_that_make_a_frame_are_found_by_their_imports() -> None:
    found = module_sources(store)
    assert set(MAKES_FRAMES) <= set(found)
    for name, text in found.items():
        assert text == Path(str(import_module(name).__file__)).read_bytes()


@pytest.fixture(scope="module")
def unchanged() -> str:
    return code_fingerprint.fingerprint(store)


@pytest.mark.parametrize(
    "name", sample(sorted(module_sources(store)), "studies.domain", "studies.frames.known_answers")
)
def test_a_change_of_any_module_changes_the_fingerprint(name: str, unchanged: str) -> None:
    changed = Path(str(import_module(name).__file__))

    def read(path: Path) -> bytes:
        return path.read_bytes() + (b"\n# changed" if path == changed else b"")

    assert code_fingerprint.fingerprint(store, read=read) != unchanged


def test_a_module_that_is_gone_is_an_error_and_not_a_fingerprint_without_it() -> None:
    gone = Path(str(frame.__file__))

    def read(path: Path) -> bytes:
        if path == gone:
            raise FileNotFoundError(2, "No such file or directory")
        return path.read_bytes()

    with pytest.raises(CodeMissing, match=r"studies\.frames\.frame"):
        code_fingerprint.fingerprint(store, read=read)


def test_imports_are_found_in_every_block() -> None:
    source = """
import a
if a:
    import b
elif b:
    import c
else:
    from d import e, f
try:
    import g
except OSError:
    import h
else:
    import i
finally:
    import j
for k in a:
    import l
else:
    import m
match a:
    case 1:
        import n
class O:
    async def p(self):
        with a:
            import q.r, s
from studies.frames import frame, NO_MODULE
"""
    found = ["studies.frames", "studies.frames.frame"]
    assert sorted(imported_modules(source.encode())) == [*"abcdghijlmn", "q.r", "s", *found]
    with pytest.raises(CodeMissing, match="relative"):
        list(imported_modules(b"from . import a"))


def test_an_import_that_leads_nowhere_is_an_error() -> None:
    def read(path: Path) -> bytes:
        return b"from studies.moved_away import something\n"

    with pytest.raises(CodeMissing, match=r"studies\.moved_away"):
        code_fingerprint.fingerprint(frame, read=read)


def test_frames_are_stamped_with_the_code_of_the_store() -> None:
    import pandas as pd

    frame_cache._code_fingerprint.cache_clear()
    assert frame_cache._code_fingerprint() == code_fingerprint.fingerprint(
        store, versions=[pd.__version__]
    )
    assert frame_cache._code_fingerprint() != code_fingerprint.fingerprint(
        store, versions=["another pandas"]
    )


def test_a_missing_module_is_not_taken_for_a_missing_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`read_cached_value` returns None for an unreadable file; missing code raises instead."""

    def missing() -> str:
        raise CodeMissing("studies.frames.frame")

    monkeypatch.setattr(frame_cache, "_code_fingerprint", missing)
    with pytest.raises(CodeMissing):
        frame_cache.cache_value(tmp_path / "e.db", "study", "count", ("a", 1), 3)
