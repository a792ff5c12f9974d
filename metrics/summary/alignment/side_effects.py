"""Measures besides agreement that a better prompt should not worsen: flips, first position, length,
distance from the labels, unusable replies, and the effects of twins (answers with one change that
should not matter).

A candidate is a new version of today's prompt; both are compared on the hold-out, labelled items
that no candidate was made from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import contrasts as paired
from metrics.estimation import multiple_comparisons, row_selection, score_scale
from metrics.estimation.intervals import Floats, safe_divide, unknown_estimate
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.labels.compared_points import single_answer_rows
from metrics.position.position_measures import CONFLICT, FIRST_SHARE
from metrics.remedies.recommendation import format_points
from metrics.twins.twin_effects import paired_twin_totals
from studies.domain import Estimate
from studies.frames.point_columns import pass_fail_mask
from studies.people.study_labels import PAIRS, PASS_FAIL, SCORES, LabelKind
from studies.texts.twin_families import FAMILIES

SEED: Final = 7
TWIN_KEY: Final = "twins."
"""Start of the key of a twin's effect; the name of its family follows."""
NO_SPREAD: Final = 1e-9


# ------------------------------------------------------------------------------ measures


def _pair_length_tally(grouped: GroupedFrame) -> MeasureTally:
    """Return the counts (a MeasureTally) of which the mean is the excess of the longer answer.

    Each verdict on a pair has two numbers. The first is +1 if the verdict wrongly prefers the
    longer answer, −1 if it wrongly prefers the shorter one, 0 if it is right. The second is 1 if
    the verdict counts: no tie, answers of different length, and one of them known to be better.
    Both are 0 for other verdicts."""
    rows = row_selection.select_pairs(grouped.picks_for_order_free_measures)
    if "length_0" not in rows:
        return build_tally(rows, 0, 0)
    lengths = rows[["length_0", "length_1"]].to_numpy(np.int64)
    gap = lengths[:, 0] - lengths[:, 1]
    pick, known_answer = rows["pick"].to_numpy(), rows["known_answer"].to_numpy()
    counted = (pick >= 0) & (known_answer >= 0) & (gap != 0) & (lengths >= 0).all(axis=1)
    longer = np.where(gap > 0, 0, 1)
    return build_tally(rows, counted * ((pick == longer) * 1.0 - (known_answer == longer)), counted)


def _answer_length_tally(grouped: GroupedFrame) -> MeasureTally:
    """Sums behind the length effect on single answers: the mean verdict, as a fraction of the
    scale, on answers longer than the median minus that on the others, at equal labels. If no answer
    is longer than the median, answers of the median length count as long."""
    rows = verdicts_on_labelled_answers(grouped)
    if "length_0" not in rows or not len(rows):
        return _length_tally(rows.iloc[:0], *[np.zeros(0)] * 3)
    rows = row_selection.select_rows(rows, rows["length_0"] >= 0)
    length = rows["length_0"].to_numpy()
    middle = rows.drop_duplicates(["item", "first"])["length_0"].median()
    long = length > middle if (length > middle).any() else length >= middle
    value, label = (rows[name].to_numpy(np.float64) for name in ("value", "right"))
    span = score_scale.score_scale_of_rows(rows).extended_to(value, label).span or 1.0
    return _length_tally(rows, value / span, label / span, long)


def verdicts_on_labelled_answers(grouped: GroupedFrame) -> pd.DataFrame:
    """Usable verdicts on single answers with a label: passes and fails or, if there are none,
    scores. Columns `value` (1 for a pass, 0 for a fail; the score) and `right` (label)."""
    parts = [single_answer_rows(grouped, passes) for passes in (True, False)]
    rows = parts[0] if len(parts[0]) else parts[1]
    return row_selection.select_rows(rows, rows["right"].notna())


def _length_tally(rows: pd.DataFrame, value: Floats, label: Floats, long: object) -> MeasureTally:
    """Return the sums for the coefficient of "long answer" in a regression of the verdict on it and
    on the right verdict, with a statistic that computes this coefficient. Per row: verdict
    (`value`), right verdict (`label`), and whether the answer is long."""
    one = np.asarray(long, np.float64)
    products = (value * one, one, value, value * label, label, label**2, label * one)
    return MeasureTally(rows, build_tally(rows, *products, 1).sums, _length_coefficient_given_label)


def _length_coefficient_given_label(totals: Floats) -> Floats:
    """Least-squares coefficient of "long answer" in a regression of the verdict on this and on the
    right verdict (on this alone if all right verdicts are equal), from sums over the verdicts on
    the last axis of `totals`."""
    vx, x, v, vy, y, yy, yx, n = np.moveaxis(totals, -1, 0)
    with np.errstate(all="ignore"):
        sxx, syy, syx = x - x * x / n, yy - y * y / n, yx - y * x / n
        svx, svy = vx - v * x / n, vy - v * y / n
        det = sxx * syy - syx**2
    plain = safe_divide(svx, np.where(sxx > NO_SPREAD, sxx, 0.0))
    held = safe_divide(svx * syy - svy * syx, np.where(det > NO_SPREAD, det, 0.0))
    return np.asarray(np.where(syy > NO_SPREAD, held, plain), np.float64)


