"""Clients of judges: of OpenAI-compatible endpoints, on the HTTP connection of the openai package
(aiohttp), and of the embedded judge (a small model on this machine). Also finds the API key of a
judge and makes the client that fits it.

Requests are built and replies parsed here, in a third of the CPU time that the package's
`chat.completions.create` takes. All calls to endpoints except batches (runs, judge checks, image
descriptions) use EndpointModel. It checks the endpoint against
judges/security/endpoint_rules.py, limits the size of a reply and removes the API key from it."""

import asyncio
import contextlib
import json
import math
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import aiohttp
import httpx2

from judges.judge_errors import PlanError
from judges.models import chat_completion, failures, interface
from judges.models.chat_completion import CompletionStream
from judges.models.embedded import EmbeddedServer, find_or_start_shared_server
from judges.models.interface import JudgeCall, JudgeModel, JudgeReply
from judges.models.simulation.simulated import SimulatedModel
from judges.security import endpoint_rules, key_consents
from judges.security.endpoint_rules import LOCAL_RULES, EndpointRules
from judges.security.key_store import SecretKey, make_expiring_secret_key
from studies import domain, settings

MAX_REPLY_BYTES: Final = 8 * 1024 * 1024
CONNECTION_LIMITS: Final = httpx2.Limits(max_connections=4096, max_keepalive_connections=4096)
ACCEPTED_ENCODINGS: Final = ("", "identity", "gzip", "deflate")
"""Accepted compressions of a response: when unpacked, a piece grows about a thousandfold at most,
so that the size limit holds."""

REQUEST_HEADERS: Final = (
    (b"Content-Type", b"application/json"),
    (b"Accept", b"application/json"),
    (b"Accept-Encoding", b"identity"),
    (b"User-Agent", b"evenhand"),
)


