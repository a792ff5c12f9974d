"""Answers from several files, joined on common columns, with a report of what did not fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class FileJoin:
    """How one answer file met the questions."""

    contestant: str
    file: str
    column: str
    """The column taken for the answer."""
    matched: int = 0
    missing: int = 0
    """Questions without a row in this file."""
    unknown: int = 0
    """Rows of this file that answer no question."""
    duplicate: int = 0
    """Rows beyond the first of their key."""
    empty: int = 0
    conflicting: int = 0
    """Keys with different answers: taken in their order where there are as many questions, else
    the first of them is kept."""
    examples: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class JoinReport:
    """What a join did, before a cent is spent on it."""

    on: tuple[str, ...]
    questions: int
    files: tuple[FileJoin, ...]
    duplicate_questions: int = 0
    """Questions whose key another one has too: the k-th takes the k-th answer of a file."""

    def total(self, field: str) -> int:
        return sum(getattr(file, field) for file in self.files)

    @property
    def matched(self) -> int:
        return self.total("matched")

    @property
    def missing(self) -> int:
        return self.total("missing")

    @property
    def duplicate(self) -> int:
        return self.total("duplicate")

    @property
    def empty(self) -> int:
        return self.total("empty")

    @property
    def conflicting(self) -> int:
        return self.total("conflicting")

    def lines(self) -> list[str]:
        """The report in words, one line a file."""
        out = [f"joined on {', '.join(self.on)}: {self.questions:,} questions"]
        if self.duplicate_questions:
            out[0] += f", {self.duplicate_questions:,} of them with the key of another"
        for file in self.files:
            parts = [f"{file.matched:,} matched"]
            for name in ("missing", "empty", "duplicate", "conflicting", "unknown"):
                if count := getattr(file, name):
                    parts.append(f"{count:,} {name}")
            out.append(
                f"{file.contestant}: {', '.join(parts)} "
                f"(answers in column {file.column!r} of {file.file})"
            )
        return out


JoinKey = tuple[str, ...]


def join_answers(
    questions: Sequence[JoinKey],
    on: tuple[str, ...],
    files: Mapping[str, SourceTable],
    column_of: Callable[[SourceTable, str], str] | None = None,
) -> tuple[list[dict[str, str]], JoinReport]:
    """The answers to each question by contestant, and how the files met.

    Where several questions have the same key, the k-th takes the k-th row of a file; a file with
    one row for them answers all of them with it. Empty answers are left out and counted.
    """
    places: dict[JoinKey, list[int]] = defaultdict(list)
    for place, key in enumerate(questions):
        places[key].append(place)
    answers: list[dict[str, str]] = [{} for _ in questions]
    reports = []
    for contestant, table in files.items():
        _check_join_columns(table, on)
        column = (column_of or answer_column)(table, contestant)
        reports.append(_join_file(answers, places, on, contestant, table, column))
    twice = sum(len(found) - 1 for found in places.values())
    return answers, JoinReport(on, len(questions), tuple(reports), twice)


def _join_file(
    answers: list[dict[str, str]],
    places: Mapping[JoinKey, list[int]],
    on: tuple[str, ...],
    contestant: str,
    table: SourceTable,
    column: str,
) -> FileJoin:
    found: dict[JoinKey, list[str]] = defaultdict(list)
    for row in table.rows:
        found[join_key(row, on)].append(text_of(row.get(column)))
    count: dict[str, int] = defaultdict(int)
    examples: dict[str, list[str]] = defaultdict(list)

    def met(kind: str, key: JoinKey) -> None:
        count[kind] += 1
        if kind != "matched" and len(examples[kind]) < MAX_EXAMPLES:
            examples[kind].append(_shorten_key(key))

    for key, texts in found.items():
        if key not in places:
            count["unknown"] += len(texts) - 1
            met("unknown", key)
            continue
        for _ in texts[1:]:
            met("duplicate", key)
        if len(set(texts)) > 1:
            met("conflicting", key)
    for key, wanted in places.items():
        texts = found.get(key, [])
        for k, place in enumerate(wanted):
            if not texts:
                met("missing", key)
                continue
            text = texts[k] if len(texts) == len(wanted) else texts[0]
            if not text.strip():
                met("empty", key)
                continue
            answers[place][contestant] = text
            met("matched", key)
    kept = {kind: tuple(keys) for kind, keys in examples.items()}
    return FileJoin(contestant, table.name, column, **count, examples=kept)


def join_key(row: Row, on: Iterable[str]) -> JoinKey:
    return tuple(text_of(row.get(name)).strip() for name in on)


def _shorten_key(key: JoinKey) -> str:
    return " · ".join(part if len(part) <= 60 else f"…{part[-59:]}" for part in key)


def _check_join_columns(table: SourceTable, on: tuple[str, ...]) -> None:
    for name in on:
        if name not in table.columns:
            raise SourceError(
                f"{table.name}: no column {name!r} to join on; its columns: "
                f"{', '.join(table.columns)[:300]}. Name the common columns in data.join"
            )


ANSWER_WORDS: Final = ("prediction", "response", "output", "answer", "completion", "text")


def answer_column(table: SourceTable, contestant: str, taken: Iterable[str] = ()) -> str:
    """The column that holds the answers of a file: the only one whose name says so, else the only
    one that is no key. Two that could be it are an error: a guess would be somebody's answer."""
    others = [name for name in table.columns if name not in _KEY_COLUMNS and name not in set(taken)]
    exact = [name for name in others if name.casefold() in (contestant.casefold(), *ANSWER_WORDS)]
    worded = [name for name in others if any(word in name.casefold() for word in ANSWER_WORDS)]
    for candidates in (exact, worded, others):
        if len(candidates) == 1:
            return candidates[0]
    listed = ", ".join(repr(name) for name in (exact or worded or others)) or "none"
    raise SourceError(
        f"{table.name}: cannot tell which column holds the answers of {contestant!r} "
        f"(candidates: {listed}); keep one of them, or map it to 'response' in data.mapping"
    )


_KEY_COLUMNS: Final = {
    "image", "images", "image_url", "instruction", "question", "prompt", "index", "id", "category",
    "instruction_category", "question_id", "prompt_id", "criteria", "ground_truth", "task_name",
    "reference_answer_by_gpt4o", "role", "background", "requirement", "requirements", "image_path",
    "gpt4_prediction", "reference_output", "image_dense_captions", "source",
}  # fmt: skip
