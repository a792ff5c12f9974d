"""Import of rows of result files (shards) into the store, through temporary tables.

A row has the columns of plan, judgements and replies, its position in the plan, and whether its
result is final (`settled`).
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from studies.domain import Item
from studies.errors import SourceError
from studies.spec.study import Study
from studies.store.ballot_queries import append_page_votes_to_plan
from studies.store.rows import JUDGEMENT_COLUMNS, PLAN_COLUMNS, REPLY_COLUMNS, put_items, put_study

_INCOMING_COLUMNS: Final = (
    f"{PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS}, position, settled"
)
_PLACEHOLDERS: Final = ",".join("?" * (_INCOMING_COLUMNS.count(",") + 1))
_PAGE_CACHE_KB: Final = 500_000
"""Size of SQLite's page cache during an import, in kB. It is large because keys are hashes, so that
each row is on another page."""


# ------------------------------------------------------------------------------- live answers


def put_final_results(
    connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]
) -> tuple[int, int, Counter[str]]:
    """Store the final results among rows of result files, if they answer requests that a plan
    contains. A stored result is replaced only if it is an error.

    Return the number of rows whose requests are in a plan, the number of these that are
    final results, and status -> number of judgements stored."""
    # Write the rows to the temporary table `incoming`, in place of earlier ones.
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS incoming ({_INCOMING_COLUMNS})")
    connection.execute("DELETE FROM temp.incoming")
    connection.executemany(f"INSERT INTO temp.incoming VALUES ({_PLACEHOLDERS})", rows)
    known = "FROM incoming i WHERE EXISTS (SELECT 1 FROM plan p WHERE p.key=i.key)"
    count, settled = connection.execute(
        f"SELECT count(*), COALESCE(sum(settled), 0) {known}"
    ).fetchone()
    errors = (
        "SELECT key FROM judgements WHERE status='error' AND key IN "
        "(SELECT key FROM incoming WHERE settled AND status!='error')"
    )
    connection.execute(f"DELETE FROM replies WHERE key IN ({errors})")
    connection.execute(f"DELETE FROM judgements WHERE key IN ({errors})")
    return count, settled, _put_judgements(connection, f"{known} AND settled", "IGNORE")


def put_attempt_once(connection: sqlite3.Connection, key: str, values: Sequence[Any]) -> bool:
    """Store an attempt unless the store already has it; return whether it was stored.

    `values` has the owner, start, end, outcome, five token counts and cost of the attempt.
    """
    owner, started = values[:2]
    return bool(
        connection.execute(
            "INSERT INTO attempts(key, owner, started, ended, outcome, prompt_tokens, "
            "completion_tokens, cached_tokens, cache_write, reasoning_tokens, cost) "
            "SELECT ?,?,?,?,?,?,?,?,?,?,? "
            "WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE key=? AND owner=? AND started=?)",
            (key, *values, key, owner, started),
        ).rowcount
    )


# -------------------------------------------------------------------------- recorded verdicts


def store_collected_rows_as_study(
    connection: sqlite3.Connection, study: Study, items: Sequence[Item], plan_sha: str
) -> None:
    """Save the rows collected in the temporary table as a study that makes no calls, in place of
    its earlier plan. SourceError if two requests have the same position in the plan.

    Of several rows with the same key, the one with the lowest position counts. Rows of items
    that are not in `items` are left out. `plan_sha` is stored as the hash of the plan."""
    _check_import_table(connection)
    connection.execute(f"PRAGMA cache_size=-{_PAGE_CACHE_KB}")
    study_id = put_study(connection, study, plan_sha, True)
    connection.execute("DELETE FROM plan WHERE study=?", (study_id,))
    put_items(connection, study_id, items)
    connection.execute("DROP TABLE IF EXISTS temp.picked")
    connection.execute(
        "CREATE TEMP TABLE picked AS SELECT min(position) AS place, rowid AS row FROM gathered "
        "WHERE settled AND item IN (SELECT item FROM study_items WHERE study=?) GROUP BY key",
        (study_id,),
    )
    rows = "FROM temp.picked JOIN temp.gathered i ON i.rowid=row"
    try:
        connection.execute(
            f"INSERT INTO plan SELECT ?, place, {PLAN_COLUMNS}, 'recorded' {rows} ORDER BY place",
            (study_id,),
        )
    except sqlite3.IntegrityError:
        raise SourceError(
            "two calls have the same position in the plan: the folder has shards of several "
            "studies; import each study from its own folder"
        ) from None
    _put_judgements(connection, rows, "REPLACE", "key")
    append_page_votes_to_plan(connection, study.name)


def create_import_table(connection: sqlite3.Connection) -> None:
    drop_import_tables(connection)
    connection.execute(f"CREATE TEMP TABLE gathered ({_INCOMING_COLUMNS})")


def insert_import_rows(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    _check_import_table(connection)
    connection.executemany(f"INSERT INTO temp.gathered VALUES ({_PLACEHOLDERS})", rows)


def _check_import_table(connection: sqlite3.Connection) -> None:
    """Raise SourceError if the temporary table of collected rows was lost.

    After a disk error the writer reconnects, which drops the rows collected so far; without this
    check a part of the folder would be saved as if it were complete.
    """
    found = connection.execute("SELECT 1 FROM sqlite_temp_master WHERE name='gathered'").fetchone()
    if found is None:
        raise SourceError(
            "writing to the store failed and nothing was imported: import the folder again"
        )


def drop_import_tables(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS temp.gathered")
    connection.execute("DROP TABLE IF EXISTS temp.picked")
    connection.execute("PRAGMA cache_size=-2000")


def _put_judgements(
    connection: sqlite3.Connection, source: str, conflict: str, order: str = "position, i.rowid"
) -> Counter[str]:
    """Write judgements and replies to the store; return status -> number of judgements written.
    `source` is the SQL (FROM and WHERE) that selects the rows, and `order` its ORDER BY. If a
    key is already stored, its row stays (`conflict` is IGNORE) or is replaced (REPLACE)."""
    last = connection.execute("SELECT COALESCE(max(seq), 0) FROM judgements").fetchone()[0]
    connection.execute(
        f"INSERT OR {conflict} INTO judgements(key, {JUDGEMENT_COLUMNS}) "
        f"SELECT key, {JUDGEMENT_COLUMNS} {source} ORDER BY {order}"
    )
    connection.execute(
        f"INSERT OR {conflict} INTO replies(key, {REPLY_COLUMNS}) "
        f"SELECT key, {REPLY_COLUMNS} {source} ORDER BY {order}"
    )
    rows = connection.execute(
        "SELECT status, count(*) FROM judgements WHERE seq>? GROUP BY 1", (last,)
    )
    return Counter(dict(rows.fetchall()))
