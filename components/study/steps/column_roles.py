"""Menus that assign a table's columns to roles: question, answer of each model, better
answer by design or by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from components.html.markup import EMPTY, Markup, fill, join
from components.study.file.controls import html_id, select_menu
from components.study.form.data_step.mapping_preview import column_names
from components.study.form.data_step.records_report import (
    ANSWER_FIELD,
    current_mapping,
    has_roles,
    table_to_map,
)
from components.study.plan.study_preview import StudyPreview
from studies.files.tables import SourceTable
from studies.sources.detection.mapping_guess import guess_mapping
from studies.spec.keys import DATA

_MAX_ANSWERS: Final = 6


def roles_html(preview: StudyPreview) -> Markup:
    """HTML menus for the roles of the columns; empty for a known format, and for a table with one
    answer or verdict per row."""
    table = table_to_map(preview)
    if table is None or not has_roles(preview):
        return EMPTY
    mapping = current_mapping(preview, table)
    columns = column_names(table)
    menus = [_menu("Question", "instruction", mapping, columns, needed=True)]
    menus += [
        _menu(f"Answer of {field.removeprefix(ANSWER_FIELD)}", field, mapping, columns, needed=True)
        for field in _answer_fields(mapping)[:_MAX_ANSWERS]
    ]
    have = len(_answer_fields(mapping))
    menus += [
        _menu(f"Answer of model {place}", f"answer.{place}", mapping, columns, needed=True)
        for place in range(have + 1, 3)
    ]
    menus.append(_menu("Known better answer", "gold", mapping, columns))
    menus.append(_menu("Label by people", "human", mapping, columns))
    return fill(
        '<div class="eh-cols" id="eh-columns">{}</div><p class="hint">{}</p>',
        join(menus),
        _state_text(preview, table, mapping),
    )


def missing_roles(preview: StudyPreview) -> list[str]:
    """Required roles without a column ("the question", "the answer of model 2"), for a table with a
    question and answers in each row."""
    table = table_to_map(preview)
    if table is None or not has_roles(preview):
        return []
    mapping = current_mapping(preview, table)
    have = len(_answer_fields(mapping))
    missing = [] if "instruction" in mapping.values() else ["the question"]
    return [*missing, *(f"the answer of model {place}" for place in range(have + 1, 3))]


def _answer_fields(mapping: Mapping[str, str]) -> list[str]:
    return [field for field in mapping.values() if field.startswith(ANSWER_FIELD)]


def _menu(
    label: str, role: str, mapping: Mapping[str, str], columns: Sequence[str], needed: bool = False
) -> Markup:
    chosen = next((column for column, field in mapping.items() if field == role), "")
    empty = ("", "choose" if needed else "none")
    field = f"role.{role}"
    menu = select_menu(field, [empty, *((name, name) for name in columns)], chosen)
    return fill(
        '<div{}><label for="{}">{}</label>{}</div>',
        Markup(' class="need"') if needed and not chosen else EMPTY,
        html_id(field),
        label,
        menu,
    )


def _state_text(preview: StudyPreview, table: SourceTable, mapping: Mapping[str, str]) -> str:
    if not preview.lenient_study.raw(*DATA.mapping):
        return "The meaning of the columns was guessed. Check it, then use the columns."
    guessed = mapping == guess_mapping(table.columns, table.rows)
    if guessed:
        return "The meaning of the columns was guessed. Check it below."
    return "The columns have the meanings that you chose."
