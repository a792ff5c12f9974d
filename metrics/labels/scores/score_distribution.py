"""Distribution of a judge's scores by arrangement (the order in which a prompt lists its options
and criteria), and the scores of repeated calls."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import proportion
from metrics.estimation.score_scale import ScoreScale
from metrics.labels.option_order import rows_by_rater
from metrics.labels.point_table import (
    ANSWER,
    NO_CRITERION,
    answer_verdicts,
    chosen_options,
    table_scale,
)
from studies.domain import Estimate, Rater

MAX_VALUES: Final = 25
"""Number of different values above which the share of each value is not computed."""
_SAME_SCORE: Final = 1e-6
_ARRANGEMENT: Final = ("options", "criteria")


@dataclass(frozen=True, slots=True)
class ArrangementScores:
    """Scores in one arrangement (the order in which the prompt lists options and criteria): their
    mean, and the share of each value."""

    options: str
    criteria: str
    mean: Estimate
    shares: Mapping[float, Estimate]
    """Value -> share of verdicts with this value; in a rubric, the values are the levels of all
    criteria. Empty above MAX_VALUES values."""

    @property
    def name(self) -> str:
        return f"{self.options} · {self.criteria}" if self.criteria else self.options


@dataclass(frozen=True, slots=True)
class ExpectedScores:
    """Score expected from the probabilities of the options (mean over the verdicts that have them),
    and how much a verdict's score varies under these probabilities."""

    mean: Estimate
    spread: Estimate
    """Mean standard deviation of a verdict's score under its probabilities."""


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """Scores of one judge with one prompt, in all and by arrangement (the order in which the prompt
    lists options and criteria)."""

    values: tuple[float, ...]
    """All values that were given, in ascending order; empty above MAX_VALUES."""
    arrangements: tuple[ArrangementScores, ...]
    mean: Estimate
    effective_values: float
    """exp(entropy) of the values: 3 if three values are equally frequent."""
    expected: ExpectedScores | None = None
    """Scores expected from the probabilities of the options; None if no probabilities were read."""
    expected_levels: Mapping[str, ExpectedScores] = field(default_factory=dict)
    """Criterion of a rubric -> its expected level, where probabilities of the levels were read."""

    @property
    def counted(self) -> str:
        """Name of what the shares count: verdicts or, of a rubric, the levels of its criteria."""
        return "levels" if any(one.criteria for one in self.arrangements) else "verdicts"


@dataclass(frozen=True, slots=True)
class PointRepeats:
    """Variation of repeated verdicts on one answer in the same arrangement (order of options and
    criteria)."""

    deviation: Estimate
    """Mean over answers (and arrangements) of the standard deviation of the repeats' scores."""
    several: Estimate
    """Share of answers whose repeats have more than one score."""


def score_distributions(frame: pd.DataFrame) -> dict[Rater, ScoreDistribution]:
    """Return (judge, prompt) -> distribution of scores. Calls repeated only to measure noise are
    left out."""
    if not (frame["options"] == 1).any():
        return {}
    table, chosen = answer_verdicts(frame), chosen_options(frame)
    means = dict(rows_by_rater(table[~table["noise"]]))
    return {
        rater: _build_score_distribution(own, means[rater])
        for rater, own in rows_by_rater(chosen[~chosen["noise"]])
    }


