"""Format AutoArena: one file of prompts and responses per model, or head-to-heads with a winner.

AutoArena's judges see the answers in a shuffled order that is not recorded, so position bias cannot
be measured.
"""

from __future__ import annotations

from typing import Final

from studies.files.tables import SourceTable, text_of
from studies.files.upload_names import original_name
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import add_verdict, first_text, id_from_text, parse_winner, required_text
from studies.sources.formats.arena import winner_words
from studies.sources.join import join_answers

_WINNERS: Final[dict[str, Pick]] = {"A": 0, "B": 1, "-": "tie"}


def matches_table(table: SourceTable) -> str:
    if table.has("model_a", "model_b", "winner") and winner_words(table) <= set(_WINNERS):
        return "winner is A, B or -: AutoArena's head-to-heads" if winner_words(table) else ""
    if table.has("prompt", "response") and not {"winner", "gradingResult"} & {*table.columns}:
        return "prompt and response are AutoArena's answers of one model"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    return _read_battles(source.rows) if source.rows.has("winner") else _read_answers(source)


def _read_battles(table: SourceTable) -> SourceBuilder:
    builder = SourceBuilder()
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (required_text(row, "model_a", where), required_text(row, "model_b", where))
        if builder.skip_self_comparison(names, where):
            continue
        question = text_of(row.get("prompt"))
        texts = (text_of(row.get("response_a")), text_of(row.get("response_b")))
        id = id_from_text("prompt", question) if question else f"row-{index + 1:06}"
        item = builder.add_item(id, question, dict(zip(names, texts, strict=True)), where=where)
        judge = first_text(row, "judge", "judge_name") or "recorded"
        add_verdict(
            builder,
            item,
            judge,
            "autoarena",
            names,
            parse_winner(row, "winner", _WINNERS, where),
            known=False,
            reply=text_of(row.get("explanation")),
        )
    return builder


def _read_answers(source: OpenSource) -> SourceBuilder:
    """Read the answers in this file (its name is the model) and in the files of `data.files`."""
    builder, table = SourceBuilder(), source.rows
    own_name = original_name(source.path).split(".")[0]
    files = {own_name: table}
    files |= {name: source.read_other_file(path) for name, path in source.spec.files.items()}
    questions = list(
        dict.fromkeys(
            required_text(row, "prompt", table.where(k)) for k, row in enumerate(table.rows)
        )
    )
    keys = [(question.strip(),) for question in questions]
    answers, report = join_answers(keys, ("prompt",), files, lambda _, __: "response")
    builder.join = report
    for question, responses in zip(questions, answers, strict=True):
        builder.add_item(id_from_text("prompt", question), question, responses, where=table.name)
    return builder
