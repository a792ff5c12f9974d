"""Format of LMSYS's Kaggle data: human votes on battles, with three winner columns of 0 or 1."""

from __future__ import annotations

from typing import Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import id_from_text, join_turns, parse_number, parse_texts, required_text

_WINNER_COLUMNS: Final[dict[str, Pick]] = {
    "winner_model_a": 0,
    "winner_model_b": 1,
    "winner_tie": "tie",
}
ARENA_VOTERS: Final = "arena"


def matches_table(table: SourceTable) -> str:
    if table.has("model_a", "model_b", *_WINNER_COLUMNS):
        return "winner_model_a, winner_model_b and winner_tie are LMSYS's Kaggle set"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (required_text(row, "model_a", where), required_text(row, "model_b", where))
        questions = parse_texts(row.get("prompt"))
        (question, first), (_, second) = (
            join_turns(questions, parse_texts(row.get(name)))
            for name in ("response_a", "response_b")
        )
        id = text_of(row.get("id")) or id_from_text("battle", question, first, second)
        if builder.skip_self_comparison(names, where):
            continue
        item = builder.add_item(id, question, {names[0]: first, names[1]: second}, where=where)
        builder.add_person_verdict(item, ARENA_VOTERS, names, _read_winner(row, where))
    return builder


def _read_winner(row: Row, where: str) -> Pick:
    marked = [name for name in _WINNER_COLUMNS if parse_number(row, name, where) == 1]
    if len(marked) != 1:
        raise SourceError(
            f"{where}: exactly one of {', '.join(_WINNER_COLUMNS)} must be 1; {len(marked)} are 1; "
            "correct the row or remove it"
        )
    return _WINNER_COLUMNS[marked[0]]
