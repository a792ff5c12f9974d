"""A jury without labels: errors of each judge, the probable better answers, and the correlation of
errors, estimated from the verdicts alone (model of Dawid and Skene 1979).

The better answer of each comparison is unknown. A judge's reply is right, wrong or a tie, with
probabilities that depend on whether the better answer is shown first or second; its replies in
both orders are one joint reply, because a judge's own errors depend on each other. Given the better
answer, judges reply independently. Shared errors are modelled by comparisons of two kinds, easy and
hard, if this explains the verdicts better. Errors that most judges share on one kind of comparison
look like right answers: without labels the two cannot be distinguished.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.error_models.latent_truth import LatentFit, RaterReplies, fit_latent_truth
from metrics.estimation import integer_codes, row_selection
from metrics.estimation.intervals import Floats, Ints, draw_bootstrap_item_weights, wilson_bounds
from metrics.remedies.effective_votes import mean_error_correlation, votes_from_correlation
from metrics.remedies.order_grid import OrderGrid, build_order_grid
from studies.domain import Estimate

MIN_JUDGES: Final = 3
MIN_GAIN: Final = 2.0
"""Least gain of log-likelihood per parameter for which a model is accepted: the jury's over that of
judges who reply independently of any better answer, and two kinds of comparisons over one."""
MIN_PAIR: Final = 20
"""Number of comparisons from which a pair of contestants has its own share of wins."""
MAX_PATTERNS: Final = 10_000
"""Largest number of different sets of replies times judges; with more, the jury is left out,
because the bootstrap would take more than some seconds."""
ROUNDS: Final = 200
SEED: Final = 7
SMOOTHING: Final = 0.1
METHOD: Final = "Dawid–Skene by EM, item bootstrap"
TWO_KINDS_NOTE: Final = (
    "easy and hard comparisons: the hard ones tell little, so the interval may be too narrow"
)
REPLIES: Final = ("right", "wrong", "tie")
MISSING: Final = 3
POSITIONS: Final = ("first", "second")

Json = dict[str, Any]


@dataclass(frozen=True)
class UnlabelledJury:
    """Estimates of a jury without labels. If none can be computed, only `refused` (the reason) and,
    if the models were fitted, `gain` are set.

    `gain` is the gain of log-likelihood per parameter over a model of independent replies. `better`
    is the probability, by comparison, that the contestant whose name sorts first is better.
    """

    refused: str = ""
    prompt: str = ""
    comparisons: int = 0
    kinds: int = 1
    gain: float | None = None
    judges: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    error_correlation: Estimate | None = None
    effective_judges: Estimate | None = None
    right: Estimate | None = None
    """Expected share of right decisions if each comparison goes to its more probable answer."""
    better: Floats = field(default_factory=lambda: np.zeros(0))

    def as_json(self) -> Json:
        """JSON object of the jury without `better`; if it was refused, of the reason alone."""
        if self.refused:
            return {"refused": self.refused}
        names = ("prompt", "comparisons", "kinds", "gain", "judges", "error_correlation",
                 "effective_judges", "right")  # fmt: skip
        return {name: getattr(self, name) for name in names}


def jury_without_labels(frame: pd.DataFrame) -> UnlabelledJury:
    """Estimate the errors of the judges from their verdicts on pairs, with the prompt that most
    judges have. Only comparisons with a verdict of every judge, in one order at least, count.
    Refused for fewer than MIN_JUDGES judges, or if `fit_jury` refuses."""
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    grid = build_order_grid(machine)
    prompts = list(dict.fromkeys(prompt for _, prompt in grid.raters))
    panels = [[k for k, rater in enumerate(grid.raters) if rater[1] == one] for one in prompts]
    raters = max(panels, key=len, default=[])
    if len(raters) < MIN_JUDGES:
        return UnlabelledJury(f"refused: {len(raters)} judges have a common prompt, 3 are needed")
    judged = np.isfinite(grid.verdicts[raters]).any(axis=1).all(axis=0)
    if not judged.any():
        return UnlabelledJury("refused: no comparison has a verdict of every judge")
    grid = grid.select(np.asarray(judged, np.bool_))
    names = machine["comparison"].astype(str).to_numpy()[grid.row]
    return fit_jury(grid, raters, names.tolist())


def fit_jury(grid: OrderGrid, raters: Sequence[int], pairs: Sequence[str]) -> UnlabelledJury:
    """Estimate errors and better answers from the verdicts in `grid` (an OrderGrid) of some raters,
    given by their indices in `grid.raters`, by the model of Dawid and Skene; refused if the
    verdicts agree too little (MIN_GAIN) or have too many different patterns (MAX_PATTERNS). `pairs`
    names the contestants of each comparison."""
    cases = _Cases(grid.verdicts[list(raters)].astype(np.float64), pairs, grid.item_codes[0])
    if cases.patterns * len(raters) > MAX_PATTERNS:
        return UnlabelledJury(
            f"left out: {cases.patterns:,} different sets of replies of {len(raters)} judges; at "
            f"most {MAX_PATTERNS:,} in all are computed"
        )
    fit, gain, kinds = _fit_with_best_number_of_kinds(cases)
    if gain < MIN_GAIN:
        return UnlabelledJury(
            "refused: the judges' verdicts agree too little to learn from each other "
            f"(log-likelihood gain {gain:.1f} per parameter, {MIN_GAIN:g} needed)",
            gain=gain,
        )
    return _estimate_jury(cases, fit, gain, kinds, grid, raters)


class _Cases:
    """Comparisons grouped into cases: on all comparisons of a case every judge gave the same
    replies. Comparisons of a frequent pair of contestants (at least MIN_PAIR comparisons) form
    cases of their own."""

    def __init__(self, verdicts: Floats, pairs: Sequence[str], items: Ints) -> None:
        self.judges = len(verdicts)
        state = np.where(
            np.isnan(verdicts), MISSING, np.select([verdicts > 0, verdicts < 0], [0, 1], 2)
        )
        flipped = np.where(state < 2, 1 - state, state)
        # Reply with the better answer shown first, then second; truth 1: the other one is better.
        truths = (4 * state[:, 0] + state[:, 1], 4 * flipped[:, 1] + flipped[:, 0])
        _, pair = np.unique(np.asarray(pairs), return_inverse=True)
        often = np.bincount(pair) >= MIN_PAIR
        group = np.where(often, np.cumsum(often), 0)[pair]
        key = np.concatenate([truths[0], group[None]]).astype(np.int64).T
        _, first, self.case = np.unique(key, axis=0, return_index=True, return_inverse=True)
        self.patterns = len(first)
        self.items, self.item = items, integer_codes.unique_codes(items)[1]
        counts = np.zeros((self.judges, 2, len(first), 15))
        for truth, codes in enumerate(truths):
            for judge in range(self.judges):
                counts[judge, truth, np.arange(len(first)), codes[judge, first]] = 1
        self.replies = RaterReplies(counts, _pattern_by_category_matrix(), group[first])
        self.sign = np.sign(np.nansum(verdicts, axis=1))[:, first]
        both = [bool(np.isfinite(one).all(axis=0).any()) for one in verdicts]
        kinds = [3 if (one == 0).any() else 2 for one in verdicts]
        self.free = sum(
            k * k - 1 if two else 2 * (k - 1) for two, k in zip(both, kinds, strict=True)
        )
        self.groups = int(often.sum())

    def weights(self, item_weights: Floats) -> Floats:
        """Weight of each case (comparisons with equal replies) in each bootstrap round, as [round,
        case]: the summed weights of its comparisons' items, given as [round, item]."""
        rounds, patterns = len(item_weights), self.patterns
        place = np.arange(rounds)[:, None] * patterns + self.case
        flat = np.bincount(place.ravel(), item_weights[:, self.item].ravel(), rounds * patterns)
        return flat.reshape(rounds, patterns).astype(np.float64)

    @property
    def item_count(self) -> int:
        return int(self.item.max()) + 1


