"""AutoArena: one file of prompts and responses per model, or head-to-heads with a winner.

Its judges see the two in a shuffled order that is not recorded: position cannot be measured.
"""

from __future__ import annotations

from typing import Final

from studies.sources.arena import winners
from studies.sources.cells import first_of, judged, picked, required, text_id
from studies.sources.gather import Gathering, Opened, Pick
from studies.sources.join import join_answers
from studies.sources.tables import Table, text_of

_WINNERS: Final[dict[str, Pick]] = {"A": 0, "B": 1, "-": "tie"}


def sees(table: Table) -> str:
    if table.has("model_a", "model_b", "winner") and winners(table) <= set(_WINNERS):
        return "winner is A, B or -: AutoArena's head-to-heads" if winners(table) else ""
    if table.has("prompt", "response") and not table.has("winner"):
        return "prompt and response are AutoArena's answers of one model"
    return ""


def read(opened: Opened) -> Gathering:
    return _battles(opened.rows) if opened.rows.has("winner") else _answers(opened)


def _battles(table: Table) -> Gathering:
    gathered = Gathering()
    for place, row in enumerate(table.rows):
        where = table.where(place)
        names = (required(row, "model_a", where), required(row, "model_b", where))
        if names[0] == names[1]:
            gathered.notes.append(f"{where}: {names[0]!r} against itself; left out")
            continue
        question = text_of(row.get("prompt"))
        texts = (text_of(row.get("response_a")), text_of(row.get("response_b")))
        id = text_id("prompt", question) if question else f"row-{place + 1:06}"
        item = gathered.item(id, question, dict(zip(names, texts, strict=True)), where=where)
        judge = first_of(row, "judge", "judge_name") or "recorded"
        judged(gathered, item, judge, "autoarena", names, picked(row, "winner", _WINNERS, where),
               known=False, reply=text_of(row.get("explanation")))  # fmt: skip
    return gathered


def _answers(opened: Opened) -> Gathering:
    """This file's model is called like the file; further ones come from `data.files`."""
    gathered, table = Gathering(), opened.rows
    mine = opened.path.name.split(".")[0]
    files = {mine: table}
    files |= {name: opened.other(path) for name, path in opened.spec.files.items()}
    questions = list(
        dict.fromkeys(required(row, "prompt", table.where(k)) for k, row in enumerate(table.rows))
    )
    keys = [(question.strip(),) for question in questions]
    answers, report = join_answers(keys, ("prompt",), files, lambda _, __: "response")
    gathered.join = report
    for question, told in zip(questions, answers, strict=True):
        gathered.item(text_id("prompt", question), question, told, where=table.name)
    return gathered
