"""Position and label effects, separated by crossed labels; content and position terms from label
probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.estimation.intervals import (
    Floats,
    Statistic,
    jackknife_estimate,
    mean_estimate,
    safe_divide,
    sum_by_item,
    unknown_estimate,
)
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from studies.domain import Estimate
from studies.frames.frame import SEP

NOT_CROSSED_NOTE = "labels were not crossed: position and label cannot be separated"
MIN_PROBABILITY = 1e-6
"""Distance from 0 and 1 at which probabilities are clipped, so that logits stay finite."""


def slot_and_label_effects(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate the position effect "slot" (share of picks of the first slot) and the label effect
    "label" (share of picks of the label that sorts first, such as "A"), each separated from the
    other; 0.5 is no effect. Both are unknown if the first slot always had the same label.

    With f the first-slot share where the labels are A, B and g where they are B, A: slot = (f +
    g)/2 and label = (f + 1 − g)/2. Only decisive verdicts on pairs read in all their orders count
    (all decisive ones of known order, if no comparison was planned in several orders)."""
    rows = row_selection.select_pairs(GroupedFrame(frame).picks_for_position_measures)
    rows = row_selection.select_rows(rows, rows["pick"] >= 0)
    swapped = _swapped_labels_mask(rows)
    first = (rows["pick"] == 0).to_numpy()
    parts = np.stack([first & ~swapped, ~swapped, first & swapped, swapped], axis=1).astype(
        np.float64
    )
    _, sums = sum_by_item(parts, row_selection.item_codes(rows))
    if len(rows) == 0 or swapped.all() or not swapped.any():
        return {name: unknown_estimate(NOT_CROSSED_NOTE, "share") for name in ("slot", "label")}
    return {
        "slot": jackknife_estimate(sums, _slot_effect, len(rows), "share", (0, 1), "no effect: .5"),
        "label": jackknife_estimate(
            sums, _label_effect, len(rows), "share", (0, 1), "no effect: .5"
        ),
    }


def _swapped_labels_mask(rows: pd.DataFrame) -> row_selection.Mask:
    """Mask of the rows whose first slot has the label that sorts second."""
    labels = rows["labels"].astype("category")
    names = [str(name).split(SEP) for name in labels.cat.categories]
    swapped = np.array([len(name) > 1 and name[0] > name[1] for name in names], bool)
    return swapped[labels.cat.codes.to_numpy()] if len(swapped) else np.zeros(len(rows), bool)


def _slot_effect(totals: Floats) -> Floats:
    """Position effect (f + g)/2, with f the share of picks of the first slot where the labels are
    A, B, and g the same where they are B, A. The last axis of `totals`: first-slot picks and
    verdicts with A, B; the same with B, A."""
    plain, swapped = _first_slot_shares(totals)
    return (plain + swapped) / 2


def _label_effect(totals: Floats) -> Floats:
    """Label effect (f + 1 − g)/2, the mean share of picks of the label A; f is the share of picks
    of the first slot where the labels are A, B, and g the same where they are B, A. The last axis
    of `totals`: first-slot picks and verdicts with A, B; the same with B, A."""
    plain, swapped = _first_slot_shares(totals)
    return (plain + 1 - swapped) / 2


def _first_slot_shares(totals: Floats) -> tuple[Floats, Floats]:
    """First-slot shares where the labels are A, B and where they are B, A. The last axis of
    `totals`: first-slot picks and verdicts with A, B; the same with B, A."""
    return safe_divide(totals[..., 0], totals[..., 1]), safe_divide(totals[..., 2], totals[..., 3])


