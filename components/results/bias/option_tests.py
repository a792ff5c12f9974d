"""Permutation tests and choice models for N options, and the number of tests in the adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.memo import memoise_by_study
from components.results.bias.computed import CELL_COLUMNS, Bias
from metrics.estimation.measures import CellKey
from metrics.estimation.multiple_comparisons import holm_adjust
from metrics.position.order_tests import OrderTest, entropy_null_band, permutation_test
from metrics.position.position_measures import slot_entropy
from metrics.ratings.choice_model import ChoiceModel, fit_choice_model

SEED: Final = 20_24
PERMUTATION_ROUNDS: Final = 999
BAND_ROUNDS: Final = 399
"""Number of permutations for the entropy band, which needs less precision than a p-value."""


@dataclass(frozen=True, eq=False)
class OptionModelRow:
    """Results of one judge with one prompt that chooses among N options: choice model (effects of
    positions and labels), permutation test, entropy of the chosen positions."""

    judge: str
    prompt: str
    model: ChoiceModel
    permutation: OrderTest
    entropy: float | None = None
    """Entropy of the slots chosen, divided by log2 N."""
    null_band: tuple[float, float] | None = None
    """Middle 95 % of the entropies expected if choices depend on content only."""


def order_test_family(bias: Bias) -> int:
    """Number of tests to adjust for: judge-prompt pairs, times categories if the filter selects a
    category, times possible sets of models if it selects models. Hidden rows count too, because a
    reader may try every value of a filter."""
    rows = {cell[:2] for cell in bias.counts.cells.by_cell("unusable", CELL_COLUMNS)}
    categories = {cell[2] for cell in bias.counts.cells.by_cell("unusable", CELL_COLUMNS)}
    chosen = bias.filter.category != ALL_CHOICE
    return len(rows) * (len(categories) if chosen else 1) * bias.counts.alternatives


@memoise_by_study
def load_option_rows(filtered: FilteredStudy) -> tuple[OptionModelRow, ...]:
    """Choice models of a filtered study, fitted once per version of the study."""
    return fit_option_rows(filtered.machines)


def fit_option_rows(frame: pd.DataFrame) -> tuple[OptionModelRow, ...]:
    """Fit a choice model and make a permutation test for each judge and prompt."""
    options = int(frame["options"].max()) if len(frame) else 0
    rows = frame[frame["options"] == options]
    found = []
    for (judge, prompt), part in rows.groupby(["judge", "prompt"], observed=True, sort=False):
        rng = np.random.default_rng(SEED)
        test = permutation_test(part, options, rng, PERMUTATION_ROUNDS)
        model = fit_choice_model(part, least=options)
        band = entropy_null_band(part, rng, options, BAND_ROUNDS)
        chosen = slot_entropy(part).value
        found.append(OptionModelRow(str(judge), str(prompt), model, test, chosen, band))
    return tuple(found)


def option_p_values(bias: Bias, rows: Sequence[OptionModelRow]) -> dict[CellKey, float]:
    """p-value of the permutation test of each judge and prompt, adjusted for all such tests that a
    reader can see by changing the filters in use."""
    raw = [row.permutation.p for row in rows]
    adjusted = holm_adjust(raw, order_test_family(bias), bias.error_share)
    return {
        (row.judge, row.prompt): p for row, p in zip(rows, adjusted, strict=True) if p is not None
    }
