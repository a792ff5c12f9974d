"""Tables in memory as input of the library: which kinds of table are accepted, what their columns
mean (roles such as "winner"), and error messages that name the arguments of the Python call."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pandas as pd

from studies.errors import EvenhandError, SourceError
from studies.files.tables import SourceTable
from studies.frames.winner_words import ITEM_COLUMNS

COLUMN_NAMES: Final = {
    "item": ITEM_COLUMNS,
    "first": ("first", "model_a", "left"),
    "second": ("second", "model_b", "right"),
    "winner": ("winner",),
    "judge": ("judge",),
    "prompt": ("prompt",),
    "category": ("category",),
    "truth": ("truth",),
    "question": ("question", "instruction"),
    "first_answer": ("first_answer", "response_a"),
    "second_answer": ("second_answer", "response_b"),
}
"""Role of a column -> column names that are recognised if the caller does not name the column."""
SCORE_COLUMNS: Final = (
    ("score_a", "score_b"), ("score_first", "score_second"), ("score_1", "score_2"),
)  # fmt: skip
"""Pairs of column names for the scores of the first and the second contestant of a row."""
_ROLE_FIELDS: Final = {
    "item": "id", "first": "first", "second": "second", "judge": "judge", "prompt": "prompt",
    "category": "category", "truth": "gold", "question": "instruction",
    "first_answer": "response_first", "second_answer": "response_second",
}  # fmt: skip
"""Role of a column -> field of a mapping."""
ACCEPTED: Final = (
    "a DataFrame of pandas or polars, an Arrow table, a dictionary of columns, a list of "
    "dictionaries, or the path of a file"
)
_STUDY_KEY: Final = re.compile(r"\bdata\.(mapping|files|format|split|read)\b")


def as_table(data: Any) -> pd.DataFrame:
    """Convert a table (pandas, polars, Arrow), a dictionary of columns or a list of dictionaries to
    a DataFrame; SourceError for any other value.

    If a DataFrame has no column for the item, but an index that is named like one or consists of
    texts, the index becomes the column `item`."""
    if isinstance(data, pd.DataFrame):
        return _index_as_item_column(data)
    try:
        if isinstance(data, Mapping):
            return pd.DataFrame(dict(data))
        if isinstance(data, list | tuple) and data and all(isinstance(x, Mapping) for x in data):
            return pd.DataFrame([dict(row) for row in data])
        if hasattr(data, "to_pydict"):  # Arrow
            return pd.DataFrame(data.to_pydict())
        if hasattr(data, "to_dicts"):  # polars
            return pd.DataFrame(data.to_dict(as_series=False))
        if not isinstance(data, pd.Series) and hasattr(data, "to_pandas"):
            return _index_as_item_column(data.to_pandas())
    except (ValueError, TypeError) as error:
        raise SourceError(f"this is not a table: {error}; give {ACCEPTED}") from None
    lazy = "; call .collect() first" if hasattr(data, "collect") else ""
    raise SourceError(f"{_describe_type(data)} is not a table{lazy}; give {ACCEPTED}")


def _describe_type(data: Any) -> str:
    empty = isinstance(data, list | tuple) and not data
    return f"an empty {type(data).__name__}" if empty else f"the type {type(data).__name__}"


def _index_as_item_column(table: pd.DataFrame) -> pd.DataFrame:
    names = COLUMN_NAMES["item"]
    if any(name in table.columns for name in names) or isinstance(table.index, pd.MultiIndex):
        return table
    if table.index.name in names or pd.api.types.is_string_dtype(table.index):
        return table.assign(item=table.index)
    return table


def find_columns(
    table: pd.DataFrame, named: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """Find the columns of a table by their role, such as "winner"; return role -> column. For each
    role of `named` (role -> column or None; without it: all roles), this is the column named
    there or, if None, the first one with a usual name (COLUMN_NAMES). Roles without a column are
    left out. SourceError if the table lacks a named column."""
    found = {}
    for role, given in (named or dict.fromkeys(COLUMN_NAMES)).items():
        if given is not None and given not in table.columns:
            known = ", ".join(map(str, table.columns))
            raise SourceError(f"{role}: the table has no column {given!r}; its columns: {known}")
        usual = next((name for name in COLUMN_NAMES[role] if name in table.columns), None)
        if (column := usual if given is None else given) is not None:
            found[role] = column
    return found


def mapping_of_score_table(
    columns: Mapping[str, str], all_columns: Sequence[str]
) -> dict[str, str]:
    """Return column -> field (as in the key `data.mapping` of a study file) for a table in which
    each row has two contestants and their scores instead of a winner; {} for any other table.
    `columns` is role, such as "first" -> column; `all_columns` are all columns of the table."""
    scores = next((pair for pair in SCORE_COLUMNS if {*pair} <= {*all_columns}), None)
    if scores is None or not {"first", "second"} <= columns.keys():
        return {}
    found = {columns[role]: field for role, field in _ROLE_FIELDS.items() if role in columns}
    return {**found, scores[0]: "score_first", scores[1]: "score_second"}


def to_source_table(rows: pd.DataFrame, name: str) -> SourceTable:
    """Convert a DataFrame to the form in which tables read from files are processed, under the file
    name `name`; missing values become None."""
    plain = rows.astype(object).where(rows.notna(), None)
    columns = tuple(str(column) for column in plain.columns)
    made = [dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False)]
    return SourceTable(name, "table", columns, made)


@contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """Context manager that raises each error of Evenhand as a SourceError, in whose message the
    keys of a study file (`data.mapping`) are replaced by the arguments of a Python call
    (`mapping=`)."""
    try:
        yield
    except EvenhandError as error:
        message = _STUDY_KEY.sub(lambda key: f"{key[1]}=", str(error)).replace("data.source: ", "")
        raise SourceError(message) from error
