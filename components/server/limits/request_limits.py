"""ASGI middleware that answers only allowed routes, and limits the size and duration of request
bodies.

Gradio reads a whole body before any check, and accepts a thousand files of the largest size in one
upload. This module does not import gradio.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.server import allowed_routes, fair_turns, page_cache
from components.server.limits.temp_files import TempFileQuota
from studies.files.read_limits import MEGABYTE

MAX_EVENT_BYTES: Final = 8 * MEGABYTE
"""Largest body of an event, which holds texts and filters; files use the upload route."""
NO_SUCH_PAGE: Final = "This page does not exist."
_UPLOAD_OVERHEAD_BYTES: Final = MEGABYTE
"""Allowance for file names and multipart boundaries of an upload."""


class BodyPace(NamedTuple):
    """The lowest speed at which a request body may arrive."""

    first_seconds: float = 30.0
    """Seconds at the start of a request during which any speed is accepted."""
    bytes_per_second: float = 32_768
    """Lowest average speed after `first_seconds`."""

    def seconds_until_more_bytes_due(self, received: int) -> float:
        """Seconds, from the start of a request, until more than `received` bytes must have
        arrived."""
        return self.first_seconds + received / self.bytes_per_second


class AddressRate:
    """Limit on how often one network address may do something: up to `burst` times at once, and
    after that `per_second` times a second."""

    def __init__(
        self,
        burst: float = 300.0,
        per_second: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Address -> number of requests still allowed after its last request, and the time of that
        request."""

    def count_request_if_allowed(self, address: str) -> bool:
        """Whether `address` may make a request now; if so, the request is counted."""
        now = self._clock()
        left, last = self._left.pop(address, (self._burst, now))
        left = min(self._burst, left + (now - last) * self._per_second)
        allowed = left >= 1.0
        self._left[address] = left - allowed, now
        while len(self._left) > fair_turns.MAX_REMEMBERED_CLIENTS:
            self._left.popitem(last=False)
        return allowed


class RequestLimits:
    """Middleware that answers only allowed routes, closes websockets and refuses request bodies
    that arrive too slowly. With a `quota` (public mode) it also limits how often an address opens
    the page, and the size of request bodies."""

    def __init__(
        self,
        app: ASGIApp,
        max_upload_bytes: int = 0,
        quota: TempFileQuota | None = None,
        mcp: bool = False,
        pace: BodyPace | None = None,
        page_rate: AddressRate | None = None,
    ) -> None:
        """`max_upload_bytes`: maximum size of one upload, all its files together; it and
        `page_rate` (how often an address may open the page) apply only with a `quota`, as in public
        mode. `mcp`: also answer the routes for MCP. `pace`: the lowest speed of a request body."""
        self._pace, self._page_rate = pace or BodyPace(), page_rate or AddressRate()
        self._app, self._max_upload, self._quota, self._mcp = app, max_upload_bytes, quota, mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": NO_SUCH_PAGE})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if not allowed_routes.is_allowed_route(scope["method"], path, mcp=self._mcp):
            await _error_response(404, NO_SUCH_PAGE)(scope, receive, send)
        elif (
            self._quota
            and path in page_cache.PAGE_PATHS
            and not self._page_rate.count_request_if_allowed(_client_address(scope))
        ):
            await _error_response(429, _TOO_OFTEN)(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
        elif self._quota is None:
            await self._limit_body(None, None, scope, receive, send)
        elif path == allowed_routes.UPLOAD_PATH:
            max_bytes = self._max_upload + _UPLOAD_OVERHEAD_BYTES
            await self._limit_body(max_bytes, self._quota, scope, receive, send)
        else:
            await self._limit_body(MAX_EVENT_BYTES, None, scope, receive, send)

    async def _limit_body(
        self,
        max_bytes: int | None,
        quota: TempFileQuota | None,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Pass a request on to the app; if its body arrives too slowly, or exceeds `max_bytes` or
        the quota, answer it with an error status instead."""
        declared = Headers(scope=scope).get("content-length", "0")
        if max_bytes is not None and (not declared.isdecimal() or int(declared) > max_bytes):
            await _error_response(413, _too_large_message(max_bytes))(scope, receive, send)
            return
        body = _LimitedBody(max_bytes, quota, self._pace, receive, send)
        try:
            await self._app(scope, body.receive, body.send)
        except _BodyRejected:
            if not body.response_started:
                await body.send_refusal(scope, receive, send)


class _BodyRejected(Exception):
    """Raised to stop reading a body that is too large or too slow."""


class _LimitedBody:
    """Passes the body of one request on to the app, and stops it at a limit of size, speed or
    quota; `send_refusal` then sends an error in place of the app's response."""

    def __init__(
        self,
        max_bytes: int | None,
        quota: TempFileQuota | None,
        pace: BodyPace,
        receive: Receive,
        send: Send,
    ) -> None:
        self._max_bytes, self._quota, self._pace = max_bytes, quota, pace
        self._receive, self._send = receive, send
        self._received_bytes = 0
        self._started, self._complete = time.monotonic(), False
        self._refusal: tuple[int, str] | None = None
        self.response_started = False

    async def receive(self) -> Message:
        message = await self._receive_in_time()
        size = len(message.get("body", b""))
        self._received_bytes += size
        if self._max_bytes is not None and self._received_bytes > self._max_bytes:
            self._refusal = 413, _too_large_message(self._max_bytes)
        elif self._quota is not None and not self._quota.reserve(size):
            self._refusal = 507, _QUOTA_FULL
        if self._refusal:
            raise _BodyRejected
        return message

    async def _receive_in_time(self) -> Message:
        """Return the next part of the body; _BodyRejected if the part does not arrive in time.
        After the end of the body there is no time limit."""
        if self._complete:
            return await self._receive()
        deadline = self._started + self._pace.seconds_until_more_bytes_due(self._received_bytes)
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            self._refusal = 408, _TOO_SLOW
            raise _BodyRejected from None
        self._complete = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the app's response. If the request's body was refused, send nothing more:
        if the response has not begun, stop the app, so that the refusal can be sent instead."""
        if self._refusal is None:
            self.response_started = True
            await self._send(message)
        elif not self.response_started:
            raise _BodyRejected

    async def send_refusal(self, scope: Scope, receive: Receive, send: Send) -> None:
        code, message = self._refusal or (400, "The request is incomplete. Send it again.")
        await _error_response(code, message)(scope, receive, send)


def _client_address(scope: Scope) -> str:
    return fair_turns.identify_client(None, Request(scope)).address


def _error_response(code: int, message: str) -> JSONResponse:
    """A response that closes the connection, so that the rest of the request body is not read."""
    return JSONResponse({"detail": message}, code, {"Connection": "close"})


def _too_large_message(max_bytes: int) -> str:
    return f"The request is larger than {max_bytes // MEGABYTE:,} MB, the limit of this page."


_TOO_SLOW: Final = "The request arrived too slowly. Check the connection, then send it again."
_TOO_OFTEN: Final = "This page was opened too often from your network. Try again in a minute."
_QUOTA_FULL: Final = "The space for uploads is full just now. Try again in a few minutes."
