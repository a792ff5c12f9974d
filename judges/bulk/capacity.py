"""Time and cost of 10 thousand, 1 million and 100 million calls: live (by judges/engine), by batch
files and with Ray.

`python -m judges.bulk.capacity` prints docs/capacity.md. Tokens are counted from the built-in
prompts and prices are those of judges/prices.yaml; docs/capacity.md lists all other assumptions.
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

from judges.bulk.batch_files import BATCH_PRICE_FACTOR, MAX_FILE_LINES
from judges.money.costs import PRICES_FILE, listed_prices
from judges.planning.forecast import CHARACTERS_PER_TOKEN, REPLY_TOKENS, estimate_tokens
from judges.planning.plan import asks_of, make_plan
from studies.domain import Price
from studies.spec.study import parse_study

ASK_COUNTS: Final = (10_000, 1_000_000, 100_000_000)
PRICED_MODEL: Final = "gpt-4o"
ITEM_TOKENS: Final = 560
"""Tokens of a question (60) and two answers (250 each)."""
MEAN_LATENCY: Final = 3.0
LATENCY_SIGMA: Final = 0.5
"""Standard deviation of the logarithm of the latency. Latencies are log-normal with mean
MEAN_LATENCY."""
CPU_PER_CALL: Final = 0.00184
"""CPU seconds of one call, measured with 64 calls in flight to a server on the same machine."""
LIVE_IN_FLIGHT: Final = 256
RAY_WORKERS, RAY_IN_FLIGHT = 16, 64
BATCH_QUEUE_TOKENS: Final = 80_000_000
"""Maximum number of prompt tokens in a provider's queue of batches."""
BATCH_WINDOW_HOURS: Final = 24.0
GPU_COUNT: Final = 32
GPU_TOKENS_PER_SECOND: Final = 5_000.0
"""Prompt and reply tokens that one GPU processes per second."""
GPU_DOLLARS_PER_HOUR: Final = 3.0


@dataclass(frozen=True, slots=True)
class AccountLimits:
    """Rate limits of a provider account, per minute."""

    requests: float
    tokens: float


ORDINARY_ACCOUNT: Final = AccountLimits(10_000, 800_000)
RAISED_ACCOUNT: Final = AccountLimits(10_000, 30_000_000)


@dataclass(frozen=True, slots=True)
class AskTokens:
    """Prompt and reply tokens of one call."""

    description: str
    sent: int
    received: int

    @property
    def tokens(self) -> int:
        return self.sent + self.received

    def dollars(self, price: Price) -> float:
        return (self.sent * price.input + self.received * price.output) / 1e6


@dataclass(frozen=True, slots=True)
class AskingMethod:
    """Calls per second and cost of one way to make calls (live, batch files or Ray), for calls of
    one size."""

    name: str
    rate: float
    """Calls per second in steady state."""
    limiting_factor: str
    """Name of the limit that determines the rate."""
    dollars: float
    """Cost of one call."""
    min_hours: float = 0.0
    """Minimum duration in hours: even a single call may take this long."""

    def hours(self, asks: int) -> float:
        return max(self.min_hours, asks / self.rate / 3600)


def measure_ask_tokens(prompt: str, received: int, description: str) -> AskTokens:
    """Return the size of one call with this prompt: its instructions, ITEM_TOKENS for question and
    answers, and `received` reply tokens."""
    judge = f"{{name: j, model: {PRICED_MODEL}, base_url: 'http://127.0.0.1:9/v1'}}"
    study = f"name: c\ndata: {{source: probe}}\njudges: [{judge}]\nprompts: [{prompt}]\n"
    calls = [planned.call for planned in asks_of(make_plan(parse_study(study)))]
    shown = [
        len(call.inputs.item.instruction) + sum(len(text) for text in call.inputs.answers)
        for call in calls
    ]
    own = mean(estimate_tokens(call)[0] for call in calls) - mean(shown) / CHARACTERS_PER_TOKEN
    return AskTokens(description, round(own) + ITEM_TOKENS, received)


def max_rate(
    load: AskTokens, in_flight: int, limits: AccountLimits, processes: int = 1
) -> tuple[float, str]:
    """Return the highest number of calls per second that all limits allow, and the name of the
    tightest limit. `processes` is the number of cores that make calls."""
    return min(
        (in_flight / MEAN_LATENCY, f"{in_flight:,} calls in flight"),
        (limits.requests / 60, f"{limits.requests:,.0f} requests per minute"),
        (limits.tokens / 60 / load.tokens, f"{limits.tokens / 1e6:g} M tokens per minute"),
        (processes / CPU_PER_CALL, "one core per process"),
    )


