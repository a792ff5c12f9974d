"""Texts of the Run tab on a study, its runs and its failures, without a browser."""

from __future__ import annotations

import copy
import html
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from components.home.study_list import study_state
from components.html.markup import Markup
from components.html.pieces import finding_html
from components.layout.header import run_pill_html
from components.results.view_drawing import study_headline
from components.run import actions_tab
from components.run import tab as run_tab
from components.run.actions_tab import RunActions, try_typed_keys, updated_run_buttons
from components.run.failed_replies import consistency_if_ties_text, failed_replies_html
from components.run.live_figures import MIN_ELO_BATTLES, NO_VERDICT, LiveFigures, LiveStudies
from components.run.notices import raised_budget, study_notices_html
from components.run.partial_results import partial_results_html
from components.run.past_runs import SCOPES, run_html, runs_html
from components.run.run_facts import RunFacts, load_run_facts
from components.run.status_html import (
    early_stop_note,
    latest_replies_html,
    progress_bar_html,
    run_headline_html,
    run_kpis_html,
    start_button_text,
)
from components.study.plan.cost_preview import forecast_by_judge, stored_plan_quote
from judges.engine.engine import Engine
from judges.engine.pending_asks import CostQuote, QuoteCache
from judges.engine.snapshot import FailureSummary, JudgeWait, RunSnapshot
from judges.planning.plan import Plan, save_plan
from judges.security.key_consents import TypedKey
from metrics.estimation.planning.confidence_sequence import confidence_sequence
from metrics.position.position_measures import consistency, noise_floor
from studies.domain import Estimate
from studies.store.queries.run_costs import attempt_totals
from studies.store.run_owners import LeaseOwner
from studies.store.store import Store, StoredRun, StudySummary
from tests.judge_server import Fault, JudgeServer, Reply, always, containing
from tests.judges.small_studies import QUICK, endpoint, mumbling_plan, start_small, study_plan
from tests.page_words import says
from tests.waiting import until

NAME = "two judges"


def words(text: str) -> str:
    """What a reader sees."""
    plain = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return re.sub(r" ([,.;:])", r"\1", " ".join(plain.split()))


def asked(store: Store, engine: Engine, plan: Plan, **more: Any) -> StoredRun:
    save_plan(plan, store)
    assert engine.start(plan, store, **more).wait(120)
    return store.runs(plan.study.name)[0]


def now(store: Store, engine: Engine, name: str) -> RunFacts:
    return load_run_facts(store, engine, QuoteCache(store), name)


def running(**values: Any) -> RunFacts:
    """A study with a run on, as a snapshot tells it."""
    plain = RunSnapshot(
        id="r", study="s", state="running", reason="", counts={"planned": 1600, "pending": 562},
        rate=7.4, eta=76.0, in_flight=64, waits=(), spent=0.83, unpriced=0, budget=5.0,
        started=0.0, ended=None, expected_dollars=1.28, judges=("gpt", "other"),
    )  # fmt: skip
    snapshot = replace(plain, **values)
    return RunFacts(
        name="s", counts=snapshot.counts, snapshot=snapshot, running=True, last=None,
        spent=snapshot.spent_before + snapshot.spent, budget=snapshot.budget, maybe_paid_twice=0,
    )  # fmt: skip


def test_failed_calls_are_done_neither_in_the_header_nor_in_the_run():
    # 71 planned, 51 not made yet, 16 answered, 4 failed: the replies of 16 are stored.
    facts = running(counts={"planned": 71, "pending": 51, "ok": 16, "error": 4})
    pill = run_pill_html(facts.snapshot)
    assert 'data-done="16"' in pill and 'data-planned="71"' in pill and "23\u202f%" in pill
    assert facts.reply_count == facts.snapshot.done == 16


# ------------------------------------------------------------------------------ a study at rest


def test_a_finished_study_offers_no_run_and_says_so(judged, engine):
    shown = actions_tab.render(judged, engine, LiveStudies(judged), NAME)
    told = dict(zip(("timer", "state", "finding", "see", "start", "retry"), shown, strict=False))
    assert says(told["finding"], "another", "makes no calls")
    assert told["see"].visible is True
    assert told["start"].visible is told["retry"].visible is False
    assert told["timer"] == gr.skip()


