"""The API: its description, its answers, and the examples of the README."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from components.api_tab import (
    _add_token_parameter,
    _with_readable_errors,
    make_reading_api_functions,
    make_run_api_functions,
)
from components.page.page_tab import create_page
from judges.engine.engine import Engine
from metrics.summary.summary import summarise_frame
from studies.sharing.visitor_store import VisitorStore
from studies.store.store import Store
from tests.canary_forms import CANARY
from tests.judge_server import JudgeServer
from tests.page_words import pattern
from tests.waiting import until

ROOT = Path(__file__).parents[2]
NAME = "two judges"
STUDY = """
name: asked by a program
data: {source: probe, count: 4, seed: 1}
contestants: [precise, flawed]
judges: [{name: fair, model: simulated, accuracy: 1, seed: 2}]
prompts: [brief-letters]
"""


@pytest.fixture(scope="module")
def served(judged: Store) -> Iterator[tuple[Client, str]]:
    engine = Engine()
    blocks = create_page(judged, engine)
    _, url, _ = blocks.launch(prevent_thread_lock=True, quiet=True)
    yield Client(url, ssl_verify=False, verbose=False), url
    blocks.close()
    engine.close()


def test_only_the_functions_meant_for_programs_are_offered(served: tuple[Client, str]) -> None:
    client, _ = served
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(named) == {
        "/list_studies", "/study_metrics", "/judgements", "/plan_study", "/run_study",
        "/run_status", "/stop_run",
    }  # fmt: skip


def test_metrics_are_those_of_the_command(served: tuple[Client, str], judged: Store) -> None:
    client, _ = served
    found: Any = client.predict(NAME, api_name="/study_metrics")
    wanted = summarise_frame(judged.frame(NAME), quick=True)  # which changes Elo alone
    assert found["bradley_terry"] == wanted["bradley_terry"]
    assert found["position"].keys() == wanted["position"].keys() and "by" not in found


def test_a_study_is_planned_run_and_looked_at(served: tuple[Client, str]) -> None:
    client, _ = served
    assert client.predict(STUDY, api_name="/plan_study")["asks"] == 8
    client.predict(STUDY, api_name="/run_study")
    until(
        lambda: client.predict("asked by a program", api_name="/run_status")["state"] != "running"
    )
    status = client.predict("asked by a program", api_name="/run_status")
    assert status["state"] == "done"
    assert status["counts"]["ok"] == 8
    page = client.predict("asked by a program", 2, 3, api_name="/judgements")
    assert len(page) == 3
    assert page[0]["ask"]["judge"] == "fair"


def test_an_error_reaches_the_caller_in_its_own_words(served: tuple[Client, str]) -> None:
    client, _ = served
    with pytest.raises(AppError, match=pattern("no study named", "'nobody'")):
        client.predict("nobody", api_name="/study_metrics")
    with pytest.raises(AppError, match="nonsense"):
        client.predict("name: x\nnonsense: 1", api_name="/plan_study")


def test_the_examples_of_the_api_page_run(
    served: tuple[Client, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.S)
    assert examples, "docs/api.md shows how a program calls the page"
    for example in examples:
        here = example.replace("http://127.0.0.1:7860", served[1].rstrip("/"))
        exec(compile(here, "docs/api.md", "exec"), {})
        assert capsys.readouterr().out.count("\n") >= 2  # a line for each judge at least


@pytest.mark.extra
def test_the_curl_examples_call_every_endpoint(served: tuple[Client, str]) -> None:
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(.*?)```", text, re.S)
    calls = re.findall(r"^call (\w+)", script, re.M)
    named = served[0].view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert {f"/{name}" for name in calls} == set(named)
    here = script.replace("http://127.0.0.1:7860", served[1].rstrip("/"))
    done = subprocess.run(["bash", "-c", here], capture_output=True, text=True, check=False)
    answers = re.findall(r"^event: (\w+)\ndata: (.*)$", done.stdout, re.M)
    ends = [(event, data) for event, data in answers if event in ("complete", "error")]
    assert [event for event, _ in ends] == ["complete"] * len(calls), done.stdout + done.stderr
    replies = dict(zip(calls, (json.loads(data)[0] for _, data in ends), strict=True))
    assert replies["plan_study"]["asks"] == 8
    assert {one["ask"]["judge"] for one in replies["judgements"]} == {"fair"}


def test_a_call_without_a_token_in_public_mode_names_it(judged: Store) -> None:
    engine = Engine()
    try:
        visitors = VisitorStore(judged)
        calls = {
            function.__name__: _add_token_parameter(_with_readable_errors(function), visitors)
            for function in (
                *make_reading_api_functions(visitors),
                *make_run_api_functions(visitors, engine),
            )
        }
        for name, arguments in (("study_metrics", ["hidden"]), ("run_study", [STUDY])):
            with pytest.raises(gr.Error, match=pattern("no token", "`token`", "24 characters")):
                calls[name](*arguments)
    finally:
        engine.close()


def test_a_program_cannot_send_a_variable_to_a_host_that_was_not_allowed(
    served: tuple[Client, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    client, _ = served
    with JudgeServer() as server:
        judge = f"{{name: g, model: m, base_url: '{server.base_url}', api_key_env: OPENAI_API_KEY}}"
        text = re.sub(r"judges: .*", f"judges: [{judge}]", STUDY).replace("asked by", "refused to")
        with pytest.raises(AppError, match=r"wants to send \$OPENAI_API_KEY to http://127"):
            client.predict(text, api_name="/run_study")
        assert server.bill.totals.calls == 0


def test_judgements_come_in_pages_within_bounds(judged: Store) -> None:
    """The first is number 0; a count below 1 gives one, and at most 200 come at once."""
    page = {function.__name__: function for function in make_reading_api_functions(judged)}[
        "judgements"
    ]
    keys = [one.ask.key for one in judged.judgements(NAME)]
    assert len(keys) > 200

    def found(*place: float) -> list[str]:
        return [row["ask"]["key"] for row in page(NAME, *place)]

    assert found() == keys[:20] == found(0) == found(-5)
    assert found(3, 2) == keys[3:5] == found(3.9, 2.9)
    assert found(0, 0) == found(0, -1) == keys[:1]
    assert found(1, 200) == found(1, 10**9) == keys[1:201]
    assert found(len(keys)) == []


def test_numbers_are_grouped_only_by_known_columns(judged: Store) -> None:
    metrics = {function.__name__: function for function in make_reading_api_functions(judged)}[
        "study_metrics"
    ]
    with pytest.raises(gr.Error, match="by: cannot group by item, other;"):
        metrics(NAME, "judge, other, item")
    found = metrics(NAME, " judge , ,")
    assert {"always first", "fair"} <= found["by"].keys()
