"""Verdicts on pairs as arrays [judge and prompt, order, comparison], the input of every remedy.

A verdict is +1 for the contestant whose name sorts first, −1 for the other, 0 for a tie and nan if
no usable reply is stored. In order 0 the contestant whose name sorts first is shown first. A grid
is these arrays together with the known better answers (`OrderGrid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.estimation import graded_scores, integer_codes, row_selection
from metrics.estimation.intervals import Floats, Ints
from metrics.remedies.known_winners import (
    DESIGN,
    PEOPLE,
    WinnerSource,
    default_winner_source,
    known_winners,
    vote_shares,
)
from studies.domain import Rater
from studies.frames.frame import NO_PICK, SEP
from studies.lazy_values import cached_property

Singles = NDArray[np.float32]
Number = TypeVar("Number", np.float32, np.int32, np.int16)

COMPARISON: Final = ("item", "comparison")
MAX_REPEATS: Final = 9
"""Maximum number of calls in one order that are used, the first call included."""


@dataclass(frozen=True, eq=False)
class OrderGrid:
    """Stored verdicts of every rater (judge and prompt) on every comparison of two answers: 1 for
    the contestant whose name sorts first, −1 for the other, 0 for a tie, nan without a verdict.

    `verdicts` and `graded` (scores from −1 to 1) are [rater, order, comparison], `repeats` (all
    calls, the first included) [rater, order, repeat, comparison]; `graded` and `repeats` are None
    without graded replies or repeats. `known_winner` is +1 if the contestant whose name sorts first
    has the better answer, −1 if the other has it, 0 if unknown. `row` is the row number in the
    frame of one row of each comparison, `calls` [rater, order, comparison] that of each call behind
    `verdicts` (−1: none). `with_reference` has the prompts that show the judge a reference answer.
    """

    raters: tuple[Rater, ...]
    items: Ints
    row: Ints
    calls: NDArray[np.int32]
    known_winner: Floats
    source: WinnerSource
    verdicts: Singles
    graded: Singles | None
    labels: NDArray[np.int16]
    """Code of the labels of each call, [rater, order, comparison]; −1 without a call."""
    repeats: Singles | None
    votes: tuple[Floats, Floats] | None
    """Shares of people's votes for the contestant whose name sorts first, and for the other, by
    comparison; None if people did not vote."""
    with_reference: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Number of comparisons."""
        return len(self.items)

    @cached_property
    def item_codes(self) -> tuple[Ints, int]:
        """Dense code 0…n−1 of the item of each comparison, and the number of items n."""
        present, code = integer_codes.unique_codes(self.items)
        return code, len(present)

    def sum_by_item(self, values: Sequence[Floats]) -> Floats:
        """Sum each array over the comparisons of each item; returns [item, array]."""
        code, count = self.item_codes
        sums = [np.bincount(code, one, minlength=count) for one in values]
        return np.stack(sums, axis=1).astype(np.float64, copy=False)

    def select(self, keep: row_selection.Mask) -> OrderGrid:
        """Return the order grid with only the selected comparisons."""
        return replace(
            self,
            items=self.items[keep],
            row=self.row[keep],
            calls=self.calls[..., keep],
            known_winner=self.known_winner[keep],
            verdicts=self.verdicts[..., keep],
            graded=None if self.graded is None else self.graded[..., keep],
            labels=self.labels[..., keep],
            repeats=None if self.repeats is None else self.repeats[..., keep],
            votes=None if self.votes is None else (self.votes[0][keep], self.votes[1][keep]),
        )


def grid_without_verdicts(items: Ints, row: Ints) -> OrderGrid:
    """Return an OrderGrid with comparisons only, and no judges or verdicts, for choices among more
    than two options. `items` has the code of the item of each comparison, `row` the row number in
    the frame of one of its rows.

    Rules for such choices (ways to combine verdicts) bring their own decisions, in which the best
    option counts as the first contestant and any other option as the second. The known winner of
    each comparison is therefore +1."""
    n = len(items)
    return OrderGrid(
        (),
        items,
        row,
        np.full((0, 2, n), -1, np.int32),
        np.ones(n),
        DESIGN,
        np.zeros((0, 2, n), np.float32),
        None,
        np.zeros((0, 2, n), np.int16),
        None,
        None,
    )


@dataclass(frozen=True, eq=False)
class _PairRows:
    """Rows on pairs, with an entry for each row: `position`, its row number in the whole frame;
    `case`, the number of its comparison (of `cases`); `order`, 0 or 1; `people`, whether a person
    judged."""

    frame: pd.DataFrame
    position: Ints
    case: Ints
    cases: int
    order: Ints
    people: row_selection.Mask

    @property
    def order_sign(self) -> Floats:
        """Sign of the order in each row: +1 if the contestant whose name sorts first is shown
        first, else −1."""
        return np.asarray(1.0 - 2.0 * self.order, np.float64)


