"""Does the judge follow the place? Shares, flips and lean, each beside what chance would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from metrics import position_tallies as tallies
from metrics import selection
from metrics.every import every
from metrics.intervals import joined, proportion
from metrics.measures import Cell, Evidence, Measure
from metrics.position_tallies import both_orders
from studies.frame import TIE
from studies.records import Estimate

NO_SETS: Final = "no comparison was read in all its orders"
NO_PAIRS: Final = "no pair was read in both orders"
NO_REPEATS: Final = "nothing was asked twice in the same order"
SHARE: Final = "share"

FIRST_SHARE: Final = Measure(
    "first_share", SHARE, tallies.first, empty=NO_SETS, notes_one_order=True, needs_order=True
)
TIE_RATE: Final = Measure("tie_rate", SHARE, tallies.ties, empty=NO_SETS, notes_one_order=True)
ENTROPY: Final = Measure(
    "entropy",
    "bits/log2 N",
    tallies.slot_blocks,
    "other",
    (0, 1),
    NO_SETS,
    notes_one_order=True,
    needs_order=True,
    interval=tallies.entropy_interval,
    together=tallies.entropy_of_pairs,
)
CONSISTENCY: Final = Measure(
    "consistency", SHARE, tallies.sets("consistent"), empty=NO_SETS, needs_order=True
)
CONFLICT: Final = Measure("conflict", SHARE, tallies.conflict, empty=NO_SETS, needs_order=True)
HARD_FLIPS: Final = Measure(
    "hard_flips", SHARE, tallies.sets("hard"), empty=NO_SETS, needs_order=True
)
SOFT_FLIPS: Final = Measure(
    "soft_flips", SHARE, tallies.sets("soft"), empty=NO_SETS, needs_order=True
)
CHANCE: Final = Measure("chance", SHARE, tallies.chance, "other", (0, 1), NO_SETS, needs_order=True)
KAPPA: Final = Measure(
    "kappa", "kappa", tallies.kappa, "other", (-math.inf, 1), NO_SETS, needs_order=True
)
NOISE_FLOOR: Final = Measure(
    "noise_floor", SHARE, tallies.noise, empty=NO_REPEATS, needs_order=True
)
ACCURACY: Final = Measure(
    "accuracy", SHARE, tallies.accuracy, empty="no verdict on a known better answer"
)
PRIMACY: Final = Measure("primacy", SHARE, tallies.primacy, empty=NO_PAIRS, needs_order=True)
RECENCY: Final = Measure("recency", SHARE, tallies.recency, empty=NO_PAIRS, needs_order=True)
FAIRNESS: Final = Measure(
    "fairness", "recency − primacy", tallies.fairness, "mean", (-1, 1), NO_PAIRS, needs_order=True
)
STABILITY: Final = Measure("stability", SHARE, tallies.stable, empty=NO_REPEATS, needs_order=True)

MEASURES: Final = {
    measure.name: measure
    for measure in (
        FIRST_SHARE,
        ENTROPY,
        TIE_RATE,
        CONSISTENCY,
        CONFLICT,
        HARD_FLIPS,
        SOFT_FLIPS,
        CHANCE,
        KAPPA,
        NOISE_FLOOR,
        ACCURACY,
        PRIMACY,
        RECENCY,
        FAIRNESS,
        STABILITY,
    )
}


def profile(frame: pd.DataFrame, by: Sequence[str] = ()) -> dict[Cell, dict[str, Estimate]]:
    """Every position measure of every cell; rows are counted once for all of them."""
    columns = every(MEASURES.values(), frame, by)
    cells = columns[CONSISTENCY.name]
    return {cell: {name: columns[name][cell] for name in columns} for cell in cells}


def _of(measure: Measure, frame: pd.DataFrame) -> Estimate:
    return every([measure], frame)[measure.name][()]


def first_share(frame: pd.DataFrame) -> Estimate:
    """first/(all decisive) over complete order sets; where one order was asked: all, noted."""
    return _of(FIRST_SHARE, frame)


def tie_rate(frame: pd.DataFrame) -> Estimate:
    """Ties over the verdicts that the first-slot share looks at, and those of unknown order."""
    return _of(TIE_RATE, frame)


def slot_entropy(frame: pd.DataFrame) -> Estimate:
    """Entropy of the pooled slot counts over log2 N, maximum likelihood; several N: weighted by
    their verdicts. Decisive verdicts of complete sets."""
    return _of(ENTROPY, frame)


def consistency(frame: pd.DataFrame) -> Estimate:
    """Share of comparisons with the same outcome (win, loss, tie) in all orders.

    Repeats are reduced to their modal verdict first. A comparison counts only if every planned
    order was read: an unread reply lowers n, never the value.
    """
    return _of(CONSISTENCY, frame)


def conflict(frame: pd.DataFrame) -> Estimate:
    """1 − consistency."""
    return _of(CONFLICT, frame)


def hard_flips(frame: pd.DataFrame) -> Estimate:
    """Share of complete comparisons with two different winners."""
    return _of(HARD_FLIPS, frame)


def soft_flips(frame: pd.DataFrame) -> Estimate:
    """Share of complete comparisons with one winner and a tie."""
    return _of(SOFT_FLIPS, frame)


def chance(frame: pd.DataFrame) -> Estimate:
    """The consistency that independent draws from the judge's own shares would have."""
    return _of(CHANCE, frame)


