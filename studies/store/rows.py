"""Conversion between domain objects and rows of the store: studies, plans, judgements."""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from studies.domain import QUESTION_META, Ask, Item, Judgement, Usage, Verdict
from studies.files.items import dump_item
from studies.frames.frame_codes import NO_PICK, SEP, TIE
from studies.frames.known_answers import right_rubric_levels, right_verdicts
from studies.spec.study import Study, dump_study
from studies.texts.injection import list_suspect_places


class RequestRecord(NamedTuple):
    """A call as it is sent to an endpoint: the endpoint, the model, the hash of the prompt and
    further parameters (JSON). `key` is the key of the call, a hash of these; the record is
    stored so that the page can show the call."""

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


PLAN_COLUMNS: Final = (
    "key, item, judge, prompt, shown, labels, repeat, noise, orders, unrelated_item"
)
JUDGEMENT_COLUMNS: Final = (
    "status, pick, margin, scores, probabilities, mass, rule, finish, prompt_tokens, "
    "completion_tokens, cached_tokens, cache_write, cost, seconds, model, time"
)
REPLY_COLUMNS: Final = "reply, reasoning, detail, top"
"""Columns of a judgement with long texts, which queries for frames do not read."""
STUDY_ID: Final = "(SELECT id FROM studies WHERE name=?)"
LAST_USED: Final = (
    "max(s.updated, "
    "COALESCE((SELECT max(max(started, COALESCE(ended, 0))) FROM runs WHERE study=s.name), 0), "
    "COALESCE((SELECT max(done) FROM ballots WHERE study=s.id), 0))"
)
"""SQL expression: time at which the study in the row `s` was last saved, run or voted on."""
SELECT_JUDGEMENTS: Final = (
    f"SELECT {PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS} FROM plan p "
    "JOIN judgements j USING(key) JOIN replies r USING(key)"
)
"""Query for judgements with their texts, in the column order that `judgement_from_row` expects."""


def put_study(connection: sqlite3.Connection, study: Study, plan_sha: str, recorded: bool) -> int:
    """Insert or update the row of a study; return its id. `plan_sha`: hash of the plan; `recorded`:
    whether the study makes no calls."""
    now = time.time()
    connection.execute(
        "INSERT INTO studies(name, yaml, plan_sha, recorded, created, updated) "
        "VALUES (?,?,?,?,?,?) ON CONFLICT(name) DO UPDATE SET yaml=excluded.yaml, "
        "plan_sha=excluded.plan_sha, recorded=excluded.recorded, updated=excluded.updated",
        (study.name, dump_study(study), plan_sha, int(recorded), now, now),
    )
    row = connection.execute("SELECT id FROM studies WHERE name=?", (study.name,)).fetchone()
    return int(row[0])


def update_study_text(connection: sqlite3.Connection, study: Study) -> None:
    """Store the study file of a study anew and leave its plan as it is. Nothing happens if there
    is no such study in the store."""
    connection.execute(
        "UPDATE studies SET yaml=?, updated=? WHERE name=?",
        (dump_study(study), time.time(), study.name),
    )


def delete_orphaned_extractions(connection: sqlite3.Connection) -> None:
    """Delete extractions (verdicts that another judge read from a reply) whose replies are no
    longer stored."""
    orphans = "SELECT key FROM extractions WHERE reads NOT IN (SELECT key FROM judgements)"
    for table in ("judgements", "replies", "requests"):
        connection.execute(f"DELETE FROM {table} WHERE key IN ({orphans})")
    connection.execute("DELETE FROM extractions WHERE reads NOT IN (SELECT key FROM judgements)")


def put_items(connection: sqlite3.Connection, study_id: int, items: Sequence[Item]) -> None:
    """Store the items of a study in place of its earlier ones."""
    connection.execute("DELETE FROM study_items WHERE study=?", (study_id,))
    for position, item in enumerate(items):
        text = json.dumps(dump_item(item), ensure_ascii=False, sort_keys=True)
        sha = hashlib.sha256(text.encode()).hexdigest()[:40]
        connection.execute(
            "INSERT INTO items VALUES (?,?,?) "
            "ON CONFLICT(sha) DO UPDATE SET narrow=excluded.narrow",
            (sha, text, json.dumps(item_facts(item))),
        )
        connection.execute(
            "INSERT INTO study_items VALUES (?,?,?,?)", (study_id, position, item.id, sha)
        )


