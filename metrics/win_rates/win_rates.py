"""Win rates, head-to-head tables, and bounds for missing verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from metrics.estimation import measures, prompt_kinds, row_selection
from metrics.estimation.integer_codes import unique_codes
from metrics.estimation.intervals import (
    Floats,
    Ints,
    jackknife_estimate,
    join_notes,
    pooled_judges_note,
    proportions,
    safe_divide,
    unknown_estimate,
)
from metrics.win_rates.counting_rules import (
    CombineRule,
    UnreadableRule,
    check_counting_rule_known,
    counting_rule_note,
    outcome_rows,
)
from metrics.win_rates.remedy_outcomes import applicable_rule
from studies.domain import Estimate
from studies.frames.frame import NO_PICK, SEP, TIE

OutcomeKind = row_selection.OutcomeKind
TieRule = Literal["half", "drop"]


def appearance_points(
    rows: pd.DataFrame, names: Sequence[str], outcome: OutcomeKind = "verdict"
) -> tuple[Ints, Ints, Floats]:
    """Return three arrays with an entry for every answer shown: the row number, the contestant (an
    index of `names`), and the points: 1 if the answer was picked, 1/N for a tie among N answers,
    else 0. With `outcome="probability"` the points are the label probabilities, if there are
    any."""
    if len(rows) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    placed = row_selection.slot_contestants(rows, names)
    row, slot = np.nonzero(placed >= 0)
    pick, options = rows["pick"].to_numpy()[row], rows["options"].to_numpy()[row]
    points = np.where(pick == TIE, 1 / options, pick == slot)
    if outcome == "probability":
        soft = row_selection.points_from_probabilities(rows)[row, slot]
        points = np.where(np.isfinite(soft), soft, points)
    return row, placed[row, slot], points


def win_rate(
    frame: pd.DataFrame,
    combine: CombineRule = "pooled",
    unreadable: UnreadableRule = "exclude",
    ties: TieRule = "half",
    outcome: OutcomeKind = "verdict",
) -> dict[str, Estimate]:
    """Return contestant -> win rate, (wins + ties/N)/readable verdicts, best first.

    Among N options a win is being chosen, and a tie counts 1/N (a note states it); among two, half.
    `ties="drop"`: wins/decisive, as in VisIT-Bench. `combine` and `unreadable` are those of
    `outcome_rows`; with `combine="strict"` this is MT-Bench's adjusted win rate. With
    `outcome="probability"` a verdict counts by its label probabilities, if it has any; ValueError
    unless `combine` is "pooled" and `ties` is "half". A contestant without a counted verdict has an
    unknown win rate.
    """
    rates = win_rates_by_cell(frame, (), combine, unreadable, ties, outcome)[()]
    return dict(sorted(rates.items(), key=lambda pair: -_value_or_minus_one(pair[1])))


def _value_or_minus_one(estimate: Estimate) -> float:
    return -1.0 if estimate.value is None else estimate.value


def win_rates_by_cell(
    frame: pd.DataFrame,
    by: Sequence[str],
    combine: CombineRule = "pooled",
    unreadable: UnreadableRule = "exclude",
    ties: TieRule = "half",
    outcome: OutcomeKind = "verdict",
) -> dict[measures.CellKey, dict[str, Estimate]]:
    """Estimate the win rates (see `win_rate`) in every cell, a combination of values in the columns
    `by`: cell -> contestant -> estimate. The contestants of a cell are in alphabetical order."""
    # Raise ValueError for an unknown `outcome`, and for "probability" unless `combine` is "pooled"
    # and `ties` is "half".
    check_counting_rule_known(outcome, get_args(OutcomeKind))
    if outcome == "probability" and (combine, ties) != ("pooled", "half"):
        raise ValueError("outcome 'probability' requires combine 'pooled' and ties 'half'")
    evidence = measures.GroupedFrame(_comparison_rows(frame), by)
    names = row_selection.contestants(evidence.frame)
    rows = _apply_tie_rule(outcome_rows(evidence.frame, combine, unreadable), ties)
    combine = applicable_rule(combine, evidence.frame)
    note = counting_rule_note(combine, unreadable) if (combine, unreadable) != DEFAULT_RULES else ""
    note = join_notes(note, "chosen among N options" if (rows["options"] > 2).any() else "")
    note = join_notes(note, BY_PROBABILITY if outcome == "probability" else "")
    flat = _win_rates_by_cell_and_contestant(rows, names, outcome, evidence.count, note)
    pooled = [pooled_judges_note(judges) for judges in _judges_by_cell(rows, evidence.count)]
    return {
        key: {
            name: replace(one, note=join_notes(one.note, pooled[k] if one.n else ""))
            for name, one in zip(names, flat[k * len(names) :], strict=False)
        }
        for k, key in enumerate(evidence.cells)
    }


def _judges_by_cell(rows: pd.DataFrame, cells: int) -> list[int]:
    """Number of judges (people are not counted) with verdicts in each cell."""
    if not len(rows):
        return [0] * cells
    rows = row_selection.select_rows(rows, ~row_selection.people_mask(rows))
    code, judges = row_selection.column_codes(rows["judge"])
    present, _ = unique_codes(rows["cell"].to_numpy().astype(np.int64) * max(judges, 1) + code)
    counted: list[int] = np.bincount(present // max(judges, 1), minlength=cells).tolist()
    return counted


DEFAULT_RULES: Final = ("pooled", "exclude")
BY_PROBABILITY: Final = "by label probabilities"


def _comparison_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Select rows that compare two or more different answers, without rows of prompts that only
    score answers."""
    several = (frame["options"] > 1).to_numpy() & _distinct_contestants_mask(frame)
    scored = row_selection.usable_status_mask(frame) & (frame["pick"] == NO_PICK).to_numpy()
    return row_selection.select_rows(frame, several & ~scored & ~prompt_kinds.scoring_mask(frame))


