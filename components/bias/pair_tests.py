"""Could this be chance? The order tests of every judge and prompt, p-values adjusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from components.bias.counts import Bias
from components.bias.words import SURE
from components.drawing.pieces import empty, wrap
from components.format import NONE, attributes, count, number, safe
from components.rows import Filter, as_judges, machine_rows
from components.scene import Scene
from metrics.choice import ChoiceModel, choice_model
from metrics.order_tables import holm
from metrics.order_tests import Test, entropy_null_band, permutation_test
from metrics.position import slot_entropy
from studies.store import Store

SEED: Final = 20_24
ROUNDS: Final = 999
BAND_ROUNDS: Final = 399
"""Draws for the band of entropies: its ends need not be as sharp as a p."""
CHOSEN: Final = "Entropy : if only content counted"
PAIR_TESTS: Final = {
    "sign": "Sign, exact",
    "mcnemar": "McNemar",
    "stuart_maxwell": "Stuart–Maxwell",
    "permutation": "Permutation",
}
OPTION_TESTS: Final = {
    "permutation": "Permutation",
    "place": "Place effects, LR",
    "label": "Label effects, LR",
}


@dataclass(frozen=True, slots=True)
class TestRow:
    """The tests of one judge with one prompt."""

    __test__ = False  # pytest would collect the name

    name: str
    n: int
    between: str
    """What the tests look at, in numbers: flips toward first and second, or slots chosen."""
    tests: dict[str, Test]
    select: Any


@dataclass(frozen=True, eq=False)
class OptionRow:
    """One judge and prompt among N options: the model of places and labels, and its tests."""

    judge: str
    prompt: str
    model: ChoiceModel
    permutation: Test
    entropy: float | None = None
    """Of the slots chosen, over log2 N."""
    band: tuple[float, float] | None = None
    """The middle 95 % of what it would be if only content counted."""


def pair_tests(bias: Bias) -> list[TestRow]:
    """Sign, McNemar, Stuart–Maxwell and permutation test of every row with pairs."""
    rows = []
    for (judge, prompt), name in bias.names.items():
        table = bias.table((judge, prompt))
        between = f"{count(table.toward_first)} : {count(table.toward_second)}"
        select = {"judge": judge, "prompt": prompt, "flipped": True}
        rows.append(TestRow(name, table.pairs, between, table.tests(), select))
    return rows


def in_order(rows: Sequence[OptionRow], bias: Bias) -> list[OptionRow]:
    """The rows as every panel has them: steadiest first."""
    place = {row: number for number, row in enumerate(bias.names)}
    return sorted(rows, key=lambda row: place.get((row.judge, row.prompt), len(place)))


def option_tests(rows: Sequence[OptionRow], bias: Bias) -> list[TestRow]:
    """The within-item permutation test, and what places and labels add to the likelihood."""
    found = []
    for row in in_order(rows, bias):
        slots = row.model.slots.get(bias.options, ())
        tests = {
            "permutation": row.permutation,
            "place": _likelihood(row.model.slot_test, row.model.note),
            "label": _likelihood(row.model.label_test, row.model.note),
        }
        select = {"judge": row.judge, "prompt": row.prompt}
        n = slots[0].n if slots else row.permutation.n
        found.append(TestRow(bias.names[row.judge, row.prompt], n, _banded(row), tests, select))
    return found


def _banded(row: OptionRow) -> str:
    """The entropy and where it would lie without any effect of the place."""
    if row.entropy is None or row.band is None:
        return NONE
    low, high = (number(end, 3) for end in row.band)
    return f"{number(row.entropy, 3)} : {low} to {high}"


def _likelihood(test: Any, note: str) -> Test:
    if test is None:
        return Test("LR", None, None, None, 0, note)
    return Test("LR", test.statistic, test.p, test.df)


def option_rows(scene: Scene) -> tuple[OptionRow, ...]:
    """The choice models of the rows in view, fitted once for each version of the study."""
    store, name = scene.store, scene.name
    return _fitted(store, name, store.version(name), scene.filter)


@lru_cache(maxsize=16)
def _fitted(
    store: Store, name: str, version: tuple[str, int], chosen: Filter
) -> tuple[OptionRow, ...]:
    return option_rows_of(machine_rows(chosen.apply(as_judges(store.frame(name)))))


def option_rows_of(frame: pd.DataFrame) -> tuple[OptionRow, ...]:
    """A model and a permutation test for each judge and prompt."""
    options = int(frame["options"].max()) if len(frame) else 0
    rows = frame[frame["options"] == options]
    found = []
    for (judge, prompt), part in rows.groupby(["judge", "prompt"], observed=True, sort=False):
        rng = np.random.default_rng(SEED)
        test = permutation_test(part, options, rng, ROUNDS)
        model = choice_model(part, least=options)
        band = entropy_null_band(part, rng, options, BAND_ROUNDS)
        chosen = slot_entropy(part).value
        found.append(OptionRow(str(judge), str(prompt), model, test, chosen, band))
    return tuple(found)


# ------------------------------------------------------------------------ the table


def order_table_html(
    rows: Sequence[TestRow], names: dict[str, str], between: str, unit: str
) -> str:
    """One line a judge and prompt, one column a test; adjusted p, the rest in the card."""
    rows = [row for row in rows if row.n]
    if not rows:
        return empty("Nothing to test yet.", "The tests need comparisons read in all their orders.")
    adjusted = {key: holm([row.tests[key].p for row in rows]) for key in names}
    shown = [key for key in names if any(p is not None for p in adjusted[key])]
    middle = f'<th class="num">{safe(between)}</th>' if between else ""
    heads = "".join(f'<th class="num">{safe(names[key])}</th>' for key in shown)
    body = "".join(
        _line(row, [(row.tests[key], adjusted[key][place]) for key in shown], bool(between))
        for place, row in enumerate(rows)
    )
    banded = " banded" if between == CHOSEN else ""
    return wrap(
        f'<div class="eh-tbl-box"><table class="eh-tbl dense eh-tests{banded}">'
        f'<thead><tr><th>Row</th><th class="num">{safe(unit)}</th>{middle}{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _line(row: TestRow, tests: Sequence[tuple[Test, float | None]], between: bool) -> str:
    middle = f'<td class="num">{safe(row.between)}</td>' if between else ""
    cells = "".join(_cell(test, p) for test, p in tests)
    return (
        f'<tr><th scope="row">{safe(row.name)}</th><td class="num">{count(row.n)}</td>{middle}'
        f"{cells}</tr>"
    )


def _cell(test: Test, adjusted: float | None) -> str:
    if adjusted is None:
        tip = attributes({"data-tip": f"{NONE} {test.note or 'nothing to test'}"})
        return f'<td class="num"><span class="eh-mute"{tip}>{NONE}</span></td>'
    statistic = "" if test.statistic is None else f"{test.name}: {number(test.statistic, 2)}"
    df = f", {test.df} df" if test.df else ""
    lines = [f"p {p_text(adjusted)} after Holm", f"p {p_text(test.p)} by itself"]
    lines += [statistic + df] if statistic else []
    lines += [test.note] if test.note else []
    tip = attributes({"data-tip": "\n".join(lines), "tabindex": "0"})
    text = f"<b>{p_text(adjusted)}</b>" if adjusted < SURE else p_text(adjusted)
    return f'<td class="num"><span{tip}>{text}</span></td>'


def p_text(p: float | None) -> str:
    """.031, < .001: as papers print it."""
    if p is None:
        return NONE
    if p < 0.001:
        return "< .001"
    return "1" if p >= 0.9995 else f"{p:.3f}".lstrip("0")
