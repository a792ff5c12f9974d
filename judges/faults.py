"""What a failed call means: wait and try again, settle the ask, or stop the judge."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import openai

from studies.records import Status

LONGEST_WAIT: Final = 120.0

Action = Literal["retry", "settle", "stop", "without"]
"""`without`: try once more without the parameter the endpoint does not take."""


class BadReply(Exception):
    """A 200 whose body is no chat completion; it may have been billed."""


@dataclass(frozen=True, slots=True)
class Fault:
    action: Action
    status: Status
    reason: str
    """Few words, the same for the same kind of fault: counted and shown."""
    detail: str
    congestion: bool = False
    wait: float | None = None
    """Seconds the endpoint asked us to stay away."""
    parameter: str = ""


def fault_of(error: BaseException, endpoint: str) -> Fault:
    """Sorts an exception of the client by what the engine should do about it."""
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error, endpoint)
    if isinstance(error, (openai.APITimeoutError, asyncio.TimeoutError, TimeoutError)):
        return Fault("retry", "error", "timeout", "no answer within the deadline", congestion=True)
    if isinstance(error, openai.APIConnectionError):
        return Fault("retry", "error", "unreachable", f"cannot reach {endpoint}: {_cause(error)}")
    if isinstance(error, BadReply):
        return Fault("retry", "error", "bad reply", str(error))
    return Fault("retry", "error", type(error).__name__, scrub(str(error)))


def _status_fault(error: openai.APIStatusError, endpoint: str) -> Fault:
    code, message = error.status_code, _message(error)
    if code == 401:
        return Fault(
            "stop", "error", "wrong key", f"{endpoint} refused the API key (401): {message}"
        )
    if code == 403:
        return Fault("stop", "error", "forbidden", f"{endpoint} forbids this (403): {message}")
    if code == 404:
        detail = f"{endpoint} knows no such model or path (404): {message}"
        return Fault("stop", "error", "not found", detail)
    if code == 429 and "insufficient_quota" in _codes(error):
        return Fault(
            "stop", "error", "no quota", f"the account at {endpoint} has no quota: {message}"
        )
    if code == 429:
        wait = retry_after(error.response.headers)
        return Fault("retry", "error", "rate limit", message, congestion=True, wait=wait)
    if code in (400, 413, 422):
        return _bad_request(error, message)
    if 300 <= code < 400:
        return Fault(
            "stop", "error", "redirect", f"{endpoint} redirects ({code}); use its real address"
        )
    wait = retry_after(error.response.headers)
    return Fault("retry", "error", f"HTTP {code}", message, congestion=code == 503, wait=wait)


_OVERFLOW: Final = re.compile(
    r"context_length|context size|context window|exceed_context|maximum context"
    r"|too (long|many tokens)",
    re.IGNORECASE,
)
_IMAGES: Final = re.compile(r"image|vision|multimodal|mmproj", re.IGNORECASE)
_FILTER: Final = re.compile(r"content_filter|content management policy|safety", re.IGNORECASE)
_PARAMETER: Final = re.compile(
    r"unsupported|not supported|unrecognized|unknown parameter", re.IGNORECASE
)
DROPPABLE: Final = ("max_tokens", "temperature", "top_p", "seed", "reasoning_effort", "logprobs")


def _bad_request(error: openai.APIStatusError, message: str) -> Fault:
    """A 400 belongs to its ask, unless it repeats without any success."""
    told = f"{_codes(error)} {message}"
    if _OVERFLOW.search(told) or error.status_code == 413:
        return Fault("settle", "too_long", "too long", message)
    if _FILTER.search(told):
        return Fault("settle", "filtered", "filtered", message)
    if _PARAMETER.search(told) and (name := _named_parameter(error, message)):
        return Fault("without", "unsupported", f"no {name}", message, parameter=name)
    if _IMAGES.search(told):
        hint = "this judge takes no images; use judge_sees: context"
        return Fault("settle", "unsupported", "no images", f"{message} ({hint})")
    return Fault("settle", "error", "bad request", message)


def _named_parameter(error: openai.APIStatusError, message: str) -> str:
    body = _body(error)
    named = str(body.get("param") or "")
    found = [name for name in DROPPABLE if name == named or name in message]
    return found[0] if found else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Milliseconds, seconds or an HTTP date; a date is read against the server's own clock."""
    if (ms := _float(headers.get("retry-after-ms"))) is not None:
        return _bounded(ms / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    if (seconds := _float(value)) is not None:
        return _bounded(seconds)
    until = _date(value)
    if until is None:
        return None
    return _bounded(until - (_date(headers.get("date")) or time.time()))


def _float(value: str | None) -> float | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None


def _date(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except ValueError:
        return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)


_SECRET: Final = re.compile(r"\b(sk|hf|gsk|key|pk|rk)[-_][A-Za-z0-9_\-*.]{6,}|Bearer\s+\S+")


def scrub(text: str) -> str:
    """Some providers echo the key in their messages."""
    return _SECRET.sub("[key]", text)


def _body(error: openai.APIStatusError) -> Mapping[str, Any]:
    body = error.body
    return body if isinstance(body, dict) else {}


def _codes(error: openai.APIStatusError) -> str:
    body = _body(error)
    return f"{body.get('code') or ''} {body.get('type') or ''}"


def _message(error: openai.APIStatusError) -> str:
    body = _body(error)
    text = body.get("message") or (json.dumps(body) if body else str(error))
    return scrub(" ".join(str(text).split()))[:400]


def _cause(error: BaseException) -> str:
    inner: BaseException | None = error
    while inner is not None and inner.__cause__ is not None:
        inner = inner.__cause__
    return scrub(str(inner) or type(inner).__name__)[:200]
