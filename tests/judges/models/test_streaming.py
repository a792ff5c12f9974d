"""Replies token by token: the same judgements, silence against thinking, usage, refused options."""

import json
import socket

import pytest

from judges.engine.run_state import RunSettings
from judges.models import chat_completion
from judges.models.chat_completion import CompletionStream, build_stream_reply
from judges.models.failures import BadReply
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, Reply, always, first_attempt
from tests.judges.small_studies import endpoint, judgements, run_through, study_plan
from tests.page_words import says

PATIENT = RunSettings(first_backoff=0.01)
THINKING = Reply("Overall, Response B is better.", reasoning="Response A is better? No. " * 5)


def run(server, store, tmp_path, *, items=2, **judge):
    judge = endpoint(server.base_url, stream=True, **judge)
    return run_through(study_plan(tmp_path, [judge], items=items), store, settings=PATIENT)


def test_a_streamed_reply_is_the_same_judgement_as_one_in_one_piece(tmp_path):
    found = []
    with JudgeServer(behaviour=lambda _: THINKING) as server:
        for stream in (False, True):
            store = Store(tmp_path / f"{stream}.db")
            judge = endpoint(server.base_url, stream=stream)
            run_through(study_plan(tmp_path, [judge]), store, settings=PATIENT)
            found.append(
                {
                    j.ask.key: (j.status, j.verdict, j.reply, j.reasoning, j.usage.completion)
                    for j in judgements(store)
                }
            )
            store.close()
    assert found[0] == found[1]
    (status, verdict, _, reasoning, completion), *_ = found[1].values()
    assert (status, verdict.pick) == ("ok", 1)
    assert reasoning == THINKING.reasoning
    assert completion > len(THINKING.reasoning) // 4


def test_a_stream_that_still_sends_is_alive_beyond_timeout_s(store, tmp_path):
    with JudgeServer(rules=[always(Fault("slow_stream", seconds=2.5))]) as server:
        run(server, store, tmp_path, timeout_s=1, idle_s=60)
    assert [j.status for j in judgements(store)] == ["ok", "ok"]


def test_a_silent_stream_is_given_up_after_idle_s_and_asked_again(store, tmp_path):
    with JudgeServer(rules=[first_attempt(Fault("silent_stream", seconds=900))]) as server:
        ended = run(server, store, tmp_path, timeout_s=60, idle_s=1)
    assert [j.status for j in judgements(store)] == ["ok", "ok"]
    assert [failure.reason for failure in ended.snapshot().failures] == ["silent stream"]


def test_a_stream_without_a_first_token_ends_at_timeout_s(store, tmp_path):
    with JudgeServer(rules=[always(Fault("timeout", seconds=900))]) as server:
        run(server, store, tmp_path, timeout_s=1, max_attempts=1, items=1)
    (judgement,) = judgements(store)
    assert says(judgement.detail, "no first token", "1 s", "timeout_s")


def test_a_stream_that_ends_in_the_middle_is_no_reply(store, tmp_path):
    with JudgeServer(rules=[first_attempt(Fault("cut_stream"))]) as server:
        ended = run(server, store, tmp_path)
        assert server.bill.totals.calls == 4
    assert [j.status for j in judgements(store)] == ["ok", "ok"]
    assert says(ended.snapshot().failures[0].example, "connection ended", "reply")


@pytest.mark.parametrize("parameter", ["stream_options", "stream"])
def test_a_refused_stream_is_asked_for_once_and_changes_no_key(parameter, store, tmp_path):
    with JudgeServer(refuses=[parameter]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url, stream=True)], concurrency=1)
        run_through(plan, store, settings=PATIENT)
        assert server.bill.by_fault == {"unsupported_parameter": 1}
    found = judgements(store)
    assert {(j.status, j.detail) for j in found} == {("ok", "")}
    assert store.read("SELECT count(*) FROM adapted_requests").fetchone() == (0,)


def test_a_stream_without_an_end_is_no_reply():
    stream = CompletionStream()
    stream.feed(b'data: {"choices": [{"delta": {"content": "A"}}]}\n\n')
    with pytest.raises(BadReply, match="ended before"):
        build_stream_reply(stream)


