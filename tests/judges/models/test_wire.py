"""Servers with broken HTTP or endless replies: no run hangs, and no message quotes them."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import aiohttp
import httpx2
import pytest

from judges.engine.run_state import RunSettings
from judges.models.failures import classify_error
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan

HASTY, PATIENT = (RunSettings(attempts=1, deadline=seconds) for seconds in (0.5, 60.0))
OK = b"HTTP/1.1 200 OK\r\n"


def drip(peer: socket.socket) -> None:
    for byte in OK + b"X-Slow: " + b"y" * 100_000:
        peer.send(bytes([byte]))
        time.sleep(0.02)


def go_on(peer: socket.socket) -> None:
    while True:
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


def stop_within(peer: socket.socket) -> None:
    peer.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + b'{"cho\r\n')
    time.sleep(600)


def stream(peer: socket.socket) -> None:
    peer.sendall(OK + b"Content-Type: text/event-stream\r\n\r\ndata: {}\n\n")
    time.sleep(600)


def garbage(peer: socket.socket) -> None:
    peer.sendall(b"SSH-2.0-inner-secret\r\n")


def headers(peer: socket.socket) -> None:
    peer.sendall(OK + b"X: " + b"inner-secret " * 20_000 + b"\r\n\r\n")


@contextmanager
def answering(how) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listening.accept()
                threading.Thread(target=answer, args=(peer,), daemon=True).start()

    def answer(peer: socket.socket) -> None:
        with suppress(OSError), peer:
            peer.recv(65536)
            how(peer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.close()


@pytest.mark.parametrize(
    ("how", "reason"),
    [(drip, "timeout"), (go_on, "timeout"), (stop_within, "timeout"), (stream, "timeout"),
     (garbage, "bad reply"), (headers, "bad reply")],
    ids=lambda value: getattr(value, "__name__", value),
)  # fmt: skip
def test_whatever_comes_over_the_wire_ends_in_a_typed_outcome(how, reason, tmp_path, store):
    with answering(how) as url:
        settings = HASTY if reason == "timeout" else PATIENT
        run = run_through(study_plan(tmp_path, [endpoint(url)], items=2), store, settings=settings)
    assert run.state == "done"
    assert [(j.status, j.rule) for j in judgements(store)] == [("error", reason)] * 2
    assert run.snapshot().unknown_usage == 2, "it may have been billed"
    assert not any("inner-secret" in j.detail for j in judgements(store))


def test_a_connection_that_is_never_made_is_unreachable_and_costs_nothing():
    try:
        raise httpx2.ConnectTimeout("") from aiohttp.ConnectionTimeoutError()
    except httpx2.ConnectTimeout as error:
        fault = classify_error(error, "https://judge.example")
    assert (fault.reason, fault.action, fault.maybe_billed) == ("unreachable", "retry", False)
    assert "https://judge.example" in fault.detail
