"""Juries of the JSON section on remedies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from metrics.summary.remedy_section import _default_juries


def test_a_jury_of_the_best_three_is_marked_as_selected_by_agreement():
    study: Any = SimpleNamespace(raters_by_agreement=lambda panel: sorted(panel, reverse=True))
    assert _default_juries(study, [0]) == []
    assert _default_juries(study, [0, 1, 2]) == [([0, 1, 2], False)]
    assert _default_juries(study, [0, 1, 2, 3]) == [([0, 1, 2, 3], False), ([3, 2, 1], True)]
