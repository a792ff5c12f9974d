"""Interface between the engine and the clients of judges: the call, the reply, the number of
requests left (as reply headers report it), and the parameters that an endpoint refuses."""

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Protocol

from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import Prompt
from studies.domain import NO_USAGE, JudgeSpec, Usage
from studies.spec.provider_presets import RateHeaders, preset_for_url
from studies.store.queries.adapted_requests import REFUSABLE_PARAMETERS

_NAMES: Final[Mapping[RateHeaders, tuple[str, str, str]]] = {
    "requests": (
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    "plain": ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"),
}
RATE_HEADERS: Final = tuple(name for names in _NAMES.values() for name in names)
_SECONDS_BY_UNIT: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_HEADER_LENGTH: Final = 100
_DURATION: Final = re.compile(r"(\d{1,12}+(?:\.\d{1,12}+)?+)(ms|s|m|h|d)")
_DURATIONS: Final = re.compile(rf"(?:{_DURATION.pattern})+")
"""Pattern of one or more numbers with units. The length of each number is bounded, because the
header comes from a foreign server."""
FIRST_TIMESTAMP: Final = 1e9
"""In a reset header, a number below this value is a duration in seconds. A number from this value
on is a time in seconds since 1970; from a thousand times this value on, in milliseconds."""


@dataclass(frozen=True, slots=True)
class RequestQuota:
    """How many requests a provider accepts in a period (`limit`), how many of them are left
    (`remaining`), and in how many seconds a new period starts (`reset`); read from reply
    headers."""

    limit: float
    remaining: float
    reset: float
    """Seconds until the whole limit is available again."""

    @property
    def refill_rate(self) -> float:
        """Used-up requests divided by the seconds until the new period: the requests per second
        that become available again. Infinite if none is used up or the period starts now."""
        used = self.limit - self.remaining
        return used / self.reset if used > 0 and self.reset > 0 else math.inf


def rate_header_kind(endpoint: str) -> RateHeaders:
    """Return the kind of rate-limit headers that the provider at the address `endpoint` sends:
    "requests" (`x-ratelimit-…-requests`, as OpenAI), "plain" (`x-ratelimit-…`) or "none". For an
    unknown provider "requests"."""
    preset = preset_for_url(endpoint)
    return "requests" if preset is None else preset.rate_headers


def parse_request_quota(
    headers: Mapping[str, str],
    kind: RateHeaders = "requests",
    wall: Callable[[], float] = time.time,
) -> RequestQuota | None:
    """Read the quota from the headers of a reply; None if a header is missing, malformed or
    implausible. `kind` names the headers that the provider sends (`rate_header_kind`), `wall` is
    the local clock."""
    names = _NAMES.get(kind)
    if names is None or names[1] not in headers:
        return None
    try:
        limit, remaining = (float(headers[name]) for name in names[:2])
    except (KeyError, ValueError):
        return None
    reset = parse_reset_seconds(headers.get(names[2], ""), _server_time(headers, wall))
    if reset is None or not (math.isfinite(limit) and 0 <= remaining <= limit and limit > 0):
        return None
    return RequestQuota(limit, remaining, reset)


def parse_reset_seconds(text: str, now: float) -> float | None:
    """Return the seconds from `now` (seconds since 1970) until the time in a reset header. `text`
    is a duration, an RFC 3339 time, or seconds or milliseconds since 1970; None if malformed."""
    seconds = parse_duration(text)
    if seconds is not None and seconds >= FIRST_TIMESTAMP:
        at = seconds / 1000 if seconds >= 1000 * FIRST_TIMESTAMP else seconds
        return max(0.0, at - now)
    if seconds is not None:
        return seconds
    try:
        at = datetime.fromisoformat(text[:MAX_HEADER_LENGTH].strip()).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - now)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `6m0s`, `20ms` or `1.5`; None if malformed."""
    text = text[:MAX_HEADER_LENGTH].strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _DURATIONS.fullmatch(text):
        return None
    return sum(float(n) * _SECONDS_BY_UNIT[unit] for n, unit in _DURATION.findall(text))


def _server_time(headers: Mapping[str, str], wall: Callable[[], float]) -> float:
    """Return the time in the server's Date header, so that a wrong local clock has no effect;
    without this header, the local time (`wall()`)."""
    try:
        return email.utils.parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return wall()


STREAM_PARAMETERS: Final[Mapping[str, Any]] = {
    "stream_options": {"include_usage": True},
    "stream": True,
}
"""Parameters that request a reply token by token, with the token counts at the end of the reply."""


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One request to a judge; `inputs` are the values from which its messages were rendered."""

    key: str
    judge: JudgeSpec
    prompt: Prompt
    inputs: PromptInputs
    messages: list[dict[str, Any]]
    parameters: Mapping[str, Any]
    stream_refusals: frozenset[str] = frozenset()
    """Parameters among `stream` and `stream_options` that the endpoint refused."""

    @property
    def stream_parameters(self) -> Mapping[str, Any]:
        """Parameters that request the reply token by token, without those that the endpoint
        refused; none if the judge does not stream. They are not part of a call's key, so a stored
        reply is used again whether it was streamed or not."""
        if not self.judge.stream or "stream" in self.stream_refusals:
            return {}
        wanted = STREAM_PARAMETERS.items()
        return {name: value for name, value in wanted if name not in self.stream_refusals}

    def message_parts(self) -> list[dict[str, Any]]:
        """Return the texts and images of all messages, as parts of a message's content."""
        found: list[dict[str, Any]] = []
        for message in self.messages:
            content = message["content"]
            found += [{"text": content}] if isinstance(content, str) else content
        return found


