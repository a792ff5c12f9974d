"""Chart of the first-position share during a run, verdict by verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.charts.figure_parts import (
    Figure,
    band_trace,
    horizontal_line,
    make_axis,
    make_figure,
    make_layout,
    right_annotation,
    spread_labels,
    thin_indices,
)
from components.html.format import is_known, percent, share
from components.html.markup import PlotText, fill_plot
from components.html.tables.csv_table import csv_table
from studies.domain import Estimate

HEIGHT: Final = 250


@dataclass(frozen=True, slots=True)
class SharePoint:
    """The first-position share after `n` decisive verdicts."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


def live_share_figure(points: Sequence[SharePoint], *, even: float = 0.5) -> Figure:
    """Figure of the first-position share after each verdict; its y range is one of two fixed
    ranges, so that redrawn charts can be compared."""
    points = [points[i] for i in thin_indices(len(points))]
    last = points[-1] if points else None
    colour = _lean_colour(last, even)
    x, y = [p.n for p in points], [p.value for p in points]
    within = [p for p in points if is_known(p.low) and is_known(p.high)]
    data = [
        band_trace(
            [p.n for p in within], [p.low for p in within], [p.high for p in within], colour, 0.2
        ),
        {
            "x": x,
            "y": y,
            "mode": "lines",
            "line": {"color": colour, "width": 3},
            "hovertemplate": PlotText("%{y:.1%} after %{x:,d} verdicts<extra></extra>"),
        },
    ]
    notes = [right_annotation(even, f"even {share(even, 0)}", "var(--ink-3)")]
    if last:
        notes.append(
            right_annotation(last.value, fill_plot("<b>{}</b>", share(last.value)), colour, size=15)
        )
    window = _y_range(points, even)
    spread_labels(notes, window, HEIGHT)
    layout = make_layout(
        height=HEIGHT,
        right=84,
        revision="share",
        annotations=notes,
        shapes=[horizontal_line(even)],
        xaxis=make_axis(
            title="verdicts",
            range=[0, max(x[-1] if x else 0, 1)],
            tickformat=",d",
            showgrid=False,
            nticks=4,
        ),
        yaxis=make_axis(
            range=list(window),
            tickvals=[tick / 10 for tick in range(0, 11, 2 if window == (0, 1) else 1)],
            ticktext=[share(tick / 10, 0) for tick in range(0, 11, 2 if window == (0, 1) else 1)],
        ),
    )
    rows = [(point.n, point.value, point.low, point.high) for point in points]
    data_table = csv_table(["verdicts", "first_share", "low", "high"], rows)
    return make_figure(data, layout, _share_summary(last, even), {"xaxis.nticks": 3}, data_table)


def _lean_colour(last: SharePoint | None, even: float) -> str:
    """Colour of the position whose share is above `even`; grey if the interval contains `even`."""
    if last is None or last.low is None or last.high is None:
        return "var(--tie)"
    if last.low > even:
        return "var(--first)"
    return "var(--second)" if last.high < even else "var(--tie)"


def _y_range(points: Sequence[SharePoint], even: float) -> tuple[float, float]:
    """The y range: 0.25 to 0.75, or 0 to 1.

    The range 0 to 1 is used if `even` is not 0.5, or if the latest share, or an earlier one from 20
    or more verdicts, is not between 0.28 and 0.72. There are only two ranges because an axis fitted
    to the data would make small and large changes look alike.
    """
    settled = [p.value for p in points if p.n >= 20 or p is points[-1]]
    if abs(even - 0.5) < 0.01 and all(0.28 < value < 0.72 for value in settled):
        return 0.25, 0.75
    return 0, 1


def _share_summary(last: SharePoint | None, even: float) -> str:
    if last is None:
        return "No verdict other than a tie has arrived yet."
    estimate = Estimate(last.value, last.low, last.high, last.n)
    return (
        f"Share of verdicts for the answer shown first, ties left out: {percent(estimate)}; "
        f"a judge without a preferred position has {share(even, 0)}."
    )
