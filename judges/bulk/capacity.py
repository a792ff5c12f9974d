"""Time and cost of 10 thousand, 1 million and 100 million calls: live (by judges/engine), by batch
files and with Ray.

`python -m judges.bulk.capacity` prints docs/capacity.md. Tokens are counted from the built-in
prompts and prices are those of judges/prices.yaml; docs/capacity.md lists all other assumptions.
"""

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
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
    """Number of prompt tokens (`sent`) and reply tokens (`received`) of one call."""

    description: str
    sent: int
    received: int

    @property
    def total(self) -> int:
        return self.sent + self.received

    def dollars(self, price: Price) -> float:
        return (self.sent * price.input + self.received * price.output) / 1e6


@dataclass(frozen=True, slots=True)
class CallMethod:
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


def estimate_ask_tokens(prompt: str, received: int, description: str) -> AskTokens:
    """Estimate the tokens of one call with the built-in prompt named `prompt`. Sent: its
    instructions, plus ITEM_TOKENS for the question and the answers; received: the given number.
    `description` is only copied to the result, as the name of this kind of call."""
    judge = f"{{name: j, model: {PRICED_MODEL}, base_url: 'http://127.0.0.1:9/v1'}}"
    study = f"name: c\ndata: {{source: probe}}\njudges: [{judge}]\nprompts: [{prompt}]\n"
    calls = [planned.call for planned in asks_of(make_plan(parse_study(study)))]
    shown = [
        len(call.inputs.item.instruction) + sum(len(text) for text in call.inputs.answers)
        for call in calls
    ]
    own = mean(estimate_tokens(call)[0] for call in calls) - mean(shown) / CHARACTERS_PER_TOKEN
    return AskTokens(description, round(own) + ITEM_TOKENS, received)


def max_call_rate_and_limit(
    load: AskTokens, in_flight: int, limits: AccountLimits, processes: int = 1
) -> tuple[float, str]:
    """Return the highest number of calls per second that all limits allow, and the name of the
    tightest limit. `load`: tokens of one call; `in_flight`: maximum number of calls open at the
    same time; `limits`: the provider's limits; `processes`: number of cores that make calls."""
    return min(
        (in_flight / MEAN_LATENCY, f"{in_flight:,} calls in flight"),
        (limits.requests / 60, f"{limits.requests:,.0f} requests per minute"),
        (limits.tokens / 60 / load.total, f"{limits.tokens / 1e6:g} M tokens per minute"),
        (processes / CPU_PER_CALL, "one core per process"),
    )


def compare_call_methods(load: AskTokens) -> list[CallMethod]:
    price = listed_prices()[PRICED_MODEL]
    live, by_live = max_call_rate_and_limit(load, LIVE_IN_FLIGHT, ORDINARY_ACCOUNT)
    ray, by_ray = max_call_rate_and_limit(
        load, RAY_WORKERS * RAY_IN_FLIGHT, RAISED_ACCOUNT, RAY_WORKERS
    )
    batch = BATCH_QUEUE_TOKENS / load.sent / (BATCH_WINDOW_HOURS * 3600)
    weights = GPU_COUNT * GPU_TOKENS_PER_SECOND / load.total
    each = GPU_COUNT * GPU_DOLLARS_PER_HOUR / 3600 / weights
    return [
        CallMethod("live", live, by_live, load.dollars(price)),
        CallMethod(
            "batch files",
            batch,
            f"{BATCH_QUEUE_TOKENS / 1e6:g} M prompt tokens queued",
            BATCH_PRICE_FACTOR * load.dollars(price),
            BATCH_WINDOW_HOURS,
        ),
        CallMethod("Ray + endpoint", ray, by_ray, load.dollars(price)),
        CallMethod("Ray + vLLM", weights, f"{GPU_COUNT} GPUs", each),
    ]


