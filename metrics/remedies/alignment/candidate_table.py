"""Candidates for a better prompt, compared with today's prompt on the hold-out items.

A candidate is today's prompt with one more block of text. Agreement is the half credit of one call
against the known better answer, the mean of both orders; differences are paired by item. What else
changes is measured on the same items: flips, first position, length, unusable replies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.all_measures import estimate_all
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.intervals import unknown_estimate
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.position.position_measures import CONFLICT, FIRST_SHARE
from metrics.remedies.known_winners import DESIGN
from metrics.remedies.remedy_study import study_remedies
from metrics.remedies.rule_sets import single_rule
from metrics.remedies.rule_table import RuleEstimate, estimate_rules
from studies.domain import Estimate

SEED: Final = 7
NO_REPLIES: Final = "fewer than half of its comparisons have usable replies in both orders"
Status = Literal["today", "gains", "adds bias", "loses", "not shown", "no replies"]


def _length_tally(evidence: GroupedFrame) -> MeasureTally:
    """Verdicts for the longer answer minus known answers that are the longer one."""
    rows = row_selection.select_pairs(evidence.comparable_picks)
    if len(rows) == 0 or "length_0" not in rows:
        return build_tally(rows.iloc[:0], 0, 0)
    gap = rows["length_0"].to_numpy(np.int64) - rows["length_1"].to_numpy(np.int64)
    pick, truth = rows["pick"].to_numpy(), rows["truth"].to_numpy()
    counted = (pick >= 0) & (truth >= 0) & (gap != 0) & (rows["length_0"] >= 0).to_numpy()
    longer = np.where(gap > 0, 0, 1)
    return build_tally(rows, counted * ((pick == longer) * 1.0 - (truth == longer)), counted)


def _unusable_tally(evidence: GroupedFrame) -> MeasureTally:
    frame = evidence.frame
    rows = row_selection.select_rows(frame, ~frame["noise"].to_numpy(np.bool_))
    return build_tally(rows, ~row_selection.evidence_mask(rows), 1)


LENGTH_EXCESS: Final = Measure(
    "length_excess", "difference of shares", _length_tally, "mean", (-1.0, 1.0),
    empty="no answers of different length",
)  # fmt: skip
UNUSABLE: Final = Measure("unusable", "share", _unusable_tally, empty="no calls")


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A measure besides agreement that a candidate should not worsen: its key in the JSON, its
    name, its estimator, and its value without bias (None: lower is better)."""

    key: str
    name: str
    measure: Measure
    neutral: float | None = None


SIDE_EFFECTS: Final = (
    SideEffect("flips", "flips", CONFLICT),
    SideEffect("first_share", "first position", FIRST_SHARE, 0.5),
    SideEffect("length_excess", "length", LENGTH_EXCESS, 0.0),
    SideEffect("unusable", "unusable replies", UNUSABLE),
)


@dataclass(frozen=True)
class CandidateLine:
    """One line of the table: a prompt on the hold-out.

    `difference` is the agreement minus that of today's prompt, with an interval that holds for all
    candidates and looks at once; None for today's prompt. `effects` is key of a side effect ->
    value, `changes` the same -> difference to today; `worse` and `better` have the keys of those
    that changed significantly.
    """

    prompt: str
    status: Status
    agreement: Estimate
    difference: Estimate | None
    effects: Mapping[str, Estimate]
    changes: Mapping[str, Estimate]
    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()


@dataclass(frozen=True)
class CandidateTable:
    """Today's prompt and its candidates on the same hold-out comparisons. `items` is the number of
    items on which all of them have usable replies, `looks` the number of looks so far."""

    judge: str
    today: CandidateLine
    candidates: tuple[CandidateLine, ...]
    items: int
    looks: int

    @property
    def lines(self) -> tuple[CandidateLine, ...]:
        """All lines, today's prompt first."""
        return (self.today, *self.candidates)


