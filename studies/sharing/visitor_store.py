"""A store restricted to the rows that the current visitor may see and change.

Reads: on the connections of this store the names `studies`, `runs`, `requests` and `replies` are
views of the rows that the visitor may see, so every query is restricted, also future ones. Writes:
triggers on the writer's connection refuse changes to studies of other owners. Studies share the
judgements of calls with equal keys; the key of a call to an endpoint also depends on the study's
owner, so that no visitor reads replies that another visitor paid for.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from studies.errors import AccessDenied, StudyError
from studies.sharing.visitors import as_visitor, current_visitor, visitor_from_secret
from studies.store import database, writer
from studies.store.queries import visitor_queries
from studies.store.queries.alignment_queries import derived_studies
from studies.store.store import Store


class VisitorStore(Store):
    """The store as visitors use it; runs and the server use the unrestricted store."""

    def __init__(
        self,
        unrestricted: Store,
        *,
        most_studies: int = 0,
        open_votes: bool = False,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """Restrict a store.

        `most_studies` is the limit of studies per visitor (0: no limit). With `open_votes`, all
        visitors may vote on ownerless studies. `has_room` is called before each write and returns
        whether visitors may store further studies and items.
        """
        self._has_room, self._full = has_room, False
        super().__init__(unrestricted.path)
        self._unrestricted = unrestricted
        self._most, self._open_votes = most_studies, open_votes

    @property
    def unrestricted(self) -> Store:
        return self._unrestricted

    @property
    def folder(self) -> Path:
        """Folder of this visitor's uploads and prompts; studies of other visitors cannot use its
        files."""
        return visitor_folder(self.path, current_visitor().owner)

    def folder_of(self, study: str) -> Path:
        owner = visitor_queries.owner_of(self, study)
        return self.path.parent if owner == "" else visitor_folder(self.path, owner or "nobody")

    @property
    def salt(self) -> str:
        return current_visitor().owner[:24]

    def salt_of(self, study: str) -> str:
        return (visitor_queries.owner_of(self, study) or "")[:24]

    # ---- permissions -------------------------------------------------------------------------

    def can_read(self, study: str) -> bool:
        return visitor_queries.owner_of(self, study) is not None

    def owns(self, study: str) -> bool:
        return (
            bool(current_visitor().owner)
            and visitor_queries.owner_of(self, study) == current_visitor().owner
        )

    def is_ownerless(self, study: str) -> bool:
        """Whether a study has no owner (it came with the Space); all visitors may read it."""
        return visitor_queries.owner_of(self, study) == ""

    def require_readable(self, study: str) -> None:
        if not self.can_read(study):
            raise AccessDenied(
                f"there is no study named {study!r} that you may see here. If another visitor owns "
                "this study, ask the owner for a share link"
            )

    def require_owner(self, study: str) -> None:
        self.require_readable(study)
        if not self.owns(study):
            raise AccessDenied(
                f"{study!r} is not yours: you may read it, not run or change it. To get a copy, "
                "edit it on the Study tab and run it"
            )

    def name_to_save_under(self, name: str) -> str:
        """Return the name under which this visitor saves a study: `name` followed by a mark of the
        visitor, the first characters of the visitor's id. The name is unchanged if it contains
        this mark, if the visitor owns a study of this name, or if the visitor has no id.

        Every new name gets the mark. If only taken names got it, it would show which names the
        studies of other visitors have."""
        mark = current_visitor().owner[:6]
        if not mark or f"({mark})" in name or self.owns(name):
            return name
        return f"{name} ({mark})"

    def rename_study(self, name: str, new_name: str) -> None:
        """Rename a study of this visitor to `new_name`. StudyError if `new_name` lacks the
        visitor's mark that `name_to_save_under` adds, AccessDenied if the visitor does
        not own the study."""
        self.require_owner(name)
        if new_name != self.name_to_save_under(new_name):
            raise StudyError(
                f"a study of yours is named {self.name_to_save_under(new_name)!r} here"
            )
        for one in (name, *derived_studies(self, name)):
            self._cache.drop_study(one)
        self._unrestricted.rename_study(name, new_name)

    def yaml_of_only_version(self, study: str, name: str) -> str | None:
        """Return the YAML text of the prompt `name` if the study has no owner and the store has
        exactly one version of the prompt; else None.

        In a study with an owner, the text could be another visitor's prompt of the same name."""
        return super().yaml_of_only_version(study, name) if self.is_ownerless(study) else None

    def is_share_token(self, secret: object) -> bool:
        """Whether a text is the token of an existing share link. The token gives access to a study
        but does not make the visitor its owner."""
        return visitor_queries.has_link(self._unrestricted, visitor_from_secret("", secret).share)

    # ---- links -----------------------------------------------------------------------------

    def create_share_link(self, study: str, *, votes: bool = False) -> str:
        """Create a link for reading this study and, with `votes`, for voting on it; return its
        token. AccessDenied if the visitor does not own the study.

        The store keeps only the token's hash.
        """
        self.require_owner(study)
        token = secrets.token_urlsafe(24)
        token_hash = visitor_from_secret("", token).share
        self.writer.run(
            lambda c: visitor_queries.put_link(c, study, token_hash, time.time(), votes)
        )
        return token

    def revoke_links(self, study: str) -> int:
        """Delete all links of a study; return their number. AccessDenied if the visitor does not
        own the study."""
        self.require_owner(study)
        return int(self.writer.run(lambda c: visitor_queries.delete_links(c, study)))

    def count_links(self, study: str) -> int:
        """Return the number of links of a study; AccessDenied if the visitor does not own it."""
        self.require_owner(study)
        return visitor_queries.count_links(self._unrestricted, study)

    # ---- connections -----------------------------------------------------------------------

    def _open_reader(self) -> sqlite3.Connection:
        connection = self._connect()
        visitor_queries.restrict_reads(connection)
        return connection

    def _new_writer(self) -> writer.StoreWriter:
        return _VisitorWriter(self._open_writer, self._update_storage_full_flag)

    def _update_storage_full_flag(self) -> None:
        """Find out whether visitors' studies fill the space for them, and remember the answer
        for the triggers that refuse writes."""
        self._full = not self._has_room()

    def _open_writer(self) -> sqlite3.Connection:
        connection = self._connect()
        visitor_queries.restrict_writes(connection, self._most)
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = database.connect(self.path)
        connection.create_function("visitor", 0, lambda: current_visitor().owner)
        connection.create_function("share", 0, lambda: current_visitor().share)
        connection.create_function("votes_open", 0, lambda: int(self._open_votes))
        connection.create_function("is_full", 0, lambda: int(self._full))
        return connection


