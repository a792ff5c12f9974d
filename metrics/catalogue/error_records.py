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
