"""Catalogue entries of the measures of twins (answers with one change that should not matter) and
of style control."""

from typing import Final

from metrics.catalogue import record

TWINS: Final = record.Need("verdicts on twins", "Add twins: quick to the study file.")
_CELL: Final = "twins.*.*.*"
_PAIRED: Final = "Paired by item; jackknife over items."
_FLOOR: Final = (
    "An effect is beyond_floor: minus that of the floor (sham; prefix for openings) on the same "
    "answers, jackknife over items; adjusted by max-t over all families, judges and prompts of the "
    "study."
)

TWIN_PREFERENCE: Final = record.declare(
    key="twin_preference",
    name="Preference for twins",
    question="nudges",
    definition="share of verdicts for the twin against its original in both orders, a tie "
    "counting half, minus one half",
    how=f"{record.SHARE_INTERVAL} {_FLOOR}",
    paths=tuple(f"{_CELL}.{name}" for name in ("preference", "floor", "beyond_floor", "adjusted")),
    style="points",
    neutral=0.0,
    needs=(TWINS,),
    options="pairs",
    outlets=frozenset({"card"}),
    also_known_as=("verbosity, authority, bandwagon and other biases (JudgeBiasBench)",),
)
record.declare_measures(
    "nudges", "rater",
    ("twin_shift", "Shift toward the changed side", "points of the answer that a twin "
     "replaces in a comparison, minus its points before",
     f"{_PAIRED} {_FLOOR}", f"{_CELL}.shift"),
    ("twin_flips_excess", "Flips beyond the sham", "verdicts that change when a twin replaces "
     "its original, minus those that change with the sham", _PAIRED,
     f"{_CELL}.flips_excess"),
    style="points", neutral=0.0, needs=(TWINS,),
)  # fmt: skip
record.declare_measures(
    "nudges", "rater",
    ("twin_accuracy_change", "Change of accuracy by a twin", "verdicts for the known "
     "answer with the twin, minus those without; a tie counts half", _PAIRED,
     f"{_CELL}.accuracy_change"),
    style="points", neutral=0.0, better="high", needs=(TWINS, record.KNOWN_ANSWERS),
)  # fmt: skip
record.declare_measures(
    "nudges", "rater",
    ("twin_level_change", "Change of the level by a twin", "passes or mean score of twins "
     "judged alone, minus those of their originals", f"{_PAIRED} {_FLOOR}",
     f"{_CELL}.level_change"),
    style="decimal", neutral=0.0, needs=(TWINS, record.SCORES),
)  # fmt: skip
record.declare_measures(
    "nudges", "rater",
    ("style_coefficient", "Weight of style", "log-odds of winning for each standard deviation "
     "of the difference in words, headings, list items or bold passages, (a − b)/(a + b)",
     "Bradley–Terry with four style differences, without a ridge; sandwich by items. It is "
     "correlation; twins of the same feature show the effect.", "style.*.coefficients.*"),
    ("style_share", "Share of the ranking that is style", "covariance of the part that style "
     "control removes with the strengths before it, divided by the variance of these",
     "May be negative. Interval: sandwich by items.", "style.*.style_share"),
    style="decimal", neutral=0.0, needs=(record.LENGTHS,),
)  # fmt: skip
record.declare_measures(
    "nudges", "rater",
    ("style_minus_people", "Weight of style beyond people", "weight of style of the judge "
     "minus that of people on the same comparisons", "Interval: sandwich by items, paired.",
     "style.*.minus_people.*"),
    style="decimal", neutral=0.0, needs=(record.LENGTHS, record.VOTES),
)  # fmt: skip
record.declare_measures(
    "nudges", "model",
    ("style_rating", "Rating before and after style control", "rating of a model without "
     "(before) and with (after) the style differences in the fit",
     "Bradley–Terry; sandwich by items.",
     "style.*.ranking.*.before style.*.ranking.*.after"),
    unit="Elo", style="rating", needs=(record.LENGTHS,),
)  # fmt: skip
