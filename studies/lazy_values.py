"""`cached_property` whose objects do not wait for each other.

That of Python 3.11 holds one lock for all objects of a class while it computes a value: a visitor
would wait for the value of another study, and two threads could wait for each other for ever.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """Method as an attribute that is computed at its first use, as in `functools` of Python
        3.12. If several threads compute it at once, all get the value of the first to finish."""

        def __init__(self, func: Callable[[Any], Any]) -> None:
            self.func, self.__doc__ = func, func.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.func(instance))
