"""Recorded verdicts: somebody's finished judgements, opened as a study without a key or a call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.errors import SourceError
from studies.records import STATUSES, Ask, Item, Judgement, Usage, Verdict
from studies.rows import PromptText
from studies.store import Store
from studies.study import Study


def recorded_key(source: str, ask: Ask) -> str:
    """Never equal to a live ask's key: a recorded verdict satisfies no live ask."""
    parts = ["recorded", source, ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat]
    return "r" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:39]


def read_judgements(path: Path, source: str) -> Iterator[Judgement]:
    """The lines that `python -m studies export` writes."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                judgement = _judgement(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise SourceError(
                    f"{path.name}, line {number}: not a judgement: {type(error).__name__} {error}"
                ) from None
            key = recorded_key(source, judgement.ask)
            yield replace(judgement, ask=replace(judgement.ask, key=key))


def open_recorded(
    store: Store,
    study: Study,
    items: list[Item],
    path: Path,
    prompts: tuple[PromptText, ...] = (),
) -> bool:
    """Writes a recorded study once; False if this very file is there already."""
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    if store.plan_sha(study.name) == sha:
        return False
    recorded = list(read_judgements(path, study.name))
    store.save_study(study, items, (), prompts, plan_sha=sha, recorded=recorded, only_recorded=True)
    return True


def _judgement(values: Mapping[str, Any]) -> Judgement:
    ask, verdict = dict(values["ask"]), values.get("verdict")
    if values["status"] not in STATUSES:
        raise ValueError(f"unknown status {values['status']!r}")
    for name in ("shown", "labels"):
        ask[name] = tuple(ask[name])
    rest = {k: v for k, v in values.items() if k not in ("ask", "verdict", "usage")}
    return Judgement(
        ask=Ask(**ask),
        verdict=None if verdict is None else _verdict(verdict),
        usage=Usage(**values.get("usage", {})),
        **rest,
    )


def _verdict(values: Mapping[str, Any]) -> Verdict:
    lists = {k: tuple(values.get(k, ())) for k in ("scores", "label_probabilities")}
    return Verdict(**{**values, **lists})
