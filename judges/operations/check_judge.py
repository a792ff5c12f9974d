"""Two operations: test a judge with one call, of which nothing is stored; and read the verdicts
from the stored replies of a study again, without any call."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from judges.engine.engine import Engine
from judges.engine.outcome import (
    ReplyOutcome,
    read_label_probabilities,
    read_outcome,
    read_reply_text,
)
from judges.models import clients, failures, interface
from judges.planning.plan import Plan, asks_of
from judges.rendering.prompt import Prompt, parse_prompt
from judges.security.key_consents import NO_CONSENTS, Consents
from judges.security.key_store import SecretKey
from studies.domain import Judgement, JudgeSpec
from studies.store.queries.judgement_queries import is_still_stored
from studies.store.rows import put_judgement
from studies.store.store import Store


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
    engine: Engine | None = None,
) -> JudgeCheck:
    """Make the first call that the plan contains for the judge, and return the result, also if the
    call fails; nothing is stored. `keys` is judge -> typed API key, `consents` are the environment
    variables with keys that may be sent; PlanError if the key is missing or not allowed. A call to
    the embedded judge takes turns with the runs of `engine`."""
    embedded = judge.kind == "embedded"
    with engine.take_embedded_turn() if engine and embedded else contextlib.nullcontext():
        return asyncio.run(_make_test_call(plan, judge, keys or {}, consents))


async def _make_test_call(
    plan: Plan, judge: JudgeSpec, keys: Mapping[str, str], consents: Consents
) -> JudgeCheck:
    call = next(planned.call for planned in asks_of(plan) if planned.ask.judge == judge.name)
    for parameter in interface.known_refused_parameters(judge):
        call = interface.drop_parameter(call, parameter) or call
    key = clients.find_api_key(judge, keys, consents) if judge.kind == "endpoint" else SecretKey("")
    started = time.monotonic()
    model: interface.JudgeModel | None = None
    try:
        model = clients.build_judge_client(judge, key, plan.study.families)
        async with asyncio.timeout(judge.timeout_s):
            answer = await model.complete(call)
    except Exception as error:
        fault = failures.classify_error(error, judge.endpoint or judge.name)
        read = ReplyOutcome(fault.status, None, fault.reason, fault.detail)
        return JudgeCheck(judge.name, "", read, time.monotonic() - started, "")
    finally:
        key.discard()
        if model is not None:
            await model.close()
    seconds = time.monotonic() - started
    read = read_outcome(call, answer, plan.study.reading)
    return JudgeCheck(judge.name, answer.text, read, seconds, answer.model)


REREADABLE_STATUSES: Final = frozenset({"ok", "extracted", "unreadable", "truncated"})
"""Statuses that result from parsing a reply's text; only judgements with these are parsed again."""
WRITE_BATCH_SIZE: Final = 500
WITHOUT_PREFIX: Final = "asked without "
"""Start of the note on refused parameters in a judgement's detail; this note is kept when the reply
is parsed again."""


@dataclass(slots=True)
class RereadResult:
    """Result of reading stored replies again: how many were read (`read`), how many judgements
    changed, by kind of change, and how many could not be read again."""

    read: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    """Number of judgements by change; a change is a text such as "unreadable -> ok" or "ok, another
    verdict"."""
    not_parsed: int = 0
    """Number of judgements not parsed again: their verdict was read from label probabilities, which
    the store lacks."""


class StoredRequest(NamedTuple):
    """Stored facts about the request of a reply: its prompt, and whether the verdict is
    read from the probabilities of the labels (else from the text)."""

    prompt: Prompt
    by_probabilities: bool

    def parse_reply(self, judgement: Judgement, rule: str) -> ReplyOutcome:
        top = interface.parse_last_token_logprobs(judgement.top_logprobs)
        levels = interface.parse_level_logprobs(judgement.top_logprobs)
        answer = interface.JudgeReply(
            judgement.reply, finish=judgement.finish, top_logprobs=top, level_logprobs=levels
        )
        labels = judgement.ask.labels
        if self.by_probabilities:
            return read_label_probabilities(self.prompt, labels, answer)
        return read_reply_text(self.prompt, labels, answer, rule)


