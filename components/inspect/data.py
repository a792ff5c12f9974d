"""What Inspect shows, read from the store: a page of comparisons, and the texts of one of them."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from components.inspect.rows import (
    PAGE,
    Comparisons,
    Line,
    choices,
    comparison_at,
    comparisons,
    counts,
    in_view,
    lines,
    page_of,
    verified_counts,
)
from components.inspect.selection import Selection
from components.inspect.verified import verified_in
from judges.plan import Plan, call_for, key_of
from judges.prompt import Prompt, parse_prompt
from judges.verdict import marker_span
from studies.comparisons import unrelated_answer
from studies.errors import EvenhandError
from studies.pictures import why_not_inline, why_not_shown
from studies.records import REFERENCE, UNRELATED, Ask, Check, Item, Judgement
from studies.sources.load import image_folder, source_path
from studies.store import Store
from studies.study import Study
from studies.verified import checks_of

NOT_RECORDED: Final = "Not recorded"
IMAGE_KINDS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_IMAGE_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """The messages of an ask as they went out, or why they cannot be shown."""

    messages: tuple[tuple[str, str], ...] = ()
    note: str = ""
    exact: bool = False
    """Rendered again, they hash to the ask's key."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A judgement, and where in its raw reply the verdict stands."""

    judgement: Judgement
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One order of a comparison: its reply, those to the same ask again, the prompt."""

    shown: tuple[str, ...]
    reply: Reply
    again: tuple[Reply, ...]
    sent: Sent


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of an item: `source` is a data URL, or empty where only a link or name is shown."""

    name: str
    source: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """One comparison with its texts; answers in the order of the first showing."""

    line: Line
    item: Item | None
    answers: tuple[tuple[str, str | None], ...]
    pictures: tuple[Picture, ...]
    orders: tuple[Order, ...]
    flipped: bool
    recorded: bool
    simulated: bool
    checks: tuple[Check, ...] = ()
    """What people verified about its answers."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything the tab shows for a selection."""

    selection: Selection
    studies: int
    planned: int
    lines: tuple[Line, ...] = ()
    keys: Mapping[int, str] | None = None
    """By comparison: the key of its first judgement."""
    questions: Mapping[str, str] | None = None
    total: int = 0
    place: int = 0
    """Of the opened comparison among those in view, from 0."""
    counts: Mapping[str, int] | None = None
    verified: Mapping[str, int] | None = None
    """How many each kind of verification would leave; none where nobody verified anything."""
    choices: Mapping[str, Sequence[str]] | None = None
    previous: str = ""
    next: str = ""
    opened: Opened | None = None


def look(store: Store, selection: Selection) -> View:
    """The page of comparisons a selection names and the one that is opened on it."""
    studies = {line.name: line for line in store.studies()}
    study = studies.get(selection.study)
    if study is None:
        return View(selection, len(studies), 0)
    all_of = _comparisons(store, study.name, store.version(study.name))
    found = store.matching(study.name, selection.text) if selection.text.strip() else None
    said = verified_in(all_of, checks_of(store, study.name), selection.contestant)
    view = in_view(all_of, selection, found, said)
    base = View(
        selection,
        len(studies),
        study.planned,
        total=len(view),
        counts=counts(all_of, selection, found, said),
        verified=verified_counts(all_of, selection, found, said),
        choices=choices(all_of),
    )
    return _opened_view(store, all_of, view.tolist(), base) if len(view) else base


@lru_cache(maxsize=4)
def _comparisons(store: Store, name: str, version: tuple[str, int]) -> Comparisons:
    """Kept until the study changes: a step to the next comparison need not group 100,000 rows."""
    return comparisons(store.frame(name))


def _opened_view(store: Store, all_of: Comparisons, view: list[int], base: View) -> View:
    selection, seen = base.selection, set(view)
    at = comparison_at(all_of, store.seq_of(selection.key)) if selection.key else None
    at = at if at in seen else None
    page = page_of(view, selection, at)
    shown = view[page * PAGE : (page + 1) * PAGE]
    at = shown[0] if at is None else at
    place = view.index(at)
    near = [view[i] for i in (place - 1, place + 1) if 0 <= i < len(view)]
    keys = _first_keys(store, all_of, [*shown, *near])
    listed = lines(all_of, shown)
    opened = listed[shown.index(at)]
    return replace(
        base,
        selection=replace(selection, page=page, key=keys.get(at, "")),
        lines=tuple(listed),
        keys=keys,
        questions=store.questions(selection.study, {line.item for line in listed}),
        place=place,
        previous=keys.get(view[place - 1], "") if place else "",
        next=keys.get(view[place + 1], "") if place + 1 < len(view) else "",
        opened=_open(store, all_of, selection.study, opened),
    )


def _first_keys(store: Store, all_of: Comparisons, wanted: Sequence[int]) -> dict[int, str]:
    seqs = {at: int(all_of.frame["seq"].iloc[all_of.first[at]]) for at in wanted}
    keys = store.keys_at(seqs.values())
    return {at: keys[seq] for at, seq in seqs.items() if seq in keys}


