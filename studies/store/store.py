"""The store: one SQLite file of studies, plans, judgements and votes."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from studies.domain import AnswerCheck, Ask, Item, Judgement
from studies.errors import StoreUnusable, StudyError
from studies.frames.frame import frame_from_rows
from studies.spec.study import Study, parse_study
from studies.store import database, queries
from studies.store.ballot_queries import (
    Ballot,
    VotingRules,
    checks_by_item,
    put_voting_rules,
    read_ballots,
    read_voting_rules,
    selection_reasons,
)
from studies.store.database import DatabaseWatch
from studies.store.frame_cache import (
    cache_frame,
    cache_value,
    delete_cached,
    read_cached_frame,
    read_cached_value,
    register_maker,
)
from studies.store.lru_cache import LruCache
from studies.store.rows import PromptText, RequestRecord
from studies.store.run_owners import PastRun as PastRun
from studies.store.run_owners import list_past_runs
from studies.store.saving import PlanChange as PlanChange
from studies.store.saving import delete_study_rows, write_study_rows
from studies.store.study_versions import StudyVersions, Value
from studies.store.vote_columns import add_vote_columns
from studies.store.writer import StoreWriter

register_maker(sys.modules[__name__])

MAX_CACHED_FRAMES: Final = 32
"""Maximum number of frames in memory; a public server has many studies."""
MIN_CACHED_SECONDS: Final = 1.0
"""Computations longer than this (seconds) are cached on disk."""


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study in the list of studies, with its numbers of planned and judged asks."""

    name: str
    recorded: bool
    planned: int
    judged: int
    updated: float


