"""Ranking corrected for the judges' errors: Bradley–Terry strengths of the truly better answers,
with error rates of each judge learnt from comparisons whose better answer is known.

P(verdict for a) = p·(1 − e_a) + (1 − p)·e_b, where p = P(a is better) follows from the strengths,
and e is the judge's error rate where the better answer is shown first, or second; a tie is half an
error. Labelled and unlabelled verdicts are fitted together by EM; each verdict counts once, as in
the uncorrected ratings. Intervals resample whole items, so verdicts of an item may depend on each
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import rare_events, row_selection
from metrics.estimation.intervals import (
    Floats,
    Ints,
    draw_bootstrap_item_weights,
    jackknife_estimate,
    proportion,
    safe_divide,
    student_t_quantile,
)
from metrics.ratings.bradley_terry import ELO_PER_LOGIT, START_RATING, RankRange
from metrics.ratings.bradley_terry_fit import PSEUDO_COUNT, graph_components
from metrics.remedies.known_winners import WinnerSource
from metrics.remedies.order_grid import OrderGrid, build_order_grid
from studies.domain import Estimate
from studies.frames.frame import SEP

MIN_SLOPE: Final = 0.06
"""A judge counts only if the lower limit of 1 − e(first) − e(second) is above this value: with
less, its verdicts say nothing about the better answer."""
MAX_CONTESTANTS: Final = 30
MAX_CELLS: Final = 10_000_000
"""Largest number of items times judges, orders and pairs; with more, the ranking is left out."""
ROUNDS: Final = 300
SEED: Final = 7
MAX_GAP: Final = 8.0
"""Gap of strengths, in logits, from which wins are added to both sides of every pair. In bootstrap
samples they are always added."""
METHOD: Final = "Bradley–Terry with judges' errors, item bootstrap, t interval"

Json = dict[str, Any]


@dataclass(frozen=True)
class CorrectedRanking:
    """Corrected ratings, best first, with ranks and gaps. If no ranking is possible, `refused` has
    the reason, and these are empty."""

    refused: str = ""
    labelled_items: int = 0
    ratings: dict[str, Estimate] = field(default_factory=dict)
    ranks: dict[str, RankRange] = field(default_factory=dict)
    gaps: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    errors: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """Judge and prompt -> error rate with the better answer shown first, and second, and slope."""
    left_out: tuple[str, ...] = ()
    """Judges and prompts whose verdicts do not count (MIN_SLOPE)."""

    def as_json(self) -> Json:
        """JSON object of the ranking; if it was refused, of the reason and the judges' errors."""
        if self.refused:
            return {"refused": self.refused} | ({"errors": self.errors} if self.errors else {})
        return {name: value for name, value in vars(self).items() if name != "refused"}


def corrected_ranking(
    frame: pd.DataFrame, source: WinnerSource | None = None
) -> CorrectedRanking | None:
    """Rank the contestants of a frame, corrected for the judges' errors; None if no better answer
    is known or only people judged. `source` of the better answers: recorded ones, or people's
    majority (default: `default_winner_source`)."""
    grid = build_order_grid(frame, (), source)
    known = grid.known_winner != 0
    if not known.any() or not len(grid.raters):
        return None
    contestants = frame["comparison"].astype(str).to_numpy()[grid.row]
    return rank_corrected_for_errors(grid, [tuple(name.split(SEP)) for name in contestants])


def rank_corrected_for_errors(grid: OrderGrid, pairs: list[tuple[str, ...]]) -> CorrectedRanking:
    """Rank the contestants of an order grid (verdicts of all judges as arrays, see
    metrics/remedies/order_grid.py), corrected for the judges' errors. `pairs` names the two
    contestants of each comparison in alphabetical order."""
    labels = len(np.unique(grid.items[grid.known_winner != 0]))
    errors = {"/".join(one): _judge_error_rates(grid, k) for k, one in enumerate(grid.raters)}
    kept = [k for k, one in enumerate(errors.values()) if _is_better_than_chance(one["slope"])]
    left_out = tuple(name for k, name in enumerate(errors) if k not in kept)
    if not kept:
        reason = (
            f"refused: no judge is shown to be right more often than by chance ({labels} items)"
        )
        return CorrectedRanking(reason, labels, errors=errors, left_out=left_out)
    judged = np.asarray(np.isfinite(grid.verdicts[kept]).any(axis=(0, 1)), np.bool_)
    grid = grid.select(judged)
    pairs = [pair for pair, seen in zip(pairs, judged.tolist(), strict=True) if seen]
    names = sorted({name for pair in pairs for name in pair})
    low, high = (np.array([names.index(pair[k]) for pair in pairs]) for k in (0, 1))
    linked = np.zeros((len(names), len(names)), bool)
    linked[low, high] = True
    if graph_components(linked).max() > 0:
        return CorrectedRanking("refused: comparisons do not connect all models", labels)
    counts = _VerdictCounts(grid, kept, low, high, len(names))
    if len(names) > MAX_CONTESTANTS or counts.sums.size > 6 * MAX_CELLS:
        return CorrectedRanking(
            f"left out: computed for at most {MAX_CONTESTANTS} models and {MAX_CELLS:,} cells "
            "(items × judges × orders × pairs)",
            labels,
        )
    return _build_ranking(counts, names, errors, left_out, labels, grid.size)


