"""A judge as a ranker of models: Kendall's τ with the ranking by people or by known answers (the
reference), decisiveness, and bias toward single models (Gera et al. 2024, "JuStRank", arXiv
2412.09569).

All three compare, for each pair of models, the judge's win rate with the reference's. Decisiveness
is the parameter α of the symmetric beta distribution function F(x; α, α) that maps the reference's
win rates to the judge's with the least squared error: α above 1 means that the judge exaggerates
differences, below 1 that it levels them. The bias toward a model is the mean, over its opponents,
of the judge's win rate minus the fitted one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betainc

from metrics.estimation import row_selection
from metrics.estimation.intervals import (
    Floats,
    Ints,
    draw_bootstrap_item_weights,
    safe_divide,
    unknown_estimate,
)
from studies.domain import Estimate
from studies.frames.frame import NO_PICK, TIE

ROUNDS: Final = 200
SEED: Final = 2412
LEAST_MODELS: Final = 3
LEAST_ITEMS: Final = 5
MAX_CELLS: Final = 20_000_000
"""Largest number of items times pairs of models for which the measures are computed."""
ALPHA_BOUNDS: Final = (0.02, 50.0)
_METHOD: Final = "bootstrap by items, 200 rounds"
_SHRINK: Final = 0.01
"""Wins added for both models of a pair, so that a model that always wins has a finite strength."""
_STEPS: Final = 400
_TOLERANCE: Final = 1e-9
_GOLDEN: Final = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class RankerMeasures:
    """The measures of one judge as a ranker, and the two win rates of each pair of models. `tau` is
    Kendall's τ with the ranking of the reference (people's votes or known answers). `decisiveness`
    is the parameter α: above 1 if the judge exaggerates differences between models, below 1 if it
    levels them. `bias` is model -> bias toward it, `bias_spread` the standard deviation of these
    biases. If every win rate of the reference is 0, ½ or 1, decisiveness and spread are unknown,
    and `bias` is empty."""

    tau: Estimate
    decisiveness: Estimate
    bias_spread: Estimate
    bias: dict[str, Estimate] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, float, float], ...] = ()
    """(model, other model, win rate of the first by the reference, its win rate by the judge)."""


def judge_as_ranker(judged: pd.DataFrame, study: RankedStudy) -> RankerMeasures:
    """Compare a judge's ranking of models with the reference: the votes by people or, without
    votes, the known better answers. `judged` has the judge's rows of the study. With too few models
    or items, or more than MAX_CELLS items times pairs, the measures are unknown."""
    rates = _build_pair_table(judged, study)
    if isinstance(rates, str):
        unknown = unknown_estimate(rates)
        return RankerMeasures(unknown, unknown, unknown)
    return rates.estimate_measures()


class _Outcomes(NamedTuple):
    """Verdicts on two models: code of the item, code of the pair, points of the pair's low model
    (the one with the lower code)."""

    item: Ints
    pair: Ints
    points: Floats


class RankedStudy(NamedTuple):
    """The models that a study compares in pairs, and people's votes on them: the same for all its
    judges."""

    names: list[str]
    votes: _Outcomes

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> RankedStudy:
        """Take models and votes from the frame of a study."""
        names = row_selection.contestants(row_selection.select_pairs(frame))
        return cls(names, _select_pair_outcomes(row_selection.mean_votes(frame), names, "p_0"))


def _build_pair_table(judged: pd.DataFrame, study: RankedStudy) -> _PairTable | str:
    """Return the points and numbers of verdicts by item and pair of models, of the judge and of the
    reference (people's votes; without any, the known better answers); or the reason why they cannot
    be compared: no reference, too few models or items, or too many items and pairs."""
    names, reference = study
    mine = _select_pair_outcomes(row_selection.select_picks(judged), names, "pick")
    if not len(reference.item):
        known = row_selection.select_rows(judged, judged["known_answer"] != NO_PICK)
        case, cases = row_selection.group_codes(known, row_selection.COMPARISON_KEY[:2])
        known = known.iloc[
            row_selection.first_row_per_group(case, cases)
        ]  # a known answer counts once
        reference = _select_pair_outcomes(known, names, "known_answer")
    if not len(reference.item):
        return "no votes and no known better answers"
    pairs = np.intersect1d(mine.pair, reference.pair)
    low, high = pairs // len(names), pairs % len(names)
    models = np.union1d(low, high)
    if len(models) < LEAST_MODELS:
        return f"fewer than {LEAST_MODELS} models are compared by judge and reference"
    items = np.union1d(mine.item, reference.item)
    if len(items) < LEAST_ITEMS:
        return f"fewer than {LEAST_ITEMS} items"
    if len(items) * len(pairs) > MAX_CELLS:
        return "too many items and pairs of models"
    return _PairTable(
        [names[k] for k in models],
        np.searchsorted(models, low),
        np.searchsorted(models, high),
        _points_by_item(mine, items, pairs),
        _points_by_item(reference, items, pairs),
    )


def _select_pair_outcomes(rows: pd.DataFrame, names: list[str], column: str) -> _Outcomes:
    """Return the verdicts (`column` is "pick"), the known better answers ("known_answer") or the
    mean votes ("p_0") on pairs of the models `names`."""
    rows = row_selection.select_pairs(rows)
    if not len(rows) or not names:
        return _Outcomes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    shown = row_selection.slot_contestants(rows, names)[:, :2]
    slot = rows[column].to_numpy()
    low, high = shown.min(axis=1), shown.max(axis=1)
    won = slot if column == "p_0" else np.where(slot == TIE, 0.5, slot == 0)
    points = np.where(shown[:, 0] == low, won, 1 - won)
    kept = (low >= 0) & (low < high)
    item = row_selection.item_codes(rows)
    return _Outcomes(item[kept], (low * len(names) + high)[kept], points[kept].astype(np.float64))


def _points_by_item(outcomes: _Outcomes, items: Ints, pairs: Ints) -> tuple[Floats, Floats]:
    """Return the points and the numbers of verdicts of these items and pairs, each [item, pair]."""
    kept = np.isin(outcomes.pair, pairs)
    row = np.searchsorted(items, outcomes.item[kept])
    code = row * len(pairs) + np.searchsorted(pairs, outcomes.pair[kept])
    size, shape = len(items) * len(pairs), (len(items), len(pairs))
    total, n = (
        np.bincount(code, value, minlength=size).reshape(shape).astype(np.float64)
        for value in (outcomes.points[kept], np.ones(len(code)))
    )
    return total, n


@dataclass(frozen=True, slots=True)
class _PairTable:
    """Points and numbers of verdicts, each [item, pair], of the judge (`mine`) and of the
    `reference`. Pair p compares the models `low[p]` and `high[p]` of `names`; points are those of
    the low model (a win 1, a tie ½)."""

    names: list[str]
    low: Ints
    high: Ints
    mine: tuple[Floats, Floats]
    reference: tuple[Floats, Floats]

    def estimate_measures(self) -> RankerMeasures:
        """Estimate the measures, with intervals from resampled items."""
        items = self.mine[0].shape[0]
        drawn = draw_bootstrap_item_weights(items, ROUNDS, np.random.default_rng(SEED))
        weights = np.vstack([np.ones(items), drawn.reshape(ROUNDS, items)])
        mine, reference = (
            safe_divide(weights @ t, weights @ n) for t, n in (self.mine, self.reference)
        )
        n = int(self.mine[1].sum())
        taus = kendall_tau_by_row(self._strengths(mine), self._strengths(reference))
        inside = not np.isin(reference[0], (0.0, 0.5, 1.0)).all()
        if not inside:
            note = "every pair has a reference win rate of 0, ½ or 1"
            bend = spread = unknown_estimate(note)
            bias: dict[str, Estimate] = {}
        else:
            alpha = fit_decisiveness(reference, mine)
            by_model = self._mean_residual_by_model(
                mine - symmetric_beta_cdf(reference, alpha[:, None])
            )
            at_bound = alpha[0] < 1.01 * ALPHA_BOUNDS[0] or alpha[0] > 0.99 * ALPHA_BOUNDS[1]
            note = "at the bound of the fit" if at_bound else ""
            bend = _percentile_estimate(alpha, n, items, "α", note)
            spread = _percentile_estimate(by_model.std(axis=1), n, items, "difference of shares")
            bias = {
                name: _percentile_estimate(by_model[:, k], n, items, "difference of shares")
                for k, name in enumerate(self.names)
            }
        pairs = tuple(
            (self.names[a], self.names[b], float(g), float(m))
            for a, b, g, m in zip(self.low, self.high, reference[0], mine[0], strict=True)
        )
        tau = _percentile_estimate(taus, n, items, "τ")
        if tau.value is None:
            tau = unknown_estimate("one of the rankings has all models in one place", "τ")
        return RankerMeasures(tau, bend, spread, bias, pairs)

    def _strengths(self, rates: Floats) -> Floats:
        """Bradley–Terry strengths [round, model] from win rates [round, pair]; every pair counts
        once. The first round is the sample itself, the others are bootstrap samples."""
        return bradley_terry_from_win_rates(rates, self.low, self.high, len(self.names))

    def _mean_residual_by_model(self, residual: Floats) -> Floats:
        """Mean residual of each model over its opponents, [round, model]; `residual` [round, pair]
        is the judge's win rate of the pair's low model minus the fitted one."""
        models, pairs = len(self.names), len(self.low)
        signs = np.zeros((pairs, models))
        signs[np.arange(pairs), self.low], signs[np.arange(pairs), self.high] = 1, -1
        known = np.isfinite(residual)
        met = known.astype(np.float64) @ np.abs(signs)
        return np.nan_to_num(safe_divide(np.where(known, residual, 0.0) @ signs, met))


def symmetric_beta_cdf(share: Floats, alpha: Floats | float) -> Floats:
    """Distribution function, at `share`, of the beta distribution with both parameters `alpha`."""
    return np.asarray(betainc(alpha, alpha, np.clip(share, 0.0, 1.0)))


def fit_decisiveness(reference: Floats, judge: Floats) -> Floats:
    """Fit the decisiveness α of each round (the sample, then each bootstrap sample):
    `symmetric_beta_cdf` with this α maps the win rates of the `reference` to the judge's (`judge`),
    both [round, pair], with the least squared error. α is found by a grid and a golden-section
    search of log α within ALPHA_BOUNDS; unknown win rates (nan) are left out."""
    known = np.isfinite(reference) & np.isfinite(judge)
    x, y = np.where(known, reference, 0.5), np.where(known, judge, 0.5)

    def squared_error(log_alpha: Floats) -> Floats:
        fitted = symmetric_beta_cdf(x, np.exp(log_alpha)[:, None])
        return np.asarray(np.where(known, (fitted - y) ** 2, 0.0).sum(axis=1))

    grid = np.linspace(math.log(ALPHA_BOUNDS[0]), math.log(ALPHA_BOUNDS[1]), 40)
    losses = np.stack([squared_error(np.full(len(x), one)) for one in grid], axis=1)
    best = losses.argmin(axis=1)
    left, right = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    for _ in range(40):
        gap = _GOLDEN * (right - left)
        lower = squared_error(right - gap) < squared_error(left + gap)
        left, right = np.where(lower, left, right - gap), np.where(lower, left + gap, right)
    return np.asarray(np.exp((left + right) / 2))


def bradley_terry_from_win_rates(rates: Floats, low: Ints, high: Ints, models: int) -> Floats:
    """Bradley–Terry strengths [round, model] on a logarithmic scale, from win rates [round, pair]
    of the pairs' low models. Every pair with a known win rate counts once."""
    pairs = len(low)
    at_low, at_high = np.zeros((2, pairs, models))
    at_low[np.arange(pairs), low] = at_high[np.arange(pairs), high] = 1
    known = np.isfinite(rates)
    share = (np.where(known, rates, 0.5) + _SHRINK) / (1 + 2 * _SHRINK)
    won = np.where(known, share, 0.0) @ at_low + np.where(known, 1 - share, 0.0) @ at_high
    strength = np.ones((len(rates), models))
    for step in range(_STEPS):
        before = strength
        meet = np.where(known, 1 / (strength[:, low] + strength[:, high]), 0.0)
        strength = np.where(won > 0, won / np.maximum(meet @ (at_low + at_high), 1e-300), strength)
        strength /= np.exp(np.log(strength).mean(axis=1, keepdims=True))
        if step % 10 == 9 and np.abs(strength / before - 1).max() < _TOLERANCE:
            break
    return np.asarray(np.log(strength))


def kendall_tau_by_row(first: Floats, second: Floats) -> Floats:
    """Kendall's τ-b, for each row, of the two rankings of models by the strengths `first` and
    `second`, both [row, model]; strengths that differ by less than 5·10⁻⁷ are equal. nan where
    all models of a ranking are equal."""
    above, below = np.triu_indices(first.shape[1], 1)
    signs = [
        np.sign(np.round(one[:, above] - one[:, below], 6))
        for one in (np.asarray(first, np.float64), np.asarray(second, np.float64))
    ]
    ordered = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    return safe_divide((signs[0] * signs[1]).sum(axis=1), ordered)


def _percentile_estimate(values: Floats, n: int, items: int, unit: str, note: str = "") -> Estimate:
    """Estimate whose value is the first of `values`, with the central 95 % of the others (bootstrap
    rounds) as its interval, widened to contain the value; unknown if the first is nan."""
    drawn = values[1:][np.isfinite(values[1:])]
    if not np.isfinite(values[0]) or not len(drawn):
        return unknown_estimate(note or "cannot be computed", unit)
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = float(values[0])
    return Estimate(
        value, min(float(low), value), max(float(high), value), n, items, unit, 0.95, _METHOD, note
    )
