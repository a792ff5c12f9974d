"""Load the data of the Inspect tab from the store: a page of the list, the opened comparison."""

import base64
import contextlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from components.inspect.comparison_index import (
    PAGE_SIZE,
    ComparisonIndex,
    ComparisonRow,
    comparison_rows,
    count_by_filter,
    count_by_verification,
    filter_comparisons,
    find_comparison,
    index_comparisons,
    menu_choices,
    page_number,
    rows_with_status_mask,
)
from components.inspect.url_selection import Selection
from components.inspect.verification_filter import verification_masks
from judges.planning.plan import Plan, call_key_of, render_call
from judges.rendering.prompt import Prompt, parse_prompt
from judges.verdicts.verdict import verdict_span
from metrics.estimation.row_selection import Ints
from studies.domain import REFERENCE, UNRELATED, AnswerCheck, Ask, Item, Judgement
from studies.errors import EvenhandError
from studies.files.image_files import why_data_url_refused, why_image_refused
from studies.people.verifications import checks_of_answers
from studies.sources.load import image_folder, source_path
from studies.spec.presentations import unrelated_answer
from studies.spec.study import Study
from studies.store.queries.adapted_requests import is_key_of_call
from studies.store.store import Store

NOT_RECORDED: Final = "Not recorded"
IMAGE_KINDS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_IMAGE_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class SentMessages:
    """Messages (role, text) of a call, rebuilt from the store; if there are none, `note` is the
    reason."""

    messages: tuple[tuple[str, str], ...] = ()
    note: str = ""
    exact: bool = False
    """Whether the messages are certainly those that were sent: their hash equals the call's key."""


@dataclass(frozen=True, slots=True)
class InspectedReply:
    """A judgement, and the part of its reply from which the verdict was read: `span` is (start,
    end), or None if unknown."""

    judgement: Judgement
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class OrderReplies:
    """One order of a comparison: the first `reply`, the replies to repeats of its call (`again`),
    and the messages `sent`."""

    shown: tuple[str, ...]
    reply: InspectedReply
    again: tuple[InspectedReply, ...]
    sent: SentMessages


@dataclass(frozen=True, slots=True)
class ItemImage:
    """An image of an item; `source` is a data URL, empty if only a link or name is shown."""

    name: str
    source: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonDetail:
    """One comparison with all its texts. `line`: its row in the list; `answers`: pairs (model,
    text; None if it was not recorded), in the order of the first call; `recorded`: whether all its
    verdicts were imported; `simulated`: whether its judge is simulated."""

    line: ComparisonRow
    item: Item | None
    answers: tuple[tuple[str, str | None], ...]
    images: tuple[ItemImage, ...]
    orders: tuple[OrderReplies, ...]
    flipped: bool
    recorded: bool
    simulated: bool
    checks: tuple[AnswerCheck, ...] = ()
    """People's verifications of the answers to this item, also of models not compared here."""


@dataclass(frozen=True, slots=True)
class InspectedStudy:
    """Content of the Inspect tab for one selection of filters. `studies`: number of stored studies;
    `planned`: planned calls of this study; `lines`: comparisons on the shown page; `total`: number
    of comparisons that match; `replies`: number of replies in these that have the selected status;
    `previous`, `next`: keys that open the comparisons before and after the opened one."""

    selection: Selection
    studies: int
    planned: int
    lines: tuple[ComparisonRow, ...] = ()
    keys: Mapping[int, str] | None = None
    """Number of a comparison in the index -> key of its first judgement, for the listed comparisons
    and those before and after the opened one."""
    questions: Mapping[str, str] | None = None
    total: int = 0
    replies: int = 0
    place: int = 0
    """Index of the opened comparison in the filtered list, from 0."""
    counts: Mapping[str, int] | None = None
    verified: Mapping[str, int] | None = None
    """Kind of verification (such as "harmful") -> number of comparisons with it; empty without
    verifications."""
    choices: Mapping[str, Sequence[str]] | None = None
    previous: str = ""
    next: str = ""
    opened: ComparisonDetail | None = None


def load_inspect_page(store: Store, selection: Selection) -> InspectedStudy:
    """Load the page of comparisons that `selection` requests, and the opened comparison. If the
    selection names no comparison, or one that does not match, the first of the page is opened. If
    the study does not exist, the result has no comparisons and `choices` is None."""
    studies = {line.name: line for line in store.studies()}
    study = studies.get(selection.study)
    if study is None:
        return InspectedStudy(selection, len(studies), 0)
    index = _load_index(store, study.name)
    found = store.search_judgements(study.name, selection.text) if selection.text.strip() else None
    verified = verification_masks(index, checks_of_answers(store, study.name), selection.contestant)
    matching = filter_comparisons(index, selection, found, verified)
    with_status = rows_with_status_mask(index, selection.status)
    base = InspectedStudy(
        selection,
        len(studies),
        study.planned,
        total=len(matching),
        replies=int(np.isin(index.comparison_of_row[with_status], matching).sum()),
        counts=count_by_filter(index, selection, found, verified),
        verified=count_by_verification(index, selection, found, verified),
        choices=menu_choices(index),
    )
    return _add_list_and_detail(store, index, matching, base) if len(matching) else base


