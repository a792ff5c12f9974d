"""Creation-MMBench's tables for a study: verdicts on five levels by model, category and task, and
the agreement of judges with people.

The measures of agreement are the mean absolute error (MAE) and Consistency, the share of verdicts
within one level.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html import heatmap, scales
from components.html.format import NARROW_SPACE, count, number, overlap_clause, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import Kpi, empty_state, paragraph, wrap
from components.html.tables import range_table
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import Axis, fit_share_axis
from components.html.tables.level_stacks import PAPER_HEAD, LevelRow, level_legend, level_table
from components.results.protocol import sections as protocol_sections
from metrics.estimation.row_selection import add_column_by_item, people_mask
from metrics.protocols import creation_alignment_table as alignment
from metrics.protocols.creation_table import CreationRow, creation_table
from studies.domain import HUMAN_PREFIX, Estimate

_REWARD_ENDS: Final = (
    "full colour: Reward −50 or less (worse than the baseline)",
    "full colour: Reward +50 or more (better); no colour: Reward 0",
)
REWARD_SCALE: Final = scales.ColourScale("Reward", "r", 0, 50, _REWARD_ENDS, 1, 1, "", signed=True)
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
_SIGNED_STYLE: Final = tables.NumberStyle(2, signed=True)
_SIGNED_POINTS_STYLE: Final = tables.NumberStyle(1, 100, f"{NARROW_SPACE}points", signed=True)
_SIDE_LABELS: Final = {"dual": "both orders", "single": "one order", "context": "description"}
MAX_GROUPS: Final = 14
"""Largest number of rows of the matrix that is shown without scrolling."""


def load_level_and_factuality_rows(filtered: FilteredStudy) -> pd.DataFrame:
    """The verdicts on pairs that pass the filters and are of one of two kinds: on five levels,
    or factuality scores. They are the judges' verdicts or, if there are none, people's votes."""
    rows = protocol_sections.judge_rows_or_votes(filtered, "five-level", "factuality")
    return rows.loc[(rows["options"] == 2).to_numpy()]


def study_baseline(filtered: FilteredStudy) -> str | None:
    """The baseline model; None unless the study compares all models with a baseline."""
    study = filtered.study
    return study.baseline if study.pairing == "baseline" and study.baseline else None


def creation_mmbench_rows(filtered: FilteredStudy) -> list[CreationRow]:
    """One row of Creation-MMBench's table for each model, the highest Reward first; Reward is
    the mean level, from −100 (always much worse than the opponent) to 100. Empty without
    verdicts."""
    rows = load_level_and_factuality_rows(filtered)
    found = creation_table(rows, study_baseline(filtered)) if len(rows) else {}
    return found.get((), [])


def show_creation_table(
    filtered: FilteredStudy, split: str, cell: str, sections: Sequence[str]
) -> Markup:
    """HTML of the table that `split` (one of SPLITS) names: stacked bars of the five levels by
    model (factuality scores, if the study has no five levels), or a matrix of the measure
    `cell` (a key of CELL_SCALES) by category or task. A message without verdicts or
    tasks. `sections`: names of the groups of panels that the view shows."""
    rows = load_level_and_factuality_rows(filtered)
    if rows.empty:
        why = "Creation-MMBench compares each model with a baseline in five levels."
        return empty_state("No five-level verdicts.", why)
    if split == "Models":
        return _level_stacks_html(filtered, sections)
    if split == "Categories":
        return _group_matrix(filtered, rows, "category", cell)
    tasks = item_tasks(filtered)
    if not any(tasks.values()):
        why = "Set `meta.task` of each item to its task."
        return empty_state("No item names its task.", why)
    return _group_matrix(filtered, add_column_by_item(rows, "task", tasks), "task", cell)


def _level_stacks_html(filtered: FilteredStudy, sections: Sequence[str]) -> Markup:
    found = creation_mmbench_rows(filtered)
    judged = any(sum(row.counts.values()) + row.fail for row in found)
    if protocol_sections.LEVELS_SECTION not in sections or not judged:
        return _factuality_table(found)
    scored = protocol_sections.FACTUALITY_SECTION in sections
    scored = scored or any(row.vfs.value is not None for row in found)
    stacks = [level_row(row, scored) for row in found]
    head = () if protocol_sections.is_arena_hard(filtered) else (PAPER_HEAD,)
    table = level_table(stacks, study_baseline(filtered) or "", *head)
    return wrap(level_legend()) + table + _baseline_note(filtered, found)


def level_row(row: CreationRow, scored: bool) -> LevelRow:
    """Row of the table of five levels; with `scored`, it includes the visual factuality score."""
    measured = (row.reward, row.win_rate, row.vfs if scored else None)
    return LevelRow(row.model, row.counts, row.fail, *measured, {"contestant": row.model})


def _factuality_table(found: Sequence[CreationRow]) -> Markup:
    """HTML table by model of factuality scores only, the highest first, for a study without
    five-level verdicts."""
    tip = "visual factuality score, 0 to 10"
    heads: list[tables.Head] = ["Model", ("VFS", tip), "VFS of the baseline", "Unusable replies"]
    lines = []
    for row in sorted(found, key=lambda row: -(row.vfs.value or 0.0)):
        select, own = {"contestant": row.model}, f"VFS of {row.model}"
        other = f"visual factuality score (VFS) of the baseline in comparisons with {row.model}"
        vfs = tables.value_cell(row.vfs, tables.SCORE, who=own, select=select)
        baseline = tables.value_cell(row.baseline_vfs, tables.SCORE, who=other)
        lines.append([tables.name_cell(row.model, select), vfs, baseline, count(row.vfs_fail)])
    return tables.value_table(heads, lines, label="Visual factuality")


def _baseline_note(filtered: FilteredStudy, found: Sequence[CreationRow]) -> Markup:
    """HTML note on the lowest and highest visual factuality score (VFS) of the baseline, which
    gets one score for each opponent, and on the number of unusable factuality replies. Each
    part is left out if there is nothing to tell."""
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
    return paragraph(" ".join(parts))


def item_tasks(filtered: FilteredStudy) -> dict[str, str]:
    items = filtered.store.items(filtered.name)
    return {key: item.meta.get("task", "") for key, item in items.items()}


def _group_matrix(filtered: FilteredStudy, rows: pd.DataFrame, column: str, cell: str) -> Markup:
    """HTML matrix of the measure `cell` (a key of CELL_SCALES) by value of `column` ("category" or
    "task") and by model; the first row pools all values."""
    attribute, scale = CELL_SCALES[cell]
    found = creation_table(rows, study_baseline(filtered), [column])
    whole = creation_table(rows, study_baseline(filtered)).get((), [])
    total = heatmap.total_name({group for (group,) in found})
    cells: dict[tuple[str, str], Estimate | None] = {
        (group, row.model): getattr(row, attribute)
        for (group,), lines in [((total,), whole), *found.items()]
        for row in lines
    }
    groups = [total, *sorted(group for (group,) in found if group)]
    columns = [heatmap.MatrixColumn(row.model) for row in whole]
    select = {(total, row.model): {"contestant": row.model} for row in whole}
    by_category = column == "category"
    keys = ("category" if by_category else "group", "contestant")
    click = "Click to open the " + ("verdicts of this cell" if by_category else "model's verdicts")
    drawn = heatmap.matrix_html(
        groups, columns, cells, scale, keys=keys, turns=False, label_width=220, click=click,
        select=select,
    )  # fmt: skip
    scrolls = len(groups) > MAX_GROUPS
    return fill('<div class="eh-scrolls">{}</div>', drawn) if scrolls else drawn


# -- agreement with people -----------------------------------------------------------------------


def compute_distance_from_people(
    filtered: FilteredStudy, other_study: tuple[str, pd.DataFrame] | None
) -> alignment.AlignmentTable | None:
    """Distance of each judge's five-level verdicts from the mean of people's: mean absolute
    difference in levels (MAE), and share of verdicts at most one level away (Consistency). None
    without votes.

    `other_study`: another study of the same items to compare with, as (what its judges see,
    rows). Its judges see "images" or, for descriptions of images, "context"."""
    rows = protocol_sections.protocol_rows(filtered, "five-level")
    if not people_mask(rows).any():
        return None
    frames = {filtered.study.judge_sees: rows}
    if other_study is not None:
        frames[other_study[0]] = other_study[1]
    return alignment.human_alignment_table(frames, study_baseline(filtered))


def distance_from_people_heads(axis: Axis, tips: tuple[str, str] = ("", "")) -> list[tables.Head]:
    """Column heads of a table of MAE and Consistency in one order and in both; `tips`: hover cards
    of the two columns of MAE."""
    return [
        "Judge",
        tables.ColumnHead("Input", numeric=False),
        ("MAE, one order", tips[0]),
        ("MAE, both orders", tips[1]),
        tables.ColumnHead("Within one level, %", axis=axis),
        "One order, %",
        "Both orders, %",
    ]


def show_distance_from_people(found: alignment.AlignmentTable | None) -> Markup:
    """HTML table of the judges' MAE and Consistency by input (images or description), for one order
    and both orders, the highest Consistency first, with rows for people and for a judge that always
    answers "tie"; below, the table of paired differences. A message without votes."""
    if found is None:
        return empty_state(
            "No votes by people exist on these items.",
            "The mean absolute error, and the share of scores within one level of people, need "
            "five-level votes, in the data or from the Vote tab.",
        )
    overall, baselines = (
        [row for row in rows if row.model == alignment.OVERALL]
        for rows in (found.rows, [*found.people, *found.always_tie])
    )
    axis = fit_share_axis([row.consistency for row in [*overall, *baselines]], bounds=(0, 1))
    tip = "mean absolute error: mean of |judge's score − people's mean score|"
    tips = (
        f"{tip}, each order counted separately",
        f"{tip}; the judge's score is the mean of both orders",
    )
    ranked = sorted(overall, key=lambda row: (row.run != "dual", -(row.consistency.value or 0.0)))
    pairs = list(dict.fromkeys((row.judge, row.sees) for row in ranked))
    lines = [_judge_distance_row(judge, sees, overall, axis) for judge, sees in pairs]
    lines += [_people_or_always_tie_row(row, axis) for row in baselines]
    heads = distance_from_people_heads(axis, tips)
    table = tables.value_table(heads, lines, label="Alignment with people")
    return table + _paired_differences_table(found)


def _judge_distance_row(
    judge: str, sees: str, rows: Sequence[alignment.AlignmentRow], axis: Axis
) -> list[str]:
    by_run = {row.run: row for row in rows if (row.judge, row.sees) == (judge, sees)}
    one, both = by_run.get("single"), by_run.get("dual")
    one_error, both_error = one.mae if one else None, both.mae if both else None
    shares = one.consistency if one else None, both.consistency if both else None
    select, score, percent = {"judge": judge}, tables.SCORE, tables.PERCENT
    return [
        tables.name_cell(judge, select),
        _condition_words(sees) or "–",
        tables.value_cell(one_error, score, who=f"{judge}, single verdicts", select=select),
        tables.value_cell(both_error, score, who=f"{judge}, mean of both orders", select=select),
        both_orders_plot(axis, *shares, judge, select),
        tables.value_cell(shares[0], percent, who=f"{judge}, each order", select=select),
        tables.value_cell(shares[1], percent, who=f"{judge}, both orders", select=select),
    ]


def _people_or_always_tie_row(row: alignment.AlignmentRow, axis: Axis) -> list[str]:
    """Table row for people (each person against the mean of the others), or for a judge that always
    answers "tie"; the cells on both orders are empty."""
    shown, sees = row.judge.removeprefix(HUMAN_PREFIX), "the images"
    note = "this person compared with the mean of the others"
    if row.judge == alignment.PEOPLE:
        shown, note = "People: each person compared with the others", "pooled"
    elif row.judge == alignment.ALWAYS_TIE:
        shown, note, sees = "Always tie", "a judge that says “equal” on every item", "–"
    return [
        tables.name_cell(shown, None, note),
        sees,
        tables.value_cell(row.mae, tables.SCORE, who=shown),
        "",
        both_orders_plot(axis, row.consistency, None, shown),
        tables.value_cell(row.consistency, tables.PERCENT, who=shown),
        "",
    ]


def both_orders_plot(
    axis: Axis,
    one: Estimate | None,
    both: Estimate | None,
    who: str,
    select: Mapping[str, Any] | None = None,
) -> Markup:
    """HTML plot of two values of the judge or person `who`: in one order (hollow mark) and in both
    orders (solid mark with interval). If only the value in one order is known, it is drawn as a
    diamond; if no value is known, the axis is empty. With `select`, a click opens the judgements
    that these filters select."""
    last = both if both is not None and both.value is not None else one
    if last is None or last.value is None:
        return range_table.track_html(axis)
    if last is one:
        drawn = range_table.people_track(axis, last)
    else:
        drawn = range_table.dumbbell_track(axis, one or last, last)
    note = "both orders" if last is both else ""
    card = tables.estimate_hover_text(last, tables.PERCENT, who, note=note, opens=bool(select))
    return tables.hover_html(drawn, card, select)


def _paired_differences_table(found: alignment.AlignmentTable) -> Markup:
    """HTML table of differences in the distance from people's scores (MAE and % within one level),
    on the same items: both orders − one order, and images − descriptions. Empty without
    any. If some judges saw images and others descriptions, the rows on orders also name what
    the judge saw."""
    if not found.contrasts:
        return EMPTY
    heads: list[tables.Head] = [
        "Judge (cells: differences between two conditions on the same items)",
        tables.ColumnHead("", numeric=False),
        (
            "Difference in MAE",
            "mean absolute error (MAE) in the row's first condition minus MAE in its second; below "
            "0: the first is closer to people",
        ),
        (
            "Difference in % within one level, points",
            "% of scores within one level of people in the row's first condition, minus % in its "
            "second; above 0: the first is closer to people",
        ),
    ]
    raters = iter(dict.fromkeys((row.judge, row.sees) for row in found.rows))
    several = len({row.sees for row in found.rows}) > 1
    lines = []
    for one in found.contrasts:
        seen = _condition_words(next(raters)[1]) if one.left == "dual" and several else ""
        who = f"{one.judge}: {one.left} − {one.right}"
        name = tables.name_cell(one.judge, {"judge": one.judge}, seen)
        sides = f"{_condition_words(one.left)} − {_condition_words(one.right)}"
        mae = tables.value_cell(one.mae, _SIGNED_STYLE, who=who)
        within = tables.value_cell(one.consistency, _SIGNED_POINTS_STYLE, who=who)
        lines.append([name, sides, mae, within])
    label = "Effect of judging in both orders, and of seeing the images"
    return tables.value_table(heads, lines, label=label)


def _condition_words(side: str) -> str:
    return _SIDE_LABELS.get(side, side)


# -- headline and key numbers --------------------------------------------------------------------


def creation_headline(filtered: FilteredStudy, found: Sequence[CreationRow]) -> tuple[str, str]:
    known = [row for row in found if row.reward.value is not None]
    if not known:
        if (best := _highest_factuality_row(found)) is None:
            return "No five-level verdicts yet.", "Results appear here while the study runs."
        score = number(best.vfs.value, 2)
        near = overlap_clause(best.model, {row.model: row.vfs for row in found})
        title = f"{best.model} has the highest visual factuality: {score} of 10{near}."
        return title, "The score is averaged over both orders of an item, then over items."
    best, against = known[0], study_baseline(filtered) or "the others"
    side = "does not differ significantly from"
    side = "is significantly ahead of" if (best.reward.low or 0) > 0 else side
    side = "is significantly behind" if (best.reward.high or 0) < 0 else side
    lead = (
        f"The Reward of {best.model} is {number(best.reward.value, 1, signed=True)}"
        f"{spaced_ci(best.reward)}: its mean verdict against {against}, from −100 (always much "
        f"worse) to 100 (always much better). It wins {share(best.win_rate.value, 0)} of its "
        "verdicts. Both orders are pooled; unusable replies are left out."
    )
    highest = f"Of {count(len(known), 'model')}, {best.model} has the highest Reward"
    return f"{highest}; this model {side} {against}.", lead


def _highest_factuality_row(found: Sequence[CreationRow]) -> CreationRow | None:
    scored = [row for row in found if row.vfs.value is not None]
    return max(scored, key=lambda row: row.vfs.value or 0.0, default=None)


def creation_kpis(found: Sequence[CreationRow]) -> list[Kpi]:
    kpis = []
    best = next((row for row in found if row.reward.value is not None), None)
    if best is not None:
        note = f"{best.model} {tables.POINTS.interval(best.reward)}"
        kpis.append(Kpi("Highest Reward", number(best.reward.value, 1, signed=True), note=note))
        note = f"{best.model} {tables.PERCENT.interval(best.win_rate)}"
        label = "Win rate of the model with the highest Reward"
        kpis.append(Kpi(label, share(best.win_rate.value), note=note))
    if (top := _highest_factuality_row(found)) is not None:
        note = f"{top.model} {tables.SCORE.interval(top.vfs)}"
        kpis.append(Kpi("Highest visual factuality", number(top.vfs.value, 2), "of 10", note))
    return kpis


def distance_from_people_kpis(aligned: alignment.AlignmentTable) -> list[Kpi]:
    dual = [row for row in aligned.rows if row.model == alignment.OVERALL and row.run == "dual"]
    dual = [row for row in dual if row.consistency.value is not None]
    if not dual:
        return []
    best = max(dual, key=lambda row: row.consistency.value or 0.0)
    tie = next((r for r in aligned.always_tie if r.model == alignment.OVERALL), None)
    beside = f"; for a judge that always says tie: {share(tie.consistency.value, 0)}" if tie else ""
    note = f"{best.judge}{spaced_ci(best.consistency, scale=100)}{beside}"
    return [Kpi("Scores within one level of people", share(best.consistency.value), note=note)]
