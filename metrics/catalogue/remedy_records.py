"""Catalogue entries of the measures of remedies: agreement of a decision rule, and its gain over
one call."""

from typing import Final

from metrics.catalogue import record
from metrics.catalogue.position_records import equal_share

_RULES: Final = ("remedies.rules.*.*.*", "remedies.juries.*.*")


def _json_paths_of_all_rules(*names: str) -> str:
    return " ".join(f"{rule}.{name}" for rule in _RULES for name in names)


record.declare_measures(
    "remedies", "rater",
    ("rule_agreement", "Agreement of a rule", "comparisons that the rule decides for the known "
     "answer, undecided ones counted half (1/N among N options)", record.SHARE_INTERVAL,
     _json_paths_of_all_rules("agreement")),
    ("plan_agreement", "Agreement of a budget's rule", "comparisons that the rule chosen on "
     "half of the items decides for the known answer on the other half, undecided ones counted "
     "half", record.JACKKNIFE_INTERVAL, "remedies.plan.steps.[].agreement"),
    neutral=equal_share, needs=(record.KNOWN_ANSWERS,),
)  # fmt: skip
record.declare_measures(
    "remedies", "rater",
    ("rule_decided", "Decided", "comparisons that the rule decides", record.SHARE_INTERVAL,
     f"{_json_paths_of_all_rules('decided')} remedies.risk.*.*.[].decided"),
    needs=(record.KNOWN_ANSWERS,),
)  # fmt: skip
record.declare_measures(
    "remedies", "rater",
    ("rule_right", "Right when decided", "decided comparisons with the known answer",
     record.SHARE_INTERVAL,
     f"{_json_paths_of_all_rules('right_when_decided')} remedies.risk.*.*.[].right_when_decided"),
    neutral=equal_share, needs=(record.KNOWN_ANSWERS,),
)  # fmt: skip
record.declare_measures(
    "remedies", "rater",
    ("rule_difference", "Gain on all items", "agreement of the rule minus that of one call, on "
     "all items (optimistic for a chosen rule)", "Of a jury: one call of its best member, or "
     "of the judge of its table. Paired by item; adjusted by max-t for all rules of the table.",
     f"{_json_paths_of_all_rules('difference', 'adjusted')}"),
    ("rule_gain", "Gain of the recommended rule", "agreement of the rule chosen on half of the "
     "items minus that of one call, measured on the other half", "20 random halves, both ways. "
     "Of a step of the plan: minus that of the step before.",
     "remedies.recommendation.gain remedies.recommendations.*.*.gain "
     "remedies.plan.steps.[].gain"),
    style="points", neutral=0.0, better="high", needs=(record.KNOWN_ANSWERS,),
)  # fmt: skip
record.declare_measures(
    "remedies", "rater",
    ("point_rule", "Agreement of a rule on single answers", "labelled answers that the rule "
     "judges right, undecided ones counted half, or the mean distance of its scores from the "
     "labels",
     f"{record.SHARE_INTERVAL} Of a distance: Student's t.",
     "point_remedies.*.*.rules.*.agreement point_remedies.*.*.rules.*.mae"),
    ("point_gain", "Gain on single answers", "labelled answers that the rule judges right, "
     "minus those of one call; of scores, distance of one call minus that of the rule",
     "Paired by item; Bonferroni over the rules of a table.",
     "point_remedies.*.*.rules.*.gain point_remedies.*.*.rules.*.adjusted "
     "point_remedies.*.*.recommendation.gain"),
    needs=(record.LABELS,),
)  # fmt: skip
