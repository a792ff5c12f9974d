"""Estimate of the memory that a value occupies: frames, arrays, texts and their containers.

Arrays are counted by their buffers, because a cached frame and the arrays computed from it often
share buffers. Containers of many small objects are sampled.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from importlib import import_module
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

SAMPLED_ELEMENTS: Final = 200
"""Maximum number of measured elements of a container; the others count with the mean of these."""
MAX_DEPTH: Final = 40
_SHARED_TYPES: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_NUMBERS: Final = frozenset((int, float, bool))
_SCALARS: Final = (int, float, complex, bool)


@dataclasses.dataclass(slots=True)
class MemorySize:
    """Size of a value in bytes. `buffers` maps the memory address of each array buffer to its
    size, so that a shared buffer can be counted once; `small` is the size of all the rest."""

    small: float = 0.0
    buffers: dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def total(self) -> int:
        return int(self.small) + sum(self.buffers.values())


def measure_memory(value: object, excluded: tuple[type, ...] = ()) -> MemorySize:
    """Estimate the size of a value with all objects it refers to.

    Objects of the `excluded` types, classes and functions are not counted.
    """
    walk = _SizeCounter(excluded)
    walk.add(value, 1.0, 0)
    return walk.size


class _SizeCounter:
    """Running total of the sizes of values; each object counts once."""

    def __init__(self, excluded: tuple[type, ...]) -> None:
        self.size = MemorySize()
        self._excluded = (*excluded, *_SHARED_TYPES)
        self._seen: set[int] = set()
        numpy, self._pandas = _find_imported_library("numpy"), _find_imported_library("pandas")
        self._arrays = (numpy.ndarray,) if numpy else ()
        self._scalars = (
            *_SCALARS,
            *((numpy.generic,) if numpy else ()),
            *((self._pandas.Timestamp,) if self._pandas else ()),
        )
        self._alive: list[object] = []
        """Measured objects, referenced so that Python does not give their ids to other objects."""

    def add(self, value: Any, weight: float, depth: int) -> None:
        """Add the size of a value and of the objects it refers to, unless it was added before.
        `weight` is the number of similar objects that it stands for as a sample. `depth` is its
        level of nesting; the parts of an object at level MAX_DEPTH are not counted."""
        if value is None or isinstance(value, self._excluded) or id(value) in self._seen:
            return
        if isinstance(value, self._scalars):
            self.size.small += weight * 32
            return
        self._seen.add(id(value))
        self._alive.append(value)
        if isinstance(value, self._arrays):
            self._add_array(value, weight, depth)
        elif isinstance(value, (str, bytes, bytearray)):
            self.size.small += weight * sys.getsizeof(value)
        elif depth < MAX_DEPTH:
            self._add_parts(value, weight, depth + 1)

    def _add_array(self, array: np.ndarray, weight: float, depth: int) -> None:
        owner = array
        while isinstance(owner.base, self._arrays):
            owner = owner.base
        if weight > 1:
            self.size.small += weight * owner.nbytes
        else:
            self.size.buffers[owner.__array_interface__["data"][0]] = owner.nbytes
        if array.dtype == object:
            self._add_sample(array.ravel(), array.size, weight, depth + 1)

    def _add_parts(self, value: Any, weight: float, depth: int) -> None:
        """Add the size of a frame, container or other object itself, and the sizes of its parts.
        `weight` and `depth` are as in `add`."""
        if self._pandas and isinstance(value, self._pandas.DataFrame):
            for column in range(value.shape[1]):
                self.add(value.iloc[:, column], weight, depth)
            self.add(value.index, weight, depth)
        elif self._pandas and isinstance(value, (self._pandas.Series, self._pandas.Index)):
            self._add_pandas(self._pandas, value, weight, depth)
        elif isinstance(value, Mapping):
            self.size.small += weight * sys.getsizeof(value)
            self._add_sample(value.items(), len(value), weight, depth)
        elif isinstance(value, (list, tuple, Set)):
            self.size.small += weight * sys.getsizeof(value)
            self._add_sample(value, len(value), weight, depth)
        else:
            self._add_attributes(value, weight, depth)

    def _add_pandas(self, pd: Any, value: Any, weight: float, depth: int) -> None:
        if isinstance(value, pd.RangeIndex):
            return
        held = value.array
        if isinstance(held, pd.Categorical):
            self.add(held.codes, weight, depth)
            self.add(held.categories, weight, depth)
        elif hasattr(held, "_pa_array"):
            self.size.small += weight * held.nbytes
        else:
            self.add(value.to_numpy(), weight, depth)
        if isinstance(value, pd.Series):
            self.add(value.index, weight, depth)

    def _add_sample(self, parts: Iterable[Any], count: int, weight: float, depth: int) -> None:
        """Add the sizes of `count` elements, estimated from the first SAMPLED_ELEMENTS of them.
        `weight` and `depth` are as in `add`."""
        try:
            sample = tuple(islice(parts, SAMPLED_ELEMENTS))
        except RuntimeError:  # changed by another thread; measured again later
            return
        if sample:
            self._add_all(sample, weight * max(count, len(sample)) / len(sample), depth)

    def _add_all(self, values: Iterable[Any], weight: float, depth: int) -> None:
        for value in values:
            if type(value) in _NUMBERS:  # most values are numbers: a call for each is slow
                self.size.small += weight * 32
            elif value is not None:
                self.add(value, weight, depth)

    def _add_attributes(self, value: Any, weight: float, depth: int) -> None:
        self.size.small += weight * sys.getsizeof(value, 64)
        names = _slot_attribute_names(type(value))  # type: ignore[arg-type]  # a class is hashable
        self._add_all((getattr(value, name, None) for name in names), weight, depth)
        self.add(getattr(value, "__dict__", None), weight, depth)


def _find_imported_library(library: str) -> Any:
    """Return a library if this process has imported it, else None: then no value can be of the
    library's types."""
    # import_module waits for a thread that is still importing the library
    return import_module(library) if library in sys.modules else None


@lru_cache(maxsize=1024)
def _slot_attribute_names(kind: type) -> list[str]:
    found: list[str] = []
    for one in kind.__mro__:
        names = one.__dict__.get("__slots__", ())
        found += [names] if isinstance(names, str) else list(names)
    return [name for name in found if name not in ("__dict__", "__weakref__")]
