"""The proxy before an app on a Space: it speaks https with browsers and http with the app, and
says so in the headers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from pathlib import Path


class Front:
    """On a port of its own, known before the app that it will pass on to (`port`)."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.port = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._door = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.host = f"127.0.0.1:{self._door.getsockname()[1]}"
        self.url = f"https://{self.host}"
        self._loop = asyncio.new_event_loop()
        self._loop.create_task(
            asyncio.start_server(self._serve, sock=self._door, ssl=self._context)
        )
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def close(self) -> None:
        def stop() -> None:
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.call_soon(self._loop.stop)

        self._loop.call_soon_threadsafe(stop)

    async def _serve(self, browser: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """One request a connection, so that only the first block of headers is to be changed."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            first, *lines = (await browser.readuntil(b"\r\n\r\n")).strip().split(b"\r\n")
            kept = [line for line in lines if not line.lower().startswith(b"connection:")]
            told = [b"Connection: close", b"X-Forwarded-Proto: https",
                    b"X-Forwarded-Host: " + self.host.encode()]  # fmt: skip
            answer, app = await asyncio.open_connection("127.0.0.1", self.port)
            app.write(b"\r\n".join([first, *kept, *told]) + b"\r\n\r\n")
            asking = asyncio.create_task(_pass(browser, app))
            await _pass(answer, back)
            asking.cancel()
            app.close()
        back.close()


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
