""" "This Space's key": an API key with which the host of a public page pays for calls of visitors,
to some models and up to spending limits (caps).

The maximum cost of every call is reserved in the store before the call is sent. Reservations are
made one at a time, each in a transaction, so that simultaneous sessions together cannot exceed a
cap. The actual cost then replaces the reservation; without token counts, or if the process died,
the maximum cost remains."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.money.costs import listed_prices, worst_case_cost
from studies import domain, settings
from studies.store.queries import allowance_queries
from studies.store.writer import WriteFunction

MAX_TOKENS_PER_BYTE: Final = 1.0
"""Tokens per byte assumed for a call's maximum cost: no byte-level tokenizer needs more, whatever
text a visitor sends."""

CommitWork = Callable[[WriteFunction], Awaitable[Any]]
"""Function that runs a write in a transaction and returns the result of the write."""

VARIABLE_REFUSED: Final = "api_key_env names a variable of this machine; type your key instead"


@dataclass(frozen=True, slots=True)
class HostKey:
    """Settings of the API key with which the page's host pays for visitors' calls (this Space's
    key): its environment variable and endpoint, the models allowed, and the spending limits."""

    key_env: str
    """Name of the environment variable that holds the key; the key itself is not stored here."""
    endpoint: str
    prices: Mapping[str, domain.Price]
    """Prices of the models allowed; the price in a study file is ignored."""
    run_usd: float
    """Spending cap of one run, in dollars."""
    visitor_usd: float
    """Spending cap of one visitor per day (UTC), in dollars."""
    day_usd: float
    """Spending cap of all visitors together per day (UTC), in dollars."""

    def refusal_reason(self, judge: domain.JudgeSpec, *, images: bool = False) -> str:
        """Return why the host's key may not pay for the calls of a judge; "" if it may. `images`
        states whether images are sent to the judge."""
        if judge.api_key_env != self.key_env:
            return VARIABLE_REFUSED
        if judge.endpoint.rstrip("/") != self.endpoint.rstrip("/"):
            return f"this Space's key can be used at {self.endpoint} only; type your own key"
        if judge.model not in self.prices:
            models = ", ".join(self.prices)
            return f"this Space's key can be used for {models} only; type your own key for others"
        if judge.extra_body:
            return (
                "this Space's key cannot be used with extra_body, which may change a call's "
                "cost; remove it, or type your own key"
            )
        if images:
            return (
                "this Space's key cannot be used with images: their cost is not known "
                "beforehand; type your own key"
            )
        return ""


def load_host_key_settings() -> HostKey | None:
    """Read the settings of the API key with which the page's host pays for visitors' calls, from
    environment variables. None if the host offers no key; PlanError if a setting is missing or a
    model has no listed price."""
    key_env = settings.HOST_KEY_VARIABLE.read()
    if not key_env:
        return None
    if not settings.secret_value(key_env):
        raise PlanError(
            f"{settings.HOST_KEY_VARIABLE.name} names {key_env}, which is not set; set {key_env}, "
            f"or unset {settings.HOST_KEY_VARIABLE.name}"
        )
    models = settings.HOST_KEY_MODELS.read()
    if not models:
        raise PlanError(
            f"{settings.HOST_KEY_MODELS.name} is empty: list the models that visitors may use, "
            "separated by commas"
        )
    known = listed_prices()
    if unknown := [model for model in models if model not in known]:
        raise PlanError(
            f"{settings.HOST_KEY_MODELS.name}: no price is known for {', '.join(unknown)}, so "
            "the spending limits cannot be applied; add the price to judges/prices.yaml"
        )
    return HostKey(
        key_env=key_env,
        endpoint=settings.HOST_KEY_URL.read(),
        prices={model: known[model] for model in models},
        run_usd=settings.HOST_KEY_RUN_USD.read(),
        visitor_usd=settings.HOST_KEY_VISITOR_USD.read(),
        day_usd=settings.HOST_KEY_DAY_USD.read(),
    )


def off_switch_file(store: Path) -> Path:
    """Return the path of a file beside the store. While this file exists, the host's API key pays
    for no more calls; the host creates it to switch the key off."""
    return store.with_name(store.name + "-house-off")


@dataclass(slots=True)
class RunAllowance:
    """Reserves and records the cost of one judge's calls in a run, if the API key of the page's
    host pays for them."""

    store: Path
    host_key: HostKey
    visitor: str
    run: str
    model: str
    write: CommitWork
    """The run's write function, which pauses the run if a write fails."""
    wall_clock: Callable[[], float] = time.time
    _open_calls: int = 0
    _settled_event: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def model_price(self) -> domain.Price:
        return self.host_key.prices[self.model]

    @property
    def has_no_reserved_calls(self) -> bool:
        """Whether no call of this judge is in flight. If so, it is useless to wait for dollars to
        become free."""
        return self._open_calls == 0

    async def wait_for_settlement(self) -> None:
        """Wait until the cost of a call in flight is known; it may be less than was reserved."""
        if not self.has_no_reserved_calls:
            self._settled_event.clear()
            await self._settled_event.wait()

    async def reserve(self, call: JudgeCall) -> int | str:
        """Reserve the maximum cost of a call; return the id of the reservation (int) or, if it
        would exceed a spending limit or the key is switched off, the reason as a text (str)."""
        if settings.HOST_KEY_OFF.read() or off_switch_file(self.store).exists():
            return "this Space's key was switched off by its owner; type your own key to go on"
        worst = worst_case_cost(call, self.model_price, MAX_TOKENS_PER_BYTE)
        reserved: int | str = await self.write(lambda c: self._reserve_within_caps(c, worst))
        self._open_calls += isinstance(reserved, int)
        return reserved

    async def release(self, number: int) -> None:
        """Delete the reservation with the id `number`: its call was not made or not billed."""
        try:
            await self.write(lambda c: allowance_queries.delete_reservation(c, number))
        finally:
            self._end_open_call_and_wake_waiters()

    async def settle(self, number: int, cost: float | None) -> None:
        """Replace the amount of the reservation `number` by the actual cost of its call; if `cost`
        is None (unknown), the reserved maximum stays."""
        try:
            if cost is not None:
                await self.write(lambda c: allowance_queries.settle_reservation(c, number, cost))
        finally:
            self._end_open_call_and_wake_waiters()

    def _end_open_call_and_wake_waiters(self) -> None:
        self._open_calls -= 1
        self._settled_event.set()

    def _reserve_within_caps(self, connection: sqlite3.Connection, worst: float) -> int | str:
        day = time.strftime("%Y-%m-%d", time.gmtime(self.wall_clock()))
        key = self.host_key
        caps: tuple[tuple[allowance_queries.AllowanceScope, float, str], ...] = (
            ("run", key.run_usd, "this run"),
            ("visitor", key.visitor_usd, "you today"),
            ("day", key.day_usd, "all visitors today"),
        )
        for scope, cap, who in caps:
            spent = allowance_queries.allowance_spent_or_reserved(
                connection, scope, day, self.visitor, self.run
            )
            if spent + worst > cap + 1e-12:
                return (
                    f"this Space's key pays ${cap:.2f} for {who}, ${spent:.4f} of it is spent, "
                    "and one more call might exceed it. Type your own key to go on"
                )
        return allowance_queries.put_reservation(connection, day, self.visitor, self.run, worst)


