"""A forest plot in table rows: an estimate and its interval on an axis drawn in the table head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.html.format import attributes, escape, is_known
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
) -> str:
    """One row of the plot: dot and interval; below five items a hollow dot without interval."""
    marks = "".join(f'<i class="g" style="left:{axis.place(v)}"></i>' for v in axis.ticks)
    if axis.chance is not None:
        marks += f'<i class="c" style="left:{axis.place(axis.chance)}"></i>'
    marks += "".join(f'<i class="o" style="left:{axis.place(v)}"></i>' for v in others)
    if people is not None and is_known(people):
        marks += f'<i class="q" style="left:{axis.place(people)}"></i>'
    marks += _dot_html(estimate, axis)
    made = attributes({"class": "eh-forest", "data-tip": tip or None})
    return f"<div{made}>{marks}</div>"


def _dot_html(estimate: Estimate, axis: Axis) -> str:
    if estimate.value is None or not is_known(estimate.value):
        return ""
    at = axis.place(estimate.value)
    if 0 < estimate.items < 5:
        return f'<i class="p hollow" style="left:{at}"></i>'
    whisker = ""
    if estimate.low is not None and estimate.high is not None:
        left, right = axis.place(estimate.low), axis.place(estimate.high)
        width = float(right[:-1]) - float(left[:-1])
        whisker = f'<i class="w" style="left:{left};width:{width:.2f}%"></i>'
    return f'{whisker}<i class="p" style="left:{at}"></i>'


def axis_html(axis: Axis) -> str:
    spans = "".join(
        f'<span style="left:{axis.place(value)}">{escape(text)}</span>'
        for value, text in axis.labels.items()
    )
    return f'<div class="eh-axis">{spans}</div>'


def value_html(value: str, bounds: str) -> str:
    return f"<b>{value}</b>" + (f' <span class="eh-ci">{bounds}</span>' if bounds else "")
