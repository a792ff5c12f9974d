"""What every kind of judge takes and gives back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from judges.rendering.prompt import Prompt, PromptInputs
from studies.domain import NO_USAGE, JudgeSpec, Usage


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One request as it goes out; `scene` is what it was rendered from."""

    key: str
    judge: JudgeSpec
    prompt: Prompt
    inputs: PromptInputs
    messages: list[dict[str, Any]]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A reply as it came."""

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish: str = ""
    usage: Usage = NO_USAGE
    model: str = ""
    top_logprobs: tuple[tuple[str, float], ...] = ()
    """What it might have said at its last token, as it was told."""

    @property
    def token_probabilities(self) -> Mapping[str, float]:
        """Two tokens may be written alike: their probabilities add up."""
        found: dict[str, float] = {}
        for token, logprob in self.top_logprobs:
            found[token] = found.get(token, 0.0) + math.exp(min(0.0, logprob))
        return found


def dump_logprobs(top: tuple[tuple[str, float], ...]) -> str:
    """As a judgement keeps it; the digits survive."""
    return json.dumps(top, separators=(",", ":")) if top else ""


def parse_logprobs(text: str) -> tuple[tuple[str, float], ...]:
    return tuple((token, logprob) for token, logprob in json.loads(text)) if text else ()


class JudgeModel(Protocol):
    """Somebody who answers."""

    @property
    def gate(self) -> str:
        """Calls with one gate share a cool-down and a number in flight: (endpoint, key)."""
        ...

    @property
    def ceiling(self) -> int:
        """The most calls in flight that make sense for it."""
        ...

    async def complete(self, call: JudgeCall) -> JudgeReply: ...

    async def close(self) -> None: ...
