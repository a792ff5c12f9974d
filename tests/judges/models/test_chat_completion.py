"""Chat completions with malformed parts: only the malformed part is lost."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.engine.run_state import RunSettings
from judges.models.chat_completion import parse_completion, parse_usage
from judges.models.failures import BadReply, classify_error
from judges.money.costs import cost_of
from studies.domain import Price, Usage
from studies.store.store import Store
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan

WORDS = "Overall, Response A is better."
QUICK = RunSettings(attempts=3, first_backoff=0.01, deadline=60)


def completion(words: str = WORDS, **more: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return {"model": "m", "choices": [choice], "usage": usage, **more}


@contextmanager
def answering(body: dict[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """An endpoint that says the same to everybody, and a list that grows by one with each call."""
    content, calls = json.dumps(body).encode(), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            calls.append(1)
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *values: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", calls
    finally:
        server.shutdown()
        server.server_close()


ODD_USAGE = [
    {"prompt_tokens": "many"},
    {"prompt_tokens": 12.5, "completion_tokens": 3},
    {"prompt_tokens": math.nan, "completion_tokens": 3},
    {"prompt_tokens": 10**30, "completion_tokens": 3},
    {"prompt_tokens": -5, "completion_tokens": 3},
    {"prompt_tokens": {"a": 1}, "completion_tokens": 3},
    {"prompt_tokens": 12},
    [1],
    "none",
]


@pytest.mark.parametrize("usage", ODD_USAGE, ids=str)
def test_a_reply_with_an_odd_usage_is_kept_and_its_cost_is_unknown(usage, tmp_path, store):
    with answering(completion(usage=usage)) as (url, calls):
        run = run_through(study_plan(tmp_path, [endpoint(url)], items=2), store, settings=QUICK)
    assert run.state == "done"
    assert len(calls) == 2, "it is not paid for again"
    assert [(j.status, j.reply, j.cost) for j in judgements(store)] == [("ok", WORDS, None)] * 2
    assert run.snapshot().spent == 0
    assert run.snapshot().unknown_usage == 2


@pytest.mark.parametrize("count", [12, 12.0, "12"])
def test_a_count_is_read_however_it_is_written(count):
    told = {"prompt_tokens": count, "completion_tokens": count}
    assert parse_usage(told) == Usage(12, 12)


@pytest.mark.parametrize(
    ("told", "count"),
    [(0, 0), (2**40 - 1, 2**40 - 1), (2**40, None), (-1, None), (True, None), ("٣", None),
     ("1.0", None), ("9" * 5000, None), (None, None)],
)  # fmt: skip
def test_a_count_is_a_whole_number_from_zero_to_what_is_plausible(told, count):
    assert parse_usage({"prompt_tokens": told, "completion_tokens": 0}) == Usage(count, 0)


numbers = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=5), st.booleans(), st.lists(st.none())
)


@given(st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens"]), numbers), numbers)
def test_whatever_is_told_costs_a_number_of_dollars_or_is_unknown(told, cached):
    usage = parse_usage({**told, "prompt_tokens_details": {"cached_tokens": cached}})
    cost = cost_of(usage, Price(2.0, 8.0, 1.0))
    assert cost is None or (math.isfinite(cost) and cost >= 0)


def test_log_probabilities_are_told_of_the_last_token_and_of_all_if_there_are_two():
    one = {"token": "A", "logprob": -0.5}
    two = {
        "token": "B",
        "logprob": -0.1,
        "top_logprobs": [
            {"token": "B", "logprob": -0.1},
            {"token": "C", "logprob": -math.inf},
            {"token": "D", "logprob": "-2"},
        ],
    }
    told = {}
    for content in ([one], [one, two]):
        body = completion()
        body["choices"][0]["logprobs"] = {"content": content}
        told[len(content)] = parse_completion(json.dumps(body).encode())
    assert (told[1].top_logprobs, told[1].tokens) == ((("A", -0.5),), ())
    assert told[2].top_logprobs == (("B", -0.1), ("D", -2.0))
    assert [(token.text, token.candidates) for token in told[2].tokens] == [
        ("A", (("A", -0.5),)), ("B", told[2].top_logprobs),
    ]  # fmt: skip


def test_log_probabilities_of_another_shape_are_not_told():
    body = completion()
    for odd in ({"content": [{"token": 1}]}, {"content": "A"}, [], "no", {"content": []}):
        body["choices"][0]["logprobs"] = odd
        answer = parse_completion(json.dumps(body).encode())
        assert (answer.text, answer.top_logprobs) == (WORDS, ())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": 429, "message": "slow down"}, "rate limit"),
        ({"code": "429", "message": "slow down"}, "rate limit"),
        ({"code": "insufficient_quota", "message": "no money"}, "no quota"),
        ({"code": 401, "message": "who are you"}, "wrong key"),
        ({"type": "model_not_found", "message": "whom?"}, "not found"),
        ({"code": 400, "message": "maximum context length is 8"}, "too long"),
        ({"code": 502, "message": "bad gateway"}, "bad reply"),
        ({"code": "abc", "message": "of three letters"}, "bad reply"),
        ({"code": "RESOURCE_X", "status": 429, "message": "slow down"}, "rate limit"),
        ({"message": "?"}, "bad reply"),
    ],
)
def test_a_refusal_inside_a_200_is_the_refusal_that_it_is(error, reason):
    for body in ({"error": error}, completion(words="")):
        if "choices" in body:
            body["choices"][0]["error"] = error
        with pytest.raises(Exception) as raised:
            parse_completion(json.dumps(body).encode())
        fault = classify_error(raised.value, "https://judge.example")
        assert fault.reason == reason
        assert error["message"] in fault.detail
        assert fault.rate_limited == (reason == "rate limit")


def test_words_that_came_before_an_error_are_kept():
    body = completion()
    body["choices"][0] |= {"error": {"code": 502}, "finish_reason": "error"}
    assert parse_completion(json.dumps(body).encode()).text == WORDS


@pytest.mark.parametrize(
    "odd",
    [
        {"refusal": False},
        {"reasoning": {"effort": "low"}},
        {"content": [{"type": "text", "text": None}, {"type": "text", "text": WORDS}]},
        {"content": [{"type": "reasoning", "text": "[[B]]?"}, {"type": "text", "text": WORDS}]},
        {"content": [WORDS]},
    ],
)
def test_a_billed_reply_with_an_odd_part_keeps_its_words(odd):
    body = completion()
    body["choices"][0]["message"] |= odd
    assert parse_completion(json.dumps(body).encode()).text == WORDS


@pytest.mark.parametrize(
    ("told", "finish"),
    [
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("stop", "stop"),
    ],
)
def test_the_end_of_a_reply_is_understood_in_other_words(told, finish):
    body = completion()
    body["choices"][0]["finish_reason"] = told
    assert parse_completion(json.dumps(body).encode()).finish == finish


def test_what_is_no_completion_at_all_is_a_bad_reply():
    for body in (b"", b"[]", b"null", b'{"choices": []}', b"data: {}", b"\xff", b"[" * 10**5):
        with pytest.raises(BadReply):
            parse_completion(body)


def test_a_quota_that_is_gone_stops_the_judge_also_inside_a_200(tmp_path, store):
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
    with answering({"error": error}) as (url, calls):
        plan = study_plan(tmp_path, [endpoint(url)], items=40, concurrency=2)
        run = run_through(plan, store, settings=QUICK)
    assert run.state == "failed"
    assert "has no quota" in run.reason
    assert len(calls) <= 2
    assert store.status_counts("small") == {"planned": 40, "pending": 40}


@pytest.mark.parametrize("tokens", [["{key}"], ["{half}", "{rest}"]], ids=["whole", "in two"])
def test_a_key_that_comes_back_as_tokens_is_not_stored(tokens, tmp_path):
    key = "canary-0123456789abcdef"
    pieces = [t.format(key=key, half=key[:9], rest=key[9:]) for t in tokens]
    body = completion()
    top = [{"token": piece, "logprob": -1.0} for piece in pieces]
    body["choices"][0]["logprobs"] = {"content": [{"token": "A", "top_logprobs": top}]}
    store = Store(tmp_path / "store.db")
    with answering(body) as (url, _):
        plan = study_plan(tmp_path, [endpoint(url)], items=1)
        run_through(plan, store, settings=QUICK, keys={"judge": key})
    (judgement,) = judgements(store)
    assert (judgement.status, judgement.top_logprobs) == ("ok", "")
    store.close()
