"""A canary key on a public page: sent with a test, a run and a study that moves its judge.

The endpoint is a name that does not exist, since a public page connects to public addresses only;
what an endpoint echoes is covered by tests/ui/test_canary.py and tests/judges/security.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from studies.exchange.export import write_export
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import attempt
from tests.canary_forms import CANARY, found_in
from tests.components.server.strangers import Stranger
from tests.ui.conftest import App

pytestmark = pytest.mark.extra
LEAK = "a typed key leaks"
HOST = "judge.invalid"
STUDY = """name: canary
data: {{source: probe, count: 3, seed: 7}}
contestants: [flawed, precise]
judges:
- {{name: judge, model: judge, base_url: 'https://{host}/v1'}}
prompts: [brief-letters]
orders: one
"""
KEYS = json.dumps({"judge": {"key": CANARY, "url": f"https://{HOST}/v1"}})


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """A public app whose temporary files and store lie below one folder."""
    for name in ("tmp", "store"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "tmp" / "gradio"))
    monkeypatch.setenv("EVENHAND_PUBLIC", "1")
    monkeypatch.setenv("EVENHAND_ENDPOINTS", f"{HOST},other.invalid")
    running = App(tmp_path / "store" / "evenhand.db")
    yield running
    if running.process.poll() is None:
        running.close()


def hidden_part(visitor: Stranger, name: str) -> str:
    """The invisible component by which the page sends a value; it has a number, no elem_id."""
    (part,) = (
        number
        for number, one in visitor.parts.items()
        if "eh-wire" in (one["props"].get("elem_classes") or ())
        and re.search(rf"\b{name}\b", str(one["props"].get("js_on_load")))
    )
    return str(part)


def send_key(visitor: Stranger) -> dict[str, str]:
    """Send the key in every way of the page; return the responses."""
    study, moved = STUDY.format(host=HOST), STUDY.format(host="other.invalid")
    job, keys = hidden_part(visitor, "errand"), hidden_part(visitor, "keys")
    test = visitor.step(job, "select")
    errand = json.dumps({"do": "test", "judge": "judge"})
    models = json.dumps({"do": "models", "judge": 0})
    run = visitor.step("eh-run", "click")
    said = {}
    for name, step, values in (
        ("a test of the judge", test, {job: errand, "eh-yaml": study}),
        ("a list of models", test, {job: models, "eh-yaml": study}),
        ("a test at another host", test, {job: errand, "eh-yaml": moved}),
        ("a run at another host", run, {"eh-yaml": moved}),
        ("a run", run, {"eh-yaml": study}),
    ):
        worked, said[name] = visitor.call(step, {keys: KEYS, **values})
    assert worked, f"the run did not start: {said['a run']}"
    return said


def wait_for_failures(path: Path) -> Store:
    """The store, once a call of the run has failed, or after some seconds of attempts."""
    store = Store(path)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        names = [line.name for line in store.studies()]
        if any(
            j.status == "error"
            for name in names
            if name.startswith("canary")
            for j in store.judgements(name)
        ):
            break
        time.sleep(0.2)
    return store


def test_a_key_on_a_public_page_is_found_nowhere(app: App, tmp_path: Path) -> None:
    owner, other = Stranger(app.url), Stranger(app.url)
    owner.open()
    other.open()
    said = send_key(owner)
    store = wait_for_failures(app.store)
    said["another visitor"] = other.call(
        other.step("eh-study", "change", "eh-run-opened"), {"eh-study": saved_name(store)}
    )[1]
    for path in ("/", "/config", "/gradio_api/info", "/gradio_api/startup-events"):
        said[path] = visited(app, path)
    app.process.kill()
    app.process.wait(30)
    write_export(store, saved_name(store), "jsonl", tmp_path / "store" / "out.jsonl")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    held = {path.name: path.read_bytes() for path in files}  # before the log is written back
    store.close()
    assert {"evenhand.db", "evenhand.db-wal", "evenhand.log", "out.jsonl"} <= held.keys()
    for name, text in said.items():
        with attempt(LEAK, PUBLIC, name):
            assert found_in(text) == [], name
    with attempt(LEAK, PUBLIC, "a killed process: its files"):
        assert [(name, form) for name, data in held.items() for form in found_in(data)] == []


def saved_name(store: Store) -> str:
    """The study's name, which ends with the mark of its visitor."""
    (name,) = (line.name for line in store.studies() if line.name.startswith("canary"))
    return name


def visited(app: App, path: str) -> str:
    with urllib.request.urlopen(app.url + path, timeout=30) as answer:
        return str(answer.read().decode("utf-8", "replace"))
