"""The columns of a table as fields of the study: menus for their meaning and roles, and the first
comparisons as they would be read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from components.html import pieces, templates
from components.html.format import truncate
from components.html.markup import EMPTY, Markup
from components.study.file.lenient_study import LenientStudy
from components.study.form.prompts import prompt_protocols
from components.study.plan.idle_cache import RECORDS
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.verdicts.verdict import RecordedReplyReader
from studies.domain import HUMAN_PREFIX, Item, Judgement
from studies.errors import EvenhandError
from studies.files.table_formats.nested_columns import expand_nested_paths, list_nested_paths
from studies.files.tables import SourceTable, is_table_file, read_table, text_of
from studies.files.upload_names import hide_hashes
from studies.sources.detection.detect import matching_formats
from studies.sources.detection.mapping_guess import find_unused_winner_column, guess_mapping
from studies.sources.formats.any_table import MAPPING_FIELDS
from studies.sources.load import TABLE_FORMAT, LoadedSource, detect_format_and_read, source_path
from studies.spec.keys import DATA

html: Final = templates.macros("study/form/data_step/table_columns.html")
SHOWN: Final = 3
"""Number of comparisons in the preview."""
ANSWER_FIELD: Final = "responses."
_ROW_LAYOUTS: Final = frozenset({"contestant", "first", "second", "a", "b", "winner", "score"})
"""Fields that a mapping has only if each row of the table is one answer or one verdict."""
_ROWS_READ: Final = 60
_MAX_TEXT: Final = 160
_MAX_COLUMNS: Final = 60
_MAX_ANSWERS: Final = 6


def source_table(study: LenientStudy) -> SourceTable | None:
    """Read the table of a study's source; None if the source is not a single table, or cannot be
    read."""
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


def list_mappable_names(table: SourceTable) -> list[str]:
    """Names that can be mapped: the table's columns, then fields inside nested columns; at most
    _MAX_COLUMNS names."""
    return [*table.columns, *list_nested_paths(table)][:_MAX_COLUMNS]


def guessed_column_mapping(study: LenientStudy) -> dict[str, str]:
    """Guess the column mapping (column -> field); empty if the source is not a single table."""
    table = source_table(study)
    return guess_mapping(table.columns, table.rows) if table is not None else {}


def mappable_table(preview: StudyPreview) -> SourceTable | None:
    """The source's table, if its columns have a meaning that the user sets: the study file has a
    column mapping, or needs one, because the source was not loaded and no known format fits. Else
    None, also if the source is not a single table or cannot be read."""
    study = preview.lenient_study
    mapped = bool(study.value_in_file(*DATA.mapping))
    if preview.records is not None and not mapped:
        return None
    table = source_table(study)
    known = table is not None and not mapped and matching_formats(table, Path(study.source))
    return None if known else table


def current_mapping(preview: StudyPreview, table: SourceTable) -> dict[str, str]:
    """Column mapping of the study file; if the file has none, the guessed mapping."""
    saved = preview.lenient_study.value_in_file(*DATA.mapping)
    if isinstance(saved, Mapping):
        return {str(column): str(field) for column, field in saved.items()}
    return guess_mapping(table.columns, table.rows)


# ----------------------------------------------------------------------------- all columns


def mapping_form(preview: StudyPreview) -> Markup:
    """HTML menus for the meaning of each column; a guessed meaning is shown, but not used until it
    is confirmed. Empty if the source neither has nor needs a column mapping."""
    table = mappable_table(preview)
    if table is None:
        return EMPTY
    study, mapping = preview.lenient_study, current_mapping(preview, table)
    roles = offers_column_roles(preview)
    return html.mapping_form(
        [
            _describe_column(table, column, mapping.get(column, ""))
            for column in list_mappable_names(table)
        ],
        saved=bool(study.value_in_file(*DATA.mapping)),
        guess=guess_mapping(table.columns, table.rows),
        roles=roles,
        reading=str(study.value_in_file(*DATA.read) or ""),
        formats=_reply_format_choices(set(mapping.values())),
        shown=EMPTY if roles else _first_comparisons_html(study, table, mapping),
    )


def _reply_format_choices(fields: set[str]) -> list[tuple[str, str]]:
    """Choices (value, text) for how verdicts are written in the replies of the table; empty if no
    column holds replies. `fields`: the fields (meanings, such as "reply") that columns of the table
    are mapped to."""
    if "reply" not in fields:
        return []
    stated = {"winner", "winner_index", "score"} & fields
    default = "from the mapped column" if stated else "detected from the replies"
    return [("", default), *((name, name) for name in RecordedReplyReader.format_names)]


def _describe_column(
    table: SourceTable, column: str, field: str
) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Values of a column's row in the form: its name, the field it is mapped to, an example of its
    texts, and its menu: (field, text) for each field to which it can be mapped."""
    shown = expand_nested_paths(replace(table, rows=table.rows[:20]), [column]).rows
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
    return column, field, truncate(example, 60), options


