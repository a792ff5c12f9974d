"""Tables in memory as input of the library: their kinds, the roles of their columns, and errors
that name the arguments of a Python call."""

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
"""Names of the columns with the scores of the two contestants of a row."""
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
    """Convert a table of another library, a dictionary or a list of dictionaries to a DataFrame;
    SourceError for any other value.

    An index with a name of an item column, or with texts, becomes the column `item` of a table that
    has none.
    """
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
    """Return role -> column: as in `named` (role -> column or None), else the column with one of
    the role's COLUMN_NAMES. Roles without a column are left out; a named column that the table
    lacks raises SourceError."""
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
    """Return column -> field (as in `data.mapping`) for a table that has the scores of two named
    contestants in each row instead of a winner; empty for any other table. `columns`: role ->
    column."""
    scores = next((pair for pair in SCORE_COLUMNS if {*pair} <= {*all_columns}), None)
    if scores is None or not {"first", "second"} <= columns.keys():
        return {}
    found = {columns[role]: field for role, field in _ROLE_FIELDS.items() if role in columns}
    return {**found, scores[0]: "score_first", scores[1]: "score_second"}


def to_source_table(rows: pd.DataFrame, name: str) -> SourceTable:
    """Convert a DataFrame to the table that a file `name` with the same columns would give; missing
    values become None."""
    plain = rows.astype(object).where(rows.notna(), None)
    columns = tuple(str(column) for column in plain.columns)
    made = [dict(zip(columns, row, strict=True)) for row in plain.itertuples(index=False)]
    return SourceTable(name, "table", columns, made)


@contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """Context in which Evenhand's errors become SourceErrors that name the arguments of a Python
    call (`mapping=`) instead of keys of a study file."""
    try:
        yield
    except EvenhandError as error:
        message = _STUDY_KEY.sub(lambda key: f"{key[1]}=", str(error)).replace("data.source: ", "")
        raise SourceError(message) from error
