"""Conditional logit on counted verdicts: the common fit of position terms, tie models and N
options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import stdtrit

from metrics.estimation import intervals
from metrics.ratings.battles import Floats, Ints, group_identical_items
from studies.domain import Estimate

PSEUDO_COUNT: Final = 0.1
ONE_ITEM_NOTE: Final = "one item: no interval"
INFINITE_NOTE: Final = (
    f"all verdicts go one way: no finite fit; shown with {PSEUDO_COUNT:g} added to each side"
)
SANDWICH_METHOD: Final = "sandwich variance by item, t interval"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LogitProblem:
    """Verdicts counted by setting (what was shown to which judge) and outcome: the input of a fit.

    `design[setting, alternative]` has the regressors of an alternative's utility, `available` marks
    the alternatives that a setting has. `shares[outcome]` is the weight of an outcome for each
    alternative (a tie may count half for each). `pseudo` is added to the count of each alternative
    if the fit would be infinite. `tally` counts outcomes as [kind of item, setting · (number of
    outcomes) + outcome], `multiplicity` the items of each kind. Items with the same single verdict
    form one kind, any other item is a kind of its own.
    """

    design: Floats
    available: Mask
    tally: sparse.csr_array
    multiplicity: Ints
    shares: Floats
    pseudo: Floats

    @property
    def items(self) -> int:
        return int(self.multiplicity.sum())

    @property
    def counts(self) -> Floats:
        """Number of verdicts for each setting (what was shown to which judge) and alternative."""
        outcomes = np.asarray(self.multiplicity @ self.tally)
        return np.asarray(outcomes.reshape(len(self.design), -1) @ self.shares)


@dataclass(frozen=True, eq=False)
class LogitFit:
    """Estimated parameters `beta` with two covariances: model-based (`model`) and clustered by item
    (`sandwich`).

    `finite_basis` spans the combinations of parameters whose estimate is finite; None if all are,
    as is usual. The values of the others come from added pseudo-counts.
    """

    beta: Floats
    log_likelihood: float
    model: Floats
    sandwich: Floats | None
    finite_basis: Floats | None
    items: int
    verdicts: float = math.inf

    @property
    def t_quantile(self) -> float:
        """Student's t quantile for the number of items and verdicts of the fit."""
        return verdict_t_quantile(self.items, self.verdicts)

    @property
    def regularised(self) -> bool:
        return self.finite_basis is not None

    def estimate(self, weights: Floats, n: int, *, unit: str, method: str) -> Estimate:
        """Estimate the linear combination `weights` of the parameters, with a t interval clustered
        by item; no interval if it has no finite estimate, below two items, or if all items agree
        exactly. `n` is the number of verdicts behind it."""
        value = float(weights @ self.beta)
        infinite = not self.is_finite(weights)
        error = self.clustered_standard_error(weights)
        flat = error is not None and error < intervals.NO_SPREAD_LOGITS
        note = intervals.join_notes(
            INFINITE_NOTE if infinite else "",
            ONE_ITEM_NOTE if error is None else "",
            intervals.ITEMS_AGREE_NOTE if flat and not infinite else "",
        )
        low = high = None
        if error is not None and not flat and not infinite:
            half = error * self.t_quantile
            low, high = value - half, value + half
        return Estimate(
            value, low, high, n, self.items, unit, 0.95, f"{method}, {SANDWICH_METHOD}", note
        )

    def is_finite(self, weights: Floats) -> bool:
        """Whether the data give this combination of parameters a finite value without
        regularisation."""
        if self.finite_basis is None:
            return True
        rest = weights - self.finite_basis @ (self.finite_basis.T @ weights)
        return float(np.abs(rest).max()) < 1e-6

    def clustered_standard_error(self, weights: Floats) -> float | None:
        """Standard error of a linear combination, clustered by item; None below two items."""
        if self.sandwich is None:
            return None
        return math.sqrt(max(float(weights @ self.sandwich @ weights), 0.0))


@cache
def verdict_t_quantile(items: int, verdicts: float = math.inf) -> float:
    """97.5 % quantile of Student's t for intervals clustered by item.

    There are (items − 1)·m/(m − 1) degrees of freedom for m verdicts per item. With m = 1 it is
    thus the normal quantile: the variance of a single 0/1 verdict follows from its probability.
    """
    if items < 2:
        return float(intervals.student_t_quantile(items))
    per_item = max(verdicts / items, 1.0)
    share = 1 - 1 / per_item  # part of the variance that is estimated
    return float(stdtrit(min((items - 1) / max(share, 1e-6), 1e6), 0.975))


