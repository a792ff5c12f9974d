"""Bradley–Terry fit to pair counts: connectivity, Newton's method, and covariance by item.

A pair consists of the contestants *low* and *high*, which have the lower and the higher code. Items
that consist of the same single battle form one *kind*, any other item is a kind of its own.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from metrics.ratings.battles import Floats, Ints, PairCounts

PSEUDO_COUNT: Final = 0.1
"""Wins added for both contestants of each observed pair, if the data alone have no finite fit."""

_TOLERANCE: Final = 1e-11
_MIN_ITEMS_UNCORRECTED: Final = 200
"""Number of items from which the correction for leverage (CR3) is left out, because it changes a
standard error by less than half a percent."""


def connected_component_codes(counts: PairCounts, *, strong: bool) -> Ints:
    """Return a code of the connected component that each contestant belongs to.

    Contestants are weakly connected by any battles, strongly by chains of wins in both directions
    (a tie is a win for both). The maximum-likelihood fit is finite exactly if all are strongly
    connected (Ford 1957).
    """
    return graph_components(win_graph(counts), strong=strong)


def win_graph(counts: PairCounts) -> npt.NDArray[np.bool_]:
    """Mask [i, j]: whether i has a win over j; a tie is a win for both."""
    models = len(counts.names)
    won, lost = counts.wins_low > 0, counts.wins_high > 0
    graph = np.zeros((models, models), bool)
    graph[counts.low[won], counts.high[won]] = True
    graph[counts.high[lost], counts.low[lost]] = True
    return graph


def graph_components(graph: npt.NDArray[np.bool_], *, strong: bool = False) -> Ints:
    """Return the index of the connected component of each node of a directed graph; with
    `strong`, of the strongly connected one."""
    kind = "strong" if strong else "weak"
    return np.asarray(connected_components(graph, connection=kind)[1], np.int64)


def win_probabilities(counts: PairCounts, theta: Floats) -> Floats:
    """Probability that the low contestant of each pair (the one with the lower code) beats the high
    one. `theta` has the strengths by contestant; further axes, such as bootstrap rounds, are
    kept."""
    return 0.5 + 0.5 * np.tanh(0.5 * (theta[counts.low] - theta[counts.high]))


def hessian_laplacian(counts: PairCounts, theta: Floats, pseudo: float = 0.0) -> Floats:
    """Hessian of the negative log-likelihood: a graph Laplacian with weight N·p·(1 − p) for each
    pair. N is the number of wins in the pair, with `pseudo` added to both sides; p is the win
    probability."""
    p = win_probabilities(counts, theta)
    return _weighted_laplacian(counts, (counts.total_wins + 2 * pseudo) * p * (1 - p))


def _weighted_laplacian(counts: PairCounts, weight: Floats) -> Floats:
    """Build the graph Laplacian [contestant, contestant] from the weight of each pair."""
    models = len(counts.names)
    matrix = np.zeros((models, models))
    matrix[counts.low, counts.high] = -weight
    matrix[counts.high, counts.low] = -weight
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


def laplacian_inverse(matrix: Floats) -> Floats:
    """Pseudo-inverse of the Laplacian of a connected graph, whose null space is the constant
    vector."""
    models = len(matrix)
    constant = np.full((models, models), 1.0 / models)
    return np.asarray(np.linalg.inv(matrix + constant) - constant)


def gap_standard_errors(covariance: Floats) -> Floats:
    """Standard errors of all pairwise differences, from the covariance of the strengths."""
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0))


def fit_strengths(counts: PairCounts, *, pseudo: float = 0.0, l2: float = 0.0) -> Floats:
    """Fit strengths θ that sum to zero, by Newton's method.

    Without `pseudo` and `l2` the contestants must be strongly connected by wins. With `pseudo` wins
    added for each side of each observed pair, or the penalty l2/2·Σθ², it is enough that battles
    connect them.
    """
    theta = np.zeros(len(counts.names))
    if not len(counts.low):
        return theta
    # Incidence matrix [contestant, pair]: +1 for a pair's low contestant, −1 for the high one.
    pairs = len(counts.low)
    value = np.concatenate([np.ones(pairs), -np.ones(pairs)])
    where = (np.concatenate([counts.low, counts.high]), np.tile(np.arange(pairs), 2))
    spread = sparse.csr_array((value, where), shape=(len(counts.names), pairs))
    low, high = counts.wins_low + pseudo, counts.wins_high + pseudo
    best = _log_likelihood(counts, theta, low, high, l2)
    for _ in range(200):
        p = win_probabilities(counts, theta)
        gradient = spread @ (low - (low + high) * p) - l2 * theta
        hessian = _weighted_laplacian(counts, (low + high) * p * (1 - p)) + l2 * np.eye(len(theta))
        step = np.linalg.solve(hessian + 1.0 / len(theta), gradient)
        theta, best = _line_search(counts, theta, step - step.mean(), best, (low, high, l2))
        if np.abs(step).max() < _TOLERANCE:
            break
    return theta


def _line_search(
    counts: PairCounts,
    theta: Floats,
    step: Floats,
    best: float,
    wins_and_penalty: tuple[Floats, Floats, float],
) -> tuple[Floats, float]:
    """Take a Newton step, halved until the log-likelihood is not below `best`; return the new
    strengths and their log-likelihood. `wins_and_penalty` has the wins of the low and of the high
    contestant of each pair, and the weight `l2` of the penalty l2/2·Σθ²."""
    for halvings in range(40):
        trial = theta + step * 0.5**halvings
        value = _log_likelihood(counts, trial, *wins_and_penalty)
        if value >= best - 1e-12 * abs(best):
            return trial, value
    return theta, best


def _log_likelihood(
    counts: PairCounts, theta: Floats, low: Floats, high: Floats, l2: float
) -> float:
    gap = theta[counts.low] - theta[counts.high]
    lost = low * np.logaddexp(0, -gap) + high * np.logaddexp(0, gap)
    return -float(lost.sum()) - 0.5 * l2 * float(theta @ theta)


def log_likelihood_gradient_by_kind(counts: PairCounts, theta: Floats) -> Floats:
    """Gradient of the log-likelihood of one item of each kind, as [kind, contestant]. Items that
    consist of the same single battle are one kind."""
    models, kinds = len(counts.names), len(counts.multiplicity)
    residual = (
        counts.won - (counts.won + counts.lost) * win_probabilities(counts, theta)[counts.pair]
    )
    row = counts.kind * models
    scores = np.bincount(row + counts.low[counts.pair], residual, kinds * models)
    scores -= np.bincount(row + counts.high[counts.pair], residual, kinds * models)
    return np.asarray(scores.reshape(kinds, models))


def sandwich_by_item(counts: PairCounts, theta: Floats, *, pseudo: float = 0.0) -> Floats:
    """Covariance of the strengths, clustered by item: L⁺ M L⁺ with M = G/(G−1)·Σ_items s sᵀ.

    L⁺ is the pseudo-inverse of the Hessian, s the gradient of an item's log-likelihood, G the
    number of items.
    """
    items = counts.items
    bread = laplacian_inverse(hessian_laplacian(counts, theta, pseudo))
    scores = log_likelihood_gradient_by_kind(counts, theta)
    meat = scores.T @ (scores * counts.multiplicity[:, None])
    return np.asarray(bread @ meat @ bread * (items / (items - 1)))


def strength_covariance(counts: PairCounts, theta: Floats, *, pseudo: float = 0.0) -> Floats:
    """Covariance of the strengths, clustered by item, with the CR3 correction below
    _MIN_ITEMS_UNCORRECTED items.

    It is `sandwich_by_item` with the gradient s of an item replaced by (I − L_g L⁺)⁻¹ s, with L_g
    the item's part of the Hessian L, and the factor (G−1)/G; nearly the jackknife over G items.
    With 8 items of one pair each, the 95 % intervals contain the true value in 94.5 % of samples,
    those of `sandwich_by_item` in 91.7 %.
    """
    items = counts.items
    if items >= _MIN_ITEMS_UNCORRECTED:
        return sandwich_by_item(counts, theta, pseudo=pseudo)
    values, vectors = np.linalg.eigh(hessian_laplacian(counts, theta, pseudo))
    positive = values > 1e-9 * max(values.max(), 1e-300)
    root = vectors[:, positive] / np.sqrt(values[positive])
    p = win_probabilities(counts, theta)[counts.pair]
    weight = (counts.won + counts.lost) * p * (1 - p)
    side = root[counts.low[counts.pair]] - root[counts.high[counts.pair]]
    scores = log_likelihood_gradient_by_kind(counts, theta) @ root
    for kind in range(len(scores)):
        own = counts.kind == kind
        leverage, axes = np.linalg.eigh(side[own].T @ (side[own] * weight[own, None]))
        # For an item with nearly all battles the divisor is near zero: bound it.
        scores[kind] = axes @ ((axes.T @ scores[kind]) / np.maximum(1 - leverage, 0.1))
    meat = scores.T @ (scores * counts.multiplicity[:, None])
    return np.asarray(root @ meat @ root.T * ((items - 1) / items))
