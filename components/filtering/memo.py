"""Numbers that several parts of one page need: worked out once for what is in view."""

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
    """The last results of a function of a scene; a new judgement or plan makes it work again."""

    @lru_cache(maxsize=CACHE_SIZE)
    def kept(store: Store, name: str, chosen: Filter, version: Any) -> Result:
        return function(FilteredStudy(store, name, chosen))

    @wraps(function)
    def recall(scene: FilteredStudy) -> Result:
        return kept(scene.store, scene.name, scene.filter, scene.store.version(scene.name))

    return recall
