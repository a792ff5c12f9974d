"""Messages of a request: the values of a prompt's variables for an item, images as data URLs, and
the arrangements of options and criteria."""

import base64
import hashlib
import mimetypes
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PlanError, PromptError
from judges.rendering.prompt import IMAGE_VARIABLES, Prompt, hash_json
from judges.rendering.template import VARIABLES, fill_template, known_variables_in
from judges.verdicts.verdict_formats import POINT_FORMATS, find_format
from studies.domain import Item
from studies.errors import SourceError
from studies.files.image_files import read_image
from studies.frames.arrangement import Arrangement, parse_arrangement, rotations

DESCRIPTION_NOTE: Final = "Only descriptions of the images are given, not the images themselves."
"""Sentence before the image description in the text-only variant."""

QUERY_PARTS: Final = ("role", "background", "requirements")
"""Entries of an item's `meta` from which, with its instruction, the query is built. If an item has
none of them, its instruction is the query."""


def query_text(item: Item) -> str:
    """Join role, background, instruction and requirements of an item into one text, without the
    images; an item without these parts gives its instruction."""
    role, background, requirements = (item.meta.get(part, "").strip() for part in QUERY_PARTS)
    if not (role or background or requirements):
        return item.instruction
    lines = []
    if role:
        lines.append(f"Assume you are {role.rstrip('.')}.")
    if background:
        lines.append(background)
    if requirements:
        task = item.instruction  # inside a sentence: "Write" becomes "write", "NATO" stays
        task = task[:1].lower() + task[1:] if task[1:2].islower() else task
        lines += [f"Please follow the requirements below to {task}", requirements]
    else:
        lines.append(item.instruction)
    return "\n".join(lines)


def query_with_description(item: Item, description: str, *, has_vision: bool) -> str:
    """Return the query (`query_text`); for a judge without vision (`has_vision` is false), with a
    note and the image description, if there is one."""
    text = query_text(item)
    if has_vision or not description.strip():
        return text
    return f"{text}\n\n{DESCRIPTION_NOTE}\n{description}"


def context_text(item: Item) -> str:
    """Return an item's context, such as the description of its images; several descriptions are
    numbered."""
    if isinstance(item.context, str):
        return item.context
    return "\n".join(f"Image {k}: {text}" for k, text in enumerate(item.context, 1))


MAX_CACHED_IMAGES: Final = 8
"""Maximum number of images kept in memory as data URLs; older ones are read again. Few are enough,
because the calls of one item follow each other."""


def image_url(path: str, folder: Path) -> str:
    """Return a local image as a data URL; an https or data URL is returned unchanged and not
    fetched. PlanError if the image cannot be read.

    The result is cached by the file's time, size and inode, so a replaced image is read again.
    """
    if path.startswith(("https://", "data:")):
        return path
    try:
        return _encode_image(path, folder, _file_state(folder / path))
    except SourceError as error:
        raise PlanError(str(error)) from None


def _file_state(file: Path) -> tuple[int, ...]:
    try:
        state = file.stat()
    except OSError:
        return ()  # reading reports the error
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


@lru_cache(maxsize=MAX_CACHED_IMAGES)
def _encode_image(path: str, folder: Path, state: tuple[int, ...]) -> str:
    kind = mimetypes.guess_type(path)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(read_image(path, folder)).decode()}"


def image_file_sha(path: str, folder: Path) -> str:
    """Return the hash of the data URL of an image file; empty for an https or data URL. PlanError
    if the image cannot be read. The result is cached like that of `image_url`."""
    if path.startswith(("https://", "data:")):
        return ""
    return _hash_image_file(path, folder, _file_state(folder / path))


@lru_cache(maxsize=1 << 16)
def _hash_image_file(path: str, folder: Path, state: tuple[int, ...]) -> str:
    return hashlib.sha256(image_url(path, folder).encode()).hexdigest()


