"""Counts for the bias panels, made once per version of a study; a filter selects among them.

A flip is a comparison whose verdict changes with the order of the answers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import pandas as pd

from components.filtering import filters
from components.filtering.filtered_study import FilteredStudy
from metrics.catalogue import records
from metrics.catalogue.answer_records import UNUSABLE
from metrics.catalogue.option_records import GRADE_ENTROPY
from metrics.catalogue.position_records import LABEL, SLOT, TERM
from metrics.estimation import row_selection
from metrics.estimation.measure_cube import MeasureCube
from metrics.estimation.measures import CellKey, GroupedFrame, Measure, MeasureTally, build_tally
from metrics.estimation.multiple_comparisons import UNFILTERED_ERROR_SHARE, holm_adjust
from metrics.estimation.prompt_kinds import scoring_mask
from metrics.position import position_measures
from metrics.position.order_tables import OrderTable, build_order_tables, pool_order_tables
from studies.domain import Estimate
from studies.lazy_values import cached_property

Memoised = TypeVar("Memoised")

ROW_COLUMNS: Final = ("judge", "prompt")
CELL_COLUMNS: Final = (*ROW_COLUMNS, "category")
ERROR_SHARES: Final = {
    (False, False): UNFILTERED_ERROR_SHARE,
    (True, False): 0.1,
    (False, True): 0.1,
    (True, True): 0.01,
}
"""(whether the filter selects a category, whether it selects models) -> part of the error rate of
5 % that is spent on tests under such filters. The parts add up to 1: of studies without a position
preference, at most 5 % have a significant one under any of the filters that a reader may try."""


def slot_share_measure(slot: int, options: int) -> Measure:
    """Build the measure "share of decisive verdicts for the position `slot`" (0 is the first),
    among comparisons of `options` answers. Only comparisons judged in all orders count, except in
    cells (such as one judge with one prompt) that were judged in one order only, where all count.
    """

    def tally(evidence: GroupedFrame) -> MeasureTally:
        rows = evidence.picks_for_position_measures
        rows = row_selection.select_rows(rows, (rows["options"] == options) & (rows["pick"] >= 0))
        return build_tally(rows, rows["pick"] == slot, 1)

    empty = position_measures.NO_SETS_NOTE
    return Measure(
        f"slot {slot}", "share", tally, empty=empty, notes_one_order=True, prefers_order_sets=True
    )


def _bias_measures(options: int) -> list[Measure]:
    """Measures that BiasCounts counts, for comparisons of up to `options` answers: the measures
    of position bias and of the matrix, the share of unusable replies, and the share of each
    position.

    For pairs, the shares of the first position and of the first label are added, which are
    known if each label was used in both positions. For more options, the entropy part of the
    Grade Score is added. The position term is left out, because it is fitted when it is shown."""
    shown = [
        *records.position_measure_records(),
        *records.records_listed_by("matrix", options),
        UNUSABLE,
    ]
    shown += [SLOT, LABEL] if options == 2 else [GRADE_ENTROPY]
    found = {one.key: one.estimator for one in shown if one.key != TERM.key}
    return [*found.values(), *(slot_share_measure(slot, options) for slot in range(options))]


class Memo:
    """Base class with a cache: a result is computed once per key, because several panels use the
    same numbers."""

    _memo: dict[Any, Any]

    def memoise(self, key: Any, make: Callable[[], Memoised]) -> Memoised:
        """Return the stored result for `key`; the first time, compute it with `make` and store
        it. The key must name everything that the result depends on."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]  # type: ignore[no-any-return]


class BiasCounts(Memo):
    """Counts of the model judges' verdicts (people's votes, if there is no model judge) by judge,
    prompt and category."""

    def __init__(self, frame: pd.DataFrame, model_sets: int = 1) -> None:
        """Count the verdicts of a frame. `model_sets`: number of sets of models that a reader
        could have selected in the filter instead of this one (1 without such a filter);
        p-values are adjusted for that many tests."""
        rows = filters.judge_rows_or_people_rows(frame)
        self.model_sets = model_sets
        counts = sorted({int(n) for n in rows["options"].unique()}) or [2]
        self.numbers_of_options, self.max_options = [n for n in counts if n > 1] or [2], counts[-1]
        self.orders = int(rows["orders"].max()) if len(rows) else 0
        measures = _bias_measures(self.max_options)
        self.cells = MeasureCube(rows, CELL_COLUMNS, measures)
        self.rows = self.cells.with_coarser_cells(rows, ROW_COLUMNS)
        self.tables = build_order_tables(row_selection.select_pairs(rows), CELL_COLUMNS)
        self.labels = _labels_by_rater(rows)
        self.choosers = set(row_selection.observed_combinations(choice_rows(rows), ROW_COLUMNS))
        self._memo: dict[Any, Any] = {}


