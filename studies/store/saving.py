"""Save a study together with its plan; delete a study and the judgements no other study uses."""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from studies.domain import Ask, Item, Judgement
from studies.spec.study import Study, dump_study
from studies.store import ballot_queries, rows
from studies.store.queries.adapted_requests import use_adapted_keys_in_plan


@dataclass(frozen=True, slots=True)
class PlanChange:
    """How the planned calls of a study changed when it was saved again: numbers of calls kept,
    dropped and added."""

    kept: int
    dropped: int
    added: int


def write_study_rows(
    connection: sqlite3.Connection,
    study: Study,
    items: Sequence[Item],
    asks: Iterable[tuple[Ask, rows.RequestRecord]],
    prompts: Iterable[rows.PromptText],
    recorded: Iterable[Judgement],
    *,
    plan_sha: str,
    only_recorded: bool,
) -> PlanChange:
    """Write a study's items, prompts and plan in place of its earlier items and plan. Stored
    judgements and votes cast on the page are kept. Return how its planned calls changed; the
    arguments are those of `Store.save_study`."""
    study_id = rows.put_study(connection, study, plan_sha, only_recorded)
    live = "SELECT key FROM plan WHERE study=? AND origin='live'"
    before = {key for (key,) in connection.execute(live, (study_id,))}
    connection.execute("DELETE FROM plan WHERE study=?", (study_id,))
    rows.put_items(connection, study_id, items)
    connection.executemany("INSERT OR IGNORE INTO prompts VALUES (?,?,?,?)", prompts)
    after = rows.put_live_asks(connection, study_id, asks)
    cast = ballot_queries.vote_keys(connection, study.name)
    others = (judgement for judgement in recorded if judgement.ask.key not in cast)
    rows.put_recorded_judgements(connection, study_id, others, start=len(after))
    ballot_queries.append_page_votes_to_plan(connection, study.name)
    keys = set(use_adapted_keys_in_plan(connection, study_id))
    return PlanChange(len(before & keys), len(before - keys), len(keys - before))


def rename_study_rows(connection: sqlite3.Connection, renamed: Sequence[tuple[Study, str]]) -> None:
    """Rename each study in its study file, in its row and in the rows of its runs; the keys of
    votes, which contain the name, are changed too. `renamed`: studies with their new names."""
    for study, name in renamed:
        ballot_queries.rekey_votes(connection, study.name, name)
        connection.execute(
            "UPDATE studies SET name=?, yaml=?, updated=? WHERE name=?",
            (name, dump_study(replace(study, name=name)), time.time(), study.name),
        )
        connection.execute("UPDATE runs SET study=? WHERE study=?", (name, study.name))


def delete_study_rows(connection: sqlite3.Connection, name: str) -> int:
    """Delete a study and the judgements that only it uses; return the number of judgements."""
    keys = (
        f"SELECT key FROM plan WHERE study={rows.STUDY_ID} UNION "
        f"SELECT key FROM ballots WHERE study={rows.STUDY_ID} AND key IS NOT NULL"
    )
    unused = f"key IN ({keys}) AND key NOT IN (SELECT key FROM plan WHERE study!={rows.STUDY_ID})"
    names = (name, name, name)
    connection.execute(f"DELETE FROM replies WHERE {unused}", names)
    count = connection.execute(f"DELETE FROM judgements WHERE {unused}", names).rowcount
    connection.execute(f"DELETE FROM requests WHERE {unused}", names)
    rows.delete_orphaned_extractions(connection)
    connection.execute("DELETE FROM studies WHERE name=?", (name,))
    connection.execute("DELETE FROM items WHERE sha NOT IN (SELECT sha FROM study_items)")
    return count
