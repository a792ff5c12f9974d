"""A study whose judge answers every call, but never in the form that the prompt asks for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.overview import tab as overview_tab
from components.results.overview.run_outcome import run_outcome_html
from components.results.view.unusable_replies import (
    MAX_EXAMPLE,
    PROMPT_ON_STUDY,
    UnusableReplies,
    explanation_html,
    find_if_all_unusable,
    has_votes,
)
from components.results.view_drawing import (
    VIEWS,
    render_view,
    render_view_uncached,
    study_headline,
    view_headline,
)
from components.run.actions_tab import RunActions, updated_run_buttons
from components.run.live_figures import LiveStudies
from components.run.run_facts import RunFacts, load_run_facts
from judges.engine.engine import Engine
from judges.engine.pending_asks import FEW_USABLE_SHARE, QuoteCache, statuses_to_retry
from judges.planning.plan import save_plan
from studies.domain import (
    RETRYABLE_STATUSES,
    STATUSES,
    USABLE_STATUSES,
    Ask,
    Item,
    Judgement,
    Verdict,
)
from studies.exchange.recorded_studies import save_recorded_study
from studies.sharing.read_only_store import ReadOnlyStore
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, new_secret, visitor_from_secret
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.judge_server import JudgeServer, Reply
from tests.judges.small_studies import endpoint, mumbling_plan, run_through, study_plan
from tests.page_words import says

BARE = "A <b>& nothing else</b>"
ITEMS = 10


@pytest.fixture
def said() -> list[str]:
    """Replies of the judge; the last one is sent."""
    return [BARE]


@pytest.fixture
def server(said: list[str]) -> Iterator[JudgeServer]:
    with JudgeServer(behaviour=lambda _: Reply(said[-1])) as made:
        yield made


@pytest.fixture
def bare(store: Store, tmp_path: Path, server: JudgeServer) -> FilteredStudy:
    """Ten pairs in both orders; each of the 20 replies is a bare letter with markup."""
    plan = study_plan(tmp_path, [endpoint(server.base_url)], ITEMS, orders="both")
    run_through(plan, store)
    return FilteredStudy(store, "small")


def now(store: Store, engine: Engine, name: str = "small") -> RunFacts:
    return load_run_facts(store, engine, QuoteCache(store), name)


def test_headline_and_overview_give_the_number_by_status(bare):
    calls = 2 * ITEMS
    assert says(study_headline(bare.store, "small"), f"None of the {calls}", f"{calls} unreadable")
    shown = render_view_uncached(bare, overview_tab.NAME, {})
    assert says(shown["finding"], f"{calls} unreadable")
    assert not any(says(str(part), "no verdicts yet") for part in shown.values())
    assert all("unreadable" in view_headline(view, bare)[0] for view in VIEWS.values())


def test_what_was_expected_and_an_escaped_example_are_shown(bare):
    for text in (run_outcome_html(bare.store, "small"), overview_tab.render_unusable_replies(bare)):
        assert html.escape(BARE) in text and BARE not in text
        assert says(html.unescape(text), "visit-reference-free", "Overall, Response X", "A or B")


def test_a_long_reply_is_shortened(store, tmp_path):
    with JudgeServer(behaviour=lambda _: Reply("word " * 500)) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], 1), store)
    text = run_outcome_html(store, "small")
    assert 20 < text.count("word") <= MAX_EXAMPLE / 5 + 1


def test_the_actions_read_change_the_prompt_and_ask_again(bare, engine):
    price = now(bare.store, engine).failed
    assert price.asks == 2 * ITEMS and price.dollars
    on_run, on_results = (
        run_outcome_html(bare.store, "small"),
        overview_tab.render_unusable_replies(bare),
    )
    for text in (on_run, on_results):
        assert html.escape('{"status": "failures"}') in text
        assert 'data-tab="study"' in text and html.escape(PROMPT_ON_STUDY) in text
        assert re.search(rf"Ask {price.asks} calls again, [^<]*\$", text)
    assert 'data-click="#eh-retry"' in on_run and 'data-tab="vote"' not in on_run
    assert 'data-click="#eh-retry"' not in on_results and 'data-tab="run"' in on_results
    retry = updated_run_buttons(now(bare.store, engine))[2]
    assert retry.visible and retry.value in html.unescape(on_run)


def test_a_reader_is_offered_the_replies_and_no_tab_that_a_read_only_page_lacks(bare):
    owner = render_view(bare.store, "small", overview_tab.NAME, Filter(), {})["unusable"]
    reader = ReadOnlyStore(bare.store.path)
    shown = render_view(reader, "small", overview_tab.NAME, Filter(), {})["unusable"]
    reader.close()
    assert "data-tab" in owner and "data-tab" not in shown
    assert html.escape('{"status": "failures"}') in shown


def test_the_reader_of_a_link_does_not_get_the_view_that_was_drawn_for_the_owner(bare):
    secret, public = new_secret(), VisitorStore(bare.store)
    owner = visitor_from_secret(secret)
    bare.store.writer.run(lambda c: c.execute("UPDATE studies SET owner=?", (owner.owner,)))
    with as_visitor(owner):
        first = render_view(public, "small", overview_tab.NAME, Filter(), {})["unusable"]
        token = public.create_share_link("small")
    with as_visitor(visitor_from_secret(new_secret(), token)):
        second = render_view(public, "small", overview_tab.NAME, Filter(), {})["unusable"]
    public.close()
    assert "data-tab" in first and "data-tab" not in second


def test_asking_again_makes_every_call_once_more(bare, engine, server, said):
    said.append("Overall, Response A is better.")
    before = server.bill.totals.calls
    RunActions(bare.store, engine, LiveStudies(bare.store)).retry("small", "All")
    run = engine.latest_run("small")
    assert run is not None and run.wait(120)
    assert server.bill.totals.calls == before + 2 * ITEMS
    again = FilteredStudy(bare.store, "small")
    assert (
        find_if_all_unusable(again) is None and overview_tab.render_unusable_replies(again) is None
    )


def test_replies_are_not_repeated_while_many_are_usable_or_calls_are_missing():
    every = frozenset(STATUSES) - USABLE_STATUSES
    many = int(100 * FEW_USABLE_SHARE)
    assert statuses_to_retry({"ok": many, "unreadable": 100 - many}) == RETRYABLE_STATUSES
    assert statuses_to_retry({"ok": many - 1, "unreadable": 101 - many}) == every
    assert statuses_to_retry({"unreadable": 5, "pending": 5}) == RETRYABLE_STATUSES
    assert statuses_to_retry({}) == RETRYABLE_STATUSES


def test_one_usable_reply_leaves_headline_and_steps_as_they_were(store, engine):
    run_through(mumbling_plan(0.25), store)
    some = FilteredStudy(store, "mumbling")
    assert 0 < some.unusable_count < len(some.measured_judge_rows)
    assert find_if_all_unusable(some) is None
    assert study_headline(store, "mumbling") == overview_tab.headline(some)[0]
    assert not now(store, engine, "mumbling").retry_includes_unreadable


def test_calls_are_counted_if_some_ended_without_a_reply():
    mixed = UnusableReplies({"error": 2, "unreadable": 3}).sentence
    assert says(mixed, "5 calls", "3 unreadable", "2 error") and "replies" not in mixed
    assert says(UnusableReplies({"too_long": 1}).sentence, "only reply", "1 too long")


@pytest.mark.parametrize(
    ("status", "reply", "told"),
    [
        ("error", "", ("Latest error", "call to ada", "why")),
        ("too_long", "", ("call to ada", "no text", "why")),
        ("empty", "", ("call to ada", "no text", "why")),
        ("unreadable", "hm", ("Example of", "by ada", "hm")),
    ],
)
def test_a_reason_is_not_shown_as_a_reply_nor_a_former_error_as_that_of_the_latest_call(
    store, status, reply, told
):
    """The latest call, on another category than the filter's, got a verdict."""
    shown, labels = ("x", "y"), ("A", "B")
    made = [
        Judgement(Ask("", "q0", "ada", "p", shown, labels), status, None, "", reply, detail="why"),
        Judgement(Ask("", "q1", "ada", "p", shown, labels), "ok", Verdict(0, 1), "", "[[A]]"),
    ]
    items = [Item(f"q{k}", "question", {"x": "a", "y": "b"}, f"c{k}") for k in range(2)]
    source = LoadedSource(items, made, "table", "written by a test")
    save_recorded_study(store, "recorded", DataSpec(source="r.csv"), source)
    filtered = FilteredStudy(store, "recorded", Filter(category="c0"))
    text = explanation_html(filtered)
    assert says(text, *told) and not says(text, "latest call")


def test_a_study_without_replies_is_not_called_unusable(store):
    save_plan(mumbling_plan(1), store)
    empty = FilteredStudy(store, "mumbling")
    assert find_if_all_unusable(empty) is None and not has_votes(empty)
