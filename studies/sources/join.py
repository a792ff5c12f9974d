"""Join answers from several files with the questions on common columns, and report mismatches."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import SourceTable, text_of

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class FileJoinCounts:
    """Counts for one contestant's answer file that was joined with the questions."""

    contestant: str
    file: str
    column: str
    matched: int = 0
    missing: int = 0
    """Number of questions without a row in this file."""
    unknown: int = 0
    """Number of rows in this file without a matching question."""
    duplicate: int = 0
    """Number of rows in this file with the same join key as an earlier row; only keys of questions
    count."""
    empty: int = 0
    conflicting: int = 0
    """Number of join keys for which the file has different answers. If a key has as many questions
    as answers, the answers are assigned in order; else all its questions get the first answer."""
    examples: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class JoinReport:
    """Report on joining answer files with the questions, shown before a run."""

    on: tuple[str, ...]
    questions: int
    files: tuple[FileJoinCounts, ...]
    duplicate_questions: int = 0
    """Number of questions with the same join key as an earlier question."""

    def lines(self) -> list[str]:
        """Return the report as text: a line on the questions, then one line per file."""
        out = [f"joined on {', '.join(self.on)}: {self.questions:,} questions"]
        if self.duplicate_questions:
            out[0] += f", {self.duplicate_questions:,} of them with the same key as another"
        for file in self.files:
            kinds = ("missing", "empty", "duplicate", "conflicting", "unknown")
            counts = [(getattr(file, kind), kind) for kind in kinds]
            parts = [f"{file.matched:,} matched", *(f"{n:,} {kind}" for n, kind in counts if n)]
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
    """Return, for each question, contestant -> answer; and the report of the join.

    `questions` are the join keys of the questions: their values in the columns `on`. If
    several questions have the same key and a file has as many rows with this key, the k-th of
    these questions takes the k-th row; otherwise all of them take the first row. Empty answers
    are left out and counted. `column_of` returns the name of a file's column of answers
    (default: `answer_column`). SourceError if a file lacks one of the columns `on`."""
    positions: dict[JoinKey, list[int]] = defaultdict(list)
    for position, key in enumerate(questions):
        positions[key].append(position)
    answers: list[dict[str, str]] = [{} for _ in questions]
    reports = []
    for contestant, table in files.items():
        for name in on:
            if name not in table.columns:
                raise SourceError(
                    f"{table.name}: no column {name!r} to join on; its columns: "
                    f"{', '.join(table.columns)[:300]}. Name the common columns in data.join"
                )
        column = (column_of or answer_column)(table, contestant)
        reports.append(_join_file(answers, positions, on, contestant, table, column))
    duplicates = sum(len(found) - 1 for found in positions.values())
    return answers, JoinReport(on, len(questions), tuple(reports), duplicates)


def _join_file(
    answers: list[dict[str, str]],
    positions: Mapping[JoinKey, list[int]],
    on: tuple[str, ...],
    contestant: str,
    table: SourceTable,
    column: str,
) -> FileJoinCounts:
    """Add the answers of one contestant, from the `column` of its file, to `answers` (one dict
    per question); return the counts. `positions` maps a join key to the indexes of its
    questions in `answers`; `on` are the columns that form the key."""
    found: dict[JoinKey, list[str]] = defaultdict(list)
    for row in table.rows:
        found[join_key_of_row(row, on)].append(text_of(row.get(column)))
    count: dict[str, int] = defaultdict(int)
    examples: dict[str, list[str]] = defaultdict(list)

    def count_with_example(kind: str, key: JoinKey) -> None:
        count[kind] += 1
        if kind != "matched" and len(examples[kind]) < MAX_EXAMPLES:
            parts = (part if len(part) <= 60 else f"…{part[-59:]}" for part in key)
            examples[kind].append(" · ".join(parts))

    for key, texts in found.items():
        if key not in positions:
            count["unknown"] += len(texts) - 1
            count_with_example("unknown", key)
            continue
        for _ in texts[1:]:
            count_with_example("duplicate", key)
        if len(set(texts)) > 1:
            count_with_example("conflicting", key)
    for key, wanted in positions.items():
        texts = found.get(key, [])
        for k, position in enumerate(wanted):
            text = texts[k if len(texts) == len(wanted) else 0] if texts else ""
            count_with_example("matched" if text.strip() else "empty" if texts else "missing", key)
            if text.strip():
                answers[position][contestant] = text
    example_keys = {kind: tuple(keys) for kind, keys in examples.items()}
    return FileJoinCounts(contestant, table.name, column, **count, examples=example_keys)


def join_key_of_row(row: Mapping[str, Any], columns: Iterable[str]) -> JoinKey:
    return tuple(text_of(row.get(name)).strip() for name in columns)


ANSWER_WORDS: Final = ("prediction", "response", "output", "answer", "completion", "text")


def answer_column(table: SourceTable, contestant: str) -> str:
    """Return the name of the column with a contestant's answers.

    Three groups of columns are tried in turn: those named like the contestant or by a word
    such as `response`; those whose name contains such a word; those that are not known as
    columns of questions. The first group that has exactly one column decides. SourceError if
    none has, because a guess could take another model's answers."""
    others = [name for name in table.columns if name not in _KEY_COLUMNS]
    exact = [name for name in others if name.casefold() in (contestant.casefold(), *ANSWER_WORDS)]
    partial = [name for name in others if any(word in name.casefold() for word in ANSWER_WORDS)]
    for candidates in (exact, partial, others):
        if len(candidates) == 1:
            return candidates[0]
    listed = ", ".join(repr(name) for name in (exact or partial or others)) or "none"
    raise SourceError(
        f"{table.name}: cannot decide which column has the answers of {contestant!r} "
        f"(candidates: {listed}); keep one of them, or map it to 'response' in data.mapping"
    )


_KEY_COLUMNS: Final = {
    "image", "images", "image_url", "instruction", "question", "prompt", "index", "id", "category",
    "instruction_category", "question_id", "prompt_id", "criteria", "ground_truth", "task_name",
    "reference_answer_by_gpt4o", "role", "background", "requirement", "requirements", "image_path",
    "gpt4_prediction", "reference_output", "image_dense_captions", "source",
}  # fmt: skip