def _apply_tie_rule(rows: pd.DataFrame, ties: TieRule) -> pd.DataFrame:
    check_counting_rule_known(ties, get_args(TieRule))
    return row_selection.select_rows(rows, rows["pick"] != TIE) if ties == "drop" else rows


BLOCK_ROWS: Final = 500_000
"""Rows processed at a time; five million rows at once would take a gigabyte."""


def _win_rates_by_cell_and_contestant(
    rows: pd.DataFrame, names: Sequence[str], outcome: OutcomeKind, cells: int, note: str
) -> list[Estimate]:
    """Return the win rates as a list: those of all contestants in the first cell, then in the next
    cell, and so on."""

    def codes_by_cell(part: pd.DataFrame, row: Ints, contestant: Ints) -> Ints:
        return part["cell"].to_numpy()[row].astype(np.int64) * len(names) + contestant

    group, _, total, n = _points_by_group_and_item(rows, names, outcome, codes_by_cell)
    return proportions(total, n, group, cells * len(names), "share", note)


GroupFunction = Callable[[pd.DataFrame, Ints, Ints], Ints]
"""Function (rows, row of each answer shown, contestant of each answer) -> group of each answer."""


def _points_by_group_and_item(
    rows: pd.DataFrame, names: Sequence[str], outcome: OutcomeKind, groups: GroupFunction
) -> tuple[Ints, Ints, Floats, Floats]:
    """Add up the points, and count the answers shown, for each (group, item). Returns four arrays
    with an entry for each: group, item, points and number of answers. `groups` returns the group of
    each answer shown."""
    item, items = row_selection.column_codes(row_selection.resampling_unit(rows))
    keys, totals, numbers = [], [], []
    for start in range(0, max(len(rows), 1), BLOCK_ROWS):
        part = rows.iloc[start : start + BLOCK_ROWS]
        row, who, points = appearance_points(part, names, outcome)
        present, code = unique_codes(
            groups(part, row, who) * items + item[start : start + BLOCK_ROWS][row]
        )
        keys.append(present)
        totals.append(np.bincount(code, points, minlength=len(present)))
        numbers.append(np.bincount(code, minlength=len(present)))
    present, code = unique_codes(np.concatenate(keys))
    total, n = (
        np.asarray(np.bincount(code, np.concatenate(each), minlength=len(present)), np.float64)
        for each in (totals, numbers)
    )
    return present // max(items, 1), present % max(items, 1), total, n


