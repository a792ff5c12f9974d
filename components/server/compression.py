"""ASGI middleware that makes the page and its scripts arrive sooner.

Gradio sends the page at "/" uncompressed. It compresses its hundred scripts and plotly.js again for
every visitor, and does not let browsers keep them. Most scripts are named only in other scripts, so
that browsers ask for them late. Before such a script runs, Gradio waits for its stylesheets, forty
in all. This module does not import gradio.
"""

import gzip
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import brotli
import plotly
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from components.html.markup import fill, join, read_program_file
from components.server.page_cache import PAGE_PATHS

PLOTLY_JS: Final = Path(plotly.__path__[0]) / "package_data" / "plotly.min.js"
_MIN_PACKED_BYTES: Final = 1024
_MOST_FILES: Final = 64
"""Most scripts, and most stylesheets, that are named in a page; Home needs 47 and 34."""
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
"""Cache-Control of scripts: no time limit, because their addresses change with their contents."""
_HASHED_ASSET: Final = re.compile(r"/assets/([\w.-]*-[\w-]{8,10}\.(?:js|css))")
"""Path of a script or stylesheet of Gradio whose name contains a hash of its contents."""
_MEDIA_TYPES: Final = {".js": "text/javascript", ".css": "text/css"}
_HEAD: Final = b"<head>"
_END_OF_HEAD: Final = b"</head>"
_LINKED_STYLE: Final = re.compile(rb'<link rel="stylesheet"[^>]*href="\./(assets/[^"]*)"')
_NAMES_FILE: Final = re.compile(r"url\((?!.?data:)|@import")
"""A stylesheet that names other files by addresses relative to its own."""


class CompressionMiddleware:
    """Middleware that compresses the responses of PAGE_PATHS, Gradio's scripts and plotly.js for
    browsers that accept this, lets browsers keep the scripts, names in the page the scripts that
    most visitors have asked for, and puts the stylesheets that most have asked for into it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._scripts = _script_files_by_request_path()
        # Address of a script or stylesheet of Gradio -> number of requests, and of pages with it.
        self._asked, self._styles = Counter[str](), Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("method") != "GET":
            await self._app(scope, receive, send)
        elif script := self._scripts.get(path.rpartition("/file=")[2]):
            if _HASHED_ASSET.fullmatch(path):
                (self._asked if script.suffix == ".js" else self._styles)[path] += 1
            await _script_response(script, Headers(scope=scope))(scope, receive, send)
        elif path in PAGE_PATHS:
            packs = "gzip" in Headers(scope=scope).get("Accept-Encoding", "")
            page = _CompressedResponse(send, self._complete_page)
            await self._app(scope, receive, page.send if packs else send)
        else:
            await self._app(scope, receive, send)

    def _complete_page(self, body: bytes) -> bytes:
        """A page of Gradio with the scripts and stylesheets that most visitors have asked for."""
        linked = {f"/{path.decode()}" for path in _LINKED_STYLE.findall(body)}
        styles = [one for one in _asked_often(self._styles) if one not in linked]
        self._styles.update(styles)
        body = body.replace(_HEAD, _HEAD + _preload_links(self._asked), 1)
        tags = _style_tags(tuple((path, self._scripts[path]) for path in styles))
        return body.replace(_END_OF_HEAD, tags + _END_OF_HEAD, 1)


def _asked_often(asked: Counter[str]) -> list[str]:
    """Addresses asked for at least half as often as the one asked for most, in the order in which
    they were asked for first; at most _MOST_FILES, so that nobody can swell the pages of others."""
    most = max(asked.values(), default=0)
    return [path for path, times in asked.items() if 2 * times >= most][:_MOST_FILES]


def _preload_links(asked: Counter[str]) -> bytes:
    """HTML that lets a browser fetch at once the scripts which it will need."""
    often = sorted(_asked_often(asked))
    links = (fill('<link rel="modulepreload" crossorigin href=".{}">', one) for one in often)
    return str(join(links)).encode()


@lru_cache(maxsize=8)
def _style_tags(files: tuple[tuple[str, Path], ...]) -> bytes:
    """HTML with the texts of stylesheets; `files`: their addresses and files. The disabled links,
    which browsers do not fetch, tell Gradio's script that the page has these stylesheets, so that
    it neither asks nor waits for them."""
    texts = {path: read_program_file(file) for path, file in files}
    whole = {path: text for path, text in texts.items() if not _NAMES_FILE.search(text)}
    links = join(fill('<link rel="stylesheet" disabled href=".{}">', path) for path in whole)
    return str(fill("<style>{}</style>{}", join(whole.values()), links)).encode() if whole else b""


class _CompressedResponse:
    """A response that is sent compressed, unless it is short or already compressed, if HTML as
    `complete` returns it; equal contents are compressed only once."""

    def __init__(self, send: Send, complete: Callable[[bytes], bytes]) -> None:
        self._send, self._complete, self._parts = send, complete, list[bytes]()
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
            if headers.get("Content-Type", "").startswith("text/html"):
                body = self._complete(body)
            body = _compress_page(body)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(body))
        await self._send({**self._start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=32)
def _compress_page(body: bytes) -> bytes:
    return gzip.compress(body, 9)


def _script_files_by_request_path() -> dict[str, Path]:
    """Name of a script in the path of a request -> its file. A script of Gradio is named by the
    whole path ("/assets/…"), plotly.js by the path of its file."""
    gradio = find_spec("gradio")
    folder = Path(str(gradio.origin if gradio else "")).parent / "templates/frontend/assets"
    found = {f"/assets/{path.name}": path for path in folder.glob("*")}
    hashed = {name: path for name, path in found.items() if _HASHED_ASSET.fullmatch(name)}
    return {PLOTLY_JS.as_posix(): PLOTLY_JS, **hashed}


def _script_response(path: Path, headers: Headers) -> Response:
    """Response with a script in the best encoding that the browser accepts; `headers` are those of
    the request."""
    accepted = headers.get("Accept-Encoding", "")
    encoding = next((name for name in ("br", "gzip") if name in accepted), "")
    sent = {"Cache-Control": CACHE_FOREVER, "Vary": "Accept-Encoding"}
    if encoding:
        sent["Content-Encoding"] = encoding
    body = _compress_script(path, encoding)
    return Response(body, headers=sent, media_type=_MEDIA_TYPES[path.suffix])


@lru_cache(maxsize=512)
def _compress_script(path: Path, encoding: str) -> bytes:
    """Return a file compressed by `encoding` ("br", "gzip", or "" for none), computed once for all
    visitors."""
    plain = path.read_bytes()
    if encoding == "br":
        return bytes(brotli.compress(plain, mode=brotli.MODE_TEXT, quality=6))
    return gzip.compress(plain, 9) if encoding == "gzip" else plain
