"""Who wins how often: win rates, head-to-head, and what the missing verdicts could change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from metrics import selection
from metrics.codes import coded
from metrics.intervals import Floats, Ints, joined, proportions, unknown
from metrics.measures import Cell, Evidence, Measure, Tally, order_sets, tallied
from metrics.prompt_kinds import scoring
from studies.frame import NO_PICK, SEP, TIE
from studies.records import Estimate

Outcome = selection.Outcome
Combine = Literal["pooled", "strict", "majority"]
Unreadable = Literal["exclude", "tie"]
Ties = Literal["half", "drop"]

ANSWERED: Final = ("unreadable", "empty", "refusal", "filtered", "truncated")
"""The judge was asked and replied without a verdict. Only these can be "counted as a tie": an ask
that failed on the way (error, too_long, unsupported) was never answered."""


def outcomes(
    frame: pd.DataFrame, combine: Combine = "pooled", unreadable: Unreadable = "exclude"
) -> pd.DataFrame:
    """The verdicts a win rate counts, one row each, `pick` in the row's own slots.

    pooled: every readable verdict of every order. strict: one outcome per pair and judge, 2-0 wins,
    anything else is a tie. majority: a win and a tie is a win. The last two need both orders read
    (where one order was asked, its verdict stands). `unreadable="tie"` is VisIT-Bench's rule.
    """
    _check(combine, Combine)
    _check(unreadable, Unreadable)
    rows = selection.picked(_with_ties(frame) if unreadable == "tie" else frame)
    return rows if combine == "pooled" else _merged(rows, combine)


def _check(value: str, allowed: object) -> None:
    known = get_args(allowed)
    if value not in known:
        raise ValueError(f"No rule named {value!r}. Known: {', '.join(known)}")


def _with_ties(frame: pd.DataFrame) -> pd.DataFrame:
    """Replies without a verdict become ties; one that should have scored compares nothing."""
    silent = frame["status"].isin(ANSWERED).to_numpy() & ~scoring(frame)
    pick = np.where(silent, np.int8(TIE), frame["pick"].to_numpy())
    known = frame["status"].cat
    codes = np.where(silent, list(known.categories).index("ok"), known.codes.to_numpy())
    status = pd.Categorical.from_codes(codes, known.categories)
    return frame.assign(pick=pick.astype(np.int8), status=status)


def _merged(rows: pd.DataFrame, combine: Combine) -> pd.DataFrame:
    pairs = selection.pairs(rows)
    whole = selection.in_complete_set(pairs) | (pairs["orders"] <= 1).to_numpy()
    sets = order_sets(selection.modal(selection.rows_of(pairs, whole)))
    pick = np.where(sets["consistent"], sets["pick"], TIE)
    if combine == "majority":
        # A lean of +1 is a win of the first slot in *some* order; if the row at hand is the tie,
        # that was the other order, where the row's second answer stood first.
        other = np.where(sets["lean"] > 0, 1, 0)
        decisive = np.where(sets["pick"] >= 0, sets["pick"], other)
        pick = np.where(sets["soft"], decisive, pick)
    return sets.assign(pick=pick.astype(np.int8))


def appearances(
    rows: pd.DataFrame, names: Sequence[str], outcome: Outcome = "verdict"
) -> tuple[Ints, Ints, Floats]:
    """(row, contestant, points) for everyone shown: 1 if picked, 1/N if tied, else 0; or by the
    label probabilities where there are some."""
    if len(rows) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    placed = selection.slots(rows, names)
    row, slot = np.nonzero(placed >= 0)
    pick, options = rows["pick"].to_numpy()[row], rows["options"].to_numpy()[row]
    points = np.where(pick == TIE, 1 / options, pick == slot)
    if outcome == "probability":
        soft = selection.soft_points(rows)[row, slot]
        points = np.where(np.isfinite(soft), soft, points)
    return row, placed[row, slot], points


def win_rate(
    frame: pd.DataFrame,
    combine: Combine = "pooled",
    unreadable: Unreadable = "exclude",
    ties: Ties = "half",
    outcome: Outcome = "verdict",
) -> dict[str, Estimate]:
    """(wins + ties/2)/readable verdicts of each contestant, best first.

    Among N options a win is being chosen (chance 1/N, noted). `ties="drop"`: wins/decisive, as in
    VisIT-Bench. With `combine="strict"` this is MT-Bench's adjusted win rate. With
    `outcome="probability"` a verdict counts by its label probabilities, where it has some.
    """
    rates = win_rates(frame, (), combine, unreadable, ties, outcome)[()]
    return dict(sorted(rates.items(), key=lambda pair: -_or_below(pair[1])))


def _or_below(estimate: Estimate) -> float:
    return -1.0 if estimate.value is None else estimate.value


def win_rates(
    frame: pd.DataFrame,
    by: Sequence[str],
    combine: Combine = "pooled",
    unreadable: Unreadable = "exclude",
    ties: Ties = "half",
    outcome: Outcome = "verdict",
) -> dict[Cell, dict[str, Estimate]]:
    """`win_rate` of every cell: cell -> contestant -> estimate."""
    _check_soft(outcome, combine, ties)
    evidence = Evidence(_comparing(frame), by)
    names = selection.contestants(evidence.frame)
    rows = _without_ties(outcomes(evidence.frame, combine, unreadable), ties)
    note = f"{combine}, unreadable {unreadable}" if (combine, unreadable) != DEFAULTS else ""
    note = joined(note, "chosen among N options" if (rows["options"] > 2).any() else "")
    note = joined(note, BY_PROBABILITY if outcome == "probability" else "")
    flat = _shares(rows, names, outcome, evidence.count, note)
    return {
        key: {name: flat[k * len(names) + i] for i, name in enumerate(names)}
        for k, key in enumerate(evidence.cells)
    }


DEFAULTS: Final = ("pooled", "exclude")
BY_PROBABILITY: Final = "by label probabilities"


def _check_soft(outcome: Outcome, combine: Combine, ties: Ties) -> None:
    """A probability has no winner to be merged or dropped."""
    _check(outcome, Outcome)
    if outcome == "probability" and (combine, ties) != ("pooled", "half"):
        raise ValueError("outcome 'probability' goes with combine 'pooled' and ties 'half' only")


def _comparing(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows meant to compare two or more different answers, not those of prompts that only score."""
    several = (frame["options"] > 1).to_numpy() & _apart(frame)
    scored = selection.evidence(frame) & (frame["pick"] == NO_PICK).to_numpy()
    return selection.rows_of(frame, several & ~scored & ~scoring(frame))


