"""Spending of a judge, computed from the rows of a real store."""

from __future__ import annotations

from dataclasses import replace

from studies.domain import Ask, Item, Judgement, Usage, Verdict
from studies.spec.study import Study
from studies.store.queries.judge_spending import judge_spending, mean_call_dollars, mean_call_tokens
from studies.store.queries.run_costs import failures_of_run, put_attempt_made_outside_store
from studies.store.rows import put_judgement


def judgement(item: str, **more) -> Judgement:
    ask = Ask(f"key of {item}", item, "j", "p", ("x", "y"), ("A", "B"))
    return Judgement(ask, "ok", Verdict(0), **more)


def test_tokens_and_dollars_are_added_and_seconds_have_a_median(store):
    rows = [
        judgement("q1", usage=Usage(100, 10), cost=0.01, seconds=1.0),
        judgement("q2", usage=Usage(200, 30), cost=0.03, seconds=9.0),
        judgement("q3", usage=Usage(), cost=None, seconds=2.0),
    ]
    items = [Item(f"q{k}", "?", {"x": "", "y": ""}) for k in (1, 2, 3)]
    store.save_study(Study("s"), items, (), recorded=rows, only_recorded=True)
    got = judge_spending(store, "s", "j", "p")
    assert (got.replies, got.prompt_tokens, got.completion_tokens) == (3, 300, 40)
    assert (round(got.dollars, 6), got.dollars_per_reply, got.median_seconds) == (0.04, 0.02, 2.0)
    assert judge_spending(store, "s", "j").replies == 3
    assert mean_call_tokens(store, "s") == {("j", "p"): 170.0}  # of the two that report tokens


def test_failed_calls_cost_dollars_but_are_no_replies(store):
    """One call failed without a price, one after $0.10: the two replies cost $0.02 each."""
    failed = [
        replace(judgement(item, cost=cost), status="error", verdict=None)
        for item, cost in (("q1", None), ("q2", 0.10))
    ]
    rows = [*failed, judgement("q3", cost=0.01), judgement("q4", cost=0.03)]
    items = [Item(f"q{k}", "?", {"x": "", "y": ""}) for k in (1, 2, 3, 4)]
    store.save_study(Study("s"), items, (), recorded=rows, only_recorded=True)
    got = judge_spending(store, "s", "j", "p")
    assert (got.replies, got.failed) == (2, 2)
    assert (round(got.dollars, 6), round(got.dollars_per_reply, 6)) == (0.14, 0.02)
    assert mean_call_dollars(store, "s") == {("j", "p"): got.dollars_per_reply}
    unpriced = judgement("q1")
    store.save_study(Study("s"), items, (), recorded=[unpriced, *rows[1:]], only_recorded=True)
    assert mean_call_dollars(store, "s") == {}, "a reply without a price"


def test_what_nobody_recorded_is_not_zero(store):
    store.save_study(
        Study("s"), [Item("q", "?", {"x": "", "y": ""})], (), recorded=[judgement("q")],
        only_recorded=True,
    )  # fmt: skip
    got = judge_spending(store, "s", "j", "p")
    assert (got.prompt_tokens, got.dollars, got.median_seconds) == (None, None, None)
    assert judge_spending(store, "s", "nobody").replies == 0 and got.unusable == 0
    assert mean_call_tokens(store, "s") == {}


def test_a_failure_that_a_later_run_replaced_by_another_is_of_the_later_run(store):
    for owner, *items in (("one", "q1", "q2"), ("two", "q1")):
        for item in items:
            failed = replace(judgement(item), status="unreadable", verdict=None)

            def settle(connection, failed=failed, owner=owner):
                put_judgement(connection, failed)
                put_attempt_made_outside_store(connection, failed, owner, Usage(), None)

            store.writer.run(settle)
    assert failures_of_run(store, "one") == [("unreadable", 1, "key of q2")]
    assert failures_of_run(store, "two") == [("unreadable", 1, "key of q1")]