def simulate_run_hours(
    load: AskTokens, asks: int, in_flight: int, limits: AccountLimits, seed: int = 7
) -> float:
    """Simulate a run of `asks` calls with random latencies; return its duration in hours. A call
    starts when the rate limits and one processor core allow it and fewer than `in_flight` calls
    are open. `load`: tokens of one call."""
    rng = random.Random(seed)
    mu = math.log(MEAN_LATENCY) - LATENCY_SIGMA**2 / 2
    gap = max(60 / limits.requests, 60 * load.total / limits.tokens, CPU_PER_CALL)
    ends: list[float] = []
    start = 0.0
    for _ in range(asks):
        if len(ends) == in_flight:
            start = max(start, heapq.heappop(ends))
        heapq.heappush(ends, start + rng.lognormvariate(mu, LATENCY_SIGMA))
        start += gap
    return max(ends) / 3600


def build_capacity_page() -> str:
    """Return the page docs/capacity.md: the text of capacity.md beside this module, with the
    numbers inserted."""
    reasoned = estimate_ask_tokens("visit-reference-free", REPLY_TOKENS, "a verdict with reasons")
    letter = estimate_ask_tokens("brief-letters", 1, "one letter, read by its probabilities")
    live, _, ray, weights = compare_call_methods(reasoned)
    n, million, _ = ASK_COUNTS
    everywhere = RAY_WORKERS * RAY_IN_FLIGHT
    values = {
        "tables": "\n".join(
            line for load in (reasoned, letter) for line in _capacity_table_lines(load)
        ),
        "n": n,
        "million": million,
        "drawn": _format_hours(simulate_run_hours(reasoned, n, LIVE_IN_FLIGHT, ORDINARY_ACCOUNT)),
        "wide": _format_hours(simulate_run_hours(reasoned, n, everywhere, RAISED_ACCOUNT)),
        "live_time": _format_hours(live.hours(n)),
        "ray_time": _format_hours(ray.hours(n)),
        "calls_per_core": 1 / CPU_PER_CALL,
        "batch_files": math.ceil(million / MAX_FILE_LINES),
        "thousand_calls": 1000 * weights.dollars,
        "ratio": live.dollars / weights.dollars,
        "own_reasoned": reasoned.sent - ITEM_TOKENS,
        "own_letter": letter.sent - ITEM_TOKENS,
        "price": listed_prices()[PRICED_MODEL],
        "dated": yaml.safe_load(PRICES_FILE.read_text(encoding="utf-8"))["as_of"],
        "cpu_ms": 1000 * CPU_PER_CALL,
    }
    page = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    return page.format_map(globals() | values)


def _capacity_table_lines(load: AskTokens) -> Iterator[str]:
    title = f"{load.description[0].upper()}{load.description[1:]}"
    yield f"## {title}: {load.sent:,} tokens in, {load.received:,} out"
    yield ""
    counts = " | ".join(map(_format_ask_count, ASK_COUNTS))
    yield f"| way | calls/s | tokens/s | limited by | {counts} |"
    yield "|---|---:|---:|---|" + "---:|" * len(ASK_COUNTS)
    for way in compare_call_methods(load):
        cells = [
            f"{_format_hours(way.hours(n))}, {_format_dollars(way.dollars * n)}" for n in ASK_COUNTS
        ]
        rates = f"{_format_rate(way.rate)} | {_format_rate(way.rate * load.total)}"
        yield f"| {way.name} | {rates} | {way.limiting_factor} | " + " | ".join(cells) + " |"
    yield ""


def _format_ask_count(asks: int) -> str:
    return f"{asks / 1000:g} k calls" if asks < 1_000_000 else f"{asks / 1_000_000:g} M calls"


def _format_rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _format_hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.3g} min"
    return f"{hours:.3g} h" if hours < 100 else f"{hours / 24:,.0f} days"


def _format_dollars(dollars: float) -> str:
    return f"${dollars:,.0f}" if dollars >= 100 else f"${dollars:.2f}"


if __name__ == "__main__":
    print(build_capacity_page(), end="")
