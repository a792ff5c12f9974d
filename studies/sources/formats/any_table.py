"""Any table, read by a mapping of its columns to fields.

A row is a question with one column per answer (`responses.<name>`), an answer of one contestant
(`contestant`, `response`), or a comparison (`first`, `second`, `winner`).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from studies.errors import SourceError, StudyError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.builder import OpenSource, Pick, SourceBuilder
from studies.sources.cells import add_verdict, id_from_text, parse_number
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
    "winner": "the winner, or tie",
    "judge": "the judge's name",
    "person": "the name of a human judge",
    "prompt": "the judge's prompt",
    "reply": "the judge's reply",
}
"""Fields that a column can be mapped to, besides `responses.<model>` and `meta.<name>`."""

PICK_BY_WINNER: Final[dict[str, Pick]] = {
    **dict.fromkeys(
        ("a", "model_a", "first", "left", "1", "response_a", "model_1", "output_1", "a>b", "a>>b"),
        0,
    ),
    **dict.fromkeys(
        (
            "b",
            "model_b",
            "second",
            "right",
            "2",
            "response_b",
            "model_2",
            "output_2",
            "b>a",
            "b>>a",
        ),
        1,
    ),
    **dict.fromkeys(
        ("tie", "c", "-", "equal", "same", "both", "tie (bothbad)", "both_bad", "a=b", "b=a"), "tie"
    ),
}
MUCH_BETTER: Final = ("a>>b", "b>>a")
"""Winner words with a margin of 2."""
_PAIR_FIELDS: Final = (("first", "second", True), ("a", "b", False))


def matches_table(table: SourceTable) -> str:
    return ""  # never detected: the mapping must be set in the study


def read(source: OpenSource) -> SourceBuilder:
    table, spec = source.rows, source.spec
    fields = {field: column for column, field in check_mapping(spec.mapping, table).items()}
    builder = SourceBuilder()
    pair = next(
        ((x, y, known) for x, y, known in _PAIR_FIELDS if x in fields and y in fields), None
    )
    if pair:
        _read_comparisons(builder, table, fields, pair)
    elif "contestant" in fields and "response" in fields:
        _read_long(builder, table, fields)
    else:
        _read_wide(builder, source, fields)
    return builder


def check_mapping(mapping: Mapping[str, str], table: SourceTable) -> dict[str, str]:
    """Return the mapping column -> field after checking that its columns and fields exist."""
    taken: dict[str, str] = {}
    for column, field in mapping.items():
        if column not in table.columns:
            raise StudyError(
                f"data.mapping: {table.name} has no column {column!r}; its columns: "
                f"{', '.join(table.columns)[:300]}"
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
                f"data.mapping: both {taken[field]!r} and {column!r} are mapped to {field!r}"
            )
        taken[field] = column
    return dict(mapping)


def _item_fields(row: Row, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of an item other than its id, question and answers."""
    found: dict[str, object] = {
        name: text_of(row.get(fields[name]))
        for name in ("category", "context", "reference", "ground_truth")
        if name in fields
    }
    if "images" in fields:
        found["images"] = tuple(split_list(text_of(row.get(fields["images"])).strip()))
    for group in ("meta", "criteria"):
        values = {
            field.partition(".")[2]: text_of(row.get(column))
            for field, column in fields.items()
            if field.startswith(f"{group}.")
        }
        found[group] = {name: text for name, text in values.items() if text}
    return found


def _add_item(
    builder: SourceBuilder,
    row: Row,
    fields: Mapping[str, str],
    answers: Mapping[str, str],
    where: str,
    fallback: str,
) -> str:
    question = text_of(row.get(fields["instruction"])) if "instruction" in fields else ""
    id = text_of(row.get(fields["id"])).strip() if "id" in fields else ""
    if not id:
        id = id_from_text("q", question) if question else fallback
    return builder.add_item(id, question, answers, where=where, **_item_fields(row, fields))


