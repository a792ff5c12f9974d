"""Preview of a column mapping: the first comparisons of a table as they would be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from components.html.format import count, truncate
from components.html.markup import Markup, fill, join
from components.html.pieces import notice_html
from components.study.file.controls import subheading
from components.study.file.lenient_study import LenientStudy
from components.study.plan.idle_cache import RECORDS
from components.study.plan.study_preview import read_data_spec
from studies.domain import HUMAN_PREFIX, Item, Judgement
from studies.errors import EvenhandError
from studies.files.table_formats.nested_columns import nested_names
from studies.files.tables import SourceTable, is_table_file, read_table
from studies.files.upload_names import hide_hashes
from studies.sources.detection.mapping_guess import guess_mapping
from studies.sources.load import TABLE_FORMAT, LoadedSource, read_source, source_path

SHOWN: Final = 3
"""Number of comparisons in the preview."""
_ROWS_READ: Final = 60
_MAX_TEXT: Final = 160
_MAX_COLUMNS: Final = 60


def source_table(study: LenientStudy) -> SourceTable | None:
    """Read the table of a study's source; None if the source is not a single table."""
    if study.source.startswith("hub:") or study.source == "probe":
        return None
    try:
        path = source_path(read_data_spec(study), study.folder)
        if not path.is_file() or not is_table_file(path):
            return None
        stamp = path.stat().st_mtime_ns
        return RECORDS.compute_once(("table", path), stamp, lambda: read_table(path))
    except EvenhandError:
        return None


def column_names(table: SourceTable) -> list[str]:
    """Names that can be mapped: the table's columns, and fields inside nested columns."""
    return [*table.columns, *nested_names(table)][:_MAX_COLUMNS]


def guessed_mapping(study: LenientStudy) -> dict[str, str]:
    """Guess the column mapping (column -> field); empty if the source is not a single table."""
    table = source_table(study)
    return guess_mapping(table.columns, table.rows) if table is not None else {}


def comparisons_html(study: LenientStudy, table: SourceTable, mapping: Mapping[str, str]) -> Markup:
    """HTML of the first three comparisons read with a mapping, or the reason why there are none."""
    try:
        found = _read_start(study, table, mapping)
    except EvenhandError as error:
        text = hide_hashes(str(error))
        return notice_html("warn", "These columns cannot be read yet.", text[:400])
    items = {item.id: item for item in found.items}
    if found.judgements:
        shown = [_judgement_html(j, items.get(j.ask.item)) for j in found.judgements[:SHOWN]]
        head = subheading("First comparisons", "the first comparisons as read from these columns")
    else:
        shown = [_item_html(item) for item in found.items[:SHOWN]]
        head = subheading(
            "First items",
            "the first items as read from these columns; no column is chosen as the verdict",
        )
    return head + join(shown)


def _read_start(
    study: LenientStudy, table: SourceTable, mapping: Mapping[str, str]
) -> LoadedSource:
    spec = read_data_spec(study)
    path = source_path(spec, study.folder)
    start = replace(table, rows=table.rows[:_ROWS_READ])
    return read_source(
        replace(spec, format=TABLE_FORMAT, mapping=dict(mapping)), path, study.folder, start
    )


def _judgement_html(judgement: Judgement, item: Item | None) -> Markup:
    ask, verdict = judgement.ask, judgement.verdict
    answers = item.responses if item else {}
    listed = join(
        _answer_html(f"{_place(slot, len(ask.shown), bool(ask.orders))}{name}", answers.get(name))
        for slot, name in enumerate(ask.shown)
    )
    if verdict is None:
        said = f"no usable verdict ({judgement.status})"
    elif verdict.pick is None:
        said = f"score {', '.join(f'{score:g}' for score in verdict.scores)}"
    else:
        said = "tie" if verdict.pick == "tie" else f"{ask.shown[verdict.pick]} wins"
    kind = "Vote of" if ask.judge.startswith(HUMAN_PREFIX) else "Verdict of"
    who = ask.judge.removeprefix(HUMAN_PREFIX)
    return fill("{}{}<p>{}</p>", _question_html(item), listed, f"{kind} {who}: {said}")


def _answer_html(name: str, text: str | None) -> Markup:
    return (
        fill("<p><b>{}</b> {}</p>", name, truncate(text, _MAX_TEXT))
        if text
        else fill("<p>{}</p>", name)
    )


def _place(slot: int, shown: int, known: bool) -> str:
    if shown == 1:
        return ""
    return f"{slot + 1}. " if known else "? "


def _item_html(item: Item) -> Markup:
    answers = join(_answer_html(name, text) for name, text in item.responses.items())
    return fill(
        "{}{}<p>{}</p>", _question_html(item), answers, count(len(item.responses), "answer")
    )


def _question_html(item: Item | None) -> Markup:
    text = item.instruction if item and item.instruction else "the table contains no question"
    return fill('<p class="eh-small eh-q" dir="auto">{}</p>', truncate(text, _MAX_TEXT))
