"""Recommendations of prompts in simulated studies: right in 95 of 100, and null candidates adopted
in at most 5 %.

`python -m tests.soak.test_alignment` prints the counts.
"""

from __future__ import annotations

import pytest

from tests.soak.alignment_studies import (
    BLUNT,
    CURED,
    DULL,
    EVEN,
    FAIR,
    HARSH,
    LEANING,
    LENIENT,
    MILD,
    SHARP_BUT_LEANING,
    STRICT_ENOUGH,
    WEAK,
    WORDY,
    count_advice,
)

STUDIES = 100
NULL_STUDIES = 200
CASES = (
    ("a block removes the weakness", (WEAK, CURED), 60, ("adopt", "p1")),
    ("beside a block without effect", (WEAK, WEAK, CURED), 60, ("adopt", "p2")),
    ("a block only adds bias", (FAIR, LEANING), 60, ("do not adopt", "p1")),
    ("a block adds agreement and bias", (BLUNT, SHARP_BUT_LEANING), 60, ("do not adopt", "p1")),
    ("pass/fail: a block removes lenience", (LENIENT, STRICT_ENOUGH), 60, ("adopt", "p1")),
    ("pass/fail: a block only adds length", (EVEN, WORDY), 60, ("do not adopt", "p1")),
    ("pass/fail: agreement and length", (DULL, WORDY), 60, ("do not adopt", "p1")),
    ("scores: a block removes severity", (HARSH, MILD), 60, ("adopt", "p1")),
)
NULLS = ((FAIR, FAIR), (WEAK, WEAK), (FAIR,) * 5, (EVEN, EVEN), (LENIENT, LENIENT), (EVEN,) * 5,
         (HARSH, HARSH), (MILD,) * 5)  # fmt: skip


@pytest.mark.extra
@pytest.mark.parametrize(("name", "judges", "items", "right"), CASES)
def test_the_recommendation_is_right_in_95_of_100_studies(name, judges, items, right) -> None:
    assert count_advice(judges, items, STUDIES)[right] >= 95, name


@pytest.mark.extra
@pytest.mark.parametrize("judges", NULLS)
def test_null_candidates_are_adopted_in_at_most_5_percent(judges) -> None:
    assert count_adopted(judges, NULL_STUDIES) <= 0.05 * NULL_STUDIES


def count_adopted(judges, studies: int) -> int:
    counts = count_advice(judges, 60, studies)
    return sum(n for (advice, _), n in counts.items() if advice == "adopt")


def test_quick_form_of_both() -> None:
    """Of three null studies one may be adopted by chance (5 % each)."""
    assert count_advice((WEAK, CURED), 60, 3)["adopt", "p1"] == 3
    assert count_advice((FAIR, LEANING), 60, 3)["do not adopt", "p1"] == 3
    assert count_adopted((FAIR, FAIR), 3) <= 1
    assert count_advice((LENIENT, STRICT_ENOUGH), 60, 3)["adopt", "p1"] == 3
    assert count_advice((EVEN, WORDY), 60, 3)["do not adopt", "p1"] == 3
    assert count_adopted((EVEN, EVEN), 3) <= 1


if __name__ == "__main__":
    for name, judges, items, _ in CASES:
        print(name, dict(count_advice(judges, items, STUDIES)))
    for judges in NULLS:
        found = dict(count_advice(judges, 60, NULL_STUDIES))
        print(f"{len(judges) - 1} null candidates, {judges[0]}", found)
