"""Other people's standard errors of gaps, to compare with ours: by the model, and by the battle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from metrics import bt_fit
from metrics.battles import Battles, Floats
from metrics.bradley_terry import Leaderboard


@dataclass(frozen=True, eq=False)
class ModelErrors:
    """What the model alone says of its precision, as if battles were independent: not shown."""

    laplacian: Floats
    gap: Floats


def model_errors(board: Leaderboard) -> ModelErrors:
    """Standard errors of all gaps, in logits, from the inverse Hessian."""
    matrix = bt_fit.laplacian(board.counts, board.theta, board.pseudo)
    return ModelErrors(matrix, bt_fit.gap_errors(bt_fit.inverse(matrix)))


def battle_errors(board: Leaderboard, data: Battles) -> Floats:
    """Chatbot Arena's sandwich, battle by battle: only to compare with others, ours is by item."""
    place = {name: code for code, name in enumerate(board.names)}
    code = np.array([place.get(name, -1) for name in data.names])
    first, second = code[data.first], code[data.second]
    here = first >= 0
    first, second, outcome = first[here], second[here], data.outcome[here]
    residual = outcome - expit(board.theta[first] - board.theta[second])
    size = len(board.names)
    squares = np.bincount(first * size + second, residual**2, size * size).reshape(size, size)
    squares = squares + squares.T
    bread = bt_fit.inverse(bt_fit.laplacian(board.counts, board.theta, board.pseudo))
    return bt_fit.gap_errors(bread @ (np.diag(squares.sum(axis=1)) - squares) @ bread)
