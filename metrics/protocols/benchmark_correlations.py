"""Correlation of benchmarks over the models they share: Spearman's ρ and R².

Intervals come from a bootstrap over the models.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from metrics.agreement.agreement_coefficients import pearson_correlation, spearman_correlation
from metrics.estimation.intervals import Floats, join_notes, unknown_estimate
from studies.domain import Estimate

ModelScores = Mapping[str, float]
"""model -> score"""

MIN_MODELS: Final = 3
FEW_MODELS_BELOW: Final = 10
BOOTSTRAP_ROUNDS: Final = 2000
BOOTSTRAP_METHOD: Final = "percentile bootstrap over models"
THIS_STUDY: Final = "this study"
SCORE_COLUMNS: Final = ("model", "benchmark", "score")


@dataclass(frozen=True, slots=True)
class BenchmarkCorrelations:
    """Rank correlation and R² of every two benchmarks, over the models they share. The matrices are
    symmetric and have no diagonal. The n of an estimate is the number of models."""

    benchmarks: list[str]
    scores: dict[str, dict[str, float]]
    spearman: dict[str, dict[str, Estimate]]
    r2: dict[str, dict[str, Estimate]]

    def shared_scores(self, first: str, second: str) -> list[tuple[str, float, float]]:
        """List (model, score in `first`, score in `second`) of the shared models."""
        one, two = self.scores[first], self.scores[second]
        return [(model, one[model], two[model]) for model in sorted(set(one) & set(two))]


def benchmark_scores(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return benchmark -> model -> score, from a table with the columns model, benchmark and score;
    raise ValueError that names the missing column or the faulty row."""
    missing = [name for name in SCORE_COLUMNS if name not in table]
    if missing:
        raise ValueError(
            f"scores need the columns {', '.join(SCORE_COLUMNS)}; missing: {', '.join(missing)}"
        )
    scores: dict[str, dict[str, float]] = {}
    for row, (model, benchmark, score) in enumerate(
        table[list(SCORE_COLUMNS)].itertuples(index=False), start=1
    ):
        if pd.isna(model) or pd.isna(benchmark) or not str(model).strip():
            raise ValueError(f"row {row}: model or benchmark is empty; fill it or remove the row")
        known = scores.setdefault(str(benchmark).strip(), {})
        if str(model).strip() in known:
            raise ValueError(
                f"row {row}: {benchmark} has a score of {model} already; remove one of the rows"
            )
        known[str(model).strip()] = _parse_score(score, row)
    return scores


def _parse_score(score: object, row: int) -> float:
    try:
        value = float(str(score).strip().rstrip("%").replace("−", "-"))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(
            f"row {row}: the score {score!r} is not a number; correct it or remove the row"
        )
    return value


def correlate_all_benchmarks(
    scores: Mapping[str, ModelScores], rng: np.random.Generator, rounds: int = BOOTSTRAP_ROUNDS
) -> BenchmarkCorrelations:
    """Correlate every two benchmarks over the models they share."""
    names = list(scores)
    rho: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    r2: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for first, second in combinations(names, 2):
        got = correlate_benchmarks(scores[first], scores[second], rng, rounds)
        rho[first][second] = rho[second][first] = got["spearman"]
        r2[first][second] = r2[second][first] = got["r2"]
    return BenchmarkCorrelations(names, {name: dict(scores[name]) for name in names}, rho, r2)


def add_study_as_benchmark(
    study: Mapping[str, Estimate], benchmarks: Mapping[str, ModelScores], name: str = THIS_STUDY
) -> dict[str, dict[str, float]]:
    """Return all `benchmarks`, with the study's own numbers (ratings, rewards or win rates) as one
    more benchmark, listed first. It is called `name`, followed by a star for as long as another
    benchmark has this name."""
    while name in benchmarks:
        name += "*"
    own = {model: got.value for model, got in study.items() if got.value is not None}
    return {name: own, **{other: dict(scores) for other, scores in benchmarks.items()}}


def correlate_benchmarks(
    first: ModelScores,
    second: ModelScores,
    rng: np.random.Generator,
    rounds: int = BOOTSTRAP_ROUNDS,
) -> dict[str, Estimate]:
    """Estimate "spearman" (Spearman's ρ) and "r2" (squared Pearson correlation) of two benchmarks
    over the models they share; unknown below MIN_MODELS models, or if all scores of a benchmark are
    equal.

    The bootstrap resamples models; rounds in which all drawn scores of a benchmark are equal are
    left out. Below ten models a note marks the interval as rough.
    """
    models = sorted(set(first) & set(second))
    a = np.array([first[name] for name in models], np.float64)
    b = np.array([second[name] for name in models], np.float64)
    if len(models) < MIN_MODELS:
        note = f"{len(models)} models in common: at least {MIN_MODELS} are needed"
        return {"spearman": unknown_estimate(note, "rho"), "r2": unknown_estimate(note, "R²")}
    drawn = rng.integers(0, len(models), (rounds, len(models)))
    note = f"{len(models)} models: a rough interval" if len(models) < FEW_MODELS_BELOW else ""
    linear = pearson_correlation(a, b)
    return {
        "spearman": _correlation_estimate(
            spearman_correlation(a, b),
            _correlations_of_varying_rows(_row_ranks(a[drawn]), _row_ranks(b[drawn])),
            len(a),
            "rho",
            note,
        ),
        "r2": _correlation_estimate(
            None if linear is None else linear**2,
            _correlations_of_varying_rows(a[drawn], b[drawn]) ** 2,
            len(a),
            "R²",
            note,
        ),
    }


def _row_ranks(values: Floats) -> Floats:
    return np.asarray(stats.rankdata(values, axis=1), np.float64)


def _correlations_of_varying_rows(first: Floats, second: Floats) -> Floats:
    """Pearson's correlation of each row of `first` with the same row of `second` (a bootstrap
    round); rows without variation are left out."""
    first = first - first.mean(axis=1, keepdims=True)
    second = second - second.mean(axis=1, keepdims=True)
    spread = np.sqrt((first * first).sum(axis=1) * (second * second).sum(axis=1))
    scale = np.abs(first).max(initial=0.0) * np.abs(second).max(initial=0.0)
    varied = spread > 1e-12 * max(scale, 1e-300)
    return np.asarray((first * second).sum(axis=1)[varied] / spread[varied])


def _correlation_estimate(
    value: float | None, draws: Floats, n: int, unit: str, note: str
) -> Estimate:
    if value is None:
        return unknown_estimate("all scores are the same", unit)
    if len(draws) < 2:
        return Estimate(
            value,
            None,
            None,
            n,
            0,
            unit,
            0.95,
            BOOTSTRAP_METHOD,
            join_notes(note, "no interval: resampled scores do not vary"),
        )
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(
        value,
        min(float(low), value),
        max(float(high), value),
        n,
        0,
        unit,
        0.95,
        BOOTSTRAP_METHOD,
        note,
    )
