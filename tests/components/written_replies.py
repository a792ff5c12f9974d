"""Studies whose replies are written by a function: read, priced and stored as a run would do it.

Simulated judges speak few formats; panels need grades, five levels, scores and costs as well. Every
reply goes through the parser that reads a real judge's.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judges.engine.outcome import read_outcome
from judges.models.interface import JudgeReply
from judges.planning.plan import PlannedAsk, asks_of, make_plan, save_plan
from studies.domain import Ask, Judgement, Usage, Verdict
from studies.spec.study import Study, study_from_mapping
from studies.store.rows import put_judgement
from studies.store.store import Store

Writer = Callable[[PlannedAsk, random.Random], str]


def endpoint(name: str, **more: Any) -> dict[str, Any]:
    """An endpoint that nobody asks, since its replies are written here; each has its own model,
    as two judges of one model and endpoint would be one judge."""
    base = {"base_url": "http://127.0.0.1:9/v1", "price": {"input": 2, "output": 8}}
    return {"name": name, "model": name, **base, **more}


def write_items(path: Path, items: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def answered(
    store: Store, values: Mapping[str, Any], write: Writer, folder: Path = Path()
) -> Study:
    """The study, planned and answered: 800 tokens in and 250 out a call, priced by its judge."""
    study = study_from_mapping(values, folder=folder)
    plan = make_plan(study)
    save_plan(plan, store)
    made = [_judgement(planned, write, study.reading) for planned in asks_of(plan)]
    put(store, made)
    return study


def put(store: Store, judgements: Sequence[Judgement]) -> None:
    def work(connection: Any) -> None:
        for judgement in judgements:
            put_judgement(connection, judgement)

    store.writer.run(work)


def _judgement(planned: PlannedAsk, write: Writer, rule: str) -> Judgement:
    text = write(planned, random.Random(planned.ask.key))
    usage = Usage(800, 250)
    answer = JudgeReply(text, finish="stop", usage=usage, model="gpt-x")
    made = read_outcome(planned.call, answer, rule).build_judgement(planned.ask, answer)
    price = planned.call.judge.price
    cost = None if price is None else (800 * price.input + 250 * price.output) / 1e6
    return replace(made, cost=cost, seconds=1.0, time=1.0)


def extracted(store: Store, study: str, keys: Sequence[str], pick: int, cost: float) -> None:
    """Unreadable replies in which the extraction judge found a verdict."""
    by_key = {made.ask.key: made for made in store.judgements(study)}
    for key in keys:
        asked = Ask(f"x{key}", "", "extractor", "visit-extraction", (), ())
        put(store, [replace(by_key[key], ask=asked, status="ok", cost=cost, usage=Usage(300, 5))])
        put(store, [replace(by_key[key], status="extracted", verdict=Verdict(pick))])
        _link(store, f"x{key}", key)


def _link(store: Store, key: str, reads: str) -> None:
    row = (key, reads, "extractor", "visit-extraction")
    store.writer.run(lambda c: c.execute("INSERT INTO extractions VALUES (?,?,?,?)", row))
