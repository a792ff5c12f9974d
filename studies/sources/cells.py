"""Read the cells of a table's rows; an error names the file, the line or row and, if it is about
one cell, the column."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from studies.errors import SourceError
from studies.files.table_formats.json_lines import parse_cell_if_json
from studies.files.tables import SourceTable, text_of
from studies.sources.building.recorded_verdict import Pick

FLAGS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class TracedRow(dict[str, Any]):
    """A row of a table that records which columns are used: reading a column adds its name to
    the set `read`. Copying the row counts as reading all columns."""

    __slots__ = ("read",)

    def __init__(self, row: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(row)
        self.read = read

    def __getitem__(self, column: str) -> Any:
        self.read.add(column)
        return super().__getitem__(column)

    def get(self, column: str, default: Any = None) -> Any:
        self.read.add(column)
        return super().get(column, default)

    def items(self) -> Any:
        self.read.update(self)
        return super().items()

    def __iter__(self) -> Iterator[str]:  # without it, {**row} would read no column
        return super().__iter__()


@dataclass(slots=True)
class RowCells:
    """The cells of one row, with methods that read them. `where` (file and line) is the row's
    location for error messages, `index` its number in the table, from 0."""

    row: Mapping[str, Any]
    where: str = ""
    index: int = 0

    def error(self, problem: str) -> SourceError:
        """Return a SourceError about this row; its message begins with the row's location."""
        return SourceError(f"{self.where}: {problem}")

    def text(self, *columns: str) -> str:
        """Return the text of the first of these columns that is not empty; "" if all are empty."""
        return next((text for column in columns if (text := text_of(self.row.get(column)))), "")

    def require_text(self, column: str) -> str:
        """Return the text of a cell; raise SourceError if it is empty."""
        text = text_of(self.row.get(column))
        if not text.strip():
            raise self.error(f"column {column!r} is empty; fill it or remove the row")
        return text

    def require_two_texts(self, first: str, second: str) -> tuple[str, str]:
        """Return the texts of two cells, such as the names of two models; SourceError if one is
        empty."""
        return self.require_text(first), self.require_text(second)

    def cells_of_object(self, column: str) -> RowCells:
        """Return the fields of the object in this column as the cells of a row; without an
        object in it, a row without cells."""
        value = self.row.get(column)
        return RowCells(value if isinstance(value, Mapping) else {}, self.where)

    def pick(self, column: str, words: Mapping[str, Pick]) -> Pick:
        """Convert the winner in a cell to a pick by `words` (word -> pick); None for an empty cell.

        An unknown word is a SourceError, because a guess would count as a verdict.
        """
        text = self.text(column).strip()
        if not text:
            return None
        word = text if text in words else text.casefold().removesuffix(".0")
        if word not in words:
            known = ", ".join(map(repr, words))
            problem = f"{self.where}: column {column!r} is {text!r}; known: {known}"
            raise SourceError(problem[:400])
        return words[word]

    def number(self, column: str) -> float | None:
        """Return the number in a cell, None for an empty cell or "NaN"; SourceError for any other
        text, and for an infinite number."""
        value = self.row.get(column)
        if value is None or value == "":
            return None
        try:
            number = float(value)
            if math.isinf(number):
                raise ValueError
            return None if math.isnan(number) else number
        except (TypeError, ValueError):
            raise self.error(
                f"column {column!r}: expected a number, found "
                f"{text_of(value)[:80]!r}; correct the row or remove it"
            ) from None

    @property
    def time(self) -> float:
        """Time in the column `tstamp`, in seconds; 0 if it is missing, negative or not a number."""
        value = self.row.get("tstamp")
        try:
            return max(0.0, float(value)) if value is not None else 0.0
        except (TypeError, ValueError):
            return 0.0

    @property
    def row_id(self) -> str:
        """Id such as `row-000001`, made from the row's number, for an item without another id."""
        return f"row-{self.index + 1:06}"


