"""Direction of the flips (verdicts that change with the order) of each judge and prompt (its lean),
with a sign test by item; p-values are adjusted over all rows that a reader can select."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from components.filtering.filters import ALL_CHOICE
from components.html.format import MIN_COLOURED_ITEMS, share, spaced_ci
from components.results.bias.computed import CELL_COLUMNS, Bias
from metrics.estimation.measures import CellKey
from metrics.estimation.multiple_comparisons import holm_adjust, simultaneous_interval
from metrics.position.order_tables import OrderTable
from metrics.position.order_tests import item_sign_test, sign_test
from studies.domain import Estimate

SIGNIFICANCE_LEVEL: Final = 0.05
"""A preference is reported if its p-value is below this level. The p-value is adjusted for all
judges, prompts, categories and models that a reader can select."""
MOST_FLIPS: Final = 2 / 3
"""The words “most flips go” need this share of the flips, as on report cards."""
NEARLY_ALL: Final = 0.9
"""Share of the flips in one direction from which no sentence says that the flips may be noise."""
MOST: Final = 0.5
LABEL_PULL: Final = 0.25
"""Most verdicts are said to be for a label only if its share is at least this far from ½."""
LeanTest = Callable[[OrderTable], float | None]
"""p-value of a sign test for a preferred position, from the table of the pairs in both orders."""


@dataclass(frozen=True, slots=True)
class LeaningCategory:
    """A category in which a judge significantly prefers one position: `direction` is "first" or
    "second"."""

    category: str
    direction: str


@dataclass(frozen=True, slots=True)
class FlipLean:
    """Direction of the flips of one judge and prompt (its lean): numbers of pairs judged in both
    orders, of flips, and of flips toward the first and the second position; adjusted p-value `p` of
    a sign test by items."""

    name: str
    judge: str
    prompt: str
    pairs: int
    flips: int
    first: int
    second: int
    p: float
    entropy: float | None = None
    leaning_categories: tuple[LeaningCategory, ...] = ()
    noise: float | None = None
    """Noise floor: share of verdicts that change on a repeat in the same order; None if unknown."""
    order_effect: Estimate | None = None
    """Disagreement between orders minus that of repeats in the same order; None without repeats."""
    lean: Estimate | None = None
    """Share of pairs that flip toward the second position minus share toward the first (recency −
    primacy), with its interval; None with more than two options."""
    missing: int = 0
    """Number of pairs that lack a usable verdict in at least one of the two orders."""
    worst_p: float | None = None
    """p-value if all missing pairs had flipped against the lean; None if no pairs are missing."""
    consistency: Estimate | None = None
    """Share of pairs that do not flip, with its interval; None if unknown."""
    least_p: float = 0.0
    """Smallest adjusted p-value possible with this number of items: if all flips go one way."""
    label: str = ""
    """The label that gets at least three quarters of the verdicts, if its share differs from ½
    significantly, and by more than the share of the first position; "" for none. `label_text` adds
    its share: “B” (81 % [77, 84])."""
    label_text: str = ""

    @property
    def direction(self) -> str:
        return "first" if self.first > self.second else "second"

    @property
    def is_significant(self) -> bool:
        """Whether the preference is significant even in the worst case, in which all pairs that
        lack a verdict had flipped against it."""
        return max(self.p, self.worst_p or 0.0) < SIGNIFICANCE_LEVEL

    @property
    def hinges_on_missing_verdicts(self) -> bool:
        """Whether the preference is significant in the pairs with usable verdicts, but no longer if
        all pairs with missing verdicts had flipped the other way."""
        return self.p < SIGNIFICANCE_LEVEL and not self.is_significant

    @property
    def has_too_few_items(self) -> bool:
        """Whether no preference could be significant, even if all pairs had flipped one way."""
        return min(self.p, self.least_p) >= SIGNIFICANCE_LEVEL

    @property
    def flips_one_way(self) -> bool:
        """Whether at least 90 % of the flips go toward the same position, and significantly more
        than toward the other (sign test, not adjusted). Flips caused by noise would go toward
        both positions equally often."""
        p = sign_test(self.first, self.second).p or 0.0
        most = max(self.first, self.second)
        return most >= NEARLY_ALL * self.flips > 0 and p < SIGNIFICANCE_LEVEL

    @property
    def flips_most_pairs(self) -> bool:
        return self.flips > self.pairs / 2

    @property
    def order_decides_most_pairs(self) -> bool:
        """Whether the order decides the verdict on most pairs. False if most verdicts are for one
        label (`label`), which causes flips too.

        With repeats, the whole interval of the order effect must be above ½. Without them,
        the preference for a position must be significant, with the whole interval of `lean`
        above ½ or below −½, because flips caused by noise go both ways."""
        effect, lean = self.order_effect, self.lean
        if self.label:
            return False
        if effect is not None and effect.low is not None:
            return effect.low > MOST
        if lean is None or lean.low is None or lean.high is None:
            return False
        return self.is_significant and (lean.low > MOST or lean.high < -MOST)

    @property
    def may_be_noise(self) -> bool:
        """Whether the flips could all be noise. True if significantly more than half of the pairs
        flip, no repeats show how much noise there is, and nothing else explains the flips: not
        a favoured label, nearly all flips toward one position, or `order_decides_most_pairs`."""
        same = self.consistency
        surely_most = same is not None and same.high is not None and same.high < 1 - MOST
        if not surely_most or self.noise is not None or self.label:
            return False
        return not self.flips_one_way and not self.order_decides_most_pairs


def differs_from_half(share: Estimate) -> bool:
    return (share.low or 0.0) > 0.5 or (1.0 if share.high is None else share.high) < 0.5


def _favoured_label(bias: Bias, row: CellKey) -> tuple[str, str]:
    """The label (such as "A") that gets at least three quarters of the verdicts, and a text with
    its share (the mean over both ways to label the answers); two empty texts for none, and for more
    than two options. The share must be significantly different from ½, with the interval widened
    for all judges and prompts, and further from ½ than the share of the first position. Report
    cards use the same rule."""
    if bias.max_options != 2:
        return "", ""
    slot, label = bias.by_rater("slot")[row], bias.by_rater("label")[row]
    if slot.value is None or label.value is None:
        return "", ""
    pull = abs(label.value - 0.5)
    sure = differs_from_half(simultaneous_interval(label, bias.bonferroni_factor))
    if pull < LABEL_PULL or pull <= abs(slot.value - 0.5) or not sure:
        return "", ""
    name = bias.labels(row)[0 if label.value > 0.5 else -1]
    low, high = sorted(abs((label.value < 0.5) - (end or 0.0)) for end in (label.low, label.high))
    return (
        name,
        f"“{name}” ({share(0.5 + pull, 0)}{spaced_ci(Estimate(None, low, high), 0, scale=100)})",
    )


def flip_leans(bias: Bias) -> list[FlipLean]:
    """Flips and their direction, one entry for each judge and prompt that the filter selects. The
    p-values are adjusted by Holm's method for all judges and prompts, also hidden ones."""
    return bias.memoise("leans", lambda: _compute_leans(bias))


