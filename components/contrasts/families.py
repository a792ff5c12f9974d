"""What a contrast compares: measures in families, all in points, so that they share one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from metrics import position, position_tallies
from metrics.agreement import people_agreement, people_kappa
from metrics.concord import PEOPLE
from metrics.length import LONGER
from metrics.measures import Evidence, Measure, Tally, tallied
from metrics.position_measure import FIRST_IF_EQUAL
from metrics.wins import win_rate_of


@dataclass(frozen=True, slots=True)
class Compared:
    """A measure with the words it stands under."""

    label: str
    told: str
    measure: Measure
    opens: Mapping[str, object] = field(default_factory=dict)
    """What Inspect is asked for, besides the side's judge and prompt."""


def _lean(evidence: Evidence) -> Tally:
    made = position_tallies.fairness(evidence)
    return tallied(made.rows, -made.sums[:, 0], made.sums[:, -1])


LEAN: Final = Measure("lean", "share", _lean, "mean", (-1, 1), position.NO_PAIRS)
"""Flips toward the first minus flips toward the second: preference fairness turned round."""

FLIPPED: Final = {"flipped": True}
UNLIKE: Final = {"unlike": PEOPLE}

CONSISTENCY: Final = Compared(
    "Consistency", "verdicts that survive a new order", position.CONSISTENCY, FLIPPED
)
FIRST: Final = Compared(
    "First-slot share", "of decisive verdicts", position.FIRST_SHARE, {"slot": 0}
)
LEANS: Final = Compared("Lean", "flips to first minus second", LEAN, FLIPPED)
HARD: Final = Compared("Hard flips", "the winner reverses", position.HARD_FLIPS, FLIPPED)
SOFT: Final = Compared("Soft flips", "a winner becomes a tie", position.SOFT_FLIPS, FLIPPED)
TIES: Final = Compared("Ties", "of all verdicts", position.TIE_RATE, {"slot": -1})
ENTROPY: Final = Compared("Entropy of slots", "100 is even", position.ENTROPY)
TERM: Final = Compared(
    "Position term", "how often the first of two equal answers wins", FIRST_IF_EQUAL
)
NOISE: Final = Compared(
    "Noise floor", "changes without any swap", position.NOISE_FLOOR, {"noise": True}
)
KNOWN: Final = Compared(
    "Right on known answers", "the better one by design; a tie is wrong", position.ACCURACY,
)  # fmt: skip
SAME: Final = Compared("Same as people", "their majority, ties counted", people_agreement(), UNLIKE)
DECIDED: Final = Compared(
    "Same as people, without ties", "where both decide", people_agreement("drop"), UNLIKE,
)  # fmt: skip
KAPPA: Final = Compared("κ with people, × 100", "0 is chance", people_kappa(), UNLIKE)
LONG: Final = Compared("Picks the longer", "of decisive verdicts", LONGER)

FAMILIES: Final[dict[str, tuple[Compared, ...]]] = {
    "Behaviour": (CONSISTENCY, FIRST, LEANS, HARD, TIES, SAME, KNOWN, LONG),
    "Position": (CONSISTENCY, FIRST, TERM, LEANS, HARD, SOFT, ENTROPY, NOISE),
    "Quality": (SAME, DECIDED, KAPPA, KNOWN, CONSISTENCY),
    "Win rates": (),
}
"""The last is made of the contestants."""

WITHIN: Final = {
    one.label: one for one in (CONSISTENCY, FIRST, LEANS, HARD, TIES, SAME, KNOWN, LONG)
}
"""What can be looked at category by category and item by item."""


def family_of(name: str, contestants: list[str], known_by_people: bool) -> list[Compared]:
    """The measures of a family. Where people's votes are the truth, "known" would be said twice."""
    if name == "Win rates":
        return [
            Compared(who, "win rate it is given", win_rate_of(who), {"contestant": who})
            for who in contestants
        ]
    return [one for one in FAMILIES[name] if not (known_by_people and one is KNOWN)]