def _build_score_distribution(chosen: pd.DataFrame, table: pd.DataFrame) -> ScoreDistribution:
    """Build the distribution of one judge and prompt. `chosen` has a row per chosen option (in a
    rubric, the level of each criterion; see `chosen_options`) and gives the values and their
    shares; `table` has a row per verdict (see `answer_verdicts`) and gives the mean scores."""
    values = tuple(float(value) for value in np.unique(chosen["score"].to_numpy(np.float64)))
    if len(values) > MAX_VALUES:
        values = ()
    scale = table_scale(table)
    scores = dict(list(table.groupby([*_ARRANGEMENT], sort=True)))
    arrangements = tuple(
        ArrangementScores(
            str(options),
            str(criteria),
            _mean_score(scores[options, criteria], scale),
            {value: _share_with_score(own, value) for value in values},
        )
        for (options, criteria), own in chosen.groupby([*_ARRANGEMENT], sort=True)
    )
    counts = chosen["score"].value_counts(normalize=True).to_numpy()
    effective = math.exp(-float((counts * np.log(counts)).sum()))
    by_criterion = {
        str(name): _expected_scores(own)
        for name, own in chosen[chosen["criterion"] != NO_CRITERION].groupby("criterion", sort=True)
    }
    return ScoreDistribution(
        values,
        arrangements,
        _mean_score(table, scale),
        effective,
        _expected_scores(table),
        {name: one for name, one in by_criterion.items() if one is not None},
    )


def _expected_scores(table: pd.DataFrame) -> ExpectedScores | None:
    rows = table[table["expected"].notna() & table["spread"].notna()]
    if not len(rows):
        return None
    item, scale = rows["item"].to_numpy(), table_scale(rows)
    return ExpectedScores(
        scale.mean_score(rows["expected"].to_numpy(np.float64), item),
        scale.mean_distance(rows["spread"].to_numpy(np.float64), item),
    )


def _mean_score(rows: pd.DataFrame, scale: ScoreScale) -> Estimate:
    return scale.mean_score(rows["score"].to_numpy(np.float64), rows["item"].to_numpy())


def _share_with_score(rows: pd.DataFrame, value: float) -> Estimate:
    equal = np.abs(rows["score"].to_numpy(np.float64) - value) < _SAME_SCORE
    return proportion(equal, rows["item"].to_numpy())


def score_distribution_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on score distributions, as judge -> prompt -> mean, effective
    number of values, expected scores if known, and mean and shares in each arrangement."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in score_distributions(frame).items():
        nested.setdefault(judge, {})[prompt] = {
            "mean": found.mean,
            "effective_values": found.effective_values,
            **(
                {"expected": found.expected.mean, "expected_spread": found.expected.spread}
                if found.expected
                else {}
            ),
            **({"criteria": _expected_values_as_json(found)} if found.expected_levels else {}),
            "arrangements": {
                one.name: {
                    "mean": one.mean,
                    "shares": {f"{value:g}": share for value, share in one.shares.items()},
                }
                for one in found.arrangements
            },
        }
    return nested


def _expected_values_as_json(distribution: ScoreDistribution) -> dict[str, Any]:
    return {
        name: {"expected": one.mean, "expected_spread": one.spread}
        for name, one in distribution.expected_levels.items()
    }


def repeat_variation(frame: pd.DataFrame) -> dict[Rater, PointRepeats]:
    """Return (judge, prompt) -> variation between repeats, for judges and prompts that have
    repeats. Calls repeated only to measure noise are included."""
    if not (frame["options"] == 1).any():
        return {}
    found = {}
    for rater, own in rows_by_rater(answer_verdicts(frame)):
        groups = own.groupby([*ANSWER, *_ARRANGEMENT])["score"]
        several = groups.size() > 1
        if several.any():
            found[rater] = _average_repeat_deviations(groups.std(ddof=1)[several], table_scale(own))
    return found


def _average_repeat_deviations(deviation: pd.Series, scale: ScoreScale) -> PointRepeats:
    items = deviation.index.get_level_values("item").to_numpy()
    values = deviation.to_numpy(np.float64)
    return PointRepeats(scale.mean_distance(values, items), proportion(values > _SAME_SCORE, items))


def repeat_variation_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on repeated verdicts on single answers: judge -> prompt -> mean
    standard deviation of the scores (`deviation`) and share of answers with several scores
    (`several`)."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in repeat_variation(frame).items():
        nested.setdefault(judge, {})[prompt] = {
            "deviation": found.deviation,
            "several": found.several,
        }
    return nested
