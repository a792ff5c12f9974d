"""JudgeBench: pairs of responses of one model with a gold label, and judges' decisions.

The second of two judgments was made with the responses swapped, and its decision is in the labels
it was shown; a decision may be null (a failure) or `A=B`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.records import BY_DESIGN
from studies.sources.cells import first_of, picked, required
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, text_of

NAMES: Final = ("response_A", "response_B")
_DECISIONS: Final[dict[str, Pick]] = {"A>B": 0, "B>A": 1, "A=B": "tie", "B=A": "tie"}


def sees(table: Table) -> str:
    if table.has("pair_id", "question", "response_A", "response_B", "label"):
        return "pair_id, response_A, response_B and label are JudgeBench's" + (
            "; judgments holds the verdicts" if table.has("judgments") else ""
        )
    return ""


def read(opened: Opened) -> Gathering:
    table, gathered = opened.rows, Gathering()
    for place, row in enumerate(table.rows):
        where = table.where(place)
        item = gathered.item(
            required(row, "pair_id", where),
            required(row, "question", where),
            {name: text_of(row.get(name)) for name in NAMES},
            where=where,
            category=text_of(row.get("source")),
            meta={"response_model": text_of(row.get("response_model"))},
        )
        label = picked(row, "label", _DECISIONS, where)
        if label is not None:
            gathered.vote(item, BY_DESIGN, NAMES[label] if isinstance(label, int) else "tie")
        judge = first_of(row, "judge_name", "judge_model", "judge") or "recorded"
        games = row.get("judgments") or []
        for game, shown in zip(games, (NAMES, NAMES[::-1]), strict=False):
            _game(gathered, game, item, judge, shown, where)
    return gathered


def _game(
    gathered: Gathering, game: Any, item: str, judge: str, shown: tuple[str, ...], where: str
) -> None:
    held: Row = game if isinstance(game, dict) else {}
    reply = held.get("judgment")
    said = first_of(dict(reply), "response", "judgment") if isinstance(reply, Mapping) else reply
    pick = picked(held, "decision", _DECISIONS, where)
    gathered.verdict(
        item, judge, "judgebench", shown, pick, reply=text_of(said),
        status=None if pick is not None else "unreadable" if said else "error",
    )  # fmt: skip
