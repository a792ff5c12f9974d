"""Redundancy between benchmarks: Spearman and R² over the models they share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from metrics.protocols import benchmark_correlations as r
from studies.domain import Estimate
from tests.page_words import pattern

FIRST = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 9.0}
SECOND = {"a": 10.0, "b": 20.0, "c": 30.0, "d": 40.0, "z": 0.0}


def rng():
    return np.random.default_rng(0)


def test_two_benchmarks_of_the_same_models():
    got = r.correlate_benchmarks(FIRST, SECOND, rng(), rounds=200)
    assert got["spearman"].value == pytest.approx(1)
    assert (got["r2"].value, got["r2"].n) == (pytest.approx(1), 4)
    assert "rough" in got["r2"].note
    few = r.correlate_benchmarks({"a": 1}, {"a": 1}, rng())
    assert "3 are needed" in few["r2"].note and few["spearman"].value is None
    flat = r.correlate_benchmarks(FIRST, dict.fromkeys(FIRST, 1.0), rng())
    assert (flat["r2"].value, flat["spearman"].value) == (None, None)


def test_values_and_resampled_correlations_are_scipys():
    draw = rng()
    models = [f"m{k}" for k in range(12)]
    a, b = draw.normal(size=12), draw.integers(0, 4, 12).astype(float)
    one, two = dict(zip(models, a, strict=True)), dict(zip(models, b, strict=True))
    got = r.correlate_benchmarks(one, two, rng(), rounds=300)
    order = sorted(models)
    x, y = np.array([one[m] for m in order]), np.array([two[m] for m in order])
    assert got["spearman"].value == pytest.approx(stats.spearmanr(x, y)[0])
    assert got["r2"].value == pytest.approx(stats.pearsonr(x, y)[0] ** 2)
    drawn = rng().integers(0, 12, (300, 12))
    slow = [stats.spearmanr(x[d], y[d])[0] for d in drawn if len(set(y[d])) > 1]
    assert got["spearman"].low == pytest.approx(np.quantile(slow, 0.025))
    assert got["spearman"].high == pytest.approx(np.quantile(slow, 0.975))


def test_the_matrix_is_symmetric_and_its_scatter_names_the_models():
    third = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    got = r.correlate_all_benchmarks(
        {"one": FIRST, "two": SECOND, "three": third}, rng(), rounds=50
    )
    assert got.benchmarks == ["one", "two", "three"]
    assert got.spearman["one"]["three"] == got.spearman["three"]["one"]
    assert got.spearman["two"]["three"].value == pytest.approx(-1)
    assert got.r2["two"]["three"].value == pytest.approx(1)
    assert "one" not in got.r2["one"]
    assert got.shared_scores("one", "two") == [
        ("a", 1, 10),
        ("b", 2, 20),
        ("c", 3, 30),
        ("d", 4, 40),
    ]


def test_this_study_is_one_more_benchmark():
    study = {"a": Estimate(1010.0), "b": Estimate(990.0), "silent": Estimate(None)}
    got = r.add_study_as_benchmark(study, {"other": {"a": 1.0}})
    assert got == {"this study": {"a": 1010.0, "b": 990.0}, "other": {"a": 1.0}}


def test_a_benchmark_with_the_name_of_the_study_does_not_replace_it():
    study, uploaded = {"a": Estimate(1010.0)}, {"this study": {"a": 1.0}}
    got = r.add_study_as_benchmark(study, uploaded)
    assert list(got.values()) == [{"a": 1010.0}, {"a": 1.0}] and list(got)[1] == "this study"


def test_a_table_of_scores_says_what_is_wrong_with_it():
    good = pd.DataFrame(
        {"model": ["a", "b"], "benchmark": ["MMLU", "MMLU"], "score": ["81.5%", "−2"]}
    )
    assert r.benchmark_scores(good) == {"MMLU": {"a": 81.5, "b": -2.0}}
    with pytest.raises(ValueError, match="missing: score"):
        r.benchmark_scores(good[["model", "benchmark"]])
    with pytest.raises(ValueError, match=pattern("2", "score 'n/a'", "not", "number")):
        r.benchmark_scores(good.assign(score=["1", "n/a"]))
    with pytest.raises(ValueError, match=pattern("2: MMLU", "score", "already")):
        r.benchmark_scores(good.assign(model=["a", "a"]))
    with pytest.raises(ValueError, match=pattern("1: model", "benchmark", "empty")):
        r.benchmark_scores(good.assign(model=[None, "b"]))
    assert r.benchmark_scores(good.iloc[:0]) == {}
    assert r.correlate_all_benchmarks({}, rng()).benchmarks == []


def test_a_correlation_whose_resamples_do_not_vary_has_no_interval():
    one = r._correlation_estimate(0.4, np.array([0.3]), 4, "rho", "few")
    assert (one.value, one.low, one.high, one.n) == (0.4, None, None, 4)
    assert one.note.startswith("few; no interval")
    two = r._correlation_estimate(0.4, np.array([0.5, 0.9]), 4, "rho", "few")
    assert (two.low, two.note) == (0.4, "few") and two.high == pytest.approx(0.5 + 0.975 * 0.4)
    assert r._correlation_estimate(0.4, np.array([0.1, 0.3]), 4, "rho", "").high == 0.4
    assert r._correlation_estimate(None, np.array([0.1, 0.3]), 4, "rho", "").value is None
