"""Agreement of judges with the majority of people, and with each other.

A case is a set of answers to one item, whoever judges them and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from metrics.estimation import integer_codes, row_selection
from metrics.estimation.intervals import Floats, Ints, proportion, safe_divide
from metrics.estimation.measures import CellKey, GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import Estimate
from studies.frames.frame import TIE

TieRule = Literal["keep", "drop"]

CASE_KEY = ("item", "comparison")
"""Columns that identify a case: the compared answers to one item, in any order, by any judge."""

NO_PEOPLE_NOTE = "no verdict on a case that people voted on"
NO_CHOICE = -2
"""Code of a missing verdict: no vote on a case, or no verdict of a judge."""


@dataclass(frozen=True)
class CaseVerdicts:
    """Readable verdicts that pick an answer or a tie (`rows`). Arrays with an entry for each row:
    `case`, the number of its case, and `chosen`, the index of the chosen contestant in `names`, or
    TIE. `cases` is the number of cases."""

    rows: pd.DataFrame
    names: list[str]
    case: Ints
    cases: int
    chosen: Ints


def build_case_verdicts(frame: pd.DataFrame) -> CaseVerdicts:
    """Extract the verdicts that pick an answer or a tie, with case and chosen contestant; of a
    person's repeated votes on a case only the first."""
    rows = row_selection.keep_first_votes(row_selection.select_picks(frame))
    case, count = row_selection.group_codes(rows, CASE_KEY)
    names = row_selection.contestants(rows) if len(rows) else []
    return CaseVerdicts(rows, names, case, count, row_selection.chosen_contestants(rows, names))


def majority_choices(case: Ints, chosen: Ints, cases: int) -> Ints:
    """Return the most frequent choice in each of the `cases` cases; TIE if several are most
    frequent, NO_CHOICE without votes. `case` and `chosen` are the case and the choice (index of a
    contestant, or TIE) of each vote."""
    width = int(chosen.max(initial=0)) + 2
    votes, code = integer_codes.unique_codes(case * width + chosen + 1)
    counts = np.bincount(code, minlength=len(votes))
    owner, choice = votes // width, votes % width - 1
    most = np.zeros(cases, np.int64)
    np.maximum.at(most, owner, counts)
    top = counts == most[owner]
    result = np.full(cases, NO_CHOICE, np.int64)
    result[owner[top]] = choice[top]
    result[np.bincount(owner[top], minlength=cases) > 1] = TIE
    return result


def _judge_and_people_picks(grouped: GroupedFrame) -> tuple[pd.DataFrame, Ints, Ints]:
    """Return the judges' rows on cases with human votes, and two arrays with an entry for each row:
    the slot that the judge picked, and the slot of the answer that the people's majority prefers.
    Either is TIE for a tie."""
    data = build_case_verdicts(grouped.frame)
    human = row_selection.people_mask(data.rows)
    winner = majority_choices(data.case[human], data.chosen[human], data.cases)[data.case]
    selected = ~human & (winner != NO_CHOICE)
    rows, winner = data.rows.loc[selected], winner[selected]
    if len(rows) == 0:
        return rows, winner, winner
    placed = row_selection.slot_contestants(rows, data.names)
    theirs = np.where(winner < 0, TIE, (placed == winner[:, None]).argmax(axis=1))
    return rows, rows["pick"].to_numpy().astype(np.int64), theirs


def _apply_tie_rule(
    rows: pd.DataFrame, first: Ints, second: Ints, ties: TieRule
) -> tuple[pd.DataFrame, Ints, Ints]:
    """Apply the rule on ties to the picks of two raters on the same rows (`first` and `second`: the
    slot picked, or TIE). With `ties` "keep" everything is returned; with "drop", only the rows in
    which neither pick is a tie."""
    if ties == "keep":
        return rows, first, second
    selected = (first >= 0) & (second >= 0)
    return rows.loc[selected], first[selected], second[selected]


def agreement_with_people_measure(ties: TieRule = "keep") -> Measure:
    """Define the measure: share of a judge's verdicts that equal the people's majority.

    Without a single most frequent choice, the people's majority is a tie. `ties`: "keep" counts
    ties as verdicts; "drop" uses only cases where both judge and people are decisive.
    """

    def tally(grouped: GroupedFrame) -> MeasureTally:
        rows, mine, theirs = _apply_tie_rule(*_judge_and_people_picks(grouped), ties)
        return build_tally(rows, mine == theirs, 1)

    return Measure(
        "agreement" if ties == "keep" else "agreement_decisive",
        "share",
        tally,
        empty=NO_PEOPLE_NOTE,
    )


