"""A study whose calls all failed: no reply came, nothing was paid, and all screens count alike."""

from __future__ import annotations

import html
import socket
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.home.study_list import studies_html
from components.inspect.list_html import list_html
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import FAILURES, Selection
from components.results.overview import tab as overview_tab
from components.results.overview.run_outcome import run_outcome_html
from components.results.view_drawing import VIEWS, render_view_uncached, view_headline
from components.run.failed_replies import failed_replies_html
from components.run.live_figures import NO_VERDICT, LiveFigures
from components.run.past_runs import run_html
from components.run.run_facts import load_run_facts
from components.run.status_html import run_headline_html, run_kpis_html, start_button_text
from components.share.paper_text import methods_paragraph
from judges.engine.engine import Engine
from judges.engine.pending_asks import QuoteCache
from judges.engine.run_state import RunSettings
from studies.store.queries.cost_queries import judge_costs
from studies.store.queries.run_costs import attempt_totals
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, always
from tests.judges.small_studies import endpoint, run_through, study_plan
from tests.page_words import says, text_of

CALLS = 30
TWO_ATTEMPTS = RunSettings(first_backoff=0.01, deadline=5.0, attempts=2)


def fail_all(store: Store, folder: Path, url: str, settings: RunSettings = TWO_ATTEMPTS) -> int:
    """Run 30 calls that all fail; return the number of failed ones. The others were not made."""
    run_through(study_plan(folder, [endpoint(url)], 15, orders="both"), store, settings=settings)
    return store.status_counts("small").get("error", 0)


@pytest.fixture
def dead(store, tmp_path) -> FilteredStudy:
    """Calls to a port on which no server listens: four failed, then the judge was stopped."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert fail_all(store, tmp_path, f"http://127.0.0.1:{port}/v1") == 4
    return FilteredStudy(store, "small")


def facts(store: Store, engine: Engine):
    return load_run_facts(store, engine, QuoteCache(store), "small")


def test_home_run_and_results_count_the_calls_left_alike(dead, engine):
    """4 calls failed and 26 were not made: none is done, 30 are left."""
    store, known = dead.store, facts(dead.store, engine)
    (line,) = store.studies()
    assert (line.judged, line.failed, line.planned) == (0, 4, CALLS)
    assert (known.reply_count, known.missing.asks) == (line.judged, line.planned)
    home = text_of(studies_html(store, []))
    assert says(home, f"0 of {CALLS}") and says(home, f"{CALLS} calls left")
    assert says(text_of(run_headline_html(known)), f"0 of {CALLS} calls")
    button = start_button_text(known.missing)
    assert says(button, f"Run {CALLS} calls")
    for shown in (overview_tab.render_unusable_replies(dead), run_outcome_html(store, "small")):
        assert button in html.unescape(shown) and "again" not in shown


def test_a_refused_connection_costs_nothing(dead, engine):
    known, totals = facts(dead.store, engine), attempt_totals(dead.store, "small")
    assert sum(one.calls for one in totals) > 4 and sum(one.unknown for one in totals) == 0
    assert (known.unpriced, known.spent) == (0, 0.0)
    kpis = text_of(run_kpis_html(known, LiveFigures(0, NO_VERDICT, 2, None, None, None)))
    assert says(kpis, "Spent", "$0") and "unknown" not in kpis
    (run,) = dead.store.runs("small")
    assert "unknown price" not in text_of(run_html(dead.store, run.id, "small"))


def test_an_attempt_that_may_have_been_billed_keeps_its_unknown_price(store, tmp_path):
    with JudgeServer(rules=[always(Fault("timeout"))]) as server:
        quick = RunSettings(first_backoff=0.01, deadline=0.3, attempts=1)
        failed = fail_all(store, tmp_path, server.base_url, quick)
    assert sum(one.unknown for one in attempt_totals(store, "small")) >= failed > 0


def test_a_failed_call_is_no_reply(dead, engine):
    """The error is quoted as an error, and the advice is about the judge, not about the prompt."""
    known = facts(dead.store, engine)
    shown = [overview_tab.render_unusable_replies(dead), run_outcome_html(dead.store, "small")]
    for text in shown:
        assert says(text_of(text), "error", "judge", "connection refused")
        assert "Example of" not in text and "Edit prompt" not in text
        assert 'data-tab="study"' in text and says(text_of(text), "address and key")
    assert 'data-tab="run"' in shown[0]
    assert all(says(view_headline(view, dead)[0], "4 calls failed") for view in VIEWS.values())
    told = text_of(failed_replies_html(dead.store, known))
    assert says(told, "Failed calls") and says(told, "Open 4 calls")
    (cost,) = judge_costs(dead.store, "small")
    assert cost.replies == 0 and says(methods_paragraph(dead), "Of 4 calls", "0 had")


def test_the_card_of_a_judge_without_a_reply_claims_no_judged_item(dead):
    card = text_of(str(overview_tab.render_card_or_judge_tables(dead)))
    assert says(card, "no verdict") and "both orders judge" not in card
    assert says(card, "No call", "4 calls failed") and says(card, "address and key")
    assert "verdict format" not in card and says(card, "Replies 0")
    note = text_of(render_view_uncached(dead, overview_tab.NAME, {})["data"])
    assert says(note, "No judgements", "4 calls failed")


def test_inspect_lists_what_the_link_to_failed_calls_says(dead):
    page = load_inspect_page(dead.store, Selection(study="small", status=FAILURES))
    link = f"Open {page.replies} calls of {page.total} comparisons"
    assert page.replies == 4 and link in overview_tab.render_unusable_replies(dead)
    errors = load_inspect_page(dead.store, Selection(study="small", status="error"))
    assert says(text_of(list_html(errors)), f"{page.total} comparisons, 4 calls")
    assert errors.opened is not None and errors.opened.line.verdicts[0].status == "error"


@pytest.mark.parametrize("fault", ["unauthorized", "server_error"])
def test_results_say_that_the_calls_failed(store, tmp_path, fault):
    """A refused key stops the judge before a failed call is stored: the run is named instead."""
    with JudgeServer(rules=[always(Fault(fault))]) as server:
        failed = fail_all(store, tmp_path, server.base_url)
    assert (failed == 0) is (fault == "unauthorized")
    for view in VIEWS.values():
        title, lead = view_headline(view, FilteredStudy(store, "small"))
        assert says(title, "No call", "failed") and says(lead, "key")
    assert sum(one.unknown for one in attempt_totals(store, "small")) == 0
