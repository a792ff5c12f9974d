"""Ranking of models by verdicts on single answers: pass rate (observed and true) or mean score.

Differences between observed values are paired by item. A model's rank is a range: the ranks that
the intervals of all differences allow, adjusted together (Bonferroni).
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation.intervals import NO_COMMON_NOTE, join_notes, unknown_estimate
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.labels import label_sections, option_order
from metrics.labels.pass_fail import UNKNOWN, PassFailRows, labelled_pass_rate, pass_fail_rates
from metrics.labels.point_table import answer_verdicts, table_scale
from metrics.labels.true_pass_rate import (
    BY_LABELS,
    corrected_pass_rate,
    is_by_labels,
    pooled_pass_rate,
    true_pass_rate,
    why_not_correctable,
)
from studies.domain import Estimate, Rater
from studies.frames.point_columns import pass_fail_mask

Basis = Literal["pass rate by the labels", "true pass rate", "observed pass rate", "mean score"]
OWN_LABELS_NOTE: Final = "corrected with this model's own labels, as the judge errs differently"
SHARED_NOTE: Final = "corrected with the labels of all models"
MOVER_METHOD: Final = "difference of two estimates, from their limits"


@dataclass(frozen=True, slots=True)
class RankedModel:
    """One model in a ranking by verdicts on single answers."""

    name: str
    value: Estimate
    """Observed pass rate, or mean score."""
    true_rate: Estimate | None
    """Pass rate corrected for the judge's errors; None for scores."""
    lead: Estimate | None
    """Lead of the first model over this one, in the value by which models are ranked
    (`PointRanking.basis`); None for the first model."""
    ranks: tuple[int, int]
    """Best and worst rank that the intervals of all differences allow."""


@dataclass(frozen=True, slots=True)
class PointRanking:
    """Models ranked by one judge with one prompt, the best first."""

    basis: Basis
    models: tuple[RankedModel, ...]
    may_reverse_ranking: bool = False
    """Whether the judge's error rates differ significantly between models; each model's pass rate
    is then corrected with its own labels only."""

    @property
    def is_by_labels(self) -> bool:
        """Whether the models are ranked by the labels alone, as all answers have one."""
        return self.basis == BY_LABELS


def model_rankings_by_rater(frame: pd.DataFrame) -> dict[Rater, PointRanking]:
    """Return (judge, prompt) -> ranking of the models, by pass rate or by mean score, for judges
    and prompts with usable verdicts on single answers. Empty without such verdicts."""
    if not (frame["options"] == 1).any():
        return {}
    table = answer_verdicts(frame)
    table = table[~table["noise"]]
    passing = label_sections.pass_fail_results(frame) if pass_fail_mask(frame).any() else {}
    found: dict[Rater, PointRanking] = {}
    for rater, own in option_order.rows_by_rater(table):
        if rater in passing:
            rows = label_sections.pass_fail_rows_by_contestant(frame, rater)
            found[rater] = _rank_models_by_pass_rate(own, rows, passing[rater])
        else:
            found[rater] = _rank_models_by_mean_score(own)
    return found


def _rank_models_by_mean_score(rows: pd.DataFrame) -> PointRanking:
    scale = table_scale(rows)
    values = {
        str(who): scale.mean_score(part["score"].to_numpy(np.float64), part["item"].to_numpy())
        for who, part in rows.groupby("who", sort=True)
    }
    gaps = _score_gaps(rows, list(values))
    return PointRanking("mean score", _rank_models(values, values, gaps))


