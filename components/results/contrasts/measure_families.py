"""Measures of the view Compare two, in families; all are in percentage points, to share an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from components.results.contrasts.point_measures import (
    MEAN_LEVEL,
    NEAR_LABEL,
    PASS_RATE,
    RIGHT_BY_LABEL,
)
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.estimation.measures import Measure
from metrics.position import position_measures
from metrics.position.position_term_measure import FIRST_IF_EQUAL
from metrics.summary import contrast_families
from metrics.win_rates.length_effects import LONGER_SHARE
from metrics.win_rates.win_rates import win_rate_measure


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """A measure, with its label and description for the page."""

    label: str
    description: str
    measure: Measure
    selection: Mapping[str, object] = field(default_factory=dict)
    """Filters, besides judge and prompt of a side, with which Inspect lists the judgements that the
    measure is about; such as flips for the consistency."""


FLIPPED_SELECTION: Final = {"flipped": True}
PEOPLE_SELECTION: Final = {"unlike": PEOPLE}

CONSISTENCY: Final = ComparedMeasure(
    "Consistency",
    "% of comparisons with the same verdict in every order",
    position_measures.CONSISTENCY,
    FLIPPED_SELECTION,
)
FIRST_SHARE: Final = ComparedMeasure(
    "First-position share",
    "% of verdicts for the answer shown first, ties left out",
    position_measures.FIRST_SHARE,
    {"slot": 0},
)
FLIP_LEAN: Final = ComparedMeasure(
    "Lean",
    "flips toward the answer shown first minus flips toward the second, % of pairs",
    contrast_families.LEAN,
    FLIPPED_SELECTION,
)
HARD_FLIPS: Final = ComparedMeasure(
    "Hard flips",
    "% of pairs in which the winner reverses when swapped",
    position_measures.HARD_FLIPS,
    FLIPPED_SELECTION,
)
SOFT_FLIPS: Final = ComparedMeasure(
    "Soft flips",
    "% of pairs with a winner in one order and a tie in the other",
    position_measures.SOFT_FLIPS,
    FLIPPED_SELECTION,
)
TIES: Final = ComparedMeasure(
    "Ties", "% of all verdicts that are ties", position_measures.TIE_RATE, {"slot": -1}
)
ENTROPY: Final = ComparedMeasure(
    "Entropy of positions",
    "entropy of the chosen position, × 100; 100 means no preferred position",
    position_measures.SLOT_ENTROPY,
)
POSITION_TERM: Final = ComparedMeasure(
    "Position term",
    "% of verdicts that the answer shown first would win against an equally good one",
    FIRST_IF_EQUAL,
)
NOISE_FLOOR: Final = ComparedMeasure(
    "Noise floor",
    "% of verdicts that change when repeated in the same order",
    position_measures.NOISE_FLOOR,
    {"noise": True},
)
KNOWN_ACCURACY: Final = ComparedMeasure(
    "Accuracy where the better answer is known",
    "% of verdicts for the answer that is better by design; a tie counts as wrong",
    position_measures.ACCURACY,
)
SAME_AS_PEOPLE: Final = ComparedMeasure(
    "Agreement with people",
    "% of verdicts equal to the people's majority, ties included",
    contrast_families.AGREEMENT,
    PEOPLE_SELECTION,
)
DECISIVE_AGREEMENT: Final = ComparedMeasure(
    "Agreement with people, without ties",
    "% of verdicts equal to the people's majority where neither is a tie",
    contrast_families.DECISIVE_AGREEMENT,
    PEOPLE_SELECTION,
)
KAPPA_WITH_PEOPLE: Final = ComparedMeasure(
    "κ with people, × 100",
    "agreement with the people's majority, corrected for chance; 0 is the chance level",
    contrast_families.KAPPA,
    PEOPLE_SELECTION,
)
LONGER_PREFERENCE: Final = ComparedMeasure(
    "Share of verdicts for the longer answer",
    "% of verdicts for the longer answer, ties left out",
    LONGER_SHARE,
)

POINT_MEASURES: Final = (
    ComparedMeasure("Pass rate", "% of single answers that pass", PASS_RATE),
    ComparedMeasure(
        "Agreement with labels", "% of pass/fail verdicts equal to the label", RIGHT_BY_LABEL
    ),
    ComparedMeasure(
        "Mean score, % of the scale", "0 is the lowest score, 100 the highest", MEAN_LEVEL
    ),
    ComparedMeasure(
        "Scores within one step of the label",
        "% of scores at most one step from the label",
        NEAR_LABEL,
    ),
)
SINGLE_ANSWERS: Final = "Single answers"
"""Family of the measures of verdicts on single answers."""

COMPARED: Final = (
    CONSISTENCY,
    FIRST_SHARE,
    FLIP_LEAN,
    HARD_FLIPS,
    SOFT_FLIPS,
    TIES,
    ENTROPY,
    POSITION_TERM,
    NOISE_FLOOR,
    KNOWN_ACCURACY,
    SAME_AS_PEOPLE,
    DECISIVE_AGREEMENT,
    KAPPA_WITH_PEOPLE,
    LONGER_PREFERENCE,
)
FAMILIES: Final[dict[str, tuple[ComparedMeasure, ...]]] = {
    **{
        name: tuple(one for measure in members for one in COMPARED if one.measure is measure)
        for name, members in contrast_families.FAMILIES.items()
    },
    SINGLE_ANSWERS: POINT_MEASURES,
}
"""Family -> measures. For "Win rates" the tuple is empty: `family_measures` builds one measure for
each model of the study."""

CATEGORY_MEASURES: Final = {one.label: one for one in (*FAMILIES["Behaviour"], *POINT_MEASURES)}
"""Label -> measure, for the measures that can be shown by category and by item."""
POINT_LABELS: Final = tuple(one.label for one in POINT_MEASURES)


def family_measures(
    name: str, contestants: list[str], known_by_people: bool
) -> list[ComparedMeasure]:
    """The measures of a family. If better answers are known from people's votes only, accuracy
    (KNOWN_ACCURACY) is left out, because it then equals agreement with people (SAME_AS_PEOPLE)."""
    if name == "Win rates":
        return [
            ComparedMeasure(
                who,
                "win rate of this model, in %, by judge or prompt A and by B",
                win_rate_measure(who),
                {"contestant": who},
            )
            for who in contestants
        ]
    return [one for one in FAMILIES[name] if not (known_by_people and one is KNOWN_ACCURACY)]
