"""The judgement log as the rest of the house sees it: studies, plans, judgements."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from studies import database
from studies.errors import StudyError
from studies.frame import NO_PICK, SEP, TIE, frame_from_rows
from studies.records import Ask, Item, Judgement, Status, Usage, Verdict
from studies.sources.native import item_from, item_to
from studies.study import Study, dump, parse
from studies.writer import Writer


class Request(NamedTuple):
    """What a key stands for, kept beside it so that a row explains itself."""

    key: str
    endpoint: str
    model: str
    prompt_sha: str
    parameters: str


class PromptText(NamedTuple):
    sha: str
    name: str
    version: int
    yaml: str


@dataclass(frozen=True, slots=True)
class StudyLine:
    """One study in a list."""

    name: str
    recorded: bool
    planned: int
    judged: int
    updated: float


@dataclass(frozen=True, slots=True)
class Changed:
    """What saving a study under an existing name did to its plan."""

    kept: int
    dropped: int
    added: int


_PLAN: Final = "key, item, judge, prompt, shown, labels, repeat, noise, orders, unrelated_item"
_JUDGEMENT: Final = (
    "status, pick, margin, scores, probabilities, mass, rule, finish, prompt_tokens, "
    "completion_tokens, cached_tokens, cache_write, cost, seconds, model, time"
)


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

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = database.connect(self.path)
        return connection.execute(sql, values)

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
            study_id = _put_study(connection, study, plan_sha, only_recorded)
            before = {
                row[0]
                for row in connection.execute(
                    "SELECT key FROM plan WHERE study=? AND origin='live'", (study_id,)
                )
            }
            connection.execute("DELETE FROM plan WHERE study=?", (study_id,))
            _put_items(connection, study_id, items)
            connection.executemany("INSERT OR IGNORE INTO prompts VALUES (?,?,?,?)", prompts)
            after = _put_plan(connection, study_id, asks)
            _put_recorded(connection, study_id, recorded, start=len(after))
            keys = set(after)
            return Changed(len(before & keys), len(before - keys), len(keys - before))

        return self.writer.run(work)  # type: ignore[no-any-return]

    def studies(self) -> list[StudyLine]:
        rows = self.read(
            "SELECT s.name, s.recorded, "
            "(SELECT count(*) FROM plan p WHERE p.study=s.id), "
            "(SELECT count(*) FROM plan p JOIN judgements j USING(key) WHERE p.study=s.id), "
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
            connection.execute("DELETE FROM studies WHERE name=?", (name,))
            return count

        return self.writer.run(work)  # type: ignore[no-any-return]

    def items(self, name: str) -> dict[str, Item]:
        rows = self.read(
            "SELECT i.json FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?) ORDER BY s.position",
            (name,),
        )
        found = (item_from(json.loads(text), "store") for (text,) in rows)
        return {item.id: item for item in found}

    def item(self, name: str, item: str) -> Item | None:
        row = self.read(
            "SELECT i.json FROM study_items s JOIN items i USING(sha) "
            "WHERE s.study=(SELECT id FROM studies WHERE name=?) AND s.item=?",
            (name, item),
        ).fetchone()
        return item_from(json.loads(row[0]), "store") if row else None

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

    # ---- asks and judgements ---------------------------------------------------------------

    def asks(self, name: str) -> Iterator[Ask]:
        """Every live ask of a study in plan order."""
        sql = (
            f"SELECT {_PLAN} FROM plan WHERE study=(SELECT id FROM studies WHERE name=?) "
            "AND origin='live' ORDER BY position"
        )
        return (_ask(row) for row in self.read(sql, (name,)))

    def pending(self, name: str, judge: str, after: int, limit: int) -> list[tuple[int, Ask]]:
        """The next asks of one judge that no stored answer satisfies; an `error` satisfies none."""
        rows = self.read(
            f"SELECT position, {_PLAN} FROM plan p "
            "WHERE study=(SELECT id FROM studies WHERE name=?) AND judge=? AND position>? "
            "AND origin='live' AND NOT EXISTS "
            "(SELECT 1 FROM judgements j WHERE j.key=p.key AND j.status!='error') "
            "ORDER BY position LIMIT ?",
            (name, judge, after, limit),
        )
        return [(row[0], _ask(row[1:])) for row in rows]

    def counts(self, name: str) -> dict[str, int]:
        """Planned asks and how many ended in each status (noise-floor repeats included)."""
        rows = self.read(
            "SELECT COALESCE(j.status, 'pending'), count(*) FROM plan p "
            "LEFT JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin='live' GROUP BY 1",
            (name,),
        ).fetchall()
        found = {str(status): int(count) for status, count in rows}
        return {"planned": sum(found.values()), **found}

    def tokens(self, name: str) -> tuple[int, int]:
        """Prompt and completion tokens of a study's judgements."""
        row = self.read(
            "SELECT COALESCE(sum(prompt_tokens), 0), COALESCE(sum(completion_tokens), 0) "
            "FROM plan p JOIN judgements j USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.origin='live'",
            (name,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def judgements(self, name: str, *, after: int = 0, limit: int = 10**9) -> Iterator[Judgement]:
        """Judgements of a study with their texts, in plan order."""
        rows = self.read(
            f"SELECT {_PLAN}, {_JUDGEMENT}, reply, reasoning, detail FROM plan p "
            "JOIN judgements j USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND p.position>=? "
            "ORDER BY p.position LIMIT ?",
            (name, after, limit),
        )
        return (_judgement(row) for row in rows)

    def judgement(self, name: str, key: str) -> Judgement | None:
        row = self.read(
            f"SELECT {_PLAN}, {_JUDGEMENT}, reply, reasoning, detail FROM plan p "
            "JOIN judgements j USING(key) JOIN replies r USING(key) "
            "WHERE p.study=(SELECT id FROM studies WHERE name=?) AND key=?",
            (name, key),
        ).fetchone()
        return _judgement(row) if row else None

    def latest(self, name: str, count: int, *, failures_only: bool = False) -> list[Judgement]:
        """The last replies as they came, newest first."""
        only = "AND j.status NOT IN ('ok','extracted')" if failures_only else ""
        rows = self.read(
            f"SELECT {_PLAN}, {_JUDGEMENT}, reply, reasoning, detail FROM judgements j "
            "JOIN plan p USING(key) JOIN replies r USING(key) "
            f"WHERE p.study=(SELECT id FROM studies WHERE name=?) AND origin='live' {only} "
            "ORDER BY j.seq DESC LIMIT ?",
            (name, count),
        )
        return [_judgement(row) for row in rows]

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
        return cached[1]

    def _only_study(self) -> str:
        names = [line.name for line in self.studies()]
        if len(names) != 1:
            listed = ", ".join(names) or "none yet"
            raise StudyError(f"name one study with --study; this store holds: {listed}")
        return names[0]


def _put_study(connection: sqlite3.Connection, study: Study, plan_sha: str, recorded: bool) -> int:
    now = time.time()
    connection.execute(
        "INSERT INTO studies(name, yaml, plan_sha, recorded, created, updated) "
        "VALUES (?,?,?,?,?,?) ON CONFLICT(name) DO UPDATE SET yaml=excluded.yaml, "
        "plan_sha=excluded.plan_sha, recorded=excluded.recorded, updated=excluded.updated",
        (study.name, dump(study), plan_sha, int(recorded), now, now),
    )
    row = connection.execute("SELECT id FROM studies WHERE name=?", (study.name,)).fetchone()
    return int(row[0])


def _put_items(connection: sqlite3.Connection, study_id: int, items: Sequence[Item]) -> None:
    connection.execute("DELETE FROM study_items WHERE study=?", (study_id,))
    for position, item in enumerate(items):
        text = json.dumps(item_to(item), ensure_ascii=False, sort_keys=True)
        sha = hashlib.sha256(text.encode()).hexdigest()[:40]
        connection.execute(
            "INSERT OR IGNORE INTO items VALUES (?,?,?)", (sha, text, json.dumps(_narrow(item)))
        )
        connection.execute(
            "INSERT INTO study_items VALUES (?,?,?,?)", (study_id, position, item.id, sha)
        )


def _narrow(item: Item) -> dict[str, Any]:
    lengths = {name: len(text) for name, text in item.responses.items()}
    if item.reference:
        lengths["@reference"] = len(item.reference)
    return {
        "category": item.category,
        "lengths": lengths,
        "human": [
            [p.judge, list(p.shown) if p.shown else None, p.picked, dict(p.ranks)]
            for p in item.human
        ],
    }


def _put_plan(
    connection: sqlite3.Connection, study_id: int, asks: Iterable[tuple[Ask, Request]]
) -> list[str]:
    keys = []
    for position, (ask, request) in enumerate(asks):
        _put_ask(connection, study_id, position, ask, "live")
        connection.execute("INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?)", request)
        keys.append(ask.key)
    return keys


def _put_recorded(
    connection: sqlite3.Connection, study_id: int, recorded: Iterable[Judgement], start: int
) -> None:
    for position, judgement in enumerate(recorded, start):
        _put_ask(connection, study_id, position, judgement.ask, "recorded")
        put_judgement(connection, judgement)


def _put_ask(
    connection: sqlite3.Connection, study_id: int, position: int, ask: Ask, origin: str
) -> None:
    connection.execute(
        "INSERT INTO plan VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            study_id, position, ask.key, ask.item, ask.judge, ask.prompt, SEP.join(ask.shown),
            SEP.join(ask.labels), ask.repeat, int(ask.noise), ask.orders, ask.unrelated_item,
            origin,
        ),
    )  # fmt: skip


def put_judgement(connection: sqlite3.Connection, judgement: Judgement) -> None:
    """Inserts or replaces; a replaced row gets a new seq, so that live views see the change."""
    verdict, usage = judgement.verdict, judgement.usage
    pick = None if verdict is None or verdict.pick is None else verdict.pick
    connection.execute(
        "INSERT OR REPLACE INTO judgements(key, status, pick, margin, scores, probabilities, mass, "
        "rule, finish, prompt_tokens, completion_tokens, cached_tokens, cache_write, cost, "
        "seconds, model, time) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            judgement.ask.key,
            judgement.status,
            TIE if pick == "tie" else pick,
            None if verdict is None else verdict.margin,
            json.dumps(verdict.scores) if verdict and verdict.scores else None,
            json.dumps(verdict.label_probabilities)
            if verdict and verdict.label_probabilities
            else None,
            None if verdict is None else verdict.label_mass,
            judgement.rule,
            judgement.finish,
            usage.prompt,
            usage.completion,
            usage.cached,
            usage.cache_write,
            judgement.cost,
            judgement.seconds,
            judgement.model,
            judgement.time,
        ),
    )
    connection.execute(
        "INSERT OR REPLACE INTO replies VALUES (?,?,?,?)",
        (judgement.ask.key, judgement.reply, judgement.reasoning, judgement.detail),
    )


