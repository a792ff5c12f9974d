"""Format PRD (Peer Rank and Discussion): prompts, verdicts in both orders with raw replies, votes.

A recorded verdict counts even if its reply is empty; a note gives the number of such verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, is_table_file, read_table, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import first_text, parse_winner, required_text

_VERDICTS: Final[dict[str, Pick]] = {"first": 0, "second": 1, "tie": "tie"}
PROMPT_NAME: Final = "prd"


def matches_table(table: SourceTable) -> str:
    if table.has("first", "second", "verdict") and table.has("prompt_id"):
        who = "judge" if table.has("judge") else "annotator"
        return f"prompt_id, {who}, first, second and verdict are PRD's"
    if table.has("prompt_id", "prompt", "responses"):
        return "prompt_id, prompt and responses are PRD's prompts"
    return ""


def matches_folder(folder: Path) -> str:
    names = {path.name.split(".")[0] for path in folder.iterdir() if is_table_file(path)}
    if {"prompts", "judgements"} <= names or {"prompts", "judgments"} <= names:
        return f"prompts and judgements of PRD ({', '.join(sorted(names))})"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    builder = SourceBuilder()
    empty = 0
    for table in sorted(_read_tables(source), key=lambda table: not table.has("responses")):
        for index, row in enumerate(table.rows):
            where = table.where(index)
            if "responses" in row:
                _add_question(builder, row, where)
            else:
                empty += _add_recorded_verdict(builder, row, where)
    if empty:
        builder.notes.append(f"{empty} verdicts come with an empty reply; they count as recorded")
    return builder


def _read_tables(source: OpenSource) -> list[SourceTable]:
    named = [source.read_other_file(path) for path in source.spec.files.values()]
    if source.table is not None:
        return [source.table, *named]
    paths = sorted(path for path in source.path.iterdir() if is_table_file(path))
    found = (read_table(path) for path in paths)
    return [table for table in found if matches_table(table)] + named


def _add_question(builder: SourceBuilder, row: Row, where: str) -> None:
    responses = row["responses"]
    if not isinstance(responses, Mapping):
        raise SourceError(f"{where}: field 'responses': expected answers by model; correct the row")
    builder.add_item(
        required_text(row, "prompt_id", where),
        required_text(row, "prompt", where),
        {name: text_of(text) for name, text in responses.items()},
        where=where,
        category=text_of(row.get("category")),
        reference=text_of(row.get("reference")),
    )


def _add_recorded_verdict(builder: SourceBuilder, row: Row, where: str) -> bool:
    """Add the verdict or vote of a row; return whether it is a judge's verdict without a reply."""
    item = builder.add_item(required_text(row, "prompt_id", where), "", where=where)
    shown = (required_text(row, "first", where), required_text(row, "second", where))
    if builder.skip_self_comparison(shown, where):
        return False
    pick = parse_winner(row, "verdict", _VERDICTS, where)
    if person := text_of(row.get("annotator")):
        builder.add_person_verdict(item, person, shown, pick)
        return False
    reply = text_of(row.get("raw"))
    prompt = first_text(row, "prompt_name", "template") or PROMPT_NAME
    builder.add_verdict(item, required_text(row, "judge", where), prompt, shown, pick, reply=reply)
    return pick is not None and not reply.strip()
