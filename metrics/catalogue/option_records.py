"""Catalogue entries of the measures of choices among more than two options, which are shown in
rotated orders."""

from typing import Final

from metrics.catalogue.record import SEVERAL_OPTIONS, SHARE_INTERVAL, declare, declare_measures
from metrics.protocols.grade_score import RANDOM_GRADE, grade_measure

_MEAN: Final = (
    "In the mean, each repeat of all orders of an item counts once; interval: Student's t over "
    "items."
)
_GRADED: Final = (
    f"{_MEAN} Items with a tie or an unusable reply are left out. `_gradelab`, the authors' rule, "
    "keeps them and divides the entropy by the log of the number of orders."
)


def grade_score_of_random_choice(options: int, _ties: float) -> float:
    """Return the Grade Score (a measure of choices among several options) that random choices among
    `options` options have on average; nan if it is not tabulated for this number. The second
    argument, the share of ties, is ignored."""
    return RANDOM_GRADE.get(options, float("nan"))


GRADE: Final = declare(
    key="grade",
    name="Grade",
    question="position",
    definition="harmonic mean of an item's position entropy and the share of its choices for "
    "the most chosen answer, mean over items",
    how=_GRADED,
    paths=("grade.*.*.grade", "grade.*.*.grade_gradelab"),
    unit="score",
    style="decimal",
    neutral=grade_score_of_random_choice,
    better="high",
    needs=(SEVERAL_OPTIONS,),
    measure=grade_measure(),
    options="many",
    outlets=frozenset({"matrix"}),
    also_known_as=("Grade Score (Iourovitski 2024)",),
)
GRADE_ENTROPY: Final = declare(
    key="grade:entropy",
    name="Entropy of an item's positions",
    question="position",
    definition="position entropy of one item's choices, mean over items",
    how=_GRADED,
    paths=("grade.*.*.entropy", "grade.*.*.entropy_gradelab"),
    unit="score",
    style="decimal",
    better="high",
    needs=(SEVERAL_OPTIONS,),
    measure=grade_measure("entropy"),
    options="many",
)
CHOICE: Final = declare(
    key="grade:choice",
    name="Choice",
    question="position",
    definition="share of an item's choices that go to its most chosen answer",
    how=_GRADED,
    paths=("grade.*.*.choice", "grade.*.*.choice_gradelab"),
    unit="score",
    style="decimal",
    better="high",
    needs=(SEVERAL_OPTIONS,),
    measure=grade_measure("choice"),
    options="many",
    outlets=frozenset({"matrix"}),
)
SLOT_EFFECTS: Final = declare(
    key="place_effect",
    name="Position term among N options",
    question="position",
    definition="log-odds advantage of a position, or of a label, over the mean of all, for "
    "equally good answers",
    how="The γ, or the λ, of the choice model `P(position s) ∝ exp(θ + γ + λ)`. Ties are left "
    "out; in the JSON, all judges and prompts together. Interval: sandwich by items.",
    paths=("places.*.[]", "places.labels.*"),
    unit="logit",
    style="logit",
    neutral=0.0,
    needs=(SEVERAL_OPTIONS,),
    options="many",
    outlets=frozenset({"card"}),
)
declare_measures(
    "position", "rater",
    ("grade_corrected", "Grade above chance", "grade corrected for chance: (grade − "
     "g)/(1 − g), with g the grade of random choices", "For N options in N orders, N at most "
     f"10. {_MEAN}", "grade.*.*.corrected"),
    unit="score", style="decimal", neutral=0.0, options="many", needs=(SEVERAL_OPTIONS,),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("grade_contradictions", "Contradictions", "choices for an option that the same "
     "reply graded lower than another one",
     f"Ties and replies without all grades are left out. {SHARE_INTERVAL}",
     "grade.*.*.contradictions"),
    ("unrelated_share", "Choices of the unrelated option", "choices for an answer to "
     "another item, where one was shown",
     f"Ties are left out. Chance level: 1/N. {SHARE_INTERVAL}", "grade.*.*.unrelated_share"),
    options="many", needs=(SEVERAL_OPTIONS,),
)  # fmt: skip
declare_measures(
    "position", "model",
    ("strength", "Strength among N options", "log-odds of a model's answers above the mean of "
     "all models, in the choice model", "The θ of “Position term among N options”. Interval: "
     "sandwich by items.", "strength.*"),
    unit="logit", style="logit", neutral=0.0, options="many", needs=(SEVERAL_OPTIONS,),
)  # fmt: skip
