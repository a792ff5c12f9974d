"""What a results view is given to draw: the study in view and the rows the filters leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import pandas as pd

from components.rows import RULES, Filter, as_judges, machine_rows
from metrics.wins import Combine, Unreadable, outcomes
from studies.records import EVIDENCE
from studies.store import Store
from studies.study import Study


@dataclass(frozen=True)
class Scene:
    """One study seen through one filter. Views compute from this and from nothing else."""

    store: Store
    name: str
    filter: Filter = field(default_factory=Filter)

    @cached_property
    def study(self) -> Study:
        return self.store.study(self.name)

    @cached_property
    def everybody(self) -> pd.DataFrame:
        """Every judgement of the study, people's too, each under the name of who made it."""
        return self.store.frame(self.name)

    @cached_property
    def whole(self) -> pd.DataFrame:
        """The same; people who judged alone are one judge."""
        return as_judges(self.everybody)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """What the filters leave, people's too."""
        return self.filter.apply(self.whole)

    @cached_property
    def machines(self) -> pd.DataFrame:
        return machine_rows(self.frame)

    @cached_property
    def failed(self) -> int:
        """Replies of machines that are no evidence."""
        return int((~self.machines["status"].isin(list(EVIDENCE))).sum())

    @property
    def rule(self) -> tuple[Combine, Unreadable]:
        """How both orders are combined, and what an unreadable reply counts as."""
        chosen = RULES.get(self.filter.rule, (self.study.combine, self.study.unreadable))
        return cast(Combine, chosen[0]), cast(Unreadable, chosen[1])

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """The machines' verdicts that ratings and win rates count, by the rule in force."""
        return outcomes(self.machines, *self.rule)
