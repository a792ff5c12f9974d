"""Tests for an effect of the order by judge and prompt. The p-values of each kind of test are
adjusted for the number of its tests (Holm)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import DASH, count, number
from components.html.markup import Markup
from components.html.pieces import empty_state
from components.html.templates import macros
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import SIGNIFICANCE_LEVEL
from components.results.bias.option_tests import OptionModelRow, adjusted_option_p_values
from metrics.position.order_tests import OrderTest

ENTROPY_BAND_HEAD: Final = (
    "Modal entropy (of the most frequent choice in each order), and its 95\u202f% range if "
    "positions had no effect"
)
PAIR_TEST_NAMES: Final = {
    "items": "Sign test by item",
    "sign": "Sign test by pair",
    "mcnemar": "McNemar",
    "stuart_maxwell": "Stuart–Maxwell",
    "permutation": "Permutation",
}
STATISTIC_NAMES: Final = {
    "items": "flips toward first minus flips toward second",
    "sign": "flips toward first",
}
NOTE_TEXTS: Final = {"exact": "exact test", "normal": "test with a normal approximation"}
OPTION_TEST_NAMES: Final = {"permutation": "Permutation"}


@dataclass(frozen=True, slots=True)
class OrderTestRow:
    """Tests for an effect of the order, for one judge with one prompt: `tests` and their
    `adjusted` p-values by name of the test, and the number `n` of pairs, or of comparisons
    among N options, that were tested."""

    __test__ = False  # pytest would collect the name

    name: str
    n: int
    counts_text: str
    """Text on the counts tested: flips toward first and second, or the entropy and its band."""
    tests: dict[str, OrderTest]
    adjusted: dict[str, float | None]
    """p-value of each test, adjusted for all judges and prompts, also those that a filter hides."""


def pair_test_rows(bias: Bias) -> list[OrderTestRow]:
    """One row for each judge and prompt that the filter selects, with all tests for pairs."""
    everyone = bias.of_all_raters
    tables = {cell: everyone.pooled_order_table(cell) for cell in everyone.names}
    tests = {cell: table.run_tests() for cell, table in tables.items()}
    by_name = {
        name: bias.adjust_p_values([tests[cell][name].p for cell in tables])
        for name in PAIR_TEST_NAMES
    }
    rows = []
    for at, (cell, table) in enumerate(tables.items()):
        if cell in bias.names:
            between = f"{count(table.toward_first)} : {count(table.toward_second)}"
            adjusted = {name: values[at] for name, values in by_name.items()}
            name = bias.names[cell]
            rows.append(OrderTestRow(name, table.pairs, between, tests[cell], adjusted))
    return rows


def select_option_models(rows: Sequence[OptionModelRow], bias: Bias) -> list[OptionModelRow]:
    """Those of `rows` that the filter selects, sorted as in all panels: the highest Grade Score
    first (harmonic mean of position entropy and share of the most chosen answer)."""
    by_cell = {(row.judge, row.prompt): row for row in rows}
    return [by_cell[cell] for cell in bias.names if cell in by_cell]


def option_test_rows(rows: Sequence[OptionModelRow], bias: Bias) -> list[OrderTestRow]:
    """Test results for N options by judge and prompt, of those that the filter selects; `rows`: all
    judges and prompts, for which the p-values are adjusted."""
    found, adjusted = [], adjusted_option_p_values(bias, rows)
    for row in select_option_models(rows, bias):
        cell, n = (row.judge, row.prompt), row.permutation.n
        tests, p = {"permutation": row.permutation}, {"permutation": adjusted.get(cell)}
        found.append(OrderTestRow(bias.names[cell], n, _entropy_band_text(row), tests, p))
    return found


def _entropy_band_text(row: OptionModelRow) -> str:
    """Text of the entropy of the chosen positions and of the band expected without a position
    effect, such as "0.912 : 0.980 to 0.999"; a dash if one of them is unknown."""
    if row.entropy is None or row.null_band is None:
        return DASH
    low, high = (number(end, 3) for end in row.null_band)
    return f"{number(row.entropy, 3)} : {low} to {high}"


# ------------------------------------------------------------------------ the table


def order_tests_html(
    rows: Sequence[OrderTestRow], names: dict[str, str], counts_head: str, n_head: str
) -> Markup:
    """HTML table of adjusted p-values: a line for each row with tested comparisons, a column for
    each test that has a p-value; a message if there are no such rows.

    `names`: key of a test -> head of its column; `counts_head`: head of the column with the
    row's `counts_text`, "" for no such column; `n_head`: head of the column with the row's `n`."""
    rows = [row for row in rows if row.n]
    if not rows:
        return empty_state(
            "Nothing to test yet.", "The tests need comparisons with usable replies in all orders."
        )
    shown = [key for key in names if any(row.adjusted[key] is not None for row in rows)]
    lines = [
        (
            row.name,
            [count(row.n), *([row.counts_text] if counts_head else [])],
            [_p_value_with_hover(row.tests[key], row.adjusted[key]) for key in shown],
        )
        for row in rows
    ]
    heads = [n_head, *([counts_head] if counts_head else []), *(names[key] for key in shown)]
    banded = " banded" if counts_head == ENTROPY_BAND_HEAD else ""
    return macros("results/bias/bias.html").tests(banded, heads, lines)


def _p_value_with_hover(test: OrderTest, adjusted: float | None) -> dict[str, Any]:
    """The adjusted p-value of a test (`p`; None if there is nothing to test), its text, whether it
    is significant, and its hover card (`tip`), for the template."""
    if adjusted is None:
        return {"p": None, "tip": f"{DASH} {test.note or 'nothing to test'}"}
    text = format_p_value(adjusted, test.p_is_bound)
    lines = [f"p {text} adjusted", f"p {format_p_value(test.p, test.p_is_bound)} unadjusted"]
    if test.statistic is not None:
        name = STATISTIC_NAMES.get(test.name, "test statistic")
        df = f", {test.df} df" if test.df else ""
        lines.append(f"{name}: {number(test.statistic, 2)}{df}")
    lines += [NOTE_TEXTS.get(test.note, test.note)] if test.note else []
    significant = adjusted < SIGNIFICANCE_LEVEL
    tip = "\n".join(lines)
    return {"p": adjusted, "text": text, "significant": significant, "tip": tip}


def p_value_clause(p: float, is_bound: bool = False) -> str:
    """Clause on a p-value, such as "p = .031", "p < .001" or, for a bound, "p ≤ .003"."""
    text = format_p_value(p, is_bound)
    return f"p {text}" if text[0] in "<≤" else f"p = {text}"


def format_p_value(p: float | None, is_bound: bool = False) -> str:
    """Format a p-value as in papers: .031, < .001; ≤ .003 if it is an upper bound, because no
    random permutation was as uneven; a dash for None."""
    if p is None:
        return DASH
    if p < 0.001:
        return "< .001"
    if is_bound:
        p = math.ceil(round(1000 * p, 9)) / 1000
        return f"≤ {p:.3f}".replace("0.", ".")
    return "1" if p >= 0.9995 else f"{p:.3f}".lstrip("0")
