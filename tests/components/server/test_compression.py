"""Compression of the page: size, caching, and the same content in every encoding."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import brotli
import gradio
import pytest
from httpx import Response as ClientResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from components.layout.widgets import allow_and_get_plotly_path
from components.server.compression import PLOTLY_JS, CompressionMiddleware

PAGE = "evenhand " * 4000


async def anything(request: Request) -> PlainTextResponse:
    return PlainTextResponse(PAGE)


@pytest.fixture(scope="module")
def client():
    routes = [Route("/{path:path}", anything)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(CompressionMiddleware)]))


def fetch(client, path: str, accept: str):
    """The bytes as they travel."""
    with client.stream("GET", path, headers={"Accept-Encoding": accept}) as reply:
        return reply.headers, b"".join(reply.iter_raw())


@pytest.mark.parametrize(
    ("accept", "unpack", "most"),
    [("br, gzip", brotli.decompress, 1.35e6), ("gzip", gzip.decompress, 1.5e6), ("", bytes, 5e6)],
)
def test_the_script_of_the_plots_is_packed_and_may_be_kept(client, accept, unpack, most):
    headers, body = fetch(client, f"/gradio_api/file={allow_and_get_plotly_path()}", accept)
    assert len(body) < most
    assert unpack(body) == PLOTLY_JS.read_bytes()
    assert "immutable" in headers["cache-control"]
    assert headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(("accept", "unpack"), [("br", brotli.decompress), ("", bytes)])
@pytest.mark.parametrize("kind", ["js", "css"])
def test_gradios_scripts_are_packed_once_and_may_be_kept(client, accept, unpack, kind):
    folder = Path(str(gradio.__file__)).parent / "templates" / "frontend" / "assets"
    named = re.search(
        rf"/assets/(index-[\w-]{{8}}\.{kind})", (folder.parent / "index.html").read_text()
    )
    assert named, "the page names a script and a stylesheet with a hash"
    headers, body = fetch(client, named.group(), accept)
    assert unpack(body) == (folder / named.group(1)).read_bytes()
    assert "immutable" in headers["cache-control"] and headers["vary"] == "Accept-Encoding"
    assert headers["content-type"].startswith({"js": "text/javascript", "css": "text/css"}[kind])


@pytest.mark.parametrize(
    "path", ["/assets/other-12345678.js", "/assets/../index.html", "/assets/", "/assets/gradio.js"]
)
def test_other_files_are_left_to_gradio(client, path):
    headers, body = fetch(client, path, "br")
    assert body.decode() == PAGE and "cache-control" not in headers


def test_the_page_itself_is_packed_and_nothing_else_is_touched(client):
    headers, body = fetch(client, "/", "gzip")
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(body).decode() == PAGE
    headers, body = fetch(client, "/gradio_api/queue/data", "gzip")
    assert "content-encoding" not in headers
    assert body.decode() == PAGE


def test_another_file_of_that_name_is_not_ours(client):
    _, body = fetch(client, "/gradio_api/file=/tmp/plotly.min.js", "br")
    assert body.decode() == PAGE


def sent(
    body: str, headers: dict[str, str] | None = None, *, method: str = "GET"
) -> ClientResponse:
    """The response of a page with this body, sent in two parts, to a browser that accepts gzip."""

    async def page(request: Request) -> StreamingResponse:
        half = len(body) // 2
        return StreamingResponse(iter([body[:half], body[half:]]), headers=headers)

    routes = [Route("/", page, methods=[method])]
    app = Starlette(routes=routes, middleware=[Middleware(CompressionMiddleware)])
    return TestClient(app).request(method, "/", headers={"Accept-Encoding": "gzip"})


@pytest.mark.parametrize(("length", "packed"), [(1023, False), (1024, True)])
def test_a_page_of_a_kilobyte_is_packed_whole_and_a_shorter_one_is_not(length, packed):
    got = sent("a" * length)
    assert got.text == "a" * length and got.headers["vary"] == "Accept-Encoding"
    assert ("content-encoding" in got.headers) is packed
    if packed:
        assert got.headers["content-length"] == str(len(gzip.compress(b"a" * length, 9)))


def test_what_is_packed_already_and_what_is_posted_stay_as_they_are():
    got = sent("a" * 2000, {"Content-Encoding": "identity"})
    assert got.headers["content-encoding"] == "identity" and got.text == "a" * 2000
    posted = sent("a" * 2000, method="POST")
    assert not {"content-encoding", "vary"} & set(posted.headers) and posted.text == "a" * 2000


def test_a_page_names_the_scripts_that_most_visitors_asked_for():
    """Among them none that few asked for, and none that the server does not have."""
    assets = Path(str(gradio.__file__)).parent / "templates" / "frontend" / "assets"
    common, other, rare = sorted(path.name for path in assets.glob("Index-*.js"))[:3]
    page = f"<html><head><title>{'a' * 2000}</title></head></html>"

    async def either(request: Request) -> Response:
        return HTMLResponse(page) if request.url.path == "/" else PlainTextResponse(page)

    routes = [Route("/{path:path}", either)]
    client = TestClient(Starlette(routes=routes, middleware=[Middleware(CompressionMiddleware)]))
    assert client.get("/").text == page
    for name, times in ((common, 4), (other, 2), (rare, 1), ("Index-12345678.js", 4)):
        for _ in range(times):
            client.get(f"/assets/{name}")
    links = [f'<link rel="modulepreload" crossorigin href="./assets/{name}">'
             for name in (common, other)]  # fmt: skip
    assert client.get("/").text == page.replace("<head>", "<head>" + "".join(sorted(links)))
    assert client.get("/config").text == page


def test_a_page_holds_the_stylesheets_that_most_visitors_asked_for():
    """None that few asked for, none that names other files, none that the page links itself; and
    they stay, although nobody asks for them any more."""
    assets = Path(str(gradio.__file__)).parent / "templates" / "frontend" / "assets"
    texts = {path.name: path.read_text() for path in sorted(assets.glob("*-*.css"))}
    common, other, rare, linked = [name for name, text in texts.items() if "url(" not in text][:4]
    fonts = next(name for name, text in texts.items() if "url(./" in text or "url(fonts" in text)
    link = f'<link rel="stylesheet" href="./assets/{linked}">'
    page = f"<html><head>{link}</head><body>{'a' * 2000}</body></html>"

    async def either(request: Request) -> Response:
        return HTMLResponse(page) if request.url.path == "/" else PlainTextResponse(page)

    routes = [Route("/{path:path}", either)]
    client = TestClient(Starlette(routes=routes, middleware=[Middleware(CompressionMiddleware)]))
    for name, times in ((other, 2), (common, 4), (rare, 1), (linked, 4), (fonts, 4)):
        for _ in range(times):
            client.get(f"/assets/{name}")
    tags = f"<style>{texts[other]}{texts[common]}</style>" + "".join(
        f'<link rel="stylesheet" disabled href="./assets/{name}">' for name in (other, common)
    )
    for _ in range(3):
        assert client.get("/").text == page.replace("</head>", tags + "</head>")
    assert client.get("/config").text == page


def test_nobody_can_swell_the_pages_of_others():
    """All files of Gradio asked for once by one visitor; a page names a bounded number of them."""
    assets = Path(str(gradio.__file__)).parent / "templates" / "frontend" / "assets"
    page = f"<html><head></head><body>{'a' * 2000}</body></html>"

    async def either(request: Request) -> Response:
        return HTMLResponse(page)

    routes = [Route("/{path:path}", either)]
    client = TestClient(Starlette(routes=routes, middleware=[Middleware(CompressionMiddleware)]))
    for path in sorted([*assets.glob("[A-M]*-*.js"), *assets.glob("*-*.css")]):
        client.get(f"/assets/{path.name}")
    got = client.get("/").text
    assert got.count("modulepreload") == 64 and 0 < got.count('rel="stylesheet"') <= 64
