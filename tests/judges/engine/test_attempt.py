"""An attempt at one ask: what it leaves behind when its call is not made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from judges.engine.attempt import AskAttempts
from judges.engine.limits.rate_limit import EndpointLimiter
from studies.domain import NO_USAGE


def test_a_call_that_is_not_made_counts_neither_as_success_nor_as_cost():
    ended: list[Any] = []
    settled: list[Any] = []
    limiter = SimpleNamespace(release=lambda *given, **named: ended.append((given, named)))
    ledger = SimpleNamespace(settle=lambda *given, **named: settled.append((given, named)))
    attempts: Any = SimpleNamespace(
        state=SimpleNamespace(limiter=limiter, name="j", price=None),
        run_state=SimpleNamespace(ledger=ledger),
    )
    AskAttempts._leave_limiter(attempts, 3.0, 0.5)
    assert ended == [((3.0,), {"neutral": True})]
    assert settled == [(("j", 0.5, NO_USAGE, None), {"maybe_billed": False})]
    assert "neutral" in EndpointLimiter.release.__annotations__
