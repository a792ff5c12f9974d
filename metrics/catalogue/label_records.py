"""Catalogue entries of the measures of verdicts on single answers: pass or fail, scores and
rubrics."""

from typing import Final

from metrics.catalogue.record import (
    JACKKNIFE_INTERVAL,
    LABELS,
    SCORES,
    SHARE_INTERVAL,
    T_INTERVAL,
    declare,
    declare_measures,
)
from metrics.labels import compared_points

SINGLE_ANSWERS: Final = "Single answers"
"""Family of the measures of verdicts on single answers."""
_RATES: Final = "pass_fail.*.*"

for _key, _name, _definition, _measure, _needs in (
    ("point_pass_rate", "Pass rate", "verdicts on single answers that are passes",
     compared_points.PASS_RATE, SCORES),
    ("point_right", "Agreement with labels", "pass/fail verdicts equal to the label",
     compared_points.RIGHT_BY_LABEL, LABELS),
    ("point_level", "Mean score, % of the scale", "the scale: 0 is the lowest score, 100 the "
     "highest", compared_points.MEAN_LEVEL, SCORES),
    ("point_near", "Scores within one step of the label", "scores at most one step of the scale "
     "from the label", compared_points.NEAR_LABEL, LABELS),
):  # fmt: skip
    declare(
        key=_key,
        name=_name,
        question="agreement",
        definition=_definition,
        how=T_INTERVAL if _key == "point_level" else SHARE_INTERVAL,
        paths=(),
        needs=(_needs,),
        measure=_measure,
        families=(SINGLE_ANSWERS,),
    )