@pytest.mark.parametrize(
    ("end", "finish"),
    [
        (b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n', "length"),
        (b"data: [DONE]\n", ""),
    ],
)
def test_a_reason_to_finish_or_the_last_mark_alone_ends_a_stream(end, finish):
    stream = CompletionStream()
    stream.feed(b'data: {"choices": [{"delta": {"content": "A"}}]}\n' + end)
    reply = build_stream_reply(stream)
    assert (reply.text, reply.finish) == ("A", finish)


def test_events_may_be_split_anywhere_and_comments_are_no_tokens():
    data = (
        b": keep-alive\r\n\r\n"
        b'data: {"model": "m", "choices": [{"delta": {"content": "Overall, "}}]}\r\n\r\n'
        b'data: {"choices": [{"delta": {"content": "\xc3\xa9"}, "finish_reason": "stop"}]}\n\n'
        b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
        b"data: [DONE]"
    )
    for size in (1, 2, 7, len(data)):
        stream = CompletionStream()
        stream.feed(data[:14])
        assert not stream.started
        for start in range(14, len(data), size):
            stream.feed(data[start : start + size])
        reply = build_stream_reply(stream)
        assert (reply.text, reply.finish, reply.model) == ("Overall, é", "stop", "m")
        assert (reply.usage.prompt, reply.usage.completion) == (3, 2)


def test_a_connection_that_is_not_made_within_connect_s_is_given_up(store, tmp_path):
    with socket.socket() as deaf:  # its queue is full: the next connection is not answered
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(deaf.getsockname())
        judge = endpoint(url, connect_s=0.5, max_attempts=1)
        run_through(study_plan(tmp_path, [judge], items=1), store, settings=PATIENT)
        for one in waiting:
            one.close()
    (judgement,) = judgements(store)
    assert judgement.rule == "unreachable"
    assert says(judgement.detail, "no", "within", "judge's connect_s")


def stream_of(*events: object) -> CompletionStream:
    stream = CompletionStream()
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        stream.feed(f"data: {text}\n\n".encode())
    return stream


def test_an_error_inside_a_stream_is_the_whole_reply():
    error = {"error": {"message": "overloaded"}}
    assert stream_of({"choices": [{"delta": {"content": "A"}}]}, error).join_completion() == error
    assert stream_of(error).started and not stream_of({"usage": {"total": 1}}).started


def test_texts_and_probabilities_of_all_events_are_joined():
    parts = [
        {"model": "m", "choices": [{"delta": {"content": "A"}, "logprobs": {"content": [1, 2]}}]},
        {"choices": [{"delta": {"content": "B", "reasoning": "c"}, "logprobs": {"content": None}}]},
        [1],
        {"choices": ["odd"]},
        {"choices": [{"delta": None, "finish_reason": "stop", "logprobs": {"content": [3]}}]},
        {"choices": [], "usage": {"total": 7}},
    ]
    joined = stream_of(*parts, "[DONE]").join_completion()
    message = {"content": "AB", "reasoning": "c"}
    assert joined == {
        "model": "m", "usage": {"total": 7}, "choices": [
            {"message": message, "finish_reason": "stop", "logprobs": {"content": [1, 2, 3]}}
        ],
    }  # fmt: skip
    assert stream_of(*parts[:2], "[DONE]").join_completion()["choices"][0]["finish_reason"] is None
    with pytest.raises(BadReply, match="the whole reply"):
        stream_of(*parts[:2]).join_completion()


@pytest.mark.parametrize("event", ["{", "[" * 100_000])
def test_an_event_that_is_not_json_is_a_bad_reply(event):
    with pytest.raises(BadReply, match="not JSON"):
        stream_of(event)


def test_a_stream_is_read_up_to_its_largest_size(monkeypatch):
    monkeypatch.setattr(chat_completion, "MAX_STREAM_BYTES", 10)
    stream = CompletionStream()
    stream.feed(b": 6789")
    stream.feed(b"0123")
    with pytest.raises(BadReply, match="size limit"):
        stream.feed(b"\n")


def test_a_stream_of_another_shape_is_no_chat_completion(monkeypatch):
    def fail(*_, **__):
        raise KeyError("message")

    stream = stream_of({"choices": [{"delta": {"content": "A"}}]}, "[DONE]")
    assert build_stream_reply(stream).text == "A"
    monkeypatch.setattr(chat_completion, "build_reply", fail)
    with pytest.raises(BadReply, match="KeyError"):
        build_stream_reply(stream)


def test_streamed_content_may_be_a_list_of_parts():
    """Mistral's thinking models stream parts first and plain text at the end."""
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm. "}]}]
    pieces = [thought, [{"type": "text", "text": "[["}], "A", [{"type": "text", "text": "]]"}]]
    stream = CompletionStream()
    for piece in pieces:
        event = {"choices": [{"delta": {"content": piece}}]}
        stream.feed(f"data: {json.dumps(event)}\n\n".encode())
    stream.feed(b"data: [DONE]\n\n")
    reply = build_stream_reply(stream)
    assert (reply.text, reply.reasoning) == ("[[A]]", "Hm. ")