def _ask(row: Sequence[Any]) -> Ask:
    key, item, judge, prompt, shown, labels, repeat, noise, orders, unrelated = row
    return Ask(
        key=key,
        item=item,
        judge=judge,
        prompt=prompt,
        shown=tuple(shown.split(SEP)),
        labels=tuple(labels.split(SEP)),
        repeat=repeat,
        noise=bool(noise),
        orders=orders,
        unrelated_item=unrelated,
    )


def _judgement(row: Sequence[Any]) -> Judgement:
    ask = _ask(row[:10])
    (status, pick, margin, scores, probabilities, mass, rule, finish, prompt, completion, cached,
     cache_write, cost, seconds, model, at, reply, reasoning, detail) = row[10:]  # fmt: skip
    return Judgement(
        ask=ask,
        status=_status(status),
        verdict=_verdict(status, pick, margin, scores, probabilities, mass),
        rule=rule,
        reply=reply,
        reasoning=reasoning,
        finish=finish,
        usage=Usage(prompt, completion, cached, cache_write),
        cost=cost,
        seconds=seconds,
        model=model,
        time=at,
        detail=detail,
    )


def _status(value: str) -> Status:
    return value  # type: ignore[return-value]  # written by us, from the same list


def _verdict(
    status: str,
    pick: int | None,
    margin: int | None,
    scores: str | None,
    probabilities: str | None,
    mass: float | None,
) -> Verdict | None:
    if status not in ("ok", "extracted") and mass is None:
        return None
    return Verdict(
        pick="tie" if pick == TIE else None if pick in (None, NO_PICK) else pick,
        margin=margin or 0,
        scores=tuple(json.loads(scores)) if scores else (),
        label_probabilities=tuple(json.loads(probabilities)) if probabilities else (),
        label_mass=mass,
    )
