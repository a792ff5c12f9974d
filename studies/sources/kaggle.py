"""LMSYS's Kaggle set: battles of people with the winner as three columns, one of which is 1."""

from __future__ import annotations

from typing import Final

from studies.errors import SourceError
from studies.sources.cells import exchanges, number_of, required, text_id, texts_of
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, text_of

_COLUMNS: Final[dict[str, Pick]] = {
    "winner_model_a": 0, "winner_model_b": 1, "winner_tie": "tie",
}  # fmt: skip
PEOPLE: Final = "arena"


def sees(table: Table) -> str:
    if table.has("model_a", "model_b", *_COLUMNS):
        return "winner_model_a, winner_model_b and winner_tie are LMSYS's Kaggle set"
    return ""


def read(opened: Opened) -> Gathering:
    table, gathered = opened.rows, Gathering()
    for place, row in enumerate(table.rows):
        where = table.where(place)
        names = (required(row, "model_a", where), required(row, "model_b", where))
        asked = texts_of(row.get("prompt"))
        (question, first), (_, second) = (
            exchanges(asked, texts_of(row.get(name))) for name in ("response_a", "response_b")
        )
        id = text_of(row.get("id")) or text_id("battle", question, first, second)
        if names[0] == names[1]:
            gathered.notes.append(f"{where}: {names[0]!r} against itself; left out")
            continue
        item = gathered.item(id, question, {names[0]: first, names[1]: second}, where=where)
        gathered.person(item, PEOPLE, names, _winner(row, where))
    return gathered


def _winner(row: Row, where: str) -> Pick:
    marked = [name for name in _COLUMNS if number_of(row, name, where) == 1]
    if len(marked) != 1:
        raise SourceError(
            f"{where}: exactly one of {', '.join(_COLUMNS)} must be 1, found {len(marked)}"
        )
    return _COLUMNS[marked[0]]
