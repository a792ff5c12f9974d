"""Format JudgeBench: pairs of responses of one model with a gold label, and judges' decisions.

The second of two judgments was made with the responses swapped, and its decision uses the labels as
shown. A decision can be null (a failure) or `A=B`. `judge_name` is the judge's prompt; the judge's
model is `judge_model`, in the row or in each judgment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.domain import BY_DESIGN
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import first_text, parse_winner, required_text

CONTESTANTS: Final = ("response_A", "response_B")
PROMPT_NAME: Final = "judgebench"
_DECISIONS: Final[dict[str, Pick]] = {"A>B": 0, "B>A": 1, "A=B": "tie", "B=A": "tie"}


def matches_table(table: SourceTable) -> str:
    if table.has("pair_id", "question", "response_A", "response_B", "label"):
        return "pair_id, response_A, response_B and label are JudgeBench's" + (
            "; judgments contains the verdicts" if table.has("judgments") else ""
        )
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    for index, row in enumerate(table.rows):
        where = table.where(index)
        item = builder.add_item(
            required_text(row, "pair_id", where),
            required_text(row, "question", where),
            {name: text_of(row.get(name)) for name in CONTESTANTS},
            where=where,
            category=text_of(row.get("source")),
            meta={"response_model": text_of(row.get("response_model"))},
        )
        label = parse_winner(row, "label", _DECISIONS, where)
        if label is not None:
            builder.add_preference(
                item, BY_DESIGN, CONTESTANTS[label] if isinstance(label, int) else "tie"
            )
        games = row.get("judgments") or []
        for game, shown in zip(games, (CONTESTANTS, CONTESTANTS[::-1]), strict=False):
            _add_game(builder, row, game, item, shown, where)
    return builder


def _add_game(
    builder: SourceBuilder, row: Row, game: Any, item: str, shown: tuple[str, ...], where: str
) -> None:
    contents: Row = game if isinstance(game, dict) else {}
    reply = contents.get("judgment")
    reply_text = (
        first_text(dict(reply), "response", "judgment") if isinstance(reply, Mapping) else reply
    )
    judge, prompt = _judge_and_prompt(row, reply if isinstance(reply, Mapping) else {})
    pick = parse_winner(contents, "decision", _DECISIONS, where)
    builder.add_verdict(
        item,
        judge,
        prompt,
        shown,
        pick,
        reply=text_of(reply_text),
        status=None if pick is not None else "unreadable" if reply_text else "error",
    )


def _judge_and_prompt(row: Row, judgment: Mapping[str, Any]) -> tuple[str, str]:
    """Return judge and prompt; if the file names no model, `judge_name` is the judge."""
    name = text_of(row.get("judge_name"))
    model = first_text(dict(judgment), "judge_model") or first_text(row, "judge_model", "judge")
    return (model, name or PROMPT_NAME) if model else (name or "recorded", PROMPT_NAME)
