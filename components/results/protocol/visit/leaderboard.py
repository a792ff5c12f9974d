"""VisIT-Bench on one's own study: the Elo leaderboard, what a head-to-head costs, extraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import machine_rows
from components.filtering.memo import memoise_by_study
from components.html import matrix as heat
from components.html.format import count, escape, number, share
from components.html.panel import empty_state, wrap
from components.html.value_table import (
    ELO,
    PERCENT,
    ColumnHead,
    count_cell,
    fit_value_axis,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.bias.sentences import join_names
from components.results.protocol.sections import protocol_rows
from metrics.estimation.row_selection import add_item_column, count_items_by, select_pairs
from metrics.protocols.visit_leaderboard import (
    VisitLeaderboardRow,
    visit_leaderboard_rows,
)
from metrics.win_rates.win_rates import win_rate, win_rates_by_cell
from studies.domain import REFERENCE, Estimate

SEED: Final = 20_24
IMAGE_KINDS: Final = ("text only", "single image", "multi image")
ALL_CATEGORIES: Final = "all"


def load_pair_rows(scene: FilteredStudy) -> pd.DataFrame:
    """The machines' pairwise rows in view."""
    rows = machine_rows(protocol_rows(scene, "pairwise"))
    return select_pairs(rows)


# -- the leaderboard -----------------------------------------------------------------------------


def compute_leaderboard(scene: FilteredStudy) -> list[VisitLeaderboardRow]:
    """Every contestant by single and multi image, under the rule in force."""
    rows = load_pair_rows(scene)
    if rows.empty:
        return []
    kinds = item_image_kinds(scene)
    by = "images" if len(set(kinds.values())) > 1 else None
    frame = add_item_column(rows, "images", kinds, IMAGE_KINDS[0])
    combine, unreadable = scene.rule
    rng = np.random.default_rng(SEED)
    return visit_leaderboard_rows(frame, rng=rng, combine=combine, unreadable=unreadable, by=by)


def item_image_kinds(scene: FilteredStudy) -> dict[str, str]:
    """Item -> single image, multi image or text only, for the items in view."""
    wanted = {str(item) for item in scene.machines["item"].unique()}
    kinds = _all_image_kinds(FilteredStudy(scene.store, scene.name))
    return {item: kinds[item] for item in wanted if item in kinds}


@memoise_by_study
def _all_image_kinds(scene: FilteredStudy) -> dict[str, str]:
    """The same of every item, whatever is in view."""
    items = scene.store.items(scene.name)
    return {name: IMAGE_KINDS[min(len(item.images), 2)] for name, item in items.items()}


def show_elo_leaderboard(rows: Sequence[VisitLeaderboardRow], kind: str = "") -> str:
    """Category, model, Elo, matches, win rate against the reference: as the paper prints it."""
    if not rows:
        return empty_state("No pairs here.", "The leaderboard needs answers that met in pairs.")
    axis = fit_value_axis([row.elo.estimate for row in rows], 10, number)
    played = any(row.reference_matches for row in rows)
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Category", numeric=False),
        ColumnHead("Elo"),
        ColumnHead("", axis=axis),
        ColumnHead("Over orders", tip="95 % of other orders of the items: luck, not confidence"),
        ColumnHead("# matches", tip="head-to-heads under the rule, ties included"),
        ColumnHead("Ties"),
    ]
    if played:
        heads.append(ColumnHead("Win rate vs reference, %", tip="wins / decisive head-to-heads"))
        heads.append(ColumnHead("n decisive"))
    lines = [
        _leaderboard_row(
            row, axis, kind if row.category == ALL_CATEGORIES else row.category, played
        )
        for row in rows
    ]
    return value_table(heads, lines, label="Elo leaderboard") + _outside_interval_note(rows)


def _outside_interval_note(rows: Sequence[VisitLeaderboardRow]) -> str:
    """A dot beside its own interval is no slip of the drawing: say where it comes from."""
    names = [row.model for row in rows if row.elo.outside_interval]
    if not names:
        return ""
    lies = "lies" if len(names) == 1 else "lie"
    told = (
        f"{join_names(names)} {lies} outside {'its' if len(names) == 1 else 'their'} interval: plan "
        "order comes in blocks, and the last block decides. Read Bradley–Terry, under Ranking."
    )
    return wrap(f'<p class="eh-small">{escape(told)}</p>')


def _leaderboard_row(row: VisitLeaderboardRow, axis: Any, category: str, played: bool) -> list[str]:
    select = {"contestant": row.model}
    who = f"Elo of {row.model}, {category}" if category else f"Elo of {row.model}"
    got = row.elo.estimate
    line = [
        name_cell(row.model, select),
        category or ALL_CATEGORIES,
        value_cell(got, ELO, who=who, select=select),
        forest_cell(got, axis, ELO, who, select),
        _order_band(row),
        count_cell(row.matches),
        count_cell(row.ties),
    ]
    if played:
        against = row.against_reference
        meets = {**select, "opponent": REFERENCE}
        line.append(
            value_cell(against, PERCENT, who=f"{row.model} against the reference", select=meets)
        )
        decisive = f"{count(against.n)} of {count(row.reference_matches)}"
        line.append(decisive if row.reference_matches else "–")
    return line


def _order_band(row: VisitLeaderboardRow) -> str:
    low, high = row.elo.order_low, row.elo.order_high
    if low is None or high is None:
        return '<span class="eh-mute">–</span>'
    return f'<span class="eh-ci">{number(low)}–{number(high)}</span>'


def common_image_kind(scene: FilteredStudy) -> str:
    """What all items are, where they are all alike."""
    kinds = set(item_image_kinds(scene).values())
    return kinds.pop() if len(kinds) == 1 else ""


# -- by skill ------------------------------------------------------------------------------------


def show_skills(scene: FilteredStudy) -> str:
    """Win rates by skill under the rule in force: skills down, models across, the largest first."""
    rows = load_pair_rows(scene)
    if rows.empty:
        return empty_state("No pairs here.", "Skills are compared on pairs.")
    sizes = pd.Series(count_items_by(rows, "category")).sort_values(ascending=False)
    sizes = sizes[[bool(skill) for skill in sizes.index]]
    if sizes.empty:
        return empty_state(
            "The items name no skill.", "A `category` for each item splits the table."
        )
    combine, unreadable = scene.rule
    whole = {n: e for n, e in win_rate(rows, combine, unreadable).items() if e.n}
    cells: dict[tuple[str, str], Estimate | None] = {("All", n): e for n, e in whole.items()}
    for (skill,), rates in win_rates_by_cell(rows, ["category"], combine, unreadable).items():
        cells |= {(skill, model): e for model, e in rates.items() if e.n}
    columns = [heat.MatrixColumn(model) for model in whole]
    skills = ["All", *(str(skill) for skill in sizes.index)]
    drawn = heat.matrix_html(
        skills, columns, cells, heat.WINS_SCALE, keys=("category", "contestant"), turns=False,
        label_width=190,
    )  # fmt: skip
    if len(skills) <= 14:
        return drawn
    said = f"{count(len(skills) - 1)} skills, the largest first: scroll for the others."
    return f'<div class="eh-scrolls">{drawn}</div>' + wrap(f'<p class="eh-small">{said}</p>')


# -- words ---------------------------------------------------------------------------------------


def leaderboard_finding(rows: Sequence[VisitLeaderboardRow]) -> tuple[str, str]:
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
