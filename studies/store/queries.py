"""SQL queries for the asks, judgements, items and prompts of a study."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from studies.domain import Ask, Item, Judgement
from studies.files.items import parse_stored_item
from studies.store.rows import (
    JUDGEMENT_COLUMNS,
    PLAN_COLUMNS,
    REPLY_COLUMNS,
    SELECT_JUDGEMENTS,
    STUDY_ID,
    RequestRecord,
    ask_from_row,
    judgement_from_row,
)
from studies.store.study_versions import ReadQuery
from studies.texts.injection import suspect_places

KEYS_PER_QUERY: Final = 500
"""Keys in one statement; SQLite limits the number of parameters."""


def read_asks(read: ReadQuery, name: str) -> Iterator[Ask]:
    """Live asks of a study, in plan order."""
    rows = read(
        f"SELECT {PLAN_COLUMNS} FROM plan WHERE study={STUDY_ID} AND origin='live' "
        "ORDER BY position",
        (name,),
    )
    return (ask_from_row(row) for row in rows)


def has_live_asks(read: ReadQuery, name: str) -> bool:
    found = read(f"SELECT 1 FROM plan WHERE study={STUDY_ID} AND origin='live' LIMIT 1", (name,))
    return found.fetchone() is not None


def answered_keys(read: ReadQuery, name: str) -> set[str]:
    """Keys of the live asks of a study that have a judgement other than an error."""
    rows = read(
        f"SELECT p.key FROM plan p JOIN judgements j ON j.key=p.key WHERE p.study={STUDY_ID} "
        "AND p.origin='live' AND j.status!='error'",
        (name,),
    )
    return {key for (key,) in rows}


def answered_among(read: ReadQuery, keys: Sequence[str]) -> set[str]:
    """Those of the keys that have a judgement other than an error, in any study."""
    found: set[str] = set()
    for start in range(0, len(keys), KEYS_PER_QUERY):
        part = keys[start : start + KEYS_PER_QUERY]
        marks = ",".join("?" * len(part))
        rows = read(f"SELECT key FROM judgements WHERE key IN ({marks}) AND status!='error'", part)
        found.update(key for (key,) in rows)
    return found


def pending_asks(
    read: ReadQuery, name: str, judge: str, after: int, limit: int, again: Sequence[str], began: int
) -> list[tuple[int, Ask]]:
    """Return the next pending asks of a judge, each with its position in the plan.

    An ask is pending if it has no judgement. It is also pending if its judgement has a status in
    `again` and was stored before the run: its sequence number (seq) is at most `began`.
    """
    rows = read(
        f"SELECT position, {PLAN_COLUMNS} FROM plan p "
        f"WHERE study={STUDY_ID} AND judge=? AND position>? "
        "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
        f"AND (j.status NOT IN ({','.join('?' * len(again))}) OR j.seq>?)) "
        "ORDER BY position LIMIT ?",
        (name, judge, after, *again, began, limit),
    )
    return [(row[0], ask_from_row(row[1:])) for row in rows]


def unextracted_judgements(
    read: ReadQuery, name: str, prompts: Sequence[str], after: int, limit: int
) -> list[tuple[int, Judgement]]:
    rows = read(
        f"SELECT j.seq, {PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS} FROM judgements j "
        "JOIN plan p USING(key) JOIN replies r USING(key) "
        f"WHERE p.study={STUDY_ID} AND j.seq>? AND p.origin='live' "
        f"AND j.status='unreadable' AND p.prompt IN ({','.join('?' * len(prompts))}) "
        "AND NOT EXISTS (SELECT 1 FROM extractions e JOIN judgements x ON x.key=e.key "
        "WHERE e.reads=j.key AND x.status!='error') ORDER BY j.seq LIMIT ?",
        (name, after, *prompts, limit),
    )
    return [(row[0], judgement_from_row(row[1:])) for row in rows]


def iterate_judgements(read: ReadQuery, name: str, after: int, limit: int) -> Iterator[Judgement]:
    rows = read(
        f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND p.position>=? "
        "ORDER BY p.position LIMIT ?",
        (name, after, limit),
    )
    return (judgement_from_row(row) for row in rows)


def recorded_judgements(read: ReadQuery, name: str) -> Iterator[Judgement]:
    rows = read(
        f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND p.origin='recorded' ORDER BY p.position",
        (name,),
    )
    return (judgement_from_row(row) for row in rows)


def frame_row_cursor(read: ReadQuery, name: str, since: int = 0) -> sqlite3.Cursor:
    """Open a cursor over the rows of a frame; five million rows at once would not fit in memory."""
    return read(
        "SELECT p.position, p.item, p.judge, p.prompt, p.shown, p.labels, p.repeat, p.noise, "
        "p.orders, j.status, j.pick, j.margin, j.scores, j.probabilities, j.seq "
        f"FROM {'judgements j CROSS JOIN plan p' if since else 'plan p JOIN judgements j'} "
        "ON p.key=j.key "  # CROSS JOIN fixes the order: new judgements first
        f"WHERE p.study={STUDY_ID} AND j.seq>? ORDER BY p.position",
        (name, since),
    )


# ------------------------------------------------------------------------------------ counting


def count_by_status(read: ReadQuery, name: str, origin: str) -> dict[str, int]:
    """Number of asks by status; asks without a judgement are `pending`."""
    rows = read(
        "SELECT COALESCE(j.status, 'pending'), count(*) FROM plan p "
        "LEFT JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.origin=? GROUP BY 1",
        (name, origin),
    )
    return {str(status): int(count) for status, count in rows}


def sum_tokens(read: ReadQuery, name: str) -> tuple[int, int]:
    row = read(
        "SELECT COALESCE(sum(prompt_tokens), 0), COALESCE(sum(completion_tokens), 0) "
        "FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.origin='live'",
        (name,),
    ).fetchone()
    return int(row[0]), int(row[1])


def endpoint_rate(read: ReadQuery, endpoint: str) -> tuple[float, float] | None:
    tokens, calls, seconds = read(
        "SELECT sum(prompt_tokens - cached_tokens), count(*), sum(seconds) FROM "
        "(SELECT j.* FROM judgements j JOIN requests r USING(key) WHERE r.endpoint=? "
        "AND j.status IN ('ok','extracted','unreadable') ORDER BY j.seq DESC LIMIT 100)",
        (endpoint,),
    ).fetchone()
    return (float(tokens) / seconds, calls / seconds) if calls >= 5 and seconds > 0 else None


_ITEMS_OF_STUDY: Final = f"FROM study_items s JOIN items i USING(sha) WHERE s.study={STUDY_ID}"


# ----------------------------------------------------------------------------------- judgements


def find_judgement(read: ReadQuery, name: str, key: str) -> Judgement | None:
    row = read(f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND key=?", (name, key)).fetchone()
    return judgement_from_row(row) if row else None


def find_extraction(read: ReadQuery, key: str) -> tuple[str, str, str, str] | None:
    row = read(
        "SELECT e.key, r.reply, j.finish, COALESCE(r.top, '') FROM extractions e "
        "JOIN judgements j ON j.key=e.key "
        "JOIN replies r ON r.key=e.key WHERE e.reads=? ORDER BY j.seq DESC LIMIT 1",
        (key,),
    ).fetchone()
    return row if row else None


def keys_by_seq(read: ReadQuery, seqs: Iterable[int]) -> dict[int, str]:
    wanted = list(seqs)
    marks = ",".join("?" * len(wanted))
    return dict(read(f"SELECT seq, key FROM judgements WHERE seq IN ({marks})", wanted))


def find_request(read: ReadQuery, key: str) -> RequestRecord | None:
    row = read(
        "SELECT key, endpoint, model, prompt_sha, parameters FROM requests WHERE key=?", (key,)
    ).fetchone()
    return RequestRecord(*row) if row else None


def latest_judgements(
    read: ReadQuery, name: str, count: int, *, failures_only: bool
) -> list[Judgement]:
    """The last judgements of a study, newest first.

    CROSS JOIN fixes the order of the join: SQLite walks back from the newest judgement and stops
    when enough are found. Otherwise it would sort a million rows to find eight.
    """
    only = "AND j.status NOT IN ('ok','extracted')" if failures_only else ""
    newest = [
        seq
        for (seq,) in read(
            "SELECT j.seq FROM judgements j CROSS JOIN plan p ON p.key=j.key "
            f"WHERE p.study={STUDY_ID} {only} ORDER BY j.seq DESC LIMIT ?",
            (name, count),
        )
    ]
    rows = read(
        f"SELECT {PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS} FROM judgements j "
        "CROSS JOIN plan p USING(key) CROSS JOIN replies r USING(key) "
        f"WHERE p.study={STUDY_ID} AND j.seq IN ({','.join('?' * len(newest))}) "
        "ORDER BY j.seq DESC",
        (name, *newest),
    )
    return [judgement_from_row(row) for row in rows]


def search_judgements(read: ReadQuery, name: str, text: str) -> list[int]:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    like = f"%{escaped}%"
    rows = read(
        "SELECT j.seq FROM plan p JOIN judgements j USING(key) JOIN replies r USING(key) "
        f"WHERE p.study={STUDY_ID} AND (r.reply LIKE ? ESCAPE '\\' OR p.item IN "
        f"(SELECT s.item {_ITEMS_OF_STUDY} "
        "AND json_extract(i.json, '$.instruction') LIKE ? ESCAPE '\\'))",
        (name, like, name, like),
    )
    return [seq for (seq,) in rows]


# ---------------------------------------------------------------------------------------- items


def stored_items(read: ReadQuery, name: str) -> dict[str, Item]:
    rows = read(f"SELECT i.json {_ITEMS_OF_STUDY} ORDER BY s.position", (name,))
    found = (parse_stored_item(json.loads(text)) for (text,) in rows)
    return {item.id: item for item in found}


def find_item(read: ReadQuery, name: str, id: str) -> Item | None:
    row = read(f"SELECT i.json {_ITEMS_OF_STUDY} AND s.item=?", (name, id)).fetchone()
    return parse_stored_item(json.loads(row[0])) if row else None


def read_questions(read: ReadQuery, name: str, ids: Iterable[str]) -> dict[str, str]:
    wanted = list(ids)
    rows = read(
        f"SELECT s.item, i.json {_ITEMS_OF_STUDY} AND s.item IN ({','.join('?' * len(wanted))})",
        (name, *wanted),
    )  # json_extract would cut a question at a null character
    return {item: json.loads(text)["instruction"] for item, text in rows}


def item_facts(read: ReadQuery, name: str) -> dict[str, dict[str, Any]]:
    """Facts of each item without its texts; suspects are computed for items stored without them."""
    whole = "CASE instr(i.narrow, '\"suspects\":') WHEN 0 THEN i.json END"
    rows = read(f"SELECT s.item, i.narrow, {whole} {_ITEMS_OF_STUDY}", (name,))
    return {item: _parse_item_facts(narrow, text) for item, narrow, text in rows}


def _parse_item_facts(narrow: str, whole: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(narrow)
    if whole is not None:
        facts["suspects"] = suspect_places(parse_stored_item(json.loads(whole)))
    return facts


# -------------------------------------------------------------------------------------- prompts


def find_prompt_yaml(read: ReadQuery, sha: str) -> str | None:
    row = read("SELECT yaml FROM prompts WHERE sha=?", (sha,)).fetchone()
    return row[0] if row else None


def find_planned_prompt(read: ReadQuery, study: str, prompt: str) -> str | None:
    row = read(
        "SELECT yaml FROM prompts WHERE name=? AND sha IN (SELECT r.prompt_sha FROM plan p "
        f"JOIN requests r USING(key) WHERE p.study={STUDY_ID} AND p.prompt=? LIMIT 1)",
        (prompt, study, prompt),
    ).fetchone()
    return row[0] if row else None


def find_sole_prompt(read: ReadQuery, name: str) -> str | None:
    """The text of a prompt if the store has exactly one version of it."""
    rows = read("SELECT yaml FROM prompts WHERE name=? LIMIT 2", (name,)).fetchall()
    return rows[0][0] if len(rows) == 1 else None
