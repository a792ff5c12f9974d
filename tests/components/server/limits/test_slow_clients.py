"""Slow clients on a real loopback server: silent connections, endless heads, bodies by the byte."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from components.server.limits import slow_clients
from components.server.limits.request_limits import BodyPace, RequestLimits
from components.server.limits.slow_clients import ConnectionLimits, limit_connections, may_be_proxy
from tests.waiting import until

LIMITS = ConnectionLimits(connections=40, head_seconds=1.0, keep_alive_seconds=1, unread_seconds=1)
PACE = BodyPace(first_seconds=1.0, bytes_per_second=20)
PATIENCE = 120
"""Seconds after which a test that hangs fails."""


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse("the page")


async def size(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def endless(request: Request) -> StreamingResponse:
    """An event stream, or as much as a client takes."""
    large = "large" in request.query_params

    async def parts() -> Any:
        while True:
            yield b"x" * (1 << 20) if large else b"data: \n\n"
            await asyncio.sleep(0 if large else 0.1)

    return StreamingResponse(parts())


@contextmanager
def serving(limits: ConnectionLimits = LIMITS) -> Iterator[tuple[int, uvicorn.Server]]:
    routes = [
        Route("/", page),
        Route("/gradio_api/upload", size, methods=["POST"]),
        Route("/gradio_api/queue/data", endless),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(RequestLimits, pace=PACE)])
    config = uvicorn.Config(app, port=0, log_level="critical")
    limit_connections(config, limits)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], server
    finally:
        server.force_exit = server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as (number, _):
        yield number


def connect(port: int, text: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    line.sendall(text)
    return line


def closed_after(line: socket.socket) -> float:
    """Seconds until the server closes the connection."""
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while line.recv(65536):
            pass
    return time.monotonic() - began


def get(port: int, path: str = "/") -> str:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    line.request("GET", path)
    text = line.getresponse().read().decode()
    line.close()
    return text


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


def test_a_connection_without_a_whole_head_is_closed(port):
    began = time.monotonic()
    with contextlib.ExitStack() as held:
        lines = {text: held.enter_context(connect(port, text)) for text in (b"", HEAD[:8], HEAD)}
        for text, line in lines.items():
            closed_after(line)
            assert time.monotonic() - began > 0.3, text


def test_a_head_by_the_byte_is_not_waited_for(port):
    with connect(port) as line:
        sent = 0
        with contextlib.suppress(ConnectionError):
            for byte in HEAD * 40:
                line.sendall(bytes([byte]))
                sent += 1
                time.sleep(0.05)
        assert sent < 40 * len(HEAD)


def test_a_second_head_on_the_same_connection_has_the_same_time(port):
    with connect(port, HEAD + b"\r\n") as line:
        assert b"200 OK" in line.recv(65536)
        line.sendall(HEAD)  # ends the time of an unused connection, and begins that of a head
        closed_after(line)


def test_an_endless_head_is_refused(port):
    with connect(port, HEAD) as line:
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 << 20:
                line.sendall(b"X-Long: " + b"a" * 8_000)
                sent += 8_008
        assert sent < 16 << 20, f"{sent >> 20} MB were taken"
    assert get(port) == "the page"


def test_an_upload_of_one_byte_at_a_time_is_refused_and_a_brisk_one_is_not(port):
    head = b"POST /gradio_api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n"
    with connect(port, head) as line:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < PATIENCE:
                line.sendall(b"x")
                line.settimeout(0.1)  # at most ten bytes a second
                with contextlib.suppress(TimeoutError):
                    if answer := line.recv(65536):
                        break
        assert answer.startswith(b"HTTP/1.1 408") and time.monotonic() - began >= 0.9
    with connect(port, head + b"x" * 500) as line:  # 500 bytes at once are 25 seconds ahead
        for _ in range(9):
            time.sleep(0.15)  # longer than the first second, and faster than required
            line.sendall(b"x" * 500)
        with line.makefile("rb") as answer_lines:  # head and body may come apart
            assert answer_lines.readline().startswith(b"HTTP/1.1 200")
            while answer_lines.readline().strip():
                pass
            assert answer_lines.read(4) == b"5000"


def test_an_answer_may_take_longer_than_its_request(port):
    """The time of a body ends with the body: a stream stays open."""
    with connect(port, b"GET /gradio_api/queue/data HTTP/1.1\r\nHost: localhost\r\n\r\n") as line:
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            assert line.recv(65536)


def test_a_client_that_does_not_read_is_dropped():
    with serving() as (port, server):
        ask = b"GET /gradio_api/queue/data?large=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connect(port, ask):
            until(lambda: server.server_state.connections)
            until(lambda: not server.server_state.connections)


def test_a_thousand_connections_keep_no_visitor_out():
    with (
        serving(replace(LIMITS, head_seconds=60.0)) as (port, server),
        contextlib.ExitStack() as held,
    ):
        ask = b"GET /gradio_api/queue/data HTTP/1.1\r\nHost: localhost\r\n\r\n"
        stream = held.enter_context(connect(port, ask))
        assert stream.recv(65536)
        for number in range(1000):
            held.enter_context(connect(port))
            if number % 250 == 0:
                assert get(port) == "the page"
        assert get(port) == "the page"
        until(lambda: len(server.server_state.connections) <= LIMITS.connections)
        stream.settimeout(PATIENCE)
        assert stream.recv(65536), "the open page has kept its connection"


def test_a_request_that_arrives_with_a_flood_is_answered():
    """Of connections that are accepted together the first has sent its request, as launch() does
    to check its own start; it must not be taken for the one that has waited longest."""
    with (
        serving(replace(LIMITS, head_seconds=60.0)) as (port, server),
        contextlib.ExitStack() as held,
    ):
        loop = server.servers[0].get_loop()
        busy, free = threading.Event(), threading.Event()
        loop.call_soon_threadsafe(lambda: (busy.set(), free.wait(PATIENCE)))
        assert busy.wait(PATIENCE)  # nothing is accepted meanwhile
        first = held.enter_context(connect(port, HEAD + b"\r\n"))
        for _ in range(120):
            held.enter_context(connect(port))
        free.set()
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        until(lambda: len(server.server_state.connections) <= LIMITS.connections)


def test_when_all_connections_are_in_use_new_ones_are_closed():
    with serving(replace(LIMITS, connections=3)) as (port, _), contextlib.ExitStack() as held:
        ask = b"GET /gradio_api/queue/data HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(3):
            assert held.enter_context(connect(port, ask)).recv(65536)
        with connect(port) as line:
            closed_after(line)


def test_one_address_cannot_take_all_connections():
    limits = replace(
        LIMITS, head_seconds=600.0, per_address=2, is_shared=lambda address: address != "127.0.0.1"
    )
    with serving(limits) as (port, _), contextlib.ExitStack() as held:
        ask = b"GET /gradio_api/queue/data HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(2):
            assert held.enter_context(connect(port, ask)).recv(65536)
        with connect(port) as line:
            closed_after(line)  # at once, not when its ten minutes are up


def test_addresses_of_proxies_are_shared():
    assert all(map(may_be_proxy, ("127.0.0.1", "10.1.2.3", "::1", "192.168.0.7", "unknown")))
    assert not any(map(may_be_proxy, ("8.8.8.8", "2001:4860:4860::8888")))


@pytest.mark.parametrize(
    ("files", "connections"),
    [(100, 50), (306, 50), (307, 51), (1_024, 768), (1_255, 999), (1_256, 1_000), (65_536, 1_000)],
)
def test_connections_leave_256_files_to_the_rest_of_the_app(files, connections, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert slow_clients._max_connections_by_open_files() == connections
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, -1))
    assert slow_clients._max_connections_by_open_files() == 1_000


def test_the_server_is_set_up_with_the_limits():
    config = uvicorn.Config("app:app")
    slow_clients.limit_connections(config, slow_clients.ConnectionLimits(7, head_bytes=99))
    assert config.http.limits.connections == 7  # type: ignore[union-attr]
    assert (config.ws, config.h11_max_incomplete_event_size) == ("none", 99)
    assert config.timeout_keep_alive == 5


class Line:
    """A connection of the limited protocol that is closed on request."""

    def __init__(self, since: float, busy: bool = False) -> None:
        self._waiting_since, self.busy, self.closed = since, busy, False

    def waits_for_request_head(self) -> bool:
        return not self.busy

    def _abort_connection(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("most", "closed", "again"),
    [(4, [], False), (3, [1.0], False), (2, [1.0, 2.0], False), (1, [1.0, 2.0, 4.0], False),
     (0, [1.0, 2.0, 4.0], True)],
)  # fmt: skip
def test_those_that_waited_longest_are_closed_and_none_in_use(most, closed, again):
    lines = [Line(2.0), Line(0.0, busy=True), Line(1.0), Line(4.0)]
    later: list[Any] = []
    protocol = slow_clients.BoundedProtocol.__new__(slow_clients.BoundedProtocol)
    protocol.limits = replace(LIMITS, connections=most)
    protocol.connections = set(lines)
    protocol.loop = SimpleNamespace(call_later=lambda *given: later.append(given))
    protocol._close_excess_connections()
    assert sorted(one._waiting_since for one in lines if one.closed) == closed
    assert later == [(LIMITS.burst_seconds, protocol._close_excess_connections)] * again


def test_a_client_that_reads_again_is_not_dropped():
    made: list[Any] = []

    def call_later(seconds: float, call: Any) -> SimpleNamespace:
        made.append(SimpleNamespace(after=seconds, call=call, cancelled=False))
        made[-1].cancel = lambda one=made[-1]: setattr(one, "cancelled", True)
        return made[-1]

    protocol = slow_clients.BoundedProtocol.__new__(slow_clients.BoundedProtocol)
    protocol.limits, protocol.loop = LIMITS, SimpleNamespace(call_later=call_later)
    flow: list[str] = []
    protocol.flow = SimpleNamespace(
        pause_writing=lambda: flow.append("pause"), resume_writing=lambda: flow.append("resume")
    )
    protocol.pause_writing()
    (timer,) = made
    assert (timer.after, timer.call) == (LIMITS.unread_seconds, protocol._abort_connection)
    protocol.pause_writing()
    assert [one.cancelled for one in made] == [True, False]
    protocol.resume_writing()
    assert made[1].cancelled and protocol._unread_timer is None
    assert flow == ["pause", "pause", "resume"]


def test_without_a_limit_of_files_the_usual_number_of_connections_is_served(monkeypatch):
    most = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    assert slow_clients._max_connections_by_open_files() == ConnectionLimits().connections
