"""Scores of single answers in a filtered study, computed once for all panels of the view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import share_in_drawing
from metrics.labels.criteria_order import CriteriaOrder, criteria_order_effects
from metrics.labels.labelled_rows import score_cells
from metrics.labels.option_order import Cell, OptionOrder, option_order_effects
from metrics.labels.reliability import ReliabilityPoint, reliability_curves
from metrics.labels.score_agreement import ScoreAgreement, score_agreement
from metrics.labels.score_contradictions import ScoreContradictions, score_contradictions
from metrics.labels.score_distribution import ScoreDistribution, score_distributions
from studies.frames.point_columns import GOLD_COLUMN, arrangement_of, pass_fail_rows


@dataclass(frozen=True, slots=True)
class ScoresView:
    """Results by judge and prompt; the panels show the combination with the most arrangements, then
    the most verdicts."""

    distributions: dict[Cell, ScoreDistribution]
    order: dict[Cell, OptionOrder]
    criteria: dict[Cell, CriteriaOrder]
    agreement: dict[Cell, ScoreAgreement]
    expected: dict[Cell, ScoreAgreement]
    """Agreement of expected scores, where the judge gave probabilities."""
    reliability: dict[Cell, tuple[ReliabilityPoint, ...]]
    contradictions: dict[str, ScoreContradictions]
    unusable: dict[Cell, int]

    @property
    def cell(self) -> Cell | None:
        sizes = {
            cell: (len(one.arrangements), one.mean.n) for cell, one in self.distributions.items()
        }
        return max(sizes, key=lambda cell: sizes[cell]) if sizes else None

    @property
    def shown(self) -> ScoreDistribution | None:
        return self.distributions[self.cell] if self.cell else None


@share_in_drawing
def load_scores(filtered: FilteredStudy) -> ScoresView:
    """Compute the results on scores of the judges in a filtered study."""
    machines = filtered.machines
    rows = machines.loc[score_rows(machines)]
    cells = score_cells(rows)
    labelled = {cell: one for cell, one in cells.items() if np.isfinite(one.label).any()}
    pairs = (machines["options"] == 2).to_numpy() | score_rows(machines)
    return ScoresView(
        score_distributions(rows),
        option_order_effects(rows),
        criteria_order_effects(rows),
        {cell: score_agreement(o.score, o.label, o.item) for cell, o in labelled.items()},
        {
            cell: score_agreement(one.expected, one.label, one.item)
            for cell, one in labelled.items()
            if np.isfinite(one.expected).any()
        },
        reliability_curves(rows),
        score_contradictions(machines.loc[pairs]),
        {cell: int(np.isnan(one.score).sum()) for cell, one in cells.items()},
    )


def score_rows(frame: pd.DataFrame) -> np.ndarray:
    """Mask of the scores on a declared scale, and of scores with labels; ratings of a published
    protocol without labels are shown in its own view."""
    single = (frame["options"] == 1).to_numpy() & ~pass_fail_rows(frame)
    labels = frame["labels"].cat
    many = np.asarray([len(arrangement_of(name).options) > 1 for name in labels.categories], bool)
    declared = many[labels.codes.to_numpy()] if len(many) else np.zeros(len(frame), bool)
    labelled = GOLD_COLUMN in frame and bool(frame.loc[single, GOLD_COLUMN].notna().any())
    return np.asarray(single & (declared | labelled))


def has_scores(filtered: FilteredStudy) -> bool:
    """Whether the study has any scores of single answers that this view shows."""
    return bool(score_rows(filtered.unfiltered_frame).any())


def has_only_points(filtered: FilteredStudy) -> bool:
    """Whether all judgements of the study are pass/fail verdicts or scores of this view, so that it
    contains no comparison of answers."""
    frame = filtered.unfiltered_frame
    return len(frame) > 0 and bool((pass_fail_rows(frame) | score_rows(frame)).all())