def _judge_error_rates(grid: OrderGrid, rater: int) -> dict[str, Estimate]:
    """Error rates of rater number `rater` on the labelled comparisons: "first" with the better
    answer shown first, "second" with it shown second; and "slope", 1 minus the sum of the two,
    which is 0 for random verdicts."""
    loss = (1 - grid.verdicts[rater].astype(np.float64) * grid.known_winner) / 2
    found, totals = {}, []
    for position, name in enumerate(("first", "second")):
        order = np.where(grid.known_winner > 0, position, 1 - position)
        here = loss[order, np.arange(grid.size)]
        seen = np.isfinite(here) & (grid.known_winner != 0)
        found[name] = proportion(
            here[seen], grid.items[seen], note="" if seen.any() else "no labels"
        )
        totals += [np.where(seen, here, 0.0), seen.astype(np.float64)]
    sums = grid.sum_by_item(totals)
    sums = sums[sums[:, [1, 3]].sum(axis=1) > 0]
    n = int(sums[:, [1, 3]].sum())
    found["slope"] = jackknife_estimate(
        sums, _youden_index_of_totals, n, "share", (-1.0, 1.0), effect=2.0
    )
    return found


def _youden_index_of_totals(totals: Floats) -> Floats:
    """Youden's index of a judge, 1 − e(first) − e(second): 0 at chance, 1 without errors. e is the
    error rate where the better answer is shown in this position; `totals` has the errors and the
    labelled verdicts of each position."""
    first = safe_divide(totals[..., 0], totals[..., 1])
    return np.asarray(1 - first - safe_divide(totals[..., 2], totals[..., 3]))


def _is_better_than_chance(slope: Estimate) -> bool:
    return slope.low is not None and slope.low > MIN_SLOPE


class _VerdictCounts:
    """Verdicts summed by item and cell; a cell is a judge, an order and a pair of contestants a and
    b, where the name of a sorts first.

    `sums` is [item, kind, cell]. The kinds are: unlabelled verdicts for a, and for b; labelled
    verdicts where a is better, and the errors in them; labelled verdicts where b is better, and the
    errors in them. A tie is half a verdict for each, or half an error. `kept` are the indices of
    the judges in the order grid, `low` and `high` the numbers of a and b in each comparison, `size`
    is the number of contestants."""

    def __init__(self, grid: OrderGrid, kept: list[int], low: Ints, high: Ints, size: int) -> None:
        pair_key, pair = np.unique(low * size + high, return_inverse=True)
        self.low, self.high, self.models = pair_key // size, pair_key % size, size
        pairs, judges = len(pair_key), len(kept)
        code, self.items = grid.item_codes
        cells = judges * 2 * pairs
        self.sums = np.zeros((self.items, 6, cells))
        for j, k in enumerate(kept):
            for order in range(2):
                share = (1 + grid.verdicts[k, order].astype(np.float64)) / 2
                seen = np.isfinite(share)
                where = (j * 2 + order) * pairs + pair[seen]
                z, winner = share[seen], grid.known_winner[seen]
                values = (
                    (winner == 0) * z, (winner == 0) * (1 - z),
                    winner > 0, (winner > 0) * (1 - z), winner < 0, (winner < 0) * z,
                )  # fmt: skip
                for kind, value in enumerate(values):
                    np.add.at(self.sums, (code[seen], kind, where), value)
        cell = np.arange(cells)
        self.pair, self.order, self.judge = cell % pairs, cell // pairs % 2, cell // (2 * pairs)
        # Index of the error rate that applies if a is better, and if b is better.
        self.if_a, self.if_b = 2 * self.judge + self.order, 2 * self.judge + 1 - self.order
        self.rates = 2 * judges
        self.to_rate_a, self.to_rate_b = (
            np.equal.outer(index, np.arange(self.rates)).astype(np.float64)
            for index in (self.if_a, self.if_b)
        )
        self.to_pair = np.equal.outer(self.pair, np.arange(pairs)).astype(np.float64)

    def weighted_totals(self, weights: Floats) -> Floats:
        """Totals [kind, round, cell] under item weights [round, item]; a round is the whole sample,
        or one bootstrap sample of its items."""
        totals = weights @ self.sums.reshape(self.items, -1)
        return totals.reshape(len(weights), 6, -1).transpose(1, 0, 2)


