"""Results during a run: marked as partial without a headline, complete after the end."""

from __future__ import annotations

import re
from functools import partial

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.bias import tab as bias_tab
from components.results.controls.active_run_tab import (
    RunProgress,
    active_run_progress,
    frozen_notice,
    latest_progress,
    put_partial_notice_as_headline,
)
from components.results.view_drawing import VIEWS, render_view
from judges.engine.engine import Engine
from judges.planning.plan import save_plan
from studies.store.queries.run_queries import StoredRun, put_run
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.page_words import says
from tests.waiting import until

VIEW = bias_tab.NAME


def shown(store, engine, name: str) -> str:
    progress = active_run_progress(engine, name)
    drawn = render_view(store, name, VIEW, Filter(), VIEWS[VIEW].start_values)
    return str(put_partial_notice_as_headline(drawn, progress)["finding"])


def test_results_are_partial_until_the_run_ends(store, tmp_path):
    engine = Engine()
    with JudgeServer(latency=(0.2, 0.3)) as server:
        judges = [endpoint(server.base_url)]
        plan = study_plan(tmp_path, judges, 20, orders="both", concurrency=2)
        save_plan(plan, store)
        run = engine.start(plan, store)
        until(lambda: (now := active_run_progress(engine, "small")) and now.done >= 6, 60)
        text = shown(store, engine, "small")
        found = re.search(r"Partial: (\d+) of 40 calls done\.", text)
        assert found and 6 <= int(found[1]) < 40
        assert "<h1>" not in text
        run.stop()
        assert run.wait(120)
    engine.close()
    assert active_run_progress(engine, "small") is None
    ended = latest_progress(engine, "small")  # still counted, for a page that was frozen
    assert ended and int(found[1]) <= ended.done <= ended.planned == 40
    text = shown(store, engine, "small")
    assert "Partial" not in text and "<h1>" in text


def test_without_a_run_the_view_is_unchanged():
    drawn = {"finding": "headline", "kpis": "numbers"}
    assert put_partial_notice_as_headline(drawn, None) == drawn
    marked = put_partial_notice_as_headline(drawn, RunProgress(48, 147))
    assert re.search(r"48\D+147", marked["finding"]) and marked["kpis"] == "numbers"


def test_a_view_drawn_before_a_run_that_fails_without_a_reply_is_drawn_again(store, tmp_path):
    save_plan(study_plan(tmp_path, [endpoint("http://127.0.0.1:9/v1")], 2), store)
    assert "failed" not in shown(store, None, "small")
    for started, state in ((1.0, "failed"), (2.0, "stopped")):
        run = StoredRun(f"run {started}", "small", state, "no key", started, started + 0.5)
        store.writer.run(partial(put_run, run=run))
        text = shown(store, None, "small")
        assert says(text, "last run failed", "no key") is (state == "failed")


def test_a_page_without_an_engine_has_no_run():
    assert active_run_progress(None, "small") is None


def test_a_redraw_offers_the_choices_of_the_study_as_it_is_now(judged):
    whole = FilteredStudy(judged, "two judges")
    drawn = render_view(judged, "two judges", VIEW, Filter(), VIEWS[VIEW].start_values)
    state = VIEWS[VIEW].controls["measure"].initial_state(whole, None)
    offered = re.findall(r'name="eh-measure" value="([^"]+)"', str(drawn["panels"]))
    assert offered == list(state.choices) and len(offered) > 1


def test_frozen_numbers_count_the_replies_that_they_do_not_contain():
    running = frozen_notice(RunProgress(60, 147), 48, running=True)
    assert "12 new replies." in running and "Show them" in running
    none = frozen_notice(RunProgress(48, 147), 48, running=True)
    assert "No new reply." in none and "Continue updating" in none
    ended = frozen_notice(RunProgress(147, 147), 48, running=False)
    assert says(ended, "99 new replies.", "run", "ended", "Show them")


def test_findings_are_marked_so_that_a_partial_view_can_hide_them(judged):
    """The page hides `.eh-claim` under the notice; the numbers and charts stay."""
    drawn = render_view(judged, "two judges", "Summary", Filter(), VIEWS["Summary"].start_values)
    assert "eh-claim" in str(drawn["ranking"]) and "eh-claim" not in str(drawn["judges"])
    assert "eh-partial" in put_partial_notice_as_headline(drawn, RunProgress(1, 2))["finding"]