def _without_ties(rows: pd.DataFrame, ties: Ties) -> pd.DataFrame:
    _check(ties, Ties)
    return selection.rows_of(rows, rows["pick"] != TIE) if ties == "drop" else rows


PART: Final = 500_000
"""Rows that are spread into appearances at a time: of five million at once it took a gigabyte."""


def _shares(
    rows: pd.DataFrame, names: Sequence[str], outcome: Outcome, cells: int, note: str
) -> list[Estimate]:
    """The share of each (cell, contestant), cell by cell."""

    def groups(part: pd.DataFrame, row: Ints, who: Ints) -> Ints:
        return part["cell"].to_numpy()[row].astype(np.int64) * len(names) + who

    group, total, n = _sums(rows, names, outcome, groups)
    return proportions(total, n, group, cells * len(names), "share", note)


Groups = Callable[[pd.DataFrame, Ints, Ints], Ints]
"""Some rows, which of them each appearance is in and whose it is -> the group it counts for."""


def _sums(
    rows: pd.DataFrame, names: Sequence[str], outcome: Outcome, groups: Groups
) -> tuple[Ints, Floats, Floats]:
    """(group, points, appearances) of every item of every group, some rows at a time."""
    item, items = selection.codes_of(rows["item"])
    keys, totals, numbers = [], [], []
    for start in range(0, max(len(rows), 1), PART):
        part = rows.iloc[start : start + PART]
        row, who, points = appearances(part, names, outcome)
        present, code = coded(groups(part, row, who) * items + item[start : start + PART][row])
        keys.append(present)
        totals.append(np.bincount(code, points, minlength=len(present)))
        numbers.append(np.bincount(code, minlength=len(present)))
    present, code = coded(np.concatenate(keys))
    total, n = (
        np.asarray(np.bincount(code, np.concatenate(each), minlength=len(present)), np.float64)
        for each in (totals, numbers)
    )
    return present // max(items, 1), total, n


