"""Credit of decision rules (1 if right, ½ if undecided, 0 if wrong) by the two verdicts of a
comparison, which explains why a second order gains little.

Adding up both orders (`pool`) earns on average the same credit as one call (`single`), except where
exactly one of the two verdicts is a tie. If, of n comparisons, r have a tie and a right verdict and
w a tie and a wrong verdict, pool − single = (r − w)/(4 n). For the rule `agree` (decide only if
both orders agree) the difference is (w − r)/(4 n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.remedies.order_grid import OrderGrid


@dataclass(frozen=True)
class OrderPatterns:
    """Number of comparisons of one judge with each pattern of verdicts in the two orders."""

    same_right: int
    same_wrong: int
    opposite: int
    tie_twice: int
    tie_once_right: int
    tie_once_wrong: int

    @property
    def comparisons(self) -> int:
        return (
            self.same_right + self.same_wrong + self.opposite + self.tie_twice
            + self.tie_once_right + self.tie_once_wrong
        )  # fmt: skip

    @property
    def gain(self) -> float:
        """Mean credit gained by adding up both orders (the rule `pool`) instead of using one call
        (`single`). For the rule `agree` (decide only if both orders agree) the gain has the
        opposite sign."""
        return (self.tie_once_right - self.tie_once_wrong) / 4 / max(self.comparisons, 1)


def count_order_patterns(grid: OrderGrid, rater: int) -> OrderPatterns:
    """Count the comparisons of an order grid (verdicts of all judges as arrays, see
    metrics/remedies/order_grid.py) with each pattern of verdicts in the two orders, for one judge
    and prompt."""
    one, two = grid.verdicts[rater] * grid.known_winner
    total, once = one + two, (one == 0) != (two == 0)

    def count_true(mask: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(mask))

    return OrderPatterns(
        count_true(total == 2),
        count_true(total == -2),
        count_true((total == 0) & (one != 0)),
        count_true((one == 0) & (two == 0)),
        count_true(once & (total > 0)),
        count_true(once & (total < 0)),
    )
