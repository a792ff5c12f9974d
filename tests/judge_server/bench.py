"""The cheapest judge there is, for benchmarks: one prepared answer after its latency, and a count.

Written on the bare protocol: aiohttp.web took 0.18 ms of CPU per request, this takes 0.07, and on
two cores the server must not be what a benchmark measures. It reads no request and has no faults.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from .asked import Asked
from .behaviour import Reply
from .replies import completion
from .server import JudgeApp
from .settings import Settings
from .tokens import Usage

PREPARED = Usage(prompt=800, completion=250, cached=512)  # a VisIT-Bench call, roughly
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"


def prepared_answer(model: str, text: str = "Overall, Response A is better.") -> bytes:
    asked = Asked(0, "", 1, {"model": model, "messages": []})
    return whole(completion(asked, Reply(text), PREPARED, model, None))


def whole(body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class PreparedApp(JudgeApp):
    """The counts of a benchmark; every answer is billed the same."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.prepared = prepared_answer(settings.models[0])
        self.answered = 0

    def take(self) -> float:
        """One more request in hand; the seconds it has to wait."""
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        return self.latency(self.answered)

    def give(self) -> None:
        self.in_flight -= 1
        self.answered += 1

    def books(self, with_calls: bool = False) -> dict[str, object]:
        cost = self.settings.prices.pico_dollars(PREPARED) * self.answered
        totals = {"calls": self.answered, "billed": self.answered, "pico_dollars": cost}
        return {
            "totals": totals,
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak_in_flight,
            "seconds": self.now(),
            "cpu_seconds": time.process_time(),
        }


class PreparedProtocol(asyncio.Protocol):
    """One connection: collects a request by its Content-Length, answers it, waits for the next."""

    def __init__(self, app: PreparedApp) -> None:
        self.app = app
        self.loop = asyncio.get_running_loop()
        self.collected = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.collected += data
        head = self.collected.find(HEAD_END)
        if head < 0:
            return
        end = head + len(HEAD_END) + content_length(bytes(self.collected[:head]))
        if len(self.collected) >= end:  # clients do not pipeline: nothing follows
            path = bytes(self.collected[: self.collected.find(b"\r\n")])
            self.collected.clear()
            self.asked(path)

    def asked(self, first_line: bytes) -> None:
        if first_line.startswith(b"GET /bill"):
            self.transport.write(whole(json.dumps(self.app.books()).encode()))
        elif first_line.startswith(b"GET"):
            self.transport.write(whole(self.app.models()))
        else:
            self.loop.call_later(self.app.take(), self.answer)

    def answer(self) -> None:
        self.app.give()
        if not self.transport.is_closing():
            self.transport.write(self.app.prepared)


def content_length(head: bytes) -> int:
    low = head.lower()
    start = low.find(LENGTH)
    if start < 0:
        return 0
    end = low.find(b"\r\n", start)
    return int(low[start + len(LENGTH) : end if end > 0 else None])


async def serve_prepared(
    app: PreparedApp, host: str, port: int, ready: Callable[[int], None], stop: asyncio.Event
) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PreparedProtocol(app), host, port, backlog=1024)
    async with server:
        ready(server.sockets[0].getsockname()[1])
        await stop.wait()
