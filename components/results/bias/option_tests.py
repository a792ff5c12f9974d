"""Permutation tests and choice models for choices among N options; the number of tests for which
p-values are adjusted; the entropy of the chosen positions, with the band that is expected if the
position has no effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.memo import memoise_by_study
from components.html.format import NARROW_SPACE, share, slot_name
from components.results.bias.computed import Bias, load_bias
from components.results.bias.flip_leans import SIGNIFICANCE_LEVEL
from metrics.estimation import row_selection
from metrics.estimation.measures import CellKey
from metrics.estimation.multiple_comparisons import holm_adjust
from metrics.position import order_tests
from metrics.position.position_measures import slot_shares
from metrics.ratings.choice_model import ChoiceModel, fit_choice_model

SEED: Final = 20_24
BAND_ROUNDS: Final = 399
"""Number of permutations for the entropy band, which needs less precision than a p-value."""


@dataclass(frozen=True, eq=False)
class OptionModelRow:
    """Results of one judge with one prompt that chooses among N options: choice model (effects of
    positions and labels), permutation test, entropy of the chosen positions."""

    judge: str
    prompt: str
    model: ChoiceModel
    permutation: order_tests.OrderTest
    entropy: float | None = None
    """Entropy of the slots chosen, divided by log2 N, of the choices that the test permutes."""
    null_band: tuple[float, float] | None = None
    """Middle 95 % of the entropies expected if choices depend on content only."""
    least_p: float | None = None
    """Smallest p-value that the test can have with this number of comparisons, those with a missing
    verdict included; None without a test."""


def load_option_models_of_all_raters(filtered: FilteredStudy) -> tuple[OptionModelRow, ...]:
    """Choice models and permutation tests of all judges and prompts of a study. The filters on
    judge and prompt are ignored, because p-values are adjusted for all judges and prompts;
    other filters apply. Computed once per version of the study."""
    return _fit_option_models_uncached(filtered.of_all_raters)


@memoise_by_study
def _fit_option_models_uncached(everyone: FilteredStudy) -> tuple[OptionModelRow, ...]:
    return fit_option_models(everyone.measured_judge_rows)


def fit_option_models(frame: pd.DataFrame) -> tuple[OptionModelRow, ...]:
    """Fit a choice model and make a permutation test for each judge and prompt, on the comparisons
    with the most options."""
    options = int(frame["options"].max()) if len(frame) else 0
    rows = frame[frame["options"] == options]
    found = []
    for (judge, prompt), part in rows.groupby(["judge", "prompt"], observed=True, sort=False):
        test = order_tests.permutation_test(part, options)
        model = fit_choice_model(part, min_options=options)
        band = _entropy_band(part, options)
        chosen = order_tests.order_set_entropy(part, options)
        least = _smallest_p(part, options) if test.p is not None else None
        found.append(OptionModelRow(str(judge), str(prompt), model, test, chosen, band, least))
    return tuple(found)


def _entropy_band(rows: pd.DataFrame, options: int) -> tuple[float, float] | None:
    rng = np.random.default_rng(SEED)
    return order_tests.entropy_null_band(rows, rng, options, BAND_ROUNDS)


def _smallest_p(rows: pd.DataFrame, options: int) -> float:
    """Smallest p-value that the permutation test can have with this number of comparisons."""
    sets = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)[1]
    return order_tests.least_permutation_p(sets, int(rows["orders"].max()), options)


def adjusted_option_p_values(
    bias: Bias, rows: Sequence[OptionModelRow], least: bool = False
) -> dict[CellKey, float]:
    """(judge, prompt) -> p-value of the permutation test that the positions of the options do not
    change the judge's choice, adjusted for all such tests that a reader could see by changing
    the filters. `rows` must include the judges and prompts that a filter hides. With `least`,
    each test's smallest possible p-value (`least_p`) is adjusted instead."""
    values = [row.least_p if least else row.permutation.p for row in rows]
    adjusted = bias.adjust_p_values(values)
    return {
        (row.judge, row.prompt): p for row, p in zip(rows, adjusted, strict=True) if p is not None
    }


# ------------------------------------------------------- entropy of the chosen positions

LEAST_STRENGTH: Final = 0.1
"""Smallest colour strength of an uneven cell; it keeps a cell whose entropy is close to 1
visible."""
ENTROPY_BAND_SUBTITLE: Final = (
    "entropy of the chosen position, 1 = all positions equally often; coloured if “≠ even”; "
    f"95{NARROW_SPACE}% CI"
)
EVENNESS_RULE: Final = (
    "Measure “Entropy” among N options: the band holds the entropies expected if positions had no "
    "effect. The choices of each item are permuted over its orders, and the band is the middle "
    "95 % of the resulting entropies. “≠ even”: the permutation test has p < .05 after Holm's "
    "adjustment over all rows, also those that the filter hides; with several prompts p is "
    "doubled, because single prompts and all prompts are tested. With a larger p: “not "
    "significant” if the entropy is below the band, else “within chance”; “too few items” if the "
    "test could not find more even if all choices went to one position. Band and test use the "
    "most frequent choice in each order; the entropy printed in the cell counts all choices, "
    "repeats included. Only cells “≠ even” have a colour; it is full at the lowest of them."
)