def build_order_grid(
    frame: pd.DataFrame, judges: Sequence[str] = (), source: WinnerSource | None = None
) -> OrderGrid:
    """Arrange a frame's verdicts on pairs as a grid, with the better answers and people's votes.

    `judges` gives the order of the judges (default: by name). `source` states whether the better
    answers are the recorded ones or people's majority (default: `default_winner_source`).
    """
    source = source or default_winner_source(frame)
    rows = _select_pair_rows(frame)
    signs = _verdict_signs(rows)
    judged = np.flatnonzero(~rows.people)
    raters, rater = _raters_and_row_indices(rows.frame, judged, judges)
    known_winner = known_winners(
        rows.case,
        rows.cases,
        signs,
        rows.people if source == PEOPLE else np.zeros_like(rows.people),
        _recorded_winners(rows, recorded=source == DESIGN or not rows.people.any()),
    )
    graded = _signed_graded_scores(rows)
    usable = row_selection.usable_status_mask(rows.frame) & ~(np.isnan(signs) & np.isnan(graded))
    signs = np.where(np.isnan(signs), np.sign(graded), signs)
    judged = judged[usable[judged]]
    where = (rater[judged], rows.order[judged], rows.case[judged])
    shape = (len(raters), 2, rows.cases)
    plain = ~rows.frame["noise"].to_numpy()[judged]
    return OrderGrid(
        raters,
        _first_value_per_comparison(row_selection.item_codes(rows.frame), rows),
        _first_value_per_comparison(rows.position, rows),
        _arrange_first_values(shape, where, rows.position[judged].astype(np.int32), plain, -1),
        known_winner,
        source,
        _arrange_first_values(shape, where, signs[judged].astype(np.float32), plain),
        _arrange_first_values(shape, where, graded[judged].astype(np.float32), plain)
        if np.isfinite(graded).any()
        else None,
        _first_call_label_codes(shape, where, rows.frame, judged, plain),
        _arrange_repeated_verdicts(shape, where, rows.frame, signs, judged, plain),
        vote_shares(rows.case, rows.cases, signs, rows.people) if rows.people.any() else None,
    )


def _select_pair_rows(frame: pd.DataFrame) -> _PairRows:
    """Select the rows that show two different answers: of judges, those in a recorded order; of a
    person's votes on a case, only the first with a verdict."""
    keep, order = pair_orders(frame)
    people = row_selection.people_mask(frame)
    keep &= ~people | (frame["pick"] != NO_PICK).to_numpy()
    if "orders" in frame:
        keep = keep & (people | (frame["orders"] != 0).to_numpy())
    position = np.flatnonzero(keep)
    rows = row_selection.select_rows(frame, keep)
    first = row_selection.keep_first_votes(rows.set_axis(pd.RangeIndex(len(rows))))
    if len(first) < len(rows):
        chosen = first.index.to_numpy()
        rows, position = rows.iloc[chosen], position[chosen]
    case, cases = row_selection.group_codes(rows, COMPARISON)
    return _PairRows(rows, position, case, cases, order[position], people[position])


def pair_orders(frame: pd.DataFrame) -> tuple[row_selection.Mask, Ints]:
    """Return a mask of the rows that show two different answers, and the order of each row: 0 if
    the contestant whose name sorts first is shown first, else 1."""
    shown = frame["shown"].astype("category").cat
    parts = [str(name).split(SEP) for name in shown.categories]
    codes = shown.codes.to_numpy()
    if not parts:
        return np.zeros(len(frame), bool), np.zeros(len(frame), np.int64)
    pair = np.array([len(part) == 2 and part[0] != part[1] for part in parts], bool)
    turned = np.array([part != sorted(part) for part in parts], np.int64)
    return pair[codes], turned[codes]


def _verdict_signs(rows: _PairRows) -> Floats:
    """Verdict of each row: +1 for the contestant whose name sorts first, −1 for the other, 0 for a
    tie, nan if unusable."""
    pick = rows.frame["pick"].to_numpy()
    usable = row_selection.usable_status_mask(rows.frame) & (pick != NO_PICK)
    slot = np.where(pick == 0, 1.0, np.where(pick == 1, -1.0, 0.0))
    return np.where(usable, slot * rows.order_sign, np.nan)


def _recorded_winners(rows: _PairRows, *, recorded: bool) -> Floats:
    """Recorded better answer in each judge's row: +1 the contestant whose name sorts first, −1 the
    other, 0 if none is recorded. 0 in people's rows, and in all rows unless `recorded`."""
    known_winner = rows.frame["known_answer"].to_numpy()
    slot = np.where(known_winner == 0, 1.0, np.where(known_winner == 1, -1.0, 0.0))
    return np.where(recorded & ~rows.people, slot * rows.order_sign, 0.0)


