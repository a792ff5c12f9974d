"""PRD (Peer Rank and Discussion): prompts, verdicts in both orders with raw replies, votes.

A verdict may come with an empty reply: it counts as the authors counted it, and is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from studies.errors import SourceError
from studies.sources.cells import first_of, picked, required
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, is_table, read_table, text_of

_VERDICTS: Final[dict[str, Pick]] = {"first": 0, "second": 1, "tie": "tie"}
PROMPT: Final = "prd"


def sees(table: Table) -> str:
    if table.has("first", "second", "verdict") and table.has("prompt_id"):
        who = "judge" if table.has("judge") else "annotator"
        return f"prompt_id, {who}, first, second and verdict are PRD's"
    if table.has("prompt_id", "prompt", "responses"):
        return "prompt_id, prompt and responses are PRD's prompts"
    return ""


def holds(folder: Path) -> str:
    names = {path.name.split(".")[0] for path in folder.iterdir() if is_table(path)}
    if {"prompts", "judgements"} <= names or {"prompts", "judgments"} <= names:
        return f"prompts and judgements of PRD ({', '.join(sorted(names))})"
    return ""


def read(opened: Opened) -> Gathering:
    gathered = Gathering()
    empty = 0
    for table in sorted(_tables(opened), key=lambda table: not table.has("responses")):
        for place, row in enumerate(table.rows):
            where = table.where(place)
            if "responses" in row:
                _question(gathered, row, where)
            else:
                empty += _verdict(gathered, row, where)
    if empty:
        gathered.notes.append(f"{empty} verdicts come with an empty reply; they count as recorded")
    return gathered


def _tables(opened: Opened) -> list[Table]:
    named = [opened.other(path) for path in opened.spec.files.values()]
    if opened.table is not None:
        return [opened.table, *named]
    paths = sorted(path for path in opened.path.iterdir() if is_table(path))
    found = (read_table(path) for path in paths)
    return [table for table in found if sees(table)] + named


def _question(gathered: Gathering, row: Row, where: str) -> None:
    responses = row["responses"]
    if not isinstance(responses, Mapping):
        raise SourceError(f"{where}: field 'responses': expected answers by model")
    gathered.item(
        required(row, "prompt_id", where),
        required(row, "prompt", where),
        {name: text_of(text) for name, text in responses.items()},
        where=where,
        category=text_of(row.get("category")),
        reference=text_of(row.get("reference")),
    )


def _verdict(gathered: Gathering, row: Row, where: str) -> bool:
    """Whether there is a verdict without a reply."""
    item = gathered.item(required(row, "prompt_id", where), "", where=where)
    shown = (required(row, "first", where), required(row, "second", where))
    pick = picked(row, "verdict", _VERDICTS, where)
    if person := text_of(row.get("annotator")):
        gathered.person(item, person, shown, pick)
        return False
    reply = text_of(row.get("raw"))
    prompt = first_of(row, "prompt_name", "template") or PROMPT
    gathered.verdict(item, required(row, "judge", where), prompt, shown, pick, reply=reply)
    return pick is not None and not reply.strip()