declare_measures(
    "agreement", "rater",
    *(
        (f"pass_fail.{key}", name, definition, how,
         f"{_RATES}.{key} {_RATES}.by_category.*.{key} {_RATES}.by_contestant.*.{key}")
        for key, name, definition, how in (
            ("sensitivity", "Sensitivity", "verdicts on good answers that are passes",
             SHARE_INTERVAL),
            ("specificity", "Specificity", "verdicts on bad answers that are fails",
             SHARE_INTERVAL),
            ("precision", "Precision", "passes of labelled answers whose label is good",
             SHARE_INTERVAL),
            ("agreement", "Agreement with labels, by verdict", "verdicts equal to the label",
             SHARE_INTERVAL),
            ("base_rate", "Base rate", "verdicts on labelled answers whose label is good",
             SHARE_INTERVAL),
            ("observed_pass_rate", "Observed pass rate", "verdicts that are passes, on "
             "answers with and without a label", SHARE_INTERVAL),
        )
    ),
    needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    *(
        (f"pass_fail.{key}", name, definition, how,
         f"{_RATES}.{key} {_RATES}.by_category.*.{key} {_RATES}.by_contestant.*.{key}")
        for key, name, definition, how in (
            ("youden", "Youden's J", "sensitivity + specificity − 1; 0 is the chance level",
             "Interval: from those of sensitivity and specificity."),
            ("kappa", "κ with labels", "agreement with the labels, corrected for chance (Cohen)",
             JACKKNIFE_INTERVAL),
        )
    ),
    unit="kappa", style="decimal", neutral=0.0, better="high", needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("true_pass_rate", "True pass rate", "answers that are good: labels where there are some, "
     "elsewhere passes corrected for the judge's errors", "Rogan–Gladen with Lang–Reiczigel "
     "limits; refused if J is below .2, or its lower limit at most .06. Exact, without interval, "
     "if all answers have labels; models are ranked with the interval of other items.",
     f"{_RATES}.true_pass_rate point_ranking.*.*.models.*.true_pass_rate"),
    ("power_tuned_pass_rate", "True pass rate, power-tuned", "answers that are good, estimated "
     "from all verdicts and the labels (PPI++)", "Interval: clustered by items.",
     f"{_RATES}.power_tuned_pass_rate"),
    needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("pass_fail.excess", "Excess of the pass rate", "observed pass rate minus true pass rate",
     "Interval: if all answers have labels, Student's t of verdict − label over items; else from "
     "the limits of the true pass rate.", f"{_RATES}.excess"),
    unit="difference of shares", style="points", neutral=0.0, needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("scores.mae", "Distance from labels", "mean absolute difference of score and label",
     T_INTERVAL, "scores.*.*.mae scores.*.*.expected.mae criteria.**.mae"),
    ("scores.bias", "Scores minus labels", "mean of score minus label", T_INTERVAL,
     "scores.*.*.bias scores.*.*.expected.bias scores.*.*.by_contestant.*.bias "
     "criteria.**.bias"),
    unit="score", style="decimal", needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("scores.spearman", "Spearman's ρ with labels", "rank correlation of score and label",
     JACKKNIFE_INTERVAL, "scores.*.*.spearman scores.*.*.expected.spearman "
     "criteria.**.spearman"),
    ("scores.kendall", "Kendall's τ-b with labels", "concordance of pairs of answers in score "
     "and label", JACKKNIFE_INTERVAL,
     "scores.*.*.kendall scores.*.*.expected.kendall criteria.**.kendall"),
    ("scores.quadratic_kappa", "Quadratic κ with labels", "agreement of score and label, "
     "corrected for chance, with squared distances", JACKKNIFE_INTERVAL,
     "scores.*.*.quadratic_kappa criteria.**.quadratic_kappa"),
    unit="correlation", style="decimal", neutral=0.0, better="high", needs=(LABELS,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("scores.within_one", "Within one step of labels", "scores at most one step of the scale "
     "from the label", SHARE_INTERVAL, "scores.*.*.within_one scores.*.*.expected.within_one "
     "criteria.**.within_one"),
    ("reliability", "Reliability", "good answers (or the mean label) by the judge's probability "
     "of a pass (without probabilities: its share of passes) or its score",
     f"{SHARE_INTERVAL} Of a mean label: Student's t.",
     "reliability.**"),
    ("score_contradictions", "Scores against comparisons", "pairs whose lower-scored answer "
     "won the judge's own comparison", "Pairs with equal scores or without a winner are left "
     f"out. {SHARE_INTERVAL}", "score_contradictions.*.share"),
    ("intransitive_triples", "Circular triples", "triples of answers to one item whose "
     "comparisons form a circle", "Triples with an undecided pair are left out. "
     f"{SHARE_INTERVAL}", "score_contradictions.*.triples.share"),
    ("score_share", "Share of a score", "verdicts (of a rubric: levels of its criteria) with this "
     "score in this arrangement",
     SHARE_INTERVAL, "score_distribution.*.*.arrangements.*.shares.*"),
    ("several_scores", "Answers with several scores", "answers whose repeats in one "
     "arrangement got more than one score", SHARE_INTERVAL, "point_repeats.*.*.several"),
    needs=(SCORES,),
)  # fmt: skip
declare_measures(
    "ranking", "model",
    ("point_value", "Mean score or pass rate of a model", "mean score, or share of passes, of "
     "the model's answers", "Interval: Student's t over items; of a share, Wilson at the "
     "effective number of items.", "point_ranking.*.*.models.*.value"),
    ("behind_first", "Distance to the first model", "value by which models are ranked, of the "
     "first model minus that of this one", "True pass rates if all are known; otherwise paired "
     "by item. Only `ranks` are adjusted for all pairs of models (Bonferroni).",
     "point_ranking.*.*.models.*.behind_first"),
    ("mean_score", "Mean score by arrangement", "mean of all scores, in all and by arrangement",
     T_INTERVAL, "score_distribution.*.*.mean score_distribution.*.*.arrangements.*.mean"),
    ("repeat_deviation", "Deviation of repeats", "standard deviation of the scores of one "
     "answer in one arrangement, mean over answers", T_INTERVAL, "point_repeats.*.*.deviation"),
    unit="score", style="decimal", needs=(SCORES,),
)  # fmt: skip
for _stem, _what, _places, _other in (
    ("option", "options", "", "the share of the first option and its expected value have "
     "intervals without a common value"),
    ("criteria", "criteria", "criteria_order.*.*.by_place.*.[]", "the interval of the level of "
     "the first criterion excludes 0"),
):  # fmt: skip
    _section = f"{_stem}_order"
    declare_measures(
        "position", "rater",
        (f"{_section}.changed", f"Changed by the order of {_what}",
         f"pairs of orders of the {_what} in which an answer's first scores differ, mean over "
         "answers", f"{SHARE_INTERVAL} An effect of the order is shown if this interval lies above "
         f"that of the changes on a repeat, or if {_other}.",
         f"{_section}.*.*.changed"),
        (f"{_section}.noise_floor", f"Changed on a repeat, same order of {_what}",
         "repeats whose score differs from the first verdict", SHARE_INTERVAL,
         f"{_section}.*.*.noise_floor"),
        needs=(SCORES,),
    )  # fmt: skip
    declare_measures(
        "position", "rater",
        (f"{_section}.shift", f"Shift by the order of {_what}", "mean score in one "
         "arrangement, or of a criterion at one place, minus that in the others, on the same "
         "answers", T_INTERVAL, f"{_section}.*.*.shift.* {_places}"),
        unit="score", style="decimal", neutral=0.0, needs=(SCORES,),
    )  # fmt: skip
declare_measures(
    "position", "rater",
    ("option_order.first", "Verdicts for the first option", "verdicts for the option at one "
     "place, or with the first letter", SHARE_INTERVAL, "option_order.*.*.first_place "
     "option_order.*.*.places.*.share option_order.*.*.first_letter.share"),
    ("option_order.expected", "Verdicts for the first option, expected", "verdicts for that "
     "option if the order had no effect", T_INTERVAL, "option_order.*.*.expected_first "
     "option_order.*.*.places.*.expected option_order.*.*.first_letter.expected"),
    needs=(SCORES,),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("criteria_order.first", "Level of the first criterion", "level of a criterion listed first "
     "minus its level at other places", T_INTERVAL, "criteria_order.*.*.first"),
    unit="score", style="decimal", neutral=0.0, needs=(SCORES,),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("pass_by_order.rate", "Pass rate by order", "answers that pass with pass, or fail, listed "
     "first", f"Answers judged in both orders; repeats are averaged. {T_INTERVAL}",
     "pass_by_order.**.pass_first pass_by_order.**.fail_first"),
    needs=(SCORES,),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("pass_by_order.shift", "Shift of the pass rate", "share of answers that pass with pass "
     "listed first, minus that with fail listed first", T_INTERVAL,
     "pass_by_order.**.shift"),
    unit="difference of shares", style="points", neutral=0.0, needs=(SCORES,),
)  # fmt: skip
