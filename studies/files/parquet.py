"""Parquet files as rows. A file of a few kilobytes may stand for gigabytes, so its footer is read
first, and texts are read as codes into a dictionary, whose size is known before it is multiplied
out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from studies.errors import SourceError
from studies.files.read_limits import ReadLimits

BYTES_PER_VALUE: Final = 16
"""Bytes that a value takes as a Python object, on top of its own, at the very least."""


def read_parquet(path: Path, caps: ReadLimits) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """The columns and all rows of a file."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_metadata(path)
        check_footer(metadata, path.name, caps)
        with path.open("rb") as held:
            names = tuple(parquet.ParquetFile(held).schema_arrow.names)
            stream = read_bounded_batches(held, metadata, path.name, caps, whole=True)
            return names, [row for batch in stream for row in batch.to_pylist()]
    except (arrow.ArrowException, OSError, OverflowError) as error:
        told = str(error).splitlines()[0][:200]
        raise SourceError(f"{path.name}: not a Parquet file that can be read: {told}") from None
    except MemoryError:
        raise SourceError(f"{path.name}: unpacks to more than can be read") from None


def check_footer(metadata: Any, name: str, caps: ReadLimits) -> None:
    """What the file says of itself, before a value of it is read."""
    caps.check_columns(metadata.num_columns, name)
    caps.check_rows(metadata.num_rows, name)
    values = size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            values += column.num_values
            size += column.total_uncompressed_size
    caps.check_values(values, name)
    if size > caps.unpacked_bytes:
        raise SourceError(f"{name}: unpacks to more than can be read")


def check_row_groups(metadata: Any, name: str, caps: ReadLimits) -> None:
    """For a file of which only a slice is read: each of its parts must be bearable."""
    caps.check_columns(metadata.num_columns, name)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            caps.check_values(column.num_values, name)
            if column.total_uncompressed_size > caps.unpacked_bytes:
                raise SourceError(f"{name}: unpacks to more than can be read")


def read_bounded_batches(
    held: Any, metadata: Any, name: str, caps: ReadLimits, columns: list[str] | None = None,
    rows: int = 256, *, whole: bool = False,
) -> Iterator[Any]:  # fmt: skip
    """The file batch by batch, each measured before it is given out; ends in an error when all
    together come to more than can be read. `whole`: when its first rows promise far more than that,
    it is not read on."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    options: dict[str, Any] = {"metadata": metadata, "pre_buffer": False}
    coded = parquet.ParquetFile(
        held, read_dictionary=_text_columns(metadata, nested=True), **options
    )
    plain = parquet.ParquetFile(
        held, read_dictionary=_text_columns(metadata, nested=False), **options
    )
    asked: dict[str, Any] = {"batch_size": rows, "columns": columns, "use_threads": False}
    measured = _SizeMeter(name, caps.unpacked_bytes, metadata.num_rows if whole else 0)
    for group in range(metadata.num_row_groups):
        given = 0
        try:
            for batch in coded.iter_batches(row_groups=[group], **asked):
                measured.add(batch)
                given += batch.num_rows
                yield batch
        except arrow.ArrowNotImplementedError:  # texts in lists, some as codes and some not
            _check_nested_texts(metadata, group, name, caps)
            for batch in _skip_rows(given, plain.iter_batches(row_groups=[group], **asked)):
                measured.add(batch)
                yield batch


@dataclass(slots=True)
class _SizeMeter:
    name: str
    max_bytes: int
    total: int
    """Rows of the file, if all are to be read."""
    size: int = 0
    rows: int = 0

    def add(self, batch: Any) -> None:
        self.size += sum(unpacked_size(column) for column in batch.columns)
        self.rows += batch.num_rows
        promised = self.size * self.total / max(self.rows, 1)
        if self.size > self.max_bytes or promised > 4 * self.max_bytes:
            raise SourceError(f"{self.name}: unpacks to more than can be read")


def _skip_rows(given: int, stream: Iterator[Any]) -> Iterator[Any]:
    """What comes after the rows that were given out already."""
    for batch in stream:
        if batch.num_rows > given:
            yield batch.slice(given)
        given = max(0, given - batch.num_rows)


def _check_nested_texts(metadata: Any, group: int, name: str, caps: ReadLimits) -> None:
    """Texts in lists that cannot be measured beforehand are read only where they are few."""
    columns = metadata.row_group(group)
    for column in map(columns.column, range(columns.num_columns)):
        inside = "." in column.path_in_schema and column.physical_type == "BYTE_ARRAY"
        if inside and column.num_values > caps.nested_texts:
            raise SourceError(
                f"{name}: {column.num_values:,} texts inside lists of one row group; at most "
                f"{caps.nested_texts:,} can be read. Save it as JSONL, or in smaller row groups"
            )


def column_paths(metadata: Any) -> list[str]:
    return [metadata.schema.column(k).path for k in range(metadata.num_columns)]


def _text_columns(metadata: Any, *, nested: bool) -> list[str]:
    """The paths of texts, which are read as codes; those inside lists and structs too, or not."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    paths = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return [path for path in paths if nested or "." not in path]


def unpacked_size(column: Any) -> int:
    """Bytes of a column once every row has its own copy."""
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
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_string(texts.type) or types.is_binary(texts.type):
        return compute.binary_length(texts)
    return None