def item_facts(item: Item) -> dict[str, Any]:
    """Return what a frame needs to know of an item, without texts: its category, the lengths of
    its answers in characters, preferences (`human`), and which of its texts are suspected
    prompt injections (`suspects`). If the item has them, also the question id, the right
    verdicts on its answers (`labels`) and the right levels of rubrics (`levels`)."""
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
        "suspects": list_suspect_places(item),
        **({"question": item.meta[QUESTION_META]} if QUESTION_META in item.meta else {}),
        **({"labels": right_verdicts(item.labels)} if item.labels else {}),
        **({"levels": levels} if (levels := right_rubric_levels(item.labels)) else {}),
    }


def put_live_asks(
    connection: sqlite3.Connection, study_id: int, asks: Iterable[tuple[Ask, RequestRecord]]
) -> list[str]:
    """Store the calls (live asks) of a study's plan, with the requests to send; return the keys."""
    planned = list(asks)
    _put_asks(connection, study_id, (ask for ask, _ in planned), 0, "live")
    connection.executemany(
        "INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?)", (request for _, request in planned)
    )
    return [ask.key for ask, _ in planned]


def put_recorded_judgements(
    connection: sqlite3.Connection, study_id: int, recorded: Iterable[Judgement], start: int
) -> None:
    """Store judgements made without a call, and add their requests (asks) to the plan; `start` is
    the index in the plan that the first of them gets."""
    judgements = list(recorded)
    _put_asks(connection, study_id, (j.ask for j in judgements), start, "recorded")
    for judgement in judgements:
        put_judgement(connection, judgement)


def _put_asks(
    connection: sqlite3.Connection, study_id: int, asks: Iterable[Ask], start: int, origin: str
) -> None:
    """Insert asks (requests to judges) into a study's plan; the first gets the plan index `start`.
    `origin` is "live" for calls that a run makes, "recorded" for imported verdicts and votes."""
    connection.executemany(
        "INSERT INTO plan VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            (
                study_id, position, ask.key, ask.item, ask.judge, ask.prompt, SEP.join(ask.shown),
                SEP.join(ask.labels), ask.repeat, int(ask.noise), ask.orders, ask.unrelated_item,
                origin,
            )
            for position, ask in enumerate(asks, start)
        ),
    )  # fmt: skip


def put_judgement(connection: sqlite3.Connection, judgement: Judgement) -> None:
    """Insert a judgement, or replace the one with the same key. In both cases it gets a new
    sequence number (seq), by which the page finds judgements that have changed."""
    verdict, usage = judgement.verdict, judgement.usage
    pick = None if verdict is None else verdict.pick
    connection.execute(
        f"INSERT OR REPLACE INTO judgements(key, {JUDGEMENT_COLUMNS}) "
        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
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
        "INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?)",
        (
            judgement.ask.key,
            judgement.reply,
            judgement.reasoning,
            judgement.detail,
            judgement.top_logprobs or None,
        ),
    )


def ask_from_row(row: Sequence[Any]) -> Ask:
    """Convert a row with the columns PLAN_COLUMNS to an ask."""
    key, item, judge, prompt, shown, labels, repeat, noise, orders, unrelated = row
    # an ask to describe images shows no answer
    names, marks = (tuple(text.split(SEP)) if shown else () for text in (shown, labels))
    asked = (key, item, judge, prompt, names, marks, repeat, bool(noise), unrelated)
    return Ask(*asked, orders=orders)


def judgement_from_row(row: Sequence[Any]) -> Judgement:
    """Convert a row of SELECT_JUDGEMENTS to a judgement."""
    ask = ask_from_row(row[:10])
    (status, pick, margin, scores, probabilities, mass, rule, finish, prompt, completion, cached,
     cache_write, cost, seconds, model, at, reply, reasoning, detail, top) = row[10:]  # fmt: skip
    return Judgement(
        ask=ask,
        status=status,
        verdict=_verdict_from_columns(status, pick, margin, scores, probabilities, mass),
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
        top_logprobs=top or "",
    )


def _verdict_from_columns(
    status: str,
    pick: int | None,
    margin: int | None,
    scores: str | None,
    probabilities: str | None,
    mass: float | None,
) -> Verdict | None:
    """Build a verdict from columns of the store. An unusable reply has none (None), except if
    probabilities of its labels are stored (`mass` is not None): they are then kept."""
    if status not in ("ok", "extracted") and mass is None:
        return None
    return Verdict(
        pick="tie" if pick == TIE else None if pick in (None, NO_PICK) else pick,
        margin=margin or 0,
        scores=tuple(json.loads(scores)) if scores else (),
        label_probabilities=tuple(json.loads(probabilities)) if probabilities else (),
        label_mass=mass,
    )
