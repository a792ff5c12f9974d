"""What the page weighs on the wire: the script of all plots and the page itself, compressed.

Gradio compresses by file name, so the page at "/" goes out as it is, and it compresses plotly.js
again for every visitor and forbids the browser to keep it. No gradio here: plain ASGI.
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
"""The address carries plotly's version: another version is another address."""


class CompressionMiddleware:
    """Middleware: `launch(app_kwargs={"middleware": [Middleware(Light)]})`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._zipped = GZipMiddleware(app, minimum_size=1024)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
        elif path.endswith(f"/file={PLOTLY_JS.as_posix()}"):
            await script_response(Headers(scope=scope))(scope, receive, send)
        elif path in COMPRESSED_PATHS:
            await self._zipped(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def script_response(headers: Headers) -> Response:
    """plotly.js in the best form the browser takes."""
    accepted = headers.get("Accept-Encoding", "")
    form = next((name for name in ("br", "gzip") if name in accepted), "")
    sent = {"Cache-Control": CACHE_FOREVER, "Vary": "Accept-Encoding"}
    if form:
        sent["Content-Encoding"] = form
    return Response(_compress_script(form), headers=sent, media_type="text/javascript")


@cache
def _compress_script(form: str) -> bytes:
    """Once for all visitors; quality 6 is a tenth smaller than what Gradio would send."""
    plain = PLOTLY_JS.read_bytes()
    if form == "br":
        return bytes(brotli.compress(plain, mode=brotli.MODE_TEXT, quality=6))
    return gzip.compress(plain, 9) if form == "gzip" else plain
