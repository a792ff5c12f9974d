"""The prompt library: list, check and preview prompts, save new versions, and import the judge
prompts of MT-Bench's `judge_prompts.jsonl`.

Built-in prompts are in judges/prompts and are never changed. Users' prompts are in a folder (for
the page: beside its store), one file per version, such as `careful-v2.yaml`. An existing file is
never overwritten, so that a study that refers to a file always uses the same text.
"""

import json
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from judges.judge_errors import PromptError
from judges.rendering.messages import PromptInputs, render_prompt, slot_labels
from judges.rendering.prompt import Prompt, built_in_prompts, load_prompt, parse_prompt
from judges.rendering.template import ALIASES, VARIABLES, find_misspelt_variables
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
"""Protocol -> sets of variables; a prompt must contain all variables of at least one set."""


@dataclass(frozen=True, slots=True)
class PromptProblem:
    """A problem of a prompt: an error prevents saving, a warning does not."""

    level: Literal["error", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class PromptCheck:
    """The parsed prompt (None if parsing failed) and its problems."""

    prompt: Prompt | None
    problems: tuple[PromptProblem, ...]

    @property
    def usable(self) -> bool:
        return self.prompt is not None and not any(p.level == "error" for p in self.problems)


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A prompt in the library, with the path of its file."""

    prompt: Prompt
    path: Path
    built_in: bool

    def name_in_study_file(self, folder: Path) -> str:
        """Return the text that names this prompt in a study file in `folder`: for a built-in prompt
        its name, for another its path, which is relative if its file is inside `folder`."""
        if self.built_in:
            return self.prompt.name
        path, base = self.path.resolve(), folder.resolve()
        return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def prompts_folder(store: Path) -> Path:
    """Return the folder beside the store that contains the prompts saved on the page."""
    return store.parent / "prompts"


def check_prompt(text: str, where: str = "prompt") -> PromptCheck:
    """Parse a prompt and list its errors and warnings, without calling a judge. `where` names the
    prompt in these messages."""
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
    """Render the messages that a judge would get for an item; no judge is called. `contestants` are
    the models whose answers are shown; by default the first models in alphabetical order that
    answered the item, as many as the prompt shows. PromptError if one of `contestants` has no
    answer. `images` are data URLs, for a judge with vision. `prefilled` adds the start of the
    reply; `crossed` gives the answer shown first the label B, if the prompt supports it."""
    shown = _choose_contestants(prompt, item, contestants)
    labels = slot_labels(prompt, len(shown), crossed and prompt.supports_crossed_labels)
    answers = tuple(item.answer(name) for name in shown)
    inputs = PromptInputs(item, shown, answers, labels, images, _SAMPLE_REPLY, _SAMPLE_ASPECTS)
    return render_prompt(prompt, inputs, prefilled=prefilled)


_SAMPLE_REPLY: Final = "(the reply to extract a verdict from)"
_SAMPLE_ASPECTS: Final = "(the aspects listed by the prompt creation-aspects)"


def list_prompts(folder: Path | None = None) -> tuple[list[LibraryPrompt], list[PromptProblem]]:
    """List the built-in prompts by name, then a folder's prompts by name, each with its newest
    version first; also return the problems of the folder's unusable files."""
    found = [
        LibraryPrompt(load_prompt(name), path, True) for name, path in built_in_prompts().items()
    ]
    own, problems = _load_prompts_in_folder(folder) if folder is not None else ([], [])
    return found + sorted(own, key=lambda one: (one.prompt.name, -one.prompt.version)), problems


def save_prompt(text: str, folder: Path, min_version: int = 1) -> Prompt:
    """Save the next version of a prompt in `folder` and return it; raise PromptError if the prompt
    has an error. The version number follows the last version of the same name, built-in prompts
    included, and is at least `min_version`.

    If `text` differs from the last version at most in version, source, comments and layout, nothing
    is saved and the last version is returned.
    """
    checked = check_prompt(text)
    if checked.prompt is None or not checked.usable:
        raise PromptError(next(p.text for p in checked.problems if p.level == "error"))
    last = last_version(checked.prompt.name, folder)
    if last is not None and _parse_with_version(text, last.version).sha == last.sha:
        return last
    version = max(last.version + 1 if last else 1, min_version)
    while not _write_new_file(prompt := _parse_with_version(text, version), folder):
        version += 1  # another process just saved this version, or its file is damaged
    return prompt


def prompt_path(prompt: Prompt, folder: Path) -> Path:
    return folder / f"{prompt.name}-v{prompt.version}.yaml"


def _find_errors(prompt: Prompt) -> list[PromptProblem]:
    found = []
    if not _NAME_PATTERN.fullmatch(prompt.name):
        found.append(
            f"name: {prompt.name!r} cannot be used as a file name. Use at most 80 letters, digits, "
            "'.', '_' or '-', starting with a letter or digit"
        )
    wanted = _REQUIRED_VARIABLES.get(prompt.protocol, ())
    if wanted and not any(names <= prompt.variables for names in wanted):
        ways = " or ".join(" and ".join(f"${name}" for name in sorted(names)) for names in wanted)
        found.append(f"a {prompt.protocol} prompt must contain {ways}")
    return [PromptProblem("error", text) for text in found]


def _find_warnings(prompt: Prompt) -> list[PromptProblem]:
    found = []
    for _, text in prompt.messages:
        for written, near in find_misspelt_variables(text):
            found.append(f"{written} is sent unchanged; did you mean {{{near}}}?")
    if prompt.protocol not in ("describe", "extraction") and "closing" not in prompt.variables:
        found.append(
            f"without $closing the prompt itself must request a verdict in the format "
            f"{prompt.verdict}, or its replies will be unreadable"
        )
    if prompt.protocol not in ("describe", "extraction") and "fence" not in prompt.variables:
        found.append(
            "without $fence around them, answers can inject instructions to the judge; "
            "write <<$fence on the line before each answer and $fence>> on the line after it"
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


def _load_prompts_in_folder(folder: Path) -> tuple[list[LibraryPrompt], list[PromptProblem]]:
    found: list[LibraryPrompt] = []
    problems: list[PromptProblem] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            found.append(LibraryPrompt(load_prompt(path.name, folder), path, False))
        except EvenhandError as error:
            problems.append(PromptProblem("error", str(error)))
    return found, problems


def last_version(name: str, folder: Path) -> Prompt | None:
    """Return the newest version of the prompt `name`, built in or in `folder`; None if there is no
    such prompt."""
    built_in = [load_prompt(name)] if name in built_in_prompts() else []
    saved = [one.prompt for one in _load_prompts_in_folder(folder)[0] if one.prompt.name == name]
    return max([*built_in, *saved], key=lambda prompt: prompt.version, default=None)


def _parse_with_version(text: str, version: int) -> Prompt:
    """Return the prompt with another version number. If it is enough to replace the version line,
    or to add one below the name, comments and layout are kept; else the YAML is written anew."""
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
        pass  # a version line inside a text, or a mapping in braces: dump the values instead
    values = load_yaml(text)
    assert isinstance(values, dict)  # it was parsed before
    dumped = yaml.safe_dump(values | {"version": version}, sort_keys=False, allow_unicode=True)
    return parse_prompt(dumped)


def _write_new_file(prompt: Prompt, folder: Path) -> bool:
    """Write the prompt to a new file; return False if the file exists. PromptError if it cannot be
    written."""
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


_VERDICT_FORMATS: Final = {
    "[[a]]": "mt-bench",
    "[[rating]]": "rating",
    "[[rating_a,rating_b]]": "rating-pair",
}
"""Output format of FastChat -> verdict format of Evenhand."""

_PROTOCOLS: Final = ("pairwise", "single")
_TURN_VARIABLE: Final = re.compile(r"(question|answer|answer_a|answer_b)_[12]|ref_answer_2")


@dataclass(frozen=True, slots=True)
class PromptImport:
    """Result of importing prompts: those that can be used, and the rejected ones with the reason.
    The attribute `yaml` of a prompt is the text of its prompt file, which is not saved yet."""

    prompts: tuple[Prompt, ...]
    rejected: tuple[tuple[str, str], ...]
    """Name (or line number) of each prompt that Evenhand cannot use, with the reason."""


def read_judge_prompts(path: Path) -> PromptImport:
    """Read the prompts of a FastChat file (judge_prompts.jsonl) without saving them; their wording
    is kept. Prompts that Evenhand cannot use are returned with the reason. PromptError if the file
    cannot be read or has no prompts."""
    prompts: list[Prompt] = []
    rejected: list[tuple[str, str]] = []
    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            values = _parse_json_object(line)
            name = str(values.get("name") or name)
            prompts.append(_build_imported_prompt(values, path.name))
        except PromptError as error:
            rejected.append((name, str(error)))
    if not prompts and not rejected:
        raise PromptError(f"{path.name}: no prompts in it; expected one JSON object per line")
    return PromptImport(tuple(prompts), tuple(rejected))


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise PromptError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PromptError(f"{path.name}: not UTF-8; save the file as UTF-8") from None


def _parse_json_object(line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PromptError(f"not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise PromptError("expected a JSON object")
    return values


def _build_imported_prompt(values: dict[str, Any], file: str) -> Prompt:
    name, kind = _read_text_field(values, "name"), _read_text_field(values, "type")
    template = _read_text_field(values, "prompt_template")
    if not name or not template:
        raise PromptError("a judge prompt needs a 'name' and a 'prompt_template'")
    if kind not in _PROTOCOLS:
        raise PromptError(f"type {kind!r} is not one of {', '.join(_PROTOCOLS)}")
    output = _read_text_field(values, "output_format").strip().lower().replace(" ", "")
    if output not in _VERDICT_FORMATS:
        raise PromptError(f"output_format {output!r} is not one of {', '.join(_VERDICT_FORMATS)}")
    system = _read_text_field(values, "system_prompt")
    messages = [{"system": system}] if system else []
    written = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-."),
        "version": 1,
        "source": f"{file}: {name}",
        "protocol": kind,
        "messages": [*messages, {"user": _translate_template(template)}],
        "verdict": _VERDICT_FORMATS[output],
    }
    return parse_prompt(dump_prompt(written), name)


def _read_text_field(values: dict[str, Any], field: str) -> str:
    value = values.get(field)
    if not isinstance(value, str | None):
        raise PromptError(f"field {field!r}: expected text, found {value!r}"[:200])
    return value or ""


def _translate_template(text: str) -> str:
    """Convert a template for Python's str.format to one of Evenhand. PromptError if it is malformed
    or has an unknown variable."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise PromptError(f"prompt_template: {error}") from None
    return "".join(literal + _translate_placeholder(name) for literal, name, _, _ in parts)


def _translate_placeholder(name: str | None) -> str:
    if name is None:
        return ""
    if name in ALIASES or name in VARIABLES:
        return f"{{{name}}}"
    if _TURN_VARIABLE.fullmatch(name):
        raise PromptError(
            f"{{{name}}} is one turn of several; only single-turn prompts can be used"
        )
    known = ", ".join(f"{{{known}}}" for known in ALIASES)
    raise PromptError(f"unknown variable {{{name}}}. Known: {known}")


class _BlockDumper(yaml.SafeDumper):
    """A YAML dumper that writes multi-line texts as blocks, which people can read and edit."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_BlockDumper.add_representer(str, _represent_text)


def dump_prompt(values: dict[str, Any]) -> str:
    """Write the values of a prompt file as YAML, with multi-line texts as blocks."""
    return yaml.dump(values, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=10**6)
