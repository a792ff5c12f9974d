"""The prompts somebody can choose from, and how a new version of one is made.

Ours lie in judges/prompts and are never changed. Others lie in a folder (the page's is beside its
store), one file a version: `careful-v2.yaml`. A file that is there is never written again, so that
a study that names it always asks the same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from judges.judge_errors import PromptError
from judges.rendering.prompt import (
    Prompt,
    PromptInputs,
    built_in_prompts,
    load_prompt,
    parse_prompt,
    render_prompt,
    slot_labels,
)
from judges.rendering.template import misspelt_braces
from studies.domain import REFERENCE, Item
from studies.errors import EvenhandError
from studies.spec.field_reader import load_yaml

_NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_VERSION_LINE: Final = re.compile(r"^version[ \t]*:.*$", re.MULTILINE)
_NAME_LINE: Final = re.compile(r"^name[ \t]*:.*\n", re.MULTILINE)

_REQUIRED_VARIABLES: Final = {
    "pairwise": ({"first", "second"}, {"response_a", "response_b"}),
    "five-level": ({"first", "second"}, {"response_a", "response_b"}),
    "factuality": ({"first", "second"}, {"response_a", "response_b"}),
    "choice": ({"options"},),
    "single": ({"first"}, {"response_a"}),
    "extraction": ({"reply"},),
}
"""What a prompt of each protocol must show to be about anything: one of these sets."""


@dataclass(frozen=True, slots=True)
class PromptProblem:
    """One thing about a prompt: an error keeps it from being saved, a warning does not."""

    level: Literal["error", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class PromptCheck:
    """A prompt text as far as it could be read, and what is wrong with it."""

    prompt: Prompt | None
    problems: tuple[PromptProblem, ...]

    @property
    def usable(self) -> bool:
        return self.prompt is not None and not any(p.level == "error" for p in self.problems)


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A prompt that can be chosen, and where it lies."""

    prompt: Prompt
    path: Path
    built_in: bool

    def reference_from(self, folder: Path) -> str:
        """How a study file in `folder` names it: ours by name, others by path."""
        if self.built_in:
            return self.prompt.name
        mine, base = self.path.resolve(), folder.resolve()
        return mine.relative_to(base).as_posix() if mine.is_relative_to(base) else str(mine)


def prompts_folder(store: Path) -> Path:
    """Where the page keeps the prompts its readers save: beside the store."""
    return store.parent / "prompts"


def check_prompt(text: str, where: str = "prompt") -> PromptCheck:
    """Everything that can be said about a prompt without asking anybody."""
    try:
        prompt = parse_prompt(text, where)
    except EvenhandError as error:
        return PromptCheck(None, (PromptProblem("error", str(error)),))
    return PromptCheck(prompt, (*_find_errors(prompt), *_find_warnings(prompt)))


def preview_prompt(
    prompt: Prompt,
    item: Item,
    *,
    contestants: Sequence[str] = (),
    prefilled: bool = False,
    images: tuple[str, ...] = (),
    crossed: bool = False,
) -> list[dict[str, Any]]:
    """The messages as they would be sent for this item; `images` are data URLs, for one who sees.

    Without `contestants`: as many of those who answered as the protocol shows.
    """
    shown = _choose_contestants(prompt, item, contestants)
    labels = slot_labels(prompt, len(shown), crossed and prompt.supports_crossed_labels)
    answers = tuple(item.answer(name) for name in shown)
    scene = PromptInputs(item, shown, answers, labels, images, _SAMPLE_REPLY, _SAMPLE_ASPECTS)
    return render_prompt(prompt, scene, prefilled=prefilled)


_SAMPLE_REPLY: Final = "(the reply that is read)"
_SAMPLE_ASPECTS: Final = "(the aspects that the prompt creation-aspects names)"


def list_prompts(folder: Path | None = None) -> tuple[list[LibraryPrompt], list[PromptProblem]]:
    """Ours by name, then those of a folder, newest version first; and the files that fail."""
    found = [
        LibraryPrompt(load_prompt(name), path, True) for name, path in built_in_prompts().items()
    ]
    own, problems = _load_folder(folder) if folder is not None else ([], [])
    return found + sorted(own, key=lambda one: (one.prompt.name, -one.prompt.version)), problems


def save_prompt(text: str, folder: Path) -> Prompt:
    """A new version of a prompt, counted up from the last one of its name, ours included.

    Nothing is overwritten; a text that says the same as the last version is that version.
    """
    checked = check_prompt(text)
    if checked.prompt is None or not checked.usable:
        raise PromptError(next(p.text for p in checked.problems if p.level == "error"))
    last = _last_version(checked.prompt.name, folder)
    if last is not None and _set_version(text, last.version).sha == last.sha:
        return last
    version = last.version + 1 if last else 1
    while not _write_new_file(prompt := _set_version(text, version), folder):
        version += 1  # somebody saved it a moment ago, or the file is damaged
    return prompt