def _load_index(store: Store, name: str) -> ComparisonIndex:
    """The index of a study's comparisons; cached, so that turning a page does not group 100,000
    rows again."""
    return store.memoised(
        name, ("comparison index",), lambda: index_comparisons(store.frame(name, "with"))
    )


def _add_list_and_detail(
    store: Store, index: ComparisonIndex, matching: Ints, base: InspectedStudy
) -> InspectedStudy:
    selection = base.selection
    at = find_comparison(index, store.seq_of(selection.key)) if selection.key else None
    at = at if at in matching else None
    page = page_number(matching, selection, at)
    shown = matching[page * PAGE_SIZE : (page + 1) * PAGE_SIZE].tolist()
    at = shown[0] if at is None else at
    place = int(np.searchsorted(matching, at))
    near = [int(matching[i]) for i in (place - 1, place + 1) if 0 <= i < len(matching)]
    keys = _first_call_keys(store, index, [*shown, *near])
    listed = comparison_rows(index, shown)
    opened = listed[shown.index(at)]
    return replace(
        base,
        selection=replace(selection, page=page, key=keys.get(at, "")),
        lines=tuple(listed),
        keys=keys,
        questions=store.questions(selection.study, {line.item for line in listed}),
        place=place,
        previous=keys.get(int(matching[place - 1]), "") if place else "",
        next=keys.get(int(matching[place + 1]), "") if place + 1 < len(matching) else "",
        opened=_load_comparison_detail(store, index, selection.study, opened),
    )


def _first_call_keys(store: Store, index: ComparisonIndex, wanted: Sequence[int]) -> dict[int, str]:
    seqs = {at: int(index.frame["seq"].iloc[index.first[at]]) for at in wanted}
    keys = store.keys_by_seq(seqs.values())
    return {at: keys[seq] for at, seq in seqs.items() if seq in keys}


def _load_comparison_detail(
    store: Store, index: ComparisonIndex, name: str, line: ComparisonRow
) -> ComparisonDetail:
    keys = store.keys_by_seq(line.seqs)
    found = (store.judgement(name, keys[seq]) for seq in line.seqs if seq in keys)
    judgements = [judgement for judgement in found if judgement is not None]
    study, item = store.study(name), store.item(name, line.item)
    other = _unrelated_item(store, name, judgements)
    return ComparisonDetail(
        line=line,
        item=item,
        answers=tuple((who, _answer_text(item, who, other)) for who in line.model_names),
        images=item_images(store, name, item),
        orders=_load_orders(store, study, judgements, _items_by_id(item, other)),
        flipped=bool(index.flipped[line.at]),
        simulated=any(j.kind == "simulated" for j in study.judges if j.name == line.judge),
        recorded=all(store.request(one.ask.key) is None for one in judgements),
        checks=checks_of_answers(store, name).get(line.item, ()),
    )


def _load_orders(
    store: Store, study: Study, judgements: Sequence[Judgement], items: Mapping[str, Item]
) -> tuple[OrderReplies, ...]:
    by_order: dict[tuple[tuple[str, ...], ...], list[Judgement]] = {}
    for judgement in judgements:
        ask = judgement.ask
        # A single answer has no order: group by the arrangement of options and criteria.
        arranged = ask.labels if len(ask.shown) == 1 else ()
        by_order.setdefault((ask.shown, arranged), []).append(judgement)
    return tuple(_load_order(store, study, made, items) for made in by_order.values())


def _load_order(
    store: Store, study: Study, judgements: list[Judgement], items: Mapping[str, Item]
) -> OrderReplies:
    first, *rest = sorted(judgements, key=lambda one: (one.ask.noise, one.ask.repeat))
    prompt = stored_prompt(store, first.ask.key)
    return OrderReplies(
        shown=first.ask.shown,
        reply=InspectedReply(first, _verdict_span(first, prompt, study.reading)),
        again=tuple(InspectedReply(one, _verdict_span(one, prompt, study.reading)) for one in rest),
        sent=_rebuild_sent_messages(store, study, first.ask, prompt, items),
    )