def _fit_by_em(
    counts: _VerdictCounts,
    totals: Floats,
    *,
    pseudo: float,
    start: Floats | None = None,
    extra: Floats | None = None,
    steps: int = 3000,
    tolerance: float = 1e-9,
) -> Floats:
    """Fit strengths in logits, [round, model], by EM, with one Newton step of the strengths in each
    iteration; `totals` [kind, round, cell] are those of `weighted_totals`. There is an error rate
    for each judge and position of the better answer.

    `pseudo` wins are added to both sides of every pair; `start` are the first strengths (default:
    0); `extra` [2, round, rate] adds errors and labelled verdicts to each error rate. A round ends
    after `steps` iterations, if no strength or error rate changes by more than `tolerance`, or if
    two strengths differ by 2·MAX_GAP or more.
    """
    rounds = totals.shape[1]
    more = np.zeros((2, rounds, counts.rates)) if extra is None else extra
    _, _, a_known, a_lost, b_known, b_lost = totals
    lost = a_lost @ counts.to_rate_a + b_lost @ counts.to_rate_b + more[0]
    seen = a_known @ counts.to_rate_a + b_known @ counts.to_rate_b + more[1]
    rates = np.clip(np.nan_to_num(safe_divide(lost, seen)), 0.0, 0.999)
    theta = np.zeros((rounds, counts.models))
    theta += 0.0 if start is None else start
    left = np.arange(rounds)
    for _ in range(steps):
        new, step = _em_iteration(
            counts, totals[:, left], more[:, left], theta[left], rates[left], pseudo
        )
        change = np.maximum(np.abs(new - rates[left]).max(axis=1), np.abs(step).max(axis=1))
        rates[left] = new
        theta[left] += step
        left = left[(change > tolerance) & (np.ptp(theta[left], axis=1) < 2 * MAX_GAP)]
        if not len(left):
            break
    return theta


def _em_iteration(
    counts: _VerdictCounts,
    totals: Floats,
    extra: Floats,
    theta: Floats,
    rates: Floats,
    pseudo: float,
) -> tuple[Floats, Floats]:
    """Run one iteration of EM on the `totals` [kind, round, cell], from the strengths `theta`
    [round, model] and the error `rates` [round, rate]: return the new error rates, and the step to
    add to the strengths. `extra` [2, round, rate] are numbers of errors and of labelled verdicts to
    add for each error rate, `pseudo` is the number of wins to add to both sides of every pair."""
    for_a, for_b, a_known, a_lost, b_known, b_lost = totals
    gap = (theta[:, counts.low] - theta[:, counts.high])[:, counts.pair]
    p = 1 / (1 + np.exp(-gap))
    e_a, e_b = rates[:, counts.if_a], rates[:, counts.if_b]
    q = np.clip(p * (1 - e_a) + (1 - p) * e_b, 1e-12, 1 - 1e-12)
    missed_a, missed_b = for_b * p * e_a / (1 - q), for_a * (1 - p) * e_b / q
    wins_a = for_a - missed_b + missed_a + a_known
    wins_b = for_b - missed_a + missed_b + b_known
    lost = (missed_a + a_lost) @ counts.to_rate_a + (missed_b + b_lost) @ counts.to_rate_b
    seen = wins_a @ counts.to_rate_a + wins_b @ counts.to_rate_b
    new = (lost + extra[0]) / np.maximum(seen + extra[1], 1e-12)
    return np.minimum(new, 0.999), _newton_step(counts, theta, wins_a, wins_b, pseudo)


def _newton_step(
    counts: _VerdictCounts, theta: Floats, wins_a: Floats, wins_b: Floats, pseudo: float
) -> Floats:
    """Newton step of the strengths `theta`, both [round, model], of at most 1 logit, for the wins
    of the first (`wins_a`) and second contestant (`wins_b`) of each cell, [round, cell], with
    `pseudo` wins added to both sides of every pair."""
    low, high = wins_a @ counts.to_pair + pseudo, wins_b @ counts.to_pair + pseudo
    p = 1 / (1 + np.exp(theta[:, counts.high] - theta[:, counts.low]))
    total, rounds = low + high, len(theta)
    residual, weight = low - total * p, total * p * (1 - p)
    side = np.zeros((len(counts.low), counts.models))
    side[np.arange(len(side)), counts.low] = 1.0
    side[np.arange(len(side)), counts.high] = -1.0
    outer = (side[:, :, None] * side[:, None, :]).reshape(len(side), -1)
    hessian = (weight @ outer).reshape(rounds, counts.models, counts.models) + 1 / counts.models
    hessian += 1e-9 * np.eye(counts.models)  # a bootstrap round may lack a model
    step = np.linalg.solve(hessian, (residual @ side)[:, :, None])[:, :, 0]
    step -= step.mean(axis=1, keepdims=True)
    return np.asarray(step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True)))


