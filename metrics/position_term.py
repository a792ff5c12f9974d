"""Bradley–Terry with a position term per judge: what being shown first is worth, in logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics import logit, selection
from metrics.battles import Battles, Floats, Ints, battles
from metrics.bt_fit import linked
from metrics.intervals import joined, unknown
from metrics.logit import PSEUDO_COUNT, Fit, LikelihoodRatio, Problem, by_value
from metrics.measures import ORDER_UNKNOWN
from studies.records import Estimate

Ties = Literal["half", "davidson"]

RUN_BOTH_ORDERS: Final = (
    "place and content cannot be told apart in the orders that were read: run both orders"
)
TRANSITIVE: Final = "no pair was read in both orders: identified through transitivity only"
NO_VERDICTS: Final = "no readable verdict"


@dataclass(frozen=True, slots=True)
class PositionModel:
    """Strengths common to all judges, one position term for each, and the test that all are zero.

    `gamma` is the logit by which the first shown gains; `first_if_equal` is σ(γ), the share of
    first choices between equal answers. `strength` is on the scale of θ (logits, sum zero within a
    group linked by battles). `nu` is Davidson's tie parameter per judge; empty where ties are half.
    """

    gamma: dict[str, Estimate]
    first_if_equal: dict[str, Estimate]
    strength: dict[str, Estimate]
    nu: dict[str, Estimate]
    test: LikelihoodRatio | None
    log_likelihood: float | None
    regularised: bool
    note: str = ""


def position_model(frame: pd.DataFrame, *, ties: Ties = "half") -> PositionModel:
    """logit P(first wins) = θ_first − θ_second + γ_judge, by maximum likelihood.

    Every readable verdict of every order counts. `ties="half"`: half a win each; "davidson": a
    third outcome with its own parameter. A judge whose γ the orders leave open is refused, with the
    reason, and its verdicts are left out; a judge who always answers first gets a regularised γ.
    """
    known = selection.ordered(frame)
    silent = {name: unknown(ORDER_UNKNOWN, "logit") for name in _judges(frame)}
    silent |= {name: unknown(NO_VERDICTS, "logit") for name in _judges(known)}
    model = position_model_of(battles(known), ties=ties)
    gamma = silent | model.gamma
    shares = {name: share_if_equal(term) for name, term in gamma.items()}
    return replace(model, gamma=gamma, first_if_equal=shares)


def position_model_of(data: Battles, *, ties: Ties = "half") -> PositionModel:
    """The same from coded battles."""
    layout = identified(data, ties)
    refused = {name: unknown(RUN_BOTH_ORDERS, "logit") for name in data.judges}
    if layout is None:
        return _refused(refused, RUN_BOTH_ORDERS if len(data) else NO_VERDICTS)
    kept, problem = layout.data, layout.problem
    fitted = logit.fit(problem)
    gamma = refused | {name: layout.gamma(fitted, g) for g, name in enumerate(kept.judges)}
    return PositionModel(
        gamma=gamma,
        first_if_equal={name: share_if_equal(term) for name, term in gamma.items()},
        strength=layout.strengths(fitted),
        nu=layout.nu(fitted),
        test=logit.likelihood_ratio(problem, fitted, layout.gamma_columns),
        log_likelihood=fitted.log_likelihood,
        regularised=fitted.regularised,
        note=joined(*sorted({term.note for term in gamma.values()})),
    )


def position_term(frame: pd.DataFrame) -> Estimate:
    """γ of a frame taken as one judge: pool judges and prompts, or filter to one before."""
    pooled = frame.assign(judge=pd.Categorical(["all"] * len(frame)))
    return position_model(pooled).gamma.get("all", unknown(NO_VERDICTS, "logit"))


def share_if_equal(gamma: Estimate) -> Estimate:
    """σ(γ): how often the first of two equal answers wins."""
    value, low, high = (
        None if x is None else float(expit(x)) for x in (gamma.value, gamma.low, gamma.high)
    )
    return replace(gamma, value=value, low=low, high=high, unit="share")


def _judges(frame: pd.DataFrame) -> list[str]:
    pairs = frame.loc[frame["options"] == 2, "judge"]
    return sorted(str(name) for name in pairs.unique())


def _refused(gamma: dict[str, Estimate], note: str) -> PositionModel:
    shares = {name: share_if_equal(term) for name, term in gamma.items()}
    return PositionModel(gamma, shares, {}, {}, None, None, False, note)


def identified(data: Battles, ties: Ties) -> Layout | None:
    """The design without the judges whose γ it leaves open; None if that is all of them."""
    while len(data):
        layout = Layout(data, ties)
        opened = logit.unidentified(layout.problem)[layout.gamma_columns]
        if not opened.any():
            return layout
        data = _of_judges(data, np.flatnonzero(~opened))
    return None


def _of_judges(data: Battles, kept: Ints) -> Battles:
    rows = np.isin(data.judge, kept)
    place = np.full(len(data.judges), -1, np.int64)
    place[kept] = np.arange(len(kept))
    item = np.unique(data.item[rows], return_inverse=True)[1]
    return Battles(
        names=data.names,
        judges=tuple(data.judges[judge] for judge in kept),
        first=data.first[rows],
        second=data.second[rows],
        outcome=data.outcome[rows],
        item=item,
        judge=place[data.judge[rows]],
        weight=data.weight[rows],
        items=int(item.max()) + 1 if len(item) else 0,
    )


class Layout:
    """Where each parameter stands: contrasts of θ per linked group, then γ, then ln ν per judge."""

    def __init__(self, data: Battles, ties: Ties) -> None:
        self.data = data
        self.tied = _judges_with_ties(data) if ties == "davidson" else np.zeros(0, np.int64)
        self.ties = ties
        self.basis = _strength_basis(data)
        self.problem = self._build()

    @property
    def gamma_columns(self) -> Ints:
        return np.arange(len(self.data.judges)) + int(self.basis.shape[1])

    @property
    def nu_columns(self) -> Ints:
        start = int(self.basis.shape[1]) + len(self.data.judges)
        return np.arange(len(self.tied)) + start

    def _build(self) -> Problem:
        data, models = self.data, len(self.data.names)
        code = (data.judge * models + data.first) * models + data.second
        present, setting = np.unique(code, return_inverse=True)
        judge, first, second = (
            present // models**2,
            present // models % models,
            present % models,
        )
        outcome = np.rint(2 - 2 * data.outcome).astype(np.int64)  # 0 first, 1 tie, 2 second
        counts, multiplicity = logit.tally(
            data.item, data.items, setting, outcome, (len(present), 3)
        )
        design, available, shares = self._alternatives(judge, first, second)
        pseudo = np.full(len(available[0]), PSEUDO_COUNT)
        if self.ties == "davidson":
            pseudo[1] = 0.0
        return Problem(design, available, counts, multiplicity, shares, pseudo)

    def _alternatives(
        self, judge: Ints, first: Ints, second: Ints
    ) -> tuple[Floats, logit.Mask, Floats]:
        """Utilities θ_i + γ/2, ln ν + (θ_i + θ_j)/2, θ_j − γ/2; without ties the outer two."""
        rows = np.arange(len(judge))
        design = np.zeros((len(judge), 3, int(self.basis.shape[1] + len(self.data.judges))))
        design = np.concatenate([design, np.zeros((len(judge), 3, len(self.tied)))], axis=2)
        strengths = self.basis.shape[1]
        design[:, 0, :strengths] = self.basis[first]
        design[:, 2, :strengths] = self.basis[second]
        design[:, 1, :strengths] = (self.basis[first] + self.basis[second]) / 2
        design[rows, 0, self.gamma_columns[judge]] = 0.5
        design[rows, 2, self.gamma_columns[judge]] = -0.5
        available = np.ones((len(judge), 3), bool)
        if self.ties == "half":
            return design[:, [0, 2]], available[:, [0, 2]], np.array([[1, 0], [0.5, 0.5], [0, 1.0]])
        for place, name in enumerate(self.tied):
            design[judge == name, 1, self.nu_columns[place]] = 1.0
        available[:, 1] = np.isin(judge, self.tied)
        return design, available, np.eye(3)

    def _weights(self, column: int) -> Floats:
        return np.asarray(np.eye(self.problem.design.shape[2])[column])

    def gamma(self, fitted: Fit, judge: int) -> Estimate:
        n = int((self.data.judge == judge).sum())
        term = fitted.estimate(
            self._weights(int(self.gamma_columns[judge])),
            n,
            unit="logit",
            method="Bradley–Terry with position term",
        )
        note = "" if _both_orders(self.data, judge) else TRANSITIVE
        return replace(term, note=joined(term.note, note))

    def nu(self, fitted: Fit) -> dict[str, Estimate]:
        """Davidson's ν with the interval of its logarithm; a judge without ties has ν = 0."""
        if self.ties == "half":
            return {}
        found = {name: Estimate(0.0, unit="ν", note="no ties") for name in self.data.judges}
        for place, judge in enumerate(self.tied):
            n = int((self.data.judge == judge).sum())
            log = fitted.estimate(
                self._weights(int(self.nu_columns[place])), n, unit="ν", method="Davidson"
            )
            found[self.data.judges[judge]] = exponential(log)
        return found

    def strengths(self, fitted: Fit) -> dict[str, Estimate]:
        """θ of everyone with a battle, strongest first."""
        pad = self.problem.design.shape[2] - self.basis.shape[1]
        matches = self.data.matches
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
        return dict(sorted(table.items(), key=by_value))


def exponential(log: Estimate) -> Estimate:
    """An estimate of a logarithm as one of the quantity itself."""
    value, low, high = (
        None if x is None else float(np.exp(min(x, 700.0))) for x in (log.value, log.low, log.high)
    )
    return replace(log, value=value, low=low, high=high)


def _judges_with_ties(data: Battles) -> Ints:
    return np.unique(data.judge[data.outcome == 0.5])


def _strength_basis(data: Battles) -> Floats:
    """Columns that span θ summing to zero within each group linked by battles."""
    models = len(data.names)
    links = np.zeros((models, models), bool)
    links[data.first, data.second] = True
    label = linked(links)
    blocks: list[Floats] = []
    for group in np.unique(label):
        members: Sequence[int] = np.flatnonzero(label == group).tolist()
        block = np.zeros((models, len(members) - 1))
        block[members] = logit.contrasts(len(members))
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _both_orders(data: Battles, judge: int) -> bool:
    own = data.judge == judge
    models = len(data.names)
    there = data.first[own] * models + data.second[own]
    back = data.second[own] * models + data.first[own]
    return bool(np.isin(there, back).any())
