"""Paired differences between judges, and between prompts, by family of measures, as in the
Contrasts view.

They form the section `contrast_families` of the summary. Each family is adjusted for all its
measures and all pairs of judges (or prompts) at once, as a reader may select any pair.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import people_agreement_measure, people_kappa_measure
from metrics.estimation import row_selection
from metrics.estimation.contrasts import Contrast, paired_contrasts
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.position import position_measures, position_tallies
from metrics.position.position_term_measure import FIRST_IF_EQUAL
from metrics.win_rates.length_effects import LONGER_SHARE
from metrics.win_rates.win_rates import win_rate_measure

SEED: Final = 20_24
MAX_FAMILY: Final = 400
"""Largest family (pairs of judges or of prompts, times measures) that is computed."""
MAX_ROWS: Final = 500_000
"""Largest number of judgements for which the families are computed."""
WIN_RATES: Final = "Win rates"


def _tally_lean(evidence: GroupedFrame) -> MeasureTally:
    made = position_tallies.fairness_tally(evidence)
    return build_tally(made.rows, -made.sums[:, 0], made.sums[:, -1])


LEAN: Final = Measure(
    "lean", "share", _tally_lean, "mean", (-1, 1), position_measures.NO_PAIRS_NOTE
)
"""Measure: share of pairs that flip toward the first slot minus share that flip toward the second.
This is preference fairness times −1."""
AGREEMENT: Final = people_agreement_measure()
DECISIVE_AGREEMENT: Final = people_agreement_measure("drop")
KAPPA: Final = people_kappa_measure()

FAMILIES: Final[dict[str, tuple[Measure, ...]]] = {
    "Behaviour": (
        position_measures.CONSISTENCY,
        position_measures.FIRST_SHARE,
        LEAN,
        position_measures.HARD_FLIPS,
        position_measures.TIE_RATE,
        AGREEMENT,
        position_measures.ACCURACY,
        LONGER_SHARE,
    ),
    "Position": (
        position_measures.CONSISTENCY,
        position_measures.FIRST_SHARE,
        FIRST_IF_EQUAL,
        LEAN,
        position_measures.HARD_FLIPS,
        position_measures.SOFT_FLIPS,
        position_measures.SLOT_ENTROPY,
        position_measures.NOISE_FLOOR,
    ),
    "Quality": (
        AGREEMENT,
        DECISIVE_AGREEMENT,
        KAPPA,
        position_measures.ACCURACY,
        position_measures.CONSISTENCY,
    ),
    WIN_RATES: (),
}
"""Name of a family -> its measures. "Win rates" is empty here: it has one measure for each
contestant."""


def contrast_families(frame: pd.DataFrame) -> dict[str, dict[str, list[Contrast]]]:
    """Return "judge" or "prompt" -> family -> differences of every two judges or prompts; unknown
    differences are left out."""
    found: dict[str, dict[str, list[Contrast]]] = {}
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
                lines = paired_contrasts(frame, [by], members, rng, pairs)
                known = [one for one in lines if one.raw.value is not None]
                if known:
                    found.setdefault(by, {})[family] = known
    return found
