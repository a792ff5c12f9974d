"""VisIT-Bench's tables for a study: Elo leaderboard, and win rates by skill.

The counting rule states how the verdicts in both orders become one outcome, and whether unusable
replies count as ties."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html import heatmap, scales
from components.html.format import count, join_names, number, overlap_clause, share
from components.html.markup import EMPTY, Markup, escape, fill
from components.html.pieces import empty_state, paragraph
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import Axis, fit_axis, tick_steps_from
from components.results.protocol.sections import judge_rows_or_votes
from metrics.estimation import row_selection
from metrics.protocols.visit_leaderboard import VisitLeaderboardRow, visit_leaderboard_rows
from metrics.win_rates.win_rates import win_rate, win_rates_by_cell
from studies.domain import REFERENCE, Estimate

SEED: Final = 20_24
IMAGE_KINDS: Final = ("text only", "single image", "multi image")
ALL_CATEGORIES: Final = "all"
MAX_SKILLS: Final = 14
"""Largest number of rows of the matrix of skills that is shown without scrolling."""


def load_pair_rows(filtered: FilteredStudy) -> pd.DataFrame:
    """Verdicts on pairs that pass the filters, by prompts that compare pairs: those of judges, or
    people's votes if no judge has any."""
    return row_selection.select_pairs(judge_rows_or_votes(filtered, "pairwise"))


# -- the leaderboard -----------------------------------------------------------------------------


def visit_bench_leaderboard(filtered: FilteredStudy) -> list[VisitLeaderboardRow]:
    """Rows of VisIT-Bench's leaderboard, by the counting rule of the study or filter; empty
    without pairs. If items have different numbers of images, there is a leaderboard for each
    image kind (none, one, several)."""
    rows = load_pair_rows(filtered)
    if rows.empty:
        return []
    kinds = image_count_class_by_item(filtered)
    by = "images" if len(set(kinds.values())) > 1 else None
    frame = row_selection.add_column_by_item(rows, "images", kinds, IMAGE_KINDS[0])
    combine, unreadable = filtered.rule
    rng = np.random.default_rng(SEED)
    return visit_leaderboard_rows(frame, rng=rng, combine=combine, unreadable=unreadable, by=by)


def image_count_class_by_item(filtered: FilteredStudy) -> dict[str, str]:
    """Item -> image kind ("text only", "single image" or "multi image"), for the items that pass
    the filters."""
    wanted = {str(item) for item in filtered.measured_judge_rows["item"].unique()}
    kinds = _all_image_kinds(FilteredStudy(filtered.store, filtered.name))
    return {item: kinds[item] for item in wanted if item in kinds}


@memoise_by_study
def _all_image_kinds(filtered: FilteredStudy) -> dict[str, str]:
    """Item -> "text only", "single image" or "multi image", for all items of the study."""
    items = filtered.store.items(filtered.name)
    return {name: IMAGE_KINDS[min(len(item.images), 2)] for name, item in items.items()}


def common_image_kind(filtered: FilteredStudy) -> str:
    """Image kind ("text only", "single image" or "multi image") that all items which pass the
    filters have in common; "" if their kinds differ, or if no item passes."""
    kinds = set(image_count_class_by_item(filtered).values())
    return kinds.pop() if len(kinds) == 1 else ""


def show_elo_leaderboard(rows: Sequence[VisitLeaderboardRow], kind: str = "") -> Markup:
    """HTML table with the paper's columns (category, model, Elo, matches, win rate) and intervals;
    below it, a note on the models whose Elo lies outside the bootstrap interval. A message without
    pairs. `kind`: text in the column Category for rows on all items."""
    if not rows:
        return empty_state("No pairs.", "The leaderboard needs comparisons of two answers.")
    axis = fit_axis([row.elo.estimate for row in rows], tick_steps_from(10), number)
    played = any(row.reference_matches for row in rows)
    heads: list[tables.Head] = [
        "Model",
        tables.ColumnHead("Category", numeric=False),
        "Elo",
        axis,
        (
            "Elo range if items are shuffled",
            "range that contains 95 % of the Elo ratings if the items come in another order; not a "
            "confidence interval",
        ),
        (
            "Head-to-heads",
            "number of head-to-heads, ties included; the two orders are combined as stated under "
            "“Active rules”",
        ),
        "Ties",
    ]
    if played:
        tip = "wins against the reference, divided by head-to-heads with it that are not ties"
        heads += [("Win rate vs reference, %", tip), "n without ties"]
    lines = [_leaderboard_row(row, axis, kind, played) for row in rows]
    outside = [row.model for row in rows if row.elo.outside_interval]
    note = (
        f"The Elo of {join_names(outside)} has no interval: the last battles of the plan count "
        "most, so it lies outside that of resampled items. Use the Bradley–Terry ratings under "
        "Ranking."
    )
    table = tables.value_table(heads, lines, label="Elo leaderboard")
    return table + (paragraph(escape(note), "eh-small") if outside else EMPTY)


