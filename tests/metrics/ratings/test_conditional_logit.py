"""Pieces of the conditional logit: counts, combinations with finite values, quantiles, bases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

from metrics.ratings.conditional_logit import (
    LogitFit,
    LogitProblem,
    _gradient_and_information,
    _line_search,
    _log_likelihood,
    _row_space,
    fit_conditional_logit,
    largest_first_sort_key,
    tally_by_item_kind,
    unidentified_parameters,
    verdict_t_quantile,
    zero_sum_basis,
)
from studies.domain import Estimate


def problem(**more: Any) -> LogitProblem:
    """Two settings with two alternatives and three outcomes (win, tie, loss)."""
    parts: dict[str, Any] = {
        "design": np.array([[[1.0, 0.5], [0.0, 0.0]], [[1.0, -0.5], [0.0, 0.0]]]),
        "available": np.ones((2, 2), bool),
        # Kind 0: a win in setting 0, three items. Kind 1: a tie and a loss in setting 1.
        "tally": sparse.csr_array(np.array([[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]])),
        "multiplicity": np.array([3, 1]),
        "shares": np.array([[1, 0], [0.5, 0.5], [0, 1.0]]),
        "pseudo": np.zeros(2),
    }
    return LogitProblem(**{**parts, **more})


def test_verdicts_are_counted_by_setting_and_alternative():
    got = problem()
    assert got.items == 4
    assert got.counts.tolist() == [[3, 0], [0.5, 1.5]]


def test_items_with_the_same_single_verdict_are_one_kind():
    item, setting = np.array([0, 1, 2, 2]), np.array([1, 1, 0, 1])
    outcome = np.array([2, 2, 0, 1])
    table, times = tally_by_item_kind(item, 3, setting, outcome, (2, 3))
    whole = times @ table
    assert whole.tolist() == [1, 0, 0, 0, 1, 2]
    assert sorted(times.tolist()) == [1, 2]


def test_only_differences_of_alternatives_tell_parameters():
    assert unidentified_parameters(problem()).tolist() == [False, False]
    one = problem(design=problem().design[:1].repeat(2, axis=0))  # always in the same place
    assert unidentified_parameters(one).tolist() == [True, True]
    none = problem(design=np.zeros((2, 2, 0)))
    assert unidentified_parameters(none).tolist() == []


def fit(**more: Any) -> LogitFit:
    parts: dict[str, Any] = {
        "beta": np.array([1.0, -0.5]), "log_likelihood": -1.0, "model": np.eye(2),
        "sandwich": np.array([[0.04, 0.0], [0.0, 0.09]]), "finite_basis": None, "items": 10,
    }  # fmt: skip
    return LogitFit(**{**parts, **more})


def test_a_combination_of_parameters_has_its_t_interval():
    # 1 + .5 = 1.5 with the error √(.04 + .09), t_9.
    weights = np.array([1.0, -1.0])
    got = fit().estimate(weights, 40, unit="logit", method="m")
    half = stats.t.ppf(0.975, 9) * math.sqrt(0.13)
    assert (got.value, got.n, got.items, got.note) == (1.5, 40, 10, "")
    assert (got.low, got.high) == pytest.approx((1.5 - half, 1.5 + half))
    assert fit().clustered_standard_error(weights) == pytest.approx(math.sqrt(0.13))
    assert not fit().regularised and fit().is_finite(weights) is True


def test_without_an_error_there_is_no_interval_but_a_reason():
    weights = np.array([1.0, 0.0])
    for one in (fit(sandwich=None), fit(sandwich=np.zeros((2, 2)))):
        got = one.estimate(weights, 4, unit="", method="")
        assert (got.value, got.low, got.high) == (1, None, None) and got.note
    assert fit(sandwich=None).clustered_standard_error(weights) is None
    assert fit(sandwich=np.zeros((2, 2))).clustered_standard_error(weights) == 0


def test_only_combinations_inside_the_finite_space_have_an_interval():
    # Only the sum of the two parameters has a finite value.
    one = fit(finite_basis=np.array([[1.0], [1.0]]) / math.sqrt(2))
    assert one.regularised
    assert one.is_finite(np.array([2.0, 2.0])) and not one.is_finite(np.array([1.0, 0.0]))
    assert not one.is_finite(np.array([1.0, 1.00001]))
    inside = one.estimate(np.ones(2), 4, unit="", method="")
    outside = one.estimate(np.array([1.0, 0.0]), 4, unit="", method="")
    assert inside.low is not None and inside.note == ""
    assert outside.low is None and "0.1" in outside.note


def test_the_t_of_verdicts_has_more_degrees_of_freedom_with_fewer_verdicts_per_item():
    # Many verdicts: items − 1. Two per item: (items − 1)·2. One (or fewer): the normal quantile.
    assert verdict_t_quantile(10) == pytest.approx(stats.t.ppf(0.975, 9))
    assert verdict_t_quantile(10, 20) == pytest.approx(stats.t.ppf(0.975, 18))
    assert verdict_t_quantile(10, 30) == pytest.approx(stats.t.ppf(0.975, 13.5))
    for verdicts in (10, 5):
        assert verdict_t_quantile(10, verdicts) == pytest.approx(1.959964, abs=1e-5)
    assert verdict_t_quantile(1) == verdict_t_quantile(0) == math.inf
    assert verdict_t_quantile(2) == pytest.approx(12.7062, abs=1e-4)
    assert fit(verdicts=20.0).t_quantile == pytest.approx(stats.t.ppf(0.975, 18))


def test_a_basis_of_contrasts_is_orthonormal_and_sums_to_zero():
    for size in (2, 3, 5):
        basis = zero_sum_basis(size)
        assert basis.shape == (size, size - 1)
        assert basis.sum(axis=0) == pytest.approx(np.zeros(size - 1))
        assert basis.T @ basis == pytest.approx(np.eye(size - 1))


def test_tables_are_sorted_by_value_then_name():
    values = {"b": 1.0, "a": 1.0 + 1e-14, "c": 2.0, "d": None, "e": 0.5, "f": -0.5}
    table = {name: Estimate(value) for name, value in values.items()}
    assert [name for name, _ in sorted(table.items(), key=largest_first_sort_key)] == [*"cabedf"]


def test_the_row_space_is_that_of_the_rows() -> None:
    # Rows along the first axis (twice), and a short one along the second: their projector.
    basis = _row_space(np.array([[2.0, 0, 0], [2, 0, 0], [0, 0.1, 0]]))
    assert basis @ basis.T == pytest.approx(np.diag([1.0, 1, 0]))


def test_a_model_without_parameters_has_the_likelihood_of_equal_chances():
    none = fit_conditional_logit(problem(design=np.zeros((2, 2, 0))))
    assert none.log_likelihood == pytest.approx(5 * math.log(0.5))  # 3 + 2 verdicts of two kinds
    assert (len(none.beta), none.items) == (0, 4)


def test_a_step_is_halved_until_the_likelihood_does_not_fall():
    """Setting 0: 3 wins of 3, setting 1: .5 of 2. From θ = (0, 0) a step toward lower wins at first
    is refused whole, and one that overshoots is halved."""
    own = problem()
    start = np.zeros(2)
    best = _log_likelihood(own, start, own.counts)
    uphill = _gradient_and_information(own, start, own.counts)[0]
    beta, value = _line_search(own, start, 1000 * uphill, best, own.counts)
    taken = beta / (1000 * uphill)
    assert taken[0] == taken[1] == 0.5 ** round(-math.log2(taken[0])) < 1
    assert value == pytest.approx(_log_likelihood(own, beta, own.counts)) and value >= best
    assert _log_likelihood(own, 2 * beta, own.counts) < best
    back, same = _line_search(own, start, -uphill, best + 1, own.counts)
    assert back.tolist() == [0, 0] and same == best + 1
