"""Entropy of choices: the maximum-likelihood estimate shown on the page, and small-sample
corrections."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import digamma

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, mean_estimate
from studies.domain import Estimate
from studies.frames.frame import TIE

LN2: Final = math.log(2)


def entropy(counts: ArrayLike) -> Floats:
    """Maximum-likelihood entropy in nats of counts along the last axis; nan where all counts are
    0."""
    c = np.asarray(counts, np.float64)
    n = c.sum(axis=-1, keepdims=True)
    p = np.divide(c, n, out=np.zeros_like(c), where=n > 0)
    terms = p * np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.where(n[..., 0] > 0, np.abs(terms.sum(axis=-1)), np.nan)


def normalised_entropy(counts: ArrayLike) -> Floats:
    """Maximum-likelihood entropy divided by log N, with N bins (slots); nan for N = 1.

    1 means that all slots were chosen equally often.
    """
    bins = np.shape(counts)[-1]
    return entropy(counts) / math.log(bins) if bins > 1 else entropy(counts) * np.nan


def miller_madow_entropy(counts: ArrayLike) -> float:
    """Miller–Madow entropy: maximum likelihood + (m − 1)/2N, with m bins observed in N draws."""
    c = np.asarray(counts, np.float64)
    return float(entropy(c) + (np.count_nonzero(c) - 1) / (2 * c.sum()))


def jackknife_entropy(counts: ArrayLike) -> float:
    """Jackknife entropy N·H − (N − 1)·H̄ of N draws, with H the maximum-likelihood entropy.

    H̄ is the mean maximum-likelihood entropy with one draw left out.
    """
    c = np.asarray(counts, np.float64)
    n = c.sum()
    left = c - np.eye(len(c))
    seen = c > 0
    without = float((c[seen] * entropy(left[seen])).sum() / n) if n > 1 else 0.0
    return float(n * entropy(c) - (n - 1) * without)


def grassberger_entropy(counts: ArrayLike) -> float:
    """Grassberger's entropy (2003) of N draws: log N − (1/N) Σ n·G(n), summed over bins of n draws.

    G(n) = ψ(n) + ½(−1)ⁿ(ψ((n+1)/2) − ψ(n/2)), with ψ the digamma function.
    """
    c = np.asarray(counts, np.float64)
    c = c[c > 0]
    signs = np.where(c % 2 == 0, 1.0, -1.0)
    g = digamma(c) + 0.5 * signs * (digamma((c + 1) / 2) - digamma(c / 2))
    return float(np.log(c.sum()) - (c * g).sum() / c.sum())


def chao_shen_entropy(counts: ArrayLike) -> float:
    """Chao–Shen entropy: Horvitz–Thompson estimator, adjusted for the coverage of the sample."""
    c = np.asarray(counts, np.float64)
    c = c[c > 0]
    n, singles = c.sum(), float((c == 1).sum())
    coverage = 1 - (singles - (singles == n)) / n
    p = coverage * c / n
    return float(-(p * np.log(p) / (1 - (1 - p) ** n)).sum())


def expected_entropy(options: int, draws: int, correction: bool = False) -> float:
    """Expected normalised entropy of `draws` independent uniform choices: the value without any
    bias.

    Computed exactly over all possible counts; with maximum-likelihood entropy, or Miller–Madow
    entropy if `correction`.
    """
    total = 0.0
    for counts in compositions(draws, options):
        ways = math.lgamma(draws + 1) - sum(math.lgamma(c + 1) for c in counts)
        value = miller_madow_entropy(counts) if correction else float(entropy(counts))
        total += math.exp(ways - draws * math.log(options)) * value
    return total / math.log(options)


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """List all ways to write `total` as an ordered sum of `parts` counts, zeros included."""
    if parts == 1:
        return [(total,)]
    return [
        (head, *tail) for head in range(total + 1) for tail in compositions(total - head, parts - 1)
    ]


def split_entropy_by_order(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Split the entropy of the verdict, in bits, into H(V) = E[H(V | order)] + I(V; order).

    V is the winner of one comparison over its orders and repeats (a tie is an outcome); I(V; order)
    is the part due to the order. Only comparisons read in all orders, with at least two repeats in
    each, are counted; the result is their mean, clustered by item. The estimates are of maximum
    likelihood: with few repeats the part due to the order is biased upward.
    """
    rows = row_selection.select_complete_sets(frame)
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    repeats = np.bincount(order, minlength=orders)
    fewest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(fewest, comparison, repeats[order])
    rows = rows.loc[fewest[comparison] > 1]
    total, within, item = _entropy_parts(rows)
    parts = {"total": total, "noise": within, "order": np.maximum(total - within, 0)}
    note = "" if len(rows) else "no comparison was repeated in every order"
    return {
        name: mean_estimate(values, item, "bits", (0, math.inf), note)
        for name, values in parts.items()
    }


def _entropy_parts(rows: pd.DataFrame) -> tuple[Floats, Floats, Ints]:
    """Return, for each comparison, the entropy H(V) of its outcome V in bits, its mean entropy
    within an order E[H(V | order)], and its item code."""
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    names = row_selection.contestants(rows) if len(rows) else []
    outcome = row_selection.chosen_contestants(rows, names) - TIE
    total = entropy(_outcome_counts(comparison, outcome, count, len(names) + 1)) / LN2
    each = entropy(_outcome_counts(order, outcome, orders, len(names) + 1)) / LN2
    owner = np.zeros(orders, np.int64)
    owner[order] = comparison
    repeats = np.bincount(order, minlength=orders)
    verdicts = np.maximum(np.bincount(comparison, minlength=count), 1)
    within = np.bincount(owner, each * repeats, minlength=count) / verdicts
    first = row_selection.first_rows(comparison, count)
    return total, within, row_selection.item_codes(rows)[first]


def _outcome_counts(group: Ints, outcome: Ints, groups: int, outcomes: int) -> Floats:
    flat = np.bincount(group * outcomes + outcome, minlength=groups * outcomes)
    return flat.reshape(groups, outcomes).astype(np.float64)
