"""Mistakes of a judge on labelled comparisons, by kind: category, and position of the better
answer. They are shown before a prompt is changed, because often the labels are at fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import proportion
from studies.domain import Estimate
from studies.frames.frame_codes import NO_PICK, SEP
from studies.people.label_split import LabelledComparison


@dataclass(frozen=True)
class JudgeMistakes:
    """Shares of a judge's verdicts against the known better answer: of all verdicts, by category,
    and by the position in which the better answer was shown (first, second)."""

    all: Estimate
    by_category: Mapping[str, Estimate]
    by_position: Mapping[str, Estimate]


def label_frame(frame: pd.DataFrame, labels: Iterable[LabelledComparison]) -> pd.DataFrame:
    """Return the rows on labelled comparisons, with the labels as truth."""
    winners = {(one.item, SEP.join((one.first, one.second))): one.winner for one in labels}
    keys = zip(frame["item"].astype(str), frame["comparison"].astype(str), strict=True)
    winner = [winners.get(key, "") for key in keys]
    truth = [
        NO_PICK if not name else shown.split(SEP).index(name)
        for name, shown in zip(winner, frame["shown"].astype(str), strict=True)
    ]
    marked = frame.assign(truth=np.array(truth, np.int8))
    return row_selection.select_rows(marked, np.array(truth) != NO_PICK)


def judge_mistakes(
    frame: pd.DataFrame, judge: str, prompt: str, labels: Sequence[LabelledComparison]
) -> JudgeMistakes | None:
    """Count the verdicts of a judge against the labels; None if it has no usable verdict on them.
    A tie is a mistake: the label names a better answer."""
    own = (frame["judge"].astype(str) == judge) & (frame["prompt"].astype(str) == prompt)
    rows = label_frame(row_selection.select_picks(row_selection.select_rows(frame, own)), labels)
    if not len(rows):
        return None
    truth = rows["truth"].to_numpy()
    category = rows["category"].astype(str).to_numpy()
    return JudgeMistakes(
        _share(rows, np.ones(len(rows), np.bool_)),
        {str(name): _share(rows, category == name) for name in sorted(set(category)) if name},
        {
            place: _share(rows, truth == slot)
            for slot, place in enumerate(("first", "second"))
            if (truth == slot).any()
        },
    )


def _share(rows: pd.DataFrame, keep: row_selection.Mask) -> Estimate:
    part = row_selection.select_rows(rows, keep)
    wrong = part["pick"].to_numpy() != part["truth"].to_numpy()
    return proportion(wrong.astype(np.float64), row_selection.item_codes(part))
