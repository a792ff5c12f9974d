"""Parsing of chat completions and error bodies as endpoints send them, at once or token by token
(as server-sent events).

A reply may have been billed. A malformed part of it, such as a token count that is not a number, is
therefore left out and the rest is used. BadReply is raised if there is no text to read: the body is
no chat completion, or a stream is broken, too large or incomplete.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx2

from judges.models.failures import BadReply, replace_surrogates
from judges.models.interface import JudgeReply, ReplyToken, TokenCandidates
from judges.verdicts.reply_cleaning import split_reasoning
from studies.domain import Usage

if TYPE_CHECKING:
    import openai

MAX_STREAM_BYTES: Final = 64 * 1024 * 1024
"""Size limit of a stream; each token arrives in an event of a few hundred bytes."""
REASONING_PARTS: Final = ("thinking", "reasoning")
"""Types of the parts of a message that contain reasoning, which is not part of the reply."""
_TEXT_FIELDS: Final = ("content", "reasoning_content", "reasoning", "refusal")


class CompletionStream:
    """Joins the events of a stream into one chat completion."""

    def __init__(self) -> None:
        self.started = False
        """Whether a part of the reply or an error has arrived; comments do not count."""
        self._rest = b""
        self._size = 0
        self._texts: dict[str, list[Any]] = {}
        """Field of the message, such as content -> the pieces received so far: texts, or the parts
        of a content that is sent as a list."""
        self._logprobs: list[Any] = []
        self._finish: str | None = None
        self._ended = False
        self._whole: dict[str, Any] = {}

    def feed(self, chunk: bytes) -> None:
        """Add received bytes; one event may arrive in several chunks. Raise BadReply if an event is
        not JSON or the stream exceeds MAX_STREAM_BYTES."""
        self._size += len(chunk)
        if self._size > MAX_STREAM_BYTES:
            raise BadReply(
                f"the streamed reply exceeds {MAX_STREAM_BYTES // 2**20} MB, the size limit; "
                "lower max_tokens or check the address (base_url)"
            )
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._read_line(line.strip())

    def join_completion(self) -> dict[str, Any]:
        """Return the joined completion, in the shape of a reply that was not streamed; only the
        error, if the stream contains one. Raise BadReply if the stream ended early."""
        self.feed(b"\n")
        if "error" in self._whole:
            return self._whole
        if not self._ended and self._finish is None:
            raise BadReply("the connection ended before the whole reply had arrived")
        message = {
            name: "".join(parts) if all(isinstance(part, str) for part in parts) else parts
            for name, parts in self._texts.items()
        }
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
            if isinstance(text, str | list):
                self._texts.setdefault(name, []).extend([text] if isinstance(text, str) else text)
        if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
            self._logprobs += logprobs["content"]


MAX_TOKEN_COUNT: Final = 2**40
"""Token counts of this size or more are implausible and treated as missing."""

STATUS_BY_ERROR_CODE: Final = {
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "context_length_exceeded": 400,
    "content_filter": 400,
}
"""HTTP status by error code, for errors sent without their status."""

FINISH_REASONS: Final = {"max_tokens": "length"} | dict.fromkeys(
    ("content_filter", "safety", "prohibited_content", "recitation", "blocklist", "spii"),
    "content_filter",
)
"""Reason for the end of a reply, as some providers name it -> its name in OpenAI's API. Gemini may
add its own reason, as in "content_filter: SAFETY"."""

_SHAPE_ERRORS: Final = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


def build_status_error(
    response: httpx2.Response, content: bytes | None = None, *, echo: bool = True
) -> openai.APIStatusError:
    """Build the error that the openai package would raise for a response with an error status.

    Its `body` is the value of "error" in the response or, without that key, the whole response.
    With `echo=False` it never has more than the value of "error", because a public page must not
    reveal what other servers return. `content` is the body of the response, if it was read
    already."""
    content = response.content if content is None else content
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    inner = body.get("error", body if echo else None) if isinstance(body, dict) else None
    excerpt = f": {content[:300].decode('utf-8', 'replace')}" if echo else ""
    text = f"HTTP {response.status_code}{excerpt}"
    from openai import APIStatusError  # takes a second to import

    return APIStatusError(text, response=response, body=inner)


def parse_completion(content: bytes, *, echo: bool = True) -> JudgeReply:
    """Parse the body of a response into a reply; raise BadReply if it is no chat completion.

    Some servers report an error inside a response with HTTP status 200. If this error states a
    code 4xx, it is raised as if it had that status, otherwise as BadReply. With `echo=False` no
    error quotes the body."""
    try:
        return build_reply(json.loads(content), echo=echo)
    except _SHAPE_ERRORS as error:
        start = f": {content[:80].decode('utf-8', 'replace')!r}" if echo else ""
        raise BadReply(f"reply is not a chat completion ({type(error).__name__}){start}") from None


def build_reply(values: Any, *, echo: bool = True) -> JudgeReply:
    """Build the reply from a decoded chat completion, with its reasoning separate from its text;
    raise the error that the completion contains (`echo=False`: without quoting it), or an error
    such as KeyError or TypeError if `values` is no chat completion."""
    _raise_if_error(values, echo)
    choice = values["choices"][0]
    message = choice["message"]
    text = _join_text(message.get("content"))
    if not text:
        _raise_if_error(choice, echo)
    finish = replace_surrogates(str(choice.get("finish_reason") or ""))
    finish = FINISH_REASONS.get(finish.partition(":")[0].lower(), finish)
    tagged, text = split_reasoning(text, cut_off=finish == "length")
    parts = (_find_reasoning(message), tagged)
    return JudgeReply(
        text=text,
        reasoning="\n\n".join(part for part in parts if part),
        refusal=_join_text([message.get("refusal")]),
        finish=finish,
        usage=parse_usage(values.get("usage")),
        model=replace_surrogates(str(values.get("model") or "")),
        top_logprobs=_parse_last_token_candidates(choice.get("logprobs")),
        tokens=_parse_tokens(choice.get("logprobs")),
    )


def build_stream_reply(stream: CompletionStream, *, echo: bool = True) -> JudgeReply:
    """Build the reply from a stream that has ended; raise BadReply if it is incomplete or no chat
    completion, or the error that it contains."""
    try:
        return build_reply(stream.join_completion(), echo=echo)
    except _SHAPE_ERRORS as error:
        raise BadReply(f"reply is not a chat completion ({type(error).__name__})") from None


def _find_reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning of a message, from a separate field or from parts of the content; "" if
    it has none."""
    field = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(field, str | list):
        return _join_text(field, leave_out=())
    content = message.get("content")
    parts = map(_mapping_or_empty, content if isinstance(content, list) else ())
    thoughts = (part for part in parts if part.get("type") in REASONING_PARTS)
    return "".join(_join_text(one.get("thinking") or one.get("text")) for one in thoughts)


