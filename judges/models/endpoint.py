"""Any OpenAI-compatible endpoint, asked through the openai client's own connection on aiohttp.

The request is put together here once per client instead of per call by the SDK, and the reply is
read as it came: a third of the CPU of `chat.completions.create`.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx2
import openai
from openai import DefaultAioHttpClient

from judges.faults import BadReply, whole
from judges.models.answers import Answer, Call
from studies.records import Usage

LARGEST_REPLY: Final = 8 * 1024 * 1024
LIMITS: Final = httpx2.Limits(max_connections=4096, max_keepalive_connections=4096)

PATIENCE: Final = {"timeout": httpx2.Timeout(None, connect=10.0).as_dict()}
"""The engine's deadline covers the whole attempt."""


class EndpointModel:
    """One client per (endpoint, key), created in the loop that uses it and reused."""

    def __init__(self, base_url: str, api_key: str, *, ceiling: int = 4096, gate: str = "") -> None:
        self.ceiling = ceiling
        self.gate = gate or base_url
        self._http = DefaultAioHttpClient(
            follow_redirects=False, limits=LIMITS, event_hooks={"response": [_cap]}
        )
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._headers = httpx2.Headers(
            {
                "Authorization": f"Bearer {api_key or 'none'}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": "evenhand",
            }
        )

    async def complete(self, call: Call) -> Answer:
        body = {"model": call.judge.model, "messages": call.messages, **call.parameters}
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, content=_json(body), extensions=PATIENCE
        )
        response = await self._http.send(request)
        if response.status_code >= 300:
            raise status_error(response)
        return read_answer(response.content)

    async def close(self) -> None:
        await self._http.aclose()


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def status_error(response: httpx2.Response) -> openai.APIStatusError:
    """As the SDK raises it: `body` is what stands under "error", if anything does."""
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    inner = body.get("error", body) if isinstance(body, dict) else None
    text = f"HTTP {response.status_code}: {response.text[:300]}"
    return openai.APIStatusError(text, response=response, body=inner)


async def _cap(response: httpx2.Response) -> None:
    """Before the body is read: a huge one must not fill our memory, whatever its length says."""
    response.stream = _Capped(response.stream)


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_REPLY:
                raise BadReply(f"the reply exceeds {LARGEST_REPLY // 2**20} MB; no verdict does")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def read_answer(content: bytes) -> Answer:
    """The reply in a chat completion; anything of another shape is a BadReply."""
    try:
        values = json.loads(content)
        if isinstance(values, dict) and isinstance(error := values.get("error"), dict):
            raise BadReply(f"an error inside a 200: {error.get('message') or error}")
        choice = values["choices"][0]
        message = choice["message"]
        return Answer(
            text=_text(message.get("content")),
            reasoning=_text(message.get("reasoning_content") or message.get("reasoning")),
            refusal=_text(message.get("refusal")),
            finish=whole(str(choice.get("finish_reason") or "")),
            usage=_usage(values.get("usage")),
            model=whole(str(values.get("model") or "")),
            top_logprobs=_top_logprobs(choice.get("logprobs")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        start = content[:80].decode("utf-8", "replace")
        raise BadReply(f"not a chat completion ({type(error).__name__}): {start!r}") from None


def _text(value: Any) -> str:
    """Content may be a list of parts; only text parts are read."""
    if isinstance(value, list):
        value = "".join(str(part.get("text", "")) for part in value)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"content is {type(value).__name__}")
    return whole(value or "")


def _usage(values: Mapping[str, Any] | None) -> Usage:
    if not values:
        return Usage()
    details = values.get("prompt_tokens_details") or {}
    return Usage(
        prompt=values.get("prompt_tokens"),
        completion=values.get("completion_tokens"),
        cached=details.get("cached_tokens") or 0,
        cache_write=details.get("cache_write_tokens") or 0,
    )


def _top_logprobs(logprobs: Mapping[str, Any] | None) -> tuple[tuple[str, float], ...]:
    """What the judge might have said next, at the last token it wrote."""
    content = (logprobs or {}).get("content") or []
    if not content:
        return ()
    top = content[-1].get("top_logprobs") or [content[-1]]
    told = ((whole(str(entry["token"])), float(entry["logprob"])) for entry in top)
    return tuple(pair for pair in told if math.isfinite(pair[1]))
