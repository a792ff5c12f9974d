"""Studies of the library: read from a file or a store, or built from a table in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evenhand.extras import report_missing_extra
from evenhand.table_input import (
    COLUMN_NAMES,
    as_table,
    find_columns,
    mapping_of_score_table,
    name_arguments_in_errors,
    to_source_table,
)
from metrics.estimation import row_selection
from metrics.remedies.known_winners import DESIGN, PEOPLE
from metrics.summary.measured_study import MeasuredStudy, is_sqlite_file, read_results
from metrics.summary.remedy_section import RemedyInputs
from studies.domain import BY_DESIGN, Item, Preference
from studies.errors import SourceError
from studies.exchange.unsaved_study import frame_from_source, has_answers_known_by_design
from studies.files.upload_names import name_without_ending
from studies.frames.battle_frame import find_item_column, frame_from_battles
from studies.frames.frame import NO_PICK, TIE, has_known_answers
from studies.frames.known_answers import KnownAnswerSource
from studies.sources.detection.detect import matching_formats
from studies.sources.load import LoadedSource, detect_format_and_read, load_source
from studies.spec.study import DataSpec
from studies.terminal import escape_control

BATTLE_COLUMNS: Final = (("model_a", "model_b"), ("first", "second"))
"""Pairs of column names for the two contestants in a CSV of battles, in the order shown."""
_REQUIRED: Final = ("first", "second", "winner")


@dataclass(frozen=True, eq=False)
class JudgedStudy:
    """A study with its verdicts, ready to be measured.

    `known_answer_source` states how the better answers are known: "design", "people" or "none".
    `store` is the file of the store from which the study was read (None for tables and logs);
    `source` describes the log file from which it was read (None otherwise). `items` are the
    questions and answers, as far as they were read; they are empty for a study from a store. A
    study with items can be run (`evenhand.run`)."""

    measured: MeasuredStudy
    name: str
    known_answer_source: KnownAnswerSource = "none"
    store: Path | None = None
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    source: DataSpec | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The table that all measures are computed from: one row for each judgement."""
        return self.measured.frame

    @property
    def judges(self) -> list[str]:
        """Names of the model judges."""
        machine = ~row_selection.people_mask(self.frame)
        return sorted(set(self.frame["judge"][machine].astype(str)))

    def __repr__(self) -> str:
        items = row_selection.resampling_unit(self.frame).nunique() if len(self.frame) else 0
        judges = ", ".join(self.judges) or "none"
        return escape_control(
            f"<study {self.name!r}: {len(self.frame):,} judgements on {items:,} items; "
            f"judges: {judges}>"
        )


@report_missing_extra
def read(
    source: str | Path,
    study: str | None = None,
    *,
    format: str = "auto",
    mapping: Mapping[str, str] | None = None,
    words: Mapping[Any, str] | None = None,
) -> JudgedStudy:
    """Read a study from a file: a store, a CSV of battles (one comparison of two models in each
    row), or a log in any format that Evenhand imports. SourceError for any other file, and for a
    log without verdicts. If a store has several studies, `study` names the one to read. Reading
    a store requires the extra `run`.

    `format` names the format of a log ("auto": it is detected). `mapping` is column -> field of
    docs/formats.md, for a table of no known format; a column may be a path into nested cells.
    `words`, only for a CSV of battles, states what other words for the winner mean (see
    `study`)."""
    path = Path(source).expanduser()
    if path.is_file() and is_sqlite_file(path):
        return _study_from_store(path, study)
    plain = format == "auto" and not mapping
    header = _csv_header(path) if plain else ()
    if any({*pair, "winner"} <= {*header} for pair in BATTLE_COLUMNS):
        return _study_from_battles(path, words)
    if not mapping and header:
        mapping = mapping_of_score_table(find_columns(pd.DataFrame(columns=[*header])), header)
    spec = DataSpec(
        str(path.resolve()) if path.exists() else str(source), format, mapping=dict(mapping or {})
    )
    with name_arguments_in_errors():
        loaded = load_source(spec, Path())
    return replace(_study_from_source(loaded, name_without_ending(path.name)), source=spec)


