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

from judges.cost import listed_prices, worst_case
from judges.errors import PlanError
from judges.models.answers import Call
from studies.records import JudgeSpec, Price
from studies.writer import Work

TOKENS_PER_BYTE: Final = 1.0
"""No tokenizer that works on bytes makes more tokens than there are bytes; a stranger may try."""
_ENV: Final = "EVENHAND_HOUSE_"

Write = Callable[[Work], Awaitable[Any]]
"""Commits some work and gives its result."""


@dataclass(frozen=True, slots=True)
class House:
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

    def refuses(self, judge: JudgeSpec, *, sees: bool = False) -> str:
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


def house() -> House | None:
    """As the environment says; None, and that is the default: no key is lent."""
    key_env = os.environ.get(f"{_ENV}KEY_ENV", "").strip()
    if not key_env:
        return None
    if not os.environ.get(key_env):
        raise PlanError(f"{_ENV}KEY_ENV names {key_env}, which is not set")
    models = [m.strip() for m in os.environ.get(f"{_ENV}MODELS", "").split(",") if m.strip()]
    if not models:
        raise PlanError(f"{_ENV}MODELS is empty: name the models that visitors may ask, by commas")
    known = listed_prices()
    if unknown := [model for model in models if model not in known]:
        raise PlanError(
            f"{_ENV}MODELS: no price is known for {', '.join(unknown)}, so no cap could be kept; "
            "add it to judges/prices.yaml"
        )
    return House(
        key_env=key_env,
        endpoint=os.environ.get(f"{_ENV}URL", "").strip() or "https://api.openai.com/v1",
        prices={model: known[model] for model in models},
        run_usd=_dollars("RUN_USD", 0.10),
        visitor_usd=_dollars("VISITOR_USD", 0.25),
        day_usd=_dollars("DAY_USD", 2.0),
    )


def _dollars(name: str, default: float) -> float:
    said = os.environ.get(_ENV + name, "").strip()
    try:
        value = float(said) if said else default
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise PlanError(f"{_ENV}{name}: {said!r} is no amount of dollars")
    return value


def switch(store: Path) -> Path:
    """A file beside the store: while it is there, no call is made with the house's key."""
    return store.with_name(store.name + "-house-off")


def is_off(store: Path) -> bool:
    return os.environ.get(f"{_ENV}OFF", "") not in ("", "0") or switch(store).exists()


class Purse:
    """What one run may still spend of the house's money."""

    def __init__(
        self,
        store: Path,
        lent: House,
        visitor: str,
        run: str,
        model: str,
        write: Write,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`write`: the run's own, for a full disk must pause the run here too: what comes back
        after it is paid for."""
        self.price = lent.prices[model]
        self._store, self._lent, self._visitor, self._run = store, lent, visitor, run
        self._write, self._wall = write, wall
        self._open = 0
        self._settled = asyncio.Event()

    @property
    def idle(self) -> bool:
        """No call of this run is in flight: nothing more will be given back."""
        return self._open == 0

    async def changed(self) -> None:
        """Returns when a call of this run was settled: it may have cost less than was set aside."""
        if not self.idle:
            self._settled.clear()
            await self._settled.wait()

    async def reserve(self, call: Call) -> int | str:
        """The reservation's number, or why there is none."""
        if is_off(self._store):
            return "the owner of this page has switched the house's key off; type a key of your own"
        worst = worst_case(call, self.price, TOKENS_PER_BYTE)
        reserved: int | str = await self._write(lambda c: self._reserve(c, worst))
        self._open += isinstance(reserved, int)
        return reserved

    async def release(self, number: int) -> None:
        """No call was made, or none that is billed."""
        try:
            await self._write(lambda c: c.execute("DELETE FROM allowance WHERE id=?", (number,)))
        finally:
            self._close()

    async def settle(self, number: int, cost: float | None) -> None:
        """What it cost; None: nobody told, the worst case stands."""
        try:
            if cost is not None:
                await self._write(
                    lambda c: c.execute("UPDATE allowance SET spent=? WHERE id=?", (cost, number))
                )
        finally:
            self._close()

    def _close(self) -> None:
        self._open -= 1
        self._settled.set()

    def _reserve(self, connection: sqlite3.Connection, worst: float) -> int | str:
        day = time.strftime("%Y-%m-%d", time.gmtime(self._wall()))
        lent = self._lent
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
class Loan:
    """What the house has set aside for one call, if it pays for it at all."""

    _number: int | None = None

    @property
    def taken(self) -> bool:
        return self._number is not None

    async def take(self, purse: Purse | None, call: Call) -> str:
        """Why the judge cannot go on; empty if it may, or may after a call in flight is settled:
        that may cost less than its worst case."""
        if purse is None:
            return ""
        alone = purse.idle
        reserved = await purse.reserve(call)
        if isinstance(reserved, int):
            self._number = reserved
            return ""
        return reserved if alone and purse.idle else ""

    async def give_back(self, purse: Purse | None) -> None:
        """No call was made; where nothing could be set aside, waits for one in flight."""
        if purse is None:
            return
        if self._number is None:
            await purse.changed()
        else:
            await purse.release(self._number)
        self._number = None

    async def settle(self, purse: Purse | None, cost: float | None, *, billed: bool) -> None:
        if purse is None or self._number is None:
            return
        if billed:
            await purse.settle(self._number, cost)
        else:
            await purse.release(self._number)
        self._number = None
