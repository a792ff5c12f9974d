"""Entropy estimators and the split of a verdict's entropy into noise and order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metrics.estimation import entropy as e
from tests.metrics.frames import build, pair


@pytest.mark.parametrize(
    ("counts", "values"),
    [
        ([4, 2, 3, 0, 2, 4, 0, 0, 2, 1, 1], (1.968382, 2.152593, 2.231274, 2.144626, 2.201137)),
        ([2, 1, 1, 0], (1.039721, 1.289721, 1.556193, 1.656657, 1.763240)),
        ([40, 25, 20, 15], (1.319545, 1.334545, 1.334839, 1.339776, 1.319545)),
    ],
)
def test_small_sample_estimators_in_nats(counts, values):
    got = (
        float(e.entropy(counts)),
        e.miller_madow_entropy(counts),
        e.jackknife_entropy(counts),
        e.grassberger_entropy(counts),
        e.chao_shen_entropy(counts),
    )
    assert got == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "draws", "ml", "mm"),
    [
        (2, 2, 0.500000, None),
        (3, 3, 0.608476, None),
        (4, 4, 0.661995, 0.818381),
        (5, 5, 0.695096, None),
        (4, 8, 0.840643, 0.957842),
        (4, 16, 0.927377, 0.994099),
        (4, 32, 0.965188, 0.998997),
    ],
)
def test_an_unbiased_judge_of_independent_choices_reads_below_one(n, draws, ml, mm):
    assert e.expected_entropy(n, draws) == pytest.approx(ml, abs=1e-6)
    if mm is not None:
        assert e.expected_entropy(n, draws, correction=True) == pytest.approx(mm, abs=1e-6)


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


def test_compositions_are_as_many_as_stars_and_bars():
    assert len(e.compositions(5, 3)) == math.comb(7, 2)
