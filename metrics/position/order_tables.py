"""3 × 3 tables (win, tie, loss in one order by the same in the other) of pairs judged in both
orders, for each judge and prompt or other group: flips (verdicts that change with the order), their
direction, and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from metrics.estimation import integer_codes, prompt_kinds, row_selection
from metrics.estimation.intervals import Ints
from metrics.estimation.measures import CellKey, GroupedFrame
from metrics.position.order_tests import (
    OrderTest,
    bowker_test,
    item_sign_test,
    mcnemar_test,
    sign_test,
    stuart_maxwell_test,
)
from studies.frames.frame import TIE

NO_PAIRS_NOTE = "no pair has a verdict in both orders"
_READ_COLUMNS = (
    *row_selection.ORDER_KEY,
    "options",
    "orders",
    "status",
    "noise",
    "pick",
    "first",
    "second",
)
"""Columns of the frame from which an order table is built."""


@dataclass(frozen=True, eq=False)
class OrderTable:
    """Number of pairs for each combination of outcomes in the two orders, as a 3 × 3 table.

    x and y are the two contestants of a pair, in alphabetical order. `counts[i, j]` is the number
    of pairs with outcome i when x was shown first and outcome j when y was; outcome 0 is a win of
    x, 1 a tie, 2 a win of y. So `counts[0, 2]` are the pairs in which the first slot was picked
    twice.
    """

    counts: Ints
    leans: Ints | None = None
    """For each item, flips toward first minus flips toward second; None if every pair belongs to a
    different item."""
    incomplete: Ints | None = None
    """For each item (as in `leans`), the number of pairs that lack a verdict in at least one order;
    None stands for zeros."""

    @property
    def flip_balance_by_item(self) -> Ints:
        """For each item, the number of flips toward the first slot minus the number toward the
        second. If `leans` is None, every pair is of a different item, and each flip has an entry +1
        or −1."""
        if self.leans is not None:
            return self.leans
        return np.repeat([1, -1], [self.toward_first, self.toward_second]).astype(np.int64)

    @property
    def incomplete_by_item(self) -> Ints:
        """Number of pairs that lack a verdict in at least one order, for each entry of
        `flip_balance_by_item`."""
        if self.incomplete is not None:
            return self.incomplete
        return np.zeros(len(self.flip_balance_by_item), np.int64)

    @property
    def incomplete_pairs(self) -> int:
        """Number of pairs that lack a verdict in at least one order."""
        return int(self.incomplete_by_item.sum())

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    @property
    def flips(self) -> int:
        return self.pairs - int(np.trace(self.counts))

    @property
    def first_slot_twice(self) -> int:
        return int(self.counts[0, 2])

    @property
    def second_slot_twice(self) -> int:
        return int(self.counts[2, 0])

    @property
    def toward_first(self) -> int:
        """Number of flips toward the answer shown first. Soft flips (a win in one order, a tie in
        the other) are included."""
        return int(self.counts[0, 2] + self.counts[0, 1] + self.counts[1, 2])

    @property
    def toward_second(self) -> int:
        return int(self.counts[2, 0] + self.counts[2, 1] + self.counts[1, 0])

    def __add__(self, other: OrderTable) -> OrderTable:
        """Add two tables that have no items in common, such as those of two categories."""
        leans = np.concatenate([self.flip_balance_by_item, other.flip_balance_by_item])
        incomplete = np.concatenate([self.incomplete_by_item, other.incomplete_by_item])
        return OrderTable(self.counts + other.counts, leans, incomplete)

    def worst_case_test(self) -> OrderTest:
        """Sign test by items, as if every incomplete pair had flipped against the observed
        direction.

        Replies may be missing because of the slot they would have picked. A preference that is
        significant in this worst case does not depend on the reason. p is 1 if the worst case
        cancels or reverses the preference.
        """
        leans, sign = self.flip_balance_by_item, int(np.sign(self.flip_balance_by_item.sum()))
        worst = leans - sign * self.incomplete_by_item
        if sign * int(worst.sum()) <= 0:
            return OrderTest("items, worst case", float(worst.sum()), 1.0, None, len(worst))
        return item_sign_test(worst)

    def run_tests(self) -> dict[str, OrderTest]:
        """Run the sign test by items and, by pairs, sign, McNemar, Stuart–Maxwell, Bowker and
        permutation tests. p is None without pairs."""
        if not self.pairs:
            names = ("items", "sign", "mcnemar", "stuart_maxwell", "bowker", "permutation")
            return {name: OrderTest(name, None, None, None, 0, NO_PAIRS_NOTE) for name in names}
        return {
            "items": item_sign_test(self.flip_balance_by_item),
            "sign": sign_test(self.toward_first, self.toward_second),
            "mcnemar": mcnemar_test(self.toward_first, self.toward_second),
            "stuart_maxwell": stuart_maxwell_test(self.counts),
            "bowker": bowker_test(self.counts),
            "permutation": self.permutation_test(),
        }

    def permutation_test(self) -> OrderTest:
        """Exact permutation test for pairs, in closed form. If only content matters, the two
        choices on a pair could as well have been made in the opposite orders.

        Exchanging them reverses the sign of the pair's difference (picks of the first slot − picks
        of the second). So the sum of the differences is compared with sums of the same differences
        under random signs: ±2 for a slot picked twice, ±1 where one verdict is a tie."""
        hard = self.first_slot_twice + self.second_slot_twice
        soft = self.flips - hard
        lean = 2 * (self.first_slot_twice - self.second_slot_twice)
        lean += (self.toward_first - self.first_slot_twice) - (
            self.toward_second - self.second_slot_twice
        )
        decisive = 2 * self.pairs - 2 * int(self.counts[1, 1]) - soft
        if not decisive:
            return OrderTest("permutation", 0.0, 1.0, None, self.pairs, "only ties")
        p = _two_sided_p_of_random_flip_signs(hard, soft, abs(lean))
        return OrderTest("permutation", lean * lean / decisive, p, None, self.pairs, "exact")


def _two_sided_p_of_random_flip_signs(hard: int, soft: int, lean: int) -> float:
    """Probability of |2·H + S| ≥ `lean`, with H the sum of `hard` and S that of `soft` random signs
    (±1)."""
    if lean == 0:
        return 1.0
    k = np.arange(soft + 1)
    weight = stats.binom.pmf(k, soft, 0.5)
    sums = 2 * k - soft
    # P(2·(2B − hard) ≥ lean − sum) with B ~ Bin(hard, ½); the lower tail is equally likely.
    least = np.ceil((lean - sums) / 4 + hard / 2 - 1e-9)
    upper = stats.binom.sf(least - 1, hard, 0.5)
    return float(min(1.0, 2 * (weight * upper).sum()))


def build_order_tables(frame: pd.DataFrame, by: Sequence[str]) -> dict[CellKey, OrderTable]:
    """Return cell (combination of values in the columns `by`) -> order table, from pairs planned
    and read in exactly two orders. Repeats count by their most frequent verdict."""
    evidence = GroupedFrame(
        frame[
            [
                *dict.fromkeys(
                    row_selection.columns_with_person_and_question(frame, (*by, *_READ_COLUMNS))
                )
            ]
        ],
        by,
    )
    rows = row_selection.modal_verdicts(evidence.complete_picks)
    rows = row_selection.select_rows(rows, (rows["options"] == 2) & (rows["orders"] == 2))
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    swapped = _reverse_alphabetical_order_mask(rows)
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 1, np.where((pick == 0) ^ swapped, 0, 2))
    outcomes = np.zeros((2, count), np.int64)
    outcomes[swapped.astype(np.int64), comparison] = outcome
    cell = rows["cell"].to_numpy()[row_selection.first_row_per_group(comparison, count)]
    flat = np.bincount(cell * 9 + outcomes[0] * 3 + outcomes[1], minlength=evidence.count * 9)
    tables = flat.reshape(evidence.count, 3, 3).astype(np.int64)
    first = rows.iloc[row_selection.first_row_per_group(comparison, count)]
    direction = np.sign(outcomes[1] - outcomes[0])
    leans, incomplete = _balances_and_incomplete(evidence.frame, first, direction, evidence.count)
    cells = evidence.cells if len(frame) else []
    return {
        key: OrderTable(tables[code], leans[code], incomplete[code])
        for code, key in enumerate(cells)
    }


def _balances_and_incomplete(
    frame: pd.DataFrame, pairs: pd.DataFrame, direction: Ints, cells: int
) -> tuple[list[Ints], list[Ints]]:
    """Return two lists with an array for each cell, by item: flips toward the first slot minus
    flips toward the second, and number of incomplete pairs.

    `pairs` has one row per complete pair; `direction` is +1 for a flip toward the first slot, −1
    toward the second, 0 for no flip.
    """
    asked = (frame["options"] == 2) & (frame["orders"] == 2) & ~prompt_kinds.scoring_mask(frame)
    planned = row_selection.select_rows(frame, asked & ~frame["noise"])
    comparison, count = row_selection.group_codes(planned, row_selection.COMPARISON_KEY)
    planned = planned.iloc[row_selection.first_row_per_group(comparison, count)]
    item, items = row_selection.column_codes(row_selection.resampling_unit(planned))
    key = planned["cell"].to_numpy().astype(np.int64) * items + item
    present, code = integer_codes.unique_codes(key)
    read_item, _ = row_selection.column_codes(row_selection.resampling_unit(pairs))
    place = np.searchsorted(present, pairs["cell"].to_numpy().astype(np.int64) * items + read_item)
    lean = np.bincount(place, direction, minlength=len(present))
    read = np.bincount(place, minlength=len(present))
    incomplete = np.bincount(code, minlength=len(present)) - read
    edges = np.searchsorted(present, np.arange(1, cells) * items)
    return (
        list(np.split(np.rint(lean).astype(np.int64), edges)),
        list(np.split(incomplete.astype(np.int64), edges)),
    )


def _reverse_alphabetical_order_mask(rows: pd.DataFrame) -> row_selection.Mask:
    """Mask of the rows whose first contestant sorts after the second; compared by category codes
    for speed."""
    sides = [rows[name].astype("category").cat for name in ("first", "second")]
    names = sorted({str(name) for side in sides for name in side.categories})
    place = {name: code for code, name in enumerate(names)}
    ranks = [np.array([place[str(name)] for name in side.categories], np.int64) for side in sides]
    first, second = (
        rank[side.codes.to_numpy()] if len(rank) else np.zeros(0, np.int64)
        for rank, side in zip(ranks, sides, strict=True)
    )
    return np.asarray(first > second, np.bool_)


def pool_order_tables(tables: Mapping[CellKey, OrderTable], keys: Iterable[CellKey]) -> OrderTable:
    """Add up the order tables of the given cells; an item in several cells counts as several
    items."""
    return sum((tables[key] for key in keys), OrderTable(np.zeros((3, 3), np.int64)))
