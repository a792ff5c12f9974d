"""The better answer of each comparison: by design, from a gold label, or by the majority of people.

People's majority needs more than half of the votes on a comparison; without such a majority, or
with one for a tie, the better answer is unknown.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, safe_divide

TruthSource = Literal["people's majority", "known answers"]
PEOPLE: Final[TruthSource] = "people's majority"
DESIGN: Final[TruthSource] = "known answers"


def default_truth_source(frame: pd.DataFrame) -> TruthSource:
    """Return the source of the better answers that is used if the caller names none.

    It is people's majority if people voted, and voted on every comparison with a recorded better
    answer (by design or from a gold label). Otherwise it is the recorded better answers.
    """
    people = row_selection.people_mask(frame)
    if not people.any():
        return DESIGN
    case, cases = row_selection.group_codes(frame, ("item", "comparison"))
    voted = np.bincount(case[people], minlength=cases) > 0
    recorded = ~people & (frame["truth"] >= 0).to_numpy()
    return DESIGN if (recorded & ~voted[case]).any() else PEOPLE


def known_winners(
    case: Ints, cases: int, signs: Floats, people: row_selection.Mask, truth: Floats
) -> Floats:
    """Return the better answer of each comparison: +1 the contestant that is first in alphabetical
    order, −1 the other, 0 unknown.

    It is the choice of more than half of the votes, or, without votes, the recorded answer. `signs`
    (verdicts) and `truth` (recorded answers) are by row, in the same coding; `people` marks votes.
    """
    recorded = _recorded_winners(case, cases, truth)
    if not people.any():
        return recorded
    votes, where = signs[people], case[people]
    cast = np.bincount(where, minlength=cases)
    for_a = safe_divide(np.bincount(where[votes > 0], minlength=cases), cast)
    for_b = safe_divide(np.bincount(where[votes < 0], minlength=cases), cast)
    majority = (np.nan_to_num(for_a) > 0.5).astype(np.float64) - (np.nan_to_num(for_b) > 0.5)
    return np.where(cast > 0, majority, recorded)


def _recorded_winners(case: Ints, cases: int, truth: Floats) -> Floats:
    recorded = np.zeros(cases)
    known = truth != 0
    recorded[case[known]] = truth[known]
    return recorded


def vote_shares(
    case: Ints, cases: int, signs: Floats, people: row_selection.Mask
) -> tuple[Floats, Floats]:
    """Shares of votes for the contestant whose name sorts first and for the other; nan without
    votes."""
    votes, where = signs[people], case[people]
    cast = np.bincount(where, minlength=cases)
    return (
        safe_divide(np.bincount(where[votes > 0], minlength=cases), cast),
        safe_divide(np.bincount(where[votes < 0], minlength=cases), cast),
    )
