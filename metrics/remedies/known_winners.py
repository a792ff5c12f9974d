"""The better answer of each comparison: by design, from a gold label, or by the majority of people.

People's majority needs more than half of the votes on a comparison; without such a majority, or
with one for a tie, the better answer is unknown.
"""

from typing import Final, Literal

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, safe_divide

WinnerSource = Literal["people's majority", "known answers"]
PEOPLE: Final[WinnerSource] = "people's majority"
DESIGN: Final[WinnerSource] = "known answers"


def default_winner_source(frame: pd.DataFrame) -> WinnerSource:
    """Return the source of the better answers that is used if the caller names none.

    It is people's majority if people voted, and voted on every comparison with a recorded better
    answer (by design or from a gold label). Otherwise it is the recorded better answers.
    """
    people = row_selection.people_mask(frame)
    if not people.any():
        return DESIGN
    case, cases = row_selection.group_codes(frame, ("item", "comparison"))
    voted = np.bincount(case[people], minlength=cases) > 0
    recorded = ~people & (frame["known_answer"] >= 0).to_numpy()
    return DESIGN if (recorded & ~voted[case]).any() else PEOPLE


def known_winners(
    case: Ints, cases: int, signs: Floats, people: row_selection.Mask, recorded_signs: Floats
) -> Floats:
    """Return the better answer of each comparison: +1 the contestant that is first in alphabetical
    order, −1 the other, 0 unknown.

    It is the choice of more than half of the votes, or, without votes, the recorded answer. `signs`
    (verdicts) and `recorded_signs` (recorded answers) are by row, in the same coding; `people`
    marks votes.
    """
    recorded = _recorded_winners(case, cases, recorded_signs)
    if not people.any():
        return recorded
    for_first, for_second = vote_shares(case, cases, signs, people)
    majority = (for_first > 0.5).astype(np.float64) - (for_second > 0.5)
    return np.where(np.isnan(for_first), recorded, majority)


def _recorded_winners(case: Ints, cases: int, recorded_signs: Floats) -> Floats:
    """The recorded better answer of each comparison: +1 the first in alphabetical order, −1 the
    other; 0 if none is recorded, or if rows of one comparison record different ones."""
    first, second = (
        np.bincount(case[recorded_signs == sign], minlength=cases) > 0 for sign in (1, -1)
    )
    return first.astype(np.float64) - second


def vote_shares(
    case: Ints, cases: int, signs: Floats, people: row_selection.Mask
) -> tuple[Floats, Floats]:
    """Return, for each of the `cases` comparisons, the share of votes for the contestant whose name
    sorts first, and for the other; nan without votes. By row: `case`, the comparison; `signs`, the
    verdict (+1 the first in alphabetical order, −1 the other, 0 tie); `people`, whether it is a
    vote."""
    votes, where = signs[people], case[people]
    cast = np.bincount(where, minlength=cases)
    return (
        safe_divide(np.bincount(where[votes > 0], minlength=cases), cast),
        safe_divide(np.bincount(where[votes < 0], minlength=cases), cast),
    )
