"""Format Arena-Hard: five-level verdicts on a model and a baseline, in both orders.

The baseline is A in game 0, the model is A in game 1. A game can be null or have no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import (
    first_text,
    parse_conversation,
    parse_time,
    required_text,
    split_conversation,
)

UNNAMED_BASELINE: Final = "baseline"
"""Name of the baseline in files that do not name it."""

PROMPT_NAME: Final = "arena-hard"
PICK_BY_LEVEL: Final[dict[str, tuple[Pick, int]]] = {
    "A>>B": (0, 2), "A>B": (0, 1), "A=B": ("tie", 0), "B>A": (1, 1), "B>>A": (1, 2),
    "B<<A": (0, 2), "B<A": (0, 1), "B=A": ("tie", 0), "A<B": (1, 1), "A<<B": (1, 2),
}  # fmt: skip


def matches_table(table: SourceTable) -> str:
    if table.has("games", "model") and (table.has("uid") or table.has("question_id")):
        return "model and games are Arena-Hard's judgements"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    """Read judgements, with the questions and answers in the files of `data.files`."""
    builder = SourceBuilder()
    questions: dict[str, tuple[str, str]] = {}
    answers: dict[str, dict[str, str]] = {}
    for path in source.spec.files.values():
        _add_texts(source.read_other_file(path), questions, answers)
    table = source.rows
    unknown, first_unknown = 0, ""
    for index, row in enumerate(table.rows):
        where = table.where(index)
        id = first_text(row, "uid", "question_id")
        question, category = questions.get(id, ("", ""))
        item = builder.add_item(
            id,
            question,
            answers.get(id, {}),
            where=where,
            category=text_of(row.get("category")) or category,
        )
        found = _add_games(builder, row, item, where)
        first_unknown = first_unknown or (where if found else "")
        unknown += found
    if unknown:
        builder.notes.append(
            f"{unknown:,} scores are not one of the five levels (A>>B, A>B, A=B, B>A, B>>A), the "
            f"first in {first_unknown}; they count as unusable replies. To use them, correct them "
            "in the file and import it again"
        )
    if not all(text_of(row.get("baseline")) for row in table.rows):
        builder.notes.append(
            f"the file does not name the baseline; it is called {UNNAMED_BASELINE!r}. To name it, "
            "add a column 'baseline', or set format arena-hard and map a column to 'baseline' in "
            "data.mapping"
        )
    if not questions:
        builder.notes.append(
            "verdicts only: to see questions and answers, name their files in data.files"
        )
    return builder


def _add_games(builder: SourceBuilder, row: Row, item: str, where: str) -> int:
    """Add a row's verdicts; return the number of scores that are not one of the five levels."""
    unknown = 0
    games = row.get("games")
    if not isinstance(games, list) or len(games) > 2:
        found = f"{len(games)} games" if isinstance(games, list) else type(games).__name__
        raise SourceError(
            f"{where}: field 'games': expected a list of one or two games, found {found}; "
            "correct or remove this row"
        )
    judge = text_of(row.get("judge")) or "recorded"
    model = required_text(row, "model", where)
    baseline = text_of(row.get("baseline")) or UNNAMED_BASELINE
    if builder.skip_self_comparison((baseline, model), where):
        return 0
    for game, shown in zip(games, ((baseline, model), (model, baseline)), strict=False):
        contents = game if isinstance(game, Mapping) else {}
        score = text_of(contents.get("score"))
        pick, margin = _parse_level(score)
        # Some versions store the reply in place of a score that could not be read.
        reply = _reply_text(contents.get("judgment")) or (score if pick is None else "")
        unknown += score.strip() != "" and pick is None
        builder.add_verdict(
            item,
            judge,
            PROMPT_NAME,
            shown,
            pick,
            margin=margin,
            reply=reply,
            time=parse_time(row),
            status=None if pick is not None else "unreadable" if reply else "error",
        )
    return unknown


def _parse_level(score: str) -> tuple[Pick, int | None]:
    """Return pick and margin: "B>>A" -> (1, 2); (None, None) for a score that is not one of the
    five levels."""
    return PICK_BY_LEVEL.get(score.replace(" ", "").strip("[]"), (None, None))


def _reply_text(judgment: Any) -> str:
    """Return the reply, which is a text or, in later versions of the format, an object."""
    if isinstance(judgment, Mapping):
        return first_text(dict(judgment), "answer", "content", "judgment")
    return text_of(judgment)


def _add_texts(
    table: SourceTable, questions: dict[str, tuple[str, str]], answers: dict[str, dict[str, str]]
) -> None:
    for index, row in enumerate(table.rows):
        where = table.where(index)
        id = first_text(row, "uid", "question_id")
        model = first_text(row, "model", "model_id")
        if model:
            answers.setdefault(id, {})[model] = _answer_text(row, where)
        else:
            turns = row.get("turns")
            first = turns[0] if isinstance(turns, list) and turns else {}
            question = first_text(row, "prompt") or text_of(
                first.get("content") if isinstance(first, Mapping) else first
            )
            questions[id] = (question, first_text(row, "category", "cluster"))


def _answer_text(row: Row, where: str) -> str:
    turns = parse_conversation(row.get("messages"))
    if turns:
        return "".join(split_conversation(turns)[1][-1:])
    choices = row.get("choices")
    if isinstance(choices, list) and choices:
        turn = choices[0]["turns"][0]
        return text_of(turn.get("content") if isinstance(turn, Mapping) else turn)
    raise SourceError(
        f"{where}: no answer: expected 'messages' or 'choices'; correct the row or remove it"
    )
