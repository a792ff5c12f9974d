"""A live MCP server, asked by the client of the protocol's own package (`make test-mcp`)."""

from __future__ import annotations

import ast
import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip(
    "mcp", reason="NOT RUN: the MCP server needs requirements/mcp.txt; `make test-mcp` installs it"
)

from mcp.client.streamable_http import streamable_http_client  # noqa: E402

from studies.store.store import Store  # noqa: E402
from tests.attacks.attack_list import OWN, PUBLIC  # noqa: E402
from tests.attacks.attack_log import Mode, attempt, in_mode  # noqa: E402
from tests.attacks.test_mcp_routes import PATHS, send  # noqa: E402
from tests.components.server.test_access import small  # noqa: E402
from tests.local_app import LocalApp  # noqa: E402

FETCHED = "files fetched for a visitor"
TOKEN = "a secret of one caller only"
OTHER = "another caller's own secret"
SECRET = "CANARY-OF-A-LOCAL-FILE"


@pytest.fixture(params=[OWN, PUBLIC])
def served(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[LocalApp, Mode]]:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp"))
    with in_mode(request.param):
        app = LocalApp(tmp_path / "evenhand.db", ("--mcp",))
        try:
            yield app, request.param
        finally:
            app.close()


def ask(app: LocalApp, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """(the tools, the answer to each call) of one MCP session."""

    async def talk() -> tuple[list[Any], list[Any]]:
        async with (
            streamable_http_client(f"{app.url}/gradio_api/mcp/") as (read, write, _),
            mcp.ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            return tools, [await session.call_tool(name, values) for name, values in calls]

    return asyncio.run(asyncio.wait_for(talk(), 100))


def names(tools: list[Any]) -> dict[str, str]:
    """Name in our API -> name of the tool, which Gradio may begin with the page's title."""
    known = (
        "list_studies", "study_metrics", "judgements", "plan_study", "run_study", "run_status",
        "stop_run",
    )  # fmt: skip
    return {one: tool.name for one in known for tool in tools if tool.name.endswith(one)}


def text(answer: Any) -> str:
    return " ".join(getattr(part, "text", "") for part in answer.content)


def test_the_tools_are_the_api_and_nothing_of_the_page(served: tuple[LocalApp, Mode]) -> None:
    app, mode = served
    tools, _ = ask(app)
    (blocks,) = app._pages
    public = {one.api_name for one in blocks.fns.values() if one.api_visibility == "public"}
    assert len(names(tools)) == 7
    assert len(tools) == len(public)
    secret = {"token"} if mode == PUBLIC else set()
    for tool in tools:
        with attempt(FETCHED, mode, f"arguments of the tool {tool.name}"):
            fields = set(tool.inputSchema.get("properties", {}))
            assert secret <= fields
            assert not any("key" in field for field in fields)


def test_a_tool_reads_neither_an_address_nor_a_file_for_its_caller(
    served: tuple[LocalApp, Mode], tmp_path: Path
) -> None:
    app, mode = served
    tools, _ = ask(app)
    local = tmp_path / "secret.yaml"
    local.write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        address = f"http://127.0.0.1:{trap.getsockname()[1]}/x.yaml"
        for tool in tools:
            for value in (
                {"path": address, "meta": {"_type": "gradio.FileData"}},
                {"path": str(local), "meta": {"_type": "gradio.FileData"}},
                {"url": address, "path": "x", "meta": {"_type": "gradio.FileData"}},
                address,
                str(local),
                f"file://{local}",
            ):
                fields = tool.inputSchema.get("properties", {})
                values = dict.fromkeys(fields, value) | (
                    {"token": TOKEN} if "token" in fields else {}
                )
                with attempt(FETCHED, mode, f"{tool.name} {json.dumps(value)[:80]}"):
                    answer = ""
                    with suppress(Exception):
                        answer = text(ask(app, (tool.name, values))[1][0])
                    assert SECRET not in answer
                    with pytest.raises(BlockingIOError):
                        trap.accept()


def test_a_caller_sees_only_what_its_secret_opens(served: tuple[LocalApp, Mode]) -> None:
    app, mode = served
    tool = names(ask(app)[0])

    def listed(**values: str) -> set[str]:
        _, (answer,) = ask(app, (tool["list_studies"], values))
        return {one["name"] for one in ast.literal_eval(text(answer))}

    if mode == OWN:
        owned = Store(app.store)
        assert listed() == {line.name for line in owned.studies()}
        owned.close()
        return
    _, (begun,) = ask(app, (tool["run_study"], {"study_yaml": small("mine", "x"), "token": TOKEN}))
    (mine,) = listed(token=TOKEN) - listed(token=OTHER)
    assert not begun.isError
    assert mine.startswith("mine")
    for name in ("study_metrics", "judgements", "run_status", "stop_run"):
        for values in ({"token": OTHER}, {"token": ""}, {"token": "short"}, {}):
            with attempt(FETCHED, mode, f"{name} of another caller's study, {values}"):
                _, (answer,) = ask(app, (tool[name], {"study": mine, **values}))
                assert answer.isError


def test_an_environment_variable_alone_opens_no_mcp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_MCP_SERVER", "True")
    with in_mode(PUBLIC):
        app = LocalApp(tmp_path / "evenhand.db")
        try:
            for path in PATHS:
                for method in ("GET", "POST", "DELETE"):
                    with attempt(FETCHED, PUBLIC, f"GRADIO_MCP_SERVER {method} {path}"):
                        assert send(app.port, method, path) in (404, 405), (method, path)
        finally:
            app.close()
