"""One thing at a time out of a store: an item, a judgement, its prompt, what holds a text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from studies.records import Item, Judgement
from studies.rows import JUDGEMENT, PLAN, STUDY, TEXTS, WHOLE, Request, judgement_of
from studies.sources.native import stored_item
from studies.suspects import suspicious_in
from studies.versions import Read

_ITEMS: Final = f"FROM study_items s JOIN items i USING(sha) WHERE s.study={STUDY}"


# ----------------------------------------------------------------------------------- judgements


def judgement(read: Read, name: str, key: str) -> Judgement | None:
    row = read(f"{WHOLE} WHERE p.study={STUDY} AND key=?", (name, key)).fetchone()
    return judgement_of(row) if row else None


def extraction_of(read: Read, key: str) -> tuple[str, str, str, str] | None:
    row = read(
        "SELECT e.key, r.reply, j.finish, COALESCE(r.top, '') FROM extractions e "
        "JOIN judgements j ON j.key=e.key "
        "JOIN replies r ON r.key=e.key WHERE e.reads=? ORDER BY j.seq DESC LIMIT 1",
        (key,),
    ).fetchone()
    return row if row else None


def keys_at(read: Read, seqs: Iterable[int]) -> dict[int, str]:
    wanted = list(seqs)
    places = ",".join("?" * len(wanted))
    return dict(read(f"SELECT seq, key FROM judgements WHERE seq IN ({places})", wanted))


def request(read: Read, key: str) -> Request | None:
    row = read(
        "SELECT key, endpoint, model, prompt_sha, parameters FROM requests WHERE key=?", (key,)
    ).fetchone()
    return Request(*row) if row else None


def latest(read: Read, name: str, count: int, *, failures_only: bool) -> list[Judgement]:
    """Cross joins are done as they are written: back from the newest until enough are found,
    without their texts; a study of a million would else be sorted for its last eight."""
    only = "AND j.status NOT IN ('ok','extracted')" if failures_only else ""
    newest = [
        seq
        for (seq,) in read(
            "SELECT j.seq FROM judgements j CROSS JOIN plan p ON p.key=j.key "
            f"WHERE p.study={STUDY} {only} ORDER BY j.seq DESC LIMIT ?",
            (name, count),
        )
    ]
    rows = read(
        f"SELECT {PLAN}, {JUDGEMENT}, {TEXTS} FROM judgements j "
        "CROSS JOIN plan p USING(key) CROSS JOIN replies r USING(key) "
        f"WHERE p.study={STUDY} AND j.seq IN ({','.join('?' * len(newest))}) ORDER BY j.seq DESC",
        (name, *newest),
    )
    return [judgement_of(row) for row in rows]


def matching(read: Read, name: str, text: str) -> list[int]:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    like = f"%{escaped}%"
    rows = read(
        "SELECT j.seq FROM plan p JOIN judgements j USING(key) JOIN replies r USING(key) "
        f"WHERE p.study={STUDY} AND (r.reply LIKE ? ESCAPE '\\' OR p.item IN "
        f"(SELECT s.item {_ITEMS} AND json_extract(i.json, '$.instruction') LIKE ? ESCAPE '\\'))",
        (name, like, name, like),
    )
    return [seq for (seq,) in rows]


# ---------------------------------------------------------------------------------------- items


def items(read: Read, name: str) -> dict[str, Item]:
    rows = read(f"SELECT i.json {_ITEMS} ORDER BY s.position", (name,))
    found = (stored_item(json.loads(text)) for (text,) in rows)
    return {item.id: item for item in found}


def item(read: Read, name: str, id: str) -> Item | None:
    row = read(f"SELECT i.json {_ITEMS} AND s.item=?", (name, id)).fetchone()
    return stored_item(json.loads(row[0])) if row else None


def questions(read: Read, name: str, ids: Iterable[str]) -> dict[str, str]:
    wanted = list(ids)
    rows = read(
        f"SELECT s.item, i.json {_ITEMS} AND s.item IN ({','.join('?' * len(wanted))})",
        (name, *wanted),
    )  # not json_extract: SQLite would end a question at a null character
    return {item: json.loads(text)["instruction"] for item, text in rows}


def narrow_items(read: Read, name: str) -> dict[str, dict[str, Any]]:
    """An item that was stored before suspects were looked for is looked at now."""
    whole = "CASE instr(i.narrow, '\"suspects\":') WHEN 0 THEN i.json END"
    rows = read(f"SELECT s.item, i.narrow, {whole} {_ITEMS}", (name,))
    return {item: _narrow(narrow, text) for item, narrow, text in rows}


def _narrow(narrow: str, whole: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(narrow)
    if whole is not None:
        facts["suspects"] = suspicious_in(stored_item(json.loads(whole)))
    return facts


# -------------------------------------------------------------------------------------- prompts


def prompt_yaml(read: Read, sha: str) -> str | None:
    row = read("SELECT yaml FROM prompts WHERE sha=?", (sha,)).fetchone()
    return row[0] if row else None


def prompt_of(read: Read, study: str, prompt: str) -> str | None:
    row = read(
        "SELECT yaml FROM prompts WHERE name=? AND sha IN (SELECT r.prompt_sha FROM plan p "
        f"JOIN requests r USING(key) WHERE p.study={STUDY} AND p.prompt=? LIMIT 1)",
        (prompt, study, prompt),
    ).fetchone()
    return row[0] if row else None


def only_prompt(read: Read, name: str) -> str | None:
    """Where one version of it was kept."""
    rows = read("SELECT yaml FROM prompts WHERE name=? LIMIT 2", (name,)).fetchall()
    return rows[0][0] if len(rows) == 1 else None
