"""Do nominal 95 % intervals of shares, κ and contrasts cover, with 8, 20 and 64 items?

All seeds of a line are judges of one frame, so what is measured is what the page shows: the very
functions, cell by cell. `python -m tests.soak.test_coverage_measures` prints the table of
docs/coverage.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from metrics.estimation.contrasts import paired_contrasts
from metrics.estimation.measures import GroupedFrame
from metrics.position.position_measures import ACCURACY, CONSISTENCY, CONSISTENCY_KAPPA, FIRST_SHARE
from studies.domain import Estimate
from tests.soak.coverage_studies import (
    GRID,
    ITEMS,
    SEEDS,
    WIN_RATE,
    Setting,
    Tally,
    limits,
    shown,
    simulate,
    within,
)

STUDIES = 4 * SEEDS
"""Simulating is cheap, and 390 coverages from 1,000 seeds each (standard error .007) would cross
.93 or .97 by luck alone."""

MEASURES = (WIN_RATE, FIRST_SHARE, CONSISTENCY, ACCURACY, CONSISTENCY_KAPPA)
LINES = (*(m.name for m in MEASURES), *(f"Δ {m.name}" for m in MEASURES))


def truths(setting: Setting) -> dict[str, float]:
    """Every measure of the left judge, and left − right, with infinitely many items."""
    left, right = (limits(setting, judge) for judge in setting.judges[:2])
    return left | {f"Δ {name}": left[name] - right[name] for name in left}


def estimates(frame: pd.DataFrame, seeds: range) -> Iterator[tuple[str, Estimate]]:
    """Every interval of every study in the frame, with the name of its line."""
    evidence = GroupedFrame(frame, ["judge"])
    for measure in MEASURES:
        each = measure.by_cell(evidence)
        yield from ((measure.name, each[(f"{s}L",)]) for s in seeds)
    pairs = [((f"{s}L",), (f"{s}R",)) for s in seeds]
    # Two rounds: families have a soak of their own, and the family here is not one.
    for one in paired_contrasts(
        frame, ["judge"], MEASURES, np.random.default_rng(0), pairs, rounds=2
    ):
        yield f"Δ {one.measure}", one.raw


def coverage(setting: Setting, items: int, seeds: int) -> dict[str, Tally]:
    """Every line of one setting."""
    truth = truths(setting)
    tallies = {name: Tally() for name in LINES}
    rows = 4 * items * len(setting.pairs) * setting.repeats
    step = max(1, 200_000 // rows)
    for start in range(0, seeds, step):
        part = range(start, min(start + step, seeds))
        frame = simulate(setting, items, part, np.random.default_rng([items, start]))
        for name, got in estimates(frame, part):
            tallies[name].add(got, truth[name])
    return tallies


EXCEPTIONS: dict[tuple[str, int], set[str]] = {
    # Near chance the delete-one interval of κ is wide.
    ("strong bias", 8): {CONSISTENCY_KAPPA.name},
    ("strong bias", 20): {CONSISTENCY_KAPPA.name},
    # Eight yes-or-no outcomes: Wilson's own coverage of consistency at these two limits is .973 and
    # .971; with fewer than five flips among the eight, the interval of κ is widened.
    ("two contestants", 8): {CONSISTENCY.name, CONSISTENCY_KAPPA.name},
    ("two contestants, no item effects", 8): {CONSISTENCY.name, CONSISTENCY_KAPPA.name},
}
"""Lines that may cover more than 97 %: docs/coverage.md, "Summary"."""
WIDENED = {f"Δ {one.name}" for one in MEASURES if one.kind == "share"}
"""Differences that may cover more with eight items: where few verdicts differ, their interval is at
least as wide as Tango's score interval."""


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("setting", GRID, ids=lambda setting: setting.name)
def test_intervals_cover_the_limit_of_the_estimator(setting, items, capsys):
    got = coverage(setting, items, STUDIES)
    with capsys.disabled():
        print(f"\n{_row(setting, items, got)}", flush=True)
    excused = EXCEPTIONS.get((setting.name, items), set()) | (WIDENED if items == 8 else set())
    outside = {
        name: got[name].share
        for name in LINES
        if name not in excused and not within(got[name].share, STUDIES)
    }
    assert outside == {}
    assert all(0.93 <= got[name].share <= 0.998 for name in excused)  # wide, never narrow
    assert max(got[name].withheld for name in LINES) <= 0.05


@pytest.mark.parametrize("setting", GRID, ids=lambda setting: setting.name)
def test_the_limits_are_where_large_studies_go(setting):
    # Forty studies of 2,000 items: the mean of each line is within 5 standard errors of its limit.
    truth, values = truths(setting), {name: [] for name in LINES}
    for start in range(0, 40, 4):
        part = range(start, start + 4)
        frame = simulate(setting, 2000, part, np.random.default_rng([7, start]))
        for name, got in estimates(frame, part):
            values[name].append(got.value)
    for name, drawn in values.items():
        error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
        assert np.mean(drawn) == pytest.approx(truth[name], abs=5 * error + 1e-6), name


# -- the table of docs/coverage.md ---------------------------------------------------------------

SHORT = {
    WIN_RATE.name: "win rate",
    FIRST_SHARE.name: "first share",
    CONSISTENCY.name: "consistency",
    ACCURACY.name: "accuracy",
    CONSISTENCY_KAPPA.name: "κ",
}


def _row(setting: Setting, items: int, got: dict[str, Tally]) -> str:
    return f"| {setting.name} | {items} | {' | '.join(shown(got[name].share) for name in LINES)} |"


def table() -> Iterator[str]:
    """Row by row as they are ready."""
    heads = [f"{'Δ ' * (name[0] == 'Δ')}{SHORT[name.removeprefix('Δ ')]}" for name in LINES]
    yield f"| setting | items | {' | '.join(heads)} |"
    yield f"|---|---|{'---|' * len(heads)}"
    for setting in GRID:
        for items in ITEMS:
            yield _row(setting, items, coverage(setting, items, STUDIES))


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
