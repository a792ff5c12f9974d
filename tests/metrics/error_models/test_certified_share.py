"""Certified share, against exact limits, the rule for no errors, and the promised error rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metrics.error_models.certified_share import (
    CertifiedShare,
    certify_share,
    certify_share_of_raters,
    labels_needed_without_errors,
    upper_error_limit,
)
from metrics.remedies import risk_coverage
from metrics.remedies.remedy_study import build_remedy_study
from tests.metrics.frames import build, pair

MARGINS = (1.0, 2.0)


def certify(sizes: list[float], wrong: list[bool], alpha: float = 0.1) -> CertifiedShare:
    score = np.where(wrong, -1.0, 1.0) * np.asarray(sizes)
    return certify_share(score, np.ones(len(sizes)), np.arange(len(sizes)), MARGINS, alpha)


@pytest.mark.parametrize(("alpha", "least"), [(0.1, 29), (0.05, 59), (0.2, 14)])
def test_without_errors_the_labels_needed_are_the_smallest_number(alpha: float, least: int) -> None:
    assert labels_needed_without_errors(alpha) == least
    assert (1 - alpha) ** least <= 0.05 < (1 - alpha) ** (least - 1)
    enough = certify([2.0] * least, [False] * least, alpha)
    assert enough.margin == 1.0 and enough.share.value == 1.0
    fewer = certify([2.0] * (least - 1), [False] * (least - 1), alpha)
    assert fewer.margin is None and str(least) in fewer.share.note


@pytest.mark.parametrize(("errors", "n"), [(0, 29), (3, 100), (30, 100), (100, 100)])
def test_the_limit_is_where_so_few_errors_have_probability_delta(errors: int, n: int) -> None:
    limit = upper_error_limit(errors, n)
    assert limit == 1 if errors == n else stats.binom.cdf(errors, n, limit) == pytest.approx(0.05)


def test_the_sequence_ends_at_the_first_margin_that_fails() -> None:
    """100 comparisons with margin 2 and 4 errors (limit .0892); the others are coin throws."""
    sizes = [2.0] * 100 + [1.0] * 40
    wrong = [k < 4 for k in range(100)] + [k % 2 == 0 for k in range(40)]
    found = certify(sizes, wrong)
    assert found.margin == 2.0 and found.share.value == pytest.approx(100 / 140)
    assert found.error.value == pytest.approx(0.04)
    assert found.error.high == pytest.approx(0.0892, abs=5e-5)
    strict = certify([2.0] * 40 + [1.0] * 300, [k < 8 for k in range(40)] + [False] * 300)
    assert strict.margin is None, "a looser margin is not tried after a stricter one failed"


def test_comparisons_of_one_item_count_once() -> None:
    score, items = np.full(290, 2.0), np.repeat(np.arange(28), 11)[:290]
    found = certify_share(score, np.ones(290), items, MARGINS)
    assert found.margin is None


def test_a_study_with_known_answers_has_a_certificate() -> None:
    rows = [
        row
        for k in range(40)
        for row in pair(f"q{k}", *((0, 1) if k < 35 else (0, 0)), better="x", judge="j")
    ]
    study = build_remedy_study(build(rows))
    found = certify_share_of_raters(study.grid, [0])
    assert (found.margin, found.error.n) == (1.0, 35)
    assert found.share.value == pytest.approx(35 / 40)


def false_certificates(studies: int, items: int, pairs: int) -> float:
    """Share of studies that certify a margin whose true error is above α = .1. The error is .101
    where the judge is sure and .3 where it is not, with item effects."""
    rng = np.random.default_rng(11)
    false = 0
    for _ in range(studies):
        sure = rng.random((items, pairs)) < 0.7
        error = np.where(sure, 0.101, 0.3)
        weak = rng.random((items, 1)) < 0.3  # all errors are in three tenths of the items
        wrong = (rng.random((items, pairs)) < error / 0.3) & weak
        score = np.where(wrong, -1.0, 1.0) * np.where(sure, 2.0, 1.0)
        item = np.repeat(np.arange(items), pairs)
        found = certify_share(score.ravel(), np.ones(items * pairs), item, MARGINS)
        false += found.margin is not None
    return false / studies


@pytest.mark.parametrize(("items", "pairs"), [(60, 1), (300, 1), (300, 5)])
def test_false_certificates_are_at_most_delta(items: int, pairs: int) -> None:
    assert false_certificates(400, items, pairs) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_judge_with_graded_replies_is_certified_by_their_mean_over_orders() -> None:
    """The second judge, .9 and −.1 for x: mean .5 in favour of x shown first, 0.4 for x in all.
    The first judge has no graded replies: its verdicts count."""
    rows = [
        row
        for k in range(40)
        for row in pair(f"q{k}", 0, 1, better="x", judge="plain")
        + [
            {**one, "p": p}
            for one, p in zip(
                pair(f"q{k}", 0, 1, better="x", judge="soft"), [(0.9, 0.1), (0.5, 0.5)], strict=True
            )
        ]
    ]
    grid = build_remedy_study(build(rows)).grid
    plain, soft = (certify_share_of_raters(grid, [k]) for k in (0, 1))
    assert (plain.margin, plain.share.value) == (1.0, 1.0)
    assert soft.margin == min(one for one in risk_coverage.MARGINS if one <= 0.4)
    assert soft.share.value == 1.0
    assert certify_share_of_raters(grid, [0, 1]).margin == 1.0


if __name__ == "__main__":
    for line in ((60, 1), (60, 5), (300, 1), (300, 5)):
        print(line, false_certificates(4000, *line))
