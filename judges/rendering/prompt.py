"""Judge prompts: YAML files with a version; the hash of a prompt is computed when it is loaded."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PromptError
from judges.rendering import template
from judges.verdicts.point_readers import score_by_option
from judges.verdicts.verdict_formats import (
    PASS_FAIL_FORMAT,
    POINT_FORMATS,
    RUBRIC_FORMAT,
    SCALE_FORMAT,
    Format,
    find_format,
)
from studies import domain, errors
from studies.frames.arrangement import parse_arrangement
from studies.spec import field_reader, study

PROMPTS_FOLDER: Final = Path(__file__).parents[1] / "prompts"
_OPTION: Final = re.compile(r"-?[0-9]{1,4}(\.[0-9]{1,3})?|[A-Za-z][A-Za-z0-9 -]{0,39}")
ROLES: Final = ("system", "user", "assistant")
PROTOCOL_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "pairwise": ("overall-response", "mt-bench", "label", "selection-option", "final-answer",
                 "json-winner", "rating-pair"),
    "choice": ("selection-option", "label", "final-answer", "overall-response", "mt-bench",
               "json-winner"),
    "five-level": ("five-level", "arena-hard"),
    "factuality": ("factuality",),
    "single": ("rating", "result-n", "grade-letter", *POINT_FORMATS),
    "describe": ("none",),
    "extraction": ("final-answer", "overall-response", "label", "mt-bench", "json-winner",
                   "selection-option"),
}  # fmt: skip
"""Protocol (kind of task that a prompt sets, such as `pairwise` or `describe`) -> verdict formats
that fit it, the usual format first."""


IMAGE_VARIABLES: Final = frozenset({"images", "query"})
"""Variables at which a prompt shows an item's images, or for a judge without vision their
description. The images are put at the start of the message that contains the variable."""


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
    scale: tuple[str, ...] = ()
    """Options of the verdict formats score-scale and rubric, from the lowest to the highest."""
    rubric: tuple[tuple[str, str], ...] = ()
    """Name and description of each criterion of the verdict format rubric."""

    @property
    def options(self) -> tuple[str, ...]:
        """The possible verdicts if the prompt judges one answer: pass and fail, or the scores of a
        scale, from lowest to highest. Empty for prompts that compare answers."""
        return domain.PASS_FAIL_OPTIONS if self.verdict == PASS_FAIL_FORMAT else self.scale

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest score of a verdict on one answer."""
        values = score_by_option(self.options).values()
        return (min(values), max(values)) if values else (self.format.low, self.format.high)

    def grammar_for(self, n_options: int, labels: tuple[str, ...] = ()) -> str | None:
        """Return a llama.cpp grammar that forces the judge to write a readable verdict. None if the
        format has none, or needs none because the start of the reply is given in advance.
        `n_options` is the number of answers shown. `labels`, those of the call, are needed only
        for a verdict on one answer."""
        if not self.options:
            return self.format.grammar_for(n_options)
        offered = parse_arrangement(labels)
        names = sorted(offered.letters) or (
            ["PASS", "FAIL"] if self.verdict == PASS_FAIL_FORMAT else list(self.scale)
        )
        quoted = " | ".join(json.dumps(name, ensure_ascii=False) for name in names)
        lines = " ".join(f'"{name}: " level "\\n"' for name in offered.criteria)
        return (self.format.grammar or "").replace("$labels", quoted).replace("$lines", lines)

    def prefill_for(self, n_options: int, labels: tuple[str, ...] = ()) -> str | None:
        """Return the start of the reply, up to the label, that can be given to the judge in
        advance. None if the format has none, or if a label may have several tokens. `n_options`
        is the number of answers shown. `labels`, those of the call, are needed only for a
        verdict on one answer."""
        prefill = self.format.prefill_for(n_options)
        if not self.options or prefill is None:
            return prefill
        names = parse_arrangement(labels or self.options).names_in_reply
        if self.verdict == SCALE_FORMAT and any(len(name) > 1 for name in names):
            return None
        # Tokenizers split " 1" into a space and a digit, but keep " A" and " PASS" together.
        return f"{prefill} " if all(name.isdigit() for name in names) else prefill

    def has_single_token_levels(self, labels: tuple[str, ...] = ()) -> bool:
        """Whether the prompt is a rubric (criteria scored one by one) in which each score is
        written as a single character, so that it is one token of the reply. `labels` are those
        of the call; without them, the prompt's own options count."""
        names = parse_arrangement(labels or self.options).names_in_reply
        return self.verdict == RUBRIC_FORMAT and all(len(name) == 1 for name in names)

    @property
    def format(self) -> Format:
        return find_format(self.verdict)

    @property
    def variables(self) -> frozenset[str]:
        return template.known_variables_in(tuple(text for _, text in self.messages))

    @property
    def shows_images(self) -> bool:
        return not IMAGE_VARIABLES.isdisjoint(self.variables)

    @property
    def asks_for_grades(self) -> bool:
        """Whether the judge has to grade every answer (lines after `Grading:`) before it selects
        one, as in the built-in prompt grade-points."""
        return self.verdict == "selection-option" and any("Grading:" in t for _, t in self.messages)

    @property
    def supports_crossed_labels(self) -> bool:
        """Whether the first answer can be labelled B as well as A: the prompt has separate
        variables for position and label, or lists options."""
        return {"first", "second", "label_first", "label_second"} <= self.variables or (
            self.protocol == "choice"
        )