def study(
    table: Any,
    *,
    item: str | None = None,
    first: str | None = None,
    second: str | None = None,
    winner: str | None = None,
    judge: str | None = None,
    prompt: str | None = None,
    category: str | None = None,
    truth: str | None = None,
    question: str | None = None,
    first_answer: str | None = None,
    second_answer: str | None = None,
    mapping: Mapping[str, str] | None = None,
    words: Mapping[Any, str] | None = None,
    name: str = "table",
) -> JudgedStudy:
    """Build a study from a table with one verdict in each row: a DataFrame of pandas or polars, an
    Arrow table, a dictionary of columns or a list of dictionaries. SourceError for any other
    value, a missing column or an invalid cell.

    The arguments from `item` to `second_answer` are names of columns; without them, columns with
    usual names are found. `item`: which question a row is about; `judge`, `prompt`, `category`:
    their names; `first` and `second`: the models whose answers were shown first and second;
    `winner`: one of the two models, or `first`, `second`, `A`, `B`, `model_a`, `[[A]]` or `tie`
    (empty for a reply without a verdict); `truth`: the better answer, written like the winner;
    `question`, `first_answer`, `second_answer`: the texts.

    `words` states what other words for the winner mean, such as {0: "first", 1: "second"}. If
    the table lacks `first`, `second` or `winner`, or a `mapping` (as in `read`) is given, the
    table is read like a file with the same columns (such as `verdict` and `label`), and `words`
    has no effect."""
    rows = as_table(table)
    named = {
        "item": item, "first": first, "second": second, "winner": winner, "judge": judge,
        "prompt": prompt, "category": category, "truth": truth, "question": question,
        "first_answer": first_answer, "second_answer": second_answer,
    }  # fmt: skip
    columns = find_columns(rows, named)
    if mapping or not {*_REQUIRED} <= columns.keys():
        given = [role for role, column in named.items() if column is not None]
        return _study_from_source_columns(rows, columns, mapping, name, given)
    return _study_from_rows(rows, columns, words, name)


def as_study(data: Any) -> JudgedStudy:
    """Return a study unchanged; convert a table (as `study` does) or a file (as `read` does) to a
    study."""
    if isinstance(data, JudgedStudy):
        return data
    return read(data) if isinstance(data, str | Path) else study(data)


def _study_from_rows(
    rows: pd.DataFrame, columns: dict[str, str], words: Mapping[Any, str] | None, name: str
) -> JudgedStudy:
    """Build a study from a table with one battle (a comparison of two models) in each row.
    `columns`: role of a column, such as "winner" (see COLUMN_NAMES) -> its name in the table.
    `words` states what other words for the winner mean."""
    roles = {"first": "model_a", "second": "model_b"}
    kept = ("item", "first", "second", "winner", "judge", "prompt", "category", "truth")
    table = pd.DataFrame(
        {roles.get(role, role): rows[columns[role]] for role in kept if role in columns}
    )
    frame = judgement_frame(table, words)
    known = has_known_answers(frame)
    inputs = RemedyInputs(source=DESIGN if known else None)
    return JudgedStudy(
        MeasuredStudy(frame, name, remedies=inputs),
        name,
        "design" if known else "none",
        items=tuple(_list_items(rows, columns, frame)),
        notes=(
            *_notes_on_item_grouping(frame, columns.get("item", "")),
            *_note_on_unused_columns(rows.columns.difference([*columns.values()], sort=False)),
        ),
    )


def judgement_frame(table: pd.DataFrame, words: Mapping[Any, str] | None = None) -> pd.DataFrame:
    """Build the table that measures read (one row for each judgement) from a table of battles (see
    `frame_from_battles`). `words` states what other words for the winner mean. SourceError if a
    column is missing or a cell is invalid."""
    try:
        return frame_from_battles(table, {str(k): str(v) for k, v in (words or {}).items()})
    except ValueError as error:
        raise SourceError(str(error)) from None


def _notes_on_item_grouping(frame: pd.DataFrame, column: str) -> tuple[str, ...]:
    """Return a note for the user if each row counts as an item of its own, or if the rows were
    grouped into items by a column that is not named `item`; otherwise an empty tuple. `column`
    is the column found for the items, "" if there is none."""
    if len(frame) < 2 or frame["item"].nunique() < len(frame):
        return () if column in ("", "item") else (f"items: the column {column!r}",)
    why = f"{column!r} differs in every row" if column else "no column says which item it is about"
    names = ", ".join(COLUMN_NAMES["item"])
    return (
        f"each row counts as an item of its own, because {why}; name the column with item='…' "
        f"(found by themselves: {names})",
    )


def _note_on_unused_columns(columns: Iterable[Any]) -> tuple[str, ...]:
    """Return a note that names the columns of a table that were not read; empty without any."""
    names = ", ".join(map(str, columns))
    how = "name them with arguments such as truth='…', or with mapping={column: field}"
    return (f"columns not used: {names}; {how} (docs/formats.md)",) if names else ()


