"""Format of battles with a winner: Arena's `model_a` and Evalica's `left` were shown first."""

from __future__ import annotations

from typing import Final

from studies.domain import QUESTION_META
from studies.files.table_formats.spreadsheet_guard import OWN_BATTLE_HEADERS
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import (
    BATTLE_WINNERS,
    add_verdict,
    first_text,
    id_from_text,
    join_turns,
    parse_conversation,
    parse_time,
    parse_winner,
    required_text,
    split_conversation,
)

UNNAMED_JUDGE: Final = "all"
"""Judge name for battles without a judge column, the same as in `python -m metrics`."""

SIDE_WINNERS: Final[dict[str, Pick]] = {"left": 0, "right": 1, "tie": "tie"}
_AUTOARENA_WINNERS: Final = {"A", "B", "-"}
_ITEM_COLUMNS: Final = ("item", "question_id", "prompt_id", "uid", "instruction_id")
_QUESTION_COLUMNS: Final = ("instruction", "question", "prompt")
_JUDGE_COLUMNS: Final = ("judge", "annotator", "worker", "voter", "user")
_CATEGORY_COLUMNS: Final = ("category", "category_tag", "language")


def matches_table(table: SourceTable) -> str:
    if not table.has("model_a", "model_b", "winner") or winner_words(table) <= _AUTOARENA_WINNERS:
        return ""
    return "model_a, model_b and winner are Arena battles"


def matches_sides_table(table: SourceTable) -> str:
    if table.has("left", "right", "winner"):
        return "left, right and winner are Evalica's battles"
    return ""


def winner_words(table: SourceTable) -> set[str]:
    """Return the distinct values of the winner column in the first 1,000 rows."""
    return {text_of(row.get("winner")).strip() for row in table.rows[:1000]} - {""}


def read(source: OpenSource) -> SourceBuilder:
    return _read_battles(source.rows, "model_a", "model_b", BATTLE_WINNERS)


def read_sides(source: OpenSource) -> SourceBuilder:
    return _read_battles(source.rows, "left", "right", SIDE_WINNERS)


def _read_battles(
    table: SourceTable, first: str, second: str, words: dict[str, Pick]
) -> SourceBuilder:
    builder = SourceBuilder()
    questions = 0
    own_export = table.columns in OWN_BATTLE_HEADERS
    for index, original in enumerate(table.rows):
        where = table.where(index)
        row = (
            {**original, "prompt": "", "judge_prompt": original["prompt"]}
            if own_export
            else original
        )
        names = (required_text(row, first, where), required_text(row, second, where))
        question, answers = _question_and_answers(row)
        questions += bool(question)
        same = builder.skip_self_comparison(names, where)
        item = builder.add_item(
            _item_id(row, question, index),
            question,
            {} if same else dict(zip(names, answers, strict=True)),
            where=where,
            category=_find_category(row),
            meta=_turn_meta(row),
        )
        judge = _judge_name(row)
        prompt = first_text(row, "judge_prompt", "prompt_name") or "battle"
        if same:
            continue
        pick = parse_winner(row, "winner", words, where)
        reply = first_text(row, "judgment", "rationale", "reply")
        known = text_of(row.get("order")) != "unknown"
        time = parse_time(row)
        add_verdict(builder, item, judge, prompt, names, pick, reply=reply, time=time, known=known)
    if not questions:
        builder.notes.append("verdicts only: the file has no questions and answers")
    return builder


def _item_id(row: Row, question: str, index: int) -> str:
    """Return an item's id: the id in the row, else a hash of the question, else the row number."""
    id = first_text(row, *_ITEM_COLUMNS)
    if not id and not question:
        id = first_text(row, *_QUESTION_COLUMNS)  # the number of a prompt, as in the llmfao data
    if not id:
        return id_from_text("q", question) if question else f"row-{index + 1:06}"
    turn = text_of(row.get("turn"))
    return f"{id}-turn-{turn}" if turn not in ("", "0", "1") else id


def _turn_meta(row: Row) -> dict[str, str]:
    """Return the number of a row's turn in its conversation, and the id that all turns share."""
    turn, id = text_of(row.get("turn")), first_text(row, *_ITEM_COLUMNS)
    return {"turn": turn, QUESTION_META: id} if turn not in ("", "0") and id else {}


def _find_category(row: Row) -> str:
    for name in _CATEGORY_COLUMNS:
        if isinstance(row.get(name), str) and row[name]:
            return str(row[name])
    return ""


def _judge_name(row: Row) -> str:
    for name in _JUDGE_COLUMNS:
        value = row.get(name)
        if isinstance(value, (list, tuple)):  # MT-Bench's (model, prompt)
            return text_of(value[0])
        if text := text_of(value).strip():
            person = name in ("worker", "voter", "user", "annotator")
            return f"human:{text}" if person else text
    return UNNAMED_JUDGE


def _question_and_answers(row: Row) -> tuple[str, tuple[str, str]]:
    """Return the question and both answers, from conversations or from plain columns."""
    turns = [parse_conversation(row.get(f"conversation_{side}")) for side in "ab"]
    if all(turns):
        max_turns = (
            2 * int(turn) if (turn := text_of(row.get("turn"))).isdigit() and turn != "0" else None
        )
        split = [split_conversation(side[:max_turns]) for side in turns]
        (question, first), (_, second) = (join_turns(*one) for one in split)
        return question, (first, second)
    question = next(
        (text for name in _QUESTION_COLUMNS if _has_words(text := text_of(row.get(name)))), ""
    )
    return question, (
        first_text(row, "response_a", "answer_a"),
        first_text(row, "response_b", "answer_b"),
    )


def _has_words(text: str) -> bool:
    """Whether a text is a question and not only the number of a question."""
    return bool(text.strip()) and not text.strip().isdigit()
