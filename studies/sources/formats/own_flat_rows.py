"""Format of Evenhand's flat table of judgements, as `python -m studies export --format csv` writes
it.

The table leaves out the details of token use. Contestants and labels are joined by " | ", so a name
that contains this text cannot be read back.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from studies.domain import STATUSES, USABLE_STATUSES, Ask, Judgement, Usage, Verdict
from studies.errors import SourceError
from studies.files.table_formats.spreadsheet_guard import FLAT_HEADERS
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.formats.own_judgements import build_from_judgements

JOINT: Final = " | "


def matches_table(table: SourceTable) -> str:
    if tuple(table.columns) in FLAT_HEADERS:
        return "these are the columns of Evenhand's flat table of judgements"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    """Read the judgements; without an items file in `data.files`, their items have no texts."""
    table = source.rows
    found = [_parse_row(row, table.where(index)) for index, row in enumerate(table.rows)]
    if "orders" not in table.columns:
        found = _count_orders(found)
    return build_from_judgements(source, found)


def _parse_row(row: Row, where: str) -> Judgement:
    try:
        return _read_judgement({name: text_of(value) for name, value in row.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{where}: not a judgement: {type(error).__name__} {error}; export it again"[:400]
        ) from None


def _read_judgement(cell: dict[str, str]) -> Judgement:
    status: Any = cell["status"]
    if status not in STATUSES:
        raise ValueError(f"unknown status {status!r}")
    ask = Ask(
        cell["key"],
        cell["item"],
        cell["judge"],
        cell["prompt"],
        tuple(cell["shown"].split(JOINT)),
        tuple(cell["labels"].split(JOINT)),
        int(cell["repeat"] or 0),
        cell["noise"] == "1",
        orders=int(cell.get("orders") or 1),
    )
    verdict = _read_verdict(cell, ask) if status in USABLE_STATUSES else None
    return Judgement(
        ask,
        status,
        verdict,
        rule=cell["rule"],
        reply=cell["reply"],
        usage=Usage(_whole(cell["prompt_tokens"]), _whole(cell["completion_tokens"])),
        cost=float(cell["cost"]) if cell["cost"] else None,
        seconds=float(cell["seconds"] or 0),
        model=cell["model"],
        time=float(cell.get("time") or 0),
        detail=cell["detail"],
    )


def _whole(text: str) -> int | None:
    return int(float(text)) if text else None


def _read_verdict(cell: dict[str, str], ask: Ask) -> Verdict:
    scores = tuple(float(part) for part in cell["scores"].split(JOINT) if part)
    slot: Any = cell["slot"] if cell["slot"] in ("", "tie") else int(cell["slot"])
    if slot == "" and not scores:
        raise ValueError(f"status is {cell['status']!r}, but there is no verdict")
    if isinstance(slot, int) and not 0 <= slot < len(ask.shown):
        raise ValueError(f"slot is {slot}, but only {len(ask.shown)} answers were shown")
    return Verdict(
        None if slot == "" else slot,
        int(cell["margin"]) if cell["margin"] else 1,
        scores,
        tuple(json.loads(cell.get("probabilities") or "[]")),
        float(cell["label_mass"]) if cell.get("label_mass") else None,
    )


def _count_orders(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Set `Ask.orders` to the number of orders (for one answer: arrangements) in which the file has
    the comparison; used for older files, which do not state it."""
    seen: dict[tuple[object, ...], set[tuple[object, ...]]] = defaultdict(set)
    for one in judgements:
        seen[_comparison(one.ask)].add(_arrangement(one.ask))
    return [
        replace(one, ask=replace(one.ask, orders=len(seen[_comparison(one.ask)])))
        for one in judgements
    ]


def _comparison(ask: Ask) -> tuple[object, ...]:
    return (ask.judge, ask.prompt, ask.item, frozenset(ask.shown))


def _arrangement(ask: Ask) -> tuple[object, ...]:
    return (ask.shown, ask.labels) if len(ask.shown) == 1 else (ask.shown,)
