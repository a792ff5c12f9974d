"""Stacked bars of Creation-MMBench's five verdict levels, centred on the tie, with Reward (mean
level, −100 to 100), win rate and Visual Factuality Score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import NARROW_SPACE, count, number, share
from components.html.markup import Markup, attributes, fill, join
from components.html.tables.value_table import (
    PERCENT,
    POINTS,
    SCORE,
    ColumnHead,
    count_cell,
    name_cell,
    value_cell,
    value_table,
)
from metrics.protocols.creation_levels import LEVELS
from studies.domain import Estimate

LEVEL_NAMES: Final[Mapping[str, str]] = {
    "much_worse": "much worse",
    "worse": "worse",
    "tie": "tie",
    "better": "better",
    "much_better": "much better",
}
"""Names of the five levels, from left to right in the bar."""
_MIN_LABEL_WIDTH: Final = 4.2
"""Smallest segment, in per cent of the readable verdicts, that shows its number."""
_MIN_TIE_LABEL_WIDTH: Final = 18
"""Smallest segment of ties, in per cent, that shows its number in front of the centre line."""


@dataclass(frozen=True, slots=True)
class LevelRow:
    """Counts of the five-level verdicts on one model, compared with the baseline or, without a
    baseline, with all other models; `fail` counts unusable replies."""

    model: str
    counts: Mapping[str, int]
    fail: int
    reward: Estimate
    win_rate: Estimate
    vfs: Estimate | None = None
    select: Mapping[str, Any] | None = None
    note: str = ""

    @property
    def readable(self) -> int:
        return sum(self.counts[level] for level in LEVELS)

    def shares(self) -> dict[str, float]:
        """Per cent of the readable verdicts at each level, from "much worse" to "much better"."""
        return {level: 100 * self.counts[level] / max(self.readable, 1) for level in LEVEL_NAMES}


def level_legend() -> Markup:
    keys = join(
        fill('<span class="eh-key"><i class="lv {}"></i>{}</span>', level, word)
        for level, word in LEVEL_NAMES.items()
    )
    return fill('<div class="eh-row">{}</div>', keys)


def level_table(rows: Sequence[LevelRow], baseline: str) -> Markup:
    """HTML table of stacked bars on one common scale, with the paper's measures beside each bar."""
    low, high = _stack_extent(rows)
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Verdicts", html=_sides_html(baseline, low, high)),
        ColumnHead("Reward", tip=f"−100 to 100, 95{NARROW_SPACE}% CI"),
        ColumnHead(
            "Win rate, %",
            tip="% of usable verdicts that prefer the model to the baseline; a tie is not a win",
        ),
    ]
    scored = any(row.vfs is not None for row in rows)
    if scored:
        heads.append(ColumnHead("VFS", tip="Visual Factuality Score, 0 to 10"))
    heads.append(ColumnHead("Unusable", tip="replies without a verdict; left out of all shares"))
    return value_table(
        heads, [_level_cells(row, low, high, scored) for row in rows], label="Five levels"
    )


def _level_cells(row: LevelRow, low: float, high: float, scored: bool) -> list[Markup]:
    cells = [
        name_cell(row.model, row.select, row.note),
        level_stack(row, low, high),
        value_cell(
            row.reward, POINTS, who=f"Reward of {row.model}, −100 to 100", select=row.select
        ),
        value_cell(
            row.win_rate,
            PERCENT,
            who=f"Wins of {row.model}: better or much better; ties are no wins",
            select=row.select,
        ),
    ]
    if scored:
        cells.append(
            value_cell(
                row.vfs, SCORE, who=f"Visual Factuality Score of {row.model}", select=row.select
            )
        )
    failed = None if row.select is None else {**row.select, "status": "failures"}
    return [*cells, count_cell(row.fail, "unusable replies", failed)]


def _stack_extent(rows: Sequence[LevelRow]) -> tuple[float, float]:
    """Left (negative) and right end of the scale, in per cent from the middle of the ties."""
    left, right = 10.0, 10.0
    for row in rows:
        part = row.shares()
        left = max(left, part["much_worse"] + part["worse"] + part["tie"] / 2)
        right = max(right, part["much_better"] + part["better"] + part["tie"] / 2)
    return -left - 2, right + 2


def _sides_html(baseline: str, low: float, high: float) -> Markup:
    at = 100 * -low / (high - low)
    against = f"worse than {baseline}" if baseline else "worse"
    return fill(
        '<span class="eh-sides"><span style="right:calc({:.2f}% + 8px)">{}'
        '</span><span style="left:calc({:.2f}% + 8px)">better</span></span>',
        100 - at,
        against,
        at,
    )


def level_stack(row: LevelRow, low: float, high: float) -> Markup:
    """HTML of one row's stacked bar on a scale from `low` to `high` per cent, with the middle of
    the ties on the centre line."""
    if not row.readable:
        return Markup('<span class="eh-mute eh-small">no usable verdict</span>')
    parts = row.shares()
    at = -(parts["much_worse"] + parts["worse"] + parts["tie"] / 2)
    pieces = ""
    for level, width in parts.items():
        if width:
            pieces += _stack_piece(row, level, width, at, low, high)
        at += width
    zero = fill('<i class="z" style="left:{:.2f}%"></i>', 100 * -low / (high - low))
    made = {"class": "eh-stack", "data-tip": _level_summary(row), "aria-label": _level_summary(row)}
    if row.select is None:
        return fill("<span{}>{}{}</span>", attributes({**made, "role": "img"}), pieces, zero)
    made |= {"type": "button", "data-select": json.dumps(row.select)}
    return fill("<button{}>{}{}</button>", attributes(made), pieces, zero)


def _stack_piece(
    row: LevelRow, level: str, width: float, at: float, low: float, high: float
) -> Markup:
    left, wide = 100 * (at - low) / (high - low), 100 * width / (high - low)
    tip = (
        f"{number(width, 1)}{NARROW_SPACE}% {LEVEL_NAMES[level]}\n{row.model}\n"
        f"{count(row.counts[level])} of {count(row.readable)} usable verdicts"
    )
    made = attributes(
        {
            "class": f"lv {level}",
            "style": f"left:{left:.2f}%;width:{wide:.2f}%",
            "data-tip": tip,
        }
    )
    least = _MIN_TIE_LABEL_WIDTH if level == "tie" else _MIN_LABEL_WIDTH
    return fill("<i{}>{}</i>", made, number(width) if width >= least else "")


def _level_summary(row: LevelRow) -> str:
    parts = row.shares()
    shares = ", ".join(
        f"{share(parts[level] / 100, 0)} {word}" for level, word in LEVEL_NAMES.items()
    )
    return f"{row.model}: {shares}; {count(row.readable, 'usable verdict')}"
