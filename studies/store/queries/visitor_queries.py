"""SQL that restricts the connections of a store to the rows that one visitor may read or change;
SQL for owners of studies and for share links.

The caller registers four SQL functions on the connections: `visitor()`, the id of the visitor;
`share()`, the hash of the link token; `votes_open()`, whether all visitors may vote on ownerless
studies; `is_full()`, whether visitors may store no more studies.
"""

import sqlite3
from typing import Final

from studies.store.rows import LAST_USED, STUDY_ID
from studies.store.store_file import StoreFile

NOT_OWNER_ERROR: Final = "owned by another visitor"
STUDY_QUOTA_ERROR: Final = "too many studies"
STORE_FULL_ERROR: Final = "the space of all visitors is full"
_VIEWS: Final = (
    "CREATE TEMP VIEW studies AS SELECT * FROM main.studies WHERE owner IN ('', visitor()) "
    "OR id IN (SELECT study FROM main.shares WHERE token=share())",
    "CREATE TEMP VIEW runs AS SELECT * FROM main.runs WHERE study IN (SELECT name FROM studies)",
    *(
        f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} AS t WHERE EXISTS "
        "(SELECT 1 FROM main.plan p WHERE p.key=t.key AND p.study IN (SELECT id FROM studies)) "
        "OR EXISTS (SELECT 1 FROM main.extractions e JOIN main.plan p ON p.key=e.reads "
        "WHERE e.key=t.key AND p.study IN (SELECT id FROM studies))"
        for table in ("requests", "replies")
    ),
)

