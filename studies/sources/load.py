"""Load the items and recorded verdicts of a study's `data` block, and select the items that
the study uses (its slice)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from studies.domain import HUMAN_PREFIX, Item, Judgement
from studies.errors import SourceError, StudyError
from studies.files.read_limits import current_limits
from studies.files.table_formats import nested_columns
from studies.files.tables import SourceTable, is_table_file, read_table, rename_columns, text_of
from studies.sources import folder_tables, hub, reply_reading, slice_selection
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import ORDER_NOT_RECORDED, POSITION_METRICS
from studies.sources.cells import TracedRow
from studies.sources.detection import detect
from studies.sources.formats import any_table, inspect_log
from studies.sources.formats.creation_mmbench import TEXT_ONLY_SPLIT
from studies.sources.join import JoinReport
from studies.sources.source_format import OpenedSource, SourceFormat
from studies.spec.records_folder import check_source_variable, expand_records_variable
from studies.spec.study import DataSpec
from studies.texts.counts import count
from studies.texts.repeated_answers import describe_repeated_answers, mark_repeated_answers

if TYPE_CHECKING:
    from studies.files.shards import ShardContents

ASSETS_FOLDER: Final = Path(__file__).resolve().parents[2] / "assets"
TABLE_FORMAT: Final = "table"
MAX_NOTES: Final = 12
BUILT_IN_SOURCES: Final = {"probe": ASSETS_FOLDER / "probe" / "items.jsonl"}
_HOW_TO_USE: Final = (
    "to use one, map it to a field (docs/formats.md) in data.mapping with format table, such as a "
    "column of votes by people to 'human'"
)
BUILT_IN_FORMAT: Final = "evenhand"
"""Format of the built-in sources, which is therefore not searched for."""


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """Items and verdicts of a source, with its format, join report and notes."""

    items: list[Item]
    judgements: list[Judgement]
    """Recorded verdicts; they get their keys when a study is saved."""
    format: str
    format_reason: str
    join: JoinReport | None = None
    order_known: bool = True
    disabled_metrics: Mapping[str, str] = field(default_factory=dict)
    """Metric -> reason why it cannot be computed from these verdicts."""
    notes: tuple[str, ...] = ()
    revision: str = ""
    """Commit of the Hub dataset that was read; empty for other sources."""
    shards: ShardContents | None = None
    """Summary of the verdicts in a folder of shards (result files); None for other sources. The
    verdicts themselves are read when the study is saved."""

    @property
    def verdict_count(self) -> int:
        """Number of recorded verdicts."""
        return self.shards.rows if self.shards else len(self.judgements)

    @property
    def amount_in_words(self) -> str:
        """Numbers of items and of recorded verdicts (with votes by people), in words."""
        return f"{count(len(self.items), 'item')}, {count(self.verdict_count, 'recorded verdict')}"

    def summary_lines(self) -> list[str]:
        """Return a summary of the items and verdicts read, as lines of text."""
        lines = [f"{self.format}: {self.format_reason}", *(self.join.lines() if self.join else ())]
        lines.append(self.amount_in_words)
        if self.disabled_metrics:
            reason = next(iter(self.disabled_metrics.values()))
            lines.append(f"disabled, because {reason}: {', '.join(self.disabled_metrics)}")
        return lines + [f"note: {note}" for note in self.notes]

    def pin_revision(self, spec: DataSpec) -> DataSpec:
        """Return the spec with the commit that was read added to the address of a Hub dataset, so
        that the study can be reproduced; unchanged for any other source."""
        if not self.revision:
            return spec
        return replace(spec, source=f"{spec.source.partition('@')[0]}@{self.revision}")

    def select_slice(self, spec: DataSpec) -> LoadedSource:
        """Return the source with only the items that the study uses (its slice) and the verdicts on
        them. If the verdicts are in shards, which are read only when the study is saved, the
        summary `shards` still counts all of them."""
        items = slice_selection.select_slice(self.items, spec)
        selected = {item.id for item in items}
        return replace(
            self, items=items, judgements=[j for j in self.judgements if j.ask.item in selected]
        )


def source_path(spec: DataSpec, folder: Path) -> Path:
    """Return the path of a source: a built-in file, or a path relative to `folder`; SourceError if
    it begins with the home folder of an unknown user (`~name`)."""
    if spec.source in BUILT_IN_SOURCES:
        return BUILT_IN_SOURCES[spec.source]
    try:
        return folder / Path(expand_records_variable(spec.source)).expanduser()
    except RuntimeError:
        raise SourceError(
            f"data.source: {spec.source!r}: no such user on this machine; write the whole path"
        ) from None


def image_folder(spec: DataSpec, folder: Path) -> Path:
    """Return the folder to which the image paths of a source are relative: the source itself if it
    is a folder, else the folder that contains it."""
    path = source_path(spec, folder)
    return path if path.is_dir() else path.parent


def load_items(spec: DataSpec, folder: Path) -> list[Item]:
    """Load the items that `spec` selects for the study (its slice), sorted by id."""
    return slice_selection.select_slice(load_source(spec, folder).items, spec)


def load_source(spec: DataSpec, folder: Path, token: str | None = None) -> LoadedSource:
    """Load all items and recorded verdicts of a source, also those that the study does not use.
    SourceError if the source does not exist or cannot be read.

    `token` is the user's own Hub token, for a private dataset; on a local machine HF_TOKEN is
    the default."""
    if spec.source.startswith(hub.HUB_PREFIX):
        known, table, revision = hub.read_hub(spec, token)
        loaded = detect_format_and_read(known, Path(table.name), folder, table, revision)
        reason = f"{table.name}: rows of the Hub at commit {revision[:12]}, read as {loaded.format}"
        return loaded if known.format == spec.format else replace(loaded, format_reason=reason)
    for name in (spec.source, *spec.parts):
        check_source_variable(name)
    path = source_path(spec, folder)
    if several := _list_files_read_as_one(spec, path, folder):
        return _read_several_files(spec, several, folder)
    if path.is_dir() or (path.suffix == inspect_log.LOG_SUFFIX and path.exists()):
        return detect_format_and_read(spec, path, folder, None)
    if not path.exists() and not is_table_file(path):
        raise SourceError(
            f"data.source: {spec.source!r} is neither a built-in set "
            f"({', '.join(BUILT_IN_SOURCES)}) nor an existing file; check the path"
        )
    return detect_format_and_read(spec, path, folder, read_table(path))


def _list_files_read_as_one(spec: DataSpec, path: Path, folder: Path) -> list[Path]:
    """List the files of a source that is read as one table from several files; empty for any
    other source. There are three such sources: files listed in the study, a pattern such as
    `*.jsonl`, and a folder of tables whose columns the study maps to fields."""
    if spec.parts:
        return [
            path,
            *(folder / Path(expand_records_variable(name)).expanduser() for name in spec.parts),
        ]
    if path.is_dir():
        mapped = spec.mapping and spec.format in (detect.AUTO_FORMAT, TABLE_FORMAT)
        if folder_tables.find_arrow_files(path):
            return []
        return folder_tables.list_table_files_within_limit(path) if mapped else []
    return (
        []
        if path.exists()
        else folder_tables.find_files_by_pattern(expand_records_variable(spec.source), folder)
    )


def _read_several_files(spec: DataSpec, paths: list[Path], folder: Path) -> LoadedSource:
    """Read several files of the same format as one source."""
    if all(inspect_log.list_logs(path) == [path] for path in paths):
        return detect_format_and_read(spec, paths[0], folder, None, paths=tuple(paths))

    def find_format(table: SourceTable, path: Path) -> str:
        return _find_format(spec, table, path)[0].name

    format, table = folder_tables.read_files_as_one_table(paths, find_format)
    loaded = detect_format_and_read(replace(spec, format=format), paths[0], folder, table)
    return replace(loaded, format_reason=f"{len(paths):,} files, {loaded.format_reason}")


def detect_format_and_read(
    spec: DataSpec,
    path: Path,
    folder: Path,
    table: SourceTable | None,
    revision: str = "",
    paths: tuple[Path, ...] = (),
) -> LoadedSource:
    """Detect the format of a source and read its items and verdicts; SourceError if it has no
    items or cannot be read.

    `folder` is the base folder of the paths in `data.files`. `table` has the rows of a file or
    Hub dataset; it is None for a folder and for log files. `revision` is the commit of a Hub
    dataset. `paths` are the files if the source is a list of log files."""
    if table is None and path.is_dir():
        table = _join_folder(spec, path)
    table = _rows_of_object(spec, table, path)
    source_format, why = _find_format(spec, table, path)
    name = source_format.name
    _check_data_keys(spec, name)
    if table is not None and spec.mapping and name != TABLE_FORMAT:
        table = rename_columns(table, spec.mapping)
    columns = table.columns if table else ()
    read = {nested_columns.column_of_path(one, columns) for one in (*spec.mapping, *spec.join)}
    traced = table
    if table is not None and name != TABLE_FORMAT:
        read = set()
        traced = replace(table, rows=[TracedRow(row, read) for row in table.rows])
    builder = _read_with_format(OpenedSource(spec, path, folder, traced, paths), source_format)
    unused = _unused_columns(spec, table, read)
    if spec.read or builder.needs_reading:
        how = spec.read or builder.reply_format or reply_reading.AUTO_READ
        reply_reading.replace_verdicts_from_replies(builder, how)
    items, judgements = mark_repeated_answers(builder.items()), builder.judgements()
    if not items:
        raise SourceError(
            f"{path.name}: no items in it, read as format {name}. "
            + "; ".join([*builder.all_notes(), "check the file, or set another format"])
        )
    _check_participants_and_categories(items, judgements, path.name)
    notes = [*(table.notes if table else ()), *builder.all_notes()]
    notes += [f"columns not used: {', '.join(unused)}; {_HOW_TO_USE}"] if unused else []
    notes += describe_repeated_answers(items)
    unknown = builder.unknown_order
    verdicts = builder.shards.rows if builder.shards else len(judgements)
    if unknown and unknown < verdicts:
        notes.append(f"{unknown:,} of {verdicts:,} verdicts: {ORDER_NOT_RECORDED}")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"and {len(notes) - MAX_NOTES:,} more notes"]
    all_unknown = bool(unknown) and unknown == verdicts
    return LoadedSource(
        items,
        judgements,
        name,
        f"{table.name if table else path.name}: {why}",
        builder.join,
        not unknown,
        dict.fromkeys(POSITION_METRICS, ORDER_NOT_RECORDED) if all_unknown else {},
        tuple(notes),
        revision,
        builder.shards,
    )


def _unused_columns(
    spec: DataSpec, table: SourceTable | None, read: Collection[str]
) -> tuple[str, ...]:
    """List the columns of a table that contain values but are not in `read`, the columns used.
    They are listed by their names in the file, not those that the mapping gives them."""
    names = {new: old for old, new in spec.mapping.items()}
    rows = table.rows if table else []
    return tuple(
        names.get(column, column)
        for column in (table.columns if table else ())
        if column not in read and any(text_of(row.get(column)).strip() for row in rows)
    )


def _rows_of_object(spec: DataSpec, table: SourceTable | None, path: Path) -> SourceTable | None:
    """Return the table with the rows found inside its single JSON object. Any other table, None,
    and a table for which the study names a format other than `table`, is returned unchanged.

    With a mapping, the whole object becomes the only row if the mapping's paths start at its
    top (`key[].field`), or if no rows are found inside. Without a mapping, an object of a known
    format, or without rows inside, is returned unchanged."""
    if table is None or table.json_object is None:
        return table
    if spec.format not in (detect.AUTO_FORMAT, TABLE_FORMAT):
        return table
    whole = replace(table, rows=[dict(table.json_object)], json_object=None)
    inside = nested_columns.find_rows_in_object(table)
    if spec.mapping:
        top = all(
            name in whole.columns or nested_columns.is_nested_path(name, whole.columns)
            for name in spec.mapping
        )
        return whole if top or inside is None else inside
    known = bool(detect.matching_formats(table, path))
    return table if known or inside is None else inside


def _join_folder(spec: DataSpec, path: Path) -> SourceTable | None:
    """Join the files of a folder into one table. None if a format that reads whole folders matches
    the folder; also None if its files have no format that can be joined and were not written by the
    library `datasets`."""
    named = "" if spec.format == detect.AUTO_FORMAT else spec.format
    if not named and detect.matching_formats(None, path):
        return None
    if named in ("", *folder_tables.FOLDER_FORMATS):
        found = folder_tables.read_folder_tables(path, named)
        if found:
            return found[1]
    return folder_tables.read_dataset_folder(path) if named != "evenhand-shards" else None


def _read_with_format(source: OpenedSource, source_format: SourceFormat) -> SourceBuilder:
    """Read a source with the reader of a format. SourceError if a row is not built as the format
    requires; StudyError if a file named in `data.files` was not needed."""
    try:
        builder = source_format.read(source)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        why = f"a value has another type than expected ({error})"[:200]
        if isinstance(error, KeyError):
            why = f"a row has no key {error.args[0]!r}"
        raise SourceError(
            f"{source.path.name}: not in the form of {source_format.name}: {why}. "
            "Compare the file with docs/formats.md and correct it, or map its columns in "
            "data.mapping with format table"
        ) from error
    unread = [name for name, path in source.spec.files.items() if path not in source.files_read]
    if unread:
        raise StudyError(
            f"data.files: {', '.join(unread)}: not used, because "
            f"{source.path.name} is read as {source_format.name} and needs no such file here. "
            "Remove it, or set another format"
        )
    return builder


def _check_participants_and_categories(
    items: Sequence[Item], judgements: Sequence[Judgement], name: str
) -> None:
    """Raise SourceError if a source has too many contestants, judges (counted per prompt) or
    categories."""
    contestants = {who for item in items for who in item.responses}
    contestants |= {who for judgement in judgements for who in judgement.ask.shown}
    judge_prompts = {(j.ask.judge, j.ask.prompt) for j in judgements}
    judges = sum(not judge.startswith(HUMAN_PREFIX) for judge, _ in judge_prompts)
    limits = current_limits()
    limits.check_participants(len(contestants), judges, name)
    limits.check_categories(len({item.category for item in items}), name)


def _find_format(spec: DataSpec, table: SourceTable | None, path: Path) -> tuple[SourceFormat, str]:
    """Return the format of a source, and the reason for the choice; SourceError if none or several
    match, StudyError for an unknown name."""
    if spec.format != detect.AUTO_FORMAT:
        return detect.choose_format(spec.format, table, path)
    if spec.mapping:
        reason = f"by the study's mapping of {count(len(spec.mapping), 'column')}"
        return detect.format_by_name(TABLE_FORMAT), reason
    if table is not None and path in BUILT_IN_SOURCES.values():
        own = detect.format_by_name(BUILT_IN_FORMAT)
        return own, own.matches_table(table)
    if table is None and not path.is_dir():
        return detect.format_by_name("inspect"), "Inspect writes files with this ending"
    return detect.choose_format(spec.format, table, path)


def _check_data_keys(spec: DataSpec, name: str) -> None:
    """Raise StudyError if the keys of `data` do not fit the source, whose format is `name`:
    `files`, `join` or `mapping` with Evenhand's own items, a split for a source without splits, or
    format `table` without a mapping."""
    if name == "evenhand":
        for key in ("files", "join", "mapping"):
            if getattr(spec, key):
                raise StudyError(
                    f"data.{key}: not used for items in Evenhand's own format; remove it"
                )
    if spec.split and not spec.source.startswith(hub.HUB_PREFIX) and spec.split != TEXT_ONLY_SPLIT:
        raise StudyError(
            f"data.split: {spec.split!r}: only Hub datasets have splits (and Creation-MMBench its "
            f"{TEXT_ONLY_SPLIT} variant); remove data.split"
        )
    if name == TABLE_FORMAT and not spec.mapping:
        raise StudyError(
            "data.mapping: required by format table: map each column to a field "
            f"({', '.join(any_table.MAPPING_FIELDS)}, responses.<contestant>, meta.<name>)"
        )
