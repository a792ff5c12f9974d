"""Creation-MMBench's tables for a study: verdicts on five levels by model, category and task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.html import heatmap as heat
from components.html import scales
from components.html.format import count, number, share
from components.html.markup import EMPTY, Markup, fill, inline_markup
from components.html.panel import Kpi, empty_state, wrap
from components.html.tables.level_stacks import LevelRow, level_legend, level_table
from components.html.tables.value_table import (
    PERCENT,
    POINTS,
    SCORE,
    ColumnHead,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.sections import FACTUALITY_SECTION, LEVELS_SECTION, protocol_rows
from metrics.estimation.row_selection import add_item_column
from metrics.protocols.creation_table import CreationRow, creation_table
from studies.domain import Estimate

REWARD_SCALE: Final = scales.ColourScale(
    "Reward",
    "r",
    0,
    50,
    (
        "full colour: Reward −50 or less (worse than the baseline)",
        "full colour: Reward +50 or more (better); no colour: Reward 0",
    ),
    1,
    1,
    "",
    signed=True,
)
WIN_RATE_SCALE: Final = scales.ColourScale(
    "Win rate", "w", 0, 0.5, ("no colour: 0 %", "full colour: 50 % or more")
)
VFS_SCALE: Final = scales.ColourScale(
    "VFS", "w", 5, 10, ("no colour: 5 or less", "full colour: 10"), 2, 1, "of 10"
)
SPLITS: Final = ("Models", "Categories", "Tasks")
CELL_SCALES: Final[dict[str, tuple[str, scales.ColourScale]]] = {
    "Reward": ("reward", REWARD_SCALE),
    "Win rate": ("win_rate", WIN_RATE_SCALE),
    "VFS": ("vfs", VFS_SCALE),
}


def load_level_rows(filtered: FilteredStudy) -> pd.DataFrame:
    """The judges' five-level verdicts and factuality scores that pass the filters."""
    rows = machine_rows(protocol_rows(filtered, "five-level", "factuality"))
    return rows.loc[(rows["options"] == 2).to_numpy()]


def study_baseline(filtered: FilteredStudy) -> str | None:
    """The baseline model; None if every model was compared with every other model."""
    study = filtered.study
    return study.baseline if study.pairing == "baseline" and study.baseline else None


def creation_rows(filtered: FilteredStudy) -> list[CreationRow]:
    """One table row per model, the highest Reward first (mean level, from −100 to 100)."""
    rows = load_level_rows(filtered)
    found = creation_table(rows, study_baseline(filtered)) if len(rows) else {}
    return found.get((), [])


def show_creation_table(
    filtered: FilteredStudy, split: str, cell: str, sections: Sequence[str]
) -> Markup:
    """HTML of the tables: stacked levels by model; or a matrix of Reward, win rate or visual
    factuality score (VFS) by category or task."""
    rows = load_level_rows(filtered)
    if rows.empty:
        return empty_state(
            "No five-level verdicts.",
            "Creation-MMBench compares each model with a baseline in five levels.",
        )
    if split == "Models":
        return _level_stacks(filtered, sections)
    column = "category" if split == "Categories" else "task"
    if column == "task":
        tasks = item_tasks(filtered)
        if not any(tasks.values()):
            return empty_state(
                "No item names its task.", "Set `meta.task` of each item to its task."
            )
        rows = add_item_column(rows, "task", tasks)
    return _group_matrix(filtered, rows, column, cell)


def _level_stacks(filtered: FilteredStudy, sections: Sequence[str]) -> Markup:
    found = creation_rows(filtered)
    judged = any(sum(row.counts.values()) + row.fail for row in found)
    if LEVELS_SECTION in sections and judged:
        scored = FACTUALITY_SECTION in sections or any(row.vfs.value is not None for row in found)
        stacks = [level_row(row, scored) for row in found]
        head = wrap(level_legend())
        return (
            head
            + level_table(stacks, study_baseline(filtered) or "")
            + _baseline_note(filtered, found)
        )
    return _factuality_table(found)


def level_row(row: CreationRow, scored: bool) -> LevelRow:
    """Row of the table of five levels; with `scored`, it includes the visual factuality score."""
    return LevelRow(
        row.model,
        row.counts,
        row.fail,
        row.reward,
        row.win_rate,
        row.vfs if scored else None,
        {"contestant": row.model},
    )


def _factuality_table(found: Sequence[CreationRow]) -> Markup:
    """HTML table for a study that has only factuality scores."""
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("VFS", tip="visual factuality score, 0 to 10"),
        ColumnHead("VFS of the baseline"),
        ColumnHead("Unusable replies"),
    ]
    lines = [
        [
            name_cell(row.model, {"contestant": row.model}),
            value_cell(row.vfs, SCORE, who=f"VFS of {row.model}", select={"contestant": row.model}),
            value_cell(
                row.baseline_vfs,
                SCORE,
                who="visual factuality score (VFS) of the baseline in comparisons with "
                f"{row.model}",
            ),
            count(row.vfs_fail),
        ]
        for row in found
    ]
    return value_table(heads, lines, label="Visual factuality")


