"""How long and how dear: 10 thousand, a million, 100 million asks, by each way of asking.

`python -m judges.capacity` prints docs/capacity.md. Tokens are counted from our own prompts, prices
are those of judges/prices.yaml; all else is an assumption that the page states.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Final

import yaml

from judges.batch_files import MOST_LINES, PRICE_FACTOR
from judges.cost import PRICES, listed_prices
from judges.plan import CHARACTERS_PER_TOKEN, REPLY_TOKENS, asks_of, make_plan, tokens_of
from studies.records import Price
from studies.study import parse

SIZES: Final = (10_000, 1_000_000, 100_000_000)
MODEL: Final = "gpt-4o"
QUESTION_AND_ANSWERS: Final = 560
"""Tokens of a question (60) and two answers (250 each)."""
LATENCY: Final = 3.0
SPREAD: Final = 0.5
"""Of a log-normal latency; its mean is LATENCY."""
CPU_PER_CALL: Final = 0.00184
"""Seconds of one core, measured with 64 calls in flight against a loopback server."""
LIVE_IN_FLIGHT: Final = 256
RAY_WORKERS, RAY_IN_FLIGHT = 16, 64
QUEUE: Final = 80_000_000
"""Prompt tokens that may wait in batches at once."""
WINDOW_HOURS: Final = 24.0
GPUS: Final = 32
GPU_TOKENS: Final = 5_000.0
"""Tokens in and out that one GPU handles a second."""
GPU_DOLLARS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What an account may send in a minute."""

    requests: float
    tokens: float


ORDINARY: Final = Limits(10_000, 800_000)
RAISED: Final = Limits(10_000, 30_000_000)


@dataclass(frozen=True, slots=True)
class Load:
    """What one ask takes."""

    told: str
    sent: int
    received: int

    @property
    def tokens(self) -> int:
        return self.sent + self.received

    def dollars(self, price: Price) -> float:
        return (self.sent * price.input + self.received * price.output) / 1e6


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking, for one load."""

    name: str
    rate: float
    """Asks a second once it runs."""
    bound: str
    """What holds it back."""
    dollars: float
    """Of one ask."""
    at_least: float = 0.0
    """Hours that even one ask may take."""

    def hours(self, asks: int) -> float:
        return max(self.at_least, asks / self.rate / 3600)


def load_of(prompt: str, received: int, told: str) -> Load:
    """The prompt's own words, counted, and an ordinary question with two ordinary answers."""
    judge = f"{{name: j, model: {MODEL}, base_url: 'http://127.0.0.1:9/v1'}}"
    study = f"name: c\ndata: {{source: probe}}\njudges: [{judge}]\nprompts: [{prompt}]\n"
    calls = [planned.call for planned in asks_of(make_plan(parse(study)))]
    shown = [
        len(call.scene.item.instruction) + sum(len(text) for text in call.scene.answers)
        for call in calls
    ]
    own = mean(tokens_of(call)[0] for call in calls) - mean(shown) / CHARACTERS_PER_TOKEN
    return Load(told, round(own) + QUESTION_AND_ANSWERS, received)


def limited(load: Load, in_flight: int, limits: Limits, processes: int = 1) -> tuple[float, str]:
    """Asks a second, and what holds them back."""
    return min(
        (in_flight / LATENCY, f"{in_flight:,} calls in flight"),
        (limits.requests / 60, f"{limits.requests:,.0f} requests a minute"),
        (limits.tokens / 60 / load.tokens, f"{limits.tokens / 1e6:g} M tokens a minute"),
        (processes / CPU_PER_CALL, "one core a process"),
    )


