"""Alignment of judges with people as in Creation-MMBench's table 7, for each model and for all
models.

Computed from single verdicts ("single") and from the mean of both orders of a case ("dual").

A case is a pair of answers to one item.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import frame_stacking, row_selection
from metrics.estimation.intervals import Floats, Ints, paired_difference
from metrics.protocols.creation_alignment import (
    MAX_GAP_WITHIN_ONE,
    RunMode,
    ScoreGaps,
    SignedScores,
)
from studies.domain import Estimate

OVERALL: Final = "overall"
PEOPLE: Final = "people"
ALWAYS_TIE: Final = "always tie"
VOTE_KEY: Final = ["item", "comparison", "judge", "shown", "repeat"]
"""Columns that identify a person's vote; the same vote can occur in several frames."""


@dataclass(frozen=True, slots=True)
class AlignmentRow:
    """Alignment of one judge with people on the cases of one model; the model `overall` stands for
    all models. `run` is "dual" (mean of both orders), "single" (each verdict) or "first" (each
    verdict that shows the baseline first); `sees` is the judge's input, such as "images" (empty if
    there is one frame)."""

    judge: str
    sees: str
    run: RunMode
    model: str
    mae: Estimate
    consistency: Estimate


@dataclass(frozen=True, slots=True)
class AlignmentContrast:
    """Difference of a judge's alignment between two conditions (left − right), on the same cases:
    the mean of both orders and single verdicts, or two inputs of the judge.

    `left` is closer to people if `mae` is below 0, or `consistency` above 0.
    """

    judge: str
    left: str
    right: str
    mae: Estimate
    consistency: Estimate


@dataclass(frozen=True, slots=True)
class AlignmentTable:
    """Alignment with people: of judges (`rows`), of persons with the other people (`people`: each
    person, and all pooled), and of a judge that always answers "equal" (`always_tie`)."""

    rows: list[AlignmentRow]
    people: list[AlignmentRow]
    always_tie: list[AlignmentRow]
    contrasts: list[AlignmentContrast]


def human_alignment_table(
    frames: pd.DataFrame | Mapping[str, pd.DataFrame],
    baseline: str | None = None,
    runs: Sequence[RunMode] = ("dual", "single"),
) -> AlignmentTable:
    """Compute the distance of every judge and person from people's mean scores (−2…2), for each
    model and for all cases: MAE, and the paper's "Consistency", the share of differences of at most
    1. A person is compared with the mean of the other people.

    Several frames are named by the judge's input ({"images": …, "context": …}); people's votes in
    all of them count together. With a baseline (the model that all others are compared with), only
    pairs with it count, and a pair is a case of the other model. `runs`: scores of a judge that are
    compared, as in `AlignmentRow.run`. Contrasts compare the same judge on the same cases: "dual" −
    "single", and one input − another."""
    named = {"": frames} if isinstance(frames, pd.DataFrame) else dict(frames)
    scores = SignedScores(_combine_frames(named, baseline), baseline)
    return AlignmentTable(
        rows=[
            line
            for judge, sees in _judges_and_inputs(scores)
            for run in runs
            for line in _alignment_rows(scores, scores.gaps(judge, run, sees), judge, sees, run)
        ],
        people=list(_people_rows(scores)),
        always_tie=_alignment_rows(scores, scores.always_tie_gaps(), ALWAYS_TIE, "", "single"),
        contrasts=[*_dual_contrasts(scores, runs), *_input_contrasts(scores, list(named))],
    )


def _combine_frames(frames: Mapping[str, pd.DataFrame], baseline: str | None) -> pd.DataFrame:
    """Stack the frames, with the judge's input (the name of the frame) in the column `sees`. A
    person's vote that several frames contain is kept once. With a `baseline`, only pairs that
    contain it are kept."""
    rows = frame_stacking.stack_frames(frames, "sees")
    repeated = row_selection.people_mask(rows) & rows.duplicated(VOTE_KEY).to_numpy()
    rows = row_selection.select_rows(rows, ~repeated)
    if baseline is None:
        return rows
    return row_selection.select_rows(
        rows, (rows["first"] == baseline) | (rows["second"] == baseline)
    )


def _judges_and_inputs(scores: SignedScores) -> list[tuple[str, str]]:
    """List (judge, input) of all judges that are not people."""
    machine = ~scores.human
    sees = scores.rows["sees"].astype(str).to_numpy()
    return sorted(set(zip(scores.judge[machine], sees[machine], strict=True)))


