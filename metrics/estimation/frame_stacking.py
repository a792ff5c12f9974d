"""Stack several frames into one, with a column that names the source of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from studies.domain import STATUSES
from studies.frames.frame import QUESTION_COLUMN


def stack_frames(frames: Mapping[str, pd.DataFrame], column: str) -> pd.DataFrame:
    """Stack the frames of several studies (name -> frame) into one; the new column `column` has the
    name of each row's study. ValueError without frames.

    Items with the same id count as the same item, so contrasts can pair them across studies (for
    example, a study with images and one with context texts). If one frame has the column
    `question`, all rows get it.
    """
    known = {
        str(item): str(question)
        for frame in frames.values()
        if QUESTION_COLUMN in frame
        for item, question in frame[["item", QUESTION_COLUMN]].drop_duplicates().to_numpy()
    }
    if known:
        frames = {name: _add_question_column(frame, known) for name, frame in frames.items()}
    parts = [
        frame.assign(**{column: pd.Categorical([name]).take(np.zeros(len(frame), np.int64))})
        for name, frame in frames.items()
    ]
    if not parts:
        raise ValueError("stack_frames needs at least one frame")
    names = {name: None for part in parts for name in _categorical_columns(part)}
    rest = [part.drop(columns=[name for name in names if name in part]) for part in parts]
    stacked = {name: _stack_categorical(parts, name) for name in names}
    order = dict.fromkeys(name for part in parts for name in part)
    return pd.concat(rest, ignore_index=True).assign(**stacked)[list(order)]


def _add_question_column(frame: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with a column `question`. If it has none, an item's question is taken from
    `known` (item -> question, from the other frames); an item that is not there is a question of
    its own."""
    if QUESTION_COLUMN in frame:
        return frame
    names = map(str, row_selection.used_categories(frame["item"]))
    of_item = {name: known.get(name, name) for name in names}
    return row_selection.add_column_by_item(frame, QUESTION_COLUMN, of_item)


def _stack_categorical(parts: Sequence[pd.DataFrame], name: str) -> pd.Categorical[str]:
    """Concatenate a categorical column by its integer codes, much faster than by its texts."""
    columns = [part[name].astype("category").cat if name in part else None for part in parts]
    used = {
        str(one.categories[code])
        for one in columns
        if one is not None
        for code in np.flatnonzero(np.bincount(one.codes.to_numpy() + 1, minlength=1)[1:]).tolist()
    }
    known = list(STATUSES) if name == "status" else sorted(used)
    code_of = {text: code for code, text in enumerate(known)}
    codes = [np.full(len(part), -1, np.int32) for part in parts]
    for own, one in zip(codes, columns, strict=True):
        if one is not None and len(one.categories):
            table = [code_of.get(str(text), -1) for text in one.categories]
            own[:] = np.array([*table, -1], np.int32)[one.codes.to_numpy()]
    return pd.Categorical.from_codes(np.concatenate(codes), pd.Index(known, dtype="str"))


def _categorical_columns(frame: pd.DataFrame) -> list[str]:
    return [
        str(name) for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    ]
