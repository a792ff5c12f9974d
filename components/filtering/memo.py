"""Cache for numbers that several parts of the results need for the same study and filter."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from studies.store.store import Store

Result = TypeVar("Result")
CACHE_SIZE = 8


def memoise_by_study(
    function: Callable[[FilteredStudy], Result],
) -> Callable[[FilteredStudy], Result]:
    """Cache the last results of a function until its study has a new judgement or plan."""

    @lru_cache(maxsize=CACHE_SIZE)
    def compute(store: Store, name: str, chosen: Filter, version: Any) -> Result:
        return function(FilteredStudy(store, name, chosen))

    @wraps(function)
    def cached(view: FilteredStudy) -> Result:
        return compute(view.store, view.name, view.filter, view.store.version(view.name))

    return cached