def largest_first_sort_key(entry: tuple[str, Estimate]) -> tuple[float, str]:
    """Sort key of table entries: largest value first, equal values by name; an unknown value counts
    as 0."""
    name, estimate = entry
    return -round(estimate.value or 0.0, 12), name


def tally_by_item_kind(
    item: Ints, items: int, setting: Ints, outcome: Ints, shape: tuple[int, int]
) -> tuple[sparse.csr_array, Ints]:
    """Return `tally` and `multiplicity` of a `LogitProblem`, from item, setting and outcome of each
    verdict. `shape` is (number of settings, number of outcomes)."""
    cell = setting * shape[1] + outcome
    rows, kind, multiplicity = group_identical_items(item, items, cell)
    table = sparse.csr_array(
        (np.ones(len(rows)), (kind, cell[rows])), shape=(len(multiplicity), shape[0] * shape[1])
    )
    return table, multiplicity


def zero_sum_basis(size: int) -> Floats:
    """Orthonormal columns that span all vectors of this length whose sum is zero."""
    basis = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))[0]
    return np.asarray(basis[:, 1:])


def unidentified_parameters(problem: LogitProblem) -> Mask:
    """Mask of the parameters that have no unique estimate, whatever the outcomes."""
    # The regressors of each alternative minus those of the first alternative in the same setting.
    # Only these differences determine the probabilities.
    base = problem.available.argmax(axis=1)
    origin = problem.design[np.arange(len(base)), base]
    moved = problem.design - origin[:, None, :]
    rows = np.asarray(moved[problem.available])
    width = problem.design.shape[2]
    if not width:
        return np.zeros(0, bool)
    gram = rows.T @ rows
    values, vectors = np.linalg.eigh(gram)
    open_directions = vectors[:, values < 1e-9 * max(1.0, float(values.max()))]
    return np.asarray((np.abs(open_directions) > 1e-6).any(axis=1))


def finite_parameter_combinations(problem: LogitProblem) -> Floats | None:
    """Return a basis of the parameter combinations whose estimate is finite; None if all are.

    An estimate is infinite if parameters can move without end such that no chosen alternative ever
    becomes less probable relative to another (Albert and Anderson 1984). The finite combinations
    are those that such a move does not change.
    """
    width = problem.design.shape[2]
    rows, tied = _chosen_minus_other_regressors(problem)
    if not len(rows) or np.linalg.matrix_rank(rows[tied]) == width:
        return None
    moved = np.abs(rows @ _unbounded_direction(rows, tied)) > 1e-7
    if not moved.any():
        return None
    return _row_space(rows[~moved])


