"""Checks of the records of one study:

- no call occurs twice, none is missing, and each judge is one model;
- the key of each call, a hash of its whole request, fits the study file, the prompts and the items;
- each reply, read again, gives the stored verdict, if the record has what the verdict was read
  from;
- items of the built-in probe set are those that come with Evenhand.

Because of the keys, a changed prompt, another text of an item, or verdicts of another judge are
found even if all file hashes were computed again after the change."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from components.share.board.board_rows import reported_models
from components.share.board.record_tree import (
    ITEMS_FILE,
    JUDGEMENTS_FILE,
    RECORD_FILE,
    RECORDED_KEY,
    RECORDS,
    STUDY_FILE,
    BoardError,
    StudyRecords,
    folder_name,
    prompt_names_or_paths,
)
from judges.operations.check_judge import REREADABLE_STATUSES, StoredRequest
from judges.planning.plan import PlannedAsk, asks_of
from judges.twins.make_twins import add_twins
from studies.domain import HUMAN_PREFIX, Ask, Judgement, Verdict
from studies.files.items import dump_item
from studies.sources.load import load_items
from studies.spec.presets import PROBE_SOURCE
from studies.store.queries.adapted_requests import is_key_of_call

TOLERANCE: Final = 1e-9
"""Largest difference of a probability that is read again: processors round differently."""

AskPlace = tuple[object, ...]
"""Values that identify a call of a study: judge, prompt, item, answers shown, labels, repeat, and
whether it is a noise-floor repeat."""


def recheck_records(records: StudyRecords) -> int:
    """Check the records of one study, and return how many replies were read again; BoardError at
    the first fault, which names the file and, if one line is at fault, the line. Imported verdicts,
    which have no reply, and verdicts read by an extraction judge are not read again."""
    where = f"{RECORDS}/{records.name}/{JUDGEMENTS_FILE}"
    check_record_structure(records)
    if records.identities:  # imported verdicts have no requests
        _check_against_study_file(records)
    planned = _planned_asks(records)
    again = 0
    for line, one in enumerate(records.judgements, 1):
        if records.is_imported(one.ask.judge):
            continue
        request = planned.get(_identify_ask(one.ask))
        if request is None:
            raise BoardError(
                f"{where}, line {line}: the study file plans no such call: {_describe_ask(one.ask)}"
            )
        if not is_key_of_call(one.ask.key, request.ask.key):
            raise BoardError(
                f"{where}, line {line}: the key does not fit the request: "
                f"{_describe_ask(one.ask)}. Not the one that was asked: "
                f"{_describe_changed_parts(records, planned)}"
            )
        if replace(one.ask, key="") != replace(request.ask, key=""):
            raise BoardError(
                f"{where}, line {line}: the call differs from the plan: {_describe_ask(one.ask)}"
            )
        extracted = one.status == "extracted" and records.study.extraction is not None
        if not extracted and (one.status in REREADABLE_STATUSES or _should_have_verdict(one)):
            again += _reread_and_check_verdict(records, one, request, f"{where}, line {line}")
    missing = planned.keys() - {_identify_ask(one.ask) for one in records.judgements}
    if missing:
        first = next(one.ask for place, one in planned.items() if place in missing)
        raise BoardError(
            f"{where}: calls missing: {len(missing):,}; the first: {_describe_ask(first)}"
        )
    return again


def check_record_structure(records: StudyRecords) -> None:
    """Raise BoardError at the first fault that is found without computing any key: duplicates,
    unknown items, judges or prompts, replies of several models for one judge, missing orders."""
    where = f"{RECORDS}/{records.name}/{JUDGEMENTS_FILE}"
    seen: dict[AskPlace, int] = {}
    items = {item.id for item in records.items}
    prompts = {prompt.name for prompt in records.prompts}
    for line, one in enumerate(records.judgements, 1):
        first = seen.setdefault(_identify_ask(one.ask), line)
        if first != line:
            raise BoardError(
                f"{where}, line {line}: duplicate of line {first}: {_describe_ask(one.ask)}"
            )
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
    _require_all_orders(records.judgements, where)


def _require_all_orders(judgements: Sequence[Judgement], where: str) -> None:
    """Raise BoardError if a comparison has records, but not in all the orders planned for it.
    `where`: file that the error names."""
    found: dict[tuple[str, str, str, tuple[str, ...], int], set[tuple[str, ...]]] = {}
    wanted: dict[tuple[str, str, str, tuple[str, ...], int], int] = {}
    for one in judgements:
        ask = one.ask
        person = ask.judge.startswith(HUMAN_PREFIX)
        if ask.noise or person or ask.orders < 2 or len(ask.shown) < 2:
            continue
        key = (ask.judge, ask.prompt, ask.item, tuple(sorted(ask.shown)), ask.repeat)
        found.setdefault(key, set()).add(ask.shown)
        wanted[key] = max(wanted.get(key, ask.orders), ask.orders)
    for key, orders in found.items():
        judge, prompt, item, shown, _ = key
        if len(orders) < min(wanted[key], math.factorial(len(shown))):
            raise BoardError(
                f"{where}: an order is missing: {judge}, {prompt}, item {item}, "
                f"{' and '.join(shown)}: {len(orders)} of {wanted[key]} orders"
            )


def _planned_asks(records: StudyRecords) -> dict[AskPlace, PlannedAsk]:
    """All planned calls of the study: AskPlace (the values that identify a call) -> call. Judges
    whose verdicts were imported have none."""
    judges = tuple(one for one in records.study.judges if not records.is_imported(one.name))
    if not judges:
        return {}
    plan = records.plan
    plan = replace(plan, study=replace(plan.study, judges=judges))
    return {_identify_ask(one.ask): one for one in asks_of(plan, records.identities)}


def _identify_ask(ask: Ask) -> AskPlace:
    return (ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat, ask.noise)


def _describe_ask(ask: Ask) -> str:
    repeat = f", repeat {ask.repeat}" if ask.repeat else ""
    return f"{ask.judge}, {ask.prompt}, item {ask.item}, shown {' then '.join(ask.shown)}{repeat}"


def _check_against_study_file(records: StudyRecords) -> None:
    """Raise BoardError if the study file does not fit the records beside it (name of the folder,
    prompt files, name of the data), or if items of the probe set differ from those that come with
    Evenhand."""
    folder, data = f"{RECORDS}/{records.name}", records.study.data
    if folder_name(records.study.name) != records.name:
        raise BoardError(f"{folder}/{STUDY_FILE}: has the name of another study")
    present = prompt_names_or_paths(records.prompts)
    for named, path in zip_longest(records.study.prompts, present) if present else ():
        if named != path:
            file = path if path and path.startswith("prompts/") else STUDY_FILE
            raise BoardError(f"{folder}/{file}: not the prompt {named} of {STUDY_FILE}")
    if data.source not in (ITEMS_FILE, records.source):
        raise BoardError(
            f"{folder}/{RECORD_FILE}: the source is {records.source!r}, in {STUDY_FILE} it is "
            f"{data.source!r}"
        )
    if data.source == PROBE_SOURCE:
        own = add_twins(records.study, load_items(data, records.study.folder)).items
        _require_equal_items(
            {one.id: dump_item(one) for one in records.items},
            {one.id: dump_item(one) for one in own},
            f"{folder}/{ITEMS_FILE}",
        )


def _require_equal_items(
    stored: Mapping[str, Mapping[str, object]],
    expected: Mapping[str, Mapping[str, object]],
    where: str,
) -> None:
    for name in (*expected, *stored):
        mine, theirs = stored.get(name, {}), expected.get(name, {})
        if mine != theirs:
            parts = [part for part in {**theirs, **mine} if mine.get(part) != theirs.get(part)]
            what = "missing" if not mine else ", ".join(parts) if theirs else "an item more"
            raise BoardError(f"{where}, item {name}: not as in the probe set: {what}")


def _describe_changed_parts(records: StudyRecords, planned: Mapping[AskPlace, PlannedAsk]) -> str:
    """Text that names what may have been changed in the records, given that the keys of some calls
    do not fit. The prompts of these calls are named if no call with one of these prompts has a key
    that fits; likewise the judges, and the items. The item is also named if all keys that do not
    fit belong to one item. If nothing is named: "single records were exchanged"."""
    fitting: list[Ask] = []
    others: list[Ask] = []
    for one in records.judgements:
        if (request := planned.get(_identify_ask(one.ask))) is not None:
            fits = is_key_of_call(one.ask.key, request.ask.key)
            (fitting if fits else others).append(one.ask)
    found = []
    for part, file in (
        ("prompt", "prompts/{}.yaml"),
        ("judge", f"{STUDY_FILE} or {RECORD_FILE}"),
        ("item", ITEMS_FILE),
    ):
        names = sorted({getattr(ask, part) for ask in others})
        alone = part == "item" and len(names) == 1  # one of its answers may still be the same
        if alone or not {getattr(ask, part) for ask in fitting}.intersection(names):
            first, more = names[0], len(names) - 1
            text = f"{part} {first}" + (f" and {more} more" if more else "")
            found.append(f"{text} ({file.format(folder_name(first))})")
    return ", or ".join(found) or "single records were exchanged"


def _should_have_verdict(judgement: Judgement) -> bool:
    """Whether a verdict is expected of a record: it has a reply or a verdict, and the provider
    neither refused the request nor filtered the reply."""
    refused = judgement.finish == "content_filter" or (
        judgement.status == "refusal" and bool(judgement.detail)
    )
    return bool(judgement.reply.strip() or judgement.verdict) and not refused


def _reread_and_check_verdict(
    records: StudyRecords, judgement: Judgement, planned: PlannedAsk, where: str
) -> bool:
    """Read a reply again; BoardError if this gives another verdict than the stored one. Return
    whether it could be read again. `where`: file and line that the error names.

    A verdict that was read from token probabilities cannot be read again if these were not stored.
    Then it is only checked against the stored probabilities of the labels."""
    by_probabilities = bool(planned.call.parameters.get("logprobs"))
    if by_probabilities and not judgement.top_logprobs:
        _require_most_probable_choice(judgement, planned, where)
        return False
    found = StoredRequest(planned.call.prompt, by_probabilities).parse_reply(
        judgement, records.study.reading
    )
    if found.status != judgement.status or not _is_same_verdict(found.verdict, judgement.verdict):
        raise BoardError(
            f"{where}: read again, the reply gives another verdict: "
            f"{_describe_ask(judgement.ask)}: stored {judgement.status}, "
            f"{_describe_pick(judgement.verdict)}; read {found.status}, "
            f"{_describe_pick(found.verdict)}"
        )
    return True


def _require_most_probable_choice(judgement: Judgement, planned: PlannedAsk, where: str) -> None:
    """Raise BoardError if the stored probability of another label is higher than that of the chosen
    one. The embedded judge always answers with its most probable token, so for this judge the label
    at the end of the reply must also be the chosen one."""
    likely = judgement.verdict.label_probabilities if judgement.verdict else ()
    pick = judgement.verdict.pick if judgement.verdict else None
    if not isinstance(pick, int):
        return
    stored = f"{_describe_ask(judgement.ask)}: stored {_describe_pick(judgement.verdict)}"
    if likely and likely[pick] < max(likely):
        raise BoardError(f"{where}: the choice is not the most probable label: {stored}")
    said, labels = judgement.reply.split()[-1:], judgement.ask.labels
    embedded = planned.call.judge.kind == "embedded"
    if embedded and said and said[0] in labels and said[0] != labels[pick]:
        raise BoardError(f"{where}: the reply names {said[0]}, another answer: {stored}")


def _describe_pick(verdict: Verdict | None) -> str:
    if verdict is None or verdict.pick is None:
        return "no choice"
    return "tie" if verdict.pick == "tie" else f"position {verdict.pick + 1}"


def _is_same_verdict(one: Verdict | None, other: Verdict | None) -> bool:
    if one is None or other is None:
        return one is other
    same = (one.pick, one.margin) == (other.pick, other.margin)
    return same and all(
        a == b or (a is not None and b is not None and abs(a - b) <= TOLERANCE)
        for a, b in _pair_verdict_numbers(one, other)
    )


def _pair_verdict_numbers(
    one: Verdict, other: Verdict
) -> Iterator[tuple[float | None, float | None]]:
    yield one.label_mass, other.label_mass
    for mine, theirs in (
        (one.scores, other.scores),
        (one.label_probabilities, other.label_probabilities),
    ):
        if len(mine) != len(theirs):
            yield 0.0, None
        yield from zip(mine, theirs, strict=False)
