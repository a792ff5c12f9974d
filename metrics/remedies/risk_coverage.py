"""Risk-coverage curve: share of right decisions among decided comparisons, by share decided.

A rater is a judge with a prompt. A graded score, from −1 to 1, states how strongly a reply prefers
one answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from metrics.estimation.intervals import Floats
from metrics.remedies import rule_sets, rule_table
from metrics.remedies.decision_rules import ZERO, Values, decide_by_sign, sum_of_jury_verdicts
from metrics.remedies.order_grid import OrderGrid
from studies.domain import Estimate

MARGINS: Final = tuple(round(0.05 * step, 2) for step in range(21))


@dataclass(frozen=True)
class CoveragePoint:
    """Share of comparisons decided, and share of right decisions among these, if a decision
    requires at least this margin (of scores or votes)."""

    margin: float
    decided: Estimate
    right_when_decided: Estimate


def graded_risk_curve(grid: OrderGrid, rater: int) -> list[CoveragePoint]:
    """Compute the risk-coverage curve of one rater: share decided and share right, if a decision
    requires a mean graded score of at least a margin, for margins from 0 to 1. Empty without graded
    replies."""
    if grid.graded is None:
        return []
    graded = grid.graded[rater].astype(np.float64)
    return _coverage_curve(grid, (graded[0] + graded[1]) / 2, MARGINS)


def jury_risk_curve(grid: OrderGrid, raters: Sequence[int]) -> list[CoveragePoint]:
    """Compute the risk-coverage curve of a jury (several judges that decide together) in which each
    judge has one vote in each order: share decided and share right, if a decision requires a lead
    of at least 1 vote, 2 votes, … all votes."""
    votes = sum_of_jury_verdicts([grid.verdicts[rater] for rater in raters])
    return _coverage_curve(grid, votes, range(1, 2 * len(raters) + 1))


def _coverage_curve(
    grid: OrderGrid, score: Floats, margins: Sequence[float]
) -> list[CoveragePoint]:
    """Return a point for each margin, if comparisons with at least this |score| are decided by the
    sign of the score. Comparisons without a score, and margins that decide none, are left out."""
    known = np.isfinite(score)
    if not known.any():
        return []
    part, score = grid.select(known), score[known]
    found = (_coverage_point(part, score, float(margin)) for margin in margins)
    return [point for point in found if point.right_when_decided.value is not None]


def _coverage_point(grid: OrderGrid, score: Values, margin: float) -> CoveragePoint:
    kept = np.where(np.abs(score) < margin - ZERO, 0.0, score)
    rule = rule_sets.Rule(f"margin({margin:g})", (), decide_by_sign(kept), {})
    (line,) = rule_table.estimate_rules(grid, [rule], np.random.default_rng(0))
    return CoveragePoint(margin, line.decided, line.right_when_decided)
