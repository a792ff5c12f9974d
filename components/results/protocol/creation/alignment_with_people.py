"""Creation-MMBench: agreement of judges with people on five levels.

The measures are the mean absolute error (MAE) and Consistency, the share of verdicts within one
level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, share
from components.html.markup import EMPTY, Markup
from components.html.panel import Axis, Kpi, empty_state
from components.html.tables.forest_cells import fit_share_axis
from components.html.tables.range_table import dumbbell_track, people_track, track_html
from components.html.tables.value_table import (
    PERCENT,
    SCORE,
    ColumnHead,
    NumberStyle,
    estimate_card,
    hover_html,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.creation.levels_table import study_baseline
from components.results.protocol.sections import protocol_rows
from metrics.estimation.row_selection import people_mask
from metrics.protocols.creation_alignment_table import (
    ALWAYS_TIE,
    OVERALL,
    PEOPLE,
    AlignmentContrast,
    AlignmentRow,
    AlignmentTable,
)
from metrics.protocols.creation_alignment_table import alignment_table as compute_alignment_table
from studies.domain import HUMAN_PREFIX, Estimate


def compute_alignment(
    filtered: FilteredStudy, beside: tuple[str, pd.DataFrame] | None
) -> AlignmentTable | None:
    """MAE and Consistency of the judges compared with people; None without votes. `beside`: another
    study of the same items, as (its `judge_sees`: "images" or "context", its rows)."""
    rows = protocol_rows(filtered, "five-level")
    if not people_mask(rows).any():
        return None
    frames = {filtered.study.judge_sees: rows}
    if beside is not None:
        frames[beside[0]] = beside[1]
    return compute_alignment_table(frames, study_baseline(filtered))


def show_alignment(found: AlignmentTable | None) -> Markup:
    """HTML table of the judges' MAE and Consistency by input (images or description), for one order
    and both orders; below, rows for people and for a judge that always answers "tie"."""
    if found is None:
        return empty_state(
            "No votes by people exist on these items.",
            "The mean absolute error, and the share of scores within one level of people, need "
            "five-level votes, in the data or from the Vote tab.",
        )
    overall = [row for row in found.rows if row.model == OVERALL]
    baselines = [row for row in [*found.people, *found.always_tie] if row.model == OVERALL]
    axis = fit_share_axis([row.consistency for row in [*overall, *baselines]], bounds=(0, 1))
    heads = [
        ColumnHead("Judge", numeric=False),
        ColumnHead("Input", numeric=False),
        ColumnHead(
            "MAE, one order",
            tip="mean absolute error: mean of |judge's score − people's mean score|, each order "
            "counted separately",
        ),
        ColumnHead(
            "MAE, both orders",
            tip="mean absolute error: mean of |judge's score − people's mean score|; the judge's "
            "score is the mean of both orders",
        ),
        ColumnHead("Within one level, %", axis=axis),
        ColumnHead("One order, %"),
        ColumnHead("Both orders, %"),
    ]
    pairs = list(dict.fromkeys((row.judge, row.sees) for row in overall))
    lines = [_judge_row(judge, sees, overall, axis) for judge, sees in pairs]
    lines += [_baseline_row(row, axis) for row in baselines]
    return value_table(heads, lines, label="Alignment with people") + _gains_table(found)


def _judge_row(judge: str, sees: str, rows: Sequence[AlignmentRow], axis: Axis) -> list[str]:
    by_run = {row.run: row for row in rows if (row.judge, row.sees) == (judge, sees)}
    one, both = by_run.get("single"), by_run.get("dual")
    one_error, both_error = one.mae if one else None, both.mae if both else None
    one_share, both_share = one.consistency if one else None, both.consistency if both else None
    select = {"judge": judge}
    return [
        name_cell(judge, select),
        _side_label(sees) or "–",
        value_cell(one_error, SCORE, who=f"{judge}, single verdicts", select=select),
        value_cell(both_error, SCORE, who=f"{judge}, mean of both orders", select=select),
        order_dumbbell(axis, one_share, both_share, judge, select),
        value_cell(one_share, PERCENT, who=f"{judge}, each order", select=select),
        value_cell(both_share, PERCENT, who=f"{judge}, both orders", select=select),
    ]


def _baseline_row(row: AlignmentRow, axis: Axis) -> list[str]:
    """Table row for people (each person against the mean of the others), or for a judge that always
    answers "tie"; both have only one order."""
    tie = row.judge == ALWAYS_TIE
    names = {ALWAYS_TIE: "Always tie", PEOPLE: "People: each person compared with the others"}
    shown = names.get(row.judge, row.judge.removeprefix(HUMAN_PREFIX))
    person = "this person compared with the mean of the others"
    note = "a judge that says “equal” on every item" if tie else person
    return [
        name_cell(shown, None, note if row.judge != PEOPLE else "pooled"),
        "–" if tie else "the images",
        value_cell(row.mae, SCORE, who=shown),
        "",
        order_dumbbell(axis, row.consistency, None, shown),
        value_cell(row.consistency, PERCENT, who=shown),
        "",
    ]


def order_dumbbell(
    axis: Axis,
    one: Estimate | None,
    both: Estimate | None,
    who: str,
    select: Mapping[str, Any] | None = None,
) -> Markup:
    """HTML plot of one order (hollow mark) and both orders (solid mark with interval); a diamond if
    there is only one order."""
    last = both if both is not None and both.value is not None else one
    if last is None or last.value is None:
        return track_html(axis)
    drawn = people_track(axis, last) if last is one else dumbbell_track(axis, one or last, last)
    note = "both orders" if last is both else ""
    return hover_html(
        drawn, estimate_card(last, PERCENT, who, note=note, opens=bool(select)), select
    )


_SIGNED_STYLE: Final = NumberStyle(2, signed=True)
_SIGNED_POINTS_STYLE: Final = NumberStyle(1, 100, f"{NARROW_SPACE}points", signed=True)


def _gains_table(found: AlignmentTable) -> Markup:
    """HTML table of paired differences: both orders − one order, images − description."""
    if not found.contrasts:
        return EMPTY
    heads = [
        ColumnHead(
            "Judge (cells: differences between two conditions on the same items)", numeric=False
        ),
        ColumnHead("", numeric=False),
        ColumnHead(
            "Difference in MAE",
            tip="mean absolute error (MAE) in the row's first condition minus MAE in its second; "
            "below 0: the first is closer to people",
        ),
        ColumnHead(
            "Difference in % within one level, points",
            tip="% of scores within one level of people in the row's first condition, minus % in "
            "its second; above 0: the first is closer to people",
        ),
    ]
    lines = [
        [
            name_cell(one.judge, {"judge": one.judge}, seen),
            f"{_side_label(one.left)} − {_side_label(one.right)}",
            value_cell(one.mae, _SIGNED_STYLE, who=f"{one.judge}: {one.left} − {one.right}"),
            value_cell(
                one.consistency, _SIGNED_POINTS_STYLE, who=f"{one.judge}: {one.left} − {one.right}"
            ),
        ]
        for one, seen in _labelled_contrasts(found)
    ]
    return value_table(
        heads, lines, label="Effect of judging in both orders, and of seeing the images"
    )


def _labelled_contrasts(found: AlignmentTable) -> list[tuple[AlignmentContrast, str]]:
    """The contrasts, each with the input of its judge ("images" or "description") if judges with
    both inputs are compared; else with ""."""
    raters = iter(dict.fromkeys((row.judge, row.sees) for row in found.rows))
    several = len({row.sees for row in found.rows}) > 1
    return [
        (one, _side_label(next(raters)[1]) if one.left == "dual" and several else "")
        for one in found.contrasts
    ]


def _side_label(side: str) -> str:
    labels = {"dual": "both orders", "single": "one order", "context": "description"}
    return labels.get(side, side)


def alignment_kpis(aligned: AlignmentTable) -> list[Kpi]:
    dual = [row for row in aligned.rows if row.model == OVERALL and row.run == "dual"]
    dual = [row for row in dual if row.consistency.value is not None]
    if not dual:
        return []
    best = max(dual, key=lambda row: row.consistency.value or 0.0)
    tie = next((r for r in aligned.always_tie if r.model == OVERALL), None)
    beside = f"; for a judge that always says tie: {share(tie.consistency.value, 0)}" if tie else ""
    note = f"{best.judge} {PERCENT.bounds(best.consistency)}{beside}"
    return [Kpi("Scores within one level of people", share(best.consistency.value), note=note)]
