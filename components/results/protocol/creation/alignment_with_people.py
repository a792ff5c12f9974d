"""Judges beside people in five levels: MAE and Consistency, one order or both, seeing or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, share
from components.html.panel import Axis, Kpi, empty_state
from components.html.range_table import dumbbell_track, fit_share_axis, people_track, track_html
from components.html.value_table import (
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
from metrics.protocols.creation_alignment_table import alignment_table as measured
from studies.domain import HUMAN_PREFIX, Estimate


def compute_alignment(
    scene: FilteredStudy, beside: tuple[str, pd.DataFrame] | None
) -> AlignmentTable | None:
    """MAE and Consistency with the people; None where nobody voted.

    `beside` is another study on the same items, named by what its judges saw.
    """
    rows = protocol_rows(scene, "five-level")
    if not people_mask(rows).any():
        return None
    frames = {scene.study.judge_sees: rows}
    if beside is not None:
        frames[beside[0]] = beside[1]
    return measured(frames, study_baseline(scene))


def show_alignment(found: AlignmentTable | None) -> str:
    """Judges, what they saw, one order against both; people and always-tie under them."""
    if found is None:
        return empty_state(
            "Nobody voted on these items.",
            "MAE and Consistency hold a judge against people: five-level votes in the data or from "
            "the Vote tab.",
        )
    overall = [row for row in found.rows if row.model == OVERALL]
    alone = [row for row in [*found.people, *found.always_tie] if row.model == OVERALL]
    axis = fit_share_axis([row.consistency for row in [*overall, *alone]], bounds=(0, 1))
    heads = [
        ColumnHead("Judge", numeric=False), ColumnHead("Sees", numeric=False),
        ColumnHead("MAE, one", tip="mean |judge − people|, each verdict by itself"),
        ColumnHead("MAE, both", tip="the same for the mean of both orders"),
        ColumnHead("Within one level, %", axis=axis),
        ColumnHead("One"), ColumnHead("Both"),
    ]  # fmt: skip
    pairs = list(dict.fromkeys((row.judge, row.sees) for row in overall))
    lines = [_judge_row(judge, sees, overall, axis) for judge, sees in pairs]
    lines += [_person_row(row, axis) for row in alone]
    return value_table(heads, lines, label="Alignment with people") + _gains_table(found)


def _judge_row(judge: str, sees: str, rows: Sequence[AlignmentRow], axis: Axis) -> list[str]:
    by_run = {row.run: row for row in rows if (row.judge, row.sees) == (judge, sees)}
    one, both = by_run.get("single"), by_run.get("dual")
    select = {"judge": judge}
    return [
        name_cell(judge, select),
        _side_label(sees) or "–",
        value_cell(one and one.mae, SCORE, who=f"{judge}, each order by itself", select=select),
        value_cell(both and both.mae, SCORE, who=f"{judge}, mean of both orders", select=select),
        order_dumbbell(axis, one and one.consistency, both and both.consistency, judge, select),
        value_cell(one and one.consistency, PERCENT, who=f"{judge}, each order", select=select),
        value_cell(both and both.consistency, PERCENT, who=f"{judge}, both orders", select=select),
    ]


def _person_row(row: AlignmentRow, axis: Axis) -> list[str]:
    """A person against the mean of the others; one vote, so there is no second order."""
    tie = row.judge == ALWAYS_TIE
    shown = {
        ALWAYS_TIE: "Always tie", PEOPLE: "People, each against the others",
    }.get(row.judge, row.judge.removeprefix(HUMAN_PREFIX))  # fmt: skip
    said = "says “equal” to everything" if tie else "against the mean of the others"
    return [
        name_cell(shown, None, said if row.judge != PEOPLE else "pooled"),
        "–" if tie else "the images",
        value_cell(row.mae, SCORE, who=shown),
        "",
        order_dumbbell(axis, row.consistency, None, shown),
        value_cell(row.consistency, PERCENT, who=shown),
        "",
    ]  # fmt: skip


def order_dumbbell(
    axis: Axis,
    one: Estimate | None,
    both: Estimate | None,
    who: str,
    select: Mapping[str, Any] | None = None,
) -> str:
    """Hollow: one order. Solid: both, with its interval. Only one, of people: a diamond."""
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


def _gains_table(found: AlignmentTable) -> str:
    """dual − single and images − description, on the same cases."""
    if not found.contrasts:
        return ""
    heads = [
        ColumnHead("On the same cases", numeric=False), ColumnHead("", numeric=False),
        ColumnHead("MAE", tip="below 0: the first is closer to people"),
        ColumnHead("Consistency, points", tip="above 0: the first is closer to people"),
    ]  # fmt: skip
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
    return value_table(heads, lines, label="What asking twice and seeing add")


def _labelled_contrasts(found: AlignmentTable) -> list[tuple[AlignmentContrast, str]]:
    """Each with what the judge saw: those of both orders come in the order of the rows."""
    voices = iter(dict.fromkeys((row.judge, row.sees) for row in found.rows))
    several = len({row.sees for row in found.rows}) > 1
    return [
        (one, _side_label(next(voices)[1]) if one.left == "dual" and several else "")
        for one in found.contrasts
    ]


def _side_label(side: str) -> str:
    return {
        "dual": "both orders", "single": "one order", "context": "description",
    }.get(side, side)  # fmt: skip


def alignment_kpis(aligned: AlignmentTable) -> list[Kpi]:
    dual = [row for row in aligned.rows if row.model == OVERALL and row.run == "dual"]
    dual = [row for row in dual if row.consistency.value is not None]
    if not dual:
        return []
    best = max(dual, key=lambda row: row.consistency.value or 0.0)
    tie = next((r for r in aligned.always_tie if r.model == OVERALL), None)
    beside = f"; always tie {share(tie.consistency.value, 0)}" if tie else ""
    note = f"{best.judge} {PERCENT.bounds(best.consistency)}{beside}"
    return [Kpi("Within one level of people", share(best.consistency.value), note=note)]