def choice_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of prompts that ask for a choice among answers, not only for scores or for a verdict
    on one answer."""
    several = (rows["options"] > 1).to_numpy()
    return row_selection.select_rows(rows, several & ~scoring_mask(rows))


def _labels_by_rater(rows: pd.DataFrame) -> dict[CellKey, tuple[str, ...]]:
    """(judge, prompt) -> labels given to the answers, such as A and B."""
    pairs = rows.groupby([*ROW_COLUMNS, "labels"], observed=True).size().index
    found: dict[CellKey, set[str]] = {}
    for judge, prompt, labels in pairs:
        found.setdefault((str(judge), str(prompt)), set()).update(str(labels).split("\x1f"))
    return {cell: tuple(sorted(names)) for cell, names in found.items()}


@dataclass(frozen=True)
class Bias(Memo):
    """Position-bias measures of a study under one filter, from which all bias panels are drawn."""

    counts: BiasCounts
    filter: filters.Filter = field(default_factory=filters.Filter)
    _memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _filter_value_by_column(self) -> dict[str, str]:
        chosen = {name: getattr(self.filter, name) for name in CELL_COLUMNS}
        return {name: value for name, value in chosen.items() if value != filters.ALL_CHOICE}

    @cached_property
    def of_all_raters(self) -> "Bias":
        """The measures without the filters on judge and prompt."""
        return Bias(self.counts, self.filter.of_all_raters)

    def adjust_p_values(self, values: Sequence[float | None]) -> list[float | None]:
        """Adjust the p-values of one kind of test by Holm's method; None stays None.

        `values` has one p-value for each judge and prompt, also those that a filter hides. The
        number of tests is larger if the filter selects a category or models, because a reader
        could have selected any other category, or any other set of as many models."""
        tests = sum(p is not None for p in values) * self.counts.model_sets
        if "category" in self._filter_value_by_column:
            tests *= len(self.counts.cells.by_cell("unusable", ("category",)))
        return holm_adjust(values, tests, self.type_1_error_share)

    @property
    def _counts_under_filter(self) -> MeasureCube:
        """The table of counts that the filter needs: by judge and prompt or, if the filter selects
        a category, by judge, prompt and category."""
        return self.counts.cells if "category" in self._filter_value_by_column else self.counts.rows

    @property
    def max_options(self) -> int:
        return self.counts.max_options

    @property
    def numbers_of_options(self) -> list[int]:
        """All counts of answers that a comparison shows, ascending, such as [2, 4]."""
        return self.counts.numbers_of_options

    @property
    def type_1_error_share(self) -> float:
        """Part of the total error rate of 5 % that is available for tests under this filter,
        between 0 and 1 (ERROR_SHARES). Filters share the 5 %, because a reader may try several
        of them."""
        return self.type_1_error_share_for("category" in self._filter_value_by_column)

    def type_1_error_share_for(self, in_category: bool) -> float:
        """Part of the total error rate of 5 % that is available for tests in single categories
        (`in_category`) or for tests over all categories, between 0 and 1. It also depends on
        whether the filter selects models."""
        return ERROR_SHARES[in_category, self.counts.model_sets > 1]

    @property
    def order_test_count(self) -> int:
        """Number of tests that a reader could look at by changing the filters: pairs of judge and
        prompt, also hidden ones; times the categories, if the filter selects one; times the
        sets of as many models, if the filter selects models."""
        cells = self.counts.cells.by_cell("unusable", CELL_COLUMNS)
        raters, categories = {cell[:2] for cell in cells}, {cell[2] for cell in cells}
        chosen = "category" in self._filter_value_by_column
        return len(raters) * (len(categories) if chosen else 1) * self.counts.model_sets

    @property
    def bonferroni_factor(self) -> float:
        """The number by which 5 % is divided for Bonferroni intervals: `order_test_count`, at
        least 1, divided by `type_1_error_share`."""
        return max(self.order_test_count, 1) / self.type_1_error_share

    @property
    def accuracy_by_chance(self) -> float | None:
        """Accuracy of a judge that chooses at random, with as many ties as the judges that the
        filter selects; None if it is unknown."""
        return position_measures.chance_accuracy(
            self.overall("accuracy"), self.overall("accuracy_lead")
        )

    @property
    def max_orders(self) -> int:
        """Maximum number of orders per comparison; 0 without verdicts, or if the order was not
        recorded."""
        return self.counts.orders

    @cached_property
    def names(self) -> dict[CellKey, str]:
        """(judge, prompt) -> its name, the shortest that is unambiguous under the filter, for all
        that choose among answers. Sorted as by `sort_best_first`: for pairs, the most consistent
        first."""
        names = filters.short_rater_names(list(self.by_rater("unusable")))
        return {cell: names[cell] for cell in self.sort_best_first(self.by_rater)}

    def sort_best_first(self, by_cell: Callable[[str], dict[CellKey, Estimate]]) -> list[CellKey]:
        """Cells (judge, or judge and prompt) that choose among answers, sorted by consistency or,
        with more than two options, by Grade Score (harmonic mean of position entropy and share of
        the most chosen answer); highest first, unknown last. `by_cell`: function from the key of a
        measure to its estimates by cell, such as `by_judge`."""
        values = by_cell("consistency" if self.max_options == 2 else "grade")
        known = {cell: one.value for cell, one in values.items() if one.value is not None}
        choosers = {one[:size] for one in self.counts.choosers for size in (1, 2)}
        cells = [cell for cell in by_cell("unusable") if cell in choosers]
        return sorted(cells, key=lambda cell: -known.get(cell, -1.0))

    def overall(self, measure: str) -> Estimate:
        """Estimate of the measure with the key `measure`, such as "consistency", over all
        judgements that the filter selects."""
        return self.memoise(
            ("whole", measure),
            lambda: self._counts_under_filter.pooled_estimate(
                measure, self._filter_value_by_column
            ),
        )

    def by_rater(self, measure: str) -> dict[CellKey, Estimate]:
        """(judge, prompt) -> estimate of the measure with the key `measure`, over all judgements
        that the filter selects."""
        return self.memoise(
            ("row", measure),
            lambda: self._counts_under_filter.by_cell(
                measure, ROW_COLUMNS, self._filter_value_by_column
            ),
        )

    def by_judge(self, measure: str) -> dict[CellKey, Estimate]:
        """(judge,) -> estimate of the measure with the key `measure`, over all prompts together."""
        return self.memoise(
            ("judge", measure),
            lambda: self._counts_under_filter.by_cell(
                measure, ("judge",), self._filter_value_by_column
            ),
        )

    def by_category(self, measure: str) -> dict[CellKey, Estimate]:
        """(judge, prompt, category) -> estimate of the measure with the key `measure`."""
        cells, only = self.counts.cells, self._filter_value_by_column
        return self.memoise(("cell", measure), lambda: cells.by_cell(measure, CELL_COLUMNS, only))

    @cached_property
    def category_sizes(self) -> dict[str, int]:
        """Number of items in each category, sorted by name."""
        found = self.counts.cells.by_cell("unusable", ("category",), self._filter_value_by_column)
        return {name: one.items for (name,), one in sorted(found.items()) if name}

    @cached_property
    def item_count(self) -> int:
        return self._counts_under_filter.count_items("unusable", self._filter_value_by_column)

    @cached_property
    def call_count(self) -> int:
        return self.overall("unusable").n

    @cached_property
    def unusable_reply_count(self) -> int:
        """Number of unusable replies; they are never counted as ties."""
        share = self.overall("unusable")
        return round((share.value or 0.0) * share.n)

    @cached_property
    def recency_minus_primacy(self) -> dict[CellKey, Estimate]:
        """(judge, prompt, category) -> share of pairs that flip toward the second position minus
        share toward the first (recency − primacy); empty unless pairs are compared."""
        return self.by_category("fairness") if self.max_options == 2 else {}

    @cached_property
    def order_tables_by_cell(self) -> dict[CellKey, OrderTable]:
        """(judge, prompt, category) -> cross table of the verdicts in the two orders of a pair."""
        where = [
            (CELL_COLUMNS.index(name), value)
            for name, value in self._filter_value_by_column.items()
        ]
        return {
            cell: table
            for cell, table in self.counts.tables.items()
            if all(cell[place] == value for place, value in where)
        }

    def pooled_order_table(self, row: CellKey) -> OrderTable:
        """The table of verdicts in both orders for one judge and prompt, over all categories that
        pass the filter."""
        return pool_order_tables(
            self.order_tables_by_cell,
            [cell for cell in self.order_tables_by_cell if cell[:2] == row],
        )

    def labels(self, row: CellKey) -> tuple[str, ...]:
        return self.counts.labels.get(row, ())


def bias_from_frame(frame: pd.DataFrame) -> Bias:
    """The bias measures of a frame that is already filtered."""
    return Bias(BiasCounts(frame))


def load_bias(filtered: FilteredStudy) -> Bias:
    """The bias measures of a filtered study; verdicts are counted once per version of the study."""
    chosen = filtered.filter
    # Filters on columns that the cells do not have are applied before counting.
    outside = filters.Filter(contestants=chosen.contestants, suspects=chosen.suspects)

    def count_verdicts() -> BiasCounts:
        frame = filtered.unfiltered_frame
        if outside == filters.Filter():
            return BiasCounts(frame)
        return BiasCounts(outside.apply(frame), count_selectable_model_sets(frame, outside))

    def build_bias() -> Bias:
        return Bias(filtered.memoise(("bias counts", outside), count_verdicts), chosen)

    return filtered.memoise(("bias", chosen), build_bias)


def count_selectable_model_sets(frame: pd.DataFrame, chosen: filters.Filter) -> int:
    """Number of sets of as many models as the filter selects: "n choose k", of all n models in the
    frame. p-values are adjusted for it, since a reader may look at each of these sets."""
    return math.comb(len(row_selection.contestants(frame)), len(chosen.contestants))
