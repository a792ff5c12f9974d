"""Every planned ask ends in a typed outcome for every kind of endpoint failure."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judges.engine.run_state import RunSettings
from judges.models import embedded
from judges.models.failures import classify_error, parse_retry_after, redact_message
from judges.planning.plan import Plan, make_plan
from studies.spec.study import study_from_mapping
from tests.judge_server import KINDS, Fault, JudgeServer, Reply, Rule, always, first_attempt, say
from tests.judge_server.errors import OVERFLOWS
from tests.judge_server.faults import SHAPES
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan
from tests.page_words import says

IMPATIENT = RunSettings(attempts=2, first_backoff=0.01, deadline=60)
HASTY = RunSettings(attempts=2, first_backoff=0.01, deadline=0.4)
TIRELESS = RunSettings(attempts=50, first_backoff=0.01, deadline=0.4)
SLOW = ("timeout", "slow_drip")
CANARY = "canary-0123456789abcdef"

SETTLES = {  # kind: (status, reason) if the endpoint always answers so
    "server_error": ("error", "HTTP 500"),
    "bad_gateway": ("error", "HTTP 502"),
    "unavailable": ("error", "HTTP 503"),
    "rate_limit_ms": ("error", "rate limit"),
    "context_overflow": ("too_long", "too long"),
    "filtered_prompt": ("filtered", "filtered"),
    "empty_content": ("empty", "empty"),
    "null_content": ("empty", "empty"),
    "refusal": ("refusal", "refusal"),
    "content_filter": ("filtered", "content_filter"),
    "length": ("truncated", "exactly-one"),
    "unclosed_think": ("truncated", "empty"),
    "timeout": ("error", "timeout"),
    "slow_drip": ("error", "timeout"),
    "truncated_json": ("error", "bad reply"),
    "cut_body": ("error", "connection lost"),
    "wrong_json": ("error", "bad reply"),
    "huge_body": ("error", "bad reply"),
    "connection_reset": ("error", "connection lost"),
    "wrong_content_type": ("error", "bad reply"),
    "reasoning_content": ("ok", ""),
    "think_block": ("ok", ""),
    "no_usage": ("ok", ""),
    "unsupported_parameter": ("ok", ""),
}
PASSES = {  # met once per ask, the retry goes through
    "rate_limit_seconds", "rate_limit_date", "rate_limit_ms", "rate_limit_bare", "server_error",
    "bad_gateway", "unavailable", "timeout", "slow_drip", "truncated_json", "cut_body",
    "wrong_json", "huge_body", "connection_reset", "wrong_content_type",
}  # fmt: skip
STOPS = {  # kind: what the message must say
    "insufficient_quota": "quota",
    "unauthorized": "refused the API key (401)",
    "forbidden": "forbids this call (403)",
    "model_not_found": "no such model or path (404)",
    "redirect": "redirects (307)",
}


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as made:
        yield made


def test_every_fault_of_the_judge_server_is_met_here():
    streamed = {"slow_stream", "silent_stream", "cut_stream"}  # in test_streaming.py
    met = set(SETTLES) | PASSES | set(STOPS) | {"images_refused"} | streamed
    assert met == set(KINDS)


@pytest.mark.parametrize("kind", SETTLES)
def test_a_fault_that_stays_settles_its_ask_in_a_typed_outcome(kind, server, store, tmp_path):
    server.schedule(always(Fault(kind, retry_after=0.05, seconds=600)))
    plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
    run = run_through(plan, store, settings=HASTY if kind in SLOW else IMPATIENT)
    found = judgements(store)
    status, reason = SETTLES[kind]
    assert [j.status for j in found] == [status] * 2
    assert run.snapshot().counts["pending"] == 0
    if status == "ok":
        assert all(j.verdict for j in found)
    else:
        assert all(j.verdict is None and j.detail for j in found)
        assert {j.rule for j in found} == {reason}


@pytest.mark.parametrize("kind", sorted(PASSES))
def test_a_fault_that_passes_is_retried_and_the_ask_is_answered(kind, store, tmp_path):
    fault = Fault(kind, retry_after=0.05, seconds=600)
    with JudgeServer(rules=[first_attempt(fault)]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
        run = run_through(plan, store, settings=TIRELESS if kind in SLOW else IMPATIENT)
    assert [j.status for j in judgements(store)] == ["ok", "ok"]
    (failure,) = run.snapshot().failures
    assert failure.times >= 2 if kind in SLOW else failure.times == 2, "a busy machine: more"


@pytest.mark.parametrize("kind", STOPS)
def test_a_hopeless_refusal_stops_its_judge_and_lets_the_others_go_on(
    kind, server, store, tmp_path
):
    server.schedule(Rule(Fault(kind), when=lambda asked: asked.model == "bad"))
    judges = [endpoint(server.base_url, "bad", model="bad"), endpoint(server.base_url, "good")]
    plan = study_plan(tmp_path, judges, items=8)
    before = len(server.bill.calls)
    run = run_through(plan, store, settings=IMPATIENT)
    made = [call for call in server.bill.calls[before:] if call.fault == kind]
    assert run.state == "failed"
    assert run.reason.startswith("bad: ")
    assert STOPS[kind] in run.reason
    assert store.status_counts("small") == {"planned": 16, "ok": 8, "pending": 8}
    assert len(made) <= 8, "asked no more than was in flight when the first refusal came"


@pytest.mark.parametrize("shape", sorted(SHAPES["wrong_json"]))
def test_json_of_another_shape_is_no_reply(shape, server, store, tmp_path):
    server.schedule(always(Fault("wrong_json", shape=shape)))
    plan = study_plan(tmp_path, [endpoint(server.base_url)], items=1)
    run_through(plan, store, settings=IMPATIENT)
    assert [(j.status, j.rule) for j in judgements(store)] == [("error", "bad reply")]


@pytest.mark.parametrize("shape", sorted(OVERFLOWS))
def test_a_context_overflow_is_too_long_however_the_provider_puts_it(
    shape, server, store, tmp_path
):
    server.schedule(always(Fault("context_overflow", shape=shape)))
    plan = study_plan(tmp_path, [endpoint(server.base_url)], items=1)
    run_through(plan, store, settings=IMPATIENT)
    assert [j.status for j in judgements(store)] == ["too_long"]


@pytest.mark.parametrize("shape", ["", "vllm"])
def test_an_endpoint_that_refuses_images_gives_a_typed_outcome_and_a_hint(
    shape, server, store, tmp_path
):
    server.schedule(always(Fault("images_refused", shape=shape)))
    plan = plan_with_an_image(tmp_path, endpoint(server.base_url, vision=True))
    run_through(plan, store, settings=IMPATIENT)
    (judgement,) = judgements(store)
    assert judgement.status == "unsupported"
    assert "judge_sees: context" in judgement.detail


def plan_with_an_image(folder: Path, judge: dict[str, Any]) -> Plan:
    item = {
        "id": "q",
        "instruction": "what is it?",
        "images": ["data:image/png;base64,iVBORw0KGgo="],
        "responses": {"x": "a cat", "y": "a dog"},
        "criteria": {"subjective": "1. names the animal"},
    }
    (folder / "items.jsonl").write_text(json.dumps(item))
    values = {
        "name": "small",
        "data": {"source": str(folder / "items.jsonl")},
        "judges": [judge],
        "prompts": ["creation-subjective"],
        "orders": "one",
        "judge_sees": "images",
    }
    return make_plan(study_from_mapping(values, folder=folder))


def test_five_identical_400s_without_a_success_stop_the_judge(store, tmp_path):
    # The server takes no request at all: "Missing required parameter" is a 400 of no known kind.
    refusal = Fault("unsupported_parameter", parameter="messages")
    with JudgeServer(rules=[always(refusal)]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=30, concurrency=4)
        run = run_through(plan, store, settings=IMPATIENT)
        # Four settle as errors, the fifth stops the judge; the three beside it may be under way.
        assert server.bill.totals.calls <= 8
    assert run.state == "failed"
    assert "no attempt succeeded" in run.reason
    assert store.status_counts("small")["pending"] >= 22


def test_five_400s_after_a_success_stop_nobody(store, tmp_path):
    refusal = Rule(Fault("unsupported_parameter", parameter="messages"), when=lambda a: a.index > 0)
    with JudgeServer(rules=[refusal]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=8, concurrency=1)
        run = run_through(plan, store, settings=IMPATIENT)
    assert run.state == "done"
    assert store.status_counts("small") == {"planned": 8, "ok": 1, "error": 7}


@pytest.mark.parametrize("parameter", ["max_tokens", "temperature"])
def test_a_refused_parameter_is_left_out_and_not_sent_again(parameter, store, tmp_path):
    with JudgeServer(refuses=[parameter]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=10, concurrency=1)
        run_through(plan, store, settings=IMPATIENT)
        assert server.bill.by_fault == {"unsupported_parameter": 1}
        assert server.bill.totals.calls == 11
    found = judgements(store)
    assert {j.status for j in found} == {"ok"}
    if parameter == "temperature":  # what was asked is not what the plan says: it is told
        assert all("asked without temperature" in j.detail for j in found)


def test_two_refused_parameters_are_both_left_out(store, tmp_path):
    with JudgeServer(refuses=["max_tokens", "temperature"]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=3, concurrency=1)
        run_through(plan, store, settings=IMPATIENT)
    assert store.status_counts("small") == {"planned": 3, "ok": 3}


def test_a_judge_without_log_probabilities_is_unsupported_with_a_hint(store, tmp_path):
    with JudgeServer(refuses=["logprobs"]) as server:
        judge = endpoint(server.base_url, read="probabilities")
        plan = study_plan(tmp_path, [judge], items=2)
        run_through(plan, store, settings=IMPATIENT)
    assert [j.status for j in judgements(store)] == ["unsupported"] * 2
    assert "read: text" in judgements(store)[0].detail


def test_a_reply_cut_off_by_its_cap_is_asked_once_more_with_twice_the_cap(store, tmp_path):
    # 40 tokens of thought, then the verdict: 8 tokens. A cap of 32 is too small, 64 is enough.
    thinking = Reply("Overall, Response A is better.", reasoning="x" * 160)
    with JudgeServer(behaviour=lambda _: thinking) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, max_tokens=32)], items=2)
        run_through(plan, store)
        assert server.bill.totals.calls == 4
    assert [(j.status, j.finish) for j in judgements(store)] == [("ok", "stop")] * 2


def test_a_cap_is_doubled_only_once(store, tmp_path):
    endless = Reply("", reasoning="x" * 4000)
    with JudgeServer(behaviour=lambda _: endless) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, max_tokens=32)], items=2)
        run_through(plan, store)
        assert server.bill.totals.calls == 4
    assert [(j.status, j.finish) for j in judgements(store)] == [("truncated", "length")] * 2
    # Both attempts are in the cost: what was cut off was billed.
    assert all(j.cost and j.cost > 0 for j in judgements(store))


def test_an_endpoint_that_refuses_the_doubled_cap_leaves_the_reply_as_it_came(store, tmp_path):
    endless = Reply("I think", reasoning="x" * 4000)
    refusal = Rule(Fault("unsupported_parameter", parameter="messages"), when=lambda a: a.cap == 64)
    with JudgeServer(behaviour=lambda _: endless, rules=[refusal]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, max_tokens=32)], items=2)
        run_through(plan, store)
    assert [(j.status, j.finish) for j in judgements(store)] == [("truncated", "length")] * 2


def test_a_reply_of_one_token_that_ends_with_length_is_ok_by_design(store, tmp_path):
    with JudgeServer() as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, read="probabilities")], items=2)
        run_through(plan, store)
        assert server.bill.totals.calls == 2


def test_words_without_a_verdict_are_unreadable_and_never_a_tie(store, tmp_path):
    with JudgeServer(behaviour=say("Both have their merits.")) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
        run_through(plan, store)
    assert [(j.status, j.verdict) for j in judgements(store)] == [("unreadable", None)] * 2


def test_an_endpoint_that_is_not_there_stops_its_judge_with_its_address(store, tmp_path):
    plan = study_plan(tmp_path, [endpoint("http://127.0.0.1:9/v1")], items=20, concurrency=8)
    run = run_through(plan, store, settings=RunSettings(first_backoff=0.05))
    assert run.state == "failed"
    assert (
        says(run.reason, "http://127.0.0.1:9/v1", "refused", "server") and "Errno" not in run.reason
    )
    assert store.status_counts("small")["pending"] >= 16


def test_an_endpoint_that_dies_for_good_stops_its_judge_and_leaves_the_rest_pending(
    store, tmp_path
):
    dead = Rule(Fault("server_error"), when=lambda asked: asked.index >= 10)
    with JudgeServer(rules=[dead]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=60, concurrency=4)
        run = run_through(plan, store, settings=IMPATIENT)
    assert run.state == "failed"
    assert says(run.reason, "5", "failed, 2 attempts")
    counts = store.status_counts("small")
    assert counts["ok"] == 10
    assert counts["error"] == 4
    assert counts["pending"] == 46


# --- what a provider echoes, and when it wants to be left alone ---------------------------------


@pytest.mark.parametrize(
    "kind", ["unauthorized", "server_error", "context_overflow", "bad_gateway"]
)
def test_a_key_that_the_provider_echoes_is_in_no_message(kind, store, tmp_path):
    with JudgeServer(rules=[always(Fault(kind, echo_key=True))], echo_key=True) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=1)
        run = run_through(plan, store, settings=IMPATIENT, keys={"judge": CANARY})
    told = f"{run.snapshot()} {judgements(store)}"
    assert CANARY not in told
    assert CANARY[:12] not in told


def test_a_key_is_taken_out_before_a_long_message_is_cut():
    # Cut first, and half a key would be left at the end.
    error = ValueError("y" * 490 + CANARY)
    assert CANARY[:6] not in classify_error(error, "here", CANARY).detail


def test_keys_of_known_forms_are_scrubbed_even_if_they_are_not_ours():
    assert redact_message("wrong key sk-proj-abcdef123456 here") == "wrong key [key] here"
    assert redact_message("Authorization: Bearer abc.def") == "Authorization: [key]"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "86400"}, 120.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": f"Sun, 15 Nov 2026 10:00:00 +{'9' * 17}"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_provider_names_is_read_and_bounded(headers, seconds):
    assert parse_retry_after(headers) == seconds


def test_a_date_is_read_against_the_clock_of_the_server_so_ours_may_be_an_hour_off():
    headers = {
        "date": "Sun, 15 Nov 2026 10:00:00 GMT",
        "retry-after": "Sun, 15 Nov 2026 10:00:02 GMT",
    }
    assert parse_retry_after(headers, wall=lambda: 0.0) == 2.0


def test_errors_before_any_request_stop_the_judge(monkeypatch):
    missing = classify_error(embedded.EmbeddedUnavailable("no wheel"), "x")
    assert (missing.action, missing.reason, missing.detail) == ("stop", "not available", "no wheel")
    monkeypatch.delitem(sys.modules, "openai")
    assert classify_error(ValueError("odd"), "x").reason == "ValueError"
    assert "openai" not in sys.modules
