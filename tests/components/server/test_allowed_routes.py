"""Allowed routes: each route of the installed Gradio is either needed and listed, or refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any

import gradio as gr
import httpx
import pytest
from starlette.websockets import WebSocketDisconnect

from components.layout.loading_screen import PICTURE_PATH
from components.server.allowed_routes import ALLOWED_ROUTES, is_allowed_route
from components.server.limits.request_limits import NO_SUCH_PAGE, RequestLimits
from tests.samples import each

NEEDED = {
    "/", "/config", "/static/{path:path}", "/assets/{path:path}", "/favicon.ico", "/theme.css",
    "/manifest.json", "/robots.txt", "/logout",
    "/gradio_api/app_id", "/gradio_api/info", "/gradio_api/info/",
    "/gradio_api/file={path_or_url:path}", "/gradio_api/heartbeat/{session_hash}",
    "/gradio_api/queue/data", "/gradio_api/queue/join", "/gradio_api/queue/status",
    "/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/run/{api_name}",
    "/gradio_api/call/{api_name}", "/gradio_api/call/{api_name}/{event_id}",
    "/gradio_api/call/v2/{api_name}", "/gradio_api/call/v2/{api_name}/{event_id}",
    "/gradio_api/startup-events", "/gradio_api/upload", "/gradio_api/upload_progress",
}  # fmt: skip
"""Routes that the installed Gradio serves for the page and the API."""


@pytest.fixture(scope="module")
def app() -> Any:
    with gr.Blocks(analytics_enabled=False) as page:
        gr.Button()
    return gr.routes.App.create_app(page.queue())


def registered(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """(method, path template) of every route, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", route)
        if below := getattr(inner, "routes", None):
            yield from registered(below)
        else:
            yield from ((method, route.path) for method in route.methods or ())


def example(template: str) -> str:
    return re.sub(r"\{[^}]*\}", "x1", template)


def answers(app: Any, asked: Iterable[tuple[str, str]], **settings: Any) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        line = httpx.ASGITransport(RequestLimits(app, **settings), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=line, base_url="http://localhost") as visitor:
            return [await visitor.request(method, path) for method, path in asked]

    return asyncio.run(ask())


def refused(answer: httpx.Response) -> bool:
    words = answer.request.method == "HEAD" or NO_SUCH_PAGE in answer.text
    return answer.status_code == 404 and answer.headers.get("connection") == "close" and words


def test_each_route_of_the_installed_gradio_is_listed_or_refused(app):
    found = sorted(set(registered(app.routes)))
    assert len(found) > 60, "the routes of the included router are among them"
    closed = [one for one in found if not is_allowed_route(one[0], example(one[1]))]
    opened = {path for method, path in found if (method, path) not in closed}
    assert opened == NEEDED
    for one, answer in zip(closed, answers(app, [(m, example(p)) for m, p in closed]), strict=True):
        assert refused(answer), one


def test_allowed_routes_reach_gradio(app):
    quick = ["/config", "/manifest.json", "/robots.txt", "/gradio_api/info", "/gradio_api/app_id"]
    assert [answer.status_code for answer in answers(app, [("GET", path) for path in quick])] == (
        [200] * len(quick)
    )


def test_each_entry_of_the_list_serves_a_route_or_the_login(app):
    found = set(registered(app.routes))
    login = {("GET", "/login/huggingface"), ("GET", "/login/callback")}
    own = {("GET", PICTURE_PATH)}  # answered before Gradio, by the middleware of the loading screen
    for route in ALLOWED_ROUTES:
        served = [
            p
            for m, p in found | login | own
            if m in route.methods and route.path.fullmatch(example(p))
        ]
        assert served, f"{route.path.pattern}: {route.use}"


def test_a_route_of_a_later_release_is_refused():
    with gr.Blocks(analytics_enabled=False) as page:
        gr.Button()
    later = gr.routes.App.create_app(page.queue())
    for path in ("/gradio_api/new-feature", "/new", "/gradio_api/file", "/config/all"):
        later.add_api_route(path, lambda: "secret", methods=["GET", "POST"])
        for answer in answers(later, [("GET", path), ("POST", path)]):
            assert refused(answer), path


@pytest.mark.parametrize(
    "path",
    ["/gradio_api/deep_link", "/gradio_api/component_server", "/gradio_api/process_recording",
     "/gradio_api/vibe-code", "/gradio_api/run-history/records", "/gradio_api/runs",
     "/gradio_api/stream/a/1/2/playlist.m3u8", "/gradio_api/proxy=https://example.com",
     "/monitoring/summary", "/gradio_api/dev/reload", "/gradio_api/mcp/", "/openapi.json",
     "/queue/join", "/upload", "/file=/etc/passwd", "/gradio_api/file/etc/passwd", "/svelte/a.js",
     "//", "/config/", "/gradio_api/heartbeat/a/b", "/gradio_api/run/a/../../x", ""],
)  # fmt: skip
@each("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_all_else_is_refused(method, path):
    assert not is_allowed_route(method, path)


def test_methods_are_listed_too():
    assert is_allowed_route("POST", "/gradio_api/queue/join")
    assert not is_allowed_route("GET", "/gradio_api/queue/join")
    assert not is_allowed_route("POST", "/config")


def test_mcp_is_served_only_where_it_was_asked_for():
    for path in ("/gradio_api/mcp", "/gradio_api/mcp/", "/gradio_api/mcp/sse"):
        assert is_allowed_route("POST", path, mcp=True) and not is_allowed_route("POST", path)
    assert not is_allowed_route("POST", "/gradio_api/mcpx", mcp=True)


def test_websockets_are_closed(app):
    from starlette.testclient import TestClient

    with (
        pytest.raises(WebSocketDisconnect),
        TestClient(RequestLimits(app)).websocket_connect("/gradio_api/queue/join"),
    ):
        raise AssertionError("the connection was accepted")
