"""Keys typed on the page, each bound to the origin it was typed for.

A judge's name is no destination: another study file can use the same name for another address. A
key is handed out only for the pair (judge, origin) it was typed for.
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
"""By the judge's name."""


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
    """The keys of some judges; raises where one was typed for another origin."""
    found = {}
    for judge in judges:
        if judge.kind == "endpoint" and judge.name in typed:
            found[judge.name] = key_at(typed[judge.name], origin_of(judge.endpoint), judge.name)
    return found


def key_at(key: TypedKey, origin: str, name: str) -> str:
    """The key, checked, if it was typed for this origin."""
    if not origin or key.origin != origin:
        raise KeyRefused(
            f"{name}: the key was typed for {key.origin or 'no valid address'}, not for "
            f"{origin or 'this address'}. Nothing was sent. Type the key for that host"
        )
    return checked_key(key.value)
