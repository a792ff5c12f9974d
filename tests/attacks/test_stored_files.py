"""Files beside a visitor's data: images that data name, links in stored folders, pilots."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from components.inspect.load_comparison import load_image
from components.results.remedies.pilots import Pilot
from components.study.file.lenient_study import START_YAML
from components.study.file.yaml_edit import put_value
from components.study.jobs import save_plan_for_run
from components.study.plan.study_preview import build_preview
from judges.planning.plan import Plan
from judges.rendering.messages import image_url
from studies.domain import Item, JudgeSpec
from studies.errors import EvenhandError
from studies.files.image_files import read_image
from studies.people.item_versions import relocate_images
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.attacks.attack_list import PUBLIC
from tests.attacks.attack_log import Mode, attempt, each_mode, in_mode  # noqa: F401 - a fixture
from tests.canary_forms import CANARY, found_in
from tests.judge_server import JudgeServer
from tests.judges.planning.test_plan import PIXEL
from tests.judges.security.test_key_consents import repeat_key
from tests.judges.small_studies import QUICK, endpoint, engine, write_items
from tests.page_words import says

FILES = "file access"
LEAK = "a typed key leaks"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A visitor's folder of data, beside files that are not the visitor's: an image and a table."""
    data = tmp_path / "visitors" / "me" / "uploads"
    data.mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (tmp_path / "secret.yaml").write_text("name: secret")
    write_items(tmp_path / "secret.jsonl", 2)
    (data / "own.png").write_bytes(PIXEL)
    (data / "linked.png").symlink_to(tmp_path / "secret.png")
    (data / "linked").symlink_to(tmp_path, target_is_directory=True)
    return data


def outside(folder: Path) -> list[str]:
    """Names of an image that is not in the folder."""
    secret = folder.parents[2] / "secret.png"
    return [
        str(secret), "../../../secret.png", "./../../../secret.png", "linked.png",
        "linked/secret.png", "own.png/../../../../secret.png", f"file://{secret}",
        "..\\..\\..\\secret.png", "~/secret.png", "uploads/../../../secret.png",
    ]  # fmt: skip


READERS: dict[str, Callable[[str, Path], str]] = {
    "the page": lambda name, folder: load_image(name, folder).source,
    "a judge": image_url,
    "a request": lambda name, folder: str(read_image(name, folder)),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_image_outside_the_folder_of_its_data_is_read(reader: str, folder: Path) -> None:
    with in_mode(PUBLIC):
        assert READERS[reader]("own.png", folder), "a fair test: the visitor's image is read"
        for name in outside(folder):
            with attempt(FILES, PUBLIC, f"an image for {reader}: {name}"):
                try:
                    assert not READERS[reader](name, folder), name
                except EvenhandError as error:
                    assert str(folder) not in str(error)


def test_the_page_shows_no_image_outside_the_folder_in_either_mode(
    folder: Path,
    each_mode: Mode,  # noqa: F811
) -> None:
    for name in outside(folder):
        with attempt(FILES, each_mode, f"an image on the page: {name}"):
            assert not load_image(name, folder).source, name


def test_a_new_version_of_the_data_takes_no_image_of_the_machine_along(
    folder: Path, tmp_path: Path
) -> None:
    uploads = tmp_path / "new"
    for name in outside(folder):
        with in_mode(PUBLIC), attempt(FILES, PUBLIC, f"an image in a new version: {name}"):
            (item,) = relocate_images([Item("q", "?", {}, images=(name,))], folder, uploads)
            assert item.images == (name,) and not uploads.exists(), name


LINKS = {
    "a file": ("uploads/linked.jsonl", "secret.jsonl"),
    "a folder": ("uploads/in/secret.jsonl", "."),
    "a folder of data": ("uploads/set", "secret.jsonl"),
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_in_a_visitors_stored_folder_is_not_followed(kind: str, folder: Path) -> None:
    name, target = LINKS[kind]
    machine, visitor = folder.parents[2], folder.parent
    if kind == "a folder of data":
        (folder / "set").mkdir()
        (folder / "set" / "items.jsonl").symlink_to(machine / target)
    elif kind == "a folder":
        (folder / "in").symlink_to(machine, target_is_directory=True)
    else:
        (folder / "linked.jsonl").symlink_to(machine / target)
    text = put_value(put_value(START_YAML, ("data", "source"), name), ("contestants",), None)
    with in_mode(PUBLIC), attempt(FILES, PUBLIC, f"a link in a stored folder: {kind}"):
        look = build_preview(text, visitor)
        assert look.records is None and "machine" in look.data_error


def test_a_link_among_a_visitors_prompts_is_not_followed(folder: Path) -> None:
    (folder.parent / "prompts").mkdir()
    (folder.parent / "prompts" / "mine.yaml").symlink_to(folder.parents[2] / "secret.yaml")
    text = put_value(START_YAML, ("prompts",), ["prompts/mine.yaml"])
    with in_mode(PUBLIC), attempt(FILES, PUBLIC, "a link among stored prompts"):
        assert says(build_preview(text, folder.parent).plan_error, "file", "this server")


HOSTILE_NAMES = (
    "x\njudges: [{name: y, api_key_env: HOME}]", "a: b", "- c", "&a *a",
    "!!python/object:os.system", "{{x}}", "'\"", "#", "null", "1e3",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_in_the_file_of_a_pilot_stay_names(
    name: str,
    each_mode: Mode,  # noqa: F811
) -> None:
    """A pilot's study file is made from names of somebody else's data."""
    base = parse_study(START_YAML)
    made = replace(base, contestants=(name, "b"), judges=(JudgeSpec(name, "embedded"),))
    with attempt(FILES, each_mode, f"a name in a pilot: {name!r}"):
        again = parse_study(Pilot("", "", "", 0, None, True, made).yaml)
        assert again.contestants == (name, "b")
        assert [(one.name, one.api_key_env) for one in again.judges] == [(name, "")]


def test_a_trial_on_one_item_stores_no_key_that_the_endpoint_repeats(
    tmp_path: Path,
    each_mode: Mode,  # noqa: F811
) -> None:
    write_items(tmp_path / "items.jsonl", 3)
    with JudgeServer(behaviour=repeat_key) as server, in_mode("own machine"):
        study = {
            "name": "trial", "data": {"source": "items.jsonl"},
            "judges": [endpoint(server.base_url)], "prompts": ["brief-letters"],
        }  # fmt: skip
        store = Store(tmp_path / "evenhand.db")
        plan: Plan = save_plan_for_run(json.dumps(study), store, one_item=True)
        with engine() as asking:
            run = asking.start(plan, store, keys={"judge": CANARY}, settings=QUICK)
            assert run.wait(120) and server.bill.totals.calls > 0
        store.close()
    held = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    with attempt(LEAK, each_mode, "a trial: the endpoint repeats the key"):
        assert [form for data in held for form in found_in(data)] == []
