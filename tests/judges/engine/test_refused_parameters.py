"""Parameters that an endpoint refuses: left out once, noted, and another key than the full call."""

import pytest

from judges.planning.plan import (
    asks_of,
    count_replies_dropped_by_plan,
    load_stored_plan,
    make_plan,
    plan_includes,
    save_plan,
)
from studies.spec.study import study_from_mapping
from studies.store.queries.adapted_requests import key_without_parameters
from studies.store.queries.run_costs import attempt_totals, attempt_totals_of_run
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan, write_items


def planned_keys(plan):
    return [planned.ask.key for planned in asks_of(plan)]


def test_a_reply_without_a_parameter_has_another_key_than_one_with_it(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, seed=3)], items=4, concurrency=1)
        run = run_through(plan, store)
    keys = planned_keys(plan)
    assert {j.ask.key for j in judgements(store)} == {
        key_without_parameters(k, ["temperature"]) for k in keys
    }
    assert not {j.ask.key for j in judgements(store)} & set(keys)
    assert store.status_counts("small") == {"planned": 4, "ok": 4}
    assert all("asked without temperature" in j.detail for j in judgements(store))
    assert run.snapshot().dropped_reply_parameters == (("judge", "temperature"),)
    request = store.request(judgements(store)[0].ask.key)
    assert request is not None
    assert "temperature" not in request.parameters
    assert "seed" in request.parameters


def test_the_calls_are_not_paid_again_by_another_run_or_a_plan_made_again(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        judge = endpoint(server.base_url)
        run_through(study_plan(tmp_path, [judge], items=4), store)
        paid = server.bill.totals.billed
        run_through(study_plan(tmp_path, [judge], items=4, repeats=1), store)
        more = study_plan(tmp_path, [judge], items=6)  # two new items: another plan
        run_through(more, store)
        assert (paid, server.bill.totals.billed) == (4, 6)
        assert server.bill.paid_twice == {}
    assert store.status_counts("small") == {"planned": 6, "ok": 6}


def test_a_plan_made_again_loses_no_answer_and_forecasts_no_call(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        judge = endpoint(server.base_url)
        run_through(study_plan(tmp_path, [judge], items=4), store)
    more = study_plan(tmp_path, [judge], items=6)
    assert count_replies_dropped_by_plan(more, store) == 0
    assert store.answered_keys_among(planned_keys(more)) == set(
        planned_keys(study_plan(tmp_path, [judge], items=4))
    )


def test_a_second_study_with_the_same_calls_uses_the_replies(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        judge = endpoint(server.base_url)
        both = [study_plan(tmp_path, [judge], name=name) for name in ("one", "two")]
        save_plan(both[1], store)
        for plan in both:
            run_through(plan, store)
        assert server.bill.totals.billed == 3
    assert store.status_counts("one") == store.status_counts("two") == {"planned": 3, "ok": 3}


def test_the_bill_of_a_study_contains_its_adapted_calls(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], concurrency=1), store)
        dollars = float(server.bill.totals.dollars)
    totals = {t.outcome: t for t in attempt_totals(store, "small")}
    assert (totals["ok"].calls, totals["no temperature"].calls) == (3, 1)
    assert totals["ok"].cost == pytest.approx(dollars)
    assert totals["no temperature"].unknown == 0, "a refused call is not billed"
    assert list(totals.values()) == attempt_totals_of_run(
        store, store.runs("small")[0].owner, "small"
    )


def test_a_renamed_token_limit_changes_no_key(store, tmp_path):
    with JudgeServer(refuses=["max_tokens"]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)])
        run_through(plan, store)
    assert {j.ask.key for j in judgements(store)} == set(planned_keys(plan))


def test_replies_stored_before_an_endpoint_refused_keep_their_keys(store, tmp_path):
    with JudgeServer() as server:
        judge = endpoint(server.base_url)
        plan = study_plan(tmp_path, [judge], items=2)
        run_through(plan, store)
        old = {j.ask.key for j in judgements(store)}
        assert old == set(planned_keys(plan))
        port = server.port
    with JudgeServer(port=port, refuses=["temperature"]):
        run_through(study_plan(tmp_path, [judge], items=3), store)
    found = {j.ask.key: j.detail for j in judgements(store)}
    assert old < set(found)
    assert sorted(found.values()) == ["", "", "asked without temperature"]


def test_an_adapted_ask_belongs_to_its_plan(store, tmp_path):
    with JudgeServer(refuses=["temperature"]) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)]), store)
    plan = load_stored_plan(store, "small")
    items = {item.id: item for item in plan.items}
    assert all(plan_includes(plan, j.ask, items) for j in judgements(store))
    path = write_items(tmp_path / "others.jsonl", 3, words=9)
    values = {"name": "small", "data": {"source": str(path)}, "prompts": ["visit-reference-free"]}
    judge = endpoint("http://127.0.0.1:9/v1")
    other = make_plan(study_from_mapping({**values, "judges": [judge]}, folder=tmp_path))
    assert not any(
        plan_includes(other, j.ask, {item.id: item for item in other.items})
        for j in judgements(store)
    )