def _distance_from_labels_tally(grouped: GroupedFrame) -> MeasureTally:
    rows = verdicts_on_labelled_answers(grouped)
    return build_tally(rows, (rows["value"] - rows["right"]).abs(), 1)


def _unusable_reply_tally(grouped: GroupedFrame) -> MeasureTally:
    frame = grouped.frame
    rows = row_selection.select_rows(frame, ~frame["noise"].to_numpy(np.bool_))
    return build_tally(rows, ~row_selection.usable_status_mask(rows), 1)


PAIR_LENGTH: Final = Measure(
    "length_excess", "difference of shares", _pair_length_tally, "mean", (-1.0, 1.0),
    empty="no answers of different length", prefers_order_sets=True,
)  # fmt: skip
ANSWER_LENGTH: Final = Measure(
    "length_excess", "difference of shares", _answer_length_tally, "other", (-1.0, 1.0),
    empty="no answers of different length",
)  # fmt: skip
UNUSABLE: Final = Measure("unusable", "share", _unusable_reply_tally, "failures", empty="no calls")


def _label_distance_measure(frame: pd.DataFrame) -> Measure:
    """Define the measure: mean distance of scores from their labels, bounded by the scale of the
    scores in the frame."""
    rows = verdicts_on_labelled_answers(GroupedFrame(frame))
    values = (rows[name].to_numpy(np.float64) for name in ("value", "right"))
    span = score_scale.score_scale_of_rows(frame).extended_to(*values).span
    return Measure(
        "distance", "score", _distance_from_labels_tally, "mean", (0.0, span), empty="no labels"
    )


# ------------------------------------------------------------------------------ side effects


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A measure besides agreement: its key in the JSON, its name, the words for a better value and
    for a worse one, its estimator, and its value without bias (None: lower is better)."""

    key: str
    name: str
    better: str
    worse: str
    measure: Measure
    neutral: float | None = None

    def format_value(self, value: float) -> str:
        """Format a value for a sentence: "37 %", "+12.0", or a score."""
        if self.measure.unit == "share":
            return f"{100 * value:.0f} %"
        return f"{value:.2f}" if self.measure.unit == "score" else format_points(value)


LENGTH_WORDS: Final = ("length", "less weight on length")
UNUSABLE_EFFECT: Final = SideEffect(
    "unusable", "unusable replies", "fewer unusable replies",
    "its unusable replies are {} instead of {}", UNUSABLE,
)  # fmt: skip
PAIR_EFFECTS: Final = (
    SideEffect("flips", "flips", "fewer flips", "it flips {} instead of {}", CONFLICT),
    SideEffect("first_share", "first position", "less weight on the first position",
               "it chooses the first position in {} instead of {}", FIRST_SHARE, 0.5),
    SideEffect("length_excess", *LENGTH_WORDS, "length moves it by {} points instead of {}",
               PAIR_LENGTH, 0.0),
    UNUSABLE_EFFECT,
)  # fmt: skip
ANSWER_EFFECTS: Final = (
    SideEffect("length_excess", *LENGTH_WORDS, "length moves it by {} points instead of {}",
               ANSWER_LENGTH, 0.0),
    UNUSABLE_EFFECT,
)  # fmt: skip


def side_effect_measures(kind: LabelKind, frame: pd.DataFrame) -> tuple[SideEffect, ...]:
    """Return the side effects that apply to comparisons, to passes and fails, or to scores
    (`kind`); `frame` gives the scale of scores."""
    if kind == PAIRS:
        return PAIR_EFFECTS
    if kind == PASS_FAIL:
        return ANSWER_EFFECTS
    distance = SideEffect(
        "distance", "distance from the labels", "scores nearer to the labels",
        "its scores are {} from the labels instead of {}", _label_distance_measure(frame),
    )  # fmt: skip
    return (distance, *ANSWER_EFFECTS)


def effect_name(key: str, effects: Sequence[SideEffect]) -> str:
    """Name of a side effect, or of a twin's effect, in a table: "flips", "twins (citation)"."""
    if key.startswith(TWIN_KEY):
        return f"twins ({key.removeprefix(TWIN_KEY)})"
    return next(one.name for one in effects if one.key == key)


def verdict_kind_of(frame: pd.DataFrame) -> LabelKind:
    """Return the kind of verdicts in a frame: PAIRS (comparisons; also if the frame is empty),
    PASS_FAIL or SCORES."""
    if not len(frame) or (frame["options"] != 1).any():
        return PAIRS
    return PASS_FAIL if pass_fail_mask(frame).any() else SCORES


