"""Reading single cells: what is missing or wrong is named by file, line and column."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.domain import HUMAN_PREFIX
from studies.errors import SourceError
from studies.files.tables import Row, text_of
from studies.sources.builder import Pick, SourceBuilder

PERSON_NAME: Final = re.compile(
    r"(human|arena[_ -]?user|expert|author|annotator|worker|voter|crowd|rater|user)"
    r"([_: ]?\d|[_:]|s?$)",
    re.IGNORECASE,
)
"""Judges that are people, by the names that files give them."""

BATTLE_WINNERS: Final[dict[str, Pick]] = {
    "model_a": 0,
    "model_b": 1,
    "tie": "tie",
    "tie (bothbad)": "tie",
    "tie(bothbad)": "tie",
    "both_bad": "tie",
    "bothbad": "tie",
    "both bad": "tie",
}


def required_text(row: Row, column: str, where: str) -> str:
    text = text_of(row.get(column))
    if not text.strip():
        raise SourceError(f"{where}: column {column!r} is empty")
    return text


def first_text(row: Row, *columns: str) -> str:
    """The first of some columns that has something in it."""
    for column in columns:
        if text := text_of(row.get(column)):
            return text
    return ""


def parse_winner(row: Row, column: str, words: Mapping[str, Pick], where: str) -> Pick:
    """A winner by the words of its format. An unknown word is an error: a guess would be
    evidence. An empty cell is no verdict."""
    text = text_of(row.get(column)).strip()
    if not text:
        return None
    word = text if text in words else text.casefold()
    if word not in words:
        known = ", ".join(repr(known) for known in words)
        raise SourceError(f"{where}: column {column!r} is {text!r}; known: {known}"[:400])
    return words[word]


def parse_number(row: Row, column: str, where: str) -> float | None:
    """A number, or None where the cell is empty."""
    value = row.get(column)
    if value is None or value != value or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SourceError(
            f"{where}: column {column!r}: expected a number, found {value!r}"[:300]
        ) from None


def parse_time(row: Row, column: str = "tstamp") -> float:
    value = row.get(column)
    try:
        return max(float(value), 0.0) if value is not None else 0.0
    except (TypeError, ValueError):
        return 0.0


def id_from_text(prefix: str, *texts: str) -> str:
    """An id for a question that has none: the same question has the same everywhere."""
    return f"{prefix}-{hashlib.sha256(chr(31).join(texts).encode()).hexdigest()[:10]}"


def is_person(judge: str) -> bool:
    return bool(PERSON_NAME.match(judge))


def add_verdict(
    gathered: SourceBuilder, item: str, judge: str, prompt: str, shown: Sequence[str], pick: Pick,
    **more: Any,
) -> None:  # fmt: skip
    """A verdict by whoever the file names: a person's is a vote too."""
    name = judge.removeprefix(HUMAN_PREFIX)
    if judge.startswith(HUMAN_PREFIX) or is_person(judge):
        kept = {key: more[key] for key in ("known", "margin", "reply", "time") if key in more}
        gathered.add_person_verdict(item, name, shown, pick, **kept)
    else:
        gathered.add_verdict(item, judge, prompt, shown, pick, **more)


def parse_conversation(value: Any) -> list[dict[str, str]]:
    """A conversation as a list of {role, content}: a list, or the JSON text of one."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    if not isinstance(value, list):
        return []
    turns = [turn for turn in value if isinstance(turn, dict)]
    return [
        {"role": str(turn.get("role", "")), "content": text_of(turn.get("content"))}
        for turn in turns
    ]


def parse_texts(value: Any) -> list[str]:
    """A list of texts, or the JSON text of one (Kaggle's cells); nulls are empty."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, list):
        return [text_of(part) for part in value]
    return [text_of(value)]


def join_turns(questions: Sequence[str], answers: Sequence[str]) -> tuple[str, str]:
    """Several turns as one question and one answer: each later answer follows its question."""
    if len(questions) <= 1:
        return "".join(questions), "".join(answers[:1])
    asked = "\n\n".join(f"Turn {k}: {text}" for k, text in enumerate(questions, 1))
    told = "\n\n".join(f"Turn {k}: {text}" for k, text in enumerate(answers, 1))
    return asked, told


def split_conversation(turns: Sequence[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """What was asked and what was answered, in turn."""
    asked = [turn["content"] for turn in turns if turn["role"] in ("user", "human", "prompter")]
    told = [turn["content"] for turn in turns if turn["role"] in ("assistant", "gpt", "model")]
    return asked, told
