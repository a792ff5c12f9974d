"""Read Parquet files as rows, within the read limits.

A file of a few kilobytes can unpack to gigabytes. Therefore its footer is checked first, and texts
are read as dictionary codes, so that their unpacked size is known before they are expanded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits, unpacked_size_error

BYTES_PER_VALUE: Final = 16
"""Bytes that are counted for each value in addition to its content."""


def read_parquet(path: Path, limits: ReadLimits) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the column names and all rows of a Parquet file; SourceError if it is damaged or
    exceeds the limits."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_metadata(path)
        check_footer(metadata, path.name, limits)
        with path.open("rb") as file:
            names = tuple(parquet.ParquetFile(file).schema_arrow.names)
            batches = read_bounded_batches(file, metadata, path.name, limits, whole=True)
            return names, [row for batch in batches for row in batch.to_pylist()]
    except (arrow.ArrowException, OSError, OverflowError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise SourceError(
            f"{path.name}: cannot be read as Parquet: {reason}; write the file again"
        ) from None
    except MemoryError:
        raise unpacked_size_error(path.name) from None


def read_arrow(path: Path, limits: ReadLimits) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the column names and all rows of an Arrow file (stream or file format), as
    `datasets.save_to_disk` writes it; SourceError if it is damaged or exceeds the limits."""
    import pyarrow as arrow

    rows: list[dict[str, Any]] = []
    meter = _SizeMeter(path.name, limits.unpacked_bytes, 0)
    try:
        with arrow.memory_map(str(path)) as file:
            try:
                stream: Any = arrow.ipc.open_stream(file)
                batches = iter(stream)
            except arrow.ArrowInvalid:
                stream = arrow.ipc.open_file(file)
                batches = map(stream.get_batch, range(stream.num_record_batches))
            names = tuple(stream.schema.names)
            for batch in batches:
                meter.add(batch)
                limits.check_rows(len(rows) + batch.num_rows, path.name)
                rows += batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise SourceError(
            f"{path.name}: cannot be read as Arrow: {reason}; write the file again"
        ) from None
    return names, rows


def check_footer(metadata: Any, name: str, limits: ReadLimits) -> None:
    """Raise SourceError if the whole Parquet file `name` exceeds the limits, by the counts in its
    footer (`metadata`, as pyarrow reads it)."""
    limits.check_columns(metadata.num_columns, name)
    limits.check_rows(metadata.num_rows, name)
    values = size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            values += column.num_values
            size += column.total_uncompressed_size
    limits.check_values(values, name)
    if size > limits.unpacked_bytes:
        raise unpacked_size_error(name)


def check_row_groups(metadata: Any, name: str, limits: ReadLimits) -> None:
    """Check a Parquet file of which only some rows will be read, by its footer (`metadata`).
    SourceError if it has too many columns, or if a single column of one row group has too
    many values or bytes."""
    limits.check_columns(metadata.num_columns, name)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            limits.check_values(column.num_values, name)
            if column.total_uncompressed_size > limits.unpacked_bytes:
                raise unpacked_size_error(name)


