"""Candidates for a better prompt: today's prompt, word for word, plus one block of text.

The block has labelled cases (their right verdict is known) with this verdict (`examples`), rules
written from a judge's mistakes (`rules`), rules and cases (`both`), or the user's own criteria
(`criteria`). Cases and mistakes come from the learn items only, one of two parts of the labelled
items; on the other part the candidates are compared."""

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PlanError, PromptError
from judges.operations.image_descriptions import remove_think_blocks
from judges.rendering.prompt import Prompt, parse_prompt
from judges.rendering.prompt_library import dump_prompt, last_version, save_prompt
from studies.people.label_split import CandidateRecord
from studies.spec.field_reader import load_yaml

KINDS: Final = ("examples", "rules", "criteria", "both")
EXAMPLES: Final = 4
MAX_RULES: Final = 5
MAX_RULE_CHARACTERS: Final = 300
RULES_HEAD: Final = "Rules for this task:"
CRITERIA_HEAD: Final = "Criteria for this task:"
_BULLET: Final = re.compile(r"\A\s*(?:[-*•–]|\(?\d{1,2}[.):])\s+(?=\S)")
_VERDICT: Final = re.compile(
    r"\[\[.{1,8}\]\]|\b(?:response|answer|assistant|option) (?:[AB]|[12]) is (?:much )?better\b"
    r"|\b(?:right )?(?:verdict|score|rating|grade): *(?:pass|fail|[0-9CPI])\b",
    re.IGNORECASE,
)
_MARK: Final = re.compile(r"\$(?=[a-z_])|\{(?=\s*(?:\{\s*)?[a-z_0-9])")
_JOINER: Final = "\u2060"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new version of a prompt, to be compared with the present one, and a record of what it was
    made from."""

    prompt: Prompt
    record: CandidateRecord


@dataclass(frozen=True, slots=True)
class WrittenRules:
    """Rules read from the reply of the model that writes rules. `problem` is a sentence if there
    are no usable rules or too many, else empty."""

    rules: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled cases as messages of a prompt, each followed by the right verdict, and the items
    that they come from."""

    turns: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()


NO_EXAMPLES: Final = Examples()


# ------------------------------------------------------------------------------ blocks


def disable_variables(text: str) -> str:
    """Return the text so that a prompt template does not replace anything in it: an invisible
    character (word joiner) is put into `$first`, `{question}` and the like."""
    return _MARK.sub(lambda match: match[0] + _JOINER, text)


def read_rules(reply: str, cases: str = "") -> WrittenRules:
    """Read at most five rules from the reply of the model that writes rules: the items of its list,
    or all lines of a reply without a list.

    Left out are headings, repeated lines, lines that state a verdict or copy a part of `cases` (the
    text that the model read), and lines that are too short or too long for a rule.
    """
    lines = [line for line in remove_think_blocks(reply).splitlines() if line.strip()]
    listed = [line for line in lines if _BULLET.match(line)]
    found: dict[str, None] = {}
    for line in listed or lines:
        rule = " ".join(_BULLET.sub("", line, count=1).split()).strip("*_ ")
        words = re.findall(r"[^\W\d_]{2,}", rule)
        if len(words) < 3 or len(rule) > MAX_RULE_CHARACTERS or rule.endswith(":"):
            continue
        if not _VERDICT.search(rule) and rule not in cases:
            found.setdefault(rule, None)
    rules = tuple(found)
    if not rules:
        start = " ".join(reply.split())[:120]
        return WrittenRules(
            (),
            f"The writer's reply has no rule that can be used: {start!r}. Write the rules "
            "yourself, or choose another writer.",
        )
    if len(rules) > MAX_RULES:
        return WrittenRules(
            rules[:MAX_RULES], f"The writer wrote {len(rules)} rules; the first {MAX_RULES} count."
        )
    return WrittenRules(rules)


def copy_prompt_with_additions(
    prompt: Prompt, kind: str, text: str, examples: Sequence[tuple[str, str]], source: str
) -> Prompt:
    """Return a copy of a prompt with two additions. `text` is put at the end of the system message
    or, without one, at the start of the first message. `examples`, messages as (role, text), are
    put before the last user message. The name of the copy ends with `kind`; `source` is its note
    on where it comes from."""
    values = load_yaml(prompt.yaml)
    assert isinstance(values, dict)  # the prompt was parsed from it
    messages = [{role: body} for role, body in prompt.messages]
    if text:
        ((role, body),) = messages[0].items()
        parts = [body, text] if role == "system" else [text, body]
        messages[0] = {role: "\n\n".join(part.rstrip("\n") for part in parts)}
    last = max(k for k, message in enumerate(messages) if "user" in message)
    messages[last:last] = [{role: disable_variables(body)} for role, body in examples]
    name = f"{parse_prompt(prompt.yaml).name}+{kind}"
    return parse_prompt(
        dump_prompt({**values, "name": name, "source": source, "messages": messages}), name
    )


