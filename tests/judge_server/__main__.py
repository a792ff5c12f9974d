"""`python -m tests.judge_server --latency 0.05`: prints its address as one JSON line, ends when
stdin closes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading

from .behaviour import judge
from .bench import PreparedApp, serve_prepared
from .bill import Prices
from .faults import rule_from_json
from .limiter import Limiter
from .running import HOST, serve
from .server import JudgeApp
from .settings import Latency, Settings
from .tokens import NoCache, PrefixCache


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.judge_server", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=0)
    add("--latency", type=latency, default=0.0, help="seconds, or LOW:HIGH")
    add("--seed", type=int, default=0)
    add("--judge", default="first", help="first, second, last, longer, marked, hashed, coin, …")
    add("--format", default="overall-response")
    add("--faults", type=json.loads, default=[], help='[{"kind": "server_error", "chance": 0.1}]')
    add("--rate", type=float, help="requests per second before 429")
    add("--burst", type=float, default=1.0)
    add("--wait", type=float, help="seconds named by a 429; default: until the next token")
    add("--retry-after", default="seconds", help="seconds, date, ms or none")
    add("--stern", action="store_true", help="refuse all until the time named is over")
    add("--prices", type=json.loads, default={}, help='{"prompt": 150000}, micro-dollars per M')
    add("--no-cache", action="store_true", help="no cached tokens")
    add("--cache-writes", action="store_true", help="tokens written to the cache are counted")
    add("--models", nargs="+", default=["judge"])
    add("--key-header", help="request header that names the ask")
    add("--refuses", nargs="+", default=[], help="max_tokens, temperature, logprobs, images, …")
    add("--context-limit", type=int, help="prompt tokens")
    add("--echo-key", action="store_true", help="errors repeat the caller's API key")
    add("--totals-only", action="store_true", help="keep no list of calls")
    add("--bench", action="store_true", help="one prepared answer, nothing read, nothing kept")
    add("--lifetime", type=float, default=3600.0, help="ends after so many seconds at the latest")
    return parser.parse_args(arguments)


def latency(text: str) -> Latency:
    low, colon, high = text.partition(":")
    return (float(low), float(high)) if colon else float(low)


def settings(chosen: argparse.Namespace) -> Settings:
    return Settings(
        behaviour=judge(chosen.judge, chosen.format),
        latency=chosen.latency,
        rules=[rule_from_json(rule) for rule in chosen.faults],
        seed=chosen.seed,
        limiter=limiter(chosen),
        prices=Prices(**chosen.prices),
        cache=NoCache() if chosen.no_cache else PrefixCache(writes=chosen.cache_writes),
        models=chosen.models,
        key_header=chosen.key_header,
        refuses=chosen.refuses,
        context_limit=chosen.context_limit,
        echo_key=chosen.echo_key,
        keep_calls=not chosen.totals_only,
    )


def limiter(chosen: argparse.Namespace) -> Limiter | None:
    if chosen.rate is None:
        return None
    return Limiter(chosen.rate, chosen.burst, chosen.retry_after, chosen.wait, chosen.stern)


def announce(port: int) -> None:
    root = f"http://{HOST}:{port}"
    address = {"base_url": f"{root}/v1", "bill_url": f"{root}/bill", "pid": os.getpid()}
    print(json.dumps(address), flush=True)


def watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Reads until the other end closes; a thread, since stdin may be a pipe, a terminal or
    /dev/null."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


async def main(chosen: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.call_later(chosen.lifetime, stop.set)
    threading.Thread(target=watch_stdin, args=(loop, stop), daemon=True).start()
    if chosen.bench:
        await serve_prepared(PreparedApp(settings(chosen)), HOST, chosen.port, announce, stop)
    else:
        await serve(JudgeApp(settings(chosen)).handle, chosen.port, announce, stop)


if __name__ == "__main__":
    asyncio.run(main(options()))
