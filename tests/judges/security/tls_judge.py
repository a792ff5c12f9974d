"""A judge server with TLS on loopback, under any host name; records requests, scripted replies."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

NAME = "judge.example.com"
GOOD = json.dumps(
    {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}], "model": "m"}
).encode()


class TlsJudge(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate: Path, key: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.status, self.body = 200, GOOD
        self.headers: dict[str, str] = {}
        self.hosts: list[str] = []
        self.names: list[str | None] = []
        """The names that callers gave in the handshake (SNI)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.sni_callback = lambda socket, name, _: self.names.append(name)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that leaves in the handshake is no fault here."""


class _Request(BaseHTTPRequestHandler):
    server: TlsJudge

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.hosts.append(self.headers["Host"])
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for NAME that is its own authority, made by the machine's openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("NO OPENSSL: no certificate can be made for a judge behind TLS")
    certificate, key = folder / "judge.pem", folder / "judge.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


@contextmanager
def tls_judge(certificate: Path, key: Path) -> Iterator[TlsJudge]:
    server = TlsJudge(certificate, key)
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
