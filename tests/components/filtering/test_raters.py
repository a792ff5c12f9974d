"""Credits of calls: filters on judge and prompt leave the other judges in."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import (
    call_credits_of_all_raters,
    is_agreement_with_people,
    one_call_agreement_of_all_raters,
)
from metrics.remedies.remedy_study import CREDIT
from studies.store.store import Store
from tests.voted_studies import Sheet


@pytest.fixture
def voted(store: Store) -> Store:
    """People say x is better; `good` agrees in both orders, `first` in one, `tied` ties once."""
    sheet = Sheet("s")
    for k in range(4):
        item = f"q{k}"
        sheet.both(item, "good", "xx").both(item, "first", "xy").both(item, "tied", "x=")
        sheet.votes(item, ann="x", bob="x", cy="y")
    sheet.save(store)
    return store


def test_the_credit_of_a_call_is_one_a_half_or_nothing(voted: Store) -> None:
    rows = call_credits_of_all_raters(FilteredStudy(voted, "s"))
    credits = {
        judge: sorted(set(part[CREDIT].dropna()))
        for judge, part in rows.groupby("judge", observed=True)
        if not str(judge).startswith("human:")
    }
    assert credits == {"good": [1.0], "first": [0.0, 1.0], "tied": [0.5, 1.0]}


def test_a_filter_on_a_judge_keeps_the_agreement_of_the_others(voted: Store) -> None:
    chosen = FilteredStudy(voted, "s", Filter(judge="good", prompt="p"))
    found = {
        judge: one.value for (judge, _), one in one_call_agreement_of_all_raters(chosen).items()
    }
    assert found == {"good": 1.0, "first": 0.5, "tied": 0.75}
    assert is_agreement_with_people(chosen)
