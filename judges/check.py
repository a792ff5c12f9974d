"""Test a judge: one ask, its raw reply, the reading of it, how long it took. Nothing is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from judges.faults import fault_of
from judges.plan import Plan, asks_of
from judges.reading import Read, read_answer
from judges.roster import api_key, model_for
from studies.records import JudgeSpec


@dataclass(frozen=True, slots=True)
class Checked:
    judge: str
    reply: str
    read: Read
    seconds: float
    model: str


def check(plan: Plan, judge: JudgeSpec, keys: Mapping[str, str] | None = None) -> Checked:
    """Asks the first ask of the plan that is this judge's."""
    return asyncio.run(_check(plan, judge, keys or {}))


async def _check(plan: Plan, judge: JudgeSpec, keys: Mapping[str, str]) -> Checked:
    call = next(planned.call for planned in asks_of(plan) if planned.ask.judge == judge.name)
    key = api_key(judge, keys) if judge.kind == "endpoint" else ""
    model = model_for(judge, key, plan.study.families)
    began = time.monotonic()
    try:
        async with asyncio.timeout(120):
            answer = await model.complete(call)
    except Exception as error:
        fault = fault_of(error, judge.endpoint or judge.name, key)
        read = Read(fault.status, None, fault.reason, fault.detail)
        return Checked(judge.name, "", read, time.monotonic() - began, "")
    finally:
        await model.close()
    seconds = time.monotonic() - began
    read = read_answer(call, answer, plan.study.reading)
    return Checked(judge.name, answer.text, read, seconds, answer.model)
