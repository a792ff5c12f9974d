"""Checks of the records of one study: no call twice, none missing, one model for each judge; every
key fits the study file, prompts and items; every reply, read again, gives the stored verdict.

The key of a call is a hash of its whole request. A changed prompt, another text of an item, or
verdicts of another judge are therefore found even if all file hashes were written anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from components.share.board.board_rows import reported_models
from components.share.board.record_tree import (
    ITEMS_FILE,
    JUDGEMENTS_FILE,
    RECORDED_KEY,
    RECORDS,
    STUDY_FILE,
    BoardError,
    StudyRecords,
)
from judges.operations.check_judge import REREADABLE_STATUSES, StoredRequest
from judges.planning.plan import PlannedAsk, asks_of
from studies.domain import HUMAN_PREFIX, Ask, Judgement, Verdict
from studies.store.queries.adapted_requests import is_key_of_call

TOLERANCE: Final = 1e-9
"""Largest difference of a probability that is read again: processors round differently."""

AskPlace = tuple[object, ...]
"""Facts that tell the calls of a study apart."""


@dataclass(frozen=True, slots=True)
class CheckedCounts:
    """Numbers of verdicts checked in each way."""

    verdicts: int
    read_again: int
    extracted: int
    """Verdicts that an extraction judge read; its replies are not part of the records."""
    imported: int


def check_study(records: StudyRecords) -> CheckedCounts:
    """Check the records of one study; raise BoardError at the first fault, with file and line."""
    where = f"{RECORDS}/{records.name}/{JUDGEMENTS_FILE}"
    check_arrangement(records)
    planned = _planned_asks(records)
    again = extracted = imported = 0
    for line, one in enumerate(records.judgements, 1):
        if records.is_imported(one.ask.judge):
            imported += 1
            continue
        request = planned.pop(_place(one.ask), None)
        if request is None:
            raise BoardError(
                f"{where}, line {line}: the study file plans no such call: {_name(one.ask)}"
            )
        _check_key(one.ask, request, f"{where}, line {line}")
        if one.status == "extracted":
            extracted += 1
        elif one.status in REREADABLE_STATUSES:
            again += _check_verdict(records, one, request, f"{where}, line {line}")
    if planned:
        missing = next(iter(planned.values())).ask
        raise BoardError(
            f"{where}: {len(planned):,} calls are missing; the first: {_name(missing)}"
        )
    return CheckedCounts(len(records.judgements), again, extracted, imported)


def check_arrangement(records: StudyRecords) -> None:
    """Check without computing any key: duplicates, missing orders, unknown items, mixed models."""
    where = f"{RECORDS}/{records.name}/{JUDGEMENTS_FILE}"
    seen: dict[AskPlace, int] = {}
    items = {item.id for item in records.items}
    prompts = {prompt.name for prompt in records.prompts}
    for line, one in enumerate(records.judgements, 1):
        first = seen.setdefault(_place(one.ask), line)
        if first != line:
            raise BoardError(f"{where}, line {line}: duplicate of line {first}: {_name(one.ask)}")
        if one.ask.item not in items:
            raise BoardError(f"{where}, line {line}: item {one.ask.item!r} is not in {ITEMS_FILE}")
        if not one.ask.key.startswith(RECORDED_KEY) and records.is_imported(one.ask.judge):
            raise BoardError(
                f"{where}, line {line}: judge {one.ask.judge!r} was called, but is not a judge of "
                f"{STUDY_FILE}"
            )
        if one.ask.prompt not in prompts and not records.is_imported(one.ask.judge):
            raise BoardError(
                f"{where}, line {line}: prompt {one.ask.prompt!r} is unknown: the study has no "
                "such prompt"
            )
    for judge, models in sorted(reported_models(records.judgements).items()):
        if len(models) > 1:
            named = ", ".join(f"{name} ({count:,})" for name, count in models.most_common())
            raise BoardError(
                f"{where}: judge {judge!r} is mixed: its replies report the models {named}; run "
                "each model as a judge of its own"
            )
    _check_orders(records.judgements, where)


def _check_orders(judgements: Sequence[Judgement], where: str) -> None:
    """Every comparison must have a record in each order that was planned for it."""
    found: dict[tuple[str, str, str, tuple[str, ...], int], set[tuple[str, ...]]] = {}
    wanted: dict[tuple[str, str, str, tuple[str, ...], int], int] = {}
    for one in judgements:
        ask = one.ask
        person = ask.judge.startswith(HUMAN_PREFIX)
        if ask.noise or person or ask.orders < 2 or len(ask.shown) < 2:
            continue
        key = (ask.judge, ask.prompt, ask.item, tuple(sorted(ask.shown)), ask.repeat)
        found.setdefault(key, set()).add(ask.shown)
        wanted[key] = max(wanted.get(key, 0), ask.orders)
    for key, orders in found.items():
        judge, prompt, item, shown, _ = key
        if len(orders) < min(wanted[key], math.factorial(len(shown))):
            raise BoardError(
                f"{where}: an order is missing: {judge}, {prompt}, item {item}, "
                f"{' and '.join(shown)}: {len(orders)} of {wanted[key]} orders"
            )


def _planned_asks(records: StudyRecords) -> dict[AskPlace, PlannedAsk]:
    """All calls of the study's judges by the facts that tell them apart."""
    judges = tuple(one for one in records.study.judges if not records.is_imported(one.name))
    if not judges:
        return {}
    plan = records.plan
    plan = replace(plan, study=replace(plan.study, judges=judges))
    return {_place(one.ask): one for one in asks_of(plan, records.identities)}


