"""Catalogue entries of the measures that compare a prompt with new versions of it, on items that
the new versions were not made from (the hold-out)."""

from typing import Final

from metrics.catalogue.record import KNOWN_ANSWERS, LABELS, SHARE_INTERVAL, declare_measures

_JUDGE: Final = "alignment.judges.*.*"
_LINE: Final = f"{_JUDGE}.candidates.*"
_PAIRED: Final = (
    "Paired by item; adjusted by max-t for all candidates, and by Bonferroni for the number of "
    "looks at the hold-out."
)

declare_measures(
    "remedies", "rater",
    ("candidate_agreement", "Agreement on the hold-out", "verdicts of one call for the known "
     "answer, undecided ones counted half; for single answers, verdicts equal to the label "
     "(point_right) or scores at most one step from it (point_near); on items that no "
     "candidate was made from", SHARE_INTERVAL, f"{_LINE}.agreement"),
    ("candidate_flips", "Flips on the hold-out", "comparisons of the hold-out that flip",
     SHARE_INTERVAL, f"{_LINE}.flips"),
    ("candidate_first", "First-position share on the hold-out", "verdicts on the hold-out for "
     "the answer shown first, ties left out", SHARE_INTERVAL, f"{_LINE}.first_share"),
    ("candidate_unusable", "Unusable replies on the hold-out", "calls on the hold-out without "
     "a usable verdict", SHARE_INTERVAL, f"{_LINE}.unusable"),
    ("learn_mistakes", "Mistakes", "verdicts on the learn items against the label (a tie "
     "too; scores: more than one step from it), in all, by category, by the position of the "
     "better answer or by label", SHARE_INTERVAL,
     f"{_JUDGE}.mistakes.all {_JUDGE}.mistakes.by_category.* {_JUDGE}.mistakes.by_position.* "
     f"{_JUDGE}.mistakes.by_label.*"),
    needs=(KNOWN_ANSWERS,),
)  # fmt: skip
declare_measures(
    "remedies", "rater",
    ("candidate_length", "Length effect on the hold-out", "verdicts for the longer answer "
     "minus known answers that are the longer one, over decided verdicts; for single answers, "
     "the mean verdict (% of the scale) on answers longer than the median minus that on "
     "the others, at equal labels", "t interval clustered by item; single answers: least "
     "squares on label and length, jackknife over items.", f"{_LINE}.length_excess"),
    ("candidate_difference", "Difference to today's prompt", "agreement of a candidate on the "
     "hold-out minus that of today's prompt", _PAIRED, f"{_LINE}.difference"),
    ("candidate_changes", "Changes of side effects", "flips, first-position share, length "
     "effect, unusable replies, distance from labels and twin effects of a candidate minus "
     "those of today's prompt, as far as they apply; one family", _PAIRED,
     f"{_LINE}.changes.* {_LINE}.twin_changes.*"),
    ("candidate_twins", "Twin effects on the hold-out", "preference for twins of held-out "
     "answers (for single answers: change of the level) beyond their floor, by family",
     "Paired by item; adjusted by max-t for all families and prompts.", f"{_LINE}.twins.*"),
    style="points", neutral=0.0, needs=(KNOWN_ANSWERS,),
)  # fmt: skip
declare_measures(
    "remedies", "rater",
    ("candidate_distance", "Distance from labels on the hold-out", "mean absolute difference "
     "of score and label on the hold-out (scores.mae)", "t interval clustered by item.",
     f"{_LINE}.distance"),
    unit="score", style="decimal", better="low", needs=(LABELS,),
)  # fmt: skip
