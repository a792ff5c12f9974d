"""The share of a large test that `make test` runs; `make test-all` runs all of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest
from hypothesis import settings

ALL: Final = bool(os.environ.get("TEST_ALL"))
"""Set by `make test-all`."""


def examples(number: int) -> settings:
    """Settings of a property: so many examples, in `make test` a fifth of them."""
    return settings(max_examples=number if ALL else max(8, number // 5), deadline=None)


def sample(values: Iterable[Any], *kept: Any) -> list[Any]:
    """All values for `parametrize`; those not in `kept` have the marker `extra`."""
    listed = list(values)
    missing = [value for value in kept if value not in listed]
    assert not missing, f"{missing} is none of the parameters"
    return [
        value if value in kept else pytest.param(*_as_row(value), marks=pytest.mark.extra)
        for value in listed
    ]


def _as_row(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
