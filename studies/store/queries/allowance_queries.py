"""The table `allowance`: dollars of this Space's API key that visitors' runs reserved or spent."""

import sqlite3
from typing import Final, Literal

AllowanceScope = Literal["run", "visitor", "day"]
_SCOPES: Final[dict[AllowanceScope, str]] = {
    "run": "run=:run",
    "visitor": "day=:day AND visitor=:visitor",
    "day": "day=:day",
}


def allowance_spent_or_reserved(
    connection: sqlite3.Connection, scope: AllowanceScope, day: str, visitor: str, run: str
) -> float:
    """Return the dollars of this Space's API key that are spent or reserved. `scope` states by
    whom: by the run `run`, by `visitor` on `day`, or by all visitors on `day`."""
    row = connection.execute(
        "SELECT COALESCE(sum(COALESCE(spent, reserved)), 0.0) FROM allowance "
        f"WHERE {_SCOPES[scope]}",
        {"day": day, "visitor": visitor, "run": run},
    ).fetchone()
    return float(row[0])


def put_reservation(
    connection: sqlite3.Connection, day: str, visitor: str, run: str, dollars: float
) -> int:
    """Reserve dollars for one call of a visitor's run on a day (a text); return the reservation's
    id."""
    cursor = connection.execute(
        "INSERT INTO allowance(day, visitor, run, reserved) VALUES (?,?,?,?)",
        (day, visitor, run, dollars),
    )
    return int(cursor.lastrowid or 0)


def delete_reservation(connection: sqlite3.Connection, reservation: int) -> None:
    connection.execute("DELETE FROM allowance WHERE id=?", (reservation,))


def settle_reservation(connection: sqlite3.Connection, reservation: int, cost: float) -> None:
    """Store the dollars that a call cost; they then count instead of those reserved. `reservation`
    is the id of the reservation."""
    connection.execute("UPDATE allowance SET spent=? WHERE id=?", (cost, reservation))
