"""Tables of usable verdicts on one answer, with the arrangement of options and criteria.

An arrangement is the order in which a prompt lists them. Noise-floor repeats are calls repeated
only to measure how much a judge varies.
"""

from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection, score_scale
from metrics.labels.labelled_rows import scores_or_nan_if_unusable
from studies.frames import point_columns
from studies.frames.arrangement import LEVEL_PREFIX, Arrangement

ANSWER: Final = ("item", "entry", "who")
"""Columns that identify one answer: `item`, the unit of resampling (an item, or a question that
several items share); `entry`, the item; `who`, the contestant."""
NO_CRITERION: Final = ""


def answer_verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per usable verdict on one answer. Calls repeated only to measure noise are
    included, with `noise` true.

    Columns: judge, prompt, item (unit of resampling), entry (item), who (contestant), options and
    criteria (each as a text in the order listed), labels (code of the arrangement), noise, score,
    expected and spread (mean and standard deviation of the score by the probabilities of the
    options), label, lowest and highest (scores of the options offered; infinite if unknown), step
    (their smallest distance), row (row number among the frame's rows on single answers)."""
    rows = row_selection.select_rows(frame, (frame["options"] == 1).to_numpy())
    codes = rows["labels"].cat.codes.to_numpy()
    parsed = _parse_arrangements(rows)
    scales = [score_scale.scale_of([one]) for one in parsed]
    # The options in the order offered as one text, such as "1 2 3" or "A=1 B=2".
    table = pd.DataFrame(
        {
            "judge": rows["judge"].astype(str).to_numpy(),
            "prompt": rows["prompt"].astype(str).to_numpy(),
            "item": row_selection.item_codes(rows),
            "entry": rows["item"].cat.codes.to_numpy(),
            "who": rows["first"].astype(str).to_numpy(),
            "options": _texts_by_code([" ".join(one.option_labels) for one in parsed], codes),
            "criteria": _texts_by_code([" ".join(one.criteria) for one in parsed], codes),
            "labels": codes,
            "noise": rows["noise"].to_numpy(np.bool_),
            "score": scores_or_nan_if_unusable(rows),
            "expected": _numbers_or_nan(rows, point_columns.EXPECTED_COLUMN),
            "spread": _numbers_or_nan(rows, point_columns.SPREAD_COLUMN),
            "label": _numbers_or_nan(rows, point_columns.GOLD_COLUMN),
            "lowest": np.asarray([one.low for one in scales], np.float64)[codes],
            "highest": np.asarray([one.high for one in scales], np.float64)[codes],
            "step": np.asarray([one.step for one in scales], np.float64)[codes],
            "row": np.arange(len(rows)),
        }
    )
    return table[table["score"].notna()]


def chosen_options(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per chosen option, with the columns of `answer_verdicts`, the name of the
    criterion, and the criterion's place in the prompt's list of criteria.

    A verdict by a rubric has a row for each criterion, in which `score` is the criterion's level
    and `label` people's mean level. Any other verdict has one row, with an empty criterion.
    """
    rows = row_selection.select_rows(frame, (frame["options"] == 1).to_numpy())
    table = answer_verdicts(frame)
    parsed = _parse_arrangements(rows)
    many = np.asarray([bool(one.criteria) for one in parsed], bool)
    rubric = many[table["labels"].to_numpy()] if len(parsed) else np.zeros(len(table), bool)
    found = [table[~rubric].assign(criterion=NO_CRITERION, place=0)]
    own = table[rubric]
    most = max((len(one.criteria) for one in parsed), default=0)
    for place in range(most if len(own) else 0):
        names = [one.criteria[place] if len(one.criteria) > place else "" for one in parsed]
        at = own["row"].to_numpy()
        part = own.assign(
            criterion=_texts_by_code(names, own["labels"].to_numpy()),
            place=place,
            score=_numbers_or_nan(rows, f"{LEVEL_PREFIX}{place}")[at],
            expected=_numbers_or_nan(rows, f"{point_columns.EXPECTED_LEVEL_PREFIX}{place}")[at],
            spread=_numbers_or_nan(rows, f"{point_columns.LEVEL_SPREAD_PREFIX}{place}")[at],
            label=_numbers_or_nan(rows, f"{point_columns.CRITERION_LABEL_PREFIX}{place}")[at],
        )
        found.append(part[part["score"].notna() & (part["criterion"] != "")])
    return pd.concat(found, ignore_index=True)


def table_scale(table: pd.DataFrame) -> score_scale.ScoreScale:
    """Return the scale of the scores and labels in rows of `answer_verdicts` or
    `chosen_options`."""
    low, high = float(table["lowest"].min()), float(table["highest"].max())
    scale = score_scale.ScoreScale(low, high, step=float(table["step"].min()))
    return scale.extended_to(*(table[name].to_numpy(np.float64) for name in ("score", "label")))


def arrangements_by_code(frame: pd.DataFrame) -> list[Arrangement]:
    """Return the arrangements (orders in which a prompt lists options and criteria) that occur in
    the frame; the code in the column `labels` of `answer_verdicts` is the index in this list."""
    return _parse_arrangements(row_selection.select_rows(frame, (frame["options"] == 1).to_numpy()))


def _parse_arrangements(rows: pd.DataFrame) -> list[Arrangement]:
    return [point_columns.arrangement_of(name) for name in rows["labels"].cat.categories]


def _texts_by_code(texts: list[str], codes: np.ndarray) -> np.ndarray:
    return np.asarray(texts, object)[codes] if texts else np.zeros(0, object)


def _numbers_or_nan(rows: pd.DataFrame, column: str) -> np.ndarray:
    if column not in rows:
        return np.full(len(rows), np.nan)
    return rows[column].to_numpy(np.float64)
