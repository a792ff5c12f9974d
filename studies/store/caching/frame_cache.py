"""Disk cache, beside the store, of large frames and of values that took long to compute.

With it a study of millions of judgements opens in about a second. Frames are stored as Arrow files:
Parquet drops unused categories and reorders the others, so a frame read back would differ from the
frame written. Entries of another version of the study or of the code are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from studies.files.partial_files import replace_when_written
from studies.frames.code_fingerprint import CodeMissing, fingerprint

if TYPE_CHECKING:
    import pandas as pd

MIN_CACHED_ROWS: Final = 300_000
"""Minimum rows of a cached frame; a smaller frame can be built as fast as it can be read from
disk."""
_METADATA_KEY: Final = b"evenhand"


def read_cached_frame(
    store: Path, study: str, accepts: Callable[[tuple[str, int]], bool]
) -> pd.DataFrame | None:
    """Return the frame of a study from the disk cache; None if there is none that can be used.

    A frame can be used if it was made by the present code and if `accepts` returns True for
    the version of the study (see `Store.version`) that it was made from. `store`: path of the
    store."""
    path = _cache_path(store, study)
    if not path.is_file():
        return None  # without cached frames pyarrow is not needed
    import pyarrow as pa
    import pyarrow.feather as feather

    try:
        with pa.memory_map(str(path)) as source:
            schema = pa.ipc.open_file(source).schema
        code, stamp, last = json.loads((schema.metadata or {})[_METADATA_KEY])
        if code != _code_fingerprint() or not accepts((stamp, last)):
            return None
        table = feather.read_table(path, memory_map=False)
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    pa.default_memory_pool().release_unused()  # otherwise Arrow would keep a second copy in memory
    return frame


def cache_frame(store: Path, study: str, version: tuple[str, int], frame: pd.DataFrame) -> None:
    """Write a large frame to the cache atomically; errors of the file system are ignored. `version`
    is the version of the study from which it was made. Frames of fewer than MIN_CACHED_ROWS rows
    are not written, and none without pyarrow."""
    if len(frame) < MIN_CACHED_ROWS or find_spec("pyarrow") is None:
        return
    import pyarrow as pa
    import pyarrow.feather as feather

    path = _cache_path(store, study)
    with contextlib.suppress(OSError):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata(
            {**(table.schema.metadata or {}), _METADATA_KEY: _version_metadata(version)}
        )
        with replace_when_written(path) as partial:
            feather.write_feather(table, partial, compression="lz4")


def read_cached_value(
    store: Path, study: str, name: str, accepts: Callable[[tuple[str, int]], bool]
) -> Any:
    """Return the value `name` of a study from the disk cache; None if there is none that can be
    used.

    A value can be used if it was computed by the present code and if `accepts` returns True
    for the version of the study that it was computed from. `store`: path of the store."""
    try:
        code, stamp, last, value = _read_cached_values(store, study)[name]
        return value if code == _code_fingerprint() and accepts((stamp, last)) else None
    except (KeyError, ValueError, TypeError):
        return None


def cache_value(store: Path, study: str, name: str, version: tuple[str, int], value: Any) -> None:
    """Write a value that JSON supports to the cache, under `name`, with the version of the study
    from which it was computed; errors of the file system are ignored."""
    path = _cache_path(store, study, "json")
    with contextlib.suppress(OSError):
        values = _read_cached_values(store, study) | {name: [_code_fingerprint(), *version, value]}
        with replace_when_written(path) as partial:
            partial.write_text(json.dumps(values), encoding="utf-8")


def _read_cached_values(store: Path, study: str) -> dict[str, Any]:
    try:
        values = json.loads(_cache_path(store, study, "json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def delete_study_cache(store: Path, study: str) -> None:
    """Delete the cached frame and values of a study; errors of the file system are ignored."""
    for ending in ("arrow", "json"):
        with contextlib.suppress(OSError):
            _cache_path(store, study, ending).unlink(missing_ok=True)


def _cache_path(store: Path, study: str, ending: str = "arrow") -> Path:
    """Return the path of a study's cache file, in a folder beside the store: frame (arrow) or
    values (json)."""
    name = hashlib.sha256(study.encode()).hexdigest()[:20]
    return store.with_name(store.name + "-frames") / f"{name}.{ending}"


def _version_metadata(version: tuple[str, int]) -> bytes:
    return json.dumps([_code_fingerprint(), *version]).encode()


_MAKERS: Final[list[ModuleType]] = []


def register_cache_producer(module: ModuleType) -> None:
    """Register a module that produces cached data. Data cached before a change of its code, or of
    the code of a module it imports, is ignored."""
    if module not in _MAKERS:
        _MAKERS.append(module)
        _code_fingerprint.cache_clear()


def precompute_code_fingerprint() -> None:
    """Compute and keep the fingerprint of the code before it is needed, because this takes a
    quarter of a second."""
    with contextlib.suppress(CodeMissing):  # it is raised again where the cache is used
        _code_fingerprint()


@lru_cache(maxsize=1)
def _code_fingerprint() -> str:
    """Return a hash of the code of the registered modules and all they import, and of the version
    of pandas; CodeMissing if no module is registered or a source cannot be read."""
    if not _MAKERS:
        raise CodeMissing(
            "no module has registered as the maker of frames; import studies.store.store"
        )
    import pandas

    return fingerprint(*_MAKERS, versions=(pandas.__version__,))
