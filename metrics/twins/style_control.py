"""Style control: dependence of a judge's ranking of models on length and Markdown, compared with
people's.

A Bradley–Terry model is fitted with the differences of the two answers in four style features. The
model is observational: a coefficient shows that a style goes along with winning, not that it causes
wins. Twins (answers that differ in this feature only) show the causal effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, sum_by_item, unknown_estimate
from metrics.ratings.battles import Battles, extract_battles
from metrics.ratings.bradley_terry import ELO_PER_LOGIT, START_RATING
from metrics.win_rates.length_effects import fit_logit, logit_half_width
from studies.domain import Estimate
from studies.lazy_values import cached_property
from studies.texts.style_features import STYLE_FEATURES, Styles

LEAST_ITEMS: Final = 5
LEAST_OVERLAP: Final = 0.05
"""Smallest share of a style difference's variance within pairs of models: below it the models do
not overlap in style, and style cannot be told from quality."""
LARGEST_COEFFICIENT: Final = 15.0
"""Coefficient in logits above which a fit counts as infinite: one side wins every comparison."""
METHOD: Final = "Bradley–Terry with style differences, sandwich variance by item, no ridge"
NOT_VARIED: Final = "no two compared answers differ in it"
NO_OVERLAP: Final = "the models do not overlap in it: style cannot be told from quality"
NOT_FINITE: Final = "no finite fit: one side wins every comparison"
MAX_BATTLES: Final = 500_000
TOO_MANY: Final = f"more than {MAX_BATTLES:,} verdicts: filter the study"
TOO_FEW_DIFFER: Final = f"the compared answers differ in it on fewer than {LEAST_ITEMS} items"
TOO_FEW: Final = f"fewer than {LEAST_ITEMS} items with the texts of both answers"

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class StyleData:
    """Battles of one judge with the style differences of the two answers."""

    battles: Battles
    styles: Floats
    """[battle, feature]: (a − b)/(a + b) of the first and the second answer; 0 if both are 0."""
    keys: Ints
    """Code of the item and the pair of models of each battle, the same in all parts of a frame."""
    item_codes: Ints
    """Code of the item of each battle, the same in all parts of a frame."""

    @cached_property
    def scale(self) -> Floats:
        """Standard deviation of each style difference; 0 if all differences are equal."""
        spread: Floats = self.styles.std(axis=0) if len(self.styles) else np.zeros(4)
        return spread

    @cached_property
    def model_design(self) -> Floats:
        """Design matrix [battle, model]: +1 for the model of the first, −1 for that of the second
        answer."""
        rows = np.arange(len(self.battles))
        design = np.zeros((len(rows), len(self.battles.names)))
        design[rows, self.battles.first] = 1
        design[rows, self.battles.second] -= 1
        return design

    def unexplained_share(self, feature: int) -> float:
        """Share of the squared style differences in a feature (its index in STYLE_FEATURES) that
        remains if every model has one fixed style. If it is small, the style cannot be told from
        the model."""
        style = self.styles[:, feature]
        fitted = self.model_design @ np.linalg.lstsq(self.model_design, style, rcond=None)[0]
        return float(((style - fitted) ** 2).sum() / max((style**2).sum(), 1e-300))

    def items_that_differ(self, feature: int) -> int:
        """Number of items with two compared answers that differ in a feature."""
        return len(np.unique(self.battles.item[self.styles[:, feature] != 0]))

    def reason_without_weight(self, feature: int) -> str:
        """Return the reason why no coefficient can be fitted for a feature, such as too few items
        whose answers differ in it; empty if one can."""
        if self.scale[feature] < 1e-9:
            return NOT_VARIED
        if self.items_that_differ(feature) < LEAST_ITEMS:
            return TOO_FEW_DIFFER
        return NO_OVERLAP if self.unexplained_share(feature) < LEAST_OVERLAP else ""

    def select(self, keys: Ints) -> StyleData:
        """Return the data of the battles whose entry in `self.keys` (a code of item and pair of
        models) is one of `keys`."""
        mask = np.isin(self.keys, keys)
        one = self.battles
        kept = Battles(
            one.names, one.judges, one.first[mask], one.second[mask], one.outcome[mask],
            one.item[mask], one.judge[mask], one.weight[mask], one.items,
        )  # fmt: skip
        return StyleData(kept, self.styles[mask], self.keys[mask], self.item_codes[mask])


@dataclass(frozen=True, eq=False)
class StyleFit:
    """A fitted model: strengths `beta` of the models (sum zero) and coefficients `gamma` of the
    style features used. `influence` [item, parameter] is the part of a parameter that an item
    contributes: without the item, the parameter is smaller by about this value. `items` has the
    codes of these items."""

    beta: Floats
    gamma: Floats
    influence: Floats
    items: Ints


def extract_style_data(frame: pd.DataFrame, styles: Styles) -> StyleData:
    """Return the battles (judged pairs of answers) whose two answers are in `styles`, each with
    the features of the first answer minus those of the second, relative to their sum. `styles`:
    item -> contestant -> style features of its answer, such as its length."""
    rows = row_selection.select_picks(row_selection.select_pairs(frame))
    items = [str(name) for name in rows["item"].cat.categories]
    names = [str(name) for name in rows["first"].cat.categories]
    counts = np.full((len(items) + 1, len(names) + 1, len(STYLE_FEATURES)), np.nan)
    code_of = {name: code for code, name in enumerate(names)}
    for row, item in enumerate(items):
        for name, found in styles.get(item, {}).items():
            if name in code_of:
                counts[row, code_of[name]] = found
    item_code = rows["item"].cat.codes.to_numpy(np.int64)
    first, second = (rows[side].cat.codes.to_numpy(np.int64) for side in ("first", "second"))
    one, two = counts[item_code, first], counts[item_code, second]
    known = np.isfinite(one[:, 0]) & np.isfinite(two[:, 0]) & (first != second)
    total = np.where(known[:, None], one + two, 0)[known]
    gap = (one - two)[known]
    gap = np.divide(gap, total, out=np.zeros_like(total), where=total > 0)
    low, high = np.minimum(first, second)[known], np.maximum(first, second)[known]
    keys = (item_code[known] * len(names) + low) * len(names) + high
    battles = extract_battles(row_selection.select_rows(rows, known))
    return StyleData(battles, gap, keys, item_code[known])


def fit_style(data: StyleData, features: Sequence[int], scale: Floats | None = None) -> StyleFit:
    """Fit the models' strengths and the coefficients of `features` (indices in STYLE_FEATURES), in
    logits, without a ridge penalty. `scale` divides the style differences (default: their standard
    deviation)."""
    scale = data.scale if scale is None else scale
    names = len(data.battles.names)
    basis = np.eye(names)[:, 1:] - 1 / names  # strengths that sum to zero
    chosen = list(features)
    style = data.styles[:, chosen] / scale[chosen]
    design = np.concatenate([data.model_design @ basis, style], axis=1)
    outcome, item = data.battles.outcome, data.battles.item
    found, _, _ = fit_logit(design, outcome, item, np.zeros(design.shape[1]))
    p = expit(design @ found)
    bread = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)
    codes, scores = sum_by_item(design * (outcome - p)[:, None], item)
    influence = scores @ bread
    strengths = influence[:, : names - 1] @ basis.T
    both = np.concatenate([strengths, influence[:, names - 1 :]], axis=1)
    return StyleFit(basis @ found[: names - 1], found[names - 1 :], both, codes)


def _estimate_from_deviations(
    value: float, deviations: Floats, n: int, unit: str = "logit", items: int = 0
) -> Estimate:
    """Return the estimate of a value with a t interval (`logit_half_width`). `deviations` has, for
    each item, the change of the value if the item is left out; the sign does not matter. `items` is
    the number of items that inform the value, if not all do."""
    items = items or len(deviations)
    variance = items / max(items - 1, 1) * float((deviations**2).sum())
    half, note = logit_half_width(variance, items)
    low, high = (None if half is None else value + sign * half for sign in (-1, 1))
    return Estimate(value, low, high, n, items, unit, 0.95, METHOD, note)


def style_effects_on_judge(data: StyleData, people: StyleData | None = None) -> Json:
    """Return, as a JSON object, the style coefficients of one judge, their differences from
    people's on the same comparisons (if there are enough), the ranking before and after style
    control, and the share of the ranking that is style. Without a fit it has only unknown
    coefficients, each with the reason."""
    if len(np.unique(data.battles.item)) < LEAST_ITEMS or len(data.battles.names) < 2:
        return _refused_coefficients(dict.fromkeys(range(len(STYLE_FEATURES)), TOO_FEW))
    if len(data.battles) > MAX_BATTLES:
        return _refused_coefficients(dict.fromkeys(range(len(STYLE_FEATURES)), TOO_MANY))
    found_reasons = {k: data.reason_without_weight(k) for k in range(len(STYLE_FEATURES))}
    reasons = {feature: why for feature, why in found_reasons.items() if why}
    used = [feature for feature, why in found_reasons.items() if not why]
    fits = _fit_with_and_without_style(data, used)
    if fits is None or not used:
        return _refused_coefficients(
            {k: reasons.get(k, NOT_FINITE) for k in range(len(STYLE_FEATURES))}
        )
    before, after = fits
    models, n = len(after.beta), len(data.battles)
    found = {
        feature: _estimate_from_deviations(
            float(after.gamma[k]),
            after.influence[:, models + k],
            n,
            items=data.items_that_differ(feature),
        )
        for k, feature in enumerate(used)
    }
    result = _refused_coefficients(reasons)
    result["coefficients"] |= {STYLE_FEATURES[k]: one for k, one in found.items()}
    result["coefficients"] = {name: result["coefficients"][name] for name in STYLE_FEATURES}
    if people is not None and (minus := _coefficients_minus_people(data, people, used)):
        result["minus_people"] = minus
    result["ranking"] = _rankings_before_and_after(data, before, after)
    result["style_share"] = _style_share(before, after, n)
    return result


def _refused_coefficients(reasons: Mapping[int, str]) -> Json:
    """Return {"coefficients": style feature -> unknown estimate with the reason}, for features that
    cannot be used; `reasons` is index of a feature -> reason."""
    coefficients = {STYLE_FEATURES[k]: unknown_estimate(why, "logit") for k, why in reasons.items()}
    return {"coefficients": coefficients}


def _fit_with_and_without_style(
    data: StyleData, used: Sequence[int]
) -> tuple[StyleFit, StyleFit] | None:
    """Fit the model without and with style; None if a fit is not finite."""
    try:
        fits = fit_style(data, ()), fit_style(data, used)
    except np.linalg.LinAlgError:
        return None
    largest = max(float(np.abs(np.r_[fit.beta, fit.gamma]).max(initial=0)) for fit in fits)
    return fits if largest < LARGEST_COEFFICIENT else None


def _coefficients_minus_people(data: StyleData, people: StyleData, used: Sequence[int]) -> Json:
    """Return style feature -> coefficient of the judge minus that of people, both fitted on the
    comparisons that both judged, with the judge's scale; empty if one of the two cannot be
    fitted."""
    common = np.intersect1d(data.keys, people.keys)
    mine, theirs = data.select(common), people.select(common)
    if len(np.unique(mine.item_codes)) < LEAST_ITEMS:
        return {}
    if any(part.reason_without_weight(k) for part in (mine, theirs) for k in used):
        return {}
    try:
        one, two = (fit_style(part, used, data.scale) for part in (mine, theirs))
    except np.linalg.LinAlgError:
        return {}
    if max(np.abs(one.gamma).max(), np.abs(two.gamma).max()) > LARGEST_COEFFICIENT:
        return {}
    own, other = _smallest_item_codes(mine, one), _smallest_item_codes(theirs, two)
    units = np.union1d(own, other)
    found = {}
    for k, feature in enumerate(used):
        deviations = np.zeros(len(units))
        for fit, codes, sign in ((one, own, 1.0), (two, other, -1.0)):
            change = fit.influence[:, fit.influence.shape[1] - len(used) + k]
            np.add.at(deviations, np.searchsorted(units, codes), sign * change)
        gap = float(one.gamma[k] - two.gamma[k])
        found[STYLE_FEATURES[feature]] = _estimate_from_deviations(
            gap, deviations, len(mine.battles)
        )
    return found


def _smallest_item_codes(data: StyleData, fit: StyleFit) -> Ints:
    """Return, for each resampling unit of a fit (an item, or items that share a question), the
    smallest of its item codes. It identifies the same unit in the fits of a judge and of people."""
    smallest = np.full(int(data.battles.item.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, data.battles.item, data.item_codes)
    return np.asarray(smallest[fit.items], np.int64)


def _rankings_before_and_after(data: StyleData, before: StyleFit, after: StyleFit) -> Json:
    """Return model -> its rating and place before and after style control, and the number of places
    it moved up (negative: down)."""
    n = data.battles.match_counts
    ranking: Json = {}
    places = [
        np.argsort(np.argsort(-fit.beta.round(9), kind="stable")) + 1 for fit in (before, after)
    ]
    for row, name in enumerate(data.battles.names):
        entry: Json = {}
        for when, fit, place in zip(("before", "after"), (before, after), places, strict=True):
            change = ELO_PER_LOGIT * fit.influence[:, row]
            rating = START_RATING + ELO_PER_LOGIT * float(fit.beta[row])
            entry[when] = _estimate_from_deviations(rating, change, int(n[row]), "Elo")
            entry[f"place_{when}"] = int(place[row])
        entry["moved"] = entry["place_before"] - entry["place_after"]
        ranking[name] = entry
    return ranking


def _style_share(before: StyleFit, after: StyleFit, n: int) -> Estimate:
    """Share of the differences between models that is style: Cov(s, β)/Var(β), with β the strengths
    before and s = β minus the strengths after control. It may be negative; unknown if all models
    are equally strong."""

    def share(before: Floats, after: Floats) -> Floats:
        centred = before - before.mean(axis=-1, keepdims=True)
        return np.asarray(((before - after) * centred).sum(axis=-1) / (centred**2).sum(axis=-1))

    models = len(before.beta)
    if float(np.var(before.beta)) < 1e-12:
        return unknown_estimate("all models are equally strong", "share")
    left = before.beta - before.influence[:, :models], after.beta - after.influence[:, :models]
    value = float(share(before.beta, after.beta))
    return _estimate_from_deviations(value, share(*left) - value, n, "share")


def style_section(frame: pd.DataFrame, styles: Styles) -> Json:
    """Return judge -> result of `style_effects_on_judge`, for every judge of a frame with verdicts
    on answers in `styles`; compared with people's votes if there are any. Empty without
    `styles`."""
    if not styles or not len(frame):
        return {}
    human = row_selection.people_mask(frame)
    votes = row_selection.select_rows(frame, human) if human.any() else None
    people = extract_style_data(votes, styles) if votes is not None else None
    found: Json = {}
    machines = row_selection.select_rows(frame, ~human) if not human.all() else frame.iloc[:0]
    for judge in row_selection.used_categories(machines["judge"]):
        own = row_selection.select_rows(machines, (machines["judge"] == judge).to_numpy())
        data = extract_style_data(own, styles)
        if len(data.battles):
            found[str(judge)] = style_effects_on_judge(data, people)
    return found