def test_the_headline_of_a_finished_study_is_that_of_results(judged, engine):
    title = study_headline(judged, NAME)
    live = LiveStudies(judged, lambda name: study_headline(judged, name))
    shown = actions_tab.render(judged, engine, live, NAME)
    assert finding_html(title)[:-20] in shown[2]
    assert f"{NAME}: " in words(shown[2]) and says(words(shown[2]), "replies", "stored")


def test_the_end_of_a_run_shows_the_outcome_and_the_share_that_changed(judged, engine):
    live = LiveStudies(judged, outcome=lambda name: Markup(f"<p>outcome of {name}</p>"))
    shown = actions_tab.render(judged, engine, live, NAME)
    assert any(f"outcome of {NAME}" in str(part) for part in shown)
    facts = now(judged, engine, NAME)
    picture = live.for_study(NAME).figures()
    same = consistency(judged.frame(NAME)).value
    assert picture.changed.value == pytest.approx(1 - same)
    assert says(words(run_kpis_html(facts, picture)), "Flips", f"{100 * (1 - same):.1f}")


def test_the_end_of_a_run_splits_changes_into_swaps_and_repeats_and_names_the_forecast(
    judged, engine
):
    live = LiveStudies(judged)
    facts = replace(now(judged, engine, NAME), forecast=CostQuote(120, 0.07))
    assert facts.complete
    picture = live.for_study(NAME).figures()
    repeats = noise_floor(judged.frame(NAME))
    assert picture.repeats == repeats and repeats.value is not None
    text = words(run_kpis_html(facts, picture)).replace("\u202f", " ")
    assert says(text, "on a repeat", f"{100 * repeats.value:.1f} %", f"n {repeats.n} ")
    assert says(text, "forecast", "$0.07", "120", f"{facts.made.calls} attempts")
    unknown = replace(facts, forecast=CostQuote(120, None))
    assert "forecast" not in words(
        run_kpis_html(unknown, picture)
    )  # no price is known: none is named
    without = replace(picture, repeats=NO_VERDICT)
    assert facts.last is not None and facts.last.started is not None
    for end, wanted in ((facts.last.started + 75, "1 min 15 s done"), (None, "– done, started")):
        lasted = replace(facts, last=replace(facts.last, ended=end))
        assert f"Last run {wanted}" in words(run_kpis_html(lasted, without)).replace("\u202f", " ")


def test_the_calls_and_tokens_made_are_those_of_the_runs(store, engine):
    asked(store, engine, mumbling_plan(0))
    facts = now(store, engine, "mumbling")
    rows = attempt_totals(store, "mumbling")
    assert facts.made.calls == sum(row.calls for row in rows) == facts.planned
    assert facts.made.tokens == sum(row.prompt_tokens + row.completion_tokens for row in rows)


def test_the_forecast_of_a_finished_study_is_that_of_its_plan(store, engine):
    plan = mumbling_plan(0)
    asked(store, engine, plan)
    before = forecast_by_judge(plan)
    quotes = QuoteCache(store, lambda name: stored_plan_quote(store, name))
    facts = load_run_facts(store, engine, quotes, "mumbling")
    assert facts.forecast == CostQuote(before.asks, before.dollars)


def test_a_last_reply_names_its_question(judged):
    latest = judged.latest_judgements(NAME, 1)[0]
    (question,) = judged.questions(NAME, [latest.ask.item]).values()
    assert " ".join(question.split())[:30] in html.unescape(
        latest_replies_html(judged, NAME, "All")
    )


def test_results_so_far_name_no_finding_and_stop_with_the_run(judged):
    picture = LiveStudies(judged).for_study(NAME).figures()
    told = words(partial_results_html(running(), picture))
    changed = round(picture.changed.value * picture.changed.n)
    assert says(told, "1,038 of 1,600", str(changed))
    assert not partial_results_html(replace(running(), running=False), picture)
    none = replace(picture, changed=NO_VERDICT)
    assert "yet" in words(partial_results_html(running(), none))


def test_an_unfinished_study_has_no_headline_of_results():
    before_end = words(run_headline_html(running(), "A claim."))
    assert "A claim." not in before_end and "1,038 of 1,600 calls done" in before_end


def test_before_the_plan_is_stored_no_calls_are_called_done():
    facts = running(counts={})
    assert says(run_headline_html(facts), "s:", "prepared") and "0 of 0" not in run_headline_html(
        facts
    )
    assert says(run_headline_html(replace(facts, running=False)), "no calls")