def replace_images_by_hash(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with each image replaced by its hash, so that computing a key does not
    process megabytes of base64."""
    out = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = [_hash_image(part) for part in content]
        out.append({"role": message["role"], "content": content})
    return out


def _hash_image(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    return {"type": "image", "sha": hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()}


MAX_CRITERIA: Final = 12
_CRITERION_LINE: Final = re.compile(r"(?:[-*] ?)?([A-Za-z][A-Za-z0-9 -]{0,39}?) ?: ?(\S.*)")


def list_arrangement_labels(
    prompt: Prompt, options: str, criteria_order: str = "given", criteria: str = ""
) -> list[tuple[str, ...]]:
    """Return the orders in which a study shows the options of a verdict on one answer (such as pass
    and fail) and the criteria of a rubric, each as the labels of a call. `options` and
    `criteria_order` are the study's settings for the two orders, such as `rotations`. `criteria`
    are the study's own criteria for a rubric; "" for those of the prompt."""
    names = tuple(rubric_criteria(prompt, criteria))
    listed = rotations(names) if criteria_order == "rotations" and names else [names]
    offered = _option_arrangements(prompt.options, options)
    return [
        Arrangement(one.options, one.letters, order).labels for order in listed for one in offered
    ]


def _option_arrangements(options: tuple[str, ...], order: str) -> list[Arrangement]:
    """Return the orders in which the options are offered, for the setting `order`.

    `rotations`: each option at each place once. `crossed`: the same, each once with the letters A,
    B, … and once with … B, A, so that the effects of place and letter can be separated. Any other
    setting: only the order of `options`, or its reverse for `descending`.
    """
    if order == "crossed":
        letters = tuple(string.ascii_uppercase[: len(options)])
        both = (letters, letters[::-1])
        return [Arrangement(one, named) for one in rotations(options) for named in both]
    if order == "rotations":
        return [Arrangement(one) for one in rotations(options)]
    return [Arrangement(options[::-1] if order == "descending" else options)]


def rubric_criteria(prompt: Prompt, criteria: str = "") -> dict[str, str]:
    """Return name -> description of a rubric's criteria: those in `criteria` (lines `Name:
    description`), else the prompt's; empty for a prompt without a rubric. PromptError if a line has
    no name, two names are equal or there are more than MAX_CRITERIA."""
    if not prompt.rubric or not criteria.strip():
        return dict(prompt.rubric)
    found: dict[str, str] = {}
    for line in criteria.strip().splitlines():
        if not line.strip():
            continue
        match = _CRITERION_LINE.fullmatch(line.strip())
        if match is None:
            raise PromptError(
                f"criteria: the prompt {prompt.name!r} scores each criterion, but {line[:60]!r} "
                "has no name; write one line for each criterion, such as 'Clarity: it is easy "
                "to follow'"
            )
        if match[1].casefold() in map(str.casefold, found):
            raise PromptError(f"criteria: two criteria are named {match[1]!r}; rename one of them")
        found[match[1]] = match[2]
    if len(found) > MAX_CRITERIA:
        raise PromptError(f"criteria: at most {MAX_CRITERIA} criteria; found {len(found)}")
    return found


GENERAL_CRITERIA: Final = (
    "The answer does what the question asks, is correct, and leaves out nothing that matters."
)


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """Values from which a prompt is rendered: the item, the models whose answers are shown (in
    order), these answers, their labels in the prompt, and further texts."""

    item: Item
    shown: tuple[str, ...]
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    images: tuple[str, ...] = ()
    """Images as data URLs, for a judge with vision; empty for a judge that gets the description
    instead."""
    reply: str = ""
    aspects: str = ""
    criteria: str = ""
    """The study's criteria for a verdict on one answer, without a rubric; empty: the item's are
    used."""
    rubric: tuple[tuple[str, str], ...] = ()
    """The study's criteria for a rubric, as (name, description); empty if the prompt's are used."""


def render_prompt(
    prompt: Prompt, inputs: PromptInputs, *, prefilled: bool = False, for_key: bool = False
) -> list[dict[str, Any]]:
    """Render the messages of a request. With `prefilled`, the start of the judge's reply, up to the
    label, is added as a last message, if the prompt's format has one. With `for_key`, the
    messages are those from which the key of the call is computed: they differ in the delimiter
    around the answers (`fence_part_of_call_key` instead of `make_answer_fence`)."""
    values = {name: _VARIABLE_VALUES[name](prompt, inputs) for name in prompt.variables}
    if for_key and "fence" in values:
        values["fence"] = fence_part_of_call_key(prompt, inputs)
    if "closing" in values:
        labels = inputs.labels if prompt.options else _sort_labels(inputs.labels)
        values["closing"] = _closing_instruction(prompt.verdict, labels, prefilled)
    messages = [
        _render_message(role, text, values, inputs.images) for role, text in prompt.messages
    ]
    prefill = prompt.prefill_for(len(inputs.shown), inputs.labels) if prefilled else None
    if prefill is not None:
        messages.append({"role": "assistant", "content": prefill})
    return messages


def make_answer_fence(prompt: Prompt, inputs: PromptInputs) -> str:
    """Return a delimiter to put around answers, the same for equal requests.

    It is a hash of prompt, item, models and all texts, so that the author of an answer cannot
    compute it without the other texts. It is hashed again until no text contains it.
    """
    item = inputs.item
    texts = [*inputs.answers, inputs.reply, item.instruction, item.reference, context_text(item)]
    texts += item.criteria.values()
    fence = hash_json([prompt.sha, item.id, inputs.shown, texts])[:8]
    while any(fence in text.lower() for text in texts):
        fence = hash_json([fence, texts])[:8]
    return fence


def fence_part_of_call_key(prompt: Prompt, inputs: PromptInputs) -> str:
    """Return the delimiter around answers that is used when the key of a call is computed, in place
    of that of `make_answer_fence`.

    This function must never change, because all keys of calls, and thereby the stored replies,
    would become invalid."""
    return hash_json([prompt.sha, inputs.item.id, inputs.shown])[:8]


def slot_labels(prompt: Prompt, slots: int, crossed: bool) -> tuple[str, ...]:
    """Return the labels of the first, second, … answer shown, as many as `slots`, such as ("A",
    "B"); in reverse order if `crossed`; numbers if the verdict format has no labels.

    For a verdict on one answer, the labels are instead the options from the lowest to the
    highest, then the criteria."""
    if prompt.options:
        return Arrangement(prompt.options, (), tuple(name for name, _ in prompt.rubric)).labels
    labels = prompt.format.labels_for(slots) or tuple(str(k) for k in range(1, slots + 1))
    return labels[::-1] if crossed else labels


def instruction_with_context(item: Item, images: tuple[str, ...]) -> str:
    """Return the item's instruction, preceded by its context (the image description) if it has one
    and `images` is empty."""
    context = "" if images else context_text(item)
    return f"(Image: {context})\n{item.instruction}" if context else item.instruction


def _render_message(
    role: str, text: str, values: Mapping[str, str], images: tuple[str, ...]
) -> dict[str, Any]:
    filled = fill_template(text, values)
    if not images or IMAGE_VARIABLES.isdisjoint(known_variables_in((text,))):
        return {"role": role, "content": filled}
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in images]
    return {"role": role, "content": [*parts, {"type": "text", "text": filled}]}


