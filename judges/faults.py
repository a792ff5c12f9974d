"""What a failed call means: wait and try again, settle the ask, or stop the judge."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import aiohttp
import httpx2
import openai

from judges.errors import EndpointRefused, KeyExpired
from judges.models.embedded import EmbeddedUnavailable
from judges.vault import MARK, SHORTEST, redacted
from studies.records import Status

LONGEST_WAIT: Final = 120.0
CONNECT: Final = 10.0
"""Seconds in which a connection must be made; a read may take as long as the deadline allows."""
LONGEST_DETAIL: Final = 500

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
    limited: bool = False
    """The endpoint counts calls, and counted too many."""
    maybe_billed: bool = False
    """The work may have been done although its result did not arrive."""
    wait: float | None = None
    """Seconds the endpoint asked us to stay away."""
    parameter: str = ""


def fault_of(error: BaseException, endpoint: str, secret: str = "") -> Fault:
    """Sorts an exception of the client by what the engine should do about it.

    `secret` is the API key in use: whatever a provider echoes, it is not in what we keep.
    """
    fault = _sorted(error, endpoint)
    return replace(fault, detail=scrub(fault.detail, secret)[:LONGEST_DETAIL])


def _sorted(error: BaseException, endpoint: str) -> Fault:
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error, endpoint)
    if isinstance(error, EmbeddedUnavailable):
        return Fault("stop", "error", "not available", str(error))
    if isinstance(error, KeyExpired):
        return Fault("stop", "error", "key expired", str(error))
    if (refused := _refused(error)) is not None:
        return Fault("stop", "error", "endpoint refused", str(refused))
    if (bad := _bad_reply(error)) is not None:
        return Fault("retry", "error", "bad reply", str(bad), maybe_billed=True)
    if isinstance(error, (httpx2.TransportError, TimeoutError)):
        return _connection_fault(error, endpoint)
    if isinstance(error, aiohttp.ClientResponseError):
        kind = error.message.partition(":")[0].strip()[:60]  # what follows is what came instead
        detail = f"{endpoint} does not answer in HTTP: {kind}"
        return Fault("retry", "error", "bad reply", detail, maybe_billed=True)
    return Fault("retry", "error", type(error).__name__, str(error), maybe_billed=True)


def _connection_fault(error: BaseException, endpoint: str) -> Fault:
    """By what lies beneath: the client calls a refused connection and a reset one timeouts.

    A connection that was never made cost nothing; an answer that did not come may have.
    """
    causes = list(_causes(error))
    if any(isinstance(cause, aiohttp.ConnectionTimeoutError) for cause in causes):
        detail = f"cannot reach {endpoint}: no connection within {CONNECT:g} seconds"
        return Fault("retry", "error", "unreachable", detail)
    if any(isinstance(cause, aiohttp.ClientConnectorError) for cause in causes):
        return Fault("retry", "error", "unreachable", f"cannot reach {endpoint}: {causes[-1]}")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        detail = "no answer within the deadline"
        return Fault("retry", "error", "timeout", detail, congestion=True, maybe_billed=True)
    detail = f"the connection to {endpoint} was lost: {causes[-1] or type(causes[-1]).__name__}"
    return Fault("retry", "error", "connection lost", detail, maybe_billed=True)


def _bad_reply(error: BaseException) -> BadReply | None:
    """A reply that grew too large is refused inside the client, which wraps what we raise."""
    return next((cause for cause in _causes(error) if isinstance(cause, BadReply)), None)


def _refused(error: BaseException) -> EndpointRefused | None:
    """An address that must not be asked is found out inside the client too."""
    return next((cause for cause in _causes(error) if isinstance(cause, EndpointRefused)), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    inner: BaseException | None = error
    while inner is not None:
        yield inner
        inner = inner.__cause__ or inner.__context__


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
    if code == 402 or (code == 429 and _QUOTA.search(f"{_codes(error)} {message}")):
        return Fault(
            "stop", "error", "no quota", f"the account at {endpoint} has no quota: {message}"
        )
    if code == 429:
        wait = retry_after(error.response.headers)
        return Fault(
            "retry", "error", "rate limit", message, congestion=True, limited=True, wait=wait
        )
    if code in (400, 413, 422):
        return _bad_request(error, message)
    if 300 <= code < 400:
        return Fault(
            "stop", "error", "redirect", f"{endpoint} redirects ({code}); use its real address"
        )
    wait = retry_after(error.response.headers)
    return Fault("retry", "error", f"HTTP {code}", message, congestion=code == 503, wait=wait)


_QUOTA: Final = re.compile(r"insufficient_quota|exceeded your current quota", re.IGNORECASE)
_OVERFLOW: Final = re.compile(
    r"context[_ ]length|context size|context window|exceed_context|maximum context"
    r"|too (long|many tokens)|input is too large",
    re.IGNORECASE,
)
_IMAGES: Final = re.compile(r"image|vision|multimodal|mmproj", re.IGNORECASE)
_FILTER: Final = re.compile(r"content_filter|content management policy|safety", re.IGNORECASE)
_PARAMETER: Final = re.compile(
    r"unsupported|not supported|unrecognized|unknown (parameter|argument)|extra (fields|inputs)"
    r"|not permitted",
    re.IGNORECASE,
)
_LOGPROBS: Final = re.compile(r"logprobs|log probabilit", re.IGNORECASE)
DROPPABLE: Final = ("max_tokens", "temperature", "top_p", "seed", "reasoning_effort")
_DROPPABLE: Final = re.compile(rf"\b(?:{'|'.join(DROPPABLE)})\b")


def _bad_request(error: openai.APIStatusError, message: str) -> Fault:
    """A 400 belongs to its ask, unless it repeats without any success."""
    told = f"{_codes(error)} {message}"
    if _OVERFLOW.search(told) or error.status_code == 413:
        return Fault("settle", "too_long", "too long", message)
    if _FILTER.search(told):
        return Fault("settle", "filtered", "filtered", message)
    if _LOGPROBS.search(told):
        hint = "this judge tells no label probabilities; use read: text"
        return Fault("settle", "unsupported", "no logprobs", f"{message} ({hint})")
    if _PARAMETER.search(told) and (name := _named_parameter(error, message)):
        return Fault("without", "unsupported", f"no {name}", message, parameter=name)
    if _IMAGES.search(told):
        hint = "this judge takes no images; use judge_sees: context"
        return Fault("settle", "unsupported", "no images", f"{message} ({hint})")
    return Fault("settle", "error", "bad request", message)


def _named_parameter(error: openai.APIStatusError, message: str) -> str:
    named = str(_body(error).get("param") or "")
    told = f"{named} {message}"
    found = set(_DROPPABLE.findall(told))
    return next((name for name in DROPPABLE if name in found), "")


def retry_after(headers: Mapping[str, str], wall: Callable[[], float] = time.time) -> float | None:
    """Milliseconds, seconds or an HTTP date; a date is read against the server's own clock, so
    that ours may be an hour off."""
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
    return _bounded(until - (_date(headers.get("date")) or wall()))


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


def scrub(text: str, secret: str = "") -> str:
    """Some providers echo the key in their messages, or a part of it."""
    if len(secret) >= SHORTEST:
        text = text.replace(secret, MARK)
    return redacted(text)


def _body(error: openai.APIStatusError) -> Mapping[str, Any]:
    body = error.body
    return body if isinstance(body, dict) else {}


def _codes(error: openai.APIStatusError) -> str:
    body = _body(error)
    return f"{body.get('code') or ''} {body.get('type') or ''}"


def _message(error: openai.APIStatusError) -> str:
    body = _body(error)
    text = body.get("message") or (json.dumps(body) if body else str(error))
    return whole(" ".join(str(text).split()))


def whole(text: str) -> str:
    """JSON may hold half of a surrogate pair, which is no text: no file and no store takes it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