class EndpointModel:
    """The client for one endpoint and API key, usable only in the event loop it was created in."""

    def __init__(
        self,
        base_url: str,
        api_key: SecretKey | str,
        *,
        ceiling: int = 4096,
        rules: EndpointRules | None = None,
    ) -> None:
        self.ceiling = ceiling
        self._rules = rules or endpoint_rules.current_endpoint_rules()
        endpoint_rules.check_url(base_url, self._rules)
        self._key = api_key if isinstance(api_key, SecretKey) else SecretKey(api_key)
        self._http = _build_http_client(self._rules)
        self._base_url = base_url.rstrip("/")
        self._url = httpx2.URL(f"{self._base_url}/chat/completions")
        self._rate_headers = interface.rate_header_kind(base_url)
        self._expiry_timer: asyncio.TimerHandle | None = None
        self._schedule_key_expiry()

    async def complete(self, call: JudgeCall) -> JudgeReply:
        """Make a call and return the reply; raise an error if it fails (classified by failures.py).

        The caller limits the total duration. A stream has two further limits: `timeout_s` until its
        first token, then `idle_s` between two pieces of data.
        """
        streamed = call.stream_parameters
        body = {"model": call.judge.model, "messages": call.messages, **call.parameters, **streamed}
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        request = self._build_request(content, call.judge.connect_s)
        first_token = call.judge.timeout_s if streamed else None
        stream = CompletionStream()
        try:
            async with asyncio.timeout(first_token) as limit:
                response, reply = await self._receive_reply(request, call, stream, limit)
        except TimeoutError:
            if stream.started:
                raise failures.StreamSilent from None
            raise
        quota = interface.parse_request_quota(response.headers, self._rate_headers)
        return reply if quota is None else replace(reply, quota=quota)

    async def _receive_reply(
        self,
        request: httpx2.Request,
        call: JudgeCall,
        stream: CompletionStream,
        limit: asyncio.Timeout,
    ) -> tuple[httpx2.Response, JudgeReply]:
        echo = not self._rules.strict
        async with self._send(request) as response:
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if response.status_code < 300 and kind == "text/event-stream":
                await _read_stream(response, stream, limit, call.judge.idle_s)
                reply = chat_completion.build_stream_reply(stream, echo=echo)
            else:
                content = await self._read_content(response)
                reply = chat_completion.parse_completion(content, echo=echo)
        return response, redact_reply(reply, self._key)

    async def get(self, path: str) -> bytes:
        """Return the body at a path of the endpoint, such as `models`. The error raised for a
        failed call does not contain the API key. The caller limits the duration."""
        url = httpx2.URL(f"{self._base_url}/{path}")
        async with self._send(self._build_request(b"", 10.0, "GET", url)) as response:
            return await self._read_content(response)

    @contextlib.asynccontextmanager
    async def _send(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        """Send a request and yield the response, whose body is not read yet; close it afterwards.
        Raise BadReply if it is compressed in a way that was not requested."""
        response = await self._http.send(request, stream=True)
        try:
            encoding = response.headers.get("Content-Encoding", "").strip().lower()
            if encoding not in ACCEPTED_ENCODINGS:
                raise failures.BadReply(
                    f"the reply is compressed as {encoding[:20]!r}, which was not requested; check "
                    "the address (base_url), or the proxy in front of the endpoint"
                )
            yield response
        finally:
            await response.aclose()

    async def _read_content(self, response: httpx2.Response) -> bytes:
        """Return the body of a response; raise the error of a response with an error status."""
        content = await _read_limited_body(response)
        if response.status_code >= 300:
            echo = not self._rules.strict
            raise chat_completion.build_status_error(
                _copy_response_for_error(response), content, echo=echo
            )
        return content

    def _build_request(
        self, content: bytes, connect_s: float, method: str = "POST", url: httpx2.URL | None = None
    ) -> httpx2.Request:
        """Build a request with the body `content`, by default to the address of chat completions.
        `connect_s` limits the seconds until the connection is made. The API key is added to each
        request, so that the HTTP client does not store the key."""
        bearer = f"Bearer {self._key.read_and_keep_alive() or 'none'}".encode("utf-8", "replace")
        headers = [(b"Authorization", bearer), *REQUEST_HEADERS]
        options = _request_options(connect_s)
        return httpx2.Request(
            method, url or self._url, headers=headers, content=content, extensions=options
        )

    async def close(self) -> None:
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        self._key.discard()
        await self._http.aclose()

    def replace_expired_key(self, key: SecretKey) -> None:
        """If the present key has expired, use `key`, which the user has typed since."""
        if self._key.expire_if_idle():
            self._key = key
            self._schedule_key_expiry()

    def _schedule_key_expiry(self) -> None:
        """Schedule the deletion of the key from memory at its expiry, so that it is deleted even if
        no call is made."""
        if not self._key.expire_if_idle() and math.isfinite(left := self._key.seconds_left()):
            self._expiry_timer = asyncio.get_running_loop().call_later(
                left + 0.01, self._schedule_key_expiry
            )


def _build_http_client(rules: EndpointRules) -> httpx2.AsyncClient:
    """Build the HTTP client. Redirects are never followed. Under strict rules a host name resolves
    only to checked addresses, and no proxy is used, because a proxy would resolve names itself."""
    from openai import DefaultAioHttpClient  # takes a second to import
    from openai._vendor.httpx_aiohttp import AiohttpTransport

    secure = tls_context()
    if not rules.strict:
        return DefaultAioHttpClient(follow_redirects=False, limits=CONNECTION_LIMITS, verify=secure)
    transport = AiohttpTransport(verify=secure, client=lambda: _build_session(rules, secure))
    return DefaultAioHttpClient(
        follow_redirects=False, limits=CONNECTION_LIMITS, transport=transport, trust_env=False
    )


def tls_context() -> ssl.SSLContext:
    """Return the TLS settings with the trusted certificates of this machine.

    The certificates are cached by their location (environment variables can change it), because
    reading them takes 50 ms of CPU, more than the rest of a small run.
    """
    return _tls_context_cached_by_paths(tuple(ssl.get_default_verify_paths()))


@lru_cache(maxsize=4)
def _tls_context_cached_by_paths(certificate_paths: tuple[str | None, ...]) -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _build_session(rules: EndpointRules, secure: ssl.SSLContext) -> aiohttp.ClientSession:
    """Build a session that connects only to checked addresses; TLS still verifies the host name."""
    connector = aiohttp.TCPConnector(
        resolver=endpoint_rules.PinnedResolver(rules.refusal_reason, rules.lookup),
        ssl=secure,
        limit=CONNECTION_LIMITS.max_connections or 0,
        use_dns_cache=False,
    )
    return aiohttp.ClientSession(connector=connector)


@lru_cache(maxsize=64)
def _request_options(connect_s: float) -> dict[str, Any]:
    """Return request options with the connection timeout `connect_s` and no other timeout, because
    the engine's deadline covers the whole attempt."""
    return {"timeout": httpx2.Timeout(None, connect=connect_s).as_dict()}


async def _read_stream(
    response: httpx2.Response, stream: CompletionStream, limit: asyncio.Timeout, idle_s: float
) -> None:
    """Read the whole response into `stream`. `limit` is the deadline: until the first token it
    stays as it is; from then on, whenever data arrives, it is set to `idle_s` seconds from now."""
    now = asyncio.get_running_loop().time
    async for chunk in response.aiter_bytes():
        stream.feed(chunk)
        if stream.started and limit.when() is not None:
            limit.reschedule(now() + idle_s)


async def _read_limited_body(response: httpx2.Response) -> bytes:
    """Read the decoded body; raise BadReply if it exceeds the size limit (its Content-Length header
    is not trusted)."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise failures.BadReply(
                f"the reply exceeds {MAX_REPLY_BYTES // 2**20} MB, the size limit; lower "
                "max_tokens or check the address (base_url)"
            )
    return bytes(content)


def _copy_response_for_error(response: httpx2.Response) -> httpx2.Response:
    """Return a copy of the response for error messages: without its request, which has the API key,
    without its body, and with the headers on rate limits and time only."""
    request = httpx2.Request("POST", response.request.url)
    headers = {
        name: value
        for name, value in response.headers.items()
        if name.lower() in ("retry-after", "retry-after-ms", "date", *interface.RATE_HEADERS)
    }
    return httpx2.Response(response.status_code, headers=headers, request=request)


def redact_reply(answer: JudgeReply, key: SecretKey) -> JudgeReply:
    """Return a reply with the API key masked, because some servers echo the request. If tokens
    contain the key, the reply is returned without tokens and log-probabilities."""
    tokens = "".join(token for token, _ in answer.top_logprobs)
    tokens += "".join(token.text for token in answer.tokens)
    texts = f"{answer.text}{answer.reasoning}{answer.refusal}{answer.finish}{answer.model}{tokens}"
    forms = [form for form in key.forms_to_mask_in_replies() if form in texts]
    if not forms:
        return answer
    fields = ("text", "reasoning", "refusal", "finish", "model")
    masked: dict[str, Any] = {
        name: key.mask_whole_key_in_reply(getattr(answer, name)) for name in fields
    }
    in_tokens = any(form in tokens for form in forms)  # in one token or across several
    if in_tokens:
        masked |= {"top_logprobs": (), "tokens": ()}
    return replace(answer, **masked)


class EmbeddedModel:
    """Client of the embedded judge, a small language model that runs on this machine in a child
    process, which is started on the first call."""

    ceiling = 1  # one slot: a second call in flight would wait and be measured as slow

    def __init__(self, weights: str = "") -> None:
        """`weights` is the GGUF file that the study file names for the judge; if empty, the weights
        that find_default_weights returns are used."""
        self._weights = weights
        self._server: EmbeddedServer | None = None
        self._endpoint: EndpointModel | None = None
        self._start_lock = asyncio.Lock()
        self._last_messages: list[dict[str, Any]] = []

    async def complete(self, call: JudgeCall) -> JudgeReply:
        """Call the model. If the messages are the same as in the previous call, the server's prompt
        cache is turned off for this call.

        With the cache, a repeated prompt would get slightly other probabilities, and Evenhand
        would report that the judge changes its verdicts on a repeat."""
        endpoint = await self._find_or_start_endpoint()
        repeat = call.messages == self._last_messages
        self._last_messages = call.messages
        if repeat:
            call = replace(call, parameters={**call.parameters, "cache_prompt": False})
        return await endpoint.complete(call)

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()
            self._endpoint = None

    async def _find_or_start_endpoint(self) -> EndpointModel:
        """Return the client of the running child process; a dead process is started again."""
        async with self._start_lock:
            if self._endpoint is None or self._server is None or not self._server.alive():
                await self.close()
                self._server = await asyncio.to_thread(find_or_start_shared_server, self._weights)
                self._endpoint = EndpointModel(
                    self._server.base_url, "none", ceiling=1, rules=LOCAL_RULES
                )
            return self._endpoint


MAX_KEY_LENGTH: Final = 8192
"""Maximum characters of an API key from a variable; tokens of some clouds have a few thousand."""


def find_api_key(
    judge: domain.JudgeSpec, typed: Mapping[str, str | SecretKey], consents: key_consents.Consents
) -> SecretKey:
    """Return the API key of a judge: the key typed on the page (in `typed`, judge -> key), which
    expires, else the value of the environment variable that `api_key_env` names; empty if the
    judge names no variable.

    Raises an error if the named variable is not set or too long, or if `consents` do not allow it
    for the judge's endpoint.
    """
    if judge.name in typed:
        value = typed[judge.name]
        return make_expiring_secret_key(
            value.read_and_keep_alive() if isinstance(value, SecretKey) else value
        )
    if not judge.api_key_env:
        return SecretKey("")
    key = settings.secret_value(judge.api_key_env)
    if not key:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} is not set; "
            f"run: export {judge.api_key_env}=…"
        )
    if len(key) > MAX_KEY_LENGTH:
        raise PlanError(
            f"judge {judge.name!r}: the environment variable {judge.api_key_env} has "
            f"{len(key):,} characters; a key has at most {MAX_KEY_LENGTH:,}"
        )
    consents.require_consent(judge)
    return SecretKey(key)


def build_judge_client(
    judge: domain.JudgeSpec,
    key: SecretKey | str,
    families: Mapping[str, str],
    rules: EndpointRules | None = None,
) -> JudgeModel:
    """Build a judge's client. `families` is model -> model family, for simulated judges. `rules`
    state which endpoints may be called; None for the rules of this process."""
    if judge.kind == "embedded":
        return EmbeddedModel(judge.weights)
    if judge.kind == "simulated":
        return SimulatedModel(families)
    return EndpointModel(judge.endpoint, key, rules=rules)
