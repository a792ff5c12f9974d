"""Runs in the store: recording, listing and deleting them, and their leases."""

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.store.run_owners import is_owner_alive_else_clean_up
from studies.store.store_file import StoreFile


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A stored run of a study: the making of its calls by one process. `state` is running,
    paused, stopped, done, failed or interrupted."""

    id: str
    study: str
    state: str
    reason: str
    started: float
    ended: float | None
    owner: str = ""
    """Id under which this run held leases and recorded its attempts."""


class RunQueries(StoreFile):
    def runs(self, study: str | None = None) -> list[StoredRun]:
        """List the runs of one study or of all studies, newest first; unfinished runs whose process
        has died get the state `interrupted`."""
        rows = self.read(
            "SELECT id, study, owner, state, reason, started, ended FROM runs "
            "WHERE study=COALESCE(?, study) ORDER BY started DESC",
            (study,),
        ).fetchall()
        return [_run_from_row(row, self.run_locks_folder) for row in rows]


def _run_from_row(row: Sequence[Any], owners: Path) -> StoredRun:
    run_id, study, owner, state, reason, started, ended = row
    if ended is None and not is_owner_alive_else_clean_up(owners, owner):
        state = "interrupted"
        reason = "the run's process ended; start the study again to resume where it stopped"
    return StoredRun(run_id, study, state, reason, started, ended, owner)


def put_run(connection: sqlite3.Connection, run: StoredRun) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?)",
        (run.id, run.study, run.owner, run.state, run.reason, run.started, run.ended),
    )


def delete_runs(connection: sqlite3.Connection, study: str) -> None:
    """Delete the runs of a study and their attempts, so that a new study of the same name has
    none."""
    connection.execute(
        "DELETE FROM attempts WHERE owner IN (SELECT owner FROM runs WHERE study=?)", (study,)
    )
    connection.execute("DELETE FROM runs WHERE study=?", (study,))


def has_live_run(store: StoreFile, study: str) -> bool:
    """Whether a run of the study, possibly paused, has not ended and its process is alive."""
    rows = store.read("SELECT owner FROM runs WHERE study=? AND ended IS NULL", (study,))
    return any(
        is_owner_alive_else_clean_up(store.run_locks_folder, owner) for (owner,) in rows.fetchall()
    )


def paused_or_ended_runs_stamp(store: StoreFile) -> object:
    """Return a value that changes when a run pauses or ends."""
    return store.read("SELECT count(*), max(ended) FROM runs WHERE state!='running'").fetchone()


def data_version(store: StoreFile) -> object:
    """Return a value that changes with every write of another connection, also of votes and
    links."""
    return store.read("PRAGMA data_version").fetchone()


def overlapping_runs(
    connection: sqlite3.Connection, study: str, owner: str
) -> list[tuple[str, float | None]]:
    """Return owner and end time (None if not ended) of the study's other runs that had not ended
    when the run of `owner` started."""
    return connection.execute(
        "SELECT owner, ended FROM runs WHERE study=? AND owner NOT IN ('', ?) AND "
        "(ended IS NULL OR ended>=(SELECT started FROM runs WHERE owner=?))",
        (study, owner, owner),
    ).fetchall()


def release_leases(connection: sqlite3.Connection, owner: str) -> None:
    connection.execute("DELETE FROM leases WHERE owner=?", (owner,))


def lease_available_asks(
    connection: sqlite3.Connection, owners: Path, owner: str, keys: Collection[str], first_seq: int
) -> set[str]:
    """Reserve (lease) for the run `owner` those calls of `keys` that have no result and that no
    other live run has reserved; return their keys.

    An error counts as a result only if its sequence number (seq) is above `first_seq`, so that
    earlier errors are tried again. `owners` is the store's folder of lock files."""
    known = [row[0] for row in connection.execute("SELECT DISTINCT owner FROM leases")]
    alive = [one for one in known if one != owner and is_owner_alive_else_clean_up(owners, one)]
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (key TEXT PRIMARY KEY)")
    connection.execute("DELETE FROM temp.wanted")
    connection.executemany("INSERT OR IGNORE INTO temp.wanted VALUES (?)", ((k,) for k in keys))
    free = (
        "FROM temp.wanted w WHERE NOT EXISTS (SELECT 1 FROM leases l WHERE l.key=w.key "
        f"AND l.owner IN ({','.join('?' * len(alive))})) AND NOT EXISTS (SELECT 1 FROM "
        "judgements j WHERE j.key=w.key AND (j.status!='error' OR j.seq>?))"
    )
    values = (*alive, first_seq)
    leased = {row[0] for row in connection.execute(f"SELECT key {free}", values)}
    connection.execute(f"INSERT OR REPLACE INTO leases SELECT key, ? {free}", (owner, *values))
    return leased
