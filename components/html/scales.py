"""The colour scales of the matrices: fixed ones, and those that fit the cells of a study."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from components.html.format import DASH, interval, is_known, number
from metrics.catalogue.record import MeasureRecord
from studies.domain import Estimate

COLOUR_BINS: Final = 20
MIDDLE_STRENGTH: Final = 0.7
"""Strength of the colour at the chance level, so that values below chance are seen at once."""


@dataclass(frozen=True, slots=True)
class ColourScale:
    """A mapping of values to colours.

    The value `blank` has no colour, `full` the strongest colour. Scales of kind `b` and `w` have
    one colour. Those of kind `f` (first or second position) and `r` (better or worse) have a second
    colour for values on the other side of `blank`.
    """

    name: str
    kind: Literal["b", "f", "w", "r"]
    blank: float
    full: float
    ends: tuple[str, str]
    decimals: int = 0
    times: float = 100
    """Factor of the shown number: 100 shows a share in per cent."""
    unit: str = "%"
    signed: bool = False
    is_two_sided: bool = False
    """Only for scales with one colour: whether values on both sides of `blank` get it."""
    middle: float | None = None
    """Value, such as the chance level, that has MIDDLE_STRENGTH of the full colour; None: strength
    grows evenly from `blank` to `full`."""
    marks: tuple[tuple[float, str], ...] = ()
    """Legend instead of `ends`: place on the scale from 0 to 1, and text."""

    def css_class(self, value: float) -> str:
        """CSS class of a value: the letter `kind` and a step from 0 to 20. For scales of one colour
        (b, w), step 0 has no colour and 20 the strongest. For scales of two colours, step 10 has
        none: f0 is strongest for the second position and f20 for the first, r0 for worse and r20
        for better."""
        strength = self.strength(value)
        if self.is_two_sided:
            strength = abs(strength)
        if self.kind in ("f", "r"):
            strength = (strength + 1) / 2
        return f"{self.kind}{round(COLOUR_BINS * min(max(strength, 0.0), 1.0))}"

    def strength(self, value: float) -> float:
        """Colour strength of a value: 0 at `blank`, 1 at `full`, and in between linear, or with a
        bend at `middle`; below 0 or above 1 for values outside this range."""
        if self.middle is None or self.middle in (self.blank, self.full):
            return (value - self.blank) / (self.full - self.blank)
        near = (value - self.blank) / (self.middle - self.blank)
        if near <= 1:
            return MIDDLE_STRENGTH * near
        beyond = (value - self.middle) / (self.full - self.middle)
        return MIDDLE_STRENGTH + (1 - MIDDLE_STRENGTH) * beyond

    def text(self, value: float | None) -> str:
        if value is None:
            return DASH
        return number(self.times * value, self.decimals, signed=self.signed)

    def interval(self, estimate: Estimate) -> str:
        """Text of the interval: "66–73", or "[−18, 8]" for signed and negative values; empty
        without an interval."""
        low, high = estimate.low, estimate.high
        if low is None or high is None or not is_known(high - low):
            return ""
        if self.signed or low < 0:
            return interval(estimate, self.decimals, scale=self.times)
        return "\u2013".join(number(self.times * end, self.decimals) for end in (low, high))


def score_scale(
    name: str, full: float, blank_text: str, full_text: str, unit: str = "of 1"
) -> ColourScale:
    """Colour scale of a score whose best value, 1, has no colour, and whose value `full` has the
    strongest; `blank_text` and `full_text` are the legend of these two values, `unit` the unit of
    the score."""
    ends = (f"no colour: {blank_text}", f"full colour: {full_text}")
    return ColourScale(name, "b", 1, full, ends, 2, 1, unit)


CONSISTENCY_SCALE: Final = ColourScale(
    "Consistency", "b", 1, 0.25, ("no colour: 100 % consistent", "full colour: 25 % or less")
)
ENTROPY_SCALE: Final = score_scale("Entropy", 0.4, "1, even", "0.40 or less")
GRADE_SCALE: Final = score_scale("Grade", 0.4, "1, even-handed", "0.40 or less")
KAPPA_SCALE: Final = score_scale("Kappa", 0, "1, full agreement", "0 (chance level) or less", "")
CHOICE_SCALE: Final = score_scale(
    "Choice", 0.25, "1, the same answer in every order", "0.25 or less"
)
AGREEMENT_SCALE: Final = ColourScale(
    "Agreement", "b", 1, 0.28, ("no colour: 100 % agreement", "full colour: 28 % or less")
)
ACCURACY_SCALE: Final = ColourScale(
    "Accuracy", "b", 1, 0.28, ("no colour: 100 % right", "full colour: 28 % or less")
)
_FIRST_ENDS: Final = ("0 %: always second", "100 %: always first; no colour: 50 %")
FIRST_SHARE_SCALE: Final = ColourScale("First-position share", "f", 0.5, 1, _FIRST_ENDS)
_LEAN_ENDS: Final = (
    "\u2212100 %: all pairs flip toward the second position",
    "+100 %: all pairs flip toward the first position; no colour: 0",
)
LEAN_SCALE: Final = ColourScale("Lean", "f", 0, 1, _LEAN_ENDS, signed=True)
_TERM_ENDS: Final = (
    "\u22122 logits or less: the judge favours the second position",
    "+2 logits or more: the judge favours the first position; no colour: 0",
)
POSITION_TERM_SCALE: Final = ColourScale(
    "Position term", "f", 0, 2, _TERM_ENDS, 2, 1, "logit", signed=True
)
_WINS_ENDS: Final = ("no colour: 50 % or less", "full colour: 100 %")
WINS_SCALE: Final = ColourScale("Win rate", "w", 0.5, 1, _WINS_ENDS)


def fit_scale(scale: ColourScale, values: Iterable[float], chance: float | None) -> ColourScale:
    """Fit a scale to the values in the cells of a study, for a measure whose highest value is best.

    The highest value gets no colour. If `chance` is below the highest value, it gets the fraction
    MIDDLE_STRENGTH of the full colour, and lower values get more, up to full colour for the lowest.
    Otherwise, or if `chance` is None, the colour grows evenly to full colour for the lowest value.
    A scale that has two sides or is not of kind `b` is returned unchanged, as is any scale if there
    are no values or all are equal."""
    known = sorted(values)
    if not known or known[0] == known[-1] or scale.kind != "b" or scale.is_two_sided:
        return scale
    low, best = known[0], known[-1]
    unit = "\u202f%" if scale.unit == "%" else ""
    marks = [(0.0, f"best {scale.text(best)}{unit}")]
    if chance is None or not chance < best:
        middle = None
        marks.append((0.5, f"{scale.text((low + best) / 2)}{unit}"))
    else:
        middle, low = chance, min(low, chance - 1e-6)
        marks.append((MIDDLE_STRENGTH, f"chance {scale.text(chance)}{unit}"))
    lowest = known[0] < low + 1e-6 or middle is None
    marks.append((1.0, f"lowest {scale.text(known[0])}{unit}" if lowest else "below chance"))
    return replace(scale, blank=best, full=low, middle=middle, marks=tuple(marks))


def even_share_scale(options: int) -> ColourScale:
    """Colour scale for a position's share among N equal options: 1/N has no colour; shares equally
    far above and below it have the same colour."""
    even = 1 / options
    ends = (f"no colour: {number(100 * even)} %, an even share", "full colour: 100 %")
    return ColourScale("Share among equal options", "b", even, 1, ends, is_two_sided=True)


def scale_for_many_options(pairs: ColourScale, chance: float) -> ColourScale:
    """Colour scale for choices among many options, made from `pairs`, the scale for choices between
    two. The value with full colour is multiplied by the ratio of `chance` to 1/2, the chance of
    pairs: 0.28 for pairs becomes 0.14 at a chance of 1/4."""
    full = pairs.full * chance / 0.5
    percent = number(100 * full, 0 if full >= 0.1 else 1)
    return replace(pairs, full=full, ends=(pairs.ends[0], f"full colour: {percent} % or less"))


_SCALES: Final = {
    "consistency": CONSISTENCY_SCALE,
    "entropy": replace(ENTROPY_SCALE, decimals=3),  # values near 1 differ little
    "grade": GRADE_SCALE,
    "grade:choice": CHOICE_SCALE,
    "lean": LEAN_SCALE,
    "first_share": FIRST_SHARE_SCALE,
    "position_term": POSITION_TERM_SCALE,
    "accuracy": ACCURACY_SCALE,
}
"""Key of a measure -> its colour scale, for measures whose scale does not follow from their record
in the catalogue."""


def colour_scale_of(record: MeasureRecord) -> ColourScale:
    """Colour scale of a measure. By default a share has no colour at its best value (100 %, or 0 %
    if low is good) and full colour at the other end."""
    if record.key in _SCALES:
        return replace(_SCALES[record.key], name=record.name)
    blank, full = (0.0, 1.0) if record.better != "high" else (1.0, 0.0)
    ends = (f"no colour: {100 * blank:.0f} %", f"full colour: {100 * full:.0f} %")
    if record.style == "percent":
        return ColourScale(record.name, "b", blank, full, ends)
    plain = (f"no colour: {blank:.0f}", f"full colour: {full:.0f}")
    return ColourScale(record.name, "b", blank, full, plain, 2, 1, "")
