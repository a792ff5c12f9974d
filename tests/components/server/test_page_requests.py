"""A function is called for each request of the page, with its query parameters."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from components.server.page_requests import PageHook


def test_only_requests_of_the_page_are_seen() -> None:
    seen: list[dict[str, str]] = []
    served = Starlette(
        routes=[
            Route("/", lambda _: PlainTextResponse("page"), methods=["GET", "POST"]),
            Route("/config", lambda _: PlainTextResponse("config")),
        ],
        middleware=[Middleware(PageHook, on_request=seen.append)],
    )
    client = TestClient(served)
    assert client.get("/?study=my%20study%20%C3%A9&tab=results&empty=").text == "page"
    client.post("/?study=other")
    client.get("/config?study=other")
    assert seen == [{"study": "my study é", "tab": "results"}]
    client.get("/")
    assert seen[1:] == [{}]