def built_in_prompts() -> dict[str, Path]:
    return {
        path.stem: path
        for path in sorted(PROMPTS_FOLDER.glob("*.yaml"), key=lambda path: path.stem)
    }


def add_versions_to_equal_names(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """Rename prompts that occur in several versions: `careful` becomes `careful@2`. The hash of a
    prompt, and so the keys of its calls, stay the same."""
    names = Counter(prompt.name for prompt in prompts)
    return tuple(
        replace(one, name=f"{one.name}@{one.version}") if names[one.name] > 1 else one
        for one in prompts
    )


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Load a built-in prompt by name, or a prompt file by its path, relative to `folder`; raise
    PromptError if there is none or it is invalid."""
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
        return _parse_prompt_fields(text, where)
    except (ValueError, errors.StudyError) as error:
        message = str(error) if isinstance(error, errors.StudyError) else f"{where}: {error}"
        raise PromptError(message) from None


def _parse_prompt_fields(text: str, where: str) -> Prompt:
    read = field_reader.FieldReader(field_reader.load_yaml(text), where)
    name, version = read.text("name"), read.whole_number("version", 1, 1)
    protocol = read.choice("protocol", "pairwise", study.PROTOCOLS)
    source, verdict = read.text("source", "ours"), read.text("verdict", "none")
    messages = tuple(_parse_message(entry, where) for entry in read.list_entries("messages"))
    extraction = read.text("extraction")
    scale = tuple(_parse_option(one, where) for one in read.list_entries("scale"))
    rubric = tuple(_parse_criterion(entry, where) for entry in read.list_entries("criteria"))
    read.refuse_unknown_keys()
    if not name or not messages:
        raise PromptError(f"{where}: a prompt needs a name and messages")
    _check_format_fits_protocol(protocol, verdict, where)
    _check_scale(verdict, scale, where)
    _check_rubric(verdict, rubric, where)
    parts: list[Any] = [name, version, protocol, messages, verdict, extraction]
    # Only keys that a prompt has are hashed, so that older prompts keep their hash.
    sha = hash_json([*parts, *([scale] if scale else []), *([rubric] if rubric else [])])
    prompt = Prompt(
        name, version, source, protocol, messages, verdict, extraction, sha, text, scale, rubric
    )
    _check_variables(prompt, where)
    return prompt


def _parse_option(option: object, where: str) -> str:
    """Return an option of a scale as text: 4 is "4"; raise PromptError, with the file's name
    `where`, for anything else than a number or a name."""
    text = str(option).strip() if isinstance(option, str | int | float) else ""
    if isinstance(option, bool) or not _OPTION.fullmatch(text):
        raise PromptError(
            f"{where}: scale: {option!r} is no option; expected numbers or names of at most 40 "
            "letters, digits, spaces and hyphens"
        )
    return text


def _parse_criterion(entry: object, where: str) -> tuple[str, str]:
    """Return name and description of a criterion, written `- Name: description`; raise PromptError,
    with the file's name `where`, if it is malformed."""
    if isinstance(entry, dict) and len(entry) == 1:
        ((name, text),) = entry.items()
        if isinstance(name, str) and isinstance(text, str) and _OPTION.fullmatch(name):
            return name, text.strip()
    raise PromptError(
        f"{where}: criteria: expected '- Name: description', with at most 40 letters, digits, "
        f"spaces and hyphens in the name; found {entry!r}"
    )


def _check_rubric(verdict: str, rubric: tuple[tuple[str, str], ...], where: str) -> None:
    if (verdict == RUBRIC_FORMAT) != bool(rubric):
        raise PromptError(
            f"{where}: criteria: needed with verdict: {RUBRIC_FORMAT}, and only there; list the "
            "criteria as '- Name: description'"
        )
    if len({name.casefold() for name, _ in rubric}) < len(rubric):
        raise PromptError(f"{where}: criteria: two criteria have the same name; rename one of them")


def _check_scale(verdict: str, scale: tuple[str, ...], where: str) -> None:
    if (verdict in (SCALE_FORMAT, RUBRIC_FORMAT)) != bool(scale):
        raise PromptError(
            f"{where}: scale: needed with verdict: {SCALE_FORMAT} or {RUBRIC_FORMAT}, and only "
            "there; for example scale: [1, 2, 3, 4, 5], from the lowest to the highest"
        )
    values = list(score_by_option(scale).values())
    names = {option.casefold() for option in scale}
    if scale and (len(scale) not in range(2, 21) or len(names) < len(scale)):
        raise PromptError(f"{where}: scale: expected 2 to 20 different options")
    if values != sorted(values):
        raise PromptError(f"{where}: scale: list the options from the lowest to the highest")


def _parse_message(entry: object, where: str) -> tuple[str, str]:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise PromptError(f"{where}: messages: expected '- role: text', found {entry!r}")
    ((role, text),) = entry.items()
    if role not in ROLES or not isinstance(text, str):
        raise PromptError(f"{where}: messages: {role!r} is not one of {', '.join(ROLES)}")
    return role, text


def _check_variables(prompt: Prompt, where: str) -> None:
    for _, text in prompt.messages:
        for written in template.unknown_dollar_variables(text):
            known = ["$" + variable for variable in template.VARIABLES]
            near = template.nearest_name(written, known)
            hint = f" (did you mean {near}?)" if near else ""
            raise PromptError(
                f"{where}: unknown variable {written}{hint}. Known: {', '.join(known)}"
            )


def _check_format_fits_protocol(protocol: str, verdict: str, where: str) -> None:
    """Raise PromptError if the verdict format does not fit the prompt's task (`protocol`)."""
    name, fitting = find_format(verdict).name, PROTOCOL_FORMATS[protocol]
    if name == "none" and protocol != "describe":
        raise PromptError(
            f"{where}: a {protocol} prompt needs a verdict format under 'verdict'; "
            f"one of {', '.join(fitting)}"
        )
    if name not in fitting:
        others = [other for other, formats in PROTOCOL_FORMATS.items() if name in formats]
        raise PromptError(
            f"{where}: verdict: {name} does not go with protocol: {protocol}, which "
            f"takes {', '.join(fitting)}; {name} is for protocol: "
            f"{' or '.join(others)}"
        )


canonical_json: Final = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":")
).encode
"""Encode a value as canonical JSON, so that equal requests have equal hashes."""


def hash_json(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