def _build_ranking(
    counts: _VerdictCounts,
    names: list[str],
    errors: Mapping[str, dict[str, Estimate]],
    left_out: tuple[str, ...],
    labels: int,
    n: int,
) -> CorrectedRanking:
    """Fit the whole sample and bootstrap samples of its items; return ratings, gaps and ranks (by
    max-t). `labels` is the number of labelled items, `n` that of comparisons. `errors` (error
    rates) and `left_out` (judges that do not count) are stored as given."""
    whole = counts.weighted_totals(np.ones((1, counts.items)))
    (theta,) = _fit_by_em(counts, whole, pseudo=0.0)
    bounded = bool(np.ptp(theta) < MAX_GAP)
    if not bounded:
        (theta,) = _fit_by_em(counts, whole, pseudo=PSEUDO_COUNT)
    rng = np.random.default_rng(SEED)
    drawn = counts.weighted_totals(draw_bootstrap_item_weights(counts.items, ROUNDS, rng))
    # Error rates of few labels also vary where the sample shows no error: half an error and half a
    # right verdict with random weights (a Jeffreys prior as a Bayesian bootstrap).
    lost, right = rng.gamma(0.5, size=(2, ROUNDS, counts.rates))
    rounds = _fit_by_em(
        counts,
        drawn,
        pseudo=PSEUDO_COUNT,
        start=theta,
        extra=np.stack([lost, lost + right]),
        steps=500,
        tolerance=1e-4,
    )
    order = np.argsort(-theta.round(12), kind="stable")
    theta, rounds, named = theta[order], rounds[:, order], [names[k] for k in order]
    t = float(student_t_quantile(labels))
    note = "" if bounded else "no finite fit: wins added to both sides of every pair"

    def estimate(value: float, spread: Floats, start: float) -> Estimate:
        half = ELO_PER_LOGIT * t * float(np.std(spread, ddof=1))
        centre = start + ELO_PER_LOGIT * value
        low, high = (centre - half, centre + half) if bounded else (None, None)
        return Estimate(centre, low, high, n, counts.items, "Elo", 0.95, METHOD, note)

    gaps: dict[str, dict[str, Estimate]] = {}
    for i, j in combinations(range(len(named)), 2):
        gap = estimate(float(theta[i] - theta[j]), rounds[:, i] - rounds[:, j], 0.0)
        gaps.setdefault(named[i], {})[named[j]] = gap
    return CorrectedRanking(
        labelled_items=labels,
        ratings={
            name: estimate(float(theta[k]), rounds[:, k], START_RATING)
            for k, name in enumerate(named)
        },
        ranks=_rank_ranges(named, theta, rounds, t, bounded),
        gaps=gaps,
        errors=dict(errors),
        left_out=left_out,
    )


def _rank_ranges(
    names: list[str], theta: Floats, rounds: Floats, t_quantile: float, bounded: bool
) -> dict[str, RankRange]:
    """Return each contestant's rank, with the best and worst rank that the differences allow,
    adjusted for all differences at once (max-t). `theta` has the strengths, best first, `rounds`
    those of the bootstrap [round, contestant]. `t_quantile` is the quantile of Student's t for a
    single difference. If `bounded` is false (no finite fit), every rank is possible."""
    size = len(names)
    left, right = np.triu_indices(size, 1)
    gaps = rounds[:, left] - rounds[:, right]
    spread = np.maximum(gaps.std(axis=0, ddof=1), 1e-12)
    largest = np.abs((gaps - gaps.mean(axis=0)) / spread).max(axis=1)
    quantile = (
        max(float(np.quantile(largest, 0.95)), rare_events.Z95) * t_quantile / rare_events.Z95
    )
    above = np.zeros((size, size), bool)
    above[left, right] = bounded & (theta[left] - theta[right] > quantile * spread)
    best, worst = 1 + above.sum(axis=0), size - above.sum(axis=1)
    return {
        name: RankRange(k + 1, int(best[k]), int(worst[k]), size) for k, name in enumerate(names)
    }


def corrected_ranking_section(frame: pd.DataFrame) -> Json:
    """Return the ranking of the contestants, corrected for the judges' errors, as a JSON object;
    empty if no better answer is known or only people judged."""
    if row_selection.people_mask(frame).all():
        return {}
    found = corrected_ranking(frame)
    return {} if found is None else found.as_json()
