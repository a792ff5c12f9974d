"""Length effects: share of wins of the longer answer, and win rates adjusted for length.

Neither is causal: a longer answer may be better because it has more content. A causal effect is
measured by twins with padding (metrics/twins), and by the probe set: its "padded" answers have the
content of its "precise" ones in more words.
"""

import math

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from metrics.estimation import all_measures, intervals, row_selection
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import Estimate
from studies.frames.frame import TIE

DESCRIPTIVE_NOTE = "descriptive, not causal: longer answers may also be better"
NO_LENGTHS_NOTE = "no verdict on a pair of answers of known, different lengths"
LEAST_SIDE_ITEMS = 5
LEAST_SIDE_SHARE = 0.1
NO_LENGTH_OVERLAP_NOTE = (
    "lengths hardly overlap: one model's answer is as long as the other's, or longer, on fewer "
    f"than {LEAST_SIDE_ITEMS} items or {100 * LEAST_SIDE_SHARE:.0f} % of them"
)
MAX_STEPS = 100
LENGTH_RIDGE = 1e-3
"""Small ridge penalty that keeps the coefficient of length finite if length alone predicts every
verdict."""


def _pairs_with_lengths(rows: pd.DataFrame) -> pd.DataFrame:
    """Select pairs in which the lengths of both answers are known."""
    rows = row_selection.select_pairs(rows)
    if "length_0" not in rows or "length_1" not in rows:
        return rows.iloc[:0]
    return row_selection.select_rows(rows, (rows["length_0"] >= 0) & (rows["length_1"] >= 0))


def _tally_wins_of_longer(grouped: GroupedFrame) -> MeasureTally:
    rows = _pairs_with_lengths(grouped.picks_for_order_free_measures)
    if len(rows) == 0:
        return build_tally(rows, 0, 0)
    gap = rows["length_0"].to_numpy().astype(np.int64) - rows["length_1"].to_numpy()
    pick = rows["pick"].to_numpy()
    counted = (pick >= 0) & (gap != 0)
    return build_tally(rows, counted & ((gap > 0) == (pick == 0)), counted)


LONGER_SHARE = Measure(
    "longer", "share", _tally_wins_of_longer, empty=NO_LENGTHS_NOTE, prefers_order_sets=True
)


