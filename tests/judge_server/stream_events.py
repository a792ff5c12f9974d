"""A chat completion cut into server-sent events, as providers stream it."""

from __future__ import annotations

import json
import re
from typing import Any

WORDS = re.compile(r"\S+\s*|\s+")


def events_of(body: bytes, *, with_usage: bool) -> list[bytes]:
    """One event per word, reasoning first; then the finish, the usage if wanted, and the end."""
    whole = json.loads(body)
    if "choices" not in whole:
        return [_event(whole), b"data: [DONE]\n\n"]
    (choice,) = whole["choices"]
    message = choice["message"]
    events = [_chunk(whole, {"role": "assistant", "content": ""})]
    for name in ("reasoning_content", "content", "refusal"):
        events += [_chunk(whole, {name: word}) for word in WORDS.findall(message.get(name) or "")]
    if choice.get("logprobs"):
        events.append(_chunk(whole, {}, logprobs=choice["logprobs"]))
    events.append(_chunk(whole, {}, finish_reason=choice["finish_reason"]))
    if with_usage and "usage" in whole:
        events.append(_event(_head(whole) | {"choices": [], "usage": whole["usage"]}))
    return [*events, b"data: [DONE]\n\n"]


def _chunk(whole: dict[str, Any], delta: dict[str, Any], **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": None, **more}
    return _event(_head(whole) | {"choices": [choice]})


def _head(whole: dict[str, Any]) -> dict[str, Any]:
    same = {name: whole.get(name) for name in ("id", "created", "model")}
    return {**same, "object": "chat.completion.chunk"}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
