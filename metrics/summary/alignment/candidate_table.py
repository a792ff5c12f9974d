"""Candidates for a better prompt, compared with today's prompt on the hold-out items (labelled
items that no candidate was made from).

A twin is an answer with one change that should not matter. A candidate is today's prompt with one
more block of text. Agreement is, for comparisons, the credit of one call against the known better
answer (1 if right, ½ for a tie, 0 if wrong), as the mean of both orders; for single answers, the
share of verdicts equal to the label (pass or fail) or at most one step of the scale from it
(scores). Differences are paired by item. Side effects, such as more flips, are measured on the same
items (side_effects.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import intervals, row_selection
from metrics.estimation.contrasts import paired_contrasts
from metrics.estimation.measures import GroupedFrame
from metrics.labels.compared_points import NEAR_LABEL, RIGHT_BY_LABEL
from metrics.remedies import known_winners, remedy_study, rule_sets, rule_table
from metrics.summary.alignment import side_effects
from studies.domain import Estimate
from studies.frames.point_columns import GOLD_COLUMN, pass_fail_mask
from studies.people.study_labels import PAIRS, PASS_FAIL, LabelKind

NO_REPLIES: Final = "fewer than half of its comparisons have usable replies in both orders"
NO_VERDICTS: Final = "fewer than half of the labelled answers have usable replies"
MIN_COMPLETE: Final = 0.5
"""Share of the labelled answers on which a prompt needs usable verdicts to be compared."""
Status = Literal["today", "gains", "adds bias", "loses", "not shown", "no replies"]


@dataclass(frozen=True)
class CandidateLine:
    """One line of the table: a prompt on the hold-out.

    `difference` is the agreement minus that of today's prompt, with an interval that holds for all
    candidates and looks (comparisons on the hold-out) at once; None for today's prompt. `effects`
    is key of a side effect -> value, `changes` key of a side effect or of a twin's effect -> change
    from today.
    """

    prompt: str
    status: Status
    agreement: Estimate
    difference: Estimate | None
    effects: Mapping[str, Estimate]
    changes: Mapping[str, side_effects.EffectChange] = field(default_factory=dict)

    @property
    def worsened_effects(self) -> tuple[str, ...]:
        """Keys of the side effects that became significantly worse."""
        return tuple(key for key, one in self.changes.items() if one.sign > 0)

    @property
    def improved_effects(self) -> tuple[str, ...]:
        """Keys of the side effects that became significantly better."""
        return tuple(key for key, one in self.changes.items() if one.sign < 0)


@dataclass(frozen=True)
class CandidateTable:
    """Today's prompt and its candidates on the same hold-out cases (comparisons or single answers
    with a known right verdict). `items` is the number of items on which all of them, except those
    with too few, have usable replies; `looks` is the number of comparisons on the hold-out so far.
    """

    judge: str
    today: CandidateLine
    candidates: tuple[CandidateLine, ...]
    items: int
    looks: int
    kind: LabelKind = "pairs"
    effects: tuple[side_effects.SideEffect, ...] = ()
    """Side effects that apply to verdicts of this kind."""

    @property
    def lines(self) -> tuple[CandidateLine, ...]:
        """All lines, today's prompt first."""
        return (self.today, *self.candidates)


@dataclass(frozen=True)
class _Agreements:
    """Agreement of each prompt on the items that all have, and the difference of each candidate to
    today's prompt, adjusted for all candidates."""

    items: int
    values: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


def compare_candidates(
    frame: pd.DataFrame,
    judge: str,
    today: str,
    candidates: Sequence[str],
    looks: int = 1,
    twins: pd.DataFrame | None = None,
) -> CandidateTable | None:
    """Compare candidates with today's prompt on the hold-out cases (labelled comparisons or single
    answers) of a frame; None if today's prompt has too few usable verdicts, or if the prompts have
    no case in common. `twins` has the verdicts on twins of the same items.

    The intervals of the differences are adjusted for all candidates (max-t) and for `looks`, the
    number of comparisons on the hold-out so far (Bonferroni).
    """
    own = row_selection.select_rows(
        frame, (frame["judge"].astype(str) == judge) & frame["prompt"].isin([today, *candidates])
    )
    kind = side_effects.verdict_kind_of(own)
    find = _pair_agreements if kind == PAIRS else _answer_agreements
    found = find(own, judge, today, candidates)
    if found is None:
        return None
    effects = side_effects.side_effect_measures(kind, own)
    values = side_effects.side_effect_estimates(own, effects, (today, *candidates))
    present = list(found.differences)
    changes = side_effects.effect_changes(own, twins, judge, today, present, effects, looks)
    lines = [
        _build_candidate_line(name, found, values[name], changes.get(name, {}), looks, kind)
        for name in candidates
    ]
    first = CandidateLine(today, "today", found.values[today], None, values[today])
    return CandidateTable(judge, first, tuple(lines), found.items, max(looks, 1), kind, effects)


