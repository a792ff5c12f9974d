"""Settings of a study as frozen dataclasses; a field with a `Key` is a key of the study file.

To add a key, add a field here (for a judge in `studies.domain.JudgeSpec`): parser, JSON schema,
dump, key order, defaults and differences from presets are derived from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from studies.domain import JudgeSpec, Key
from studies.spec.combine_rules import COMBINE_RULES, REMEDY_EXAMPLES, REMEDY_PATTERN, REMEDY_RULES
from studies.spec.presets import PRESETS
from studies.texts.twin_families import QUICK

_slice_key = partial(Key, per_source=True)
_protocol_key = partial(Key, protocol=True)
PAIR_ORDERS: Final = ("both", "one")
OPTION_ORDERS: Final = ("rotations", "williams", "all", "one")
PROTOCOLS: Final = (
    "pairwise",
    "choice",
    "five-level",
    "factuality",
    "single",
    "describe",
    "extraction",
)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Parameters of a simulated judge, which define its true bias; None if not set."""

    first_bias: Annotated[
        float | None,
        Key("First bias", "probability of picking the first answer regardless of content", high=1),
    ] = None
    accuracy: Annotated[
        float | None, Key("Accuracy", "otherwise, probability of picking the better answer", high=1)
    ] = None
    tie_rate: Annotated[
        float | None, Key("Tie rate", "probability of a tie; the prompts must offer it", high=1)
    ] = None
    length_preference: Annotated[
        float | None,
        Key("Length preference", "prefers the longer answer; below 0 the shorter", low=-1, high=1),
    ] = None
    self_preference: Annotated[
        float | None, Key("Self preference", "prefers answers of its own family", high=1)
    ] = None
    unreadable_rate: Annotated[
        float | None, Key("Unreadable rate", "probability of a reply without a verdict", high=1)
    ] = None
    much_rate: Annotated[float | None, Key("", "share of wins that are much better", high=1)] = None
    contradiction_rate: Annotated[float | None, Key("", "share against its grades", high=1)] = None
    score_mean: Annotated[float | None, Key("", "points of a middling answer", high=10)] = None
    score_spread: Annotated[float | None, Key("", "further points of the best", high=10)] = None
    score_noise: Annotated[float | None, Key("", "deviation of points or steps", high=10)] = None
    first_points: Annotated[float | None, Key("", "points for the first", low=-10, high=10)] = None
    sensitivity: Annotated[
        float | None, Key("Sensitivity", "probability of passing a good answer", high=1)
    ] = None
    specificity: Annotated[
        float | None, Key("Specificity", "probability of failing a bad answer", high=1)
    ] = None
    severity: Annotated[float | None, Key("", "steps below the label", low=-10, high=10)] = None
    graded_signal: Annotated[float | None, Key("", "log-odds if better", low=-10, high=10)] = None
    graded_first: Annotated[float | None, Key("", "log-odds if first", low=-10, high=10)] = None
    graded_noise: Annotated[float | None, Key("", "deviation of the log-odds", high=10)] = None
    graded_much: Annotated[float | None, Key("", "log-odds for much better", high=10)] = None
    slot_weights: Annotated[
        tuple[float, ...] | None,
        Key(
            "Slot weights",
            "one weight per position; with the probability “first bias”, the position is drawn by "
            "them",
            expected="a non-negative weight for each slot, not all 0 in the first two",
            placeholder="1, 0, 0",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The judge that extracts the verdict from a reply in which no rule finds one: the name of one
    of the study's judges, or a separate judge."""

    judge: Annotated[object, Key("Extraction", expected="a judge's name or definition")] = None


@dataclass(frozen=True, slots=True)
class TwinSpec:
    """Settings for twins: copies of answers with one change, which judges compare in addition to
    the study's own comparisons."""

    families: Annotated[
        tuple[str, ...],
        Key("Families", "quick, full, or a list; floors and controls are always added"),
    ] = QUICK
    design: Annotated[
        str,
        Key(
            "Design",
            options={"duel": "Duel", "substitution": "Substitution"},
            option_hints={
                "duel": "each twin against its original, both orders: 2 calls per twin",
                "substitution": "one answer of a pair is replaced by its twin: shows changed "
                "verdicts",
            },
        ),
    ] = "duel"
    answers: Annotated[tuple[str, ...], Key("Answers of", "models; all: every model")] = ()
    per_item: Annotated[
        int, Key("Per item", "answers of each item (substitution: pairs)", low=1, high=64)
    ] = 1
    items: Annotated[int, Key("Items", "drawn by the seed; 0: all items of the study")] = 0


@dataclass(frozen=True, slots=True)
class DataSpec:
    """Data source of a study, and the slice of its items."""

    source: Annotated[str, Key("Source", "built-in name, path, or hub:owner/name")] = "probe"
    format: Annotated[str, _slice_key("Format")] = "auto"
    files: Annotated[
        Mapping[str, str], _slice_key("Answers of", "add a model: its name, then its file")
    ] = field(default_factory=dict)
    join: Annotated[
        tuple[str, ...],
        _slice_key(
            "Joined on",
            "columns that identify a question; empty: detected automatically",
            placeholder="image, instruction",
        ),
    ] = ()
    mapping: Annotated[
        Mapping[str, str], _slice_key("Columns", "column: field, for unknown tables")
    ] = field(default_factory=dict)
    split: Annotated[str, _slice_key("Split", "if the source has splits", placeholder="test")] = ""
    read: Annotated[
        str, _slice_key("Verdicts", "verdict format in which recorded replies are read")
    ] = ""
    parts: Annotated[
        tuple[str, ...],
        _slice_key("Further files", "files in the same format, read together with the source"),
    ] = ()
    where: Annotated[
        Mapping[str, tuple[str, ...]],
        _slice_key(
            "Filter",
            "field: value or values to keep; also meta.x, checks.follows",
            expected="a value or a list of values to keep",
        ),
    ] = field(default_factory=dict)
    options: Annotated[
        int,
        _slice_key("Options", "only items with exactly this many answers; 0: any number", high=64),
    ] = 0
    categories: Annotated[tuple[str, ...], _slice_key("Categories")] = ()
    count: Annotated[int, _slice_key("Items", "0: all items")] = 0
    take: Annotated[
        str,
        _slice_key(
            "Sample",
            options={"random": "Random", "first": "First"},
            option_hints={
                "random": "drawn by the seed; a larger sample contains the smaller one",
                "first": "the first items of the file",
            },
        ),
    ] = "random"
    per: Annotated[
        Mapping[str, int],
        _slice_key(
            "Items per",
            "this many items per value: a stratified sample",
            expected="a whole number of items",
            placeholder="category: 2",
        ),
    ] = field(default_factory=dict)
    seed: Annotated[int, Key("Seed")] = 0


@dataclass(frozen=True, slots=True)
class Study:
    """All settings that determine the calls of a study and the counting of its verdicts."""

    name: Annotated[
        str, Key("Name", missing="a study needs a name; its judgements are stored under it")
    ]
    preset: Annotated[
        str, Key("Protocol", options={name: preset.title for name, preset in PRESETS.items()})
    ] = field(default="", kw_only=True)
    data: Annotated[DataSpec, Key("Data")] = DataSpec()
    contestants: Annotated[tuple[str, ...], Key("Models")] = ()
    judges: Annotated[tuple[JudgeSpec, ...], Key("Judges")] = ()
    prompts: Annotated[tuple[str, ...], _protocol_key("Prompts")] = ()
    protocol: Annotated[
        str,
        _protocol_key(
            "Prompts",
            "use only the prompts of one protocol",
            options={name: f"{name} only" for name in PROTOCOLS},
        ),
    ] = ""
    pairing: Annotated[
        str,
        _protocol_key(
            "Pairing",
            options={"all": "All pairs", "baseline": "Baseline", "new": "New"},
            option_hints={
                "all": "every model against every other",
                "baseline": "every model against one: fewer calls, no direct comparison of the "
                "others",
                "new": "one random opponent per item, plus some comparisons against the baseline",
            },
        ),
    ] = "all"
    baseline: Annotated[
        str,
        _protocol_key(
            "Baseline", "opponent of every model; @reference is the reference answer of each item"
        ),
    ] = ""
    new: Annotated[str, _protocol_key("New", "the model to be assessed")] = ""
    reference_games: Annotated[
        int, _protocol_key("Games", "comparisons of the new model against the baseline")
    ] = 100
    families: Annotated[Mapping[str, str], Key("Model families")] = field(default_factory=dict)
    orders: Annotated[
        str,
        _protocol_key(
            "Orders",
            options={
                "both": "Both",
                "rotations": "Rotations",
                "williams": "Williams",
                "all": "All",
                "one": "One",
            },
            option_hints={
                "both": "each pair in both orders",
                "rotations": "each option in each position once: N calls per item",
                "williams": "each option also directly after every other: N or 2N calls per item",
                "all": "every permutation, for up to four options: N! calls per item",
                "one": "half the calls, but **position bias cannot be measured with one order**",
            },
        ),
    ] = ""
    labels: Annotated[
        str,
        _protocol_key(
            "Labels",
            "crossed: half of the pairs label the first answer B, separating position from label",
            options={"plain": "As given", "crossed": "Swap labels too"},
        ),
    ] = "plain"
    options: Annotated[
        str,
        _protocol_key(
            "Score options",
            "order of pass and fail, or of the scores, in prompts that judge one answer",
            options={
                "ascending": "Ascending",
                "descending": "Descending",
                "rotations": "Rotations",
                "crossed": "Crossed",
            },
            option_hints={
                "ascending": "the worst option first: one call per answer",
                "descending": "the best option first: one call per answer",
                "rotations": "each option in each position once: shows the effect of their order",
                "crossed": "rotations with letters in two orders: separates position from letter",
            },
        ),
    ] = "ascending"
    criteria_order: Annotated[
        str,
        _protocol_key(
            "Criteria order",
            options={"given": "As given", "rotations": "Rotations"},
            option_hints={
                "given": "one order of a rubric's criteria",
                "rotations": "each criterion in each place once: measures the effect of their "
                "order",
            },
        ),
    ] = "given"
    criteria: Annotated[
        str, _protocol_key("Criteria", "when an answer is good, for prompts that judge one answer")
    ] = ""
    unrelated: Annotated[
        str,
        _protocol_key(
            "Unrelated",
            "an answer to another question as an extra option, or in place of the worst",
            options={"none": "None", "add": "Add", "replace": "Replace"},
        ),
    ] = "none"
    repeats: Annotated[int, _protocol_key("Repeats", low=1, high=100)] = 1
    noise_floor: Annotated[
        float,
        _protocol_key(
            "Noise floor",
            "share of calls repeated in the same order, to measure changes without a swap",
            high=1,
        ),
    ] = 0.0
    judge_sees: Annotated[
        str, _protocol_key("Judge sees", options={"context": "Description", "images": "Images"})
    ] = "context"
    combine: Annotated[
        str,
        _protocol_key(
            "Two orders",
            options=COMBINE_RULES | REMEDY_RULES,
            pattern=REMEDY_PATTERN,
            examples=REMEDY_EXAMPLES,
            option_hints={
                "pooled": "each order counts as a separate verdict",
                "strict": "a win needs both orders, else a tie: fewer wins, more ties",
                "majority": "one win and one tie count as a win",
                "graded": "the mean of both orders' graded replies decides",
            },
        ),
    ] = "pooled"
    unreadable: Annotated[
        str,
        _protocol_key(
            "Unreadable",
            options={"exclude": "Exclude", "tie": "Tie"},
            option_hints={
                "exclude": "excluded, and counted as unusable",
                "tie": "a reply without a readable verdict counts as a tie",
            },
        ),
    ] = "exclude"
    reading: Annotated[
        str,
        _protocol_key(
            "Parsing",
            "replies are stored: another rule can be applied later without new calls",
            options={
                "default": "last verdict; “Response X is better” must occur once",
                "last": "last verdict, also if there are several",
                "gradelab": "as in the code of Grade Score's authors",
            },
        ),
    ] = "default"
    extraction: Annotated[
        JudgeSpec | None,
        Key(
            "Second reader for unclear replies",
            "a second judge reads replies without a readable verdict; its calls are billed",
        ),
    ] = None
    twins: Annotated[
        TwinSpec | None,
        Key("Twins", "answers with one change that should not matter: quick, full, or a block"),
    ] = None
    concurrency: Annotated[
        int, Key("Concurrency", "simultaneous calls per endpoint", low=1, high=4096)
    ] = 16
    budget_usd: Annotated[
        float | None, Key("Budget", "a run stops before it would exceed this amount", high=1e9)
    ] = None
    folder: Path = Path()
    """Folder of the study file, to which its paths are relative; neither stored nor hashed."""

    @property
    def pair_orders(self) -> str:
        """Orders in which pairs are shown: `orders` if it is "both" or "one", else "both"."""
        return self.orders if self.orders in PAIR_ORDERS else "both"

    @property
    def option_orders(self) -> str:
        """Orders in which all answers are shown together: the value of `orders` if it is one for
        more than two answers (OPTION_ORDERS), else "rotations"."""
        return self.orders if self.orders in OPTION_ORDERS else "rotations"