_NOT_OWNED: Final = (
    "EXISTS (SELECT 1 FROM main.studies WHERE id={row}.study AND owner IS NOT visitor())"
)
"""SQL condition: the study of the row exists and the visitor does not own it. The condition is
false for rows that are deleted together with their study."""
_MAY_VOTE: Final = (
    "((votes_open() AND (SELECT owner FROM main.studies WHERE id={row}.study) IS '') "
    "OR {row}.study IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""SQL condition: the row's study has no owner and votes on such studies are open, or the visitor
has a share link for voting on it."""
_USED_BY_OTHERS: Final = (
    "EXISTS (SELECT 1 FROM main.plan p JOIN main.studies s ON s.id=p.study "
    "WHERE p.key={row}.key AND s.owner IS NOT visitor() "
    f"AND NOT (p.judge LIKE 'human:%' AND {_MAY_VOTE.replace('{row}', 'p')}))"
)
"""SQL condition: a study that the visitor does not own has the row's key in its plan, except as the
key of a vote that the visitor may cast."""
_ONLY_TIME_CHANGED: Final = (
    "(OLD.id, OLD.name, OLD.yaml, OLD.plan_sha, OLD.recorded, OLD.owner) = "
    "(NEW.id, NEW.name, NEW.yaml, NEW.plan_sha, NEW.recorded, NEW.owner) "
    "AND ((votes_open() AND OLD.owner='') "
    "OR OLD.id IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""SQL condition: the visitor may vote on a study and changes only the study's time stamp."""
_GROWING: Final = ("studies", "study_items")
"""Tables that get rows for each new study and its data."""
_ALWAYS_REFUSED: Final = "1"
_REFUSAL_CONDITIONS: Final = {
    "plan": f"{_NOT_OWNED} AND NOT ({{row}}.judge LIKE 'human:%' AND {_MAY_VOTE})",
    "study_items": _NOT_OWNED,
    "shares": _NOT_OWNED,
    "ballots": f"{_NOT_OWNED} AND NOT ({{row}}.voter!='' AND {_MAY_VOTE})",
    "judgements": _USED_BY_OTHERS,
    "replies": _USED_BY_OTHERS,
    "extractions": "EXISTS (SELECT 1 FROM main.plan p JOIN main.studies s ON s.id=p.study "
    "WHERE p.key={row}.reads AND s.owner IS NOT visitor())",
    "runs": _ALWAYS_REFUSED,
    "attempts": _ALWAYS_REFUSED,
    "leases": _ALWAYS_REFUSED,
    "allowance": _ALWAYS_REFUSED,
}
"""Table -> SQL condition under which a change of a row is refused; {row} stands for NEW or OLD."""


def restrict_reads(connection: sqlite3.Connection) -> None:
    """Replace the tables studies, runs, requests and replies, on this connection, by views of the
    rows that the visitor may see."""
    for statement in _VIEWS:
        connection.execute(statement)


def restrict_writes(connection: sqlite3.Connection, most_studies: int) -> None:
    """Make this connection refuse writes that the visitor may not make, and make the visitor the
    owner of new studies. `most_studies` is the limit of studies per visitor; 0 means no limit.

    Refused are changes to runs and to studies of other owners, votes that the visitor may not cast,
    and new studies above the limits.
    """
    for trigger in _trigger_statements(most_studies):
        connection.execute(trigger)


def _trigger_statements(most_studies: int) -> list[str]:
    """Return SQL statements that create triggers: those that refuse writes, and one that makes
    the visitor the owner of a new study and refuses it if the visitor then has more than
    `most_studies` (0: no limit)."""
    made = [
        _refusing_trigger(table, event, rule.format(row=row))
        for table, rule in _REFUSAL_CONDITIONS.items()
        for event, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
    ]
    # A new study gets its creator as owner; no other change of an owner is allowed.
    claims = "OLD.owner='' AND NEW.owner IS visitor() AND OLD.updated=NEW.updated"
    others = f"OLD.owner IS NOT visitor() AND NOT ({claims}) AND NOT ({_ONLY_TIME_CHANGED})"
    made.append(_refusing_trigger("studies", "UPDATE", others))
    made.append(_refusing_trigger("studies", "DELETE", "OLD.owner IS NOT visitor()"))
    made += [
        _refusing_trigger(table, "INSERT", "is_full()", STORE_FULL_ERROR) for table in _GROWING
    ]
    check_quota = (
        f"SELECT RAISE(ABORT, '{STUDY_QUOTA_ERROR}') WHERE "
        f"(SELECT count(*) FROM main.studies WHERE owner=visitor())>{int(most_studies)};"
    )
    made.append(
        "CREATE TEMP TRIGGER studies_mine AFTER INSERT ON main.studies BEGIN "
        "UPDATE studies SET owner=visitor() WHERE id=NEW.id; "
        f"{check_quota if most_studies else ''} END"
    )
    return made


def _refusing_trigger(table: str, event: str, refused: str, error: str = NOT_OWNER_ERROR) -> str:
    """Return the SQL of a trigger that refuses an `event` (INSERT, UPDATE or DELETE) on a table if
    the SQL condition `refused` is true; `error` is the message."""
    name = f"{table}_{event.lower()}{'_full' if error == STORE_FULL_ERROR else ''}"
    return (
        f"CREATE TEMP TRIGGER {name} BEFORE {event} ON main.{table} "
        f"WHEN {refused} BEGIN SELECT RAISE(ABORT, '{error}'); END"
    )


# ------------------------------------------------------------------------------------ owners


def owner_of(store: StoreFile, study: str) -> str | None:
    """Return the owner of a study; "" if it has none, None if the visitor sees no study of this
    name."""
    row = store.read("SELECT owner FROM studies WHERE name=?", (study,)).fetchone()
    return row[0] if row else None


def study_owners(store: StoreFile) -> set[str]:
    """Return the owners of all studies, with "" among them if a study has none."""
    return {owner for (owner,) in store.read("SELECT DISTINCT owner FROM studies")}


def unused_owned_studies(store: StoreFile, before: float) -> list[str]:
    """List the studies that have an owner and were not saved, run or voted on since `before`
    (seconds since 1970), the longest unused first."""
    rows = store.read(
        f"SELECT name, {LAST_USED} AS used "
        "FROM studies s WHERE owner!='' AND used < ? ORDER BY used, name",
        (before,),
    )
    return [name for name, _ in rows.fetchall()]


def used_store_bytes(store: StoreFile) -> int:
    """Return the bytes of the store's file without its free pages, which SQLite reuses for new
    rows."""
    pages, free, size = (
        int(store.read(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


# ------------------------------------------------------------------------------------- links


def put_link(
    connection: sqlite3.Connection, study: str, token_hash: str, created: float, votes: bool
) -> None:
    connection.execute(
        "INSERT INTO shares(token, study, created, votes) "
        "SELECT ?, id, ?, ? FROM studies WHERE name=?",
        (token_hash, created, int(votes), study),
    )


def delete_links(connection: sqlite3.Connection, study: str) -> int:
    """Delete all links of a study; return their number."""
    return connection.execute(f"DELETE FROM shares WHERE study={STUDY_ID}", (study,)).rowcount


def has_link(store: StoreFile, token_hash: str) -> bool:
    return store.read("SELECT 1 FROM shares WHERE token=?", (token_hash,)).fetchone() is not None


def count_links(store: StoreFile, study: str) -> int:
    row = store.read(
        "SELECT count(*) FROM shares JOIN studies s ON s.id=study WHERE s.name=?", (study,)
    ).fetchone()
    return int(row[0])