def asking_methods(load: AskTokens) -> list[AskingMethod]:
    price = listed_prices()[PRICED_MODEL]
    live, by_live = max_rate(load, LIVE_IN_FLIGHT, ORDINARY_ACCOUNT)
    ray, by_ray = max_rate(load, RAY_WORKERS * RAY_IN_FLIGHT, RAISED_ACCOUNT, RAY_WORKERS)
    batch = BATCH_QUEUE_TOKENS / load.sent / (BATCH_WINDOW_HOURS * 3600)
    weights = GPU_COUNT * GPU_TOKENS_PER_SECOND / load.tokens
    each = GPU_COUNT * GPU_DOLLARS_PER_HOUR / 3600 / weights
    return [
        AskingMethod("live", live, by_live, load.dollars(price)),
        AskingMethod(
            "batch files",
            batch,
            f"{BATCH_QUEUE_TOKENS / 1e6:g} M prompt tokens queued",
            BATCH_PRICE_FACTOR * load.dollars(price),
            BATCH_WINDOW_HOURS,
        ),
        AskingMethod("Ray + endpoint", ray, by_ray, load.dollars(price)),
        AskingMethod("Ray + vLLM", weights, f"{GPU_COUNT} GPUs", each),
    ]


def simulate_hours(
    load: AskTokens, asks: int, in_flight: int, limits: AccountLimits, seed: int = 7
) -> float:
    """Simulate calls with random latencies; return the hours until the last reply. A call starts
    when the rate limits allow it and fewer than `in_flight` calls are open."""
    rng = random.Random(seed)
    mu = math.log(MEAN_LATENCY) - LATENCY_SIGMA**2 / 2
    gap = max(60 / limits.requests, 60 * load.tokens / limits.tokens, CPU_PER_CALL)
    ends: list[float] = []
    start = 0.0
    for _ in range(asks):
        if len(ends) == in_flight:
            start = max(start, heapq.heappop(ends))
        heapq.heappush(ends, start + rng.lognormvariate(mu, LATENCY_SIGMA))
        start += gap
    return max(ends) / 3600


def capacity_page() -> str:
    return "\n".join(_page_lines()) + "\n"


def _page_lines() -> Iterator[str]:
    reasoned = measure_ask_tokens("visit-reference-free", REPLY_TOKENS, "a verdict with reasons")
    letter = measure_ask_tokens("brief-letters", 1, "one letter, read by its probabilities")
    yield "# Number of calls, time and cost"
    yield ""
    yield "Written by `python -m judges.bulk.capacity`; a test compares this page with its output."
    yield "The numbers are computed from the assumptions below, not measured. To use your own, edit"
    yield "the constants in that script."
    yield ""
    for load in (reasoned, letter):
        yield from _table_lines(load)
    yield from _explanation_lines(reasoned)
    yield from _assumption_lines(reasoned, letter)


def _table_lines(load: AskTokens) -> Iterator[str]:
    title = f"{load.description[0].upper()}{load.description[1:]}"
    yield f"## {title}: {load.sent:,} tokens in, {load.received:,} out"
    yield ""
    yield (
        "| way | calls/s | tokens/s | limited by | "
        + " | ".join(map(_format_asks, ASK_COUNTS))
        + " |"
    )
    yield "|---|---:|---:|---|" + "---:|" * len(ASK_COUNTS)
    for way in asking_methods(load):
        cells = [
            f"{_format_hours(way.hours(n))}, {_format_dollars(way.dollars * n)}" for n in ASK_COUNTS
        ]
        rates = f"{_format_rate(way.rate)} | {_format_rate(way.rate * load.tokens)}"
        yield f"| {way.name} | {rates} | {way.limiting_factor} | " + " | ".join(cells) + " |"
    yield ""


