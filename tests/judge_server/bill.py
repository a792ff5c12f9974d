"""The judge server's own books: what each call used and cost, to the exact millionth of a
millionth of a dollar.

One price unit is a micro-dollar per million tokens, which is one pico-dollar per token: 0.15
dollars per
million tokens is 150_000. So every amount is an integer, and nothing is rounded before it is shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from decimal import Decimal

from .tokens import Usage

PICO_PER_MICRO = 1_000_000


@dataclass(frozen=True)
class Prices:
    """Micro-dollars per million tokens. The default: 2 dollars in, 1 cached, 3 written to the
    cache, 8 out."""

    prompt: int = 2_000_000
    cached: int = 1_000_000
    cache_write: int = 3_000_000
    completion: int = 8_000_000

    def pico_dollars(self, usage: Usage) -> int:
        fresh = usage.prompt - usage.cached - usage.cache_write
        return (
            fresh * self.prompt
            + usage.cached * self.cached
            + usage.cache_write * self.cache_write
            + usage.completion * self.completion
        )


@dataclass(slots=True)
class Call:
    """One request in the books.

    `billed`: it costs money. `told`: the client was sent its usage whole, so its ledger can know
    the price.
    `failed`: no verdict could come of it, or it is marked by the fault it met. `delivered`: all
    bytes of the
    answer were handed to the kernel before the client went away.
    """

    index: int
    key: str
    attempt: int
    arrived: float
    status: int = 0
    fault: str = ""
    failed: bool = False
    billed: bool = False
    told: bool = False
    delivered: bool = False
    prompt: int = 0
    cached: int = 0
    cache_write: int = 0
    completion: int = 0
    pico_dollars: int = 0


@dataclass(slots=True)
class Totals:
    """Sums over calls; `dollars` is exact.

    `untold`: billed calls whose usage did not, or not yet, reach the client whole: what a ledger
    can only guess.
    """

    calls: int = 0
    billed: int = 0
    billed_failed: int = 0
    untold: int = 0
    delivered: int = 0
    prompt: int = 0
    cached: int = 0
    cache_write: int = 0
    completion: int = 0
    pico_dollars: int = 0
    untold_pico_dollars: int = 0

    @property
    def micro_dollars(self) -> int:
        """Rounded half up; exact when prices are whole dollars per million tokens, as the default
        ones."""
        return (self.pico_dollars + PICO_PER_MICRO // 2) // PICO_PER_MICRO

    @property
    def dollars(self) -> Decimal:
        return Decimal(self.pico_dollars).scaleb(-12)

    def add(self, call: Call) -> None:
        self.billed += 1
        self.billed_failed += call.failed
        self.prompt += call.prompt
        self.cached += call.cached
        self.cache_write += call.cache_write
        self.completion += call.completion
        self.pico_dollars += call.pico_dollars
        self.untold += 1
        self.untold_pico_dollars += call.pico_dollars

    def deliver(self, call: Call) -> None:
        self.delivered += 1
        if call.billed and call.told:
            self.untold -= 1
            self.untold_pico_dollars -= call.pico_dollars


@dataclass
class Bill:
    """All calls and their totals. `keep_calls=False` keeps totals and keys only, for very long
    runs."""

    prices: Prices = field(default_factory=Prices)
    keep_calls: bool = True
    calls: list[Call] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    by_key: Counter[str] = field(default_factory=Counter)
    billed_by_key: Counter[str] = field(default_factory=Counter)
    by_fault: Counter[str] = field(default_factory=Counter)
    by_status: Counter[int] = field(default_factory=Counter)

    def open(self, key: str, arrived: float) -> Call:
        """A call enters the books as soon as it arrives, so a client killed later cannot hide
        it."""
        self.by_key[key] += 1
        call = Call(self.totals.calls, key, self.by_key[key], arrived)
        self.totals.calls += 1
        if self.keep_calls:
            self.calls.append(call)
        return call

    def charge(self, call: Call, usage: Usage, *, told: bool) -> None:
        """Charged when the work starts: providers bill an answer that nobody stayed to read."""
        call.billed, call.told = True, told
        call.prompt, call.cached = usage.prompt, usage.cached
        call.cache_write, call.completion = usage.cache_write, usage.completion
        call.pico_dollars = self.prices.pico_dollars(usage)
        self.billed_by_key[call.key] += 1
        self.totals.add(call)

    def delivered(self, call: Call) -> None:
        call.delivered = True
        self.totals.deliver(call)

    @property
    def paid_twice(self) -> dict[str, int]:
        """Keys billed more than once, with the number of times."""
        return {key: times for key, times in self.billed_by_key.items() if times > 1}

    def as_json(self, *, with_calls: bool = False) -> dict[str, object]:
        sums: dict[str, object] = asdict(self.totals)
        sums |= {"micro_dollars": self.totals.micro_dollars, "dollars": str(self.totals.dollars)}
        books: dict[str, object] = {
            "prices": asdict(self.prices),
            "totals": sums,
            "keys": len(self.by_key),
            "paid_twice": self.paid_twice,
            "by_fault": dict(self.by_fault),
            "by_status": {str(status): n for status, n in self.by_status.items()},
        }
        if with_calls:
            books["calls"] = [asdict(call) for call in self.calls]
            books["by_key"] = dict(self.by_key)
        return books
