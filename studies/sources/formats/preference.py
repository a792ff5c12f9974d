"""Format of preference sets: a prompt with a chosen and one or more rejected answers.

The choice is by design: it defines the better answer and is not a person's vote.
"""

from __future__ import annotations

import re
from typing import Any, Final

from studies.domain import BY_DESIGN
from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import first_text, id_from_text, parse_conversation, split_conversation
from studies.sources.formats.oasst import join_conversation

_ANSWER_MARKER: Final = "\n\nAssistant:"
_REJECTED_COLUMN: Final = re.compile(r"rejected[_-]?\d*")


def matches_table(table: SourceTable) -> str:
    if table.has("chosen", "rejected") or table.has("prompt", "chosen", "rejected_1"):
        return "chosen and rejected are a preference set"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    columns = sorted(name for name in table.columns if _REJECTED_COLUMN.fullmatch(name))
    for index, row in enumerate(table.rows):
        _add_item(builder, row, columns, index, table.where(index))
    return builder


def _add_item(builder: SourceBuilder, row: Row, columns: list[str], index: int, where: str) -> None:
    chosen = _answer_texts(row.get("chosen"))
    rejected = [text for name in columns for text in _answer_texts(row.get(name))]
    question = _question_text(row, chosen, where)
    if len(chosen) == 1 and not question:
        question, (chosen, rejected) = _split_transcripts(chosen[0], rejected, where)
    if not chosen or not rejected:
        raise SourceError(f"{where}: 'chosen' or 'rejected' is empty; fill it or remove the row")
    answers = _name_answers("chosen", chosen) | _name_answers("rejected", rejected)
    id = first_text(row, "id", "prompt_id", "pair_id") or id_from_text("pair", question, *chosen)
    models = {name: text_of(row.get(name)) for name in ("chosen_model", "rejected_model", "subset")}
    item = builder.add_item(
        id,
        question,
        answers,
        where=where,
        category=first_text(row, "subset", "category", "section", "source"),
        meta={name: text for name, text in models.items() if text},
    )
    if len(chosen) == 1:
        builder.add_preference(item, BY_DESIGN, "chosen")
    else:
        ranks = {name: 1 if name.startswith("chosen") else 2 for name in answers}
        builder.add_preference(item, BY_DESIGN, None, ranks=ranks)


def _name_answers(kind: str, texts: list[str]) -> dict[str, str]:
    if len(texts) == 1:
        return {kind: texts[0]}
    return {f"{kind}-{k}": text for k, text in enumerate(texts, 1)}


def _answer_texts(value: Any) -> list[str]:
    """Return the answers in a cell: one text, a list, or the last answer of a conversation."""
    if turns := parse_conversation(value):
        return split_conversation(turns)[1][-1:]
    if isinstance(value, list):
        return [text_of(part) for part in value if text_of(part).strip()]
    return [text] if (text := text_of(value)).strip() else []


def _question_text(row: Row, chosen: list[str], where: str) -> str:
    if turns := parse_conversation(row.get("prompt")):
        return join_conversation(turns, where)
    if question := first_text(row, "prompt", "instruction", "question"):
        return question
    turns = parse_conversation(row.get("chosen"))
    return join_conversation(turns[:-1], where) if len(turns) > 1 else ""


def _split_transcripts(
    chosen: str, rejected: list[str], where: str
) -> tuple[str, tuple[list[str], list[str]]]:
    """Return the question (the common beginning of the transcripts), and their last answers as
    (chosen, rejected)."""
    start, marker, end = chosen.rpartition(_ANSWER_MARKER)
    others = [text.rpartition(_ANSWER_MARKER) for text in rejected]
    if not marker or any(other[0] != start for other in others):
        raise SourceError(
            f"{where}: no column 'prompt', and 'chosen' and 'rejected' do not begin with the same "
            "question; map the question's column to 'prompt' in data.mapping"
        )
    return start.strip(), ([end.strip()], [other[2].strip() for other in others])
