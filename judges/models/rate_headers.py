"""Parsing of the response headers in which providers report how many requests are left."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from studies.spec.provider_presets import RateHeaders, preset_for_url

_NAMES: Final[Mapping[RateHeaders, tuple[str, str, str]]] = {
    "requests": (
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    "plain": ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"),
}
RATE_HEADERS: Final = tuple(name for names in _NAMES.values() for name in names)
_SECONDS_BY_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_HEADER_LENGTH: Final = 100
_DURATION: Final = re.compile(r"(\d{1,12}+(?:\.\d{1,12}+)?+)(ms|s|m|h|d)")
_DURATIONS: Final = re.compile(rf"(?:{_DURATION.pattern})+")
"""Pattern of one or more numbers with units. The length of each number is bounded, because the
header comes from a foreign server."""
FIRST_TIMESTAMP: Final = 1e9
"""A number of at least this value is a time in seconds since 1970, not a duration; a thousand times
as large, a time in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class RequestQuota:
    """Number of requests that an endpoint still accepts, as reported in the headers of a reply."""

    limit: float
    remaining: float
    reset: float
    """Seconds until the whole limit is available again."""

    @property
    def refill_rate(self) -> float:
        """Requests per second that become available again; infinite if none is used up."""
        used = self.limit - self.remaining
        return used / self.reset if used > 0 and self.reset > 0 else math.inf


def rate_headers_of(endpoint: str) -> RateHeaders:
    """Return the kind of rate-limit headers that the provider at an address sends; for an unknown
    provider, the kind that OpenAI sends."""
    preset = preset_for_url(endpoint)
    return "requests" if preset is None else preset.rate_headers


def parse_request_quota(
    headers: Mapping[str, str],
    kind: RateHeaders = "requests",
    wall: Callable[[], float] = time.time,
) -> RequestQuota | None:
    """Read the quota from the headers of a reply; None if a header is missing or malformed."""
    names = _NAMES.get(kind)
    if names is None or names[1] not in headers:
        return None
    try:
        limit, remaining = (float(headers[name]) for name in names[:2])
    except (KeyError, ValueError):
        return None
    reset = parse_reset(headers.get(names[2], ""), _server_time(headers, wall))
    if reset is None or not (math.isfinite(limit) and 0 <= remaining <= limit and limit > 0):
        return None
    return RequestQuota(limit, remaining, reset)


def parse_reset(text: str, now: float) -> float | None:
    """Return the seconds until a reset, given as duration, RFC 3339 time or seconds since 1970."""
    seconds = parse_duration(text)
    if seconds is not None and seconds >= FIRST_TIMESTAMP:
        at = seconds / 1000 if seconds >= 1000 * FIRST_TIMESTAMP else seconds
        return max(0.0, at - now)
    if seconds is not None:
        return seconds
    try:
        at = datetime.fromisoformat(text[:MAX_HEADER_LENGTH].strip()).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - now)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `6m0s`, `20ms` or `1.5`; None if malformed."""
    text = text[:MAX_HEADER_LENGTH].strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _DURATIONS.fullmatch(text):
        return None
    return sum(float(n) * _SECONDS_BY_UNIT[unit] for n, unit in _DURATION.findall(text))


def _server_time(headers: Mapping[str, str], wall: Callable[[], float]) -> float:
    """Return the time in the server's Date header, so that a wrong local clock has no effect;
    without this header, the local time."""
    try:
        return email.utils.parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return wall()
