"""Effect of the order in which a prompt lists the options of a verdict (pass and fail, or scores).

An arrangement is one order of the options. Arrangements are compared on the same answer (item and
contestant). Repeats in one arrangement are averaged first; noise-floor repeats enter the noise
floor only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import mean_estimate, proportion, unknown_estimate
from metrics.labels.labelled_rows import CELL, usable_scores
from studies.domain import PASS, Estimate
from studies.frames.frame import SEP
from studies.frames.point_columns import pass_fail_rows

ONE_ORDER_NOTE: Final = "no answer was judged in two orders of the options"
NO_REPEAT_NOTE: Final = "no verdict was repeated in the same order of the options"
_CASE: Final = ["item", "who"]
_SAME_SCORE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class OptionOrder:
    """Effects of the order of the options on the verdicts of one judge with one prompt."""

    changed: Estimate
    """Share of answers whose score depends on the order of the options."""
    noise_floor: Estimate
    """Share of repeats in the same order whose score differs from the first verdict."""
    first_place: Estimate
    """Share of verdicts for the option listed first."""
    expected_first: Estimate
    """Expected value of `first_place` if the same verdicts did not depend on the order."""
    shift: Mapping[str, Estimate]
    """Arrangement -> its mean score − mean score in the other arrangements, on the same answers."""


def option_order_effects(frame: pd.DataFrame) -> dict[tuple[str, str], OptionOrder]:
    """Estimate the effects of the options' order for each judge and prompt that used at least two
    orders."""
    rows = row_selection.select_rows(frame, (frame["options"] == 1).to_numpy())
    found: dict[tuple[str, str], OptionOrder] = {}
    if not len(rows):
        return found
    table = _score_table(rows)
    for judge, prompt in row_selection.observed_combinations(rows, CELL):
        own = table[(table["judge"] == judge) & (table["prompt"] == prompt)]
        if own["arrangement"].nunique() > 1:
            found[judge, prompt] = _effects(own)
    return found


def option_order_section(frame: pd.DataFrame) -> dict[str, Any]:
    """Build the section on the order of the options, as judge -> prompt -> estimates."""
    nested: dict[str, Any] = {}
    for (judge, prompt), found in option_order_effects(frame).items():
        nested.setdefault(judge, {})[prompt] = {
            name: getattr(found, name)
            for name in ("changed", "noise_floor", "first_place", "expected_first", "shift")
        }
    return nested


def _score_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Build the table of usable scores with judge, prompt, item, contestant and arrangement of the
    options."""
    table = pd.DataFrame(
        {
            "judge": rows["judge"].astype(str).to_numpy(),
            "prompt": rows["prompt"].astype(str).to_numpy(),
            "item": row_selection.item_codes(rows),
            "who": rows["first"].astype(str).to_numpy(),
            "arrangement": rows["labels"].astype(str).to_numpy(),
            "noise": rows["noise"].to_numpy(np.bool_),
            "pass_fail": pass_fail_rows(rows),
            "score": usable_scores(rows),
        }
    )
    return table[table["score"].notna()]


def _effects(own: pd.DataFrame) -> OptionOrder:
    main = own[~own["noise"]]
    cells = main.groupby([*_CASE, "arrangement"])["score"].mean().reset_index()
    cases = cells.groupby(_CASE)["score"]
    spread = (cases.max() - cases.min())[cases.size() > 1]
    item = spread.index.get_level_values("item").to_numpy()
    note = "" if len(spread) else ONE_ORDER_NOTE
    first, expected = _first_place(main)
    return OptionOrder(
        proportion((spread > _SAME_SCORE).to_numpy(), item, note=note),
        _noise_floor(own, main),
        first,
        expected,
        _shifts(cells),
    )


def _noise_floor(own: pd.DataFrame, main: pd.DataFrame) -> Estimate:
    keys = [*_CASE, "arrangement"]
    before = main.drop_duplicates(keys)[[*keys, "score"]]
    pairs = own[own["noise"]].merge(before, on=keys, suffixes=("", "_before"))
    changed = ((pairs["score"] - pairs["score_before"]).abs() > _SAME_SCORE).to_numpy()
    note = "" if len(pairs) else NO_REPEAT_NOTE
    return proportion(changed, pairs["item"].to_numpy(), note=note)


def _shifts(cells: pd.DataFrame) -> dict[str, Estimate]:
    """Return, for each arrangement (order of the options), its mean score minus that of the others.

    Arrangements are paired by answer.
    """
    wide = cells.pivot(index=_CASE, columns="arrangement", values="score")
    found = {}
    for name in wide.columns:
        others = wide.drop(columns=name).mean(axis=1)
        gap = (wide[name] - others).dropna()
        items = gap.index.get_level_values("item").to_numpy()
        estimate = mean_estimate(gap.to_numpy(), items) if len(gap) else unknown_estimate(
            ONE_ORDER_NOTE, "score"
        )  # fmt: skip
        found[" ".join(str(name).split(SEP))] = estimate
    return found


def _first_place(main: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Estimate the share of verdicts for the option listed first, and the share expected without an
    order effect.

    The expected share assumes that an answer's verdicts have the same distribution in every
    arrangement: that of all verdicts on this answer together.
    """
    offered = [_option_score(name, passes) for name, passes in zip(
        main["arrangement"], main["pass_fail"], strict=True)]  # fmt: skip
    score = main["score"].to_numpy()
    chosen = np.abs(score - np.asarray(offered)) < _SAME_SCORE
    counts: dict[tuple[Any, Any], int] = {}
    totals: dict[Any, int] = {}
    cases = list(zip(main["item"], main["who"], strict=True))
    for case, value in zip(cases, score, strict=True):
        counts[case, value] = counts.get((case, value), 0) + 1
        totals[case] = totals.get(case, 0) + 1
    expected = [
        counts.get((case, value), 0) / totals[case]
        for case, value in zip(cases, offered, strict=True)
    ]
    items = main["item"].to_numpy()
    return proportion(chosen, items), mean_estimate(expected, items, "share", (0.0, 1.0))


def _option_score(arrangement: str, pass_fail: bool) -> float:
    """Return the score of the option listed first; nan if the options are named levels.

    The frame does not record the order of named levels.
    """
    first = arrangement.split(SEP)[0]
    if pass_fail:
        return float(first == PASS)
    try:
        return float(first)
    except ValueError:
        return float("nan")
