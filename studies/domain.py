"""Domain types: items, judges, asks (requests to judges), verdicts, judgements and estimates."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal, get_args

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
unusable."""

RETRYABLE_STATUSES: Final[frozenset[Status]] = frozenset(
    {"error", "empty", "truncated", "too_long", "unsupported"}
)
"""Statuses of calls that are made again when a user retries the failed calls of a study."""
ERROR_STATUSES: Final[frozenset[Status]] = frozenset({"error"})
"""Statuses of failed calls: they have no reply, and every run makes them again."""


def count_calls_left(counts: Mapping[str, int]) -> int:
    """Return the number of calls that the next run makes: those never made and those that
    failed with an error. `counts` maps a status to its number of calls, with "pending" for
    calls never made."""
    return sum(counts.get(status, 0) for status in ("pending", *ERROR_STATUSES))


def count_stored_replies(counts: Mapping[str, int]) -> int:
    """Return the number of calls with a stored reply: the total `counts["planned"]` less the
    calls that the next run makes (`count_calls_left`)."""
    return counts.get("planned", 0) - count_calls_left(counts)


Rater = tuple[str, str]
"""Names of a judge and of the prompt it is called with."""

REFERENCE: Final = "@reference"
UNRELATED: Final = "@unrelated"
BY_DESIGN: Final = "by-design"
HUMAN_PREFIX: Final = "human:"
QUESTION_META: Final = "question"
"""Key of `Item.meta` with a common id for items that share a question or a conversation; intervals
count items with the same id as one cluster."""
REPEATED_META: Final = "repeated_answers"
"""Key of `Item.meta` with the names, one per line, of the contestants whose answer to this item is
also, word for word, their answer to other questions."""

PASS: Final = "pass"
FAIL: Final = "fail"
PASS_FAIL_OPTIONS: Final = (FAIL, PASS)
"""`Ask.labels` of a pass/fail judgement, whose verdict has one score: 1 for pass, 0 for fail."""
GOLD: Final = "gold"
"""Source name of labels that count as known answers and take precedence over labels by people."""


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
    """One person's check of one answer: whether it follows the instruction (if not, `fault` can
    say what is wrong), and whether it is harmful. Checks are stored apart from judgements."""

    judge: str
    contestant: str
    follows: bool
    fault: str | None = None
    harmful: bool = False