def ways(load: Load) -> list[Way]:
    price = listed_prices()[MODEL]
    live, by_live = limited(load, LIVE_IN_FLIGHT, ORDINARY)
    ray, by_ray = limited(load, RAY_WORKERS * RAY_IN_FLIGHT, RAISED, RAY_WORKERS)
    batch = QUEUE / load.sent / (WINDOW_HOURS * 3600)
    weights = GPUS * GPU_TOKENS / load.tokens
    each = GPUS * GPU_DOLLARS / 3600 / weights
    return [
        Way("live", live, by_live, load.dollars(price)),
        Way("batch files", batch, f"{QUEUE / 1e6:g} M prompt tokens queued",
            PRICE_FACTOR * load.dollars(price), WINDOW_HOURS),
        Way("Ray + endpoint", ray, by_ray, load.dollars(price)),
        Way("Ray + vLLM", weights, f"{GPUS} GPUs", each),
    ]  # fmt: skip


def simulated(load: Load, asks: int, in_flight: int, limits: Limits, seed: int = 7) -> float:
    """Hours until the last of so many replies is there: calls begin as the limits allow, never
    more at once than may be in flight, and last as long as they are drawn to."""
    rng = random.Random(seed)
    mu = math.log(LATENCY) - SPREAD**2 / 2
    gap = max(60 / limits.requests, 60 * load.tokens / limits.tokens, CPU_PER_CALL)
    ends: list[float] = []
    start = 0.0
    for _ in range(asks):
        if len(ends) == in_flight:
            start = max(start, heapq.heappop(ends))
        heapq.heappush(ends, start + rng.lognormvariate(mu, SPREAD))
        start += gap
    return max(ends) / 3600


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    reasoned = load_of("visit-reference-free", REPLY_TOKENS, "a verdict with reasons")
    letter = load_of("brief-letters", 1, "one letter, read by its probabilities")
    yield "# How many asks, how long, how dear"
    yield ""
    yield "Written by `python -m judges.capacity`; a test holds this page against it. It is"
    yield "arithmetic on stated assumptions, not a measurement: change them in the script to yours."
    yield ""
    for load in (reasoned, letter):
        yield from _table(load)
    yield from _read(reasoned)
    yield from _assumptions(reasoned, letter)


def _table(load: Load) -> Iterator[str]:
    told = f"{load.told[0].upper()}{load.told[1:]}"
    yield f"## {told}: {load.sent:,} tokens in, {load.received:,} out"
    yield ""
    yield "| way | asks/s | tokens/s | held back by | " + " | ".join(map(_asks, SIZES)) + " |"
    yield "|---|---:|---:|---|" + "---:|" * len(SIZES)
    for way in ways(load):
        cells = [f"{_hours(way.hours(n))}, {_dollars(way.dollars * n)}" for n in SIZES]
        rates = f"{_few(way.rate)} | {_few(way.rate * load.tokens)}"
        yield f"| {way.name} | {rates} | {way.bound} | " + " | ".join(cells) + " |"
    yield ""


def _read(load: Load) -> Iterator[str]:
    live, _, ray, weights = ways(load)
    n = SIZES[0]
    drawn = simulated(load, n, LIVE_IN_FLIGHT, ORDINARY)
    wide = simulated(load, n, RAY_WORKERS * RAY_IN_FLIGHT, RAISED)
    yield "## How to read it"
    yield ""
    yield (f"- **Simulated**, call by call with log-normal latencies: {n:,} asks take "
           f"{_hours(drawn)} live and {_hours(wide)} by Ray against the raised limit; the "
           f"arithmetic says {_hours(live.hours(n))} and {_hours(ray.hours(n))}. The difference "
           "is the last replies, so it does not grow with the number of asks.")  # fmt: skip
    yield ("- **An account's limit is nobody's to outrun.** Ray against an endpoint is faster here "
           "only because its limit is higher; at the same limit one live process does as well, up "
           f"to about {1 / CPU_PER_CALL:,.0f} calls/s of one core.")  # fmt: skip
    yield (f"- **Batch files** cost {PRICE_FACTOR:g} of the live price. Their hours are the worst "
           f"case: every queue takes its whole {WINDOW_HOURS:.0f} h. {SIZES[1]:,} asks are "
           f"{math.ceil(SIZES[1] / MOST_LINES)} files of {MOST_LINES:,} lines.")  # fmt: skip
    ratio = live.dollars / weights.dollars
    yield (f"- **Own weights** cost GPUs, not tokens: ${1000 * weights.dollars:.2f} for a thousand "
           f"asks, {ratio:.0f} times less than live, for another judge. Built and tested with a "
           "stand-in; not yet run on a GPU.")  # fmt: skip
    yield ("- Both orders, repeats and a noise floor multiply asks: 1,000 items with 5 "
           f"contestants, both orders and 3 judges are {1000 * 20 * 3:,}.")  # fmt: skip
    yield ""