def make_candidate(
    prompt: Prompt,
    kind: str,
    *,
    rules: Sequence[str] = (),
    criteria: str = "",
    examples: Examples = NO_EXAMPLES,
    learnt: Sequence[str] = (),
    writer: str = "",
    seed: int = 0,
    today: datetime.date | None = None,
) -> Candidate:
    """Build a candidate (a new version of the prompt) of one kind (see KINDS); raise PlanError if
    what this kind adds (rules, criteria or examples) is missing. The other arguments are only
    noted as its origin: `learnt`, the ids of the items with the mistakes that `writer`, a model,
    made the rules from; `seed`; and `today`, the date (None: the present day)."""
    text = ""
    if kind in ("rules", "both"):
        if not rules:
            raise PlanError(f"{kind}: there are no rules; write some, or leave this candidate out")
        text = disable_variables("\n".join([RULES_HEAD, *(f"- {rule}" for rule in rules)]))
    if kind == "criteria":
        if not criteria.strip():
            raise PlanError(
                "criteria: the study has none; set `criteria` in the study file, or leave this "
                "candidate out"
            )
        text = disable_variables(f"{CRITERIA_HEAD}\n{criteria.strip()}")
    shown = examples if kind in ("examples", "both") else NO_EXAMPLES
    if kind in ("examples", "both") and not shown.turns:
        raise PlanError(f"{kind}: no learn item can be shown as an example")
    items = tuple(dict.fromkeys([*shown.items, *learnt]))
    base = parse_prompt(prompt.yaml)
    day = (today or datetime.date.today()).isoformat()
    by = f", written by {writer}" if writer and rules and kind != "criteria" else ""
    origin = f"learnt from {len(items)} items: {', '.join(items)}" if items else "the user's own"
    source = f"{base.name} version {base.version} + {kind}{by}; {origin}; seed {seed}; {day}"
    made = copy_prompt_with_additions(prompt, kind, text, shown.turns, source)
    return Candidate(made, CandidateRecord(made.name, kind, made.sha, items, writer if by else ""))


# ------------------------------------------------------------------------------ files


def write_candidate(candidate: Candidate, folder: Path) -> Path:
    """Write a candidate as a prompt file, which can be read and edited before a judge is asked with
    it; return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{candidate.record.kind}.yaml"
    record = candidate.record
    head = json.dumps({"learnt": record.learnt, "writer": record.writer}, ensure_ascii=False)
    path.write_text(f"# {head}\n{candidate.prompt.yaml}", encoding="utf-8")
    return path


def read_candidate(path: Path, prompt: Prompt) -> Candidate:
    """Read a candidate of `prompt` from its file, which may have been edited; raise PromptError if
    the file cannot be read or parsed, or if its name, verdict format or protocol was changed."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the candidate {path}: {error}") from None
    made = parse_prompt(text, path.name)
    kind, name = path.stem, f"{parse_prompt(prompt.yaml).name}+{path.stem}"
    if made.name != name:
        raise PromptError(f"{path}: expected name: {name}, found {made.name!r}; restore the name")
    if made.verdict != prompt.verdict or made.protocol != prompt.protocol:
        raise PromptError(f"{path}: verdict and protocol must be those of {prompt.name}")
    head: dict[str, Any] = {}
    first = text.partition("\n")[0]
    if first.startswith("# {"):
        try:
            head = json.loads(first[2:])
        except ValueError:
            head = {}
    record = CandidateRecord(
        made.name, kind, made.sha, tuple(head.get("learnt", ())), str(head.get("writer", ""))
    )
    return Candidate(made, record)


def added_lines(candidate: Prompt, today: Prompt) -> str:
    """Return the lines that a candidate adds to today's prompt."""
    before = {line for _, text in today.messages for line in text.splitlines()}
    lines = [line for _, text in candidate.messages for line in text.splitlines()]
    return "\n".join(line.replace(_JOINER, "") for line in lines if line not in before)


def adopt_candidate(candidate: Prompt, today: Prompt, folder: Path) -> Prompt:
    """Save a candidate as the next version of today's prompt and return this version; the new file
    keeps the note on the candidate's origin."""
    values = load_yaml(candidate.yaml)
    assert isinstance(values, dict)
    name = parse_prompt(today.yaml).name
    return save_prompt(dump_prompt({**values, "name": name}), folder, today.version + 1)


def find_adopted_version(candidate: Prompt, today: Prompt, folder: Path) -> Prompt | None:
    """Return the newest saved version of the prompt `today` if `candidate` was adopted as this
    version, that is, if both have the same messages; else None. `folder`: the folder of prompts."""
    last = last_version(parse_prompt(today.yaml).name, folder)
    return last if last is not None and last.messages == candidate.messages else None


def undo_adoption(candidate: Prompt, today: Prompt, folder: Path) -> Prompt:
    """Save today's text again as the version after an adopted candidate, whose file is kept:
    studies may use it. Return this version; raise PlanError if the candidate is not the newest
    version."""
    if find_adopted_version(candidate, today, folder) is None:
        raise PlanError(
            f"nothing to undo: {candidate.name} is not the newest version of its prompt"
        )
    return save_prompt(today.yaml, folder)
