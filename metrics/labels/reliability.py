"""Reliability curve: share of good answers by the probability of a pass (without probabilities, by
the share of verdicts that pass), or mean label by score."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import Floats, proportion
from metrics.labels.option_order import rows_by_rater
from metrics.labels.point_table import ANSWER, answer_verdicts, arrangements_by_code, table_scale
from studies.domain import Estimate, Rater

BINS: Final = 5
"""Number of equally wide bins of the probability of a pass."""


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """Answers to which the judge gave about the same value (probability or share of passes, or
    score), and their labels."""

    value: float
    """Mean probability of a pass that the judge gave, or mean share of its verdicts that pass; for
    scores, the score."""
    label: Estimate
    """Share of good answers; for scores, the mean label."""
    by_probability: bool = False
    """Whether `value` is from probabilities of the options."""


def reliability_curves(frame: pd.DataFrame) -> dict[Rater, tuple[ReliabilityPoint, ...]]:
    """Return (judge, prompt) -> points of the reliability curve, for judges and prompts with
    labels.

    For pass/fail, the judge's value for an answer is its probability of a pass or, if no
    probabilities of the options are stored, the share of passes among the verdicts on the answer.
    Otherwise it is the score of each verdict.
    """
    if not (frame["options"] == 1).any():
        return {}
    table = answer_verdicts(frame)
    table = table[table["label"].notna() & ~table["noise"]]
    passes = np.asarray([one.is_pass_fail for one in arrangements_by_code(frame)], bool)
    found: dict[Rater, tuple[ReliabilityPoint, ...]] = {}
    for rater, own in rows_by_rater(table):
        if passes[own["labels"].to_numpy()].all():
            found[rater] = _pass_reliability_curve(own)
        else:
            found[rater] = _score_reliability_curve(own)
    return found


def _pass_reliability_curve(rows: pd.DataFrame) -> tuple[ReliabilityPoint, ...]:
    known = rows["expected"].notna()
    probability = rows["expected"].where(known, rows["score"])
    answers = rows.assign(value=probability).groupby([*ANSWER])[["value", "label"]].mean()
    value = answers["value"].to_numpy(np.float64)
    place = np.minimum((value * BINS).astype(np.int64), BINS - 1)
    item = answers.index.get_level_values("item").to_numpy()
    label = answers["label"].to_numpy(np.float64)
    return tuple(
        ReliabilityPoint(
            float(value[place == k].mean()),
            proportion(label[place == k] >= 0.5, item[place == k]),
            bool(known.any()),
        )
        for k in range(BINS)
        if (place == k).any()
    )


def _score_reliability_curve(rows: pd.DataFrame) -> tuple[ReliabilityPoint, ...]:
    score: Floats = np.round(rows["score"].to_numpy(np.float64), 6)
    scale = table_scale(rows)
    return tuple(
        ReliabilityPoint(
            float(value),
            scale.mean_score(
                rows["label"].to_numpy(np.float64)[score == value],
                rows["item"].to_numpy()[score == value],
            ),
        )
        for value in np.unique(score)
    )


def reliability_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on reliability, as judge -> prompt -> value given by the judge ->
    share of good answers, or mean label."""
    nested: dict[str, Any] = {}
    for (judge, prompt), points in reliability_curves(frame).items():
        nested.setdefault(judge, {})[prompt] = {f"{one.value:.4g}": one.label for one in points}
    return nested
