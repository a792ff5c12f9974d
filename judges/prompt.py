"""Judge prompts: YAML data, versioned, hashed on load, rendered in one pass.

One pass matters: judged text may hold `$closing` or `{question}`; it must never expand.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from judges.errors import PromptError
from judges.formats import Format, format_named
from studies.fields import Fields
from studies.records import Item
from studies.study import PROTOCOLS

FOLDER: Final = Path(__file__).with_name("prompts")
ROLES: Final = ("system", "user", "assistant")
VARIABLES: Final = (
    "instruction", "context", "reference", "ground_truth", "criteria_subjective",
    "criteria_factuality", "response_a", "response_b", "first", "second", "label_first",
    "label_second", "labels", "options", "reply", "images", "n_images", "aspects", "closing",
    "fence", "task",
)  # fmt: skip
ALIASES: Final = {
    "question": "instruction",
    "prompt": "instruction",
    "answer_a": "response_a",
    "answer_b": "response_b",
    "output_1": "response_a",
    "output_2": "response_b",
    "ref_answer_1": "reference",
}
"""Names that other people's prompts use, written {question} or {{question}}."""

_PLACE: Final = re.compile(
    r"\$(?P<dollar>[a-z_]+)|\{\{\s*(?P<double>[a-z_0-9]+)\s*\}\}|\{(?P<single>[a-z_0-9]+)\}"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    version: int
    source: str
    protocol: str
    messages: tuple[tuple[str, str], ...]
    verdict: str
    extraction: str
    sha: str
    yaml: str

    @property
    def format(self) -> Format:
        return format_named(self.verdict)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(
            name for _, text in self.messages for match in _PLACE.finditer(text)
            if (name := _variable(match)) is not None
        )  # fmt: skip

    @property
    def crossable(self) -> bool:
        """Whether slot and label can be told apart: the prompt names labels apart from places."""
        return {"first", "second", "label_first", "label_second"} <= self.variables or (
            self.protocol == "choice"
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """What a prompt is rendered on: an item, its answers in the order shown, and their labels."""

    item: Item
    shown: tuple[str, ...]
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    images: tuple[str, ...] = ()
    """Data URLs, for a judge that sees; empty for one that reads the description."""
    reply: str = ""
    aspects: str = ""


def known_prompts() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """A prompt by its name here, or by the path of somebody's own YAML."""
    path = known_prompts().get(name)
    if path is None:
        path = (folder or Path()) / Path(name).expanduser()
        if path.suffix not in (".yaml", ".yml") or not path.is_file():
            raise PromptError(
                f"No judge prompt named {name!r}. Known prompts: {', '.join(known_prompts())}; "
                "or give the path of a .yaml file"
            )
    return parse_prompt(path.read_text(encoding="utf-8"), path.name)


def parse_prompt(text: str, where: str = "prompt") -> Prompt:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PromptError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from None
    read = Fields(values, where)
    name, version = read.text("name"), read.whole("version", 1, 1)
    protocol = read.choice("protocol", "pairwise", PROTOCOLS)
    source, verdict = read.text("source", "ours"), read.text("verdict", "none")
    messages = tuple(_message(entry, where) for entry in read.items("messages"))
    extraction = read.text("extraction")
    read.done()
    if not name or not messages:
        raise PromptError(f"{where}: a prompt needs a name and messages")
    format_named(verdict)
    sha = _sha([name, version, protocol, messages, verdict, extraction])
    prompt = Prompt(name, version, source, protocol, messages, verdict, extraction, sha, text)
    _check_variables(prompt, where)
    return prompt


def render(prompt: Prompt, scene: Scene, *, prefilled: bool = False) -> list[dict[str, Any]]:
    """The messages as sent. A prefilled judge continues the assistant's turn up to its label."""
    values = _values(prompt, scene, prefilled)
    messages = [_rendered(role, text, values, scene.images) for role, text in prompt.messages]
    prefill = prompt.format.prefill_for(len(scene.shown)) if prefilled else None
    if prefill is not None:
        messages.append({"role": "assistant", "content": prefill})
    return messages


def fill(text: str, values: Mapping[str, str]) -> str:
    """Puts values into a template in one pass; what is no variable stays as it is."""

    def put(match: re.Match[str]) -> str:
        name = _variable(match)
        return match.group() if name is None else values[name]

    return _PLACE.sub(put, text)


def fence(prompt: Prompt, scene: Scene) -> str:
    """A delimiter no answer can know; derived, so that the same ask is the same bytes."""
    return _sha([prompt.sha, scene.item.id, scene.shown])[:8]


def _message(entry: object, where: str) -> tuple[str, str]:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise PromptError(f"{where}: messages: expected '- role: text', found {entry!r}")
    ((role, text),) = entry.items()
    if role not in ROLES or not isinstance(text, str):
        raise PromptError(f"{where}: messages: {role!r} is not one of {', '.join(ROLES)}")
    return role, text


def _check_variables(prompt: Prompt, where: str) -> None:
    for _, text in prompt.messages:
        for match in _PLACE.finditer(text):
            name = match["dollar"]
            if name and name not in VARIABLES:
                known = ", ".join("$" + variable for variable in VARIABLES)
                raise PromptError(f"{where}: unknown variable ${name}. Known: {known}")


def _variable(match: re.Match[str]) -> str | None:
    if match["dollar"]:
        return match["dollar"] if match["dollar"] in VARIABLES else None
    name = match["double"] or match["single"]
    return ALIASES.get(name, name if name in VARIABLES else None)


def _values(prompt: Prompt, scene: Scene, prefilled: bool) -> dict[str, str]:
    item, labels, answers = scene.item, scene.labels, scene.answers
    by_label = dict(zip(labels, answers, strict=True))
    ordered = sorted(by_label, key=lambda label: (len(label), label))
    values = dict.fromkeys(VARIABLES, "")
    values |= {
        "instruction": item.instruction,
        "context": context_text(item),
        "reference": item.reference,
        "ground_truth": item.ground_truth,
        "criteria_subjective": item.criteria.get("subjective", ""),
        "criteria_factuality": item.criteria.get("factuality", ""),
        "options": "\n\n".join(
            f"Option {label}\n{text}" for label, text in zip(labels, answers, strict=True)
        ),
        "labels": _listed(ordered),
        "n_images": str(len(item.images)),
        "reply": scene.reply,
        "aspects": scene.aspects,
        "fence": fence(prompt, scene),
        "task": task_text(item, scene.images),
    }
    if answers:
        values |= {"first": answers[0], "label_first": labels[0]}
        values["response_a"] = by_label[ordered[0]]
    if len(answers) > 1:
        values |= {"second": answers[1], "label_second": labels[1]}
        values["response_b"] = by_label[ordered[1]]
    closing = prompt.format.closing_prefilled if prefilled else prompt.format.closing
    values["closing"] = fill(closing, values)
    return values


def context_text(item: Item) -> str:
    """The description of an item's images; several are listed."""
    if isinstance(item.context, str):
        return item.context
    return "\n".join(f"Image {k}: {text}" for k, text in enumerate(item.context, 1))


def task_text(item: Item, images: tuple[str, ...]) -> str:
    """The instruction, after the description of its images unless the judge sees them."""
    context = "" if images else context_text(item)
    return f"(Image: {context})\n{item.instruction}" if context else item.instruction


def _listed(labels: Sequence[str]) -> str:
    if len(labels) < 2:
        return "".join(labels)
    return f"{', '.join(labels[:-1])} or {labels[-1]}"


def _rendered(
    role: str, text: str, values: Mapping[str, str], images: tuple[str, ...]
) -> dict[str, Any]:
    if images and "$images" in text:
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": url}} for url in images
        ]
        parts.append({"type": "text", "text": fill(text, values)})
        return {"role": role, "content": parts}
    return {"role": role, "content": fill(text, values)}


def _sha(value: Any) -> str:
    canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
