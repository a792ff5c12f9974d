"""Reading stored replies again with today's parser: no call, no cent."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from judges.engine.outcome import ReplyOutcome, read_label_probabilities, read_reply
from judges.models.interface import JudgeReply, parse_logprobs
from judges.rendering.prompt import Prompt, parse_prompt
from studies.domain import Judgement
from studies.store.rows import put_judgement
from studies.store.store import Store

REREADABLE_STATUSES: Final = frozenset({"ok", "extracted", "unreadable", "truncated"})
"""Statuses that came from reading; the others never had anything to read."""
WRITE_BATCH_SIZE: Final = 500
WITHOUT_PREFIX: Final = "asked without "
"""How a judgement tells which parameters its endpoint refused: true whatever is read in it."""


@dataclass(slots=True)
class RereadResult:
    """What another reading changed."""

    read: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    """By "unreadable -> ok", or "ok, another verdict"."""
    unchanged_count: int = 0
    """Label probabilities of a store that did not keep what they were read from: left alone."""


class StoredRequest(NamedTuple):
    """What stands behind a key, as it was when it was asked."""

    prompt: Prompt
    by_probabilities: bool

    def read(self, judgement: Judgement, rule: str) -> ReplyOutcome:
        top = parse_logprobs(judgement.top_logprobs)
        answer = JudgeReply(judgement.reply, finish=judgement.finish, top_logprobs=top)
        labels = judgement.ask.labels
        if self.by_probabilities:
            return read_label_probabilities(self.prompt, labels, answer)
        return read_reply(self.prompt, labels, answer, rule)


RequestLookup = Callable[[str], StoredRequest | None]


def reread(store: Store, study: str, rule: str | None = None) -> RereadResult:
    """Parses the replies of a study again and keeps what now reads differently."""
    rule = rule or store.study(study).reading
    asked_with = _make_request_lookup(store)
    done = RereadResult()
    changed: list[tuple[Judgement, Judgement]] = []
    for judgement in store.judgements(study):
        if judgement.status not in REREADABLE_STATUSES:
            continue
        asked = asked_with(judgement.ask.key)
        if asked is None:  # recorded elsewhere: its words are not ours to read
            continue
        if asked.by_probabilities and not judgement.top_logprobs:
            done.unchanged_count += 1
            continue
        done.read += 1
        now = _read_again(store, judgement, asked, rule, asked_with)
        if (told := _difference(judgement, now)) is not None:
            done.changed[told] += 1
            changed.append((judgement, now))
    for start in range(0, len(changed), WRITE_BATCH_SIZE):
        _store_changes(store, changed[start : start + WRITE_BATCH_SIZE])
    return done


def _read_again(
    store: Store, judgement: Judgement, asked: StoredRequest, rule: str, asked_with: RequestLookup
) -> Judgement:
    now = _apply_outcome(judgement, asked.read(judgement, rule))
    if now.status != "unreadable" or judgement.status != "extracted":
        return now
    extraction = store.extraction_of(judgement.ask.key)
    if extraction is None or (reader := asked_with(extraction[0])) is None:
        return now
    _, reply, finish, top = extraction
    if reader.by_probabilities and not top:
        return judgement  # what the extraction was read from was not kept
    words = replace(judgement, reply=reply, finish=finish, top_logprobs=top)
    again = reader.read(words, "default")
    return replace(judgement, verdict=again.verdict) if again.status == "ok" else now


def _apply_outcome(judgement: Judgement, read: ReplyOutcome) -> Judgement:
    without = [part for part in judgement.detail.split("; ") if part.startswith(WITHOUT_PREFIX)]
    detail = "; ".join(filter(None, (read.detail, *without)))
    return replace(
        judgement, status=read.status, verdict=read.verdict, rule=read.rule, detail=detail
    )


def _difference(before: Judgement, now: Judgement) -> str | None:
    if before.status != now.status:
        return f"{before.status} -> {now.status}"
    if before.verdict != now.verdict:
        return f"{now.status}, another verdict"
    return None


def _store_changes(store: Store, changed: list[tuple[Judgement, Judgement]]) -> None:
    """A reply that came meanwhile, by a run that is on, is newer than what was read again."""

    def work(connection: sqlite3.Connection) -> None:
        for before, now in changed:
            there = connection.execute(
                "SELECT status, time, reply FROM judgements JOIN replies USING(key) WHERE key=?",
                (now.ask.key,),
            ).fetchone()
            if there == (before.status, before.time, before.reply):
                put_judgement(connection, now)

    store.writer.run(work)


def _make_request_lookup(store: Store) -> RequestLookup:
    prompts: dict[str, Prompt | None] = {}

    def asked_with(key: str) -> StoredRequest | None:
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

    return asked_with
