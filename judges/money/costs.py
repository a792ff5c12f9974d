"""Prices of calls, and the ledger: a run's account of dollars, in which the maximum cost of a call
is reserved before it is sent, so that the run stays within its budget."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

import yaml

from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.security.endpoint_rules import is_private_url
from studies.domain import JudgeSpec, Price, Usage

PRICES_FILE: Final = Path(__file__).parents[1] / "prices.yaml"
MILLION: Final = 1_000_000
WORST_TOKENS_PER_BYTE: Final = 0.5
"""Tokens per byte assumed for a call's maximum cost (English has about 0.25, other scripts up to
0.5); raised when a reply reports more."""
WORST_TOKENS_PER_MESSAGE: Final = 16
WORST_TOKENS_PER_IMAGE: Final = 2000
CAP_PARAMETERS: Final = ("max_completion_tokens", "max_tokens")
"""The two parameter names for the limit on a reply's tokens."""


def price_of(judge: JudgeSpec) -> Price | None:
    """Return a judge's price: the one in the study file, else the one in prices.yaml; 0 for
    embedded and simulated judges, None if unknown."""
    if judge.kind != "endpoint":
        return Price(0.0, 0.0)
    return judge.price or listed_price(judge.model, judge.endpoint)


def listed_price(model: str, url: str) -> Price | None:
    """Return the price of a model in prices.yaml; None if it is not listed, and for a server on
    this machine or in a private network, because the list has the prices of providers only."""
    return None if is_private_url(url) else listed_prices().get(model)


def require_prices_for_budget(budget: float | None, judges: Iterable[JudgeSpec]) -> None:
    """Raise PlanError if a budget is set and the price of a judge is unknown."""
    for judge in judges:
        if budget is not None and price_of(judge) is None:
            raise PlanError(
                f"judge {judge.name!r}: its price is not known, so a budget of ${budget:g} "
                "cannot limit its cost; set its price, or remove budget_usd"
            )


