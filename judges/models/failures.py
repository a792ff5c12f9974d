"""Classification of failed calls by what the engine does next: repeat the call, store the failure
as its result, or stop the judge."""

from __future__ import annotations

import email.utils
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard

import aiohttp
import httpx2

from judges.judge_errors import EndpointRefused, KeyExpired
from judges.models import embedded, interface
from judges.security.key_store import KEY_MASK, MIN_KEY_LENGTH, redact_keys
from studies.domain import Status
from studies.store.queries.adapted_requests import REFUSABLE_PARAMETERS

if TYPE_CHECKING:
    import openai

MAX_RETRY_AFTER: Final = 120.0
MAX_DETAIL_LENGTH: Final = 500

FailureAction = Literal["retry", "settle", "stop", "without"]
"""Action after a failed call. `settle`: store the failure as the outcome of the ask. `stop`: stop
the judge. `without`: retry without the parameter that the endpoint refused."""


class BadReply(Exception):
    """Raised for a response that is no chat completion, contains an error in spite of status 200,
    is incomplete or too large; it may have been billed."""


class StreamSilent(TimeoutError):
    """Raised if a reply that arrives token by token (a stream) stops sending data for `idle_s`
    seconds, a setting of the judge."""


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A failed call: action to take, status to store, and its effect on rate limit and cost."""

    action: FailureAction
    status: Status
    reason: str
    """A short name of the kind of failure, by which failures are counted."""
    detail: str
    congestion: bool = False
    rate_limited: bool = False
    """Whether the endpoint refused the call by its rate limit."""
    maybe_billed: bool = False
    """Whether the provider may have billed the call although no reply arrived."""
    wait: float | None = None
    """Seconds that the endpoint demands before the next call."""
    parameter: str = ""
    quota: interface.RequestQuota | None = None
    """The requests left, if the endpoint reports them."""


_stop: Final = partial(CallFailure, "stop", "error")
_retry: Final = partial(CallFailure, "retry", "error")
_settle: Final = partial(CallFailure, "settle")


def classify_error(error: BaseException, endpoint: str, secret: str = "") -> CallFailure:
    """Classify an exception of the client by the action that the engine must take. `endpoint` is
    named in the message. `secret` is the API key in use; it is masked in the error text, because
    providers may repeat it."""
    fault, quota = _classify_without_redaction(error, endpoint), None
    if _is_status_error(error):
        quota = interface.parse_request_quota(
            error.response.headers, interface.rate_header_kind(endpoint)
        )
    detail = redact_message(fault.detail, secret)[:MAX_DETAIL_LENGTH]
    return replace(fault, detail=detail, quota=quota)


def _is_status_error(error: BaseException) -> TypeGuard[openai.APIStatusError]:
    """Whether the error is a response with an error status. While the openai package, which takes a
    second to import, is not imported, no such error exists."""
    if "openai" not in sys.modules:
        return False
    from openai import APIStatusError

    return isinstance(error, APIStatusError)


def _classify_without_redaction(error: BaseException, endpoint: str) -> CallFailure:
    if _is_status_error(error):
        return _classify_status(error, endpoint)
    if isinstance(error, embedded.EmbeddedUnavailable):
        return _stop("not available", str(error))
    if isinstance(error, KeyExpired):
        return _stop("key expired", str(error))
    causes = list(_error_chain(error))  # the client wraps these two
    if refused := next((cause for cause in causes if isinstance(cause, EndpointRefused)), None):
        return _stop("endpoint refused", str(refused))
    if bad := next((cause for cause in causes if isinstance(cause, BadReply)), None):
        return _retry("bad reply", str(bad), maybe_billed=True)
    if isinstance(error, (httpx2.TransportError, TimeoutError)):
        return _classify_connection(causes, endpoint)
    if isinstance(error, aiohttp.ClientResponseError):
        kind = error.message.partition(":")[0].strip()[:60]  # the rest quotes the response
        detail = f"{endpoint} does not send valid HTTP ({kind}); check the address (base_url)"
        return _retry("bad reply", detail, maybe_billed=True)
    return _retry(type(error).__name__, str(error), maybe_billed=True)


def _classify_connection(causes: list[BaseException], endpoint: str) -> CallFailure:
    """Classify a connection error by its causes, because the client reports refused and reset
    connections as timeouts too.

    Without a connection nothing was billed; a call whose reply was lost may have been billed.
    """

    def caused_by(kind: type[BaseException]) -> bool:
        return any(isinstance(cause, kind) for cause in causes)

    last = causes[-1]
    if caused_by(aiohttp.ConnectionTimeoutError):
        why = "no connection within the judge's connect_s; check the address (base_url)"
        return _retry("unreachable", f"cannot reach {endpoint}: {why} and the network")
    if caused_by(aiohttp.ClientConnectorError):
        # the system's text, without error number and address, such as "connection refused"
        number = last.errno if isinstance(last, OSError) else None
        why = os.strerror(number).lower() if number and number > 0 else str(last)
        advice = "check the address (base_url), and that the server is running"
        return _retry("unreachable", f"cannot reach {endpoint}: {why}; {advice}")
    if caused_by(StreamSilent):
        detail = "the reply stream sent nothing for longer than the judge's idle_s"
        return _retry("silent stream", detail, congestion=True, maybe_billed=True)
    if caused_by(TimeoutError):
        detail = "no answer within the deadline"
        return _retry("timeout", detail, congestion=True, maybe_billed=True)
    detail = f"the connection to {endpoint} was lost: {last or type(last).__name__}"
    return _retry("connection lost", detail, maybe_billed=True)


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    inner: BaseException | None = error
    while inner is not None:
        yield inner
        inner = inner.__cause__ or inner.__context__


def _classify_status(error: openai.APIStatusError, endpoint: str) -> CallFailure:
    code, message = error.status_code, _error_message(error)
    if code == 401:
        return _stop("wrong key", f"{endpoint} refused the API key (401): {message}")
    if code == 403:
        return _stop("forbidden", f"{endpoint} forbids this call (403): {message}")
    if code == 404:
        why = f"check the model and the address (base_url): {message}"
        detail = f"{endpoint} has no such model or path (404); {why}"
        return _stop("not found", detail)
    if code == 402 or (code == 429 and _NO_QUOTA.search(f"{_error_codes(error)} {message}")):
        return _stop("no quota", f"the account at {endpoint} has no quota: {message}")
    if code in (400, 413, 422):
        return _classify_bad_request(error, message)
    if 300 <= code < 400:
        return _stop(
            "redirect",
            f"{endpoint} redirects ({code}); set the address (base_url) to where it leads",
        )
    wait = parse_retry_after(error.response.headers)
    if code == 429:
        return _retry("rate limit", message, congestion=True, rate_limited=True, wait=wait)
    return _retry(f"HTTP {code}", message, congestion=code == 503, wait=wait)


_NO_QUOTA: Final = re.compile(r"insufficient_quota|exceeded your current quota", re.IGNORECASE)
_CONTEXT_OVERFLOW: Final = re.compile(
    r"context[_ ]length|context size|context window|exceed_context|maximum context"
    r"|too (long|many tokens)|input is too large",
    re.IGNORECASE,
)
_IMAGE_ERROR: Final = re.compile(r"image|vision|multimodal|mmproj", re.IGNORECASE)
_CONTENT_FILTER: Final = re.compile(
    r"content_filter|content management policy|safety", re.IGNORECASE
)
_UNKNOWN_PARAMETER: Final = re.compile(
    r"unsupported|not supported|unrecognized|unknown (parameter|argument)|extra (fields|inputs)"
    r"|not permitted",
    re.IGNORECASE,
)
_LOGPROBS_ERROR: Final = re.compile(r"logprobs|log probabilit", re.IGNORECASE)
DROPPABLE_PARAMETERS: Final = (*interface.STREAM_PARAMETERS, "max_tokens", *REFUSABLE_PARAMETERS)
_DROPPABLE: Final = re.compile(rf"\b(?:{'|'.join(DROPPABLE_PARAMETERS)})\b")


def _classify_bad_request(error: openai.APIStatusError, message: str) -> CallFailure:
    """Classify a response with status 400, 413 or 422: only this call fails, or it is repeated
    without the parameter that was refused. The judge continues, unless no call succeeds
    (judges/engine/attempt.py)."""
    text = f"{_error_codes(error)} {message}"
    if _CONTEXT_OVERFLOW.search(text) or error.status_code == 413:
        return _settle("too_long", "too long", message)
    if _CONTENT_FILTER.search(text):
        return _settle("filtered", "filtered", message)
    if _LOGPROBS_ERROR.search(text):
        hint = "this judge returns no label probabilities; set read: text"
        return _settle("unsupported", "no logprobs", f"{message} ({hint})")
    found = _DROPPABLE.findall(f"{_error_body(error).get('param') or ''} {message}")
    name = next((name for name in DROPPABLE_PARAMETERS if name in found), "")
    if name and _UNKNOWN_PARAMETER.search(text):
        return CallFailure("without", "unsupported", f"no {name}", message, parameter=name)
    if _IMAGE_ERROR.search(text):
        hint = "this judge accepts no images; set judge_sees: context"
        return _settle("unsupported", "no images", f"{message} ({hint})")
    return _settle("error", "bad request", message)


def parse_retry_after(
    headers: Mapping[str, str], wall: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds, at most MAX_RETRY_AFTER, that the headers of a response demand before the
    next call; None if they demand nothing.

    A date is compared with the Date header of the response, so that a wrong local clock has no
    effect; without that header, with the local clock (`wall`).
    """
    value, seconds = headers.get("retry-after"), None
    if (ms := _parse_float(headers.get("retry-after-ms"))) is not None:
        seconds = ms / 1000
    elif value is not None and (seconds := _parse_float(value)) is None:
        until = _parse_date(value)
        seconds = None if until is None else until - (_parse_date(headers.get("date")) or wall())
    return None if seconds is None else min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _parse_float(value: str | None) -> float | None:
    try:
        return float(value) if value is not None and "nan" not in value.lower() else None
    except ValueError:
        return None


def _parse_date(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None


def redact_message(text: str, secret: str = "") -> str:
    """Mask API keys in a message: some providers repeat the key or a part of it. `secret` is the
    key in use; texts that look like keys are masked too."""
    if len(secret) >= MIN_KEY_LENGTH:
        text = text.replace(secret, KEY_MASK)
    return redact_keys(text)


def _error_body(error: openai.APIStatusError) -> Mapping[str, Any]:
    return error.body if isinstance(error.body, dict) else {}


def _error_codes(error: openai.APIStatusError) -> str:
    return " ".join(str(_error_body(error).get(name) or "") for name in ("code", "type"))


def _error_message(error: openai.APIStatusError) -> str:
    body = _error_body(error)
    text = body.get("message") or (json.dumps(body) if body else str(error))
    return replace_surrogates(" ".join(str(text).split()))


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate, which JSON may contain but UTF-8 cannot encode, by "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