def head_to_head(
    frame: pd.DataFrame,
    combine: Combine = "pooled",
    unreadable: Unreadable = "exclude",
    ties: Ties = "half",
) -> dict[str, dict[str, Estimate]]:
    """a -> b -> a's win rate against b, pairs only; those who never met are not in the table."""
    frame = selection.pairs(_comparing(frame))
    names = selection.contestants(frame)
    rows = _without_ties(outcomes(frame, combine, unreadable), ties)
    if len(rows) == 0:
        return {name: {} for name in names}

    def meetings(part: pd.DataFrame, row: Ints, who: Ints) -> Ints:
        both: Ints = selection.slots(part, names)[row].sum(axis=1)
        return who * len(names) + both - who

    group, total, n = _sums(rows, names, "verdict", meetings)
    met, place = coded(group)
    table: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for code, estimate in zip(met.tolist(), proportions(total, n, place, len(met)), strict=True):
        table[names[code // len(names)]][names[code % len(names)]] = estimate
    return table


def _apart(rows: pd.DataFrame) -> selection.Mask:
    """Pairs of two different contestants."""
    shown = rows["shown"].astype("category").cat
    apart = [len(set(str(text).split(SEP))) > 1 for text in shown.categories]
    return np.asarray(apart, np.bool_)[shown.codes.to_numpy()]


def record(
    frame: pd.DataFrame, combine: Combine = "pooled", unreadable: Unreadable = "exclude"
) -> dict[str, dict[str, int]]:
    """Matches, wins, losses and ties of each contestant."""
    frame = _comparing(frame)
    names = selection.contestants(frame)
    rows = outcomes(frame, combine, unreadable)
    matches, wins, drawn = np.zeros((3, len(names)), np.int64)
    for start in range(0, len(rows), PART):
        part = rows.iloc[start : start + PART]
        row, who, points = appearances(part, names)
        tied = (part["pick"] == TIE).to_numpy()[row]
        matches += np.bincount(who, minlength=len(names))
        wins += np.bincount(who[(points == 1) & ~tied], minlength=len(names))
        drawn += np.bincount(who[tied], minlength=len(names))
    return {
        name: {
            "matches": int(matches[i]),
            "wins": int(wins[i]),
            "losses": int(matches[i] - wins[i] - drawn[i]),
            "ties": int(drawn[i]),
        }
        for i, name in enumerate(names)
    }


def manski(frame: pd.DataFrame) -> dict[str, Estimate]:
    """What the missing verdicts could make of a win rate: all lost (low), all won (high).

    Bounds, not a confidence interval: they say nothing about sampling.
    """
    asked = _comparing(frame)
    asked = selection.rows_of(asked, ~asked["noise"])
    names = selection.contestants(asked)
    seen = selection.evidence(asked)
    won, n = _points(selection.rows_of(asked, seen), names)
    _, absent = _points(selection.rows_of(asked, ~seen), names)
    return {name: _bounds(float(won[i]), int(n[i]), int(absent[i])) for i, name in enumerate(names)}


def _points(rows: pd.DataFrame, names: Sequence[str]) -> tuple[Floats, Ints]:
    """(points, appearances) of each contestant."""
    won, n = np.zeros(len(names)), np.zeros(len(names), np.int64)
    for start in range(0, len(rows), PART):
        _, who, points = appearances(rows.iloc[start : start + PART], names)
        won += np.bincount(who, points, minlength=len(names))
        n += np.bincount(who, minlength=len(names))
    return won, n


def _bounds(won: float, n: int, missing: int) -> Estimate:
    method = "bounds: all missing verdicts lost, all won"
    note = f"{missing} of {n + missing} verdicts missing"
    if n + missing == 0:
        return unknown("no verdicts", "share")
    low, high = won / (n + missing), (won + missing) / (n + missing)
    value = won / n if n else None
    return Estimate(value, low, high, n, 0, "share", 1.0, method, note)


def win_rate_of(contestant: str) -> Measure:
    """One contestant's win rate as a measure, for contrasts and grids."""

    def tally(evidence: Evidence) -> Tally:
        rows = selection.rows_of(evidence.picks, evidence.picks["options"] > 1)
        rows = selection.rows_of(rows, _apart(rows))
        names = selection.contestants(rows) if len(rows) else []
        row, who, points = appearances(rows, names)
        mine = who == names.index(contestant) if contestant in names else np.zeros(len(row), bool)
        return tallied(rows.iloc[row[mine]], points[mine], 1)

    return Measure(f"win_rate:{contestant}", "share", tally)