def compare_candidates(
    frame: pd.DataFrame, judge: str, today: str, candidates: Sequence[str], looks: int = 1
) -> CandidateTable | None:
    """Compare candidates with today's prompt on the hold-out comparisons of a frame; None if
    today's prompt has no usable verdicts in both orders.

    The intervals of the differences are adjusted for all candidates (max-t) and for the number of
    looks at the hold-out (Bonferroni).
    """
    own = row_selection.select_rows(
        frame, (frame["judge"].astype(str) == judge) & frame["prompt"].isin([today, *candidates])
    )
    study = study_remedies(own, (judge,), DESIGN)
    cells = {prompt: cell for cell, (_, prompt) in enumerate(study.cells)}
    if today not in cells or not study.grid.size:
        return None
    present = [name for name in candidates if name in cells]
    rng = np.random.default_rng(SEED)
    rules = [single_rule(study.grid, cells[name]) for name in (today, *present)]
    table = dict(zip((today, *present), estimate_rules(study.grid, rules, rng), strict=True))
    found = estimate_all([one.measure for one in SIDE_EFFECTS], own, ["prompt"])
    values = {
        name: {
            one.key: found[one.measure.name].get((name,), unknown_estimate("no verdicts"))
            for one in SIDE_EFFECTS
        }
        for name in (today, *candidates)
    }
    changes = _changes(own, today, present, looks)
    lines = [
        _line(name, table.get(name), values[today], values[name], changes.get(name, {}), looks)
        for name in candidates
    ]
    first = CandidateLine(today, "today", table[today].agreement, None, values[today], {})
    items = study.grid.item_codes[1]
    return CandidateTable(judge, first, tuple(lines), items, max(looks, 1))


def _changes(
    frame: pd.DataFrame, today: str, present: Sequence[str], looks: int
) -> dict[str, dict[str, Estimate]]:
    """Return candidate -> key of a side effect -> difference to today, adjusted as one family."""
    if not present:
        return {}
    pairs = [((name,), (today,)) for name in present]
    rng = np.random.default_rng(SEED)
    found: dict[str, dict[str, Estimate]] = {name: {} for name in present}
    contrasts: list[Contrast] = paired_contrasts(
        frame, ["prompt"], [one.measure for one in SIDE_EFFECTS], rng, pairs
    )
    keys = {one.measure.name: one.key for one in SIDE_EFFECTS}
    for one in contrasts:
        found[one.left[0]][keys[one.measure]] = _for_looks(one.adjusted, looks)
    return found


def _for_looks(adjusted: Estimate, looks: int) -> Estimate:
    """Widen an interval for the number of looks (Bonferroni)."""
    return adjusted if looks <= 1 else simultaneous_interval(adjusted, looks, bounds=(-1.0, 1.0))


def _line(
    name: str,
    line: RuleEstimate | None,
    before: Mapping[str, Estimate],
    after: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
    looks: int,
) -> CandidateLine:
    if line is None or line.adjusted is None:
        unknown = unknown_estimate(NO_REPLIES, "share")
        return CandidateLine(name, "no replies", unknown, unknown, after, changes)
    difference = _for_looks(line.adjusted, looks)
    signs = {one.key: _sign(one, before, after, changes) for one in SIDE_EFFECTS}
    worse = tuple(key for key, sign in signs.items() if sign > 0)
    better = tuple(key for key, sign in signs.items() if sign < 0)
    low, high = difference.low, difference.high
    status: Status = "not shown"
    if high is not None and high < 0:
        status = "loses"
    elif worse:
        status = "adds bias"
    elif low is not None and low > 0:
        status = "gains"
    return CandidateLine(name, status, line.agreement, difference, after, changes, worse, better)


def _sign(
    one: SideEffect,
    before: Mapping[str, Estimate],
    after: Mapping[str, Estimate],
    changes: Mapping[str, Estimate],
) -> int:
    """Return 1 if a measure is significantly worse than today, −1 if significantly better, else
    0."""
    change = changes.get(one.key)
    was, now = before[one.key].value, after[one.key].value
    if change is None or change.low is None or change.high is None or was is None or now is None:
        return 0
    if change.low <= 0 <= change.high:
        return 0
    if one.neutral is None:
        return 1 if change.low > 0 else -1
    return 1 if abs(now - one.neutral) > abs(was - one.neutral) else -1
