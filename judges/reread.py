"""Reading stored replies again with today's parser: no call, no cent."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from judges.models.answers import Answer
from judges.prompt import Prompt, parse_prompt
from judges.reading import read_reply
from studies.records import Judgement
from studies.rows import put_judgement
from studies.store import Store

READABLE_AGAIN: Final = frozenset({"ok", "extracted", "unreadable", "truncated"})
"""Statuses that came from reading text; the others never had any to read."""
BATCH: Final = 500


@dataclass(slots=True)
class Reread:
    """What another reading changed."""

    read: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    """By "unreadable -> ok", or "ok, another verdict"."""


def reread(store: Store, study: str, rule: str | None = None) -> Reread:
    """Parses the replies of a study again and keeps what now reads differently."""
    rule = rule or store.study(study).reading
    prompt_of = _prompts(store)
    done = Reread()
    changed: list[Judgement] = []
    for judgement in store.judgements(study):
        if judgement.status not in READABLE_AGAIN or judgement.rule == "probabilities":
            continue
        prompt = prompt_of(judgement.ask.key)
        if prompt is None:  # recorded elsewhere: its words are not ours to read
            continue
        done.read += 1
        now = _read_again(store, judgement, prompt, rule, prompt_of)
        if (told := _difference(judgement, now)) is not None:
            done.changed[told] += 1
            changed.append(now)
    for start in range(0, len(changed), BATCH):
        _put(store, changed[start : start + BATCH])
    return done


def _read_again(
    store: Store,
    judgement: Judgement,
    prompt: Prompt,
    rule: str,
    prompt_of: Callable[[str], Prompt | None],
) -> Judgement:
    now = _parsed(judgement, prompt, rule)
    if now.status != "unreadable" or judgement.status != "extracted":
        return now
    extraction = store.extraction_of(judgement.ask.key)
    if extraction is None or (reader := prompt_of(extraction[0])) is None:
        return now
    _, reply, finish = extraction
    again = _parsed(replace(judgement, reply=reply, finish=finish), reader, "default")
    if again.status != "ok":
        return now
    return replace(judgement, verdict=again.verdict)


def _parsed(judgement: Judgement, prompt: Prompt, rule: str) -> Judgement:
    answer = Answer(judgement.reply, finish=judgement.finish)
    read = read_reply(prompt, judgement.ask.labels, answer, rule)
    return replace(
        judgement, status=read.status, verdict=read.verdict, rule=read.rule, detail=read.detail
    )


def _difference(before: Judgement, now: Judgement) -> str | None:
    if before.status != now.status:
        return f"{before.status} -> {now.status}"
    if before.verdict != now.verdict:
        return f"{now.status}, another verdict"
    return None


def _put(store: Store, changed: list[Judgement]) -> None:
    def work(connection: sqlite3.Connection) -> None:
        for judgement in changed:
            put_judgement(connection, judgement)

    store.writer.run(work)


def _prompts(store: Store) -> Callable[[str], Prompt | None]:
    """The prompt behind a key, as it was when it was asked."""
    parsed: dict[str, Prompt | None] = {}

    def prompt_of(key: str) -> Prompt | None:
        row = store.read("SELECT prompt_sha FROM requests WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        if row[0] not in parsed:
            text = store.prompt_yaml(row[0])
            parsed[row[0]] = parse_prompt(text) if text else None
        return parsed[row[0]]

    return prompt_of
