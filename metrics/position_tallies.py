"""What the position measures count: tallies of verdicts, order sets and repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from metrics import selection
from metrics.entropy import normalised_entropy
from metrics.intervals import (
    ONE_ITEM,
    Floats,
    Statistic,
    divided,
    jackknife_error,
    proportions,
    quantile,
    unknown,
)
from metrics.measures import Evidence, Measure, Tally, tallied
from studies.frame import NO_PICK, TIE
from studies.records import Estimate


def first(evidence: Evidence) -> Tally:
    rows = evidence.balanced
    pick = rows["pick"].to_numpy()
    return tallied(rows, pick == 0, pick >= 0)


def ties(evidence: Evidence) -> Tally:
    rows = evidence.balanced
    return tallied(rows, rows["pick"] == TIE, 1)


def sets(column: str) -> Callable[[Evidence], Tally]:
    def tally(evidence: Evidence) -> Tally:
        return tallied(evidence.sets, evidence.sets[column], 1)

    return tally


def conflict(evidence: Evidence) -> Tally:
    return tallied(evidence.sets, ~evidence.sets["consistent"], 1)


def both_orders(evidence: Evidence) -> pd.DataFrame:
    """Complete sets of pairs in exactly two orders."""
    sets = evidence.sets
    return selection.rows_of(sets, (sets["options"] == 2) & (sets["orders"] == 2))


def primacy(evidence: Evidence) -> Tally:
    sets = both_orders(evidence)
    return tallied(sets, (sets["lean"] > 0) & ~sets["consistent"], 1)


def recency(evidence: Evidence) -> Tally:
    sets = both_orders(evidence)
    return tallied(sets, (sets["lean"] < 0) & ~sets["consistent"], 1)


def fairness(evidence: Evidence) -> Tally:
    sets = both_orders(evidence)
    return tallied(sets, -np.sign(sets["lean"]) * ~sets["consistent"], 1)


def accuracy(evidence: Evidence) -> Tally:
    rows = evidence.picks
    rows = selection.rows_of(rows, rows["truth"] >= 0)
    return tallied(rows, rows["pick"] == rows["truth"], 1)


def _uniform_sets(evidence: Evidence) -> tuple[pd.DataFrame, int]:
    """Complete sets that show N options in N orders, for one N: pairs unless there are none."""
    sets = evidence.sets
    sets = selection.rows_of(sets, sets["options"] == sets["orders"])
    options = int(sets["options"].min()) if len(sets) else 2
    return selection.rows_of(sets, sets["options"] == options), options


def _consistency_parts(evidence: Evidence) -> tuple[Tally, int]:
    sets, options = _uniform_sets(evidence)
    slots = [sets[f"slot_{slot}"] for slot in range(options)]
    return tallied(sets, sets["consistent"], *slots, sets["tied"], 1), options


def chance_consistency(totals: Floats, options: int) -> Floats:
    """What independent draws from the judge's own slot shares would agree on: tᴺ + N·Π f_s.

    For a pair t² + 2·f·s. `totals` holds consistent, the slots' counts, ties, sets.
    """
    counts = totals[..., 1:-1]
    shares = divided(counts, counts.sum(axis=-1, keepdims=True))
    chance: Floats = shares[..., -1] ** options + options * shares[..., :-1].prod(axis=-1)
    return chance


def chance(evidence: Evidence) -> Tally:
    tally, options = _consistency_parts(evidence)
    return replace(tally, statistic=lambda totals: chance_consistency(totals, options))


def kappa(evidence: Evidence) -> Tally:
    tally, options = _consistency_parts(evidence)

    def statistic(totals: Floats) -> Floats:
        chance = chance_consistency(totals, options)
        return divided(divided(totals[..., 0], totals[..., -1]) - chance, 1 - chance)

    return replace(tally, statistic=statistic)


def _repeats(evidence: Evidence, noise: bool) -> tuple[pd.DataFrame, Floats, Floats]:
    """(rows, share of differing pairs of repeats, mode share) per order read at least twice."""
    frame = evidence.frame
    kept = selection.evidence(frame) & (frame["pick"] != NO_PICK).to_numpy()
    if not noise:
        kept &= ~frame["noise"].to_numpy()
    rows = frame.loc[kept]
    group, groups = selection.group_codes(rows, selection.ORDER)
    counts = selection.votes(rows, group, groups).astype(np.float64)
    several = counts.sum(axis=1) > 1
    counts, first = counts[several], selection.first_rows(group, groups)[several]
    total = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return rows.iloc[first], 1 - agreeing / (total * (total - 1)), counts.max(axis=1) / total


def noise(evidence: Evidence) -> Tally:
    rows, differing, _ = _repeats(evidence, noise=True)
    return tallied(rows, differing, 1)


def stable(evidence: Evidence) -> Tally:
    rows, _, mode_share = _repeats(evidence, noise=False)
    return tallied(rows, mode_share, 1)


def slot_blocks(evidence: Evidence) -> Tally:
    """Counts of each slot for each N, decisive verdicts of complete sets."""
    rows = evidence.balanced
    pick, options = rows["pick"].to_numpy(), rows["options"].to_numpy()
    sizes = [int(n) for n in np.unique(options) if n > 1] or [2]
    columns = [(options == n) & (pick == slot) for n in sizes for slot in range(n)]
    return replace(tallied(rows, *columns, (pick >= 0) & (options > 1)), statistic=_mixed(sizes))


def _mixed(sizes: Sequence[int]) -> Statistic:
    """Normalised entropy of each N, weighted by its verdicts."""
    edges = np.cumsum([0, *sizes])

    def statistic(totals: Floats) -> Floats:
        blocks = [totals[..., a:b] for a, b in pairwise(edges)]
        n = np.stack([block.sum(axis=-1) for block in blocks])
        each = np.nan_to_num(np.stack([normalised_entropy(block) for block in blocks]))
        return divided((n * each).sum(axis=0), n.sum(axis=0))

    return statistic


def entropy_interval(sums: Floats, statistic: Statistic, measure: Measure) -> Estimate:
    """Pairs: the first-slot share's Wilson interval seen through the entropy. More slots: item
    jackknife t on d = √(1 − H), the distance from even, whose SE is never below that of as many
    independent even choices, √(1/(2·n·ln N)): a judge that happens to be even is not surely so.
    """
    n, value = round(float(sums[:, -1].sum())), float(statistic(sums.sum(axis=0)))
    used = sums[:, :-1].sum(axis=0) > 0
    items = len(sums)
    if sums.shape[1] == 3 or not used[2:].any():
        share = proportions(sums[:, 0], sums[:, :2].sum(axis=1), np.zeros(items, np.int64), 1)[0]
        return _through_entropy(share, measure)
    distance = lambda totals: np.sqrt(np.maximum(1 - statistic(totals), 0))  # noqa: E731
    slots = max(int(used.sum()), 2)
    floor = math.sqrt(1 / (2 * (n if value > 0 else items) * math.log(slots)))
    error = jackknife_error(sums, distance)
    method = "item jackknife t on √(1 − H)"
    if not math.isfinite(error):
        return Estimate(value, None, None, n, items, measure.unit, 0.95, method, ONE_ITEM)
    centre, half = math.sqrt(max(1 - value, 0)), float(quantile(items)) * max(error, floor)
    low, high = 1 - min(centre + half, 1) ** 2, 1 - max(centre - half, 0) ** 2
    return Estimate(value, low, high, n, items, measure.unit, 0.95, method)


def _through_entropy(share: Estimate, measure: Measure) -> Estimate:
    def bits(p: float) -> float:
        return float(normalised_entropy([p, 1 - p]))

    if share.value is None:
        return unknown(measure.empty, measure.unit)
    value, method = bits(share.value), "first-slot share's Wilson interval, as entropy"
    if share.low is None or share.high is None:
        return replace(share, value=value, unit=measure.unit, method=method)
    ends = bits(share.low), bits(share.high)
    high = 1.0 if share.low <= 0.5 <= share.high else max(ends)
    return replace(share, value=value, low=min(ends), high=high, unit=measure.unit, method=method)
