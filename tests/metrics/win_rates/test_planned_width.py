"""Expected intervals of planned studies: formulas, upper limits, and a simulated design."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from metrics.estimation.planning.power import design_effect
from metrics.estimation.planning.variance_components import (
    VarianceComponents,
    count_interaction_as_noise,
    variance_components,
)
from metrics.win_rates.planned_width import (
    StudySize,
    assumed_components,
    detectable_win_rate,
    planned_width,
    variance_shares_by_source,
)

ITEM, JUDGE, ORDER = frozenset(["item"]), frozenset(["item", "judge"]), frozenset(["item", "order"])
FACETS = {"item": 50, "judge": 2, "prompt": 1, "order": 2}
KNOWN = VarianceComponents(FACETS, {ITEM: 0.1, JUDGE: 0.04, ORDER: 0.02}, repeat=0.08, repeats=1.0)
SIZE = StudySize(items=50, judges=2)


def test_an_assumed_correlation_gives_the_width_of_its_design_effect():
    size = StudySize(items=80, judges=2, prompts=3, opponents=4)
    m = 2 * 3 * 2 * 4
    expected = 1.96 * math.sqrt(0.25 * design_effect(m, 0.1) / (80 * m))
    assert planned_width(assumed_components(size, 0.1), size).half == pytest.approx(expected)


def test_measured_components_give_the_width_of_their_own_study():
    got = planned_width(KNOWN, SIZE)
    assert got.half == pytest.approx(1.96 * math.sqrt(KNOWN.error_variance())) and not got.at_best
    # 0.1/50 + 0.04/100 + 0.02/100 + 0.08/200
    assert got.half == pytest.approx(1.96 * math.sqrt(0.003))
    assert planned_width(KNOWN, replace(SIZE, items=200)).half == pytest.approx(got.half / 2)
    more = planned_width(KNOWN, replace(SIZE, repeats=2))
    assert more.half == pytest.approx(1.96 * math.sqrt(0.0028)) and not more.at_best


def test_a_facet_with_one_level_and_unmeasured_repeats_give_limits():
    prompts = planned_width(KNOWN, replace(SIZE, prompts=2))
    assert prompts.at_best
    assert prompts.half == pytest.approx(planned_width(KNOWN, SIZE).half / math.sqrt(2))
    cells = frozenset(["item", "judge", "order"])
    unrepeated = VarianceComponents(FACETS, {ITEM: 0.1, cells: 0.04}, repeat=None, repeats=3.0)
    same = replace(SIZE, opponents=3)
    assert not planned_width(unrepeated, same).at_best
    twice = planned_width(unrepeated, replace(same, repeats=2))
    assert twice.at_best
    assert twice.half == pytest.approx(1.96 * math.sqrt(0.1 / 50 + 0.04 / 200 / 2))


def test_the_limit_of_the_noise_keeps_the_variance_of_the_study():
    facets = {"item": 10, "judge": 2, "prompt": 1, "order": 2}
    finest = frozenset(["item", "judge", "order"])
    found = VarianceComponents(facets, {ITEM: 0.1, finest: 0.05}, None, repeats=4.0)
    limit = count_interaction_as_noise(found)
    assert limit.error_variance() == pytest.approx(found.error_variance())
    assert limit.effects[finest] == 0 and limit.repeat == pytest.approx(0.2)


def test_the_expected_width_is_that_of_simulated_studies():
    """Components of one study predict the spread of the means of studies of another size."""
    draw = np.random.default_rng(3)

    def study(items: int, judges: int) -> np.ndarray:
        shape = (items, judges, 2)
        return (
            draw.normal(0, 0.3, (items, 1, 1))
            + draw.normal(0, 0.25, (items, judges, 1))
            + draw.normal(0, 0.4, shape)
        )

    found = variance_components(study(4000, 2)[:, :, None, :], ("item", "judge", "prompt", "order"))
    predicted = planned_width(found, StudySize(items=40, judges=4)).half
    means = [study(40, 4).mean() for _ in range(4000)]
    assert predicted == pytest.approx(1.96 * float(np.std(means)), rel=0.06)


def test_sources_are_shares_of_the_variance_of_the_mean():
    parts = variance_shares_by_source(KNOWN, SIZE)
    assert parts == pytest.approx(
        {"item": 0.002 / 0.003, "judge": 0.0004 / 0.003, "order": 0.0002 / 0.003,
         "repeat": 0.0004 / 0.003}
    )  # fmt: skip
    assert variance_shares_by_source(VarianceComponents(FACETS, {ITEM: 0.0}, None, 1.0), SIZE) == {}


def test_a_win_rate_is_found_with_power_beyond_the_half_width():
    assert detectable_win_rate(0.08) == pytest.approx(0.614, abs=1e-3)
    assert detectable_win_rate(0.5) == 1.0


def test_assumed_components_are_those_of_one_verdict() -> None:
    # One item, judge, prompt and order: the variance of the mean of four replies that correlate.
    one = assumed_components(StudySize(items=80, judges=2, opponents=4), 0.1)
    assert one.error_variance() == pytest.approx(0.25 * (0.1 + 0.9 / 4))
