"""Effect of the order in which a prompt lists the options of a verdict (pass and fail, or scores).

Orders are compared on the same answer, with the same order of criteria. `changed` is how often the
score differs between two orders, `noise_floor` how often it differs between repeats in one order:
without an order effect both are equal. For `shift`, repeats in one order are averaged first. Calls
repeated only to measure noise count in the noise floor only. With a rubric, `changed` and `shift`
are about the overall score, the shares of places about the level of each criterion."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import Floats, mean_estimate, proportion, unknown_estimate
from metrics.estimation.score_scale import ScoreScale
from metrics.labels import point_table
from studies.domain import Estimate, Rater
from studies.frames.arrangement import Arrangement

ONE_ORDER_NOTE: Final = "no answer was judged in two orders"
NO_REPEAT_NOTE: Final = "no verdict was repeated in the same order"
NAMED_LEVELS_NOTE: Final = "the order of named levels is not stored with the verdicts"
_SAME_SCORE: Final = 1e-6
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class PlaceShare:
    """Share of verdicts for the option at one place of the list (or with one letter), and the share
    expected if the order of the options had no effect."""

    share: Estimate
    expected: Estimate


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Effect of an order (of options, or of criteria) on the scores of the same answers."""

    changed: Estimate
    """Share of pairs of orders in which an answer's first scores differ, mean over answers."""
    noise_floor: Estimate
    """Share of repeats in the same order whose score differs from the first verdict."""
    shift: Mapping[str, Estimate]
    """Order -> its mean score minus the mean score in the other orders, on the same answers."""

    @property
    def exceeds_noise(self) -> bool:
        """Whether the interval of `changed` lies above that of the noise floor."""
        low, high = self.changed.low, self.noise_floor.high
        return low is not None and high is not None and low > high


@dataclass(frozen=True, slots=True)
class OptionOrder(OrderEffect):
    """Effects of the order of the options on the verdicts of one judge with one prompt."""

    first_place: Estimate
    """Share of verdicts for the option listed first."""
    expected_first: Estimate
    """Expected value of `first_place` if the verdicts did not depend on the order."""
    places: tuple[PlaceShare, ...] = ()
    """Share of verdicts for the option listed at each place, from the first place to the last;
    empty if the order of the options is not stored."""
    place_entropy: float | None = None
    """Entropy of the chosen places, from 0 (always the same place) to 1 (all equally often); None
    if `places` is empty."""
    letter: PlaceShare | None = None
    """Share of verdicts for the option with the letter A; None unless the options had letters in
    every arrangement."""

    @property
    def is_shown(self) -> bool:
        """Whether an effect of the order is shown: `changed` exceeds the noise floor, or the
        intervals of `first_place` and of its expected value have no value in common."""
        first, even = self.first_place, self.expected_first
        apart = None not in (first.low, even.low) and (
            (first.low or 0.0) > (even.high or 0.0) or (first.high or 0.0) < (even.low or 0.0)
        )
        return self.exceeds_noise or apart


def option_order_effects(frame: pd.DataFrame) -> dict[Rater, OptionOrder]:
    """Return (judge, prompt) -> effects of the options' order, for judges and prompts with two or
    more orders; empty without such judges."""
    if not (frame["options"] == 1).any():
        return {}
    table, chosen = point_table.answer_verdicts(frame), point_table.chosen_options(frame)
    offered = point_table.arrangements_by_code(frame)
    found: dict[Rater, OptionOrder] = {}
    for rater, own in rows_by_rater(table):
        if own["options"].nunique() > 1:
            effect = order_effect(own, "options", "criteria")
            found[rater] = _add_place_shares(effect, _select_rows_of_rater(chosen, rater), offered)
    return found


