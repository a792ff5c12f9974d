"""Quotas in headers, log-probabilities as stored, and parameters that are dropped."""

from __future__ import annotations

import math
from typing import Any

import pytest

from judges.models.interface import (
    JudgeCall,
    JudgeReply,
    RequestQuota,
    candidate_probabilities,
    drop_parameter,
    dump_logprobs,
    parameters_affecting_reply,
    parse_duration,
    parse_last_token_logprobs,
    parse_level_logprobs,
    parse_request_quota,
    parse_reset_seconds,
    rate_header_kind,
)
from studies.domain import JudgeSpec

NOON = 1_700_000_000.0
"""2023-11-14T22:13:20Z"""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h2m3s", 3723.0),
        ("1d", 86_400.0),
        ("1.5s", 1.5),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("250ms", 0.25),
        ("-1", None),
        ("1 s", None),
        ("1x", None),
        ("1s later", None),
        ("1234567890123s", None),  # more digits than a duration has
        ("1" * 101, float("1" * 100)),  # cut at the longest header that is read
    ],
)
def test_a_duration_is_a_number_of_seconds_or_numbers_with_units(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("999999999", 999_999_999.0),  # a duration still
        ("1700000060", 60.0),
        ("1700000060500", 60.5),  # in milliseconds
        ("1699999990", 0.0),  # past
        ("2023-11-14T22:14:20Z", 60.0),
        ("2023-11-14T23:14:20+01:00", 60.0),
        ("2023-11-14T22:00:00Z", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_a_reset_is_a_duration_or_a_time(text, seconds):
    assert parse_reset_seconds(text, NOON) == seconds


def headers(limit: str, remaining: str, reset: str, **more: str) -> dict[str, str]:
    names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
    return {**dict(zip(names, (limit, remaining, reset), strict=True)), **more}


def test_the_servers_clock_counts_if_it_states_one():
    sent = headers("10", "4", "1700000060", date="Tue, 14 Nov 2023 22:13:50 GMT")
    assert parse_request_quota(sent, "plain") == RequestQuota(10, 4, 30.0)
    for date in ("", "yesterday"):
        sent = headers("10", "4", "1700000060", date=date)
        assert parse_request_quota(sent, "plain", lambda: NOON) == RequestQuota(10, 4, 60.0)
    assert parse_request_quota(sent, "requests") is None, "another provider's names"
    assert parse_request_quota(sent, "none") is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "remaining", "reset", "read"),
    [("10", "10", "1s", True), ("10", "0", "1s", True), ("10", "11", "1s", False),
     ("10", "-1", "1s", False), ("0", "0", "1s", False), ("inf", "1", "1s", False),
     ("nan", "1", "1s", False), ("10", "1", "soon", False), ("ten", "1", "1s", False)],
)  # fmt: skip
def test_a_quota_that_cannot_be_is_none(limit, remaining, reset, read):
    assert (parse_request_quota(headers(limit, remaining, reset), "plain") is not None) == read


def test_an_unknown_provider_is_read_like_openai():
    assert rate_header_kind("https://host.example/v1") == "requests"
    assert rate_header_kind("https://api.openai.com/v1") == "requests"


def test_probabilities_of_one_token_add_up_and_none_is_above_one():
    half = math.log(0.5)
    found = candidate_probabilities((("A", half), ("B", math.log(0.25)), ("A", math.log(0.25))))
    assert found == {"A": pytest.approx(0.75), "B": pytest.approx(0.25)}
    assert candidate_probabilities((("A", 0.1),)) == {"A": 1.0}
    assert candidate_probabilities(()) == {}
    assert JudgeReply("A", top_logprobs=(("A", half),)).token_probabilities == {
        "A": pytest.approx(0.5)
    }


def test_log_probabilities_are_stored_and_read_again():
    one: Any = (("A", -0.5), ("B", -1.0))
    assert dump_logprobs(one) == '[["A",-0.5],["B",-1.0]]'
    assert parse_last_token_logprobs(dump_logprobs(one)) == one
    assert parse_level_logprobs(dump_logprobs(one)) == ()
    rubric: Any = (one, (("5", -0.1),))
    assert parse_level_logprobs(dump_logprobs(rubric)) == rubric
    assert parse_last_token_logprobs(dump_logprobs(rubric)) == ()
    assert dump_logprobs(()) == "" and parse_last_token_logprobs("") == () == parse_level_logprobs(
        ""
    )


def call_with(parameters: dict[str, Any], *, stream: bool = False) -> JudgeCall:
    unused: Any = None
    spec = JudgeSpec("j", "m", "https://host.example/v1", stream=stream)
    return JudgeCall("key", spec, unused, unused, [], parameters)


def test_a_dropped_parameter_is_gone_and_the_token_limit_changes_its_name():
    call = call_with({"temperature": 0.0, "max_tokens": 5})
    dropped = drop_parameter(call, "temperature")
    assert dropped is not None and dropped.parameters == {"max_tokens": 5}
    renamed = drop_parameter(call, "max_tokens")
    assert renamed is not None
    assert renamed.parameters == {"temperature": 0.0, "max_completion_tokens": 5}
    both = drop_parameter(call_with({"max_tokens": 5, "max_completion_tokens": 3}), "max_tokens")
    assert both is not None and both.parameters == {"max_completion_tokens": 3}, "as in extra_body"
    assert drop_parameter(call, "seed") is None
    assert call.parameters == {"temperature": 0.0, "max_tokens": 5}, "the call is not changed"


def test_a_refused_streaming_parameter_is_not_sent_again():
    assert call_with({}).stream_parameters == {}
    call = call_with({}, stream=True)
    assert dict(call.stream_parameters) == {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    without = drop_parameter(call, "stream_options")
    assert without is not None and dict(without.stream_parameters) == {"stream": True}
    none = drop_parameter(without, "stream")
    assert none is not None and dict(none.stream_parameters) == {}
    assert drop_parameter(none, "stream") is None


def test_only_parameters_that_change_a_reply_are_missing():
    assert parameters_affecting_reply({"stream", "max_tokens"}) == []
    assert parameters_affecting_reply(["temperature", "stream"]) == ["temperature"]


def test_the_parts_of_all_messages_are_listed():
    call = call_with({})
    picture = {"type": "image_url", "image_url": {"url": "u"}}
    call.messages.extend(
        [{"role": "system", "content": "be fair"}, {"role": "user", "content": [picture]}]
    )
    assert call.message_parts() == [{"text": "be fair"}, picture]
