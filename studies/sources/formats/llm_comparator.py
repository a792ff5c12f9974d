"""Format LLM Comparator: one JSON file per pair of models; a positive score means that A is better.

Scores are from -1.5 to 1.5 and refer to A, whichever answer was shown first. A rating with
`is_flipped` records the order shown; an example with only an average score does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from studies.errors import SourceError
from studies.files.tables import Row, SourceTable, text_of
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.building.recorded_verdict import Pick
from studies.sources.cells import add_verdict, first_text, id_from_text, parse_number

MAX_TIE_SCORE: Final = 0.25
"""Scores up to this absolute value are ties, as in LLM Comparator."""

MIN_MUCH_SCORE: Final = 1.25
"""Scores of this absolute value or more mean "much better" (1.5), smaller scores "better" (1)."""


def matches_table(table: SourceTable) -> str:
    if table.json_object is not None and {"models", "examples"} <= set(table.json_object):
        return "models and examples are LLM Comparator's"
    return ""


def read(source: OpenSource) -> SourceBuilder:
    table, builder = source.rows, SourceBuilder()
    contents = table.json_object or {}
    names = _model_names(contents.get("models"), table.name)
    metadata = contents.get("metadata")
    info = dict(metadata) if isinstance(metadata, Mapping) else {}
    judge = first_text(info, "judge", "judge_model") or "llm-comparator"
    prompt = first_text(info, "prompt") or "llm-comparator"
    for index, example in enumerate(contents.get("examples") or []):
        where = f"{table.name}, example {index + 1}"
        if not isinstance(example, dict):
            raise SourceError(f"{where}: expected an object; correct or remove the example")
        _add_example(builder, example, names, (judge, prompt), where)
    return builder


def _model_names(models: Any, name: str) -> tuple[str, str]:
    found = [text_of(m.get("name")) for m in models or [] if isinstance(m, Mapping)]
    if len(found) != 2 or found[0] == found[1] or not all(found):
        raise SourceError(
            f"{name}: field 'models': expected two different names, found {found}; correct it"
        )
    return found[0], found[1]


def _add_example(
    builder: SourceBuilder,
    row: Row,
    names: tuple[str, str],
    judge_and_prompt: tuple[str, str],
    where: str,
) -> None:
    question = _join_text(row.get("input_text"))
    texts = (_join_text(row.get("output_text_a")), _join_text(row.get("output_text_b")))
    tags = row.get("tags") or []
    custom = row.get("custom_fields")
    fields = dict(custom) if isinstance(custom, Mapping) else {}
    id = first_text(row, "item", "id") or first_text(fields, "item", "id")
    item = builder.add_item(
        id or id_from_text("example", question),
        question,
        dict(zip(names, texts, strict=True)),
        where=where,
        category=text_of(tags[0]) if tags else "",
    )
    ratings = [rating for rating in row.get("individual_rater_scores") or [] if rating]
    for rating in ratings:
        _add_rating(builder, rating, item, names, judge_and_prompt, where)
    if not ratings:
        pick, margin = _pick_from_score(parse_number(row, "score", where))
        add_verdict(
            builder,
            item,
            judge_and_prompt[0],
            judge_and_prompt[1],
            names,
            pick,
            margin=margin,
            known=False,
        )


def _add_rating(
    builder: SourceBuilder,
    rating: Row,
    item: str,
    names: tuple[str, str],
    judge_and_prompt: tuple[str, str],
    where: str,
) -> None:
    pick, margin = _pick_from_score(parse_number(rating, "score", where))
    flipped = rating.get("is_flipped")
    if flipped:
        pick = 1 - pick if isinstance(pick, int) else pick
    add_verdict(
        builder,
        item,
        first_text(rating, "judge", "rater") or judge_and_prompt[0],
        first_text(rating, "prompt") or judge_and_prompt[1],
        names[::-1] if flipped else names,
        pick,
        margin=margin,
        known=isinstance(flipped, bool),
        reply=text_of(rating.get("rationale")),
    )


def _pick_from_score(score: float | None) -> tuple[Pick, int | None]:
    if score is None:
        return None, None
    if abs(score) <= MAX_TIE_SCORE:
        return "tie", 0
    return (0 if score > 0 else 1), 2 if abs(score) >= MIN_MUCH_SCORE else 1


def _join_text(value: Any) -> str:
    """Return a text, or the joined text elements of a list that can also contain images."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, Mapping)]
        return "".join(text_of(part.get("data")) for part in parts if part.get("type") == "text")
    return text_of(value)