def _rank_models_by_pass_rate(
    table: pd.DataFrame, rows: Mapping[str, PassFailRows], overall: label_sections.PassFailResult
) -> PointRanking:
    """Rank the models of one judge and prompt by true pass rate, or by observed pass rate if a true
    rate is unknown. `table` has its rows of `answer_verdicts`, `rows` its verdicts by model,
    `overall` the results for all models together."""
    rates = {who: pass_fail_rates(one) for who, one in rows.items() if len(one.usable.verdict)}
    observed = {who: one.observed_pass_rate for who, one in rates.items()}
    if overall.may_reverse_ranking:
        true = {
            who: one if is_by_labels(one) else _append_note_if_known(one, OWN_LABELS_NOTE)
            for who, one in ((who, true_pass_rate(rows[who], rates[who])) for who in rates)
        }
    else:
        true = _true_pass_rates_with_pooled_labels({who: rows[who] for who in rates}, overall)
    if all(one.value is not None for one in true.values()):
        gaps = {pair: _gap_of_rates(true[pair[0]], true[pair[1]]) for pair in _pairs_of_names(true)}
        models = _rank_models(true, observed, gaps, true)
        basis: Basis = BY_LABELS if all(map(is_by_labels, true.values())) else "true pass rate"
        return PointRanking(basis, models, overall.may_reverse_ranking)
    gaps = _score_gaps(table, list(observed))
    gaps = {pair: replace(gap, unit="share") for pair, gap in gaps.items()}
    models = _rank_models(observed, observed, gaps, true)
    return PointRanking("observed pass rate", models, overall.may_reverse_ranking)


def _true_pass_rates_with_pooled_labels(
    rows: Mapping[str, PassFailRows], overall: label_sections.PassFailResult
) -> dict[str, Estimate]:
    """Return model -> true pass rate, with the judge's errors estimated on the labels of all models
    together."""
    reason = why_not_correctable(overall.rates)
    labelled = [one.labelled for one in rows.values()]
    together = PassFailRows(
        *(np.concatenate([getattr(one, name) for one in labelled])
          for name in ("verdict", "label", "item", "answer"))
    )  # fmt: skip
    return {who: _true_pass_rate_of_model(one, together, reason) for who, one in rows.items()}


def _true_pass_rate_of_model(rows: PassFailRows, labelled: PassFailRows, reason: str) -> Estimate:
    """Estimate the true pass rate of one model. A labelled answer counts by its label; verdicts on
    other answers are corrected for the judge's errors, which are estimated on `labelled`. `reason`
    is empty or says why no correction is possible: there is then a value only if every answer has a
    label."""
    unlabelled = rows.usable.select(rows.usable.label == UNKNOWN)
    if not len(unlabelled.verdict):
        return labelled_pass_rate(rows)
    if reason:
        return unknown_estimate(reason)
    corrected = corrected_pass_rate(unlabelled, labelled)
    if (rows.label == UNKNOWN).all():
        return _append_note_if_known(corrected, SHARED_NOTE)
    return _append_note_if_known(pooled_pass_rate(rows, corrected), SHARED_NOTE)


def _append_note_if_known(estimate: Estimate, note: str) -> Estimate:
    if estimate.value is None:
        return estimate
    return replace(estimate, note=join_notes(estimate.note, note))


# ------------------------------------------------------------------ differences and ranks

Gaps = dict[tuple[str, str], Estimate]
"""Two models, in alphabetical order -> value of the first minus value of the second."""


def _pairs_of_names(names: Sequence[str] | Mapping[str, Any]) -> list[tuple[str, str]]:
    return list(itertools.combinations(sorted(names), 2))


def _score_gaps(rows: pd.DataFrame, names: Sequence[str]) -> Gaps:
    """Estimate, for every two models, the difference of their mean scores on the items for which
    both have a score; an estimate without a value if there is no such item."""
    means = rows.groupby(["item", "entry", "who"])["score"].mean().unstack("who")
    item = means.index.get_level_values("item").to_numpy()
    scale = table_scale(rows)
    found: Gaps = {}
    for one, other in _pairs_of_names(names):
        first, second = means[one].to_numpy(np.float64), means[other].to_numpy(np.float64)
        both = np.isfinite(first) & np.isfinite(second)
        gap = (first - second)[both]
        found[one, other] = (
            scale.mean_difference(gap, item[both])
            if both.any()
            else unknown_estimate(NO_COMMON_NOTE, "score")
        )
    return found


