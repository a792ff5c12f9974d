"""Judgements of a study with their texts, requests and extractions, and the rows of its frame.

Each judgement has a sequence number (seq), higher than that of all judgements stored before it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from studies.domain import Judgement
from studies.frames.frame_codes import GROUP_COLUMNS, ROW_SEP, ColumnTexts
from studies.store.queries.item_queries import ITEMS_OF_STUDY
from studies.store.rows import (
    JUDGEMENT_COLUMNS,
    PLAN_COLUMNS,
    REPLY_COLUMNS,
    SELECT_JUDGEMENTS,
    STUDY_ID,
    RequestRecord,
    judgement_from_row,
)
from studies.store.store_file import StoreFile


class JudgementQueries(StoreFile):
    def judgements(self, study: str, *, first: int = 0, limit: int = 10**9) -> Iterator[Judgement]:
        """Yield up to `limit` judgements of a study with their texts, in the order of its plan;
        `first` is the index in the plan at which to begin."""
        rows = self.read(
            f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND p.position>=? "
            "ORDER BY p.position LIMIT ?",
            (study, first, limit),
        )
        return (judgement_from_row(row) for row in rows)

    def recorded_judgements(self, study: str) -> Iterator[Judgement]:
        """Yield the recorded verdicts and human votes of a study, in plan order."""
        rows = self.read(
            f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND p.origin='recorded' "
            "ORDER BY p.position",
            (study,),
        )
        return (judgement_from_row(row) for row in rows)

    def judgement(self, study: str, key: str) -> Judgement | None:
        row = self.read(
            f"{SELECT_JUDGEMENTS} WHERE p.study={STUDY_ID} AND key=?", (study, key)
        ).fetchone()
        return judgement_from_row(row) if row else None

    def judgements_awaiting_extraction(
        self, study: str, prompts: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, Judgement]]:
        """Return the next unreadable replies from which another judge has still to extract the
        verdict, as (sequence number, judgement).

        These are replies to calls with one of `prompts` that have no extraction, or only failed
        ones. The first `limit` with a sequence number (seq) above `after` are returned."""
        rows = self.read(
            f"SELECT j.seq, {PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS} FROM judgements j "
            "JOIN plan p USING(key) JOIN replies r USING(key) "
            f"WHERE p.study={STUDY_ID} AND j.seq>? AND p.origin='live' "
            f"AND j.status='unreadable' AND p.prompt IN ({','.join('?' * len(prompts))}) "
            "AND NOT EXISTS (SELECT 1 FROM extractions e JOIN judgements x ON x.key=e.key "
            "WHERE e.reads=j.key AND x.status!='error') ORDER BY j.seq LIMIT ?",
            (study, after, *prompts, limit),
        )
        return [(row[0], judgement_from_row(row[1:])) for row in rows]

    def extraction_of(self, key: str) -> tuple[str, str, str, str] | None:
        """Return the last extraction (reading by another judge) of the reply to the call `key`: the
        key of the extraction, its reply, finish reason and top log-probabilities (JSON). None
        without one."""
        row: tuple[str, str, str, str] | None = self.read(
            "SELECT e.key, r.reply, j.finish, COALESCE(r.top, '') FROM extractions e "
            "JOIN judgements j ON j.key=e.key "
            "JOIN replies r ON r.key=e.key WHERE e.reads=? ORDER BY j.seq DESC LIMIT 1",
            (key,),
        ).fetchone()
        return row

    def _reply_texts(self, study: str, min_length: int = 1) -> Iterator[tuple[int, str]]:
        """Yield the sequence number (`seq` in the frame) and the reply of each judgement of a study
        whose reply has at least `min_length` characters."""
        yield from self.read(
            "SELECT j.seq, r.reply FROM plan p JOIN judgements j USING(key) "
            f"JOIN replies r USING(key) WHERE p.study={STUDY_ID} AND length(r.reply)>=?",
            (study, min_length),
        )

    def keys_by_seq(self, seqs: Iterable[int]) -> dict[int, str]:
        """Return sequence number (`seq` in the frame) -> key of the request judged.

        Numbers of judgements that were replaced after the frame was built are missing."""
        wanted = list(seqs)
        marks = ",".join("?" * len(wanted))
        return dict(self.read(f"SELECT seq, key FROM judgements WHERE seq IN ({marks})", wanted))

    def seq_of(self, key: str) -> int | None:
        """Return the sequence number (`seq`) of the judgement stored under a key; None
        without one."""
        row = self.read("SELECT seq FROM judgements WHERE key=?", (key,)).fetchone()
        return row[0] if row else None

    def last_seq(self) -> int:
        """Return the highest sequence number (seq) of all judgements in the store; 0 without
        judgements."""
        return int(self.read("SELECT COALESCE(max(seq), 0) FROM judgements").fetchone()[0])

    def request(self, key: str) -> RequestRecord | None:
        """Return the stored request of the call with this key; None if there is none, as for
        recorded verdicts and votes."""
        row = self.read(
            "SELECT key, endpoint, model, prompt_sha, parameters FROM requests WHERE key=?", (key,)
        ).fetchone()
        return RequestRecord(*row) if row else None

    def search_judgements(self, study: str, text: str) -> list[int]:
        """Return the sequence numbers (seq) of judgements whose reply or question contains a text.

        The case of A-Z is ignored.
        """
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        like = f"%{escaped}%"
        rows = self.read(
            "SELECT j.seq FROM plan p JOIN judgements j USING(key) JOIN replies r USING(key) "
            f"WHERE p.study={STUDY_ID} AND (r.reply LIKE ? ESCAPE '\\' OR p.item IN "
            f"(SELECT s.item {ITEMS_OF_STUDY} "
            "AND json_extract(i.json, '$.instruction') LIKE ? ESCAPE '\\'))",
            (study, like, study, like),
        )
        return [seq for (seq,) in rows]

    def latest_judgements(
        self, study: str, count: int, *, failures_only: bool = False
    ) -> list[Judgement]:
        """Return the last `count` judgements of a study, newest first; with `failures_only`, only
        unusable replies."""
        # CROSS JOIN fixes the order of the join: SQLite reads back from the newest judgement and
        # stops when enough are found. Otherwise it would sort a million rows to find eight.
        only = "AND j.status NOT IN ('ok','extracted')" if failures_only else ""
        newest = [
            seq
            for (seq,) in self.read(
                "SELECT j.seq FROM judgements j CROSS JOIN plan p ON p.key=j.key "
                f"WHERE p.study={STUDY_ID} {only} ORDER BY j.seq DESC LIMIT ?",
                (study, count),
            )
        ]
        rows = self.read(
            f"SELECT {PLAN_COLUMNS}, {JUDGEMENT_COLUMNS}, {REPLY_COLUMNS} FROM judgements j "
            "CROSS JOIN plan p USING(key) CROSS JOIN replies r USING(key) "
            f"WHERE p.study={STUDY_ID} AND j.seq IN ({','.join('?' * len(newest))}) "
            "ORDER BY j.seq DESC",
            (study, *newest),
        )
        return [judgement_from_row(row) for row in rows]

    def token_totals(self, study: str) -> tuple[int, int]:
        """Return (prompt tokens, completion tokens), summed over all replies to calls of
        a study."""
        row = self.read(
            "SELECT COALESCE(sum(prompt_tokens), 0), COALESCE(sum(completion_tokens), 0) "
            "FROM plan p JOIN judgements j USING(key) "
            f"WHERE p.study={STUDY_ID} AND p.origin='live'",
            (study,),
        ).fetchone()
        return int(row[0]), int(row[1])

    def endpoint_throughput(self, endpoint: str) -> tuple[float, float] | None:
        """Return how much one connection to the endpoint can do: uncached prompt tokens per second,
        and calls per second. Both are measured on its last 100 replies; None if there are fewer
        than five replies, or no times."""
        tokens, calls, seconds = self.read(
            "SELECT sum(prompt_tokens - cached_tokens), count(*), sum(seconds) FROM "
            "(SELECT j.* FROM judgements j JOIN requests r USING(key) WHERE r.endpoint=? "
            "AND j.status IN ('ok','extracted','unreadable') ORDER BY j.seq DESC LIMIT 100)",
            (endpoint,),
        ).fetchone()
        if calls < 5 or seconds <= 0:
            return None
        return float(tokens or 0) / seconds, calls / seconds

    # ---- the frame --------------------------------------------------------------------------

    def frame_rows(self, study: str, *, since: int = 0) -> list[tuple[Any, ...]]:
        """Return the rows from which a study's frame is built, one per judgement, in the order of
        the plan; they contain no texts of answers or replies.

        With `since`, a sequence number (seq), only the rows of judgements with a higher number are
        returned."""
        return self._frame_row_cursor(study, since).fetchall()

    def _column_texts(self, study: str) -> Iterator[ColumnTexts]:
        """Yield the rows of a study's frame in blocks, in the order of the plan. A block contains,
        for each column, the values of all its rows joined to one text."""
        plan = ("judge", "prompt", "shown", "labels", "repeat", "noise", "orders")
        group = [f"{'p' if column in plan else 'j'}.{column}" for column in GROUP_COLUMNS]
        rows = self.read_blocks(
            study,
            f"SELECT group_concat(json_quote(p.item), '{ROW_SEP}'), "
            f"group_concat(json_array({', '.join(group)}), '{ROW_SEP}'), group_concat(j.seq), "
            "json_group_array(json(j.scores)), json_group_array(json(j.probabilities)) "
            # CROSS JOIN fixes the order of the join, and with it the order of the rows.
            "FROM plan p CROSS JOIN judgements j ON p.key=j.key "
            "WHERE p.study=(SELECT id FROM studies WHERE name=:study) "
            "AND p.position BETWEEN :first AND :last",
        )
        yield from (ColumnTexts(*row) for row in rows if row[0] is not None)

    def _frame_row_cursor(self, study: str, since: int = 0) -> sqlite3.Cursor:
        """Return a cursor over the rows that `frame_rows` returns, for studies whose rows do
        not fit into memory at once."""
        return self.read(
            "SELECT p.position, p.item, p.judge, p.prompt, p.shown, p.labels, p.repeat, p.noise, "
            "p.orders, j.status, j.pick, j.margin, j.scores, j.probabilities, j.seq "
            f"FROM {'judgements j CROSS JOIN plan p' if since else 'plan p JOIN judgements j'} "
            "ON p.key=j.key "  # CROSS JOIN fixes the order: new judgements first
            f"WHERE p.study={STUDY_ID} AND j.seq>? ORDER BY p.position",
            (study, since),
        )


def is_still_stored(connection: sqlite3.Connection, stored: Judgement) -> bool:
    """Whether a judgement is still stored with the same status, time and reply, and not
    replaced."""
    row = connection.execute(
        "SELECT status, time, reply FROM judgements JOIN replies USING(key) WHERE key=?",
        (stored.ask.key,),
    ).fetchone()
    return bool(row == (stored.status, stored.time, stored.reply))


def is_answered(connection: sqlite3.Connection, key: str) -> bool:
    """Whether the store has a judgement, other than an error, under this key."""
    row = connection.execute("SELECT status FROM judgements WHERE key=?", (key,)).fetchone()
    return row is not None and row[0] != "error"
