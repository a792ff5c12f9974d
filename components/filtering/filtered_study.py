"""A study with the judgements that pass the filters: the input of every results view."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, TypeVar, cast

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
from studies.lazy_values import cached_property
from studies.spec.combine_rules import parse_remedy
from studies.spec.study import Study
from studies.store.store import Store
from studies.store.study_versions import StudyVersion

Value = TypeVar("Value")
MAX_SHARED_ROWS: Final = 50_000
"""Maximum judgements of a study whose filtered rows stay in the store's cache, some 100 bytes each
for every set of filters; in a larger study they would drop results that take longer to compute."""


@dataclass(frozen=True)
class FilteredStudy:
    """One study with one set of filters; every results view is computed from this object alone."""

    store: Store
    name: str
    filter: Filter = field(default_factory=Filter)

    @cached_property
    def shared_values_cache(self) -> dict[tuple[Any, ...], Any]:
        """Results that `memo.cache_in_filtered_study` keeps in this object: (function, its
        arguments) -> its result."""
        return {}

    @property
    def of_all_raters(self) -> Self:
        """The same study without the filters on judge and prompt. Significance tests are adjusted
        for all judges and prompts, so these two filters must not change them; they only choose
        which results are shown."""
        return replace(self, filter=self.filter.of_all_raters)

    @cached_property
    def version(self) -> StudyVersion:
        """Version of the stored study. It is read before the judgements, so the judgements may be
        newer than the version, but never older."""
        return self.store.version(self.name)

    def memoise(self, key: tuple[Hashable, ...], compute: Callable[[], Value]) -> Value:
        """The result of `compute`, from the store's cache if it was computed for this version of
        the study. `key` names the computation and its arguments. After a new reply the study has a
        new version, and a new FilteredStudy computes the result again."""
        return self.store.memoised(self.name, key, compute, self.version)

    @cached_property
    def study(self) -> Study:
        return self.store.study(self.name)

    @cached_property
    def whole_frame_by_person(self) -> pd.DataFrame:
        """Every judgement of the study, each person as a separate judge; without the comparisons
        that show a twin (a copy of an answer with one small change)."""
        _ = self.version  # read first, so that it is not newer than the judgements
        return self.store.frame(self.name)

    @cached_property
    def twin_effects(self) -> list[TwinEffect]:
        """Effect of each kind of twin (a copy of an answer with one small change) on the verdicts,
        by judge and prompt, for the items of the selected category; empty if the study has no
        twins. Only the filter on category applies, because the intervals are adjusted for all
        judges and prompts together."""
        chosen = Filter(category=self.filter.category)

        def compute() -> list[TwinEffect]:
            twins = self.store.frame(self.name, "only")
            if twins.empty:
                return []
            return twin_effects(chosen.apply(twins), chosen.apply(self.whole_frame_by_person))

        return self.memoise(("twin effects", chosen), compute)

    @cached_property
    def unfiltered_frame(self) -> pd.DataFrame:
        """Every judgement of the study, without the comparisons that show a twin (a copy of an
        answer with one small change). If no model is a judge, all people count as one judge."""
        return pool_people_if_no_judge(self.whole_frame_by_person)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The judgements of models and people that pass the filters, without the comparisons that
        show a twin (a copy of an answer with one small change). If no model is a judge, all people
        count as one judge."""
        if self.unfiltered_frame is self.whole_frame_by_person:
            return self.frame_by_person
        return self.filter.apply(self.unfiltered_frame)

    @cached_property
    def frame_by_person(self) -> pd.DataFrame:
        """The judgements that pass the filters, each person as a separate judge; without the
        comparisons that show a twin. Panels and views share it, up to MAX_SHARED_ROWS."""
        rows = self.whole_frame_by_person
        if len(rows) > MAX_SHARED_ROWS:
            return self.filter.apply(rows)
        return self.memoise(("frame", self.filter), lambda: self.filter.apply(rows))

    @cached_property
    def measured_judge_rows(self) -> pd.DataFrame:
        return judge_rows_or_people_rows(self.frame)

    @cached_property
    def unusable_count(self) -> int:
        """Number of replies without a usable verdict, after filtering. Only replies of model judges
        count; if there are none, those of people."""
        return int((~self.measured_judge_rows["status"].isin(list(USABLE_STATUSES))).sum())

    @cached_property
    def has_only_people(self) -> bool:
        """Whether all verdicts of the study come from people, so that no judge is measured; False
        without verdicts."""
        frame = self.whole_frame_by_person
        return len(frame) > 0 and bool(people_mask(frame).all())

    @property
    def rule(self) -> tuple[counting_rules.CombineRule, counting_rules.UnreadableRule]:
        """The two parts of the counting rule in use: how the verdicts of the two orders of a pair
        are combined, and whether unusable replies are left out or count as ties. The filter's rule
        replaces that of the study file."""
        chosen = COUNTING_RULES.get(self.filter.rule, (self.study.combine, self.study.unreadable))
        combine = counting_rules.counting_rule_of_remedy_or_same(chosen[0])
        if parse_remedy(combine):  # reads the frame, which counting rules do not need
            combine = remedy_outcomes.applicable_rule(combine, self.measured_judge_rows)
        return combine, cast(counting_rules.UnreadableRule, chosen[1])

    @cached_property
    def counted_outcomes(self) -> pd.DataFrame:
        """The verdicts that enter ratings and win rates, after `rule` is applied: those of the
        model judges or, in a study of people only, those of people."""
        return counting_rules.outcome_rows(self.measured_judge_rows, *self.rule)


def combine_rule_clause(filtered: FilteredStudy) -> str:
    """End of a panel's subtitle that says how the two orders of a pair are combined, such as "; a
    win in one order and a tie in the other is a win"; empty if each order counts separately."""
    return "" if filtered.rule[0] == "pooled" else f"; {combine_rule_text(filtered.rule[0])}"
