"""Request limits, by one run and by two at once: python -m tests.bench.bench_limits

In virtual time, the rate limiter alone: ten calls a minute take hours.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judges.engine.limits.pace_file import open_rate_record
from judges.engine.limits.rate_limit import EndpointLimiter
from tests.bench.report_line import Line, print_lines
from tests.judge_server import Limiter
from tests.judges.engine.virtual_time import (
    SimulatedEndpoint,
    jain_index,
    run_virtual,
    use_endpoint,
    use_together,
)


def under_request_limit(per_minute: int, burst: int, minutes: int) -> list[Line]:
    """Share of a request limit that is used, and refused calls, after the first minute; the limiter
    alone, in virtual time, because ten calls a minute take hours."""
    limited = SimulatedEndpoint(limiter=Limiter(per_minute / 60, burst=burst))
    seconds = 60.0 * minutes
    run_virtual(lambda: use_endpoint(limited, workers=16, seconds=seconds))
    refused = sum(60 < start <= seconds for start in limited.refusals)
    accepted = sum(60 < start <= seconds for start in limited.starts) - refused
    work = f"at {per_minute} requests a minute, bursts of {burst}"
    used = accepted / (per_minute * (minutes - 1))
    return [
        Line(f"{work}: used share of the limit", used, 0.95, note=f"{minutes} virtual minutes"),
        Line(f"{work}: refused share", refused / (accepted + refused), 0.02, at_least=False),
    ]


def shared_request_limit(
    per_minute: int, burst: int, *, machines: bool = False, minutes: int = 10
) -> list[Line]:
    """Fairness of two processes of one store, or of two machines, after the first minute, and the
    share of the limit that they use together; in virtual time."""
    limited = SimulatedEndpoint(limiter=Limiter(per_minute / 60, burst=burst))
    with tempfile.TemporaryDirectory() as folder:

        def make_limiter() -> EndpointLimiter:
            slot = None if machines else open_rate_record(Path(folder) / "pace", "endpoint")
            return EndpointLimiter(16, asyncio.get_running_loop().time, slot)

        accepted = use_together(limited, 60.0 * minutes, make_limiter=make_limiter)
    users = "two machines" if machines else "two processes"
    work = f"{users} at {per_minute} requests a minute, bursts of {burst}"
    used = sum(accepted) / (per_minute * (minutes - 1))
    shares = " and ".join(map(str, accepted))
    return [
        Line(f"{work}: Jain's index", jain_index(accepted), 0.9, note=f"{shares} calls"),
        Line(f"{work}: used share", used, 0.95),
    ]


def limit_lines() -> Iterator[Line]:
    for per_minute, minutes in ((10, 60), (60, 30), (600, 10)):
        for burst in (1, 10):
            yield from under_request_limit(per_minute, burst, minutes)
    for per_minute in (60, 600):
        for burst in (1, 10):
            yield from shared_request_limit(per_minute, burst)
        yield from shared_request_limit(per_minute, 10, machines=True)


if __name__ == "__main__":
    sys.exit(print_lines(limit_lines()))
