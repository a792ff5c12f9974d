"""Records of the measures from models of the judges' errors."""

from __future__ import annotations

from typing import Final

from metrics.catalogue.position_records import SHARE_INTERVAL
from metrics.catalogue.record import KNOWN_ANSWERS, SEVERAL_OPTIONS, declare_each

_PLACES: Final = "error_placement.*.*.*"

declare_each(
    "position",
    "rater",
    (
        ("accuracy_by_position", "Accuracy by position among N", "choices among N of the right "
         "answer, where it is in position k", SHARE_INTERVAL, f"{_PLACES}.accuracy.[]"),
        ("error_placement", "Placement of errors among N", "wrong choices among N that go to "
         "position k", "The share of all choices in position k mixes accuracy and bias; this one "
         f"counts the errors alone. Unknown below 5 wrong choices. {SHARE_INTERVAL}",
         f"{_PLACES}.wrong.[]"),
    ),
    options="many", needs=(SEVERAL_OPTIONS, KNOWN_ANSWERS),
)  # fmt: skip
declare_each(
    "position",
    "rater",
    (
        ("error_excess", "Excess of errors in a position", "share of wrong choices that go to "
         "position k, minus the share if all wrong positions were equally likely",
         "Unknown below 5 wrong choices. Interval: jackknife over items.",
         f"{_PLACES}.excess.[]"),
        ("position_step", "Step between neighbouring positions", "how often an answer is chosen in "
         "position k, minus how often the same answer is chosen in position k + 1",
         "Paired by answer. Interval: Student's t over items.", f"{_PLACES}.steps.[]"),
    ),
    style="points", neutral=0.0, options="many", needs=(SEVERAL_OPTIONS,),
)  # fmt: skip
declare_each(
    "remedies",
    "rater",
    (
        ("certified_share", "Certified share", "comparisons that the judge may decide alone with "
         "an error of at most 10 %, with confidence 95 %", "The loosest margin in a fixed sequence "
         "(strictest first) at which the exact upper limit (Clopper–Pearson) of the error is at "
         "most 10 %; one comparison drawn for each item. Refused below 29 decided items. "
         f"{SHARE_INTERVAL}", "remedies.certified.*.*.share remedies.juries.*.certified.share"),
        ("certified_error", "Error of the certified share", "labelled items that the judge decides "
         "wrongly at the certified margin", "Upper limit: Clopper–Pearson, one-sided 95 %.",
         "remedies.certified.*.*.error remedies.juries.*.certified.error"),
    ),
    needs=(KNOWN_ANSWERS,),
)  # fmt: skip
