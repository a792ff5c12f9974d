"""Format `table`: any table, read by a mapping of its columns to fields.

A row is a question with one column per answer (`responses.<name>`), one contestant's answer
(`contestant`, `response`, `score`), or a comparison (`first`, `second`, `winner`). Columns may be
nested (`answer1.name`, `answers[].text`).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from studies.errors import SourceError, StudyError
from studies.files.table_formats.nested_columns import expand_columns, nested_names
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.cells import id_from_text, parse_number
from studies.sources.formats.mapped_verdicts import (
    VERDICT_FIELDS,
    add_comparison,
    add_labels,
    add_rating,
    has_rating,
    needs_reading,
)
from studies.sources.formats.visit_bench import split_list
from studies.sources.join import JoinReport, join_answers, join_key

MAPPING_FIELDS: Final = {
    "id": "the question's id",
    "instruction": "the question",
    "category": "its category",
    "context": "a description of its images, or other material",
    "images": "addresses or paths of images",
    "reference": "a reference answer",
    "ground_truth": "the right answer",
    "criteria.subjective": "criteria for the judge",
    "criteria.factuality": "criteria of visual factuality",
    "contestant": "the model whose answer is in the row",
    "response": "that answer",
    "rank": "the rank people gave it (1 is best)",
    "first": "the model shown first",
    "second": "the model shown second",
    "a": "one model, order unknown",
    "b": "the other model, order unknown",
    "response_first": "the answer shown first",
    "response_second": "the answer shown second",
    "response_a": "the answer of a",
    "response_b": "the answer of b",
    **VERDICT_FIELDS,
}
"""Fields that a column can be mapped to, besides `responses.<model>` and `meta.<name>`."""

_PAIR_FIELDS: Final = (("first", "second", True), ("a", "b", False))


def matches_table(table: SourceTable) -> str:
    return ""  # never detected: the mapping must be set in the study


def read(source: OpenSource) -> SourceBuilder:
    spec = source.spec
    source = replace(source, table=expand_columns(source.rows, spec.mapping))
    table = source.rows
    fields = {field: column for column, field in check_mapping(spec.mapping, table).items()}
    builder = SourceBuilder()
    pair = next(
        ((x, y, known) for x, y, known in _PAIR_FIELDS if x in fields and y in fields), None
    )
    if pair:
        _read_comparisons(builder, table, fields, pair)
    elif "contestant" in fields and ("response" in fields or has_rating(fields)):
        _read_long(builder, table, fields)
    else:
        _read_wide(builder, source, fields)
    return builder


def check_mapping(mapping: Mapping[str, str], table: SourceTable) -> dict[str, str]:
    """Check that the columns and fields of a mapping exist; return column -> field."""
    taken: dict[str, str] = {}
    for column, field in mapping.items():
        if column not in table.columns:
            raise StudyError(
                f"data.mapping: {table.name} has no column {column!r}; its columns: "
                f"{', '.join([*table.columns, *nested_names(table)])[:400]}"
            )
        if field not in MAPPING_FIELDS and not field.startswith(("responses.", "meta.")):
            near = difflib.get_close_matches(field, MAPPING_FIELDS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise StudyError(
                f"data.mapping: {column}: no field {field!r}{hint}. Known fields: "
                f"{', '.join(MAPPING_FIELDS)}, responses.<model>, meta.<name>"
            )
        if field in taken:
            raise StudyError(
                f"data.mapping: both {taken[field]!r} and {column!r} are mapped to {field!r}; "
                "map only one of them"
            )
        taken[field] = column
    return dict(mapping)


def _item_fields(row: Row, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of an item other than its id, question and answers."""
    found: dict[str, object] = {
        name: cell_text(row.get(fields[name]))
        for name in ("category", "context", "reference", "ground_truth")
        if name in fields
    }
    if "images" in fields:
        found["images"] = _image_list(row.get(fields["images"]))
    for group in ("meta", "criteria"):
        values = {
            field.partition(".")[2]: text_of(row.get(column))
            for field, column in fields.items()
            if field.startswith(f"{group}.")
        }
        found[group] = {name: text for name, text in values.items() if text}
    return found


