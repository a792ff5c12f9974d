"""A judge server in a thread of its own, for tests; the same coroutine serves the subprocess."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

from .bill import Bill
from .faults import Rule, Schedule
from .limiter import Cooldown
from .server import LARGEST_REQUEST, JudgeApp
from .settings import Settings

HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 120.0
LAST_WORDS = 0.2  # what a request in hand gets when the server closes
T = TypeVar("T")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def serve(
    handler: Handler, port: int, ready: Callable[[int], None], stop: asyncio.Event
) -> None:
    """Listen on loopback until `stop`; `ready` gets the port. A client that leaves cancels its
    request."""
    loop = asyncio.get_running_loop()

    def make(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        size = LARGEST_REQUEST
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=size)

    server = web.Server(handler, request_factory=make, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=LAST_WORDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port, backlog=1024).start()
        ready(runner.addresses[0][1])
        await stop.wait()
    finally:
        await runner.cleanup()


class JudgeServer:
    """`with JudgeServer(latency=0.01) as server: ...`: every keyword is a field of `Settings`."""

    def __init__(self, *, port: int = 0, **settings: Any) -> None:
        self.app = JudgeApp(Settings(**settings))
        self.port = port
        self._stop = asyncio.Event()
        self._started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="judge-server", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def bill(self) -> Bill:
        """The live books; `books()` is a consistent copy."""
        return self.app.bill

    @property
    def cooldowns(self) -> list[Cooldown]:
        return self.app.cooldowns.all

    @property
    def peak_in_flight(self) -> int:
        return self.app.peak_in_flight

    def start(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        self.port = self._started.result(START_SECONDS)
        return self

    def books(self, with_calls: bool = False) -> dict[str, Any]:
        """As GET /bill gives them."""
        return self._in_loop(lambda: self.app.books(with_calls))

    def schedule(self, *rules: Rule) -> None:
        """From now on these rules, and no others."""
        seed = self.app.settings.seed
        self._in_loop(lambda: setattr(self.app, "schedule", Schedule(rules, seed)))

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(STOP_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(serve(self.app.handle, self.port, self._started.set_result, self._stop))
            except OSError as error:  # the port is taken: the starter is told
                self._started.set_exception(error)

    def _in_loop(self, act: Callable[[], T]) -> T:
        """Run in the server's thread, so that no request is half counted."""
        if not self._thread.is_alive():
            return act()

        async def acted() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(acted(), self._loop).result(STOP_SECONDS)
