"""VisIT-Bench on one's own study: the Elo leaderboard, what a head-to-head costs, extraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from components.bias.words import listed
from components.drawing import matrix as heat
from components.drawing.grid import (
    ELO,
    PERCENT,
    Head,
    counted,
    forest_cell,
    name,
    spread,
    table,
    value,
)
from components.drawing.panels import empty, wrap
from components.format import count, number, safe, share
from components.protocol.sections import rows_of_protocol
from components.remember import remembered
from components.rows import machine_rows
from components.scene import Scene
from metrics.leaderboard import (
    LeaderboardRow,
    leaderboard_rows,
)
from metrics.selection import grouped, items_by, pairs
from metrics.wins import win_rate, win_rates
from studies.records import REFERENCE, Estimate

SEED: Final = 20_24
IMAGES: Final = ("text only", "single image", "multi image")
ALL: Final = "all"


def pair_rows(scene: Scene) -> pd.DataFrame:
    """The machines' pairwise rows in view."""
    rows = machine_rows(rows_of_protocol(scene, "pairwise"))
    return pairs(rows)


# -- the leaderboard -----------------------------------------------------------------------------


def board(scene: Scene) -> list[LeaderboardRow]:
    """Every contestant by single and multi image, under the rule in force."""
    rows = pair_rows(scene)
    if rows.empty:
        return []
    kinds = image_kinds(scene)
    by = "images" if len(set(kinds.values())) > 1 else None
    frame = grouped(rows, "images", kinds, IMAGES[0])
    combine, unreadable = scene.rule
    rng = np.random.default_rng(SEED)
    return leaderboard_rows(frame, rng=rng, combine=combine, unreadable=unreadable, by=by)


def image_kinds(scene: Scene) -> dict[str, str]:
    """Item -> single image, multi image or text only, for the items in view."""
    wanted = {str(item) for item in scene.machines["item"].unique()}
    kinds = _all_kinds(Scene(scene.store, scene.name))
    return {item: kinds[item] for item in wanted if item in kinds}


@remembered
def _all_kinds(scene: Scene) -> dict[str, str]:
    """The same of every item, whatever is in view."""
    items = scene.store.items(scene.name)
    return {name: IMAGES[min(len(item.images), 2)] for name, item in items.items()}


def show_board(rows: Sequence[LeaderboardRow], kind: str = "") -> str:
    """Category, model, Elo, matches, win rate against the reference: as the paper prints it."""
    if not rows:
        return empty("No pairs here.", "The leaderboard needs answers that met in pairs.")
    axis = spread([row.elo.estimate for row in rows], 10, number)
    played = any(row.reference_matches for row in rows)
    heads = [
        Head("Model", numeric=False), Head("Category", numeric=False), Head("Elo"),
        Head("", axis=axis), Head("Over orders", tip="95 % of other orders of the items: luck, not "
        "confidence"), Head("# matches", tip="head-to-heads under the rule, ties included"),
        Head("Ties"),
    ]  # fmt: skip
    if played:
        heads.append(Head("Win rate vs reference, %", tip="wins / decisive head-to-heads"))
        heads.append(Head("n decisive"))
    lines = [_board_line(row, axis, kind if row.category == ALL else row.category, played)
             for row in rows]  # fmt: skip
    return table(heads, lines, label="Elo leaderboard") + _outside(rows)


def _outside(rows: Sequence[LeaderboardRow]) -> str:
    """A dot beside its own interval is no slip of the drawing: say where it comes from."""
    names = [row.model for row in rows if row.elo.strays]
    if not names:
        return ""
    lies = "lies" if len(names) == 1 else "lie"
    told = (
        f"{listed(names)} {lies} outside {'its' if len(names) == 1 else 'their'} interval: plan "
        "order comes in blocks, and the last block decides. Read Bradley–Terry, under Ranking."
    )
    return wrap(f'<p class="eh-small">{safe(told)}</p>')


def _board_line(row: LeaderboardRow, axis: Any, category: str, played: bool) -> list[str]:
    select = {"contestant": row.model}
    who = f"Elo of {row.model}, {category}" if category else f"Elo of {row.model}"
    got = row.elo.estimate
    line = [
        name(row.model, select),
        category or ALL,
        value(got, ELO, who=who, select=select),
        forest_cell(got, axis, ELO, who, select),
        _order_band(row),
        counted(row.matches),
        counted(row.ties),
    ]
    if played:
        against = row.against_reference
        meets = {**select, "opponent": REFERENCE}
        line.append(value(against, PERCENT, who=f"{row.model} against the reference", select=meets))
        decisive = f"{count(against.n)} of {count(row.reference_matches)}"
        line.append(decisive if row.reference_matches else "–")
    return line


def _order_band(row: LeaderboardRow) -> str:
    low, high = row.elo.order_low, row.elo.order_high
    if low is None or high is None:
        return '<span class="eh-mute">–</span>'
    return f'<span class="eh-ci">{number(low)}–{number(high)}</span>'


def common_kind(scene: Scene) -> str:
    """What all items are, where they are all alike."""
    kinds = set(image_kinds(scene).values())
    return kinds.pop() if len(kinds) == 1 else ""


# -- by skill ------------------------------------------------------------------------------------


def show_skills(scene: Scene) -> str:
    """Win rates by skill under the rule in force: skills down, models across, the largest first."""
    rows = pair_rows(scene)
    if rows.empty:
        return empty("No pairs here.", "Skills are compared on pairs.")
    sizes = pd.Series(items_by(rows, "category")).sort_values(ascending=False)
    sizes = sizes[[bool(skill) for skill in sizes.index]]
    if sizes.empty:
        return empty("The items name no skill.", "A `category` for each item splits the table.")
    combine, unreadable = scene.rule
    whole = {n: e for n, e in win_rate(rows, combine, unreadable).items() if e.n}
    cells: dict[tuple[str, str], Estimate | None] = {("All", n): e for n, e in whole.items()}
    for (skill,), rates in win_rates(rows, ["category"], combine, unreadable).items():
        cells |= {(skill, model): e for model, e in rates.items() if e.n}
    columns = [heat.Column(model) for model in whole]
    skills = ["All", *(str(skill) for skill in sizes.index)]
    drawn = heat.matrix(
        skills, columns, cells, heat.WINS, keys=("category", "contestant"), turns=False,
        label_width=190,
    )  # fmt: skip
    if len(skills) <= 14:
        return drawn
    said = f"{count(len(skills) - 1)} skills, the largest first: scroll for the others."
    return f'<div class="eh-scrolls">{drawn}</div>' + wrap(f'<p class="eh-small">{said}</p>')


# -- words ---------------------------------------------------------------------------------------


def tell(rows: Sequence[LeaderboardRow]) -> tuple[str, str]:
    rated = [row for row in rows if row.matches]
    if not rated:
        return "No head-to-head yet.", "The leaderboard fills while the study runs."
    best = max(rated, key=lambda row: row.elo.estimate.value or 0.0)
    lead = "Online Elo, K 4, one pass in plan order, as VisIT-Bench prints it; intervals are ours."
    against = max(
        (row for row in rated if row.against_reference.value is not None),
        key=lambda row: row.against_reference.value or 0.0,
        default=None,
    )
    if against is not None:
        won = share(against.against_reference.value, 0)
        lead = (
            f"{against.model} wins most against the human-verified reference: {won} of "
            f"{count(against.against_reference.n)} decisive games. {lead}"
        )
    return f"{best.model} has the highest Elo: {number(best.elo.estimate.value)}.", lead
