"""Forest plot inside a table: each row shows an estimate with its interval, the head the axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from components.html.format import is_known, number
from components.html.markup import EMPTY, Markup, attributes, fill, join
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class Axis:
    """The common value axis of all rows of a forest plot."""

    low: float = 0
    high: float = 1
    ticks: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
    labels: Mapping[float, str] = field(default_factory=lambda: {0: "0", 0.5: "50", 1: "100"})
    chance: float | None = None

    def css_position(self, value: float) -> str:
        inside = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(inside, 0.0), 1.0):.2f}%"

    def css_width(self, low: float, high: float) -> str:
        """Width, in per cent of the axis, of a line from `low` to `high`; parts outside the axis
        are cut."""
        return f"{float(self.css_position(high)[:-1]) - float(self.css_position(low)[:-1]):.2f}%"


TickSteps = Sequence[tuple[float, float]]
"""Pairs (distance between ticks, length of the longest axis that uses it), smallest first."""


def tick_steps(*distances: float) -> TickSteps:
    """Pairs (distance between ticks, longest axis that uses it) from the given distances: a
    distance is used on axes of up to five times its length."""
    return [(distance, 5 * distance) for distance in distances]


def tick_steps_from(least: float) -> TickSteps:
    """Pairs as `tick_steps` returns them, for the distances 1, 2, 5, 10, 20, … times `least`."""
    return tick_steps(*(least * first * 10**power for power in range(7) for first in (1, 2, 5)))


SHARE_STEPS: Final = tick_steps(0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
RATING_STEPS: Final = ((50.0, 300.0), (100.0, 800.0), (200.0, math.inf))


def fit_axis(
    estimates: Iterable[Estimate],
    steps: TickSteps,
    text: Callable[[float], str],
    *,
    holds: Sequence[float] = (),
    bounds: tuple[float, float] = (-math.inf, math.inf),
    pad: float | None = None,
) -> Axis:
    """An axis that covers all estimates with their intervals, and also the values `holds`, but not
    beyond `bounds`. `steps`: possible distances between ticks (see `tick_steps`); `text` gives the
    label of a tick. The axis begins and ends at a tick. With `pad` it instead extends beyond the
    values at each end by this fraction of their range."""
    ends = [
        float(value)
        for one in estimates
        for value in (one.low, one.high, one.value)
        if value is not None and is_known(value)
    ]
    ends += holds
    low, high = (min(ends), max(ends)) if ends else (0.0, 4 * steps[0][0])
    low, high = max(low, bounds[0]), min(high, bounds[1])
    if pad is not None:
        more = max(pad * (high - low), steps[0][0] / 5)
        low, high = low - more, high + more
    step = next((step for step, most in steps if high - low <= most), steps[-1][0])
    rounded = (math.ceil, math.floor) if pad is not None else (math.floor, math.ceil)
    first, last = rounded[0](low / step + 1e-9), rounded[1](high / step - 1e-9)
    ticks = [step * k for k in range(first, max(last, first + (pad is None)) + 1)]
    if pad is None:
        low, high = ticks[0], ticks[-1]
    return Axis(low, high, ticks, {tick: text(tick) for tick in ticks})


def fit_share_axis(
    estimates: Iterable[Estimate],
    *,
    signed: bool = False,
    holds: Sequence[float] = (),
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Axis:
    """An axis for shares, labelled in per cent; with `signed`, positive labels have a plus sign.
    `holds` and `bounds` as in `fit_axis`."""
    text: Callable[[float], str] = lambda tick: number(100 * tick, signed=signed)  # noqa: E731
    return fit_axis(estimates, SHARE_STEPS, text, holds=holds, bounds=bounds)


def forest_html(
    estimate: Estimate,
    axis: Axis,
    *,
    people: Estimate | None = None,
    others: Sequence[float] = (),
    tip: str = "",
) -> Markup:
    """HTML of one row of a forest plot: a dot with its interval (none if the value is unknown),
    grey ticks at `others` (values of other raters), a diamond with a thin interval at
    `people` (the estimate from people), and the hover card `tip`. No interval is drawn for fewer
    than five items; the dot is then hollow."""
    marks = join(
        fill('<i class="g" style="left:{}"></i>', axis.css_position(v)) for v in axis.ticks
    )
    if axis.chance is not None:
        marks += fill('<i class="c" style="left:{}"></i>', axis.css_position(axis.chance))
    marks += join(fill('<i class="o" style="left:{}"></i>', axis.css_position(v)) for v in others)
    if people is not None and people.value is not None and is_known(people.value):
        at = axis.css_position(people.value)
        marks += _interval_html("u", people, axis) + fill('<i class="q" style="left:{}"></i>', at)
    marks += _dot_html(estimate, axis)
    made = attributes({"class": "eh-forest", "data-tip": tip or None})
    return fill("<div{}>{}</div>", made, marks)


def _dot_html(estimate: Estimate, axis: Axis) -> Markup:
    if estimate.value is None or not is_known(estimate.value):
        return EMPTY
    at = axis.css_position(estimate.value)
    if 0 < estimate.items < 5:
        return fill('<i class="p hollow" style="left:{}"></i>', at)
    return _interval_html("w", estimate, axis) + fill('<i class="p" style="left:{}"></i>', at)


def _interval_html(kind: str, estimate: Estimate, axis: Axis) -> Markup:
    """HTML of the interval as a line with the CSS class `kind`; empty if an end is unknown, and for
    fewer than five items."""
    if estimate.low is None or estimate.high is None or 0 < estimate.items < 5:
        return EMPTY
    left, width = axis.css_position(estimate.low), axis.css_width(estimate.low, estimate.high)
    return fill('<i class="{}" style="left:{};width:{}"></i>', kind, left, width)


def axis_html(axis: Axis) -> Markup:
    spans = join(
        fill('<span style="left:{}">{}</span>', axis.css_position(value), text)
        for value, text in axis.labels.items()
    )
    return fill('<div class="eh-axis">{}</div>', spans)


def value_html(value: str, bounds: str) -> Markup:
    made = fill("<b>{}</b>", value)
    return made + fill(' <span class="eh-ci">{}</span>', bounds) if bounds else made