def _first_comparisons_html(
    study: LenientStudy, table: SourceTable, mapping: Mapping[str, str]
) -> Markup:
    """HTML of the first three comparisons read with a mapping, or the reason why there are none."""
    try:
        found = _read_first_rows(study, table, mapping)
    except EvenhandError as error:
        text = hide_hashes(str(error))
        return pieces.notice_html("warn", "These columns cannot be read yet.", text[:400])
    items = {item.id: item for item in found.items}
    if found.judgements:
        shown = [_describe_judgement(j, items.get(j.ask.item)) for j in found.judgements[:SHOWN]]
    else:
        shown = [(item, list(item.responses.items()), "") for item in found.items[:SHOWN]]
    return html.first_comparisons(shown, bool(found.judgements), _MAX_TEXT)


def _read_first_rows(
    study: LenientStudy, table: SourceTable, mapping: Mapping[str, str]
) -> LoadedSource:
    spec = read_data_spec(study)
    start = replace(table, rows=table.rows[:_ROWS_READ])
    mapped = replace(spec, format=TABLE_FORMAT, mapping=dict(mapping))
    return detect_format_and_read(mapped, source_path(spec, study.folder), study.folder, start)


def _describe_judgement(
    judgement: Judgement, item: Item | None
) -> tuple[Item | None, list[tuple[str, str | None]], str]:
    """Content of a recorded judgement: its item, the answers in the order shown as (label, text),
    and a sentence with the rater and the verdict. The labels are numbered, or begin with "?" if the
    order is not known."""
    ask, verdict = judgement.ask, judgement.verdict
    answers: Mapping[str, Any] = item.responses if item else {}
    single = len(ask.shown) == 1
    listed = [
        ("" if single else f"{slot}. " if ask.orders else "? ") + name
        for slot, name in enumerate(ask.shown, 1)
    ]
    if verdict is None:
        said = f"no usable verdict ({judgement.status})"
    elif verdict.pick is None:
        said = f"score {', '.join(f'{score:g}' for score in verdict.scores)}"
    else:
        said = "tie" if verdict.pick == "tie" else f"{ask.shown[verdict.pick]} wins"
    kind = "Vote of" if ask.judge.startswith(HUMAN_PREFIX) else "Verdict of"
    texts = [answers.get(name) for name in ask.shown]
    words = f"{kind} {ask.judge.removeprefix(HUMAN_PREFIX)}: {said}"
    return item, list(zip(listed, texts, strict=True)), words


# ------------------------------------------------------------------------------- roles


def offers_column_roles(preview: StudyPreview) -> bool:
    """Whether the form offers menus that choose a column for each role: the source is a table whose
    columns the user sets, and each of its rows is a question with its answers."""
    table = mappable_table(preview)
    return table is not None and not _ROW_LAYOUTS & set(current_mapping(preview, table).values())


def column_roles_html(preview: StudyPreview) -> Markup:
    """HTML menus that choose a column for each role: question, the answer of each model, known
    better answer, label by people; for rows with a single answer, the answer's label. Empty for a
    source in a known format, and for a table that has one verdict, or one of several answers, per
    row."""
    table = mappable_table(preview)
    if table is None or not offers_column_roles(preview):
        return EMPTY
    mapping = current_mapping(preview, table)
    columns = {field: column for column, field in reversed(mapping.items())}
    answers = _answer_fields(mapping)
    least = _count_answers_needed(preview, mapping)
    labels = [("Known better answer", "gold", False), ("Label by people", "human", False)]
    if len(answers) <= 1 == least:
        labels = [("Label of the answer", "label", False)]
    roles = [
        ("Question", "instruction", True),
        *((f"Answer of {name}" if name != "answer" else "Answer", f"{ANSWER_FIELD}{name}", True)
          for name in (field.removeprefix(ANSWER_FIELD) for field in answers[:_MAX_ANSWERS])),
        *((f"Answer of model {k}", f"answer.{k}", True)
          for k in range(len(answers) + 1, least + 1)),
        *labels,
    ]  # fmt: skip
    menus = [(label, role, needed, columns.get(role, "")) for label, role, needed in roles]
    names = [(name, name) for name in list_mappable_names(table)]
    saved = bool(preview.lenient_study.value_in_file(*DATA.mapping))
    guessed = mapping == guess_mapping(table.columns, table.rows)
    unused = find_unused_winner_column(table.columns, mapping) if len(answers) > 1 else ""
    return html.roles(menus, names, saved, guessed, unused)


def missing_column_roles(preview: StudyPreview) -> list[str]:
    """Required roles without a column ("the question", "the answer of model 2"), for a table with a
    question and answers in each row; empty for any other source."""
    table = mappable_table(preview)
    if table is None or not offers_column_roles(preview):
        return []
    mapping = current_mapping(preview, table)
    have, least = len(_answer_fields(mapping)), _count_answers_needed(preview, mapping)
    missing = [] if "instruction" in mapping.values() else ["the question"]
    return [*missing, *(f"the answer of model {place}" for place in range(have + 1, least + 1))]


def _count_answers_needed(preview: StudyPreview, mapping: Mapping[str, str]) -> int:
    """Number of answers that a question needs: 1 if the column of their labels is known, or all
    prompts judge one answer; else 2."""
    single = prompt_protocols(preview.lenient_study) == {"single"}
    return 1 if "label" in mapping.values() or single else 2


def _answer_fields(mapping: Mapping[str, str]) -> list[str]:
    return [field for field in mapping.values() if field.startswith(ANSWER_FIELD)]
