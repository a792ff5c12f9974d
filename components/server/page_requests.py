"""ASGI middleware that calls a function when a browser requests the page.

The browser then loads the page's code for a second or more before it sends the first event. Work
that the first events need can be done in that time. This module does not import gradio.
"""

from collections.abc import Callable
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

OnRequest = Callable[[dict[str, str]], None]
"""Function of the query parameters of the page; it must return at once."""


class PageHook:
    """Middleware that calls `on_request` with the query parameters whenever the page "/" is
    requested."""

    def __init__(self, app: ASGIApp, on_request: OnRequest) -> None:
        self._app, self._on_request = app, on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/":
            self._on_request(dict(parse_qsl(scope["query_string"].decode("latin-1"))))
        await self._app(scope, receive, send)
