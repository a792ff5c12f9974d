"""Standard errors of rating gaps as other tools compute them (model-based, by battle), for
comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from metrics.ratings import bradley_terry_fit
from metrics.ratings.battles import Battles, Floats
from metrics.ratings.bradley_terry import Leaderboard


@dataclass(frozen=True, eq=False)
class ModelBasedErrors:
    """Model-based standard errors, which treat battles as independent; not shown on the page."""

    laplacian: Floats
    gap: Floats


def model_based_errors(board: Leaderboard) -> ModelBasedErrors:
    """Compute the standard errors of all gaps, in logits, from the inverse Hessian."""
    matrix = bradley_terry_fit.hessian_laplacian(board.counts, board.theta, board.pseudo)
    return ModelBasedErrors(
        matrix, bradley_terry_fit.gap_errors(bradley_terry_fit.laplacian_inverse(matrix))
    )


def battle_sandwich_errors(board: Leaderboard, data: Battles) -> Floats:
    """Compute Chatbot Arena's sandwich standard errors, clustered by battle instead of by item."""
    place = {name: code for code, name in enumerate(board.names)}
    code = np.array([place.get(name, -1) for name in data.names])
    first, second = code[data.first], code[data.second]
    here = first >= 0
    first, second, outcome = first[here], second[here], data.outcome[here]
    residual = outcome - expit(board.theta[first] - board.theta[second])
    size = len(board.names)
    squares = np.bincount(first * size + second, residual**2, size * size).reshape(size, size)
    squares = squares + squares.T
    bread = bradley_terry_fit.laplacian_inverse(
        bradley_terry_fit.hessian_laplacian(board.counts, board.theta, board.pseudo)
    )
    return bradley_terry_fit.gap_errors(bread @ (np.diag(squares.sum(axis=1)) - squares) @ bread)
