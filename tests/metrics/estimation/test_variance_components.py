"""Variance components by hand, on simulated designs, and the narrowing they predict."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation.planning.variance_components import variance_components

ITEM, JUDGE, ORDER = (frozenset({name}) for name in ("item", "judge", "order"))


def test_two_items_and_two_judges_by_hand():
    # Mean squares: items 9, judges 4, interaction 1; hence (9 − 1)/2, (4 − 1)/2 and 1.
    got = variance_components(np.array([[1.0, 2.0], [3.0, 6.0]]), ("item", "judge"))
    assert got.effects == {ITEM: 4.0, JUDGE: 1.5, ITEM | JUDGE: 1.0}
    assert got.error_variance() == pytest.approx(4 / 2 + 1 / 4)


def test_components_below_zero_count_as_zero():
    got = variance_components(np.array([[1.0, 2.0], [2.0, 1.0]]), ("item", "judge"))
    assert got.effects[ITEM] == got.effects[JUDGE] == 0.0


def test_doubling_divides_the_parts_of_a_facet():
    got = variance_components(np.array([[1.0, 2.0], [3.0, 6.0]]), ("item", "judge"))
    assert got.narrowing("item") == pytest.approx(1 - 0.5**0.5)  # 29 %
    assert got.narrowing("judge") == pytest.approx(1 - ((2 + 1 / 8) / 2.25) ** 0.5)
    assert got.narrowing("repeat") == 0.0


def draw_design(rng, items=40, judges=4, repeats=3):
    """Replies with variances item 1, judge .25, item × judge .49, item × order .09, all three .04,
    repeats .64."""

    def noise(scale, *shape):
        return rng.normal(size=shape) * scale

    effects = noise(1, items, 1, 1, 1) + noise(0.5, 1, judges, 1, 1)
    effects = effects + noise(0.7, items, judges, 1, 1) + noise(0.3, items, 1, 2, 1)
    effects = effects + noise(0.2, items, judges, 2, 1)
    return effects + noise(0.8, items, judges, 2, repeats)


def test_a_simulated_design_is_recovered():
    rng, drawn = np.random.default_rng(0), []
    for _ in range(150):
        replies = draw_design(rng)
        within = float(replies.var(axis=-1, ddof=1).mean())
        got = variance_components(replies.mean(axis=-1), ("item", "judge", "order"), within, 3)
        named = (ITEM, JUDGE, ITEM | JUDGE, ITEM | ORDER, ITEM | JUDGE | ORDER)
        drawn.append([*(got.effects[one] for one in named), got.repeat])
    error = np.std(drawn, axis=0, ddof=1) / np.sqrt(len(drawn))
    expected = np.array([1, 0.25, 0.49, 0.09, 0.04, 0.64])
    assert (np.abs(np.mean(drawn, axis=0) - expected) < 4 * error + 0.002).all()


def test_the_predicted_narrowing_is_that_of_a_design_with_twice_as_many():
    # Judges and orders stay; fresh items and replies. σ² of the mean: 40 items, one fixed judge.
    rng = np.random.default_rng(3)

    def spread(items: int, repeats: int) -> float:
        drawn = rng.normal(size=(4000, items)) * 1.0  # item effects
        replies = rng.normal(size=(4000, items)) * 0.8 / np.sqrt(repeats)
        return float((drawn + replies).mean(axis=1).std(ddof=1))

    cells = rng.normal(size=(4000, 1)) + rng.normal(size=(4000, 3)) * 0.8
    got = variance_components(
        cells.mean(axis=1)[:, None], ("item", "judge"), float(cells.var(axis=1, ddof=1).mean()), 3
    )
    for facet, after in (("item", spread(80, 3)), ("repeat", spread(40, 6))):
        assert got.narrowing(facet) == pytest.approx(1 - after / spread(40, 3), abs=0.03)
