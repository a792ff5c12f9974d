"""Slot or name? The label effect where labels were crossed, and what label probabilities add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from metrics import selection
from metrics.intervals import Floats, Statistic, divided, item_sums, jackknife, mean, unknown
from metrics.measures import Evidence, Measure, Tally, tallied
from studies.frame import SEP
from studies.records import Estimate

NOT_CROSSED = "labels were not crossed: slot and label are the same thing"
SURE = 1e-6
"""Probabilities are held this far from 0 and 1: a logit must stay finite."""


def slot_and_label(frame: pd.DataFrame) -> dict[str, Estimate]:
    """first: share of the first slot; label: share of the label that sorts first ("A").

    With f the first-slot share under plain labels (A, B) and g under turned ones (B, A):
    slot = (f + g)/2, label = (f + 1 − g)/2, so neither rests on how many had which labels. Decisive
    verdicts on pairs of complete sets. Even is .5 for both.
    """
    rows = selection.pairs(Evidence(frame).balanced)
    rows = selection.rows_of(rows, rows["pick"] >= 0)
    turned = _turned(rows)
    first = (rows["pick"] == 0).to_numpy()
    parts = np.stack([first & ~turned, ~turned, first & turned, turned], axis=1).astype(np.float64)
    _, sums = item_sums(parts, selection.item_codes(rows))
    if len(rows) == 0 or turned.all() or not turned.any():
        return {name: unknown(NOT_CROSSED, "share") for name in ("slot", "label")}
    return {
        "slot": jackknife(sums, _slot, len(rows), "share", (0, 1), "even is .5"),
        "label": jackknife(sums, _label, len(rows), "share", (0, 1), "even is .5"),
    }


def _turned(rows: pd.DataFrame) -> selection.Mask:
    """Rows whose first slot has the label that sorts second."""
    labels = rows["labels"].astype("category")
    names = [str(name).split(SEP) for name in labels.cat.categories]
    turned = np.array([len(name) > 1 and name[0] > name[1] for name in names], bool)
    return turned[labels.cat.codes.to_numpy()] if len(turned) else np.zeros(len(rows), bool)


def _slot(totals: Floats) -> Floats:
    plain, turned = _both(totals)
    return (plain + turned) / 2


def _label(totals: Floats) -> Floats:
    plain, turned = _both(totals)
    return (plain + 1 - turned) / 2


def _both(totals: Floats) -> tuple[Floats, Floats]:
    return divided(totals[..., 0], totals[..., 1]), divided(totals[..., 2], totals[..., 3])


def _tally(statistic: Statistic) -> Callable[[Evidence], Tally]:
    def tally(evidence: Evidence) -> Tally:
        rows = selection.pairs(evidence.balanced)
        rows = selection.rows_of(rows, rows["pick"] >= 0)
        turned, first = _turned(rows), (rows["pick"] == 0).to_numpy()
        counted = tallied(rows, first & ~turned, ~turned, first & turned, turned, 1)
        return replace(counted, statistic=statistic)

    return tally


def _interval(sums: Floats, statistic: Statistic, measure: Measure) -> Estimate:
    """Unknown where a cell has one way of labelling only: there the two are the same thing."""
    plain, turned, n = (float(sums[:, column].sum()) for column in (1, 3, 4))
    if not plain or not turned:
        return unknown(NOT_CROSSED, measure.unit)
    return jackknife(sums, statistic, round(n), measure.unit, measure.bounds, "even is .5")


SLOT = Measure("slot", "share", _tally(_slot), "other", (0, 1), NOT_CROSSED, interval=_interval)
LABEL = Measure("label", "share", _tally(_label), "other", (0, 1), NOT_CROSSED, interval=_interval)
"""`slot_and_label` of every cell."""


def probability_table(frame: pd.DataFrame) -> pd.DataFrame:
    """content and position of every pair with label probabilities in both orders, in logits.

    With ℓ = logit P(first shown wins) in each order: content = (ℓ₁ − ℓ₂)/2 (for the contestant that
    sorts first), position = (ℓ₁ + ℓ₂)/2. Repeats are averaged within their order.
    """
    rows = selection.pairs(selection.readable(frame))
    if "p_0" not in rows or "p_1" not in rows:
        return rows.iloc[:0].assign(content=0.0, position=0.0)
    rows = selection.rows_of(rows, rows["p_0"].notna() & rows["p_1"].notna())
    p = rows[["p_0", "p_1"]].to_numpy(np.float64)
    share = np.clip(np.nan_to_num(divided(p[:, 0], p.sum(axis=1)), nan=0.5), SURE, 1 - SURE)
    logit = np.log(share / (1 - share))
    turned = (rows["first"].astype(str) > rows["second"].astype(str)).to_numpy()
    comparison, count = selection.group_codes(rows, selection.COMPARISON)
    one, two = (
        _average(logit, comparison, count, ~turned),
        _average(logit, comparison, count, turned),
    )
    table = rows.iloc[selection.first_rows(comparison, count)]
    table = table.assign(content=(one - two) / 2, position=(one + two) / 2)
    return selection.rows_of(table, np.isfinite(one + two))


def _average(values: Floats, group: selection.Ints, groups: int, kept: selection.Mask) -> Floats:
    total = np.bincount(group[kept], values[kept], minlength=groups)
    return divided(total, np.bincount(group[kept], minlength=groups))


def probability_split(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Mean position term (signed, + toward first) and mean |content|, in logits, by items."""
    table = probability_table(frame)
    item = selection.item_codes(table)
    note = "" if len(table) else "no label probabilities in both orders"
    return {
        "position": mean(table["position"], item, "logit", note=note),
        "content": mean(table["content"].abs(), item, "logit", note=note),
    }
