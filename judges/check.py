"""Test a judge: one ask, its raw reply, the reading of it, how long it took. Nothing is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from judges.consents import NO_CONSENTS, Consents
from judges.faults import fault_of
from judges.models.answers import Model
from judges.plan import Plan, asks_of
from judges.reading import Read, read_answer
from judges.roster import api_key, model_for
from judges.vault import Held
from studies.records import JudgeSpec


@dataclass(frozen=True, slots=True)
class Checked:
    judge: str
    reply: str
    read: Read
    seconds: float
    model: str


def check(
    plan: Plan,
    judge: JudgeSpec,
    keys: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> Checked:
    """Asks the first ask of the plan that is this judge's."""
    return asyncio.run(_check(plan, judge, keys or {}, consents))


async def _check(
    plan: Plan, judge: JudgeSpec, keys: Mapping[str, str], consents: Consents
) -> Checked:
    call = next(planned.call for planned in asks_of(plan) if planned.ask.judge == judge.name)
    key = api_key(judge, keys, consents) if judge.kind == "endpoint" else Held("")
    began = time.monotonic()
    model: Model | None = None
    try:
        model = model_for(judge, key, plan.study.families)
        async with asyncio.timeout(120):
            answer = await model.complete(call)
    except Exception as error:
        fault = fault_of(error, judge.endpoint or judge.name)
        read = Read(fault.status, None, fault.reason, fault.detail)
        return Checked(judge.name, "", read, time.monotonic() - began, "")
    finally:
        key.forget()
        if model is not None:
            await model.close()
    seconds = time.monotonic() - began
    read = read_answer(call, answer, plan.study.reading)
    return Checked(judge.name, answer.text, read, seconds, answer.model)
