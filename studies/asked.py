"""What a study asks and what has come of it: queries in the order of its plan."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from studies.records import Ask, Judgement
from studies.rows import JUDGEMENT, PLAN, STUDY, TEXTS, WHOLE, ask_of, judgement_of
from studies.versions import Read


def asks(read: Read, name: str) -> Iterator[Ask]:
    """Every live ask."""
    rows = read(
        f"SELECT {PLAN} FROM plan WHERE study={STUDY} AND origin='live' ORDER BY position", (name,)
    )
    return (ask_of(row) for row in rows)


def has_any(read: Read, name: str) -> bool:
    found = read(f"SELECT 1 FROM plan WHERE study={STUDY} AND origin='live' LIMIT 1", (name,))
    return found.fetchone() is not None


def pending(
    read: Read, name: str, judge: str, after: int, limit: int, again: Sequence[str], began: int
) -> list[tuple[int, Ask]]:
    """`again`: statuses that do not satisfy an ask, unless written after the seq `began`."""
    rows = read(
        f"SELECT position, {PLAN} FROM plan p "
        f"WHERE study={STUDY} AND judge=? AND position>? "
        "AND origin='live' AND NOT EXISTS (SELECT 1 FROM judgements j WHERE j.key=p.key "
        f"AND (j.status NOT IN ({','.join('?' * len(again))}) OR j.seq>?)) "
        "ORDER BY position LIMIT ?",
        (name, judge, after, *again, began, limit),
    )
    return [(row[0], ask_of(row[1:])) for row in rows]


def unextracted(
    read: Read, name: str, prompts: Sequence[str], after: int, limit: int
) -> list[tuple[int, Judgement]]:
    rows = read(
        f"SELECT j.seq, {PLAN}, {JUDGEMENT}, {TEXTS} FROM judgements j "
        "JOIN plan p USING(key) JOIN replies r USING(key) "
        f"WHERE p.study={STUDY} AND j.seq>? AND p.origin='live' "
        f"AND j.status='unreadable' AND p.prompt IN ({','.join('?' * len(prompts))}) "
        "AND NOT EXISTS (SELECT 1 FROM extractions e JOIN judgements x ON x.key=e.key "
        "WHERE e.reads=j.key AND x.status!='error') ORDER BY j.seq LIMIT ?",
        (name, after, *prompts, limit),
    )
    return [(row[0], judgement_of(row[1:])) for row in rows]


def judgements(read: Read, name: str, after: int, limit: int) -> Iterator[Judgement]:
    rows = read(
        f"{WHOLE} WHERE p.study={STUDY} AND p.position>=? ORDER BY p.position LIMIT ?",
        (name, after, limit),
    )
    return (judgement_of(row) for row in rows)


def recorded(read: Read, name: str) -> Iterator[Judgement]:
    rows = read(
        f"{WHOLE} WHERE p.study={STUDY} AND p.origin='recorded' ORDER BY p.position", (name,)
    )
    return (judgement_of(row) for row in rows)


def narrow_cursor(read: Read, name: str, since: int = 0) -> sqlite3.Cursor:
    """What the frame is made of, row by row: five million at once would not fit."""
    return read(
        "SELECT p.position, p.item, p.judge, p.prompt, p.shown, p.labels, p.repeat, p.noise, "
        "p.orders, j.status, j.pick, j.margin, j.scores, j.probabilities, j.seq "
        f"FROM {'judgements j CROSS JOIN plan p' if since else 'plan p JOIN judgements j'} "
        "ON p.key=j.key "  # a cross join is done as it is written: first what came since
        f"WHERE p.study={STUDY} AND j.seq>? ORDER BY p.position",
        (name, since),
    )


# ------------------------------------------------------------------------------------ counting


def tallied(read: Read, name: str, origin: str) -> dict[str, int]:
    """How many asks ended in each status, or are `pending`."""
    rows = read(
        "SELECT COALESCE(j.status, 'pending'), count(*) FROM plan p "
        "LEFT JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY} AND p.origin=? GROUP BY 1",
        (name, origin),
    )
    return {str(status): int(count) for status, count in rows}


def tokens(read: Read, name: str) -> tuple[int, int]:
    row = read(
        "SELECT COALESCE(sum(prompt_tokens), 0), COALESCE(sum(completion_tokens), 0) "
        "FROM plan p JOIN judgements j USING(key) "
        f"WHERE p.study={STUDY} AND p.origin='live'",
        (name,),
    ).fetchone()
    return int(row[0]), int(row[1])


def pace(read: Read, endpoint: str) -> tuple[float, float] | None:
    tokens, calls, seconds = read(
        "SELECT sum(prompt_tokens - cached_tokens), count(*), sum(seconds) FROM "
        "(SELECT j.* FROM judgements j JOIN requests r USING(key) WHERE r.endpoint=? "
        "AND j.status IN ('ok','extracted','unreadable') ORDER BY j.seq DESC LIMIT 100)",
        (endpoint,),
    ).fetchone()
    return (float(tokens) / seconds, calls / seconds) if calls >= 5 and seconds > 0 else None
