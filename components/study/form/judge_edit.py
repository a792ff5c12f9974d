"""Add a judge to a study file, or change one of its fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.study.form.judge_settings import (
    EMBEDDED,
    JUDGE_TEMPLATES,
    judge_kind,
    simulation_default,
)
from studies.spec.judge_spec import SIMULATION_RANGES

_TEXT_KEYS: Final = ("name", "base_url", "model", "api_key_env", "family", "reasoning_effort")
_DEFAULTS: Final = {"temperature": 0.0, "max_tokens": 4096}


def new_judge(kind: str, judges: Sequence[Mapping[str, Any]], name: str = "") -> dict[str, Any]:
    """A judge from the template of its kind, named after its model unless `name` is given."""
    made = dict(JUDGE_TEMPLATES[kind])
    return {"name": unique_name(name or str(made["model"]), judges), **made}


def unique_name(name: str, judges: Sequence[Mapping[str, Any]]) -> str:
    taken = {str(judge.get("name", "")) for judge in judges}
    made, number = name, 2
    while made in taken:
        made, number = f"{name}-{number}", number + 1
    return made


def edit_judge(judge: Mapping[str, Any], key: str, raw: Any) -> dict[str, Any]:
    """The judge with one field changed; other fields stay, also those not in the form."""
    made = dict(judge)
    if key == "kind":
        common: dict[str, Any] = {k: made[k] for k in ("name", "family") if k in made}
        return made if raw == judge_kind(made) else {**common, **JUDGE_TEMPLATES[str(raw)]}
    if key.startswith("price."):
        return _with_price(made, key[6:], str(raw).strip())
    value = _parse_value(made, key, raw)
    if key == "temperature" and not str(raw).strip():
        return {**made, "temperature": None}  # an explicit null: no temperature is sent
    if key == "model" and value and made.get("name") == made.get("model"):
        made["name"] = value
    if value is None or value == _default_value(made, key):
        made.pop(key, None)
        return made
    return {**made, key: value}


def _default_value(judge: Mapping[str, Any], key: str) -> Any:
    if key == "read":
        return "probabilities" if judge_kind(judge) == EMBEDDED else "text"
    if key in SIMULATION_RANGES:
        return simulation_default(key)
    return False if key == "vision" else _DEFAULTS.get(key)


def _parse_value(judge: Mapping[str, Any], key: str, raw: Any) -> Any:
    words = str(raw).strip()
    if key == "vision":
        return bool(raw)
    if key == "read" or key in _TEXT_KEYS:
        return words or None
    if not words:
        return None
    if key == "extra_body":
        return _parse_json_object(words)
    if key == "slot_weights":
        return [_parse_number(key, part) for part in words.split(",") if part.strip()] or None
    if key in ("seed", "max_tokens"):
        return _parse_integer(key, words)
    return _parse_number(key, words)


def _with_price(judge: dict[str, Any], end: str, words: str) -> dict[str, Any]:
    price = judge.get("price")
    made = dict(price) if isinstance(price, Mapping) else {}
    made.pop(end, None)
    if words:
        made[end] = _parse_number(f"price.{end}", words)
    judge.pop("price", None)
    return {**judge, "price": made} if made else judge


def _parse_json_object(words: str) -> dict[str, Any]:
    try:
        values = json.loads(words)
    except ValueError as error:
        raise ValueError(f"extra_body: not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise ValueError('extra_body: expected a JSON object such as {"key": value}')
    return values


def _parse_integer(key: str, words: str) -> int:
    try:
        return int(words)
    except ValueError:
        raise ValueError(f"{key}: expected a whole number, found {words!r}") from None


def _parse_number(key: str, words: str) -> float:
    try:
        value = float(words)
    except ValueError:
        raise ValueError(f"{key}: expected a number, found {words!r}") from None
    return int(value) if value == int(value) and key.startswith("price") else value
