"""Creation-MMBench on one's own study: the table by model, category and task; people beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from components.drawing import matrix as heat
from components.drawing.grid import PERCENT, POINTS, SCORE, Head, name, table, value
from components.drawing.levels import LevelRow, level_keys, level_table
from components.drawing.panels import Kpi, empty, wrap
from components.format import count, number, rich, share
from components.protocol.sections import FACTUALITY, LEVELS, rows_of_protocol
from components.rows import machine_rows
from components.scene import Scene
from metrics.creation import CreationRow, creation_table
from metrics.selection import grouped
from studies.records import Estimate

REWARD: Final = heat.Scale(
    "Reward", "r", 0, 50, ("−50 worse", "+50 better than the baseline"), 1, 1, "", signed=True
)
WIN_RATE: Final = heat.Scale("Win rate", "w", 0, 0.5, ("0 %", "50 %"))
VFS: Final = heat.Scale("VFS", "w", 5, 10, ("5", "10"), 2, 1, "of 10")
SPLITS: Final = ("Models", "Categories", "Tasks")
CELLS: Final[dict[str, tuple[str, heat.Scale]]] = {
    "Reward": ("reward", REWARD),
    "Win rate": ("win_rate", WIN_RATE),
    "VFS": ("vfs", VFS),
}


def level_rows(scene: Scene) -> pd.DataFrame:
    """The machines' five-level verdicts and factuality scores in view."""
    rows = machine_rows(rows_of_protocol(scene, "five-level", "factuality"))
    return rows.loc[(rows["options"] == 2).to_numpy()]


def baseline_of(scene: Scene) -> str | None:
    """Who everybody is held against; None where all met all."""
    study = scene.study
    return study.baseline if study.pairing == "baseline" and study.baseline else None


def models(scene: Scene) -> list[CreationRow]:
    """One row a model, the highest Reward first."""
    rows = level_rows(scene)
    found = creation_table(rows, baseline_of(scene)) if len(rows) else {}
    return found.get((), [])


def show_table(scene: Scene, split: str, cell: str, sections: Sequence[str]) -> str:
    """Models as stacks; categories and tasks as a matrix of one of the paper's three numbers."""
    rows = level_rows(scene)
    if rows.empty:
        return empty(
            "No five-level verdict here.",
            "Creation-MMBench compares each model with a baseline in five levels.",
        )
    if split == "Models":
        return _stacks(scene, sections)
    column = "category" if split == "Categories" else "task"
    if column == "task":
        tasks = tasks_of(scene)
        if not any(tasks.values()):
            return empty("The items name no task.", "`meta.task` of an item says which it is.")
        rows = grouped(rows, "task", tasks)
    return _by(scene, rows, column, cell)


def _stacks(scene: Scene, sections: Sequence[str]) -> str:
    found = models(scene)
    judged = any(sum(row.counts.values()) + row.fail for row in found)
    if LEVELS in sections and judged:
        scored = FACTUALITY in sections or any(row.vfs.value is not None for row in found)
        stacks = [_level_row(row, scored) for row in found]
        head = wrap(level_keys())
        return head + level_table(stacks, baseline_of(scene) or "") + _baseline_line(scene, found)
    return _scores(found)


def _level_row(row: CreationRow, scored: bool) -> LevelRow:
    return LevelRow(
        row.model, row.counts, row.fail, row.reward, row.win_rate, row.vfs if scored else None,
        {"contestant": row.model},
    )  # fmt: skip


def _scores(found: Sequence[CreationRow]) -> str:
    """Where only factuality was asked."""
    heads = [Head("Model", numeric=False), Head("VFS"), Head("Baseline beside it"), Head("Fail")]
    lines = [
        [
            name(row.model, {"contestant": row.model}),
            value(row.vfs, SCORE, who=f"VFS of {row.model}", select={"contestant": row.model}),
            value(row.baseline_vfs, SCORE, who=f"the baseline beside {row.model}"),
            count(row.vfs_fail),
        ]
        for row in found
    ]
    return table(heads, lines, label="Visual factuality")


def _baseline_line(scene: Scene, found: Sequence[CreationRow]) -> str:
    """The baseline's own factuality has one value per opponent: it is scored again beside each."""
    values = [row.baseline_vfs.value for row in found if row.baseline_vfs.value is not None]
    unread = sum(row.vfs_fail for row in found)
    parts = []
    if values:
        low, high = number(min(values), 2), number(max(values), 2)
        span = low if low == high else f"{low} to {high}"
        parts.append(f"{baseline_of(scene)} itself has a VFS of {span}, scored beside each model.")
    if unread:
        parts.append(f"{count(unread)} factuality replies could not be read.")
    return wrap(f'<p class="eh-small eh-under">{rich(" ".join(parts))}</p>') if parts else ""


def tasks_of(scene: Scene) -> dict[str, str]:
    return {key: item.meta.get("task", "") for key, item in scene.store.items(scene.name).items()}


def _by(scene: Scene, rows: pd.DataFrame, column: str, cell: str) -> str:
    attribute, scale = CELLS[cell]
    found = creation_table(rows, baseline_of(scene), [column])
    whole = creation_table(rows, baseline_of(scene)).get((), [])
    cells: dict[tuple[str, str], Estimate | None] = {
        ("All", row.model): getattr(row, attribute) for row in whole
    }
    for (group,), lines in found.items():
        cells |= {(group, row.model): getattr(row, attribute) for row in lines}
    groups = ["All", *sorted(group for (group,) in found if group)]
    columns = [heat.Column(row.model) for row in whole]
    keys = ("category" if column == "category" else "group", "contestant")
    click = "Click to read them" if column == "category" else "Click to read the model's verdicts"
    drawn = heat.matrix(
        groups, columns, cells, scale, keys=keys, turns=False, label_width=220, click=click
    )
    return f'<div class="eh-scrolls">{drawn}</div>' if len(groups) > 14 else drawn


# -- words ---------------------------------------------------------------------------------------


def tell(scene: Scene, found: Sequence[CreationRow]) -> tuple[str, str]:
    known = [row for row in found if row.reward.value is not None]
    if not known:
        scored = [row for row in found if row.vfs.value is not None]
        if scored:
            best = max(scored, key=lambda row: row.vfs.value or 0.0)
            said = f"{best.model} has the highest visual factuality: {number(best.vfs.value, 2)}."
            return said, "Mean of an item's scores over both orders, then over items; 0 to 10."
        return "No five-level verdict yet.", "The table fills while the study runs."
    best = known[0]
    against = baseline_of(scene) or "the others"
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
