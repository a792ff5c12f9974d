"""Evenhand's own items: one JSON object a line. Errors name file, line and field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from studies.errors import SourceError
from studies.frame import SEP
from studies.records import Check, Item, Preference

KNOWN = {
    "id", "instruction", "responses", "category", "context", "images", "reference",
    "ground_truth", "criteria", "meta", "human", "checks",
}  # fmt: skip


def read_items(path: Path) -> list[Item]:
    """All items of a JSONL file, in file order."""
    items: list[Item] = []
    lines: dict[str, int] = {}
    for number, values in _objects(path):
        where = f"{path.name}, line {number}"
        item = item_from(values, where)
        if item.id in lines:
            raise SourceError(
                f"{where}: id {item.id!r} is also in line {lines[item.id]}; ids must differ"
            )
        lines[item.id] = number
        items.append(item)
    if not items:
        raise SourceError(f"{path.name}: no items in it; expected one JSON object a line")
    return items


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _object(line, f"{path.name}, line {number}")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path.name}: not UTF-8 at byte {error.start}; save it as UTF-8"
        ) from None


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(f"{where}: not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise SourceError(f"{where}: expected a JSON object, found {type(values).__name__}")
    return values


def item_from(values: Mapping[str, Any], where: str) -> Item:
    """One item; `where` (file and line) opens every error."""
    if unknown := sorted(set(values) - KNOWN):
        raise SourceError(
            f"{where}: unknown field {unknown[0]!r}; extra facts go into 'meta'. "
            f"Known fields: {', '.join(sorted(KNOWN))}"
        )
    return Item(
        id=_required_text(values, "id", where),
        instruction=_required_text(values, "instruction", where),
        responses=_responses(values, where),
        category=_text(values, "category", where),
        context=_context(values, where),
        images=tuple(_texts(values, "images", where)),
        reference=_text(values, "reference", where),
        ground_truth=_text(values, "ground_truth", where),
        criteria=_text_map(values, "criteria", where),
        meta=_text_map(values, "meta", where),
        human=tuple(_preference(v, f"{where}: human") for v in _list(values, "human", where)),
        checks=tuple(_check(v, f"{where}: checks") for v in _list(values, "checks", where)),
    )


def item_to(item: Item) -> dict[str, Any]:
    """The item as the native format writes it; empty fields are left out."""
    values: dict[str, Any] = {
        "id": item.id,
        "instruction": item.instruction,
        "responses": dict(item.responses),
        "category": item.category,
        "context": list(item.context) if isinstance(item.context, tuple) else item.context,
        "images": list(item.images),
        "reference": item.reference,
        "ground_truth": item.ground_truth,
        "criteria": dict(item.criteria),
        "meta": dict(item.meta),
        "human": [_preference_to(p) for p in item.human],
        "checks": [
            {"judge": c.judge, "contestant": c.contestant, "follows": c.follows,
             "fault": c.fault, "harmful": c.harmful}
            for c in item.checks
        ],
    }  # fmt: skip
    required = ("id", "instruction", "responses")
    return {k: v for k, v in values.items() if v or k in required}


def _preference_to(preference: Preference) -> dict[str, Any]:
    out: dict[str, Any] = {"judge": preference.judge}
    out["shown"] = None if preference.shown is None else list(preference.shown)
    if preference.ranks:
        out["ranks"] = dict(preference.ranks)
    else:
        out |= {"picked": preference.picked, "margin": preference.margin}
    return out


def _fail(where: str, field: str, expected: str, found: object) -> SourceError:
    return SourceError(f"{where}: field {field!r}: expected {expected}, found {found!r}"[:400])


def _required_text(values: Mapping[str, Any], field: str, where: str) -> str:
    if field not in values:
        raise SourceError(f"{where}: field {field!r} is missing")
    value = values[field]
    if not isinstance(value, str) or not value.strip():
        raise _fail(where, field, "a text that is not empty", value)
    return value


def _text(values: Mapping[str, Any], field: str, where: str) -> str:
    value = values.get(field) or ""
    if not isinstance(value, str):
        raise _fail(where, field, "text", value)
    return value


def _list(values: Mapping[str, Any], field: str, where: str) -> list[Any]:
    value = values.get(field) or []
    if not isinstance(value, list):
        raise _fail(where, field, "a list", value)
    return value


def _texts(values: Mapping[str, Any], field: str, where: str) -> list[str]:
    found = _list(values, field, where)
    if not all(isinstance(v, str) for v in found):
        raise _fail(where, field, "a list of texts", found)
    return found


def _text_map(values: Mapping[str, Any], field: str, where: str) -> dict[str, str]:
    value = values.get(field) or {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise _fail(where, field, "an object whose values are texts", value)
    return value


def _context(values: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
    if isinstance(values.get("context"), list):
        return tuple(_texts(values, "context", where))
    return _text(values, "context", where)


def _responses(values: Mapping[str, Any], where: str) -> dict[str, str]:
    if "responses" not in values:
        raise SourceError(
            f'{where}: field \'responses\' is missing; it holds the answers: {{"model": "text"}}'
        )
    responses = values["responses"]
    if not isinstance(responses, dict) or not responses:
        raise _fail(where, "responses", 'answers by contestant: {"model": "text"}', responses)
    for name, text in responses.items():
        if not isinstance(text, str):
            raise _fail(where, f"responses.{name}", "text", text)
        if name.startswith("@") or SEP in name or not name.strip():
            raise SourceError(
                f"{where}: contestant {name!r}: names are not empty, do not begin with '@' "
                "(reserved) and hold no control characters"
            )
    return responses


def _preference(value: Any, where: str) -> Preference:
    if not isinstance(value, dict) or not isinstance(value.get("judge"), str):
        raise _fail(where, "judge", "an object with a 'judge'", value)
    shown = value.get("shown")
    ranks = value.get("ranks") or {}
    picked = value.get("picked")
    if not ranks and not isinstance(picked, str):
        raise _fail(where, "picked", "a contestant or 'tie' (or 'ranks')", picked)
    if ranks and not all(isinstance(v, int) for v in ranks.values()):
        raise _fail(where, "ranks", "whole numbers by contestant", ranks)
    if shown is not None and picked not in (None, "tie", *shown):
        raise _fail(where, "picked", f"one of {', '.join(shown)} or 'tie'", picked)
    return Preference(
        judge=value["judge"],
        shown=None if shown is None else tuple(shown),
        picked=picked,
        margin=int(value.get("margin", 0 if picked == "tie" else 1)),
        ranks=ranks,
    )


def _check(value: Any, where: str) -> Check:
    if not isinstance(value, dict) or not isinstance(value.get("follows"), bool):
        raise _fail(where, "follows", "true or false", value)
    return Check(
        judge=str(value.get("judge", "")),
        contestant=str(value.get("contestant", "")),
        follows=value["follows"],
        fault=value.get("fault"),
        harmful=bool(value.get("harmful", False)),
    )
