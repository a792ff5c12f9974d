"""Results during a run: marked as partial without a headline, complete after the end."""

from __future__ import annotations

import re

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results import results_tab
from components.results.active_run_tab import RunProgress, mark_partial, run_progress
from components.results.bias import tab as bias_tab
from judges.engine.engine import Engine
from judges.planning.plan import save_plan
from tests.judge_server import JudgeServer
from tests.judges.engine.test_run import until
from tests.judges.small_studies import endpoint, study_plan

VIEW = bias_tab.NAME


@pytest.fixture(scope="module")
def tab():
    with gr.Blocks():
        return results_tab.build()


def shown(store, engine, tab, name: str) -> str:
    values = tuple(part.value for part in tab.inputs)
    progress = run_progress(engine, name)
    return str(mark_partial(results_tab.render_view(store, name, tab, VIEW, values), progress)[0])


def test_results_are_partial_until_the_run_ends(store, tmp_path, tab):
    engine = Engine()
    with JudgeServer(latency=(0.2, 0.3)) as server:
        judges = [endpoint(server.base_url)]
        plan = study_plan(tmp_path, judges, 20, orders="both", concurrency=2)
        save_plan(plan, store)
        run = engine.start(plan, store)
        until(lambda: (now := run_progress(engine, "small")) and now.done >= 6, 60)
        text = shown(store, engine, tab, "small")
        found = re.search(r"Partial: (\d+) of 40 calls done\.", text)
        assert found and 6 <= int(found[1]) < 40
        assert "<h1>" not in text
        assert run.wait(120)
    engine.close()
    assert run_progress(engine, "small") is None
    text = shown(store, engine, tab, "small")
    assert "Partial" not in text and "<h1>" in text


def test_without_a_run_the_view_is_unchanged():
    assert mark_partial(["finding", "numbers"], None) == ["finding", "numbers"]
    marked = mark_partial(["finding", "numbers"], RunProgress(48, 147))
    assert "Partial: 48 of 147 calls done." in marked[0] and marked[1:] == ["numbers"]


def test_a_page_without_an_engine_has_no_run():
    assert run_progress(None, "small") is None


def test_the_choices_that_grow_are_those_of_the_views(judged, tab):
    whole = FilteredStudy(judged, "two judges")
    for module in results_tab.VIEWS.values():
        if hasattr(module, "available_choices"):
            assert tuple(module.available_choices(whole)) == module.CHANGING_CONTROLS
            assert set(module.CHANGING_CONTROLS) <= set(tab.parts[module.NAME].controls)
