"""The page and its configuration are made once for an address, and limited by network address."""

from __future__ import annotations

import gzip
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from components.server.limits.request_limits import AddressRate
from components.server.page_cache import MAX_STORED, PageCache
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.local_app import LocalApp
from tests.samples import sample

DENIAL = "denial of service"


def fetch(url: str, *, packed: bool = False) -> bytes:
    headers = {"Accept-Encoding": "gzip"} if packed else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as reply:
        body: bytes = reply.read()
        return gzip.decompress(body) if reply.headers["Content-Encoding"] == "gzip" else body


@pytest.mark.parametrize("mode", sample([PUBLIC, OWN], PUBLIC))
def test_gradio_makes_the_page_and_its_configuration_once(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", str(int(mode == PUBLIC)))
    app = LocalApp(tmp_path / "evenhand.db")
    made: list[str] = []
    make = gr.route_utils.update_root_in_config

    def count(config: Any, root: str) -> Any:
        made.append(root)
        return make(config, root)

    monkeypatch.setattr(gr.route_utils, "update_root_in_config", count)
    try:
        for path in ("/", "/config"):
            made.clear()
            addresses = [
                f"{app.url}{path}{query}" for query in ("", "?page=x", "?deep_link=y", "?a")
            ]
            with attempt(DENIAL, mode, *(f"GET {address}" for address in addresses)):
                bodies = [
                    fetch(one, packed=packed) for one in addresses for packed in (True, False)
                ]
                assert len(made) == 1
            # The address decides the content of the loading screen, not what Gradio makes.
            by_gradio = {re.sub(rb"<style>\s*#eh-loading.*?(?=<gradio-app)", b"", body,
                                flags=re.DOTALL) for body in bodies}  # fmt: skip
            assert len(by_gradio) == 1 and len(by_gradio.pop()) > 100_000
        assert json.loads(bodies[0])["root"] == app.url
        limit_reached = False
        if mode == PUBLIC:
            with attempt(DENIAL, mode, "GET /config without end"):
                for _ in range(2_000):
                    try:
                        fetch(f"{app.url}/config", packed=True)
                    except urllib.error.HTTPError as error:
                        limit_reached = error.code == 429
                        break
                assert limit_reached
    finally:
        app.close()


def client(headers: dict[str, str] | None = None) -> tuple[TestClient, list[str]]:
    """An app behind the cache, and the hosts of the requests that reached it."""
    reached: list[str] = []

    async def answer(request: Request) -> PlainTextResponse:
        reached.append(request.headers["host"])
        assert not request.url.query
        return PlainTextResponse(f"page of {reached[-1]}", headers=headers)

    routes = [Route("/{path:path}", answer)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(PageCache)])), reached


def test_each_host_gets_its_own_page_and_few_are_stored() -> None:
    visitor, reached = client()
    hosts = [f"10.0.0.{number}" for number in range(MAX_STORED + 1)]
    for host in (*hosts, hosts[-1], hosts[0]):
        assert visitor.get("/", headers={"host": host}).text == f"page of {host}"
    assert reached == [*hosts, hosts[0]]  # the first was replaced by the last


def test_a_response_with_a_cookie_is_not_stored() -> None:
    visitor, reached = client({"Set-Cookie": "session=1"})
    for _ in range(2):
        assert "session" in visitor.get("/").headers["set-cookie"]
    assert len(reached) == 2


def test_an_address_has_a_burst_and_then_a_rate() -> None:
    now = [0.0]
    rate = AddressRate(burst=3, per_second=0.5, clock=lambda: now[0])
    assert [rate.count_request_if_allowed("a") for _ in range(4)] == [True, True, True, False]
    assert rate.count_request_if_allowed("b"), "another address has its own"
    now[0] = 1.9
    assert not rate.count_request_if_allowed("a")
    now[0] = 2.0
    assert rate.count_request_if_allowed("a") and not rate.count_request_if_allowed("a")