def _open(store: Store, all_of: Comparisons, name: str, line: Line) -> Opened:
    keys = store.keys_at(line.seqs)
    found = (store.judgement(name, keys[seq]) for seq in line.seqs if seq in keys)
    judgements = [judgement for judgement in found if judgement is not None]
    study, item = store.study(name), store.item(name, line.item)
    other = _unrelated(store, name, judgements)
    return Opened(
        line=line,
        item=item,
        answers=tuple((who, _answer(item, who, other)) for who in line.names),
        pictures=pictures_of(study, item),
        orders=_orders(store, study, judgements, _by_id(item, other)),
        flipped=bool(all_of.flipped[line.at]),
        simulated=any(j.kind == "simulated" for j in study.judges if j.name == line.judge),
        recorded=all(store.request(one.ask.key) is None for one in judgements),
        checks=checks_of(store, name).get(line.item, ()),
    )


def _orders(
    store: Store, study: Study, judgements: Sequence[Judgement], items: Mapping[str, Item]
) -> tuple[Order, ...]:
    by_order: dict[tuple[str, ...], list[Judgement]] = {}
    for judgement in judgements:
        by_order.setdefault(judgement.ask.shown, []).append(judgement)
    return tuple(_order(store, study, made, items) for made in by_order.values())


def _order(
    store: Store, study: Study, judgements: list[Judgement], items: Mapping[str, Item]
) -> Order:
    first, *rest = sorted(judgements, key=lambda one: (one.ask.noise, one.ask.repeat))
    prompt = _prompt_of(store, first.ask.key)
    return Order(
        shown=first.ask.shown,
        reply=Reply(first, _span(first, prompt, study.reading)),
        again=tuple(Reply(one, _span(one, prompt, study.reading)) for one in rest),
        sent=_sent(store, study, first.ask, prompt, items),
    )


def _prompt_of(store: Store, key: str) -> Prompt | None:
    request = store.request(key)
    text = store.prompt_yaml(request.prompt_sha) if request else None
    return _parsed(text) if text else None


@lru_cache(maxsize=64)
def _parsed(text: str) -> Prompt:
    return parse_prompt(text)


def _span(judgement: Judgement, prompt: Prompt | None, rule: str) -> tuple[int, int] | None:
    if prompt is None or judgement.status != "ok" or judgement.rule == "probabilities":
        return None
    return marker_span(prompt.verdict, judgement.reply, len(judgement.ask.shown), rule)


def _sent(
    store: Store, study: Study, ask: Ask, prompt: Prompt | None, items: Mapping[str, Item]
) -> Sent:
    request = store.request(ask.key)
    if request is None or prompt is None:
        return Sent(note=NOT_RECORDED)
    plan = Plan(study, tuple(items.values()), (prompt,), _folder(study) or Path())
    try:
        call = call_for(plan, ask, items)
    except (EvenhandError, KeyError, StopIteration) as error:
        return Sent(note=f"It cannot be written out again: {error or 'the study has changed'}")
    messages = tuple((str(one["role"]), _content(one["content"])) for one in call.messages)
    salts = ("", store.salt_of(study.name))
    keys = {key_of(request.endpoint, call, ask.repeat, salt=salt) for salt in salts}
    return Sent(messages, exact=ask.key in keys)


def _content(content: Any) -> str:
    """Text as it is; an image is named, not written out."""
    if isinstance(content, str):
        return content
    parts = (part.get("text", "[image]") for part in content)
    return "\n".join(str(part) for part in parts)


def _unrelated(store: Store, name: str, judgements: Sequence[Judgement]) -> Item | None:
    other = next((j.ask.unrelated_item for j in judgements if j.ask.unrelated_item), None)
    return store.item(name, other) if other else None


def _by_id(*items: Item | None) -> dict[str, Item]:
    return {item.id: item for item in items if item is not None}


def _answer(item: Item | None, who: str, other: Item | None) -> str | None:
    """None: the answer is not in the store."""
    if item is None:
        return None
    if who == UNRELATED:
        return unrelated_answer(item, other) if other else None
    return item.reference if who == REFERENCE else item.responses.get(who)


def _folder(study: Study) -> Path | None:
    """What image paths are relative to; None where the records are no longer at hand."""
    try:
        path = source_path(study.data, study.folder)
        return image_folder(study.data, study.folder) if path.exists() else None
    except EvenhandError:
        return None


def pictures_of(study: Study, item: Item | None) -> tuple[Picture, ...]:
    folder = _folder(study)
    return tuple(picture(path, folder) for path in (item.images if item else ()))


def picture(path: str, folder: Path | None) -> Picture:
    """A local image as a data URL; an address is a link, never fetched by the page.

    Only what lies in the folder of the data and is an image by its name: the path came with data.
    """
    if path.startswith("https://"):
        return Picture(path, link=path)
    if path.startswith("data:"):
        inline = path[5:].partition(";")[0] in IMAGE_KINDS
        fits = inline and len(path) < 2 * MOST_IMAGE_BYTES and not why_not_inline(path)
        return Picture("image in the data", source=path if fits else "")
    kind = mimetypes.guess_type(path)[0]
    if folder is None:
        return Picture(path)
    file = (folder / path).resolve()
    if kind not in IMAGE_KINDS or not file.is_relative_to(folder.resolve()) or not file.is_file():
        return Picture(path)
    if file.stat().st_size > MOST_IMAGE_BYTES:
        return Picture(path)
    content = file.read_bytes()
    if why_not_shown(content, len(content)):
        return Picture(path)
    return Picture(path, f"data:{kind};base64,{base64.b64encode(content).decode()}")