RequestLookup = Callable[[str], StoredRequest | None]


def reread_and_store_verdicts(store: Store, study: str, rule: str | None = None) -> RereadResult:
    """Read the verdicts from the stored replies of a study again, by the rule `rule` or, if None,
    by the study's setting `reading`. Store the judgements that change, and return the numbers.

    Only replies with a status in REREADABLE_STATUSES are read again; imported verdicts are not."""
    rule = rule or store.study(study).reading
    find_request = _make_request_lookup(store)
    result = RereadResult()
    changed: list[tuple[Judgement, Judgement]] = []
    for judgement in store.judgements(study):
        if judgement.status not in REREADABLE_STATUSES:
            continue
        request = find_request(judgement.ask.key)
        if request is None:  # imported verdicts have no request
            continue
        if request.by_probabilities and not judgement.top_logprobs:
            result.not_parsed += 1
            continue
        result.read += 1
        now = _reread_judgement(store, judgement, request, rule, find_request)
        if (judgement.status, judgement.verdict) != (now.status, now.verdict):
            same = f"{now.status}, another verdict"
            moved = f"{judgement.status} -> {now.status}"
            result.changed[same if judgement.status == now.status else moved] += 1
            changed.append((judgement, now))
    for start in range(0, len(changed), WRITE_BATCH_SIZE):
        _store_changed_judgements(store, changed[start : start + WRITE_BATCH_SIZE])
    return result


def _reread_judgement(
    store: Store,
    judgement: Judgement,
    request: StoredRequest,
    rule: str,
    find_request: RequestLookup,
) -> Judgement:
    """Return the judgement after its reply was read again by `rule`. If the reply is still
    unreadable, and the extraction judge (a second model) had read its verdict, the stored reply
    of that judge is read again. `find_request` returns the stored request of a call's key."""
    now = _apply_outcome(judgement, request.parse_reply(judgement, rule))
    if now.status != "unreadable" or judgement.status != "extracted":
        return now
    extraction = store.extraction_of(judgement.ask.key)
    if extraction is None or (reader := find_request(extraction[0])) is None:
        return now
    _, reply, finish, top = extraction
    if reader.by_probabilities and not top:
        return judgement  # the store lacks the extraction's log-probabilities
    extracted = replace(judgement, reply=reply, finish=finish, top_logprobs=top)
    outcome = reader.parse_reply(extracted, "default")
    return replace(judgement, verdict=outcome.verdict) if outcome.status == "ok" else now


def _apply_outcome(judgement: Judgement, read: ReplyOutcome) -> Judgement:
    without = [part for part in judgement.detail.split("; ") if part.startswith(WITHOUT_PREFIX)]
    detail = "; ".join(filter(None, (read.detail, *without)))
    return replace(
        judgement, status=read.status, verdict=read.verdict, rule=read.rule, detail=detail
    )


def _store_changed_judgements(store: Store, changed: list[tuple[Judgement, Judgement]]) -> None:
    """Store the changed judgements, given as (before, after), except those whose reply was replaced
    in the meantime."""

    def store_if_unreplaced(connection: sqlite3.Connection) -> None:
        for before, now in changed:
            if is_still_stored(connection, before):
                put_judgement(connection, now)

    store.writer.run(store_if_unreplaced)


def _make_request_lookup(store: Store) -> RequestLookup:
    prompts: dict[str, Prompt | None] = {}

    def find_request(key: str) -> StoredRequest | None:
        request = store.request(key)
        if request is None:
            return None
        sha = request.prompt_sha
        if sha not in prompts:
            text = store.prompt_yaml(sha)
            prompts[sha] = parse_prompt(text) if text else None
        if (prompt := prompts[sha]) is None:
            return None
        return StoredRequest(prompt, bool(json.loads(request.parameters).get("logprobs")))

    return find_request