def _leaderboard_row(row: VisitLeaderboardRow, axis: Axis, kind: str, played: bool) -> list[str]:
    category = kind if row.category == ALL_CATEGORIES else row.category
    select = {"contestant": row.model}
    who = f"Elo of {row.model}, {category}" if category else f"Elo of {row.model}"
    low, high = row.elo.order_low, row.elo.order_high
    line = [
        tables.name_cell(row.model, select),
        category or ALL_CATEGORIES,
        *tables.plotted_cells(row.elo.estimate, axis, tables.ELO, who, select),
        tables.MUTED_DASH
        if low is None or high is None
        else fill('<span class="eh-ci">{}–{}</span>', number(low), number(high)),
        tables.count_cell(row.matches),
        tables.count_cell(row.ties),
    ]
    if played:
        against, who = row.against_reference, f"{row.model} against the reference"
        meets = {**select, "opponent": REFERENCE}
        without_ties = f"{count(against.n)} of {count(row.reference_matches)}"
        line.append(tables.value_cell(against, tables.PERCENT, who=who, select=meets))
        line.append(without_ties if row.reference_matches else "–")
    return line


def show_win_rates_by_skill(filtered: FilteredStudy) -> Markup:
    """HTML matrix of win rates by skill (most items first) and model, by the counting rule of the
    study or filter; a message without pairs or skills."""
    rows = load_pair_rows(filtered)
    if rows.empty:
        return empty_state("No pairs.", "Win rates by skill need comparisons of two answers.")
    sizes = pd.Series(row_selection.count_items_by(rows, "category")).sort_values(ascending=False)
    sizes = sizes[[bool(skill) for skill in sizes.index]]
    if sizes.empty:
        why = "Set the `category` of each item to its skill."
        return empty_state("No item names the skill that it tests.", why)
    combine, unreadable = filtered.rule
    whole = {n: e for n, e in win_rate(rows, combine, unreadable).items() if e.n}
    total = heatmap.total_name(sizes.index)
    cells: dict[tuple[str, str], Estimate | None] = {(total, n): e for n, e in whole.items()}
    select = {(total, model): {"contestant": model} for model in whole}
    for (skill,), rates in win_rates_by_cell(rows, ["category"], combine, unreadable).items():
        cells |= {(skill, model): e for model, e in rates.items() if e.n}
    columns = [heatmap.MatrixColumn(model) for model in whole]
    skills = [total, *(str(skill) for skill in sizes.index)]
    keys = ("category", "contestant")
    drawn = heatmap.matrix_html(
        skills, columns, cells, scales.WINS_SCALE, keys=keys, turns=False, label_width=190,
        select=select,
    )  # fmt: skip
    if len(skills) <= MAX_SKILLS:
        return drawn
    note = f"{count(len(skills) - 1)} skills, those with the most items first. "
    below = paragraph(f"{note}Scroll to see all skills.", "eh-small")
    return fill('<div class="eh-scrolls">{}</div>', drawn) + below


# -- headline and key numbers --------------------------------------------------------------------


def elo(row: VisitLeaderboardRow) -> float:
    return row.elo.estimate.value or 0.0


def find_best_against_reference(rated: Sequence[VisitLeaderboardRow]) -> list[VisitLeaderboardRow]:
    """The models with the highest win rate against the reference: several if it is the same."""
    met = [row for row in rated if row.against_reference.value is not None]
    most = max((row.against_reference.value or 0.0 for row in met), default=0.0)
    return [row for row in met if most - (row.against_reference.value or 0.0) < 1e-9]


def leaderboard_headline(rows: Sequence[VisitLeaderboardRow]) -> tuple[str, str]:
    rated = [row for row in rows if row.matches]
    if not rated:
        return "There are no head-to-heads yet.", "The leaderboard appears while the study runs."
    best, against = max(rated, key=elo), find_best_against_reference(rated)
    lead = (
        "Elo is computed online as in VisIT-Bench (K-factor 4, one pass in plan order); this "
        "app adds the intervals."
    )
    if against:
        won, one = against[0].against_reference, len(against) == 1
        who = f"{join_names([row.model for row in against])} {'wins' if one else 'win'}"
        of = f"{count(won.n)} head-to-heads" if one else "the head-to-heads"
        rates = {row.model: row.against_reference for row in rated}
        near = overlap_clause(against[0].model, rates) if one else ""
        told = f"{who} most often" if won.value else "No model wins"
        lead = (
            f"{told} against the human-verified reference: {share(won.value, 0)} of {of} that are "
            f"not ties{near}. {lead}"
        )
    near = overlap_clause(best.model, {row.model: row.elo.estimate for row in rated})
    return f"{best.model} has the highest Elo: {number(best.elo.estimate.value)}{near}.", lead
