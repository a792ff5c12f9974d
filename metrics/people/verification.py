"""Measures of verifications: people's checks of single answers (follows, fault, harmful).

Verifications are stored apart from the judgements. The measures are the shares of verifications
by which an answer follows the instruction, has a fault or is harmful; the agreement of the
verifiers; and the share of mixed pairs on which a judge prefers the answer that follows the
instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.agreement.pairwise_agreement import PairAgreement, PeopleVotes, agreement_among_votes
from metrics.estimation import intervals, row_selection
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import AnswerCheck, Estimate
from studies.frames.frame import TIE
from studies.lazy_values import cached_property

FAULTS: Final = ("answer", "caption")
"""Kinds of fault that the verification form offers; any other value counts as neither of them."""
NONE_FAIL_NOTE: Final = "every verified answer follows the instruction"
NOT_SHARED_NOTE: Final = "no answer was verified by two people"
CONSTANT_ANSWERS_NOTE: Final = "all verifiers give the same value: κ and α are undefined"
NO_MIXED_PAIR_NOTE: Final = (
    "no decisive verdict on a pair in which only one answer follows the instruction"
)
UNVERIFIED: Final = -1
"""Code of an answer without verifications, or with as many yes as no."""


@dataclass(frozen=True, slots=True)
class VerificationShares:
    """Shares of verifications (checks by a person) by which an answer follows the instruction, or
    is harmful. The three shares of faults are among the verifications by which it does not follow:
    `fault_answer`, `fault_caption`, and `fault_neither` for those with none of these two.

    n is the number of verifications; the resampling unit is the item."""

    follows: Estimate
    fault_answer: Estimate
    fault_caption: Estimate
    fault_neither: Estimate
    harmful: Estimate


@dataclass(frozen=True, slots=True)
class VerifierAgreement:
    """Number of verifiers and their agreement on whether an answer follows the instruction: share
    of equal checks and κ over pairs of people, α over all people."""

    people: int
    answers: int
    twice: int
    """Number of answers verified by two or more people."""
    same: Estimate
    kappa: Estimate
    alpha: Estimate


class VerificationArrays:
    """The verifications of a study as arrays with one entry per verification. In a verification a
    person checks a single answer: whether it follows the instruction, its kind of fault if it does
    not, and whether it is harmful. Items, contestants, people are coded by their sorted names."""

    def __init__(self, checks: Mapping[str, Sequence[AnswerCheck]]) -> None:
        rows = [(item, check) for item, found in checks.items() for check in found]
        self.items, self.item = _distinct_values_and_codes([item for item, _ in rows])
        self.contestants, self.contestant = _distinct_values_and_codes(
            [check.contestant for _, check in rows]
        )
        self.people, self.who = _distinct_values_and_codes([check.judge for _, check in rows])
        self.follows = np.array([check.follows for _, check in rows], bool)
        self.harmful = np.array([check.harmful for _, check in rows], bool)
        self.fault = np.array([_fault_code(check) for _, check in rows], np.int64)

    def __len__(self) -> int:
        return len(self.follows)

    # ---- shares

    @property
    def overall(self) -> VerificationShares:
        return self._estimate_shares(np.ones(len(self), bool))

    @property
    def by_contestant(self) -> dict[str, VerificationShares]:
        return {
            name: self._estimate_shares(self.contestant == code)
            for code, name in enumerate(self.contestants)
        }

    def _estimate_shares(self, selected: row_selection.Mask) -> VerificationShares:
        item, failed = self.item[selected], selected & ~self.follows
        answer, caption, neither = (
            self._fault_share(failed, code) for code in range(len(FAULTS) + 1)
        )
        follows, harmful = (
            intervals.proportion(mask[selected], item) for mask in (self.follows, self.harmful)
        )
        return VerificationShares(follows, answer, caption, neither, harmful)

    def _fault_share(self, selected: row_selection.Mask, fault: int) -> Estimate:
        """Estimate the share of one kind of fault among the `selected` verifications; unknown if
        none is selected. `fault` is an index in FAULTS; len(FAULTS) stands for no fault or another
        one."""
        if not selected.any():
            return intervals.unknown_estimate(NONE_FAIL_NOTE, "share")
        return intervals.proportion(self.fault[selected] == fault, self.item[selected])

    # ---- verifiers

    @cached_property
    def answer_codes(self) -> tuple[intervals.Ints, int]:
        """Code of the verified answer in each verification, and the number of different answers."""
        whole = np.stack([self.item, self.contestant])
        present, code = np.unique(whole, axis=1, return_inverse=True)
        return code.ravel().astype(np.int64), present.shape[1]

    @cached_property
    def verifier_agreement(self) -> VerifierAgreement:
        answer, answers = self.answer_codes
        twice = int((np.bincount(answer, minlength=answers) > 1).sum())
        choice = self.follows.astype(np.int64)
        pair: PairAgreement = agreement_among_votes(
            PeopleVotes(answer, answers, self.item, self.who, choice)
        ).pair
        why = CONSTANT_ANSWERS_NOTE if twice else NOT_SHARED_NOTE
        estimates = [
            one if one.value is not None else intervals.unknown_estimate(why, one.unit)
            for one in (pair.share, pair.kappa, self._krippendorff_alpha())
        ]
        return VerifierAgreement(len(self.people), answers, twice, *estimates)

    def _krippendorff_alpha(self) -> Estimate:
        """Estimate Krippendorff's α of "follows" (yes or no): 1 − (n − 1)·o / (yes·no).

        `yes` and `no` are the numbers of verifications with this result, n is their sum; only
        answers with several verifications count. o is the number of pairs of a yes and a no on the
        same answer, each pair divided by m − 1 if the answer has m verifications.
        """
        answer, answers = self.answer_codes
        yes = np.bincount(answer, self.follows, answers)
        m = np.bincount(answer, minlength=answers).astype(np.float64)
        item = np.zeros(answers, np.int64)
        item[answer] = self.item
        selected = m > 1
        yes, m, item = yes[selected], m[selected], item[selected]
        _, sums = intervals.sum_by_item(np.stack([yes * (m - yes) / (m - 1), yes, m], axis=1), item)
        says_yes = float(yes.sum() / m.sum()) if len(m) else 0.0
        effect = float(np.nan_to_num(intervals.safe_divide(1.0, 2 * says_yes * (1 - says_yes))))
        bounds = (-np.inf, 1.0)
        n = int(m.sum())
        return intervals.jackknife_estimate(
            sums, _alpha_statistic, n, "alpha", bounds, effect=effect
        )

    # ---- against verdicts

    @cached_property
    def follows_instruction_by_majority(self) -> dict[tuple[str, str], bool]:
        """(item, contestant) -> whether the answer follows the instruction by most of its
        verifications. Answers with as many yes as no are left out."""
        answer, answers = self.answer_codes
        lead = np.bincount(answer, np.where(self.follows, 1, -1), answers)
        return {
            (self.items[i], self.contestants[c]): bool(lead[at] > 0)
            for i, c, at in zip(self.item, self.contestant, answer, strict=True)
            if lead[at] != 0
        }

    def select_verdicts_where_one_answer_follows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Select readable verdicts on mixed pairs: by most verifiers, exactly one of the two
        answers follows the instruction.

        The column `right` is 1 if the answer that follows is preferred, 0 if the other answer is,
        else TIE.
        """
        rows = row_selection.select_pairs(row_selection.select_picks(frame))
        if rows.empty:
            return rows.assign(right=np.zeros(0, np.int64))
        names = row_selection.contestants(rows)
        item = rows["item"].astype("category")
        table = self._follows_table([str(name) for name in item.cat.categories], names)
        follows = table[
            item.cat.codes.to_numpy()[:, None], row_selection.slot_contestants(rows, names)[:, :2]
        ]
        pick = rows["pick"].to_numpy().astype(np.int64)
        right = np.where(pick < 0, TIE, follows[np.arange(len(rows)), np.maximum(pick, 0)])
        mixed = (follows.min(axis=1) == 0) & (follows.max(axis=1) == 1)
        return row_selection.select_rows(rows.assign(right=right), mixed)

    def _follows_table(self, items: Sequence[str], names: Sequence[str]) -> intervals.Ints:
        """Return `follows_instruction_by_majority` as a table [item, contestant]: 1 if the
        answer follows the instruction, 0 if it does not, UNVERIFIED (−1) if this is unknown."""
        table = np.full((len(items), len(names)), UNVERIFIED, np.int64)
        of_item = {name: code for code, name in enumerate(items)}
        of_name = {name: code for code, name in enumerate(names)}
        for (item, name), follows in self.follows_instruction_by_majority.items():
            if item in of_item and name in of_name:
                table[of_item[item], of_name[name]] = int(follows)
        return table

    @property
    def following_preference_measure(self) -> Measure:
        """Measure: share of decisive verdicts on mixed pairs for the answer that follows the
        instruction.

        A mixed pair has exactly one such answer, so chance is one half. Every order counts; the
        resampling unit is the item.
        """

        def tally(grouped: GroupedFrame) -> MeasureTally:
            rows = self.select_verdicts_where_one_answer_follows(grouped.frame)
            rows = row_selection.select_rows(rows, rows["right"] != TIE)
            return build_tally(rows, rows["right"], 1)

        return Measure("prefers_following", "share", tally, empty=NO_MIXED_PAIR_NOTE)

    @property
    def tie_measure_if_one_answer_follows(self) -> Measure:
        """Measure: share of ties among verdicts on mixed pairs (only one answer follows the
        instruction)."""

        def tally(grouped: GroupedFrame) -> MeasureTally:
            rows = self.select_verdicts_where_one_answer_follows(grouped.frame)
            return build_tally(rows, rows["right"] == TIE, 1)

        return Measure("ties", "share", tally, empty=NO_MIXED_PAIR_NOTE)


