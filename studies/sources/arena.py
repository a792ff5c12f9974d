"""Battles: two models, who won. Arena's `model_a` is shown first, Evalica's `left` on the left."""

from __future__ import annotations

from typing import Final

from studies.formulas import OUR_BATTLES
from studies.sources.cells import (
    BATTLE_WINNERS,
    exchanges,
    first_of,
    judged,
    picked,
    required,
    split_talk,
    talk,
    text_id,
    time_of,
)
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, text_of

ALL: Final = "all"
"""The judge of battles that name none, as in `python -m metrics`."""

SIDES: Final[dict[str, Pick]] = {"left": 0, "right": 1, "tie": "tie"}
_LETTERS: Final = {"A", "B", "-"}
_ITEMS: Final = ("item", "question_id", "prompt_id", "uid", "instruction_id")
_QUESTIONS: Final = ("instruction", "question", "prompt")
_JUDGES: Final = ("judge", "annotator", "worker", "voter", "user")
_CATEGORIES: Final = ("category", "category_tag", "language")


def sees(table: Table) -> str:
    if not table.has("model_a", "model_b", "winner") or winners(table) <= _LETTERS:
        return ""
    return "model_a, model_b and winner are Arena battles"


def sees_sides(table: Table) -> str:
    if table.has("left", "right", "winner"):
        return "left, right and winner are Evalica's battles"
    return ""


def winners(table: Table) -> set[str]:
    """The words in the winner column; a few rows say it."""
    return {text_of(row.get("winner")).strip() for row in table.rows[:1000]} - {""}


def read(opened: Opened) -> Gathering:
    return _read(opened.rows, "model_a", "model_b", BATTLE_WINNERS)


def read_sides(opened: Opened) -> Gathering:
    return _read(opened.rows, "left", "right", SIDES)


def _read(table: Table, first: str, second: str, words: dict[str, Pick]) -> Gathering:
    gathered = Gathering()
    texts = 0
    ours = table.columns in OUR_BATTLES
    for place, whole in enumerate(table.rows):
        where = table.where(place)
        row = {**whole, "prompt": "", "judge_prompt": whole["prompt"]} if ours else whole
        names = (required(row, first, where), required(row, second, where))
        asked, told = _texts(row)
        texts += bool(asked)
        same = names[0] == names[1]
        item = gathered.item(
            _item(row, asked, place),
            asked,
            {} if same else dict(zip(names, told, strict=True)),
            where=where,
            category=_category(row),
        )
        judge = _judge(row)
        prompt = first_of(row, "judge_prompt", "prompt_name") or "battle"
        if same:
            gathered.notes.append(f"{where}: {names[0]!r} against itself; left out")
            continue
        pick = picked(row, "winner", words, where)
        reply = first_of(row, "judgment", "rationale", "reply")
        judged(gathered, item, judge, prompt, names, pick, reply=reply, time=time_of(row),
               known=text_of(row.get("order")) != "unknown")  # fmt: skip
    if not texts:
        gathered.notes.append("no questions and answers in the file: verdicts only")
    return gathered


def _item(row: Row, asked: str, place: int) -> str:
    """The question's id; without one the question itself, else every row is its own item."""
    id = first_of(row, *_ITEMS)
    if not id and not asked:
        id = first_of(row, *_QUESTIONS)  # a number of a prompt, as in llmfao
    if not id:
        return text_id("q", asked) if asked else f"row-{place + 1:06}"
    turn = text_of(row.get("turn"))
    return f"{id}-turn-{turn}" if turn not in ("", "0", "1") else id


def _category(row: Row) -> str:
    for name in _CATEGORIES:
        if isinstance(row.get(name), str) and row[name]:
            return str(row[name])
    return ""


def _judge(row: Row) -> str:
    for name in _JUDGES:
        value = row.get(name)
        if isinstance(value, (list, tuple)):  # MT-Bench's (model, prompt)
            return text_of(value[0])
        if text := text_of(value).strip():
            person = name in ("worker", "voter", "user", "annotator")
            return f"human:{text}" if person else text
    return ALL


def _texts(row: Row) -> tuple[str, tuple[str, str]]:
    """The question and both answers, out of conversations or of plain columns."""
    turns = [talk(row.get(f"conversation_{side}")) for side in "ab"]
    if all(turns):
        most = (
            2 * int(turn) if (turn := text_of(row.get("turn"))).isdigit() and turn != "0" else None
        )
        split = [split_talk(side[:most]) for side in turns]
        (asked, first), (_, second) = (exchanges(*one) for one in split)
        return asked, (first, second)
    asked = next((text for name in _QUESTIONS if _worded(text := text_of(row.get(name)))), "")
    return asked, (first_of(row, "response_a", "answer_a"), first_of(row, "response_b", "answer_b"))


def _worded(text: str) -> bool:
    """A question, not the number of one."""
    return bool(text.strip()) and not text.strip().isdigit()
