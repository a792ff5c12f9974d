"""Files that are not a visitor's: another's upload, weights, images and records of the machine."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from gradio.utils import get_hash_seed

from studies.sharing.visitors import new_secret
from tests.attacks.attack_list import OWN, PUBLIC
from tests.attacks.attack_log import Mode, attempt, in_mode
from tests.components.server.strangers import Stranger
from tests.local_app import LocalApp
from tests.samples import sample

FILES = "file access"
MARK = "xyzzy-of-another"
CONTENT = f"name: {MARK}\n".encode()
META = {"_type": "gradio.FileData"}


@pytest.fixture(scope="module", params=sample([OWN, PUBLIC], PUBLIC))
def page(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LocalApp, Mode, Path]]:
    """The page in one mode, its mode, and the folder of its uploads."""
    folder = tmp_path_factory.mktemp("files")
    with in_mode(request.param), pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "tmp"))
        (folder / "secret.jsonl").write_bytes(CONTENT)
        (folder / "secret.gguf").write_bytes(b"GGUF" + CONTENT)
        app = LocalApp(folder / "evenhand.db")
        yield app, request.param, folder
        app.close()


def ask(
    app: LocalApp, method: str, path: str, body: bytes = b"", kind: str = ""
) -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", app.port, timeout=60)
    line.request(method, path, body or None, {"Content-Type": kind} if kind else {})
    answer = line.getresponse()
    said = answer.status, answer.read().decode("utf-8", "replace")
    line.close()
    return said


def upload(app: LocalApp, name: str, content: bytes) -> str:
    """Upload a file as the page does; the path that only the sender is told."""
    head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + b"\r\n--x--\r\n"
    _, said = ask(app, "POST", "/gradio_api/upload", body, "multipart/form-data; boundary=x")
    (path,) = json.loads(said)
    return str(path)


def open_as_study(app: LocalApp, path: str) -> str:
    """Everything that a stranger is told who opens a path as a study file."""
    stranger = Stranger(app.url)
    step = stranger.step("eh-open-file", "upload")
    return stranger.call(step, {"eh-open-file": {"path": path, "meta": META}})[1]


def test_an_upload_is_found_by_its_path_alone_which_nobody_else_can_compute(
    page: tuple[LocalApp, Mode, Path],
) -> None:
    app, mode, folder = page
    path = upload(app, "mine.yaml", CONTENT)
    assert MARK in open_as_study(app, path), "a fair test: whoever has the path has the file"
    uploads = Path(path).parents[1]
    seeds = (b"", get_hash_seed().encode(), b"None", b"\0" * 32)
    hashes = [hashlib.sha256(seed + CONTENT).hexdigest() for seed in seeds]
    guesses = [
        *(str(uploads / name / "mine.yaml") for name in hashes),
        *(str(uploads / part) for part in ("mine.yaml", "*/mine.yaml", "", "../secret.jsonl")),
        str(uploads / Path(path).parent.name[:-1] / "mine.yaml"),
        str(folder / "secret.jsonl"), str(folder / "evenhand.db"), "mine.yaml", "/etc/hostname",
    ]  # fmt: skip
    for guess in guesses:
        with attempt(FILES, mode, f"event: {guess}", f"route: {guess}"):
            assert MARK not in open_as_study(app, guess), guess
            assert MARK not in ask(app, "GET", f"/gradio_api/file={quote(guess)}")[1], guess
    folder_name = Path(path).parent.name
    for shown in ("/", "/config", "/gradio_api/info", "/gradio_api/queue/status"):
        with attempt(FILES, mode, f"{shown} shows an upload"):
            assert folder_name not in ask(app, "GET", shown)[1]


def test_a_link_among_the_uploads_leads_nowhere(page: tuple[LocalApp, Mode, Path]) -> None:
    app, mode, folder = page
    uploads = Path(upload(app, "a.yaml", b"name: a\n")).parents[1]
    (uploads / "linked").symlink_to(folder, target_is_directory=True)
    (uploads / "linked.yaml").symlink_to(folder / "secret.jsonl")
    for name in ("linked.yaml", "linked/secret.jsonl"):
        with attempt(FILES, mode, f"a symbolic link: {name}"):
            assert MARK not in open_as_study(app, str(uploads / name))
            assert MARK not in ask(app, "GET", f"/gradio_api/file={uploads / name}")[1]


def plan(app: LocalApp, judge: dict[str, Any], source: str = "probe") -> str:
    """Answer of the API on a study with this judge and source, by the route of programs."""
    study = {
        "name": "x", "data": {"source": source, "count": 2}, "contestants": ["precise", "flawed"],
        "judges": [{"name": "j", **judge}], "prompts": ["brief-letters"],
    }  # fmt: skip
    path, body = "/gradio_api/call/plan_study", {"data": [json.dumps(study), new_secret()]}
    _, said = ask(app, "POST", path, json.dumps(body).encode(), "application/json")
    return ask(app, "GET", f"{path}/{json.loads(said)['event_id']}")[1]


def test_a_public_page_loads_no_weights_and_no_records_that_a_study_names(
    page: tuple[LocalApp, Mode, Path],
) -> None:
    app, mode, folder = page
    if mode != PUBLIC:
        pytest.skip("ONE'S OWN MACHINE: a study may name its files")
    named = [
        str(folder / "secret.gguf"), "secret.gguf", "../secret.gguf", "~/secret.gguf",
        "hub:owner/repo/file.gguf", "hub:owner/repo/../../secret.gguf", "/etc/hostname",
    ]  # fmt: skip
    for weights in named:
        with attempt(FILES, mode, f"weights: {weights}"):
            said = plan(app, {"model": "embedded", "weights": weights})
            assert "event: error" in said and MARK not in said, said
    sources = [
        str(folder / "secret.jsonl"), "../secret.jsonl", "uploads/../../../secret.jsonl",
        "uploads/*", "hub:../../secret.jsonl", "hub:/etc/passwd", "file:///etc/passwd",
        "visitors/", "${HOME}/secret.jsonl",
    ]  # fmt: skip
    for source in sources:
        with attempt(FILES, mode, f"source: {source}"):
            said = plan(app, {"model": "simulated"}, source)
            assert "event: error" in said and MARK not in said, said