def verification_summary(
    checks: Mapping[str, Sequence[AnswerCheck]], frame: pd.DataFrame
) -> dict[str, Any]:
    """Summarise people's checks of single answers (follows the instruction, fault, harmful); empty
    without checks.

    "all" and "contestants": shares of the checks with each result, in all and by contestant;
    "verifiers": agreement of the people who checked. "judges" and "people": how often the judges,
    and people's votes, prefer the answer that follows the instruction, and how often they tie, on
    the pairs of which only one answer does; "people" is left out if nobody voted on such a pair.
    """
    verified = VerificationArrays(checks)
    if not len(verified):
        return {}
    against: dict[str, Any] = {}
    human = row_selection.people_mask(frame)
    evidence = GroupedFrame(row_selection.select_rows(frame, ~human), ["judge", "prompt"])
    measures = (verified.following_preference_measure, verified.tie_measure_if_one_answer_follows)
    found = [measure.by_cell(evidence) for measure in measures]
    for cell, tied in found[-1].items():
        if tied.n:
            judge, prompt = cell
            against.setdefault(judge, {})[prompt] = {
                measure.name: got[cell] for measure, got in zip(measures, found, strict=True)
            }
    votes = row_selection.select_rows(frame, human)
    people = {measure.name: measure.estimate(votes) for measure in measures}
    return {
        "all": verified.overall,
        "contestants": verified.by_contestant,
        "verifiers": verified.verifier_agreement,
        "judges": against,
        **({"people": people} if people["ties"].n else {}),
    }


def _distinct_values_and_codes(values: Sequence[str]) -> tuple[list[str], intervals.Ints]:
    """Return the distinct values, sorted, and the index of each value among them."""
    names = sorted(set(values))
    codes = {name: code for code, name in enumerate(names)}
    return names, np.array([codes[value] for value in values], np.int64)


def _fault_code(check: AnswerCheck) -> int:
    """Index of the fault in FAULTS; len(FAULTS) for no fault or another one."""
    return FAULTS.index(check.fault) if check.fault in FAULTS else len(FAULTS)


def _alpha_statistic(totals: intervals.Floats) -> intervals.Floats:
    """Compute Krippendorff's α from totals on the last axis: o, yes and n of
    `VerificationArrays._krippendorff_alpha`."""
    unequal, yes, n = (totals[..., k] for k in range(3))
    return 1 - intervals.safe_divide((n - 1) * unequal, yes * (n - yes))
