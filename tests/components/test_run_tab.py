"""What the Run tab says about a run, without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from components import run_tab
from components.live import LiveViews
from judges.plan import make_plan, save_plan
from judges.runs import Engine
from studies.store import Store
from studies.study import parse

NAME = "two judges"
MUMBLING = """
name: mumbling
data: {source: probe, count: 6, seed: 1}
contestants: [precise, flawed]
judges: [{name: mumbler, model: simulated, unreadable_rate: 1, seed: 1}]
prompts: [brief-letters]
"""


@pytest.fixture
def engine():
    made = Engine()
    yield made
    made.close()


def test_a_finished_study_offers_no_run_and_says_so(judged, engine):
    shown = run_tab.show(judged, engine, LiveViews(judged), NAME)
    told = dict(zip(("run", "timer", "finding", "start"), shown[:4], strict=True))
    assert "All asked. A second run makes no call." in told["finding"]
    assert told["start"].visible is False
    assert told["timer"].active is False


def test_failures_are_shown_by_kind_with_an_example_and_are_no_evidence(tmp_path, engine):
    store = Store(tmp_path / "evenhand.db")
    plan = make_plan(parse(MUMBLING, "test", Path()))
    save_plan(plan, store)
    assert engine.start(plan, store).wait(30)
    counts = store.counts("mumbling")
    # 6 items, one pair, both orders: 12 asks, none of them readable.
    assert counts["unreadable"] == counts["planned"] == 12
    html = run_tab.show_failures(store, "mumbling", counts)
    assert "unreadable" in html
    assert "would rather not choose" in html
    picture = LiveViews(store).of("mumbling").picture()
    assert picture.share.value is None
    assert picture.wins_figure["summary"] == "No readable verdict yet."
    kpis = run_tab.show_kpis(None, counts, picture)
    assert "12 unreadable" in kpis


def test_a_study_that_cannot_run_is_an_error_on_the_page(judged, engine):
    import gradio as gr

    with pytest.raises(gr.Error, match="no study named 'gone'"):
        run_tab.begin(judged, engine, "gone")
