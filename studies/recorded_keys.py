"""Keys of judgements that no run of this store made: recorded verdicts and human votes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from studies.domain import Ask, Judgement


def recorded_key(source: str, ask: Ask) -> str:
    """Compute the key of a recorded verdict.

    This key never equals the key of a call, so a recorded verdict is never reused as the answer to
    a call.
    """
    parts = ["recorded", source, ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat]
    return "r" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:39]


def assign_recorded_keys(source: str, judgements: Iterable[Judgement]) -> list[Judgement]:
    """Give judgements from a file or from people the keys of recorded verdicts; `source` names the
    study."""
    return [replace(j, ask=replace(j.ask, key=recorded_key(source, j.ask))) for j in judgements]
