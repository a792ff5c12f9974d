"""Runs as a store remembers them, whichever process made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.owner import is_alive
from studies.versions import Read


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as the store remembers it; `state` is running, paused, stopped, done, failed or
    interrupted."""

    id: str
    study: str
    state: str
    reason: str
    started: float
    ended: float | None
    owner: str = ""
    """Whose attempts are this run's."""


def past_runs(read: Read, owners: Path, study: str | None = None) -> list[PastRun]:
    """Of one study or of all, newest first; one whose process is gone was interrupted."""
    rows = read(
        "SELECT id, study, owner, state, reason, started, ended FROM runs "
        "WHERE ?1 IS NULL OR study=?1 ORDER BY started DESC",
        (study,),
    ).fetchall()
    return [_past_run(row, owners) for row in rows]


def _past_run(row: Sequence[Any], owners: Path) -> PastRun:
    run_id, study, owner, state, reason, started, ended = row
    if ended is None and not is_alive(owners, owner):
        state = "interrupted"
        reason = "its process ended; start the study again to go on where it stopped"
    return PastRun(run_id, study, state, reason, started, ended, owner)
