"""Do the intervals of twins hold, and how often is an effect found that is not there?

Six families of twins, two floors and three controls, with 20, 64 and 200 items; 300 studies of each
size with known preferences, and 300 without any. Then the differences of two judges, as "Compare
with" shows them, on the same twins of the same items.
`python -m tests.soak.test_coverage_twins` prints the table of docs/coverage.md.
"""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation.contrasts import estimate_contrast_family
from metrics.twins.twin_effects import SHOWN, paired_twin_totals, twin_effects
from studies.texts.twin_families import CONTROLS
from tests.metrics.twins.simulated_twins import STRONG, duel_frame, true_effects, two_judges_frame

STUDIES = 300
SIZES = (20, 64, 200)
OTHER = {"longer-3": 0.4, "markdown": 0.7, "citation": -0.3, "crowd": 0.6, "prefix": 0.3}
"""Preferences of the second judge in logits: in some families as the first, in others not."""


def coverage(items: int, studies: int) -> tuple[float, float]:
    """Share of intervals beyond the floor that hold the truth, and share of studies in which all
    adjusted ones do."""
    held = given = together = 0
    for study in range(studies):
        frame = duel_frame(items, STRONG, np.random.default_rng([items, study]))
        effects = [e for e in twin_effects(frame, frame.iloc[:0]) if e.family not in CONTROLS]
        truth = true_effects(STRONG, [one.family for one in effects])
        inside = [_holds(one.beyond_floor, truth[one.family]) for one in effects]
        held, given = held + sum(inside), given + len(inside)
        together += all(_holds(one.adjusted, truth[one.family]) for one in effects)
    return held / given, together / studies


def contrast_coverage(items: int, studies: int) -> tuple[float, float]:
    """The same for the differences between two judges in the effects beyond their floors."""
    held = given = together = 0
    for study in range(studies):
        rng = np.random.default_rng([3, items, study])
        frame = two_judges_frame(items, {"one": STRONG, "two": OTHER}, rng)
        totals = paired_twin_totals(frame, frame.iloc[:0], ("one", ""), ("two", ""))
        one, two = (true_effects(own, list(totals)) for own in (STRONG, OTHER))
        truth = [one[family] - two[family] for family in totals]
        found = estimate_contrast_family(list(totals.values()), rng)
        inside = [_holds(line.raw, true) for line, true in zip(found, truth, strict=True)]
        held, given = held + sum(inside), given + len(inside)
        together += all(
            _holds(line.adjusted, true) for line, true in zip(found, truth, strict=True)
        )
    return held / given, together / studies


def _holds(got, truth: float) -> bool:
    return got.low <= truth <= got.high


def false_findings(items: int, studies: int) -> float:
    """Share of studies without any preference in which an effect is shown."""
    wrong = 0
    for study in range(studies):
        frame = duel_frame(items, {}, np.random.default_rng([7, items, study]))
        effects = twin_effects(frame, frame.iloc[:0])
        wrong += any(one.finding == SHOWN for one in effects if one.family not in CONTROLS)
    return wrong / studies


@pytest.mark.parametrize("items", SIZES)
def test_intervals_of_twins_hold(items: int) -> None:
    alone, together = coverage(items, STUDIES)
    assert 0.93 <= alone <= 0.97 and together >= 0.93


@pytest.mark.parametrize("items", SIZES)
def test_intervals_of_differences_between_two_judges_hold(items: int) -> None:
    alone, together = contrast_coverage(items, STUDIES)
    assert 0.93 <= alone <= 0.97 and together >= 0.93


@pytest.mark.parametrize("items", SIZES)
def test_false_findings_are_at_most_five_in_a_hundred_studies(items: int) -> None:
    assert false_findings(items, STUDIES) <= 0.05 + 2 * (0.05 * 0.95 / STUDIES) ** 0.5


if __name__ == "__main__":
    print(
        "| items | each interval | all adjusted | studies with a false finding |\n|---|---|---|---|"
    )
    for size in SIZES:
        alone, together = coverage(size, STUDIES)
        print(f"| {size} | {alone:.3f} | {together:.3f} | {false_findings(size, STUDIES):.3f} |")
    print("\n| items | each difference | all adjusted |\n|---|---|---|")
    for size in SIZES:
        alone, together = contrast_coverage(size, STUDIES)
        print(f"| {size} | {alone:.3f} | {together:.3f} |")
