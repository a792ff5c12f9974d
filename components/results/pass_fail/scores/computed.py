"""Scores of single answers in a filtered study, computed once for all panels of the view."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import cache_in_filtered_study
from judges.rendering.prompt import parse_prompt
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT
from metrics.labels.criterion_agreement import criterion_agreement
from metrics.labels.labelled_rows import score_rows_by_rater
from metrics.labels.option_order import OptionOrder, option_order_effects
from metrics.labels.reliability import ReliabilityPoint, reliability_curves
from metrics.labels.scores import score_distribution
from metrics.labels.scores.criteria_order import CriteriaOrder, criteria_order_effects
from metrics.labels.scores.score_agreement import ScoreAgreement, score_agreement
from metrics.labels.scores.score_contradictions import ScoreContradictions, score_contradictions
from studies.domain import Estimate, Rater
from studies.frames.point_columns import GOLD_COLUMN, arrangement_of, pass_fail_mask


@dataclass(frozen=True, slots=True)
class ScoreResults:
    """Results on scores of single answers by judge and prompt. Most panels show only one judge and
    prompt: one for which an effect of an order is shown, if there is any; among several, the one
    with the most arrangements (orders of options and criteria in its prompt), and among equals in
    this, the one with the most verdicts."""

    distributions: dict[Rater, score_distribution.ScoreDistribution]
    order: dict[Rater, OptionOrder]
    criteria: dict[Rater, CriteriaOrder]
    agreement: dict[Rater, ScoreAgreement]
    bias_by_model: dict[Rater, dict[str, Estimate]]
    """Mean of score − label on each model's answers; empty if only one model has labels."""
    expected: dict[Rater, ScoreAgreement]
    """Agreement of expected scores with labels, for judges that gave probabilities."""
    reliability: dict[Rater, tuple[ReliabilityPoint, ...]]
    contradictions: dict[str, ScoreContradictions]
    by_criterion: dict[Rater, dict[str, ScoreAgreement]]
    """Agreement of the judge's level on each criterion with people's levels, if people filled in
    the rubric."""
    unusable: dict[Rater, int]
    repeats: dict[Rater, score_distribution.PointRepeats]

    @property
    def shown_rater(self) -> Rater | None:
        """The judge and prompt that most panels show; None without scores."""
        effects = self.order, self.criteria
        sizes = {
            rater: (
                any(rater in effect and effect[rater].is_shown for effect in effects),
                len(one.arrangements),
                one.mean.n,
            )
            for rater, one in self.distributions.items()
        }
        return max(sizes, key=lambda rater: sizes[rater]) if sizes else None

    @property
    def distribution(self) -> score_distribution.ScoreDistribution | None:
        """Distribution of the scores of `shown_rater`; None without scores."""
        return self.distributions[self.shown_rater] if self.shown_rater else None


@cache_in_filtered_study
def load_scores(filtered: FilteredStudy) -> ScoreResults:
    machines = filtered.measured_judge_rows
    rows = machines.loc[scores_in_agreement_view_mask(machines)]
    raters = score_rows_by_rater(rows)
    labelled = {rater: one for rater, one in raters.items() if np.isfinite(one.label).any()}
    pairs = (machines["options"] == 2).to_numpy() | scores_in_agreement_view_mask(machines)
    return ScoreResults(
        score_distribution.score_distributions(rows),
        option_order_effects(rows),
        criteria_order_effects(rows),
        {at: score_agreement(o.score, o.label, o.item, o.scale) for at, o in labelled.items()},
        {rater: one.bias_by_contestant() for rater, one in labelled.items()},
        {
            rater: score_agreement(one.expected, one.label, one.item, one.scale)
            for rater, one in labelled.items()
            if np.isfinite(one.expected).any()
        },
        reliability_curves(rows),
        score_contradictions(machines.loc[pairs]),
        criterion_agreement(rows),
        {rater: int(np.isnan(one.score).sum()) for rater, one in raters.items()},
        score_distribution.repeat_variation(rows),
    )


def scores_in_agreement_view_mask(frame: pd.DataFrame) -> np.ndarray:
    """Mask of the rows with scores of single answers that the view Agreement shows. If any row with
    such a score has a label, these are all rows with such scores; otherwise only those whose prompt
    lists the options of a scale. The view Paper shows the others."""
    single = (frame["options"] == 1).to_numpy() & ~pass_fail_mask(frame)
    labels = frame["labels"].cat
    many = np.asarray([len(arrangement_of(name).options) > 1 for name in labels.categories], bool)
    declared = many[labels.codes.to_numpy()] if len(many) else np.zeros(len(frame), bool)
    labelled = GOLD_COLUMN in frame and bool(frame.loc[single, GOLD_COLUMN].notna().any())
    return np.asarray(single & (declared | labelled))


@dataclass(frozen=True, slots=True)
class VerdictKinds:
    """Kinds of verdicts in a study: whether it has pass/fail verdicts, whether it has scores of
    single answers (as in `scores_in_agreement_view_mask`), and whether all its verdicts are of
    these two kinds (`only_points`). A study without verdicts has the kinds that its prompts ask
    for."""

    pass_fail: bool
    scores: bool
    only_points: bool


@cache_in_filtered_study
def verdict_kinds(filtered: FilteredStudy) -> VerdictKinds:
    """Return the kinds of verdicts of a study; without verdicts, those that its plan asks for."""
    frame = filtered.unfiltered_frame
    if len(frame):
        passes, scores = pass_fail_mask(frame), scores_in_agreement_view_mask(frame)
        return VerdictKinds(bool(passes.any()), bool(scores.any()), bool((passes | scores).all()))
    texts = filtered.store.planned_prompt_texts(filtered.name)
    prompts = [parse_prompt(text, filtered.name) for text in texts]
    points = [prompt for prompt in prompts if prompt.options]
    passing = [prompt for prompt in points if prompt.verdict == PASS_FAIL_FORMAT]
    only = bool(points) and len(points) == len(prompts)
    return VerdictKinds(bool(passing), len(points) > len(passing), only)


def has_comparisons(filtered: FilteredStudy) -> bool:
    """Whether the study compares answers; False if its verdicts (without verdicts, its plan) are on
    single answers only."""
    return not verdict_kinds(filtered).only_points


def has_only_single_answers(filtered: FilteredStudy) -> bool:
    """Whether the study has judgements, and all of them are pass/fail verdicts or scores of single
    answers."""
    return len(filtered.unfiltered_frame) > 0 and verdict_kinds(filtered).only_points


def compares_only_many_options(filtered: FilteredStudy) -> bool:
    """Whether all comparisons of the study are among three or more answers. Such a study has win
    rates, but no ratings."""
    options = filtered.unfiltered_frame["options"]
    return bool((options > 2).any()) and not bool((options == 2).any())


def can_have_ratings(filtered: FilteredStudy) -> bool:
    """Whether ratings and Elo curves are not ruled out: False if the study has comparisons, all of
    three or more answers."""
    return not compares_only_many_options(filtered)