class Store:
    """A store in one SQLite file; reads use one connection per thread, writes one writer."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else database.default_store_path()
        database.prepare_store(self.path)
        self.file_watch = DatabaseWatch(self.path)
        self._local = threading.local()
        self._writer: StoreWriter | None = None
        self._frames: LruCache[str, tuple[tuple[str, int], pd.DataFrame]] = LruCache(
            MAX_CACHED_FRAMES
        )
        self._versions = StudyVersions()
        self._lock = threading.Lock()

    @property
    def owners(self) -> Path:
        """Folder of the lock files of live runs, the owners of leases."""
        return self.path.with_name(self.path.name + "-owners")

    @property
    def writer(self) -> StoreWriter:
        with self._lock:
            if self._writer is None:
                self._writer = self._new_writer()
                self._writer.current_file = self.file_watch.check
            return self._writer

    @property
    def unrestricted(self) -> Store:
        """The store without restrictions by visitor (see studies/sharing/visitor_store.py)."""
        return self

    @property
    def folder(self) -> Path:
        """Folder of uploads and prompts, to which the paths of studies are relative."""
        return self.path.parent

    @property
    def salt(self) -> str:
        """Text that is hashed into the keys of a visitor's asks, so that visitors do not share
        replies; empty: all studies share them."""
        return ""

    def salt_of(self, name: str) -> str:
        """Return the salt with which the keys of a study were made."""
        return ""

    def folder_of(self, name: str) -> Path:
        """Folder to which the paths of a study are relative: its owner's, for every visitor."""
        return self.folder

    def owns(self, name: str) -> bool:
        """Whether the current visitor may run and change a study."""
        return True

    def name_for_owner(self, name: str) -> str:
        """Return the name under which the current visitor saves a study of that name."""
        return name

    def _new_writer(self) -> StoreWriter:
        return StoreWriter(lambda: database.connect(self.path))

    def _open_reader(self) -> sqlite3.Connection:
        """A connection for the reads of one thread."""
        return database.connect(self.path)

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self.file_watch.close()
        if (connection := self._local.__dict__.pop("connection", None)) is not None:
            connection.close()  # connections of other threads close with their threads

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None or self._local.file != self.file_watch.check():
                self._local.file = self.file_watch.check()
                connection = self._local.connection = self._open_reader()
            return connection.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise StoreUnusable(f"the store {self.path} cannot be read: {error}") from error

    # ---- studies -------------------------------------------------------------------------

    def save_study(
        self,
        study: Study,
        items: Sequence[Item],
        asks: Iterable[tuple[Ask, RequestRecord]],
        prompts: Iterable[PromptText] = (),
        *,
        plan_sha: str = "",
        recorded: Iterable[Judgement] = (),
        only_recorded: bool = False,
    ) -> PlanChange:
        """Write a study and its plan in one transaction; stored judgements and votes cast on the
        page are kept."""

        def work(connection: sqlite3.Connection) -> PlanChange:
            return write_study_rows(
                connection,
                study,
                items,
                asks,
                prompts,
                recorded,
                plan_sha=plan_sha,
                only_recorded=only_recorded,
            )

        return self.writer.run(work)  # type: ignore[no-any-return]

    def studies(self) -> list[StudySummary]:
        rows = self.read("SELECT name, recorded, updated FROM studies ORDER BY updated DESC")
        return [self._summarise(*row) for row in rows.fetchall()]

    def _summarise(self, name: str, recorded: int, updated: float) -> StudySummary:
        """Count live asks; recorded verdicts and votes count only in a recorded study."""
        found = Counter(self._cached_counts(name, "live"))
        if recorded:
            found += Counter(self._cached_counts(name, "recorded"))
        planned = found.total()
        return StudySummary(name, bool(recorded), planned, planned - found["pending"], updated)

    def study(self, name: str) -> Study:
        row = self.read("SELECT yaml FROM studies WHERE name=?", (name,)).fetchone()
        if row is None:
            known = ", ".join(line.name for line in self.studies()) or "none yet"
            raise StudyError(f"no study named {name!r} in this store. Known studies: {known}")
        return _parse_stored_study(row[0], name)

    def plan_sha(self, name: str) -> str:
        row = self.read("SELECT plan_sha FROM studies WHERE name=?", (name,)).fetchone()
        return row[0] if row else ""

    def delete_study(self, name: str) -> int:
        """Delete a study and the judgements no other study uses; return how many judgements."""
        self.study(name)
        self._frames.drop(name)
        delete_cached(self.path, name)
        return self.writer.run(lambda connection: delete_study_rows(connection, name))  # type: ignore[no-any-return]

    def items(self, name: str) -> dict[str, Item]:
        return queries.stored_items(self.read, name)

    def item(self, name: str, item: str) -> Item | None:
        return queries.find_item(self.read, name, item)

    def item_facts(self, name: str) -> dict[str, dict[str, Any]]:
        """Category, answer lengths, preferences and suspects of every item, without its texts.

        Cached until the study is saved again; callers share the result and must not change it.
        """
        saved = self.version(name)[0], 0
        return self._versions.cached(
            name, "narrow items", saved, lambda: queries.item_facts(self.read, name)
        )

    def questions(self, name: str, items: Iterable[str]) -> dict[str, str]:
        """The instructions of some items, without their answers."""
        return queries.read_questions(self.read, name, items)

    def prompt_yaml(self, sha: str) -> str | None:
        return queries.find_prompt_yaml(self.read, sha)

    def prompt_of(self, study: str, prompt: str) -> str | None:
        """The YAML of a prompt in the version that a study's asks were planned with."""
        return queries.find_planned_prompt(self.read, study, prompt)

    def recorded_prompt(self, study: str, name: str) -> str | None:
        """The YAML of a recorded study's prompt if the store has exactly one version of that name.

        Recorded asks have no request that would name the version.
        """
        return queries.find_sole_prompt(self.read, name)

    # ---- asks and judgements ---------------------------------------------------------------

    def asks(self, name: str) -> Iterator[Ask]:
        """Live asks of a study, in plan order."""
        return queries.read_asks(self.read, name)

    def has_live_asks(self, name: str) -> bool:
        """Whether a study of that name has live asks."""
        return queries.has_live_asks(self.read, name)

    def pending_asks(
        self,
        name: str,
        judge: str,
        after: int,
        limit: int,
        *,
        again: Sequence[str] = ("error",),
        began: int = 2**62,
    ) -> list[tuple[int, Ask]]:
        """Return the next pending asks of a judge, each with its position in the plan.

        An ask is pending if it has no judgement. It is also pending if its judgement has a status
        in `again` and was stored before the run: its sequence number (seq) is at most `began`.
        """
        return queries.pending_asks(self.read, name, judge, after, limit, again, began)

    def unextracted_judgements(
        self, name: str, prompts: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Judgement]]:
        """Return unreadable judgements stored after a sequence number (seq) whose replies the
        extraction judge has not read yet."""
        return queries.unextracted_judgements(self.read, name, prompts, after, limit)

    def extraction_of(self, key: str) -> tuple[str, str, str, str] | None:
        """Key, reply, finish reason and top log-probabilities of the extraction that read an ask's
        reply."""
        return queries.find_extraction(self.read, key)

    def runs(self, study: str | None = None) -> list[PastRun]:
        """Runs of this store, newest first; a run whose process ended is `interrupted`."""
        return list_past_runs(self.read, self.owners, study)

    def counts(self, name: str, *, recorded: bool = False) -> dict[str, int]:
        """Number of planned asks, and of asks by status (noise-floor repeats included).

        With `recorded`, a study without live asks counts its recorded judgements.
        """
        found = self._cached_counts(name, "live")
        if recorded and not found:
            found = self._cached_counts(name, "recorded")
            return {"planned": sum(found.values()), "recorded": sum(found.values()), **found}
        return {"planned": sum(found.values()), **found}

    def _cached_counts(self, name: str, origin: str) -> dict[str, int]:
        return dict(self.cached(name, origin, lambda: self._count_by_status(name, origin)))

    def cached(self, name: str, what: str, work: Callable[[], Value]) -> Value:
        """Return the result of `work`, computed once per version of a study; cached on disk if that
        took long.

        The result must be unchanged by conversion to JSON and back.
        """
        version = self.version(name)

        def compute() -> Value:
            value: Value | None = read_cached_value(
                self.path, name, what, lambda old: self._versions.is_current(name, old, self.read)
            )
            if value is None:
                began = time.monotonic()
                value = work()
                if time.monotonic() - began > MIN_CACHED_SECONDS:
                    cache_value(self.path, name, what, version, value)
            return value

        return self._versions.cached(name, what, version, compute)

    def _count_by_status(self, name: str, origin: str) -> dict[str, int]:
        return queries.count_by_status(self.read, name, origin)

    def tokens(self, name: str) -> tuple[int, int]:
        """Prompt and completion tokens of a study's judgements."""
        return queries.sum_tokens(self.read, name)

    def endpoint_rate(self, endpoint: str) -> tuple[float, float] | None:
        """Prompt tokens and calls per second of one connection, from the last replies."""
        return queries.endpoint_rate(self.read, endpoint)

    def judgements(self, name: str, *, after: int = 0, limit: int = 10**9) -> Iterator[Judgement]:
        """Judgements of a study with their texts, in plan order."""
        return queries.iterate_judgements(self.read, name, after, limit)

    def recorded(self, name: str) -> Iterator[Judgement]:
        """Recorded verdicts and human votes of a study."""
        return queries.recorded_judgements(self.read, name)

    def judgement(self, name: str, key: str) -> Judgement | None:
        return queries.find_judgement(self.read, name, key)

    def keys_by_seq(self, seqs: Iterable[int]) -> dict[int, str]:
        """Return keys of asks by the sequence number (`seq`) in the frame; judgements replaced
        since are missing."""
        return queries.keys_by_seq(self.read, seqs)

    def seq_of(self, key: str) -> int | None:
        row = self.read("SELECT seq FROM judgements WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def request(self, key: str) -> RequestRecord | None:
        """The request behind a key; None for recorded verdicts and human votes."""
        return queries.find_request(self.read, key)

    def search_judgements(self, name: str, text: str) -> list[int]:
        """Return the sequence numbers (seq) of judgements whose reply or question contains a text,
        ignoring the case of A-Z."""
        return queries.search_judgements(self.read, name, text)

    def latest_judgements(
        self, name: str, count: int, *, failures_only: bool = False
    ) -> list[Judgement]:
        """The last judgements of a study, newest first."""
        return queries.latest_judgements(self.read, name, count, failures_only=failures_only)

    # ---- human votes (written by studies.people.vote_session) --------------------------------

    @property
    def read_connection(self) -> sqlite3.Connection:
        """This thread's connection for reads."""
        return self.read("SELECT 1").connection

    def ballots(self, name: str, voter: str = "") -> list[Ballot]:
        """Ballots of a study, voter by voter in each voter's order."""
        return read_ballots(self.read_connection, name, voter)

    def voting_rules(self, name: str) -> VotingRules:
        """Voting rules of a study."""
        return read_voting_rules(self.read_connection, name)

    def set_voting_rules(self, name: str, voting: VotingRules) -> None:
        self.study(name)
        self.writer.run(lambda connection: put_voting_rules(connection, name, voting))

    def checks(self, name: str) -> dict[str, tuple[AnswerCheck, ...]]:
        """Answer checks made on the page, by item."""
        return checks_by_item(self.ballots(name))

    def selection_reasons(self, name: str) -> dict[str, str]:
        """Reason why each comparison was chosen, by key of its vote: random, flipped or split.

        Only randomly chosen ones may enter estimates. Votes without a reason came with the data.
        """
        return selection_reasons(self.read_connection, name)

    def non_random_votes(self, name: str) -> tuple[int, int]:
        """Count the votes cast on the page: those on comparisons not chosen at random, and all."""
        why = self.selection_reasons(name)
        return sum(chosen != "random" for chosen in why.values()), len(why)

    # ---- the frame --------------------------------------------------------------------

    def version(self, name: str) -> tuple[str, int]:
        """Return the version of a study; it changes with its plan and with any of its
        judgements."""
        return self._versions.current_version(name, self.read)

    def frame_rows(self, name: str, *, since: int = 0) -> list[tuple[Any, ...]]:
        """Return the rows of a study's frame in plan order, without texts.

        `since`: a sequence number (seq); only rows of judgements stored after it are returned.
        """
        return self._frame_row_cursor(name, since).fetchall()

    def _frame_row_cursor(self, name: str, since: int = 0) -> sqlite3.Cursor:
        return queries.frame_row_cursor(self.read, name, since)

    def frame(self, study: str | None = None) -> pd.DataFrame:
        """The judgement frame of a study; without a name, of the only study in the store."""
        name = study or self._only_study()
        spec = self.study(name)
        version = self.version(name)
        with self._versions.study_lock(name):  # panels request it at the same time
            return self._cached_frame(name, spec, version)

    def _cached_frame(self, name: str, spec: Study, version: tuple[str, int]) -> pd.DataFrame:
        cached = self._frames.get(name)
        if cached is None or cached[0] != version:
            frame = read_cached_frame(
                self.path, name, lambda old: self._versions.is_current(name, old, self.read)
            )
            if frame is None:
                frame = self._build_frame(name, spec)
                cache_frame(self.path, name, version, frame)
            cached = self._frames.put(
                name, (version, add_vote_columns(frame, self.read_connection, name))
            )
        return cached[1].copy(deep=False)  # copy-on-write: callers cannot change the cache

    def _build_frame(self, name: str, spec: Study) -> pd.DataFrame:
        return frame_from_rows(
            self._frame_row_cursor(name),
            self.item_facts(name),
            study=name,
            families=spec.families,
            judge_families={judge.name: judge.family for judge in spec.judges},
        )

    def _only_study(self) -> str:
        names = [line.name for line in self.studies()]
        if len(names) != 1:
            listed = ", ".join(names) or "none yet"
            raise StudyError(f"choose a study with --study; this store has: {listed}")
        return names[0]


def open_existing_store(path: Path | None) -> Store:
    """Open a store for a command that must not create one at a mistyped path."""
    if path is not None and not path.exists():
        raise StoreUnusable(f"there is no store at {path}; --store names the SQLite file")
    return Store(path)


@lru_cache(maxsize=256)
def _parse_stored_study(text: str, name: str) -> Study:
    """Parse a study file; cached because parsing YAML is slow and a study is immutable."""
    return parse_study(text, name)
