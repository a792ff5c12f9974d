"""The judgement log as the rest of the house sees it: studies, plans, judgements."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from studies import database
from studies.ballots import (
    Ballot,
    Voting,
    ballots_of,
    checks_in,
    chosen_in,
    keys_cast,
    put_votes_back,
    put_voting,
    voting_of,
)
from studies.errors import StoreUnusable, StudyError
from studies.frame import frame_from_rows
from studies.kept import forget, keep, keep_value, read_kept, read_value
from studies.owner import is_alive
from studies.records import Ask, Check, Item, Judgement
from studies.removed import Watch
from studies.rows import (
    JUDGEMENT,
    PLAN,
    TEXTS,
    PromptText,
    Request,
    ask_of,
    delete_orphaned_extractions,
    judgement_of,
    put_items,
    put_plan,
    put_recorded,
    put_study,
)
from studies.sources.native import stored_item
from studies.study import Study, parse
from studies.suspects import suspicious_in
from studies.versions import Value, Versions
from studies.vote_facts import with_vote_facts
from studies.writer import Writer

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


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run as the store remembers it; `state` is running, paused, stopped, done, failed or
    interrupted."""

    id: str
    study: str
    state: str
    reason: str
    started: float
    ended: float | None
    owner: str = ""
    """Whose attempts are this run's."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What saving a study under an existing name did to its plan."""

    kept: int
    dropped: int
    added: int


