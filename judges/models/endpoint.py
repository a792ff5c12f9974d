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
import openai
from openai import DefaultAioHttpClient
from openai._vendor.httpx_aiohttp import AiohttpTransport

from judges.addresses import Pinned, Rules, check_url, rules_now
from judges.faults import BadReply, whole
from judges.models.answers import Answer, Call
from judges.vault import MARK, Held
from studies.records import Usage

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
PATIENCE: Final = {"timeout": httpx2.Timeout(None, connect=10.0).as_dict()}
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
    told = f"{answer.text}{answer.reasoning}{answer.refusal}{answer.finish}{answer.model}"
    forms = [form for form in key.whole_forms() if len(form) >= LONG_KEY and form in told]
    if not forms:
        return answer
    changed = {}
    for name in ("text", "reasoning", "refusal", "finish", "model"):
        changed[name] = getattr(answer, name)
        for form in forms:
            changed[name] = changed[name].replace(form, MARK)
    return replace(answer, **changed)


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def status_error(
    response: httpx2.Response, content: bytes | None = None, *, echo: bool = True
) -> openai.APIStatusError:
    """As the SDK raises it: `body` is what stands under "error", if anything does.

    Without `echo` only an error of the form that judges give is told: whatever else answers at an
    address must not be read out through our messages.
    """
    content = response.content if content is None else content
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    inner = body.get("error", body if echo else None) if isinstance(body, dict) else None
    told = f": {content[:300].decode('utf-8', 'replace')}" if echo else ""
    text = f"HTTP {response.status_code}{told}"
    return openai.APIStatusError(text, response=response, body=inner)


def read_answer(content: bytes, *, echo: bool = True) -> Answer:
    """The reply in a chat completion; anything of another shape is a BadReply, which without `echo`
    does not say what came instead."""
    try:
        values = json.loads(content)
        if isinstance(values, dict) and isinstance(error := values.get("error"), dict):
            raise BadReply(f"an error inside a 200: {error.get('message') or (echo and error)}")
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
    except _OTHER_SHAPES as error:
        start = f": {content[:80].decode('utf-8', 'replace')!r}" if echo else ""
        raise BadReply(f"not a chat completion ({type(error).__name__}){start}") from None


_OTHER_SHAPES: Final = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError,
)  # fmt: skip


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
