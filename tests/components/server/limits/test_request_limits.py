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
from components.server.fair_turns import MAX_REMEMBERED_CLIENTS
from components.server.limits.request_limits import (
    MAX_EVENT_BYTES,
    AddressRate,
    BodyPace,
    RequestLimits,
)
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


def test_a_length_that_is_no_number_is_refused(room):
    async def ask() -> list[int]:
        gate = RequestLimits(Starlette(), max_upload_bytes=LARGEST, quota=room)
        return [await status_of(gate, value) for value in (b"-1", b"1e3", b"", b"\xb2")]

    assert asyncio.run(ask()) == [413, 413, 413, 413]


async def status_of(gate: RequestLimits, length: bytes) -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "method": "POST", "path": "/gradio_api/queue/join",
        "headers": [(b"content-length", length)], "query_string": b"",
    }  # fmt: skip
    await gate(scope, receive, send)
    return int(sent[0]["status"])


def test_bodies_of_exactly_the_limit_pass(room):
    most = LARGEST + MEGABYTE
    answers = posted(room, UPLOAD_PATH, bytes(most), bytes(most + 1))
    assert [answer.status_code for answer in answers] == [200, 413]
    assert "larger than 4 MB" in answers[1].json()["detail"]
    assert answers[1].headers["connection"] == "close"


def test_the_time_for_a_body_grows_with_its_bytes():
    pace = BodyPace(first_seconds=10.0, bytes_per_second=100.0)
    assert [pace.seconds_until_more_bytes_due(received) for received in (0, 100, 1_000)] == [
        10,
        11,
        20,
    ]
    assert BodyPace().seconds_until_more_bytes_due(32_768) == 31.0


def test_a_silent_body_is_refused_after_its_time_and_one_that_ended_is_not():
    async def read_twice(scope: Any, receive: Any, send: Any) -> None:
        """Reads the body, then waits for the end of the connection, as a stream does."""
        messages.append(await receive())
        messages.append(await receive())
        await PlainTextResponse("streamed")(scope, receive, send)

    async def ask(*parts: Any) -> int:
        left, sent = list(parts), list[Any]()

        async def receive() -> Any:
            if not left:
                await asyncio.sleep(30)
            return left.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": UPLOAD_PATH, "headers": []}
        await RequestLimits(read_twice, pace=BodyPace(0.0, 1e12))(scope, receive, send)
        return int(sent[0]["status"])

    messages: list[Any] = []
    body = {"type": "http.request", "body": b"x"}
    assert asyncio.run(ask({**body, "more_body": True})) == 408
    end = {"type": "http.disconnect"}
    assert asyncio.run(ask({**body, "more_body": False}, end)) == 200
    assert messages[-1] == end


def test_the_page_is_refused_to_an_address_that_opens_it_too_often(room):
    routes = [Route("/{path:path}", size, methods=["GET", "POST"])]

    def statuses(quota: TempFileQuota | None, *asked: tuple[str, str]) -> list[int]:
        rate = AddressRate(burst=2, per_second=0.0, clock=lambda: 0.0)
        gate = Middleware(RequestLimits, quota=quota, page_rate=rate)
        app = Starlette(routes=routes, middleware=[gate])

        async def ask() -> list[int]:
            line = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=line, base_url="http://page") as visitor:
                return [(await visitor.request(*one)).status_code for one in asked]

        return asyncio.run(ask())

    thrice = [("GET", "/"), ("GET", "/config"), ("GET", "/")]
    assert statuses(room, *thrice, ("GET", "/theme.css")) == [200, 200, 429, 200]
    assert statuses(None, *thrice) == [200, 200, 200]


def test_an_address_gets_back_no_more_than_its_burst_and_old_addresses_are_forgotten():
    now = [0.0]
    rate = AddressRate(burst=2, per_second=1.0, clock=lambda: now[0])
    assert [rate.count_request_if_allowed("a") for _ in range(3)] == [True, True, False]
    now[0] = 100.0
    assert [rate.count_request_if_allowed("a") for _ in range(3)] == [True, True, False]
    for number in range(MAX_REMEMBERED_CLIENTS - 1):
        assert rate.count_request_if_allowed(f"b{number}")
    assert not rate.count_request_if_allowed("a"), "the last place is still its own"
    for number in range(MAX_REMEMBERED_CLIENTS):
        rate.count_request_if_allowed(f"c{number}")
    assert rate.count_request_if_allowed("a") and len(rate._left) == MAX_REMEMBERED_CLIENTS


def test_other_kinds_of_requests_are_passed_on():
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        return None

    asyncio.run(RequestLimits(app)({"type": "lifespan"}, nothing, nothing))
    asyncio.run(RequestLimits(app)({"type": "websocket", "path": "/"}, nothing, nothing))
    assert reached == ["lifespan"]


async def _drip() -> AsyncIterator[bytes]:
    yield bytes(MAX_EVENT_BYTES)
    yield b"x"


def test_a_refused_body_stops_a_response_that_has_begun_and_no_second_one_follows(room):
    """The app answers before it has read all; what it sends after the refusal is dropped."""
    sent = []

    async def answer_early(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while (await receive()).get("more_body"):
                pass
        finally:
            await send({"type": "http.response.body", "body": b"late"})

    async def ask() -> None:
        parts = _drip()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": await anext(parts), "more_body": True}

        async def send(message: Any) -> None:
            sent.append(message)

        gate = RequestLimits(answer_early, max_upload_bytes=LARGEST, quota=room)
        scope = {"type": "http", "method": "POST", "path": "/gradio_api/queue/join", "headers": []}
        await gate({**scope, "client": ("10.0.0.1", 1), "query_string": b""}, receive, send)

    asyncio.run(ask())
    assert [one["type"] for one in sent] == ["http.response.start"]
