"""Paired differences between judges, and between prompts, by family of measures, as in the
Contrasts view.

They form the section `contrast_families` of the summary. Each family is adjusted for all its
measures and all pairs of judges (or prompts) at once, as a reader may select any pair.
"""

from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from metrics.catalogue import label_records, records
from metrics.estimation import contrasts, row_selection
from metrics.estimation.measures import Measure
from metrics.win_rates.win_rates import win_rate_measure

SEED: Final = 20_24
MAX_FAMILY: Final = 400
"""Largest family (pairs of judges or of prompts, times measures) that is computed."""
MAX_ROWS: Final = 500_000
"""Largest number of judgements for which the families are computed."""
WIN_RATES: Final = "Win rates"


FAMILIES: Final[dict[str, tuple[Measure, ...]]] = {
    **{
        name: tuple(
            one.measure for one in records.records_of_family(name) if one.measure is not None
        )
        for name in records.contrast_family_names()
        if name != label_records.SINGLE_ANSWERS
    },
    WIN_RATES: (),
}
"""Name of a family -> its measures, without the family of verdicts on single answers. "Win rates"
is empty here: it has one measure for each contestant."""


def contrast_families(frame: pd.DataFrame) -> dict[str, dict[str, list[contrasts.Contrast]]]:
    """Return the differences of every two judges ("judge") and of every two prompts ("prompt") in
    each family of measures, whose intervals are adjusted together: "judge" or "prompt" -> family ->
    differences. Unknown differences are left out, and so are families of more than MAX_FAMILY;
    empty for more than MAX_ROWS rows."""
    found: dict[str, dict[str, list[contrasts.Contrast]]] = {}
    if len(frame) > MAX_ROWS:
        return found
    machine = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    names = row_selection.contestants(row_selection.select_picks(machine))
    for by in ("judge", "prompt"):
        cells = [(name,) for name in sorted(machine[by].astype(str).unique())]
        pairs = list(combinations(cells, 2))
        for family, measures in FAMILIES.items():
            members = measures or tuple(win_rate_measure(name) for name in names)
            if 0 < len(pairs) * len(members) <= MAX_FAMILY:
                rng = np.random.default_rng(SEED)
                lines = contrasts.paired_contrasts(frame, [by], members, rng, pairs)
                known = [one for one in lines if one.raw.value is not None]
                if known:
                    found.setdefault(by, {})[family] = known
    return found
