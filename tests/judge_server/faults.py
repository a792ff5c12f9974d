"""Everything that can go wrong with a provider, by name, and when it does.

A `Fault` is what happens, a `Rule` says to which requests; the first rule that matches a request
wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .asked import Asked
from .behaviour import draw


@dataclass(frozen=True)
class Kind:
    """`stage`: `refuse` answers with an error before any work, `reply` changes what the model says,
    `wire` spoils the answer on its way. `billed`, `told` as in the books (told: usage arrives
    whole)."""

    stage: str
    billed: bool
    told: bool = False
    failed: bool = True


REFUSED = Kind("refuse", billed=False)
SAID = Kind("reply", billed=True, told=True)
HARMLESS = Kind("reply", billed=True, told=True, failed=False)
SPOILT = Kind("wire", billed=True)
LATE = Kind("wire", billed=True, told=True)  # told only to a client that stays to the end
LOST = Kind("wire", billed=False)

KINDS: dict[str, Kind] = {
    "rate_limit_seconds": REFUSED,
    "rate_limit_date": REFUSED,
    "rate_limit_ms": REFUSED,
    "rate_limit_bare": REFUSED,  # a 429 without any Retry-After
    "insufficient_quota": REFUSED,
    "unauthorized": REFUSED,
    "forbidden": REFUSED,
    "model_not_found": REFUSED,
    "redirect": REFUSED,
    "server_error": REFUSED,
    "bad_gateway": REFUSED,  # an HTML page with status 502
    "unavailable": REFUSED,
    "context_overflow": REFUSED,
    "images_refused": REFUSED,
    "unsupported_parameter": REFUSED,
    "filtered_prompt": REFUSED,
    "empty_content": SAID,
    "null_content": SAID,
    "refusal": SAID,
    "content_filter": SAID,
    "length": SAID,
    "unclosed_think": SAID,
    "reasoning_content": HARMLESS,
    "think_block": HARMLESS,
    "no_usage": Kind("reply", billed=True, failed=False),
    "timeout": LATE,
    "slow_drip": LATE,
    "slow_stream": LATE,  # events spread over `seconds`; a reply in one piece comes after them
    "silent_stream": SPOILT,  # half the events, then `seconds` of silence
    "cut_stream": SPOILT,  # half the events, then a regular end
    "truncated_json": SPOILT,  # whole as HTTP, cut as JSON
    "cut_body": SPOILT,  # the connection closes before Content-Length is reached
    "wrong_json": SPOILT,
    "huge_body": LATE,
    "connection_reset": LOST,
    "wrong_content_type": LOST,
}

SHAPES: dict[str, frozenset[str]] = {
    "wrong_json": frozenset(
        {"list", "null", "no_choices", "null_message", "number_content", "error_in_200"}
    ),
    "context_overflow": frozenset({"vllm", "vllm-flat", "deepseek", "llama.cpp"}),
    "images_refused": frozenset({"vllm"}),
}


@dataclass(frozen=True)
class Fault:
    """One fault; options that a kind does not know are ignored by it.

    retry_after: seconds named by a 429 or 503. seconds: how long `timeout` hangs or `slow_drip`
    drips.
    size: bytes of `huge_body`. parameter: what `unsupported_parameter` refuses. shape: a variant
    of the body
    (`wrong_json`, `context_overflow`, `images_refused`). limit: tokens named by `context_overflow`.
    location: where `redirect` leads. billed: overrides the kind's rule. delay: seconds before a
    refusal.
    echo_key: the caller's API key is put into the error message, as some providers do.
    """

    kind: str
    retry_after: float | None = None
    seconds: float = 30.0
    size: int = 32 * 2**20
    parameter: str = "max_tokens"
    shape: str = ""
    limit: int = 8192
    location: str = "http://127.0.0.1:9/v1/chat/completions"
    billed: bool | None = None
    delay: float = 0.0
    echo_key: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"No fault named {self.kind!r}. Known faults: {', '.join(KINDS)}.")
        shapes = SHAPES.get(self.kind, frozenset())
        if self.shape and self.shape not in shapes:
            known = ", ".join(sorted(shapes)) or "none"
            raise ValueError(f"{self.kind!r} has no shape {self.shape!r}. Known shapes: {known}.")

    @property
    def rules(self) -> Kind:
        return KINDS[self.kind]

    @property
    def is_billed(self) -> bool:
        return self.rules.billed if self.billed is None else self.billed

    def applies(self, asked: Asked) -> bool:
        """A refused parameter or image must be there to be refused: without it the request goes
        through."""
        if self.kind == "unsupported_parameter":
            return self.parameter in asked.body
        if self.kind == "images_refused":
            return asked.images > 0
        return True


Condition = Callable[[Asked], bool]


@dataclass
class Rule:
    """A fault for the requests that meet every condition given.

    chance: share of requests, drawn from the seed, the request's key and its attempt (arrival
    order is no part of it).
    indexes: request numbers from 0. attempts: per key, from 1. containing: a substring of the
    prompt's text.
    times: at most so often. when: any other test.
    """

    fault: Fault
    chance: float = 1.0
    indexes: frozenset[int] | None = None
    attempts: frozenset[int] | None = None
    containing: str = ""
    times: int | None = None
    when: Condition | None = None
    fired: int = field(default=0, init=False)

    def matches(self, asked: Asked, seed: int) -> bool:
        return (
            (self.times is None or self.fired < self.times)
            and (self.indexes is None or asked.index in self.indexes)
            and (self.attempts is None or asked.attempt in self.attempts)
            and self.containing in asked.text
            and (self.when is None or self.when(asked))
            and self.fault.applies(asked)
            and self._drawn(asked, seed)
        )

    def _drawn(self, asked: Asked, seed: int) -> bool:
        if self.chance >= 1:
            return True
        return draw(seed, self.fault.kind, asked.key, asked.attempt) < self.chance


@dataclass
class Schedule:
    """The rules of a server, in order."""

    rules: Sequence[Rule] = ()
    seed: int = 0

    def pick(self, asked: Asked) -> Fault | None:
        for rule in self.rules:
            if rule.matches(asked, self.seed):
                rule.fired += 1
                return rule.fault
        return None


def always(fault: Fault) -> Rule:
    return Rule(fault)


def sometimes(fault: Fault, chance: float) -> Rule:
    return Rule(fault, chance=chance)


def first_attempt(fault: Fault) -> Rule:
    """Once per request key; the retry goes through."""
    return Rule(fault, attempts=frozenset({1}))


def at(fault: Fault, *indexes: int) -> Rule:
    return Rule(fault, indexes=frozenset(indexes))


def containing(text: str, fault: Fault) -> Rule:
    return Rule(fault, containing=text)


def script(faults: Iterable[Fault | None]) -> list[Rule]:
    """The n-th request of all meets the n-th entry; None is a good reply, and so is everything
    after the end."""
    return [at(fault, index) for index, fault in enumerate(faults) if fault]


def script_per_key(faults: Iterable[Fault | None], containing: str = "") -> list[Rule]:
    """The n-th attempt of every request meets the n-th entry."""
    return [
        Rule(fault, attempts=frozenset({attempt}), containing=containing)
        for attempt, fault in enumerate(faults, start=1)
        if fault
    ]


def rule_from_json(data: Mapping[str, Any]) -> Rule:
    """`{"kind": "server_error", "chance": 0.1}`: the options of a fault and of its rule in one
    object."""
    sets = {name: frozenset(data[name]) for name in ("indexes", "attempts") if name in data}
    plain = {name: data[name] for name in ("chance", "containing", "times") if name in data}
    conditions: dict[str, Any] = {**sets, **plain}
    fault = Fault(**{name: value for name, value in data.items() if name not in conditions})
    return Rule(fault, **conditions)


def transient_fault_rules(share: float, *, every_attempt: bool = False) -> str:
    """Rules of the judge server: this share of first attempts fails, a quarter each with a 429
    (Retry-After: 1), a 500, a 503 and a lost connection; the retry succeeds, or fails as often if
    `every_attempt`."""
    rules: list[dict[str, Any]] = []
    left = 1.0
    for kind in ("rate_limit_seconds", "server_error", "unavailable", "connection_reset"):
        rules.append({"kind": kind, "retry_after": 1.0, "chance": share / 4 / left})
        left -= share / 4
    rules[2].pop("retry_after")  # a 503 names no time
    condition = {} if every_attempt else {"attempts": [1]}
    return json.dumps([{**rule, **condition} for rule in rules])
