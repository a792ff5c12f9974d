"""Numbers that several parts of one page need: worked out once for what is in view."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from components.rows import Filter
from components.scene import Scene
from studies.store import Store

Result = TypeVar("Result")
KEPT = 8


def remembered(function: Callable[[Scene], Result]) -> Callable[[Scene], Result]:
    """The last results of a function of a scene; a new judgement or plan makes it work again."""

    @lru_cache(maxsize=KEPT)
    def kept(store: Store, name: str, chosen: Filter, version: Any) -> Result:
        return function(Scene(store, name, chosen))

    @wraps(function)
    def recall(scene: Scene) -> Result:
        return kept(scene.store, scene.name, scene.filter, scene.store.version(scene.name))

    return recall