def _pair_agreements(
    rows: pd.DataFrame, judge: str, today: str, candidates: Sequence[str]
) -> _Agreements | None:
    """Estimate the agreement of one call with the recorded better answers, by prompt, on the
    comparisons that all these prompts have in both orders. Candidates with too few of them are
    left out; None if today's prompt has too few, or if no comparison remains."""
    study = remedy_study.build_remedy_study(rows, (judge,), known_winners.DESIGN)
    raters = {prompt: rater for rater, (_, prompt) in enumerate(study.raters)}
    if today not in raters or not study.grid.size:
        return None
    present = [today, *(name for name in candidates if name in raters)]
    rules = [rule_sets.one_call_rule(study.grid, raters[name]) for name in present]
    lines = rule_table.estimate_rules(study.grid, rules, np.random.default_rng(side_effects.SEED))
    table = dict(zip(present, lines, strict=True))
    differences = {name: one.adjusted for name, one in table.items() if one.adjusted is not None}
    values = {name: one.agreement for name, one in table.items()}
    return _Agreements(study.grid.item_codes[1], values, differences)


def _answer_agreements(
    own: pd.DataFrame, judge: str, today: str, candidates: Sequence[str]
) -> _Agreements | None:
    """Estimate the agreement with labels, by prompt, on the answers that all prompts have a usable
    verdict on. Candidates with too few usable verdicts (MIN_COMPLETE) are left out; None if today's
    prompt has too few, or if no answer remains."""
    measure = RIGHT_BY_LABEL if pass_fail_mask(own).any() else NEAR_LABEL
    rows = side_effects.verdicts_on_labelled_answers(GroupedFrame(own))
    answer, answers = row_selection.group_codes(rows, ("item", "first"))
    prompt = rows["prompt"].astype(str).to_numpy()
    read = {
        name: np.bincount(answer[prompt == name], minlength=answers) > 0
        for name in (today, *candidates)
    }
    least = MIN_COMPLETE * _count_labelled_answers(own)
    present = [name for name, has in read.items() if has.any() and has.sum() >= least]
    if today not in present:
        return None
    common = np.logical_and.reduce([read[name] for name in present])
    rows = row_selection.select_rows(rows, common[answer] & np.isin(prompt, present))
    values = {key[0]: one for key, one in measure.by_cell(GroupedFrame(rows, ["prompt"])).items()}
    pairs = [((name,), (today,)) for name in present if name != today]
    if not len(rows):
        return None
    rng = np.random.default_rng(side_effects.SEED)
    contrasts = paired_contrasts(rows, ["prompt"], [measure], rng, pairs)
    items = len(np.unique(row_selection.item_codes(rows)))
    return _Agreements(items, values, {one.left[0]: one.adjusted for one in contrasts})


def _count_labelled_answers(own: pd.DataFrame) -> int:
    """Number of labelled answers that were asked about, with or without a usable verdict."""
    known = own[GOLD_COLUMN].notna().to_numpy() if GOLD_COLUMN in own else np.zeros(len(own), bool)
    rows = row_selection.select_rows(own, known)
    return row_selection.group_codes(rows, ("item", "first"))[1]


def _build_candidate_line(
    name: str,
    agreements: _Agreements,
    effects: Mapping[str, Estimate],
    changes: Mapping[str, side_effects.EffectChange],
    looks: int,
    kind: LabelKind,
) -> CandidateLine:
    """Return the table line of the candidate `name`: its agreement minus that of today's prompt,
    with an interval widened for `looks` (the number of comparisons on the hold-out so far), and the
    status that follows from this difference and from the `changes` of side effects. A candidate
    with too few usable replies has estimates without a value and the status "no replies"."""
    if name not in agreements.differences:
        unknown = intervals.unknown_estimate(NO_REPLIES if kind == PAIRS else NO_VERDICTS, "share")
        return CandidateLine(name, "no replies", unknown, unknown, effects, changes)
    difference = side_effects.widen_for_looks(agreements.differences[name], looks)
    line = CandidateLine(name, "not shown", agreements.values[name], difference, effects, changes)
    low, high = difference.low, difference.high
    status: Status = "not shown"
    if high is not None and high < 0:
        status = "loses"
    elif line.worsened_effects:
        status = "adds bias"
    elif low is not None and low > 0:
        status = "gains"
    return CandidateLine(name, status, agreements.values[name], difference, effects, changes)


def agreement_text(kind: LabelKind) -> str:
    """Words for the agreement that a table shows, by the kind of verdicts."""
    if kind == PAIRS:
        return "agreement"
    return "agreement with labels" if kind == PASS_FAIL else "scores within one step of the label"
