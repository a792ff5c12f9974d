"""Report on the loaded records in the form: format, column mapping, joined files, missing answers,
one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from components.html.format import count, truncate
from components.html.markup import EMPTY, Markup, escape, fill, inline_markup, join
from components.html.pieces import notice_html
from components.html.tables.table import Table
from components.inspect.html_parts import images_html
from components.inspect.load_comparison import load_image
from components.study.file.controls import (
    form_button,
    form_row,
    previous_next,
    select_menu,
    subheading,
)
from components.study.file.lenient_study import FormState
from components.study.form.data_step.mapping_preview import (
    column_names,
    comparisons_html,
    source_table,
)
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.planning.plan_checks import count_skipped
from judges.verdicts.verdict import RecordedReplyReader
from studies.domain import Item
from studies.errors import EvenhandError
from studies.files.table_formats.nested_columns import expand_columns
from studies.files.tables import SourceTable, text_of
from studies.files.upload_names import original_name
from studies.sources.detection.detect import matching_formats
from studies.sources.detection.mapping_guess import guess_mapping
from studies.sources.formats.any_table import MAPPING_FIELDS
from studies.sources.join import FileJoin, JoinReport
from studies.sources.load import image_folder
from studies.spec.keys import DATA, STUDY
from studies.texts.slice_statistics import count_coverage

_MAX_INSTRUCTION: Final = 420
_SHARDS_NOTE: Final = (
    "A run of this study calls the judges named in the study. To see the verdicts in the "
    "data folder, open them as a separate study."
)
_JOIN_PROBLEMS: Final = ("missing", "empty", "duplicate", "conflicting", "unknown")


def records_html(preview: StudyPreview, view: FormState) -> Markup:
    """HTML report: errors, detected format, columns, missing answers and one item."""
    parts = [_error_notice(preview), mapping_form(preview), _detected_format(preview)]
    if preview.records is not None:
        found = preview.records.join
        parts.append(_join_report(found) if found else _coverage(preview))
        parts.append(_skipped_notice(preview))
        parts.append(_item_details(preview, view))
    return join(parts)


def _item_details(preview: StudyPreview, view: FormState) -> Markup:
    item = item_html(preview, view)
    if not item:
        return EMPTY
    return fill(
        "<details class='eh-how' data-keep='one item'><summary>One question in full</summary>{}"
        "</details>",
        item,
    )


def _error_notice(preview: StudyPreview) -> Markup:
    if not preview.data_error:
        return EMPTY
    if has_roles(preview):
        return EMPTY  # the strip below names the column that is missing
    if not preview.lenient_study.raw(*DATA.mapping) and table_to_map(preview):
        advice = "The meaning of each column was guessed. Check the guesses below and confirm them."
        details = escape(with_original_name(preview, preview.data_error))
        return notice_html("warn", "The format of this table is unknown.", advice) + fill(
            "<details class='eh-how eh-notes' data-keep='seen'><summary>Details</summary>"
            "<p>{}</p></details>",
            details,
        )
    return notice_html(
        "bad", "These records cannot be used.", with_original_name(preview, preview.data_error)
    )


def with_original_name(preview: StudyPreview, words: str) -> str:
    """The text `words` with the stored name of an uploaded file replaced by its original name."""
    stored = PurePath(preview.lenient_study.source).name
    return words.replace(stored, original_name(preview.lenient_study.source))


def _detected_format(preview: StudyPreview) -> Markup:
    """HTML on the detected format of the records: how it was recognised, which measures it does not
    permit, and notes."""
    if preview.records is None or preview.lenient_study.source == "probe":
        return EMPTY
    found = preview.records
    verdicts = f" and {count(found.verdicts, 'recorded verdict')}" if found.verdicts else ""
    why = with_original_name(preview, found.format_reason)
    summary = f"**{found.format}**: {count(len(found.items), 'item')}{verdicts}. {why}."
    parts = [fill('<p class="hint eh-found">{}</p>', inline_markup(summary))]
    if found.disabled_metrics:
        names = ", ".join(found.disabled_metrics)
        why = next(iter(found.disabled_metrics.values()))
        parts.append(
            notice_html(
                "warn", "The order of the answers is not recorded.", f"{why} Disabled: {names}."
            )
        )
    if found.notes:
        listed = join(fill("<p>{}</p>", inline_markup(note)) for note in found.notes)
        parts.append(
            fill(
                "<details class='eh-how' data-keep='notes'><summary>{} "
                "on these records</summary>{}</details>",
                count(len(found.notes), "note"),
                listed,
            )
        )
    if found.shards is not None:
        parts.append(fill('<p class="hint eh-found">{}</p>', _SHARDS_NOTE))
    if found.verdicts:
        button = form_button("Open these verdicts as a study", {"do": "recorded"}, errand=True)
        parts.append(fill('<div class="eh-row">{}</div>', button))
    return join(parts)


# ---------------------------------------------------------------------- unknown table


def mapping_form(preview: StudyPreview) -> Markup:
    """HTML menus for the meaning of each column; a guessed meaning is shown, but not used until it
    is confirmed."""
    table = table_to_map(preview)
    if table is None:
        return EMPTY
    study = preview.lenient_study
    saved = study.raw(*DATA.mapping)
    guess = guess_mapping(table.columns, table.rows)
    mapping = {str(k): str(v) for k, v in saved.items()} if isinstance(saved, Mapping) else guess
    rows = join(
        _column_row(table, column, mapping.get(column, "")) for column in column_names(table)
    )
    state = "saved with the study" if saved else "a guess, not applied yet"
    use = "" if saved else form_button("Use these columns", {"do": "map", "mapping": guess})
    reading = _reading_row(preview, mapping)
    roles = has_roles(preview)
    shown = "" if roles else comparisons_html(study, table, mapping)
    return fill(
        "<details class='eh-how' id='eh-all-columns' data-keep='columns'{}><summary>"
        'Meaning of the columns: {}</summary>{}{}</details>{}<div class="eh-row">{}</div>',
        EMPTY if saved or roles else Markup(" open"),
        state,
        rows,
        reading,
        shown,
        use,
    )


ANSWER_FIELD: Final = "responses."
_ROW_LAYOUTS: Final = frozenset({"contestant", "first", "second", "a", "b", "winner", "score"})
"""Fields that a mapping has only if each row of the table is one answer or one verdict."""


def current_mapping(preview: StudyPreview, table: SourceTable) -> dict[str, str]:
    """Column mapping of the study file; if the file has none, the guessed mapping."""
    saved = preview.lenient_study.raw(*DATA.mapping)
    if isinstance(saved, Mapping):
        return {str(column): str(field) for column, field in saved.items()}
    return guess_mapping(table.columns, table.rows)


def has_roles(preview: StudyPreview) -> bool:
    """Whether the source is a table that has or needs a column mapping, and each of its rows is a
    question with its answers."""
    table = table_to_map(preview)
    return table is not None and not _ROW_LAYOUTS & set(current_mapping(preview, table).values())


def _reading_row(preview: StudyPreview, mapping: Mapping[str, str]) -> Markup:
    """HTML menu for the format of verdicts in the table's replies; empty without replies."""
    if "reply" not in mapping.values():
        return EMPTY
    chosen = str(preview.lenient_study.raw(*DATA.read) or "")
    stated = {"winner", "winner_index", "score"} & set(mapping.values())
    default = "from the mapped column" if stated else "detected from the replies"
    options = [("", default), *((name, name) for name in RecordedReplyReader.formats)]
    return form_row(
        "Verdicts", select_menu("data.read", options, chosen), "read from replies", to="data.read"
    )


