"""Format AlpacaEval: outputs of one model, or annotations of pairs.

`preference` is from 1 (first is better) to 2 (second is better); 1.5 is a tie, 0 a tie in older
files, null a failure. Outputs were shown in a random order that the file does not record. The
preference of a weighted annotator is 1 + P(second is better); both probabilities are stored.
"""

from __future__ import annotations

import json
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import add_verdict, first_text, id_from_text, parse_number, required_text
from studies.sources.join import join_answers

_TIE_PREFERENCES: Final = (0.0, 1.5)


def matches_annotations(table: SourceTable) -> str:
    if table.has("instruction", "output_1", "output_2", "preference"):
        return "output_1, output_2 and preference are AlpacaEval's annotations"
    return ""


def matches_table(table: SourceTable) -> str:
    if reason := matches_annotations(table):
        return reason
    if table.has("instruction", "output", "generator"):
        return "instruction, output and generator are AlpacaEval's outputs"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    return (
        _read_annotations(source.rows) if source.rows.has("preference") else _read_outputs(source)
    )


def _read_annotations(table: SourceTable) -> SourceBuilder:
    builder = SourceBuilder()
    builder.labels_recorded = False  # the judge saw the outputs in a random order
    preferences = [
        parse_number(row, "preference", table.where(k)) for k, row in enumerate(table.rows)
    ]
    weighted = any(value is not None and value % 0.5 for value in preferences)
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (
            first_text(row, "generator_1") or "output_1",
            first_text(row, "generator_2") or "output_2",
        )
        if builder.skip_self_comparison(names, where):
            continue
        question = required_text(row, "instruction", where)
        texts = (text_of(row.get("output_1")), text_of(row.get("output_2")))
        item = builder.add_item(
            id_from_text("alpaca", question),
            question,
            dict(zip(names, texts, strict=True)),
            where=where,
            category=text_of(row.get("dataset")),
        )
        pick = _pick_from_preference(preferences[index], where)
        add_verdict(
            builder,
            item,
            _judge_name(row),
            "alpaca-eval",
            names,
            pick,
            known=False,
            reply=_reply_text(row.get("raw_completion")),
            probabilities=_probabilities(preferences[index]) if weighted else (),
            cost=parse_number(row, "price_per_example", where),
        )
    return builder


def _probabilities(preference: float | None) -> tuple[float, ...]:
    """Return P(first is better) and P(second is better); empty if the preference is None or 0."""
    return (2 - preference, preference - 1) if preference else ()


def _judge_name(row: Row) -> str:
    """Return the name of the annotator; human:<number> for a person in cross-annotations."""
    name = first_text(row, "annotator")
    if "annotator_index" in row and not name:
        return f"human:{text_of(row['annotator_index'])}"
    return name or "recorded"


def _pick_from_preference(preference: float | None, where: str) -> Pick:
    if preference is None:
        return None
    if preference in _TIE_PREFERENCES:
        return "tie"
    if not 1 <= preference <= 2:
        raise SourceError(
            f"{where}: column 'preference': expected 1 to 2 (or 0, a tie), found {preference:g}; "
            "correct or remove the row"
        )
    return 0 if preference < 1.5 else 1


def _reply_text(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else text_of(value)
    )


def _read_outputs(source: OpenSource) -> SourceBuilder:
    """Read one model's outputs, and for the same instructions those of models in `data.files`."""
    builder, table = SourceBuilder(), source.rows
    files = {name: source.read_other_file(path) for name, path in source.spec.files.items()}
    keys = [
        (required_text(row, "instruction", table.where(k)).strip(),)
        for k, row in enumerate(table.rows)
    ]
    answers, report = join_answers(keys, ("instruction",), files, lambda _, __: "output")
    builder.join = report if files else None
    for index, row in enumerate(table.rows):
        where = table.where(index)
        question = text_of(row["instruction"])
        mine = {required_text(row, "generator", where): text_of(row.get("output"))}
        builder.add_item(
            id_from_text("alpaca", question),
            question,
            mine | answers[index],
            where=where,
            category=text_of(row.get("dataset")),
        )
    return builder
