"""Hedged calls: a second, simultaneous attempt at an ask whose first attempt is far slower than
usual, for judges with the setting `hedge`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

MAX_HEDGE_SHARE: Final = 0.02
"""Maximum number of a judge's hedged (second) attempts, as a share of its other attempts; beyond it
a slow call gets no second attempt."""


@dataclass(slots=True)
class HedgeBudget:
    """Counts of a judge's attempts: `hedges` are hedged (second) attempts, `calls` all others."""

    calls: int = 0
    hedges: int = 0

    def count_hedge_if_allowed(self) -> bool:
        """Return whether one more hedged attempt is allowed, and count it if it is."""
        if self.hedges + 1 > MAX_HEDGE_SHARE * self.calls:
            return False
        self.hedges += 1
        return True


class HedgeableCall(Protocol):
    """Interface that `race_with_hedge` needs of the attempts at a call. `run` makes attempts until
    one gives a result, `run_hedge` makes one additional attempt while those of another object are
    slow."""

    attempt: int | None

    @property
    def slow_event(self) -> asyncio.Event: ...
    async def run(self) -> Any: ...
    async def run_hedge(self) -> Any: ...
    def abandon(self) -> None: ...
    async def record_unused_attempt(self) -> None: ...


C = TypeVar("C", bound=HedgeableCall)
Background = Callable[["asyncio.Task[Any]"], None]


async def race_with_hedge(
    first: C, make_second: Callable[[], C], budget: HedgeBudget, background: Background
) -> tuple[C, Any]:
    """Make the attempts of `first` at a call; if they become slow and `budget` allows it, also make
    an additional attempt, with the object that `make_second` returns. Return the object that is
    answered earlier, and its outcome (reply or failure; None without a result).

    The attempt of the other object may be billed too. Its task is passed to `background` and
    continues there, or is cancelled if its request was not sent yet."""
    one = asyncio.create_task(first.run())
    await _wait_until_slow_or_done(one, first.slow_event)
    if one.done() or not budget.count_hedge_if_allowed():
        return first, await one
    second = make_second()
    two = asyncio.create_task(second.run_hedge())
    try:
        await asyncio.wait({one, two}, return_when=asyncio.FIRST_COMPLETED)
        if not one.done() and two.result() is not None:
            _abandon_slower_attempt(first, one, background)
            return second, two.result()
        if not one.done():  # the second call failed
            await asyncio.wait({one})
    except asyncio.CancelledError:
        one.cancel()
        two.cancel()
        raise
    if not two.done():
        _abandon_slower_attempt(second, two, background)
    elif second.attempt is not None:  # answered at the same moment
        await second.record_unused_attempt()
    return first, one.result()


async def _wait_until_slow_or_done(call: asyncio.Task[Any], slow: asyncio.Event) -> None:
    waiting = asyncio.create_task(slow.wait())
    try:
        await asyncio.wait({call, waiting}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        call.cancel()
        raise
    finally:
        waiting.cancel()


def _abandon_slower_attempt(
    loser: HedgeableCall, task: asyncio.Task[Any], background: Background
) -> None:
    """Let the slower of two attempts continue in the background; cancel it if it was not sent."""
    loser.abandon()
    background(task)
    if loser.attempt is None:
        task.cancel()
