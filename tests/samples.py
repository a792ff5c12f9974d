"""The share of a large test that `make test` runs; `make test-all` runs all of it."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from hypothesis import settings

ALL: Final = bool(os.environ.get("TEST_ALL"))
"""Set by `make test-all`."""


def examples(number: int, share: int = 5) -> settings:
    """Settings of a property: so many examples, in `make test` a fifth (or `share`-th) of them."""
    return settings(max_examples=number if ALL else max(8, number // share), deadline=None)


def sample(values: Iterable[Any], *kept: Any) -> list[Any]:
    """All values for `parametrize`; those not in `kept` have the marker `extra`."""
    listed = list(values)
    missing = [value for value in kept if value not in listed]
    assert not missing, f"{missing} is none of the parameters"
    return [
        value if value in kept else pytest.param(*_as_row(value), marks=pytest.mark.extra)
        for value in listed
    ]


def each(
    names: str, values: Iterable[Any], label: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `parametrize`, but all values in one test: for many cases of less than a millisecond,
    where pytest's own work per test would take most of the time. All cases are tried; a failure
    names those that fail. Several names are separated by commas, as in `parametrize`."""
    cases, parts = list(values), [name.strip() for name in names.split(",")]
    assert cases, "no cases"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            failed: list[tuple[BaseException, str]] = []
            for case in cases:
                row = case if len(parts) > 1 else (case,)
                try:
                    test(**given, **dict(zip(parts, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((error, label(case)))
            if failed:
                labels = "\n".join(one for _, one in failed)
                failed[0][0].add_note(f"{len(failed)} of {len(cases)} cases fail:\n{labels}")
                raise failed[0][0]

        whole = inspect.signature(test)
        left = [value for name, value in whole.parameters.items() if name not in parts]
        run.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate


def _as_row(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
