"""The real app beside silent and slow clients: at its start, and with the limits it ships."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.server.limits.request_limits import BodyPace
from components.server.limits.slow_clients import ConnectionLimits
from tests.attacks.attack_list import MODES, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.components.server.limits.test_slow_clients import HEAD, closed_after, connect, get
from tests.ui.conftest import ROOT, App, free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="WINDOWS: too few sockets"),
]
DENIAL = "denial of service"
CONNECTIONS = 1_100
PATIENCE = 60
"""Seconds for an answer while other tests share the machine."""


@pytest.fixture(scope="module", params=MODES)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[App, Mode]]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EVENHAND_PUBLIC", str(int(request.param == PUBLIC)))
        app = App(tmp_path_factory.mktemp("slow") / "evenhand.db")
    yield app, request.param
    app.close()


def serves_page(app_port: int) -> bool:
    began = time.monotonic()
    return "Evenhand" in get(app_port) and time.monotonic() - began < PATIENCE


def test_a_thousand_silent_connections_keep_no_visitor_out(running):
    app, mode = running
    names = (f"silent connection {number}" for number in range(CONNECTIONS))
    with attempt(DENIAL, mode, *names, "a head without an end"), contextlib.ExitStack() as held:
        silent = [held.enter_context(connect(app.port)) for _ in range(CONNECTIONS)]
        held.enter_context(connect(app.port, HEAD))
        assert serves_page(app.port)
        limit = ConnectionLimits().head_seconds
        began = time.monotonic()
        for line in silent:
            line.settimeout(limit + PATIENCE)
            closed_after(line)
        assert time.monotonic() - began < limit + PATIENCE


def test_an_endless_head_is_refused_by_the_app(running):
    app, mode = running
    with attempt(DENIAL, mode, "an endless head"):
        sent = 0
        with connect(app.port, HEAD) as line, contextlib.suppress(ConnectionError):
            while sent < 64 << 20:
                line.sendall(b"X-Long: " + b"a" * 8_000)
                sent += 8_008
        assert sent < 16 << 20, f"{sent >> 20} MB were taken"
        assert serves_page(app.port)


def test_an_upload_of_a_byte_a_second_is_refused_by_the_app(running):
    app, mode = running
    head = (
        f"POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1:{app.port}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000\r\n\r\n--x\r\n"
    )
    with attempt(DENIAL, mode, "an upload of a byte a second"):
        began, answer = time.monotonic(), b""
        with connect(app.port, head.encode()) as line, contextlib.suppress(ConnectionError):
            line.settimeout(1)
            while not answer and time.monotonic() - began < BodyPace().first_seconds + PATIENCE:
                line.sendall(b"C")
                with contextlib.suppress(TimeoutError):
                    answer = line.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408"), answer[:200]
        assert time.monotonic() - began >= BodyPace().first_seconds - 1
        assert serves_page(app.port)


@pytest.mark.parametrize("mode", MODES)
def test_the_app_starts_during_a_flood_of_connections(mode: Mode, tmp_path: Path) -> None:
    """Gradio requests its own address before launch() returns, and gives up without an answer."""
    port = free_port()
    environment = {
        **os.environ, "GRADIO_ANALYTICS_ENABLED": "False",
        "EVENHAND_PUBLIC": str(int(mode == PUBLIC)),
    }  # fmt: skip
    command = [sys.executable, "app.py", "--port", str(port), "--store", str(tmp_path / "e.db")]
    log = tmp_path / "app.log"
    with log.open("wb") as out, contextlib.ExitStack() as held:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment
        )
        held.callback(process.wait)
        held.callback(process.kill)
        names = (f"connection {number} at the start" for number in range(CONNECTIONS))
        with attempt(DENIAL, mode, *names):
            held.enter_context(first_connection(process, port))
            for _ in range(CONNECTIONS):
                line = held.enter_context(socket.socket())
                line.setblocking(False)
                line.connect_ex(("127.0.0.1", port))
            until = time.monotonic() + 400
            while b"To stop" not in log.read_bytes():  # printed last
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            assert serves_page(port)


def first_connection(process: subprocess.Popen[bytes], port: int) -> socket.socket:
    """The first connection that the app accepts, within milliseconds of its listening."""
    until = time.monotonic() + 400
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        time.sleep(0.002)
    raise AssertionError("the app did not listen")
