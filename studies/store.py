"""The judgement log as the rest of the house sees it: studies, plans, judgements."""

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

from studies import asked, database, look_ups
from studies.ballots import (
    Ballot,
    Voting,
    ballots_of,
    checks_in,
    chosen_in,
    put_voting,
    voting_of,
)
from studies.errors import StoreUnusable, StudyError
from studies.frame import frame_from_rows
from studies.kept import forget, keep, keep_value, read_kept, read_value, register_maker
from studies.past_runs import PastRun as PastRun
from studies.past_runs import past_runs
from studies.recent import Recent
from studies.records import Ask, Check, Item, Judgement
from studies.removed import Watch
from studies.rows import PromptText, Request
from studies.saving import Changed as Changed
from studies.saving import delete_whole, put_whole
from studies.study import Study, parse
from studies.versions import Value, Versions
from studies.vote_facts import with_vote_facts
from studies.writer import Writer

register_maker(sys.modules[__name__])

FRAMES: Final = 32
"""Studies whose frames stay in memory: strangers make many."""
LONG: Final = 1.0
"""Seconds of counting whose result is worth a file."""


@dataclass(frozen=True, slots=True)
class StudyLine:
    """One study in a list."""

    name: str
    recorded: bool
    planned: int
    judged: int
    updated: float


