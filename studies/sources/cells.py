"""Read single cells of a table; errors name file, line and column."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from studies.domain import HUMAN_PREFIX
from studies.errors import SourceError
from studies.files.tables import Row, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import Pick

PERSON_NAME: Final = re.compile(
    r"(human|arena[_ -]?user|expert|author|annotator|worker|voter|crowd|rater|user)"
    r"([_: ]?\d|[_:]|s?$)",
    re.IGNORECASE,
)
"""Pattern of judge names in data files that stand for people, such as `annotator_1`."""

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
    """Return the text of a cell that must not be empty."""
    text = text_of(row.get(column))
    if not text.strip():
        raise SourceError(f"{where}: column {column!r} is empty; fill it or remove the row")
    return text


def first_text(row: Row, *columns: str) -> str:
    """Return the text of the first of these columns that is not empty; "" if all are empty."""
    for column in columns:
        if text := text_of(row.get(column)):
            return text
    return ""


def parse_winner(row: Row, column: str, words: Mapping[str, Pick], where: str) -> Pick:
    """Convert the winner in a cell to a pick by `words` (word -> pick); None for an empty cell.

    An unknown word is an error, because a guess would count as a verdict.
    """
    text = text_of(row.get(column)).strip()
    if not text:
        return None
    word = text if text in words else text.casefold()
    if word not in words:
        known = ", ".join(repr(known) for known in words)
        raise SourceError(f"{where}: column {column!r} is {text!r}; known: {known}"[:400])
    return words[word]


def parse_number(row: Row, column: str, where: str) -> float | None:
    """Return the number in a cell, or None for an empty cell."""
    value = row.get(column)
    if value is None or value != value or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise SourceError(
            f"{where}: column {column!r}: expected a number, found {text_of(value)[:80]!r}"
            "; correct the row or remove it"
        ) from None


def parse_time(row: Row) -> float:
    """Return the time stamp `tstamp` in seconds; 0 if it is missing or not a number."""
    value = row.get("tstamp")
    try:
        return max(float(value), 0.0) if value is not None else 0.0
    except (TypeError, ValueError):
        return 0.0


def id_from_text(prefix: str, *texts: str) -> str:
    """Derive an id from the texts of a question, so that equal questions have equal ids."""
    return f"{prefix}-{hashlib.sha256(chr(31).join(texts).encode()).hexdigest()[:10]}"


def is_person(judge: str) -> bool:
    return bool(PERSON_NAME.match(judge))


def add_verdict(
    builder: SourceBuilder,
    item: str,
    judge: str,
    prompt: str,
    shown: Sequence[str],
    pick: Pick,
    **more: Any,
) -> None:
    """Add a verdict; if the judge is a person, also add it to the item as a vote."""
    name = judge.removeprefix(HUMAN_PREFIX)
    if judge.startswith(HUMAN_PREFIX) or is_person(judge):
        facts = {key: more[key] for key in ("known", "margin", "reply", "time") if key in more}
        builder.add_person_verdict(item, name, shown, pick, **facts)
    else:
        builder.add_verdict(item, judge, prompt, shown, pick, **more)


def parse_conversation(value: Any) -> list[dict[str, str]]:
    """Parse a conversation, given as a list or as JSON text, to a list of {role, content}."""
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
    """Parse a list of texts, or its JSON text (as in Kaggle's files); nulls become ""."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, list):
        return [text_of(part) for part in value]
    return [text_of(value)]


def join_turns(questions: Sequence[str], answers: Sequence[str]) -> tuple[str, str]:
    """Join the turns of a conversation into one question text and one answer text."""
    if len(questions) <= 1:
        return "".join(questions), "".join(answers[:1])
    question = "\n\n".join(f"Turn {k}: {text}" for k, text in enumerate(questions, 1))
    answer = "\n\n".join(f"Turn {k}: {text}" for k, text in enumerate(answers, 1))
    return question, answer


def split_conversation(turns: Sequence[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """Split a conversation into the user's and the assistant's turns."""
    questions = [turn["content"] for turn in turns if turn["role"] in ("user", "human", "prompter")]
    answers = [turn["content"] for turn in turns if turn["role"] in ("assistant", "gpt", "model")]
    return questions, answers
