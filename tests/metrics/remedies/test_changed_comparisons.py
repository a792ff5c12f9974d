"""Rows of comparisons on which a remedy changes the credit, by hand."""

from __future__ import annotations

import pytest

from metrics.remedies.changed_comparisons import rows_changed_by_rule_mask, rule_key
from metrics.remedies.remedy_study import build_remedy_study
from tests.metrics.frames import build, pair

# Right in both orders; a flip, which "both orders agree" leaves undecided as one call does on
# average; a tie and a right verdict: one call earns 3/4, the sum of both orders 1.
ROWS = [
    row
    for judge in "jk"
    for item, first, second in (("agree", 0, 1), ("flip", 0, 0), ("half", 0, "tie"))
    for row in pair(item, first, second, better="x", judge=judge)
]


@pytest.mark.parametrize(
    ("rule", "items"), [("pool", {"half"}), ("agree", {"half"}), ("single", set()), ("?", set())]
)
def test_only_rows_of_the_judge_on_changed_comparisons_are_selected(
    rule: str, items: set[str]
) -> None:
    frame = build(ROWS)
    rows = frame[rows_changed_by_rule_mask(frame, "k", "", rule)]
    assert set(rows["item"].astype(str)) == items
    assert len(rows) == 2 * len(items) and set(rows["judge"].astype(str)) <= {"k"}
    assert not rows_changed_by_rule_mask(frame, "nobody", "", rule).any()
    assert not rows_changed_by_rule_mask(build([]), "k", "", rule).any()


def test_a_jury_is_identified_by_its_judges() -> None:
    study = build_remedy_study(build(ROWS))
    keys = [rule_key(rule) for rule in study.rules_shown_for_rater(0)]
    assert {"single", "pool", "agree"} <= set(keys)
    assert any(key.startswith("opposite") and "j" in key and "k" in key for key in keys)
