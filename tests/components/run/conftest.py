"""Fixtures of the tests of the Run tab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judges.engine.engine import Engine
from tests.judges import small_studies


@pytest.fixture
def engine() -> Iterator[Engine]:
    with small_studies.engine() as made:
        yield made
