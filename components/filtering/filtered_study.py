"""What a results view is given to draw: the study in view and the rows the filters leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import pandas as pd

from components.filtering.filters import COUNTING_RULES, Filter, machine_rows, people_as_judge
from metrics.win_rates.win_rates import CombineRule, UnreadableRule, outcome_rows
from studies.domain import USABLE_STATUSES
from studies.spec.study import Study
from studies.store.store import Store


@dataclass(frozen=True)
class FilteredStudy:
    """One study seen through one filter. Views compute from this and from nothing else."""

    store: Store
    name: str
    filter: Filter = field(default_factory=Filter)

    @cached_property
    def study(self) -> Study:
        return self.store.study(self.name)

    @cached_property
    def stored_frame(self) -> pd.DataFrame:
        """Every judgement of the study, people's too, each under the name of who made it."""
        return self.store.frame(self.name)

    @cached_property
    def unfiltered_frame(self) -> pd.DataFrame:
        """The same; people who judged alone are one judge."""
        return people_as_judge(self.stored_frame)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """What the filters leave, people's too."""
        return self.filter.apply(self.unfiltered_frame)

    @cached_property
    def machines(self) -> pd.DataFrame:
        return machine_rows(self.frame)

    @cached_property
    def failed(self) -> int:
        """Replies of machines that are no evidence."""
        return int((~self.machines["status"].isin(list(USABLE_STATUSES))).sum())

    @property
    def rule(self) -> tuple[CombineRule, UnreadableRule]:
        """How both orders are combined, and what an unreadable reply counts as."""
        chosen = COUNTING_RULES.get(self.filter.rule, (self.study.combine, self.study.unreadable))
        return cast(CombineRule, chosen[0]), cast(UnreadableRule, chosen[1])

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The machines' verdicts that ratings and win rates count, by the rule in force."""
        return outcome_rows(self.machines, *self.rule)
