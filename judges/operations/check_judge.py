"""Test a judge with one call: raw reply, parsed outcome and duration. Nothing is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from judges.engine.outcome import ReplyOutcome, read_outcome
from judges.models.adapted_call import drop_parameter, known_refusals
from judges.models.factory import build_model, find_api_key
from judges.models.failures import classify_error
from judges.models.interface import JudgeModel
from judges.planning.plan import Plan, asks_of
from judges.security.key_consents import NO_CONSENTS, Consents
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """The result of a judge's test call."""

    judge: str
    reply: str
    read: ReplyOutcome
    seconds: float
    model: str


def check_judge(
    plan: Plan,
    judge: JudgeSpec,
    keys: Mapping[str, str] | None = None,
    consents: Consents = NO_CONSENTS,
) -> JudgeCheck:
    """Make the first call that the plan contains for the judge, and return the result."""
    return asyncio.run(_check_judge(plan, judge, keys or {}, consents))


async def _check_judge(
    plan: Plan, judge: JudgeSpec, keys: Mapping[str, str], consents: Consents
) -> JudgeCheck:
    call = next(planned.call for planned in asks_of(plan) if planned.ask.judge == judge.name)
    for parameter in known_refusals(judge):
        call = drop_parameter(call, parameter) or call
    key = find_api_key(judge, keys, consents) if judge.kind == "endpoint" else SecretKey("")
    started = time.monotonic()
    model: JudgeModel | None = None
    try:
        model = build_model(judge, key, plan.study.families)
        async with asyncio.timeout(judge.timeout_s):
            answer = await model.complete(call)
    except Exception as error:
        fault = classify_error(error, judge.endpoint or judge.name)
        read = ReplyOutcome(fault.status, None, fault.reason, fault.detail)
        return JudgeCheck(judge.name, "", read, time.monotonic() - started, "")
    finally:
        key.discard()
        if model is not None:
            await model.close()
    seconds = time.monotonic() - started
    read = read_outcome(call, answer, plan.study.reading)
    return JudgeCheck(judge.name, answer.text, read, seconds, answer.model)