def _signed_graded_scores(rows: _PairRows) -> Floats:
    """Graded score of each row, positive for the contestant whose name sorts first; nan without a
    graded reply."""
    return graded_scores.graded_preference_for_first_slot(rows.frame) * rows.order_sign


def _raters_and_row_indices(
    frame: pd.DataFrame, judged: Ints, judges: Sequence[str]
) -> tuple[tuple[Rater, ...], Ints]:
    """Return all (judge, prompt) in the rows `judged` (row numbers), in the order of `judges`, then
    by name; and for each row of the frame the index of its (judge, prompt). A judge not in `judges`
    comes last; the index of a row whose (judge, prompt) is not in `judged` has no meaning."""
    judge, prompt = (frame[name].astype("category").cat for name in ("judge", "prompt"))
    width = max(len(prompt.categories), 1)
    key = judge.codes.to_numpy().astype(np.int64) * width + prompt.codes.to_numpy()
    present = np.unique(key[judged])
    rank = {name: place for place, name in enumerate(judges)}
    named = [
        (str(judge.categories[k // width]), str(prompt.categories[k % width])) for k in present
    ]
    order = sorted(range(len(named)), key=lambda k: (rank.get(named[k][0], len(rank)), named[k]))
    table = np.zeros(max(len(judge.categories), 1) * width, np.int64)
    table[present[order]] = np.arange(len(order))
    return tuple(named[k] for k in order), table[key]


def _first_value_per_comparison(values: Ints, rows: _PairRows) -> Ints:
    return values[row_selection.first_row_per_group(rows.case, rows.cases)]


Places = tuple[Ints, Ints, Ints]
"""(rater, order, comparison) of each row."""


def _arrange_first_values(
    shape: tuple[int, int, int],
    where: Places,
    values: NDArray[Number],
    keep: row_selection.Mask,
    missing: float = np.nan,
) -> NDArray[Number]:
    """Return an array of this shape with the first value of each (rater, order, comparison), from
    the rows that `keep` selects; `missing` where there is none."""
    grid = np.full(shape, missing, values.dtype)
    backwards = np.flatnonzero(keep)[::-1]
    grid[tuple(part[backwards] for part in where)] = values[backwards]
    return grid


def _first_call_label_codes(
    shape: tuple[int, int, int],
    where: Places,
    frame: pd.DataFrame,
    judged: Ints,
    keep: row_selection.Mask,
) -> NDArray[np.int16]:
    """Code of the labels of the first call, [rater, order, comparison]; −1 without a call. `judged`
    are the numbers of the judged rows in `frame`, `where` are their places; `keep` selects rows
    among them."""
    codes = frame["labels"].astype("category").cat.codes.to_numpy()[judged]
    return _arrange_first_values(shape, where, codes.astype(np.int16), keep, -1)


def _arrange_repeated_verdicts(
    shape: tuple[int, int, int],
    where: Places,
    frame: pd.DataFrame,
    signs: Floats,
    judged: Ints,
    first_calls: row_selection.Mask,
) -> Singles | None:
    """Arrange all verdicts, those of first calls included, as [rater, order, repeat, comparison];
    None if no call was repeated. `judged` are the numbers of the judged rows in `frame`, `where`
    are their places; `signs` has the verdict of every row of `frame`.

    Calls repeated only to measure noise are included. Calls with other labels (such as A and B
    exchanged) are different calls, so only calls with the same labels as the first call count."""
    labels = _first_call_label_codes(shape, where, frame, judged, first_calls)
    mine = frame["labels"].astype("category").cat.codes.to_numpy()[judged]
    same = labels[where] == mine
    key = (where[0] * 2 + where[1]) * shape[2] + where[2]
    key, rows = key[same], judged[same]
    code, count = integer_codes.codes_by_appearance(key, int(np.prod(shape)))
    if count == len(key):
        return None
    place = _count_earlier_in_group(code.astype(np.int64), count)
    deep = min(int(place.max()) + 1, MAX_REPEATS)
    kept = place < deep
    grid = np.full((shape[0], 2, deep, shape[2]), np.nan, np.float32)
    rater, order, case = (part[same][kept] for part in where)
    grid[rater, order, place[kept], case] = signs[rows][kept]
    return grid


def _count_earlier_in_group(code: Ints, count: int) -> Ints:
    """Number of earlier rows of the same group, for each row."""
    order = np.argsort(code, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=count))[:-1]])
    place = np.empty(len(code), np.int64)
    place[order] = np.arange(len(code)) - starts[code[order]]
    return place
