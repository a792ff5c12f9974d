"""Between a browser and a server: passes every byte on and keeps what the server sent."""

from __future__ import annotations

import contextlib
import socket
import threading


class Wiretap:
    """A TCP proxy on a port of its own; `heard` is all that came from the server."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._said: list[bytes] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def heard(self) -> str:
        return b"".join(self._said).decode("utf-8", "replace")

    def close(self) -> None:
        self._door.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                browser, _ = self._door.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                for source, target, kept in ((browser, server, False), (server, browser, True)):
                    threading.Thread(
                        target=self._pass, args=(source, target, kept), daemon=True
                    ).start()

    def _pass(self, source: socket.socket, target: socket.socket, kept: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if kept:
                    self._said.append(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