def test_unusable_replies_name_the_price_of_asking_again(judged):
    counts = {"planned": 20, "ok": 17, "unreadable": 3}
    facts = replace(running(), running=False, counts=counts, failed=CostQuote(3, 0.04))
    text = words(run_kpis_html(facts, LiveStudies(judged).for_study(NAME).figures()))
    assert says(text.replace("\u202f", " "), "15.0", "3 unreadable; asking", "3", "$0.04")


def test_elo_is_drawn_from_a_hundred_battles_on(judged):
    view = LiveStudies(judged).for_study(NAME)
    full = view.figures()
    assert view.elo.battles >= MIN_ELO_BATTLES
    assert full.elo_figure and full.elo_figure["data"]
    view = copy.copy(view)  # the store keeps the other one for later tests
    view.elo = replace(view.elo, battles=MIN_ELO_BATTLES - 1)
    few = view._draw_elo_curves()
    assert says(few["summary"], "Elo", "100 battles", "99")


def test_only_the_clock_stops_the_clock(judged, engine):
    # A look from before a run may arrive after the click that started it: it must not stop the
    # clock that the click started, or the page stands still while the run goes on.
    look = RunActions(judged, engine, LiveStudies(judged))
    assert look(NAME, "")[0] == gr.skip()
    assert look.redraw_on_timer(NAME, "")[0].active is False
    assert look.redraw_on_timer("", "")[0] == gr.skip()


def test_a_run_starts_the_clock_and_a_study_at_rest_leaves_it(judged, engine, monkeypatch):
    facts = replace(running(), name=NAME)
    monkeypatch.setattr(actions_tab, "load_run_facts", lambda *_: facts)
    timer, state, *_ = actions_tab.render(judged, engine, LiveStudies(judged), NAME)
    assert timer.active is True and state == "r running"
    monkeypatch.setattr(actions_tab, "load_run_facts", lambda *_: replace(facts, running=False))
    assert actions_tab.render(judged, engine, LiveStudies(judged), NAME)[0] == gr.skip()


def test_as_many_values_are_shown_as_there_are_places_for_them(judged, engine):
    with gr.Blocks():
        tab = run_tab.build()
    live = LiveStudies(judged)
    assert len(actions_tab.render(judged, engine, live, NAME)) == len(tab.outputs)
    assert len(actions_tab.render(judged, engine, live, "")) == len(tab.outputs)


def test_a_study_that_cannot_run_is_an_error_on_the_page(judged, engine):
    with pytest.raises(gr.Error, match=r"no study named .*gone"):
        actions_tab.start_run(judged, engine, "gone")


def test_run_and_retry_name_their_price(store, tmp_path, engine):
    # 12 asks; 4 come back empty, 3 are too long. The server asks 2 and 8 dollars a million tokens.
    rules = [
        *(containing(f"question {n}\n", Fault("empty_content")) for n in range(4)),
        *(containing(f"question {n}\n", Fault("context_overflow")) for n in range(4, 7)),
    ]
    with JudgeServer(rules=rules) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=12)
        save_plan(plan, store)
        before = now(store, engine, "small")
        see, start, retry, pause, stop, notify = updated_run_buttons(before)
        assert start.visible
        assert not any(one.visible for one in (see, retry, pause, stop, notify))
        assert before.missing.asks == 12 and before.missing.dollars
        asked(store, engine, plan, settings=QUICK)
        after = now(store, engine, "small")
        see, start, retry, *_ = updated_run_buttons(after)
        assert see.visible
        mean = store.read("SELECT avg(cost) FROM judgements").fetchone()[0]
        assert after.failed.asks == 7
        assert after.failed.dollars == pytest.approx(7 * mean)
        assert not start.visible
        assert retry.visible and says(retry.value, "Retry 7 failed", "$0.01")
        server.schedule()
        RunActions(store, engine, LiveStudies(store)).retry("small", "All")
        again = engine.latest_run("small")
        assert again is not None and again.wait(120)
        assert server.bill.totals.calls == 12 + 7
    assert store.status_counts("small") == {"planned": 12, "ok": 12}


