"""Memoised numbers that several parts of the results need for the same study and filter."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from components.filtering.filtered_study import FilteredStudy

Result = TypeVar("Result")


def memoise_by_study(
    function: Callable[[FilteredStudy], Result],
) -> Callable[[FilteredStudy], Result]:
    """Keep the results of a function in the store's cache until its study has a new judgement or
    plan."""

    @wraps(function)
    def cached(view: FilteredStudy) -> Result:
        return view.store.memoised(
            view.name,
            (function, view.filter),
            lambda: function(FilteredStudy(view.store, view.name, view.filter)),
        )

    return cached
