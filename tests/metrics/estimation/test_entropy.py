"""Entropy estimators and the split of a verdict's entropy into noise and order."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.estimation import entropy as e
from tests.metrics.frames import build, pair


def test_sixty_two_percent_first_still_reads_ninety_six():
    assert float(e.normalised_entropy([62, 38])) == pytest.approx(0.958, abs=0.001)
    assert float(e.normalised_entropy([5, 0])) == 0
    assert np.isnan(e.normalised_entropy([0, 0]))
    assert np.isnan(e.normalised_entropy([3]))


def test_a_judge_that_follows_the_place_has_all_its_entropy_in_the_order():
    # First slot in every repeat: x wins when first, y wins when first. H(V) = 1 bit, none within.
    rows = [row for k in range(2) for row in pair("q", 0, 0, repeat=k)]
    got = e.split_entropy_by_order(build(rows))
    assert (got["total"].value, got["noise"].value, got["order"].value) == (1, 0, 1)


def test_a_judge_that_wavers_the_same_in_both_orders_has_only_noise():
    # Each order: x once, y once. H(V) = 1 bit, H(V | order) = 1 bit, so nothing is the order's.
    rows = pair("q", 0, 0) + pair("q", 1, 1, repeat=1)
    got = e.split_entropy_by_order(build(rows))
    assert (got["total"].value, got["noise"].value, got["order"].value) == (1, 1, 0)


def test_the_split_adds_up_and_needs_repeats():
    rows = [
        row
        for q, picks in enumerate([(0, 0, 1, 1), (0, 1, 0, 1), (0, "tie", 1, 0)])
        for k in range(2)
        for row in pair(f"q{q}", picks[k], picks[2 + k], repeat=k)
    ]
    got = e.split_entropy_by_order(build(rows))
    assert got["total"].value == pytest.approx(got["noise"].value + got["order"].value)
    once = e.split_entropy_by_order(build(pair("q", 0, 0)))
    assert once["total"].value is None and "repeated" in once["total"].note


def test_equal_comparisons_do_not_prove_an_entropy_without_error():
    # Three outcomes, so at most log2(3) bits; Wilson's upper limit for 0 of 10 items is .278.
    rows = [row for q in range(10) for k in range(2) for row in pair(f"q{q}", 0, 0, repeat=k)]
    got = e.split_entropy_by_order(build(rows))
    assert (got["noise"].value, got["noise"].low) == (0, 0)
    assert got["noise"].high == pytest.approx(0.2775 * np.log2(3), abs=1e-3)
    assert got["order"].low < 1 < got["order"].high
