"""Effect of length on winning: share won by ratio of lengths, odds ratio of a doubled length."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import proportions
from metrics.estimation.row_selection import item_codes, select_pairs, select_picks, select_rows
from metrics.win_rates.length_effects import LENGTH_RIDGE, fit_logit, logit_half_width
from studies.domain import Estimate
from studies.frames.frame import TIE

LEAST_DOUBLING: Final = 0.5
"""Least |log2(length ratio)| that a part of the verdicts must reach (`REACHED_BY`); below it, the
effect of twice the length would be far outside the data."""
REACHED_BY: Final = 0.05
LENGTH_BIN_EDGES: Final = (-math.inf, -1.5, -0.9, -0.5, -0.17, 0.17, 0.5, 0.9, 1.5, math.inf)
"""Bin edges of log2(length of an answer / length of the other), the same for all judges."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """One bin of length ratios, with the share of its answers that won."""

    ratio: float
    """Mean of log2(length of the answer / length of the other answer)."""
    win_rate: Estimate


@dataclass(frozen=True, slots=True)
class LengthEffect:
    """Effect of length on winning, for judges or for people: bins for the chart, odds ratio for the
    text."""

    bins: tuple[LengthBin, ...]
    odds_ratio: Estimate
    """Factor by which the odds of winning change when the length doubles."""


def length_effect(frame: pd.DataFrame) -> LengthEffect | None:
    """Estimate the length effect of the verdicts in a frame; None without a usable verdict on
    two answers of known length.

    In the bins every verdict counts for both of its answers. The odds ratio is from logit P(win) =
    β·log2(length ratio), in which answers of equal length have equal chances.
    """
    rows = select_pairs(select_picks(frame))
    if rows.empty or "length_0" not in rows or "length_1" not in rows:
        return None
    rows = select_rows(rows, (rows["length_0"] > 0) & (rows["length_1"] > 0))
    if rows.empty:
        return None
    ratio = np.log2(rows["length_0"].to_numpy(float) / rows["length_1"].to_numpy(float))
    pick = rows["pick"].to_numpy()
    won = np.where(pick == TIE, 0.5, pick == 0).astype(np.float64)
    item = item_codes(rows)
    return LengthEffect(_length_bins(ratio, won, item), _odds_ratio(ratio, won, item))


def _length_bins(ratio: np.ndarray, won: np.ndarray, item: np.ndarray) -> tuple[LengthBin, ...]:
    """Compute the share won in each bin of `ratio`, the log2 of the length ratio, one bin at a
    time, so that millions of verdicts need not be stored twice. Left out are bins without answers,
    and the bin of equal lengths, in which half of the answers win by definition. `won` is the first
    answer's outcome (1, ½ or 0)."""
    own, other = (
        np.digitize(side, LENGTH_BIN_EDGES[1:-1]).astype(np.int8) for side in (ratio, -ratio)
    )
    items, made = int(item.max()) + 1, []
    for code in range(len(LENGTH_BIN_EDGES) - 1):
        mine, its = own == code, other == code
        if code == len(LENGTH_BIN_EDGES) // 2 - 1 or not (mine.any() or its.any()):
            continue
        middle = float(np.concatenate([ratio[mine], -ratio[its]]).mean())
        wins = np.bincount(item[mine], won[mine], items) + np.bincount(
            item[its], 1 - won[its], items
        )
        n = np.bincount(item[mine], minlength=items) + np.bincount(item[its], minlength=items)
        one = np.zeros(items, np.int64)
        made.append(
            LengthBin(middle, proportions(wins.astype(np.float64), n.astype(np.float64), one, 1)[0])
        )
    return tuple(made)


def _odds_ratio(ratio: np.ndarray, won: np.ndarray, item: np.ndarray) -> Estimate:
    """Estimate the factor by which the odds of winning change when the length doubles; unknown if
    nearly all answers are about equally long. `ratio` is log2(length of the first answer / length
    of the second), `won` the first answer's outcome."""
    if not ratio.any():
        return Estimate(None, note="all answers are equally long")
    reached = float(np.quantile(np.abs(ratio), 1 - REACHED_BY, method="higher"))
    if reached < LEAST_DOUBLING:
        most = math.ceil(10 * 2**reached - 1e-9) / 10  # not rounded down: a limit
        text = f"one answer is at most {most:.1f} times as long as the other"
        return Estimate(None, note=f"{text} in {100 * (1 - REACHED_BY):.0f} % of verdicts")
    beta, covariance, items = fit_logit(ratio[:, None], won, item, np.array([LENGTH_RIDGE]))
    method = "logistic regression on log2 of the length ratio, sandwich standard error by item"
    slope = float(beta[0])
    half, note = logit_half_width(float(covariance[0, 0]), items)
    low, value, high = (
        None if end is None else math.exp(min(end, 50.0))
        for end in (half and slope - half, slope, half and slope + half)
    )
    return Estimate(value, low, high, len(won), items, "odds ratio", 0.95, method, note)
