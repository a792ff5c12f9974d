"""Order of disputed comparisons: the entropy of the choices, by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from components.results.agreement.disputes import _entropy


def test_the_entropy_of_choices_is_in_bits():
    assert _entropy(Counter(a=1, b=1)) == pytest.approx(1.0)
    assert _entropy(Counter(a=3, b=1)) == pytest.approx(0.811278, abs=1e-6)
    assert _entropy(Counter(a=2, b=2, c=2, d=2)) == pytest.approx(2.0)
    assert _entropy(Counter(a=5, b=0)) == _entropy(Counter()) == 0.0
