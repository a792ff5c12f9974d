"""Effects of twins on judges. A twin is an answer with one change; a family is a kind of change.

The effect of a family is measured beyond its floor, a twin whose change cannot matter. A control is
a twin with a real fault, which must lose. Intervals are by item. All families of all judges and
prompts of a study, and the controls, are adjusted together (max-t). An effect is shown if its
adjusted interval beyond the floor excludes zero. If no control is shown to lose, no effect is
claimed, because the judge may not react even to real faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from metrics.estimation import intervals
from metrics.estimation.contrasts import Contrast, PairedTotals, estimate_contrast_family
from metrics.twins.twin_verdicts import DUEL, SINGLE, SUBSTITUTION, twin_verdicts
from studies.domain import Estimate
from studies.texts.twin_families import CONTROLS, FAMILIES, SHAM

SEED: Final = 11
POWER: Final = 0.8
NO_FLOOR_NOTE: Final = "no verdicts on the floor"
SHOWN, NOT_SHOWN, INDIFFERENT = "shown", "not shown", "indifferent, not robust"
UNCLEAR: Final = "unclear: no control is shown to lose"
RELEVANT_LOSS: Final = 0.25
"""Loss of a control (share of points; in a duel, a twin that always loses has 0.5) that must be
excluded for each control before a judge is called indifferent."""
CHANGE_NAMES: Final = {DUEL: "preference", SUBSTITUTION: "shift", SINGLE: "level_change"}
"""Design -> name in the JSON of the effect before the floor is subtracted."""

Json = dict[str, Any]
_Columns = dict[str, Any]
_Side = tuple[_Columns, str]
"""Verdicts, and the column of them that is counted."""
_NUMBERS: Final = ("value", "before", "flip", "right", "right_before")


@dataclass(frozen=True)
class TwinMeasure:
    """Name, unit and range of the measure of twins, as `estimate_contrast_family` needs them."""

    name: str
    kind: str = "share"
    unit: str = "share"
    value_range: tuple[float, float] = (0.0, 1.0)

    def change_if_units_reversed(
        self, totals: intervals.Floats, statistic: intervals.Statistic
    ) -> float:
        """Width of the range of the measure: its largest change if every verdict were reversed."""
        return self.value_range[1] - self.value_range[0]


@dataclass(frozen=True)
class TwinEffect:
    """The effect of one family on one judge with one prompt (all prompts for a control).

    `floor` is the effect of its floor, `beyond_floor` the effect minus that of the floor on the
    answers that have both twins, `adjusted` the same with an interval that holds for all effects of
    the study at once. `beyond_floor` and `adjusted` are unknown without verdicts on the floor.
    """

    judge: str
    prompt: str
    family: str
    design: str
    change: Estimate
    """In a duel: share of points for the twin minus ½. If the twin replaces its original in a
    comparison: points of the twin minus those of the original there. For single answers: score of
    the twin minus that of the original."""
    floor: Estimate
    beyond_floor: Estimate
    adjusted: Estimate
    skipped: int
    """Number of answers that have twins of other families but none of this one."""
    finding: str = NOT_SHOWN
    further: Json = field(default_factory=dict)
    """Of a substitution: flips beyond the floor, change of accuracy, and numbers of verdicts that
    changed from wrong to right and from right to wrong; a tie is neither."""

    @property
    def floor_family(self) -> str:
        """Name of the floor: the family whose effect is subtracted from this one."""
        return FAMILIES[self.family].floor

    @property
    def min_detectable(self) -> float | None:
        """Smallest effect beyond the floor that these calls would show with probability 80 %; None
        without an interval."""
        one, raw = self.adjusted, self.beyond_floor
        if one.low is None or one.high is None or raw.low is None or raw.high is None:
            return None
        t = float(intervals.student_t_quantile(one.items))
        error = (raw.high - raw.low) / 2 / t
        width = max((one.high - one.low) / 2, error * t)
        return width + float(stats.norm.ppf(POWER)) * error

    def as_json(self) -> Json:
        """Return the effect as a JSON object, without judge, prompt and family."""
        return {
            "design": self.design,
            CHANGE_NAMES[self.design]: self.change,
            "floor": self.floor,
            "floor_family": self.floor_family,
            "beyond_floor": self.beyond_floor,
            "adjusted": self.adjusted,
            **self.further,
            "skipped": self.skipped,
            "detectable": self.min_detectable,
            "finding": self.finding,
        }


def twin_effects(twins: pd.DataFrame, frame: pd.DataFrame) -> list[TwinEffect]:
    """Estimate the effect of each family on each judge and prompt, and of each control on each
    judge (all prompts together; the effect's `prompt` is then empty). Empty without verdicts on
    twins.

    `twins` has the rows that show a twin, `frame` the study's own comparisons.
    """
    verdicts = twin_verdicts(twins, frame) if len(twins) else None
    if verdicts is None or not len(verdicts):
        return []
    cells: list[tuple[_TwinVerdictsOfRater, str]] = []
    moving = [one.name for one in FAMILIES.values() if one.group not in ("floor", "control")]
    for judge in verdicts["judge"].unique():
        own = verdicts[verdicts["judge"] == judge]
        for prompt in own["prompt"].unique():
            group = _TwinVerdictsOfRater(str(judge), str(prompt), own[own["prompt"] == prompt])
            cells += [(group, name) for name in moving if name in group.planned]
        for single in (False, True):
            rows = own[(own["design"] == SINGLE) == single]
            if len(rows):
                group = _TwinVerdictsOfRater(str(judge), "", rows)
                cells += [(group, name) for name in CONTROLS if name in group.planned]
    contrasts = estimate_contrast_family(
        [group.totals_against_floor(name) for group, name in cells], np.random.default_rng(SEED)
    )
    effects = [
        group.estimate_effect(name, one)
        for (group, name), one in zip(cells, contrasts, strict=True)
    ]
    return _add_significance_findings(effects)


def _add_significance_findings(effects: Sequence[TwinEffect]) -> list[TwinEffect]:
    """Return the effects with their findings: SHOWN if the adjusted interval excludes zero, else
    NOT_SHOWN. If the same judge has controls (twins with a real fault) of the same design, and none
    of them is shown to lose, the finding is INDIFFERENT if a relevant loss of each control is
    excluded, else UNCLEAR."""
    controls = [one for one in effects if one.family in CONTROLS]
    seeing = {(one.judge, one.design) for one in controls if twins_lose(one)}
    unclear = {(one.judge, one.design) for one in controls if _control_may_lose(one)} - seeing
    blind = {(one.judge, one.design) for one in controls} - seeing - unclear
    found = []
    for one in effects:
        low, high = one.adjusted.low, one.adjusted.high
        finding = NOT_SHOWN
        if (one.judge, one.design) in blind:
            finding = INDIFFERENT
        elif (one.judge, one.design) in unclear:
            finding = UNCLEAR
        elif low is not None and high is not None and (low > 0 or high < 0):
            finding = SHOWN
        found.append(replace(one, finding=finding))
    return found


def twins_lose(effect: TwinEffect) -> bool:
    """Whether the twins of the family lose: the adjusted interval of the effect is below zero."""
    return effect.adjusted.high is not None and effect.adjusted.high < 0


def _control_may_lose(control: TwinEffect) -> bool:
    """Whether the interval of a control (twin with a real fault) allows that it loses by a relevant
    amount, RELEVANT_LOSS. True without an interval, and for scores, whose range is not known
    here."""
    low = control.adjusted.low
    return low is None or control.adjusted.unit != "share" or low <= -RELEVANT_LOSS


class _TwinVerdictsOfRater:
    """The verdicts of one judge and prompt (all prompts, for the controls), by family."""

    def __init__(self, judge: str, prompt: str, rows: pd.DataFrame) -> None:
        self.judge, self.prompt = judge, prompt
        self.design = str(rows["design"].iloc[0])
        columns = {name: rows[name].to_numpy() for name in ("unit", "item", *_NUMBERS)}
        twin, families = pd.factorize(rows["twin"])
        used = np.isfinite(columns["value"])
        if self.design != DUEL:
            used &= np.isfinite(columns["before"])
        self.planned = {
            str(name): set(columns["unit"][twin == k].tolist()) for k, name in enumerate(families)
        }
        self._usable = {
            str(name): _select_entries(columns, used & (twin == k))
            for k, name in enumerate(families)
        }
        self.measure = self._measure_of_levels(columns["value"], columns["before"])

    def _measure_of_levels(self, value: intervals.Floats, before: intervals.Floats) -> TwinMeasure:
        """Return the measure of the twins' effect: a share for points and passes, for scores a mean
        within the range that occurs (0 and 1 included)."""
        levels = np.concatenate([value, before])
        levels = levels[np.isfinite(levels)]
        low, high = float(levels.min(initial=0)), float(levels.max(initial=1))
        if self.design != SINGLE or (low, high) == (0.0, 1.0):
            return TwinMeasure(CHANGE_NAMES[self.design])
        return TwinMeasure(CHANGE_NAMES[self.design], "mean", "score", (low, high))

    def verdicts_on(self, family: str) -> _Columns:
        """Columns of the usable verdicts on the twins of a family; empty if there are none."""
        empty = {name: np.zeros(0) for name in ("unit", "item", *_NUMBERS)}
        return self._usable.get(family, empty)

    def _verdicts_on_common_answers(self, family: str, other: str) -> tuple[_Columns, _Columns]:
        """Verdicts on the twins of two families, for the answers that have both twins."""
        one, two = self.verdicts_on(family), self.verdicts_on(other)
        left, right = np.isin(one["unit"], two["unit"]), np.isin(two["unit"], one["unit"])
        return _select_entries(one, left), _select_entries(two, right)

    def totals_against_floor(self, family: str) -> PairedTotals:
        """Totals by item of a family and of its floor, on the answers that have both twins."""
        one, two = self._verdicts_on_common_answers(family, FAMILIES[family].floor)
        return self._paired_totals(family, (one, "value"), (two, "value"), self.measure)

    def _paired_totals(
        self, family: str, one: _Side, two: _Side, measure: TwinMeasure
    ) -> PairedTotals:
        """Totals by item of two columns of verdicts, on the items that both have; `one` and `two`
        are (verdicts, name of the column). The result names both cells after `family`."""
        sides = [
            intervals.sum_by_item(
                np.stack([rows[name], np.ones(len(rows["item"]))], axis=1), rows["item"]
            )
            for rows, name in (one, two)
        ]
        (first, a), (second, b) = sides
        common, at, to = np.intersect1d(first, second, return_indices=True)
        cell = (self.judge, self.prompt, family)
        sums = np.concatenate([a[at], b[to]], axis=1)
        return PairedTotals(measure, cell, cell, common, sums, _mean_of_totals)

    def _paired_difference(
        self, family: str, one: _Side, two: _Side, measure: TwinMeasure
    ) -> Estimate:
        """Estimate the mean of column `one` minus that of column `two`, paired by item."""
        pair = self._paired_totals(family, one, two, measure)
        return estimate_contrast_family([pair], np.random.default_rng(SEED))[0].raw

    def estimate_effect_before_floor(self, family: str) -> Estimate:
        """Estimate the effect of a family before its floor is subtracted: in duels, the share of
        points for the twin minus ½; in other designs, the mean value with the twin minus that with
        the original."""
        rows = self.verdicts_on(family)
        if self.design != DUEL:
            return self._paired_difference(family, (rows, "value"), (rows, "before"), self.measure)
        got = intervals.proportion(rows["value"], rows["item"])
        if got.value is None or got.low is None or got.high is None:
            return got if got.value is None else replace(got, value=got.value - 0.5)
        return replace(got, value=got.value - 0.5, low=got.low - 0.5, high=got.high - 0.5)

    def estimate_effect(self, family: str, contrast: Contrast) -> TwinEffect:
        """Build the effect of a family with all its estimates; `contrast` is the family minus its
        floor."""
        floor = FAMILIES[family].floor
        raw, adjusted = contrast.raw, contrast.adjusted
        if floor not in self.planned:
            raw = adjusted = intervals.unknown_estimate(NO_FLOOR_NOTE, raw.unit)
        answers = set().union(*self.planned.values())
        return TwinEffect(
            self.judge, self.prompt, family, self.design,
            self.estimate_effect_before_floor(family), self.estimate_effect_before_floor(floor),
            raw, adjusted,
            len(answers - self.planned[family]),
            further=self._further_measures(family) if self.design == SUBSTITUTION else {},
        )  # fmt: skip

    def _further_measures(self, family: str) -> Json:
        """Return further measures of twins that replace their original in a comparison: how much
        more often they flip the verdict than the floor `sham` (a twin whose change cannot matter),
        the change of accuracy, and the numbers of verdicts that became right or wrong."""
        flips, accuracy = TwinMeasure("flips"), TwinMeasure("accuracy")
        one, two = self._verdicts_on_common_answers(family, SHAM)
        found: Json = {}
        if len(two["item"]):
            found["flips_excess"] = self._paired_difference(
                family, (one, "flip"), (two, "flip"), flips
            )
        rows = self.verdicts_on(family)
        known = _select_entries(rows, np.isfinite(rows["right"]))
        if len(known["item"]):
            sides = (known, "right"), (known, "right_before")
            found["accuracy_change"] = self._paired_difference(family, *sides, accuracy)
            gap = known["right"] - known["right_before"]
            found |= {"wrong_to_right": int((gap == 1).sum())}
            found |= {"right_to_wrong": int((gap == -1).sum())}
        return found


def paired_twin_totals(
    twins: pd.DataFrame, frame: pd.DataFrame, left: tuple[str, str], right: tuple[str, str]
) -> dict[str, PairedTotals]:
    """Return family -> totals by item, from which the effect of the family beyond its floor is
    compared between two sides, `left` and `right`. A side is (judge, prompt); an empty name means
    all. Only items that both sides have count. Empty if a side has no verdicts on twins, or if
    their designs differ."""
    verdicts = twin_verdicts(twins, frame) if len(twins) else None
    if verdicts is None or not len(verdicts):
        return {}
    groups = []
    for judge, prompt in (left, right):
        mine = verdicts["judge"].isin([judge]) if judge else verdicts["judge"] != ""
        own = verdicts[mine & (verdicts["prompt"].isin([prompt]) if prompt else True)]
        if not len(own):
            return {}
        groups.append(_TwinVerdictsOfRater(judge, prompt, own))
    one, two = groups
    found = {}
    for name in FAMILIES if one.design == two.design else ():
        if FAMILIES[name].group != "floor" and name in one.planned and name in two.planned:
            a, b = one.totals_against_floor(name), two.totals_against_floor(name)
            common, at, to = np.intersect1d(a.items, b.items, return_indices=True)
            if len(common):
                sums = np.concatenate([a.sums[at], b.sums[to]], axis=1)
                span = one.measure.value_range[1] - one.measure.value_range[0]
                measure = replace(one.measure, kind="mean", value_range=(-span, span))
                found[name] = PairedTotals(measure, left, right, common, sums, _mean_beyond_floor)
    return found


def _mean_beyond_floor(totals: intervals.Floats) -> intervals.Floats:
    """Mean on the twins of a family minus mean on their floor, from totals on the last axis: sum
    and number of the family, then of the floor."""
    return _mean_of_totals(totals[..., :2]) - _mean_of_totals(totals[..., 2:])


def _select_entries(rows: _Columns, mask: Any) -> _Columns:
    return {name: values[mask] for name, values in rows.items()}


def _mean_of_totals(totals: intervals.Floats) -> intervals.Floats:
    """Divide the first total on the last axis (a sum) by the second (a number); nan for 0."""
    return intervals.safe_divide(totals[..., 0], totals[..., 1])


def twins_section(twins: pd.DataFrame, frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> family -> effect, and judge -> "controls" -> family -> effect;
    `twins` and `frame` as in `twin_effects`. A family may have effects of two designs (twins
    compared with other answers, and twins judged alone): the key of the second effect is then
    "<family>, <design>"."""
    nested: Json = {}
    for one in twin_effects(twins, frame):
        place = nested.setdefault(one.judge, {}).setdefault(one.prompt or "controls", {})
        name = one.family if one.family not in place else f"{one.family}, {one.design}"
        place[name] = one.as_json()
    return nested
