"""Stacked bars of Creation-MMBench's five verdict levels, centred on the tie, with Reward (mean
level, −100 to 100), win rate and Visual Factuality Score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import NARROW_SPACE, count, number, share
from components.html.markup import EMPTY, Markup, attributes, fill
from components.html.pieces import TEMPLATE
from components.html.tables import value_table as tables
from components.html.templates import macros
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
    """Counts of the five-level verdicts on one model, compared with the baseline (the model that
    all others are compared with) or, without a baseline, with all other models; `fail` counts
    unusable replies."""

    model: str
    counts: Mapping[str, int]
    fail: int
    reward: Estimate
    win_rate: Estimate
    vfs: Estimate | None = None
    select: Mapping[str, Any] | None = None
    note: str = ""

    @property
    def readable_verdicts(self) -> int:
        return sum(self.counts[level] for level in LEVELS)

    def percent_by_level(self) -> dict[str, float]:
        """Per cent of the readable verdicts at each level, from "much worse" to "much better"."""
        return {
            level: 100 * self.counts[level] / max(self.readable_verdicts, 1)
            for level in LEVEL_NAMES
        }


PAPER_HEAD: Final = "Win rate,\u00a0%"
"""Head of the share won outright in tables that follow Creation-MMBench."""


def level_legend() -> Markup:
    return macros(TEMPLATE).level_legend(LEVEL_NAMES)


def level_table(
    rows: Sequence[LevelRow], baseline: str, won: str = "Won outright,\u00a0%"
) -> Markup:
    """HTML table with one row for each model: a stacked bar of its verdicts on five levels (all
    bars on one scale), Reward, share won outright, Visual Factuality Score if there is one, and
    unusable replies. `baseline`: name of the baseline in the column head, empty without one; `won`:
    head of the share won outright, which the paper calls win rate."""
    low, high = _stack_extent(rows)
    at = 100 * -low / (high - low)
    sides = macros(TEMPLATE).level_sides(baseline, f"{at:.2f}", f"{100 - at:.2f}")
    wins = "% of usable verdicts that prefer the model to the baseline; a tie is not a win"
    scored = any(row.vfs is not None for row in rows)
    heads: list[tables.Head] = [
        "Model",
        tables.ColumnHead("Verdicts", html=sides),
        ("Reward", f"−100 to 100, 95{NARROW_SPACE}% CI"),
        (won, wins),
        *([("VFS", "Visual Factuality Score, 0 to 10")] if scored else []),
        ("Unusable", "replies without a verdict; left out of all shares"),
    ]
    lines = [_level_cells(row, low, high, scored) for row in rows]
    return tables.value_table(heads, lines, label="Five levels")


def _level_cells(row: LevelRow, low: float, high: float, scored: bool) -> list[Markup]:
    wins = f"Wins of {row.model}: better or much better; ties are no wins"
    measures: list[tuple[Estimate | None, tables.NumberStyle, str]] = [
        (row.reward, tables.POINTS, f"Reward of {row.model}, −100 to 100"),
        (row.win_rate, tables.PERCENT, wins),
    ]
    if scored:
        measures.append((row.vfs, tables.SCORE, f"Visual Factuality Score of {row.model}"))
    failed = None if row.select is None else {**row.select, "status": "failures"}
    return [
        tables.name_cell(row.model, row.select, row.note),
        level_stack(row, low, high),
        *(tables.value_cell(e, style, who=who, select=row.select) for e, style, who in measures),
        tables.count_cell(row.fail, "unusable replies", failed),
    ]


def _stack_extent(rows: Sequence[LevelRow]) -> tuple[float, float]:
    """Left end (negative) and right end of the common scale of all rows, in per cent of a model's
    verdicts. 0 is the middle of the ties."""
    left, right = 10.0, 10.0
    for row in rows:
        part = row.percent_by_level()
        left = max(left, part["much_worse"] + part["worse"] + part["tie"] / 2)
        right = max(right, part["much_better"] + part["better"] + part["tie"] / 2)
    return -left - 2, right + 2


def level_stack(row: LevelRow, low: float, high: float) -> Markup:
    """HTML of one row's stacked bar on a scale from `low` to `high` per cent, with the middle of
    the ties on the centre line; a note if the model has no usable verdict."""
    if not row.readable_verdicts:
        return Markup('<span class="eh-mute eh-small">no usable verdict</span>')
    parts = row.percent_by_level()
    at = -(parts["much_worse"] + parts["worse"] + parts["tie"] / 2)
    bars = EMPTY
    for level, width in parts.items():
        if width:
            bars += _stack_piece(row, level, width, at, low, high)
        at += width
    zero = fill('<i class="z" style="left:{:.2f}%"></i>', 100 * -low / (high - low))
    shares = [f"{share(parts[level] / 100, 0)} {word}" for level, word in LEVEL_NAMES.items()]
    summary = f"{row.model}: {', '.join(shares)}; {count(row.readable_verdicts, 'usable verdict')}"
    made = {"class": "eh-stack", "data-tip": summary, "aria-label": summary}
    if row.select is None:
        return fill("<span{}>{}{}</span>", attributes({**made, "role": "img"}), bars, zero)
    made |= {"type": "button", "data-select": json.dumps(row.select)}
    return fill("<button{}>{}{}</button>", attributes(made), bars, zero)


def _stack_piece(
    row: LevelRow, level: str, width: float, at: float, axis_low: float, axis_high: float
) -> Markup:
    left = 100 * (at - axis_low) / (axis_high - axis_low)
    wide = 100 * width / (axis_high - axis_low)
    tip = (
        f"{number(width, 1)}{NARROW_SPACE}% {LEVEL_NAMES[level]}\n{row.model}\n"
        f"{count(row.counts[level])} of {count(row.readable_verdicts)} usable verdicts"
    )
    style = f"left:{left:.2f}%;width:{wide:.2f}%"
    made = attributes({"class": f"lv {level}", "style": style, "data-tip": tip})
    least = _MIN_TIE_LABEL_WIDTH if level == "tie" else _MIN_LABEL_WIDTH
    return fill("<i{}>{}</i>", made, number(width) if width >= least else "")