def _image_list(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(text for part in value if (text := text_of(part).strip()))
    return tuple(split_list(text_of(value).strip()))


def cell_text(value: object) -> str:
    """Convert a cell to text; the elements of a list (texts or messages) become paragraphs."""
    if not isinstance(value, list):
        return text_of(value)
    parts = [part.get("content") if isinstance(part, dict) else part for part in value]
    return "\n\n".join(text for part in parts if (text := text_of(part)))


def _add_item(
    builder: SourceBuilder,
    row: Row,
    fields: Mapping[str, str],
    answers: Mapping[str, str],
    where: str,
    fallback: str,
) -> str:
    question = cell_text(row.get(fields["instruction"])) if "instruction" in fields else ""
    id = text_of(row.get(fields["id"])).strip() if "id" in fields else ""
    if not id:
        id = id_from_text("q", question) if question else fallback
    return builder.add_item(id, question, answers, where=where, **_item_fields(row, fields))


def _read_wide(builder: SourceBuilder, source: OpenSource, fields: Mapping[str, str]) -> None:
    table = source.rows
    if "instruction" not in fields:
        raise StudyError(
            "data.mapping: a table of questions needs a column mapped to 'instruction'; map "
            "the column that holds the question"
        )
    own = {
        field.partition(".")[2]: column
        for field, column in fields.items()
        if field.startswith("responses.")
    }
    answers, report = _join_files(source, fields)
    builder.join = report
    if not own and report is None:
        raise StudyError(
            "data.mapping: no answers: map columns to 'responses.<model>', or to "
            "'contestant' and 'response', or name answer files in data.files"
        )
    seen: dict[str, int] = {}
    for index, row in enumerate(table.rows):
        where = table.where(index)
        mine = {name: cell_text(row.get(column)) for name, column in own.items()}
        if not text_of(row.get(fields["instruction"])).strip():
            raise SourceError(
                f"{where}: column {fields['instruction']!r} is empty; fill it or remove the row"
            )
        id = _add_item(builder, row, fields, mine | answers[index], where, f"row-{index + 1:06}")
        if id in seen or id in builder.split_items:
            also = seen.get(id, seen.get(id.rpartition("~")[0], 0))
            raise SourceError(
                f"{where}: the question is also in {table.where(also)}; map a column with "
                "unique values to 'id'"
            )
        seen[id] = index
        add_labels(builder, row, fields, id, [*mine, *answers[index]], where)


def _join_files(
    source: OpenSource, fields: Mapping[str, str]
) -> tuple[list[dict[str, str]], JoinReport | None]:
    table, spec = source.rows, source.spec
    if not spec.files:
        return [{} for _ in table.rows], None
    on = spec.join or (fields.get("id") or fields["instruction"],)
    for column in on:
        if column not in table.columns:
            raise StudyError(
                f"data.join: {table.name} has no column {column!r}; name one of its columns"
            )
    files = {name: source.read_other_file(path) for name, path in spec.files.items()}
    answers, report = join_answers([join_key(row, on) for row in table.rows], on, files)
    return answers, report


def _read_long(builder: SourceBuilder, table: SourceTable, fields: Mapping[str, str]) -> None:
    """Read a table of one answer per row; scores become verdicts, and the ranks of a question's
    answers become one ranking."""
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    builder.needs_reading = needs_reading(fields)
    for index, row in enumerate(table.rows):
        where = table.where(index)
        name = text_of(row.get(fields["contestant"]))
        text = cell_text(row.get(fields["response"])) if "response" in fields else ""
        item = _add_item(builder, row, fields, {name: text}, where, f"row-{index + 1:06}")
        if has_rating(fields):
            add_rating(builder, row, fields, item, where)
        elif item in builder.split_items:
            raise SourceError(
                f"{where}: a second answer of {name!r} to the same question; keep one of the two "
                "answers, or map a column that differs between the questions to 'id'"
            )
        if "rank" in fields and (rank := parse_number(row, fields["rank"], where)) is not None:
            ranks[item][name] = int(rank)
    for item, ranked in ranks.items():
        if len(ranked) > 1:
            builder.add_preference(item, "people", None, ranks=ranked)


def _read_comparisons(
    builder: SourceBuilder,
    table: SourceTable,
    fields: Mapping[str, str],
    pair: tuple[str, str, bool],
) -> None:
    first, second, known = pair
    builder.needs_reading = needs_reading(fields, (first, second))
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (text_of(row.get(fields[first])), text_of(row.get(fields[second])))
        if builder.skip_self_comparison(names, where):
            continue
        texts = {
            name: cell_text(row.get(fields[f"response_{side}"]))
            for name, side in zip(names, (first, second), strict=True)
            if f"response_{side}" in fields
        }
        item = _add_item(builder, row, fields, texts, where, f"row-{index + 1:06}")
        add_comparison(builder, row, fields, item, names, (first, second), known, where)
