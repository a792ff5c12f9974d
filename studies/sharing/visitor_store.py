"""The store as one visitor may see and change it, whoever wrote the query.

Reads: on its connections the names `studies`, `runs`, `requests` and `replies` mean views that hold
what the visitor of the call may see, so that every query of the house is narrowed, those of
tomorrow too. Writes: triggers on its own writer's connection refuse a row of somebody else's study.
Judgements are kept by what was asked, once for all studies; asks of an endpoint are salted by whose
they are, so that nobody reads what another paid for. Only runs write rows that others use.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from studies.errors import AccessDenied, StudyError
from studies.sharing.visitors import as_visitor, current_visitor, visitor_from_secret
from studies.store import database
from studies.store.store import Store
from studies.store.writer import StoreWriter, WriteFunction

_NOT_OWNER_ERROR: Final = "kept by somebody else"
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
"""Rows that go with their study find it gone."""
_MAY_VOTE: Final = (
    "((votes_open() AND (SELECT owner FROM main.studies WHERE id={row}.study) IS '') "
    "OR {row}.study IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""The house opened its studies for votes, or the visitor came by a link for voters."""
_USED_BY_OTHERS: Final = (
    "EXISTS (SELECT 1 FROM main.plan p JOIN main.studies s ON s.id=p.study "
    "WHERE p.key={row}.key AND s.owner IS NOT visitor() "
    f"AND NOT (p.judge LIKE 'human:%' AND {_MAY_VOTE.replace('{row}', 'p')}))"
)
_ONLY_TIME_CHANGED: Final = (
    "(OLD.id, OLD.name, OLD.yaml, OLD.plan_sha, OLD.recorded, OLD.owner) = "
    "(NEW.id, NEW.name, NEW.yaml, NEW.plan_sha, NEW.recorded, NEW.owner) "
    "AND ((votes_open() AND OLD.owner='') "
    "OR OLD.id IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""A vote says when its study changed, and nothing else of it."""
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
"""When a change of a row is refused; {row} is NEW or OLD."""


class VisitorStore(Store):
    """A store that strangers share. `bare` is the whole one, for runs and for the house."""

    def __init__(self, bare: Store, *, most_studies: int = 0, open_votes: bool = False) -> None:
        """`most_studies`: how many one visitor may keep, 0: as many as they like. `open_votes`:
        people may vote on the house's studies."""
        super().__init__(bare.path)
        self._unrestricted, self._most, self._open_votes = bare, most_studies, open_votes

    @property
    def unrestricted(self) -> Store:
        return self._unrestricted

    @property
    def folder(self) -> Path:
        """Uploads and prompts of one visitor: no other's study file can name them."""
        return visitor_folder(self.path, current_visitor().owner)

    def folder_of(self, name: str) -> Path:
        owner = self._owner_of(name)
        return self.path.parent if owner == "" else visitor_folder(self.path, owner or "nobody")

    @property
    def salt(self) -> str:
        return current_visitor().owner[:24]

    def salt_of(self, name: str) -> str:
        return (self._owner_of(name) or "")[:24]

    def _owner_of(self, name: str) -> str | None:
        """Empty: the house's. None: nobody's that this visitor may see."""
        row = self.read("SELECT owner FROM studies WHERE name=?", (name,)).fetchone()
        return row[0] if row else None

    # ---- who may what ----------------------------------------------------------------------

    def can_read(self, name: str) -> bool:
        return self.read("SELECT 1 FROM studies WHERE name=?", (name,)).fetchone() is not None

    def owns(self, name: str) -> bool:
        return bool(current_visitor().owner) and self._owner_of(name) == current_visitor().owner

    def is_ownerless(self, name: str) -> bool:
        """It came with the page: nobody's, so everybody's to look at."""
        return self._owner_of(name) == ""

    def require_readable(self, name: str) -> None:
        if not self.can_read(name):
            raise AccessDenied(
                f"there is no study named {name!r} that you may see here. It may be another "
                "visitor's: ask them for the link that Share makes"
            )

    def require_owner(self, name: str) -> None:
        self.require_readable(name)
        if not self.owns(name):
            raise AccessDenied(
                f"{name!r} is not yours: you may look at it, not run or change it. Edit it on the "
                "Study tab and run it: that makes a copy of your own"
            )

    def name_for_owner(self, name: str) -> str:
        """The name under which this visitor keeps a study: with a mark of their own where somebody
        else has the name, always the same one."""
        mark = current_visitor().owner[:6]
        marked = f"{name} ({mark})"
        if not mark or name.endswith(f"({mark})") or self.owns(name):
            return name
        taken = self._unrestricted.read("SELECT 1 FROM studies WHERE name=?", (name,)).fetchone()
        return marked if taken or self.owns(marked) else name

    def recorded_prompt(self, study: str, name: str) -> str | None:
        """By its name alone only for the house's studies: another visitor's may be called so."""
        return super().recorded_prompt(study, name) if self.is_ownerless(study) else None

    # ---- links -----------------------------------------------------------------------------

    def share(self, name: str, *, votes: bool = False) -> str:
        """A new token with which anybody reads this study, and votes if so; only its hash is
        kept."""
        self.require_owner(name)
        token = secrets.token_urlsafe(24)
        row = (visitor_from_secret("", token).share, name, time.time(), int(votes))
        self.writer.run(
            lambda c: c.execute(
                "INSERT INTO shares(token, study, created, votes) "
                "SELECT ?1, id, ?3, ?4 FROM studies WHERE name=?2",
                row,
            )
        )
        return token

    def revoke_links(self, name: str) -> int:
        """Links that stop working."""
        self.require_owner(name)
        return int(
            self.writer.run(
                lambda c: (
                    c.execute(
                        "DELETE FROM shares WHERE study=(SELECT id FROM studies WHERE name=?)",
                        (name,),
                    ).rowcount
                )
            )
        )

    def count_links(self, name: str) -> int:
        """How many tokens read a study of this visitor."""
        self.require_owner(name)
        row = self._unrestricted.read(
            "SELECT count(*) FROM shares JOIN studies s ON s.id=study WHERE s.name=?", (name,)
        ).fetchone()
        return int(row[0])

    # ---- connections -----------------------------------------------------------------------

    def _open_reader(self) -> sqlite3.Connection:
        connection = self._connect()
        for view in _VIEWS:
            connection.execute(view)
        return connection

    def _new_writer(self) -> StoreWriter:
        return _VisitorWriter(self._open_writer)

    def _open_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        for trigger in _triggers(self._most):
            connection.execute(trigger)
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = database.connect(self.path)
        connection.create_function("visitor", 0, lambda: current_visitor().owner)
        connection.create_function("share", 0, lambda: current_visitor().share)
        connection.create_function("votes_open", 0, lambda: int(self._open_votes))
        return connection


class _VisitorWriter(StoreWriter):
    """Its thread is nobody's: each write brings along whose it is."""

    def run(self, work: WriteFunction) -> Any:
        visitor = current_visitor()
        if not visitor.owner:
            raise AccessDenied(
                "this browser has not been given a name of its own here yet; reload the page. "
                "Where nothing may be kept in the browser you can look, not change"
            )

        def theirs(connection: sqlite3.Connection) -> Any:
            with as_visitor(visitor):
                return work(connection)

        try:
            return super().run(theirs)
        except sqlite3.IntegrityError as error:
            if _NOT_OWNER_ERROR in str(error):
                raise AccessDenied(
                    "this is not yours to change: another visitor or the house keeps it. Choose "
                    "another name for yours; to vote, ask its owner for a link for voters"
                ) from None
            if _STUDY_QUOTA_ERROR in str(error):
                raise StudyError(
                    "you keep as many studies here as one visitor may; they are removed when "
                    "nobody has run them for a while. Use one of their names again, or run "
                    "Evenhand on your own machine"
                ) from None
            raise

    def submit_from(self, *_: object) -> None:
        raise AccessDenied("runs write to the bare store")


_STUDY_QUOTA_ERROR: Final = "too many studies"


def _triggers(most: int) -> list[str]:
    made = [
        _trigger(table, event, rule.format(row=row))
        for table, rule in _REFUSAL_CONDITIONS.items()
        for event, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
    ]
    # A new study becomes its maker's: the one change of an owner that there is.
    claims = "OLD.owner='' AND NEW.owner IS visitor() AND OLD.updated=NEW.updated"
    others = f"OLD.owner IS NOT visitor() AND NOT ({claims}) AND NOT ({_ONLY_TIME_CHANGED})"
    made.append(_trigger("studies", "UPDATE", others))
    made.append(_trigger("studies", "DELETE", "OLD.owner IS NOT visitor()"))
    few = (
        f"SELECT RAISE(ABORT, '{_STUDY_QUOTA_ERROR}') WHERE "
        f"(SELECT count(*) FROM main.studies WHERE owner=visitor())>{int(most)};"
    )
    made.append(
        "CREATE TEMP TRIGGER studies_mine AFTER INSERT ON main.studies BEGIN "
        f"UPDATE studies SET owner=visitor() WHERE id=NEW.id; {few if most else ''} END"
    )
    return made


def _trigger(table: str, event: str, refused: str) -> str:
    return (
        f"CREATE TEMP TRIGGER {table}_{event.lower()} BEFORE {event} ON main.{table} "
        f"WHEN {refused} BEGIN SELECT RAISE(ABORT, '{_NOT_OWNER_ERROR}'); END"
    )


def visitor_folder(store: Path, owner: str) -> Path:
    return store.parent / VISITORS_FOLDER / (owner[:24] or "nobody")


VISITORS_FOLDER: Final = "visitors"
"""Beside the store: a folder for each visitor's uploads and prompts."""
