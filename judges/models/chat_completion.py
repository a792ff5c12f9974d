"""What a chat completion says, and what an error does: bodies as endpoints send them.

A reply is evidence and may have been paid for. So what is merely odd about it, a count that is no
number or log-probabilities of another shape, costs it that part and nothing else; only a body
without any reply in it is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import openai

from judges.models.failures import BadReply, replace_surrogates
from judges.models.interface import JudgeReply
from studies.domain import Usage

MAX_TOKEN_COUNT: Final = 2**40
"""No call uses more; what a server says beyond that is no count."""

STATUS_BY_ERROR_CODE: Final = {
    "insufficient_quota": 429, "rate_limit_exceeded": 429, "invalid_api_key": 401,
    "model_not_found": 404, "context_length_exceeded": 400, "content_filter": 400,
}  # fmt: skip
"""Codes in words, and the status with which others send them."""

_SHAPE_ERRORS: Final = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError,
)  # fmt: skip


def build_status_error(
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


def parse_completion(content: bytes, *, echo: bool = True) -> JudgeReply:
    """The reply in a chat completion; anything of another shape is a BadReply, which without `echo`
    does not say what came instead. A refusal inside a 200 is raised as the refusal it is."""
    try:
        values = json.loads(content)
        _raise_if_error(values, echo)
        choice = values["choices"][0]
        message = choice["message"]
        text = _join_text(message.get("content"))
        if not text:
            _raise_if_error(choice, echo)
        return JudgeReply(
            text=text,
            reasoning=_join_text(message.get("reasoning_content") or message.get("reasoning")),
            refusal=_join_text(message.get("refusal")),
            finish=replace_surrogates(str(choice.get("finish_reason") or "")),
            usage=parse_usage(values.get("usage")),
            model=replace_surrogates(str(values.get("model") or "")),
            top_logprobs=_parse_top_logprobs(choice.get("logprobs")),
        )
    except _SHAPE_ERRORS as error:
        start = f": {content[:80].decode('utf-8', 'replace')!r}" if echo else ""
        raise BadReply(f"not a chat completion ({type(error).__name__}){start}") from None


def _raise_if_error(values: Any, echo: bool) -> None:
    """Gateways answer 200 before they know how the provider behind them answers. A refusal is
    worth the same in there: a wrong key stops the judge, a rate limit cools it down. A fault of
    the server may have been billed, as any 200."""
    error = values.get("error") if isinstance(values, dict) else None
    if not isinstance(error, dict):
        return
    code = _find_status(error)
    if 400 <= code < 500:
        response = httpx2.Response(code, request=httpx2.Request("POST", "http://endpoint"))
        raise build_status_error(response, json.dumps({"error": error}).encode(), echo=echo)
    raise BadReply(f"an error inside a 200: {error.get('message') or (echo and error)}")


def _find_status(error: Mapping[str, Any]) -> int:
    for said in (error.get("code"), error.get("status"), error.get("type")):
        if isinstance(said, int):
            return said
        if isinstance(said, str) and said:
            return (
                int(said)
                if said.isdecimal() and len(said) == 3
                else STATUS_BY_ERROR_CODE.get(said, 0)
            )
    return 0


def _join_text(value: Any) -> str:
    """Content may be a list of parts; only text parts are read."""
    if isinstance(value, list):
        value = "".join(str(part.get("text", "")) for part in value)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"content is {type(value).__name__}")
    return replace_surrogates(value or "")


def parse_usage(values: Any) -> Usage:
    """Tokens as they were told; what is no count was not told."""
    if not isinstance(values, Mapping):
        return Usage()
    details = values.get("prompt_tokens_details")
    if not isinstance(details, Mapping):
        details = {}
    return Usage(
        prompt=_parse_count(values.get("prompt_tokens")),
        completion=_parse_count(values.get("completion_tokens")),
        cached=_parse_count(details.get("cached_tokens")) or 0,
        cache_write=_parse_count(details.get("cache_write_tokens")) or 0,
    )


def _parse_count(value: Any) -> int | None:
    """12, and 12.0 or "12" from servers that count so."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:20])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < MAX_TOKEN_COUNT and value == int(value) else None


def _parse_top_logprobs(logprobs: Any) -> tuple[tuple[str, float], ...]:
    """What the judge might have said next, at the last token it wrote; nothing where they have
    another shape, which is the same as not told."""
    try:
        content = logprobs["content"]
        top = content[-1].get("top_logprobs") or [content[-1]]
        told = [(replace_surrogates(str(entry["token"])), float(entry["logprob"])) for entry in top]
    except _SHAPE_ERRORS:
        return ()
    return tuple(pair for pair in told if math.isfinite(pair[1]))
