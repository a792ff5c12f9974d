"""Parsing of the `x-ratelimit-*` headers, with which providers report the requests left."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

RATE_HEADERS: Final = (
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
)
_SECONDS_BY_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_HEADER_LENGTH: Final = 100
_DURATION: Final = re.compile(r"(\d{1,12}+(?:\.\d{1,12}+)?+)(ms|s|m|h|d)")
_DURATIONS: Final = re.compile(rf"(?:{_DURATION.pattern})+")
"""A number with its unit; bounded, because the header comes from a foreign server."""


@dataclass(frozen=True, slots=True)
class RequestQuota:
    """Requests that an endpoint still accepts, as it reports them with a reply."""

    limit: float
    remaining: float
    reset: float
    """Seconds until the whole limit is available again."""

    @property
    def refill_rate(self) -> float:
        """Requests per second that become available again; infinite if none are used."""
        used = self.limit - self.remaining
        return used / self.reset if used > 0 and self.reset > 0 else math.inf


def parse_request_quota(headers: Mapping[str, str]) -> RequestQuota | None:
    """Read the quota from the headers of a reply; None if one is missing or malformed."""
    if RATE_HEADERS[1] not in headers:
        return None
    try:
        limit, remaining = (float(headers[name]) for name in RATE_HEADERS[:2])
    except (KeyError, ValueError):
        return None
    reset = parse_duration(headers.get(RATE_HEADERS[2], ""))
    if reset is None or not (math.isfinite(limit) and 0 <= remaining <= limit and limit > 0):
        return None
    return RequestQuota(limit, remaining, reset)


def parse_duration(text: str) -> float | None:
    """Seconds of a duration such as `6m0s`, `20ms` or `1.5`; None if it is malformed."""
    text = text[:MAX_HEADER_LENGTH].strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _DURATIONS.fullmatch(text):
        return None
    return sum(float(n) * _SECONDS_BY_UNIT[unit] for n, unit in _DURATION.findall(text))
