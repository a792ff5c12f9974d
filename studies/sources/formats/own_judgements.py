"""Evenhand's own files: items, and the judgements that `python -m studies export` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.domain import STATUSES, USABLE_STATUSES, Ask, Item, Judgement, Usage, Verdict
from studies.errors import SourceError
from studies.files.items import drop_nulls, parse_items
from studies.files.judgement_schema import without_flags
from studies.files.tables import SourceTable
from studies.frames.frame import SUSPECT_COLUMN
from studies.sources.builder import OpenSource, SourceBuilder

ITEMS_KEY: Final = "items"
"""The name in `data.files` of the items that a file of judgements is about."""


def matches_items_table(table: SourceTable) -> str:
    if table.has("id", "instruction", "responses"):
        return "id, instruction and responses are Evenhand's own items"
    return ""


def matches_judgements_table(table: SourceTable) -> str:
    if table.has("ask", "status", "reply"):
        return "ask, status and reply are Evenhand's own judgements"
    return ""


def read_items(opened: OpenSource) -> SourceBuilder:
    return SourceBuilder(items=parse_items(opened.rows))


def read_judgements(opened: OpenSource) -> SourceBuilder:
    """Judgements with their items where `data.files` names them; else the items are only ids."""
    table, files = opened.rows, opened.spec.files
    if unknown := sorted(set(files) - {ITEMS_KEY}):
        raise SourceError(
            f"data.files: {unknown[0]!r} means nothing beside judgements; name their items as "
            f"{ITEMS_KEY}: items.jsonl"
        )
    read = parse_judgements(table)
    judgements = first_per_ask(read)
    items = parse_items(opened.read_other_file(files[ITEMS_KEY])) if files else []
    known = {item.id for item in items}
    missing = dict.fromkeys(j.ask.item for j in judgements if j.ask.item not in known)
    gathered = SourceBuilder([*items, *(Item(id, "", {}) for id in missing)], judgements)
    if missing and items:
        gathered.notes.append(
            f"{len(missing)} items of the judgements are not in {files[ITEMS_KEY]}"
        )
    elif missing:
        flagged = sum(bool(row.get(SUSPECT_COLUMN)) for row in table.rows)
        if flagged:
            gathered.notes.append(
                f"{flagged:,} judgements saw an injection suspect where they were made; suspects "
                "are found again in questions and answers"
            )
        gathered.notes.append(
            f"no questions and answers in the file: name them in data.files, {ITEMS_KEY}: items.jsonl"
        )
    if again := len(read) - len(judgements):
        gathered.notes.append(f"{again:,} judgements are there twice: the first of them counts")
    gathered.unknown_order = sum(j.ask.orders == 0 for j in judgements)
    return gathered


def first_per_ask(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The first judgement of each ask, as of shards: two files put together hold some twice, and
    nobody said it twice."""
    first: dict[tuple[object, ...], Judgement] = {}
    for judgement in judgements:
        ask = judgement.ask
        at = (ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat, ask.reads)
        first.setdefault(at, judgement)
    return list(first.values())


def parse_judgements(table: SourceTable) -> list[Judgement]:
    """The judgements of a table that is read already."""
    out = []
    for place, row in enumerate(table.rows):
        try:
            out.append(parse_judgement(drop_nulls(row) if table.kind == "parquet" else row))
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(
                f"{table.where(place)}: not a judgement: {type(error).__name__} {error}"
            ) from None
    return out


def parse_judgement(values: Mapping[str, Any]) -> Judgement:
    """One judgement; nested parts may be JSON texts, as flat tables hold them. What an export says
    of suspects is left aside: it is found again in the items."""
    ask, verdict = dict(_decode_json(values["ask"])), _decode_json(values.get("verdict"))
    if values["status"] not in STATUSES:
        raise ValueError(f"unknown status {values['status']!r}")
    for name in ("shown", "labels"):
        ask[name] = tuple(ask[name])
    rest = {k: v for k, v in without_flags(values).items() if k not in ("ask", "verdict", "usage")}
    said = None if verdict is None else _parse_verdict(verdict, len(ask["shown"]))
    if values["status"] in USABLE_STATUSES and (
        said is None or (said.pick is None and not said.scores)
    ):
        raise ValueError(f"status is {values['status']!r}, but there is no verdict")
    return Judgement(
        ask=Ask(**ask),
        verdict=said,
        usage=Usage(**(_decode_json(values.get("usage")) or {})),
        **rest,
    )


def _decode_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _parse_verdict(values: Mapping[str, Any], shown: int) -> Verdict:
    """A pick that no slot has would count for another comparison, or as a tie: it is an error."""
    lists = {k: tuple(values.get(k) or ()) for k in ("scores", "label_probabilities")}
    pick, margin = values.get("pick"), values.get("margin", 1)
    if isinstance(pick, str) and pick != "tie":  # a column of both is a column of texts
        pick = int(pick)
    if pick not in (None, "tie", *range(shown)) or isinstance(pick, bool):
        raise ValueError(f"pick is {pick!r}, of {shown} answers shown: expected a slot from 0, "
                         "'tie' or null")  # fmt: skip
    if margin not in (0, 1, 2) or isinstance(margin, bool):
        raise ValueError(f"margin is {margin!r}: expected 0, 1 or 2")
    slot = int(pick) if isinstance(pick, float) else pick
    return Verdict(**{**values, **lists, "pick": slot})
