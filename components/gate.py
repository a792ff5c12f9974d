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

from components.room import Room
from studies.sources.caps import MEGABYTE

CLOSED: Final = re.compile(
    r"/(?:gradio_api/)?(?:deep_link|component_server|process_recording|undo-vibe-edit|vibe-[a-z-]+|"
    r"run-history|runs|stream|monitoring|profiling|custom_component|dev)(?:/.*)?|"
    r"(?:/gradio_api)?/proxy=.*",
    re.DOTALL,
)
"""Routes of Gradio that no part of the page asks for."""
UPLOAD: Final = re.compile(r"(?:/gradio_api)?/upload/?")
MOST_SAID: Final = 8 * MEGABYTE
"""What a page sends with an event: texts and filters. Files come another way."""
_SLACK: Final = MEGABYTE
"""Names and boundaries of an upload."""


class Gate:
    """Middleware; without a `room` uploads are as large as they like, as on one's own machine."""

    def __init__(self, app: ASGIApp, most_uploaded: int = 0, room: Room | None = None) -> None:
        """`most_uploaded`: bytes of one request, all its files together."""
        self._app, self._most, self._room = app, most_uploaded, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if CLOSED.fullmatch(path):
            await _said(404, "There is nothing here.")(scope, receive, send)
        elif self._room is None or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
        elif UPLOAD.fullmatch(path):
            await self._measured(self._most + _SLACK, self._room, scope, receive, send)
        else:
            await self._measured(MOST_SAID, None, scope, receive, send)

    async def _measured(
        self, most: int, room: Room | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Passes a body on until it is too long, or there is no room for it."""
        told = Headers(scope=scope).get("content-length", "0")
        if not told.isdecimal() or int(told) > most:
            await _said(413, _too_long(most))(scope, receive, send)
            return
        body = _Body(most, room, receive, send)
        try:
            await self._app(scope, body.receive, body.send)
        except _Stopped:
            if not body.answered:
                await body.refused(scope, receive, send)


class _Stopped(Exception):
    """What comes in is not read on."""


class _Body:
    """One request on its way: how much came, and what became of it."""

    def __init__(self, most: int, room: Room | None, receive: Receive, send: Send) -> None:
        self._most, self._room, self._receive, self._send = most, room, receive, send
        self._came = 0
        self._why: tuple[int, str] | None = None
        self.answered = False

    async def receive(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        self._came += size
        if self._came > self._most:
            self._why = 413, _too_long(self._most)
        elif self._room is not None and not self._room.take(size):
            self._why = 507, "There is no room for uploads just now. Try again in a few minutes."
        if self._why:
            raise _Stopped
        return message

    async def send(self, message: Message) -> None:
        """Whatever is answered to a request that was stopped, it is said why."""
        if self._why is None:
            self.answered = True
            await self._send(message)
        elif not self.answered:
            raise _Stopped

    async def refused(self, scope: Scope, receive: Receive, send: Send) -> None:
        code, words = self._why or (400, "The request broke off.")
        await _said(code, words)(scope, receive, send)


def _said(code: int, words: str) -> JSONResponse:
    """And hangs up: what is still to come is not waited for."""
    return JSONResponse({"detail": words}, code, {"Connection": "close"})


def _too_long(most: int) -> str:
    return f"This is more than {most // MEGABYTE:,} MB at once, which is as much as is taken here."
