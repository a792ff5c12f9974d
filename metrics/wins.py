"""Who wins how often: win rates, head-to-head, and what the missing verdicts could change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from metrics import selection
from metrics.intervals import Floats, Ints, joined, proportions, unknown
from metrics.measures import Cell, Evidence, Measure, Tally, coded, order_sets, tallied
from studies.frame import NO_PICK, TIE
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
    """Replies without a verdict become ties."""
    silent = frame["status"].isin(ANSWERED).to_numpy()
    pick = np.where(silent, TIE, frame["pick"]).astype(np.int8)
    status = pd.Categorical(
        np.where(silent, "ok", frame["status"].astype(str)), frame["status"].cat.categories
    )
    return frame.assign(pick=pick, status=status)


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
    """Rows meant to compare: two answers or more, not a format that only scores."""
    scored = selection.evidence(frame) & (frame["pick"] == NO_PICK).to_numpy()
    return selection.rows_of(frame, (frame["options"] > 1).to_numpy() & ~scored)


def _without_ties(rows: pd.DataFrame, ties: Ties) -> pd.DataFrame:
    _check(ties, Ties)
    return selection.rows_of(rows, rows["pick"] != TIE) if ties == "drop" else rows


PART: Final = 500_000
"""Rows that are spread into appearances at a time: of five million at once it took a gigabyte."""


def _shares(
    rows: pd.DataFrame, names: Sequence[str], outcome: Outcome, cells: int, note: str
) -> list[Estimate]:
    """The share of each (cell, contestant), cell by cell."""
    items = selection.item_codes(rows)
    count = int(items.max()) + 1 if len(items) else 1
    keys, totals, numbers = [], [], []
    for start in range(0, max(len(rows), 1), PART):
        part = rows.iloc[start : start + PART]
        row, who, points = appearances(part, names, outcome)
        group = part["cell"].to_numpy()[row].astype(np.int64) * len(names) + who
        present, code = coded(group * count + items[start : start + PART][row])
        keys.append(present)
        totals.append(np.bincount(code, points, minlength=len(present)))
        numbers.append(np.bincount(code, minlength=len(present)))
    present, code = coded(np.concatenate(keys))
    total, n = (
        np.asarray(np.bincount(code, np.concatenate(each), minlength=len(present)), np.float64)
        for each in (totals, numbers)
    )
    return proportions(total, n, present // count, cells * len(names), "share", note)


def _grouped(group: Ints, item: Ints, points: Floats, groups: int, note: str) -> list[Estimate]:
    """A proportion for each group from one row per verdict."""
    items = int(item.max()) + 1 if len(item) else 1
    present, code = coded(group * items + item)
    total = np.asarray(np.bincount(code, points, minlength=len(present)), np.float64)
    n = np.bincount(code, minlength=len(present)).astype(np.float64)
    return proportions(total, n, present // items, groups, "share", note)


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
    placed = selection.slots(rows, names)
    rows, placed = rows.iloc[placed[:, 0] != placed[:, 1]], placed[placed[:, 0] != placed[:, 1]]
    row, who, points = appearances(rows, names)
    other = placed[row].sum(axis=1) - who
    group, pairs = coded(who * len(names) + other)
    item = selection.item_codes(rows)[row]
    estimates = _grouped(pairs, item, points, len(group), "")
    table: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for code, estimate in zip(group.tolist(), estimates, strict=True):
        table[names[code // len(names)]][names[code % len(names)]] = estimate
    return table


def record(
    frame: pd.DataFrame, combine: Combine = "pooled", unreadable: Unreadable = "exclude"
) -> dict[str, dict[str, int]]:
    """Matches, wins, losses and ties of each contestant."""
    frame = _comparing(frame)
    names = selection.contestants(frame)
    rows = outcomes(frame, combine, unreadable)
    row, who, points = appearances(rows, names)
    tied = (rows["pick"] == TIE).to_numpy()[row]
    matches = np.bincount(who, minlength=len(names))
    wins = np.bincount(who, (points == 1) & ~tied, minlength=len(names)).astype(int)
    drawn = np.bincount(who, tied, minlength=len(names)).astype(int)
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
    _, who, points = appearances(selection.rows_of(asked, seen), names)
    _, missing, _ = appearances(selection.rows_of(asked, ~seen), names)
    won = np.bincount(who, points, minlength=len(names))
    n = np.bincount(who, minlength=len(names))
    absent = np.bincount(missing, minlength=len(names))
    return {name: _bounds(float(won[i]), int(n[i]), int(absent[i])) for i, name in enumerate(names)}


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
        names = selection.contestants(rows) if len(rows) else []
        row, who, points = appearances(rows, names)
        mine = who == names.index(contestant) if contestant in names else np.zeros(len(row), bool)
        return tallied(rows.iloc[row[mine]], points[mine], 1)

    return Measure(f"win_rate:{contestant}", "share", tally)
