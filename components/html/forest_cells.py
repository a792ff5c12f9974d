"""A forest plot in table rows: an estimate and its interval on an axis drawn in the table head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.html.format import is_known
from components.html.markup import EMPTY, Markup, attributes, fill, join
from studies.domain import Estimate


@dataclass(frozen=True, slots=True)
class Axis:
    """The common scale of all rows of a forest plot."""

    low: float = 0
    high: float = 1
    ticks: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
    labels: Mapping[float, str] = field(default_factory=lambda: {0: "0", 0.5: "50", 1: "100"})
    chance: float | None = None

    def place(self, value: float) -> str:
        inside = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(inside, 0.0), 1.0):.2f}%"


def forest_html(
    estimate: Estimate,
    axis: Axis,
    *,
    people: float | None = None,
    others: Sequence[float] = (),
    tip: str = "",
) -> Markup:
    """One row of the plot: dot and interval; below five items a hollow dot without interval."""
    marks = join(fill('<i class="g" style="left:{}"></i>', axis.place(v)) for v in axis.ticks)
    if axis.chance is not None:
        marks += fill('<i class="c" style="left:{}"></i>', axis.place(axis.chance))
    marks += join(fill('<i class="o" style="left:{}"></i>', axis.place(v)) for v in others)
    if people is not None and is_known(people):
        marks += fill('<i class="q" style="left:{}"></i>', axis.place(people))
    marks += _dot_html(estimate, axis)
    made = attributes({"class": "eh-forest", "data-tip": tip or None})
    return fill("<div{}>{}</div>", made, marks)


def _dot_html(estimate: Estimate, axis: Axis) -> Markup:
    if estimate.value is None or not is_known(estimate.value):
        return EMPTY
    at = axis.place(estimate.value)
    if 0 < estimate.items < 5:
        return fill('<i class="p hollow" style="left:{}"></i>', at)
    whisker = ""
    if estimate.low is not None and estimate.high is not None:
        left, right = axis.place(estimate.low), axis.place(estimate.high)
        width = float(right[:-1]) - float(left[:-1])
        whisker = fill('<i class="w" style="left:{};width:{:.2f}%"></i>', left, width)
    return fill('{}<i class="p" style="left:{}"></i>', whisker, at)


def axis_html(axis: Axis) -> Markup:
    spans = join(
        fill('<span style="left:{}">{}</span>', axis.place(value), text)
        for value, text in axis.labels.items()
    )
    return fill('<div class="eh-axis">{}</div>', spans)


def value_html(value: str, bounds: str) -> Markup:
    return fill("<b>{}</b>", value) + (
        fill(' <span class="eh-ci">{}</span>', bounds) if bounds else ""
    )