def kappa_with_people_measure(ties: TieRule = "keep") -> Measure:
    """Define the measure: Cohen's κ of a judge with the people's majority; the categories are the
    slots (first, second) and the tie. `ties` as in `agreement_with_people_measure`."""

    def tally(grouped: GroupedFrame) -> MeasureTally:
        rows, mine, theirs = _apply_tie_rule(*_judge_and_people_picks(grouped), ties)
        return _kappa_tally(rows, mine, theirs)

    name = "kappa" if ties == "keep" else "kappa_decisive"
    return Measure(name, "kappa", tally, "other", (-1, 1), NO_PEOPLE_NOTE)


def _kappa_tally(rows: pd.DataFrame, first: Ints, second: Ints) -> MeasureTally:
    """Return the counts (MeasureTally) from which Cohen's κ is computed, of the picks `first` and
    `second` by two raters (slot, or TIE)."""
    size = int(np.concatenate([first, second]).max(initial=0)) + 2
    columns = [(first + 1 == i) & (second + 1 == j) for i in range(size) for j in range(size)]

    def kappa(totals: Floats) -> Floats:
        table = totals[..., :-1].reshape(*totals.shape[:-1], size, size)
        p = safe_divide(table, totals[..., -1][..., None, None])
        observed = np.trace(p, axis1=-2, axis2=-1)
        expected = (p.sum(axis=-1) * p.sum(axis=-2)).sum(axis=-1)
        return safe_divide(observed - expected, 1 - expected)

    return replace(build_tally(rows, *columns, 1), statistic=kappa)


def agreement_with_people_table(
    frame: pd.DataFrame, by: Sequence[str] = ("judge",)
) -> dict[CellKey, dict[str, Estimate]]:
    """Return cell (values of the columns `by`) -> name of a measure -> estimate: agreement and κ
    with the people's majority, with ties and without. Cells without a verdict on a case that people
    voted on are left out."""
    evidence = GroupedFrame(frame, by)
    measures = (
        agreement_with_people_measure(),
        kappa_with_people_measure(),
        agreement_with_people_measure("drop"),
        kappa_with_people_measure("drop"),
    )
    columns = {measure.name: measure.by_cell(evidence) for measure in measures}
    return {
        cell: {name: columns[name][cell] for name in columns}
        for cell in evidence.cells
        if columns["agreement"][cell].n
    }


# -- judge against judge -------------------------------------------------------------------------


def equal_verdict_share_matrix(
    frame: pd.DataFrame, ties: TieRule = "keep", people: bool = True
) -> dict[str, dict[str, Estimate]]:
    """Return judge -> other judge -> share of equal verdicts on the same case with the same prompt
    and order.

    A judge's repeats are reduced to the most frequent verdict. With `ties` "drop", verdicts count
    only where neither judge gave a tie. With `people`, the people's majority is added as the judge
    "people", if people voted; all verdicts of a judge are compared with it, in every order.
    """
    machine = frame.loc[~row_selection.people_mask(frame)]
    data = build_case_verdicts(machine)
    rows = row_selection.modal_verdicts(data.rows)
    grid, items, judges = _build_pick_matrix(rows)
    table: dict[str, dict[str, Estimate]] = {name: {} for name in judges}
    for i, a in enumerate(judges):
        for j in range(i):
            both = (grid[i] != NO_CHOICE) & (grid[j] != NO_CHOICE)
            if ties == "drop":
                both &= (grid[i] >= 0) & (grid[j] >= 0)
            got = proportion(grid[i][both] == grid[j][both], items[both])
            table[a][judges[j]] = table[judges[j]][a] = got
    if people and row_selection.people_mask(frame).any():
        for (judge,), got in (
            agreement_with_people_measure(ties).by_cell(GroupedFrame(frame, ["judge"])).items()
        ):
            if got.n:
                table[judge]["people"] = got
                table.setdefault("people", {})[judge] = got
    return table


def _build_pick_matrix(rows: pd.DataFrame) -> tuple[Ints, Ints, list[str]]:
    """Return the slot picked by each judge for each case, prompt and order ([judge, combination],
    NO_CHOICE without a verdict), the item of each combination, and the judges' names."""
    ask, asks = row_selection.group_codes(rows, ("item", "comparison", "prompt", "shown"))
    judges = sorted({str(name) for name in rows["judge"]})
    code = {name: k for k, name in enumerate(judges)}
    line = rows["judge"].astype(str).map(code).to_numpy(np.int64) if len(rows) else np.zeros(0, int)
    grid = np.full((len(judges), asks), NO_CHOICE, np.int64)
    grid[line, ask] = rows["pick"]
    items = row_selection.item_codes(rows)[row_selection.first_row_per_group(ask, asks)]
    return grid, items, judges