@dataclass(frozen=True, slots=True)
class AnswerLabel:
    """The known right verdict on one answer: `value` is "pass", "fail" or a score; of a rubric,
    `levels` has the right level of each criterion."""

    contestant: str
    value: float | Literal["pass", "fail"]
    source: str = GOLD
    """Name of the labeller, or "gold"."""
    time: float = 0.0
    policy: str = ""
    """Name of the rules by which the label was given."""
    levels: tuple[tuple[str, float], ...] = ()
    """(criterion, level) pairs of a filled-in rubric; `value` is then the mean level."""


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
    labels: tuple[AnswerLabel, ...] = ()
    twins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Name of a twin (an answer with one change) -> its text. Twins are no contestants of the
    study."""

    def answer(self, contestant: str) -> str:
        """Return the answer of a contestant. For the name of a twin (a copy of an answer with one
        change) return the twin's text, for `@reference` the reference answer. KeyError for any
        other name."""
        if contestant in self.twins:
            return self.twins[contestant]
        return self.reference if contestant == REFERENCE else self.responses[contestant]


@dataclass(frozen=True, slots=True)
class Key:
    """Rules for one key (setting) of the study file, and its texts in the form on the page.

    A `Key` annotates a dataclass field: `seed: Annotated[int, Key(…)]`. Parser, JSON schema,
    key order and form controls are derived from it; a field without a `Key` is not part of
    the file."""

    label: str = ""
    hint: str = ""
    low: float = 0
    high: float = 10**9
    options: Mapping[str, str] = field(default_factory=dict)
    """Accepted word -> its label in the form; empty if any text is accepted."""
    pattern: re.Pattern[str] | None = None
    """Regular expression of values that are accepted in addition to `options`."""
    examples: str = ""
    """Values that match the pattern, shown in error messages."""
    option_hints: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """Name of the key in the study file; empty if it equals the name of the dataclass field."""
    expected: str = ""
    """Description of a valid value for error messages; if empty, it is derived from type and
    range."""
    missing: str = ""
    """Error message if a required key is absent or empty; empty if the key is not required."""
    placeholder: str = ""
    protocol: bool = False
    """Whether the key belongs to the protocol that a preset defines."""
    per_source: bool = False
    """Whether the key describes the data source; choosing another source removes the key."""
    null: bool = False
    """Whether the value null means something other than leaving the key out."""


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model in dollars per million tokens."""

    input: Annotated[float, Key("in", high=1e6)]
    output: Annotated[float, Key("out", high=1e6)]
    cache_read: Annotated[float | None, Key("", "in, read from a cache", high=1e6)] = None
    cache_write: Annotated[float | None, Key("", "in, written to a cache", high=1e6)] = None


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """A judge model and its settings. The API key itself is not stored, only the name of its
    environment variable."""

    name: Annotated[str, Key("Name")]
    model: Annotated[
        str,
        Key(
            "Model",
            "embedded, simulated, or the name of an endpoint's model",
            missing="a judge needs a model: embedded, simulated, or an endpoint's name",
        ),
    ]
    endpoint: Annotated[
        str,
        Key(
            "Address",
            "any OpenAI-compatible endpoint, also a local server",
            name="base_url",
            placeholder="https://api.openai.com/v1",
        ),
    ] = ""
    api_key_env: Annotated[
        str,
        Key(
            "or variable",
            "environment variable of the server that runs this page",
            placeholder="OPENAI_API_KEY",
        ),
    ] = ""
    family: Annotated[
        str, Key("Maker", "maker of the model, to measure self-preference", placeholder="openai")
    ] = ""
    temperature: Annotated[
        float | None,
        Key(
            "Temperature",
            "empty: not sent; some models accept no temperature",
            high=5,
            null=True,
            placeholder="not sent",
        ),
    ] = 0.0
    top_p: Annotated[float | None, Key("Top-p", high=1, placeholder="not sent")] = None
    seed: Annotated[int | None, Key("Seed", placeholder="not sent")] = None
    max_tokens: Annotated[int, Key("Max tokens", low=1, high=1_000_000)] = 4096
    reasoning_effort: Annotated[str | None, Key("Reasoning")] = None
    read: Annotated[
        Literal["text", "probabilities"],
        Key(
            "Verdict from",
            "token probabilities need an endpoint with logprobs",
            options={"text": "Reply text", "probabilities": "Token probabilities"},
        ),
    ] = "text"
    vision: Annotated[bool, Key("Vision", "accepts images")] = False
    price: Annotated[
        Price | None,
        Key("$ per million", "tokens; without a price the budget limit cannot be applied"),
    ] = None
    extra_body: Annotated[
        Mapping[str, object],
        Key(
            "Extra body",
            "JSON added to each request, such as provider options",
            expected="values that JSON supports",
        ),
    ] = field(default_factory=dict)
    simulation: Mapping[str, object] = field(default_factory=dict)
    """Parameters of a simulated judge; in the study file they are keys of the judge itself."""
    timeout_s: Annotated[float, Key("Time limit", low=1, high=3600)] = 180.0
    """Seconds that an attempt may take until the complete reply or, with `stream`, until the first
    token of the reply; then it fails. The fields from this one to `hedge` are not part of a call's
    key."""
    max_attempts: Annotated[int, Key("Attempts", low=1, high=20)] = 6
    """Maximum number of attempts at one call, retries included."""
    stream: Annotated[bool, Key("Stream")] = False
    """Whether the reply is streamed, so that a call that stalls is detected after `idle_s`."""
    idle_s: Annotated[float, Key("Silence limit", low=1, high=3600)] = 60.0
    """Seconds without any data after which a stream is given up."""
    connect_s: Annotated[float, Key("Connection limit", low=0.1, high=300)] = 10.0
    """Maximum seconds for opening a connection to the endpoint."""
    hedge: Annotated[bool, Key("Second calls")] = False
    """Whether a call that takes far longer than usual may be sent a second time, in parallel."""
    weights: Annotated[
        str,
        Key(
            "Weights",
            "a .gguf file on this machine, or hub:owner/repo/file.gguf; empty: the built-in model",
            placeholder="hub:owner/repo/file.gguf",
        ),
    ] = ""
    """GGUF file of an embedded judge; if empty, the weights that are installed with Evenhand."""
    provider: Annotated[str, Key("Provider")] = ""
    """Name of the provider preset given in the study file; the parser copies the preset's values to
    other fields of the judge and then empties this field."""

    @property
    def kind(self) -> Literal["embedded", "simulated", "endpoint"]:
        if self.model == "embedded":
            return "embedded"
        return "simulated" if self.model == "simulated" else "endpoint"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to one judge: an item, a prompt and the answers to be judged.

    `shown` lists the contestants in the order shown, `labels` the names that the prompt gives
    to their answers, such as A and B (for a verdict on one answer: the options of the
    verdict). `noise` marks an extra copy of a request, sent to measure how often a judge
    changes its verdict on an identical request (the noise floor). If an answer to another
    question is one of the options, `unrelated_item` is the item that it is taken from. If the
    judge only extracts a verdict from another judge's reply, `reads` is the key of the call
    that gave this reply."""

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
    """Number of planned orders of this comparison; 0 for a recorded verdict of unknown order."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict read from a reply. `pick` is the index in `Ask.shown` of the answer chosen,
    "tie", or None if the reply contains only scores. `label_mass` is the probability that the
    judge gave to all labels together, as opposed to other tokens."""

    pick: int | Literal["tie"] | None = None
    margin: int = 1
    scores: tuple[float, ...] = ()
    label_probabilities: tuple[float, ...] = ()
    label_mass: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one call, as its provider reports them. A count that is not reported is
    None for `prompt` and `completion`, and 0 for the other fields."""

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    cache_write: int = 0
    reasoning_tokens: int = 0
    """Completion tokens of the reasoning before the answer."""


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The stored result of an ask (a call, a recorded verdict or a person's vote): the reply, and
    the verdict read from it."""

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
    """Most probable last tokens of the reply as JSON, [[token, log-probability], …]; for a rubric,
    one such list per criterion. Stored so that label probabilities can be recomputed."""

    @property
    def usable(self) -> bool:
        return self.status in USABLE_STATUSES


def recorded_key(source: str, ask: Ask) -> str:
    """Return the key under which a recorded verdict of the study `source` is stored, a hash of
    the request. It never equals the key of a call.

    A recorded verdict is therefore never reused as the result of a call."""
    parts = ["recorded", source, ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat]
    return "r" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:39]


def assign_recorded_keys(source: str, judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return copies of the judgements whose keys are those of recorded verdicts (see
    `recorded_key`); `source` is the name of the study."""
    return [replace(j, ask=replace(j.ask, key=recorded_key(source, j.ask))) for j in judgements]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated value with its interval from `low` to `high`; `level` is the level of
    confidence, such as 0.95. `n` is the number of verdicts or comparisons, `items` the number
    of items they are about. `value` is None if it cannot be estimated."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    items: int = 0
    unit: str = ""
    level: float = 0.95
    method: str = ""
    note: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval is above or below 0; False without an interval."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high