class Store:
    """One SQLite file. Reads go through a connection per thread, writes through one writer."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else database.default_path()
        database.prepare(self.path)
        self.watch = Watch(self.path)
        self._local = threading.local()
        self._writer: Writer | None = None
        self._frames: Recent[str, tuple[tuple[str, int], pd.DataFrame]] = Recent(FRAMES)
        self._versions = Versions()
        self._lock = threading.Lock()

    @property
    def owners(self) -> Path:
        """The folder of lock files that say which lease owners are alive."""
        return self.path.with_name(self.path.name + "-owners")

    @property
    def writer(self) -> Writer:
        with self._lock:
            if self._writer is None:
                self._writer = self._new_writer()
                self._writer.check = self.watch.check
            return self._writer

    @property
    def bare(self) -> Store:
        """The whole store: what a guarded one stands before (studies/guarded.py)."""
        return self

    @property
    def folder(self) -> Path:
        """Where uploads and prompts are kept, and what a study's paths are relative to."""
        return self.path.parent

    @property
    def salt(self) -> str:
        """What makes the asks of whoever saves a study their own; empty: asks are everybody's."""
        return ""

    def salt_of(self, name: str) -> str:
        """The salt with which a study was saved."""
        return ""

    def folder_of(self, name: str) -> Path:
        """The folder that a study's own paths are relative to, whoever looks at it."""
        return self.folder

    def owns(self, name: str) -> bool:
        """Whether whoever asks may run and change a study."""
        return True

    def own_name(self, name: str) -> str:
        """The name under which whoever asks keeps a study of that name."""
        return name

    def _new_writer(self) -> Writer:
        return Writer(lambda: database.connect(self.path))

    def _opened(self) -> sqlite3.Connection:
        """A connection for the reads of one thread."""
        return database.connect(self.path)

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        self.watch.close()
        if (connection := self._local.__dict__.pop("connection", None)) is not None:
            connection.close()  # this thread's; those of others go with their threads

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None or self._local.file != self.watch.check():
                self._local.file = self.watch.check()
                connection = self._local.connection = self._opened()
            return connection.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise StoreUnusable(f"the store {self.path} cannot be read: {error}") from error

    # ---- studies -------------------------------------------------------------------------

    def save_study(
        self,
        study: Study,
        items: Sequence[Item],
        asks: Iterable[tuple[Ask, Request]],
        prompts: Iterable[PromptText] = (),
        *,
        plan_sha: str = "",
        recorded: Iterable[Judgement] = (),
        only_recorded: bool = False,
    ) -> Changed:
        """Writes a study and its plan in one transaction; judgements already there stay, and the
        votes cast on the page with them."""

        def work(connection: sqlite3.Connection) -> Changed:
            return put_whole(
                connection, study, items, asks, prompts, recorded, plan_sha=plan_sha,
                only_recorded=only_recorded,
            )  # fmt: skip

        return self.writer.run(work)  # type: ignore[no-any-return]

    def studies(self) -> list[StudyLine]:
        rows = self.read("SELECT name, recorded, updated FROM studies ORDER BY updated DESC")
        return [self._line(*row) for row in rows.fetchall()]

    def _line(self, name: str, recorded: int, updated: float) -> StudyLine:
        """People's votes are no asks: they count only where nothing is asked at all."""
        found = Counter(self._counted(name, "live"))
        if recorded:
            found += Counter(self._counted(name, "recorded"))
        planned = found.total()
        return StudyLine(name, bool(recorded), planned, planned - found["pending"], updated)

    def study(self, name: str) -> Study:
        row = self.read("SELECT yaml FROM studies WHERE name=?", (name,)).fetchone()
        if row is None:
            known = ", ".join(line.name for line in self.studies()) or "none yet"
            raise StudyError(f"no study named {name!r} in this store. Known studies: {known}")
        return _parsed(row[0], name)

    def plan_sha(self, name: str) -> str:
        row = self.read("SELECT plan_sha FROM studies WHERE name=?", (name,)).fetchone()
        return row[0] if row else ""

    def delete_study(self, name: str) -> int:
        """Removes a study and the judgements no other study asks for; returns how many went."""
        self.study(name)
        self._frames.drop(name)
        forget(self.path, name)
        return self.writer.run(lambda connection: delete_whole(connection, name))  # type: ignore[no-any-return]

    def items(self, name: str) -> dict[str, Item]:
        return look_ups.items(self.read, name)

    def item(self, name: str, item: str) -> Item | None:
        return look_ups.item(self.read, name, item)

    def narrow_items(self, name: str) -> dict[str, dict[str, Any]]:
        """Category, answer lengths, preferences and suspects of every item, without its texts.

        Read once until the study is saved again, for all who ask: only to be looked at.
        """
        saved = self.version(name)[0], 0
        return self._versions.kept(
            name, "narrow items", saved, lambda: look_ups.narrow_items(self.read, name)
        )

    def questions(self, name: str, items: Iterable[str]) -> dict[str, str]:
        """The instructions of some items, without their answers."""
        return look_ups.questions(self.read, name, items)

    def prompt_yaml(self, sha: str) -> str | None:
        return look_ups.prompt_yaml(self.read, sha)

    def prompt_of(self, study: str, prompt: str) -> str | None:
        """The text of a prompt as a study's asks were planned with it."""
        return look_ups.prompt_of(self.read, study, prompt)

    def recorded_prompt(self, study: str, name: str) -> str | None:
        """Recorded asks carry no request; a prompt's words are known where one version was kept."""
        return look_ups.only_prompt(self.read, name)

    # ---- asks and judgements ---------------------------------------------------------------

    def asks(self, name: str) -> Iterator[Ask]:
        """Every live ask of a study in plan order."""
        return asked.asks(self.read, name)

    def asks_anything(self, name: str) -> bool:
        """Whether a study of that name has live asks."""
        return asked.has_any(self.read, name)

    def pending(
        self,
        name: str,
        judge: str,
        after: int,
        limit: int,
        *,
        again: Sequence[str] = ("error",),
        began: int = 2**62,
    ) -> list[tuple[int, Ask]]:
        """The next asks of one judge that no stored answer satisfies; an `error` satisfies none.

        `again`: statuses that do not satisfy, unless written after the seq `began`.
        """
        return asked.pending(self.read, name, judge, after, limit, again, began)

    def unextracted(
        self, name: str, prompts: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Judgement]]:
        """Unreadable judgements written after a seq whose reply no extraction has read yet."""
        return asked.unextracted(self.read, name, prompts, after, limit)

    def extraction_of(self, key: str) -> tuple[str, str, str, str] | None:
        """Key, reply, finish reason and top log-probabilities of the extraction that read an ask's
        reply."""
        return look_ups.extraction_of(self.read, key)

    def runs(self, study: str | None = None) -> list[PastRun]:
        """Runs of this store, newest first; one whose process is gone was interrupted."""
        return past_runs(self.read, self.owners, study)

    def counts(self, name: str, *, recorded: bool = False) -> dict[str, int]:
        """Planned asks and how many ended in each status (noise-floor repeats included).

        With `recorded`, a study that has nothing to ask counts its recorded judgements.
        """
        found = self._counted(name, "live")
        if recorded and not found:
            found = self._counted(name, "recorded")
            return {"planned": sum(found.values()), "recorded": sum(found.values()), **found}
        return {"planned": sum(found.values()), **found}

    def _counted(self, name: str, origin: str) -> dict[str, int]:
        return dict(self.kept(name, origin, lambda: self._tallied(name, origin)))

    def kept(self, name: str, what: str, work: Callable[[], Value]) -> Value:
        """Worked out once for each version of a study, and kept on disk if that took long. What
        `work` gives must be the same after a trip through JSON."""
        version = self.version(name)

        def worked_out() -> Value:
            value: Value | None = read_value(
                self.path, name, what, lambda old: self._versions.holds(name, old, self.read)
            )
            if value is None:
                began = time.monotonic()
                value = work()
                if time.monotonic() - began > LONG:
                    keep_value(self.path, name, what, version, value)
            return value

        return self._versions.kept(name, what, version, worked_out)

    def _tallied(self, name: str, origin: str) -> dict[str, int]:
        return asked.tallied(self.read, name, origin)

    def tokens(self, name: str) -> tuple[int, int]:
        """Prompt and completion tokens of a study's judgements."""
        return asked.tokens(self.read, name)

    def pace(self, endpoint: str) -> tuple[float, float] | None:
        """Prompt tokens and calls a second of the last judgements from an endpoint, one by one."""
        return asked.pace(self.read, endpoint)

    def judgements(self, name: str, *, after: int = 0, limit: int = 10**9) -> Iterator[Judgement]:
        """Judgements of a study with their texts, in plan order."""
        return asked.judgements(self.read, name, after, limit)

    def recorded(self, name: str) -> Iterator[Judgement]:
        """What a study holds that nobody was asked: recorded verdicts and human votes."""
        return asked.recorded(self.read, name)

    def judgement(self, name: str, key: str) -> Judgement | None:
        return look_ups.judgement(self.read, name, key)

    def keys_at(self, seqs: Iterable[int]) -> dict[int, str]:
        """Keys by the frame's `seq`; one that was replaced since has gone."""
        return look_ups.keys_at(self.read, seqs)

    def seq_of(self, key: str) -> int | None:
        row = self.read("SELECT seq FROM judgements WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def request(self, key: str) -> Request | None:
        """What a key stands for; a recorded or human judgement has none."""
        return look_ups.request(self.read, key)

    def matching(self, name: str, text: str) -> list[int]:
        """The seqs of judgements whose reply or question holds a text, whatever its case."""
        return look_ups.matching(self.read, name, text)

    def latest(self, name: str, count: int, *, failures_only: bool = False) -> list[Judgement]:
        """The last replies as they came, newest first."""
        return look_ups.latest(self.read, name, count, failures_only=failures_only)

    # ---- people's votes: what decides and writes them is studies.voting -----------------------

    @property
    def reading(self) -> sqlite3.Connection:
        """This thread's connection for reads."""
        return self.read("SELECT 1").connection

    def ballots(self, name: str, voter: str = "") -> list[Ballot]:
        """What people were shown on the page, voter by voter in the person's own order."""
        return ballots_of(self.reading, name, voter)

    def voting(self, name: str) -> Voting:
        """The rules by which people vote on a study."""
        return voting_of(self.reading, name)

    def set_voting(self, name: str, voting: Voting) -> None:
        self.study(name)
        self.writer.run(lambda connection: put_voting(connection, name, voting))

    def checks(self, name: str) -> dict[str, tuple[Check, ...]]:
        """What people verified on the page, by item."""
        return checks_in(self.ballots(name))

    def chosen(self, name: str) -> dict[str, str]:
        """By key of a vote cast on a page: random, or flipped or split, which no estimate may
        rest on. A vote that is not here came with the data."""
        return chosen_in(self.reading, name)

    def chosen_share(self, name: str) -> tuple[int, int]:
        """How many votes cast on a page are on comparisons not chosen at random, and of how
        many."""
        why = self.chosen(name)
        return sum(chosen != "random" for chosen in why.values()), len(why)

    # ---- the frame --------------------------------------------------------------------

    def version(self, name: str) -> tuple[str, int]:
        """Changes when the study's plan or any of its judgements does."""
        return self._versions.of(name, self.read)

    def narrow_rows(self, name: str, *, since: int = 0) -> list[tuple[Any, ...]]:
        """What the frame is made of, in plan order: no texts are touched.

        `since` is a cursor (a judgement's seq): only rows written after it.
        """
        return self._narrow_cursor(name, since).fetchall()

    def _narrow_cursor(self, name: str, since: int = 0) -> sqlite3.Cursor:
        return asked.narrow_cursor(self.read, name, since)

    def frame(self, study: str | None = None) -> pd.DataFrame:
        """The narrow table that metrics read: of one study, or of the only one there is."""
        name = study or self._only_study()
        spec = self.study(name)
        version = self.version(name)
        with self._versions.turn(name):  # the panels of one page want it at once: made once
            return self._framed(name, spec, version)

    def _framed(self, name: str, spec: Study, version: tuple[str, int]) -> pd.DataFrame:
        cached = self._frames.get(name)
        if cached is None or cached[0] != version:
            frame = read_kept(
                self.path, name, lambda old: self._versions.holds(name, old, self.read)
            )
            if frame is None:
                frame = self._made_frame(name, spec)
                keep(self.path, name, version, frame)
            cached = self._frames.put(name, (version, with_vote_facts(frame, self.reading, name)))
        return cached[1].copy(deep=False)  # copy-on-write: nobody's new column is in the cache

    def _made_frame(self, name: str, spec: Study) -> pd.DataFrame:
        return frame_from_rows(
            self._narrow_cursor(name),
            self.narrow_items(name),
            study=name,
            families=spec.families,
            judge_families={judge.name: judge.family for judge in spec.judges},
        )

    def _only_study(self) -> str:
        names = [line.name for line in self.studies()]
        if len(names) != 1:
            listed = ", ".join(names) or "none yet"
            raise StudyError(f"name one study with --study; this store holds: {listed}")
        return names[0]


def existing(path: Path | None) -> Store:
    """Looking at a store must not make one where a name was mistyped."""
    if path is not None and not path.exists():
        raise StoreUnusable(f"there is no store at {path}; --store names the SQLite file")
    return Store(path)


@lru_cache(maxsize=256)
def _parsed(text: str, name: str) -> Study:
    """A study is frozen, and reading its YAML takes longer than drawing a table of it."""
    return parse(text, name)
