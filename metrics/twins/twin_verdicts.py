"""Verdicts on twins as a table: each beside the verdict on the original, if there is one.

A twin is a copy of an answer with one change that should not matter; its family is the kind of
change."""

from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import intervals, row_selection
from studies.frames.frame import NO_PICK, SEP, TIE
from studies.frames.twin_rows import CHANGED_COLUMN, TWIN_COLUMN, add_twin_columns
from studies.texts.twin_families import split_twin_name

DUEL, SUBSTITUTION, SINGLE = "duel", "substitution", "single"
_BASE: Final = "base"
"""Column: the answers shown, with the original in place of the twin."""
_MATCHED: Final = ("item", "judge", "prompt", _BASE, "labels", "repeat")


def twin_verdicts(twins: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each call about a twin that shows one or two answers, without noise-floor
    repeats.

    Columns: judge, prompt, twin (family), design (duel: twin against original; substitution: twin
    in place of the original in a comparison; single: the answer alone), name (of the item), unit
    (code of item and answers, without order), item (code of the resampling unit), value (points of
    the twin, or its score if it is judged alone; nan if the reply is unusable or the comparison was
    not read in all its orders), before (the same of the original), flip (whether the pick differs
    from that on the original), right and right_before (points of the truly better answer; nan where
    unknown). `frame` has the study's own comparisons, for the verdicts on the originals.
    """
    rows = add_twin_columns(twins)
    rows = rows.loc[~rows["noise"].to_numpy() & (rows["options"] <= 2).to_numpy()]
    names = rows["shown"].cat.categories
    bases = [SEP.join(split_twin_name(part)[0] for part in str(name).split(SEP)) for name in names]
    kinds = [_twin_design(base) for base in bases]
    codes = rows["shown"].cat.codes.to_numpy()
    rows = rows.assign(
        base=np.array(bases, object)[codes] if len(names) else "",
        design=np.array(kinds, object)[codes] if len(names) else "",
    )
    before = _original_verdicts(frame, rows)
    changed = rows[CHANGED_COLUMN].to_numpy()
    single = (rows["design"] == SINGLE).to_numpy()
    usable = row_selection.usable_status_mask(rows)
    points = _points_of_slot(rows["pick"].to_numpy(), changed, usable)
    level = np.where(usable, _scores_or_nan(rows), np.nan)
    old_points = _points_of_slot(before["pick"].to_numpy(), changed, before["usable"].to_numpy())
    old_level = np.where(before["usable"], before["level"], np.nan)
    value = np.where(single, level, points)
    complete = _complete_orders_mask(rows, value)
    value = np.where(complete, value, np.nan)
    old = np.where(single, old_level, old_points)
    known = np.isfinite(value) & np.isfinite(old)
    picked, known_answer = rows["pick"].to_numpy(), before["known_answer"].to_numpy()
    decided = known & ~single & (known_answer >= 0)
    sides = pd.Categorical([SEP.join(sorted(base.split(SEP))) for base in bases])
    sides = sides[codes] if len(names) else sides
    return pd.DataFrame(
        {
            "judge": rows["judge"].astype(str).to_numpy(),
            "prompt": rows["prompt"].astype(str).to_numpy(),
            "twin": rows[TWIN_COLUMN].astype(str).to_numpy(),
            "design": rows["design"].to_numpy(),
            "name": rows["item"].astype(str).to_numpy(),
            "unit": row_selection.group_codes(rows.assign(base=sides), ("item", "base"))[0],
            "item": row_selection.item_codes(rows),
            "value": value,
            "before": np.where(known, old, np.nan),
            "flip": np.where(
                known & ~single, (picked != before["pick"].to_numpy()).astype(float), np.nan
            ),
            "right": np.where(decided, _points_of_slot(picked, known_answer, usable), np.nan),
            "right_before": np.where(
                decided,
                _points_of_slot(before["pick"].to_numpy(), known_answer, before["usable"]),
                np.nan,
            ),
        }
    )


def _twin_design(base: str) -> str:
    """Return SINGLE, DUEL or SUBSTITUTION (see `twin_verdicts`), from the names of the answers
    shown, with the original's name in place of the twin's, joined by SEP."""
    parts = base.split(SEP)
    return SINGLE if len(parts) == 1 else DUEL if len(set(parts)) == 1 else SUBSTITUTION


def _points_of_slot(pick: Any, side: Any, usable: Any) -> intervals.Floats:
    """Points of the answer in the slot `side`: 1 if it was picked, ½ for a tie, else 0; nan for an
    unusable reply."""
    found = np.where(pick == side, 1.0, np.where(pick == TIE, 0.5, 0.0))
    return np.where(np.asarray(usable, bool) & (pick != NO_PICK), found, np.nan)


def _scores_or_nan(rows: pd.DataFrame) -> intervals.Floats:
    if "score_0" not in rows:
        return np.full(len(rows), np.nan)
    return rows["score_0"].to_numpy(np.float64)


def _complete_orders_mask(rows: pd.DataFrame, value: intervals.Floats) -> row_selection.Mask:
    """Mask of the verdicts whose comparison was read in all its orders, so that the position
    cancels."""
    key = ["item", "comparison", "judge", "prompt", "repeat"]
    code, count = row_selection.group_codes(rows, key)
    read = np.bincount(code[np.isfinite(value)], minlength=count)
    return np.asarray(read[code] >= rows["orders"].to_numpy(), np.bool_)


def _original_verdicts(frame: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return, for each row about a twin, the verdict on the original answers by the same judge and
    prompt, with the same order of answers, labels and repeat number. Columns: `pick`, `level`
    (score), `known_answer`, and `usable`, which is false if there is no such verdict. Calls
    repeated only to measure noise are not used."""
    wanted = rows.loc[:, list(_MATCHED)].astype({"repeat": "int64"})
    wanted = wanted.astype({name: str for name in _MATCHED if name != "repeat"})
    missing = {"pick": NO_PICK, "known_answer": NO_PICK, "level": np.nan, "usable": False}
    if not (rows["design"] != DUEL).any() or not len(frame):
        return pd.DataFrame({name: np.full(len(rows), value) for name, value in missing.items()})
    own = frame.loc[~frame["noise"].to_numpy()]
    originals = pd.DataFrame(
        {
            **{name: own[name].astype(str).to_numpy() for name in _MATCHED[:3]},
            _BASE: own["shown"].astype(str).to_numpy(),
            "labels": own["labels"].astype(str).to_numpy(),
            "repeat": own["repeat"].to_numpy(np.int64),
            "pick": own["pick"].to_numpy(),
            "known_answer": own["known_answer"].to_numpy(),
            "level": _scores_or_nan(own),
            "usable": row_selection.usable_status_mask(own),
        }
    ).drop_duplicates(list(_MATCHED))
    found = wanted.merge(originals, how="left", on=list(_MATCHED))
    filled = found.loc[:, list(missing)].astype({"usable": object}).fillna(missing)
    return filled.astype({"pick": "int64", "known_answer": "int64", "usable": bool})
