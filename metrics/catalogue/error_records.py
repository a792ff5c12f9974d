"""Catalogue entries of the measures on judges' errors: by position among N answers, of verdicts
decided at a certified margin, estimated without labels, and in the ranking corrected for errors."""

from typing import Final

from metrics.catalogue.record import (
    KNOWN_ANSWERS,
    SEVERAL_JUDGES,
    SEVERAL_OPTIONS,
    SHARE_INTERVAL,
    declare_measures,
)

_PLACES: Final = "error_placement.*.*.*"

declare_measures(
    "position", "rater",
    ("accuracy_by_position", "Accuracy by position among N", "verdicts among N for the "
     "right answer, where it is in position k; a tie counts as wrong", SHARE_INTERVAL,
     f"{_PLACES}.accuracy.[]"),
    ("error_placement", "Placement of errors among N", "wrong choices among N that go to "
     "position k", "The share of all choices in position k mixes accuracy and bias; this one "
     f"counts the errors alone. Unknown below 5 wrong choices. {SHARE_INTERVAL}",
     f"{_PLACES}.wrong.[]"),
    options="many", needs=(SEVERAL_OPTIONS, KNOWN_ANSWERS),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("error_excess", "Excess of errors in a position", "share of wrong choices that go to "
     "position k, minus the share if all wrong positions were equally likely",
     "Unknown below 5 wrong choices. Interval: jackknife over items.",
     f"{_PLACES}.excess.[]"),
    style="points", neutral=0.0, options="many", needs=(SEVERAL_OPTIONS, KNOWN_ANSWERS),
)  # fmt: skip
declare_measures(
    "position", "rater",
    ("position_step", "Step between neighbouring positions", "how often an answer is chosen in "
     "position k, minus how often the same answer is chosen in position k + 1",
     "Paired by answer. Interval: Student's t over items.", f"{_PLACES}.steps.[]"),
    style="points", neutral=0.0, options="many", needs=(SEVERAL_OPTIONS,),
)  # fmt: skip
declare_measures(
    "remedies", "rater",
    ("certified_share", "Certified share", "comparisons that the judge may decide alone with "
     "an error of at most 10 %, with confidence 95 %", "Margins of both orders together are "
     "tried from the strictest on; the last one with an upper limit of the error of at most "
     "10 % counts. Exact limit (Clopper–Pearson), one comparison drawn for each item. "
     f"Refused below 29 decided items. {SHARE_INTERVAL}",
     "remedies.certified.*.*.share remedies.juries.*.certified.share"),
    ("certified_error", "Error of the certified share", "labelled items decided at the "
     "certified margin that are decided wrongly, one comparison each",
     "Upper limit: Clopper–Pearson, one-sided 95 %.",
     "remedies.certified.*.*.error remedies.juries.*.certified.error"),
    needs=(KNOWN_ANSWERS,),
)  # fmt: skip
_MODEL: Final = (
    "Model of Dawid and Skene (1979) by EM: judges reply independently given the unknown better "
    "answer, on easy and hard comparisons if this explains the verdicts better. Interval: "
    "bootstrap over items. Refused below three judges, or if the gain of log-likelihood over "
    "independent replies is under 2 per parameter."
)
_UNLABELLED: Final = "jury.without_labels"
declare_measures(
    "agreement", "rater",
    ("unlabelled_replies", "Right and wrong without labels", "replies of a judge that are "
     "right, wrong or a tie, with the probable better answer shown first and second", _MODEL,
     f"{_UNLABELLED}.judges.*.*"),
    ("unlabelled_right", "Right by the jury without labels", "comparisons whose more probable "
     "better answer is the better one, by the model itself", "As “Right and wrong without "
     "labels”.", f"{_UNLABELLED}.right"),
    needs=(SEVERAL_JUDGES,),
)  # fmt: skip
declare_measures(
    "agreement", "study",
    ("unlabelled_votes", "Effective judges without labels", "number of independent judges that "
     "the jury is worth, from the probable better answers", "Errors that most judges share "
     "pass for right answers, so the number is rather too high.",
     f"{_UNLABELLED}.effective_judges"),
    unit="judges", style="decimal", needs=(SEVERAL_JUDGES,),
)  # fmt: skip
declare_measures(
    "agreement", "study",
    ("unlabelled_correlation", "Error correlation without labels", "mean correlation of two "
     "judges' errors, from the probable better answers",
     "As “Effective judges without labels”.",
     f"{_UNLABELLED}.error_correlation"),
    unit="correlation", style="decimal", neutral=0.0, needs=(SEVERAL_JUDGES,),
)  # fmt: skip
_ERRORS: Final = (
    "P(verdict for a) = p(1 − e_a) + (1 − p)e_b, with p from the strengths, e_a and e_b the error "
    "rates if a or b is better. Error rates by judge and position are fitted together with the "
    "strengths, to labelled and unlabelled verdicts; a tie is half an error. Interval: bootstrap "
    "over items; ranks by max-t."
)
declare_measures(
    "ranking", "model",
    ("corrected_rating", "Rating corrected for errors", "Bradley–Terry rating of the truly "
     "better answers, from all verdicts and the judges' error rates", _ERRORS,
     "corrected_ranking.ratings.*"),
    unit="Elo", style="rating", neutral=1000.0, better="high", needs=(KNOWN_ANSWERS,),
)  # fmt: skip
declare_measures(
    "ranking", "pair",
    ("corrected_gap", "Rating gap corrected for errors", "difference of two ratings corrected "
     "for the judges' errors", _ERRORS, "corrected_ranking.gaps.*.*"),
    unit="Elo", style="rating", neutral=0.0, needs=(KNOWN_ANSWERS,),
)  # fmt: skip
declare_measures(
    "ranking", "rater",
    ("labelled_error", "Error rate by position", "labelled verdicts that are wrong (a tie is "
     "half an error), with the better answer shown first, and second", SHARE_INTERVAL,
     "corrected_ranking.errors.*.first corrected_ranking.errors.*.second"),
    needs=(KNOWN_ANSWERS,),
)  # fmt: skip
declare_measures(
    "ranking", "rater",
    ("error_slope", "Share of signal in the verdicts", "labelled verdicts, right minus "
     "wrong, mean of both positions: 1 − e(first) − e(second)",
     "Interval: jackknife over items. A judge whose lower limit is "
     "at most .06 is left out of the corrected ranking; without judges it is refused.",
     "corrected_ranking.errors.*.slope"),
    unit="difference of shares", neutral=0.0, needs=(KNOWN_ANSWERS,),
)  # fmt: skip
