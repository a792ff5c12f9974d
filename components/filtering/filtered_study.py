"""A study with the judgements that pass the filters: the input of every results view."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar, cast

import pandas as pd

from components.filtering.filters import (
    COUNTING_RULES,
    Filter,
    combine_rule_text,
    judge_rows_or_people_rows,
    pool_people_if_no_judge,
)
from metrics.estimation.row_selection import people_mask
from metrics.twins.twin_effects import TwinEffect, twin_effects
from metrics.win_rates import counting_rules, remedy_outcomes
from studies.domain import USABLE_STATUSES
from studies.spec.combine_rules import parse_remedy
from studies.spec.study import Study
from studies.store.store import Store
from studies.store.study_versions import StudyVersion

Value = TypeVar("Value")


@dataclass(frozen=True)
class FilteredStudy:
    """One study with one set of filters; every results view is computed from this object alone."""

    store: Store
    name: str
    filter: Filter = field(default_factory=Filter)

    @cached_property
    def shared_values_cache(self) -> dict[tuple[Any, ...], Any]:
        """Cache of `memo.cache_in_filtered_study`: function and arguments -> result."""
        return {}

    @property
    def of_all_raters(self) -> Self:
        """The study without filters on judge and prompt. Tests are adjusted for all its judges and
        prompts: these two filters choose only which results are shown."""
        return replace(self, filter=self.filter.of_all_raters)

    @cached_property
    def version(self) -> StudyVersion:
        """Version of the study, read before its judgements, so never newer than they are."""
        return self.store.version(self.name)

    def memoise(self, key: tuple[Hashable, ...], compute: Callable[[], Value]) -> Value:
        """The result of `compute`, which is called once per version of the study; `key` identifies
        the computation and its arguments. A reply that arrives meanwhile makes a new version, for
        which the result is computed again."""
        return self.store.memoised(self.name, key, compute, self.version)

    @cached_property
    def study(self) -> Study:
        return self.store.study(self.name)

    @cached_property
    def whole_frame_by_person(self) -> pd.DataFrame:
        """Every judgement of the study except those of comparisons with a twin; each person is a
        separate judge."""
        _ = self.version  # read first, so that it is not newer than the judgements
        return self.store.frame(self.name)

    @cached_property
    def twin_effects(self) -> list[TwinEffect]:
        """Effects of the study's twins on the items of the selected category; empty without twins.
        No other filter applies, since the intervals are adjusted for all judges and prompts
        together."""
        chosen = Filter(category=self.filter.category)

        def compute() -> list[TwinEffect]:
            twins = chosen.apply(self.store.frame(self.name, "only"))
            return twin_effects(twins, chosen.apply(self.whole_frame_by_person))

        return self.memoise(("twin effects", chosen), compute)

    @cached_property
    def unfiltered_frame(self) -> pd.DataFrame:
        """Every judgement of the study except those of comparisons with a twin; in a study without
        model judges, all people are treated as one judge."""
        return pool_people_if_no_judge(self.whole_frame_by_person)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The judgements that pass the filters, including those of people, without those on
        twins."""
        return self.filter.apply(self.unfiltered_frame)

    @cached_property
    def measured_judge_rows(self) -> pd.DataFrame:
        return judge_rows_or_people_rows(self.frame)

    @cached_property
    def unusable_count(self) -> int:
        """Number of unusable replies of model judges (in a study of people only, of people), after
        filtering."""
        return int((~self.measured_judge_rows["status"].isin(list(USABLE_STATUSES))).sum())

    @cached_property
    def has_only_people(self) -> bool:
        """Whether all verdicts of the study come from people, so that no judge is measured; False
        without verdicts."""
        frame = self.whole_frame_by_person
        return len(frame) > 0 and bool(people_mask(frame).all())

    @property
    def rule(self) -> tuple[counting_rules.CombineRule, counting_rules.UnreadableRule]:
        """Counting rule in use: how the two orders are combined, and how unusable replies count."""
        chosen = COUNTING_RULES.get(self.filter.rule, (self.study.combine, self.study.unreadable))
        combine = counting_rules.counting_rule_of_remedy_or_same(chosen[0])
        if parse_remedy(combine):  # reads the frame, which counting rules do not need
            combine = remedy_outcomes.applicable_rule(combine, self.measured_judge_rows)
        return combine, cast(counting_rules.UnreadableRule, chosen[1])

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The model judges' verdicts (in a study of people only, people's) that enter ratings and
        win rates under `rule`."""
        return counting_rules.outcome_rows(self.measured_judge_rows, *self.rule)


def combine_rule_clause(filtered: FilteredStudy) -> str:
    """End of a subtitle: how the two orders are combined; empty if each order counts separately.
    How unusable replies count is not stated."""
    return "" if filtered.rule[0] == "pooled" else f"; {combine_rule_text(filtered.rule[0])}"