def _crossed_label_tally(statistic: Statistic) -> Callable[[GroupedFrame], MeasureTally]:
    """Return a function that counts verdicts and picks of the first slot, where the labels are A, B
    and where they are B, A; `statistic` computes an effect from these counts."""

    def tally(grouped: GroupedFrame) -> MeasureTally:
        rows = row_selection.select_pairs(grouped.picks_for_position_measures)
        rows = row_selection.select_rows(rows, rows["pick"] >= 0)
        swapped, first = _swapped_labels_mask(rows), (rows["pick"] == 0).to_numpy()
        counted = build_tally(rows, first & ~swapped, ~swapped, first & swapped, swapped, 1)
        return replace(counted, statistic=statistic)

    return tally


def _estimate_effect(sums: Floats, statistic: Statistic, measure: Measure) -> Estimate:
    """Estimate a position or label effect with a jackknife interval; unknown if labels were
    assigned in one way only, because the two effects cannot be separated then."""
    plain, swapped, n = (float(sums[:, column].sum()) for column in (1, 3, 4))
    if not plain or not swapped:
        return unknown_estimate(NOT_CROSSED_NOTE, measure.unit)
    return jackknife_estimate(
        sums, statistic, round(n), measure.unit, measure.value_range, "no effect: .5"
    )


SLOT_EFFECT = Measure(
    "slot",
    "share",
    _crossed_label_tally(_slot_effect),
    "other",
    (0, 1),
    NOT_CROSSED_NOTE,
    prefers_order_sets=True,
    interval=_estimate_effect,
)
LABEL_EFFECT = Measure(
    "label",
    "share",
    _crossed_label_tally(_label_effect),
    "other",
    (0, 1),
    NOT_CROSSED_NOTE,
    prefers_order_sets=True,
    interval=_estimate_effect,
)
"""Position effect (SLOT_EFFECT) and label effect (LABEL_EFFECT) of `slot_and_label_effects`, as
measures that can be estimated in each cell."""


def content_and_position_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each pair with label probabilities in both orders, with its `content` and
    `position` terms in logits.

    ℓ₁ is logit P(answer shown first wins) in the order that shows the alphabetically first
    contestant first, ℓ₂ that in the other order; content = (ℓ₁ − ℓ₂)/2, position = (ℓ₁ + ℓ₂)/2.
    Repeats are averaged.
    """
    rows = row_selection.select_pairs(row_selection.select_readable_without_noise(frame))
    if "p_0" not in rows or "p_1" not in rows:
        return rows.iloc[:0].assign(content=0.0, position=0.0)
    rows = row_selection.select_rows(rows, rows["p_0"].notna() & rows["p_1"].notna())
    p = rows[["p_0", "p_1"]].to_numpy(np.float64)
    share = np.clip(
        np.nan_to_num(safe_divide(p[:, 0], p.sum(axis=1)), nan=0.5),
        MIN_PROBABILITY,
        1 - MIN_PROBABILITY,
    )
    logit = np.log(share / (1 - share))
    swapped = (rows["first"].astype(str) > rows["second"].astype(str)).to_numpy()
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    one, two = (
        _group_means(logit, comparison, count, ~swapped),
        _group_means(logit, comparison, count, swapped),
    )
    table = rows.iloc[row_selection.first_row_per_group(comparison, count)]
    table = table.assign(content=(one - two) / 2, position=(one + two) / 2)
    return row_selection.select_rows(table, np.isfinite(one + two))


def _group_means(
    values: Floats, group: row_selection.Ints, groups: int, mask: row_selection.Mask
) -> Floats:
    total = np.bincount(group[mask], values[mask], minlength=groups)
    return safe_divide(total, np.bincount(group[mask], minlength=groups))


def mean_content_and_position_terms(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate, from the probabilities in both orders, "position", the mean position term
    (positive: toward the first position), and "content", the mean absolute content term (preference
    for one contestant in both positions), in logits. They are unknown without label probabilities
    in both orders."""
    table = content_and_position_table(frame)
    item = row_selection.item_codes(table)
    note = "" if len(table) else "no label probabilities in both orders"
    return {
        "position": mean_estimate(table["position"], item, "logit", note=note),
        "content": mean_estimate(table["content"].abs(), item, "logit", note=note),
    }
