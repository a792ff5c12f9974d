"""Judges and people: does the judge say what people say, and what other judges say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from metrics import selection
from metrics.codes import coded
from metrics.intervals import Floats, Ints, divided, proportion
from metrics.measures import Cell, Evidence, Measure, Tally, tallied
from studies.frame import TIE
from studies.records import Estimate

Ties = Literal["keep", "drop"]

CASE = ("item", "comparison")
"""What judges and people both speak about: some answers to one item."""

NO_PEOPLE = "no verdict that people judged too"
UNKNOWN = -2


@dataclass(frozen=True)
class Cases:
    """The picks of a frame with what they are about and whom they chose."""

    rows: pd.DataFrame
    names: list[str]
    case: Ints
    cases: int
    chosen: Ints


def cases_of(frame: pd.DataFrame) -> Cases:
    """Readable picks with their case and chosen contestant."""
    rows = selection.one_vote(selection.picked(frame))
    case, count = selection.group_codes(rows, CASE)
    names = selection.contestants(rows) if len(rows) else []
    return Cases(rows, names, case, count, selection.chosen(rows, names))


def majority(case: Ints, chosen: Ints, cases: int) -> Ints:
    """The most frequent choice of each case; no mode is a tie, no vote is UNKNOWN."""
    width = int(chosen.max(initial=0)) + 2
    votes, code = coded(case * width + chosen + 1)
    counts = np.bincount(code, minlength=len(votes))
    owner, choice = votes // width, votes % width - 1
    most = np.zeros(cases, np.int64)
    np.maximum.at(most, owner, counts)
    top = counts == most[owner]
    result = np.full(cases, UNKNOWN, np.int64)
    result[owner[top]] = choice[top]
    result[np.bincount(owner[top], minlength=cases) > 1] = TIE
    return result


def people_verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """The people's majority as rows of a frame, one per case: a judge named "people"."""
    data = cases_of(frame.loc[selection.people(frame)])
    winner = majority(data.case, data.chosen, data.cases)
    rows = data.rows.iloc[selection.first_rows(data.case, data.cases)]
    if len(rows) == 0:
        return rows
    placed = selection.slots(rows, data.names)
    pick = np.where(winner < 0, TIE, (placed == winner[:, None]).argmax(axis=1))
    judge = pd.Categorical(["people"] * len(rows))
    return rows.assign(pick=pick.astype(np.int8), judge=judge)


def _against_people(evidence: Evidence) -> tuple[pd.DataFrame, Ints, Ints]:
    """(judges' rows that people judged too, judge's slot, people's slot in the same row)."""
    data = cases_of(evidence.frame)
    human = selection.people(data.rows)
    winner = majority(data.case[human], data.chosen[human], data.cases)[data.case]
    kept = ~human & (winner != UNKNOWN)
    rows, winner = data.rows.loc[kept], winner[kept]
    if len(rows) == 0:
        return rows, winner, winner
    placed = selection.slots(rows, data.names)
    theirs = np.where(winner < 0, TIE, (placed == winner[:, None]).argmax(axis=1))
    return rows, rows["pick"].to_numpy().astype(np.int64), theirs


def _decided(rows: pd.DataFrame, a: Ints, b: Ints, ties: Ties) -> tuple[pd.DataFrame, Ints, Ints]:
    if ties == "keep":
        return rows, a, b
    kept = (a >= 0) & (b >= 0)
    return rows.loc[kept], a[kept], b[kept]


def people_agreement(ties: Ties = "keep") -> Measure:
    """Share of a judge's verdicts that equal the people's majority (no mode: tie).

    keep: a three-way match, ties are verdicts. drop: only where both are decisive.
    """

    def tally(evidence: Evidence) -> Tally:
        rows, mine, theirs = _decided(*_against_people(evidence), ties)
        return tallied(rows, mine == theirs, 1)

    return Measure(
        "agreement" if ties == "keep" else "agreement_decisive", "share", tally, empty=NO_PEOPLE
    )


