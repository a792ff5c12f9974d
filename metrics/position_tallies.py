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
    Ints,
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
    """Picks of the first slot over decisive verdicts."""
    rows = evidence.balanced
    pick = rows["pick"].to_numpy()
    return tallied(rows, pick == 0, pick >= 0)


def ties(evidence: Evidence) -> Tally:
    """Ties over all verdicts of balanced sets, and of those whose order is not known."""
    rows = evidence.comparable
    return tallied(rows, rows["pick"] == TIE, 1)


def sets(column: str) -> Callable[[Evidence], Tally]:
    """A flag of order sets over all sets."""

    def tally(evidence: Evidence) -> Tally:
        return tallied(evidence.sets, evidence.sets[column], 1)

    return tally


def conflict(evidence: Evidence) -> Tally:
    """Sets whose orders disagree."""
    return tallied(evidence.sets, ~evidence.sets["consistent"], 1)


def both_orders(evidence: Evidence) -> pd.DataFrame:
    """Complete sets of pairs in exactly two orders."""
    sets = evidence.sets
    return selection.rows_of(sets, (sets["options"] == 2) & (sets["orders"] == 2))


def primacy(evidence: Evidence) -> Tally:
    """Pairs that flip toward the first slot."""
    sets = both_orders(evidence)
    return tallied(sets, (sets["lean"] > 0) & ~sets["consistent"], 1)


def recency(evidence: Evidence) -> Tally:
    """Pairs that flip toward the second slot."""
    sets = both_orders(evidence)
    return tallied(sets, (sets["lean"] < 0) & ~sets["consistent"], 1)


def fairness(evidence: Evidence) -> Tally:
    """+1 for a flip toward second, −1 toward first, 0 for no flip."""
    sets = both_orders(evidence)
    return tallied(sets, -np.sign(sets["lean"]) * ~sets["consistent"], 1)


def accuracy(evidence: Evidence) -> Tally:
    """Picks of the truly better answer where there is one; a tie is wrong."""
    rows = evidence.picks
    rows = selection.rows_of(rows, rows["truth"] >= 0)
    return tallied(rows, rows["pick"] == rows["truth"], 1)


def _uniform_sets(evidence: Evidence) -> pd.DataFrame:
    """Complete sets that show N options in N orders; each cell keeps its smallest N."""
    sets = evidence.sets
    sets = selection.rows_of(sets, sets["options"] == sets["orders"])
    cell, options = sets["cell"].to_numpy(), sets["options"].to_numpy()
    smallest = np.full(evidence.count, np.iinfo(options.dtype).max)
    np.minimum.at(smallest, cell, options)
    return selection.rows_of(sets, options == smallest[cell])


def _consistency_parts(evidence: Evidence) -> Tally:
    sets = _uniform_sets(evidence)
    slots = [sets[name] for name in sets.columns if str(name).startswith("slot_")]
    return tallied(sets, sets["consistent"], *slots, sets["tied"], sets["options"], 1)


def chance_consistency(totals: Floats) -> Floats:
    """What independent draws from the judge's own slot shares would agree on: tᴺ + N·Π f_s.

    For a pair t² + 2·f·s. `totals` holds consistent, the slots' counts, ties, N summed, sets.
    """
    counts = totals[..., 1:-2]
    options = np.nan_to_num(np.round(divided(totals[..., -2], totals[..., -1])), nan=2.0)
    shares = divided(counts, counts.sum(axis=-1, keepdims=True))
    beyond = np.arange(shares.shape[-1] - 1) >= options[..., None]
    places = np.where(beyond, 1.0, shares[..., :-1])
    chance: Floats = shares[..., -1] ** options + options * places.prod(axis=-1)
    return chance


def chance(evidence: Evidence) -> Tally:
    """What the own slot shares would agree on by luck."""
    return replace(_consistency_parts(evidence), statistic=chance_consistency)


def _beyond_chance(totals: Floats) -> Floats:
    chance = chance_consistency(totals)
    return divided(divided(totals[..., 0], totals[..., -1]) - chance, 1 - chance)


def kappa(evidence: Evidence) -> Tally:
    """Consistency beyond that."""
    return replace(_consistency_parts(evidence), statistic=_beyond_chance)


def _repeats(evidence: Evidence, noise: bool) -> tuple[pd.DataFrame, Floats, Floats]:
    """(rows, share of differing pairs of repeats, mode share) per order read at least twice."""
    frame = evidence.frame
    kept = selection.evidence(frame) & (frame["pick"] != NO_PICK).to_numpy()
    kept &= (frame["orders"] != 0).to_numpy()  # without its order, nothing is the same order again
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
    """Differing pairs of readings of one order, noise-floor repeats included."""
    rows, differing, _ = _repeats(evidence, noise=True)
    return tallied(rows, differing, 1)


def stable(evidence: Evidence) -> Tally:
    """Share of the mode among repeats of one order, noise-floor repeats left out."""
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
        ends = np.array([share.value, share.low, share.high], np.float64)
        return _through_entropy(share, measure, *_bits(ends).tolist())
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


def entropy_of_pairs(
    sums: Floats, cell: Ints, count: int, measure: Measure
) -> list[Estimate] | None:
    """`entropy_interval` of every cell, where all there is are pairs."""
    if sums.shape[1] != 3:
        return None
    shares = proportions(sums[:, 0], sums[:, :2].sum(axis=1), cell, count)
    ends = np.array([(one.value, one.low, one.high) for one in shares], np.float64)
    return [
        _through_entropy(share, measure, *bits)
        for share, bits in zip(shares, _bits(ends).tolist(), strict=True)
    ]


def _bits(share: Floats) -> Floats:
    return normalised_entropy(np.stack([share, 1 - share], axis=-1))


def _through_entropy(
    share: Estimate, measure: Measure, value: float, low: float, high: float
) -> Estimate:
    """A first-slot share as entropy: `value`, `low` and `high` are those of the share and of the
    ends of its interval."""
    if share.value is None:
        return unknown(measure.empty, measure.unit)
    method = "first-slot share's Wilson interval, as entropy"
    if share.low is None or share.high is None:
        return replace(share, value=value, unit=measure.unit, method=method)
    top = 1.0 if share.low <= 0.5 <= share.high else max(low, high)
    return replace(
        share, value=value, low=min(low, high), high=top, unit=measure.unit, method=method
    )