def _study_from_source_columns(
    rows: pd.DataFrame,
    columns: dict[str, str],
    mapping: Mapping[str, str] | None,
    name: str,
    given: list[str],
) -> JudgedStudy:
    """Build a study from a table that is read like a file with the same columns; `mapping` (column
    -> field) states what the columns mean, if it is given. SourceError if no format fits; the
    message names the missing columns, for which `columns` (role -> column) and `given` (roles
    that the caller named) are needed."""
    table = to_source_table(rows, name)
    mapping = mapping or mapping_of_score_table(columns, table.columns)
    missing = [role for role in _REQUIRED if role not in columns]
    if not mapping and (given or not matching_formats(table, Path(name))):
        raise SourceError(
            f"the table has no column for {', '.join(missing)}; name it, for example "
            f"{missing[0]}='…', or say what the columns mean with mapping={{column: field}} "
            f"(docs/formats.md). Its columns: {', '.join(table.columns)}"
        )
    spec = DataSpec(name, mapping=dict(mapping))
    with name_arguments_in_errors():
        loaded = detect_format_and_read(spec, Path(name), Path(), table)
    return _study_from_source(loaded, name)


def _list_items(
    table: pd.DataFrame, columns: dict[str, str], frame: pd.DataFrame
) -> Iterable[Item]:
    """Yield the items (question, answers and known better answers) of a table of battles; none
    unless `columns` (role -> column) has item, question and both answers. `frame` has the
    judgements of the same rows."""
    wanted = ("question", "first_answer", "second_answer")
    if not all(role in columns for role in ("item", *wanted)):
        return
    answers: dict[str, dict[str, str]] = {}
    better: dict[str, dict[tuple[str, ...], Preference]] = {}
    questions: dict[str, str] = {}
    texts = [table[columns[role]].fillna("").astype(str) for role in wanted]
    names = [frame[role].astype(str) for role in ("item", "first", "second")]
    rows = zip(*names, frame["known_answer"], *texts, strict=True)
    for item, first, second, slot, question, *pair in rows:
        questions.setdefault(item, question)
        answers.setdefault(item, {}).update(dict(zip((first, second), pair, strict=True)))
        if slot != NO_PICK:
            pair_names = tuple(sorted((first, second)))
            picked = "tie" if slot == TIE else (first, second)[slot]
            better.setdefault(item, {})[pair_names] = Preference(BY_DESIGN, pair_names, picked)
    for item, question in questions.items():
        human = tuple(better.get(item, {}).values())
        yield Item(item, question, answers[item], human=human)


# ------------------------------------------------------------------------------ files


def _csv_header(path: Path) -> tuple[str, ...]:
    """Return the column names of a CSV file; empty for any other file, or if it cannot be read."""
    if path.suffix.casefold() != ".csv" or not path.is_file():
        return ()
    try:
        return tuple(map(str, pd.read_csv(path, nrows=0).columns))
    except (ValueError, UnicodeDecodeError):
        return ()


def _study_from_store(path: Path, name: str | None) -> JudgedStudy:
    measured = read_results(path, name)
    source: KnownAnswerSource = "people" if measured.remedies.source == PEOPLE else "design"
    known = has_known_answers(measured.frame)
    return JudgedStudy(measured, measured.name, source if known else "none", path.resolve())


def _study_from_battles(path: Path, words: Mapping[Any, str] | None) -> JudgedStudy:
    """Read a CSV of battles (one comparison of two models in each row); its measures are those that
    `python -m metrics FILE` prints. `words` states what other words for the winner mean.
    SourceError for an invalid file."""
    try:
        measured = read_results(path, words={str(k): str(v) for k, v in (words or {}).items()})
    except ValueError as error:
        raise SourceError(str(error)) from None
    column = find_item_column(pd.read_csv(path, nrows=0))
    source: KnownAnswerSource = "design" if measured.remedies.source else "none"
    notes = _notes_on_item_grouping(measured.frame, column)
    notes += _note_on_unused_columns(measured.unused_columns)
    return JudgedStudy(measured, path.stem, source, notes=notes)


def _study_from_source(loaded: LoadedSource, name: str) -> JudgedStudy:
    if loaded.shards is not None:
        raise SourceError(
            "a folder of Parquet shards is read through a store: evenhand import FOLDER, then "
            "read the store"
        )
    frame = frame_from_source(loaded, name)
    if not len(frame):
        raise SourceError(f"{name}: {len(loaded.items):,} items without verdicts; run a judge")
    designed = has_answers_known_by_design(loaded.items)
    known = has_known_answers(frame)
    inputs = RemedyInputs(source=(DESIGN if designed else PEOPLE) if known else None)
    measured = MeasuredStudy.from_rows(frame, name, loaded.items, inputs)
    source: KnownAnswerSource = ("design" if designed else "people") if known else "none"
    return JudgedStudy(measured, name, source, items=tuple(loaded.items), notes=loaded.notes)
