"""What was found in the records: their format and why, how files joined, one item to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
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
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.planning.eligibility import count_skipped
from studies.domain import Item
from studies.errors import EvenhandError
from studies.files.tables import SourceTable, is_table_file, read_table, text_of
from studies.sources.detect import matching_formats
from studies.sources.formats.any_table import MAPPING_FIELDS
from studies.sources.join import FileJoin, JoinReport
from studies.sources.load import image_folder, source_path
from studies.sources.mapping_guess import guess_mapping
from studies.texts.slice_statistics import ContestantCoverage, count_coverage

_MAX_INSTRUCTION: Final = 420
_SHARDS_NOTE: Final = (
    "The verdicts stay in their folder until they are opened. A run of this study asks its own "
    "judges about the same items; the folder's verdicts are no part of it."
)
_JOIN_PROBLEMS: Final = ("missing", "empty", "duplicate", "conflicting", "unknown")


def records_html(bench: StudyPreview, view: FormState) -> str:
    """Everything below the slice: what was detected, what did not fit, one of the items."""
    parts = [_error_notice(bench), _detected_format(bench), mapping_form(bench)]
    if bench.records is not None:
        join = bench.records.join
        parts.append(_join_report(join) if join else _coverage(bench))
        parts.append(_skipped_notice(bench))
        parts.append(item_html(bench, view))
    return "".join(parts)


def _error_notice(bench: StudyPreview) -> str:
    if not bench.data_error:
        return ""
    if not bench.lenient_study.raw("data", "mapping") and table_to_map(bench):
        told = "Say below what its columns are; the guess is ours, and waits for your word."
        why = escape(with_original_name(bench, bench.data_error))
        return notice_html("warn", "No known format.", told) + (
            "<details class='eh-how eh-notes' data-keep='seen'><summary>What was seen</summary>"
            f"<p>{why}</p></details>"
        )
    return notice_html(
        "bad", "These records cannot be used yet.", with_original_name(bench, bench.data_error)
    )


def with_original_name(bench: StudyPreview, words: str) -> str:
    """An uploaded file under the name that its owner gave it."""
    kept = PurePath(bench.lenient_study.source).name
    return words.replace(kept, original_file_name(bench.lenient_study.source))


def _detected_format(bench: StudyPreview) -> str:
    """What the file is, why we think so, and what it cannot give."""
    if bench.records is None or bench.lenient_study.source == "probe":
        return ""
    found = bench.records
    verdicts = f" and {count(found.verdicts, 'recorded verdict')}" if found.verdicts else ""
    why = with_original_name(bench, found.format_reason)
    told = f"**{found.format}**: {count(len(found.items), 'item')}{verdicts}. {why}."
    parts = [f'<p class="hint eh-found">{inline_markup(told)}</p>']
    if found.disabled_metrics:
        names = ", ".join(found.disabled_metrics)
        why = next(iter(found.disabled_metrics.values()))
        parts.append(notice_html("warn", "Without an order shown.", f"{why} Off: {names}."))
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


# --------------------------------------------------------------------- an unknown table


def mapping_form(bench: StudyPreview) -> str:
    """Column by column: what it is. The guess is shown, never applied by itself."""
    table = table_to_map(bench)
    if table is None:
        return ""
    said = bench.lenient_study.raw("data", "mapping")
    guess = guess_mapping(table.columns, table.rows)
    mapping = {str(k): str(v) for k, v in said.items()} if isinstance(said, Mapping) else guess
    rows = "".join(
        _column_row(table, column, mapping.get(column, "")) for column in table.columns[:60]
    )
    state = "saved with the study" if said else "a guess, not applied yet"
    head = subheading("What the columns are", state)
    use = "" if said else form_button("Read the table this way", {"do": "map", "mapping": guess})
    return f'{head}{rows}<div class="eh-row">{use}</div>'


def table_to_map(bench: StudyPreview) -> SourceTable | None:
    """The table of a source that is mapped by the study, or that no format knows."""
    sheet = bench.lenient_study
    if sheet.source.startswith("hub:") or sheet.source == "probe":
        return None
    if bench.records is not None and not sheet.raw("data", "mapping"):
        return None
    try:
        path = source_path(read_data_spec(sheet), sheet.folder)
        if not path.is_file() or not is_table_file(path):
            return None
        table = _read_cached(path, path.stat().st_mtime_ns)
    except EvenhandError:
        return None
    known = not sheet.raw("data", "mapping") and matching_formats(table, path)
    return None if known else table


@lru_cache(maxsize=4)
def _read_cached(path: Path, stamp: int) -> SourceTable:
    return read_table(path)


def _column_row(table: SourceTable, column: str, field: str) -> str:
    examples = (text_of(one.get(column)).strip() for one in table.rows[:20])
    example = next((text for text in examples if text), "empty")
    options = [
        ("", "not used"),
        (f"responses.{column}", f"answers of {column}"),
        *((name, f"{name}: {told}") for name, told in MAPPING_FIELDS.items()),
        (f"meta.{column}", f"meta.{column}: for filters"),
    ]
    if field.startswith("responses.") and field != f"responses.{column}":
        options.insert(1, (field, f"answers of {field[10:]}"))
    short = example if len(example) <= 60 else example[:60] + " …"
    return form_row(column, select_menu(f"mapping.{column}", options, field), f"“{short}”",
               to=f"mapping.{column}")  # fmt: skip


# ---------------------------------------------------------------------- what did not fit


def _join_report(join: JoinReport) -> str:
    """Matched, missing, duplicate, empty, conflicting: said before a cent is spent."""
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
        f'<table class="eh-jt"><thead><tr><th>contestant</th><th>found</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    on = f"Joined on {', '.join(join.on)}."
    if join.duplicate_questions:
        on += f" {count(join.duplicate_questions, 'question')} with the key of another."
    return (
        f'{head}{table}<p class="hint">{escape(on)} Items without an answer are not asked.</p>'
        + (_join_examples(join.files))
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


def _coverage(bench: StudyPreview) -> str:
    """Who answered how many of the items of the slice."""
    names = [str(name) for name in _selected_contestants(bench)]
    found = [
        count_coverage(name, [item.responses.get(name) for item in bench.items]) for name in names
    ]
    if not any(one.missing or one.empty for one in found):
        return ""
    head = subheading("Coverage", f"of {count(len(bench.items), 'item')}")
    rows = "".join(_coverage_row(one) for one in found)
    return (
        f"{head}<table class='eh-jt'><thead><tr><th>contestant</th><th>found</th><th>missing</th>"
        f"<th>empty</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p class="hint">Comparisons on items that lack an answer are not asked.</p>'
    )


def _selected_contestants(bench: StudyPreview) -> Sequence[Any]:
    named = bench.lenient_study.raw("contestants")
    return named if isinstance(named, list) and named else bench.contestants[:20]


def _coverage_row(one: ContestantCoverage) -> str:
    return (
        f"<tr><td>{escape(one.name)}</td><td>{count(one.found)}</td>"
        f"<td>{_count_cell(one.missing)}</td><td>{_count_cell(one.empty)}</td></tr>"
    )


def _count_cell(value: int) -> str:
    kind = "w" if value else "z"
    return f'<span class="{kind}">{count(value)}</span>'


def _skipped_notice(bench: StudyPreview) -> str:
    if bench.plan is None:
        return ""
    lines = [
        f"{one.prompt} is not asked on {count(one.items, 'item')}: {one.why}."
        for one in count_skipped(bench.plan.prompts, bench.plan.items)
    ]
    return notice_html("calm", "Skipped, not failed.", " ".join(lines[:4])) if lines else ""


# -------------------------------------------------------------------------- one of the items


def item_html(bench: StudyPreview, view: FormState) -> str:
    n = len(bench.items)
    if not n:
        return ""
    at = min(view.item, n - 1)
    item = bench.items[at]
    where = " · ".join(part for part in (item.id, item.category) if part)
    head = (
        f'<div class="eh-sub"><b>{escape(f"{count(at + 1)} of the {count(n)}")}</b>'
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
    return (
        f'{head}<p class="eh-small eh-q" dir="auto">{words}</p>{_images_html(bench, item)}{folded}'
    )


def _images_html(bench: StudyPreview, item: Item) -> str:
    if not item.images:
        return ""
    try:
        folder = image_folder(read_data_spec(bench.lenient_study), bench.lenient_study.folder)
    except EvenhandError:
        folder = None
    shown = images_html((load_image(path, folder) for path in item.images[:4]), "image")
    context = item.context if isinstance(item.context, str) else " ".join(item.context)
    told = f"Description, {count(len(context.split()), 'word')}: {_truncate(context, 140)}"
    below = (
        told if context.strip() else "No description: a judge that cannot see has nothing to go by."
    )
    return f'{shown}<p class="hint">{escape(below)}</p>'


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " …"
