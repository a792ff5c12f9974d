"""Cache for numbers that several results views compute from the same study and filters."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from components.filtering.filtered_study import FilteredStudy

Result = TypeVar("Result")


def memoise_by_study(
    function: Callable[[FilteredStudy], Result],
) -> Callable[[FilteredStudy], Result]:
    """Decorate a function so that its results stay in the store's cache until the study gets a new
    judgement or plan."""

    @wraps(function)
    def cached(view: FilteredStudy) -> Result:
        return view.store.memoised(
            view.name,
            (function, view.filter),
            lambda: function(FilteredStudy(view.store, view.name, view.filter)),
        )

    return cached