def _sort_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Sort labels: A, B, … or 1, 2, … 10."""
    return tuple(sorted(labels, key=lambda label: (len(label), label)))


def _answer_by_label(inputs: PromptInputs, index: int) -> str:
    """Return the answer with the label A (`index` 0) or B (`index` 1), wherever it is shown. If
    only one answer is shown, it counts as A; "" if there is no such answer."""
    if len(inputs.answers) <= index:
        return ""
    if len(inputs.answers) == 1:  # the labels are then the options of the verdict
        return inputs.answers[0]
    return inputs.answers[inputs.labels.index(_sort_labels(inputs.labels)[index])]


def _options_text(prompt: Prompt, inputs: PromptInputs) -> str:
    if prompt.options:
        offered = parse_arrangement(inputs.labels)
        if not offered.letters:
            return "\n".join(f"- {option}" for option in offered.options)
        paired = zip(offered.letters, offered.options, strict=True)
        return "\n".join(f"- {letter}: {option}" for letter, option in paired)
    shown = zip(inputs.labels, inputs.answers, strict=True)
    return "\n\n".join(f"Option {label}\n{text}" for label, text in shown)


def verdict_instruction(prompt: Prompt, labels: tuple[str, ...]) -> str:
    """Return the sentence of the request that states how to write the verdict, with these labels;
    "" if the prompt asks for no verdict."""
    labels = labels if prompt.options else _sort_labels(labels)
    return _closing_instruction(prompt.verdict, labels, prefilled=False)


@lru_cache(maxsize=1024)
def _closing_instruction(verdict: str, labels: tuple[str, ...], prefilled: bool) -> str:
    form = find_format(verdict)
    closing = form.closing_prefilled if prefilled else form.closing
    values = dict.fromkeys(VARIABLES, "")
    if verdict not in POINT_FORMATS:
        return fill_template(closing, values | {"labels": _join_labels(labels)})
    offered = parse_arrangement(labels)
    texts = [
        form.option_texts.get(option, name).replace(option.upper(), name.upper())
        for option, name in zip(offered.options, offered.names_in_reply, strict=True)
    ]
    values["criteria"] = "\n".join(f"{name}: X" for name in offered.criteria)
    return fill_template(closing, values | {"labels": _join_labels(texts)})


def _criteria_lines(prompt: Prompt, inputs: PromptInputs) -> str:
    """Return the criteria as text. For a rubric (criteria scored one by one): one line each, in the
    order of this call. Otherwise: the criteria of the study, else of the item, else a general
    one."""
    if not prompt.rubric:
        return inputs.criteria or "\n".join(inputs.item.criteria.values()) or GENERAL_CRITERIA
    order = parse_arrangement(inputs.labels).criteria
    texts = dict(inputs.rubric or prompt.rubric)
    return "\n".join(f"- {name}: {texts[name]}" for name in order)


def _join_labels(labels: Sequence[str]) -> str:
    if len(labels) < 2:
        return "".join(labels)
    return f"{', '.join(labels[:-1])} or {labels[-1]}"


_VARIABLE_VALUES: Final[Mapping[str, Callable[[Prompt, PromptInputs], str]]] = {
    "instruction": lambda _, inputs: inputs.item.instruction,
    "context": lambda _, inputs: context_text(inputs.item),
    "reference": lambda _, inputs: inputs.item.reference,
    "ground_truth": lambda _, inputs: inputs.item.ground_truth,
    "criteria": lambda prompt, inputs: _criteria_lines(prompt, inputs),
    "criteria_subjective": lambda _, inputs: inputs.item.criteria.get("subjective", ""),
    "criteria_factuality": lambda _, inputs: inputs.item.criteria.get("factuality", ""),
    "response_a": lambda _, inputs: _answer_by_label(inputs, 0),
    "response_b": lambda _, inputs: _answer_by_label(inputs, 1),
    "first": lambda _, inputs: "".join(inputs.answers[:1]),
    "second": lambda _, inputs: "".join(inputs.answers[1:2]),
    "label_first": lambda _, inputs: "".join(inputs.labels[:1]),
    "label_second": lambda _, inputs: "".join(inputs.labels[1:2]),
    "labels": lambda _, inputs: _join_labels(_sort_labels(inputs.labels)),
    "options": _options_text,
    "reply": lambda _, inputs: inputs.reply,
    "images": lambda _, inputs: "" if inputs.images else context_text(inputs.item),
    "n_images": lambda _, inputs: str(len(inputs.item.images)),
    "aspects": lambda _, inputs: inputs.aspects,
    "closing": lambda _, __: "",  # depends on `prefilled`: set by render_prompt
    "fence": lambda prompt, inputs: make_answer_fence(prompt, inputs),
    "task": lambda _, inputs: instruction_with_context(inputs.item, inputs.images),
    "query": lambda _, inputs: query_with_description(
        inputs.item, context_text(inputs.item), has_vision=bool(inputs.images)
    ),
    "query_text": lambda _, inputs: query_text(inputs.item),
}
"""Variable -> function that computes its value; only functions of variables in the prompt are
called."""