def option_order_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the summary's section on the order of the options, as judge -> prompt -> estimates."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in option_order_effects(frame).items():
        values: dict[str, Any] = {
            name: getattr(found, name)
            for name in ("changed", "noise_floor", "first_place", "expected_first", "shift")
        }
        values["places"] = {
            str(place): _place_share_as_json(one) for place, one in enumerate(found.places, start=1)
        }
        values["place_entropy"] = found.place_entropy
        if found.letter is not None:
            values["first_letter"] = _place_share_as_json(found.letter)
        nested.setdefault(judge, {})[prompt] = values
    return nested


def _place_share_as_json(share: PlaceShare) -> dict[str, Estimate]:
    return {"share": share.share, "expected": share.expected}


def rows_by_rater(table: pd.DataFrame) -> list[tuple[Rater, pd.DataFrame]]:
    """Return the rows of each judge and prompt, sorted, as (judge, prompt) with its rows."""
    grouped = table.groupby(["judge", "prompt"], sort=True)
    return [((str(judge), str(prompt)), own) for (judge, prompt), own in grouped]


def _select_rows_of_rater(table: pd.DataFrame, rater: Rater) -> pd.DataFrame:
    return table[(table["judge"] == rater[0]) & (table["prompt"] == rater[1])]


def order_effect(rows: pd.DataFrame, order: str, fixed: str) -> OrderEffect:
    """Estimate the effect of the order in the column `order` ("options" or "criteria") on the
    scores of the same answers. Only rows with the same order in the column `fixed` are compared.
    `rows` are the rows of `answer_verdicts` of one judge and prompt."""
    case = [*point_table.ANSWER, fixed]
    main = rows[~rows["noise"]]
    means = main.groupby([*case, order])["score"].mean().reset_index()
    shifts = _score_shifts_by_order(means, case, order, point_table.table_scale(rows))
    return OrderEffect(_order_change_share(main, case, order), _noise_floor(rows), shifts)


def _order_change_share(main: pd.DataFrame, case: list[str], order: str) -> Estimate:
    """Estimate the share of pairs of orders in which the first verdicts on an answer differ, as the
    mean over answers. Pairs are counted because an answer judged in many orders would differ in
    some order by noise alone. `case` are the columns that identify an answer, `order` is the column
    of the order."""
    first = main.drop_duplicates([*case, order])
    orders = first.groupby(case).size()
    same = first.groupby([*case, first["score"].round(_DECIMALS)]).size()
    pairs, equal = (
        (count * (count - 1)).groupby(level=list(point_table.ANSWER)).sum()
        for count in (orders, same)
    )
    share = (1 - equal / pairs)[pairs > 0]
    note = "" if len(share) else ONE_ORDER_NOTE
    return proportion(share.to_numpy(), share.index.get_level_values("item").to_numpy(), note=note)


def _noise_floor(rows: pd.DataFrame) -> Estimate:
    """Estimate the share of repeats whose score differs from the first verdict on the same answer
    in the same arrangement."""
    keys = [*point_table.ANSWER, "options", "criteria"]
    ordered = rows.sort_values("noise", kind="stable")
    gaps = ordered["score"] - ordered.groupby(keys)["score"].transform("first")
    repeats = ordered.duplicated(keys)
    changed = (gaps[repeats].abs() > _SAME_SCORE).to_numpy()
    note = "" if repeats.any() else NO_REPEAT_NOTE
    return proportion(changed, ordered["item"][repeats].to_numpy(), note=note)


def _score_shifts_by_order(
    means: pd.DataFrame, case: list[str], order: str, scale: ScoreScale
) -> dict[str, Estimate]:
    """Return order -> its mean score minus that in the other orders, paired by answer. `means` has
    one row for each answer and order, with the column `score`; `case` are the columns that identify
    an answer, `order` is the column of the order."""
    wide = means.pivot(index=case, columns=order, values="score")
    found = {}
    for name in wide.columns:
        gap = (wide[name] - wide.drop(columns=name).mean(axis=1)).dropna()
        items = gap.index.get_level_values("item").to_numpy()
        found[str(name)] = (
            scale.mean_difference(gap.to_numpy(), items)
            if len(gap)
            else unknown_estimate(ONE_ORDER_NOTE, "score")
        )
    return found


