"""PandaLM: two responses with three annotators, and results of judges (`…_result` columns).

Annotators say 0 (tie), 1 or 2; results `1`, `2`, `Tie` or `garbage`, which is a failure.
"""

from __future__ import annotations

from typing import Final

from studies.sources.cells import first_of, picked, required, text_id
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.tables import Row, Table, text_of

_WORDS: Final[dict[str, Pick]] = {"1": 0, "2": 1, "0": "tie", "tie": "tie", "garbage": None}


def sees(table: Table) -> str:
    if not table.has("instruction", "response1", "response2"):
        return ""
    people = [name for name in table.columns if name.startswith("annotator")]
    found = people + _judges(table)
    return f"response1, response2 and {', '.join(found)} are PandaLM's" if found else ""


def _judges(table: Table) -> list[str]:
    return [name for name in table.columns if name.casefold().endswith("_result")]


def read(opened: Opened) -> Gathering:
    table, gathered = opened.rows, Gathering()
    people = sorted(name for name in table.columns if name.startswith("annotator"))
    judges = _judges(table)
    for place, row in enumerate(table.rows):
        where = table.where(place)
        names = _names(row)
        question = required(row, "instruction", where)
        extra = text_of(row.get("input"))
        whole = f"{question}\n\n{extra}" if extra.strip() else question
        texts = (text_of(row.get("response1")), text_of(row.get("response2")))
        item = gathered.item(
            first_of(row, "idx", "id") or text_id("panda", whole, *texts), whole,
            dict(zip(names, texts, strict=True)), where=where,
            category=first_of(row, "motivation_app", "category"),
        )  # fmt: skip
        for name in people:
            gathered.person(item, name, names, picked(row, name, _WORDS, where), known=False)
        for name in judges:
            gathered.verdict(
                item, name[: -len("_result")], "pandalm", names, picked(row, name, _WORDS, where),
                reply=text_of(row.get(name)),
            )  # fmt: skip
    if people:
        gathered.notes.append("the order in which annotators saw the responses is not recorded")
    return gathered


def _names(row: Row) -> tuple[str, str]:
    """`cmp_key` names the two models where it can be split in two."""
    parts = text_of(row.get("cmp_key")).split("_")
    if len(parts) == 2 and all(parts) and parts[0] != parts[1]:
        return parts[0], parts[1]
    return "response1", "response2"
