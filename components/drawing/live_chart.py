"""The first-slot share while verdicts come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.drawing.data_table import table
from components.drawing.marks import (
    Figure,
    axis,
    figure_of,
    filled_band,
    layout_of,
    level_line,
    push_apart,
    right_note,
    thinned,
)
from components.format import known, percent, share
from studies.records import Estimate


@dataclass(frozen=True, slots=True)
class SharePoint:
    """The first-slot share after `n` decisive verdicts."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


def live_share(
    points: Sequence[SharePoint],
    *,
    even: float = 0.5,
    planned: int | None = None,
    height: int = 250,
    revision: str = "share",
) -> Figure:
    """The first-slot share while verdicts come in. The y range is fixed: it must not breathe."""
    points = [points[i] for i in thinned(len(points))]
    last = points[-1] if points else None
    colour = _lean_colour(last, even)
    x, y = [p.n for p in points], [p.value for p in points]
    within = [p for p in points if known(p.low) and known(p.high)]
    data = [
        filled_band(
            [p.n for p in within], [p.low for p in within], [p.high for p in within], colour, 0.2
        ),
        {
            "x": x,
            "y": y,
            "mode": "lines",
            "line": {"color": colour, "width": 3},
            "hovertemplate": "%{y:.1%} after %{x:,d} verdicts<extra></extra>",
        },
    ]
    notes = [right_note(even, f"even {share(even, 0)}", "var(--ink-3)")]
    if last:
        notes.append(right_note(last.value, f"<b>{share(last.value)}</b>", colour, size=15))
    window = _window(points, even)
    push_apart(notes, window, height)
    layout = layout_of(
        height=height,
        right=84,
        revision=revision,
        annotations=notes,
        shapes=[level_line(even)],
        xaxis=axis(
            title="verdicts",
            range=[0, max(planned or 0, x[-1] if x else 0, 1)],
            tickformat=",d",
            showgrid=False,
            nticks=4,
        ),
        yaxis=axis(
            range=list(window),
            tickvals=[tick / 10 for tick in range(0, 11, 2 if window == (0, 1) else 1)],
            ticktext=[share(tick / 10, 0) for tick in range(0, 11, 2 if window == (0, 1) else 1)],
        ),
    )
    rows = [(point.n, point.value, point.low, point.high) for point in points]
    data_table = table(["verdicts", "first_share", "low", "high"], rows)
    return figure_of(data, layout, _share_summary(last, even), {"xaxis.nticks": 3}, data_table)


def _lean_colour(last: SharePoint | None, even: float) -> str:
    """Blue or orange only when the interval lies on one side; until then nothing is said."""
    if last is None or last.low is None or last.high is None:
        return "var(--tie)"
    if last.low > even:
        return "var(--first)"
    return "var(--second)" if last.high < even else "var(--tie)"


def _window(points: Sequence[SharePoint], even: float) -> tuple[float, float]:
    """25 points to each side of even, or the whole scale once a settled share leaves that.

    Two fixed windows: an axis that follows the data would make every wobble look alike.
    """
    settled = [p.value for p in points if p.n >= 20 or p is points[-1]]
    if abs(even - 0.5) < 0.01 and all(0.28 < value < 0.72 for value in settled):
        return 0.25, 0.75
    return 0, 1


def _share_summary(last: SharePoint | None, even: float) -> str:
    if last is None:
        return "No decisive verdicts yet."
    estimate = Estimate(last.value, last.low, last.high, last.n)
    return f"First-slot share {percent(estimate)}; even is {share(even, 0)}."
