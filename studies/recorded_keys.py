"""Keys of judgements made without a call: recorded verdicts and human votes."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from studies.domain import Ask, Judgement


def recorded_key(source: str, ask: Ask) -> str:
    """Return the key under which a recorded verdict of the study `source` is stored, a hash of
    the request. It never equals the key of a call.

    A recorded verdict is therefore never reused as the result of a call."""
    parts = ["recorded", source, ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat]
    return "r" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:39]


def assign_recorded_keys(source: str, judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return copies of the judgements whose keys are those of recorded verdicts (see
    `recorded_key`); `source` is the name of the study."""
    return [replace(j, ask=replace(j.ask, key=recorded_key(source, j.ask))) for j in judgements]
