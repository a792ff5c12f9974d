"""Grade Score of a judge that chooses among N options, shown in all N rotations.

A trial is one rotation. The score of an item is the harmonic mean of two numbers: the entropy of
the slots picked over the trials, and the choice share (the share of trials in which the most
frequently chosen option was chosen).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation import intervals, prompt_kinds, row_selection
from metrics.estimation.entropy import entropy
from metrics.estimation.measures import CellKey, GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import Estimate
from studies.frames.frame import TIE

GradeRule = Literal["default", "gradelab"]

RANDOM_GRADE: Final[dict[int, float]] = {
    2: 0.500000,
    3: 0.579977,
    4: 0.570961,
    5: 0.539487,
    6: 0.505432,
    7: 0.473849,
    8: 0.445802,
    9: 0.421109,
    10: 0.3993,
}
"""Number of options N -> expected Grade Score of an item for a judge that chooses at random: exact
over all Nᴺ outcomes up to N = 9, simulated for N = 10."""

TRIAL_SET_KEY: Final = (*row_selection.COMPARISON_KEY, "repeat")
"""Columns that identify one set of trials: the rotations of one item, by one judge with one prompt,
in one repeat."""


def harmonic_mean(first: intervals.Floats, second: intervals.Floats) -> intervals.Floats:
    """Compute the harmonic mean; 0 where either value is 0."""
    return np.nan_to_num(2 * intervals.safe_divide(first * second, first + second))


def grade_table(frame: pd.DataFrame, rule: GradeRule = "default") -> pd.DataFrame:
    """Build a table with one row per set of trials (the rotations of an item's options, by one
    judge with one prompt, in one repeat): the set's first row of the frame, with the added columns
    grade (the item's Grade Score), entropy, choice (share), trials (number planned) and read
    (number with a readable choice).

    Only comparisons with all rotations planned (at least N orders) count. By default a set with an
    unread trial or a tie is left out; `attrs["left_out"]` is the number of such sets, and
    `attrs["left_out_items"]` has the ids of their items. With the rule "gradelab" (that of the
    authors' code) all sets count, and the entropy is divided by the log of the number of trials
    instead of N. ValueError for any other rule.
    """
    if rule not in ("default", "gradelab"):
        raise ValueError(f"No parsing rule named {rule!r}. Known: default, gradelab")
    rows = frame.loc[_rotated_mask(frame)]
    group, groups = row_selection.group_codes(rows, TRIAL_SET_KEY)
    first = row_selection.first_row_per_group(group, groups)
    table = rows.iloc[first].copy()
    read = row_selection.usable_status_mask(rows) & (rows["pick"] >= 0).to_numpy()
    options, trials = table["options"].to_numpy(), table["orders"].to_numpy()
    read_trials = np.bincount(group[read], minlength=groups)
    slots, choices = _slot_and_choice_counts(rows.loc[read], group[read], groups)
    bins = options if rule == "default" else trials
    table["entropy"] = np.nan_to_num(entropy(slots)) / np.log(
        np.maximum(bins, 2).astype(np.float64)
    )
    table["choice"] = np.nan_to_num(intervals.safe_divide(choices, read_trials))
    table["grade"] = harmonic_mean(table["entropy"].to_numpy(), table["choice"].to_numpy())
    table["trials"], table["read"] = trials, read_trials
    counted = read_trials >= trials if rule == "default" else np.ones(groups, bool)
    items = table.loc[~counted, "item"].astype(str).unique().tolist()
    table = table.loc[counted]
    table.attrs |= {"left_out": int(groups - counted.sum()), "left_out_items": items}
    return table


def _rotated_mask(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Mask of the rows of comparisons of N > 1 options planned in at least N orders. Left out are
    calls repeated only to measure noise, prompts that only score, and replies that only scored."""
    scored = row_selection.usable_status_mask(frame) & (frame["pick"] < TIE).to_numpy()
    scored |= prompt_kinds.scoring_mask(frame)
    enough = (frame["orders"] >= frame["options"]) & (frame["options"] > 1) & ~frame["noise"]
    return np.asarray(enough.to_numpy() & ~scored, np.bool_)


def _slot_and_choice_counts(
    rows: pd.DataFrame, group: intervals.Ints, groups: int
) -> tuple[intervals.Floats, intervals.Floats]:
    """Return, for each group of rows (a set of trials), the slot counts, and how often the most
    chosen option was chosen."""
    width = int(rows["options"].to_numpy().max(initial=1))
    pick = rows["pick"].to_numpy().astype(np.int64)
    slots = np.bincount(group * width + pick, minlength=groups * width).reshape(groups, width)
    names = row_selection.contestants(rows)
    option = row_selection.chosen_contestants(rows, names)
    votes, counts = np.unique(group * len(names) + option, return_counts=True)
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, votes // len(names), counts)
    return slots.astype(np.float64), most.astype(np.float64)


def estimate_grade_score_measures(
    frame: pd.DataFrame, rule: GradeRule = "default"
) -> dict[str, Estimate]:
    """Estimate the means of "grade", "entropy" and "choice" share, the grade corrected for chance
    ("corrected"), and, if N differs between items, the grade for each N ("grade_N"). All are means
    over the rows of `grade_table`, so an item counts once for each repeat; intervals are clustered
    by item.

    The corrected grade is Σ(G − g(N))/Σ(1 − g(N)) over these rows, with G a row's grade and g(N)
    the expected grade of random choices. Even corrected grades are not comparable between different
    N.
    """
    table = grade_table(frame, rule)
    item = row_selection.item_codes(table)
    sizes = sorted({int(n) for n in table["options"]})
    note = intervals.join_notes(
        rule if rule != "default" else "",
        f"sets of trials left out because a trial has no readable choice: {table.attrs['left_out']}"
        if table.attrs["left_out"]
        else "",
        f"N = {', '.join(map(str, sizes))}" if len(sizes) > 1 else "",
        "" if sizes else "no item has a readable choice in all its rotations",
    )
    parts = {
        name: intervals.mean_estimate(table[name], item, "score", (0, 1), note)
        for name in ("grade", "entropy", "choice")
    }
    parts["corrected"] = _chance_corrected_grade(table, item, note)
    if len(sizes) > 1:
        for n in sizes:
            of_size = (table["options"] == n).to_numpy()
            parts[f"grade_{n}"] = intervals.mean_estimate(
                table["grade"][of_size], item[of_size], "score", (0, 1)
            )
    return parts


def _chance_corrected_grade(table: pd.DataFrame, item: intervals.Ints, note: str) -> Estimate:
    """Estimate the grade corrected for chance, Σ(G − g(N))/Σ(1 − g(N)), from the rows of
    `grade_table` with exactly N trials and a known chance level g(N) (RANDOM_GRADE); no value
    without such rows."""
    usable = np.array(
        [
            n in RANDOM_GRADE and n == t
            for n, t in zip(table["options"], table["trials"], strict=True)
        ],
        bool,
    )
    if not usable.any():
        reason = (
            ""
            if len(table) == 0
            else "the chance level is known only for all N rotations of up to 10 options"
        )
        return intervals.unknown_estimate(intervals.join_notes(note, reason), "corrected score")
    counted = table.loc[usable]
    random = counted["options"].map(RANDOM_GRADE).to_numpy(np.float64)
    headroom = 1 - random
    gain = (counted["grade"].to_numpy() - random) / headroom.mean()
    lowest = -float(random.max() / headroom.mean())
    return intervals.mean_estimate(gain, item[usable], "corrected score", (lowest, 1), note)


def grade_estimates_by_cell(
    frame: pd.DataFrame, by: Sequence[str]
) -> dict[CellKey, dict[str, Estimate]]:
    evidence = GroupedFrame(frame, by)
    cell = evidence.frame["cell"].to_numpy()
    return {
        key: estimate_grade_score_measures(frame.loc[cell == k])
        for k, key in enumerate(evidence.cells)
    }


def grade_measure(part: Literal["grade", "entropy", "choice"] = "grade") -> Measure:
    """Define one part of the Grade Score as a measure, so that it can enter contrasts."""

    def tally(grouped: GroupedFrame) -> MeasureTally:
        table = grade_table(grouped.frame)
        return build_tally(table, table[part], 1)

    empty = "no item has a readable choice in all its rotations"
    return Measure(
        f"grade:{part}" if part != "grade" else "grade", "score", tally, "mean", (0, 1), empty
    )


# -- expected scores of canonical judges ---------------------------------------------------------


def rotated_options(n: int) -> intervals.Ints:
    """Return the options shown in each trial, such as [2,0,1], [1,2,0], [0,1,2] for n = 3."""
    return np.array([np.roll(np.arange(n), k) for k in range(1, n + 1)])


def simulated_slot_probabilities(
    n: int, *, last: float = 0.0, best: float | None = 1.0, first: float = 0.0
) -> intervals.Floats:
    """Return [trial, slot] probabilities of a simple simulated judge; option 0 is the best.

    The judge picks slot 0 with probability `first` and the last slot with probability `last`;
    otherwise it picks the best option with probability `best`, or one of the others with equal
    probability (`best=None`: all options with equal probability).
    """
    stands = rotated_options(n) == 0
    right = 1 / n if best is None else best
    rest = np.where(stands, right, (1 - right) / (n - 1))
    place = np.zeros(n)
    place[0] += first
    place[-1] += last
    return place + (1 - first - last) * rest


def expected_grade_scores(probabilities: intervals.Floats) -> dict[str, float]:
    """Compute the exact expected "grade", "entropy" and "choice" share of one item, for a judge
    that picks slots with these probabilities, [trial, slot]. "pooled" is the entropy of the slots
    picked over many items."""
    n = len(probabilities)
    outcomes = np.indices((n,) * n).reshape(n, -1)
    weight = np.prod([probabilities[k][outcomes[k]] for k in range(n)], axis=0)
    shown = rotated_options(n)
    options = np.stack([shown[k][outcomes[k]] for k in range(n)])
    evenness = entropy(_count_values(outcomes, n)) / math.log(n)
    choice = _count_values(options, n).max(axis=1) / n
    pooled = float(entropy(probabilities.sum(axis=0)) / math.log(n))
    return {
        "grade": float(weight @ harmonic_mean(evenness, choice)),
        "entropy": float(weight @ evenness),
        "choice": float(weight @ choice),
        "pooled": pooled,
    }


def _count_values(outcomes: intervals.Ints, n: int) -> intervals.Floats:
    """Count the values 0…n−1 in each column of `outcomes`: [column, value]."""
    return np.stack([(outcomes == value).sum(axis=0) for value in range(n)], axis=1).astype(float)
