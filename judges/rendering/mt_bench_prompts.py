"""Import the judge prompts of MT-Bench's `judge_prompts.jsonl` as prompt files."""

from __future__ import annotations

import json
import re
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from judges.judge_errors import PromptError
from judges.rendering.prompt import Prompt, parse_prompt
from judges.rendering.template import ALIASES, VARIABLES

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
    """The imported prompts, and the rejected lines; a prompt's attribute `yaml` is the text to save
    as its prompt file."""

    prompts: tuple[Prompt, ...]
    rejected: tuple[tuple[str, str], ...]
    """Name (or line number) of each prompt that Evenhand cannot use, with the reason."""


def import_judge_prompts(path: Path) -> PromptImport:
    """Import every line with its wording unchanged. Prompts that Evenhand cannot use are returned
    with the reason."""
    prompts: list[Prompt] = []
    rejected: list[tuple[str, str]] = []
    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            values = _parse_object(line)
            name = str(values.get("name") or name)
            prompts.append(_build_prompt(values, path.name))
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


def _parse_object(line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PromptError(f"not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise PromptError("expected a JSON object")
    return values


def _build_prompt(values: dict[str, Any], file: str) -> Prompt:
    name, kind = _text_field(values, "name"), _text_field(values, "type")
    template = _text_field(values, "prompt_template")
    if not name or not template:
        raise PromptError("a judge prompt needs a 'name' and a 'prompt_template'")
    if kind not in _PROTOCOLS:
        raise PromptError(f"type {kind!r} is not one of {', '.join(_PROTOCOLS)}")
    output = _text_field(values, "output_format").strip().lower().replace(" ", "")
    if output not in _VERDICT_FORMATS:
        raise PromptError(f"output_format {output!r} is not one of {', '.join(_VERDICT_FORMATS)}")
    system = _text_field(values, "system_prompt")
    messages = [{"system": system}] if system else []
    written = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-."),
        "version": 1,
        "source": f"{file}: {name}",
        "protocol": kind,
        "messages": [*messages, {"user": _translate_template(template)}],
        "verdict": _VERDICT_FORMATS[output],
    }
    return parse_prompt(_dump_prompt(written), name)


def _text_field(values: dict[str, Any], field: str) -> str:
    value = values.get(field)
    if not isinstance(value, str | None):
        raise PromptError(f"field {field!r}: expected text, found {value!r}"[:200])
    return value or ""


def _translate_template(text: str) -> str:
    """Convert a template for Python's str.format to one of Evenhand."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise PromptError(f"prompt_template: {error}") from None
    return "".join(literal + _translate_variable(name) for literal, name, _, _ in parts)


def _translate_variable(name: str | None) -> str:
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


def _dump_prompt(values: dict[str, Any]) -> str:
    return yaml.dump(values, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=10**6)