@pytest.mark.parametrize(
    ("counts", "more", "visible"),
    [
        ({"planned": 5, "pending": 1, "ok": 4}, {}, {"start"}),
        ({"planned": 5, "pending": 1, "ok": 4}, {"owned": False}, set()),
        ({"planned": 5, "ok": 5}, {}, {"see"}),
        ({"planned": 5, "pending": 1, "ok": 4, "recorded": 3}, {}, {"see"}),
        ({"planned": 5, "pending": 1, "ok": 4}, {"running": True}, {"pause", "stop", "notify"}),
        ({"planned": 5, "ok": 4}, {"running": True, "owned": False}, {"notify"}),
    ],
)
def test_only_buttons_that_apply_are_visible(counts, more, visible):
    facts = replace(running(), counts=counts, snapshot=None, **{"running": False, **more})
    names = ("see", "start", "retry", "pause", "stop", "notify")
    buttons = dict(zip(names, updated_run_buttons(facts), strict=True))
    assert {name for name, button in buttons.items() if button.visible} == visible


def test_an_unknown_price_is_said_to_be_unknown(store, tmp_path, engine):
    judge = {"name": "judge", "model": "nobody-knows", "base_url": "http://127.0.0.1:9/v1"}
    save_plan(study_plan(tmp_path, [judge], items=3), store)
    _, start, *_ = updated_run_buttons(now(store, engine, "small"))
    assert says(start.value, "3 calls, price unknown")


# ---------------------------------------------------------------------------------- failures


def test_failures_are_shown_by_kind_with_an_example_and_are_no_evidence(store, engine):
    asked(store, engine, mumbling_plan(1))
    known = now(store, engine, "mumbling")
    # 6 items, one pair, both orders: 12 asks, none of them readable.
    assert known.counts["unreadable"] == known.planned == 12
    text = failed_replies_html(store, known)
    assert says(text, "rather not choose")
    assert says(words(text), "12 replies gave no")
    key = store.latest_judgements("mumbling", 1)[0].ask.key
    assert html.escape(f'{{"key": "{key}"}}') in text, "an example opens Inspect"
    assert html.escape('{"status": "unreadable"}') in text, "and so do all of them"
    picture = LiveStudies(store).for_study("mumbling").figures()
    assert picture.share.value is None
    assert picture.wins_figure and says(picture.wins_figure["summary"], "No complete item", "yet")
    assert "12 unreadable" in words(run_kpis_html(known, picture))


def test_the_notice_tells_what_another_rule_would_say(store, engine):
    asked(store, engine, mumbling_plan(0.25))
    frame = store.frame("mumbling")
    told = re.search(
        r"would be (\S+) %? ?instead of",
        words(consistency_if_ties_text(frame)).replace("\u202f", " "),
    )
    assert told, consistency_if_ties_text(frame)
    # Counted by hand: an unread reply becomes a tie, so a pair with one is kept only if both are.
    orders = frame.groupby("item", observed=True)["pick"].agg(list)
    same = 0
    for item, picks in orders.items():
        rows = frame[frame["item"] == item].sort_values("shown")
        slots = [
            -1 if status != "ok" else pick
            for pick, status in zip(rows["pick"], rows["status"].astype(str), strict=True)
        ]
        first, second = slots
        same += first == second == -1 or {first, second} == {0, 1}
        assert len(picks) == 2
    assert float(told.group(1)) == pytest.approx(100 * same / 6, abs=0.06)
    assert 0 < consistency(frame).n < 6, "as it stands they are left out"


def test_what_was_retried_on_the_way_is_counted_with_an_example(store, engine):
    known = running(failures=(FailureSummary("gpt", "HTTP 500", 14, "<b>sorry</b>"),))
    text = failed_replies_html(store, known)
    assert "14 × HTTP 500" in words(text)
    assert "&lt;b&gt;sorry&lt;/b&gt;" in text


# ------------------------------------------------------------------------------- a run that is on


def test_spend_stands_against_the_budget_with_the_forecast_behind(judged):
    text = run_kpis_html(running(), LiveStudies(judged).for_study(NAME).figures())
    # 0.83 of 5 dollars is 16.6 %; 1.28 at the end is 25.6 %.
    assert 'class="f" style="width:25.6%"' in text
    assert 'style="width:16.6%"' in text
    assert "$0.83 of $5.00" in words(text)
    assert says(words(text), "about $1.28", "end")
    assert "7.4 calls/s" in words(text) and "1 min 16 s" in words(text)


def test_what_earlier_runs_spent_counts_against_the_budget(judged):
    text = run_kpis_html(running(spent_before=2.0), LiveStudies(judged).for_study(NAME).figures())
    assert "$2.83 of $5.00" in words(text)
    assert says(words(text), "about $3.28", "end")


