"""The record of a measure: its names, definition, conditions, chance level and estimator, declared
once.

Page, report, tables for a paper, JSON, library, gate and docs/statistics.md take these facts from
the record. The records are declared in the other modules of this package, one module for each
family of measures; `records.py` imports these modules and collects the records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, ParamSpec

from metrics.estimation.measures import Measure

Question = Literal["position", "nudges", "agreement", "ranking", "remedies"]
QUESTIONS: Final[dict[Question, str]] = {
    "position": "Does the order move it?",
    "nudges": "What else moves it?",
    "agreement": "Is it right?",
    "ranking": "Who wins, and does it hold?",
    "remedies": "What should I do?",
}
"""The questions of a user that measures answer."""
Style = Literal["percent", "points", "decimal", "logit", "rating", "dollars"]
Outlet = Literal["matrix", "card", "library", "paper", "gate"]
Neutral = float | Callable[[int, float], float] | None
"""Value of a measure for random choices (no effect): a number, a function of the number of options
and the share of ties, or None if there is no such value."""
CHANCE: Final = "Chance: random choices, each position equally often, as many ties as measured."


@dataclass(frozen=True, slots=True)
class Need:
    """A condition of a measure: what the data must have (`words`), and what the user can do if it
    is missing (`action`)."""

    words: str
    action: str


BOTH_ORDERS: Final = Need("verdicts in both orders", "Run the study in both orders.")
KNOWN_ORDER: Final = Need("the order in which answers were shown", "Record which was shown first.")
REPEATS: Final = Need("repeated calls in the same order", "Set noise_floor in the study file.")
PLANNED_REPEATS: Final = Need("several calls in each order", "Set repeats in the study file.")
KNOWN_ANSWERS: Final = Need("known better answers", "Add gold labels, or collect votes.")
VOTES: Final = Need("votes by people", "Open Vote, or import votes.")
VOTES_OR_ANSWERS: Final = Need(
    "votes by people or known better answers", "Open Vote, or add gold labels."
)
LABELS: Final = Need("labels of single answers", "Add labels to the items.")
SCORES: Final = Need("scores or verdicts on single answers", "Use a prompt for single answers.")
SEVERAL_OPTIONS: Final = Need("comparisons of more than two answers", "Ask for a choice among N.")
SEVERAL_JUDGES: Final = Need("several judges", "Add a judge to the study.")
THREE_JUDGES: Final = Need("at least three judges", "Add judges to the study.")
LENGTHS: Final = Need("the texts of the answers", "Import the answers with the verdicts.")
FAMILIES: Final = Need("model families of judge and answers", "Set families in the study file.")
PROBABILITIES: Final = Need("probabilities of the labels", "Set read: probabilities for a judge.")
PRESET: Final = Need("the protocol's preset", "Set a preset in the study file.")


@dataclass(frozen=True, kw_only=True)
class MeasureRecord:
    """All facts about one measure that more than one part of the program needs."""

    key: str
    """Name in the JSON, unique in the catalogue."""
    name: str
    """The only name on the page."""
    question: Question
    definition: str
    """One sentence without a period: what is counted, over what."""
    paths: tuple[str, ...]
    """Where `python -m metrics --json` has it; * stands for a name of the study."""
    short: str = ""
    """Heading of a narrow column, or in a table of a paper; if it is empty, the name is used."""
    how: str = ""
    """Computation in detail, with the method of the interval."""
    unit: str = "share"
    style: Style = "percent"
    neutral: Neutral = None
    better: Literal["high", "low", ""] = ""
    needs: tuple[Need, ...] = ()
    scope: Literal["rater", "category", "pair", "model", "study"] = "rater"
    measure: Measure | None = None
    """Estimator from item totals; None for an estimate that a model or a table returns."""
    options: Literal["pairs", "many", "both"] = "both"
    """Whether the measure applies to comparisons of two answers, of more, or of both."""
    outlets: frozenset[Outlet] = frozenset()
    """Places that list the measure: the matrix and the cards of the page, the library, the tables
    for a paper, the gate for CI."""
    families: tuple[str, ...] = ()
    """Families of paired differences that contain the measure."""
    selection: Mapping[str, object] = field(default_factory=dict)
    """Filters of Inspect that list the judgements behind the number."""
    counts_verdicts: bool = False
    """Whether its n counts single verdicts instead of comparisons."""
    also_known_as: tuple[str, ...] = ()
    """Names in papers, each with its paper."""

    @property
    def column_head(self) -> str:
        """The short name (the full name if there is none), for the head of a narrow column."""
        return self.short or self.name

    @property
    def description(self) -> str:
        """The definition as the page shows it; "% of " is put before a share in percent."""
        return f"% of {self.definition}" if self.style == "percent" else self.definition

    @property
    def estimator(self) -> Measure:
        """The object that estimates the measure from sums by item; ValueError for a measure that is
        computed in another way."""
        if self.measure is None:
            raise ValueError(f"{self.name} is not estimated from item totals")
        return self.measure

    def chance(self, options: int = 2, ties: float = 0.0) -> float | None:
        """The value of the measure for random choices, with this number of options and share of
        ties; None if the measure has no such value."""
        return self.neutral(options, ties) if callable(self.neutral) else self.neutral


SHARE_INTERVAL: Final = "Interval: Wilson at the effective number of items."
T_INTERVAL: Final = "Interval: Student's t over items."
JACKKNIFE_INTERVAL: Final = "Interval: jackknife over items."
"""Sentences on the usual intervals, for `MeasureRecord.how`."""

_Facts = ParamSpec("_Facts")
DECLARED: Final[dict[str, MeasureRecord]] = {}
"""Key -> record, in the order of declaration."""


def _make_declarer(build: Callable[_Facts, MeasureRecord]) -> Callable[_Facts, MeasureRecord]:
    """Return the function `declare`, which builds a record with `build`, adds it to the catalogue
    and returns it; it raises ValueError if the catalogue has a record with the same key."""

    def declare(*args: _Facts.args, **facts: _Facts.kwargs) -> MeasureRecord:
        record = build(*args, **facts)
        if record.key in DECLARED:
            raise ValueError(f"the measure {record.key} is declared twice")
        return DECLARED.setdefault(record.key, record)

    return declare


declare: Final = _make_declarer(MeasureRecord)
"""Add the record with these facts to the catalogue and return it; ValueError if the catalogue has a
record with the same key."""


def declare_measures(
    question: Question,
    scope: Literal["rater", "category", "pair", "model", "study"],
    *rows: tuple[str, str, str, str, str],
    **facts: Any,
) -> None:
    """Declare several measures. A row has the key, name, definition, method (`how`) and JSON paths
    (separated by spaces) of one measure; `question`, `scope` and `facts` are common to all."""
    for key, name, definition, how, paths in rows:
        declare(
            key=key, name=name, definition=definition, how=how, question=question,
            scope=scope, paths=tuple(paths.split()), **facts,
        )  # fmt: skip
