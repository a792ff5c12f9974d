"""Battles: two models, who won. Arena's `model_a` is shown first, Evalica's `left` on the left."""

from __future__ import annotations

from typing import Final

from studies.files.spreadsheet_guard import OWN_BATTLE_HEADERS
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.builder import OpenSource, Pick, SourceBuilder
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
"""The judge of battles that name none, as in `python -m metrics`."""

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
    """The words in the winner column; a few rows say it."""
    return {text_of(row.get("winner")).strip() for row in table.rows[:1000]} - {""}


def read(opened: OpenSource) -> SourceBuilder:
    return _read_battles(opened.rows, "model_a", "model_b", BATTLE_WINNERS)


def read_sides(opened: OpenSource) -> SourceBuilder:
    return _read_battles(opened.rows, "left", "right", SIDE_WINNERS)


def _read_battles(
    table: SourceTable, first: str, second: str, words: dict[str, Pick]
) -> SourceBuilder:
    gathered = SourceBuilder()
    texts = 0
    ours = table.columns in OWN_BATTLE_HEADERS
    for place, whole in enumerate(table.rows):
        where = table.where(place)
        row = {**whole, "prompt": "", "judge_prompt": whole["prompt"]} if ours else whole
        names = (required_text(row, first, where), required_text(row, second, where))
        asked, told = _question_and_answers(row)
        texts += bool(asked)
        same = names[0] == names[1]
        item = gathered.add_item(
            _item_id(row, asked, place),
            asked,
            {} if same else dict(zip(names, told, strict=True)),
            where=where,
            category=_find_category(row),
        )
        judge = _judge_name(row)
        prompt = first_text(row, "judge_prompt", "prompt_name") or "battle"
        if same:
            gathered.notes.append(f"{where}: {names[0]!r} against itself; left out")
            continue
        pick = parse_winner(row, "winner", words, where)
        reply = first_text(row, "judgment", "rationale", "reply")
        add_verdict(gathered, item, judge, prompt, names, pick, reply=reply, time=parse_time(row),
               known=text_of(row.get("order")) != "unknown")  # fmt: skip
    if not texts:
        gathered.notes.append("no questions and answers in the file: verdicts only")
    return gathered


def _item_id(row: Row, asked: str, place: int) -> str:
    """The question's id; without one the question itself, else every row is its own item."""
    id = first_text(row, *_ITEM_COLUMNS)
    if not id and not asked:
        id = first_text(row, *_QUESTION_COLUMNS)  # a number of a prompt, as in llmfao
    if not id:
        return id_from_text("q", asked) if asked else f"row-{place + 1:06}"
    turn = text_of(row.get("turn"))
    return f"{id}-turn-{turn}" if turn not in ("", "0", "1") else id


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
    """The question and both answers, out of conversations or of plain columns."""
    turns = [parse_conversation(row.get(f"conversation_{side}")) for side in "ab"]
    if all(turns):
        most = (
            2 * int(turn) if (turn := text_of(row.get("turn"))).isdigit() and turn != "0" else None
        )
        split = [split_conversation(side[:most]) for side in turns]
        (asked, first), (_, second) = (join_turns(*one) for one in split)
        return asked, (first, second)
    asked = next(
        (text for name in _QUESTION_COLUMNS if _has_words(text := text_of(row.get(name)))), ""
    )
    return asked, (
        first_text(row, "response_a", "answer_a"),
        first_text(row, "response_b", "answer_b"),
    )


def _has_words(text: str) -> bool:
    """A question, not the number of one."""
    return bool(text.strip()) and not text.strip().isdigit()