def _compute_leans(bias: Bias) -> list[FlipLean]:
    tables = {row: bias.pooled_order_table(row) for row in bias.names}
    adjusted, worst, least = (
        _adjusted_row_p_values(bias, test) for test in (_sign_test_p, _worst_p, _smallest_p)
    )
    entropy, noise = bias.by_rater("entropy"), bias.by_rater("noise_floor")
    effect, same = bias.by_rater("order_effect"), bias.by_rater("consistency")
    lean = bias.by_rater("fairness") if bias.max_options == 2 else {}
    return [
        FlipLean(
            bias.names[row[0], row[1]],
            row[0],
            row[1],
            table.pairs,
            table.flips,
            table.toward_first,
            table.toward_second,
            adjusted.get(row, 1.0),
            entropy[row].value if row in entropy else None,
            _leaning_categories(bias, row),
            noise[row].value if row in noise else None,
            effect[row] if row in effect and effect[row].value is not None else None,
            lean.get(row),
            table.incomplete_pairs,
            worst.get(row, 1.0) if table.incomplete_pairs else None,
            same.get(row),
            least.get(row, 1.0),
            *_favoured_label(bias, row),
        )
        for row, table in tables.items()
    ]


def _sign_test_p(table: OrderTable) -> float | None:
    """p-value of the sign test by items, from the pairs with verdicts in both orders."""
    return item_sign_test(table.flip_balance_by_item).p


