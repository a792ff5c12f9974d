"""ASGI middleware that compresses the page and plotly.js, and lets browsers cache plotly.js.

Gradio sends the page at "/" uncompressed. It compresses plotly.js again for every visitor, and
forbids browsers to cache it. This module does not import gradio.
"""

import gzip
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import brotli
import plotly
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.server.page_cache import PAGE_PATHS

PLOTLY_JS: Final = Path(plotly.__path__[0]) / "package_data" / "plotly.min.js"
_MIN_PACKED_BYTES: Final = 1024
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
"""Cache-Control of plotly.js: no time limit, because its address contains plotly's version."""


class CompressionMiddleware:
    """Middleware that compresses the responses of PAGE_PATHS and plotly.js for browsers that accept
    this, and lets browsers cache plotly.js."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
        elif path.endswith(f"/file={PLOTLY_JS.as_posix()}"):
            await plotly_response(Headers(scope=scope))(scope, receive, send)
        elif path in PAGE_PATHS:
            packs = "gzip" in Headers(scope=scope).get("Accept-Encoding", "")
            await self._app(scope, receive, _CompressedResponse(send).send if packs else send)
        else:
            await self._app(scope, receive, send)


class _CompressedResponse:
    """A response that is sent compressed, unless it is short or already compressed; equal contents
    are compressed only once."""

    def __init__(self, send: Send) -> None:
        self._send, self._parts = send, list[bytes]()
        self._start: Message = {}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._parts.append(message.get("body", b""))
        if message.get("more_body"):
            return
        body, headers = b"".join(self._parts), MutableHeaders(raw=list(self._start["headers"]))
        headers.add_vary_header("Accept-Encoding")
        if len(body) >= _MIN_PACKED_BYTES and "content-encoding" not in headers:
            body = _compress_page(body)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(body))
        await self._send({**self._start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=32)
def _compress_page(body: bytes) -> bytes:
    return gzip.compress(body, 9)


def plotly_response(headers: Headers) -> Response:
    """Response with plotly.js in the best encoding that the browser accepts; `headers` are those of
    the request."""
    accepted = headers.get("Accept-Encoding", "")
    encoding = next((name for name in ("br", "gzip") if name in accepted), "")
    sent = {"Cache-Control": CACHE_FOREVER, "Vary": "Accept-Encoding"}
    if encoding:
        sent["Content-Encoding"] = encoding
    return Response(_compress_plotly(encoding), headers=sent, media_type="text/javascript")


@cache
def _compress_plotly(encoding: str) -> bytes:
    """Return plotly.js compressed by `encoding` ("br", "gzip", or "" for none), computed once for
    all visitors."""
    plain = PLOTLY_JS.read_bytes()
    if encoding == "br":
        return bytes(brotli.compress(plain, mode=brotli.MODE_TEXT, quality=6))
    return gzip.compress(plain, 9) if encoding == "gzip" else plain