def length_preference(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of decisive verdicts for the longer answer, without answers of equal
    length. The verdicts are those on comparisons judged in all planned orders, and those of unknown
    order (or all, if no comparison was planned in several orders)."""
    return all_measures.estimate_all([LONGER_SHARE], frame)[LONGER_SHARE.name][()]


def length_preference_at_equal_quality(frame: pd.DataFrame) -> Estimate:
    """Estimate the share of decisive verdicts for the longer answer where both answers are known to
    be equally good, so that length is not mixed with quality."""
    equal = frame["known_answer"].to_numpy() == TIE
    return length_preference(row_selection.select_rows(frame, equal))


def length_controlled_win_rates(frame: pd.DataFrame, baseline: str) -> dict[str, Estimate]:
    """Estimate each contestant's win rate against the model `baseline`, as if both answers were
    equally long.

    The model is logit P(win) = θ + φ·tanh(difference of lengths/its standard deviation); the rate
    is σ(θ). It is AlpacaEval 2's model in its simplest form, without difficulties of instructions.
    Where lengths differ, the contestant's answers must be at least as long as the baseline's on
    LEAST_SIDE_ITEMS items or more, and on the share LEAST_SIDE_SHARE of all items; and at most as
    long on as many items. Otherwise the rate is unknown. A contestant whose verdicts are all the
    same has its plain win rate: 1, 0, or ½ for ties.
    """
    rows = _pairs_with_lengths(row_selection.select_picks(frame))
    rows = row_selection.select_rows(
        rows, (rows["first"] == baseline) | (rows["second"] == baseline)
    )
    others = [name for name in row_selection.contestants(rows) if name != baseline]
    return {name: _controlled_win_rate(_outcomes_and_length_gaps(rows, name)) for name in others}


def _outcomes_and_length_gaps(
    rows: pd.DataFrame, name: str
) -> tuple[intervals.Floats, intervals.Floats, intervals.Ints]:
    """Return, for each verdict on a contestant: the contestant's outcome, the length of its answer
    minus that of the other answer, and the item."""
    rows = row_selection.select_rows(rows, (rows["first"] == name) | (rows["second"] == name))
    first = (rows["first"] == name).to_numpy()
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 0.5, (pick == 0) == first)
    gap = (rows["length_0"].to_numpy().astype(np.float64) - rows["length_1"].to_numpy()) * np.where(
        first, 1, -1
    )
    return outcome.astype(np.float64), gap, row_selection.item_codes(rows)


def _controlled_win_rate(
    data: tuple[intervals.Floats, intervals.Floats, intervals.Ints],
) -> Estimate:
    """Estimate the win rate of a contestant at equal length; the plain win rate if all verdicts are
    the same. `data` has, for each verdict, the contestant's outcome, the length of its answer minus
    that of the other answer, and the item. The interval is not narrower (in logits) than that of
    the plain win rate: few items that agree by chance do not make it certain."""
    outcome, gap, item = data
    least = max(LEAST_SIDE_ITEMS, LEAST_SIDE_SHARE * len(np.unique(item)))
    if gap.any() and min(len(np.unique(item[side])) for side in (gap >= 0, gap <= 0)) < least:
        return intervals.unknown_estimate(NO_LENGTH_OVERLAP_NOTE, "share")
    plain = intervals.proportion(
        outcome, item, note="all verdicts are the same: no length effect can be fitted"
    )
    if outcome.min() == outcome.max():
        return plain
    design, note = _design_matrix(gap)
    shrink = np.array([LENGTH_RIDGE * (k > 0) for k in range(design.shape[1])])
    beta, covariance, items = fit_logit(design, outcome, item, shrink)
    half, reason = logit_half_width(float(covariance[0, 0]), items)
    if half is not None and plain.low is not None:
        half = max(half, float(logit(plain.high) - logit(plain.low)) / 2)
    low, high = (None if half is None else float(expit(beta[0] + s * half)) for s in (-1, 1))
    method = "logistic regression, sandwich variance by item"
    note = intervals.join_notes(note, reason)
    value = float(expit(beta[0]))
    return Estimate(value, low, high, len(outcome), items, "share", 0.95, method, note)


def logit_half_width(variance: float, items: int) -> tuple[float | None, str]:
    """Return the half-width of the t interval of a coefficient with this variance, and "". With one
    item, or with a variance of zero, return None and the reason as a note."""
    if items < 2:
        return None, intervals.ONE_ITEM_NOTE
    if variance < intervals.NO_SPREAD_LOGITS**2:
        return None, intervals.ITEMS_AGREE_NOTE
    return float(intervals.student_t_quantile(items)) * math.sqrt(variance), ""


def _design_matrix(gap: intervals.Floats) -> tuple[intervals.Floats, str]:
    """Return the columns of intercept and length term (`gap`: differences of lengths), and a note;
    if all differences are equal there is no length term."""
    spread = float(gap.std())
    one = np.ones((len(gap), 1))
    if spread == 0:
        return one, intervals.join_notes(
            DESCRIPTIVE_NOTE, "all length differences are equal: the length term is dropped"
        )
    return np.concatenate([one, np.tanh(gap / spread)[:, None]], axis=1), DESCRIPTIVE_NOTE


def fit_logit(
    design: intervals.Floats,
    outcome: intervals.Floats,
    item: intervals.Ints,
    penalty: intervals.Floats,
) -> tuple[intervals.Floats, intervals.Floats, int]:
    """Fit a logistic regression (outcomes may be ½); return coefficients, covariance clustered by
    item, and number of items. `penalty` is the ridge penalty of each coefficient."""
    ridge = np.diag(penalty)
    beta = np.zeros(design.shape[1])
    for _ in range(MAX_STEPS):
        p = expit(design @ beta)
        hessian = (design * (p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, design.T @ (outcome - p) - ridge @ beta)
        beta = beta + step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < 1e-10:
            break
    p = expit(design @ beta)
    bread = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design + ridge)
    _, scores = intervals.sum_by_item(design * (outcome - p)[:, None], item)
    groups = len(scores)
    meat = scores.T @ scores * (groups / max(groups - 1, 1))
    return beta, bread @ meat @ bread, groups
