"""Good answers, and answers that are wrong in what they say: the chat completion body and its log
probabilities."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from .asked import Asked
from .behaviour import Reply
from .faults import Fault
from .tokens import CHARS_PER_TOKEN, Usage, text_tokens

TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
THOUGHT = "Let me weigh the answers one by one. The first reads well; the second is complete."
SURE = -0.01
CREATED = 1_700_000_000  # fixed, so that equal requests get equal bytes

WRONG_SHAPES: dict[str, object] = {
    "": {"status": "ok", "data": []},
    "list": [],
    "null": None,
    "no_choices": {"id": "x", "object": "chat.completion", "choices": []},
    "null_message": {"id": "x", "object": "chat.completion", "choices": [{"message": None}]},
    "number_content": {"choices": [{"index": 0, "message": {"content": 7}}]},
    "error_in_200": {"error": {"message": "Provider returned error", "code": 502}},
}


def spoken(reply: Reply, fault: Fault | None) -> Reply:
    """What the model says once the fault has had its way."""
    change = CHANGES.get(fault.kind) if fault else None
    return change(reply) if change else reply


CHANGES: dict[str, Callable[[Reply], Reply]] = {
    "empty_content": lambda reply: replace(reply, text="", labels={}),
    "refusal": lambda reply: Reply("", refusal="I'm sorry, I can't help with that."),
    "content_filter": lambda reply: Reply("", finish="content_filter"),
    "length": lambda reply: Reply(reply.text[: len(reply.text) // 3], finish="length"),
    "unclosed_think": lambda reply: Reply(f"<think>{THOUGHT}", finish="length"),
    "reasoning_content": lambda reply: replace(reply, reasoning=THOUGHT),
    "think_block": lambda reply: replace(reply, text=f"<think>{THOUGHT}</think>\n{reply.text}"),
}


def capped(reply: Reply, cap: int | None) -> tuple[Reply, int, int]:
    """The reply under the cap, its completion tokens, and how many of them are reasoning, which is
    spent first."""
    thought, said = text_tokens(reply.reasoning), text_tokens(reply.text or reply.refusal or "")
    if cap is None or thought + said < cap:  # the end of a turn takes a token too
        return reply, thought + said, thought
    room = max(0, cap - thought)
    kept = reply.text.encode()[: room * CHARS_PER_TOKEN].decode(errors="ignore")
    spent = min(cap, thought + said)
    return replace(reply, text=kept, finish="length"), spent, min(thought, cap)


def completion(asked: Asked, reply: Reply, usage: Usage, model: str, fault: Fault | None) -> bytes:
    """The body of a 200 answer."""
    kind = fault.kind if fault else ""
    choice: dict[str, object] = {
        "index": 0,
        "message": _message(reply, null=kind == "null_content"),
        "logprobs": logprobs(reply, asked.top_logprobs),
        "finish_reason": reply.finish,
    }
    body: dict[str, object] = {
        "id": f"chatcmpl-{asked.index}",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [choice],
        "system_fingerprint": "fp_loopback",
    }
    if kind != "no_usage":
        body["usage"] = usage.as_json()
    return json.dumps(body).encode()


def _message(reply: Reply, *, null: bool) -> dict[str, object]:
    silent = null or reply.refusal is not None
    message: dict[str, object] = {
        "role": "assistant",
        "content": None if silent else reply.text,
        "refusal": reply.refusal,
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    return message


def logprobs(reply: Reply, top: int | None) -> dict[str, object] | None:
    """One entry per token; the last token that is a label shows the probabilities of all labels."""
    if top is None:
        return None
    tokens = TOKEN.findall(reply.text)
    at_label = [n for n, token in enumerate(tokens) if token.strip() in reply.labels]
    place = at_label[-1] if at_label else -1
    entries = [_entry(t, reply.labels if n == place else {}, top) for n, t in enumerate(tokens)]
    return {"content": entries, "refusal": None}


def _entry(token: str, labels: Mapping[str, float], top: int) -> dict[str, object]:
    space = token[: len(token) - len(token.lstrip())]
    ranked = sorted(labels.items(), key=lambda pair: (-pair[1], pair[0]))
    rivals = [_token(space + label, math.log(share)) for label, share in ranked if share > 0]
    own = math.log(labels[token.strip()]) if labels else SURE
    return {**_token(token, own), "top_logprobs": (rivals or [_token(token, own)])[:top]}


def _token(token: str, logprob: float) -> dict[str, object]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