def stored_prompt(store: Store, key: str) -> Prompt | None:
    request = store.request(key)
    text = store.prompt_yaml(request.prompt_sha) if request else None
    return _parse_prompt_cached(text) if text else None


@lru_cache(maxsize=64)
def _parse_prompt_cached(text: str) -> Prompt:
    return parse_prompt(text)


def _verdict_span(judgement: Judgement, prompt: Prompt | None, rule: str) -> tuple[int, int] | None:
    if prompt is None or judgement.status != "ok" or judgement.rule == "probabilities":
        return None
    ask = judgement.ask
    return verdict_span(
        prompt.verdict, judgement.reply, len(ask.shown), rule, prompt.options, ask.labels
    )


def _rebuild_sent_messages(
    store: Store, study: Study, ask: Ask, prompt: Prompt | None, items: Mapping[str, Item]
) -> SentMessages:
    request = store.request(ask.key)
    if request is None or prompt is None:
        return SentMessages(note=NOT_RECORDED)
    folder = _image_folder(store, study.name) or Path()
    plan = Plan(study, tuple(items.values()), (prompt,), folder)
    try:
        call = render_call(plan, ask, items)
    except (EvenhandError, KeyError, StopIteration) as error:
        return SentMessages(
            note=f"The prompt cannot be rebuilt: {error or 'the study has changed'}"
        )
    messages = tuple((str(one["role"]), _content_text(one["content"])) for one in call.messages)
    salts = ("", store.salt_of(study.name))
    keys = {call_key_of(request.endpoint, call, ask.repeat, salt=salt) for salt in salts}
    return SentMessages(messages, exact=any(is_key_of_call(ask.key, key) for key in keys))


def _content_text(content: Any) -> str:
    """Text of a message; an image is replaced by "[image]"."""
    if isinstance(content, str):
        return content
    parts = (part.get("text", "[image]") for part in content)
    return "\n".join(str(part) for part in parts)


def _unrelated_item(store: Store, name: str, judgements: Sequence[Judgement]) -> Item | None:
    other = next((j.ask.unrelated_item for j in judgements if j.ask.unrelated_item), None)
    return store.item(name, other) if other else None


def _items_by_id(*items: Item | None) -> dict[str, Item]:
    return {item.id: item for item in items if item is not None}


def _answer_text(item: Item | None, who: str, other: Item | None) -> str | None:
    """Text of the answer named `who`; None if it is not in the store. `who` is a model, a twin (a
    copy of an answer with one change), the reference answer, or the unrelated option; the text of
    that option is made from an answer to the item `other`."""
    if item is None:
        return None
    if who == UNRELATED:
        return unrelated_answer(item, other) if other else None
    return {REFERENCE: item.reference, **item.responses, **item.twins}.get(who)


def _image_folder(store: Store, study: str) -> Path | None:
    """Folder to which the image paths of a study are relative; None if its data file is not found.
    The data file is searched in the folder of the study's owner. For the user of the command line
    it is also searched in the current folder; for visitors of a public page it never is."""
    data, owner = store.study(study).data, store.folder_of(study)
    with contextlib.suppress(EvenhandError):
        for folder in (owner, Path()) if owner == store.path.parent else (owner,):
            if source_path(data, folder).exists():
                return image_folder(data, folder)
    return None


def item_images(store: Store, study: str, item: Item | None) -> tuple[ItemImage, ...]:
    folder = _image_folder(store, study)
    return tuple(load_image(path, folder) for path in (item.images if item else ()))


def load_image(path: str, folder: Path | None) -> ItemImage:
    """Load an image that the data name: a local file becomes a data URL, an image written in the
    data as a data URL stays one, an https address becomes a link and is never fetched. Paths come
    from the data, so only files inside `folder` are read. If kind, content or size of an image are
    not allowed, only a name is given."""
    if path.startswith("https://"):
        return ItemImage(path, link=path)
    if path.startswith("data:"):
        inline = path[5:].partition(";")[0] in IMAGE_KINDS
        fits = inline and len(path) < 2 * MAX_IMAGE_BYTES and not why_data_url_refused(path)
        return ItemImage("image in the data", source=path if fits else "")
    kind = mimetypes.guess_type(path)[0]
    if folder is None:
        return ItemImage(path)
    file = (folder / path).resolve()
    if kind not in IMAGE_KINDS or not file.is_relative_to(folder.resolve()) or not file.is_file():
        return ItemImage(path)
    if file.stat().st_size > MAX_IMAGE_BYTES:
        return ItemImage(path)
    content = file.read_bytes()
    if why_image_refused(content, len(content)):
        return ItemImage(path)
    return ItemImage(path, f"data:{kind};base64,{base64.b64encode(content).decode()}")
