"""The table `alignments`: the split of a study's labelled items into learn and hold-out, and the
comparisons of prompts made on the hold-out so far, as JSON."""

import json
import sqlite3

from studies.spec.derived_names import PILOT_MARK, RULES_MARK, candidate_study_name
from studies.store.rows import STUDY_ID
from studies.store.store_file import StoreFile


def read_label_split_text(store: StoreFile, study: str) -> str | None:
    """Return the stored division of a study's labelled items into learn and hold-out, with the
    comparisons of prompts made on the hold-out, as a JSON text; None if nothing is stored."""
    row = store.read(f"SELECT json FROM alignments WHERE study={STUDY_ID}", (study,)).fetchone()
    return None if row is None else str(row[0])


def write_label_split_text(store: StoreFile, study: str, text: str) -> None:
    """Store the split of a study's labelled items in place of an earlier one; `text` is JSON, as
    returned by `read_label_split_text`."""

    def write_split(connection: sqlite3.Connection) -> None:
        connection.execute(
            f"INSERT INTO alignments(study, json) SELECT {STUDY_ID}, ? "
            "ON CONFLICT(study) DO UPDATE SET json=excluded.json",
            (study, text),
        )

    store.writer.run(write_split)


def derived_studies(store: StoreFile, study: str) -> list[str]:
    """List the studies made from a study, of the same owner: its pilots, the new versions of its
    prompts, and the rules written for them."""
    looks = json.loads(read_label_split_text(store, study) or "{}").get("looks", ())
    prompts = (candidate_study_name(study, look["judge"], look["prompt"]) for look in looks)
    starts = (f"{study}{PILOT_MARK}", f"{study}{RULES_MARK}", *prompts)
    owner = "SELECT owner FROM studies WHERE name=?"
    rows = store.read(f"SELECT name FROM studies WHERE owner=({owner}) ORDER BY id", (study,))
    return [one for (one,) in rows.fetchall() if one.startswith(starts)]