@lru_cache(maxsize=4)
def listed_prices(path: Path = PRICES_FILE) -> dict[str, Price]:
    """Return listed prices by model, in dollars per million tokens; the price file states the day
    on which each price was checked."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        model: Price(**{name: value for name, value in entry.items() if name != "checked"})
        for model, entry in (values.get("models") or {}).items()
    }


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """Return the cost of a call in dollars, 0 if it is free; None if the price is unknown, or if a
    number of tokens that has a price is unknown. Tokens read from or written to the provider's
    cache have separate prices if the price list contains them."""
    if price is not None and not any(astuple(price)):
        return 0.0
    if price is None or usage.prompt is None or (usage.completion is None and price.output):
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    plain = usage.prompt - usage.cached - usage.cache_write
    if plain < 0:  # some endpoints do not count cached tokens as prompt tokens
        plain = usage.prompt
    dollars = plain * price.input + usage.cached * read + usage.cache_write * write
    return (dollars + (usage.completion or 0) * price.output) / MILLION


def reply_token_cap(call: JudgeCall) -> int:
    """Return the maximum number of tokens of a reply: the call's own limit, else the judge's."""
    caps = (call.parameters.get(name) for name in CAP_PARAMETERS)
    return int(next((cap for cap in caps if cap is not None), call.judge.max_tokens))


@dataclass(slots=True)
class Ledger:
    """Dollars spent and reserved by one run; a call is made only if its maximum cost fits the
    budget."""

    budget: float | None = None
    spent_by_others: float = 0.0
    """Dollars of the budget spent by other runs of the study."""
    unknown_by_others: int = 0
    """Number of calls of other runs that may have been billed at an unknown cost: they returned no
    token counts, or their process ended."""
    max_cost_by_others: float = 0.0
    """The highest cost of one call of another run."""
    in_flight_by_others: int = 0
    """Number of calls of other runs that are in flight now."""
    spent: dict[str, float] = field(default_factory=dict)
    unpriced: Counter[str] = field(default_factory=Counter)
    """Judge -> number of calls at an unknown price; their cost is shown as unknown, never as 0."""
    unknown_usage: Counter[str] = field(default_factory=Counter)
    """Judge -> number of calls that may have been billed but returned no token counts; the budget
    counts them at their maximum cost."""
    _maybe_spent: float = 0.0
    _reserved: float = 0.0
    _max_worst_case: float = 0.0
    _open_calls: int = 0
    _tokens_per_byte: float = WORST_TOKENS_PER_BYTE
    _waiters: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def dollars_spent(self) -> float:
        """Dollars spent by this run, as far as they are known."""
        return sum(self.spent.values())

    @property
    def has_no_reserved_calls(self) -> bool:
        """Whether no call with a reserved cost is in flight. If so, it is useless to wait for
        dollars to become free."""
        return self._open_calls == 0

    @property
    def remaining(self) -> float:
        """Dollars of the budget that are left: neither spent, nor possibly spent, nor reserved, by
        this or any other run of the study; infinite without a budget."""
        if self.budget is None:
            return math.inf
        worst = self._max_worst_case
        others = (
            self.spent_by_others
            + self.unknown_by_others * (self.max_cost_by_others or worst)
            + self.in_flight_by_others * worst
        )
        return self.budget - others - self.dollars_spent - self._maybe_spent - self._reserved

    def reserve(self, call: JudgeCall, price: Price | None) -> float | None:
        """Reserve the maximum cost of a call and return it, in dollars; 0 if the price is unknown
        (None). If less than that is left of the budget, reserve nothing and return None."""
        worst = worst_case_cost(call, price, self._tokens_per_byte)
        self._max_worst_case = max(self._max_worst_case, worst)
        if worst and worst > self.remaining + 1e-12:
            return None
        self._reserved += worst
        self._open_calls += worst > 0
        return worst

    def settle(
        self,
        judge: str,
        reserved: float,
        usage: Usage,
        price: Price | None,
        *,
        maybe_billed: bool = True,
    ) -> float | None:
        """End the reservation of `reserved` dollars for a call, record the call's cost and return
        it. None if the cost is unknown; if the call may have been billed (`maybe_billed`), the
        reserved dollars then still count against the budget."""
        self._open_calls -= reserved > 0
        self._reserved = max(0.0, self._reserved - reserved) if self._open_calls else 0.0
        cost = cost_of(usage, price)
        if cost is not None:
            self.spent[judge] = self.spent.get(judge, 0.0) + cost
        elif maybe_billed:
            (self.unpriced if price is None else self.unknown_usage)[judge] += 1
            self._maybe_spent += reserved
        self.wake_waiters()
        return cost

    async def wait_for_release_or_control(self) -> None:
        """Wait until a reservation is released, or the run is stopped, paused or resumed."""
        future = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        await future

    def wake_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for future in waiters:
            if not future.done():
                future.set_result(None)

    def calibrate_tokens_per_byte(self, call: JudgeCall, usage: Usage) -> None:
        """Correct the number of tokens per byte by which maximum costs are estimated, if it was too
        low: it is raised to 110 % of the number in this call. It is never lowered, and a call
        with images is ignored."""
        size, images = _count_bytes_and_images(call)
        if usage.prompt and size and not images:
            tokens = usage.prompt - WORST_TOKENS_PER_MESSAGE * len(call.messages)
            self._tokens_per_byte = max(self._tokens_per_byte, 1.1 * tokens / size)


def worst_case_cost(call: JudgeCall, price: Price | None, tokens_per_byte: float) -> float:
    """Return the maximum cost of a call in dollars: no prompt token cached, longest reply allowed.
    `tokens_per_byte` is assumed for the text of the prompt. 0 if the price is unknown."""
    if price is None or not (price.input or price.output):
        return 0.0
    size, images = _count_bytes_and_images(call)
    sent = size * tokens_per_byte + images * WORST_TOKENS_PER_IMAGE
    sent += WORST_TOKENS_PER_MESSAGE * len(call.messages)
    input_price = max(price.input, price.cache_write or 0.0)
    return (sent * input_price + reply_token_cap(call) * price.output) / MILLION


def _count_bytes_and_images(call: JudgeCall) -> tuple[int, int]:
    """Return the bytes of text and the number of images in a call; an image's base64 data is not
    counted as text."""
    parts = call.message_parts()
    size = sum(len(part.get("text", "").encode()) for part in parts)
    return size, sum(part.get("type") == "image_url" for part in parts)
