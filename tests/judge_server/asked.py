"""One request as the judge server sees it: what was asked, by which key, how many times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

IMAGE_PARTS = frozenset({"image_url", "input_image", "image"})
CAPS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Asked:
    """A chat completion request; `attempt` counts from 1 per key, `index` from 0 over all
    requests."""

    index: int
    key: str
    attempt: int
    body: Mapping[str, Any]
    api_key: str = ""

    @property
    def model(self) -> str:
        return str(self.body.get("model", "judge"))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return list(self.body["messages"])

    @cached_property
    def turns(self) -> list[tuple[str, str]]:
        """Role and text of each message; image parts are left out."""
        return [(str(m.get("role", "")), "".join(_texts(m))) for m in self.messages]

    @cached_property
    def text(self) -> str:
        return "\n".join(text for _, text in self.turns)

    @property
    def last_user(self) -> str:
        return next((text for role, text in reversed(self.turns) if role == "user"), "")

    @cached_property
    def images(self) -> int:
        return sum(part.get("type") in IMAGE_PARTS for m in self.messages for part in _parts(m))

    @property
    def cap(self) -> int | None:
        """The completion cap asked for, under either of its names."""
        return next((int(self.body[name]) for name in CAPS if self.body.get(name)), None)

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether the last event of a stream is to report the usage; replies in one piece do."""
        options = self.body.get("stream_options") or {}
        return not self.streams or bool(options.get("include_usage"))

    @property
    def top_logprobs(self) -> int | None:
        """How many alternatives per token; None when no log probabilities were asked for."""
        if not self.body.get("logprobs"):
            return None
        return int(self.body.get("top_logprobs") or 0)


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content or [] if isinstance(part, Mapping)]


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    for part in _parts(message):
        if part.get("type") == "text":
            yield str(part.get("text", ""))


def complaint(body: object) -> str | None:
    """Why this body is no chat completion request, or None if it is one."""
    if not isinstance(body, dict):
        return "The request body is not a JSON object."
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "Missing required parameter: 'messages'."
    if not all(isinstance(message, dict) for message in messages):
        return "Invalid type for 'messages': expected an array of objects."
    return None
