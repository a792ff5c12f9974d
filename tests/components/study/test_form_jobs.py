"""Slow jobs of the form, as the handler of the page answers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.layout import header
from components.study import form_layout_tab
from components.study import tab as study_tab
from components.study.file.judge_entries import judge_test_key
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import put_value
from components.study.form.judges import LOCAL_SERVERS, model_list_key
from judges.engine.engine import Engine
from judges.operations.list_models import ModelList
from studies.errors import EvenhandError
from studies.store.store import Store
from tests.components.home.test_study_list import plan_study

Job = Callable[..., list[Any]]
SKIP = gr.skip()
JUDGES = [{"name": name, "model": "m", "base_url": "http://127.0.0.1:9/v1"} for name in "ab"]
TEXT = put_value(START_YAML, ("judges",), JUDGES)


@pytest.fixture(scope="module")
def job(module_store: Store) -> Iterator[Job]:
    """A job by its request: results of tests, study file, notice, study menu and tabs."""
    engine = Engine()
    with gr.Blocks() as blocks:
        top, study, tabs = header.build(), form_layout_tab.build(), gr.Tabs()
        study_tab._bind_jobs(study, top, tabs, module_store, engine)
    (handler,) = [
        one.fn for one in blocks.fns.values() if getattr(one.fn, "__name__", "") == "run_form_job"
    ]

    def run(**asked: Any) -> list[Any]:
        return list(handler(json.dumps(asked), "{}", TEXT, FormState(), {"kept": 1}))

    plan_study(module_store, "Mine")
    yield run
    engine.close()


def test_the_result_of_a_test_is_kept_under_the_tested_judge_only(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab.jobs, "test_judge", lambda text, folder, name, *_: f"of {name}")
    tested, *others = job(do="test", judge="b")
    assert tested == {"kept": 1, judge_test_key(JUDGES[1]): "of b"}
    assert others == [SKIP] * 4


def test_found_servers_and_models_join_the_results_of_tests(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab, "find_local_servers", lambda: ["server"])
    assert job(do="find servers") == [{"kept": 1, LOCAL_SERVERS: ["server"]}, *[SKIP] * 4]
    found = ModelList("http://h/v1", ("m",))
    monkeypatch.setattr(study_tab.jobs, "request_judge_models", lambda *given: found)
    assert job(do="models", judge="1") == [
        {"kept": 1, model_list_key("http://h/v1"): found}, *[SKIP] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize(("do", "name"), [
    ("describe", "describe_images"), ("fetch", "fetch_private_dataset")])  # fmt: skip
def test_descriptions_and_a_private_dataset_change_the_study_file(
    job: Job, monkeypatch: pytest.MonkeyPatch, do: str, name: str
) -> None:
    went = SimpleNamespace(text="new file", notice_html="notice")
    for one in ("describe_images", "fetch_private_dataset"):
        monkeypatch.setattr(study_tab.jobs, one, lambda *_, one=one: went if one == name else None)
    assert job(do=do) == [SKIP, "new file", "notice", SKIP, SKIP]


def test_a_stored_study_opens_its_results_and_another_does_nothing(job: Job) -> None:
    *unchanged, menu, tabs = job(do="open study", study="Mine")
    assert unchanged == [SKIP] * 3 and (menu.value, tabs.selected) == ("Mine", "results")
    assert job(do="open study", study="gone") == job(do="unknown") == job() == [SKIP] * 5


def test_recorded_verdicts_open_as_a_study_or_say_why_not(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_tab.jobs, "import_recorded_verdicts", lambda *_: "Mine")
    *unchanged, menu, tabs = job(do="recorded")
    assert unchanged == [SKIP] * 3 and (menu.value, tabs.selected) == ("Mine", "results")

    def fail(*_: object) -> str:
        raise EvenhandError("no verdicts <here>")

    monkeypatch.setattr(study_tab.jobs, "import_recorded_verdicts", fail)
    made = job(do="recorded")
    assert "no verdicts &lt;here&gt;" in made[2] and [*made[:2], *made[3:]] == [SKIP] * 4


def test_a_key_that_is_allowed_draws_the_notices_again(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(study_tab, "store_key_consent", lambda _, pair: asked.append(pair) or "no ")
    monkeypatch.setattr(study_tab.form_html, "render_notices", lambda *_: "notices")
    made = job(do="allow key", variable="KEY", origin="http://h")
    assert made == [SKIP, SKIP, "no notices", SKIP, SKIP]
    assert [tuple(one) for one in asked] == [("KEY", "http://h")]
