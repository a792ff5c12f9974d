"""Rows of a frame that show a twin (an answer with one change), kept apart from the study's own
comparisons."""

from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from studies.frames.frame_codes import SEP
from studies.texts.twin_families import TWIN_SIGN, is_twin, split_twin_name

TwinRows = Literal["without", "only", "with"]
"""Whether a frame has the rows that show a twin: none of them, only them, or all rows."""

TWIN_COLUMN: Final = "twin"
"""Column that `add_twin_columns` adds: family of the twin shown."""
CHANGED_COLUMN: Final = "changed"
"""Column that `add_twin_columns` adds: slot of the twin."""
_NAMED_COLUMNS: Final = ("shown", "comparison", "first", "second")


def _twin_slots_and_families(frame: pd.DataFrame) -> list[tuple[int, str]]:
    """Return a pair for each category of the column `shown`: the position of the twin among the
    answers shown, and the twin's family (kind of change); (-1, "") if it has no twin."""
    found = []
    for text in frame["shown"].cat.categories:
        names = str(text).split(SEP) if TWIN_SIGN in str(text) else []
        slot = next((k for k, name in enumerate(names) if is_twin(name)), -1)
        found.append((slot, split_twin_name(names[slot])[1] if slot >= 0 else ""))
    return found


def filter_rows_by_twins(frame: pd.DataFrame, rows: TwinRows) -> pd.DataFrame:
    """Select the rows that show a twin (`rows` is "only") or those that show none ("without");
    "with" returns the frame unchanged. Names of answers that no selected row shows are removed
    from the categories."""
    if rows == "with":
        return frame
    twins = np.array([slot for slot, _ in _twin_slots_and_families(frame)], np.int8)
    if not (twins >= 0).any():
        return frame if rows == "without" else frame.iloc[:0]
    shows = twins[frame["shown"].cat.codes.to_numpy()] >= 0
    selected = frame.loc[shows if rows == "only" else ~shows].reset_index(drop=True)
    named = {name: selected[name].cat.remove_unused_categories() for name in _NAMED_COLUMNS}
    return selected.assign(**named)


def add_twin_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with columns for the family and the slot of the twin that a row shows; ""
    and −1 without a twin."""
    found = _twin_slots_and_families(frame)
    codes = frame["shown"].cat.codes.to_numpy()
    families = sorted({family for _, family in found})
    of_code = np.array([families.index(family) for _, family in found], np.int32)
    slots = np.array([slot for slot, _ in found], np.int8)
    added: dict[str, Any] = {
        TWIN_COLUMN: pd.Categorical.from_codes(
            of_code[codes] if len(found) else codes, pd.Index(families, dtype="str")
        ),
        CHANGED_COLUMN: slots[codes] if len(found) else codes,
    }
    return frame.assign(**added)
