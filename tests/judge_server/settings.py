"""How a judge server behaves: one frozen description, all of it optional."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from .behaviour import Behaviour, judge
from .bill import Prices
from .faults import Fault, Rule
from .limiter import Limiter
from .tokens import Cache, PrefixCache

Latency = float | tuple[float, float] | Callable[[int], float]


@dataclass(frozen=True)
class Settings:
    """What the server is like.

    latency: seconds of every answer; (low, high) is drawn evenly from the seed; a callable gets
        the request's index.
    refuses: parameters always refused ("max_tokens", "temperature", "logprobs"), and "images".
    context_limit: prompts of more tokens get a 400.
    api_keys: any other key gets a 401. echo_key: errors repeat the caller's key.
    models: listed by /v1/models; `strict_models` refuses others with 404.
    reported_model: what replies name instead of the model asked for.
    key_header: a request header that names the ask, where two asks have one body.
    grace: seconds at the start of a cool-down whose arrivals `after_grace` forgives in the books.
    """

    behaviour: Behaviour = field(default_factory=judge)
    latency: Latency = 0.0
    rules: Sequence[Rule] = ()
    seed: int = 0
    limiter: Limiter | None = None
    prices: Prices = field(default_factory=Prices)
    cache: Cache = field(default_factory=PrefixCache)
    refuses: Collection[str] = ()
    context_limit: int | None = None
    api_keys: Collection[str] | None = None
    models: Sequence[str] = ("judge",)
    strict_models: bool = False
    reported_model: str | None = None
    key_header: str | None = None
    keep_calls: bool = True
    grace: float = 0.1
    echo_key: bool = False

    def standing_fault(self, parameter: str) -> Fault:
        if parameter == "images":
            return Fault("images_refused")
        return Fault("unsupported_parameter", parameter=parameter)
