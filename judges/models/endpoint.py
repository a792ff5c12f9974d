"""Any OpenAI-compatible endpoint, asked through the openai client's own connection on aiohttp.

The request is put together here once per client instead of per call by the SDK, and the reply is
read as it came: a third of the CPU of `chat.completions.create`. This is the one way out: whether
an endpoint may be asked at all (judges/security/endpoint_rules.py), how much of a reply is read, and that no key
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

from judges.models.chat_completion import build_status_error, parse_completion
from judges.models.failures import CONNECT_TIMEOUT, BadReply
from judges.models.interface import JudgeCall, JudgeReply
from judges.security.endpoint_rules import (
    EndpointRules,
    PinnedResolver,
    check_url,
    current_endpoint_rules,
)
from judges.security.key_store import KEY_MASK, SecretKey

MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
CONNECTION_LIMITS: Final = httpx2.Limits(max_connections=4096, max_keepalive_connections=4096)
ACCEPTED_ENCODINGS: Final = ("", "identity", "gzip", "deflate")
"""Encodings in which a chunk cannot grow more than a thousandfold: the cap sees it in time."""

MIN_ECHOED_KEY: Final = 16
"""A shorter one ('not-needed') may well stand in a reply by chance, and replies are evidence."""

REQUEST_HEADERS: Final = (
    (b"Content-Type", b"application/json"),
    (b"Accept", b"application/json"),
    (b"Accept-Encoding", b"identity"),
    (b"User-Agent", b"evenhand"),
)
REQUEST_EXTENSIONS: Final = {"timeout": httpx2.Timeout(None, connect=CONNECT_TIMEOUT).as_dict()}
"""The engine's deadline covers the whole attempt."""


class EndpointModel:
    """One client per (endpoint, key), created in the loop that uses it and reused."""

    def __init__(
        self,
        base_url: str,
        api_key: SecretKey | str,
        *,
        ceiling: int = 4096,
        gate: str = "",
        rules: EndpointRules | None = None,
    ) -> None:
        self.ceiling = ceiling
        self.gate = gate or base_url
        self._rules = rules or current_endpoint_rules()
        check_url(base_url, self._rules)
        self._key = api_key if isinstance(api_key, SecretKey) else SecretKey(api_key)
        self._http = _build_client(self._rules)
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._expiry_timer: asyncio.TimerHandle | None = None
        self._schedule_key_expiry()

    async def complete(self, call: JudgeCall) -> JudgeReply:
        body = {"model": call.judge.model, "messages": call.messages, **call.parameters}
        response = await self._http.send(self._request(_encode_json(body)), stream=True)
        try:
            content = await _read_content(response)
        finally:
            await response.aclose()
        if response.status_code >= 300:
            raise build_status_error(_strip_request(response), content, echo=not self._rules.strict)
        return _redact_reply(parse_completion(content, echo=not self._rules.strict), self._key)

    def _request(self, content: bytes) -> httpx2.Request:
        """The key is put in for one call, so that nothing else of a client holds it."""
        bearer = f"Bearer {self._key.use() or 'none'}".encode("utf-8", "replace")
        headers = [(b"Authorization", bearer), *REQUEST_HEADERS]
        return httpx2.Request(
            "POST", self._url, headers=headers, content=content, extensions=REQUEST_EXTENSIONS
        )

    async def close(self) -> None:
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        self._key.discard()
        await self._http.aclose()

    def replace_expired_key(self, key: SecretKey) -> None:
        """The key typed again, where the one that was held is gone."""
        if self._key.is_expired():
            self._key = key
            self._schedule_key_expiry()

    def _schedule_key_expiry(self) -> None:
        """Forgotten when its time is over, not when somebody next asks for it."""
        if not self._key.is_expired() and math.isfinite(left := self._key.seconds_left()):
            self._expiry_timer = asyncio.get_running_loop().call_later(
                left + 0.01, self._schedule_key_expiry
            )


def _build_client(rules: EndpointRules) -> httpx2.AsyncClient:
    """Redirects are never followed. Under strict rules names mean what was checked, and no proxy
    looks them up in our place."""
    if not rules.strict:
        return DefaultAioHttpClient(follow_redirects=False, limits=CONNECTION_LIMITS)
    secure = httpx2.create_ssl_context()
    transport = AiohttpTransport(verify=secure, client=lambda: _build_session(rules, secure))
    return DefaultAioHttpClient(
        follow_redirects=False, limits=CONNECTION_LIMITS, transport=transport, trust_env=False
    )


def _build_session(rules: EndpointRules, secure: ssl.SSLContext) -> aiohttp.ClientSession:
    """Connections that go only to addresses that were checked; the name stays in the handshake."""
    connector = aiohttp.TCPConnector(
        resolver=PinnedResolver(rules.refusal_reason, rules.lookup),
        ssl=secure,
        limit=CONNECTION_LIMITS.max_connections or 0,
        use_dns_cache=False,
    )
    return aiohttp.ClientSession(connector=connector)


async def _read_content(response: httpx2.Response) -> bytes:
    """The body, unpacked, and no more of it than any verdict needs: whatever its length says, a
    huge one must not fill our memory."""
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed not in ACCEPTED_ENCODINGS:
        raise BadReply(f"the reply is packed as {packed[:20]!r}, which was not asked for")
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise BadReply(f"the reply exceeds {MAX_REPLY_BYTES // 2**20} MB; no verdict does")
        chunks.append(chunk)
    return b"".join(chunks)


def _strip_request(response: httpx2.Response) -> httpx2.Response:
    """An error travels far, and the request that it would take along holds the key."""
    bare = httpx2.Request("POST", response.request.url)
    kept = {
        name: value
        for name, value in response.headers.items()
        if name.lower() in ("retry-after", "retry-after-ms", "date")
    }
    return httpx2.Response(response.status_code, headers=kept, request=bare)


def _redact_reply(answer: JudgeReply, key: SecretKey) -> JudgeReply:
    """Some servers echo what they were sent; what is stored must not hold the key."""
    tokens = "".join(token for token, _ in answer.top_logprobs)
    told = f"{answer.text}{answer.reasoning}{answer.refusal}{answer.finish}{answer.model}{tokens}"
    forms = [form for form in key.whole_forms() if len(form) >= MIN_ECHOED_KEY and form in told]
    if not forms:
        return answer
    texts = ("text", "reasoning", "refusal", "finish", "model")
    changed: dict[str, Any] = {name: _mask_forms(getattr(answer, name), forms) for name in texts}
    spelt = any(form in tokens for form in forms)  # token by token, or as one
    return replace(answer, **changed, top_logprobs=() if spelt else answer.top_logprobs)


def _mask_forms(text: str, forms: list[str]) -> str:
    for form in forms:
        text = text.replace(form, KEY_MASK)
    return text


def _encode_json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