def _pattern_by_category_matrix() -> Floats:
    """Return the matrix [pattern, category]: 1 where the category fits the pattern, else 0. A
    category is a pair of replies, one with the better answer first and one with it second; a
    pattern is such a pair in which one reply may be missing."""
    return np.array(
        [
            [
                float(first in (a, MISSING) and second in (b, MISSING))
                for a in range(3)
                for b in range(3)
            ]
            for first in range(4)
            for second in range(4)
        ][:15]
    )


def _fit_with_best_number_of_kinds(cases: _Cases) -> tuple[LatentFit, float, int]:
    """Fit the model with one kind of comparisons, then with two (easy and hard); the second is kept
    if it gains enough log-likelihood per parameter (MIN_GAIN). Returns the fit, its gain per
    parameter over independent replies, and the number of kinds."""
    whole = cases.weights(np.ones((1, cases.item_count)))
    alone = RaterReplies(cases.replies.counts[:, :1], cases.replies.fits, cases.replies.group)
    null = fit_latent_truth(alone, whole, np.ones((1, 1, 1, cases.patterns)), smoothing=SMOOTHING)
    share = 0.5 + 0.45 * cases.sign.mean(axis=0)
    start = np.stack([share, 1 - share])[None, None]
    one = fit_latent_truth(cases.replies, whole, start, smoothing=SMOOTHING)
    parameters = cases.free + cases.groups
    gain = float(one.log_likelihood[0] - null.log_likelihood[0]) / parameters
    if gain < MIN_GAIN:
        return one, gain, 1
    agreed = np.abs(cases.sign.mean(axis=0))
    easy = np.where(agreed > np.average(agreed, weights=whole[0]), 0.9, 0.1)
    start = np.stack([easy, 1 - easy])[None, :, None] * one.posterior.sum(axis=1)[:, None]
    two = fit_latent_truth(cases.replies, whole, start, smoothing=SMOOTHING)
    more = float(two.log_likelihood[0] - one.log_likelihood[0]) / (cases.free + 1)
    if more < MIN_GAIN:
        return one, gain, 1
    total = float(two.log_likelihood[0] - null.log_likelihood[0])
    return two, total / (parameters + cases.free + 1), 2


