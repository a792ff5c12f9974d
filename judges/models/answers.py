"""What every kind of judge takes and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from judges.prompt import Prompt, Scene
from studies.records import NO_USAGE, JudgeSpec, Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it goes out; `scene` is what it was rendered from."""

    key: str
    judge: JudgeSpec
    prompt: Prompt
    scene: Scene
    messages: list[dict[str, Any]]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as it came."""

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish: str = ""
    usage: Usage = NO_USAGE
    model: str = ""
    token_probabilities: Mapping[str, float] = field(default_factory=dict)


class Model(Protocol):
    """Somebody who answers."""

    @property
    def gate(self) -> str:
        """Calls with one gate share a cool-down and a number in flight: (endpoint, key)."""
        ...

    @property
    def ceiling(self) -> int:
        """The most calls in flight that make sense for it."""
        ...

    async def complete(self, call: Call) -> Answer: ...

    async def close(self) -> None: ...
