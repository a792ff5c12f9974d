"""Judges beside people in five levels: MAE and Consistency, one order or both, seeing or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from components.drawing.grid import PERCENT, SCORE, Head, Style, card, name, opened, table, value
from components.drawing.panels import Axis, Kpi, empty
from components.drawing.tracks import diamond, dumbbell, spread_axis, track
from components.format import NARROW, share
from components.protocol.creation import baseline_of
from components.protocol.sections import rows_of_protocol
from components.scene import Scene
from metrics.alignment_table import (
    ALWAYS_TIE,
    OVERALL,
    PEOPLE,
    AlignmentContrast,
    AlignmentRow,
    AlignmentTable,
)
from metrics.alignment_table import alignment_table as measured
from metrics.selection import people
from studies.records import HUMAN_PREFIX, Estimate


def alignment(scene: Scene, beside: tuple[str, pd.DataFrame] | None) -> AlignmentTable | None:
    """MAE and Consistency with the people; None where nobody voted.

    `beside` is another study on the same items, named by what its judges saw.
    """
    rows = rows_of_protocol(scene, "five-level")
    if not people(rows).any():
        return None
    frames = {scene.study.judge_sees: rows}
    if beside is not None:
        frames[beside[0]] = beside[1]
    return measured(frames, baseline_of(scene))


def show_alignment(found: AlignmentTable | None) -> str:
    """Judges, what they saw, one order against both; people and always-tie under them."""
    if found is None:
        return empty(
            "Nobody voted on these items.",
            "MAE and Consistency hold a judge against people: five-level votes in the data or from "
            "the Vote tab.",
        )
    overall = [row for row in found.rows if row.model == OVERALL]
    alone = [row for row in [*found.people, *found.always_tie] if row.model == OVERALL]
    axis = spread_axis([row.consistency for row in [*overall, *alone]], bounds=(0, 1))
    heads = [
        Head("Judge", numeric=False), Head("Sees", numeric=False),
        Head("MAE, one", tip="mean |judge − people|, each verdict by itself"),
        Head("MAE, both", tip="the same for the mean of both orders"),
        Head("Within one level, %", axis=axis),
        Head("One"), Head("Both"),
    ]  # fmt: skip
    pairs = list(dict.fromkeys((row.judge, row.sees) for row in overall))
    lines = [_judge_line(judge, sees, overall, axis) for judge, sees in pairs]
    lines += [_person_line(row, axis) for row in alone]
    return table(heads, lines, label="Alignment with people") + _gains(found)


def _judge_line(judge: str, sees: str, rows: Sequence[AlignmentRow], axis: Axis) -> list[str]:
    by_run = {row.run: row for row in rows if (row.judge, row.sees) == (judge, sees)}
    one, both = by_run.get("single"), by_run.get("dual")
    select = {"judge": judge}
    return [
        name(judge, select),
        _said(sees) or "–",
        value(one and one.mae, SCORE, who=f"{judge}, each order by itself", select=select),
        value(both and both.mae, SCORE, who=f"{judge}, mean of both orders", select=select),
        between(axis, one and one.consistency, both and both.consistency, judge, select),
        value(one and one.consistency, PERCENT, who=f"{judge}, each order", select=select),
        value(both and both.consistency, PERCENT, who=f"{judge}, both orders", select=select),
    ]


def _person_line(row: AlignmentRow, axis: Axis) -> list[str]:
    """A person against the mean of the others; one vote, so there is no second order."""
    tie = row.judge == ALWAYS_TIE
    shown = {
        ALWAYS_TIE: "Always tie", PEOPLE: "People, each against the others",
    }.get(row.judge, row.judge.removeprefix(HUMAN_PREFIX))  # fmt: skip
    said = "says “equal” to everything" if tie else "against the mean of the others"
    return [
        name(shown, None, said if row.judge != PEOPLE else "pooled"),
        "–" if tie else "the images",
        value(row.mae, SCORE, who=shown),
        "",
        between(axis, row.consistency, None, shown),
        value(row.consistency, PERCENT, who=shown),
        "",
    ]  # fmt: skip


def between(
    axis: Axis,
    one: Estimate | None,
    both: Estimate | None,
    who: str,
    select: Mapping[str, Any] | None = None,
) -> str:
    """Hollow: one order. Solid: both, with its interval. Only one, of people: a diamond."""
    last = both if both is not None and both.value is not None else one
    if last is None or last.value is None:
        return track(axis)
    drawn = diamond(axis, last) if last is one else dumbbell(axis, one or last, last)
    note = "both orders" if last is both else ""
    return opened(drawn, card(last, PERCENT, who, note=note, opens=bool(select)), select)


_SIGNED: Final = Style(2, signed=True)
_SIGNED_PERCENT: Final = Style(1, 100, f"{NARROW}points", signed=True)


def _gains(found: AlignmentTable) -> str:
    """dual − single and images − description, on the same cases."""
    if not found.contrasts:
        return ""
    heads = [
        Head("On the same cases", numeric=False), Head("", numeric=False),
        Head("MAE", tip="below 0: the first is closer to people"),
        Head("Consistency, points", tip="above 0: the first is closer to people"),
    ]  # fmt: skip
    lines = [
        [
            name(one.judge, {"judge": one.judge}, seen),
            f"{_said(one.left)} − {_said(one.right)}",
            value(one.mae, _SIGNED, who=f"{one.judge}: {one.left} − {one.right}"),
            value(one.consistency, _SIGNED_PERCENT, who=f"{one.judge}: {one.left} − {one.right}"),
        ]
        for one, seen in _contrasts(found)
    ]
    return table(heads, lines, label="What asking twice and seeing add")


def _contrasts(found: AlignmentTable) -> list[tuple[AlignmentContrast, str]]:
    """Each with what the judge saw: those of both orders come in the order of the rows."""
    voices = iter(dict.fromkeys((row.judge, row.sees) for row in found.rows))
    several = len({row.sees for row in found.rows}) > 1
    return [
        (one, _said(next(voices)[1]) if one.left == "dual" and several else "")
        for one in found.contrasts
    ]


def _said(side: str) -> str:
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