def table_to_map(preview: StudyPreview) -> SourceTable | None:
    """The source's table, if the study file has a column mapping, or if no known format fits the
    table; else None."""
    study = preview.lenient_study
    mapped = bool(study.raw(*DATA.mapping))
    if preview.records is not None and not mapped:
        return None
    table = source_table(study)
    known = table is not None and not mapped and matching_formats(table, Path(study.source))
    return None if known else table


def _column_row(table: SourceTable, column: str, field: str) -> Markup:
    shown = expand_columns(replace(table, rows=table.rows[:20]), [column]).rows
    examples = (text_of(one.get(column)).strip() for one in shown)
    example = next((text for text in examples if text), "empty")
    options = [
        ("", "not used"),
        (f"responses.{column}", f"answers of {column}"),
        *((name, f"{name}: {meaning}") for name, meaning in MAPPING_FIELDS.items()),
        (f"meta.{column}", f"meta.{column}: metadata for filters"),
    ]
    if field.startswith("responses.") and field != f"responses.{column}":
        options.insert(1, (field, f"answers of {field[10:]}"))
    return form_row(
        column,
        select_menu(f"mapping.{column}", options, field),
        f"“{truncate(example, 60)}”",
        to=f"mapping.{column}",
    )


# ------------------------------------------------------------------------------- gaps


