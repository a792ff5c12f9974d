"""Self-preference: bias of a judge for models of its own family (a group of related models).

It is measured relative to people, or as a term in a Bradley–Terry model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.agreement.majority_agreement import NO_CHOICE, build_case_verdicts, majority_choices
from metrics.estimation import intervals, row_selection
from metrics.win_rates.length_effects import fit_logit, logit_half_width
from studies.domain import Estimate
from studies.frames.frame import TIE

NOT_ADJUSTED_NOTE = "not adjusted for the quality of the answers"
RIDGE = 1e-6


def _own_family_masks(rows: pd.DataFrame) -> tuple[row_selection.Mask, row_selection.Mask]:
    """Return two masks: rows whose first answer is of the judge's own family, and rows whose second
    answer is."""
    if not {"family", "family_0", "family_1"} <= set(rows.columns):
        none = np.zeros(len(rows), bool)
        return none, none
    judge = rows["family"].astype(str).to_numpy()
    first, second = (rows[name].astype(str).to_numpy() for name in ("family_0", "family_1"))
    known = judge != ""
    return known & (judge == first), known & (judge == second)


@dataclass(frozen=True, eq=False)
class VerdictsVersusPeople:
    """Judges' verdicts on pairs of which the people's majority prefers one answer; `agrees` marks
    the verdicts for that answer."""

    rows: pd.DataFrame
    winner: intervals.Ints
    agrees: row_selection.Mask
    placed: intervals.Ints
    """Contestant in each slot, with the same codes as `winner`, the contestant people prefer."""

    def flags_on_pairs_with_family(
        self, family: str
    ) -> tuple[row_selection.Mask, NDArray[Any], intervals.Ints, NDArray[Any]]:
        """Return flags, judge, item and judge's family of each verdict on a pair with exactly one
        answer of `family`.

        The flags are four columns: people prefer the family's answer and the judge agrees; people
        prefer the family's answer; people prefer the other answer and the judge agrees; people
        prefer the other answer.
        """
        first, second = (
            (self.rows[name].astype(str) == family).to_numpy() for name in ("family_0", "family_1")
        )
        kept = first ^ second
        own = np.where(first, self.placed[:, 0], self.placed[:, 1])[kept]
        people_pick_own, agrees = self.winner[kept] == own, self.agrees[kept]
        parts = [people_pick_own & agrees, people_pick_own]
        parts += [~people_pick_own & agrees, ~people_pick_own]
        rows = self.rows.loc[kept]
        judge, families = (rows[name].astype(str).to_numpy() for name in ("judge", "family"))
        return np.stack(parts, axis=1), judge, row_selection.item_codes(rows), families


def verdicts_versus_people(frame: pd.DataFrame) -> VerdictsVersusPeople:
    """Select the judges' verdicts on pairs of which the people's majority prefers one answer."""
    data = build_case_verdicts(frame)
    human = row_selection.people_mask(data.rows)
    winner = majority_choices(data.case[human], data.chosen[human], data.cases)[data.case]
    counted = ~human & (winner != NO_CHOICE) & (winner != TIE)
    counted &= (data.rows["options"] == 2).to_numpy()
    rows = data.rows.loc[counted]
    placed = (
        row_selection.slot_contestants(rows, data.names)
        if len(rows)
        else np.zeros((0, 2), np.int64)
    )
    return VerdictsVersusPeople(
        rows, winner[counted], data.chosen[counted] == winner[counted], placed
    )


def self_preference(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Return judge -> its bias for models of its own family, relative to the people's majority.

    It is P(judge agrees with people, if they prefer the family's answer) − P(judge agrees, if they
    prefer the other answer), over pairs with exactly one answer of the judge's family. A judge's
    tie does not agree. Judges without such a pair are left out; empty if no families are recorded.
    """
    people = verdicts_versus_people(frame)
    if "family" not in people.rows:
        return {}
    found = {}
    for name, family in sorted(_judge_families(people.rows)):
        parts, judge, item, _ = people.flags_on_pairs_with_family(family)
        if (judge == name).any():
            found[name] = _own_family_bias(parts[judge == name], item[judge == name])
    return found


