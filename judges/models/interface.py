"""The types that all kinds of judges share: the call, the reply and the client interface."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from judges.models.rate_headers import RequestQuota
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import Prompt
from studies.domain import NO_USAGE, JudgeSpec, Usage

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
        """Parameters that request the reply token by token; they are not part of the call's key."""
        if not self.judge.stream or "stream" in self.stream_refusals:
            return {}
        wanted = STREAM_PARAMETERS.items()
        return {name: value for name, value in wanted if name not in self.stream_refusals}


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
        """Token text -> probability, summed over tokens with the same text."""
        return candidate_probabilities(self.top_logprobs)


def candidate_probabilities(candidates: TokenCandidates) -> dict[str, float]:
    """Return token text -> probability, summed over tokens with the same text."""
    found: dict[str, float] = {}
    for token, logprob in candidates:
        found[token] = found.get(token, 0.0) + math.exp(min(0.0, logprob))
    return found


def dump_logprobs(top: TokenCandidates | tuple[TokenCandidates, ...]) -> str:
    """Return log-probabilities as the JSON text that is stored with a judgement: a list [[token,
    logprob], …], for a rubric one such list for each criterion."""
    return json.dumps(top, separators=(",", ":")) if top else ""


def parse_logprobs(text: str) -> TokenCandidates:
    """Return the candidate tokens from a stored JSON text; empty for a rubric, see
    `parse_level_logprobs`."""
    values = json.loads(text) if text else []
    return () if _has_positions(values) else tuple((token, value) for token, value in values)


def parse_level_logprobs(text: str) -> tuple[TokenCandidates, ...]:
    """Return the candidate tokens of each criterion from the stored JSON text of a rubric; empty
    for other verdicts."""
    values = json.loads(text) if text else []
    if not _has_positions(values):
        return ()
    return tuple(tuple((token, value) for token, value in one) for one in values)


def _has_positions(values: list[Any]) -> bool:
    """Whether decoded log-probabilities are those of a rubric: one list for each criterion."""
    return bool(values) and bool(values[0]) and isinstance(values[0][0], list)


class JudgeModel(Protocol):
    """Interface of a client that calls one judge."""

    @property
    def ceiling(self) -> int:
        """Largest number of simultaneous calls that this client can make use of."""
        ...

    async def complete(self, call: JudgeCall) -> JudgeReply: ...

    async def close(self) -> None: ...
