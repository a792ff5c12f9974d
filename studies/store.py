"""The judgement log as the rest of the house sees it: studies, plans, judgements."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from studies import database
from studies.errors import StoreUnusable, StudyError
from studies.frame import frame_from_rows
from studies.owner import is_alive
from studies.records import Ask, Item, Judgement
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
from studies.writer import Writer

_COUNTED: Final = "(s.recorded OR p.origin='live')"
"""People's votes are no asks: they count only where nothing is asked at all."""


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
        self._local = threading.local()
        self._writer: Writer | None = None
        self._frames: dict[str, tuple[tuple[str, int], pd.DataFrame]] = {}
        self._lock = threading.Lock()

    @property
    def owners(self) -> Path:
        """The folder of lock files that say which lease owners are alive."""
        return self.path.with_name(self.path.name + "-owners")

    @property
    def writer(self) -> Writer:
        with self._lock:
            if self._writer is None:
                self._writer = Writer(lambda: database.connect(self.path))
            return self._writer

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        if (connection := self._local.__dict__.pop("connection", None)) is not None:
            connection.close()  # this thread's; those of others go with their threads

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = database.connect(self.path)
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
        """Writes a study and its plan in one transaction; judgements already there stay."""

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
            put_recorded(connection, study_id, recorded, start=len(after))
            keys = set(after)
            return Changed(len(before & keys), len(before - keys), len(keys - before))

        return self.writer.run(work)  # type: ignore[no-any-return]

    def studies(self) -> list[StudyLine]:
        rows = self.read(
            "SELECT s.name, s.recorded, "
            f"(SELECT count(*) FROM plan p WHERE p.study=s.id AND {_COUNTED}), "
            "(SELECT count(*) FROM plan p JOIN judgements j USING(key) "
            f"WHERE p.study=s.id AND {_COUNTED}), "
            "s.updated FROM studies s ORDER BY s.updated DESC"
        )
        return [
            StudyLine(name, bool(r), planned, judged, t) for name, r, planned, judged, t in rows
        ]

    def study(self, name: str) -> Study:
        row = self.read("SELECT yaml FROM studies WHERE name=?", (name,)).fetchone()
        if row is None:
            known = ", ".join(line.name for line in self.studies()) or "none yet"
            raise StudyError(f"no study named {name!r} in this store. Known studies: {known}")
        return parse(row[0], name)

    def plan_sha(self, name: str) -> str:
        row = self.read("SELECT plan_sha FROM studies WHERE name=?", (name,)).fetchone()
        return row[0] if row else ""

    def delete_study(self, name: str) -> int:
        """Removes a study and the judgements no other study asks for; returns how many went."""
        self.study(name)

        def work(connection: sqlite3.Connection) -> int:
            keys = "SELECT key FROM plan WHERE study=(SELECT id FROM studies WHERE name=?)"
            others = "SELECT key FROM plan WHERE study!=(SELECT id FROM studies WHERE name=?)"
            gone = f"key IN ({keys}) AND key NOT IN ({others})"
            connection.execute(f"DELETE FROM replies WHERE {gone}", (name, name))
            count = connection.execute(
                f"DELETE FROM judgements WHERE {gone}", (name, name)
            ).rowcount
            connection.execute(f"DELETE FROM requests WHERE {gone}", (name, name))
            delete_orphaned_extractions(connection)
            connection.execute("DELETE FROM studies WHERE name=?", (name,))
            connection.execute("DELETE FROM items WHERE sha NOT IN (SELECT sha FROM study_items)")
            return count

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
        """Category, answer lengths and preferences of every item, without its texts."""
        rows = self.read(
            "SELECT s.item, i.narrow FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?)",
            (name,),
        )
        return {item: json.loads(text) for item, text in rows}

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
        rows = self.read(
            f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM judgements j "
            "JOIN plan p USING(key) JOIN replies r USING(key) "
            f"WHERE p.study=(SELECT id FROM studies WHERE name=?) {only} "
            "ORDER BY j.seq DESC LIMIT ?",
            (name, count),
        )
        return [judgement_of(row) for row in rows]

    def version(self, name: str) -> tuple[str, int]:
        """Changes when the study's plan or any of its judgements does."""
        row = self.read(
            "SELECT s.plan_sha || s.updated, COALESCE((SELECT max(seq) FROM judgements), 0) "
            "FROM studies s WHERE s.name=?",
            (name,),
        ).fetchone()
        return (row[0], row[1]) if row else ("", 0)

    def narrow_rows(self, name: str, *, since: int = 0) -> list[tuple[Any, ...]]:
        """What the frame is made of, in plan order: no texts are touched.

        `since` is a cursor (a judgement's seq): only rows written after it.
        """
        return self.read(
            "SELECT p.position, p.item, p.judge, p.prompt, p.shown, p.labels, p.repeat, p.noise, "
            "p.orders, j.status, j.pick, j.margin, j.scores, j.probabilities, j.seq "
            "FROM plan p JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND j.seq>? ORDER BY p.position",
            (name, since),
        ).fetchall()

    def frame(self, study: str | None = None) -> pd.DataFrame:
        """The narrow table that metrics read: of one study, or of the only one there is."""
        name = study or self._only_study()
        spec = self.study(name)
        version = self.version(name)
        cached = self._frames.get(name)
        if cached is None or cached[0] != version:
            frame = frame_from_rows(
                self.narrow_rows(name),
                self.narrow_items(name),
                study=name,
                families=spec.families,
                judge_families={judge.name: judge.family for judge in spec.judges},
            )
            cached = self._frames[name] = (version, frame)
        return cached[1].copy(deep=False)  # copy-on-write: nobody's new column is in the cache

    def _only_study(self) -> str:
        names = [line.name for line in self.studies()]
        if len(names) != 1:
            listed = ", ".join(names) or "none yet"
            raise StudyError(f"name one study with --study; this store holds: {listed}")
        return names[0]


def _past_run(row: Sequence[Any], owners: Path) -> PastRun:
    run_id, study, owner, state, reason, started, ended = row
    if ended is None and not is_alive(owners, owner):
        state = "interrupted"
        reason = "its process ended; start the study again to go on where it stopped"
    return PastRun(run_id, study, state, reason, started, ended, owner)
