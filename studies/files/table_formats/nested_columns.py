"""Paths into nested cells: `answer1.name`, `models.0` and `answers[].text` become columns.

Cells of JSON lines and Parquet files can be objects and lists; cells of CSV files can contain them
as JSON text. A path names a value inside a cell; `[]` makes one row for each element of a list.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from studies.errors import SourceError
from studies.files.read_limits import current_limits
from studies.files.table_formats.json_lines import parse_cell_if_json
from studies.files.tables import Row, SourceTable

EACH: Final = "[]"
_INDEX: Final = re.compile(r"\[(\d+)\]")
_SAMPLE_ROWS: Final = 50
_MAX_LISTED: Final = 4
"""Maximum length of a list whose elements are suggested one by one (`models.0`, `models.1`); for a
longer list of objects, `models[].name` is suggested."""


def expand_nested_paths(table: SourceTable, names: Iterable[str]) -> SourceTable:
    """Return the table with an additional column for each name that is a path into a cell. A path
    with `[]` also makes one row for each element of its list; rows without elements are dropped."""
    paths = [
        name for name in names if name not in table.columns and is_nested_path(name, table.columns)
    ]
    if not paths:
        return table
    each = [name for name in paths if EACH in name]
    if each:
        table = _explode_list_column(table, each)
    split = {name: _split_path(name, table.columns) for name in paths if name not in each}
    rows = [
        {**row, **{name: value_at_path(row, path) for name, path in split.items()}}
        for row in table.rows
    ]
    return replace(table, columns=(*table.columns, *split), rows=rows)


def find_rows_in_object(table: SourceTable) -> SourceTable | None:
    """Return the rows in a file that is one JSON object; None if they cannot be found.

    If the object contains a single list of objects, at most three levels deep, its elements are the
    rows; texts and numbers beside the list are repeated in every row. If it contains nothing but
    two or more objects, these are the rows, and their keys become the column `key`."""
    return _find_rows_at_levels(table, table.json_object or {}, {}, 3)


def _find_rows_at_levels(
    table: SourceTable, content: Mapping[str, Any], repeated: Row, levels: int
) -> SourceTable | None:
    """Return the rows found inside the object `content`, by the rule of `find_rows_in_object`, or
    None. At most `levels` levels of objects are searched; `repeated` has the values to repeat in
    every row."""
    plain = (str, int, float, bool)
    repeated = {**repeated, **{k: v for k, v in content.items() if isinstance(v, plain)}}
    lists = [value for value in content.values() if _is_list_of_objects(value)]
    objects = {k: v for k, v in content.items() if isinstance(v, dict) and v}
    if len(lists) == 1:
        rows = [{**repeated, **row} for row in lists[0]]
    elif not lists and len(objects) == 1 and levels > 1:
        return _find_rows_at_levels(table, next(iter(objects.values())), repeated, levels - 1)
    elif not lists and len(objects) > 1 and len(objects) == len(content):
        rows = [{"key": key, **row} for key, row in objects.items()]
    else:
        return None
    current_limits().check_rows(len(rows), table.name)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    current_limits().check_columns(len(columns), table.name)
    return replace(table, columns=columns, rows=rows, json_object=None)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def is_nested_path(name: str, columns: Sequence[str]) -> bool:
    """Whether a name is a path that starts with the name of one of the columns."""
    return bool(_split_path(name, columns)[1:])


def column_of_path(name: str, columns: Sequence[str]) -> str:
    """Return the column into whose cells a path leads; any other name is returned unchanged."""
    return (_split_path(name, columns) or [name])[0].removesuffix(EACH)


def value_at_path(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path inside a cell; None if the cell has no such path."""
    for key in path:
        value = parse_cell_if_json(value)
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def list_nested_paths(table: SourceTable) -> list[str]:
    """List the paths, such as `answer1.name`, to values inside the cells of the first rows."""
    found: dict[str, None] = {}
    for row in table.rows[:_SAMPLE_ROWS]:
        for column, value in row.items():
            found |= dict.fromkeys(_paths_inside(column, value))
    return list(found)


def _paths_inside(column: str, value: Any) -> list[str]:
    """List the paths to the values inside one cell of a column; empty for a plain value."""
    value = parse_cell_if_json(value)
    if isinstance(value, dict):
        return [f"{column}.{key}" for key in value]
    if not isinstance(value, list) or not value:
        return []
    if len(value) > _MAX_LISTED:
        keys = value[0] if isinstance(value[0], dict) else ()
        return [f"{column}{EACH}.{key}" for key in keys]
    return [
        path
        for place, one in enumerate(value)
        for path in (
            [f"{column}.{place}.{key}" for key in one]
            if isinstance(one, dict)
            else [f"{column}.{place}"]
        )
    ]


def _split_path(name: str, columns: Sequence[str]) -> list[str]:
    """Split a path into its column's name, which may contain dots, and the keys inside the cell.

    The result is empty if the name is not a path into one of the columns.
    """
    plain = _INDEX.sub(r".\1", name)
    parts = plain.split(".")
    for length in range(len(parts) - 1, 0, -1):
        column = ".".join(parts[:length])
        if column.removesuffix(EACH) in columns:
            return [column, *parts[length:]]
    if name.endswith(EACH) and name.removesuffix(EACH) in columns:
        return [name, ""]
    return []


def _explode_list_column(table: SourceTable, names: Sequence[str]) -> SourceTable:
    """Return the table with one row for each element of a list; the values of the other columns are
    repeated. `names` are paths such as `answers[].text`, all into the same column; SourceError if
    they name several columns."""
    split = {name: _split_path(name, table.columns) for name in names}
    lists = {path[0].removesuffix(EACH) for path in split.values()}
    if len(lists) > 1:
        raise SourceError(
            f"data.mapping: {' and '.join(sorted(lists))} are lists, but only one list can become "
            f"rows; map one element of the others, for instance {sorted(lists)[0]}.0"
        )
    (column,) = lists
    rows: list[Row] = []
    places: list[str] = []
    for index, row in enumerate(table.rows):
        elements = parse_cell_if_json(row.get(column))
        for element in elements if isinstance(elements, list) else []:
            parts = {
                name: value_at_path(element, [key for key in path[1:] if key])
                for name, path in split.items()
            }
            rows.append({**row, **parts})
            places.append(table.row_place(index))
        current_limits().check_rows(len(rows), table.name)
    return replace(table, columns=(*table.columns, *names), rows=rows, places=places)