def _place(ask: Ask) -> AskPlace:
    return (ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat, ask.noise)


def _name(ask: Ask) -> str:
    repeat = f", repeat {ask.repeat}" if ask.repeat else ""
    return f"{ask.judge}, {ask.prompt}, item {ask.item}, shown {' then '.join(ask.shown)}{repeat}"


def _check_key(ask: Ask, planned: PlannedAsk, where: str) -> None:
    if not is_key_of_call(ask.key, planned.ask.key):
        raise BoardError(
            f"{where}: the key does not fit the request: {_name(ask)}. The prompt, the text of the "
            "item, or the judge is not the one that was asked"
        )
    if replace(ask, key="") != replace(planned.ask, key=""):
        raise BoardError(f"{where}: the call differs from the plan: {_name(ask)}")


def _check_verdict(records: StudyRecords, one: Judgement, planned: PlannedAsk, where: str) -> bool:
    """Read a reply again. If the record lacks the tokens that it was read from, only compare the
    choice with the stored probabilities, and return False."""
    by_probabilities = bool(planned.call.parameters.get("logprobs"))
    if by_probabilities and not one.top_logprobs:
        likely = one.verdict.label_probabilities if one.verdict else ()
        pick = one.verdict.pick if one.verdict else None
        if likely and isinstance(pick, int) and likely[pick] < max(likely):
            raise BoardError(
                f"{where}: the choice is not the most probable label: {_name(one.ask)}: stored "
                f"{_pick(one.verdict)}"
            )
        return False
    found = StoredRequest(planned.call.prompt, by_probabilities).read(one, records.study.reading)
    if found.status != one.status or not _same_verdict(found.verdict, one.verdict):
        raise BoardError(
            f"{where}: read again, the reply gives another verdict: {_name(one.ask)}: stored "
            f"{one.status}, {_pick(one.verdict)}; read {found.status}, {_pick(found.verdict)}"
        )
    return True


def _pick(verdict: Verdict | None) -> str:
    if verdict is None or verdict.pick is None:
        return "no choice"
    return "tie" if verdict.pick == "tie" else f"position {verdict.pick + 1}"


def _same_verdict(one: Verdict | None, other: Verdict | None) -> bool:
    if one is None or other is None:
        return one is other
    same = (one.pick, one.margin) == (other.pick, other.margin)
    return same and all(
        a == b or (a is not None and b is not None and abs(a - b) <= TOLERANCE)
        for a, b in _paired_numbers(one, other)
    )


def _paired_numbers(one: Verdict, other: Verdict) -> Iterator[tuple[float | None, float | None]]:
    yield one.label_mass, other.label_mass
    for mine, theirs in (
        (one.scores, other.scores),
        (one.label_probabilities, other.label_probabilities),
    ):
        if len(mine) != len(theirs):
            yield 0.0, None
        yield from zip(mine, theirs, strict=False)