# ------------------------------------------------------------------ places and letters


def _add_place_shares(
    effect: OrderEffect, chosen: pd.DataFrame, offered: Sequence[Arrangement]
) -> OptionOrder:
    """Return the order effect together with the shares of places and of the letter A, from the rows
    of `chosen_options` of one judge and prompt; `offered` are the arrangements by code."""
    main = chosen[~chosen["noise"]]
    codes = main["labels"].to_numpy()
    count = max((len(offered[code].options) for code in np.unique(codes)), default=0)
    places = tuple(
        _estimate_place_share(main, [_score_of_option_at_place(one, place) for one in offered])
        for place in range(count)
    )
    known = places and places[0].share.value is not None
    lettered = bool(len(codes)) and all(offered[code].letters for code in np.unique(codes))
    unknown = unknown_estimate(NAMED_LEVELS_NOTE, "share")
    return OptionOrder(
        effect.changed,
        effect.noise_floor,
        effect.shift,
        places[0].share if places else unknown,
        places[0].expected if places else unknown,
        places if known else (),
        _normalised_entropy([one.share.value or 0.0 for one in places]) if known else None,
        _estimate_place_share(main, [_score_of_letter_a(one) for one in offered])
        if lettered
        else None,
    )


def _estimate_place_share(main: pd.DataFrame, score_by_code: Sequence[float]) -> PlaceShare:
    """Estimate the share of verdicts for the option at one place (or with one letter), and the
    share expected if the order had no effect.

    `score_by_code` is the score of the option at that place in each arrangement. The expected share
    assumes that the verdicts on an answer have the same distribution in every order.
    """
    offered = _round_as_stored(score_by_code)[main["labels"].to_numpy()]
    known = np.isfinite(offered)
    if not known.any():
        unknown = unknown_estimate(NAMED_LEVELS_NOTE, "share")
        return PlaceShare(unknown, unknown)
    rows, offered = main[known], offered[known]
    score, items = _round_as_stored(rows["score"]), rows["item"].to_numpy()
    case = rows.groupby([*point_table.ANSWER, "criterion"]).ngroup().to_numpy()
    chosen = np.abs(score - offered) < _SAME_SCORE
    expected = _share_with_offered_score(case, score, offered)
    return PlaceShare(
        proportion(chosen, items), mean_estimate(expected, items, "share", (0.0, 1.0))
    )


def _round_as_stored(scores: Sequence[float] | pd.Series) -> Floats:
    """Round scores to 32-bit numbers, as a frame stores them, so that equal scores are equal."""
    return np.asarray(scores, np.float32).astype(np.float64)


def _share_with_offered_score(case: np.ndarray, score: Floats, offered: Floats) -> Floats:
    """Return, for each row, the share of verdicts on the same answer (in all orders) whose score is
    the row's value in `offered`; `case` is the code of the answer."""
    counts = pd.Series(1.0, index=pd.MultiIndex.from_arrays([case, score])).groupby(level=[0, 1])
    equal = counts.sum().reindex(pd.MultiIndex.from_arrays([case, offered])).fillna(0.0)
    return np.asarray(equal.to_numpy() / np.bincount(case)[case], np.float64)


def _score_of_option_at_place(arrangement: Arrangement, place: int) -> float:
    scores = arrangement.option_scores
    return scores[place] if place < len(scores) else math.nan


def _score_of_letter_a(arrangement: Arrangement) -> float:
    if "A" not in arrangement.letters or not arrangement.option_scores:
        return math.nan
    return arrangement.option_scores[arrangement.letters.index("A")]


def _normalised_entropy(shares: Sequence[float]) -> float:
    total = sum(shares)
    parts = [share / total for share in shares if share > 0] if total > 0 else []
    return -sum(p * math.log(p) for p in parts) / math.log(max(len(shares), 2))
