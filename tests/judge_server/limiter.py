"""A rate limiter with a memory: who kept calling although told to wait?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from email.utils import formatdate

KEPT = 10_000  # arrivals remembered per cool-down, so that a storm cannot eat the memory


def retry_after(style: str, seconds: float, wall: float) -> dict[str, str]:
    """The header a provider sends: whole seconds, an HTTP date (rounded up), or milliseconds."""
    if style == "seconds":
        return {"Retry-After": str(math.ceil(seconds))}
    if style == "date":
        return {"Retry-After": formatdate(math.ceil(wall + seconds), usegmt=True)}
    if style == "ms":
        return {"Retry-After-Ms": str(math.ceil(seconds * 1000))}
    if style == "none":
        return {}
    raise ValueError(f"No Retry-After style named {style!r}. Known: seconds, date, ms, none.")


@dataclass
class Cooldown:
    """A time in which clients were asked to be quiet; `offsets` are the arrivals in it, in seconds
    since its start."""

    start: float
    end: float
    received: int = 0
    offsets: list[float] = field(default_factory=list)

    def saw(self, now: float) -> None:
        self.received += 1
        if len(self.offsets) < KEPT:
            self.offsets.append(now - self.start)

    def after(self, grace: float) -> int:
        """Arrivals later than `grace` seconds: those before may have been on the wire already."""
        return sum(offset > grace for offset in self.offsets)


@dataclass
class Cooldowns:
    """Every cool-down of a server, the limiter's and those of scripted 429s; one that is on is
    prolonged."""

    all: list[Cooldown] = field(default_factory=list)

    def arrive(self, now: float) -> None:
        if self.all and now < self.all[-1].end:
            self.all[-1].saw(now)

    def open(self, now: float, seconds: float) -> None:
        if self.all and now < self.all[-1].end:
            self.all[-1].end = max(self.all[-1].end, now + seconds)
        elif len(self.all) < KEPT:
            self.all.append(Cooldown(now, now + seconds))

    def as_json(self, grace: float) -> list[dict[str, float]]:
        return [
            {
                "start": c.start,
                "seconds": c.end - c.start,
                "received": c.received,
                "after_grace": c.after(grace),
            }
            for c in self.all
        ]


@dataclass
class Limiter:
    """A token bucket of `burst` requests, refilled at `rate` per second.

    A refusal names the time until the next token, or `wait` seconds if given. `stern` refuses
    everything
    until the time named is over, as providers with a penalty do.
    """

    rate: float
    burst: float = 1.0
    style: str = "seconds"
    wait: float | None = None
    stern: bool = False
    reports: bool = False
    """Whether replies carry the `x-ratelimit-*` headers."""
    refused: int = 0
    tokens: float = field(init=False)
    refilled: float | None = field(init=False, default=None)
    quiet_until: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1:
            raise ValueError("A limiter needs a rate above 0 and a burst of at least 1.")
        retry_after(self.style, 0, 0)
        self.tokens = self.burst

    def admit(self, now: float) -> float | None:
        """None to let the request in, else the seconds to wait."""
        self._refill(now)
        if self.tokens >= 1 and not (self.stern and now < self.quiet_until):
            self.tokens -= 1
            return None
        self.refused += 1
        return self._named_wait(now)

    def headers(self, now: float) -> dict[str, str]:
        """The requests left and the seconds until all are there again, as OpenAI reports them."""
        if not self.reports:
            return {}
        self._refill(now)
        return {
            "x-ratelimit-limit-requests": f"{self.burst:g}",
            "x-ratelimit-remaining-requests": str(int(self.tokens)),
            "x-ratelimit-reset-requests": f"{(self.burst - int(self.tokens)) / self.rate:.3f}s",
        }

    def _refill(self, now: float) -> None:
        passed = 0.0 if self.refilled is None else now - self.refilled
        self.tokens = min(self.burst, self.tokens + passed * self.rate)
        self.refilled = now

    def _named_wait(self, now: float) -> float:
        if self.stern and now < self.quiet_until:
            return self.quiet_until - now
        wait = (1 - self.tokens) / self.rate if self.wait is None else self.wait
        if self.style == "seconds":
            wait = math.ceil(wait)
        self.quiet_until = max(self.quiet_until, now + wait)
        return wait
