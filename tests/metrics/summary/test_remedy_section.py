"""Juries of the JSON section on remedies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from metrics.summary.remedy_section import RemedyInputs, _default_juries, remedy_section
from tests.metrics.frames import build, pair


def test_a_jury_of_the_best_three_is_marked_as_selected_by_agreement():
    study: Any = SimpleNamespace(raters_by_agreement=lambda panel: sorted(panel, reverse=True))
    assert _default_juries(study, [0]) == []
    assert _default_juries(study, [0, 1, 2]) == [([0, 1, 2], False)]
    assert _default_juries(study, [0, 1, 2, 3]) == [([0, 1, 2, 3], False), ([3, 2, 1], True)]


def test_a_named_jury_has_its_better_judge_as_baseline_and_a_certificate():
    """Of three judges a flips, b and c are right; the jury of a and b is named."""
    rows = [row for k in range(6) for judge, second in (("a", 0), ("b", 1), ("c", 1))
            for row in pair(f"q{k}", 0, second, better="x", judge=judge)]  # fmt: skip
    found = remedy_section(build(rows), RemedyInputs(juries=(("a", "b"),)))
    jury = found["juries"]["a + b"]
    assert (jury["baseline"], jury["picked"]) == ("b", False) and "certified" in jury
