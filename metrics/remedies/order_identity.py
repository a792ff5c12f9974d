"""Reason why asking twice with hard verdicts gains little: credit by pattern of two verdicts.

With half credit, adding up two orders has the expected credit of one call, except where exactly one
order is a tie: pool − single = (tie once and right − tie once and wrong) / (4 n), and
agree − single is its negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.remedies.order_grid import OrderGrid


@dataclass(frozen=True)
class OrderPatterns:
    """Comparisons of one judge by the pattern of its verdicts in the two orders."""

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
        """pool − single; agree − single is the negative of it."""
        return (self.tie_once_right - self.tie_once_wrong) / 4 / max(self.comparisons, 1)


def order_patterns(grid: OrderGrid, cell: int) -> OrderPatterns:
    """Count the patterns of one judge and prompt over the comparisons of a grid."""
    one, two = grid.verdicts[cell] * grid.truth
    total, once = one + two, (one == 0) != (two == 0)

    def count(mask: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(mask))

    return OrderPatterns(
        count(total == 2),
        count(total == -2),
        count((total == 0) & (one != 0)),
        count((one == 0) & (two == 0)),
        count(once & (total > 0)),
        count(once & (total < 0)),
    )