def _cases_by_model(scores: SignedScores) -> dict[str, row_selection.Mask]:
    """Return model -> mask of the cases that contain it, without the baseline; empty if there is
    only one model, or if all cases contain every model."""
    rows = scores.rows.iloc[row_selection.first_row_per_group(scores.case, scores.cases)]
    names = row_selection.contestants(rows) if len(rows) else []
    models = {
        name: ((rows["first"] == name) | (rows["second"] == name)).to_numpy(bool)
        for name in names
        if name != scores.baseline
    }
    alone = len(models) < 2 or all(cases.all() for cases in models.values())
    return {} if alone else models  # otherwise the row of all models has the same cases


def _alignment_rows(
    scores: SignedScores, gaps: ScoreGaps, judge: str, judge_input: str, run: RunMode
) -> list[AlignmentRow]:
    """Return the rows of one judge for each model and for all models, from its differences from
    people."""
    lines = []
    for model, cases in [*_cases_by_model(scores).items(), (OVERALL, np.ones(scores.cases, bool))]:
        own = cases[gaps.case]
        own_gaps = replace(gaps, gap=gaps.gap[own], case=gaps.case[own], item=gaps.item[own])
        got = own_gaps.alignment
        lines.append(AlignmentRow(judge, judge_input, run, model, got.mae, got.consistency))
    return lines


def _people_rows(scores: SignedScores) -> Iterator[AlignmentRow]:
    """Yield the rows of each person against the other people, then of all people pooled."""
    for person in sorted(set(scores.judge[scores.human])):
        yield from _alignment_rows(scores, scores.gaps(person, "single"), person, "", "single")
    yield from _alignment_rows(scores, scores.leave_one_out_gaps(), PEOPLE, "", "single")


def _dual_contrasts(scores: SignedScores, runs: Sequence[RunMode]) -> Iterator[AlignmentContrast]:
    """Yield the contrast dual − single of each judge and input: the distance from people's scores
    if the scores in both orders are averaged ("dual") minus that of single verdicts. None unless
    `runs` has both."""
    if not {"dual", "single"} <= set(runs):
        return
    for judge, sees in _judges_and_inputs(scores):
        a, b = scores.gaps(judge, "dual", sees), scores.gaps(judge, "single", sees)
        yield contrast_of_alignment_with_people(judge, ("dual", "single"), a, b, scores.cases)


def _input_contrasts(scores: SignedScores, inputs: Sequence[str]) -> Iterator[AlignmentContrast]:
    """Yield the contrasts of each judge between two inputs (such as images and descriptions), both
    orders averaged."""
    known = set(_judges_and_inputs(scores))
    for judge in sorted({judge for judge, _ in known}):
        for left, right in combinations(inputs, 2):
            if {(judge, left), (judge, right)} <= known:
                a, b = (scores.gaps(judge, "dual", sees) for sees in (left, right))
                yield contrast_of_alignment_with_people(judge, (left, right), a, b, scores.cases)


def contrast_of_alignment_with_people(
    judge: str, names: tuple[str, str], left: ScoreGaps, right: ScoreGaps, cases: int
) -> AlignmentContrast:
    """Estimate left − right of the mean difference from people's scores and of the share of
    differences of at most 1, each as the mean over the cases that both conditions have. `names` are
    those of the two conditions, `cases` is the number of all cases."""
    (a, a_within, a_item), (b, b_within, _) = (_gaps_by_case(gaps, cases) for gaps in (left, right))
    both = np.isfinite(a) & np.isfinite(b)
    item = a_item[both]
    return AlignmentContrast(
        judge,
        *names,
        mae=paired_difference(a[both], b[both], item, "score", (-left.most, left.most)),
        consistency=paired_difference(a_within[both], b_within[both], item, "share"),
    )


def _gaps_by_case(gaps: ScoreGaps, cases: int) -> tuple[Floats, Floats, Ints]:
    """Return, for each case, the mean absolute difference from people's score, the share of
    differences of at most 1, and the item; both numbers are nan without verdicts."""
    n = np.bincount(gaps.case, minlength=cases)
    total = np.bincount(gaps.case, gaps.gap, minlength=cases)
    within = np.bincount(gaps.case, gaps.gap <= MAX_GAP_WITHIN_ONE, minlength=cases)
    item = np.zeros(cases, np.int64)
    item[gaps.case] = gaps.item
    empty = np.where(n > 0, 1.0, np.nan)
    return total / np.maximum(n, 1) * empty, within / np.maximum(n, 1) * empty, item
