"""The position term γ written as a mean over verdicts, so that it can be compared between judges
or prompts in the same way as other means.

Each of n verdicts gets the value γ + n·(its influence on the fitted γ). The mean of these values is
γ, and the standard error of this mean, clustered by item, is that of the fit (sandwich estimator).
"""

from typing import Final

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics.estimation import intervals, row_selection
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.ratings.position_term import NO_VERDICTS_NOTE, RUN_BOTH_ORDERS_NOTE, fit_position_model
from studies.domain import Estimate
from studies.frames.frame import TIE


def _pseudo_values(rows: pd.DataFrame) -> tuple[intervals.Floats, intervals.Floats] | None:
    """Return the pseudo-values of the position term γ and of σ(γ), one for each of n rows of a
    cell: γ (or σ(γ)) plus n times the row's influence on it. None if γ has no interval."""
    one = rows.assign(judge=pd.Categorical(["all"] * len(rows)))
    model = fit_position_model(one)
    gamma = model.gamma.get("all", Estimate(None))
    if gamma.value is None or gamma.low is None:
        return None
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    strength = np.array([_value_or_zero(model.strength.get(name)) for name in names])
    design = np.zeros((len(rows), len(names) + 1))
    line = np.arange(len(rows))
    np.add.at(design, (line, placed[:, 0]), 1.0)
    np.add.at(design, (line, placed[:, 1]), -1.0)
    design[:, -1] = 1.0
    p = expit(strength[placed[:, 0]] - strength[placed[:, 1]] + gamma.value)
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 0.5, pick == 0)
    bread = np.linalg.pinv((design * (p * (1 - p))[:, None]).T @ design, hermitian=True)
    influence = (design @ bread[-1]) * (outcome - p) * len(rows)
    share = float(expit(gamma.value))
    return gamma.value + influence, share + share * (1 - share) * influence


def _value_or_zero(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None or estimate.value is None else estimate.value


def _pseudo_value_tally(index: int, grouped: GroupedFrame) -> MeasureTally:
    """Return the sums and counts (MeasureTally) of the pseudo-values of γ (`index` is 0) or of σ(γ)
    (1); cells in which γ has no interval are left out."""
    rows = row_selection.select_known_order(row_selection.select_pairs(grouped.picks))
    parts = []
    for cell in range(grouped.count):
        part = row_selection.select_rows(rows, rows["cell"] == cell)
        values = _pseudo_values(part) if len(part) else None
        if values is not None:
            parts.append(part.assign(pseudo=values[index]))
    counted = pd.concat(parts) if parts else rows.iloc[:0].assign(pseudo=0.0)
    return build_tally(counted, counted["pseudo"], 1)


POSITION_TERM: Final = Measure(
    "position_term",
    "logit",
    lambda evidence: _pseudo_value_tally(0, evidence),
    "mean",
    empty=f"{NO_VERDICTS_NOTE}, or {RUN_BOTH_ORDERS_NOTE}",
)
FIRST_IF_EQUAL: Final = Measure(
    "first_if_equal",
    "share",
    lambda evidence: _pseudo_value_tally(1, evidence),
    "mean",
    (0, 1),
    POSITION_TERM.empty,
)
"""σ(γ): win share of the answer shown first, of two equal answers."""
