"""Any OpenAI-compatible endpoint, asked through the openai client's own connection on aiohttp.

The request is put together here once per client instead of per call by the SDK, and the reply is
read as it came: a third of the CPU of `chat.completions.create`. This is the one way out: whether
an endpoint may be asked at all (judges/addresses.py), how much of a reply is read, and that no key
comes back in it, is decided here for runs, tests and descriptions alike.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import aiohttp
import httpx2
from openai import DefaultAioHttpClient
from openai._vendor.httpx_aiohttp import AiohttpTransport

from judges.addresses import Pinned, Rules, check_url, rules_now
from judges.faults import CONNECT, BadReply
from judges.models.answers import Answer, Call
from judges.models.completion import read_answer, status_error
from judges.vault import MARK, Held

LARGEST_REPLY: Final = 8 * 1024 * 1024
LIMITS: Final = httpx2.Limits(max_connections=4096, max_keepalive_connections=4096)
UNPACKED: Final = ("", "identity", "gzip", "deflate")
"""Encodings in which a chunk cannot grow more than a thousandfold: the cap sees it in time."""

LONG_KEY: Final = 16
"""A shorter one ('not-needed') may well stand in a reply by chance, and replies are evidence."""

HEADERS: Final = (
    (b"Content-Type", b"application/json"),
    (b"Accept", b"application/json"),
    (b"Accept-Encoding", b"identity"),
    (b"User-Agent", b"evenhand"),
)
PATIENCE: Final = {"timeout": httpx2.Timeout(None, connect=CONNECT).as_dict()}
"""The engine's deadline covers the whole attempt."""


class EndpointModel:
    """One client per (endpoint, key), created in the loop that uses it and reused."""

    def __init__(
        self,
        base_url: str,
        api_key: Held | str,
        *,
        ceiling: int = 4096,
        gate: str = "",
        rules: Rules | None = None,
    ) -> None:
        self.ceiling = ceiling
        self.gate = gate or base_url
        self._rules = rules or rules_now()
        check_url(base_url, self._rules)
        self._key = api_key if isinstance(api_key, Held) else Held(api_key)
        self._http = _client(self._rules)
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._expiry: asyncio.TimerHandle | None = None
        self._watch_key()

    async def complete(self, call: Call) -> Answer:
        body = {"model": call.judge.model, "messages": call.messages, **call.parameters}
        response = await self._http.send(self._request(_json(body)), stream=True)
        try:
            content = await _content(response)
        finally:
            await response.aclose()
        if response.status_code >= 300:
            raise status_error(_without_request(response), content, echo=not self._rules.strict)
        return _without_key(read_answer(content, echo=not self._rules.strict), self._key)

    def _request(self, content: bytes) -> httpx2.Request:
        """The key is put in for one call, so that nothing else of a client holds it."""
        bearer = f"Bearer {self._key.use() or 'none'}".encode("utf-8", "replace")
        headers = [(b"Authorization", bearer), *HEADERS]
        return httpx2.Request(
            "POST", self._url, headers=headers, content=content, extensions=PATIENCE
        )

    async def close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._key.forget()
        await self._http.aclose()

    def take(self, key: Held) -> None:
        """The key typed again, where the one that was held is gone."""
        if self._key.look():
            self._key = key
            self._watch_key()

    def _watch_key(self) -> None:
        """Forgotten when its time is over, not when somebody next asks for it."""
        if not self._key.look() and math.isfinite(left := self._key.left()):
            self._expiry = asyncio.get_running_loop().call_later(left + 0.01, self._watch_key)


def _client(rules: Rules) -> httpx2.AsyncClient:
    """Redirects are never followed. Under strict rules names mean what was checked, and no proxy
    looks them up in our place."""
    if not rules.strict:
        return DefaultAioHttpClient(follow_redirects=False, limits=LIMITS)
    secure = httpx2.create_ssl_context()
    transport = AiohttpTransport(verify=secure, client=lambda: _session(rules, secure))
    return DefaultAioHttpClient(
        follow_redirects=False, limits=LIMITS, transport=transport, trust_env=False
    )


def _session(rules: Rules, secure: ssl.SSLContext) -> aiohttp.ClientSession:
    """Connections that go only to addresses that were checked; the name stays in the handshake."""
    connector = aiohttp.TCPConnector(
        resolver=Pinned(rules.refuses, rules.lookup),
        ssl=secure,
        limit=LIMITS.max_connections or 0,
        use_dns_cache=False,
    )
    return aiohttp.ClientSession(connector=connector)


async def _content(response: httpx2.Response) -> bytes:
    """The body, unpacked, and no more of it than any verdict needs: whatever its length says, a
    huge one must not fill our memory."""
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed not in UNPACKED:
        raise BadReply(f"the reply is packed as {packed[:20]!r}, which was not asked for")
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > LARGEST_REPLY:
            raise BadReply(f"the reply exceeds {LARGEST_REPLY // 2**20} MB; no verdict does")
        chunks.append(chunk)
    return b"".join(chunks)


def _without_request(response: httpx2.Response) -> httpx2.Response:
    """An error travels far, and the request that it would take along holds the key."""
    bare = httpx2.Request("POST", response.request.url)
    kept = {
        name: value
        for name, value in response.headers.items()
        if name.lower() in ("retry-after", "retry-after-ms", "date")
    }
    return httpx2.Response(response.status_code, headers=kept, request=bare)


def _without_key(answer: Answer, key: Held) -> Answer:
    """Some servers echo what they were sent; what is stored must not hold the key."""
    tokens = "".join(token for token, _ in answer.top_logprobs)
    told = f"{answer.text}{answer.reasoning}{answer.refusal}{answer.finish}{answer.model}{tokens}"
    forms = [form for form in key.whole_forms() if len(form) >= LONG_KEY and form in told]
    if not forms:
        return answer
    texts = ("text", "reasoning", "refusal", "finish", "model")
    changed: dict[str, Any] = {name: _marked(getattr(answer, name), forms) for name in texts}
    spelt = any(form in tokens for form in forms)  # token by token, or as one
    return replace(answer, **changed, top_logprobs=() if spelt else answer.top_logprobs)


def _marked(text: str, forms: list[str]) -> str:
    for form in forms:
        text = text.replace(form, MARK)
    return text


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
