"""Tie models of Davidson and of Rao and Kupper.

They rank contestants nearly like Bradley–Terry with ties as half wins, on another scale.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics.estimation.intervals import join_notes
from metrics.ratings import bradley_terry_fit, conditional_logit, position_term
from metrics.ratings.battles import Battles, Floats, Ints, count_wins_by_pair, extract_battles
from metrics.ratings.conditional_logit import (
    PSEUDO_COUNT,
    LogitFit,
    LogitProblem,
    largest_first_sort_key,
)
from studies.domain import Estimate

TieModelName = Literal["davidson", "rao-kupper"]

SCALE_NOTE: Final = (
    "in logits of this tie model: not comparable with Bradley–Terry ratings that count a tie as "
    "half a win"
)
NO_TIES_NOTE: Final = "no ties: the tie parameter is dropped"
ALL_TIES_NOTE: Final = "only ties: all models are equal and the tie parameter is unbounded"
SEVERAL_GROUPS_NOTE: Final = (
    "the models form groups that were never compared with each other: fit each group separately"
)
NO_BATTLES_NOTE: Final = "no readable verdict"


@dataclass(frozen=True, slots=True)
class TieModel:
    """Fit of a tie model: strengths (logits, sum zero) and the tie parameter. The parameter is
    Davidson's ν (0: no ties) or Rao–Kupper's κ (1: no ties); unknown if all verdicts are ties. If
    there are no battles, or they do not connect all contestants that have any, `strength` is
    empty."""

    model: TieModelName
    strength: dict[str, Estimate]
    parameter: Estimate
    log_likelihood: float | None
    regularised: bool = False
    note: str = ""


def fit_davidson(frame: pd.DataFrame) -> TieModel:
    """Fit Davidson's model P(tie) = ν√(α_i α_j)/Z, Z = α_i + α_j + ν√(α_i α_j), α = exp(θ), with θ
    the strength of a contestant and ν the tie parameter. Every readable verdict counts."""
    data = _connected_battles_or_reason(frame)
    if isinstance(data, str):
        return _empty_model("davidson", data)
    tied, decided = _has_ties_and_wins(data)
    if not decided:
        return _all_tied_model("davidson", data)
    problem = _davidson_problem(data, tied)
    return _build_tie_model(
        "davidson", data, conditional_logit.fit_conditional_logit(problem), tied
    )


def fit_rao_kupper(frame: pd.DataFrame) -> TieModel:
    """Fit the Rao–Kupper model P(i wins) = α_i/(α_i + κα_j), α = exp(θ), with θ the strength of a
    contestant and κ the tie parameter; P(tie) is the remainder. Every readable verdict counts."""
    data = _connected_battles_or_reason(frame)
    if isinstance(data, str):
        return _empty_model("rao-kupper", data)
    tied, decided = _has_ties_and_wins(data)
    if not decided:
        return _all_tied_model("rao-kupper", data)
    if not tied:
        return _build_tie_model(
            "rao-kupper",
            data,
            conditional_logit.fit_conditional_logit(_davidson_problem(data, tied)),
            tied,
        )
    return _build_tie_model("rao-kupper", data, _fit_rao_kupper_to_battles(data), tied)


def _connected_battles_or_reason(frame: pd.DataFrame) -> Battles | str:
    """Return the battles if they connect all contestants that have any, else the reason why no
    model can be fitted."""
    data = extract_battles(frame)
    if not len(data):
        return NO_BATTLES_NOTE
    label = bradley_terry_fit.connected_component_codes(count_wins_by_pair(data), strong=False)
    played = label[data.match_counts > 0]
    return data if len(set(played.tolist())) == 1 else SEVERAL_GROUPS_NOTE


def _has_ties_and_wins(data: Battles) -> tuple[bool, bool]:
    tie = data.outcome == 0.5
    return bool(tie.any()), bool((~tie).any())


def _empty_model(model: TieModelName, note: str) -> TieModel:
    return TieModel(model, {}, Estimate(None, note=note), None, note=note)


def _all_tied_model(model: TieModelName, data: Battles) -> TieModel:
    zero = {
        name: Estimate(0.0, n=int(n), items=data.items, unit="logit", note=ALL_TIES_NOTE)
        for name, n in zip(data.names, data.match_counts, strict=True)
        if n
    }
    return TieModel(model, zero, Estimate(None, note=ALL_TIES_NOTE), 0.0, note=ALL_TIES_NOTE)


def _build_tie_model(model: TieModelName, data: Battles, fitted: LogitFit, tied: bool) -> TieModel:
    """Build the result from a fit whose parameters are those of the strengths θ, which sum to zero,
    then, if `tied` (there are ties), ln ν or ln κ."""
    method = "Davidson" if model == "davidson" else "Rao–Kupper"
    played = np.flatnonzero(data.match_counts)
    basis = np.zeros((len(played), len(fitted.beta)))
    basis[:, : len(played) - 1] = conditional_logit.zero_sum_basis(len(played))
    strength = {
        data.names[code]: fitted.estimate(
            basis[row], int(data.match_counts[code]), unit="logit", method=method
        )
        for row, code in enumerate(played)
    }
    if tied:
        last = np.eye(len(fitted.beta))[-1]
        unit = "ν" if model == "davidson" else "κ"
        parameter = position_term.exponentiate_estimate(
            fitted.estimate(last, len(data), unit=unit, method=method)
        )
    else:
        parameter = Estimate(0.0 if model == "davidson" else 1.0, note=NO_TIES_NOTE)
    return TieModel(
        model,
        dict(sorted(strength.items(), key=largest_first_sort_key)),
        parameter,
        fitted.log_likelihood,
        fitted.regularised,
        join_notes(SCALE_NOTE, "" if tied else NO_TIES_NOTE),
    )


def _pair_outcomes(data: Battles) -> tuple[Floats, Floats, Ints, Ints]:
    """Return four arrays: by pair, the design rows of θ of its low and of its high contestant (by
    code); by battle, its pair and its outcome (0: the low one won, 1: tie, 2: the high one won)."""
    played = np.flatnonzero(data.match_counts)
    place = np.zeros(len(data.names), np.int64)
    place[played] = np.arange(len(played))
    low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
    present, pair = np.unique(low * len(data.names) + high, return_inverse=True)
    basis = conditional_logit.zero_sum_basis(len(played))
    left, right = place[present // len(data.names)], place[present % len(data.names)]
    won = np.where(data.first == low, data.outcome, 1.0 - data.outcome)
    return basis[left], basis[right], pair, np.rint(2 - 2 * won).astype(np.int64)


def _davidson_problem(data: Battles, tied: bool) -> LogitProblem:
    """Build the input of a fit of Davidson's model, with the parameters θ (contrasts) and, if
    `tied` (there are ties), ln ν; else a tie is no possible outcome."""
    left, right, pair, outcome = _pair_outcomes(data)
    extra = np.zeros((len(left), int(tied)))
    design = np.stack(
        [
            np.hstack([left, extra]),
            np.hstack([(left + right) / 2, extra + 1.0]),
            np.hstack([right, extra]),
        ],
        axis=1,
    )
    counts, multiplicity = conditional_logit.tally_by_item_kind(
        data.item, data.items, pair, outcome, (len(left), 3)
    )
    available = np.ones((len(left), 3), bool)
    available[:, 1] = tied
    pseudo = np.array([PSEUDO_COUNT, 0.0, PSEUDO_COUNT])
    return LogitProblem(design, available, counts, multiplicity, np.eye(3), pseudo)


def _fit_rao_kupper_to_battles(data: Battles) -> LogitFit:
    """Fit by Newton's method in θ and η = ln κ; the log-likelihood is concave.

    For each pair: (w_i + t) ln σ(d − η) + (w_j + t) ln σ(−d − η) + t ln(e^{2η} − 1), with d = θ_i −
    θ_j, w_i and w_j wins and t ties.
    """
    left, right, pair, outcome = _pair_outcomes(data)
    table, multiplicity = conditional_logit.tally_by_item_kind(
        data.item, data.items, pair, outcome, (len(left), 3)
    )
    counts = np.asarray(multiplicity @ table).reshape(-1, 3)
    finite = _finite_rao_kupper_basis(data)
    if finite is not None:
        counts = counts + np.array([PSEUDO_COUNT, 0.0, PSEUDO_COUNT])
    sides = _RaoKupperLikelihood(left - right)
    beta = np.append(np.zeros(left.shape[1]), 0.5)
    for _ in range(200):
        gradient, hessian = sides.gradient_and_information(beta, counts)
        step = np.asarray(np.linalg.solve(hessian, gradient))
        beta = sides.line_search(beta, step, counts)
        if np.abs(step).max() < 1e-11:
            break
    bread = np.asarray(np.linalg.inv(sides.gradient_and_information(beta, counts)[1]))
    scores = table @ sides.gradient_by_outcome(beta).reshape(-1, len(beta))
    items = int(multiplicity.sum())
    meat = scores.T @ (scores * multiplicity[:, None])
    robust = bread @ meat @ bread * (items / (items - 1)) if items > 1 else None
    found = sides.log_likelihood(beta, counts)
    return LogitFit(beta, found, bread, robust, finite, items, float(len(data)))


def _finite_rao_kupper_basis(data: Battles) -> Floats | None:
    """Return a basis of the parameter combinations whose estimate is finite; None if all are.

    The estimates of Davidson's model are infinite in the same directions, with η = ln κ in place of
    2·ln ν. So the basis of Davidson's model is used, with half the weight of its last parameter.
    """
    span = conditional_logit.finite_parameter_combinations(_davidson_problem(data, True))
    if span is None or not span.shape[1]:
        return span
    halved = span.copy()
    halved[-1] *= 0.5
    return np.asarray(np.linalg.qr(halved)[0])


class _RaoKupperLikelihood:
    """Likelihood of the parameters β = (contrasts of θ, η = ln κ), given counts [pair, (i wins,
    tie, j wins)]."""

    def __init__(self, gap: Floats) -> None:
        # P(i wins) = σ(a), P(j wins) = σ(b), P(tie) = σ(a)σ(b)(e^{2η} − 1); a = d − η, b = −d − η.
        one = np.ones((len(gap), 1))
        self.a, self.b = np.hstack([gap, -one]), np.hstack([-gap, -one])

    def log_likelihood(self, beta: Floats, counts: Floats) -> float:
        """Log-likelihood of β; `counts` as in the class."""
        ties = counts[:, 1]
        a, b = self.a @ beta, self.b @ beta
        value = -(counts[:, 0] + ties) @ np.logaddexp(0, -a) - (counts[:, 2] + ties) @ np.logaddexp(
            0, -b
        )
        # ln(e^{2η} − 1) without overflow for large η
        return float(value + ties.sum() * (2 * beta[-1] + np.log(-np.expm1(-2 * beta[-1]))))

    def gradient_by_outcome(self, beta: Floats) -> Floats:
        """Gradient of the log-likelihood of one verdict: [pair, outcome, parameter]."""
        win = expit(-(self.a @ beta))[:, None] * self.a
        loss = expit(-(self.b @ beta))[:, None] * self.b
        tie = win + loss
        tie[:, -1] += 2.0 / -np.expm1(-2 * beta[-1])
        return np.stack([win, tie, loss], axis=1)

    def gradient_and_information(self, beta: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the information matrix of the log-likelihood."""
        gradient = np.einsum("po,pok->k", counts, self.gradient_by_outcome(beta))
        a, b = self.a @ beta, self.b @ beta
        ties = counts[:, 1]
        first = (counts[:, 0] + ties) * expit(a) * expit(-a)
        second = (counts[:, 2] + ties) * expit(b) * expit(-b)
        hessian = self.a.T @ (self.a * first[:, None]) + self.b.T @ (self.b * second[:, None])
        shrunk = np.exp(-2 * beta[-1])
        hessian[-1, -1] += ties.sum() * 4 * shrunk / (1 - shrunk) ** 2
        return gradient, hessian

    def line_search(self, beta: Floats, step: Floats, counts: Floats) -> Floats:
        """Return `beta` plus the step, halved until η is positive and the likelihood is not lower
        than before; `beta` itself if 60 halvings do not suffice."""
        here = self.log_likelihood(beta, counts)
        for halvings in range(60):
            trial = beta + step * 0.5**halvings
            if trial[-1] > 0 and self.log_likelihood(trial, counts) >= here - 1e-12 * abs(here):
                return np.asarray(trial)
        return beta