def read_bounded_batches(
    file: Any,
    metadata: Any,
    name: str,
    limits: ReadLimits,
    columns: list[str] | None = None,
    rows: int = 256,
    *,
    whole: bool = False,
) -> Iterator[Any]:
    """Yield the content of an open Parquet file in batches of up to `rows` rows; SourceError as
    soon as the batches read so far are larger than the limit. `metadata` is the footer of the
    file, `name` its name for the message; `columns` are those to read (None: all).

    `whole` states that all rows will be read. The error is then raised earlier: when the size
    of the whole file, estimated from the rows read so far, is above four times the limit."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    options: dict[str, Any] = {"metadata": metadata, "pre_buffer": False}
    coded = parquet.ParquetFile(
        file, read_dictionary=_text_columns(metadata, nested=True), **options
    )
    plain = parquet.ParquetFile(
        file, read_dictionary=_text_columns(metadata, nested=False), **options
    )
    batch_options: dict[str, Any] = {"batch_size": rows, "columns": columns, "use_threads": False}
    meter = _SizeMeter(name, limits.unpacked_bytes, metadata.num_rows if whole else 0)
    for group in range(metadata.num_row_groups):
        yielded = 0
        try:
            for batch in coded.iter_batches(row_groups=[group], **batch_options):
                meter.add(batch)
                yielded += batch.num_rows
                yield batch
        except arrow.ArrowNotImplementedError:  # lists of texts, only some dictionary-encoded
            _check_nested_texts(metadata, group, name, limits)
            for batch in _skip_rows(
                yielded, plain.iter_batches(row_groups=[group], **batch_options)
            ):
                meter.add(batch)
                yield batch


@dataclass(slots=True)
class _SizeMeter:
    """Running total of unpacked bytes, checked against the limit."""

    name: str
    max_bytes: int
    total: int
    """Number of rows of the file; 0 if not all of them are to be read."""
    size: int = 0
    rows: int = 0

    def add(self, batch: Any) -> None:
        """Add the size of an Arrow batch; raise SourceError if the limit is exceeded, or will be by
        far if the remaining rows are as large."""
        self.size += sum(unpacked_size(column) for column in batch.columns)
        self.rows += batch.num_rows
        projected = self.size * self.total / max(self.rows, 1)
        if self.size > self.max_bytes or projected > 4 * self.max_bytes:
            raise unpacked_size_error(self.name)


def _skip_rows(yielded: int, stream: Iterator[Any]) -> Iterator[Any]:
    """Yield the batches of `stream` without its first `yielded` rows, which the caller has
    already yielded."""
    for batch in stream:
        if batch.num_rows > yielded:
            yield batch.slice(yielded)
        yielded = max(0, yielded - batch.num_rows)


def _check_nested_texts(metadata: Any, group: int, name: str, limits: ReadLimits) -> None:
    """Raise SourceError if row group number `group` of a Parquet file has too many texts inside
    lists, whose size is unknown before reading."""
    columns = metadata.row_group(group)
    for column in map(columns.column, range(columns.num_columns)):
        inside = "." in column.path_in_schema and column.physical_type == "BYTE_ARRAY"
        if inside and column.num_values > limits.nested_texts:
            raise SourceError(
                f"{name}: one row group has {column.num_values:,} texts inside lists; at most "
                f"{limits.nested_texts:,} can be read. Save it as JSONL, or in smaller row groups"
            )


def column_paths(metadata: Any) -> list[str]:
    return [metadata.schema.column(k).path for k in range(metadata.num_columns)]


def _text_columns(metadata: Any, *, nested: bool) -> list[str]:
    """Return the paths of the text columns at the top level; with `nested`, also those of texts
    inside lists and structs."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    paths = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return [path for path in paths if nested or "." not in path]


def unpacked_size(column: Any) -> int:
    """Return the size in bytes of an Arrow column as it would be if each dictionary code were
    replaced by its text."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    kind = column.type
    if types.is_dictionary(kind):
        if (lengths := _text_lengths(column.dictionary)) is None:
            return int(column.nbytes) + BYTES_PER_VALUE * len(column)
        total = compute.sum(compute.take(lengths, column.indices)).as_py()
        return int(total or 0) + BYTES_PER_VALUE * len(column)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        inner = column.flatten() if not types.is_map(kind) else column.items
        return unpacked_size(inner) + BYTES_PER_VALUE * len(column)
    if types.is_struct(kind):
        return sum(unpacked_size(column.field(k)) for k in range(kind.num_fields))
    return int(column.nbytes) + BYTES_PER_VALUE * len(column)


def _text_lengths(texts: Any) -> Any:
    """Return the length in bytes of each text of an Arrow array; None if it has no texts."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_string(texts.type) or types.is_binary(texts.type):
        return compute.binary_length(texts)
    return None
