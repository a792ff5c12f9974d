"""Raw requests to the real app: other hosts and pages of other origins reach nothing."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator

import pytest
from gradio_client import Client

from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.local_app import LocalApp
from tests.samples import sample
from tests.ui.conftest import App

READING = "reading another's run"
Served = App | LocalApp
EVIL = "http://evil.example"
STUDY = """
name: started elsewhere
data: {source: probe, count: 2, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, accuracy: 1, seed: 2}]
prompts: [brief-letters]
"""
READ = (
    "/", "/config", "/gradio_api/info", "/gradio_api/openapi.json", "/gradio_api/startup-events",
    "/gradio_api/heartbeat/abc", "/gradio_api/queue/data?session_hash=abc", "/gradio_api/mcp/sse",
    "/gradio_api/file=/etc/hostname", "/theme.css", "/manifest.json", "/favicon.ico",
    "/static/img/logo.svg", "/login/huggingface", "/login/callback", "/logout", "/robots.txt",
    "/gradio_api/token", "/gradio_api/app_id", "/no/such/page",
)  # fmt: skip
LIGHT = "/theme.css"
WRITTEN = (
    "/gradio_api/queue/join", "/gradio_api/call/run_study", "/gradio_api/run/run_study",
    "/gradio_api/upload", "/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/mcp/", "/login",
)  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalApp]:
    """On all interfaces, with one more host."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EVENHAND_HOSTS", "judge.example")
        store = tmp_path_factory.mktemp("hosts") / "evenhand.db"
        running = LocalApp(store, options=("--host", "0.0.0.0"))
        yield running
        running.close()


@pytest.fixture(scope="module")
def public_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EVENHAND_PUBLIC", "1")
        running = App(tmp_path_factory.mktemp("public hosts") / "evenhand.db")
    yield running
    running.close()


@pytest.fixture(scope="module", params=sample([OWN, PUBLIC], OWN))
def each_app(request: pytest.FixtureRequest) -> tuple[Served, Mode]:
    return request.getfixturevalue("app" if request.param == OWN else "public_app"), request.param


