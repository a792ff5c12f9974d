"""Format of human votes as a table, as `python -m studies export --format votes` writes it.

There is one row per vote, without loss. Lists are JSON; a text that begins like a formula has an
additional apostrophe in the file (studies/files/table_formats/spreadsheet_guard.py).
"""

from __future__ import annotations

import json
from typing import Any, Final

from studies.domain import STATUSES, USABLE_STATUSES, Ask, Item, Judgement, Verdict
from studies.errors import SourceError
from studies.files.items import parse_items
from studies.files.table_formats.spreadsheet_guard import guard_formula as guard_formula
from studies.files.table_formats.spreadsheet_guard import unguard_formula
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import slot_labels
from studies.sources.formats.own_judgements import ITEMS_KEY

VOTE_COLUMNS: Final = (
    "item", "judge", "prompt", "shown", "picked", "margin", "scores", "status", "orders", "repeat",
    "seconds", "time", "comment", "detail", "labels",
)  # fmt: skip


def vote_row(judgement: Judgement) -> dict[str, object]:
    """Convert a vote to a row. `detail` is the reason why the person was shown the comparison, if
    known; `labels` is empty for the usual slot labels (A, B)."""
    ask, verdict = judgement.ask, judgement.verdict
    pick = None if verdict is None else verdict.pick
    picked = ask.shown[pick] if isinstance(pick, int) else pick or ""
    values = (
        ask.item,
        ask.judge,
        ask.prompt,
        json.dumps(ask.shown, ensure_ascii=False),
        picked,
        "" if verdict is None else verdict.margin,
        json.dumps(verdict.scores) if verdict and verdict.scores else "",
        judgement.status,
        ask.orders,
        ask.repeat,
        repr(judgement.seconds),
        repr(judgement.time),
        judgement.reply,
        judgement.detail,
        "" if ask.labels == slot_labels(len(ask.shown)) else json.dumps(ask.labels),
    )
    return dict(zip(VOTE_COLUMNS, values, strict=True))


def unguarded_text(value: object) -> str:
    return unguard_formula(text_of(value))


def matches_table(table: SourceTable) -> str:
    if table.has("item", "judge", "shown", "picked", "comment", "time"):
        return "item, judge, shown, picked, comment and time are Evenhand's own votes"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    """Read votes; without an items file in `data.files`, their items have no texts."""
    table, files = source.rows, source.spec.files
    items = parse_items(source.read_other_file(files[ITEMS_KEY])) if ITEMS_KEY in files else []
    known = {item.id for item in items}
    votes = [_parse_vote(row, table.where(index)) for index, row in enumerate(table.rows)]
    missing = dict.fromkeys(vote.ask.item for vote in votes if vote.ask.item not in known)
    builder = SourceBuilder([*items, *(Item(id, "", {}) for id in missing)], votes)
    if missing:
        builder.notes.append(
            f"{len(missing)} of the items voted on have no text here: name them in data.files, "
            f"{ITEMS_KEY}: items.jsonl"
        )
    builder.unknown_order = sum(vote.ask.orders == 0 for vote in votes)
    return builder


def _parse_vote(row: Row, where: str) -> Judgement:
    try:
        return _read_vote(row)
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{where}: not a vote: {type(error).__name__} {error}"[:400]) from None


def _read_vote(row: Row) -> Judgement:
    cell = {name: unguarded_text(row.get(name)) for name in VOTE_COLUMNS}
    shown = tuple(str(name) for name in json.loads(cell["shown"]))
    status: Any = cell["status"] or "ok"
    if status not in STATUSES:
        raise ValueError(f"unknown status {status!r}")
    ask = Ask(
        "",
        cell["item"],
        cell["judge"],
        cell["prompt"] or "vote",
        shown,
        tuple(json.loads(cell["labels"])) if cell["labels"] else slot_labels(len(shown)),
        int(cell["repeat"] or 0),
        orders=int(cell["orders"] or 1),
    )
    verdict = _parse_verdict(cell, shown)
    if verdict is None and status in USABLE_STATUSES:
        raise ValueError(f"status is {status!r}, but nothing is picked")
    return Judgement(
        ask,
        status,
        verdict,
        rule="vote",
        reply=cell["comment"],
        seconds=float(cell["seconds"] or 0),
        time=float(cell["time"] or 0),
        detail=cell["detail"],
    )


def _parse_verdict(cell: dict[str, str], shown: tuple[str, ...]) -> Verdict | None:
    picked, scores = cell["picked"], tuple(json.loads(cell["scores"] or "[]"))
    if not picked and not scores:
        return None
    if picked not in ("", "tie", *shown):
        raise ValueError(f"picked is {picked!r}, which is not among {', '.join(shown)}")
    pick: Any = picked if picked == "tie" else shown.index(picked) if picked else None
    margin = int(cell["margin"]) if cell["margin"] else int(picked != "tie")
    return Verdict(pick, margin, scores)