def test_only_an_active_run_may_be_stopped(judged):
    votes = confidence_sequence(70, 100)
    picture = replace(LiveStudies(judged).for_study(NAME).figures(), sequence=votes)
    note = early_stop_note(picture)
    assert note and note in run_kpis_html(running(), picture)
    idle = replace(running(), running=False)
    recorded = replace(idle, counts={"planned": 90, "recorded": 90})
    assert not any(note in run_kpis_html(facts, picture) for facts in (idle, recorded))


def test_a_study_too_large_to_be_followed_says_what_its_charts_leave_out(judged):
    counts = {"planned": 1_200_000, "pending": 200_000}
    nothing = LiveFigures(0, Estimate(None, note="no verdict yet"), 2, None, None, None)
    text = words(run_kpis_html(replace(running(), counts=counts), nothing))
    assert says(text, "study", "1,200,000 calls")
    assert says(text, "only", "since", "tab", "opened")
    assert says(text, "no", "since", "tab", "opened") and "no verdict yet" not in text
    recorded = {"planned": 600_000, "recorded": 600_000}
    text = words(run_kpis_html(replace(running(), counts=recorded), nothing))
    assert says(text, "600,000", "too", "draw", "see")
    small = words(run_kpis_html(running(), LiveStudies(judged).for_study(NAME).figures()))
    assert not says(small, "since", "opened")


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        (
            JudgeWait("gpt", "cooling", "cooling down 38 s: rate limit", 14, 0, 38.2, 16, 64),
            "gpt returned HTTP 429 (too many requests). In 38 s, 14 calls continue with at most "
            "16 calls at once instead of 64. "
            "Waiting costs nothing. Continue with 8 at once",
        ),
        (
            JudgeWait("gpt", "retry", "retry 4 of 5: HTTP 500 (3 asks)", 3, 4),
            "Retrying. gpt: retry 4 of 5: HTTP 500 (3 asks).",
        ),
        (JudgeWait("gpt", "budget", "budget reached"), "Budget reached."),
        (JudgeWait("gpt", "stopped", "stopped: no such model"), "gpt was stopped."),
        (
            JudgeWait("gpt", "elsewhere", "3 being asked by another run"),
            "no call is paid for twice",
        ),
    ],
)
def test_the_reason_for_waiting_is_always_said(wait, told):
    known = running(waits=(wait,))
    assert told in words(study_notices_html(known))
    assert f"gpt: {wait.why}" in words(progress_bar_html(known))


def test_judges_that_share_a_cool_down_are_told_as_one():
    cool = JudgeWait("gpt", "cooling", "cooling down 38 s: rate limit", 2, 0, 38.2, 16, 64)
    known = running(waits=(cool, cool._replace(judge="other", asks=1)))
    text = words(study_notices_html(known))
    assert text.count("Rate limit reached.") == 1
    assert says(text, "gpt", "returned", "429", "3")
    assert "waiting for 38 s" in words(run_headline_html(known))


def test_judges_of_one_endpoint_share_a_notice_and_those_of_two_endpoints_do_not():
    cool = JudgeWait("gpt", "cooling", "cooling down 38 s: rate limit", 2, 0, 38.4, 8, 8)
    later = cool._replace(judge="other", seconds=38.6, allowed_in_flight=16, ceiling=64)
    shared = words(study_notices_html(running(waits=(cool, later))))
    assert shared.count("Rate limit reached.") == 1 and says(shared, "gpt and other", "16", "64")
    apart = words(
        study_notices_html(running(waits=(cool, cool._replace(judge="third", limiter=1))))
    )
    assert apart.count("Rate limit reached.") == 2 and "gpt and third" not in apart


def test_a_first_retry_is_a_line_and_no_box():
    known = running(waits=(JudgeWait("gpt", "retry", "retry 1 of 5: HTTP 500", 1, 1),))
    assert study_notices_html(known) == ""
    assert "retry 1 of 5: HTTP 500" in words(progress_bar_html(known))
    assert "1 waiting" in words(progress_bar_html(known))


def test_a_refused_parameter_is_told_once_with_its_effect():
    text = words(
        study_notices_html(running(dropped_reply_parameters=(("gpt", "temperature, top_p"),)))
    )
    assert says(text, "without temperature, top_p", "temperature, top_p")
    assert says(text, "marked", "apart from")


def test_slow_calls_are_a_line_with_their_age():
    known = running(waits=(JudgeWait("gpt", "slow", "2 calls are slow: 95 s, usual 4 s"),))
    assert study_notices_html(known) == ""
    assert says(words(progress_bar_html(known)), "2", "slow: 95", "usual 4")


