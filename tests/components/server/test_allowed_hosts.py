"""Requests to other hosts and from pages of other origins are refused: the rules, in process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import main
from components.server.allowed_hosts import (
    AllowedHosts,
    BadHosts,
    Hosts,
    configured_hosts,
    make_host_check_lifespan,
    parse_host,
    parse_origin,
)
from tests.page_words import pattern, says
from tests.samples import each

HERE = "127.0.0.1:7860"
EVIL = "http://evil.example"
SPACE = {"SPACE_HOST": "me-space.hf.space,judge.example"}


def hosts_of(bound: str = "127.0.0.1", *, public: bool = False, **environment: str) -> Hosts:
    return configured_hosts(bound, public=public, environment=environment)


class Served:
    """An app behind the middleware; remembers whether a request reached it."""

    def __init__(self, hosts: Hosts, own_address: str | None = "127.0.0.1") -> None:
        self._guarded, self._own = AllowedHosts(self._answer, hosts), own_address
        self.reached = False

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached = True
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await PlainTextResponse("answered")(scope, receive, send)

    def ask(
        self, *headers: tuple[str, str], method: str = "GET", path: str = "/", kind: str = "http"
    ) -> tuple[int, str]:
        """The status and body of the response; -1 where a websocket is closed, 0 where opened."""
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        scope: dict[str, Any] = {"type": kind, "path": path, "headers": raw}
        scope["server"] = (self._own, 7860) if self._own else None
        if kind == "http":
            scope["method"] = method
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        self.reached = False
        asyncio.run(self._guarded(scope, receive, send))
        if kind == "websocket":
            return (0 if sent[0]["type"] == "websocket.accept" else -1), ""
        return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]).decode()


def status(served: Served, host: str, method: str = "GET", path: str = "/", **more: str) -> int:
    headers = [("Host", host), *((name.replace("_", "-"), value) for name, value in more.items())]
    code, _ = served.ask(*headers, method=method, path=path)
    assert served.reached == (code == 200)
    return code


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", HERE, "localhost", "LocalHost:7860", "localhost.:7860", "localhost:1", "[::1]",
     "[::1]:7860", "[0:0:0:0:0:0:0:1]:7860", "127.0.0.1:"],
)  # fmt: skip
def test_loopback_is_served_in_every_spelling_and_on_every_port(host: str) -> None:
    assert status(Served(hosts_of()), host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:7860", "EVIL.example.", "127.0.0.1.evil.example",
     "localhost.evil.example", "evil-localhost", "a.localhost", "127.1", "2130706433", "0x7f.1",
     "0.0.0.0:7860", "127.0.0.2", "8.8.8.8", "[::2]", "192.168.1.5:7860"],
)  # fmt: skip
@each("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_other_hosts_are_refused_whatever_is_asked(host: str, method: str) -> None:
    assert status(Served(hosts_of()), host, method) == 403
    assert status(Served(hosts_of()), host, method, origin=f"http://{host}") == 403


@pytest.mark.parametrize(
    "host", ["", " ", "a b", "user@127.0.0.1", "127.0.0.1:port", "127.0.0.1:123456", "[::1",
             "[evil]", "http://127.0.0.1", "127.0.0.1/", "127.0.0.1, evil.example", "\xe9.example",
             "localhost..", "a" * 400],
)  # fmt: skip
def test_a_malformed_host_is_refused(host: str) -> None:
    assert status(Served(hosts_of(EVENHAND_HOSTS="evil")), host) == 400


def test_a_missing_or_doubled_header_is_refused() -> None:
    served = Served(hosts_of())
    code, said = served.ask()
    assert code == 400 and says(said, "no Host")
    for first, second in ((HERE, "evil.example"), ("evil.example", HERE), (HERE, HERE)):
        assert served.ask(("Host", first), ("Host", second))[0] == 400
    twice = (("Host", HERE), ("Origin", f"http://{HERE}"), ("Origin", EVIL))
    assert served.ask(*twice, method="POST")[0] == 400
    assert not served.reached


FOREIGN = [
    "null", EVIL, f"{EVIL}:7860", "https://evil.example", "http://127.0.0.1", "http://127.0.0.1:7861",
    "http://localhost:7861", "http://127.0.0.2:7860", "http://127.0.0.1:7860.evil.example",
    "http://127.0.0.1:7860@evil.example", "http://evil.example#127.0.0.1:7860", "file://",
    "chrome-extension://abc", "", "127.0.0.1:7860", "ftp://127.0.0.1:7860",
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN)
@each("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
def test_a_page_of_another_origin_is_refused(origin: str, method: str) -> None:
    assert status(Served(hosts_of()), HERE, method, origin=origin) == 403


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    ("host", "origin"),
    [(HERE, f"http://{HERE}"), ("localhost:7860", "http://LOCALHOST:7860"),
     (HERE, "http://localhost:7860"), ("[::1]:7860", "http://[::1]:7860"),
     ("127.0.0.1", "http://127.0.0.1"), ("127.0.0.1", "https://127.0.0.1"),
     ("127.0.0.1:80", "http://127.0.0.1"), ("localhost:9000", "http://localhost:9000")],
)  # fmt: skip
def test_its_own_pages_are_served(host: str, origin: str, method: str) -> None:
    assert status(Served(hosts_of()), host, method, origin=origin) == 200


def test_a_client_without_a_page_is_served() -> None:
    assert status(Served(hosts_of()), HERE, "POST") == 200
    assert status(Served(hosts_of()), HERE, path="/gradio_api/queue/data") == 200


CROSS = {"sec_fetch_site": "cross-site"}
CHANGING = (
    "/logout", "/gradio_api/queue/data", "/gradio_api/heartbeat/abc", "/gradio_api/mcp/sse",
    "/gradio_api/call/run_study/1",
)  # fmt: skip


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_may_link_to_the_page_and_frame_it_but_load_nothing_else(site: str) -> None:
    served = Served(hosts_of())
    opened = {"sec_fetch_site": site, "sec_fetch_mode": "navigate", "referer": f"{EVIL}/"}
    loaded = {**opened, "sec_fetch_mode": "no-cors"}
    assert status(served, HERE, path="/", **opened) == 200
    assert status(served, HERE, path="/login/callback", **opened) == 200
    assert status(served, HERE, path="/gradio_api/file=/x.png", **loaded) == 403
    assert status(served, HERE, "POST", **opened) == status(served, HERE, "POST", **loaded) == 403
    for path in CHANGING:
        assert status(served, HERE, path=path, **opened) == 403


def test_a_browser_that_sends_only_a_referer_is_judged_by_it() -> None:
    served = Served(hosts_of())
    for page in (f"{EVIL}/?a=http://{HERE}", f"http://{HERE}.evil.example/", "about:blank"):
        assert status(served, HERE, "POST", referer=page) == 403
        assert status(served, HERE, path="/logout", referer=page) == 403
        assert status(served, HERE, referer=page) == 200  # a link
    assert status(served, HERE, "POST", referer=f"http://{HERE}/?study=a@b") == 200


def test_a_websocket_needs_the_right_host_and_origin() -> None:
    served = Served(hosts_of())
    own = (("Host", HERE), ("Origin", f"http://{HERE}"))
    assert served.ask(*own, kind="websocket") == (0, "")
    for host, origin in (("evil.example", EVIL), (HERE, EVIL), (HERE, "null")):
        assert served.ask(("Host", host), ("Origin", origin), kind="websocket") == (-1, "")
        assert not served.reached


def test_a_server_on_all_interfaces_serves_this_machine_s_addresses_and_no_names() -> None:
    served = Served(hosts_of("0.0.0.0"), own_address="192.168.1.5")
    own = "192.168.1.5:7860"
    assert status(served, own, "POST", origin=f"http://{own}") == 200
    assert status(served, "0.0.0.0:7860") == status(served, HERE) == 200
    for host in ("evil.example", "192.168.1.6", "mybox"):
        assert status(served, host) == 403
    six = Served(hosts_of("::"), own_address="::ffff:192.168.1.5")
    assert status(six, own) == 200
    assert status(Served(hosts_of("0.0.0.0"), own_address=None), own) == 403


def test_the_name_it_listens_on_is_served() -> None:
    assert status(Served(hosts_of("MyBox.")), "mybox:7860") == 200
    assert status(Served(hosts_of("[::2]")), "[::2]:7860") == 200


def test_listed_hosts_are_served_also_behind_a_proxy_that_replaces_the_host() -> None:
    served = Served(hosts_of(EVENHAND_HOSTS=" judge.example , tools.example:8443,,localhost:6274 "))
    for host in ("judge.example", "Judge.example:9000", "tools.example"):
        assert status(served, host) == 200
    for origin in ("https://judge.example", "http://judge.example", "https://tools.example:8443",
                   "http://localhost:6274"):  # fmt: skip
        assert status(served, HERE, "POST", origin=origin) == 200
    for origin in ("https://judge.example:8443", "https://tools.example", "http://localhost:6275",
                   "https://sub.judge.example"):  # fmt: skip
        assert status(served, HERE, "POST", origin=origin) == 403


def test_a_space_serves_its_own_hosts_and_addresses_for_health_checks() -> None:
    served = Served(hosts_of("0.0.0.0", public=True, **SPACE), own_address="10.0.0.7")
    frame = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate",
             "sec_fetch_dest": "iframe", "referer": "https://huggingface.co/"}  # fmt: skip
    for host in ("me-space.hf.space", "judge.example"):
        assert status(served, host, **frame) == 200
        assert status(served, host, "POST", origin=f"https://{host}") == 200
        assert status(served, host, "POST", origin="https://huggingface.co") == 403
        assert status(served, host, "POST", origin="https://other.hf.space") == 403
    for host in ("10.0.0.7:7860", "10.9.9.9:7860", "localhost:7860"):
        assert status(served, host) == 200
    for host in ("other.hf.space", "evil.example", "hf.space"):
        assert status(served, host) == 403


OTHER_ADDRESSES = (
    "192.168.1.6", "192.168.1.4", "10.0.0.1", "127.0.0.1", "127.0.0.2", "localhost", "8.8.8.8",
    "100.64.0.1", "169.254.169.254", "[::1]", "[fe80::1]", "[2001:db8::1]", "[::ffff:10.0.0.1]",
)  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_page_at_another_address_is_refused_also_where_any_address_is_served(method: str) -> None:
    """Such a page may be of any machine, and the browser sends it this server's cookies."""
    served = Served(hosts_of("0.0.0.0", public=True, **SPACE), own_address="192.168.1.5")
    own = "192.168.1.5:7860"
    assert status(served, own, method, origin=f"http://{own}") == 200
    assert status(served, own, method, origin="http://[::ffff:192.168.1.5]:7860") == 200
    for address in OTHER_ADDRESSES:
        assert status(served, own, method, origin=f"http://{address}:7860") == 403
        if "127" not in address and address not in ("localhost", "[::1]"):
            assert status(served, HERE, method, origin=f"http://{address}:7860") == 403
        assert status(served, "me-space.hf.space", method, origin=f"https://{address}") == 403
    assert status(served, own, "POST", referer="http://192.168.1.6:7860/") == 403


