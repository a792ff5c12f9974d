"""Stores with known content, and the ways in which their files are damaged."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from studies.spec.study import Study
from studies.store.recovery.wal_check import wal_path
from studies.store.rows import put_judgement
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged, planned

ASKS = 1500
PAGE = 4096


def fill_store(path: Path, name: str = "mine", asks: int = ASKS) -> Store:
    """A store with one study, every ask judged; the caller closes it."""
    store = Store(path)
    keys = [hashlib.sha256(f"{name}{number}".encode()).hexdigest() for number in range(asks)]
    made = [ask(key, f"q{number // 10}") for number, key in enumerate(keys)]
    items = [item(f"q{number}") for number in range(-(-asks // 10))]
    store.save_study(Study(name=name), items, planned(*made))
    store.writer.run(lambda connection: [put_judgement(connection, judged(a)) for a in made])
    return store


def crashed_copy(store: Store, target: Path) -> Path:
    """A store's files as a power failure leaves them: the log is not written back."""
    shutil.copyfile(store.path, target)
    shutil.copyfile(wal_path(store.path), wal_path(target))
    return target


def flip_bytes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for at in range(5 * PAGE, len(content), 20 * PAGE):
        content[at : at + 64] = bytes(byte ^ 0xFF for byte in content[at : at + 64])
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3 + 100)


def spoil_header(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[:PAGE] = hashlib.shake_128(b"noise").digest(PAGE)
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def add_foreign_log(path: Path) -> None:
    other = fill_store(path.with_name("other.db"), "theirs", 400)
    shutil.copyfile(wal_path(other.path), wal_path(path))
    shutil.copyfile(other.path.with_name("other.db-shm"), path.with_name(path.name + "-shm"))
    other.close()


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "flipped bytes": (flip_bytes, "cannot be read"),
    "cut off": (cut_off, "cut off: it has"),
    "garbage header": (spoil_header, "file is not a database"),
    "empty": (empty, r"empty \(0 bytes\)"),
    "folder": (replace_by_folder, "it is a folder"),
    "log of another store": (add_foreign_log, "evenhand.db-wal is another store's"),
}
"""Each damage with a part of its message."""


def file_contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, except the shared memory that SQLite writes anew at each start."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.endswith("-shm")
    }