def prompt_path(prompt: Prompt, folder: Path) -> Path:
    """The file a saved version lies in."""
    return folder / f"{prompt.name}-v{prompt.version}.yaml"


def _find_errors(prompt: Prompt) -> list[PromptProblem]:
    found = []
    if not _NAME_PATTERN.fullmatch(prompt.name):
        found.append(
            f"name: {prompt.name!r} is a file's name too: letters, digits, '.', '_' and '-', "
            "at most 80, a letter or digit first"
        )
    wanted = _REQUIRED_VARIABLES.get(prompt.protocol, ())
    if wanted and not any(names <= prompt.variables for names in wanted):
        ways = " or ".join(" and ".join(f"${name}" for name in sorted(names)) for names in wanted)
        found.append(f"a {prompt.protocol} prompt must show {ways}; this one does not")
    return [PromptProblem("error", text) for text in found]


def _find_warnings(prompt: Prompt) -> list[PromptProblem]:
    found = []
    for _, text in prompt.messages:
        for written, near in misspelt_braces(text):
            found.append(f"{written} is sent as it stands; did you mean {{{near}}}?")
    if prompt.protocol not in ("describe", "extraction") and "closing" not in prompt.variables:
        found.append(
            f"without $closing the prompt itself must ask for a verdict in the form "
            f"{prompt.verdict}, or no reply can be read"
        )
    if prompt.protocol not in ("describe", "extraction") and "fence" not in prompt.variables:
        found.append(
            "without $fence around them, answers can pass for instructions to the judge; "
            "write <<$fence on the line before and $fence>> on the line after each"
        )
    if (
        prompt.protocol in ("pairwise", "five-level", "factuality")
        and not prompt.supports_crossed_labels
    ):
        found.append("labels: crossed needs $first, $second, $label_first and $label_second")
    return [PromptProblem("warning", text) for text in found]


def _choose_contestants(prompt: Prompt, item: Item, contestants: Sequence[str]) -> tuple[str, ...]:
    answered = [name for name, text in sorted(item.responses.items()) if text.strip()]
    for name in contestants:
        if name not in item.responses and name != REFERENCE:
            raise PromptError(
                f"item {item.id!r} has no answer by {name!r}; it has {', '.join(answered)}"
            )
    chosen = tuple(contestants) or tuple(answered)
    if prompt.protocol == "choice":
        return chosen
    return chosen[:1] if prompt.protocol in ("single", "describe") else chosen[:2]


def _load_folder(folder: Path) -> tuple[list[LibraryPrompt], list[PromptProblem]]:
    found: list[LibraryPrompt] = []
    problems: list[PromptProblem] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            found.append(LibraryPrompt(load_prompt(path.name, folder), path, False))
        except EvenhandError as error:
            problems.append(PromptProblem("error", str(error)))
    return found, problems


def _last_version(name: str, folder: Path) -> Prompt | None:
    ours = [load_prompt(name)] if name in built_in_prompts() else []
    theirs = [one.prompt for one in _load_folder(folder)[0] if one.prompt.name == name]
    return max([*ours, *theirs], key=lambda prompt: prompt.version, default=None)


def _set_version(text: str, version: int) -> Prompt:
    """The same prompt under another version; remarks and layout stay where the text allows it."""
    line = f"version: {version}"
    if _VERSION_LINE.search(text):
        changed = _VERSION_LINE.sub(line, text, count=1)
    else:
        changed = _NAME_LINE.sub(lambda match: f"{match[0]}{line}\n", text, count=1)
    try:
        prompt = parse_prompt(changed)
        if prompt.version == version:
            return prompt
    except PromptError:
        pass  # a version line inside a text, or a mapping in braces: written anew instead
    values = load_yaml(text)
    assert isinstance(values, dict)  # it was parsed before
    dumped = yaml.safe_dump(values | {"version": version}, sort_keys=False, allow_unicode=True)
    return parse_prompt(dumped)


def _write_new_file(prompt: Prompt, folder: Path) -> bool:
    """False if there is such a file already."""
    path = prompt_path(prompt, folder)
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(prompt.yaml)
    except OSError as error:
        if folder.is_dir() and path.exists():
            return False
        raise PromptError(f"cannot write a prompt into {folder}: {error.strerror}") from None
    return True