@pytest.mark.parametrize(
    "entry",
    ["*", "https://judge.example", "judge.example/", "*.example", "a b", "[::zz]", "b\xfcro"],
)
def test_an_entry_that_is_no_host_stops_the_start_with_a_reason(
    entry: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadHosts, match=pattern("not", "host")):
        hosts_of(EVENHAND_HOSTS=f"good.example,{entry}")
    monkeypatch.setenv("EVENHAND_HOSTS", entry)
    assert main(["--port", "0"]) == 2
    assert "error: EVENHAND_HOSTS" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["70000", "-1", "high"])
def test_a_port_that_does_not_exist_is_refused_in_one_line(
    port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([f"--port={port}"])
    assert ended.value.code == 2 and "--port" in capsys.readouterr().err


def test_a_refusal_says_what_to_do_in_at_most_25_words() -> None:
    served = Served(hosts_of())
    _, unknown = served.ask(("Host", "mybox:7860"))
    assert "host name mybox:7860" in unknown and "EVENHAND_HOSTS=mybox\n" in unknown
    _, foreign = served.ask(("Host", HERE), ("Origin", "https://judge.example"), method="POST")
    assert "EVENHAND_HOSTS=judge.example:443" in foreign
    _, hidden = served.ask(("Host", HERE), ("Origin", "null"), method="POST")
    assert all(len(words.split()) <= 25 for words in (unknown, foreign, hidden))


def test_hosts_and_origins_are_read_in_one_form() -> None:
    assert str(parse_host("[::FFFF:127.0.0.1]:80")) == "127.0.0.1:80"
    assert str(parse_host("[0:0::1]:80")) == "[::1]:80"
    assert parse_origin("HTTPS://A.example") == parse_origin("https://a.example:443/path?q")


def test_it_stands_before_a_middleware_that_grants_cross_origin_reads() -> None:
    """As in Gradio, where CORS headers are added, and preflights answered, outside of our own."""

    async def answer(_: object) -> PlainTextResponse:
        return PlainTextResponse("answered")

    built: list[ASGIApp] = []

    def note(app: ASGIApp) -> ASGIApp:
        built.append(app)
        return app

    permits = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"])
    app = Starlette(
        routes=[Route("/", answer)],
        middleware=[permits, Middleware(note)],
        lifespan=make_host_check_lifespan(hosts_of()),
    )
    with TestClient(app, base_url=f"http://{HERE}") as client:
        asked = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
        for answered in (client.options("/", headers=asked), client.get("/", headers=asked)):
            assert answered.status_code == 403
            assert not [name for name in answered.headers if name.startswith("access-control")]
        assert client.get("/").text == "answered"
    assert len(built) == 1, "what a middleware remembers is not lost"


def test_a_page_at_the_name_it_listens_on_may_address_it_by_another_name_on_its_port_only() -> None:
    served = Served(hosts_of("MyBox."))
    assert status(served, HERE, "POST", origin="http://mybox:7860") == 200
    assert status(served, HERE, "POST", origin="http://mybox:7861") == 403


@pytest.mark.parametrize("text", ["[1::2::3]", "[1.2]", "[:::]", "[12345::]"])
def test_brackets_hold_an_address_or_nothing_is_read(text: str) -> None:
    assert parse_host(text) is None and parse_origin(f"http://{text}") is None