def kappa(frame: pd.DataFrame) -> Estimate:
    """(consistency − chance)/(1 − chance)."""
    return _of(KAPPA, frame)


def noise_floor(frame: pd.DataFrame) -> Estimate:
    """How often two readings of the very same order differ; noise-floor repeats included."""
    return _of(NOISE_FLOOR, frame)


def accuracy(frame: pd.DataFrame) -> Estimate:
    """Verdicts for the truly better answer over verdicts where there is one; a tie is wrong."""
    return _of(ACCURACY, frame)


def primacy(frame: pd.DataFrame) -> Estimate:
    """Share of pairs that flip toward the answer shown first (AA, AC, CA)."""
    return _of(PRIMACY, frame)


def recency(frame: pd.DataFrame) -> Estimate:
    """Share of pairs that flip toward the answer shown second (BB, BC, CB)."""
    return _of(RECENCY, frame)


def fairness(frame: pd.DataFrame) -> Estimate:
    """Preference fairness, exactly recency − primacy: +1 all recency, −1 all primacy."""
    return _of(FAIRNESS, frame)


def stability(frame: pd.DataFrame) -> Estimate:
    """Mean share of the modal verdict among repeats of one order."""
    return _of(STABILITY, frame)


def flip_counts(frame: pd.DataFrame) -> dict[str, int]:
    """Complete pairs, their flips, where these lean, and how often one slot was picked twice."""
    sets = both_orders(Evidence(frame))
    flips = ~sets["consistent"].to_numpy()
    lean = sets["lean"].to_numpy()
    return {
        "pairs": len(sets),
        "flips": int(flips.sum()),
        "toward_first": int((flips & (lean > 0)).sum()),
        "toward_second": int((flips & (lean < 0)).sum()),
        "first_twice": int((lean == 2).sum()),
        "second_twice": int((lean == -2).sum()),
    }


def slot_counts(frame: pd.DataFrame, options: int = 2) -> dict[str, list[int] | int]:
    """How often each slot was picked, and ties, in the verdicts the slot shares look at."""
    rows = Evidence(frame).balanced
    pick = rows.loc[(rows["options"] == options).to_numpy(), "pick"].to_numpy()
    slots = np.bincount(pick[pick >= 0].astype(np.int64), minlength=options)
    return {"slots": slots.tolist(), "ties": int((pick == TIE).sum())}


def slot_shares(frame: pd.DataFrame, options: int = 2) -> list[Estimate]:
    """Each slot's share of the decisive verdicts of complete sets, to be held against 1/N."""
    evidence = Evidence(frame)
    rows = evidence.balanced
    rows = selection.rows_of(rows, (rows["options"] == options) & (rows["pick"] >= 0))
    pick, item = rows["pick"].to_numpy(), selection.item_codes(rows)
    note = joined("" if len(rows) else NO_SETS, f"even is 1/{options}")
    return [proportion(pick == slot, item, note=note) for slot in range(options)]
