"""The house's key, where its owner lends it to strangers: few models, and a cap that holds.

The worst case of every call is reserved in the store before it is sent, by one statement after the
other in one writer, so that no number of sessions can pass a cap together. What a call really cost
takes the place of its reservation; where nobody told, or the process died, the worst case stands.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.money.costs import listed_prices, worst_case_cost
from studies.domain import JudgeSpec, Price
from studies.store.writer import WriteFunction

MAX_TOKENS_PER_BYTE: Final = 1.0
"""No tokenizer that works on bytes makes more tokens than there are bytes; a stranger may try."""
_ENV_PREFIX: Final = "EVENHAND_HOUSE_"

CommitWork = Callable[[WriteFunction], Awaitable[Any]]
"""Commits some work and gives its result."""


@dataclass(frozen=True, slots=True)
class HostKey:
    """What the owner lends: a key at one endpoint, some models, dollars."""

    key_env: str
    """The variable that holds the key; never the key."""
    endpoint: str
    prices: Mapping[str, Price]
    """By model: those that may be asked, at the owner's prices, not at those of a study file."""
    run_usd: float
    visitor_usd: float
    """Of one visitor, in a day."""
    day_usd: float
    """Of all together, in a day (UTC)."""

    def refusal_reason(self, judge: JudgeSpec, *, sees: bool = False) -> str:
        """Why this key does not answer for a judge; empty if it does."""
        if judge.api_key_env != self.key_env:
            return "api_key_env names a variable of this machine; type your key instead"
        if judge.endpoint.rstrip("/") != self.endpoint.rstrip("/"):
            return f"the house's key is for {self.endpoint} alone"
        if judge.model not in self.prices:
            return f"the house's key is for {', '.join(self.prices)}; type your own for others"
        if judge.extra_body:
            return "extra_body may change what a call costs: not with the house's key"
        if sees:
            return "what an image costs is not known beforehand: no images with the house's key"
        return ""


def load_host_key() -> HostKey | None:
    """As the environment says; None, and that is the default: no key is lent."""
    key_env = os.environ.get(f"{_ENV_PREFIX}KEY_ENV", "").strip()
    if not key_env:
        return None
    if not os.environ.get(key_env):
        raise PlanError(f"{_ENV_PREFIX}KEY_ENV names {key_env}, which is not set")
    models = [m.strip() for m in os.environ.get(f"{_ENV_PREFIX}MODELS", "").split(",") if m.strip()]
    if not models:
        raise PlanError(
            f"{_ENV_PREFIX}MODELS is empty: name the models that visitors may ask, by commas"
        )
    known = listed_prices()
    if unknown := [model for model in models if model not in known]:
        raise PlanError(
            f"{_ENV_PREFIX}MODELS: no price is known for {', '.join(unknown)}, so no cap could be kept; "
            "add it to judges/prices.yaml"
        )
    return HostKey(
        key_env=key_env,
        endpoint=os.environ.get(f"{_ENV_PREFIX}URL", "").strip() or "https://api.openai.com/v1",
        prices={model: known[model] for model in models},
        run_usd=_read_dollars("RUN_USD", 0.10),
        visitor_usd=_read_dollars("VISITOR_USD", 0.25),
        day_usd=_read_dollars("DAY_USD", 2.0),
    )


def _read_dollars(name: str, default: float) -> float:
    said = os.environ.get(_ENV_PREFIX + name, "").strip()
    try:
        value = float(said) if said else default
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise PlanError(f"{_ENV_PREFIX}{name}: {said!r} is no amount of dollars")
    return value


def off_switch_file(store: Path) -> Path:
    """A file beside the store: while it is there, no call is made with the house's key."""
    return store.with_name(store.name + "-house-off")


def is_host_key_off(store: Path) -> bool:
    return (
        os.environ.get(f"{_ENV_PREFIX}OFF", "") not in ("", "0") or off_switch_file(store).exists()
    )