def test_the_bill_of_a_run_names_cached_and_reasoning_tokens(store, tmp_path, engine):
    thinking = Reply("Overall, Response A is better.", reasoning="thought " * 50)
    with JudgeServer(behaviour=lambda _: thinking) as server:
        run = asked(store, engine, study_plan(tmp_path, [endpoint(server.base_url)], items=4))
        cached = server.bill.totals.cached
    text = words(run_html(store, run.id, "small"))
    assert "out (400 reasoning)" in text
    assert cached
    assert f"({cached:,} cached)" in text.replace("\u202f", ",").replace("\u2009", ",")


def test_untold_and_unpriced_calls_and_doubtful_ones_are_counted():
    known = replace(running(unknown_usage=3, unpriced=2), maybe_paid_twice=4)
    text = words(study_notices_html(known))
    assert says(text, "3", "returned no token")
    assert says(text, "2", "went", "without", "price")
    assert says(text, "4", "sent", "process", "killed")


def test_a_store_in_trouble_offers_to_try_again():
    known = running(state="paused", reason="the disk is full: free some space, then resume")
    text = words(study_notices_html(known))
    assert says(text, "cannot", "written", "disk", "full")
    assert "Try again" in text


# --------------------------------------------------------------------------- after a run, and past


def test_a_reached_budget_offers_to_go_on_at_a_price_that_is_named(store, tmp_path, engine):
    with JudgeServer() as server:
        plan = study_plan(
            tmp_path, [endpoint(server.base_url, max_tokens=64)], items=30, budget_usd=0.005
        )
        asked(store, engine, plan, settings=QUICK)
        known = now(store, engine, "small")
        assert known.last and "budget reached" in known.last.reason
        budget = raised_budget(known)
        assert budget > known.spent + (known.missing.dollars or 0)
        assert says(words(study_notices_html(known)), "Raise", "budget", f"${budget:.2f}")
        event = SimpleNamespace(_data={"do": "raise", "budget": budget})
        RunActions(store, engine, LiveStudies(store)).perform_notice_action("small", "All", event)  # type: ignore[arg-type]
        run = engine.latest_run("small")
        assert run is not None and run.wait(120)
    assert store.status_counts("small") == {"planned": 30, "ok": 30}
    assert store.study("small").budget_usd == 0.005, "the study itself is as it was"


def test_an_interrupted_run_says_what_is_missing(store, tmp_path, engine):
    save_plan(study_plan(tmp_path, [{"name": "s", "model": "simulated"}], items=8), store)
    gone = ("id", "small", "123-dead", "running", "", 1.0, None)
    store.writer.run(lambda c: c.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", gone))
    text = words(study_notices_html(now(store, engine, "small")))
    assert says(text, "last run", "interrupted")
    assert "Run 8 calls, free" in text


def test_a_run_of_another_process_is_told_of(store, tmp_path, engine):
    save_plan(study_plan(tmp_path, [{"name": "s", "model": "simulated"}], items=8), store)
    alive = LeaseOwner(store.run_locks_folder)
    there = ("id", "small", alive.id, "running", "", 1.0, None)
    store.writer.run(lambda c: c.execute("INSERT INTO runs VALUES (?,?,?,?,?,?,?)", there))
    text = words(study_notices_html(now(store, engine, "small")))
    assert says(text, "running", "0", "8 calls")
    alive.close()
    assert "interrupted" in words(study_notices_html(now(store, engine, "small")))


def test_a_refused_key_is_asked_for_and_tried_before_the_run(store, tmp_path, engine, monkeypatch):
    warnings: list[str] = []
    monkeypatch.setattr(gr, "Warning", warnings.append)
    with JudgeServer(api_keys={"right-key-1234"}) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=5)
        asked(store, engine, plan, settings=QUICK)
        known = now(store, engine, "small")
        assert known.judges_without_key == ("judge",)
        look = RunActions(store, engine, LiveStudies(store))
        look.start("small", "All")
        assert (
            says(warnings.pop(0), "key of judge") and store.status_counts("small")["pending"] == 5
        )
        look.start("small", "All", "wrong-key-1234", known.key_origins[0])
        assert says(warnings[0], "refused", "API key") and "wrong-key" not in warnings[0]
        assert store.status_counts("small")["pending"] == 5
        shown = look.start("small", "All", "right-key-1234", known.key_origins[0])
        assert shown[-1] == "", "the box is emptied"
        run = engine.latest_run("small")
        assert run is not None and run.wait(120)
    assert store.status_counts("small") == {"planned": 5, "ok": 5}


