"""What people verified, answer by answer: follows the instruction or not, whose fault, harmful.

A verification compares nothing, so it is no judgement. It tells which answers fail: how many, how
far the verifiers agree on it, and whether a judge prefers one that fails to one that does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.agreement.pairwise_agreement import PairAgreement, PeopleVotes, agreement_among_votes
from metrics.estimation import row_selection
from metrics.estimation.intervals import (
    Floats,
    Ints,
    jackknife_estimate,
    proportion,
    safe_divide,
    sum_by_item,
    unknown_estimate,
)
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import AnswerCheck, Estimate
from studies.frames.frame import TIE

FAULTS: Final = ("answer", "caption")
"""Whose fault the form asks for; anything else is neither's."""
NONE_FAIL_NOTE: Final = "every verified answer follows the instruction"
NOT_SHARED_NOTE: Final = "nobody verified what somebody else verified"
CONSTANT_ANSWERS_NOTE: Final = "all say the same one thing: chance cannot be told apart"
NO_MIXED_PAIR_NOTE: Final = "no decided pair of one answer that follows and one that does not"
UNVERIFIED: Final = -1
"""Of an answer that nobody verified, or about which as many say yes as no."""


@dataclass(frozen=True, slots=True)
class VerificationShares:
    """What was verified about some answers. A share's n is the number of verifications, its unit of
    resampling the item; faults are shares of those that say no."""

    follows: Estimate
    fault_answer: Estimate
    fault_caption: Estimate
    fault_neither: Estimate
    harmful: Estimate


@dataclass(frozen=True, slots=True)
class VerifierAgreement:
    """The people who verified and how far they agree: every two on one answer, and all (α)."""

    people: int
    answers: int
    twice: int
    """Answers that two or more verified."""
    same: Estimate
    kappa: Estimate
    alpha: Estimate


