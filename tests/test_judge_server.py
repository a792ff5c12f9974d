"""The judge server is itself tested: faults as a raw client sees them, its limiter, its bill."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp
import openai
import pytest

from tests.judge_server import (
    KINDS,
    Fault,
    JudgeProcess,
    JudgeServer,
    Limiter,
    NoCache,
    Prices,
    Reply,
    Rule,
    always,
    at,
    by_substring,
    containing,
    first_attempt,
    judge,
    say,
    script,
    script_per_key,
    sometimes,
)
from tests.judge_server.errors import OVERFLOWS
from tests.judge_server.faults import SHAPES
from tests.judge_server.process import ROOT
from tests.judge_server.replies import WRONG_SHAPES
from tests.page_words import says
from tests.waiting import until

KEY = "sk-secret-0123456789"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def choice(self) -> Any:
        return self.json["choices"][0]

    @property
    def text(self) -> Any:
        return self.choice["message"]["content"]


def question(
    text: str = "Response A: short\nResponse B: a longer one", **more: Any
) -> dict[str, Any]:
    return {"model": "judge", "messages": [{"role": "user", "content": text}], **more}


async def post(session: aiohttp.ClientSession, server: Any, body: object) -> Seen:
    url = f"{server.base_url}/chat/completions"
    auth = {"Authorization": f"Bearer {KEY}"}
    async with session.post(url, json=body, headers=auth, allow_redirects=False) as answer:
        return Seen(answer.status, dict(answer.headers), await answer.read())


def with_session(act: Callable[[aiohttp.ClientSession], Awaitable[T]], seconds: float = 10) -> T:
    async def main() -> T:
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            return await act(session)

    return asyncio.run(main())


def ask(server: Any, body: object | None = None, seconds: float = 10) -> Seen:
    return with_session(lambda s: post(s, server, question() if body is None else body), seconds)


def ask_all(server: Any, bodies: list[dict[str, Any]]) -> list[Seen]:
    async def act(session: aiohttp.ClientSession) -> list[Seen]:
        return await asyncio.gather(*(post(session, server, body) for body in bodies))

    return with_session(act)


def faulty(fault: Fault, body: object | None = None, seconds: float = 10, **more: Any) -> Seen:
    with JudgeServer(rules=[always(fault)], **more) as server:
        return ask(server, body, seconds)


# --- faults -----------------------------------------------------------------------------------

REFUSALS = {  # kind: status, type, code
    "rate_limit_seconds": (429, "requests", "rate_limit_exceeded"),
    "rate_limit_date": (429, "requests", "rate_limit_exceeded"),
    "rate_limit_ms": (429, "requests", "rate_limit_exceeded"),
    "rate_limit_bare": (429, "requests", "rate_limit_exceeded"),
    "insufficient_quota": (429, "insufficient_quota", "insufficient_quota"),
    "unauthorized": (401, "invalid_request_error", "invalid_api_key"),
    "forbidden": (403, "invalid_request_error", "model_not_found"),
    "model_not_found": (404, "invalid_request_error", "model_not_found"),
    "server_error": (500, "server_error", None),
    "unavailable": (503, "server_error", "service_unavailable"),
    "context_overflow": (400, "invalid_request_error", "context_length_exceeded"),
    "images_refused": (400, "invalid_request_error", None),
    "unsupported_parameter": (400, "invalid_request_error", "unsupported_parameter"),
    "filtered_prompt": (400, None, "content_filter"),
}
REPLIES = {  # kind: content, finish reason
    "empty_content": ("", "stop"),
    "null_content": (None, "stop"),
    "refusal": (None, "stop"),
    "content_filter": ("", "content_filter"),
    "length": ("Overall, R", "length"),
    "no_usage": ("Overall, Response A is better.", "stop"),
    "reasoning_content": ("Overall, Response A is better.", "stop"),
}
PAGES = {"bad_gateway": 502, "wrong_content_type": 200, "redirect": 307}
ELSEWHERE = {"think_block", "unclosed_think", "timeout", "slow_drip", "truncated_json", "cut_body"}
ELSEWHERE |= {"wrong_json", "huge_body", "connection_reset"}
ELSEWHERE |= {"slow_stream", "silent_stream", "cut_stream"}


def test_every_kind_of_fault_is_tested_here():
    assert set(KINDS) == {*REFUSALS, *REPLIES, *PAGES, *ELSEWHERE}
    assert len(KINDS) >= 16
    assert {"", *SHAPES["wrong_json"]} == set(WRONG_SHAPES)
    assert SHAPES["context_overflow"] == set(OVERFLOWS)


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_has_the_status_and_the_body_of_the_real_providers(kind):
    body = question(max_tokens=5)
    body["messages"][0]["content"] = [{"type": "text", "text": "look"}, IMAGE]
    seen = faulty(Fault(kind), body)
    assert (seen.status, seen.error["type"], seen.error["code"]) == REFUSALS[kind]
    assert seen.error["message"] and "param" in seen.error


def test_a_rate_limit_names_its_time_in_seconds_as_a_date_or_in_milliseconds():
    assert faulty(Fault("rate_limit_seconds", retry_after=2)).headers["Retry-After"] == "2"
    assert faulty(Fault("rate_limit_ms", retry_after=0.25)).headers["Retry-After-Ms"] == "250"
    assert "Retry-After" not in faulty(Fault("rate_limit_bare")).headers
    # An HTTP date has whole seconds, rounded up: 2 to 3 s after the answer.
    before = time.time()
    named = faulty(Fault("rate_limit_date", retry_after=2)).headers["Retry-After"]
    assert before + 2 <= parsedate_to_datetime(named).timestamp() <= time.time() + 3


def test_a_refused_parameter_goes_through_once_it_is_left_out():
    fault = Fault("unsupported_parameter", parameter="max_tokens")
    assert "max_completion_tokens" in faulty(fault, question(max_tokens=9)).error["message"]
    assert faulty(fault, question(max_completion_tokens=9)).status == 200
    with JudgeServer(refuses=("temperature", "logprobs", "images")) as server:
        assert ask(server, question(temperature=0.2)).error["code"] == "unsupported_value"
        assert "logprobs" in ask(server, question(logprobs=True)).error["message"]
        assert ask(server).status == 200


def test_images_are_refused_only_where_there_are_images():
    with JudgeServer(refuses=("images",)) as server:
        seen = ask(server, question(messages=[{"role": "user", "content": [IMAGE]}]))
        assert (seen.status, "image_url" in seen.error["message"]) == (400, True)
        assert ask(server).status == 200


def test_a_prompt_beyond_the_context_is_a_400_in_every_dialect():
    # 4 bytes a token: 400 bytes are 100 tokens, 4 for the message and 3 to prime the answer: 107.
    with JudgeServer(context_limit=107) as server:
        assert ask(server, question("x" * 400)).status == 200
        assert ask(server, question("x" * 401)).error["code"] == "context_length_exceeded"
    by_shape = {s: faulty(Fault("context_overflow", shape=s)).json for s in OVERFLOWS}
    assert by_shape["vllm"]["error"]["code"] == by_shape["vllm-flat"]["code"] == 400
    assert by_shape["deepseek"]["error"]["code"] == "invalid_request_error"
    assert by_shape["llama.cpp"]["error"]["n_ctx"] == 8192


@pytest.mark.parametrize("kind", REPLIES)
def test_a_reply_that_is_no_verdict_is_still_a_whole_answer(kind):
    seen = faulty(Fault(kind))
    assert (seen.text, seen.choice["finish_reason"]) == REPLIES[kind]
    assert ("usage" in seen.json) == (kind != "no_usage")
    assert bool(seen.choice["message"]["refusal"]) == (kind == "refusal")
    assert bool(seen.choice["message"].get("reasoning_content")) == (kind == "reasoning_content")


def test_a_think_block_is_closed_or_cut_off():
    assert says(faulty(Fault("think_block")).text, "</think>\nOverall, Response", "better")
    cut = faulty(Fault("unclosed_think"))
    assert "</think>" not in cut.text and cut.choice["finish_reason"] == "length"


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_in_place_of_json_says_that_it_is_html(kind):
    seen = faulty(Fault(kind))
    assert (seen.status, seen.headers["Content-Type"]) == (PAGES[kind], "text/html")
    assert ("Location" in seen.headers) == (kind == "redirect")


def test_a_timeout_gives_nothing_before_the_deadline_and_is_billed():
    with JudgeServer(rules=[always(Fault("timeout", seconds=600))]) as server:
        with pytest.raises(asyncio.TimeoutError):
            ask(server, seconds=2)
        until(lambda: server.books()["in_flight"] == 0)
        (call,) = server.bill.calls
        assert (call.billed, call.delivered, server.bill.totals.untold) == (True, False, 1)


def test_a_slow_drip_sends_its_headers_at_once_and_its_body_over_the_time_named():
    async def open_only(session: aiohttp.ClientSession) -> bytes:
        url = f"{server.base_url}/chat/completions"
        async with session.post(url, json=question()) as answer:
            return await answer.content.readany()

    with JudgeServer(rules=[always(Fault("slow_drip", seconds=600))]) as server:
        first = with_session(open_only)
    assert 0 < len(first) < 100, "a piece of the body came, ten minutes before its end"
    with JudgeServer(rules=[always(Fault("slow_drip", seconds=0.3))]) as server:
        start = time.monotonic()
        assert ask(server).json["choices"]
        assert time.monotonic() - start >= 0.3


def test_a_truncated_body_is_whole_as_http_and_broken_as_json():
    seen = faulty(Fault("truncated_json"))
    assert (seen.status, int(seen.headers["Content-Length"])) == (200, len(seen.raw))
    with pytest.raises(json.JSONDecodeError):
        _ = seen.json


def test_a_cut_body_ends_before_its_content_length():
    with pytest.raises(aiohttp.ClientPayloadError):
        faulty(Fault("cut_body"))


def test_a_reset_connection_gives_no_answer():
    with pytest.raises((aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)):
        faulty(Fault("connection_reset"))


@pytest.mark.parametrize("shape", WRONG_SHAPES)
def test_wrong_json_is_valid_json_of_another_shape(shape):
    seen = faulty(Fault("wrong_json", shape=shape))
    assert seen.status == 200
    with pytest.raises((KeyError, IndexError, TypeError, AssertionError)):
        assert isinstance(seen.text, str)


def test_a_huge_body_is_as_big_as_asked_for():
    seen = faulty(Fault("huge_body", size=3_000_000))
    assert len(seen.raw) > 3_000_000
    assert seen.text == "Overall, Response A is better."


def test_a_client_that_leaves_a_huge_body_is_billed_and_leaves_no_error_in_the_log(caplog):
    async def leave(session: aiohttp.ClientSession) -> None:
        async with session.post(f"{server.base_url}/chat/completions", json=question()) as answer:
            await answer.content.read(1000)
            answer.close()

    with JudgeServer(rules=[always(Fault("huge_body"))]) as server:
        with_session(leave)
        until(lambda: server.books()["in_flight"] == 0)
        totals = server.bill.totals
    assert (totals.billed, totals.delivered, totals.untold) == (1, 0, 1)
    assert not caplog.records


def test_an_error_repeats_the_key_only_on_demand():
    assert KEY in faulty(Fault("unauthorized", echo_key=True)).error["message"]
    assert KEY in faulty(Fault("server_error"), echo_key=True).error["message"]
    assert KEY.encode() in faulty(Fault("bad_gateway", echo_key=True)).raw
    assert KEY not in faulty(Fault("unauthorized")).error["message"]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="Known faults: rate_limit_seconds"):
        Fault("rate_limt")
    with pytest.raises(ValueError, match="Known shapes: deepseek, "):
        Fault("context_overflow", shape="vlm")
    with pytest.raises(ValueError, match="Known choices: first"):
        judge("frist")
    with pytest.raises(ValueError, match="Known formats: overall-response"):
        judge("first", "overal")


# --- when faults happen -----------------------------------------------------------------------


def statuses(server: Any, *texts: str) -> list[int]:
    return [ask(server, question(text)).status for text in texts]


def test_faults_follow_a_script_a_key_an_attempt_or_a_text():
    error = Fault("server_error")
    with JudgeServer(rules=[first_attempt(error)]) as server:
        assert statuses(server, "a", "b", "a", "b") == [500, 500, 200, 200]
        server.schedule(*script([None, error]))  # indexes go on counting: 4 asked before
        assert statuses(server, "c", "d") == [200, 200]
    with JudgeServer(rules=script([None, error, Fault("unavailable")])) as server:
        assert statuses(server, "a", "b", "c", "d") == [200, 500, 503, 200]
    with JudgeServer(rules=script_per_key([error, Fault("unavailable")])) as server:
        assert statuses(server, "a", "a", "b", "a", "b") == [500, 503, 500, 200, 503]
    with JudgeServer(rules=[containing("poison", error), at(Fault("forbidden"), 0)]) as server:
        assert statuses(server, "a", "poison", "b", "poison") == [403, 500, 200, 500]
    with JudgeServer(rules=[Rule(error, times=2, when=lambda a: "b" in a.text)]) as server:
        assert statuses(server, "a", "b", "b", "b") == [200, 500, 500, 200]


def test_chance_depends_on_the_seed_and_the_request_not_on_the_order_of_arrival():
    texts = [f"question {n}" for n in range(60)]

    def failed(seed: int, order: list[str]) -> set[str]:
        with JudgeServer(rules=[sometimes(Fault("server_error"), 0.3)], seed=seed) as server:
            seen = ask_all(server, [question(text) for text in order])
        return {text for text, answer in zip(order, seen, strict=True) if answer.status == 500}

    assert failed(1, texts) == failed(1, texts[::-1]) != failed(2, texts)
    assert (
        5 <= len(failed(1, texts)) <= 31
    )  # 18 expected; 3.7 standard deviations of 3.5 either way


# --- what the judge says ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "form", "said"),
    [
        ("first", "overall-response", "Overall, Response A is better."),
        ("longer", "overall-response", "Overall, Response B is better."),
        ("shorter", "mt-bench", "Both try. [[A]]"),
        ("last", "json-winner", '{"winner": "B"}'),
        ("second", "rating-pair", "[[5, 8]]"),
        ("marked", "final-answer", "Final Answer: A"),
    ],
)
def test_a_judge_chooses_and_says_so_in_its_format(choice, form, said):
    with JudgeServer(behaviour=judge(choice, form)) as server:
        asked = question("Question: why?\nResponse A: q=7\nResponse B: a longer one, q=3")
        assert ask(server, asked).text == said


def test_options_are_selected_by_number_and_levels_by_strength():
    with JudgeServer(behaviour=judge("slot:3", "selection-option")) as server:
        asked = question("Pick.\nOption 1\nred\nOption 2\nblue\nOption 3\ngreen")
        assert ask(server, asked).text.startswith("Selection: Option 3\n")
    with JudgeServer(behaviour=judge("second", "five-level")) as server:
        assert ask(server).text in {"Final Verdict is: [[B>A]]", "Final Verdict is: [[B>>A]]"}


def test_a_hashed_judge_keeps_to_the_answer_and_a_first_judge_to_the_slot():
    shown = question("Response A: red\nResponse B: blue")
    swapped = question("Response A: blue\nResponse B: red")
    with JudgeServer(behaviour=judge("hashed", "label")) as server:
        assert {ask(server, shown).text, ask(server, swapped).text} == {"A", "B"}
    with JudgeServer(behaviour=judge("biased:1", "label")) as server:
        assert {ask(server, shown).text, ask(server, swapped).text} == {"A"}


def test_a_behaviour_is_any_callable():
    with JudgeServer(behaviour=lambda asked: f"{asked.model}: {asked.text}") as server:
        assert ask(server, question("hello")).text == "judge: hello"
    with JudgeServer(behaviour=by_substring({"poem": "No."}, say("Yes."))) as server:
        assert [ask(server, question(t)).text for t in ("a poem", "prose")] == ["No.", "Yes."]


def test_a_one_token_label_shows_its_probabilities_and_ends_with_length():
    with JudgeServer(behaviour=judge("first", "label")) as server:
        seen = ask(server, question(max_tokens=1, logprobs=True, top_logprobs=5))
    (token,) = seen.choice["logprobs"]["content"]
    assert (seen.text, seen.choice["finish_reason"]) == ("A", "length")
    assert [t["token"] for t in token["top_logprobs"]] == ["A", "B"]
    # log 0.8 for the label chosen, log 0.15 for the other; 0.05 is left to other tokens.
    assert [t["logprob"] for t in token["top_logprobs"]] == pytest.approx(
        [-0.22314, -1.89712], abs=1e-5
    )


def test_reasoning_eats_the_cap_and_a_doubled_cap_saves_the_verdict():
    # 80 bytes of reasoning are 20 tokens, the verdict of 30 bytes is 8: a cap of 20 leaves no room.
    reply = Reply("Overall, Response A is better.", reasoning="r" * 80)
    with JudgeServer(behaviour=lambda _: reply) as server:
        small, doubled = (ask(server, question(max_tokens=cap)) for cap in (20, 40))
    assert (small.text, small.choice["finish_reason"]) == ("", "length")
    assert small.json["usage"]["completion_tokens_details"]["reasoning_tokens"] == 20
    assert (doubled.text, doubled.choice["finish_reason"]) == (reply.text, "stop")


# --- the bill ---------------------------------------------------------------------------------


def test_the_bill_is_tokens_times_prices_and_the_usage_says_the_same():
    # Prompt: 41 bytes are 11 tokens, 4 for the message, 3 to prime: 18. Reply: 30 bytes are 8.
    # At 0.15 and 0.60 dollars per million: 18 x 0.15 + 8 x 0.60 = 2.7 + 4.8 = 7.5 micro-dollars.
    prices = Prices(prompt=150_000, completion=600_000)
    with JudgeServer(prices=prices) as server:
        usage = ask(server, question("Response A: short\nResponse B: a longer on")).json["usage"]
    totals = server.bill.totals
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (18, 8)
    assert totals.pico_dollars == 7_500_000
    assert str(totals.dollars) == "0.000007500000"


def test_every_call_of_the_bill_adds_up_with_failed_ones_in_it_and_untold_ones_apart():
    kinds = [None, "truncated_json", "empty_content", "length", "server_error", "wrong_json"]
    rules = script([Fault(kind) if kind else None for kind in kinds])
    with JudgeServer(rules=rules, cache=NoCache()) as server:
        seen = [ask(server, question(f"question {n}")) for n in range(6)]
        books = server.books(with_calls=True)
    # Refused: server_error. Billed but without usage: truncated_json and wrong_json.
    calls, totals = books["calls"], books["totals"]
    assert [call["billed"] for call in calls] == [True, True, True, True, False, True]
    assert (totals["billed"], totals["billed_failed"], totals["untold"]) == (5, 4, 2)
    assert totals["pico_dollars"] == sum(call["pico_dollars"] for call in calls)
    told = [seen[n].json["usage"] for n in (0, 2, 3)]
    known = sum(2 * u["prompt_tokens"] + 8 * u["completion_tokens"] for u in told)
    assert totals["pico_dollars"] - totals["untold_pico_dollars"] == known * 1_000_000
    assert totals["micro_dollars"] * 1_000_000 == totals["pico_dollars"]


def test_a_shared_prefix_is_cached_from_the_second_request_and_costs_less():
    # 1,200 equal bytes and the role in front: 4 whole blocks of 64 tokens (256 bytes) = 256 tokens.
    # The prompt: 1,201 bytes are 301 tokens, and 7 more: 308.
    # Fresh 52 x 2 + cached 256 x 1 + completion 8 x 8 = 424 micro-dollars.
    with JudgeServer() as server:
        first, second = (ask(server, question("x" * 1200 + end)).json["usage"] for end in "ab")
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert second["prompt_tokens_details"]["cached_tokens"] == 256
    assert server.bill.calls[1].pico_dollars == 424_000_000


def test_a_key_paid_twice_is_on_record_and_a_refused_one_is_not():
    with JudgeServer(rules=[at(Fault("server_error"), 0)]) as server:
        for text in ("a", "a", "b", "b"):
            ask(server, question(text))
    assert sorted(server.bill.by_key.values()) == [2, 2]
    assert list(server.bill.paid_twice.values()) == [2]
    assert [call.attempt for call in server.bill.calls] == [1, 2, 1, 2]


# --- latency, limiter, numbers in flight ------------------------------------------------------


def test_a_random_latency_is_drawn_from_the_seed():
    def waits(seed: int) -> list[float]:
        with JudgeServer(latency=(0.1, 0.3), seed=seed) as server:
            return [server.app.latency(index) for index in range(20)]

    assert waits(1) == waits(1) != waits(2)
    assert all(0.1 <= wait < 0.3 for wait in waits(1))


def test_the_peak_in_flight_is_what_the_clients_held_open():
    async def hold(session: aiohttp.ClientSession) -> None:
        held = [asyncio.ensure_future(post(session, server, question(str(n)))) for n in range(12)]
        await asyncio.to_thread(until, lambda: server.books()["in_flight"] == 12)
        for one in held:
            one.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    with JudgeServer(rules=[always(Fault("timeout", seconds=600))]) as server:
        with_session(hold)
        until(lambda: server.books()["in_flight"] == 0)
    assert server.peak_in_flight == 12


def test_the_limiter_is_a_token_bucket():
    # A burst of 3, then one every 0.1 s. At 0.1 s one token is back, and a second one is not.
    limiter = Limiter(rate=10, burst=3, style="ms")
    assert [limiter.admit(0.0) for _ in range(4)] == [None, None, None, pytest.approx(0.1)]
    assert [limiter.admit(0.1), limiter.admit(0.1)] == [None, pytest.approx(0.1)]
    assert limiter.admit(60.0) is None and limiter.refused == 2


def test_a_stern_limiter_refuses_until_the_time_it_named_is_over():
    limiter = Limiter(rate=10, style="seconds", stern=True)
    assert [limiter.admit(0.0), limiter.admit(0.0)] == [None, 1]
    assert [limiter.admit(0.5), limiter.admit(1.0)] == [0.5, None]


def test_requests_in_a_cool_down_are_counted_with_their_time():
    now = 0.0
    with JudgeServer(limiter=Limiter(rate=1, burst=2, wait=0.5, style="ms")) as server:
        server.app.now = lambda: now  # type: ignore[method-assign]
        seen = ask_all(server, [question(str(n)) for n in range(6)])
        now = 0.2
        ask(server)
        (cooldown,) = server.cooldowns
        assert sorted(answer.status for answer in seen) == [200, 200, 429, 429, 429, 429]
        # 2 admitted; the third opens the cool-down; three more and the late one arrive in it.
        assert (cooldown.received, cooldown.after(0.15)) == (4, 1)
        assert server.books()["limiter"]["refused"] == 5


def test_a_scripted_rate_limit_opens_a_cool_down_too():
    with JudgeServer(rules=[at(Fault("rate_limit_ms", retry_after=5), 0)]) as server:
        assert statuses(server, "a", "b") == [429, 200]
        assert [cooldown.received for cooldown in server.cooldowns] == [1]


# --- protocol and process ---------------------------------------------------------------------


def test_the_openai_client_reads_replies_models_and_errors():
    async def act() -> tuple[str | None, list[str]]:
        options = {"base_url": server.base_url, "api_key": KEY, "max_retries": 0}
        async with openai.AsyncOpenAI(
            http_client=openai.DefaultAioHttpClient(), **options
        ) as client:
            with pytest.raises(openai.RateLimitError) as raised:
                await client.chat.completions.create(**question())
            assert raised.value.response.headers["retry-after-ms"] == "100"
            reply = await client.chat.completions.create(**question())
            models = [model.id async for model in client.models.list()]
        return reply.choices[0].message.content, models

    rules = [at(Fault("rate_limit_ms", retry_after=0.1), 0)]
    with JudgeServer(rules=rules, models=("judge", "other")) as server:
        assert asyncio.run(act()) == ("Overall, Response A is better.", ["judge", "other"])


def test_a_request_that_is_none_gets_a_400_and_an_unknown_key_or_model_is_turned_away():
    with JudgeServer(api_keys={KEY}, strict_models=True, reported_model="judge-0613") as server:
        assert [ask(server, body).status for body in ([], {"messages": []})] == [400, 400]
        assert ask(server, question(model="other")).status == 404
        assert ask(server).json["model"] == "judge-0613"
    with JudgeServer(api_keys={"another"}) as server:
        assert ask(server).error["code"] == "invalid_api_key"


def test_a_closed_server_refuses_connections_and_does_not_wait_for_hung_requests():
    async def leave(session: aiohttp.ClientSession) -> None:
        hung = asyncio.ensure_future(post(session, server, question()))
        await asyncio.to_thread(until, lambda: server.books()["in_flight"] == 1)
        await asyncio.to_thread(server.close)
        with pytest.raises(aiohttp.ClientError):
            await hung

    server = JudgeServer(rules=[always(Fault("timeout", seconds=600))]).start()
    with_session(leave)
    assert not server._thread.is_alive()
    with pytest.raises(aiohttp.ClientConnectorError):
        ask(server)


def test_a_taken_port_is_reported_by_start():
    with JudgeServer() as server, pytest.raises(OSError, match="in use"):
        JudgeServer(port=server.port).start()


def test_the_process_answers_keeps_its_books_and_ends_when_stdin_closes():
    faults = json.dumps([{"kind": "server_error", "attempts": [1]}])
    with JudgeProcess("--judge", "longer", "--faults", faults, "--latency", "0:0.01") as server:
        assert [ask(server).status for _ in range(2)] == [500, 200]
        bill = server.bill(with_calls=True)
        assert [call["fault"] for call in bill["calls"]] == ["server_error", ""]
        assert (bill["totals"]["calls"], bill["totals"]["billed"]) == (2, 1)
        assert server.close() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(server.base_url.split(":")[2][:-3])), 1)


@pytest.mark.extra
def test_the_process_outlives_a_killed_client_and_knows_what_it_was_owed():
    program = (
        "import sys, urllib.request as u\n"
        f"u.urlopen(u.Request(sys.argv[1], {json.dumps(question()).encode()!r}))\n"
    )
    with JudgeProcess("--latency", "1") as server:
        url = f"{server.base_url}/chat/completions"
        client = subprocess.Popen([sys.executable, "-c", program, url])
        until(lambda: server.bill()["in_flight"] == 1)
        client.kill()
        client.wait(5)
        until(lambda: server.bill()["in_flight"] == 0)
        totals = server.bill()["totals"]
    assert (totals["billed"], totals["delivered"], totals["untold"]) == (1, 0, 1)


@pytest.mark.extra
def test_the_benchmark_process_gives_one_prepared_answer_after_its_latency():
    with JudgeProcess("--bench", "--latency", "0.1") as server:
        start = time.monotonic()
        seen = ask_all(server, [question("x" * 100_000 + str(n)) for n in range(20)])
        assert time.monotonic() - start >= 0.1
        assert {answer.text for answer in seen} == {"Overall, Response A is better."}
        bill = server.bill()
    # 288 fresh x 2 + 512 cached x 1 + 250 x 8 = 3,088 micro-dollars a call.
    assert bill["totals"] == {"calls": 20, "billed": 20, "pico_dollars": 20 * 3_088_000_000}
    assert bill["peak_in_flight"] == 20


@pytest.mark.extra
def test_a_process_that_cannot_start_says_so():
    command = [sys.executable, "-m", "tests.judge_server", "--judge", "frist"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert ended.returncode != 0 and "Known choices" in ended.stderr
    with pytest.raises(RuntimeError, match="did not start"):
        JudgeProcess("--judge", "frist").start()


# --- streams ------------------------------------------------------------------------------------


def streamed(server: Any, **more: Any) -> Any:
    """The reply of a stream as the openai package joins it, and the events' usage."""

    async def main() -> tuple[str, str, Any]:
        client = openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        answer, reasoning, usage = "", "", None
        asked = {"model": "judge", "messages": question()["messages"], "stream": True, **more}
        async for event in await client.chat.completions.create(**asked):
            usage = event.usage or usage
            for choice in event.choices:
                answer += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        await client.close()
        return answer, reasoning, usage

    return asyncio.run(main())


def test_a_stream_is_the_same_reply_word_by_word():
    with JudgeServer(rules=[always(Fault("reasoning_content"))]) as server:
        whole = ask(server).json
        answer, reasoning, usage = streamed(server, stream_options={"include_usage": True})
        assert streamed(server)[2] is None, "usage comes only if it is asked for"
    message = whole["choices"][0]["message"]
    assert (answer, reasoning) == (message["content"], message["reasoning_content"])
    assert usage.completion_tokens == whole["usage"]["completion_tokens"]
    assert usage.completion_tokens_details.reasoning_tokens > 0


def test_a_stream_can_end_in_the_middle():
    with JudgeServer(rules=[always(Fault("cut_stream"))]) as server:
        answer, _, _ = streamed(server)
    assert answer
    assert "better" not in answer
