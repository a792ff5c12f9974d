"""Placement of errors among N options: the positions of wrong picks, and the same answer's pick
rate in neighbouring positions.

The share of picks in position k mixes accuracy and bias: it is a_k·t_k + E_k·(1 − a), with t_k the
share of comparisons whose right answer is in position k, a_k the accuracy on these, a the accuracy
on all, and E_k the share of wrong picks that go to position k.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import measures, row_selection
from metrics.estimation.intervals import (
    Floats,
    Ints,
    jackknife_estimate,
    paired_difference,
    proportion,
    safe_divide,
    sum_by_item,
    unknown_estimate,
)
from studies.domain import Estimate

MIN_WRONG: Final = 5
"""Least number of wrong picks for the shares of wrong picks by position."""
FEW_WRONG_NOTE: Final = f"fewer than {MIN_WRONG} wrong picks"
ONE_POSITION_NOTE: Final = "no answer was shown in both positions"

Json = dict[str, Any]


@dataclass(frozen=True)
class ErrorPlacement:
    """Where one judge's right and wrong picks among N options fall. Each list has an entry for each
    position, the first position first; `steps` has none for the last position."""

    picks: list[int]
    """Number of picks in each position, also where no right answer is known."""
    accuracy: list[Estimate]
    """Share of right picks where the right answer is in this position."""
    wrong: list[Estimate]
    """E_k: share of the wrong picks that go to this position."""
    excess: list[Estimate]
    """E_k minus the share expected if each wrong pick went to one of the N − 1 wrong positions
    with equal probability."""
    steps: list[Estimate]
    """Pick rate of an answer in this position minus that of the same answer in the next one."""


def error_placement(rows: pd.DataFrame, options: int) -> ErrorPlacement:
    """Estimate the placement of one judge's right and wrong picks among `options` options.

    Readable verdicts in a known order count, without calls repeated only to measure noise. A tie is
    no pick: it counts as a wrong verdict in the accuracy and in no position. Verdicts with several
    right answers count in `picks` and `steps` only."""
    rows = row_selection.select_known_order(row_selection.select_picks(rows))
    rows = row_selection.select_rows(rows, rows["options"] == options)
    pick, known_answer = (
        rows[name].to_numpy().astype(np.int64) for name in ("pick", "known_answer")
    )
    item = row_selection.item_codes(rows)
    known = known_answer >= 0
    missed = known & (pick >= 0) & (pick != known_answer)
    enough = int(missed.sum()) >= MIN_WRONG
    return ErrorPlacement(
        picks=np.bincount(pick[pick >= 0], minlength=options).tolist(),
        accuracy=[
            proportion(pick[known_answer == k] == k, item[known_answer == k])
            for k in range(options)
        ],
        wrong=[
            proportion(pick[missed] == k, item[missed])
            if enough
            else unknown_estimate(FEW_WRONG_NOTE, "share")
            for k in range(options)
        ],
        excess=[
            _excess_wrong_picks(pick[missed], known_answer[missed], item[missed], k, options)
            if enough
            else unknown_estimate(FEW_WRONG_NOTE, "share")
            for k in range(options)
        ],
        steps=_pick_rate_minus_next_position(rows, pick, item, options),
    )


def _excess_wrong_picks(
    pick: Ints, known_answer: Ints, item: Ints, position: int, options: int
) -> Estimate:
    """Share of wrong picks in a position minus the share expected if wrong picks were spread evenly
    over the wrong positions; `known_answer` is the position of each wrong pick's right answer."""
    expected = (known_answer != position) / (options - 1)
    values = np.stack([(pick == position) - expected, np.ones(len(pick))], axis=1)
    _, sums = sum_by_item(values, item)
    return jackknife_estimate(sums, measures.first_over_last, len(pick), "share", (-1.0, 1.0))


def _pick_rate_minus_next_position(
    rows: pd.DataFrame, pick: Ints, item: Ints, options: int
) -> list[Estimate]:
    """Estimate, for each position but the last, the pick rate of an answer there minus that of the
    same answer in the next position."""
    if not len(rows):
        return [unknown_estimate(ONE_POSITION_NOTE, "share")] * (options - 1)
    names = row_selection.contestants(rows)
    shown = row_selection.slot_contestants(rows, names)[:, :options]
    case, cases = row_selection.group_codes(rows, ("item", "comparison"))
    case_item = item[row_selection.first_row_per_group(case, cases)]
    answer = case[:, None] * len(names) + shown
    rates = [
        _pick_rates_by_answer(answer[:, k], (pick == k).astype(np.float64), cases * len(names))
        for k in range(options)
    ]
    steps = []
    for here, there in pairwise(rates):
        both = np.flatnonzero(np.isfinite(here) & np.isfinite(there))
        steps.append(
            paired_difference(here[both], there[both], case_item[both // len(names)])
            if len(both)
            else unknown_estimate(ONE_POSITION_NOTE, "share")
        )
    return steps


def _pick_rates_by_answer(answer: Ints, picked: Floats, size: int) -> Floats:
    """Share of the rows of each answer in which it is picked; nan without rows. `answer` is the
    code of the answer in each row, `picked` 1 if it is picked, else 0, `size` the number of
    codes."""
    return safe_divide(
        np.bincount(answer, picked, minlength=size), np.bincount(answer, minlength=size)
    )


def error_placement_section(frame: pd.DataFrame) -> Json:
    """Return judge -> prompt -> number of options -> placement of errors, for choices among more
    than two options."""
    many = row_selection.select_rows(frame, frame["options"] > 2)
    nested: Json = {}
    for judge, prompt in row_selection.observed_combinations(many, ("judge", "prompt")):
        own = (many["judge"] == judge) & (many["prompt"] == prompt)
        rows = row_selection.select_rows(many, own)
        for options in sorted(set(rows["options"].tolist())):
            found = error_placement(rows, int(options))
            if sum(found.picks):
                nested.setdefault(judge, {}).setdefault(prompt, {})[str(options)] = found
    return nested
