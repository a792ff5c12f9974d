"""The table `alignments`: the split of a study's labelled items into learn and hold-out, and the
comparisons of prompts made on the hold-out so far, as JSON."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from studies.store.rows import STUDY_ID

if TYPE_CHECKING:
    from studies.store.store import Store


def read_alignment(store: Store, name: str) -> str | None:
    """Return, as JSON, the stored split of a study's labelled items into learn and hold-out, with
    the comparisons of prompts made on the hold-out; None if the items were not split."""
    row = store.read(f"SELECT json FROM alignments WHERE study={STUDY_ID}", (name,)).fetchone()
    return None if row is None else str(row[0])


def write_alignment(store: Store, name: str, text: str) -> None:
    """Store the split of a study's labelled items (JSON, as in `read_alignment`) in place of an
    earlier one."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            f"INSERT INTO alignments(study, json) SELECT {STUDY_ID}, ? "
            "ON CONFLICT(study) DO UPDATE SET json=excluded.json",
            (name, text),
        )

    store.writer.run(work)
