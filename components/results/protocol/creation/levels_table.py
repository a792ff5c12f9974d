"""Creation-MMBench on one's own study: the table by model, category and task; people beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.html import matrix as heat
from components.html.format import count, inline_markup, number, share
from components.html.level_stacks import LevelRow, level_legend, level_table
from components.html.panel import Kpi, empty_state, wrap
from components.html.value_table import (
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

REWARD_SCALE: Final = heat.ColourScale(
    "Reward", "r", 0, 50, ("−50 worse", "+50 better than the baseline"), 1, 1, "", signed=True
)
WIN_RATE_SCALE: Final = heat.ColourScale("Win rate", "w", 0, 0.5, ("0 %", "50 %"))
VFS_SCALE: Final = heat.ColourScale("VFS", "w", 5, 10, ("5", "10"), 2, 1, "of 10")
SPLITS: Final = ("Models", "Categories", "Tasks")
CELL_SCALES: Final[dict[str, tuple[str, heat.ColourScale]]] = {
    "Reward": ("reward", REWARD_SCALE),
    "Win rate": ("win_rate", WIN_RATE_SCALE),
    "VFS": ("vfs", VFS_SCALE),
}


def load_level_rows(scene: FilteredStudy) -> pd.DataFrame:
    """The machines' five-level verdicts and factuality scores in view."""
    rows = machine_rows(protocol_rows(scene, "five-level", "factuality"))
    return rows.loc[(rows["options"] == 2).to_numpy()]


def study_baseline(scene: FilteredStudy) -> str | None:
    """Who everybody is held against; None where all met all."""
    study = scene.study
    return study.baseline if study.pairing == "baseline" and study.baseline else None


def creation_rows(scene: FilteredStudy) -> list[CreationRow]:
    """One row a model, the highest Reward first."""
    rows = load_level_rows(scene)
    found = creation_table(rows, study_baseline(scene)) if len(rows) else {}
    return found.get((), [])


def show_creation_table(
    scene: FilteredStudy, split: str, cell: str, sections: Sequence[str]
) -> str:
    """Models as stacks; categories and tasks as a matrix of one of the paper's three numbers."""
    rows = load_level_rows(scene)
    if rows.empty:
        return empty_state(
            "No five-level verdict here.",
            "Creation-MMBench compares each model with a baseline in five levels.",
        )
    if split == "Models":
        return _level_stacks(scene, sections)
    column = "category" if split == "Categories" else "task"
    if column == "task":
        tasks = item_tasks(scene)
        if not any(tasks.values()):
            return empty_state(
                "The items name no task.", "`meta.task` of an item says which it is."
            )
        rows = add_item_column(rows, "task", tasks)
    return _group_matrix(scene, rows, column, cell)


def _level_stacks(scene: FilteredStudy, sections: Sequence[str]) -> str:
    found = creation_rows(scene)
    judged = any(sum(row.counts.values()) + row.fail for row in found)
    if LEVELS_SECTION in sections and judged:
        scored = FACTUALITY_SECTION in sections or any(row.vfs.value is not None for row in found)
        stacks = [_level_row(row, scored) for row in found]
        head = wrap(level_legend())
        return (
            head + level_table(stacks, study_baseline(scene) or "") + _baseline_note(scene, found)
        )
    return _factuality_table(found)


def _level_row(row: CreationRow, scored: bool) -> LevelRow:
    return LevelRow(
        row.model, row.counts, row.fail, row.reward, row.win_rate, row.vfs if scored else None,
        {"contestant": row.model},
    )  # fmt: skip


def _factuality_table(found: Sequence[CreationRow]) -> str:
    """Where only factuality was asked."""
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("VFS"),
        ColumnHead("Baseline beside it"),
        ColumnHead("Fail"),
    ]
    lines = [
        [
            name_cell(row.model, {"contestant": row.model}),
            value_cell(row.vfs, SCORE, who=f"VFS of {row.model}", select={"contestant": row.model}),
            value_cell(row.baseline_vfs, SCORE, who=f"the baseline beside {row.model}"),
            count(row.vfs_fail),
        ]
        for row in found
    ]
    return value_table(heads, lines, label="Visual factuality")