def _explanation_lines(load: AskTokens) -> Iterator[str]:
    live, _, ray, weights = asking_methods(load)
    n = ASK_COUNTS[0]
    drawn = simulate_hours(load, n, LIVE_IN_FLIGHT, ORDINARY_ACCOUNT)
    wide = simulate_hours(load, n, RAY_WORKERS * RAY_IN_FLIGHT, RAISED_ACCOUNT)
    yield "## How to read it"
    yield ""
    yield (
        f"- **Simulated** call by call, with log-normal latencies: {n:,} calls take "
        f"{_format_hours(drawn)} live and {_format_hours(wide)} by Ray with the raised account; "
        f"the tables above give {_format_hours(live.hours(n))} and {_format_hours(ray.hours(n))}. "
        "The difference is the wait for the last replies, so it does not grow with the number of "
        "calls."
    )
    yield (
        "- **The rate limit of the account applies to every way of calling an endpoint.** Ray is "
        "faster in these tables only because its account has a higher limit. With the same "
        f"account one live process is as fast, up to about {1 / CPU_PER_CALL:,.0f} calls/s, which "
        "use one core fully."
    )
    yield (
        f"- **Batch files** cost {BATCH_PRICE_FACTOR:g} times the live price. Their time is the "
        f"worst case: every full queue takes the whole {BATCH_WINDOW_HOURS:.0f} h. "
        f"{ASK_COUNTS[1]:,} calls are {math.ceil(ASK_COUNTS[1] / MAX_FILE_LINES)} files of "
        f"{MAX_FILE_LINES:,} lines."
    )
    ratio = live.dollars / weights.dollars
    yield (
        "- **Ray + vLLM** runs a judge whose weights you have: you pay for GPUs, not for tokens. A "
        f"thousand calls cost ${1000 * weights.dollars:.2f}, {ratio:.0f} times less than live, but "
        "the judge is another model. Tested with a stand-in for vLLM; not yet run on a GPU."
    )
    yield (
        "- Both orders, repeats and a noise floor multiply the number of calls: 1,000 items with "
        f"5 models (10 pairs), both orders and 3 judges need {1000 * 20 * 3:,} calls."
    )
    yield ""


def _assumption_lines(reasoned: AskTokens, letter: AskTokens) -> Iterator[str]:
    price = listed_prices()[PRICED_MODEL]
    dated = yaml.safe_load(PRICES_FILE.read_text(encoding="utf-8"))["as_of"]
    own = reasoned.sent - ITEM_TOKENS
    yield "## Assumptions"
    yield ""
    yield "| what | value | from |"
    yield "|---|---|---|"
    rows = [
        (
            "text of the prompt itself",
            f"{own} tokens with reasons, {letter.sent - ITEM_TOKENS} for a letter",
            "counted: visit-reference-free, brief-letters, "
            f"{CHARACTERS_PER_TOKEN} characters per token",
        ),
        ("question and two answers", f"{ITEM_TOKENS} tokens", "assumed: 60 + 2 × 250"),
        ("reply", f"{REPLY_TOKENS} tokens, or 1", "what `python -m judges plan` assumes"),
        (
            "price",
            f"${price.input:g} in, ${price.output:g} out per million tokens ({PRICED_MODEL})",
            f"judges/prices.yaml, {dated}; no discount for cached prefixes",
        ),
        (
            "account",
            f"{ORDINARY_ACCOUNT.requests:,.0f} requests, {ORDINARY_ACCOUNT.tokens:,.0f} tokens a "
            f"minute; {BATCH_QUEUE_TOKENS:,} tokens queued in batches",
            "tier 4 in OpenAI's cookbook; your limits are on your account's page",
        ),
        (
            "raised account",
            f"{RAISED_ACCOUNT.requests:,.0f} requests, {RAISED_ACCOUNT.tokens:,.0f} tokens a "
            "minute",
            "assumed: limits of the largest accounts",
        ),
        ("latency", f"{MEAN_LATENCY:g} s per call, log-normal with σ {LATENCY_SIGMA:g}", "assumed"),
        (
            "calls in flight",
            f"{LIVE_IN_FLIGHT} live; {RAY_WORKERS} workers × {RAY_IN_FLIGHT} by Ray",
            "`concurrency` of the study",
        ),
        (
            "CPU time of Evenhand",
            f"{1000 * CPU_PER_CALL:.2f} ms of one core per call",
            "measured against a server on the same machine",
        ),
        (
            "GPUs",
            f"{GPU_COUNT} H100, {GPU_TOKENS_PER_SECOND:,.0f} tokens/s each (in and out), "
            f"${GPU_DOLLARS_PER_HOUR:.2f} an hour each",
            "a 70B judge in FP8: NVIDIA's NIM benchmarks report 920 reply tokens/s with 5,000 "
            "tokens in and 500 out per call on two H100, which is 5,060 tokens/s per GPU. vLLM, "
            "other lengths and prefix caching "
            "differ; the price is assumed",
        ),
    ]
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""
    yield "Not counted: retries (fewer than 1.2 attempts per reply at a rate limit), calls repeated"
    yield "with twice the token limit after a cut-off reply, extraction calls, and images."


def _format_asks(n: int) -> str:
    return f"{n / 1000:g} k calls" if n < 1_000_000 else f"{n / 1_000_000:g} M calls"


def _format_rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _format_hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.3g} min"
    return f"{hours:.3g} h" if hours < 100 else f"{hours / 24:,.0f} days"


def _format_dollars(dollars: float) -> str:
    return f"${dollars:,.0f}" if dollars >= 100 else f"${dollars:.2f}"


if __name__ == "__main__":
    print(capacity_page(), end="")
