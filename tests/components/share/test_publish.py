"""Frozen and published studies: the folders, the page they show, the upload to a Hub stand-in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from gradio_client import Client

from app import open_store
from components.share.publish import (
    IS_INSTALLED,
    PublishFailed,
    copy_study,
    push_space,
    write_frozen_page,
    write_space_folder,
)
from studies.domain import Item
from studies.errors import StudyError
from studies.spec.study import Study
from studies.store.store import Store
from tests.hub_stand_in import Hub, hub
from tests.page_words import says
from tests.waiting import free_port

NAME = "two judges"
__all__ = ["hub"]


@pytest.fixture(scope="module")
def frozen(judged: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("space") / "frozen"
    write_frozen_page(judged, NAME, folder)
    return folder


def test_a_copied_study_is_the_same_and_alone(judged: Store, tmp_path: Path) -> None:
    judged.save_study(Study("another"), [Item("q", "why?", {"x": "a", "y": "b"})], (), ())
    copy_study(judged, NAME, tmp_path / "copy.db")
    judged.delete_study("another")
    copied = Store(tmp_path / "copy.db")
    assert [line.name for line in copied.studies()] == [NAME]
    assert list(copied.judgements(NAME)) == list(judged.judgements(NAME))
    assert copied.planned_prompt_yaml(NAME, "brief-letters") == judged.planned_prompt_yaml(
        NAME, "brief-letters"
    )
    copied.close()


def app_folder(folder: Path) -> Path:
    """Folder in which the written app looks for its store: written from the wheel, its package."""
    return folder / "evenhand" if IS_INSTALLED else folder


def test_a_frozen_folder_holds_what_it_needs_and_no_judge(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = (frozen / "requirements.txt").read_text("utf-8")
    assert "gradio==" in requirements
    for only_asking in ("xllamacpp", "authlib", "itsdangerous"):
        assert only_asking not in requirements
    front = yaml.safe_load((frozen / "README.md").read_text("utf-8").split("---\n")[1])
    assert front["title"] == NAME
    assert front["sdk"] == "gradio"
    assert "preload_from_hub" not in front and "hf_oauth" not in front
    home = app_folder(frozen)
    assert sorted(path.name for path in frozen.rglob("*.db*")) == ["frozen.db"]
    assert (home / "frozen.db").is_file()
    ends: list[partial[object]] = []
    register = lambda *call, **more: ends.append(partial(*call, **more))  # noqa: E731
    monkeypatch.setattr("app.atexit", SimpleNamespace(register=register))
    store, only_shown = open_store(None, home)
    assert only_shown and not store.owns(NAME)
    store.close()
    assert store.path.is_file()
    for end in ends:  # as at the end of Python
        end()
    assert not store.path.parent.exists()
    assert (home / "docs" / "GLOSSARY.md").is_file()  # read at the start of the page


def test_nothing_is_written_over(judged: Store, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(StudyError, match="is not empty"):
        write_frozen_page(judged, NAME, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_seed_is_used_once(judged: Store, tmp_path: Path) -> None:
    here = tmp_path / "space"
    write_space_folder(judged, NAME, here)
    front = yaml.safe_load((here / "README.md").read_text("utf-8").split("---\n")[1])
    assert front["hf_oauth"] is True and "hf_oauth_scopes" not in front  # openid and profile alone
    assert "authlib==" in (here / "requirements.txt").read_text("utf-8")
    target = tmp_path / "data" / "evenhand.db"
    store, only_shown = open_store(target, app_folder(here))
    assert not only_shown
    assert NAME in [line.name for line in store.studies()]
    store.delete_study(NAME)
    store.close()
    store, _ = open_store(target, app_folder(here))
    assert NAME not in [line.name for line in store.studies()]
    store.close()


@pytest.mark.extra
def test_a_frozen_page_starts_and_has_nothing_that_asks(frozen: Path) -> None:
    port = free_port()
    before = (app_folder(frozen) / "frozen.db").read_bytes()
    app = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(port)], cwd=frozen,
        env=os.environ | {"PYTHONPATH": ""}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        parts = json.loads(wait_for(f"http://127.0.0.1:{port}/config"))["components"]
        tabs = [p["props"].get("label") for p in parts if p["type"] == "tabitem"]
        assert {"Results", "Inspect"} <= set(tabs)
        assert not {"Study", "Run"} & set(tabs)
        ids = {p["props"].get("elem_id") for p in parts}
        assert {"eh-filter-judge", "eh-compare"} <= ids
        assert not {"eh-run", "eh-again", "eh-test"} & ids
        client = Client(f"http://127.0.0.1:{port}/", verbose=False)
        assert not [name for name in client.view_api(return_format="dict")["named_endpoints"]
                    if "run" in name]  # fmt: skip
    finally:
        app.kill()
        app.wait(120)
    assert (app_folder(frozen) / "frozen.db").read_bytes() == before


def wait_for(url: str, seconds: float = 240) -> str:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


def test_a_push_makes_a_gradio_space_with_every_file(hub: Hub, frozen: Path) -> None:
    address = push_space(frozen, "me/space", token="hf_" + "x" * 30)
    assert hub.created[0]["sdk"] == "gradio"
    assert hub.created[0]["type"] == "space"
    sent = {path for path in hub.files if path != ".gitattributes"}
    there = {p.relative_to(frozen).as_posix() for p in frozen.rglob("*") if p.is_file()}
    there = {path for path in there if "__pycache__" not in path}
    assert there <= sent
    assert hub.files["app.py"] == (frozen / "app.py").read_bytes()
    assert re.fullmatch(rf"{re.escape(hub.url)}/spaces/me/space", address)


def test_a_refused_push_says_so_without_the_token(hub: Hub, frozen: Path) -> None:
    hub.refused = True
    token = "hf_" + "secret" * 6
    with pytest.raises(PublishFailed) as failed:
        push_space(frozen, "me/space", token=token)
    assert says(str(failed.value), "me/space could not", "uploaded")
    assert token not in str(failed.value)


def test_no_token_is_said_before_anything_is_sent(hub: Hub, frozen: Path) -> None:
    with pytest.raises(PublishFailed, match="HF_TOKEN"):
        push_space(frozen, "me/space", token=None)
    assert hub.created == []