def _worst_p(table: OrderTable) -> float | None:
    """p-value of the sign test in the worst case: each pair that lacks a verdict counts as a flip
    against the preferred position."""
    return table.worst_case_test().p


def _smallest_p(table: OrderTable) -> float:
    """Smallest p-value that the sign test can have with this number of items, reached if all flips
    go the same way."""
    return item_sign_test(np.ones(len(table.flip_balance_by_item), np.int64)).p or 0.0


def _adjusted_row_p_values(bias: Bias, test: LeanTest) -> dict[CellKey, float]:
    """(judge, prompt) -> p-value of `test`, adjusted for all judges and prompts and, if the
    filter selects a category, for all categories. With a filter on category, it is the p-value in
    the selected category."""
    category = bias.filter.category
    if category != ALL_CHOICE:
        found = _adjusted_category_p_values(bias, test)
        return {cell[:2]: p for cell, p in found.items() if cell[2] == category}
    rows = list(bias.of_all_raters.names)
    pooled = [bias.of_all_raters.pooled_order_table(row) for row in rows]
    return _adjust_lean_p_values(rows, pooled, bias, False, test)


def _adjusted_category_p_values(bias: Bias, test: LeanTest) -> dict[CellKey, float]:
    """(judge, prompt, category) -> p-value of `test`, adjusted for all of these. Only those with
    at least MIN_COLOURED_ITEMS items are tested."""

    def compute_p_values() -> dict[CellKey, float]:
        items = bias.counts.cells.by_cell("consistency", CELL_COLUMNS)
        tables = {
            cell: table
            for cell, table in bias.counts.tables.items()
            if cell in items and items[cell].items >= MIN_COLOURED_ITEMS
        }
        return _adjust_lean_p_values(list(tables), list(tables.values()), bias, True, test)

    return bias.counts.memoise(("category p", test), compute_p_values)


def _adjust_lean_p_values(
    cells: Sequence[CellKey],
    tables: Sequence[OrderTable],
    bias: Bias,
    in_category: bool,
    test: LeanTest,
) -> dict[CellKey, float]:
    """Cell -> adjusted p-value of `test`, which asks whether more items flip toward one position
    than toward the other. `tables` has the verdicts of each of the `cells`; cells without pairs
    are left out.

    The adjustment is Holm's, over all cells and, if the filter selects models, over all
    sets of as many models. The result is then divided by the part of the error rate of 5 %
    that is available for these tests; this part is smaller if the cells are single categories
    (`in_category`)."""
    raw = [test(table) if table.pairs else None for table in tables]
    known = sum(p is not None for p in raw)
    share_of_error = bias.type_1_error_share_for(in_category)
    adjusted = holm_adjust(raw, known * bias.counts.model_sets, share_of_error)
    return {cell: p for cell, p in zip(cells, adjusted, strict=True) if p is not None}


def _leaning_categories(bias: Bias, row: CellKey) -> tuple[LeaningCategory, ...]:
    """Categories in which this judge and prompt significantly prefer a position; empty with one
    category only. A judge may prefer a position in some categories and none overall, because
    opposite preferences in two categories cancel."""
    if len(bias.category_sizes) < 2:
        return ()
    fairness, adjusted = bias.recency_minus_primacy, _adjusted_category_p_values(bias, _worst_p)
    found = []
    for cell in bias.order_tables_by_cell:
        one = fairness.get(cell)
        if cell[:2] != row or not cell[2] or one is None or one.low is None or one.high is None:
            continue
        if adjusted.get(cell, 1.0) < SIGNIFICANCE_LEVEL and one.low * one.high > 0:
            found.append(LeaningCategory(cell[2], "second" if one.low > 0 else "first"))
    return tuple(found)
