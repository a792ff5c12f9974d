"""A store restricted to the rows that the current visitor may see and change.

Reads: on its connections the names `studies`, `runs`, `requests` and `replies` are views of the
rows that the visitor may see, so every query is restricted, also future ones. Writes: triggers on
the writer's connection refuse changes to studies of other owners. Judgements are stored once per
ask for all studies; the keys of asks to an endpoint are salted by owner, so that no visitor reads
replies another one paid for. Only runs write rows that several studies use.
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

_NOT_OWNER_ERROR: Final = "owned by another visitor"
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
"""Condition: the study of the row exists and the visitor does not own it. Rows that are deleted
together with their study pass."""
_MAY_VOTE: Final = (
    "((votes_open() AND (SELECT owner FROM main.studies WHERE id={row}.study) IS '') "
    "OR {row}.study IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""Condition: votes on ownerless studies are open, or the visitor has a link for voters."""
_USED_BY_OTHERS: Final = (
    "EXISTS (SELECT 1 FROM main.plan p JOIN main.studies s ON s.id=p.study "
    "WHERE p.key={row}.key AND s.owner IS NOT visitor() "
    f"AND NOT (p.judge LIKE 'human:%' AND {_MAY_VOTE.replace('{row}', 'p')}))"
)
"""Condition: the plan of a study that the visitor does not own has this key, permitted votes
excepted."""
_ONLY_TIME_CHANGED: Final = (
    "(OLD.id, OLD.name, OLD.yaml, OLD.plan_sha, OLD.recorded, OLD.owner) = "
    "(NEW.id, NEW.name, NEW.yaml, NEW.plan_sha, NEW.recorded, NEW.owner) "
    "AND ((votes_open() AND OLD.owner='') "
    "OR OLD.id IN (SELECT study FROM main.shares WHERE votes AND token=share()))"
)
"""Condition: a permitted voter changes only the time stamp of a study."""
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
"""Condition, by table, for refusing a change of a row; {row} is NEW or OLD."""


class VisitorStore(Store):
    """A store shared by visitors; runs and the server use the unrestricted one."""

    def __init__(
        self, unrestricted: Store, *, most_studies: int = 0, open_votes: bool = False
    ) -> None:
        """Restrict a store.

        `most_studies`: limit of studies per visitor, 0: no limit. `open_votes`: all visitors may
        vote on ownerless studies.
        """
        super().__init__(unrestricted.path)
        self._unrestricted = unrestricted
        self._most, self._open_votes = most_studies, open_votes

    @property
    def unrestricted(self) -> Store:
        return self._unrestricted

    @property
    def folder(self) -> Path:
        """Folder of the visitor's uploads and prompts, which studies of others cannot name."""
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
        """Return the owner of a study; empty: no owner; None: this visitor may see no study of this
        name."""
        row = self.read("SELECT owner FROM studies WHERE name=?", (name,)).fetchone()
        return row[0] if row else None

    # ---- permissions -------------------------------------------------------------------------

    def can_read(self, name: str) -> bool:
        return self.read("SELECT 1 FROM studies WHERE name=?", (name,)).fetchone() is not None

    def owns(self, name: str) -> bool:
        return bool(current_visitor().owner) and self._owner_of(name) == current_visitor().owner

    def is_ownerless(self, name: str) -> bool:
        """Whether a study has no owner: it came with the Space, and all visitors may read it."""
        return self._owner_of(name) == ""

    def require_readable(self, name: str) -> None:
        if not self.can_read(name):
            raise AccessDenied(
                f"there is no study named {name!r} that you may see here. If it is another "
                "visitor's, ask them for a link (Share)"
            )

    def require_owner(self, name: str) -> None:
        self.require_readable(name)
        if not self.owns(name):
            raise AccessDenied(
                f"{name!r} is not yours: you may read it, not run or change it. To get a copy, "
                "edit it on the Study tab and run it"
            )

    def name_for_owner(self, name: str) -> str:
        """The name under which this visitor saves a study; a name that is taken gets the visitor's
        fixed suffix."""
        mark = current_visitor().owner[:6]
        marked = f"{name} ({mark})"
        if not mark or name.endswith(f"({mark})") or self.owns(name):
            return name
        taken = self._unrestricted.read("SELECT 1 FROM studies WHERE name=?", (name,)).fetchone()
        return marked if taken or self.owns(marked) else name

    def recorded_prompt(self, study: str, name: str) -> str | None:
        """As in `Store`, for ownerless studies only; a visitor's prompt may have the same name."""
        return super().recorded_prompt(study, name) if self.is_ownerless(study) else None

    # ---- links -----------------------------------------------------------------------------

    def share(self, name: str, *, votes: bool = False) -> str:
        """Create a link token to read this study and, with `votes`, to vote on it; the store keeps
        only the token's hash."""
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
        """Delete all links of a study; return how many."""
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
        """Number of links of a study that this visitor owns."""
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
    """Writer whose thread has no visitor; each write is run as the visitor who queued it."""

    def run(self, work: WriteFunction) -> Any:
        visitor = current_visitor()
        if not visitor.owner:
            raise AccessDenied(
                "this browser has not been given an id yet; reload the page. A browser without "
                "storage can read studies, not change them"
            )

        def work_as_visitor(connection: sqlite3.Connection) -> Any:
            with as_visitor(visitor):
                return work(connection)

        try:
            return super().run(work_as_visitor)
        except sqlite3.IntegrityError as error:
            if _NOT_OWNER_ERROR in str(error):
                raise AccessDenied(
                    "this study is not yours to change. Save yours under another name; to vote, "
                    "ask the owner for a link for voters"
                ) from None
            if _STUDY_QUOTA_ERROR in str(error):
                raise StudyError(
                    "you have reached the limit of studies per visitor. Save under the name of one "
                    "of them, wait until unused ones expire, or run Evenhand yourself"
                ) from None
            raise

    def submit_from(self, *_: object) -> None:
        raise AccessDenied("runs must write to the unrestricted store")


_STUDY_QUOTA_ERROR: Final = "too many studies"


def _triggers(most: int) -> list[str]:
    made = [
        _trigger(table, event, rule.format(row=row))
        for table, rule in _REFUSAL_CONDITIONS.items()
        for event, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
    ]
    # A new study gets its creator as owner; no other change of an owner is allowed.
    claims = "OLD.owner='' AND NEW.owner IS visitor() AND OLD.updated=NEW.updated"
    others = f"OLD.owner IS NOT visitor() AND NOT ({claims}) AND NOT ({_ONLY_TIME_CHANGED})"
    made.append(_trigger("studies", "UPDATE", others))
    made.append(_trigger("studies", "DELETE", "OLD.owner IS NOT visitor()"))
    check_quota = (
        f"SELECT RAISE(ABORT, '{_STUDY_QUOTA_ERROR}') WHERE "
        f"(SELECT count(*) FROM main.studies WHERE owner=visitor())>{int(most)};"
    )
    made.append(
        "CREATE TEMP TRIGGER studies_mine AFTER INSERT ON main.studies BEGIN "
        f"UPDATE studies SET owner=visitor() WHERE id=NEW.id; {check_quota if most else ''} END"
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
"""Folder beside the store with a folder for each visitor's uploads and prompts."""