class Store:
    """One SQLite file. Reads go through a connection per thread, writes through one writer."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else database.default_path()
        database.prepare(self.path)
        self.watch = Watch(self.path)
        self._local = threading.local()
        self._writer: Writer | None = None
        self._frames: dict[str, tuple[tuple[str, int], pd.DataFrame]] = {}
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
            study_id = put_study(connection, study, plan_sha, only_recorded)
            before = {
                row[0]
                for row in connection.execute(
                    "SELECT key FROM plan WHERE study=? AND origin='live'", (study_id,)
                )
            }
            connection.execute("DELETE FROM plan WHERE study=?", (study_id,))
            put_items(connection, study_id, items)
            connection.executemany("INSERT OR IGNORE INTO prompts VALUES (?,?,?,?)", prompts)
            after = put_plan(connection, study_id, asks)
            cast = keys_cast(connection, study.name)
            others = (j for j in recorded if j.ask.key not in cast)
            put_recorded(connection, study_id, others, start=len(after))
            put_votes_back(connection, study.name)
            keys = set(after)
            return Changed(len(before & keys), len(before - keys), len(keys - before))

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

        def work(connection: sqlite3.Connection) -> int:
            mine = "study=(SELECT id FROM studies WHERE name=?1)"
            keys = (
                f"SELECT key FROM plan WHERE {mine} UNION "
                f"SELECT key FROM ballots WHERE {mine} AND key IS NOT NULL"
            )
            others = "SELECT key FROM plan WHERE study!=(SELECT id FROM studies WHERE name=?1)"
            gone = f"key IN ({keys}) AND key NOT IN ({others})"
            connection.execute(f"DELETE FROM replies WHERE {gone}", (name,))
            count = connection.execute(f"DELETE FROM judgements WHERE {gone}", (name,)).rowcount
            connection.execute(f"DELETE FROM requests WHERE {gone}", (name,))
            delete_orphaned_extractions(connection)
            connection.execute("DELETE FROM studies WHERE name=?", (name,))
            connection.execute("DELETE FROM items WHERE sha NOT IN (SELECT sha FROM study_items)")
            return count

        self._frames.pop(name, None)
        forget(self.path, name)
        return self.writer.run(work)  # type: ignore[no-any-return]

    def items(self, name: str) -> dict[str, Item]:
        rows = self.read(
            "SELECT i.json FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?) ORDER BY s.position",
            (name,),
        )
        found = (stored_item(json.loads(text)) for (text,) in rows)
        return {item.id: item for item in found}

    def item(self, name: str, item: str) -> Item | None:
        row = self.read(
            "SELECT i.json FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?) AND s.item=?",
            (name, item),
        ).fetchone()
        return stored_item(json.loads(row[0])) if row else None

    def narrow_items(self, name: str) -> dict[str, dict[str, Any]]:
        """Category, answer lengths, preferences and suspects of every item, without its texts.

        An item that was stored before suspects were looked for is looked at now.
        """
        rows = self.read(
            "SELECT s.item, i.narrow, CASE instr(i.narrow, '\"suspects\":') WHEN 0 THEN i.json END "
            "FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?)",
            (name,),
        )
        return {item: _narrow(narrow, whole) for item, narrow, whole in rows}

    def prompt_yaml(self, sha: str) -> str | None:
        row = self.read("SELECT yaml FROM prompts WHERE sha=?", (sha,)).fetchone()
        return row[0] if row else None

    def prompt_of(self, study: str, prompt: str) -> str | None:
        """The text of a prompt as a study's asks were planned with it."""
        row = self.read(
            "SELECT yaml FROM prompts WHERE name=? AND sha IN (SELECT r.prompt_sha FROM plan p "
            "JOIN requests r USING(key) WHERE p.study=(SELECT id FROM studies WHERE name=?) "
            "AND p.prompt=? LIMIT 1)",
            (prompt, study, prompt),
        ).fetchone()
        return row[0] if row else None

    def recorded_prompt(self, study: str, name: str) -> str | None:
        """Recorded asks carry no request; a prompt's words are known where one version was kept."""
        rows = self.read("SELECT yaml FROM prompts WHERE name=? LIMIT 2", (name,)).fetchall()
        return rows[0][0] if len(rows) == 1 else None

    # ---- asks and judgements ---------------------------------------------------------------

    def asks(self, name: str) -> Iterator[Ask]:
        """Every live ask of a study in plan order."""
        sql = (
            f"SELECT {PLAN} FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
            "AND origin='live' ORDER BY position"
        )
        return (ask_of(row) for row in self.read(sql, (name,)))

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
        rows = self.read(
            f"SELECT position, {PLAN} FROM plan p "
            "WHERE study=(SELECT id FROM studies WHERE name=?) AND judge=? AND position>? "
            "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
            f"AND (j.status NOT IN ({','.join('?' * len(again))}) OR j.seq>?)) "
            "ORDER BY position LIMIT ?",
            (name, judge, after, *again, began, limit),
        )
        return [(row[0], ask_of(row[1:])) for row in rows]

    def unextracted(
        self, name: str, prompts: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Judgement]]:
        """Unreadable judgements written after a seq whose reply no extraction has read yet."""
        rows = self.read(
            f"SELECT j.seq, {PLAN}, {JUDGEMENT}, {TEXTS} FROM judgements j "
            "JOIN plan p USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND j.seq>? AND p.origin='live' "
            f"AND j.status='unreadable' AND p.prompt IN ({','.join('?' * len(prompts))}) "
            "AND NOT EXISTS (SELECT 1 FROM extractions e JOIN judgements x ON x.key=e.key "
            "WHERE e.reads=j.key AND x.status!='error') ORDER BY j.seq LIMIT ?",
            (name, after, *prompts, limit),
        )
        return [(row[0], judgement_of(row[1:])) for row in rows]

    def extraction_of(self, key: str) -> tuple[str, str, str, str] | None:
        """Key, reply, finish reason and top log-probabilities of the extraction that read an ask's
        reply."""
        row = self.read(
            "SELECT e.key, r.reply, j.finish, COALESCE(r.top, '') FROM extractions e "
            "JOIN judgements j ON j.key=e.key "
            "JOIN replies r ON r.key=e.key WHERE e.reads=? ORDER BY j.seq DESC LIMIT 1",
            (key,),
        ).fetchone()
        return row if row else None

    def runs(self, study: str | None = None) -> list[PastRun]:
        """Runs of this store, newest first; one whose process is gone was interrupted."""
        rows = self.read(
            "SELECT id, study, owner, state, reason, started, ended FROM runs "
            "WHERE ?1 IS NULL OR study=?1 ORDER BY started DESC",
            (study,),
        ).fetchall()
        return [_past_run(row, self.owners) for row in rows]

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
        rows = self.read(
            "SELECT COALESCE(j.status, 'pending'), count(*) FROM plan p "
            "LEFT JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin=? GROUP BY 1",
            (name, origin),
        )
        return {str(status): int(count) for status, count in rows}

    def tokens(self, name: str) -> tuple[int, int]:
        """Prompt and completion tokens of a study's judgements."""
        row = self.read(
            "SELECT COALESCE(sum(prompt_tokens), 0), COALESCE(sum(completion_tokens), 0) "
            "FROM plan p JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin='live'",
            (name,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def pace(self, endpoint: str) -> tuple[float, float] | None:
        """Prompt tokens and calls a second of the last judgements from an endpoint, one by one."""
        tokens, calls, seconds = self.read(
            "SELECT sum(prompt_tokens - cached_tokens), count(*), sum(seconds) FROM "
            "(SELECT j.* FROM judgements j JOIN requests r USING(key) WHERE r.endpoint=? "
            "AND j.status IN ('ok','extracted','unreadable') ORDER BY j.seq DESC LIMIT 100)",
            (endpoint,),
        ).fetchone()
        return (float(tokens) / seconds, calls / seconds) if calls >= 5 and seconds > 0 else None

    def judgements(self, name: str, *, after: int = 0, limit: int = 10**9) -> Iterator[Judgement]:
        """Judgements of a study with their texts, in plan order."""
        rows = self.read(
            f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM plan p "
            "JOIN judgements j USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.position>=? "
            "ORDER BY p.position LIMIT ?",
            (name, after, limit),
        )
        return (judgement_of(row) for row in rows)

    def recorded(self, name: str) -> Iterator[Judgement]:
        """What a study holds that nobody was asked: recorded verdicts and human votes."""
        rows = self.read(
            f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM plan p "
            "JOIN judgements j USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin='recorded' "
            "ORDER BY p.position",
            (name,),
        )
        return (judgement_of(row) for row in rows)

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

    def asks_anything(self, name: str) -> bool:
        """Whether a study of that name has live asks."""
        found = self.read(
            "SELECT 1 FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
            "AND origin='live' LIMIT 1",
            (name,),
        )
        return found.fetchone() is not None

    def judgement(self, name: str, key: str) -> Judgement | None:
        row = self.read(
            f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM plan p "
            "JOIN judgements j USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND key=?",
            (name, key),
        ).fetchone()
        return judgement_of(row) if row else None

    def keys_at(self, seqs: Iterable[int]) -> dict[int, str]:
        """Keys by the frame's `seq`; one that was replaced since has gone."""
        wanted = list(seqs)
        places = ",".join("?" * len(wanted))
        return dict(self.read(f"SELECT seq, key FROM judgements WHERE seq IN ({places})", wanted))

    def seq_of(self, key: str) -> int | None:
        row = self.read("SELECT seq FROM judgements WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def request(self, key: str) -> Request | None:
        """What a key stands for; a recorded or human judgement has none."""
        row = self.read(
            "SELECT key, endpoint, model, prompt_sha, parameters FROM requests WHERE key=?", (key,)
        ).fetchone()
        return Request(*row) if row else None

    def questions(self, name: str, items: Iterable[str]) -> dict[str, str]:
        """The instructions of some items, without their answers."""
        wanted = list(items)
        places = ",".join("?" * len(wanted))
        rows = self.read(
            "SELECT s.item, json_extract(i.json, '$.instruction') "
            "FROM study_items s JOIN items i USING(sha) "
            f"WHERE s.study=(SELECT id FROM studies WHERE name=?) AND s.item IN ({places})",
            (name, *wanted),
        )
        return dict(rows)

    def matching(self, name: str, text: str) -> list[int]:
        """The seqs of judgements whose reply or question holds a text, whatever its case."""
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        like, study = f"%{escaped}%", "(SELECT id FROM studies WHERE name=?)"
        rows = self.read(
            "SELECT j.seq FROM plan p JOIN judgements j USING(key) JOIN replies r USING(key) "
            f"WHERE p.study={study} AND (r.reply LIKE ? ESCAPE '\\' OR p.item IN "
            "(SELECT s.item FROM study_items s JOIN items i USING(sha) "
            f"WHERE s.study={study} AND json_extract(i.json, '$.instruction') LIKE ? ESCAPE '\\'))",
            (name, like, name, like),
        )
        return [seq for (seq,) in rows]

    def latest(self, name: str, count: int, *, failures_only: bool = False) -> list[Judgement]:
        """The last replies as they came, newest first."""
        only = "AND j.status NOT IN ('ok','extracted')" if failures_only else ""
        mine = "p.study=(SELECT id FROM studies WHERE name=?)"
        # Cross joins are done as they are written: back from the newest until enough are found,
        # without their texts; a study of a million would else be sorted for its last eight.
        newest = [
            seq
            for (seq,) in self.read(
                f"SELECT j.seq FROM judgements j CROSS JOIN plan p ON p.key=j.key WHERE {mine} "
                f"{only} ORDER BY j.seq DESC LIMIT ?",
                (name, count),
            )
        ]
        rows = self.read(
            f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM judgements j "
            "CROSS JOIN plan p USING(key) CROSS JOIN replies r USING(key) "
            f"WHERE {mine} AND j.seq IN ({','.join('?' * len(newest))}) ORDER BY j.seq DESC",
            (name, *newest),
        )
        return [judgement_of(row) for row in rows]

    def version(self, name: str) -> tuple[str, int]:
        """Changes when the study's plan or any of its judgements does."""
        return self._versions.of(name, self.read)

    def narrow_rows(self, name: str, *, since: int = 0) -> list[tuple[Any, ...]]:
        """What the frame is made of, in plan order: no texts are touched.

        `since` is a cursor (a judgement's seq): only rows written after it.
        """
        return self._narrow_cursor(name, since).fetchall()

    def _narrow_cursor(self, name: str, since: int = 0) -> sqlite3.Cursor:
        """Row by row: five million at once would not fit."""
        return self.read(
            "SELECT p.position, p.item, p.judge, p.prompt, p.shown, p.labels, p.repeat, p.noise, "
            "p.orders, j.status, j.pick, j.margin, j.scores, j.probabilities, j.seq "
            f"FROM {'judgements j CROSS JOIN plan p' if since else 'plan p JOIN judgements j'} "
            "ON p.key=j.key "  # a cross join is done as it is written: first what came since
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND j.seq>? ORDER BY p.position",
            (name, since),
        )

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
            cached = self._frames[name] = (version, with_vote_facts(frame, self, name))
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


@lru_cache(maxsize=256)
def _parsed(text: str, name: str) -> Study:
    """A study is frozen, and reading its YAML takes longer than drawing a table of it."""
    return parse(text, name)


def _narrow(narrow: str, whole: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(narrow)
    if whole is not None:
        facts["suspects"] = suspicious_in(stored_item(json.loads(whole)))
    return facts


def _past_run(row: Sequence[Any], owners: Path) -> PastRun:
    run_id, study, owner, state, reason, started, ended = row
    if ended is None and not is_alive(owners, owner):
        state = "interrupted"
        reason = "its process ended; start the study again to go on where it stopped"
    return PastRun(run_id, study, state, reason, started, ended, owner)