# ------------------------------------------------------------------------------ changes


@dataclass(frozen=True, slots=True)
class EffectChange:
    """A side effect with a candidate (`now`) and with today's prompt (`was`) on the items that both
    have. `change` is `now` − `was`, adjusted for all side effects, candidates and comparisons on
    the hold-out so far. `sign` is 1 if it became significantly worse, −1 if significantly better,
    else 0."""

    now: float | None
    was: float | None
    change: Estimate
    sign: int


def side_effect_estimates(
    frame: pd.DataFrame, effects: Sequence[SideEffect], prompts: Sequence[str]
) -> dict[str, dict[str, Estimate]]:
    """Return prompt -> key of a side effect -> its estimate with this prompt; an estimate without a
    value if the prompt has no verdicts."""
    evidence = GroupedFrame(frame, ["prompt"])
    found = {one.key: one.measure.by_cell(evidence) for one in effects}
    missing = unknown_estimate("no verdicts")
    return {
        name: {key: cells.get((name,), missing) for key, cells in found.items()} for name in prompts
    }


def effect_changes(
    frame: pd.DataFrame,
    twins: pd.DataFrame | None,
    judge: str,
    today: str,
    candidates: Sequence[str],
    effects: Sequence[SideEffect],
    looks: int,
) -> dict[str, dict[str, EffectChange]]:
    """Return candidate -> key of a side effect or of a twin's effect -> its change from today's
    prompt; empty without candidates. `twins` has the verdicts on twins (None: there are none). All
    changes are adjusted as one family. `looks` is the number of comparisons on the hold-out so
    far."""
    if not candidates:
        return {}
    evidence = GroupedFrame(frame, ["prompt"])
    pairs = [((name,), (today,)) for name in candidates]
    family: list[tuple[str, str, paired.PairedTotals]] = [
        (name, one.key, totals)
        for one in effects
        for name, totals in zip(
            candidates, paired.item_totals_of_cell_pairs(evidence, one.measure, pairs), strict=True
        )
    ]
    for name in candidates:
        family += [(name, key, totals) for key, totals in _twin_totals(
            frame, twins, (judge, name), (judge, today)).items()]  # fmt: skip
    rng = np.random.default_rng(SEED)
    contrasts = paired.estimate_contrast_family([totals for *_, totals in family], rng)
    neutral = {one.key: one.neutral for one in effects}
    found: dict[str, dict[str, EffectChange]] = {name: {} for name in candidates}
    for (name, key, totals), one in zip(family, contrasts, strict=True):
        adjusted = widen_for_looks(
            one.adjusted, looks, paired.largest_possible_difference(totals.measure)
        )
        found[name][key] = _build_effect_change(key, one, adjusted, neutral)
    return found


def _twin_totals(
    frame: pd.DataFrame,
    twins: pd.DataFrame | None,
    candidate: tuple[str, str],
    today: tuple[str, str],
) -> dict[str, paired.PairedTotals]:
    """Return key of a twin's effect -> totals of two prompts, each given as (judge, prompt).
    Controls (twins with a real fault) are left out: a change of their effect is no bias."""
    found = {} if twins is None else paired_twin_totals(twins, frame, candidate, today)
    kept = {name: totals for name, totals in found.items() if FAMILIES[name].group != "control"}
    return {f"{TWIN_KEY}{name}": totals for name, totals in kept.items()}


def widen_for_looks(adjusted: Estimate, looks: int, largest: float = 1.0) -> Estimate:
    """Widen an interval for the number of looks (comparisons on the hold-out), by Bonferroni; with
    one look it stays. `largest` is the largest possible difference."""
    return (
        adjusted
        if looks <= 1
        else multiple_comparisons.simultaneous_interval(adjusted, looks, bounds=(-largest, largest))
    )


def _build_effect_change(
    key: str, contrast: paired.Contrast, adjusted: Estimate, neutral: Mapping[str, float | None]
) -> EffectChange:
    """Return the change of a side effect with its sign (see EffectChange); `neutral` is key of a
    side effect -> its value without bias (None: lower is better)."""
    now, was, sign = contrast.left_value, contrast.right_value, 0
    if adjusted.excludes_zero:
        rose = (adjusted.low or 0.0) > 0
        twin = FAMILIES.get(key.removeprefix(TWIN_KEY)) if key.startswith(TWIN_KEY) else None
        level = 0.0 if twin is not None else neutral[key]
        if twin is not None and twin.must_lose:  # only a twin that wins is a bias
            larger = (now if rose else was) or 0.0
            sign = 0 if larger <= 0 else 1 if rose else -1
        elif level is None:
            sign = 1 if rose else -1
        elif now is not None and was is not None:
            sign = 1 if abs(now - level) > abs(was - level) else -1
    return EffectChange(now, was, adjusted, sign)
