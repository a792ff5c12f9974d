"""Codes of the frame of human votes."""

import numpy as np
import pytest

from studies.frames.battle_frame import MAX_SPARE_CODES, _group_codes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0, 0, 1, 1, 0], [0, 1, 0, 1, 1]),
        ([0, 0, 9, 9, 0], [0, 9, 0, 9, 9]),  # 100 codes are too many for five rows
        ([0, 0, 4, 4, 4], [0, 1, 0, 1, 1]),
        ([0, 8, 0, 8, 0], [0, 0, 2**61 - 1, 0, 0]),  # 8 * 2**61 is 0 in 64 bits
        ([0, 2**40, 0, 2**40, 5], [2**40, 0, 2**40, 0, 5]),
        ([3, 3, 3, 3, 3], [2**62, 2**62, 2**62, 1, 1]),
    ],
)
def test_rows_have_one_code_exactly_if_all_their_values_are_equal(one, other):
    columns = [np.array(one), np.array(other)]
    pairs = list(zip(one, other, strict=True))
    for made in (_group_codes(*columns), _group_codes(*columns[::-1])):
        assert made.min() >= 0 and made.max() < MAX_SPARE_CODES * 5
        equal = [[a == b for b in pairs] for a in pairs]
        assert (made[:, None] == made[None, :]).tolist() == equal
