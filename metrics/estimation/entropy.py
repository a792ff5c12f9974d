"""Entropy of choices by maximum likelihood, and its split into noise and the effect of order."""

import math
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metrics.estimation import row_selection
from metrics.estimation.intervals import Floats, Ints, mean_estimate
from studies.domain import Estimate
from studies.frames.frame import TIE

LN2: Final = math.log(2)


def entropy(counts: ArrayLike) -> Floats:
    """Maximum-likelihood entropy in nats of counts along the last axis; nan if all are 0."""
    c = np.asarray(counts, np.float64)
    n = c.sum(axis=-1, keepdims=True)
    p = np.divide(c, n, out=np.zeros_like(c), where=n > 0)
    terms = p * np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.where(n[..., 0] > 0, np.abs(terms.sum(axis=-1)), np.nan)


def normalised_entropy(counts: ArrayLike) -> Floats:
    """Maximum-likelihood entropy divided by log N, with N bins (slots); nan for N = 1 or if all
    counts are 0. 1 means that all slots were chosen equally often."""
    bins = np.shape(counts)[-1]
    return entropy(counts) / math.log(bins) if bins > 1 else entropy(counts) * np.nan


def split_entropy_by_order(frame: pd.DataFrame) -> dict[str, Estimate]:
    """Split the entropy of the outcomes of a comparison, in bits: "total" = "noise" + "order".

    "total" is the entropy over all orders and repeats, "noise" the mean entropy within one order
    (each weighted by its verdicts), "order" their difference, which is due to the order. An outcome
    is the winner or a tie. The values are means over the comparisons read in all their orders, at
    least two, with at least two repeats in each (calls repeated only to measure noise are left
    out); unknown without such comparisons. With few repeats, "order" is biased upward. No interval
    exceeds log₂(N + 1), the entropy of N winners and a tie that are all equally frequent.
    """
    rows = row_selection.select_picks_of_complete_sets(frame)
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    order, orders = row_selection.group_codes(rows, row_selection.ORDER_KEY)
    repeats = np.bincount(order, minlength=orders)
    fewest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(fewest, comparison, repeats[order])
    rows = rows.loc[fewest[comparison] > 1]
    total, within, item = _total_and_noise_entropy(rows)
    parts = {"total": total, "noise": within, "order": np.maximum(total - within, 0)}
    most = math.log2(int(rows["options"].max()) + 1) if len(rows) else math.inf
    note = "" if len(rows) else "no comparison was repeated in every order"
    return {
        name: mean_estimate(values, item, "bits", (0, most), note) for name, values in parts.items()
    }


def _total_and_noise_entropy(rows: pd.DataFrame) -> tuple[Floats, Floats, Ints]:
    """Return, for each comparison, the entropy H(V) of its outcome V in bits, its mean entropy
    within an order E[H(V | order)], each order weighted by its verdicts, and its item code."""
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
    first = row_selection.first_row_per_group(comparison, count)
    return total, within, row_selection.item_codes(rows)[first]


def _outcome_counts(group: Ints, outcome: Ints, groups: int, outcomes: int) -> Floats:
    """Count each outcome in each group, [group, outcome]; `group` and `outcome` are those of each
    row."""
    flat = np.bincount(group * outcomes + outcome, minlength=groups * outcomes)
    return flat.reshape(groups, outcomes).astype(np.float64)