def _gap_of_rates(first: Estimate, second: Estimate) -> Estimate:
    """Estimate the difference of two corrected rates, unknown if one of them is; the squared
    distances to their limits add up (Donner and Zou 2012).

    Items and labels that both rates share are ignored, so the interval is rather too wide.
    """
    if first.value is None or second.value is None:
        return unknown_estimate("no corrected pass rate")
    value = first.value - second.value
    limits = (first.low, first.high, second.low, second.high)
    if any(limit is None for limit in limits):
        return Estimate(
            value, None, None, first.n + second.n, min(first.items, second.items), "share"
        )
    low_one, high_one, low_other, high_other = (float(limit or 0.0) for limit in limits)
    low = value - math.hypot(first.value - low_one, high_other - second.value)
    high = value + math.hypot(high_one - first.value, second.value - low_other)
    items = min(first.items, second.items)
    return Estimate(value, low, high, first.n + second.n, items, "share", 0.95, MOVER_METHOD)


def _rank_models(
    ranked_by: Mapping[str, Estimate],
    values: Mapping[str, Estimate],
    gaps: Gaps,
    true_rates: Mapping[str, Estimate] | None = None,
) -> tuple[RankedModel, ...]:
    """Return the models sorted by the estimates `ranked_by`, the highest first, each with its
    observed value (`values`), its true pass rate (`true_rates`), the lead of the first model over
    it, and its range of ranks. `gaps` are the differences of the estimates `ranked_by`."""
    order = sorted(ranked_by, key=lambda who: (-(ranked_by[who].value or 0.0), who))
    wide = {pair: simultaneous_interval(gap, max(len(gaps), 1)) for pair, gap in gaps.items()}
    return tuple(
        RankedModel(
            who,
            values[who],
            true_rates[who] if true_rates else None,
            _gap_between(gaps, order[0], who) if place else None,
            _rank_range(wide, who, order),
        )
        for place, who in enumerate(order)
    )


def _gap_between(gaps: Gaps, first: str, second: str) -> Estimate:
    """Return the value of model `first` minus the value of model `second`, whichever order `gaps`
    lists them in."""
    if (first, second) in gaps:
        return gaps[first, second]
    found = gaps[second, first]
    low = None if found.high is None else -found.high
    high = None if found.low is None else -found.low
    value = None if found.value is None else -found.value
    return replace(found, value=value, low=low, high=high)


def _rank_range(gaps: Gaps, model: str, models: Sequence[str]) -> tuple[int, int]:
    """Best and worst rank of a model, among `models`, that the intervals of the gaps allow."""
    others = [_gap_between(gaps, other, model) for other in models if other != model]
    better = sum(gap.low is not None and gap.low > 0 for gap in others)
    worse = sum(gap.high is not None and gap.high < 0 for gap in others)
    return 1 + better, len(models) - worse


def point_ranking_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on rankings, as judge -> prompt -> {"basis": value by which
    models are ranked, "errors_differ": whether error rates differ between models, "models": model
    -> values, the best first}.

    Judges and prompts with verdicts on one model only are left out.
    """
    nested: dict[str, Any] = {}
    for (judge, prompt), found in model_rankings_by_rater(frame).items():
        if len(found.models) > 1:
            nested.setdefault(judge, {})[prompt] = {
                "basis": found.basis,
                "errors_differ": found.may_reverse_ranking,
                "models": {one.name: _ranked_model_as_json(one) for one in found.models},
            }
    return nested


def _ranked_model_as_json(model: RankedModel) -> dict[str, Any]:
    values: dict[str, Any] = {"value": model.value, "ranks": list(model.ranks)}
    if model.true_rate is not None:
        values["true_pass_rate"] = model.true_rate
    if model.lead is not None:
        values["behind_first"] = model.lead
    return values
