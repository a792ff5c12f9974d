"""Chat completions received token by token, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from judges.models.failures import BadReply

MAX_STREAM_BYTES: Final = 64 * 1024 * 1024
"""Size limit of a stream; each token arrives in an event of a few hundred bytes."""
_TEXT_FIELDS: Final = ("content", "reasoning_content", "reasoning", "refusal")


class CompletionStream:
    """Joins the events of a stream into one chat completion."""

    def __init__(self) -> None:
        self.started = False
        """Whether a part of the reply or an error has arrived; comments do not count."""
        self._rest = b""
        self._size = 0
        self._texts: dict[str, list[str]] = {}
        self._logprobs: list[Any] = []
        self._finish: str | None = None
        self._ended = False
        self._whole: dict[str, Any] = {}

    def feed(self, chunk: bytes) -> None:
        """Add received bytes; one event may arrive in several chunks."""
        self._size += len(chunk)
        if self._size > MAX_STREAM_BYTES:
            raise BadReply(
                f"the streamed reply exceeds {MAX_STREAM_BYTES // 2**20} MB, the size limit; "
                "lower max_tokens or check base_url"
            )
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._read_line(line.strip())

    def values(self) -> dict[str, Any]:
        """The joined completion, in the shape of a reply that was not streamed."""
        self.feed(b"\n")
        if "error" in self._whole:
            return self._whole
        if not self._ended and self._finish is None:
            raise BadReply("the connection ended before the whole reply had arrived")
        message = {name: "".join(parts) for name, parts in self._texts.items()}
        choice = {
            "message": message,
            "finish_reason": self._finish,
            "logprobs": {"content": self._logprobs} if self._logprobs else None,
        }
        return {**self._whole, "choices": [choice]}

    def _read_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return  # comments, which keep a connection open, and names of events
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            self._ended = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            raise BadReply("the streamed reply contains an event that is not JSON") from None
        if isinstance(event, dict):
            self._add_event(event)

    def _add_event(self, event: Mapping[str, Any]) -> None:
        for name in ("model", "usage", "error"):
            if event.get(name):
                self._whole[name] = event[name]
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        self.started |= choice is not None or "error" in self._whole
        if not isinstance(choice, dict):
            return
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
        delta, logprobs = choice.get("delta"), choice.get("logprobs")
        for name in _TEXT_FIELDS:
            text = delta.get(name) if isinstance(delta, dict) else None
            if isinstance(text, str) and text:
                self._texts.setdefault(name, []).append(text)
        if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
            self._logprobs += logprobs["content"]
