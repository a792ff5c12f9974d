"""Simulation of a limiter against an endpoint in virtual time: an hour takes less than a second."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from judges.engine.limits.rate_limit import EndpointLimiter
from judges.models.interface import parse_request_quota
from tests.judge_server import Limiter

T = TypeVar("T")


class _SkippingSelector(selectors.DefaultSelector):
    """Advances the clock of its loop instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the simulation waits for an event that cannot happen")
        self.now += 0.0 if ready else timeout or 0.0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers fire without waiting."""

    def __init__(self) -> None:
        self.virtual = _SkippingSelector()
        super().__init__(self.virtual)

    def time(self) -> float:
        return self.virtual.now


def run_virtual(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main())


@dataclass
class SimulatedEndpoint:
    """An endpoint with a request limit, a number of parallel calls it can serve, and a share of
    transient faults, a third each 429 with one second, 503, and a lost connection."""

    latency: float = 0.06
    limiter: Limiter | None = None
    capacity: int | None = None
    fault_share: float = 0.0
    seed: int = 1
    in_service: int = 0
    starts: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    successes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    async def call(self) -> dict[str, Any]:
        """Serve a call; return the outcome as the keywords of `EndpointLimiter.release`."""
        now = asyncio.get_running_loop().time()
        self.starts.append(now)
        if self.limiter and (wait := self.limiter.admit(now)) is not None:
            self.refusals.append(now)
            return {"congested": True, "neutral": True, "limited": True, "wait": wait}
        if self.capacity is not None and self.in_service >= self.capacity:
            return {"congested": True, "neutral": True}
        quota = parse_request_quota(self.limiter.headers(now)) if self.limiter else None
        fault = self.rng.random()
        if fault < self.fault_share:
            return self._transient_fault(fault / self.fault_share)
        self.in_service += 1
        await asyncio.sleep(self.latency)
        self.in_service -= 1
        self.successes.append(asyncio.get_running_loop().time())
        return {"quota": quota} if quota else {}

    def _transient_fault(self, which: float) -> dict[str, Any]:
        if which < 1 / 3:
            return {"congested": True, "neutral": True, "limited": True, "wait": 1.0}
        return {"congested": which < 2 / 3, "neutral": True}


async def use_endpoint(
    endpoint: SimulatedEndpoint | _CountedEndpoint,
    *,
    workers: int,
    calls: int = 10**9,
    seconds: float = 10**9,
    limiter: EndpointLimiter | None = None,
    max_attempts: int = 10**9,
) -> EndpointLimiter:
    """Make so many calls with retries from several workers, as a run does."""
    loop = asyncio.get_running_loop()
    limiter = limiter or EndpointLimiter(workers, loop.time)
    rng, left = random.Random(0), iter(range(calls))

    async def worker() -> None:
        for _ in left:
            attempts = 0
            while loop.time() < seconds:
                started = await limiter.acquire(lambda: False)
                assert started is not None
                outcome = await endpoint.call()
                limiter.release(started, **outcome)
                attempts += 1
                if not outcome.get("neutral") or attempts == max_attempts:
                    break
                backoff = min(30, 0.5 * 2 ** (attempts - 1)) * (0.5 + rng.random() / 2)
                held = outcome.get("limited") and limiter.makes_all_calls_wait
                await asyncio.sleep(0 if held else outcome.get("wait") or backoff)
            if loop.time() >= seconds:
                return

    await asyncio.gather(*(worker() for _ in range(workers)))
    return limiter


class Unlimited(EndpointLimiter):
    """A limiter that never makes a call wait: the bare loop to compare with."""

    def __init__(self) -> None:
        super().__init__(1)

    async def acquire(self, closed: Callable[[], bool], run: object = None) -> float | None:
        return 0.0

    def release(self, started: float, **outcome: Any) -> None: ...


@dataclass
class _CountedEndpoint:
    """One client's way to an endpoint that others use too."""

    endpoint: SimulatedEndpoint
    accepted: list[float] = field(default_factory=list)

    async def call(self) -> dict[str, Any]:
        outcome = await self.endpoint.call()
        if not outcome.get("neutral"):
            self.accepted.append(asyncio.get_running_loop().time())
        return outcome


def use_together(
    endpoint: SimulatedEndpoint,
    seconds: float,
    *,
    starts: Sequence[float] = (0.0, 0.0),
    make_limiter: Callable[[], EndpointLimiter | None] = lambda: None,
) -> list[int]:
    """Use an endpoint from several clients that start at the given times; return the accepted
    calls of each after the first minute."""
    clients = [_CountedEndpoint(endpoint) for _ in starts]

    async def use(client: _CountedEndpoint, start: float) -> None:
        await asyncio.sleep(start)
        await use_endpoint(client, workers=16, seconds=seconds, limiter=make_limiter())

    async def main() -> None:
        await asyncio.gather(*(use(client, at) for client, at in zip(clients, starts, strict=True)))

    run_virtual(main)
    return [sum(60 < t <= seconds for t in client.accepted) for client in clients]


def jain_index(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 if all shares are equal, 1/n if one client has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))
