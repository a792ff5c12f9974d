"""Record of attacks: inputs that tests of the attack list tried, and those that got through.

A test puts each hostile input into `attempt`, together with the assertions that must hold for it.
Without `EVENHAND_ATTACK_LOG` nothing is recorded; `python -m tests.attacks` sets it and counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import pytest

from studies.settings import is_public
from tests.attacks.attack_list import OWN, PUBLIC, THREATS

LOG_VARIABLE: Final = "EVENHAND_ATTACK_LOG"
Mode = Literal["own machine", "public"]


@contextmanager
def attempt(threat: str, mode: Mode, *inputs: object) -> Iterator[None]:
    """Record inputs as tried: as found if the block fails, as repelled if it ends.

    The mode is one in which the inputs were run: a test without a mode of its own runs in each, by
    the fixture `each_mode`. A test that is skipped in the block records nothing. Where one check
    covers several inputs, its failure counts all of them as found.
    """
    assert threat in THREATS and mode in (OWN, PUBLIC) and inputs
    try:
        yield
    except (Exception, pytest.fail.Exception):
        _record(threat, mode, inputs, "found")
        raise
    _record(threat, mode, inputs, "repelled")


def current_mode() -> Mode:
    """The mode that the environment of this process sets."""
    return PUBLIC if is_public() else OWN


def _record(threat: str, mode: Mode, inputs: tuple[object, ...], outcome: str) -> None:
    path = os.environ.get(LOG_VARIABLE)
    if not path:
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    lines = (json.dumps([threat, mode, outcome, str(one)[:200], test]) + "\n" for one in inputs)
    with open(path, "a", encoding="utf-8") as log:  # noqa: PTH123 - one write, from any process
        log.write("".join(lines))


@contextmanager
def in_mode(mode: Mode) -> Iterator[None]:
    """Set a mode in the environment; for properties, whose examples share one fixture."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SPACE_ID", raising=False)
        environment.setenv("EVENHAND_PUBLIC", str(int(mode == PUBLIC)))
        yield


@pytest.fixture(params=[OWN, PUBLIC])
def each_mode(request: pytest.FixtureRequest) -> Iterator[Mode]:
    """Each mode in turn, set in the environment of one test."""
    with in_mode(request.param):
        yield request.param
