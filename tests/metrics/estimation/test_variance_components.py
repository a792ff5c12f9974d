"""Variance components by hand, on simulated designs, and the narrowing they predict."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation.planning.variance_components import (
    VarianceComponents,
    count_interaction_as_noise,
    effect_name,
    variance_components,
)

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


def test_measured_repeats_are_taken_from_the_finest_interaction():
    # As by hand above, with a variance of 0.8 between two replies in a cell: 1 − .8/2 = .6.
    cells = np.array([[1.0, 2.0], [3.0, 6.0]])
    got = variance_components(cells, ("item", "judge"), 0.8, 2)
    assert got.effects[ITEM | JUDGE] == pytest.approx(0.6)
    assert (got.repeat, got.repeats, got.facets) == (0.8, 2, {"item": 2, "judge": 2})
    # Eight replies: 4/2 + .6/4 + .8/8; three times as many replies per cell: .8/24.
    assert got.error_variance() == pytest.approx(2 + 0.15 + 0.1)
    assert got.error_variance({"repeat": 3}) == pytest.approx(2 + 0.15 + 0.8 / 24)
    # Twice the judges: 4/2 + .6/8 + .8/16.
    assert got.error_variance({"judge": 2}) == pytest.approx(2 + 0.075 + 0.05)
    assert got.narrowing("repeat", 3) == pytest.approx(1 - ((2.15 + 0.8 / 24) / 2.25) ** 0.5)


def test_shares_of_a_single_reply_add_up_and_are_named_with_the_item_first():
    got = variance_components(np.array([[1.0, 2.0], [3.0, 6.0]]), ("judge", "item"), 0.8, 2)
    total = 4 + 1.5 + 0.6 + 0.8
    assert got.variance_shares() == pytest.approx(
        {
            "judge": 4 / total,
            "item": 1.5 / total,
            "item × judge": 0.6 / total,
            "repeat": 0.8 / total,
        }
    )
    assert effect_name(frozenset({"prompt", "judge", "item"})) == "item × judge × prompt"
    nothing = VarianceComponents({"item": 2}, {ITEM: 0.0}, None, 1.0)
    assert nothing.variance_shares() == {} and nothing.narrowing("item") == 0.0


def test_without_repeats_the_finest_interaction_may_all_be_noise():
    found = variance_components(np.array([[1.0, 2.0], [3.0, 6.0]]), ("item", "judge"), None, 3)
    noisy = count_interaction_as_noise(found)
    assert noisy.effects == {ITEM: 4.0, JUDGE: 1.5, ITEM | JUDGE: 0.0}
    # The interaction of 1 is the mean of three replies: 3 for a single one.
    assert (noisy.repeat, noisy.repeats) == (3.0, 3)
    assert noisy.error_variance() == pytest.approx(found.error_variance())
    assert noisy.narrowing("repeat") > found.narrowing("repeat") == 0


def test_a_facet_of_one_level_has_no_effect():
    got = variance_components(np.array([[1.0], [3.0]]), ("item", "judge"))
    assert got.effects == {ITEM: 2.0}  # mean square (1 + 1)/1 over one judge
    assert variance_components(np.array([[1.0]]), ("item", "judge"), 0.5).effects == {}
