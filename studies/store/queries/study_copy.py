"""Delete unused rows, owners and share links from a copy of a store that is to be published."""

import contextlib
import sqlite3
from pathlib import Path


def remove_private_and_unused_rows(path: Path) -> None:
    """Delete all owners, share links and rows of the table `allowance` of a copied store, and the
    prompts, runs and attempts that belong to no study in the copy.

    Afterwards the store is a single file without free pages.
    """
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "DELETE FROM prompts WHERE sha NOT IN (SELECT prompt_sha FROM requests) "
            "AND name NOT IN (SELECT prompt FROM plan)"
        )
        connection.execute("UPDATE studies SET owner=''")
        for rows in (
            "shares",
            "allowance",
            "runs WHERE study NOT IN (SELECT name FROM studies)",
            "attempts WHERE owner NOT IN (SELECT owner FROM runs)",
        ):
            connection.execute(f"DELETE FROM {rows}")
        connection.commit()
        connection.execute("PRAGMA journal_mode=DELETE")  # a single file, without a write-ahead log
        connection.execute("VACUUM")