def people_kappa(ties: Ties = "keep") -> Measure:
    """Cohen's κ of a judge with the people's majority, in slots (first, second, tie)."""

    def tally(evidence: Evidence) -> Tally:
        rows, mine, theirs = _decided(*_against_people(evidence), ties)
        return _confusion(rows, mine, theirs)

    name = "kappa" if ties == "keep" else "kappa_decisive"
    return Measure(name, "kappa", tally, "other", (-1, 1), NO_PEOPLE)


def _confusion(rows: pd.DataFrame, a: Ints, b: Ints) -> Tally:
    size = max(int(a.max(initial=0)), int(b.max(initial=0))) + 2
    columns = [(a + 1 == i) & (b + 1 == j) for i in range(size) for j in range(size)]

    def kappa(totals: Floats) -> Floats:
        table = totals[..., :-1].reshape(*totals.shape[:-1], size, size)
        p = divided(table, totals[..., -1][..., None, None])
        observed = np.trace(p, axis1=-2, axis2=-1)
        expected = (p.sum(axis=-1) * p.sum(axis=-2)).sum(axis=-1)
        return divided(observed - expected, 1 - expected)

    return replace(tallied(rows, *columns, 1), statistic=kappa)


def people_table(
    frame: pd.DataFrame, by: Sequence[str] = ("judge",)
) -> dict[Cell, dict[str, Estimate]]:
    """Agreement and κ with the people's majority, with ties and without, for every cell."""
    evidence = Evidence(frame, by)
    measures = (
        people_agreement(),
        people_kappa(),
        people_agreement("drop"),
        people_kappa("drop"),
    )
    columns = {measure.name: measure.each(evidence) for measure in measures}
    return {
        cell: {name: columns[name][cell] for name in columns}
        for cell in evidence.cells
        if columns["agreement"][cell].n
    }


# -- judge against judge -------------------------------------------------------------------------


def judge_matrix(
    frame: pd.DataFrame, ties: Ties = "keep", people: bool = True
) -> dict[str, dict[str, Estimate]]:
    """Share of equal verdicts of every two judges on the same order of the same case.

    Repeats are reduced to their mode. With `people`, their majority stands as one more judge, held
    against both orders.
    """
    machine = frame.loc[~selection.people(frame)]
    data = cases_of(machine)
    rows = selection.modal(data.rows)
    grid, items, judges = _grid(rows)
    table: dict[str, dict[str, Estimate]] = {name: {} for name in judges}
    for i, a in enumerate(judges):
        for j in range(i):
            both = (grid[i] != UNKNOWN) & (grid[j] != UNKNOWN)
            if ties == "drop":
                both &= (grid[i] >= 0) & (grid[j] >= 0)
            got = proportion(grid[i][both] == grid[j][both], items[both], note="")
            table[a][judges[j]] = table[judges[j]][a] = got
    if people and selection.people(frame).any():
        for (judge,), got in people_agreement(ties).each(Evidence(frame, ["judge"])).items():
            if judge in table and got.n:
                table[judge]["people"] = got
                table.setdefault("people", {})[judge] = got
    return table


def _grid(rows: pd.DataFrame) -> tuple[Ints, Ints, list[str]]:
    """(judges × asks) slots picked, UNKNOWN where not asked, with the asks' items."""
    ask, asks = selection.group_codes(rows, ("item", "comparison", "prompt", "shown"))
    judges = sorted({str(name) for name in rows["judge"]})
    code = {name: k for k, name in enumerate(judges)}
    line = rows["judge"].astype(str).map(code).to_numpy(np.int64) if len(rows) else np.zeros(0, int)
    grid = np.full((len(judges), asks), UNKNOWN, np.int64)
    grid[line, ask] = rows["pick"]
    items = selection.item_codes(rows)[selection.first_rows(ask, asks)]
    return grid, items, judges