class _VisitorWriter(writer.StoreWriter):
    """Writes to the store with the permissions of the visitor who asked for the write, although
    all writes are made by one thread."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], check_room: Callable[[], None]
    ) -> None:
        self._check_room = check_room
        super().__init__(connect)

    def run(self, work: writer.WriteFunction) -> Any:
        visitor = current_visitor()
        if not visitor.owner:
            raise AccessDenied(
                "this browser has not been given an id yet; reload the page. A browser without "
                "storage can read studies, not change them"
            )

        def work_as_visitor(connection: sqlite3.Connection) -> Any:
            with as_visitor(visitor):
                return work(connection)

        self._check_room()
        try:
            return super().run(work_as_visitor)
        except sqlite3.IntegrityError as error:
            if visitor_queries.NOT_OWNER_ERROR in str(error):
                raise AccessDenied(
                    "this study is not yours, so you cannot change it. Save your changes under "
                    "another name; to vote, ask the owner for a link for voters"
                ) from None
            if visitor_queries.STORE_FULL_ERROR in str(error):
                raise StudyError(
                    "the space for all visitors' studies is full, and every study was used in the "
                    "last hour. Nothing was saved: delete a study of yours, try again in an hour, "
                    "or run Evenhand yourself"
                ) from None
            if visitor_queries.STUDY_QUOTA_ERROR in str(error):
                raise StudyError(
                    "you have reached the limit of studies per visitor. Save under the name of one "
                    "of your studies, wait until unused studies expire, or run Evenhand yourself"
                ) from None
            raise

    def submit_from_loop(self, *_: object) -> None:
        """Always raise AccessDenied: only runs write in this way, and they must use the
        unrestricted store."""
        raise AccessDenied("a run must write to the store without visitor limits")


def visitor_folder(store: Path, owner: str) -> Path:
    """Return the folder of a visitor's uploads and prompts, beside the store file `store`; `owner`
    is the visitor's hash."""
    return store.parent / VISITORS_FOLDER / (owner[:24] or "nobody")


VISITORS_FOLDER: Final = "visitors"
"""Folder beside the store with a folder for each visitor's uploads and prompts."""
