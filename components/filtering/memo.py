"""Cache for numbers that several results views compute from the same study and filters."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from components.filtering.filtered_study import FilteredStudy

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


def memoise_by_study(
    function: Callable[[FilteredStudy], Result],
) -> Callable[[FilteredStudy], Result]:
    """Decorate a function of a FilteredStudy: its result, for each set of filters, stays in the
    store's cache until the study gets a new judgement or plan."""

    @wraps(function)
    def wrapper(filtered: FilteredStudy) -> Result:
        return filtered.memoise((function, filtered.filter), lambda: function(replace(filtered)))

    return wrapper


def cache_in_filtered_study(
    function: Callable[Concatenate[FilteredStudy, Parameters], Result],
) -> Callable[Concatenate[FilteredStudy, Parameters], Result]:
    """Decorate a function so that its result is kept in the FilteredStudy that it gets, for all
    panels drawn from this object, and is deleted with it. Use it for results that are too large, or
    too seldom needed, for the store's cache. All other arguments must be hashable."""

    @wraps(function)
    def wrapper(
        filtered: FilteredStudy, /, *args: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        key = (function, *args, *sorted(named.items()))
        if key not in filtered.shared_values_cache:
            filtered.shared_values_cache[key] = function(filtered, *args, **named)
        found: Result = filtered.shared_values_cache[key]
        return found

    return wrapper