class VerificationArrays:
    """The verifications of a study as arrays, one place each; names are sorted."""

    def __init__(self, checks: Mapping[str, Sequence[AnswerCheck]]) -> None:
        rows = [(item, check) for item, found in checks.items() for check in found]
        self.items, self.item = _code_names([item for item, _ in rows])
        self.contestants, self.contestant = _code_names([check.contestant for _, check in rows])
        self.people, self.who = _code_names([check.judge for _, check in rows])
        self.follows = np.array([check.follows for _, check in rows], bool)
        self.harmful = np.array([check.harmful for _, check in rows], bool)
        self.fault = np.array([_fault_code(check) for _, check in rows], np.int64)

    def __len__(self) -> int:
        return len(self.follows)

    # ---- shares

    @property
    def overall(self) -> VerificationShares:
        return self._findings(np.ones(len(self), bool))

    @property
    def by_contestant(self) -> dict[str, VerificationShares]:
        return {
            name: self._findings(self.contestant == code)
            for code, name in enumerate(self.contestants)
        }

    def _findings(self, kept: row_selection.Mask) -> VerificationShares:
        item, failed = self.item[kept], kept & ~self.follows
        answer, caption, neither = (self._fault(failed, code) for code in range(len(FAULTS) + 1))
        follows, harmful = (proportion(said[kept], item) for said in (self.follows, self.harmful))
        return VerificationShares(follows, answer, caption, neither, harmful)

    def _fault(self, failed: row_selection.Mask, code: int) -> Estimate:
        if not failed.any():
            return unknown_estimate(NONE_FAIL_NOTE, "share")
        return proportion(self.fault[failed] == code, self.item[failed])

    # ---- verifiers

    @cached_property
    def answer(self) -> tuple[Ints, int]:
        """Codes of the answers verified, and how many there are."""
        whole = self.item * max(len(self.contestants), 1) + self.contestant
        present, code = np.unique(whole, return_inverse=True)
        return code.astype(np.int64), len(present)

    @cached_property
    def verifiers(self) -> VerifierAgreement:
        answer, answers = self.answer
        twice = int((np.bincount(answer, minlength=answers) > 1).sum())
        said = self.follows.astype(np.int64)
        pair: PairAgreement = agreement_among_votes(
            PeopleVotes(answer, answers, self.item, self.who, said)
        ).pair
        why = CONSTANT_ANSWERS_NOTE if twice else NOT_SHARED_NOTE
        told = [
            one if one.value is not None else unknown_estimate(why, one.unit)
            for one in (pair.share, pair.kappa, self._alpha())
        ]
        return VerifierAgreement(len(self.people), answers, twice, *told)

    def _alpha(self) -> Estimate:
        """Krippendorff's α over yes and no: 1 − (n − 1)·o / (yes·no), o the coincidences of a yes
        with a no. An answer with m words counts each of its pairs 1/(m − 1)."""
        answer, answers = self.answer
        yes = np.bincount(answer, self.follows, answers)
        words = np.bincount(answer, minlength=answers).astype(np.float64)
        item = np.zeros(answers, np.int64)
        item[answer] = self.item
        kept = words > 1
        yes, words, item = yes[kept], words[kept], item[kept]
        _, sums = sum_by_item(
            np.stack([yes * (words - yes) / (words - 1), yes, words], axis=1), item
        )
        return jackknife_estimate(sums, _alpha_statistic, int(words.sum()), "alpha", (-np.inf, 1))

    # ---- against verdicts

    @cached_property
    def majority_follows(self) -> dict[tuple[str, str], bool]:
        """(item, contestant) -> whether most say it follows; not there where as many say no."""
        answer, answers = self.answer
        lead = np.bincount(answer, np.where(self.follows, 1, -1), answers)
        return {
            (self.items[i], self.contestants[c]): bool(lead[at] > 0)
            for i, c, at in zip(self.item, self.contestant, answer, strict=True)
            if lead[at] != 0
        }

    def mixed_pairs(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Readable verdicts on pairs of which one answer follows and the other does not; in `right`
        1 where the one that follows is preferred, 0 where the other is, TIE where neither."""
        rows = row_selection.select_pairs(row_selection.select_picks(frame))
        if rows.empty:
            return rows.assign(right=np.zeros(0, np.int64))
        names = row_selection.contestants(rows)
        item = rows["item"].astype("category")
        table = self._table([str(name) for name in item.cat.categories], names)
        stand = table[
            item.cat.codes.to_numpy()[:, None], row_selection.slot_contestants(rows, names)[:, :2]
        ]
        pick = rows["pick"].to_numpy().astype(np.int64)
        right = np.where(pick < 0, TIE, stand[np.arange(len(rows)), np.maximum(pick, 0)])
        apart = (stand.min(axis=1) == 0) & (stand.max(axis=1) == 1)
        return row_selection.select_rows(rows.assign(right=right), apart)

    def _table(self, items: Sequence[str], names: Sequence[str]) -> Ints:
        table = np.full((len(items), len(names)), UNVERIFIED, np.int64)
        of_item = {name: code for code, name in enumerate(items)}
        of_name = {name: code for code, name in enumerate(names)}
        for (item, name), follows in self.majority_follows.items():
            if item in of_item and name in of_name:
                table[of_item[item], of_name[name]] = int(follows)
        return table

    @property
    def prefers_following(self) -> Measure:
        """Share of decided verdicts on mixed pairs that prefer the answer that follows the
        instruction; a coin has one half. Each order counts; resampling unit: the item."""

        def tally(evidence: GroupedFrame) -> MeasureTally:
            rows = self.mixed_pairs(evidence.frame)
            rows = row_selection.select_rows(rows, rows["right"] != TIE)
            return build_tally(rows, rows["right"], 1)

        return Measure("prefers_following", "share", tally, empty=NO_MIXED_PAIR_NOTE)

    @property
    def mixed_pair_ties(self) -> Measure:
        """Share of verdicts on mixed pairs that are ties: what fails is called as good."""

        def tally(evidence: GroupedFrame) -> MeasureTally:
            rows = self.mixed_pairs(evidence.frame)
            return build_tally(rows, rows["right"] == TIE, 1)

        return Measure("ties", "share", tally, empty=NO_MIXED_PAIR_NOTE)


def verification_summary(
    checks: Mapping[str, Sequence[AnswerCheck]], frame: pd.DataFrame
) -> dict[str, Any]:
    """Everything about a study's verifications; judges by prompt, people's votes as one."""
    verified = VerificationArrays(checks)
    if not len(verified):
        return {}
    against: dict[str, Any] = {}
    human = row_selection.people_mask(frame)
    evidence = GroupedFrame(row_selection.select_rows(frame, ~human), ["judge", "prompt"])
    measures = (verified.prefers_following, verified.mixed_pair_ties)
    found = [measure.by_cell(evidence) for measure in measures]
    for cell, tied in found[-1].items():
        if tied.n:
            judge, prompt = cell
            against.setdefault(judge, {})[prompt] = {
                measure.name: got[cell] for measure, got in zip(measures, found, strict=True)
            }
    votes = row_selection.select_rows(frame, human)
    people = {measure.name: measure.of(votes) for measure in measures}
    return {
        "all": verified.overall,
        "contestants": verified.by_contestant,
        "verifiers": verified.verifiers,
        "judges": against,
        **({"people": people} if people["ties"].n else {}),
    }


def _code_names(values: Sequence[str]) -> tuple[list[str], Ints]:
    names = sorted(set(values))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place[value] for value in values], np.int64)


def _fault_code(check: AnswerCheck) -> int:
    return FAULTS.index(check.fault) if check.fault in FAULTS else len(FAULTS)


def _alpha_statistic(totals: Floats) -> Floats:
    apart, yes, n = (totals[..., k] for k in range(3))
    return 1 - safe_divide((n - 1) * apart, yes * (n - yes))