def _judge_families(rows: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the (judge, family) pairs of all judges with a known family."""
    known = zip(rows["judge"].astype(str), rows["family"].astype(str), strict=True)
    return {(judge, family) for judge, family in known if family}


def _own_family_bias(flags: row_selection.Mask, item: intervals.Ints) -> Estimate:
    """Estimate the bias of one judge from the `flags` that `flags_on_pairs_with_family` returns."""
    _, sums = intervals.sum_by_item(flags.astype(np.float64), item)

    def statistic(totals: intervals.Floats) -> intervals.Floats:
        own = intervals.safe_divide(totals[..., 0], totals[..., 1])
        return own - intervals.safe_divide(totals[..., 2], totals[..., 3])

    note = "people never preferred the judge's own family, or always did"
    got = intervals.jackknife_estimate(
        sums, statistic, len(flags), "difference of shares", (-1, 1), note
    )
    if got.value is None:
        return got
    return intervals.jackknife_estimate(
        sums, statistic, len(flags), "difference of shares", (-1, 1)
    )


def own_family_term(frame: pd.DataFrame) -> Estimate:
    """Estimate the own-family term γ_self, in logits, of a Bradley–Terry model with position terms.

    logit P(first wins) = θ_first − θ_second + γ_judge + γ_self·(own_first − own_second), with
    strengths θ common to all judges and an interval clustered by item; own_first is 1 if the first
    answer is of the judge's family, else 0. The term is not adjusted for quality. It needs two
    judges, one of them a person, or of a known family that wrote none of the answers; else it is
    unknown, with the reason as a note.
    """
    rows = row_selection.select_pairs(row_selection.select_picks(frame))
    first, second = _own_family_masks(rows)
    own = first.astype(np.float64) - second
    reason = _why_not_identified(rows, own)
    if reason:
        return intervals.unknown_estimate(reason, "logit")
    design = np.concatenate([_strength_design(rows), own[:, None]], axis=1)
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 0.5, pick == 0).astype(np.float64)
    if np.linalg.matrix_rank(design) == np.linalg.matrix_rank(design[:, :-1]):
        return intervals.unknown_estimate(
            "the own-family term cannot be separated from strengths and positions", "logit"
        )
    # A small ridge penalty keeps strengths finite if one side won every battle.
    shrink = np.full(design.shape[1], RIDGE * len(design))
    beta, covariance, items = fit_logit(design, outcome, row_selection.item_codes(rows), shrink)
    value = float(beta[-1])
    half, reason = logit_half_width(float(covariance[-1, -1]), items)
    low, high = (None if half is None else value + sign * half for sign in (-1, 1))
    method = "Bradley–Terry with position and own-family terms, sandwich variance by item"
    note = intervals.join_notes(NOT_ADJUSTED_NOTE, reason)
    return Estimate(value, low, high, len(rows), items, "logit", 0.95, method, note)


def _why_not_identified(rows: pd.DataFrame, own: intervals.Floats) -> str:
    """Reason why the own-family term cannot be estimated; empty if nothing prevents it. `own` is +1
    if the first, −1 if the second answer of a row is of the judge's family, else 0."""
    judges = rows["judge"].astype(str).to_numpy()
    authors = set(judges[own != 0])
    if not authors:
        return "no verdict on an answer of the judge's own family"
    if len(set(judges)) < 2:
        return "needs at least two judges"
    known = set(rows["family"].astype(str)) - {""}
    outside = known - {*rows["family_0"].astype(str), *rows["family_1"].astype(str)}
    if outside or row_selection.people_mask(rows).any():
        return ""
    return "needs people, or a judge of a known family that wrote none of the answers"


def _strength_design(rows: pd.DataFrame) -> intervals.Floats:
    """Design matrix: a column for each contestant but the first (+1 shown first, −1 shown second),
    then a column for each judge's position term."""
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    line = np.arange(len(rows))
    judges, judge = np.unique(rows["judge"].astype(str).to_numpy(), return_inverse=True)
    design = np.zeros((len(rows), len(names) + len(judges)))
    np.add.at(design, (line, placed[:, 0]), 1.0)
    np.add.at(design, (line, placed[:, 1]), -1.0)
    design[line, len(names) + judge] = 1.0
    return design[:, 1:]
