"""What calls cost: the price of a usage, and a budget that is reserved before each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from judges.models.answers import Call
from studies.records import JudgeSpec, Price, Usage

PRICES: Final = Path(__file__).with_name("prices.yaml")
MILLION: Final = 1_000_000
WORST_CHARACTERS_PER_TOKEN: Final = 2.0
"""Before any reply has calibrated it, a prompt may hold a token every two characters."""


def price_of(judge: JudgeSpec) -> Price | None:
    """The study's price, else the dated list's; ours cost nothing; None is unknown, never 0."""
    if judge.kind != "endpoint":
        return Price(0.0, 0.0)
    return judge.price or listed_prices().get(judge.model)


def listed_prices(path: Path = PRICES) -> dict[str, Price]:
    """Dollars per million tokens by model, as data with a date and a source."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {model: Price(**price) for model, price in (values.get("models") or {}).items()}


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """Cached and cache-writing tokens have prices of their own where the provider says so."""
    if price is None or usage.prompt is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    plain = usage.prompt - usage.cached - usage.cache_write
    dollars = plain * price.input + usage.cached * read + usage.cache_write * write
    return (dollars + (usage.completion or 0) * price.output) / MILLION


@dataclass(slots=True)
class Ledger:
    """Dollars spent and reserved by one run; a call is made only if its worst case fits."""

    budget: float | None = None
    spent: dict[str, float] = field(default_factory=dict)
    unpriced: dict[str, int] = field(default_factory=dict)
    """Calls whose price is not known: shown as unknown, never as 0."""
    _reserved: float = 0.0
    _open: int = 0
    _most_tokens_per_character: float = 0.0

    @property
    def total(self) -> float:
        return sum(self.spent.values())

    @property
    def idle(self) -> bool:
        """No call in flight: nothing more will be given back."""
        return self._open == 0

    def reserve(self, call: Call, price: Price | None) -> float | None:
        """Dollars set aside for the worst case of a call, or None if they are not there."""
        worst = self._worst(call, price)
        if self.budget is not None and self.total + self._reserved + worst > self.budget + 1e-12:
            return None
        self._reserved += worst
        self._open += 1
        return worst

    def settle(
        self, judge: str, reserved: float, usage: Usage, price: Price | None
    ) -> float | None:
        """Gives the reservation back and books what the call cost; an unknown cost is counted."""
        self._open -= 1
        self._reserved = max(0.0, self._reserved - reserved) if self._open else 0.0
        cost = cost_of(usage, price)
        if cost is None:
            if price is None:
                self.unpriced[judge] = self.unpriced.get(judge, 0) + 1
            return None
        self.spent[judge] = self.spent.get(judge, 0.0) + cost
        return cost

    def calibrate(self, call: Call, usage: Usage) -> None:
        """Learns how many tokens a character makes with these models."""
        characters = _characters(call)
        if usage.prompt and characters:
            rate = usage.prompt / characters
            self._most_tokens_per_character = max(self._most_tokens_per_character, rate)

    def _worst(self, call: Call, price: Price | None) -> float:
        if price is None:
            return 0.0
        rate = self._most_tokens_per_character * 1.1 or 1 / WORST_CHARACTERS_PER_TOKEN
        out = int(call.parameters.get("max_tokens", call.judge.max_tokens))
        return (_characters(call) * rate * price.input + out * price.output) / MILLION


def _characters(call: Call) -> int:
    return sum(len(str(message["content"])) for message in call.messages)