def win_rate_difference(
    frame: pd.DataFrame,
    one: str,
    other: str,
    combine: CombineRule = "pooled",
    unreadable: UnreadableRule = "exclude",
) -> Estimate:
    """Estimate the win rate of one contestant minus that of another (`win_rate`), with a jackknife
    interval over items: both rates rest on the same items, often on the same verdicts."""
    rows = outcome_rows(_comparison_rows(frame), combine, unreadable)
    names = [one, other, *(set(row_selection.contestants(rows)) - {one, other})]
    who, item, total, n = _points_by_group_and_item(rows, names, "verdict", lambda *each: each[2])
    kept = who < 2
    items, place = np.unique(item[kept], return_inverse=True)
    sums = np.zeros((len(items), 4))
    sums[place, who[kept]], sums[place, 2 + who[kept]] = total[kept], n[kept]

    def difference(totals: Floats) -> Floats:
        rates = safe_divide(totals[..., :2], totals[..., 2:])
        return np.asarray(rates[..., 0] - rates[..., 1])

    return jackknife_estimate(sums, difference, int(n[kept].sum()), "share", (-1.0, 1.0))


def head_to_head(
    frame: pd.DataFrame,
    combine: CombineRule = "pooled",
    unreadable: UnreadableRule = "exclude",
    ties: TieRule = "half",
) -> dict[str, dict[str, Estimate]]:
    """Return contestant a -> contestant b -> win rate of a against b, in pairs; the rules are those
    of `win_rate`. Two contestants without a counted verdict between them have no entry for each
    other."""
    frame = row_selection.select_pairs(_comparison_rows(frame))
    names = row_selection.contestants(frame)
    rows = _apply_tie_rule(outcome_rows(frame, combine, unreadable), ties)
    if len(rows) == 0:
        return {name: {} for name in names}

    def pair_codes(part: pd.DataFrame, row: Ints, contestant: Ints) -> Ints:
        both: Ints = row_selection.slot_contestants(part, names)[row].sum(axis=1)
        return contestant * len(names) + both - contestant

    group, _, total, n = _points_by_group_and_item(rows, names, "verdict", pair_codes)
    met, place = unique_codes(group)
    table: dict[str, dict[str, Estimate]] = {name: {} for name in names}
    for code, estimate in zip(met.tolist(), proportions(total, n, place, len(met)), strict=True):
        table[names[code // len(names)]][names[code % len(names)]] = estimate
    return table


def win_rate_by_position(frame: pd.DataFrame) -> dict[str, tuple[Estimate, Estimate]]:
    """Return contestant -> win rate in the pairs where its answer is shown first, and in those
    where it is shown second; empty without readable verdicts. Ties count half. Verdicts of unknown
    order are left out; if there are no others, the rates are unknown."""
    frame = row_selection.select_pairs(_comparison_rows(frame))
    names = row_selection.contestants(frame)
    rows = outcome_rows(frame)
    if len(rows) == 0:
        return {}

    def codes_by_slot(part: pd.DataFrame, row: Ints, contestant: Ints) -> Ints:
        first: Ints = row_selection.slot_contestants(part, names)[row, 0]
        slot: Ints = 2 * contestant + (first != contestant)
        return slot

    known = row_selection.select_rows(rows, rows["orders"] > 0)
    if len(known) == 0:
        unknown = unknown_estimate(measures.ORDER_UNKNOWN_NOTE, "share")
        return dict.fromkeys(names, (unknown, unknown))
    group, _, total, n = _points_by_group_and_item(known, names, "verdict", codes_by_slot)
    found = proportions(total, n, group, 2 * len(names), "share")
    return {name: (found[2 * i], found[2 * i + 1]) for i, name in enumerate(names)}


def _distinct_contestants_mask(rows: pd.DataFrame) -> row_selection.Mask:
    """Mask of the rows that show at least two different contestants."""
    shown = rows["shown"].astype("category").cat
    distinct = [len(set(str(text).split(SEP))) > 1 for text in shown.categories]
    return np.asarray(distinct, np.bool_)[shown.codes.to_numpy()]


def win_loss_record(
    frame: pd.DataFrame, combine: CombineRule = "pooled", unreadable: UnreadableRule = "exclude"
) -> dict[str, dict[str, int]]:
    """Return contestant -> number of its "matches", "wins", "losses" and "ties"; a match is one
    outcome by the counting rule: a single verdict, or both orders together (`outcome_rows`)."""
    frame = _comparison_rows(frame)
    names = row_selection.contestants(frame)
    rows = outcome_rows(frame, combine, unreadable)
    matches, wins, drawn = np.zeros((3, len(names)), np.int64)
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows.iloc[start : start + BLOCK_ROWS]
        row, who, points = appearance_points(part, names)
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


def win_rate_bounds(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Return contestant -> its win rate (`value`) with bounds over the missing verdicts (unusable
    replies and failed calls): all lost (low), or all won (high). They are not confidence intervals:
    they do not include sampling error."""
    rows = _comparison_rows(frame)
    rows = row_selection.select_rows(rows, ~rows["noise"])
    names = row_selection.contestants(rows)
    usable = row_selection.usable_status_mask(rows)
    won, n = _points_and_appearances(row_selection.select_rows(rows, usable), names)
    _, absent = _points_and_appearances(row_selection.select_rows(rows, ~usable), names)
    return {
        name: _bounds_estimate(float(won[i]), int(n[i]), int(absent[i]))
        for i, name in enumerate(names)
    }


def _points_and_appearances(rows: pd.DataFrame, names: Sequence[str]) -> tuple[Floats, Ints]:
    """Return the points and the number of appearances of each contestant."""
    won, n = np.zeros(len(names)), np.zeros(len(names), np.int64)
    for start in range(0, len(rows), BLOCK_ROWS):
        _, who, points = appearance_points(rows.iloc[start : start + BLOCK_ROWS], names)
        won += np.bincount(who, points, minlength=len(names))
        n += np.bincount(who, minlength=len(names))
    return won, n


def _bounds_estimate(won: float, n: int, missing: int) -> Estimate:
    method = "bounds: all missing verdicts lost, or all won"
    note = f"{missing} of {n + missing} verdicts missing"
    low, high = won / (n + missing), (won + missing) / (n + missing)
    value = won / n if n else None
    return Estimate(value, low, high, n, 0, "share", 1.0, method, note)


def win_rate_measure(contestant: str) -> measures.Measure:
    """Define one contestant's win rate as a measure, so that it can enter contrasts."""

    def tally(grouped: measures.GroupedFrame) -> measures.MeasureTally:
        rows = row_selection.select_rows(grouped.picks, grouped.picks["options"] > 1)
        rows = row_selection.select_rows(rows, _distinct_contestants_mask(rows))
        names = row_selection.contestants(rows) if len(rows) else []
        row, who, points = appearance_points(rows, names)
        mine = who == names.index(contestant) if contestant in names else np.zeros(len(row), bool)
        return measures.build_tally(rows.iloc[row[mine]], points[mine], 1)

    return measures.Measure(f"win_rate:{contestant}", "share", tally)