def _estimate_jury(
    cases: _Cases, fit: LatentFit, gain: float, kinds: int, grid: OrderGrid, raters: Sequence[int]
) -> UnlabelledJury:
    """Build the result of a fit: each judge's rates of replies, the correlation of errors, the
    effective number of judges and the share right, with intervals from bootstrap samples of the
    items. `gain` and `kinds` (kinds of comparisons in the model) are stored as given."""
    whole = cases.weights(np.ones((1, cases.item_count)))
    drawn = draw_bootstrap_item_weights(cases.item_count, ROUNDS, np.random.default_rng(SEED))
    weights = cases.weights(drawn)
    again = fit_latent_truth(
        cases.replies, weights, fit.posterior, smoothing=SMOOTHING, steps=200, tolerance=1e-4
    )
    n, items = grid.size, cases.item_count
    rates, rate_rounds = _reply_probabilities(fit), _reply_probabilities(again)
    judges: dict[str, dict[str, Estimate]] = {}
    for judge, rater in enumerate(raters):
        judges[grid.raters[rater][0]] = {
            f"{reply}_{position}": _estimate_share(
                float(rates[0, judge, p, r]), rate_rounds[:, judge, p, r], n, items
            )
            for p, position in enumerate(POSITIONS)
            for r, reply in enumerate(REPLIES)
        }
    right, right_rounds = (
        _expected_right_share(one, w) for one, w in ((fit, whole), (again, weights))
    )
    r, r_rounds = (
        error_correlation(one.truth_posterior[:, 0], w, cases.sign)
        for one, w in ((fit, whole), (again, weights))
    )
    most, note = float(len(raters)), TWO_KINDS_NOTE if kinds == 2 else ""
    return UnlabelledJury(
        prompt=grid.raters[raters[0]][1],
        comparisons=n,
        kinds=kinds,
        gain=gain,
        judges=judges,
        error_correlation=_estimate_with_percentiles(
            float(r[0]), r_rounds, n, items, "correlation", note
        ),
        effective_judges=_estimate_with_percentiles(
            min(float(votes_from_correlation(len(raters), r)[0]), most),
            np.minimum(votes_from_correlation(len(raters), r_rounds), most),
            n,
            items,
            "judges",
            note,
        ),
        right=_estimate_share(float(right[0]), right_rounds, n, items, note),
        better=fit.truth_posterior[0, 0][cases.case],
    )