def _assumptions(reasoned: Load, letter: Load) -> Iterator[str]:
    price = listed_prices()[MODEL]
    dated = yaml.safe_load(PRICES.read_text(encoding="utf-8"))["as_of"]
    own = reasoned.sent - QUESTION_AND_ANSWERS
    yield "## Assumptions"
    yield ""
    yield "| what | value | from |"
    yield "|---|---|---|"
    rows = [
        ("prompt's own words", f"{own} tokens with reasons, "
         f"{letter.sent - QUESTION_AND_ANSWERS} for a letter",
         "counted: visit-reference-free, brief-letters, "
         f"{CHARACTERS_PER_TOKEN} characters a token"),
        ("question and two answers", f"{QUESTION_AND_ANSWERS} tokens", "assumed: 60 + 2 × 250"),
        ("reply", f"{REPLY_TOKENS} tokens, or 1", "what `python -m judges plan` assumes"),
        ("price", f"${price.input:g} in, ${price.output:g} out a million tokens ({MODEL})",
         f"judges/prices.yaml, {dated}; no discount for cached prefixes"),
        ("account", f"{ORDINARY.requests:,.0f} requests, {ORDINARY.tokens:,.0f} tokens a minute; "
         f"{QUEUE:,} tokens queued in batches",
         "tier 4 as OpenAI's cookbook lists it; yours is on your account's page"),
        ("raised account", f"{RAISED.requests:,.0f} requests, {RAISED.tokens:,.0f} tokens a minute",
         "assumed: what the largest accounts are given"),
        ("latency", f"{LATENCY:g} s a call, log-normal with σ {SPREAD:g}", "assumed"),
        ("in flight", f"{LIVE_IN_FLIGHT} live; {RAY_WORKERS} workers × {RAY_IN_FLIGHT} by Ray",
         "`concurrency` of the study"),
        ("our own work", f"{1000 * CPU_PER_CALL:.2f} ms of a core a call",
         "measured against a loopback server"),
        ("GPUs", f"{GPUS} H100, {GPU_TOKENS:,.0f} tokens/s each (in and out), "
         f"${GPU_DOLLARS:.2f} an hour each",
         "a 70B judge in FP8: NVIDIA's NIM benchmarks tell 920 tokens/s out with 5,000 in and 500 "
         "out on two H100, which is 5,060 a GPU. vLLM, other lengths and prefix caching differ; "
         "the price is assumed"),
    ]  # fmt: skip
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""
    yield "Not counted: retries (a run keeps them below 1.2 attempts an answer at a limiter), the"
    yield "doubled cap of replies that were cut off, extraction asks, and images."


def _asks(n: int) -> str:
    return f"{n / 1000:g} k asks" if n < 1_000_000 else f"{n / 1_000_000:g} M asks"


def _few(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.3g} min"
    return f"{hours:.3g} h" if hours < 100 else f"{hours / 24:,.0f} days"


def _dollars(dollars: float) -> str:
    return f"${dollars:,.0f}" if dollars >= 100 else f"${dollars:.2f}"


if __name__ == "__main__":
    print(page(), end="")
