"""Does a judge favour answers of its own family? With people as the yardstick, or without."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from metrics import selection
from metrics.agreement import UNKNOWN, cases_of, majority
from metrics.intervals import Floats, Ints, divided, item_sums, jackknife, quantile, unknown
from metrics.length import fit_logit
from studies.frame import TIE
from studies.records import Estimate

NOT_ADJUSTED = "not quality-adjusted"
RIDGE = 1e-6


def _own(rows: pd.DataFrame) -> tuple[selection.Mask, selection.Mask]:
    """Whether the first and the second answer come from the judge's own family."""
    if not {"family", "family_0", "family_1"} <= set(rows.columns):
        none = np.zeros(len(rows), bool)
        return none, none
    judge = rows["family"].astype(str).to_numpy()
    first, second = (rows[name].astype(str).to_numpy() for name in ("family_0", "family_1"))
    known = judge != ""
    return known & (judge == first), known & (judge == second)


def excess(own_picked: int, own: int, other_picked: int, other: int) -> float | None:
    """P(judge picks own | people pick own) − P(judge picks other | people pick other)."""
    return own_picked / own - other_picked / other if own and other else None


def self_preference(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Bias of every judge for its own family, held against the people's majority.

    Counts verdicts on pairs with exactly one answer of the judge's family where people prefer one;
    a tie verdict picks neither. Positive: it follows people more readily when they like its own.
    """
    data = cases_of(frame)
    human = selection.people(data.rows)
    winner = majority(data.case[human], data.chosen[human], data.cases)[data.case]
    first, second = _own(data.rows)
    kept = ~human & (winner != UNKNOWN) & (winner != TIE) & (first ^ second)
    kept &= (data.rows["options"] == 2).to_numpy()
    rows, winner, chosen = data.rows.loc[kept], winner[kept], data.chosen[kept]
    if len(rows) == 0:
        return {}
    placed = selection.slots(rows, data.names)
    own = np.where(first[kept], placed[:, 0], placed[:, 1])
    theirs_own, right = winner == own, chosen == winner
    parts = np.stack([theirs_own & right, theirs_own, ~theirs_own & right, ~theirs_own], axis=1)
    judge = rows["judge"].astype(str).to_numpy()
    item = selection.item_codes(rows)
    return {name: _bias(parts[judge == name], item[judge == name]) for name in sorted(set(judge))}


def _bias(parts: selection.Mask, item: Ints) -> Estimate:
    _, sums = item_sums(parts.astype(np.float64), item)

    def statistic(totals: Floats) -> Floats:
        own = divided(totals[..., 0], totals[..., 1])
        return own - divided(totals[..., 2], totals[..., 3])

    note = "people never preferred one side"
    got = jackknife(sums, statistic, len(parts), "difference of shares", (-1, 1), note)
    if got.value is None:
        return got
    return jackknife(sums, statistic, len(parts), "difference of shares", (-1, 1))


def self_term(frame: pd.DataFrame) -> Estimate:
    """γ_self in a Bradley–Terry model with common strengths and positions per judge, in logits.

    logit P(first wins) = θ_first − θ_second + γ_judge + γ_self·(own first − own second); item
    sandwich. Not quality-adjusted. Needs two judges, one of them not of an author's family.
    """
    rows = selection.pairs(selection.picked(frame))
    first, second = _own(rows)
    own = first.astype(np.float64) - second
    reason = _refusal(rows, own)
    if reason:
        return unknown(reason, "logit")
    design = np.concatenate([_strengths(rows), own[:, None]], axis=1)
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 0.5, pick == 0).astype(np.float64)
    if np.linalg.matrix_rank(design) == np.linalg.matrix_rank(design[:, :-1]):
        return unknown("who judges and who is judged cannot be told apart here", "logit")
    # A whiff of ridge keeps strengths finite where one side won everything.
    shrink = np.full(design.shape[1], RIDGE * len(design))
    beta, covariance, items = fit_logit(design, outcome, selection.item_codes(rows), shrink)
    value, error = float(beta[-1]), math.sqrt(max(float(covariance[-1, -1]), 0))
    if items < 2:
        return Estimate(value, None, None, len(rows), items, "logit", note=NOT_ADJUSTED)
    half = float(quantile(items)) * error
    method = "Bradley–Terry with position and own-family terms, item sandwich"
    return Estimate(
        value, value - half, value + half, len(rows), items, "logit", 0.95, method, NOT_ADJUSTED
    )


def _refusal(rows: pd.DataFrame, own: Floats) -> str:
    judges = rows["judge"].astype(str).to_numpy()
    authors = set(judges[own != 0])
    if not authors:
        return "no verdict on an answer of the judge's own family"
    if len(set(judges)) < 2:
        return "needs at least two judges"
    families = rows["family"].astype(str).to_numpy()
    contestants = {*rows["family_0"].astype(str), *rows["family_1"].astype(str)}
    outside = any(family not in contestants for family in set(families))
    return "" if outside else "needs a judge that wrote none of the answers"


def _strengths(rows: pd.DataFrame) -> Floats:
    """Columns of the contestants (+1 first, −1 second) and of each judge's position term."""
    names = selection.contestants(rows)
    placed = selection.slots(rows, names)
    line = np.arange(len(rows))
    judges, judge = np.unique(rows["judge"].astype(str).to_numpy(), return_inverse=True)
    design = np.zeros((len(rows), len(names) + len(judges)))
    np.add.at(design, (line, placed[:, 0]), 1.0)
    np.add.at(design, (line, placed[:, 1]), -1.0)
    design[line, len(names) + judge] = 1.0
    return design[:, 1:]