def _baseline_note(filtered: FilteredStudy, found: Sequence[CreationRow]) -> Markup:
    """HTML note: the range of the baseline's visual factuality score (VFS), which is scored once
    per opponent, and the number of unusable replies."""
    values = [row.baseline_vfs.value for row in found if row.baseline_vfs.value is not None]
    unread = sum(row.vfs_fail for row in found)
    parts = []
    if values:
        low, high = number(min(values), 2), number(max(values), 2)
        span = low if low == high else f"{low} to {high}, depending on the model compared with it"
        parts.append(
            f"The baseline {study_baseline(filtered)} is scored again in the comparisons with each "
            f"model; its visual factuality score (VFS) is {span}."
        )
    if unread:
        parts.append(f"{count(unread)} factuality replies are unusable.")
    return (
        wrap(fill('<p class="eh-small eh-under">{}</p>', inline_markup(" ".join(parts))))
        if parts
        else EMPTY
    )


def item_tasks(filtered: FilteredStudy) -> dict[str, str]:
    return {
        key: item.meta.get("task", "") for key, item in filtered.store.items(filtered.name).items()
    }


def _group_matrix(filtered: FilteredStudy, rows: pd.DataFrame, column: str, cell: str) -> Markup:
    attribute, scale = CELL_SCALES[cell]
    found = creation_table(rows, study_baseline(filtered), [column])
    whole = creation_table(rows, study_baseline(filtered)).get((), [])
    cells: dict[tuple[str, str], Estimate | None] = {
        ("All", row.model): getattr(row, attribute) for row in whole
    }
    for (group,), lines in found.items():
        cells |= {(group, row.model): getattr(row, attribute) for row in lines}
    groups = ["All", *sorted(group for (group,) in found if group)]
    columns = [heat.MatrixColumn(row.model) for row in whole]
    keys = ("category" if column == "category" else "group", "contestant")
    click = (
        "Click to open the verdicts of this cell"
        if column == "category"
        else "Click to open the model's verdicts"
    )
    drawn = heat.matrix_html(
        groups, columns, cells, scale, keys=keys, turns=False, label_width=220, click=click
    )
    return fill('<div class="eh-scrolls">{}</div>', drawn) if len(groups) > 14 else drawn


# -- headline and key numbers --------------------------------------------------------------------


def creation_finding(filtered: FilteredStudy, found: Sequence[CreationRow]) -> tuple[str, str]:
    known = [row for row in found if row.reward.value is not None]
    if not known:
        scored = [row for row in found if row.vfs.value is not None]
        if scored:
            best = max(scored, key=lambda row: row.vfs.value or 0.0)
            score = number(best.vfs.value, 2)
            title = f"{best.model} has the highest visual factuality: {score} of 10."
            return title, "The score is averaged over both orders of an item, then over items."
        return "No five-level verdicts yet.", "Results appear here while the study runs."
    best = known[0]
    against = study_baseline(filtered) or "the others"
    side = "does not differ significantly from"
    side = "is significantly ahead of" if (best.reward.low or 0) > 0 else side
    side = "is significantly behind" if (best.reward.high or 0) < 0 else side
    lead = (
        f"The Reward of {best.model} is {number(best.reward.value, 1, signed=True)} "
        f"{POINTS.bounds(best.reward)}: its mean verdict against {against}, from −100 (always much "
        f"worse) to 100 (always much better). It wins {share(best.win_rate.value, 0)} of its "
        "verdicts. Both orders are pooled; unusable replies are left out."
    )
    highest = f"Of {count(len(known), 'model')}, {best.model} has the highest Reward"
    return f"{highest}; this model {side} {against}.", lead


def creation_kpis(found: Sequence[CreationRow]) -> list[Kpi]:
    known = [row for row in found if row.reward.value is not None]
    kpis = []
    if known:
        best = known[0]
        note = f"{best.model} {POINTS.bounds(best.reward)}"
        kpis.append(Kpi("Highest Reward", number(best.reward.value, 1, signed=True), note=note))
        note = f"{best.model} {PERCENT.bounds(best.win_rate)}"
        label = "Win rate of the model with the highest Reward"
        kpis.append(Kpi(label, share(best.win_rate.value), note=note))
    scored = [row for row in found if row.vfs.value is not None]
    if scored:
        top = max(scored, key=lambda row: row.vfs.value or 0.0)
        kpis.append(
            Kpi(
                "Highest visual factuality",
                number(top.vfs.value, 2),
                "of 10",
                f"{top.model} {SCORE.bounds(top.vfs)}",
            )
        )
    return kpis