def test_past_runs_of_this_study_and_of_all_can_be_opened(store, tmp_path, engine):
    asked(store, engine, mumbling_plan(1))
    with JudgeServer(behaviour=lambda _: Reply("no verdict here")) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=4)
        ended = asked(store, engine, plan, settings=QUICK)
        server.schedule(always(Fault("model_not_found")))
        other = study_plan(tmp_path, [endpoint(server.base_url, model="gone")], 4, name="other")
        failed = asked(store, engine, other, settings=QUICK)
    mine = words(runs_html(store, "small", SCOPES[0]))
    assert "done" in mine and "4 attempts" in mine and "other" not in mine
    every = words(runs_html(store, "small", SCOPES[1]))
    assert all(name in every for name in ("mumbling", "small", "other", "failed"))
    opened = run_html(store, ended.id, "small")
    assert says(words(opened), "Every call", "outcome")
    assert "unreadable 4" in words(opened)
    assert "no verdict here" in opened
    assert html.escape('{"key": "') in opened
    elsewhere = words(run_html(store, failed.id, "small"))
    assert says(elsewhere, "no such model")
    assert says(elsewhere, "Go", "study")
    assert "No such run." in words(run_html(store, "nobody", "small"))


def test_a_run_paused_in_another_process_is_listed_as_paused(store, tmp_path, engine):
    with JudgeServer(latency=0.05) as server:
        run = start_small(engine, store, tmp_path, server, items=60, concurrency=2)
        run.pause()
        until(lambda: store.runs("small")[0].state == "paused")
        assert "paused" in words(runs_html(store, "small", SCOPES[0]))
        run.resume()
        until(lambda: store.runs("small")[0].state == "running")
        run.stop()
        assert run.wait(120)
    assert store.runs("small")[0].state == "stopped"


def test_leaving_a_judge_out_lets_the_others_go_on(store, tmp_path, engine):
    with JudgeServer(latency=0.02, rules=[containing('"bad"', Fault("server_error"))]) as server:
        judges = [
            endpoint(server.base_url, "good", model="good"),
            endpoint(server.base_url, "slow", model="slow"),
        ]
        plan = study_plan(tmp_path, judges, items=60, concurrency=2)
        save_plan(plan, store)
        run = engine.start(plan, store, settings=QUICK)
        until(lambda: run.snapshot().done > 4)
        run.leave_out_judge("slow")
        run.limit_in_flight("good", 1)
        assert run.wait(120)
    assert run.state == "stopped"
    assert says(run.reason, "slow: left", "you")
    left = store.read(
        "SELECT judge, count(*) FROM plan p LEFT JOIN judgements j USING(key) "
        "WHERE j.key IS NULL GROUP BY judge"
    ).fetchall()
    assert [judge for judge, _ in left] == ["slow"]


def test_a_quote_is_computed_once_for_each_state_of_a_study(store, tmp_path, engine):
    save_plan(study_plan(tmp_path, [{"name": "s", "model": "simulated"}], items=8), store)
    quotes = QuoteCache(store)
    first = quotes.quotes_for_run_and_retry("small")
    assert first[0] == CostQuote(8, 0.0)
    assert quotes.quotes_for_run_and_retry("small")[0] is first[0]
    plan = study_plan(tmp_path, [{"name": "s", "model": "simulated"}], items=8)
    asked(store, engine, plan)
    assert quotes.quotes_for_run_and_retry("small")[0] == CostQuote(0, 0.0)


def test_the_key_of_the_extraction_judge_is_tried_before_the_run(store, tmp_path, monkeypatch):
    monkeypatch.delenv("UNSET_KEY", raising=False)
    with JudgeServer() as server, JudgeServer(api_keys={"right-key-1234"}) as guarded:
        reader = endpoint(guarded.base_url, "reader", model="reader", api_key_env="UNSET_KEY")
        extraction = {"judge": reader}
        study_plan(tmp_path, [endpoint(server.base_url)], store=store, extraction=extraction)
        origin = guarded.base_url.removesuffix("/v1")
        for key in ("wrong-key-1234", "right-key-1234"):
            refused = try_typed_keys(store, "small", {"reader": TypedKey(key, origin)})
            assert says(refused, "reader", "refused") if key.startswith("wrong") else not refused
        assert (guarded.bill.totals.calls, server.bill.totals.calls) == (2, 0)


