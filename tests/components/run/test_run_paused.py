"""Pauses on a shared page: a refused Resume, and a run that was stopped because of its pause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.run.actions_tab import RunActions
from components.run.live_figures import LiveStudies
from components.run.past_runs import runs_html
from components.server.access import LOCAL, PUBLIC
from judges.engine.public_engine import RunLimits
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.money.test_host_key import KEY, lent, shared, start, study, visitors
from tests.page_words import says
from tests.waiting import until


@pytest.fixture
def guarded(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[VisitorStore]:
    monkeypatch.setenv(KEY, "the-owners-own-key")
    made = VisitorStore(store)
    yield made
    made.close()


def test_a_refused_resume_is_said_and_the_run_stays_paused(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    first, second = visitors(2)
    limits = RunLimits(
        asks=100, runs_per_visitor=1, total_runs=1, concurrency=2, longest_pause=1800.0
    )
    with (
        JudgeServer(latency=0.2) as server,
        shared(guarded, lent(server.base_url), limits) as engine,
    ):
        look = RunActions(guarded, engine, LiveStudies(guarded))
        with as_visitor(first):
            study(guarded, tmp_path, "one", server.base_url, items=20)
            run = start(engine, guarded, "one")
            shown = " ".join(map(str, look.pause_or_resume("one", "")))
            until(lambda: run.idle)
        assert says(shown, "stays paused", "30 min")
        with as_visitor(second):
            study(guarded, tmp_path, "two", server.base_url, items=20)
            start(engine, guarded, "two")
        with as_visitor(first), pytest.warns(UserWarning, match="Your run stays paused"):
            look.pause_or_resume("one", "")
        assert run.state == "paused"


def test_the_page_and_past_runs_have_the_reason_of_a_stop_after_a_long_pause(
    guarded: VisitorStore, tmp_path: Path
) -> None:
    (who,) = visitors(1)
    limits = RunLimits(asks=100, runs_per_visitor=1, total_runs=1, concurrency=2, longest_pause=0.2)
    with (
        JudgeServer(latency=0.05) as server,
        shared(guarded, lent(server.base_url), limits) as engine,
        as_visitor(who),
    ):
        look = RunActions(guarded, engine, LiveStudies(guarded))
        study(guarded, tmp_path, "one", server.base_url, items=20)
        run = start(engine, guarded, "one")
        run.pause()
        assert run.wait(120)
        shown = " ".join(map(str, look("one", "")))
        past = runs_html(guarded, "one", "This study", "")
    assert says(shown, "without being resumed", "go")
    assert "without being resumed" in past


def test_only_a_public_page_limits_pauses() -> None:
    assert LOCAL.run_limits.longest_pause is None
    assert PUBLIC.run_limits.longest_pause == 1800.0
    assert PUBLIC.run_limits.paused == 64
