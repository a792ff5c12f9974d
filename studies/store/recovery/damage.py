"""Checks of a store's file before SQLite opens it for writing.

SQLite creates tables in an empty file and applies any log beside a file, so damage must be found
before the file is opened. The checks read the header and the write-ahead log; files up to
`QUICK_CHECK_BYTES` are checked page by page. Damage inside a larger file is found when it is read.
"""

import contextlib
import shlex
import sqlite3
import time
from pathlib import Path
from typing import Final

from studies.errors import StoreDamaged, StoreUnusable
from studies.store.recovery import file_header, plain_reads
from studies.store.recovery.wal_check import read_wal, wal_path, why_wal_is_foreign

QUICK_CHECK_BYTES: Final = 8 << 20
_RETRY_SECONDS: Final = (0.1, 0.4, 1.5)
"""Seconds to wait before each new check of a faulty file. Another process may be creating the store
or writing back its log, so a fault is reported only after the last check."""
_DAMAGE_CODES: Final = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an SQLite error is due to the content of the file, not to a lock or a full disk."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE_CODES


def check_store_file(path: Path) -> None:
    """Raise StoreUnusable, or StoreDamaged, if the file at the path cannot be a complete store; a
    missing file is no fault."""
    if not path.exists():
        return
    if path.is_dir():
        raise StoreUnusable(
            f"cannot open the store {path}: it is a folder; choose another file with --store"
        )
    fault = _find_fault(path)
    for pause in _RETRY_SECONDS:
        if not isinstance(fault, StoreDamaged):
            break
        time.sleep(pause)
        fault = _find_fault(path)
    if fault is not None:
        raise fault


def _find_fault(path: Path) -> StoreUnusable | None:
    """Return the first fault of a store's file, as an error to raise; None if it has no fault. A
    file that is open in this process is not checked, and the result is None too."""
    with plain_reads.PLAIN_READ:
        return None if plain_reads.is_open_here(path) else _find_fault_in_closed_file(path)


def _find_fault_in_closed_file(path: Path) -> StoreUnusable | None:
    try:
        size = path.stat().st_size
        header = file_header.read_header(path) if size else None
    except OSError as error:
        return StoreUnusable(
            f"cannot open the store {path}: {error.strerror}; choose another file with --store"
        )
    if not size:
        return StoreDamaged(path, "the file is empty (0 bytes); a new store needs a new name")
    if header is None:
        return StoreUnusable(
            f"cannot open the store {path}: file is not a database; choose another file with "
            "--store. If it was a store, its header is damaged: restore a backup, or run python "
            f"-m studies repair {shlex.quote(str(path))}"
        )
    if foreign := why_wal_is_foreign(path, header):
        log = wal_path(path).name
        return StoreDamaged(path, f"the write-ahead log {log} is another store's ({foreign})")
    have = size // header.page_size
    if have < header.pages and not _log_has_pages(path, have + 1, header.pages):
        whole = header.pages * header.page_size
        return StoreDamaged(path, f"the file is cut off: it has {size:,} of {whole:,} bytes")
    if size <= QUICK_CHECK_BYTES and (fault := find_page_fault(path)):
        return StoreDamaged(path, fault)
    return None


def _log_has_pages(path: Path, first: int, last: int) -> bool:
    """Whether the write-ahead log has all pages from `first` to `last`. If so, the file is not
    damaged although it lacks them: they are still being written back from the log."""
    wal = read_wal(wal_path(path))
    return wal is not None and set(range(first, last + 1)) <= wal.latest_offsets_by_page().keys()


def find_page_fault(path: Path, *, use_log: bool = True) -> str:
    """Return the first fault that SQLite finds in the pages of a file. With `use_log`, pages in the
    write-ahead log replace those in the file.

    The result is empty if there is no fault or if the file cannot be opened, for example because it
    is locked.
    """
    try:
        return find_fault_or_raise(path, use_log=use_log)
    except sqlite3.Error as error:
        return str(error) if is_damage(error) else ""


def find_fault_or_raise(path: Path, *, use_log: bool = True) -> str:
    """Open a file read-only and return the first fault that SQLite finds in it; "" without one.
    With `use_log`, pages in the write-ahead log count in place of those in the file. Errors of
    SQLite, such as for a locked file, are raised."""
    has_log = use_log and wal_path(path).exists()  # else immutable: SQLite would create a log
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10)) as connection:
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if result == "ok":
        return ""
    return " ".join(str(result).replace("*** in database main ***", "").split())
