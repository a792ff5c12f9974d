"""A loopback stand-in that speaks as much of the Hub's API as Evenhand needs."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Hub(ThreadingHTTPServer):
    """Speaks as much of the Hub's API as creating a repository and committing files needs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubRequest)
        self.created: list[dict[str, object]] = []
        self.files: dict[str, bytes] = {}
        self.refused = False
        self.repository = "there"
        """Or "missing" until it is created, or "hidden": there, but the token may not see it."""
        self.fetched: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class HubRequest(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.server.refused:
            self._say({"error": "You have no rights here"}, 403)
        elif "/resolve/" in self.path and self.server.repository != "there":
            self._say_missing("RepoNotFound")
        elif "/resolve/" in self.path:
            self._send_file(self.path.split("/resolve/")[1].split("/", 1)[1])
        else:
            self._say({"id": "me/space", "sha": "0" * 40, "siblings": [], "type": "user"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.refused:
            self._say({"error": "You have no rights here"}, 403)
        elif self.path == "/api/repos/create":
            self.server.created.append(json.loads(body))
            if self.server.repository == "hidden":
                self._say({"error": "exists", "url": f"{self.server.url}/datasets/me/data"}, 409)
                return
            self.server.repository = "there"
            self._say({"url": f"{self.server.url}/spaces/me/space"})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            said = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                    for f in files]  # fmt: skip
            self._say({"files": said})
        elif "/commit/" in self.path:
            for line in body.decode().splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    content = base64.b64decode(entry["value"]["content"])
                    self.server.files[entry["value"]["path"]] = content
            said = {
                "commitUrl": f"{self.server.url}/spaces/me/space/commit/1",
                "commitOid": "1" * 40,
                "success": True,
            }
            self._say(said)
        else:
            self._say({})

    def _send_file(self, name: str) -> None:
        content = self.server.files.get(name)
        if content is None:
            self._say_missing("EntryNotFound")
            return
        self.server.fetched.append(f"{self.command} {name}")
        self.send_response(200)
        self.send_header("ETag", '"' + hashlib.sha256(content).hexdigest()[:40] + '"')
        self.send_header("X-Repo-Commit", "1" * 40)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _say_missing(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _say(self, value: object, status: int = 200) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    yield server
    server.shutdown()
    server.server_close()
