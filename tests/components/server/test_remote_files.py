"""Files named by an address: no function of the page makes the server fetch one."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import gradio as gr
import pytest

from components.server import gradio_private
from components.server.file_references import find_remote_file
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt
from tests.components.server.strangers import Stranger
from tests.local_app import LocalApp
from tests.page_words import pattern, says
from tests.samples import sample

FETCHED = "files fetched for a visitor"
META = {"_type": "gradio.FileData"}


class Loopback(ThreadingHTTPServer):
    """A server of this machine that counts the requests it gets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Counting)
        self.url = f"http://127.0.0.1:{self.server_port}/x.yaml"
        self.seen: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Counting(BaseHTTPRequestHandler):
    server: Loopback

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"name: fetched")

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Gradio takes this machine for a public one, as it does other private addresses."""
    monkeypatch.setattr(gr.processing_utils, "PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1"])
    server = Loopback()
    yield server
    server.shutdown()
    server.server_close()


def shapes(url: str) -> list[Any]:
    file = {"path": url, "meta": META}
    return [
        file, [file], {"value": file}, [{"a": [file]}], {**file, "is_stream": False},
        {**file, "url": url},
    ]  # fmt: skip


def test_gradio_would_fetch_it(loopback: Loopback) -> None:
    """A fair test: without the refusal, the address in any input is requested."""
    with gr.Blocks() as page:
        box = gr.Textbox()
        box.change(lambda text: None, box)
    (event,) = page.fns.values()
    for number, _ in enumerate(shapes("")):
        (shape,) = shapes(f"{loopback.url}?{number}")[number : number + 1]
        asyncio.run(page.preprocess_data(event, [shape], None))
        assert loopback.seen[number:] == [f"/x.yaml?{number}"]


@pytest.mark.parametrize("mode", sample([PUBLIC, OWN], PUBLIC))
def test_no_function_of_the_page_fetches_an_address(
    mode: Mode, loopback: Loopback, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_PUBLIC", str(int(mode == PUBLIC)))
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp"))
    app = LocalApp(tmp_path / "evenhand.db")
    try:
        stranger = Stranger(app.url)
        steps = stranger.steps()
        assert len(steps) > 60
        for number, step in enumerate(steps):
            shape = shapes(loopback.url)[number % len(shapes(""))]
            with attempt(FETCHED, mode, f"{step['api_name']} {step['id']}"):
                said = sent_to(stranger, step, shape)
                assert loopback.seen == [], step["api_name"]
                assert says(said, "file", "address"), (step["id"], said[:300])
        for route in ("call", "call/v2", "run", "api"):
            with attempt(FETCHED, mode, f"/{route}/study_metrics"):
                post(app, f"/gradio_api/{route}/study_metrics", loopback.url)
                assert loopback.seen == []
    finally:
        app.close()


def sent_to(stranger: Stranger, step: dict[str, Any], shape: Any) -> str:
    """All inputs of a function, and its event data, are the same file; the server's answer."""
    everything = {stranger._name(part): shape for part in step["inputs"]}
    stranger._value = lambda part, values: shape  # type: ignore[method-assign]
    worked, said = stranger.call(step, everything, {"file": shape})
    assert not worked
    return said


def post(app: LocalApp, path: str, url: str) -> None:
    """One call of the API outside the page, answered to its end."""
    file = {"path": url, "meta": META}
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    body = json.dumps({"data": [file, file, file], "study": file, "by": file})
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status == 200 and b"event_id" in said:
        connection.request("GET", f"{path.replace('/v2', '')}/{json.loads(said)['event_id']}")
        assert b"event: error" in connection.getresponse().read()
    else:
        assert answer.status >= 400, (path, said[:300])
    connection.close()


OWN_PATH = "/tmp/gradio/ab/a b.csv"


@pytest.mark.parametrize(
    ("path", "url", "refused"),
    [
        (OWN_PATH, None, False),
        (OWN_PATH, "", False),
        (OWN_PATH, f"http://127.0.0.1:7860/gradio_api/file={OWN_PATH}", False),
        (OWN_PATH, f"https://a.example/x/gradio_api/file={OWN_PATH.replace(' ', '%20')}", False),
        ("C:\\Temp\\a.csv", None, False),
        (OWN_PATH, "http://127.0.0.1:9/", True),
        (OWN_PATH, f"http://127.0.0.1:9/?{OWN_PATH}", True),
        ("http://127.0.0.1:9/", None, True),
        (" HTTPS://127.0.0.1:9/", None, True),
        ("ftp://127.0.0.1/a", None, True),
        ("file:///etc/passwd", None, True),
        ("hf://datasets/a/b", None, True),
        ("//127.0.0.1/a", None, True),
        ("\\\\127.0.0.1\\a", None, True),
        ("data:text/csv,a", None, True),
    ],
)
def test_an_upload_is_accepted_and_every_scheme_refused(
    path: str, url: str | None, refused: bool
) -> None:
    file = {"path": path, "url": url, "meta": META}
    assert bool(find_remote_file([0, {"deep": [file]}])) is refused


def test_a_text_that_is_no_file_is_accepted() -> None:
    assert (
        find_remote_file(["http://a.example", {"path": "http://a.example"}, {"meta": META}]) == ""
    )


def test_a_file_nested_ten_thousand_deep_is_found() -> None:
    value: Any = {"path": "http://127.0.0.1/", "meta": META}
    for _ in range(10_000):
        value = [value]
    assert find_remote_file(value) == "http://127.0.0.1/"


def test_a_file_that_a_handler_returns_by_its_address_is_not_fetched(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "async_ssrf_protected_get"
    monkeypatch.setattr(gr.processing_utils, name, getattr(gr.processing_utils, name))

    def answer() -> dict[str, Any]:
        return {"path": loopback.url, "meta": META}

    with gr.Blocks() as page:
        gr.api(answer, api_name="answer")
    gradio_private.refuse_remote_files(page)
    (event,) = page.fns.values()
    with pytest.raises(gr.Error, match=pattern("file", "address")):
        asyncio.run(page.process_api(event, []))
    assert loopback.seen == []