def _row_space(rows: Floats) -> Floats:
    """Orthonormal columns that span the same space as the rows."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return np.asarray(vectors[:, values > 1e-9 * max(1.0, float(values.max()))])


def _unbounded_direction(rows: Floats, tied: Mask) -> Floats:
    """Find a direction b with row·b = 0 for the rows in `tied`, row·b ≥ 0 for all other rows, and
    row·b > 0 for as many of them as possible; the zero vector if that is none.

    A row has the regressors of a chosen alternative minus those of another one, which was chosen
    too if the row is in `tied`. Moving the parameters along b thus never makes a chosen alternative
    less probable.
    """
    width, free = rows.shape[1], int((~tied).sum())
    found = linprog(
        np.concatenate([np.zeros(width), -np.ones(free)]),
        A_ub=np.hstack([-rows[~tied], np.eye(free)]),
        b_ub=np.zeros(free),
        A_eq=np.hstack([rows[tied], np.zeros((int(tied.sum()), free))]),
        b_eq=np.zeros(int(tied.sum())),
        bounds=[(None, None)] * width + [(0, 1)] * free,
    )
    return np.zeros(width) if found.x is None else np.asarray(found.x[:width])


def _chosen_minus_other_regressors(problem: LogitProblem) -> tuple[Floats, Mask]:
    """Return the regressors of a chosen alternative minus those of another one in the same setting,
    for all such pairs; and a mask of the pairs whose other alternative was chosen too."""
    counts = problem.counts
    alternatives = counts.shape[1]
    rows, tied = [], []
    for a in range(alternatives):
        for b in range(alternatives):
            here = problem.available[:, a] & problem.available[:, b] & (counts[:, a] > 0)
            mutual = counts[here, b] > 0
            if a == b:
                continue
            rows.append(problem.design[here, a] - problem.design[here, b])
            tied.append(mutual)
    return np.concatenate(rows), np.concatenate(tied)


def fit_conditional_logit(problem: LogitProblem) -> LogitFit:
    """Fit the parameters of a conditional logit model by maximum likelihood (Newton); pseudo-counts
    are added only if an estimate would be infinite."""
    counts = problem.counts
    finite = finite_parameter_combinations(problem) if problem.design.shape[2] else None
    if finite is not None:
        counts = counts + problem.pseudo * problem.available
    beta = np.zeros(problem.design.shape[2])
    if not len(beta):
        none = np.zeros(0)
        square = np.zeros((0, 0))
        return LogitFit(
            none, _log_likelihood(problem, none, counts), square, square, None, problem.items
        )
    best = _log_likelihood(problem, beta, counts)
    for _ in range(200):
        gradient, hessian = _gradient_and_information(problem, beta, counts)
        step = np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0])
        beta, best = _line_search(problem, beta, step, best, counts)
        if np.abs(step).max() < 1e-11:
            break
    hessian = _gradient_and_information(problem, beta, counts)[1]
    model = np.asarray(np.linalg.pinv(hessian, hermitian=True))
    robust = _clustered_covariance(problem, beta, model) if problem.items > 1 else None
    return LogitFit(beta, best, model, robust, finite, problem.items, float(problem.counts.sum()))


def _probabilities(problem: LogitProblem, beta: Floats) -> Floats:
    """Probability of each alternative in each setting, [setting, alternative]."""
    utility = np.where(problem.available, problem.design @ beta, -np.inf)
    utility = utility - utility.max(axis=1, keepdims=True)
    raised = np.exp(utility)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _log_likelihood(problem: LogitProblem, beta: Floats, counts: Floats) -> float:
    utility = np.where(problem.available, problem.design @ beta, -np.inf)
    top = utility.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(utility - top).sum(axis=1))
    taken = np.where(problem.available, utility, 0.0)
    return float((counts * taken).sum() - (counts.sum(axis=1) * total).sum())


def _gradient_and_information(
    problem: LogitProblem, beta: Floats, counts: Floats
) -> tuple[Floats, Floats]:
    """Return the gradient and the information matrix of the log-likelihood at `beta`; `counts` is
    [setting, alternative]."""
    p = _probabilities(problem, beta)
    n = counts.sum(axis=1)
    width = problem.design.shape[2]
    flat = problem.design.reshape(-1, width)
    mean = np.einsum("ra,rak->rk", p, problem.design)
    gradient = (counts - n[:, None] * p).ravel() @ flat
    second = flat.T @ (flat * (n[:, None] * p).reshape(-1, 1))
    return gradient, second - mean.T @ (mean * n[:, None])


def _line_search(
    problem: LogitProblem, beta: Floats, step: Floats, best: float, counts: Floats
) -> tuple[Floats, float]:
    """Take a Newton step, halved until the log-likelihood is not below `best`; return the new
    parameters and their log-likelihood."""
    for halvings in range(40):
        trial = beta + step * 0.5**halvings
        value = _log_likelihood(problem, trial, counts)
        if value >= best - 1e-12 * abs(best):
            return trial, value
    return beta, best


def _clustered_covariance(problem: LogitProblem, beta: Floats, bread: Floats) -> Floats:
    """Covariance clustered by item: A⁻¹ M A⁻¹ with M = G/(G−1)·Σ_items s sᵀ. A is the information
    matrix, s the gradient of an item's log-likelihood, G the number of items."""
    p = _probabilities(problem, beta)
    mean = np.einsum("ra,rak->rk", p, problem.design)
    own = np.einsum("oa,rak->rok", problem.shares, problem.design)
    weight = problem.shares.sum(axis=1)
    scores = problem.tally @ (own - weight[None, :, None] * mean[:, None, :]).reshape(-1, len(beta))
    items = problem.items
    meat = scores.T @ (scores * problem.multiplicity[:, None])
    return np.asarray(bread @ meat @ bread * (items / (items - 1)))
