"""The domain types: what is judged, by whom, what was asked, what came back, what it means."""

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
"""Only these say something about the judge. All others are kept and counted, never scored."""

RETRYABLE_STATUSES: Final[frozenset[Status]] = frozenset(
    {"error", "empty", "truncated", "too_long", "unsupported"}
)

REFERENCE: Final = "@reference"
UNRELATED: Final = "@unrelated"
BY_DESIGN: Final = "by-design"
HUMAN_PREFIX: Final = "human:"


@dataclass(frozen=True, slots=True)
class Preference:
    """What a person (or the design of the data) says about some answers to one item.

    `picked` is a contestant or "tie"; ranked data has `ranks` instead (1 is best).
    `shown` is None where the order in which the person saw the answers is not known.
    """

    judge: str
    shown: tuple[str, ...] | None
    picked: str | None
    margin: int = 1
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """One answer verified by one person: it compares nothing, so it is no judgement."""

    judge: str
    contestant: str
    follows: bool
    fault: str | None = None
    harmful: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One question with the answers of several contestants."""

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
        """The text a contestant plays with; the reference may play as one of them."""
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
    """Who is asked, and how. Never holds a key: only the name of the variable that does."""

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

    @property
    def kind(self) -> Literal["embedded", "simulated", "endpoint"]:
        if self.model == "embedded":
            return "embedded"
        return "simulated" if self.model == "simulated" else "endpoint"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question put to one judge: `shown` holds the contestants in the order shown,
    `labels` what each slot is called. The key hashes the whole canonical request."""

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
    """How many orders of this comparison were planned: a set is complete when all are read."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reading of a reply, in shown slots. `pick` is None for formats that only score."""

    pick: int | Literal["tie"] | None = None
    margin: int = 1
    scores: tuple[float, ...] = ()
    label_probabilities: tuple[float, ...] = ()
    label_mass: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    cache_write: int = 0


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of an ask. The raw reply is the truth, the verdict a reading of it."""

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
    """For people: why there is no verdict (a provider's message, scrubbed)."""
    top_logprobs: str = ""
    """What the judge might have said at its last token, as it came: [[token, log-probability], …]
    as JSON, kept so that label probabilities can be read again."""

    @property
    def readable(self) -> bool:
        return self.status in USABLE_STATUSES


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that can be plotted: it never travels without its interval, n and unit."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    items: int = 0
    unit: str = ""
    level: float = 0.95
    method: str = ""
    note: str = ""
