"""ASGI middleware that compresses the page and plotly.js, and lets browsers cache plotly.js.

Gradio sends the page at "/" uncompressed. It compresses plotly.js again for every visitor, and
forbids browsers to cache it. This module does not import gradio.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Final

import brotli
import plotly
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

PLOTLY_JS: Final = Path(plotly.__path__[0]) / "package_data" / "plotly.min.js"
COMPRESSED_PATHS: Final = ("/", "/config")
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
"""Cache-Control of plotly.js: no time limit, because its address contains plotly's version."""


class CompressionMiddleware:
    """Middleware that compresses the responses of COMPRESSED_PATHS and plotly.js, and lets browsers
    cache plotly.js."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressed = GZipMiddleware(app, minimum_size=1024)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
        elif path.endswith(f"/file={PLOTLY_JS.as_posix()}"):
            await script_response(Headers(scope=scope))(scope, receive, send)
        elif path in COMPRESSED_PATHS:
            await self._compressed(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def script_response(headers: Headers) -> Response:
    """Response with plotly.js in the best encoding that the browser accepts."""
    accepted = headers.get("Accept-Encoding", "")
    encoding = next((name for name in ("br", "gzip") if name in accepted), "")
    sent = {"Cache-Control": CACHE_FOREVER, "Vary": "Accept-Encoding"}
    if encoding:
        sent["Content-Encoding"] = encoding
    return Response(_compress_script(encoding), headers=sent, media_type="text/javascript")


@cache
def _compress_script(encoding: str) -> bytes:
    """Compress plotly.js, once for all visitors."""
    plain = PLOTLY_JS.read_bytes()
    if encoding == "br":
        return bytes(brotli.compress(plain, mode=brotli.MODE_TEXT, quality=6))
    return gzip.compress(plain, 9) if encoding == "gzip" else plain
