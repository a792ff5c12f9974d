"""MCP: closed unless asked for with `--mcp`; then with the limits of every other route."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from components.server.limits.request_limits import RequestLimits
from components.server.limits.temp_files import TempFileQuota
from tests.attacks.attack_list import MODES, OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt, in_mode
from tests.local_app import LocalApp, app_main
from tests.page_words import says
from tests.waiting import free_port

FETCHED = "files fetched for a visitor"
CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "study_metrics", "arguments": {"study": "x"}},
}  # fmt: skip
PATHS = (
    "/gradio_api/mcp", "/gradio_api/mcp/", "/gradio_api/mcp/sse", "/gradio_api/mcp/http",
    "/gradio_api/mcp/messages/?session_id=1", "/gradio_api/mcp/schema", "/gradio_api/mcp//",
    "/gradio_api/%6dcp/", "/gradio_api/x/../mcp/", "/mcp", "/mcp/sse", "/gradio_api/MCP/",
)  # fmt: skip


@pytest.mark.parametrize("mode", [PUBLIC, pytest.param(OWN, marks=pytest.mark.extra)])
def test_no_mcp_is_served_unless_asked_for_and_no_tool_fetches_a_file(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp"))
    with in_mode(mode):
        app = LocalApp(tmp_path / "evenhand.db")
        try:
            for path in PATHS:
                for method in ("GET", "POST", "DELETE"):
                    with attempt(FETCHED, mode, f"{method} {path}"):
                        assert send(app.port, method, path) in (404, 405), (method, path)
            call_tools(app, mode)
        finally:
            app.close()


def test_without_its_package_mcp_is_refused_before_a_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = threading.active_count()
    with app_main() as main:
        monkeypatch.setattr("app.find_spec", lambda _: None)
        code = main(["--mcp", "--port", str(free_port()), "--store", str(tmp_path / "new.db")])
    assert code == 2 and says(capsys.readouterr().err, "mcp", "pip install")
    assert not list(tmp_path.iterdir()) and threading.active_count() == threads


def send(port: int, method: str, path: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps(CALL) if method == "POST" else None
    line.request(method, path, body, {"Content-Type": "application/json"})
    status = line.getresponse().status
    line.close()
    return status


def call_tools(app: LocalApp, mode: Mode) -> None:
    """Call every function that is a tool of MCP in the way its server does, past the routes."""
    (blocks,) = app._pages
    tools = [one for one in blocks.fns.values() if one.api_visibility == "public" and one.inputs]
    assert len(tools) > 5
    file = {"path": "http://127.0.0.1:9/x.yaml", "meta": {"_type": "gradio.FileData"}}
    for tool in tools:
        inputs: list[Any] = [file] * len(tool.inputs)
        with attempt(FETCHED, mode, f"MCP tool {tool.api_name}"):
            with pytest.raises(Exception, match="address") as refused:
                asyncio.run(blocks.process_api(block_fn=tool, inputs=inputs))
            assert says(str(refused.value), "file", "address")


@pytest.mark.parametrize("mode", MODES)
def test_with_mcp_its_neighbours_stay_closed_and_its_bodies_are_limited(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    quota = TempFileQuota(1 << 20) if mode == PUBLIC else None
    limits = Middleware(RequestLimits, max_upload_bytes=1000, quota=quota, mcp=True)
    routes = [Route("/{path:path}", answer, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])]
    with in_mode(mode), TestClient(Starlette(routes=routes, middleware=[limits])) as client:
        assert client.post("/gradio_api/mcp/", json=CALL).status_code == 200
        for path in ("/gradio_api/mcpx", "/gradio_api/mcp.json", "/x/gradio_api/mcp/", "/mcp/"):
            with attempt(FETCHED, mode, f"a neighbour of MCP: {path}"):
                assert client.post(path, json=CALL).status_code == 404
        for method in ("PUT", "PATCH"):
            with attempt(FETCHED, mode, f"MCP by {method}"):
                assert client.request(method, "/gradio_api/mcp/").status_code in (404, 405)
        if mode == PUBLIC:
            with attempt(FETCHED, mode, "an MCP call of 64 MB"):
                assert client.post("/gradio_api/mcp/", content=b"x" * (64 << 20)).status_code == 413
    if quota:
        quota.close()