TestedEntropy = tuple[float | None, tuple[float, float] | None, float | None, float | None]
"""Entropy of the tested choices; band (low, high) of the entropies expected by chance; p-value of
the permutation test; smallest p-value that the test can have. None for each that is unknown."""


@dataclass(frozen=True, slots=True)
class Evenness:
    """Result of the test of whether one judge, or one judge with one prompt, chooses all positions
    equally often.

    `entropy`: of the chosen positions, 1 if all are equally frequent; `band_low`: lower end
    of the entropies expected if the position had no effect; `p`: adjusted p-value, None if
    unknown; `top_slot`: position chosen most, from 0; `top_share`: its share of all choices,
    repeats included; `least_p`: smallest adjusted p-value that so many comparisons allow."""

    entropy: float
    band_low: float
    p: float | None
    top_slot: int
    top_share: float
    least_p: float = 0.0

    @property
    def is_within_chance(self) -> bool:
        return self.entropy >= self.band_low - 1e-9

    @property
    def is_uneven(self) -> bool:
        """Whether the test finds that some positions are chosen more often than others."""
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL

    @property
    def text(self) -> str:
        if not self.is_uneven and self.least_p >= SIGNIFICANCE_LEVEL:
            return "too few items"
        if not self.is_uneven:
            return "within chance" if self.is_within_chance else "not significant"
        return f"≠ even, {slot_name(self.top_slot)} {share(self.top_share, 0)}"


def load_slot_evenness_of_all_judges(filtered: FilteredStudy) -> dict[CellKey, Evenness]:
    """(judge,) or (judge, prompt) -> test of whether positions are chosen evenly, for all judges,
    also those that the filter hides. If the filter selects a prompt, only verdicts with this
    prompt count. Computed once per version of the study."""
    found, prompt = _compute_slot_evenness_uncached(filtered.of_all_raters), filtered.filter.prompt
    if prompt == ALL_CHOICE:
        return found
    chosen = {cell: one for cell, one in found.items() if cell[1:] == (prompt,)}
    return chosen | {cell[:1]: one for cell, one in chosen.items()}


@memoise_by_study
def _compute_slot_evenness_uncached(everyone: FilteredStudy) -> dict[CellKey, Evenness]:
    bias, rows = load_bias(everyone), everyone.measured_judge_rows
    tests, error_share = bias.order_test_count, bias.type_1_error_share
    return slot_evenness(rows, load_option_models_of_all_raters(everyone), tests, error_share)


def slot_evenness(
    frame: pd.DataFrame,
    fitted: Sequence[OptionModelRow] = (),
    tests: int = 0,
    error_share: float = 1.0,
) -> dict[CellKey, Evenness]:
    """(judge,) or (judge, prompt) -> test of whether positions are chosen evenly, on the
    comparisons with the most options. Left out where the entropy or the band expected by chance
    is unknown.

    The tests by judge are one set, those by judge and prompt another. p-values are adjusted for
    the number of tests in the set, or for `tests` if that is more. `error_share`: part of the
    error rate of 5 % available for both sets together. `fitted`: tests by judge and prompt that
    need not be made again."""
    options = int(frame["options"].max()) if len(frame) else 0
    rows = frame[frame["options"] == options]
    tested: dict[CellKey, TestedEntropy] = {
        (row.judge, row.prompt): (row.entropy, row.null_band, row.permutation.p, row.least_p)
        for row in fitted
    }
    by_prompt = _compute_evenness_by_cell(rows, ["judge", "prompt"], options, tested)
    found = (by_prompt, _compute_evenness_by_cell(rows, ["judge"], options, {}))
    if rows["prompt"].nunique() > 1:
        error_share /= 2  # with one prompt both sets are the same tests
    return {
        cell: one
        for cells in found
        for cell, one in _adjust_evenness_p_values(cells, tests, error_share).items()
    }


def _adjust_evenness_p_values(
    cells: Mapping[CellKey, Evenness], tests: int, error_share: float
) -> dict[CellKey, Evenness]:
    adjusted, least = (
        holm_adjust([getattr(one, name) for one in cells.values()], tests, error_share)
        for name in ("p", "least_p")
    )
    return {
        cell: replace(one, p=p, least_p=low or 0.0)
        for (cell, one), p, low in zip(cells.items(), adjusted, least, strict=True)
    }


def _compute_evenness_by_cell(
    rows: pd.DataFrame, columns: list[str], options: int, tested: Mapping[CellKey, TestedEntropy]
) -> dict[CellKey, Evenness]:
    found: dict[CellKey, Evenness] = {}
    for key, part in rows.groupby(columns, observed=True, sort=False):
        cell = tuple(str(name) for name in key)
        entropy, band, p, least = tested.get(cell) or _test_slot_evenness(part, options)
        shares = [one.value or 0.0 for one in slot_shares(part, options)]
        if entropy is None or band is None:
            continue
        top = int(np.argmax(shares))
        found[cell] = Evenness(entropy, band[0], p, top, shares[top], least or 0.0)
    return found


def _test_slot_evenness(rows: pd.DataFrame, options: int) -> TestedEntropy:
    p, band = order_tests.permutation_test(rows, options).p, _entropy_band(rows, options)
    return order_tests.order_set_entropy(rows, options), band, p, _smallest_p(rows, options)
