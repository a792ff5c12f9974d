"""Format PandaLM: pairs of responses with three annotators, and judges' results (`…_result`
columns).

Annotations are 0 (tie), 1 or 2; results are `1`, `2`, `Tie`, or `garbage` for a failure.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from studies.domain import QUESTION_META
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import first_text, id_from_text, parse_winner

_PICK_BY_WORD: Final[dict[str, Pick]] = {"1": 0, "2": 1, "0": "tie", "tie": "tie", "garbage": None}


def matches_table(table: SourceTable) -> str:
    if not table.has("instruction", "response1", "response2"):
        return ""
    people = [name for name in table.columns if name.startswith("annotator")]
    found = people + _judge_columns(table)
    return f"response1, response2 and {', '.join(found)} are PandaLM's" if found else ""


def _judge_columns(table: SourceTable) -> list[str]:
    return [name for name in table.columns if name.casefold().endswith("_result")]


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    people = sorted(name for name in table.columns if name.startswith("annotator"))
    judges = _judge_columns(table)
    questions = _QuestionIds()
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = _model_names(row)
        instruction = _instruction_text(row, where)
        texts = (text_of(row.get("response1")), text_of(row.get("response2")))
        row_id = first_text(row, "idx", "id") or id_from_text("panda", instruction, *texts)
        item = builder.add_item(
            questions.find_id(instruction, names, row_id),
            instruction,
            dict(zip(names, texts, strict=True)),
            where=where,
            category=first_text(row, "motivation_app", "category"),
            meta={QUESTION_META: questions.first_id(instruction)},
        )
        for name in people:
            builder.add_person_verdict(
                item, name, names, parse_winner(row, name, _PICK_BY_WORD, where), known=False
            )
        for name in judges:
            builder.add_verdict(
                item,
                name[: -len("_result")],
                "pandalm",
                names,
                parse_winner(row, name, _PICK_BY_WORD, where),
                reply=text_of(row.get(name)),
            )
    if len(questions) < len(table.rows):
        builder.notes.append(
            f"{len(table.rows):,} rows are comparisons of {len(questions):,} questions: rows with "
            "the same instruction and input are one question"
        )
    if people:
        builder.notes.append("the order in which annotators saw the responses is not recorded")
    return builder


class _QuestionIds:
    """Assignment of rows to items: one item has all pairs of models compared on one question.

    A row with a pair of models that the item already has goes to a further item of the question; in
    the same item it would count as a repeated vote, and repeated votes are ignored.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, dict[str, set[frozenset[str]]]] = defaultdict(dict)

    def __len__(self) -> int:
        return len(self._pairs)

    def first_id(self, question: str) -> str:
        """Return the id of the first item of a question."""
        return next(iter(self._pairs[question]))

    def find_id(self, question: str, names: tuple[str, str], row_id: str) -> str:
        """Return the id of the question's first item without this pair of models, and add the pair
        to it; if all items have the pair, add a new item with the id `row_id`."""
        pair = frozenset(names)
        known = self._pairs[question]
        id = next((id for id, pairs in known.items() if pair not in pairs), row_id)
        known.setdefault(id, set()).add(pair)
        return id


def _instruction_text(row: Row, where: str) -> str:
    """Join instruction and input; one of the two may be empty."""
    parts = [text_of(row.get(name)) for name in ("instruction", "input")]
    filled = [part for part in parts if part.strip()]
    if not filled:
        raise SourceError(
            f"{where}: columns 'instruction' and 'input' are both empty; "
            "fill one of them or remove the row"
        )
    return "\n\n".join(filled)


def _model_names(row: Row) -> tuple[str, str]:
    """Return the two models named in `cmp_key`; default names if it does not contain two names."""
    parts = text_of(row.get("cmp_key")).split("_")
    if len(parts) == 2 and all(parts) and parts[0] != parts[1]:
        return parts[0], parts[1]
    return "response1", "response2"