def _read_wide(builder: SourceBuilder, source: OpenSource, fields: Mapping[str, str]) -> None:
    table = source.rows
    if "instruction" not in fields:
        raise StudyError(
            "data.mapping: a table of questions needs a column mapped to 'instruction'"
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
        mine = {name: text_of(row.get(column)) for name, column in own.items()}
        if not text_of(row.get(fields["instruction"])).strip():
            raise SourceError(f"{where}: column {fields['instruction']!r} is empty")
        id = _add_item(builder, row, fields, mine | answers[index], where, f"row-{index + 1:06}")
        if id in seen or id in builder.split_items:
            also = seen.get(id, seen.get(id.rpartition("~")[0], 0))
            raise SourceError(
                f"{where}: the question is also in {table.where(also)}; map a column with "
                "unique values to 'id'"
            )
        seen[id] = index


def _join_files(
    source: OpenSource, fields: Mapping[str, str]
) -> tuple[list[dict[str, str]], JoinReport | None]:
    table, spec = source.rows, source.spec
    if not spec.files:
        return [{} for _ in table.rows], None
    on = spec.join or (fields.get("id") or fields["instruction"],)
    for column in on:
        if column not in table.columns:
            raise StudyError(f"data.join: {table.name} has no column {column!r}")
    files = {name: source.read_other_file(path) for name, path in spec.files.items()}
    answers, report = join_answers([join_key(row, on) for row in table.rows], on, files)
    return answers, report


def _read_long(builder: SourceBuilder, table: SourceTable, fields: Mapping[str, str]) -> None:
    """Read one answer per row; the ranks of a question form one ranking."""
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    for index, row in enumerate(table.rows):
        where = table.where(index)
        name = text_of(row.get(fields["contestant"]))
        text = text_of(row.get(fields["response"]))
        item = _add_item(builder, row, fields, {name: text}, where, f"row-{index + 1:06}")
        if item in builder.split_items:
            raise SourceError(
                f"{where}: a second answer of {name!r} to the same question; keep one of them, or "
                "map a column that differs between the questions to 'id'"
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
    for index, row in enumerate(table.rows):
        where = table.where(index)
        names = (text_of(row.get(fields[first])), text_of(row.get(fields[second])))
        if builder.skip_self_comparison(names, where):
            continue
        texts = {
            name: text_of(row.get(fields[f"response_{side}"]))
            for name, side in zip(names, (first, second), strict=True)
            if f"response_{side}" in fields
        }
        item = _add_item(builder, row, fields, texts, where, f"row-{index + 1:06}")
        if "winner" in fields:
            winner = text_of(row.get(fields["winner"])).strip()
            much_better = winner.casefold() in MUCH_BETTER and winner not in names
            add_verdict(
                builder,
                item,
                _judge_name(row, fields),
                _prompt_name(row, fields),
                names,
                _read_winner(winner, names, where),
                known=known,
                margin=2 if much_better else None,
                reply=text_of(row.get(fields.get("reply", ""))),
            )


def _read_winner(text: str, names: tuple[str, str], where: str) -> Pick:
    """Look up a winner given as a contestant's name or a word; None for an empty cell."""
    if not text:
        return None
    if text in names:
        return names.index(text)
    if text.casefold() not in PICK_BY_WINNER:
        raise SourceError(
            f"{where}: winner {text!r} is neither {names[0]!r} nor {names[1]!r} nor one of "
            f"{', '.join(PICK_BY_WINNER)}"
        )
    return PICK_BY_WINNER[text.casefold()]


def _judge_name(row: Row, fields: Mapping[str, str]) -> str:
    if "person" in fields and (name := text_of(row.get(fields["person"])).strip()):
        return f"human:{name}"
    return text_of(row.get(fields.get("judge", ""))).strip() or "recorded"


def _prompt_name(row: Row, fields: Mapping[str, str]) -> str:
    return text_of(row.get(fields.get("prompt", ""))).strip() or "recorded"
