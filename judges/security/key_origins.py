"""API keys typed on the page, each bound to the origin it was typed for.

Another study file can use the same judge name for another address. A key is therefore returned only
for the judge and the origin that it was typed for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from judges.judge_errors import KeyRefused
from judges.security.key_consents import origin_of
from judges.security.key_store import checked_key
from studies.domain import JudgeSpec


@dataclass(frozen=True, slots=True)
class TypedKey:
    """A key and the origin that may receive it."""

    value: str = field(repr=False)
    origin: str


TypedKeys = Mapping[str, TypedKey]
"""Typed keys by judge name."""


def read_typed(sent: str | None) -> dict[str, TypedKey]:
    """Read the keys as the browser sends them: {judge: {"key": …, "url": …}}."""
    try:
        values = json.loads(sent or "{}")
    except ValueError:
        return {}
    entries = values.items() if isinstance(values, dict) else ()
    return {
        str(judge): TypedKey(str(entry["key"]), origin_of(str(entry.get("url", ""))))
        for judge, entry in entries
        if isinstance(entry, dict) and entry.get("key")
    }


def keys_for(judges: Iterable[JudgeSpec], typed: TypedKeys) -> dict[str, str]:
    """Return the typed keys of these judges; raise KeyRefused if a key was typed for another
    origin."""
    found = {}
    for judge in judges:
        if judge.kind == "endpoint" and judge.name in typed:
            found[judge.name] = key_at(typed[judge.name], origin_of(judge.endpoint), judge.name)
    return found


def key_at(key: TypedKey, origin: str, name: str) -> str:
    """Check a key and return it; raise KeyRefused if it was typed for another origin."""
    if not origin or key.origin != origin:
        raise KeyRefused(
            f"{name}: the key was typed for {key.origin or 'no valid address'}, not for "
            f"{origin or 'this address'}. Nothing was sent. Type the key for the new address"
        )
    return checked_key(key.value)
