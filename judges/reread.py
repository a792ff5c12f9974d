"""Reading stored replies again with today's parser: no call, no cent."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from judges.models.answers import Answer, top_from_text
from judges.prompt import Prompt, parse_prompt
from judges.reading import Read, read_labels, read_reply
from studies.records import Judgement
from studies.rows import put_judgement
from studies.store import Store

READABLE_AGAIN: Final = frozenset({"ok", "extracted", "unreadable", "truncated"})
"""Statuses that came from reading; the others never had anything to read."""
BATCH: Final = 500
WITHOUT: Final = "asked without "
"""How a judgement tells which parameters its endpoint refused: true whatever is read in it."""


@dataclass(slots=True)
class Reread:
    """What another reading changed."""

    read: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    """By "unreadable -> ok", or "ok, another verdict"."""
    kept: int = 0
    """Label probabilities of a store that did not keep what they were read from: left alone."""


class Asked(NamedTuple):
    """What stands behind a key, as it was when it was asked."""

    prompt: Prompt
    by_labels: bool

    def read(self, judgement: Judgement, rule: str) -> Read:
        top = top_from_text(judgement.top_logprobs)
        answer = Answer(judgement.reply, finish=judgement.finish, top_logprobs=top)
        labels = judgement.ask.labels
        if self.by_labels:
            return read_labels(self.prompt, labels, answer)
        return read_reply(self.prompt, labels, answer, rule)


AskedWith = Callable[[str], Asked | None]


def reread(store: Store, study: str, rule: str | None = None) -> Reread:
    """Parses the replies of a study again and keeps what now reads differently."""
    rule = rule or store.study(study).reading
    asked_with = _asked_with(store)
    done = Reread()
    changed: list[tuple[Judgement, Judgement]] = []
    for judgement in store.judgements(study):
        if judgement.status not in READABLE_AGAIN:
            continue
        asked = asked_with(judgement.ask.key)
        if asked is None:  # recorded elsewhere: its words are not ours to read
            continue
        if asked.by_labels and not judgement.top_logprobs:
            done.kept += 1
            continue
        done.read += 1
        now = _read_again(store, judgement, asked, rule, asked_with)
        if (told := _difference(judgement, now)) is not None:
            done.changed[told] += 1
            changed.append((judgement, now))
    for start in range(0, len(changed), BATCH):
        _put(store, changed[start : start + BATCH])
    return done


def _read_again(
    store: Store, judgement: Judgement, asked: Asked, rule: str, asked_with: AskedWith
) -> Judgement:
    now = _with(judgement, asked.read(judgement, rule))
    if now.status != "unreadable" or judgement.status != "extracted":
        return now
    extraction = store.extraction_of(judgement.ask.key)
    if extraction is None or (reader := asked_with(extraction[0])) is None:
        return now
    _, reply, finish, top = extraction
    if reader.by_labels and not top:
        return judgement  # what the extraction was read from was not kept
    words = replace(judgement, reply=reply, finish=finish, top_logprobs=top)
    again = reader.read(words, "default")
    return replace(judgement, verdict=again.verdict) if again.status == "ok" else now


def _with(judgement: Judgement, read: Read) -> Judgement:
    without = [part for part in judgement.detail.split("; ") if part.startswith(WITHOUT)]
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


def _put(store: Store, changed: list[tuple[Judgement, Judgement]]) -> None:
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


def _asked_with(store: Store) -> AskedWith:
    prompts: dict[str, Prompt | None] = {}

    def asked_with(key: str) -> Asked | None:
        request = store.request(key)
        if request is None:
            return None
        sha = request.prompt_sha
        if sha not in prompts:
            text = store.prompt_yaml(sha)
            prompts[sha] = parse_prompt(text) if text else None
        if (prompt := prompts[sha]) is None:
            return None
        return Asked(prompt, bool(json.loads(request.parameters).get("logprobs")))

    return asked_with
