"""A jury without labels, against a published table, judges with known errors, and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.error_models import unlabelled_jury
from metrics.error_models.latent_truth import RaterReplies, fit_latent_truth
from metrics.error_models.unlabelled_jury import (
    UnlabelledJury,
    _Cases,
    _estimate_with_percentiles,
    error_correlation,
    fit_jury,
    jury_without_labels,
)
from metrics.remedies.effective_votes import effective_votes, votes_from_correlation
from metrics.remedies.known_winners import DESIGN
from metrics.remedies.order_grid import OrderGrid
from tests.metrics.frames import build, pair, prd
from tests.page_words import says
from tests.soak.coverage_studies import Tally, tolerance

PATIENTS = """
111 1 1 1 1/333 4 3 3 4/112 2 1 2 2/222 3 1 2 1/222 3 2 2 2/222 3 3 2 2/122 2 1 1 1/333 3 4 3 3
222 2 2 2 3/232 2 2 2 3/444 4 4 4 4/222 3 3 4 3/111 1 1 1 1/222 3 2 1 2/121 1 1 1 1/111 2 1 1 1
111 1 1 1 1/111 1 1 1 1/222 2 2 2 1/222 1 3 2 2/222 2 2 2 2/222 2 2 2 1/222 3 2 2 2/221 2 2 2 2
111 1 1 1 1/111 1 1 1 1/232 2 2 2 2/111 1 1 1 1/111 1 1 1 1/112 1 1 2 1/111 1 1 1 1/333 3 2 3 3
111 1 1 1 1/222 2 2 2 2/222 3 2 3 2/433 4 3 4 3/221 2 2 3 2/232 3 2 3 3/333 3 4 3 2/111 1 1 1 1
111 1 1 1 1/121 2 1 1 1/232 2 2 2 2/121 1 1 1 1/222 2 2 2 2
"""
"""Fitness for anaesthesia (1 to 4) of 45 patients by five observers, the first of whom judged three
times: table 1 of Dawid and Skene, Applied Statistics 28 (1979), 20–28."""


def test_the_published_estimates_for_the_anaesthetists() -> None:
    patients = [one for line in PATIENTS.strip().splitlines() for one in line.split("/")]
    counts = np.zeros((5, 1, len(patients), 4))
    for row, text in enumerate(patients):
        for observer, grades in enumerate(text.split()):
            for grade in grades:
                counts[observer, 0, row, int(grade) - 1] += 1
    start = counts.sum(axis=(0, 1)).T / 7
    replies = RaterReplies(counts, np.eye(4), np.zeros(45, np.int64))
    found = fit_latent_truth(replies, np.ones((1, 45)), start[None, :, None])
    assert found.kinds[0].round(2).tolist() == [0.4, 0.42, 0.11, 0.07]
    first = found.rates[0, :, 0].round(2)
    assert first[:3].tolist() == [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0]]


def simulated(
    rng: np.random.Generator,
    comparisons: int,
    accuracies: tuple[float, ...],
    *,
    first: float = 0.0,
    ties: float = 0.0,
    hard: float = 0.0,
    pairs: int = 1,
) -> OrderGrid:
    """Judges that find the better answer with these probabilities (.65 on a share `hard` of
    comparisons), else pick wrongly; then the first position with probability `first`, a tie with
    `ties`. The reply in the second order repeats the opinion."""
    truth = np.where(rng.random(comparisons) < 0.5, 1.0, -1.0)
    guessed = rng.random(comparisons) < hard
    verdicts = np.empty((len(accuracies), 2, comparisons), np.float32)
    for judge, accuracy in enumerate(accuracies):
        chance = np.where(guessed, 0.65, accuracy)
        opinion = np.where(rng.random(comparisons) < chance, truth, -truth)
        for order, side in enumerate((1.0, -1.0)):
            shown = np.where(rng.random(comparisons) < first, side, opinion)
            verdicts[judge, order] = np.where(rng.random(comparisons) < ties, 0.0, shown)
    items = np.arange(comparisons) // pairs
    return OrderGrid(
        tuple((f"j{k}", "p") for k in range(len(accuracies))),
        items,
        np.arange(comparisons),
        np.full(verdicts.shape, -1, np.int32),
        truth,
        DESIGN,
        verdicts,
        None,
        np.zeros(verdicts.shape, np.int16),
        None,
        None,
    )


def fitted(grid: OrderGrid) -> UnlabelledJury:
    return fit_jury(grid, range(len(grid.raters)), ["a|b"] * grid.size)


def test_independent_errors_give_three_effective_judges() -> None:
    grid = simulated(np.random.default_rng(3), 1500, (0.85, 0.8, 0.75), first=0.1, ties=0.05)
    found = fitted(grid)
    assert found.kinds == 1 and found.effective_judges is not None
    assert found.effective_judges.value == pytest.approx(3, abs=0.25)
    assert found.effective_judges.high == 3
    for judge, accuracy in zip(found.judges.values(), (0.85, 0.8, 0.75), strict=True):
        in_first = 0.95 * (0.9 * accuracy + 0.1)
        assert judge["right_first"].value == pytest.approx(in_first, abs=0.05)
        assert judge["right_second"].value == pytest.approx(0.95 * 0.9 * accuracy, abs=0.05)
        assert judge["tie_second"].value == pytest.approx(0.05, abs=0.02)
    right = np.where(found.better > 0.5, 1, -1) == grid.known_winner
    assert found.right is not None and found.right.value == pytest.approx(right.mean(), abs=0.03)


def test_with_labels_the_correlation_is_that_of_the_effective_votes() -> None:
    grid = simulated(np.random.default_rng(4), 200, (0.8, 0.7, 0.7), ties=0.2, hard=0.4, pairs=4)
    sign = np.sign(grid.verdicts.sum(axis=1)).astype(np.float64)
    r = error_correlation(
        (grid.known_winner[None] > 0).astype(float), np.ones((1, grid.size)), sign
    )
    labelled = effective_votes(grid, range(3)).value
    assert float(votes_from_correlation(3, r)[0]) == pytest.approx(labelled, abs=1e-9)


def test_shared_errors_are_found_by_two_kinds_of_comparisons() -> None:
    grid = simulated(np.random.default_rng(5), 3000, (0.97, 0.96, 0.95, 0.97, 0.96), hard=0.4)
    found = fitted(grid)
    labelled = effective_votes(grid, range(5))
    assert found.kinds == 2 and found.effective_judges is not None
    assert found.effective_judges.value == pytest.approx(labelled.value, abs=0.5)
    assert labelled.value is not None and labelled.value < 4.6


def test_judges_without_a_common_answer_are_refused() -> None:
    coins = simulated(np.random.default_rng(6), 300, (0.5, 0.5, 0.5))
    assert fitted(coins).refused and fitted(coins).as_json().keys() == {"refused"}
    rows = [
        row for k in range(30) for judge in ("j1", "j2") for row in pair(f"q{k}", 0, 1, judge=judge)
    ]
    assert jury_without_labels(build(rows)).refused.startswith("refused: 2 judges")


def test_one_order_of_each_comparison_is_enough() -> None:
    grid = simulated(np.random.default_rng(7), 1500, (0.9, 0.8, 0.8), first=0.2)
    one = grid.verdicts.copy()
    one[:, 1, ::2] = np.nan
    one[:, 0, 1::2] = np.nan
    found = fit_jury(OrderGrid(**{**vars(grid), "verdicts": one}), range(3), ["a|b"] * grid.size)
    assert found.judges["j0"]["right_first"].value == pytest.approx(0.92, abs=0.05)
    assert found.judges["j0"]["right_second"].value == pytest.approx(0.72, abs=0.06)


@pytest.mark.extra
@pytest.mark.records
def test_five_judges_of_prd() -> None:
    """Without labels the jury of PRD looks better than with them (1.9 votes): errors that most
    judges share pass for right answers."""
    frame: pd.DataFrame = prd()
    found = jury_without_labels(frame)
    assert found.comparisons == 800 and found.kinds == 2
    assert found.effective_judges is not None and found.effective_judges.value is not None
    assert 1.9 < found.effective_judges.value < 3
    best = {name: (one["right_first"].value or 0) + (one["right_second"].value or 0)
            for name, one in found.judges.items()}  # fmt: skip
    assert max(best, key=lambda name: best[name]) == "gpt-4"


def coverage(comparisons: int, pairs: int, studies: int) -> dict[str, float]:
    """Coverage of the probability of a right reply, and of a wrong one, of the first judge."""
    tallies = {"right_first": Tally(), "wrong_second": Tally(), "effective": Tally()}
    for seed in range(studies):
        rng = np.random.default_rng([comparisons, pairs, seed])
        grid = simulated(rng, comparisons, (0.85, 0.8, 0.75), first=0.2, pairs=pairs)
        found = fitted(grid)
        if found.refused or found.effective_judges is None:
            continue
        tallies["right_first"].add(found.judges["j0"]["right_first"], 0.8 * 0.85 + 0.2)
        tallies["wrong_second"].add(found.judges["j0"]["wrong_second"], 0.8 * 0.15 + 0.2)
        tallies["effective"].add(found.effective_judges, 3.0)
    return {name: tally.share for name, tally in tallies.items()} | {
        "given": tallies["effective"].given / studies
    }


@pytest.mark.extra
def test_intervals_cover() -> None:
    assert min(coverage(300, 1, 60).values()) >= 0.93 - tolerance(60)


def test_the_number_of_free_error_rates_by_hand() -> None:
    """A pair of replies has k² categories, a single reply k for each better answer, k = 3 with
    ties: 9 − 1, 4 − 1, 2·(2 − 1) and 2·(3 − 1)."""
    nan = np.nan
    verdicts = np.array(
        [[[1, 0], [1, 1]], [[1, -1], [1, 1]], [[1, nan], [nan, -1]], [[1, 0], [nan, nan]]]
    )
    for some, free in (([0], 8), ([1], 3), ([2], 2), ([3], 4), ([0, 1, 2, 3], 17)):
        assert _Cases(verdicts[some], ["a b", "a b"], np.arange(2)).free == free


if __name__ == "__main__":
    for line in ((100, 1), (300, 1), (300, 3)):
        print(line, coverage(*line, 300), flush=True)


def test_a_jury_needs_a_common_comparison_and_few_patterns(monkeypatch) -> None:
    """Three judges, each on an item of its own: no comparison has a verdict of all."""
    apart = build([row for k in range(3) for row in pair(f"q{k}", 0, 1, judge=f"j{k}")])
    assert says(jury_without_labels(apart).refused, "refused: no comparison", "every judge")
    grid = simulated(np.random.default_rng(1), 60, (0.9, 0.9, 0.9))
    cases = _Cases(grid.verdicts.astype(np.float64), ["a|b"] * 60, grid.item_codes[0])
    monkeypatch.setattr(unlabelled_jury, "MAX_PATTERNS", 3 * cases.patterns)
    assert fitted(grid).effective_judges is not None
    monkeypatch.setattr(unlabelled_jury, "MAX_PATTERNS", 3 * cases.patterns - 1)
    refused = fitted(grid)
    assert refused.effective_judges is None and not refused.judges
    assert says(refused.refused, f"{cases.patterns} different sets", "3 judges")


def test_the_interval_is_that_of_the_rounds_if_half_of_them_are_known() -> None:
    half = unlabelled_jury.ROUNDS // 2
    rounds = np.r_[np.linspace(0, 1, half), np.full(unlabelled_jury.ROUNDS - half, np.nan)]
    found = _estimate_with_percentiles(0.5, rounds, 7, 3, "share", "")
    assert (found.value, found.n, found.items) == (0.5, 7, 3)
    assert (found.low, found.high) == (pytest.approx(0.025), pytest.approx(0.975))
    beside = _estimate_with_percentiles(0.0, rounds, 7, 3, "share", "")
    assert beside.low == 0.0
    rounds[0] = np.nan
    for value, drawn in ((0.5, rounds), (float("nan"), np.zeros(unlabelled_jury.ROUNDS))):
        unknown = _estimate_with_percentiles(value, drawn, 7, 3, "share", "")
        assert (unknown.value, unknown.low, unknown.n, unknown.items) == (None, None, 7, 3)
