"""Models that think: reasoning apart from the answer, never read as the verdict, and billed."""

import json

import pytest

from judges.models.chat_completion import parse_completion, parse_usage
from judges.verdicts.reply_cleaning import split_reasoning
from judges.verdicts.verdict import parse_verdict
from studies.domain import Usage
from studies.store.queries.run_costs import attempt_totals
from tests.judge_server import JudgeServer, Reply
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan

THOUGHT = "At first, Overall, Response A is better. But then the second is complete."
ANSWER = "Overall, Response B is better."


FORMS = {
    "field": Reply(ANSWER, reasoning=THOUGHT),
    "tags": Reply(f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}"),
    "closing tag only": Reply(f"{THOUGHT}</think>{ANSWER}"),
    "other tags": Reply(f"<thinking>{THOUGHT}</thinking>{ANSWER}"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_stored_apart_and_not_read(form, stream, store, tmp_path):
    with JudgeServer(behaviour=lambda _: FORMS[form]) as server:
        judge = endpoint(server.base_url, stream=stream)
        run_through(study_plan(tmp_path, [judge], items=1), store)
    (judgement,) = judgements(store)
    assert judgement.reply == ANSWER
    assert judgement.reasoning == THOUGHT
    assert judgement.verdict.pick == 1


def test_a_reply_cut_off_inside_its_reasoning_has_no_verdict(store, tmp_path):
    cut = Reply(f"<think>{THOUGHT}", finish="length")
    with JudgeServer(behaviour=lambda _: cut) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=1), store)
    (judgement,) = judgements(store)
    assert (judgement.status, judgement.verdict, judgement.reply) == ("truncated", None, "")
    assert judgement.reasoning == THOUGHT


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("<think>a</think>b", ("a", "b")),
        ("  <think>a</think>\n b", ("a", "b")),
        ("a</think>b", ("a", "b")),
        ("b", ("", "b")),
        ("b <think>a</think> c", ("", "b <think>a</think> c")),
        ("<think>a", ("", "<think>a")),
        ("<think>a</think>b<think>c</think>d", ("a", "b<think>c</think>d")),
        ("<think>a<think>b</think>c", ("a<think>b", "c")),
        ("<think></think>b", ("", "b")),
    ],
)
def test_a_leading_block_is_split_off(reply, parts):
    assert split_reasoning(reply) == parts


@pytest.mark.parametrize("reply", [reply.text for reply in FORMS.values()])
def test_a_split_reply_has_the_verdict_of_the_whole(reply):
    whole = parse_verdict("overall-response", reply, 2, "default")
    parts = parse_verdict("overall-response", split_reasoning(reply)[1], 2, "default")
    assert whole.verdict == parts.verdict
    assert whole.verdict is not None


def test_reasoning_in_parts_of_the_content_is_found():
    for thinking in (
        {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
        {"type": "thinking", "text": THOUGHT},
        {"type": "reasoning", "text": THOUGHT},
    ):
        content = [thinking, {"type": "text", "text": ANSWER}]
        body = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        reply = parse_completion(json.dumps(body).encode())
        assert (reply.text, reply.reasoning) == (ANSWER, THOUGHT)
        message = {"content": ANSWER, "reasoning": [thinking | {"text": THOUGHT}]}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        reply = parse_completion(json.dumps(body).encode())
        assert (reply.text, reply.reasoning) == (ANSWER, THOUGHT)


@pytest.mark.parametrize(
    ("usage", "completion", "reasoning"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 30, "total_tokens": 40}, 30, 20),
        ({"prompt_tokens": 10, "completion_tokens": 30, "total_tokens": 60}, 50, 20),
        ({"prompt_tokens": 10, "completion_tokens": 30}, 30, 20),
    ],
)
def test_reasoning_counted_in_the_total_only_is_billed_too(usage, completion, reasoning):
    details = {"completion_tokens_details": {"reasoning_tokens": 20}}
    found = parse_usage(usage | details)
    assert (found.completion, found.reasoning_tokens) == (completion, reasoning)


def test_what_a_usage_does_not_tell_is_unknown_or_none():
    told = {"prompt_tokens": 10, "completion_tokens": 30, "total_tokens": 40}
    assert parse_usage(told) == Usage(10, 30)
    assert parse_usage({"completion_tokens": 30, "total_tokens": 30}) == Usage(None, 30)
    assert parse_usage({"prompt_tokens": 10, "total_tokens": 10}) == Usage(10, None)
    assert parse_usage({"prompt_tokens_details": {"cache_write_tokens": 6}}).cache_write == 6


def test_cached_tokens_are_found_under_both_names():
    assert parse_usage({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}).cached == 4
    assert parse_usage({"prompt_tokens_details": {"cached_tokens": 5}}).cached == 5


def test_reasoning_tokens_are_in_the_bill_of_the_run(store, tmp_path):
    with JudgeServer(behaviour=lambda _: FORMS["field"]) as server:
        run_through(study_plan(tmp_path, [endpoint(server.base_url)], items=3), store)
        dollars = float(server.bill.totals.dollars)
    (totals,) = attempt_totals(store, "small")
    assert totals.reasoning_tokens == 3 * -(-len(THOUGHT) // 4)
    assert totals.completion_tokens > totals.reasoning_tokens
    assert totals.cost == pytest.approx(dollars)
