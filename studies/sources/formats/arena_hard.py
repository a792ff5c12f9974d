"""Arena-Hard: five-level verdicts of a model against a baseline, both orders.

In game 0 the baseline is A, in game 1 the model is. A game may be null, or have no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.builder import OpenSource, Pick, SourceBuilder
from studies.sources.cells import (
    first_text,
    parse_conversation,
    parse_time,
    required_text,
    split_conversation,
)

DEFAULT_BASELINE: Final = "gpt-4-0314"
"""The baseline of files that name none: the first version had only this one."""

PROMPT_NAME: Final = "arena-hard"
PICK_BY_LEVEL: Final[dict[str, tuple[Pick, int]]] = {
    "A>>B": (0, 2), "A>B": (0, 1), "A=B": ("tie", 0), "B>A": (1, 1), "B>>A": (1, 2),
    "B<<A": (0, 2), "B<A": (0, 1), "B=A": ("tie", 0), "A<B": (1, 1), "A<<B": (1, 2),
}  # fmt: skip


def matches_table(table: SourceTable) -> str:
    if table.has("games", "model") and (table.has("uid") or table.has("question_id")):
        return "model and games are Arena-Hard's judgements"
    return ""


def read(opened: OpenSource) -> SourceBuilder:
    """Judgements; `data.files` may add questions and answers (any names)."""
    gathered = SourceBuilder()
    questions: dict[str, tuple[str, str]] = {}
    answers: dict[str, dict[str, str]] = {}
    for path in opened.spec.files.values():
        _add_texts(opened.read_other_file(path), questions, answers)
    table = opened.rows
    for place, row in enumerate(table.rows):
        where = table.where(place)
        id = first_text(row, "uid", "question_id")
        asked, category = questions.get(id, ("", ""))
        told = answers.get(id, {})
        item = gathered.add_item(
            id, asked, told, where=where, category=text_of(row.get("category")) or category
        )
        _add_games(gathered, row, item, where)
    if not questions:
        gathered.notes.append("verdicts only: name questions and answers in data.files to see them")
    return gathered


def _add_games(gathered: SourceBuilder, row: Row, item: str, where: str) -> None:
    games = row.get("games")
    if not isinstance(games, list) or len(games) > 2:
        raise SourceError(
            f"{where}: field 'games': expected one or two games, found {games!r}"[:300]
        )
    judge = text_of(row.get("judge")) or "recorded"
    model = required_text(row, "model", where)
    baseline = text_of(row.get("baseline")) or DEFAULT_BASELINE
    for game, shown in zip(games, ((baseline, model), (model, baseline)), strict=False):
        held = game if isinstance(game, Mapping) else {}
        reply = _reply_text(held.get("judgment"))
        pick, margin = _parse_level(held.get("score"), where)
        gathered.add_verdict(
            item, judge, PROMPT_NAME, shown, pick, margin=margin, reply=reply, time=parse_time(row),
            status=None if pick is not None else "unreadable" if reply else "error",
        )  # fmt: skip


def _parse_level(score: Any, where: str) -> tuple[Pick, int | None]:
    text = text_of(score).replace(" ", "").strip("[]")
    if not text:
        return None, None
    if text not in PICK_BY_LEVEL:
        known = ", ".join(PICK_BY_LEVEL)
        raise SourceError(f"{where}: field 'games': score {text!r} is not one of {known}")
    return PICK_BY_LEVEL[text]


def _reply_text(judgment: Any) -> str:
    """The reply: a text, or in later versions an object with the answer in it."""
    if isinstance(judgment, Mapping):
        return first_text(dict(judgment), "answer", "content", "judgment")
    return text_of(judgment)


def _add_texts(
    table: SourceTable, questions: dict[str, tuple[str, str]], answers: dict[str, dict[str, str]]
) -> None:
    for place, row in enumerate(table.rows):
        where = table.where(place)
        id = first_text(row, "uid", "question_id")
        model = first_text(row, "model", "model_id")
        if model:
            answers.setdefault(id, {})[model] = _answer_text(row, where)
        else:
            turns = row.get("turns")
            first = turns[0] if isinstance(turns, list) and turns else {}
            asked = first_text(row, "prompt") or text_of(
                first.get("content") if isinstance(first, Mapping) else first
            )
            questions[id] = (asked, first_text(row, "category", "cluster"))


def _answer_text(row: Row, where: str) -> str:
    turns = parse_conversation(row.get("messages"))
    if turns:
        return "".join(split_conversation(turns)[1][-1:])
    choices = row.get("choices")
    if isinstance(choices, list) and choices:
        turn = choices[0]["turns"][0]
        return text_of(turn.get("content") if isinstance(turn, Mapping) else turn)
    raise SourceError(f"{where}: no answer: expected 'messages' or 'choices'")
