"""Domain types: items, judge specifications, asks, verdicts, judgements and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

Status = Literal[
    "ok",
    "extracted",
    "unreadable",
    "empty",
    "refusal",
    "filtered",
    "truncated",
    "too_long",
    "unsupported",
    "error",
]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
USABLE_STATUSES: Final[frozenset[Status]] = frozenset({"ok", "extracted"})
"""Statuses with a readable verdict. Replies with any other status are stored and counted as
unusable, and enter no estimate."""

RETRYABLE_STATUSES: Final[frozenset[Status]] = frozenset(
    {"error", "empty", "truncated", "too_long", "unsupported"}
)
"""Statuses of calls that a retry makes again."""

REFERENCE: Final = "@reference"
UNRELATED: Final = "@unrelated"
BY_DESIGN: Final = "by-design"
HUMAN_PREFIX: Final = "human:"


@dataclass(frozen=True, slots=True)
class Preference:
    """A person's choice among answers to one item, or the choice given by the data's design.

    `picked` is a contestant or "tie"; ranked data has `ranks` instead (1 is best).
    `shown` is None if the order in which the person saw the answers is unknown.
    """

    judge: str
    shown: tuple[str, ...] | None
    picked: str | None
    margin: int = 1
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """A person's verification of one answer. It compares no answers, so it is not a judgement."""

    judge: str
    contestant: str
    follows: bool
    fault: str | None = None
    harmful: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A question with the answers of several contestants (models)."""

    id: str
    instruction: str
    responses: Mapping[str, str]
    category: str = ""
    context: str | tuple[str, ...] = ""
    images: tuple[str, ...] = ()
    reference: str = ""
    ground_truth: str = ""
    criteria: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    human: tuple[Preference, ...] = ()
    checks: tuple[AnswerCheck, ...] = ()

    def answer(self, contestant: str) -> str:
        """The answer of a contestant; the contestant may be the item's reference answer."""
        return self.reference if contestant == REFERENCE else self.responses[contestant]


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """A judge model and its settings; holds the name of the API key's variable, never the key."""

    name: str
    model: str
    endpoint: str = ""
    api_key_env: str = ""
    family: str = ""
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 4096
    reasoning_effort: str | None = None
    read: Literal["text", "probabilities"] = "text"
    vision: bool = False
    price: Price | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    simulation: Mapping[str, object] = field(default_factory=dict)
    timeout_s: float = 180.0
    """Seconds after which a call without a complete reply is given up; with `stream`, seconds until
    its first token. Like the fields below it is not part of a call's key."""
    max_attempts: int = 6
    """Calls made for one ask at most, the retries included."""
    stream: bool = False
    """Whether the reply is requested token by token, so that a silent call can be detected."""
    idle_s: float = 60.0
    """Seconds without any data after which a stream is given up."""
    connect_s: float = 10.0
    """Seconds to make a connection."""
    hedge: bool = False
    """Whether a second call may be made while the first takes far longer than usual."""

    @property
    def kind(self) -> Literal["embedded", "simulated", "endpoint"]:
        if self.model == "embedded":
            return "embedded"
        return "simulated" if self.model == "simulated" else "endpoint"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to one judge: `shown` lists the contestants in the order shown, `labels` the
    label of each slot. The key is a hash of the whole canonical request."""

    key: str
    item: str
    judge: str
    prompt: str
    shown: tuple[str, ...]
    labels: tuple[str, ...]
    repeat: int = 0
    noise: bool = False
    unrelated_item: str | None = None
    reads: str | None = None
    orders: int = 1
    """Number of planned orders of this comparison. A comparison is complete when the verdicts of
    all its orders are readable."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict parsed from a reply, in terms of the slots shown; `pick` is None if it only has
    scores."""

    pick: int | Literal["tie"] | None = None
    margin: int = 1
    scores: tuple[float, ...] = ()
    label_probabilities: tuple[float, ...] = ()
    label_mass: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts reported by the provider; None if not reported."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    cache_write: int = 0
    reasoning_tokens: int = 0
    """Completion tokens of the reasoning before the answer."""


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The stored result of an ask: the raw reply and the verdict parsed from it."""

    ask: Ask
    status: Status
    verdict: Verdict | None = None
    rule: str = ""
    reply: str = ""
    reasoning: str = ""
    finish: str = ""
    usage: Usage = NO_USAGE
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""
    time: float = 0.0
    detail: str = ""
    """Readable reason for a missing verdict (the provider's message without secrets)."""
    top_logprobs: str = ""
    """Most likely tokens at the last position, as received: [[token, log-probability], …] as
    JSON. Stored so that label probabilities can be recomputed."""

    @property
    def readable(self) -> bool:
        return self.status in USABLE_STATUSES


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval, sample size and unit, ready to be plotted."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    items: int = 0
    unit: str = ""
    level: float = 0.95
    method: str = ""
    note: str = ""