def _raise_if_error(values: Any, echo: bool) -> None:
    """Raise the error that a gateway reports inside a response with HTTP status 200.

    An error with a code 4xx is raised as that HTTP status, so that a wrong key stops the judge and
    a rate limit makes calls wait; any other as BadReply, because the call may have been billed.
    """
    error = values.get("error") if isinstance(values, dict) else None
    if not isinstance(error, dict):
        return
    code = _http_status_of(error)
    if 400 <= code < 500:
        response = httpx2.Response(code, request=httpx2.Request("POST", "http://endpoint"))
        raise build_status_error(response, json.dumps({"error": error}).encode(), echo=echo)
    raise BadReply(
        f"the response has status 200 but contains an error: "
        f"{error.get('message') or (error if echo else 'no message')}"
    )


def _http_status_of(error: Mapping[str, Any]) -> int:
    for code in (error.get("code"), error.get("status"), error.get("type")):
        if isinstance(code, str):
            known = code.isdecimal() and len(code) == 3
            code = int(code) if known else STATUS_BY_ERROR_CODE.get(code, 0)
        if isinstance(code, int) and code:
            return code
    return 0


def _join_text(value: Any, leave_out: Sequence[str] = REASONING_PARTS) -> str:
    """Return the content of a message as one text; the content may be a list of parts, of which
    those of the types `leave_out` are not read. TypeError if `value` is no text, list or None."""
    if isinstance(value, list):
        parts = (_mapping_or_empty(part) or {"text": part} for part in value)
        texts = (part.get("text") for part in parts if part.get("type") not in leave_out)
        value = "".join(text for text in texts if isinstance(text, str))
    if value is not None and not isinstance(value, str):
        raise TypeError(f"content is {type(value).__name__}")
    return replace_surrogates(value or "")


def parse_usage(values: Any) -> Usage:
    """Return the token counts of a response; a malformed count is treated as missing."""
    if not isinstance(values, Mapping):
        return Usage()
    details = _mapping_or_empty(values.get("prompt_tokens_details"))
    cached = _parse_count(details.get("cached_tokens"))
    if cached is None:
        cached = _parse_count(values.get("prompt_cache_hit_tokens"))  # DeepSeek
    prompt = _parse_count(values.get("prompt_tokens"))
    completion = _parse_count(values.get("completion_tokens"))
    spent = _mapping_or_empty(values.get("completion_tokens_details"))
    reasoning = _parse_count(spent.get("reasoning_tokens")) or 0
    total = _parse_count(values.get("total_tokens"))
    if prompt is not None and completion is not None and total == prompt + completion + reasoning:
        completion += reasoning  # some providers count it, and bill it, in the total only
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=cached or 0,
        cache_write=_parse_count(details.get("cache_write_tokens")) or 0,
        reasoning_tokens=reasoning,
    )


def _mapping_or_empty(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _parse_count(value: Any) -> int | None:
    """Parse a count given as 12, 12.0 or "12"; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value[:20])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < MAX_TOKEN_COUNT and value == int(value) else None


def _parse_last_token_candidates(logprobs: Any) -> TokenCandidates:
    """Return the tokens that the model considered for the place of the reply's last token, with
    their log-probabilities; empty if they are missing or malformed."""
    try:
        return _parse_candidates(logprobs["content"][-1])
    except _SHAPE_ERRORS:
        return ()


def _parse_tokens(logprobs: Any) -> tuple[ReplyToken, ...]:
    """Return all tokens of a reply, each with the tokens that the model considered for its place
    and their log-probabilities. Empty if the reply has a single token, or if they are missing or
    malformed."""
    try:
        content = logprobs["content"]
        if len(content) < 2:
            return ()
        return tuple(
            ReplyToken(replace_surrogates(str(entry["token"])), _parse_candidates(entry))
            for entry in content
        )
    except _SHAPE_ERRORS:
        return ()


def _parse_candidates(entry: Any) -> TokenCandidates:
    top = entry.get("top_logprobs") or [entry]
    pairs = [(replace_surrogates(str(one["token"])), float(one["logprob"])) for one in top]
    return tuple(pair for pair in pairs if math.isfinite(pair[1]))