def _reply_probabilities(fit: LatentFit) -> Floats:
    """Probability of each reply, [round, judge, position of the better answer, reply], over all
    kinds of comparisons."""
    joint = np.einsum("rk,rkjc->rjc", fit.kinds, fit.rates)
    joint = joint.reshape(*joint.shape[:2], 3, 3)
    return np.stack([joint.sum(axis=3), joint.sum(axis=2)], axis=2)


def _expected_right_share(fit: LatentFit, weights: Floats) -> Floats:
    """Expected share of right decisions, by round, if each comparison goes to the answer that is
    more probably the better one; `weights` [round, case]."""
    top = fit.truth_posterior.max(axis=1)
    return np.asarray((top * weights).sum(axis=1) / weights.sum(axis=1))


def error_correlation(better: Floats, weights: Floats, sign: Floats) -> Floats:
    """Mean correlation between the errors of two judges in each round.

    `better` [round, case] is the probability that the first contestant is better, used in place of
    a label; `weights` [round, case] are the weights of the cases (groups of comparisons on which
    all judges gave the same replies). `sign` [judge, case] is the judge's decision from both
    orders: 1 for the first contestant, −1 for the second, 0 undecided, which counts as half an
    error.
    """
    judges = len(sign)
    left, right = np.triu_indices(judges, 1)
    totals = np.zeros((len(weights), 2 * judges + len(left) + 1))
    totals[:, -1] = weights.sum(axis=1)
    for probability, truth in ((better, 1.0), (1 - better, -1.0)):
        error = (1 - truth * sign) / 2
        values = np.concatenate([error, error**2, error[left] * error[right]])
        totals[:, :-1] += (probability * weights) @ values.T
    return mean_error_correlation(totals, judges)


def _estimate_share(value: float, rounds: Floats, n: int, items: int, note: str = "") -> Estimate:
    """Estimate of a share with a Wilson interval, for the sample size that would give the variance
    of the bootstrap `rounds`; where (almost) nothing varies, for the number of items."""
    variance = float(np.var(rounds))
    size = float(items) if variance < 1e-9 else min(value * (1 - value) / variance, float(n))
    low, high = wilson_bounds(value * size, max(size, 1e-9))
    return Estimate(
        value,
        min(float(low), value),
        max(float(high), value),
        n,
        items,
        "share",
        0.95,
        METHOD,
        note,
    )


def _estimate_with_percentiles(
    value: float, rounds: Floats, n: int, items: int, unit: str, note: str
) -> Estimate:
    """Estimate with the central 95 % of the bootstrap rounds as its interval; unknown if the value,
    or more than half of the rounds, is undefined."""
    known = rounds[np.isfinite(rounds)]
    if not np.isfinite(value) or len(known) < ROUNDS / 2:
        return Estimate(
            None, n=n, items=items, unit=unit, method=METHOD, note="no errors to compare"
        )
    low, high = (float(x) for x in np.quantile(known, [0.025, 0.975]))
    return Estimate(value, min(low, value), max(high, value), n, items, unit, 0.95, METHOD, note)