def _baseline_note(scene: FilteredStudy, found: Sequence[CreationRow]) -> str:
    """The baseline's own factuality has one value per opponent: it is scored again beside each."""
    values = [row.baseline_vfs.value for row in found if row.baseline_vfs.value is not None]
    unread = sum(row.vfs_fail for row in found)
    parts = []
    if values:
        low, high = number(min(values), 2), number(max(values), 2)
        span = low if low == high else f"{low} to {high}"
        parts.append(
            f"{study_baseline(scene)} itself has a VFS of {span}, scored beside each model."
        )
    if unread:
        parts.append(f"{count(unread)} factuality replies could not be read.")
    return (
        wrap(f'<p class="eh-small eh-under">{inline_markup(" ".join(parts))}</p>') if parts else ""
    )


def item_tasks(scene: FilteredStudy) -> dict[str, str]:
    return {key: item.meta.get("task", "") for key, item in scene.store.items(scene.name).items()}


def _group_matrix(scene: FilteredStudy, rows: pd.DataFrame, column: str, cell: str) -> str:
    attribute, scale = CELL_SCALES[cell]
    found = creation_table(rows, study_baseline(scene), [column])
    whole = creation_table(rows, study_baseline(scene)).get((), [])
    cells: dict[tuple[str, str], Estimate | None] = {
        ("All", row.model): getattr(row, attribute) for row in whole
    }
    for (group,), lines in found.items():
        cells |= {(group, row.model): getattr(row, attribute) for row in lines}
    groups = ["All", *sorted(group for (group,) in found if group)]
    columns = [heat.MatrixColumn(row.model) for row in whole]
    keys = ("category" if column == "category" else "group", "contestant")
    click = "Click to read them" if column == "category" else "Click to read the model's verdicts"
    drawn = heat.matrix_html(
        groups, columns, cells, scale, keys=keys, turns=False, label_width=220, click=click
    )
    return f'<div class="eh-scrolls">{drawn}</div>' if len(groups) > 14 else drawn


# -- words ---------------------------------------------------------------------------------------


def creation_finding(scene: FilteredStudy, found: Sequence[CreationRow]) -> tuple[str, str]:
    known = [row for row in found if row.reward.value is not None]
    if not known:
        scored = [row for row in found if row.vfs.value is not None]
        if scored:
            best = max(scored, key=lambda row: row.vfs.value or 0.0)
            said = f"{best.model} has the highest visual factuality: {number(best.vfs.value, 2)}."
            return said, "Mean of an item's scores over both orders, then over items; 0 to 10."
        return "No five-level verdict yet.", "The table fills while the study runs."
    best = known[0]
    against = study_baseline(scene) or "the others"
    side = "is ahead of" if (best.reward.low or 0) > 0 else "is level with"
    side = "is behind" if (best.reward.high or 0) < 0 else side
    lead = (
        f"Reward {number(best.reward.value, 1, signed=True)} {POINTS.bounds(best.reward)}; it wins "
        f"{share(best.win_rate.value, 0)} of its verdicts outright. Both orders are pooled; a "
        "failed reply is in no denominator."
    )
    return f"The best of {count(len(known), 'model')}, {best.model}, {side} {against}.", lead


def creation_kpis(found: Sequence[CreationRow]) -> list[Kpi]:
    known = [row for row in found if row.reward.value is not None]
    kpis = []
    if known:
        best = known[0]
        note = f"{best.model} {POINTS.bounds(best.reward)}"
        kpis.append(Kpi("Highest Reward", number(best.reward.value, 1, signed=True), note=note))
        note = f"{best.model} {PERCENT.bounds(best.win_rate)}"
        kpis.append(Kpi("Its Win Rate", share(best.win_rate.value), note=note))
    scored = [row for row in found if row.vfs.value is not None]
    if scored:
        top = max(scored, key=lambda row: row.vfs.value or 0.0)
        kpis.append(
            Kpi("Highest VFS", number(top.vfs.value, 2), "of 10",
                f"{top.model} {SCORE.bounds(top.vfs)}")
        )  # fmt: skip
    return kpis
