"""Forecast of tokens and seconds, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from judges.models.interface import JudgeCall
from judges.planning.forecast import (
    IMAGE_TOKENS,
    SIMULATED_SECONDS,
    CacheForecast,
    _estimate_seconds,
    common_prefix_length,
    estimate_tokens,
    sort_asks_for_cache,
    total_run_seconds,
)
from judges.rendering.prompt import load_prompt
from studies.domain import Ask, JudgeSpec

ENDPOINT = JudgeSpec("j", "m", "https://host.example/v1", max_tokens=1000)
PROMPT = load_prompt("brief-letters")


def call_of(*texts: str, images: int = 0, **parameters: Any) -> JudgeCall:
    unused: Any = None
    messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
    picture = {"type": "image_url", "image_url": {"url": "u"}}
    messages += [{"role": "user", "content": [picture] * images}] * bool(images)
    return JudgeCall("key", ENDPOINT, PROMPT, unused, messages, parameters)


def test_tokens_are_characters_by_4_2_and_a_number_for_each_image():
    assert estimate_tokens(call_of("x" * 420)) == (100, 250)
    assert estimate_tokens(call_of("x" * 42, "x" * 42, images=2)) == (20 + 2 * IMAGE_TOKENS, 250)
    assert estimate_tokens(call_of("", max_tokens=64)) == (0, 64)
    assert estimate_tokens(call_of("x", max_tokens=900)) == (0, 250)


@pytest.mark.parametrize(
    ("judge", "rate", "seconds"),
    [
        (JudgeSpec("s", "simulated"), (9.0, 9.0), SIMULATED_SECONDS),
        (JudgeSpec("e", "embedded"), None, 10.0),  # 850 tokens at 85 a second
        (JudgeSpec("e", "embedded"), (425.0, 1.0), 2.0),
        (JudgeSpec("e", "embedded"), (0.0, 1.0), 10.0),
        (ENDPOINT, None, 0.75),  # 3 seconds on each of 4 connections
        (ENDPOINT, (100.0, 0.5), 0.5),  # 2 seconds on each of 4 connections
    ],
)
def test_the_seconds_of_one_call(judge, rate, seconds):
    assert _estimate_seconds(judge, 850, 4, rate) == pytest.approx(seconds)


def test_judges_run_side_by_side_and_those_of_one_limit_in_turn():
    assert total_run_seconds({"a": 5.0, "b": 7.0}, {}) == 7.0
    assert total_run_seconds({"a": 5.0, "b": 7.0}, {"a": "one", "b": "one"}) == 12.0
    assert total_run_seconds({"a": 5.0, "b": 7.0, "c": 9.0}, {"a": "one", "c": "two"}) == 9.0
    assert total_run_seconds({}, {}) == 0


def test_the_common_start_of_two_texts():
    for first, second, length in (
        ("", "", 0), ("abc", "", 0), ("abc", "abd", 2), ("abc", "abc", 3), ("abc", "abcdef", 3),
        ("xbc", "abc", 0), ("a" * 1000 + "x", "a" * 1000 + "y", 1000),
    ):  # fmt: skip
        assert common_prefix_length(first, second) == length == common_prefix_length(second, first)


def test_the_start_that_a_call_shares_with_the_last_one_is_cached_if_it_is_long_enough():
    cache = CacheForecast(2.0)
    assert cache.count_cached_and_remember(call_of("a" * 100 + "x"), 50) == 0, "the first call"
    assert cache.count_cached_and_remember(call_of("a" * 100 + "y"), 50) == 50
    assert cache.count_cached_and_remember(call_of("a" * 100 + "z"), 51) == 0
    assert cache.count_cached_and_remember(call_of("a" * 100 + "z"), None) == 0
    assert cache.count_cached_and_remember(call_of("b" * 100), 0) == 0


def test_asks_come_round_by_round_of_item_and_prompt():
    asks = [Ask(f"{item}{prompt}{n}", item, "j", prompt, (), ()) for item in "12" for prompt in "pq"
            for n in range(3 if (item, prompt) == ("1", "p") else 1)]  # fmt: skip
    assert [ask.key for ask in sort_asks_for_cache(asks)] == [
        "1p0", "1q0", "2p0", "2q0", "1p1", "1p2",
    ]  # fmt: skip
    assert sort_asks_for_cache([]) == []


def test_both_names_of_the_token_limit_count_and_null_is_none() -> None:
    assert estimate_tokens(call_of("", max_tokens=None)) == (0, 250)
    assert estimate_tokens(call_of("", max_tokens=None, max_completion_tokens=99)) == (0, 99)
    assert estimate_tokens(call_of("", max_completion_tokens=16)) == (0, 16)
