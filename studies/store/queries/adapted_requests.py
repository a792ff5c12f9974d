"""Keys of calls that were sent without parameters that their endpoint refused.

The keys of a plan are hashes of the requests as the study describes them. A reply to a request
without one of its parameters is stored under another key (the adapted key), and from then on the
calls of all plans refer to the adapted key. Both keys are stored together, so that a new plan finds
the reply.
"""

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Collection
from typing import Final

REFUSABLE_PARAMETERS: Final = ("temperature", "top_p", "seed", "reasoning_effort")
"""Parameters that some endpoints refuse and without which a call can be made."""
REFUSABLE_SETS: Final = tuple(
    names
    for size in range(len(REFUSABLE_PARAMETERS) + 1)
    for names in itertools.combinations(REFUSABLE_PARAMETERS, size)
)
"""Sets of parameters that a call may lack, the empty one first."""


def key_without_parameters(key: str, parameters: Collection[str]) -> str:
    """Return the key under which a planned call is stored if it is sent without these parameters.
    Without any, this is the planned `key` itself."""
    if not parameters:
        return key
    names = ",".join(sorted(parameters))
    return hashlib.sha256(f"{key}\x1fwithout:{names}".encode()).hexdigest()[:40]


def is_key_of_call(key: str, planned_key: str) -> bool:
    """Whether `key` is the planned key of a call, or an adapted key of the same call."""
    return any(key == key_without_parameters(planned_key, names) for names in REFUSABLE_SETS)


def find_key_as_sent(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the adapted key of a planned call, under which its reply is stored; None without
    such a key."""
    row = connection.execute("SELECT adapted FROM adapted_requests WHERE key=?", (key,)).fetchone()
    return None if row is None else str(row[0])


def rekey_adapted_call(connection: sqlite3.Connection, key: str, without: Collection[str]) -> str:
    """Replace the key of a call, in all plans and attempts, by its key when sent without the
    parameters `without` (if empty: its planned key); return the new key. An error stored under
    the old key is deleted. `key` can be the planned or an adapted key."""
    row = connection.execute("SELECT key FROM adapted_requests WHERE adapted=?", (key,)).fetchone()
    planned = key if row is None else str(row[0])
    adapted = key_without_parameters(planned, without)
    if adapted == key:
        return key
    connection.execute("UPDATE plan SET key=? WHERE key=?", (adapted, key))
    connection.execute("UPDATE attempts SET key=? WHERE key=?", (adapted, key))
    for table in ("replies", "judgements"):  # this reply replaces the stored error
        connection.execute(
            f"DELETE FROM {table} WHERE key IN "
            "(SELECT key FROM judgements WHERE key=? AND status='error')",
            (key,),
        )
    connection.execute("DELETE FROM adapted_requests WHERE key=?", (planned,))
    if without:
        _store_adapted_request(connection, planned, adapted, without)
    return adapted


def _store_adapted_request(
    connection: sqlite3.Connection, planned: str, adapted: str, without: Collection[str]
) -> None:
    """Store that a planned call is sent without the parameters `without`, under the key `adapted`,
    and store the request as sent."""
    connection.execute(
        "INSERT OR REPLACE INTO adapted_requests VALUES (?,?,?)",
        (planned, adapted, ",".join(sorted(without))),
    )
    row = connection.execute(
        "SELECT endpoint, model, prompt_sha, parameters FROM requests WHERE key=?", (planned,)
    ).fetchone()
    if row is None:
        return
    *same, text = row
    sent = {name: value for name, value in json.loads(text).items() if name not in without}
    connection.execute(
        "INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?)",
        (adapted, *same, json.dumps(sent, sort_keys=True)),
    )


def use_adapted_keys_in_plan(connection: sqlite3.Connection, study_id: int) -> list[str]:
    """Prepare a plan that was just saved: if a call has no judgement under its planned key, but
    one under its adapted key, it gets the adapted key. Return the keys of all calls in the
    plan."""
    connection.execute(
        "UPDATE plan SET key=(SELECT adapted FROM adapted_requests a WHERE a.key=plan.key) "
        "WHERE study=? AND origin='live' AND EXISTS (SELECT 1 FROM adapted_requests a "
        "JOIN judgements j ON j.key=a.adapted WHERE a.key=plan.key) "
        "AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=plan.key)",
        (study_id,),
    )
    rows = connection.execute(
        "SELECT key FROM plan WHERE study=? AND origin='live' ORDER BY position", (study_id,)
    )
    return [str(key) for (key,) in rows]