def asked(
    app: Served, path: str, method: str = "GET", body: bytes = b"", **headers: str
) -> http.client.HTTPResponse:
    """The head of the response; `host` is sent as it is given, the machine's own where not."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    sent = {"host": f"127.0.0.1:{app.port}", **headers, "content-length": str(len(body))}
    for name, value in sent.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body)
    answer = connection.getresponse()
    connection.close()
    return answer


def permissions(answer: http.client.HTTPResponse) -> list[str]:
    return [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("path", READ)
def test_nothing_is_read_under_another_name_or_by_another_site(
    each_app: tuple[Served, Mode], path: str
) -> None:
    app, mode = each_app
    for headers in ({"host": "evil.example"}, {"host": f"evil.example:{app.port}", "origin": EVIL},
                    {"origin": EVIL}, {"origin": "null"}):  # fmt: skip
        answer = asked(app, path, **headers)
        with attempt(READING, mode, f"GET {path} {headers}"):
            assert (answer.status, permissions(answer)) == (403, [])


@pytest.mark.parametrize("path", WRITTEN)
def test_nothing_is_sent_under_another_name_or_by_another_site(
    each_app: tuple[Served, Mode], path: str
) -> None:
    app, mode = each_app
    body = json.dumps({"data": [STUDY], "fn_index": 0, "session_hash": "abc"}).encode()
    for headers in ({"host": "evil.example", "origin": EVIL}, {"origin": EVIL}, {"origin": "null"},
                    {"origin": f"http://127.0.0.1:{app.port + 1}"}, {"referer": f"{EVIL}/"},
                    {"sec_fetch_site": "cross-site"}):  # fmt: skip
        for kind in ("application/json", "text/plain"):
            answer = asked(app, path, "POST", body, content_type=kind, **headers)
            with attempt(READING, mode, f"POST {path} {kind} {headers}"):
                assert (answer.status, permissions(answer)) == (403, [])


def test_a_page_at_another_address_gets_nothing(each_app: tuple[Served, Mode]) -> None:
    app, mode = each_app
    own = "192.168.1.5" if mode == PUBLIC else "127.0.0.1"
    for address in ("192.168.1.6", "10.0.0.1", "127.0.0.2", "8.8.8.8", "[2001:db8::1]"):
        for path, method in (("/config", "GET"), ("/gradio_api/queue/join", "POST"),
                             ("/gradio_api/queue/join", "OPTIONS")):  # fmt: skip
            host, origin = f"{own}:{app.port}", f"http://{address}:{app.port}"
            answer = asked(app, path, method, host=host, origin=origin)
            with attempt(READING, mode, f"{method} {path} from a page at {address}"):
                assert (answer.status, permissions(answer)) == (403, [])


@pytest.mark.parametrize("host", ["evil.example", ""])
def test_a_preflight_of_another_site_gets_no_permission(
    each_app: tuple[Served, Mode], host: str
) -> None:
    app, mode = each_app
    headers = {"host": host} if host else {}
    answer = asked(
        app, "/gradio_api/queue/join", "OPTIONS", origin=EVIL,
        access_control_request_method="POST", access_control_request_headers="content-type",
        **headers,
    )  # fmt: skip
    with attempt(READING, mode, f"a preflight, host {host!r}"):
        assert (answer.status, permissions(answer)) == (403, [])


def test_a_websocket_handshake_of_another_site_is_refused(each_app: tuple[Served, Mode]) -> None:
    app, mode = each_app
    answer = asked(
        app, "/gradio_api/queue/join", origin=EVIL, connection="Upgrade", upgrade="websocket",
        sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==", sec_websocket_version="13",
    )  # fmt: skip
    with attempt(READING, mode, "a websocket of another site"):
        assert answer.status == 403


def test_a_request_without_or_with_two_hosts_is_refused(each_app: tuple[Served, Mode]) -> None:
    app, mode = each_app
    own = f"Host: 127.0.0.1:{app.port}\r\n"
    for version, hosts in (("1.1", ""), ("1.0", ""), ("1.1", own + "Host: evil.example\r\n"),
                           ("1.0", own + "Host: evil.example\r\n")):  # fmt: skip
        with socket.create_connection(("127.0.0.1", app.port), 30) as line:
            line.sendall(f"GET /config HTTP/{version}\r\n{hosts}\r\n".encode())
            line.shutdown(socket.SHUT_WR)
            with attempt(READING, mode, f"HTTP/{version}, hosts {hosts!r}"):
                assert line.recv(64).split()[1] == b"400"


def test_own_and_listed_hosts_are_served(app: LocalApp) -> None:
    for name in ("127.0.0.1", "LOCALHOST", "localhost.", "[::1]", "0.0.0.0", "judge.example"):
        host = f"{name}:{app.port}"
        path = "/config" if name == "judge.example" else LIGHT  # the page's parts take 0.1 s
        assert asked(app, path, host=host).status == 200
        assert asked(app, path, host=host, origin=f"http://{host}").status == 200
    assert asked(app, "/config", host="127.0.0.2").status == 403
    proxied = asked(app, "/gradio_api/reset", "POST", b"{}", origin="https://judge.example")
    assert proxied.status != 403


def test_a_second_address_of_the_machine_is_served(app: LocalApp) -> None:
    connection = http.client.HTTPConnection("127.0.0.2", app.port, timeout=30)
    connection.request("GET", "/config")
    assert connection.getresponse().status == 200
    connection.close()


def test_a_program_still_runs_a_study(app: LocalApp) -> None:
    client = Client(app.url, ssl_verify=False, verbose=False)
    named = {study["name"] for study in client.predict(api_name="/list_studies")}
    assert "started elsewhere" not in named  # by none of the requests above
    assert client.predict(STUDY, api_name="/run_study")["study"] == "started elsewhere"
