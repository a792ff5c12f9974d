"""The commands `python -m studies repair` and `python -m studies backup`."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from studies.errors import StoreUnusable
from studies.store.database import default_store_path
from studies.store.recovery.backup import find_damage
from studies.store.recovery.damage import check_store_file
from studies.store.recovery.rolling_backups import backup_folder, write_backup
from studies.store.recovery.salvage import RepairReport, repair_store
from studies.terminal import escape_control


def add_recovery_parsers(commands: Any) -> None:
    summary = "copy the readable rows of a damaged store into a new file; the store stays unchanged"
    sub = commands.add_parser("repair", help=summary, description=summary)
    sub.add_argument("store", type=Path, nargs="?", help="the damaged SQLite file")
    sub.add_argument("--out", type=Path, help="the file to write (default: NAME-repaired.db)")
    sub.set_defaults(command=repair)
    summary = "copy a store to one file, also while a run writes to it"
    sub = commands.add_parser("backup", help=summary, description=summary)
    sub.add_argument("out", type=Path, nargs="?", help="the file to write (default: STORE-backups)")
    sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    sub.set_defaults(command=backup)


def repair(options: argparse.Namespace) -> None:
    source: Path = options.store or default_store_path()
    if not source.is_file():
        raise StoreUnusable(f"there is no store at {source}; name the damaged SQLite file")
    if not source.stat().st_size:
        raise StoreUnusable(
            f"{source} is empty (0 bytes): there is nothing to copy; "
            f"{_describe_last_backup(source)}"
        )
    if _is_undamaged(source):
        print(f"{escape_control(str(source))}: no damage found; nothing was written")
        return
    _print_report(source, repair_store(source, options.out or _choose_repaired_path(source)))


def _is_undamaged(source: Path) -> bool:
    """Whether a store passes all checks, also the page-by-page check that opening may skip."""
    try:
        check_store_file(source)
    except StoreUnusable:
        return False
    return not find_damage(source)


def _print_report(source: Path, report: RepairReport) -> None:
    for table in report.tables:
        if table.kept or table.lost:
            print(table.describe())
    for note in report.notes:
        print(f"note: {escape_control(note)}")
    print(
        f"about {report.lost_rows:,} rows lost"
        if report.lost_rows
        else "no row is known to be lost"
    )
    print(
        f"written: {escape_control(str(report.target))} (checked; {escape_control(str(source))} is "
        f"unchanged). Use it with --store. Texts inside readable rows cannot be checked. "
        f"{_describe_last_backup(source)}"
    )


def _describe_last_backup(source: Path) -> str:
    found = sorted(backup_folder(source).glob("*.db"))
    return (
        f"Last backup: {found[-1]}" if found else f"There are no backups in {backup_folder(source)}"
    )


def _choose_repaired_path(source: Path) -> Path:
    target = source.with_name(f"{source.stem}-repaired{source.suffix}")
    number = 2
    while target.exists():
        target = source.with_name(f"{source.stem}-repaired-{number}{source.suffix}")
        number += 1
    return target


def backup(options: argparse.Namespace) -> None:
    source: Path = options.store or default_store_path()
    if not source.exists():
        raise StoreUnusable(f"there is no store at {source}; --store names the SQLite file")
    check_store_file(source)
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    target: Path = options.out or backup_folder(source) / f"manual-{stamp}.db"
    if target.is_dir():
        target = target / f"{source.stem}-{stamp}.db"
    if target.exists():
        raise StoreUnusable(f"{target} exists; name a new file")
    write_backup(source, target)
    print(f"{target}: {target.stat().st_size:,} bytes, checked", file=sys.stderr)