TokenCandidates = tuple[tuple[str, float], ...]
"""The likeliest tokens at one place of a reply, with their log-probabilities."""


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """One token of a reply, and the likeliest tokens at its place."""

    text: str
    candidates: TokenCandidates


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """One reply of a judge, not yet parsed for a verdict."""

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish: str = ""
    usage: Usage = NO_USAGE
    model: str = ""
    top_logprobs: TokenCandidates = ()
    """The likeliest tokens at the place of the reply's last token, with log-probabilities, as
    received."""
    tokens: tuple[ReplyToken, ...] = ()
    """All tokens of the reply with log-probabilities, if the reply has several tokens."""
    level_logprobs: tuple[TokenCandidates, ...] = ()
    """For a rubric: the candidate tokens at the place of each criterion's level, in the order in
    which the request lists the criteria. Empty in a reply just received."""
    quota: RequestQuota | None = None
    """Number of requests left, if the endpoint reports it."""

    @property
    def token_probabilities(self) -> Mapping[str, float]:
        """Text of each likely token at the place of the reply's last token -> probability, summed
        over tokens with the same text."""
        return candidate_probabilities(self.top_logprobs)


def candidate_probabilities(candidates: TokenCandidates) -> dict[str, float]:
    """Return token text -> probability, summed over tokens with the same text."""
    found: dict[str, float] = {}
    for token, logprob in candidates:
        found[token] = found.get(token, 0.0) + math.exp(min(0.0, logprob))
    return found


def dump_logprobs(top: TokenCandidates | tuple[TokenCandidates, ...]) -> str:
    """Return log-probabilities as the JSON text that is stored with a judgement: a list [[token,
    logprob], …] or, for a rubric (several criteria scored in one reply), one such list for each
    criterion. "" if there are none."""
    return json.dumps(top, separators=(",", ":")) if top else ""


def parse_last_token_logprobs(text: str) -> TokenCandidates:
    """Return the likeliest tokens at the place of the reply's last token, with log-probabilities,
    from the JSON text that `dump_logprobs` made; empty for a rubric (see
    `parse_level_logprobs`)."""
    values = json.loads(text) if text else []
    return () if _are_rubric_logprobs(values) else tuple((token, value) for token, value in values)


def parse_level_logprobs(text: str) -> tuple[TokenCandidates, ...]:
    """Return, for each criterion of a rubric, the likeliest tokens at the place of its score, with
    log-probabilities, from the JSON text that `dump_logprobs` made; empty for other verdicts."""
    values = json.loads(text) if text else []
    if not _are_rubric_logprobs(values):
        return ()
    return tuple(tuple((token, value) for token, value in one) for one in values)


def _are_rubric_logprobs(values: list[Any]) -> bool:
    """Whether decoded log-probabilities are those of a rubric: one list for each criterion."""
    return bool(values) and bool(values[0]) and isinstance(values[0][0], list)


class JudgeModel(Protocol):
    """Interface of a client through which the engine calls a judge, or all judges of one
    endpoint."""

    @property
    def ceiling(self) -> int:
        """Largest number of simultaneous calls that this client can make use of."""
        ...

    async def complete(self, call: JudgeCall) -> JudgeReply: ...

    async def close(self) -> None: ...


def known_refused_parameters(judge: JudgeSpec) -> set[str]:
    """Return the parameters that a judge's provider is known to refuse for the judge's model."""
    preset = preset_for_url(judge.endpoint) if judge.kind == "endpoint" else None
    return set() if preset is None else set(preset.refused_parameters(judge.model))


def drop_parameter(call: JudgeCall, parameter: str) -> JudgeCall | None:
    """Return the call without a parameter that the endpoint refuses; None if the call does not have
    this parameter. If `max_tokens` is dropped, its value is sent as `max_completion_tokens`."""
    if parameter in call.stream_parameters:
        return replace(call, stream_refusals=call.stream_refusals | {parameter})
    values = dict(call.parameters)
    if parameter not in values:
        return None
    value = values.pop(parameter)
    if parameter == "max_tokens":
        values.setdefault("max_completion_tokens", value)  # its name for reasoning models
    return replace(call, parameters=values)


def parameters_affecting_reply(dropped: Collection[str]) -> list[str]:
    """Return those of the parameters `dropped` (left out of a request because the endpoint refuses
    them) whose absence can change the reply. Streaming parameters cannot; `max_tokens` is not
    missing, because it is sent under its other name."""
    return sorted(set(dropped).intersection(REFUSABLE_PARAMETERS))
