"""Report on the loaded records: format, column mapping, joined files, gaps, one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from components.html.format import count, escape, inline_markup
from components.html.pieces import notice_html
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
from components.study.form.data_source import original_file_name
from components.study.form.mapping_preview import column_names, comparisons_html, source_table
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.planning.eligibility import count_skipped
from judges.verdicts.recorded_replies import RecordedReplyReader
from studies.domain import Item
from studies.errors import EvenhandError
from studies.files.nested_columns import expand_columns
from studies.files.tables import SourceTable, text_of
from studies.sources.detect import matching_formats
from studies.sources.formats.any_table import MAPPING_FIELDS
from studies.sources.join import FileJoin, JoinReport
from studies.sources.load import image_folder
from studies.sources.mapping_guess import guess_mapping
from studies.texts.slice_statistics import ContestantCoverage, count_coverage

_MAX_INSTRUCTION: Final = 420
_SHARDS_NOTE: Final = (
    "A run of this study calls its own judges on the same items. The verdicts of the folder are "
    "not part of it; open them as a study."
)
_JOIN_PROBLEMS: Final = ("missing", "empty", "duplicate", "conflicting", "unknown")


def records_html(preview: StudyPreview, view: FormState) -> str:
    """The report below the slice: errors, detected format, gaps and one item."""
    parts = [_error_notice(preview), _detected_format(preview), mapping_form(preview)]
    if preview.records is not None:
        join = preview.records.join
        parts.append(_join_report(join) if join else _coverage(preview))
        parts.append(_skipped_notice(preview))
        parts.append(item_html(preview, view))
    return "".join(parts)


def _error_notice(preview: StudyPreview) -> str:
    if not preview.data_error:
        return ""
    if not preview.lenient_study.raw("data", "mapping") and table_to_map(preview):
        advice = "Check the guessed meaning of its columns below and confirm it."
        details = escape(with_original_name(preview, preview.data_error))
        return notice_html("warn", "The format of this table is unknown.", advice) + (
            "<details class='eh-how eh-notes' data-keep='seen'><summary>Details</summary>"
            f"<p>{details}</p></details>"
        )
    return notice_html(
        "bad", "These records cannot be used.", with_original_name(preview, preview.data_error)
    )


def with_original_name(preview: StudyPreview, words: str) -> str:
    """Replace the stored name of an uploaded file by its original name."""
    stored = PurePath(preview.lenient_study.source).name
    return words.replace(stored, original_file_name(preview.lenient_study.source))


def _detected_format(preview: StudyPreview) -> str:
    """The detected format with its reason, disabled metrics and notes."""
    if preview.records is None or preview.lenient_study.source == "probe":
        return ""
    found = preview.records
    verdicts = f" and {count(found.verdicts, 'recorded verdict')}" if found.verdicts else ""
    why = with_original_name(preview, found.format_reason)
    summary = f"**{found.format}**: {count(len(found.items), 'item')}{verdicts}. {why}."
    parts = [f'<p class="hint eh-found">{inline_markup(summary)}</p>']
    if found.disabled_metrics:
        names = ", ".join(found.disabled_metrics)
        why = next(iter(found.disabled_metrics.values()))
        parts.append(
            notice_html(
                "warn", "The order of the answers is not recorded.", f"{why} Disabled: {names}."
            )
        )
    if found.notes:
        listed = "".join(f"<p>{inline_markup(note)}</p>" for note in found.notes)
        parts.append(
            f"<details class='eh-how' data-keep='notes'><summary>{count(len(found.notes), 'note')} "
            f"on these records</summary>{listed}</details>"
        )
    if found.shards is not None:
        parts.append(f'<p class="hint eh-found">{_SHARDS_NOTE}</p>')
    if found.verdicts:
        button = form_button("Open these verdicts as a study", {"do": "recorded"}, errand=True)
        parts.append(f'<div class="eh-row">{button}</div>')
    return "".join(parts)


# ---------------------------------------------------------------------- unknown table


def mapping_form(preview: StudyPreview) -> str:
    """Menu for the meaning of each column; a guess is shown but not applied until confirmed."""
    table = table_to_map(preview)
    if table is None:
        return ""
    study = preview.lenient_study
    saved = study.raw("data", "mapping")
    guess = guess_mapping(table.columns, table.rows)
    mapping = {str(k): str(v) for k, v in saved.items()} if isinstance(saved, Mapping) else guess
    rows = "".join(
        _column_row(table, column, mapping.get(column, "")) for column in column_names(table)
    )
    state = "saved with the study" if saved else "a guess, not applied yet"
    head = subheading("Meaning of the columns", state)
    use = "" if saved else form_button("Use these columns", {"do": "map", "mapping": guess})
    shown = comparisons_html(study, table, mapping)
    return f'{head}{rows}{_reading_row(preview, mapping)}{shown}<div class="eh-row">{use}</div>'


def _reading_row(preview: StudyPreview, mapping: Mapping[str, str]) -> str:
    """Menu for the verdict format of mapped replies; empty if no column holds replies."""
    if "reply" not in mapping.values():
        return ""
    chosen = str(preview.lenient_study.raw("data", "read") or "")
    stated = {"winner", "winner_index", "score"} & set(mapping.values())
    default = "from the mapped column" if stated else "detected from the replies"
    options = [("", default), *((name, name) for name in RecordedReplyReader.formats)]
    return form_row(
        "Verdicts", select_menu("data.read", options, chosen), "read from replies", to="data.read"
    )


def table_to_map(preview: StudyPreview) -> SourceTable | None:
    """The table of a source with a column mapping or of unknown format; else None."""
    study = preview.lenient_study
    mapped = bool(study.raw("data", "mapping"))
    if preview.records is not None and not mapped:
        return None
    table = source_table(study)
    known = table is not None and not mapped and matching_formats(table, Path(study.source))
    return None if known else table


def _column_row(table: SourceTable, column: str, field: str) -> str:
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
    short = example if len(example) <= 60 else example[:60] + " …"
    return form_row(
        column,
        select_menu(f"mapping.{column}", options, field),
        f"“{short}”",
        to=f"mapping.{column}",
    )


# ------------------------------------------------------------------------------- gaps


def _join_report(join: JoinReport) -> str:
    """Numbers of matched, missing, empty, duplicate, conflicting and unknown answers per file."""
    head = subheading("Join report", f"answers to {count(join.questions, 'question')}")
    kinds = [
        kind for kind in _JOIN_PROBLEMS if kind in ("missing", "empty") or join_total(join, kind)
    ]
    heads = "".join(f"<th>{escape(kind)}</th>" for kind in kinds)
    rows = "".join(
        f"<tr><td>{escape(one.contestant)}</td><td>{count(one.matched)}</td>"
        + "".join(f"<td>{_count_cell(getattr(one, kind))}</td>" for kind in kinds)
        + "</tr>"
        for one in join.files
    )
    table = (
        f'<table class="eh-jt"><thead><tr><th>model</th><th>found</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    on = f"Joined on {', '.join(join.on)}."
    if join.duplicate_questions:
        on += f" {count(join.duplicate_questions, 'question')} with the same key as another."
    return (
        f'{head}{table}<p class="hint">{escape(on)} '
        "Calls that need a missing answer are skipped.</p>"
        f"{_join_examples(join.files)}"
    )


def join_total(join: JoinReport, kind: str) -> int:
    return sum(getattr(one, kind) for one in join.files)


def _join_examples(files: Sequence[FileJoin]) -> str:
    lines = [
        f"<p>{escape(one.contestant)}, {escape(kind)}: {escape('; '.join(keys))}</p>"
        for one in files
        for kind, keys in (one.examples or {}).items()
        if keys
    ]
    if not lines:
        return ""
    return (
        "<details class='eh-how' data-keep='join examples'><summary>Examples</summary>"
        f"{''.join(lines)}</details>"
    )


def _coverage(preview: StudyPreview) -> str:
    """Table of found, missing and empty answers per contestant, if any are missing or empty."""
    names = [str(name) for name in _selected_contestants(preview)]
    found = [
        count_coverage(name, [item.responses.get(name) for item in preview.items]) for name in names
    ]
    if not any(one.missing or one.empty for one in found):
        return ""
    head = subheading("Coverage", f"of {count(len(preview.items), 'item')}")
    rows = "".join(_coverage_row(one) for one in found)
    return (
        f"{head}<table class='eh-jt'><thead><tr><th>model</th><th>found</th><th>missing</th>"
        f"<th>empty</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p class="hint">Calls that need a missing answer are skipped.</p>'
    )


def _selected_contestants(preview: StudyPreview) -> Sequence[Any]:
    named = preview.lenient_study.raw("contestants")
    return named if isinstance(named, list) and named else preview.contestants[:20]


def _coverage_row(one: ContestantCoverage) -> str:
    return (
        f"<tr><td>{escape(one.name)}</td><td>{count(one.found)}</td>"
        f"<td>{_count_cell(one.missing)}</td><td>{_count_cell(one.empty)}</td></tr>"
    )


def _count_cell(value: int) -> str:
    kind = "w" if value else "z"
    return f'<span class="{kind}">{count(value)}</span>'


def _skipped_notice(preview: StudyPreview) -> str:
    if preview.plan is None:
        return ""
    lines = [
        f"{one.prompt} is not used on {count(one.items, 'item')}: {one.why}."
        for one in count_skipped(preview.plan.prompts, preview.plan.items)
    ]
    return notice_html("calm", "Some items are skipped.", " ".join(lines[:4])) if lines else ""


# ----------------------------------------------------------------------------- one item


def item_html(preview: StudyPreview, view: FormState) -> str:
    n = len(preview.items)
    if not n:
        return ""
    at = min(view.item, n - 1)
    item = preview.items[at]
    where = " · ".join(part for part in (item.id, item.category) if part)
    head = (
        f'<div class="eh-sub"><b>{escape(f"Item {count(at + 1)} of {count(n)}")}</b>'
        f"<span>{escape(where)} {previous_next(at, n, 'item')}</span></div>"
    )
    answers = "".join(
        f"<p><b>{escape(name)}</b> {escape(_truncate(text, 220))}</p>"
        for name, text in sorted(item.responses.items())
    )
    many = count(len(item.responses), "answer")
    folded = (
        f"<details class='eh-how' data-keep='answers'><summary>{many}</summary>{answers}</details>"
    )
    words = escape(_truncate(item.instruction, _MAX_INSTRUCTION))
    question = f'<p class="eh-small eh-q" dir="auto">{words}</p>'
    return f"{head}{question}{_images_html(preview, item)}{folded}"


def _images_html(preview: StudyPreview, item: Item) -> str:
    if not item.images:
        return ""
    try:
        folder = image_folder(read_data_spec(preview.lenient_study), preview.lenient_study.folder)
    except EvenhandError:
        folder = None
    shown = images_html((load_image(path, folder) for path in item.images[:4]), "image")
    context = item.context if isinstance(item.context, str) else " ".join(item.context)
    description = f"Description, {count(len(context.split()), 'word')}: {_truncate(context, 140)}"
    below = (
        description
        if context.strip()
        else "No description: a judge without vision gets no information about the image."
    )
    return f'{shown}<p class="hint">{escape(below)}</p>'


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " …"
