"""Any table, by a mapping of its columns to fields; and a guess of that mapping.

One row is one question with its answers in columns of their own (`responses.<name>`), one answer
of one contestant (`contestant`, `response`), or one comparison (`first`, `second`, `winner`).
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
    "contestant": "whose answer the row holds",
    "response": "that answer",
    "rank": "the rank people gave it (1 is best)",
    "first": "the contestant shown first",
    "second": "the contestant shown second",
    "a": "one contestant, order not known",
    "b": "the other, order not known",
    "response_first": "the answer shown first",
    "response_second": "the answer shown second",
    "response_a": "the answer of a",
    "response_b": "the answer of b",
    "winner": "who won, or tie",
    "judge": "the judge's name",
    "person": "the name of a person who judged",
    "prompt": "the judge's prompt",
    "reply": "what the judge wrote",
}
"""What a column can be; besides `responses.<contestant>` and `meta.<name>`."""

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
"""Much better: the margin is part of the verdict."""
_PAIR_FIELDS: Final = (("first", "second", True), ("a", "b", False))


def matches_table(table: SourceTable) -> str:
    return ""  # a mapping is said by the study, never guessed in silence


def read(opened: OpenSource) -> SourceBuilder:
    table, spec = opened.rows, opened.spec
    fields = {field: column for column, field in check_mapping(spec.mapping, table).items()}
    gathered = SourceBuilder()
    pair = next(
        ((x, y, known) for x, y, known in _PAIR_FIELDS if x in fields and y in fields), None
    )
    if pair:
        _read_comparisons(gathered, table, fields, pair)
    elif "contestant" in fields and "response" in fields:
        _read_long(gathered, table, fields)
    else:
        _read_wide(gathered, opened, fields)
    return gathered


def check_mapping(mapping: Mapping[str, str], table: SourceTable) -> dict[str, str]:
    """Column -> field; a column that is not there or a field nobody knows is named."""
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
                f"{', '.join(MAPPING_FIELDS)}, responses.<contestant>, meta.<name>"
            )
        if field in taken:
            raise StudyError(
                f"data.mapping: both {taken[field]!r} and {column!r} are mapped to {field!r}"
            )
        taken[field] = column
    return dict(mapping)


def _item_fields(row: Row, fields: Mapping[str, str]) -> dict[str, object]:
    """The fields of the question beside its id, text and answers."""
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
    gathered: SourceBuilder,
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
    return gathered.add_item(id, question, answers, where=where, **_item_fields(row, fields))


def _read_wide(gathered: SourceBuilder, opened: OpenSource, fields: Mapping[str, str]) -> None:
    table = opened.rows
    if "instruction" not in fields:
        raise StudyError(
            "data.mapping: a table of questions needs a column mapped to 'instruction'"
        )
    own = {
        field.partition(".")[2]: column
        for field, column in fields.items()
        if field.startswith("responses.")
    }
    answers, report = _join_files(opened, fields)
    gathered.join = report
    if not own and report is None:
        raise StudyError(
            "data.mapping: no answers: map columns to 'responses.<contestant>', or to "
            "'contestant' and 'response', or name answer files in data.files"
        )
    seen: dict[str, int] = {}
    for place, row in enumerate(table.rows):
        where = table.where(place)
        mine = {name: text_of(row.get(column)) for name, column in own.items()}
        if not text_of(row.get(fields["instruction"])).strip():
            raise SourceError(f"{where}: column {fields['instruction']!r} is empty")
        id = _add_item(gathered, row, fields, mine | answers[place], where, f"row-{place + 1:06}")
        if id in seen or id in gathered.split_items:
            also = seen.get(id, seen.get(id.rpartition("~")[0], 0))
            raise SourceError(
                f"{where}: the question is also in {table.where(also)}; map a column that tells "
                "them apart to 'id'"
            )
        seen[id] = place


def _join_files(
    opened: OpenSource, fields: Mapping[str, str]
) -> tuple[list[dict[str, str]], JoinReport | None]:
    table, spec = opened.rows, opened.spec
    if not spec.files:
        return [{} for _ in table.rows], None
    on = spec.join or (fields.get("id") or fields["instruction"],)
    for column in on:
        if column not in table.columns:
            raise StudyError(f"data.join: {table.name} has no column {column!r}")
    files = {name: opened.read_other_file(path) for name, path in spec.files.items()}
    answers, report = join_answers([join_key(row, on) for row in table.rows], on, files)
    return answers, report


def _read_long(gathered: SourceBuilder, table: SourceTable, fields: Mapping[str, str]) -> None:
    """One answer a row; ranks of one question are one ranking."""
    ranks: dict[str, dict[str, int]] = defaultdict(dict)
    for place, row in enumerate(table.rows):
        where = table.where(place)
        name = text_of(row.get(fields["contestant"]))
        text = text_of(row.get(fields["response"]))
        item = _add_item(gathered, row, fields, {name: text}, where, f"row-{place + 1:06}")
        if item in gathered.split_items:
            raise SourceError(
                f"{where}: a second answer of {name!r} to the same question; keep one of them, or "
                "map a column that tells the questions apart to 'id'"
            )
        if "rank" in fields and (rank := parse_number(row, fields["rank"], where)) is not None:
            ranks[item][name] = int(rank)
    for item, ranked in ranks.items():
        if len(ranked) > 1:
            gathered.add_preference(item, "people", None, ranks=ranked)


def _read_comparisons(
    gathered: SourceBuilder,
    table: SourceTable,
    fields: Mapping[str, str],
    pair: tuple[str, str, bool],
) -> None:
    first, second, known = pair
    for place, row in enumerate(table.rows):
        where = table.where(place)
        names = (text_of(row.get(fields[first])), text_of(row.get(fields[second])))
        if names[0] == names[1]:
            raise SourceError(f"{where}: {names[0]!r} is compared with itself")
        texts = {
            name: text_of(row.get(fields[f"response_{side}"]))
            for name, side in zip(names, (first, second), strict=True)
            if f"response_{side}" in fields
        }
        item = _add_item(gathered, row, fields, texts, where, f"row-{place + 1:06}")
        if "winner" in fields:
            said = text_of(row.get(fields["winner"])).strip()
            margin = 2 if said.casefold() in MUCH_BETTER and said not in names else None
            add_verdict(gathered, item, _judge_name(row, fields), _prompt_name(row, fields), names,
                   _read_winner(said, names, where), known=known, margin=margin,
                   reply=text_of(row.get(fields.get("reply", ""))))  # fmt: skip


def _read_winner(text: str, names: tuple[str, str], where: str) -> Pick:
    """A contestant's own name, or a word for a side; an empty cell is no verdict."""
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
