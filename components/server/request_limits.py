"""What of a request is looked at before Gradio sees it: its route and its size.

Gradio reads a body whole before it looks at it, takes a thousand files of the largest size in one
upload, and has routes for things we do not do: links to a state of the page write what somebody
typed to the disk, recordings start ffmpeg. No gradio here: plain ASGI.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.server.temp_files import TempFileQuota
from studies.files.read_limits import MEGABYTE

BLOCKED_ROUTES: Final = re.compile(
    r"/(?:gradio_api/)?(?:deep_link|component_server|process_recording|undo-vibe-edit|vibe-[a-z-]+|"
    r"run-history|runs|stream|monitoring|profiling|custom_component|dev)(?:/.*)?|"
    r"(?:/gradio_api)?/proxy=.*",
    re.DOTALL,
)
"""Routes of Gradio that no part of the page asks for."""
UPLOAD_ROUTE: Final = re.compile(r"(?:/gradio_api)?/upload/?")
MAX_EVENT_BYTES: Final = 8 * MEGABYTE
"""What a page sends with an event: texts and filters. Files come another way."""
_UPLOAD_OVERHEAD_BYTES: Final = MEGABYTE
"""Names and boundaries of an upload."""


class RequestLimits:
    """Middleware; without a `room` uploads are as large as they like, as on one's own machine."""

    def __init__(
        self, app: ASGIApp, most_uploaded: int = 0, room: TempFileQuota | None = None
    ) -> None:
        """`most_uploaded`: bytes of one request, all its files together."""
        self._app, self._most, self._room = app, most_uploaded, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if BLOCKED_ROUTES.fullmatch(path):
            await _error_response(404, "There is nothing here.")(scope, receive, send)
        elif self._room is None or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
        elif UPLOAD_ROUTE.fullmatch(path):
            await self._limit_body(
                self._most + _UPLOAD_OVERHEAD_BYTES, self._room, scope, receive, send
            )
        else:
            await self._limit_body(MAX_EVENT_BYTES, None, scope, receive, send)

    async def _limit_body(
        self, most: int, room: TempFileQuota | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Passes a body on until it is too long, or there is no room for it."""
        told = Headers(scope=scope).get("content-length", "0")
        if not told.isdecimal() or int(told) > most:
            await _error_response(413, _too_large_message(most))(scope, receive, send)
            return
        body = _LimitedBody(most, room, receive, send)
        try:
            await self._app(scope, body.receive, body.send)
        except _BodyRejected:
            if not body.response_started:
                await body.send_refusal(scope, receive, send)


class _BodyRejected(Exception):
    """What comes in is not read on."""


class _LimitedBody:
    """One request on its way: how much came, and what became of it."""

    def __init__(self, most: int, room: TempFileQuota | None, receive: Receive, send: Send) -> None:
        self._most, self._room, self._receive, self._send = most, room, receive, send
        self._received_bytes = 0
        self._refusal: tuple[int, str] | None = None
        self.response_started = False

    async def receive(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        self._received_bytes += size
        if self._received_bytes > self._most:
            self._refusal = 413, _too_large_message(self._most)
        elif self._room is not None and not self._room.reserve(size):
            self._refusal = (
                507,
                "There is no room for uploads just now. Try again in a few minutes.",
            )
        if self._refusal:
            raise _BodyRejected
        return message

    async def send(self, message: Message) -> None:
        """Whatever is answered to a request that was stopped, it is said why."""
        if self._refusal is None:
            self.response_started = True
            await self._send(message)
        elif not self.response_started:
            raise _BodyRejected

    async def send_refusal(self, scope: Scope, receive: Receive, send: Send) -> None:
        code, words = self._refusal or (400, "The request broke off.")
        await _error_response(code, words)(scope, receive, send)


def _error_response(code: int, words: str) -> JSONResponse:
    """And hangs up: what is still to come is not waited for."""
    return JSONResponse({"detail": words}, code, {"Connection": "close"})


def _too_large_message(most: int) -> str:
    return f"This is more than {most // MEGABYTE:,} MB at once, which is as much as is taken here."
