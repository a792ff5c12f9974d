"""Request limits: only allowed routes are answered, bodies are measured while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from components.server.allowed_routes import UPLOAD_PATH
from components.server.limits.request_limits import MAX_EVENT_BYTES, RequestLimits
from components.server.limits.temp_files import TempFileQuota
from studies.files.read_limits import MEGABYTE
from studies.settings import TEMP_FOLDER

LARGEST = 3 * MEGABYTE


async def size(request: Request) -> PlainTextResponse:
    """Reads as Gradio does: all of it."""
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture
def room(tmp_path, monkeypatch) -> Iterator[TempFileQuota]:
    monkeypatch.setenv(TEMP_FOLDER.name, str(tmp_path))
    held = TempFileQuota(10 * MEGABYTE, every=60)
    yield held
    held.close()


def page(room: TempFileQuota | None, *asked: tuple[str, str, Any]) -> list[httpx.Response]:
    """What is answered to these: method, path, body."""
    routes = [Route("/{path:path}", size, methods=["GET", "POST"])]
    gate = Middleware(RequestLimits, max_upload_bytes=LARGEST, quota=room)
    app = Starlette(routes=routes, middleware=[gate])

    async def ask() -> list[httpx.Response]:
        line = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=line, base_url="http://page") as visitor:
            return [
                await visitor.request(method, path, content=body) for method, path, body in asked
            ]

    return asyncio.run(ask())


def posted(room: TempFileQuota | None, path: str, *bodies: Any) -> list[httpx.Response]:
    return page(room, *(("POST", path, body) for body in bodies))


async def pieces(total: int) -> AsyncIterator[bytes]:
    """Without a length in the head."""
    for _ in range(total // 65536):
        yield bytes(65536)


def test_an_event_that_is_too_long_is_refused_before_it_is_read(room):
    long, endless, fits = posted(
        room, "/gradio_api/queue/join", bytes(MAX_EVENT_BYTES + 1), pieces(2 * MAX_EVENT_BYTES),
        bytes(MAX_EVENT_BYTES),
    )  # fmt: skip
    for answer in (long, endless):
        assert answer.status_code == 413 and "larger than 8 MB" in answer.json()["detail"]
    assert fits.text == str(MAX_EVENT_BYTES)


def test_all_files_of_an_upload_count_together(room):
    bodies = (bytes(LARGEST + 2 * MEGABYTE), pieces(2 * LARGEST), bytes(LARGEST // 2))
    answers = posted(room, UPLOAD_PATH, *bodies)
    assert [answer.status_code for answer in answers] == [413, 413, 200]


def test_when_there_is_no_room_that_is_said(room):
    answers = posted(room, UPLOAD_PATH, *[bytes(LARGEST)] * 5)
    # Three times 3 MB fit into 10.
    assert [answer.status_code for answer in answers] == [200, 200, 200, 507, 507]
    assert "uploads is full" in answers[-1].json()["detail"]
    assert posted(room, "/gradio_api/queue/join", b"x")[0].status_code == 200


def test_on_one_s_own_machine_nothing_is_measured():
    assert posted(None, UPLOAD_PATH, bytes(MAX_EVENT_BYTES + 9))[0].text == str(MAX_EVENT_BYTES + 9)