class RunAllowance:
    """What one run may still spend of the house's money."""

    def __init__(
        self,
        store: Path,
        lent: HostKey,
        visitor: str,
        run: str,
        model: str,
        write: CommitWork,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`write`: the run's own, for a full disk must pause the run here too: what comes back
        after it is paid for."""
        self.price = lent.prices[model]
        self._store, self._host_key, self._visitor, self._run = store, lent, visitor, run
        self._write, self._wall_clock = write, wall
        self._open_calls = 0
        self._settled_event = asyncio.Event()

    @property
    def has_no_open_calls(self) -> bool:
        """No call of this run is in flight: nothing more will be given back."""
        return self._open_calls == 0

    async def wait_for_settlement(self) -> None:
        """Returns when a call of this run was settled: it may have cost less than was set aside."""
        if not self.has_no_open_calls:
            self._settled_event.clear()
            await self._settled_event.wait()

    async def reserve(self, call: JudgeCall) -> int | str:
        """The reservation's number, or why there is none."""
        if is_host_key_off(self._store):
            return "the owner of this page has switched the house's key off; type a key of your own"
        worst = worst_case_cost(call, self.price, MAX_TOKENS_PER_BYTE)
        reserved: int | str = await self._write(lambda c: self._reserve(c, worst))
        self._open_calls += isinstance(reserved, int)
        return reserved

    async def release(self, number: int) -> None:
        """No call was made, or none that is billed."""
        try:
            await self._write(lambda c: c.execute("DELETE FROM allowance WHERE id=?", (number,)))
        finally:
            self._close_call()

    async def settle(self, number: int, cost: float | None) -> None:
        """What it cost; None: nobody told, the worst case stands."""
        try:
            if cost is not None:
                await self._write(
                    lambda c: c.execute("UPDATE allowance SET spent=? WHERE id=?", (cost, number))
                )
        finally:
            self._close_call()

    def _close_call(self) -> None:
        self._open_calls -= 1
        self._settled_event.set()

    def _reserve(self, connection: sqlite3.Connection, worst: float) -> int | str:
        day = time.strftime("%Y-%m-%d", time.gmtime(self._wall_clock()))
        lent = self._host_key
        caps = (
            ("run=?", (self._run,), lent.run_usd, "this run"),
            ("day=? AND visitor=?", (day, self._visitor), lent.visitor_usd, "you today"),
            ("day=?", (day,), lent.day_usd, "everybody today"),
        )
        for where, values, cap, whose in caps:
            (gone,) = connection.execute(
                "SELECT COALESCE(sum(COALESCE(spent, reserved)), 0.0) FROM allowance "
                f"WHERE {where}",
                values,
            ).fetchone()
            if gone + worst > cap + 1e-12:
                return (
                    f"the house pays ${cap:.2f} for {whose}, ${gone:.4f} of it is gone, and one "
                    "more call might exceed it; type a key of your own to go on"
                )
        cursor = connection.execute(
            "INSERT INTO allowance(day, visitor, run, reserved) VALUES (?,?,?,?)",
            (day, self._visitor, self._run, worst),
        )
        return int(cursor.lastrowid or 0)


@dataclass(slots=True)
class CallReservation:
    """What the house has set aside for one call, if it pays for it at all."""

    _number: int | None = None

    @property
    def is_reserved(self) -> bool:
        return self._number is not None

    async def reserve_from(self, purse: RunAllowance | None, call: JudgeCall) -> str:
        """Why the judge cannot go on; empty if it may, or may after a call in flight is settled:
        that may cost less than its worst case."""
        if purse is None:
            return ""
        alone = purse.has_no_open_calls
        reserved = await purse.reserve(call)
        if isinstance(reserved, int):
            self._number = reserved
            return ""
        return reserved if alone and purse.has_no_open_calls else ""

    async def release_unused(self, purse: RunAllowance | None) -> None:
        """No call was made; where nothing could be set aside, waits for one in flight."""
        if purse is None:
            return
        if self._number is None:
            await purse.wait_for_settlement()
        else:
            await purse.release(self._number)
        self._number = None

    async def settle(self, purse: RunAllowance | None, cost: float | None, *, billed: bool) -> None:
        if purse is None or self._number is None:
            return
        if billed:
            await purse.settle(self._number, cost)
        else:
            await purse.release(self._number)
        self._number = None
