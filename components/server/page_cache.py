"""ASGI middleware that stores the page and its configuration, which Gradio made.

Gradio copies and serialises all components for every request, which takes a tenth of a second of
CPU. The result depends only on the address under which the page was requested. This module does
not import gradio.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_PATHS: Final = ("/", "/config")
MAX_STORED: Final = 16
"""Maximum number of stored responses; each has about a megabyte."""
_ADDRESS_HEADERS: Final = (b"host", b"x-forwarded-host", b"x-forwarded-proto", b"x-gradio-server")
"""Headers from which Gradio makes the address in its response."""
Stored = tuple[Message, bytes]


class PageCache:
    """Middleware that answers requests for PAGE_PATHS with a stored copy of Gradio's response.

    Query parameters do not reach Gradio: there they would choose a page or a stored state, and
    Evenhand uses neither. A response that sets a cookie, or whose status is not 200, is not
    stored. `change` returns the page as it is stored and sent."""

    def __init__(
        self, app: ASGIApp, *, change: Callable[[bytes], bytes] = lambda page: page
    ) -> None:
        self._app, self._change = app, change
        self._stored: OrderedDict[tuple[object, ...], Stored] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] not in PAGE_PATHS:
            await self._app(scope, receive, send)
            return
        sent = [one for one in scope["headers"] if one[0] in _ADDRESS_HEADERS]
        key = (scope["path"], scope.get("scheme"), scope.get("root_path"), *sent)
        if key not in self._stored:
            response = await self._request_from_app({**scope, "query_string": b""}, receive)
            if not _can_be_stored(response[0]):
                await _send_stored_response(response, send)
                return
            self._stored[key] = response
        response = self._stored[key]
        self._stored.move_to_end(key)
        while len(self._stored) > MAX_STORED:
            self._stored.popitem(last=False)
        await _send_stored_response(response, send)

    async def _request_from_app(self, scope: Scope, receive: Receive) -> Stored:
        """The response of the app: its first message, and its whole body."""
        starts: list[Message] = []
        parts: list[bytes] = []

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                starts.append(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, collect)
        start, body = starts[0], b"".join(parts)
        if scope["path"] == "/" and start["status"] == 200:
            body = self._change(body)
            kept = [one for one in start["headers"] if one[0].lower() != b"content-length"]
            start["headers"] = [*kept, (b"content-length", str(len(body)).encode())]
        return start, body


def _can_be_stored(start: Message) -> bool:
    return start["status"] == 200 and b"set-cookie" not in {
        name.lower() for name, _ in start["headers"]
    }


async def _send_stored_response(response: Stored, send: Send) -> None:
    await send(response[0])
    await send({"type": "http.response.body", "body": response[1]})
