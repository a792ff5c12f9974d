"""Curve of the expected half-width of the interval by the number of questions, as SVG."""

import math
from collections.abc import Sequence
from typing import Final

from components.charts import svg_pieces
from components.charts.svg_pieces import Canvas, Scale
from components.html.format import count, dollars, number
from components.html.markup import Markup, fill
from components.study.steps.planned_study import PlannedStudy

_POINTS: Final = 60
_FURTHER: Final = (2, 4)
"""Multiples of the planned number of questions at which points are drawn too."""
_STEPS: Final = (0.01, 0.02, 0.04, 0.05, 0.1, 0.2, 0.25)


def curve_html(planned: PlannedStudy) -> Markup:
    name = planned.planned_measure_name
    title = f"Half-width of the 95 % interval of the {name}, by number of questions"
    drawn = svg_pieces.wrap_wide_and_narrow(
        _width_curve_svg(planned, Canvas(520, 300)),
        _width_curve_svg(planned, Canvas(340, 280, narrow=True)),
        title,
    )
    return fill(
        "<h3>More questions narrow the interval</h3>"
        '<p class="eh-small eh-mute">{}</p>{}<p class="hint">{}</p>',
        f"half-width of the 95 % interval of the {planned.planned_measure_name}, points",
        drawn,
        "To halve the width, use four times as many questions.",
    )


def _width_curve_svg(planned: PlannedStudy, canvas: Canvas) -> Markup:
    now = max(2, len(planned.plan.items))
    last = now * _FURTHER[-1] * 1.2
    first = max(2.0, now / 3)
    grid = [first + (last - first) * k / (_POINTS - 1) for k in range(_POINTS)]
    halves = [planned.width(items=n).half for n in grid]
    rows = _half_width_ticks(halves[0])
    y, x = canvas.vertical_scale(0.0, rows[-1]), canvas.horizontal_scale(0.0, last)
    parts = svg_pieces.svg_axes(
        canvas, rows, y, [(x(n), count(n)) for n in _question_number_ticks(last)], "questions"
    )
    line = " ".join(f"{x(n):.1f},{y(half):.1f}" for n, half in zip(grid, halves, strict=True))
    parts.append(fill('<polyline class="f" points="{}"/>', line))
    for times in (1, *_FURTHER):
        parts += _curve_point_svg(planned, canvas, x, y, now * times, times)
    return svg_pieces.svg(canvas, parts)


def _curve_point_svg(
    planned: PlannedStudy, canvas: Canvas, x: Scale, y: Scale, questions: int, times: int
) -> Sequence[Markup]:
    """SVG of a point on the curve at `questions` (`times` the planned number), with a label:
    half-width in points and, for a higher number than planned, what the additional calls cost; a
    narrow canvas leaves the cost out."""
    half = planned.width(items=questions).half
    place, height = x(questions), y(half)
    kind = "d" if times == 1 else "q"
    cost = planned.cost_of(planned.numbers.asks * (times - 1))
    words = f"± {number(100 * half, 1)}"
    words += " now" if times == 1 else f", {dollars(cost)}{' more' if cost else ''}"
    if canvas.narrow and times != 1:
        words = f"± {number(100 * half, 1)}"
    ends = times == _FURTHER[-1]
    at = min(place, canvas.width - svg_pieces.RIGHT) if ends else max(place + 10, svg_pieces.LEFT)
    weight, anchor = "b n" if times == 1 else "n", "end" if ends else "start"
    return [
        fill('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="6"/>', kind, place, height),
        svg_pieces.svg_text(at, height - 14, words, weight, anchor),
    ]


def _half_width_ticks(top: float) -> list[float]:
    """Ticks of the vertical axis: two to six round half-widths from 0 to at least `top`."""
    step = next((one for one in _STEPS if one * 5 >= top), _STEPS[-1])
    return [round(k * step, 4) for k in range(max(1, math.ceil(top / step - 1e-9)) + 1)]


def _question_number_ticks(last: float) -> list[int]:
    """Ticks of the horizontal axis: at most five round numbers of questions up to `last`."""
    rough = last / 4
    power = 10 ** math.floor(math.log10(rough))
    step = max(1, round(next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.8)))
    return list(range(step, int(last) + 1, step))
