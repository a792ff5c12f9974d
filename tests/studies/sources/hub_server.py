"""A loopback stand-in for the Hub: repository info, file tree and ranged downloads, nothing else.

It answers the requests of `datasets` and `huggingface_hub`, so that the real clients run offline.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Repos = Mapping[str, Mapping[str, bytes]]
"""owner/name -> path in the repository -> content."""


class Hub:
    """Files of the server, and a log of its requests: paths, bytes sent, tokens received."""

    def __init__(self, repos: Repos, private: tuple[str, ...] = ()) -> None:
        self.repos, self.private = repos, private
        self.asked: list[str] = []
        self.tokens: set[str] = set()
        self.sent = 0

    def refusal(self, repo: str, revision: str, token: str) -> tuple[int, str] | None:
        if repo not in self.repos or (repo in self.private and token != "Bearer hf_mine"):
            return 401, "RepoNotFound"
        if revision not in ("main", COMMIT):
            return 404, "RevisionNotFound"
        return None


def _entry(path: str, content: bytes) -> dict[str, Any]:
    oid = hashlib.sha1(content).hexdigest()
    return {"type": "file", "path": path, "size": len(content), "oid": oid}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_POST(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        length = int(self.headers.get("content-length") or 0)
        asked = self.rfile.read(length).decode() if length else ""
        self.hub.asked.append(f"{self.command} {path}")
        token = self.headers.get("authorization", "")
        if token:
            self.hub.tokens.add(token)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/([^/]+))?", path):
            return self._info(match[1], match[2] or "main", token)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?", path):
            return self._tree(match[1], match[2], match[3] or "", token)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/paths-info/([^/]+)", path):
            return self._paths(match[1], match[2], asked, token)
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._file(match[1], match[2], match[3], token, body)
        return self._send(404, b"{}")

    def _refused(self, repo: str, revision: str, token: str) -> bool:
        refusal = self.hub.refusal(repo, revision, token)
        if refusal:
            self._send(refusal[0], b'{"error": "no"}', {"X-Error-Code": refusal[1]})
        return refusal is not None

    def _info(self, repo: str, revision: str, token: str) -> None:
        if self._refused(repo, revision, token):
            return
        files = [{"rfilename": name} for name in self.hub.repos[repo]]
        private = repo in self.hub.private
        info = {"id": repo, "sha": COMMIT, "private": private, "siblings": files, "tags": []}
        self._json({**info, "_id": "1", "downloads": 0, "likes": 0, "disabled": False,
                    "gated": False, "lastModified": "2025-01-01T00:00:00.000Z"})  # fmt: skip

    def _tree(self, repo: str, revision: str, under: str, token: str) -> None:
        if self._refused(repo, revision, token):
            return
        inside = f"{under}/" if under else ""
        held = self.hub.repos[repo]
        files = [_entry(name, held[name]) for name in held if name.startswith(inside)]
        names = {name.removeprefix(inside) for name in held if name.startswith(inside)}
        folders = {inside + name.split("/")[0] for name in names if "/" in name}
        kept = [file for file in files if "recursive=true" in self.path.lower()
                or "/" not in file["path"].removeprefix(inside)]  # fmt: skip
        self._json([{"type": "directory", "path": name, "size": 0, "oid": "0" * 40}
                    for name in sorted(folders)] + kept)  # fmt: skip

    def _paths(self, repo: str, revision: str, asked: str, token: str) -> None:
        if self._refused(repo, revision, token):
            return
        held = self.hub.repos[repo]
        try:
            paths = json.loads(asked)["paths"]
        except ValueError:
            paths = [unquote(part.partition("=")[2]) for part in asked.split("&")
                     if part.startswith("paths")]  # fmt: skip
        paths = [paths] if isinstance(paths, str) else paths
        found = [_entry(path, held[path]) for path in paths if path in held]
        folders = [path for path in paths if any(name.startswith(f"{path}/") for name in held)]
        self._json([*found, *({"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
                              for path in folders)])  # fmt: skip

    def _file(self, repo: str, revision: str, path: str, token: str, body: bool) -> None:
        if self._refused(repo, revision, token):
            return None
        content = self.hub.repos[repo].get(path)
        if content is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
                 "Accept-Ranges": "bytes"}  # fmt: skip
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if wanted and body:
            start, stop = int(wanted[1]), int(wanted[2] or len(content) - 1) + 1
            about["Content-Range"] = f"bytes {start}-{min(stop, len(content)) - 1}/{len(content)}"
            return self._send(206, content[start:stop], about)
        return self._send(200, content, about, body)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(
        self, status: int, content: bytes, headers: Mapping[str, str] = {}, body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body and self.command != "HEAD":
            self.hub.sent += len(content)
            self.wfile.write(content)


@contextmanager
def serving(repos: Repos, private: tuple[str, ...] = ()) -> Iterator[tuple[Hub, str]]:
    """Run the stand-in server within a with block."""
    hub = Hub(repos, private)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield hub, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