def test_one_key_is_not_sent_to_two_hosts_nor_to_one_the_page_did_not_name(
    store, tmp_path, engine, monkeypatch
):
    warnings: list[str] = []
    monkeypatch.setattr(gr, "Warning", warnings.append)
    monkeypatch.delenv("UNSET_KEY", raising=False)
    with JudgeServer() as first, JudgeServer() as second:
        judges = [
            endpoint(server.base_url, name=name, api_key_env="UNSET_KEY")
            for name, server in (("a", first), ("b", second))
        ]
        save_plan(study_plan(tmp_path, judges, items=2), store)
        known = now(store, engine, "small")
        assert len(known.key_origins) == 2
        assert says(words(study_notices_html(known)), "keys are needed", "2 hosts")
        look = RunActions(store, engine, LiveStudies(store))
        for origin in ("", known.key_origins[0], "https://api.openai.com"):
            look.start("small", "All", "right-key-1234", origin)
        assert len(warnings) == 3 and all("was typed for" in told for told in warnings)
        assert first.bill.totals.calls == second.bill.totals.calls == 0


def test_a_stored_study_sends_its_variable_after_the_notice_was_confirmed(
    store, tmp_path, engine, monkeypatch
):
    monkeypatch.setenv("SOME_KEY", "right-key-1234")
    with JudgeServer(api_keys={"right-key-1234"}) as server:
        judge = endpoint(server.base_url, api_key_env="SOME_KEY")
        save_plan(study_plan(tmp_path, [judge], items=2), store)
        look = RunActions(store, engine, LiveStudies(store))
        told = words(study_notices_html(now(store, engine, "small")))
        assert says(told, "wants", "send $SOME_KEY", "http://127.0.0.1")
        for act in (look.start, look.retry):
            with pytest.raises(gr.Error, match="wants to send"):
                act("small", "All")
        assert server.bill.totals.calls == 0
        origin = now(store, engine, "small").unconfirmed[0].origin
        asked_for = {"do": "allow", "variable": "SOME_KEY", "origin": origin}
        look.perform_notice_action("small", "All", gr.EventData(None, asked_for))
        assert now(store, engine, "small").unconfirmed == ()
        look.start("small", "All")
        run = engine.latest_run("small")
        assert run is not None and run.wait(120)
    assert store.status_counts("small") == {"planned": 2, "ok": 2}


def test_a_broken_run_counts_its_calls_in_one_way():
    """71 calls: 16 replies, 4 calls that failed, 51 not made yet: 16 done, 55 left everywhere."""
    ended = StoredRun("id", "s", "failed", "the endpoint does not answer", 1.0, 2.0)
    counts = {"planned": 71, "pending": 51, "ok": 16, "error": 4}
    known = RunFacts(
        name="s", counts=counts, snapshot=None, running=False, last=ended, spent=0.0,
        budget=None, maybe_paid_twice=0, missing=CostQuote(55, None), unpriced=16,
    )  # fmt: skip
    assert says(words(run_headline_html(known)), "16 of 71 calls done")
    bar = words(progress_bar_html(known))
    assert says(bar, "22.5", "done, 55 left") and says(bar, "4 of them failed")
    assert says(start_button_text(known.missing), "Run 55 calls")
    assert says(words(study_notices_html(known)), "16 replies", "71 calls")
    kpis = words(run_kpis_html(known, LiveFigures(0, NO_VERDICT, 2, None, None, None)))
    assert says(kpis, "Spent", "unknown") and "free" not in kpis
    assert says(kpis, "Failed calls", "4", "of 20", "Open 4 calls")
    refused = run_kpis_html(
        replace(known, unpriced=0), LiveFigures(0, NO_VERDICT, 2, None, None, None)
    )
    assert says(words(refused), "Spent", "$0")  # no attempt that could have been billed
    line = StudySummary("s", False, 1.0, lambda: Counter(pending=51, ok=16, error=4))
    assert study_state(line, []).text == "55 calls left"


def test_a_cost_without_token_counts_is_unknown_and_not_free():
    figures = LiveFigures(0, NO_VERDICT, 2, None, None, None)
    for usage, said, unsaid in ((1, "unknown", "free"), (0, "free", "unknown")):
        facts = running(spent=0.0, expected_dollars=0.0, budget=None, unknown_usage=usage)
        kpis = words(run_kpis_html(facts, figures))
        assert says(kpis, "Spent", said) and unsaid not in kpis
