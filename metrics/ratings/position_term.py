"""Bradley–Terry with a position term per judge: the advantage of being shown first, in logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics.estimation import row_selection
from metrics.estimation.intervals import join_notes, unknown_estimate
from metrics.estimation.measures import ORDER_UNKNOWN_NOTE
from metrics.ratings import bradley_terry_fit, conditional_logit
from metrics.ratings.battles import Battles, Floats, Ints, extract_battles
from metrics.ratings.conditional_logit import (
    PSEUDO_COUNT,
    LogitFit,
    LogitProblem,
    largest_first_sort_key,
)
from studies.domain import Estimate

TieTreatment = Literal["half", "davidson"]

RUN_BOTH_ORDERS_NOTE: Final = (
    "position and content cannot be separated with these orders: run both orders"
)
TRANSITIVITY_NOTE: Final = (
    "no pair has usable verdicts in both orders: the position term is identified only through "
    "transitivity"
)
NO_VERDICTS_NOTE: Final = "no readable verdict on a pair of answers"


@dataclass(frozen=True, slots=True)
class PositionModel:
    """Strengths common to all judges, and a position term for each judge.

    `gamma` is the advantage of the answer shown first, in logits; `first_if_equal` is σ(γ), the
    share of first picks between equal answers. `strength` has θ (logits, sum zero within a group of
    contestants connected by battles). `nu` is Davidson's tie parameter per judge; empty if a tie
    counts as half a win each. If no judge's γ can be estimated, `strength` and `nu` are empty, and
    `log_likelihood` is None.
    """

    gamma: dict[str, Estimate]
    first_if_equal: dict[str, Estimate]
    strength: dict[str, Estimate]
    nu: dict[str, Estimate]
    log_likelihood: float | None
    regularised: bool
    note: str = ""


def fit_position_model(frame: pd.DataFrame, *, ties: TieTreatment = "half") -> PositionModel:
    """Fit logit P(first wins) = θ_first − θ_second + γ_judge by maximum likelihood.

    Every readable verdict of known order counts. `ties="half"`: half a win each; "davidson": a
    third outcome with its own parameter. A judge whose γ cannot be identified from its orders has
    no estimate but a note with the reason, and its verdicts are left out. For a judge that always
    picks the same position, γ comes from added pseudo-counts and has no interval.
    """
    known = row_selection.select_known_order(frame)
    unknown = {name: unknown_estimate(ORDER_UNKNOWN_NOTE, "logit") for name in _judge_names(frame)}
    unknown |= {name: unknown_estimate(NO_VERDICTS_NOTE, "logit") for name in _judge_names(known)}
    model = fit_position_model_from_battles(extract_battles(known), ties=ties)
    gamma = unknown | model.gamma
    shares = {name: first_share_if_equal(term) for name, term in gamma.items()}
    return replace(model, gamma=gamma, first_if_equal=shares)


def fit_position_model_from_battles(data: Battles, *, ties: TieTreatment = "half") -> PositionModel:
    """Fit the position model (see `fit_position_model`) from battles that are already extracted."""
    layout = identified_design(data, ties)
    unknown = {name: unknown_estimate(RUN_BOTH_ORDERS_NOTE, "logit") for name in data.judges}
    if layout is None:
        return _unidentified_model(unknown, RUN_BOTH_ORDERS_NOTE if len(data) else NO_VERDICTS_NOTE)
    known, problem = layout.data, layout.problem
    fitted = conditional_logit.fit_conditional_logit(problem)
    gamma = unknown | {name: layout.position_term(fitted, g) for g, name in enumerate(known.judges)}
    return PositionModel(
        gamma=gamma,
        first_if_equal={name: first_share_if_equal(term) for name, term in gamma.items()},
        strength=layout.strengths(fitted),
        nu=layout.tie_parameters(fitted),
        log_likelihood=fitted.log_likelihood,
        regularised=fitted.regularised,
        note=join_notes(*sorted({term.note for term in gamma.values()})),
    )


def position_term(frame: pd.DataFrame) -> Estimate:
    """Estimate the position term γ of all rows, judges and prompts pooled. For one judge, pass a
    frame with its rows only."""
    pooled = frame.assign(judge=pd.Categorical(["all"] * len(frame)))
    return fit_position_model(pooled).gamma.get("all", unknown_estimate(NO_VERDICTS_NOTE, "logit"))


def first_share_if_equal(gamma: Estimate) -> Estimate:
    """Convert γ to σ(γ): the win share of the answer shown first between two equal answers."""
    value, low, high = (
        None if x is None else float(expit(x)) for x in (gamma.value, gamma.low, gamma.high)
    )
    return replace(gamma, value=value, low=low, high=high, unit="share")


def _judge_names(frame: pd.DataFrame) -> list[str]:
    pairs = frame.loc[frame["options"] == 2, "judge"]
    return sorted(str(name) for name in pairs.unique())


def _unidentified_model(gamma: dict[str, Estimate], note: str) -> PositionModel:
    shares = {name: first_share_if_equal(term) for name, term in gamma.items()}
    return PositionModel(gamma, shares, {}, {}, None, False, note)


def identified_design(data: Battles, ties: TieTreatment) -> PositionDesign | None:
    """Build the regressors of the position model without the judges whose position term γ cannot be
    identified from the orders they judged; None if no judge is left."""
    while len(data):
        layout = PositionDesign(data, ties)
        unidentified = conditional_logit.unidentified_parameters(layout.problem)[
            layout.position_term_columns
        ]
        if not unidentified.any():
            return layout
        data = _select_judges(data, np.flatnonzero(~unidentified))
    return None


def _select_judges(data: Battles, judges: Ints) -> Battles:
    rows = np.isin(data.judge, judges)
    place = np.full(len(data.judges), -1, np.int64)
    place[judges] = np.arange(len(judges))
    item = np.unique(data.item[rows], return_inverse=True)[1]
    return Battles(
        names=data.names,
        judges=tuple(data.judges[judge] for judge in judges),
        first=data.first[rows],
        second=data.second[rows],
        outcome=data.outcome[rows],
        item=item,
        judge=place[data.judge[rows]],
        weight=data.weight[rows],
        items=int(item.max()) + 1 if len(item) else 0,
    )


class PositionDesign:
    """Regressors of the position model: of the strengths θ, which sum to zero in each group of
    contestants that are linked by comparisons, of γ of each judge and, if `ties` is "davidson", of
    ln ν of each judge with ties."""

    def __init__(self, data: Battles, ties: TieTreatment) -> None:
        self.data = data
        self.tied = _judges_with_ties(data) if ties == "davidson" else np.zeros(0, np.int64)
        self.ties = ties
        self.basis = _strength_basis(data)
        self.problem = self._build_problem()

    @property
    def position_term_columns(self) -> Ints:
        """Column numbers of γ of each judge."""
        return np.arange(len(self.data.judges)) + int(self.basis.shape[1])

    @property
    def tie_columns(self) -> Ints:
        """Columns of the design matrix that hold ln ν (ν is Davidson's tie parameter), one for each
        judge that gave a tie; empty if ties are half wins."""
        start = int(self.basis.shape[1]) + len(self.data.judges)
        return np.arange(len(self.tied)) + start

    def _build_problem(self) -> LogitProblem:
        data, models = self.data, len(self.data.names)
        code = (data.judge * models + data.first) * models + data.second
        present, setting = np.unique(code, return_inverse=True)
        judge, first, second = (present // models**2, present // models % models, present % models)
        outcome = np.rint(2 - 2 * data.outcome).astype(np.int64)  # 0 first, 1 tie, 2 second
        counts, multiplicity = conditional_logit.tally_by_item_kind(
            data.item, data.items, setting, outcome, (len(present), 3)
        )
        design, available, shares = self._outcome_design(judge, first, second)
        pseudo = np.full(len(available[0]), PSEUDO_COUNT)
        if self.ties == "davidson":
            pseudo[1] = 0.0
        return LogitProblem(design, available, counts, multiplicity, shares, pseudo)

    def _outcome_design(
        self, judge: Ints, first: Ints, second: Ints
    ) -> tuple[Floats, conditional_logit.Mask, Floats]:
        """Return, for battles between i (shown first) and j: the regressors of each outcome, a mask
        of the outcomes that are possible, and the share of a win, a tie and a loss of i that counts
        for each outcome.

        The utility of a win of i is θ_i + γ/2, of a tie ln ν + (θ_i + θ_j)/2, of a win of j θ_j −
        γ/2. Without tie parameters a tie is half a win each.
        """
        rows = np.arange(len(judge))
        design = np.zeros((len(judge), 3, int(self.basis.shape[1] + len(self.data.judges))))
        design = np.concatenate([design, np.zeros((len(judge), 3, len(self.tied)))], axis=2)
        strengths = self.basis.shape[1]
        design[:, 0, :strengths] = self.basis[first]
        design[:, 2, :strengths] = self.basis[second]
        design[:, 1, :strengths] = (self.basis[first] + self.basis[second]) / 2
        design[rows, 0, self.position_term_columns[judge]] = 0.5
        design[rows, 2, self.position_term_columns[judge]] = -0.5
        available = np.ones((len(judge), 3), bool)
        if self.ties == "half":
            return design[:, [0, 2]], available[:, [0, 2]], np.array([[1, 0], [0.5, 0.5], [0, 1.0]])
        for place, name in enumerate(self.tied):
            design[judge == name, 1, self.tie_columns[place]] = 1.0
        available[:, 1] = np.isin(judge, self.tied)
        return design, available, np.eye(3)

    def _unit_vector(self, column: int) -> Floats:
        return np.asarray(np.eye(self.problem.design.shape[2])[column])

    def position_term(self, fitted: LogitFit, judge: int) -> Estimate:
        """Estimate the position term γ, in logits, of judge number `judge`."""
        n = int((self.data.judge == judge).sum())
        term = fitted.estimate(
            self._unit_vector(int(self.position_term_columns[judge])),
            n,
            unit="logit",
            method="Bradley–Terry with position term",
        )
        note = "" if _has_both_orders(self.data, judge) else TRANSITIVITY_NOTE
        return replace(term, note=join_notes(term.note, note))

    def tie_parameters(self, fitted: LogitFit) -> dict[str, Estimate]:
        """Return judge -> Davidson's ν, with the interval computed on its logarithm; ν = 0 for a
        judge without ties. Empty if a tie counts as half a win each."""
        if self.ties == "half":
            return {}
        found = {name: Estimate(0.0, unit="ν", note="no ties") for name in self.data.judges}
        for place, judge in enumerate(self.tied):
            n = int((self.data.judge == judge).sum())
            log = fitted.estimate(
                self._unit_vector(int(self.tie_columns[place])), n, unit="ν", method="Davidson"
            )
            found[self.data.judges[judge]] = exponentiate_estimate(log)
        return found

    def strengths(self, fitted: LogitFit) -> dict[str, Estimate]:
        """Return contestant -> strength θ in logits, strongest first, for contestants with a
        battle."""
        pad = self.problem.design.shape[2] - self.basis.shape[1]
        matches = self.data.match_counts
        table = {
            name: fitted.estimate(
                np.concatenate([self.basis[row], np.zeros(pad)]),
                int(matches[row]),
                unit="logit",
                method="Bradley–Terry with position term",
            )
            for row, name in enumerate(self.data.names)
            if matches[row]
        }
        return dict(sorted(table.items(), key=largest_first_sort_key))


def exponentiate_estimate(log: Estimate) -> Estimate:
    """Convert the estimate of a logarithm to an estimate of the quantity itself."""
    value, low, high = (
        None if x is None else float(np.exp(min(x, 700.0))) for x in (log.value, log.low, log.high)
    )
    return replace(log, value=value, low=low, high=high)


def _judges_with_ties(data: Battles) -> Ints:
    return np.unique(data.judge[data.outcome == 0.5])


def _strength_basis(data: Battles) -> Floats:
    """Basis of the strengths θ, which sum to zero within each group of contestants connected by
    battles."""
    models = len(data.names)
    links = np.zeros((models, models), bool)
    links[data.first, data.second] = True
    label = bradley_terry_fit.graph_components(links)
    blocks: list[Floats] = []
    for group in np.unique(label):
        members: Sequence[int] = np.flatnonzero(label == group).tolist()
        block = np.zeros((models, len(members) - 1))
        block[members] = conditional_logit.zero_sum_basis(len(members))
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _has_both_orders(data: Battles, judge: int) -> bool:
    """Whether judge number `judge` has verdicts on some pair in both orders."""
    own = data.judge == judge
    shown = np.zeros((len(data.names), len(data.names)), bool)
    shown[data.first[own], data.second[own]] = True
    return bool((shown & shown.T).any())
