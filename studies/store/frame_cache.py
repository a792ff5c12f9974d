"""Large frames, and counts that took long, kept on disk beside the store: a study of millions
opens in a second.

An Arrow file, not Parquet: that drops categories nobody uses and orders the rest by appearance,
and a frame read back must be the frame that was written. What was made from other data, or by
other code, is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather

from studies.frames.code_fingerprint import CodeMissing, fingerprint

MIN_CACHED_ROWS: Final = 300_000
"""Rows from which a frame is worth a file: fewer are made again as fast."""
_METADATA_KEY: Final = b"evenhand"


def read_cached_frame(
    store: Path, study: str, holds: Callable[[tuple[str, int]], bool]
) -> pd.DataFrame | None:
    """The frame of a study, if one was kept and `holds` says that its version still does."""
    path = _cache_path(store, study)
    try:
        with pa.memory_map(str(path)) as source:
            schema = pa.ipc.open_file(source).schema
        code, stamp, last = json.loads((schema.metadata or {})[_METADATA_KEY])
        if code != _code_fingerprint() or not holds((stamp, last)):
            return None
        table = feather.read_table(path, memory_map=False)
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    pa.default_memory_pool().release_unused()  # Arrow would keep as much again for its next table
    return frame


def cache_frame(store: Path, study: str, version: tuple[str, int], frame: pd.DataFrame) -> None:
    """Written whole or not at all; a folder that cannot be written is nobody's trouble."""
    if len(frame) < MIN_CACHED_ROWS:
        return
    path = _cache_path(store, study)
    half = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata(
            {**(table.schema.metadata or {}), _METADATA_KEY: _version_metadata(version)}
        )
        try:
            feather.write_feather(table, half, compression="lz4")
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)


def read_cached_value(
    store: Path, study: str, what: str, holds: Callable[[tuple[str, int]], bool]
) -> Any:
    """A number (or a table of them) that took long to count, if it still holds; else None."""
    try:
        code, stamp, last, value = _read_cached_values(store, study)[what]
        return value if code == _code_fingerprint() and holds((stamp, last)) else None
    except (KeyError, ValueError, TypeError):
        return None


def cache_value(store: Path, study: str, what: str, version: tuple[str, int], value: Any) -> None:
    path = _cache_path(store, study, "json")
    half = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        values = _read_cached_values(store, study) | {what: [_code_fingerprint(), *version, value]}
        try:
            half.write_text(json.dumps(values), encoding="utf-8")
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)


def _read_cached_values(store: Path, study: str) -> dict[str, Any]:
    try:
        values = json.loads(_cache_path(store, study, "json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def delete_cached(store: Path, study: str) -> None:
    """A study that is deleted leaves nothing behind."""
    for ending in ("arrow", "json"):
        with contextlib.suppress(OSError):
            _cache_path(store, study, ending).unlink(missing_ok=True)


def _cache_path(store: Path, study: str, ending: str = "arrow") -> Path:
    name = hashlib.sha256(study.encode()).hexdigest()[:20]
    return store.with_name(store.name + "-frames") / f"{name}.{ending}"


def _version_metadata(version: tuple[str, int]) -> bytes:
    return json.dumps([_code_fingerprint(), *version]).encode()


_MAKERS: Final[list[ModuleType]] = []


def register_maker(module: ModuleType) -> None:
    """Name the module whose code, with all it imports, makes what is kept. The store registers
    itself: it imports this module, which therefore cannot import the store."""
    if module not in _MAKERS:
        _MAKERS.append(module)
        _code_fingerprint.cache_clear()


@lru_cache(maxsize=1)
def _code_fingerprint() -> str:
    """Changes with the code that selects the rows of a frame and makes it, and with pandas."""
    if not _MAKERS:
        raise CodeMissing(
            "no module has registered as the maker of frames; import studies.store.store"
        )
    return fingerprint(*_MAKERS, versions=(pd.__version__,))
