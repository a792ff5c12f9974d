"""Judge prompts: YAML data, versioned, hashed on load, rendered in one pass."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PromptError
from judges.rendering.creation_query import context_text, creation_query, query_text
from judges.rendering.template import (
    VARIABLES,
    fill_template,
    nearest_name,
    split_template,
    unknown_variables,
    variables_in,
)
from judges.verdicts.verdict_formats import Format, find_format
from studies.domain import Item
from studies.errors import StudyError
from studies.spec.field_reader import FieldReader, load_yaml
from studies.spec.study import PROTOCOLS

PROMPTS_FOLDER: Final = Path(__file__).parents[1] / "prompts"
ROLES: Final = ("system", "user", "assistant")
PROTOCOL_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "pairwise": ("overall-response", "mt-bench", "label", "selection-option", "final-answer",
                 "json-winner", "rating-pair"),
    "choice": ("selection-option", "label", "final-answer", "overall-response", "mt-bench",
               "json-winner"),
    "five-level": ("five-level", "arena-hard"),
    "factuality": ("factuality",),
    "single": ("rating", "result-n", "grade-letter"),
    "describe": ("none",),
    "extraction": ("final-answer", "overall-response", "label", "mt-bench", "json-winner",
                   "selection-option"),
}  # fmt: skip
"""The verdict formats that each protocol can be asked in, the usual one first."""


IMAGE_VARIABLES: Final = frozenset({"images", "query"})
"""The variables that stand for images, where the judge sees, and for their description elsewhere.
The images go first in the message that names one of them."""


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
        return find_format(self.verdict)

    @property
    def variables(self) -> frozenset[str]:
        return variables_in(tuple(text for _, text in self.messages))

    @property
    def shows_images(self) -> bool:
        return not IMAGE_VARIABLES.isdisjoint(self.variables)

    @property
    def asks_for_grades(self) -> bool:
        """Whether it asks for `Grading:` lines before the selection, as grade-points does."""
        return self.verdict == "selection-option" and any("Grading:" in t for _, t in self.messages)

    @property
    def supports_crossed_labels(self) -> bool:
        """Whether slot and label can be told apart: the prompt names labels apart from places."""
        return {"first", "second", "label_first", "label_second"} <= self.variables or (
            self.protocol == "choice"
        )


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """What a prompt is rendered on: an item, its answers in the order shown, and their labels."""

    item: Item
    shown: tuple[str, ...]
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    images: tuple[str, ...] = ()
    """Data URLs, for a judge that sees; empty for one that reads the description."""
    reply: str = ""
    aspects: str = ""


def built_in_prompts() -> dict[str, Path]:
    return {
        path.stem: path
        for path in sorted(PROMPTS_FOLDER.glob("*.yaml"), key=lambda path: path.stem)
    }


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """A prompt by its name here, or by the path of somebody's own YAML."""
    path = built_in_prompts().get(name)
    if path is None:
        path = _find_prompt_file(name, folder or Path())
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(f"cannot read the prompt {name!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PromptError(f"{path.name}: a prompt file is UTF-8 text") from None
    return parse_prompt(text, path.name)


def _find_prompt_file(name: str, folder: Path) -> Path:
    path = folder / name if not name.startswith("~/") else Path.home() / name[2:]
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        raise PromptError(
            f"No judge prompt named {name!r}. Known prompts: {', '.join(built_in_prompts())}; "
            "or give the path of a .yaml file"
        )
    return path


def parse_prompt(text: str, where: str = "prompt") -> Prompt:
    try:
        return _parse_fields(text, where)
    except (ValueError, StudyError) as error:
        told = str(error) if isinstance(error, StudyError) else f"{where}: {error}"
        raise PromptError(told) from None


def _parse_fields(text: str, where: str) -> Prompt:
    read = FieldReader(load_yaml(text), where)
    name, version = read.text("name"), read.whole("version", 1, 1)
    protocol = read.choice("protocol", "pairwise", PROTOCOLS)
    source, verdict = read.text("source", "ours"), read.text("verdict", "none")
    messages = tuple(_parse_message(entry, where) for entry in read.items("messages"))
    extraction = read.text("extraction")
    read.refuse_unknown_keys()
    if not name or not messages:
        raise PromptError(f"{where}: a prompt needs a name and messages")
    _check_verdict(protocol, verdict, where)
    sha = _hash_json([name, version, protocol, messages, verdict, extraction])
    prompt = Prompt(name, version, source, protocol, messages, verdict, extraction, sha, text)
    _check_variables(prompt, where)
    return prompt


def render_prompt(
    prompt: Prompt, scene: PromptInputs, *, prefilled: bool = False
) -> list[dict[str, Any]]:
    """The messages as sent. A prefilled judge continues the assistant's turn up to its label."""
    values = {name: _VARIABLE_VALUES[name](prompt, scene) for name in prompt.variables}
    if "closing" in values:
        values["closing"] = _closing_text(prompt.verdict, _sort_labels(scene.labels), prefilled)
    messages = [_render_message(role, text, values, scene.images) for role, text in prompt.messages]
    prefill = prompt.format.prefill_for(len(scene.shown)) if prefilled else None
    if prefill is not None:
        messages.append({"role": "assistant", "content": prefill})
    return messages


def make_fence(prompt: Prompt, scene: PromptInputs) -> str:
    """A delimiter no answer can know; derived, so that the same ask is the same bytes."""
    return _hash_json([prompt.sha, scene.item.id, scene.shown])[:8]


def _parse_message(entry: object, where: str) -> tuple[str, str]:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise PromptError(f"{where}: messages: expected '- role: text', found {entry!r}")
    ((role, text),) = entry.items()
    if role not in ROLES or not isinstance(text, str):
        raise PromptError(f"{where}: messages: {role!r} is not one of {', '.join(ROLES)}")
    return role, text


def _check_variables(prompt: Prompt, where: str) -> None:
    for _, text in prompt.messages:
        for written in unknown_variables(text):
            known = ["$" + variable for variable in VARIABLES]
            near = nearest_name(written, known)
            hint = f" (did you mean {near}?)" if near else ""
            raise PromptError(f"{where}: unknown variable {written}{hint}. "
                              f"Known: {', '.join(known)}")  # fmt: skip


def _check_verdict(protocol: str, verdict: str, where: str) -> None:
    """A rating is no comparison: a format that its protocol cannot use is refused on loading."""
    name, fitting = find_format(verdict).name, PROTOCOL_FORMATS[protocol]
    if name == "none" and protocol != "describe":
        raise PromptError(f"{where}: a {protocol} prompt needs a verdict format under 'verdict'; "
                          f"one of {', '.join(fitting)}")  # fmt: skip
    if name not in fitting:
        others = [other for other, formats in PROTOCOL_FORMATS.items() if name in formats]
        raise PromptError(f"{where}: verdict: {name} does not go with protocol: {protocol}, which "
                          f"takes {', '.join(fitting)}; {name} is for protocol: "
                          f"{' or '.join(others)}")  # fmt: skip


def _sort_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """A, B, … or 1, 2, … 10, whatever slot each stands in."""
    return tuple(sorted(labels, key=lambda label: (len(label), label)))


def _answer_by_label(scene: PromptInputs, place: int) -> str:
    """The answer whose label comes first (A), second (B): not the slot, the name."""
    if len(scene.answers) <= place:
        return ""
    return scene.answers[scene.labels.index(_sort_labels(scene.labels)[place])]


def _options_text(prompt: Prompt, scene: PromptInputs) -> str:
    shown = zip(scene.labels, scene.answers, strict=True)
    return "\n\n".join(f"Option {label}\n{text}" for label, text in shown)


@lru_cache(maxsize=1024)
def _closing_text(verdict: str, labels: tuple[str, ...], prefilled: bool) -> str:
    form = find_format(verdict)
    closing = form.closing_prefilled if prefilled else form.closing
    return fill_template(closing, dict.fromkeys(VARIABLES, "") | {"labels": _join_labels(labels)})


_VARIABLE_VALUES: Final[Mapping[str, Callable[[Prompt, PromptInputs], str]]] = {
    "instruction": lambda _, scene: scene.item.instruction,
    "context": lambda _, scene: context_text(scene.item),
    "reference": lambda _, scene: scene.item.reference,
    "ground_truth": lambda _, scene: scene.item.ground_truth,
    "criteria_subjective": lambda _, scene: scene.item.criteria.get("subjective", ""),
    "criteria_factuality": lambda _, scene: scene.item.criteria.get("factuality", ""),
    "response_a": lambda _, scene: _answer_by_label(scene, 0),
    "response_b": lambda _, scene: _answer_by_label(scene, 1),
    "first": lambda _, scene: "".join(scene.answers[:1]),
    "second": lambda _, scene: "".join(scene.answers[1:2]),
    "label_first": lambda _, scene: "".join(scene.labels[:1]),
    "label_second": lambda _, scene: "".join(scene.labels[1:2]),
    "labels": lambda _, scene: _join_labels(_sort_labels(scene.labels)),
    "options": _options_text,
    "reply": lambda _, scene: scene.reply,
    "images": lambda _, scene: "" if scene.images else context_text(scene.item),
    "n_images": lambda _, scene: str(len(scene.item.images)),
    "aspects": lambda _, scene: scene.aspects,
    "closing": lambda _, __: "",  # depends on how the verdict is read: render puts it in
    "fence": lambda prompt, scene: make_fence(prompt, scene),
    "task": lambda _, scene: task_text(scene.item, scene.images),
    "query": lambda _, scene: creation_query(
        scene.item, context_text(scene.item), sees=bool(scene.images)
    ),
    "query_text": lambda _, scene: query_text(scene.item),
}
"""What each variable stands for: only those a prompt names are worked out."""


def task_text(item: Item, images: tuple[str, ...]) -> str:
    """The instruction, after the description of its images unless the judge sees them."""
    context = "" if images else context_text(item)
    return f"(Image: {context})\n{item.instruction}" if context else item.instruction


def _join_labels(labels: Sequence[str]) -> str:
    if len(labels) < 2:
        return "".join(labels)
    return f"{', '.join(labels[:-1])} or {labels[-1]}"


def _render_message(
    role: str, text: str, values: Mapping[str, str], images: tuple[str, ...]
) -> dict[str, Any]:
    if images and not IMAGE_VARIABLES.isdisjoint(name for name, is_variable in split_template(text)
                                              if is_variable):  # fmt: skip
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": url}} for url in images
        ]
        parts.append({"type": "text", "text": fill_template(text, values)})
        return {"role": role, "content": parts}
    return {"role": role, "content": fill_template(text, values)}


canonical_json: Final = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":")
).encode
"""One spelling of a value, so that equal requests hash alike; made once, it is called for each."""


def _hash_json(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def slot_labels(prompt: Prompt, n: int, crossed: bool) -> tuple[str, ...]:
    """The label of each slot. Crossed: the first answer has the last label (B, or the highest number)."""
    labels = prompt.format.labels_for(n) or tuple(str(k) for k in range(1, n + 1))
    return labels[::-1] if crossed else labels