def _join_report(found: JoinReport) -> Markup:
    """HTML on joined answer files: numbers of matched, missing, empty, duplicate, conflicting and
    unknown answers per file."""
    head = subheading("Join report", f"answers to {count(found.questions, 'question')}")
    kinds = [
        kind for kind in _JOIN_PROBLEMS if kind in ("missing", "empty") or join_total(found, kind)
    ]
    rows = [
        [
            one.contestant,
            count(one.matched),
            *(_count_cell(getattr(one, kind)) for kind in kinds),
        ]
        for one in found.files
    ]
    table = Table(["model", "found", *kinds], rows, "eh-jt", box="").html()
    on = f"Joined on {', '.join(found.on)}."
    if found.duplicate_questions:
        on += (
            " In the columns used to join the files, the values of "
            f"{count(found.duplicate_questions, 'question')} equal those of another question."
        )
    return fill(
        '{}{}<p class="hint">{} Calls that need a missing answer are skipped.</p>{}',
        head,
        table,
        on,
        _join_examples(found.files),
    )


def join_total(found: JoinReport, kind: str) -> int:
    return sum(getattr(one, kind) for one in found.files)


def _join_examples(files: Sequence[FileJoin]) -> Markup:
    lines = [
        fill("<p>{}, {}: {}</p>", one.contestant, kind, "; ".join(keys))
        for one in files
        for kind, keys in (one.examples or {}).items()
        if keys
    ]
    if not lines:
        return EMPTY
    return fill(
        "<details class='eh-how' data-keep='join examples'><summary>Examples</summary>{}</details>",
        join(lines),
    )


def _coverage(preview: StudyPreview) -> Markup:
    """HTML table of found, missing and empty answers per model; empty if all answers are found."""
    names = [str(name) for name in _selected_contestants(preview)]
    found = [
        count_coverage(name, [item.responses.get(name) for item in preview.items]) for name in names
    ]
    if not any(one.missing or one.empty for one in found):
        return EMPTY
    head = subheading("Coverage", f"of {count(len(preview.items), 'item')}")
    rows = [
        [one.name, count(one.found), _count_cell(one.missing), _count_cell(one.empty)]
        for one in found
    ]
    table = Table(["model", "found", "missing", "empty"], rows, "eh-jt", box="").html()
    note = Markup('<p class="hint">Calls that need a missing answer are skipped.</p>')
    return head + table + note


def _selected_contestants(preview: StudyPreview) -> Sequence[Any]:
    named = preview.lenient_study.raw(*STUDY.contestants)
    return named if isinstance(named, list) and named else preview.contestants[:20]


def _count_cell(value: int) -> Markup:
    kind = "w" if value else "z"
    return fill('<span class="{}">{}</span>', kind, count(value))


def _skipped_notice(preview: StudyPreview) -> Markup:
    if preview.plan is None:
        return EMPTY
    lines = [
        f"{one.prompt} is not used on {count(one.items, 'item')}: {one.why}."
        for one in count_skipped(preview.plan.prompts, preview.plan.items)
    ]
    return notice_html("calm", "Some prompts skip items.", " ".join(lines[:4])) if lines else EMPTY


# ----------------------------------------------------------------------------- one item


def item_html(preview: StudyPreview, view: FormState) -> Markup:
    n = len(preview.items)
    if not n:
        return EMPTY
    at = min(view.item, n - 1)
    item = preview.items[at]
    where = " · ".join(part for part in (item.id, item.category) if part)
    head = fill(
        '<div class="eh-sub"><b>{}</b><span>{} {}</span></div>',
        f"Item {count(at + 1)} of {count(n)}",
        where,
        previous_next(at, n, "item"),
    )
    answers = join(
        fill("<p><b>{}</b> {}</p>", name, truncate(text, 220))
        for name, text in sorted(item.responses.items())
    )
    many = count(len(item.responses), "answer")
    folded = fill(
        "<details class='eh-how' data-keep='answers'><summary>{}</summary>{}</details>",
        many,
        answers,
    )
    words = escape(truncate(item.instruction, _MAX_INSTRUCTION))
    question = fill('<p class="eh-small eh-q" dir="auto">{}</p>', words)
    return head + question + _images_html(preview, item) + folded


def _images_html(preview: StudyPreview, item: Item) -> Markup:
    if not item.images:
        return EMPTY
    try:
        folder = image_folder(read_data_spec(preview.lenient_study), preview.lenient_study.folder)
    except EvenhandError:
        folder = None
    shown = images_html((load_image(path, folder) for path in item.images[:4]), "image")
    context = item.context if isinstance(item.context, str) else " ".join(item.context)
    description = f"Description, {count(len(context.split()), 'word')}: {truncate(context, 140)}"
    below = (
        description
        if context.strip()
        else "The image has no description, so a judge without vision gets no information about it."
    )
    return fill('{}<p class="hint">{}</p>', shown, below)
