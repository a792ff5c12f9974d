"""An interval that leaves out 0 is printed so that it does."""

from __future__ import annotations

import pytest

from metrics.twins.twin_sentence import digits_to_show_sign
from studies.domain import Estimate


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [(-0.2816, -0.00045, 2), (-0.28, -0.004, 1), (0.11, 0.37, 0), (-0.1, 0.0004, 0), (0, 0.3, 0)],
)
def test_an_end_near_0_is_printed_with_the_decimals_that_tell(low, high, digits) -> None:
    one = Estimate(-0.14, low, high, 78, 39)
    assert digits_to_show_sign(one, 0, 100) == digits