@dataclass(slots=True)
class CallReservation:
    """The dollars reserved for one call that the API key of the page's host pays for. For calls
    with another key (`allowance` is None), its methods do nothing."""

    _number: int | None = None

    @property
    def is_reserved(self) -> bool:
        return self._number is not None

    async def try_reserve(self, allowance: RunAllowance | None, call: JudgeCall) -> str:
        """Reserve the maximum cost of a call. Return "" or, if the judge must stop, the reason.

        "" has two meanings: the dollars are reserved, or they were refused while another call of
        the judge is in flight. That call may cost less than was reserved for it, so the caller
        tries again later. `is_reserved` tells the two apart."""
        if allowance is None:
            return ""
        alone = allowance.has_no_reserved_calls
        reserved = await allowance.reserve(call)
        if isinstance(reserved, int):
            self._number = reserved
            return ""
        return reserved if alone and allowance.has_no_reserved_calls else ""

    async def release_or_await_dollars(self, allowance: RunAllowance | None) -> None:
        """To be used after a call that was not sent. If dollars were reserved for it, free them;
        otherwise wait until another call of the judge has ended, because dollars may then be
        free."""
        if allowance is None:
            return
        if self._number is None:
            await allowance.wait_for_settlement()
        else:
            await allowance.release(self._number)
        self._number = None

    async def settle(
        self, allowance: RunAllowance | None, cost: float | None, *, billed: bool
    ) -> None:
        """Record the cost of a call, or delete its reservation if the call was not billed."""
        if allowance is None or self._number is None:
            return
        if billed:
            await allowance.settle(self._number, cost)
        else:
            await allowance.release(self._number)
        self._number = None