@dataclass(slots=True)
class MappedCells(RowCells):
    """The cells of a row of any table, read by field: the user's mapping states which column
    contains which field."""

    fields: Mapping[str, str] = field(default_factory=dict)
    """Field -> column that is mapped to it."""

    def value(self, name: str) -> Any:
        """Return the value of a field; None if no column is mapped to it."""
        return self.row.get(self.fields[name]) if name in self.fields else None

    def text_in_paragraphs(self, name: str) -> str:
        """Return the text of a field; the elements of a list (or their `content`) become
        paragraphs."""
        value = self.value(name)
        if not isinstance(value, list):
            return text_of(value)
        parts = [part.get("content") if isinstance(part, dict) else part for part in value]
        return "\n\n".join(text for part in parts if (text := text_of(part)))

    def plain_text(self, name: str) -> str:
        """Return the text of a field that contains a name, an id or a reply; "" if it is empty or
        no column is mapped to it."""
        return text_of(self.value(name))

    def field_number(self, name: str) -> float | None:
        """Return the number of a field; None if its cell is empty or no column is mapped to it,
        SourceError for a text that is no number."""
        return self.number(self.fields[name]) if name in self.fields else None

    def columns_of_group(self, group: str) -> dict[str, str]:
        """Return name -> column, for each mapped field named `<group>.<name>`."""
        found = [(field.partition("."), column) for field, column in self.fields.items()]
        return {name: column for (start, dot, name), column in found if dot and start == group}


def cells_of(table: SourceTable) -> Iterator[RowCells]:
    """Yield the cells of each row of a table."""
    return (RowCells(row, table.row_place(index), index) for index, row in enumerate(table.rows))


def id_from_text(prefix: str, *texts: str) -> str:
    """Derive an id, `<prefix>-<hash>`, from the texts of a question, so that equal questions have
    equal ids."""
    return f"{prefix}-{hashlib.sha256(chr(31).join(texts).encode()).hexdigest()[:10]}"


def content_text(turn: Any) -> str:
    """Return the text of a turn of a conversation, given as a text or as an object with the key
    `content` or `value`. If the content is a list of parts, their texts become lines."""
    content = turn.get("content", turn.get("value")) if isinstance(turn, Mapping) else turn
    if not isinstance(content, list):
        return text_of(content)
    return "\n".join(text_of(part.get("text")) for part in content if isinstance(part, Mapping))


def parse_list(value: Any) -> Any:
    """Parse a cell with the JSON text of a list; return any other cell, and a list, unchanged."""
    return parse_cell_if_json(value, "[")


def parse_conversation(value: Any) -> list[dict[str, str]]:
    """Parse a conversation, given as a list or as JSON text, to a list of {role, content}; empty
    for any other cell, such as an answer that is a JSON list. A role can also be in `from`."""
    found = parse_list(value)
    turns = [turn for turn in found if isinstance(turn, dict)] if isinstance(found, list) else []
    roles = [turn.get("role", turn.get("from")) for turn in turns]
    if isinstance(value, str) and not any(roles):
        return []
    parts = zip(roles, turns, strict=True)
    return [{"role": str(role or ""), "content": content_text(turn)} for role, turn in parts]


def parse_texts(value: Any) -> list[str]:
    """Parse a list of texts, or its JSON text (as in Kaggle's files); nulls become "". Any other
    cell is a list of one text."""
    found = parse_list(value)
    return [text_of(part) for part in found] if isinstance(found, list) else [text_of(found)]


def join_turns(questions: Sequence[str], answers: Sequence[str]) -> tuple[str, str]:
    """Join the turns of a conversation into one question text and one answer text; with at most one
    question, only the first answer is returned."""
    if len(questions) <= 1:
        return "".join(questions), "".join(answers[:1])
    question, answer = (
        "\n\n".join(f"Turn {k}: {text}" for k, text in enumerate(texts, 1))
        for texts in (questions, answers)
    )
    return question, answer


def split_conversation(turns: Sequence[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """Split a conversation into the user's and the assistant's turns; others are left out."""
    questions = [turn["content"] for turn in turns if turn["role"] in ("user", "human", "prompter")]
    answers = [turn["content"] for turn in turns if turn["role"] in ("assistant", "gpt", "model")]
    return questions, answers
