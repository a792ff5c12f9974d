"""Formats of Evenhand's own files: items, and judgements from `python -m studies export`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.domain import STATUSES, USABLE_STATUSES, Ask, Item, Judgement, Usage, Verdict
from studies.errors import SourceError
from studies.files.items import drop_nulls, parse_items
from studies.files.suspect_flags import without_flags
from studies.files.tables import SourceTable
from studies.frames.frame_codes import SUSPECT_COLUMN
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource

ITEMS_KEY: Final = "items"
"""Key in `data.files` for the file with the items of the judgements."""


def matches_items_table(table: SourceTable) -> str:
    if table.has("id", "instruction", "responses"):
        return "id, instruction and responses are Evenhand's own items"
    return ""


def matches_judgements_table(table: SourceTable) -> str:
    if table.has("ask", "status", "reply"):
        return "ask, status and reply are Evenhand's own judgements"
    return ""


def read_items(source: OpenSource) -> SourceBuilder:
    return SourceBuilder(items=parse_items(source.rows))


def read_judgements(source: OpenSource) -> SourceBuilder:
    """Read judgements; without an items file in `data.files`, their items have no texts."""
    return build_from_judgements(source, parse_judgements(source.rows))


def build_from_judgements(source: OpenSource, all_judgements: Sequence[Judgement]) -> SourceBuilder:
    """Return a builder with exported judgements and their items, and notes on missing texts."""
    table, files = source.rows, source.spec.files
    if unknown := sorted(set(files) - {ITEMS_KEY}):
        raise SourceError(
            f"data.files: {unknown[0]!r} is not used with judgements; name their items as "
            f"{ITEMS_KEY}: items.jsonl"
        )
    judgements = first_per_ask(all_judgements)
    items = (
        parse_items(source.read_other_file(files[ITEMS_KEY]), texts_required=False) if files else []
    )
    known = {item.id for item in items}
    missing = dict.fromkeys(j.ask.item for j in judgements if j.ask.item not in known)
    builder = SourceBuilder([*items, *(Item(id, "", {}) for id in missing)], judgements)
    if missing and items:
        builder.notes.append(
            f"{len(missing)} items of the judgements are not in {files[ITEMS_KEY]}"
        )
    elif missing:
        flagged = sum(bool(row.get(SUSPECT_COLUMN)) for row in table.rows)
        if flagged:
            builder.notes.append(
                f"{flagged:,} judgements were flagged as injection suspects when exported; adding "
                "questions and answers restores the flags"
            )
        builder.notes.append(
            "no questions and answers in the file: name them in data.files, "
            f"{ITEMS_KEY}: items.jsonl"
        )
    if duplicates := len(all_judgements) - len(judgements):
        builder.notes.append(f"{duplicates:,} judgements are duplicates of others and were skipped")
    builder.unknown_order = sum(j.ask.orders == 0 for j in judgements)
    return builder


def first_per_ask(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the first judgement of each ask, as joined exports can contain a judgement twice."""
    first: dict[tuple[object, ...], Judgement] = {}
    for judgement in judgements:
        ask = judgement.ask
        at = (ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat, ask.reads)
        first.setdefault(at, judgement)
    return list(first.values())


def parse_judgements(table: SourceTable) -> list[Judgement]:
    out = []
    for index, row in enumerate(table.rows):
        try:
            out.append(parse_judgement(drop_nulls(row) if table.kind == "parquet" else row))
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(
                f"{table.where(index)}: not a judgement: {type(error).__name__} {error}; "
                "export it again"
            ) from None
    return out


def parse_judgement(values: Mapping[str, Any]) -> Judgement:
    """Parse one judgement; nested parts may be JSON texts, as in flat tables.

    Injection flags of an export are ignored, since they are computed again from the items.
    """
    ask, verdict = dict(_decode_json(values["ask"])), _decode_json(values.get("verdict"))
    if values["status"] not in STATUSES:
        raise ValueError(f"unknown status {values['status']!r}")
    for name in ("shown", "labels"):
        ask[name] = tuple(ask[name])
    rest = {k: v for k, v in without_flags(values).items() if k not in ("ask", "verdict", "usage")}
    parsed_verdict = None if verdict is None else _parse_verdict(verdict, len(ask["shown"]))
    if values["status"] in USABLE_STATUSES and (
        parsed_verdict is None or (parsed_verdict.pick is None and not parsed_verdict.scores)
    ):
        raise ValueError(f"status is {values['status']!r}, but there is no verdict")
    return Judgement(
        ask=Ask(**ask),
        verdict=parsed_verdict,
        usage=Usage(**(_decode_json(values.get("usage")) or {})),
        **rest,
    )


def _decode_json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _parse_verdict(values: Mapping[str, Any], shown: int) -> Verdict:
    """Parse a verdict; a pick outside the slots shown is an error."""
    lists = {k: tuple(values.get(k) or ()) for k in ("scores", "label_probabilities")}
    pick, margin = values.get("pick"), values.get("margin", 1)
    if isinstance(pick, str) and pick != "tie":  # a column of numbers and "tie" is read as text
        pick = int(pick)
    if pick not in (None, "tie", *range(shown)) or isinstance(pick, bool):
        raise ValueError(
            f"pick is {pick!r}, of {shown} answers shown: expected a slot from 0, 'tie' or null"
        )
    if margin not in (0, 1, 2) or isinstance(margin, bool):
        raise ValueError(f"margin is {margin!r}: expected 0, 1 or 2")
    slot = int(pick) if isinstance(pick, float) else pick
    return Verdict(**{**values, **lists, "pick": slot})
