"""Keys of judgements that nobody here asked for: recorded verdicts and human votes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from studies.domain import Ask, Judgement


def recorded_key(source: str, ask: Ask) -> str:
    """Never equal to a live ask's key: a recorded verdict satisfies no live ask."""
    parts = ["recorded", source, ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat]
    return "r" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:39]


def assign_recorded_keys(source: str, judgements: Iterable[Judgement]) -> list[Judgement]:
    """The judgements of a file (or of people) as those of one study."""
    return [replace(j, ask=replace(j.ask, key=recorded_key(source, j.ask))) for j in judgements]
