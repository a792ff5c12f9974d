"""Significance tests of position bias: under the null hypothesis, verdicts depend on content only.

An order set is one comparison in all its orders; it is complete if a verdict was read in each, and
a flip if these verdicts differ.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, permutations
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import bdtr

from metrics.estimation import measures, row_selection
from metrics.estimation.intervals import Floats, Ints
from metrics.position.position_tallies import pairs_read_in_both_orders
from studies.frames.frame import TIE

MAX_EXACT_STATES: Final = 100_000
"""Maximum number of histograms (possible slot counts) in the exact permutation test; with more,
random draws are used."""

MAX_STATE_BITS: Final = 2**27
"""Maximum number of bits (16 MB) in which the possible slot counts are marked."""

MAX_FIRST_SETS: Final = 200
"""Maximum number of order sets whose possible slot counts are counted first: if these alone have
more than MAX_EXACT_STATES, so have all."""

MAX_EXACT_FLIPS: Final = 10_000
"""Maximum number of flips for which the sign test by items is exact; with more, a normal
approximation is used."""

PERMUTATION_ROUNDS: Final = 9_999
"""Number of random permutations if the exact permutation test is not possible; the smallest p-value
is then 1/10,000."""

PERMUTATION_SEED: Final = 20_24

NONE_AS_UNEVEN: Final = "none as uneven"
"""Note on a permutation test in which no random permutation reaches the observed statistic."""

MAX_LISTED_ORDERS: Final = 6
"""Maximum number of orders in an order set for which all permutations (6!) are listed; with more,
random permutations are drawn."""


@dataclass(frozen=True)
class OrderTest:
    """Statistic and p-value of a test; p is None if the data allow no test (`note` gives the
    reason). `df` are the degrees of freedom of a χ² test, `n` is the number of tested units (flips,
    items, pairs or order sets)."""

    __test__ = False  # pytest would collect the name

    name: str
    statistic: float | None
    p: float | None
    df: int | None = None
    n: int = 0
    note: str = ""

    @property
    def p_is_bound(self) -> bool:
        """Whether `p` is the smallest p-value that the random permutations can give, so that the
        true one may be much smaller."""
        return self.note.endswith(NONE_AS_UNEVEN)


def sign_test(primacy: int, recency: int) -> OrderTest:
    """Exact binomial test that flips toward the first slot (their number: `primacy`) and toward the
    second (`recency`) are equally likely. The p-value is twice the smaller tail; without flips it
    is 1."""
    n = primacy + recency
    p = min(1.0, 2 * float(bdtr(min(primacy, recency), n, 0.5))) if n else 1.0
    return OrderTest("sign", float(primacy), p, None, n, "" if n else "no flips")


def item_sign_test(leans: ArrayLike) -> OrderTest:
    """Sign test by items: without a position effect, the flips of an item could as well all go the
    other way. Flips of one item are not independent of each other.

    `leans` has, for each item, L_i = flips toward the first slot minus flips toward the second. p =
    P(|Σ ±L_i| ≥ |Σ L_i|) over random signs: exact up to MAX_EXACT_FLIPS flips, else a normal
    approximation. With one flip per item it equals `sign_test`.
    """
    lean = np.asarray(leans, np.int64)
    lean = lean[lean != 0]
    if len(lean) == 0:
        return OrderTest(
            "items", 0.0, 1.0, None, 0, "no item has more flips in one direction than in the other"
        )
    total, sizes = abs(int(lean.sum())), np.abs(lean)
    if sizes.sum() > MAX_EXACT_FLIPS:
        p = 2 * float(stats.norm.sf(total / math.sqrt(float((sizes**2).sum()))))
        return OrderTest("items", float(lean.sum()), min(p, 1.0), None, len(lean), "normal")
    # Probabilities that Σ ±size_i, with random signs, is −S, −S + 2, …, S, where S = Σ size_i.
    mass: Floats = np.ones(1)
    values, counts = np.unique(sizes, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = np.zeros(value * count + 1)
        step[::value] = _fair_coin_probabilities(count)
        mass = np.convolve(mass, step)
    distance = np.abs(2 * np.arange(len(mass)) - int(sizes.sum()))
    p = float(mass[distance >= total].sum())
    return OrderTest("items", float(lean.sum()), min(p, 1.0), None, len(lean), "exact")


@lru_cache(maxsize=512)
def _fair_coin_probabilities(tosses: int) -> Floats:
    """Probabilities of 0, 1, …, `tosses` heads; callers must not change the array."""
    return np.asarray(stats.binom.pmf(np.arange(tosses + 1), tosses, 0.5), np.float64)


def flip_balance_by_item(sets: pd.DataFrame) -> Ints:
    """Flips toward the first slot minus flips toward the second, for each item; `sets` has one row
    for each pair in both orders (`pairs_read_in_both_orders`)."""
    item, items = row_selection.column_codes(row_selection.resampling_unit(sets))
    flips = np.sign(sets["lean"].to_numpy()) * ~sets["consistent"].to_numpy()
    return np.rint(np.bincount(item, flips, minlength=items)).astype(np.int64)


def mcnemar_test(primacy: int, recency: int, continuity: bool = False) -> OrderTest:
    """McNemar's test: (|b − c| − correction)²/(b + c) with 1 degree of freedom. b is the number of
    flips toward the first slot (`primacy`), c toward the second (`recency`); the correction is 1
    with `continuity`, else 0."""
    n = primacy + recency
    if n == 0:
        return OrderTest("McNemar", 0.0, 1.0, 1, 0, "no flips")
    gap = max(abs(primacy - recency) - (1 if continuity else 0), 0)
    return _chi_square_result("McNemar", gap * gap / n, 1, n)


def _chi_square_result(name: str, value: float, df: int, n: int) -> OrderTest:
    return OrderTest(name, value, float(stats.chi2.sf(value, df)) if df else 1.0, df, n)


def stuart_maxwell_test(table: ArrayLike) -> OrderTest:
    """Stuart–Maxwell test of marginal homogeneity of a k×k table: d' S⁻¹ d.

    d is the vector of differences between row and column totals, S its covariance matrix; k − 1
    degrees of freedom, fewer if a category is empty.
    """
    counts = np.asarray(table, np.float64)
    d = (counts.sum(axis=1) - counts.sum(axis=0))[:-1]
    symmetric = counts + counts.T
    s = np.diag(counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)) - (
        symmetric - np.diag(np.diag(symmetric))
    )
    s = s[:-1, :-1]
    df = int(np.linalg.matrix_rank(s))
    value = float(d @ np.linalg.pinv(s) @ d) if df else 0.0
    return _chi_square_result("Stuart–Maxwell", value, df, int(counts.sum()))


def bowker_test(table: ArrayLike) -> OrderTest:
    """Bowker's test of symmetry of a k×k table: Σ (n_ij − n_ji)²/(n_ij + n_ji) over i < j, without
    terms whose two cells are empty."""
    counts = np.asarray(table, np.float64)
    above, below = (
        counts[np.triu_indices_from(counts, 1)],
        counts.T[np.triu_indices_from(counts, 1)],
    )
    used = above + below > 0
    gap = (above - below)[used] ** 2 / (above + below)[used]
    return _chi_square_result("Bowker", float(gap.sum()), int(used.sum()), int(counts.sum()))


def _chi_square_distance(histograms: Floats) -> Floats:
    """χ² statistic of slot counts (last axis) against equal counts; 0 where all counts are 0."""
    even = histograms.mean(axis=-1, keepdims=True)
    gap = np.divide((histograms - even) ** 2, even, out=np.zeros(histograms.shape), where=even > 0)
    total: Floats = gap.sum(axis=-1)
    return total


def both_orders_table(frame: pd.DataFrame) -> Ints:
    """Count pairs by outcome (x wins, tie, y wins) with x shown first (rows) and with y shown first
    (columns); x is the contestant that sorts first."""
    rows = row_selection.modal_verdicts(measures.GroupedFrame(frame).complete_picks)
    rows = row_selection.select_rows(rows, (rows["options"] == 2) & (rows["orders"] == 2))
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    swapped = (rows["first"].astype(str) > rows["second"].astype(str)).to_numpy()
    pick = rows["pick"].to_numpy()
    outcome = np.where(pick == TIE, 1, np.where((pick == 0) ^ swapped, 0, 2))
    cells = np.zeros((2, count), np.int64)
    cells[swapped.astype(int), comparison] = outcome
    return np.bincount(cells[0] * 3 + cells[1], minlength=9).reshape(3, 3).astype(np.int64)


def flip_tests(frame: pd.DataFrame) -> dict[str, OrderTest]:
    """Run the tests on pairs read in both orders: sign (by items, by pairs), McNemar (without and
    with continuity correction), Stuart–Maxwell, Bowker. p is None without such pairs."""
    sets = pairs_read_in_both_orders(measures.GroupedFrame(frame))
    lean = sets["lean"].to_numpy()[~sets["consistent"].to_numpy()]
    primacy, recency = int((lean > 0).sum()), int((lean < 0).sum())
    table = both_orders_table(frame)
    if len(sets) == 0:
        empty = "no pair has a verdict in both orders"
        names = ("items", "sign", "mcnemar", "mcnemar_corrected", "stuart_maxwell", "bowker")
        return {name: OrderTest(name, None, None, None, 0, empty) for name in names}
    return {
        "items": item_sign_test(flip_balance_by_item(sets)),
        "sign": sign_test(primacy, recency),
        "mcnemar": mcnemar_test(primacy, recency),
        "mcnemar_corrected": mcnemar_test(primacy, recency, continuity=True),
        "stuart_maxwell": stuart_maxwell_test(table),
        "bowker": bowker_test(table),
    }


# -- the permutation test ------------------------------------------------------------------------


@dataclass(frozen=True)
class OrderSetArrays:
    """Choices in comparisons with equally many options and orders, as arrays: the chosen
    contestant, and the slot of each contestant, in every order of every comparison."""

    choice: Ints
    """[set, order]: index of the chosen contestant within its set, or TIE."""
    place: Ints
    """[set, order, contestant]: the slot of each contestant."""

    def slots_of_choices(self, choice: Ints) -> Ints:
        """Slot of each chosen contestant in `choice` ([set, order]: index within the set, or TIE);
        a tie stays TIE."""
        found = np.take_along_axis(self.place, np.maximum(choice, 0)[..., None], axis=-1)[..., 0]
        return np.where(choice >= 0, found, TIE)


def arrange_order_sets(frame: pd.DataFrame, options: int) -> OrderSetArrays:
    """Collect the complete order sets with `options` options, repeats reduced to the most frequent
    verdict. If sets differ in their number of orders, only those with the most common number are
    used."""
    rows = row_selection.modal_verdicts(measures.GroupedFrame(frame).complete_picks)
    rows = row_selection.select_rows(rows, rows["options"] == options)
    orders = int(rows["orders"].mode().iloc[0]) if len(rows) else 0
    rows = row_selection.select_rows(rows, rows["orders"] == orders)
    comparison, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    line = np.argsort(comparison, kind="stable")
    names = row_selection.contestants(rows)
    who = row_selection.slot_contestants(rows, names)[line][:, :options].reshape(
        count, orders, options
    )
    place = np.argsort(who, axis=-1)
    pick = rows["pick"].to_numpy()[line].astype(np.int64).reshape(count, orders)
    rank = np.argsort(place, axis=-1)
    choice = np.take_along_axis(rank, np.maximum(pick, 0)[..., None], axis=-1)[..., 0]
    return OrderSetArrays(np.where(pick >= 0, choice, TIE), place)


def permutation_test(
    frame: pd.DataFrame, options: int = 2, rounds: int = PERMUTATION_ROUNDS
) -> OrderTest:
    """Test whether the slots are picked equally often (χ² statistic), by permuting the chosen
    contestants within each order set between its orders and counting the slots again.

    If only content matters, all permutations are equally likely. Exact if all possible slot counts
    can be listed, else from `rounds` random permutations, the same on every call.
    """
    sets = arrange_order_sets(frame, options)
    if len(sets.choice) == 0:
        return OrderTest(
            "permutation", None, None, None, 0, "no comparison has a verdict in all its orders"
        )
    observed = float(
        _chi_square_distance(_slot_histogram(sets.slots_of_choices(sets.choice), options))
    )
    exact = _possible_slot_histograms(sets, options)
    if exact is not None:
        histograms, weights = exact
        p = float(weights[_chi_square_distance(histograms) >= observed - 1e-9].sum())
        return OrderTest("permutation", observed, min(p, 1.0), None, len(sets.choice), "exact")
    rng = np.random.default_rng(PERMUTATION_SEED)
    drawn = _chi_square_distance(permuted_slot_histograms(sets, options, rng, rounds))
    reached = int((drawn >= observed - 1e-9).sum())
    note = f"{rounds:,} random arrangements{'' if reached else f', {NONE_AS_UNEVEN}'}"
    p = (1 + reached) / (rounds + 1)
    return OrderTest("permutation", observed, p, None, len(sets.choice), note)


def least_permutation_p(sets: int, orders: int, options: int) -> float:
    """Smallest p-value that `permutation_test` can give for `sets` order sets, each with `orders`
    orders of `options` options. It is reached if all choices go to one slot and each set shows each
    option equally often in each slot."""
    each = orders / options
    arrangements = math.lgamma(orders + 1) - options * math.lgamma(each + 1)
    return min(1.0, options * math.exp(-sets * arrangements))


def _slot_histogram(slots: Ints, options: int) -> Floats:
    return np.bincount(slots[slots >= 0].ravel(), minlength=options).astype(np.float64)


def _possible_slot_histograms(sets: OrderSetArrays, options: int) -> tuple[Floats, Floats] | None:
    """Return (counts, probabilities): how often each slot is chosen over all order sets, as
    [possibility, slot], for every result that permuting the choices within each order set can give,
    and the probability of each if all permutations are equally likely. None if there are too many
    possibilities to list."""
    if sets.choice.shape[1] > MAX_LISTED_ORDERS:
        return None
    base = sets.choice.size + 1
    if base**options > 2**62:
        return None
    by_set = iter(_histograms_by_set(sets, options))
    first_sets = list(islice(by_set, MAX_FIRST_SETS))
    if _exceed_exact_limit([one for one, _ in first_sets]):
        return None
    place = base ** np.arange(options, dtype=np.int64)
    keys: Ints = np.zeros(1, np.int64)
    mass: Floats = np.ones(1)
    for histograms, weights in chain(first_sets, by_set):
        added = ((histograms @ place)[:, None] + keys).ravel()  # sorted runs: soon in order
        line = np.argsort(added, kind="stable")
        added = added[line]
        first = np.flatnonzero(np.diff(added, prepend=-1))
        mass = np.add.reduceat(np.outer(weights, mass).ravel()[line], first)
        keys = added[first]
        if len(keys) > MAX_EXACT_STATES:
            return None
    return (keys[:, None] // place % base).astype(np.float64), mass


def _exceed_exact_limit(histograms: Sequence[Ints]) -> bool:
    """Whether the slot counts of all order sets together can take more than MAX_EXACT_STATES
    values; False if finding this out would need too much memory. Each array of `histograms` has the
    slot counts that one order set can give, one row each. The sums are marked as the bits of one
    large integer, which is much faster than computing their probabilities."""
    least = np.array([one.min(axis=0) for one in histograms])
    spans = sum(int((one - low).max()) for one, low in zip(histograms, least, strict=True)) + 1
    if spans ** (histograms[0].shape[1] - 1) > MAX_STATE_BITS:
        return False  # unknown: the bits would need too much memory
    radix = spans ** np.arange(histograms[0].shape[1] - 1)  # the last count follows from the others
    reached = 1
    for one, low in zip(histograms, least, strict=True):
        before, reached = reached, 0
        for shift in ((one - low)[:, :-1] @ radix).tolist():
            reached |= before << shift
        if reached.bit_count() > MAX_EXACT_STATES:
            return True
    return False


def _histograms_by_set(sets: OrderSetArrays, options: int) -> Iterable[tuple[Ints, Floats]]:
    """Yield, for each order set, the slot counts that permutations of its choices give, with their
    probabilities."""
    lines = np.array(list(permutations(range(sets.choice.shape[1]))))
    for choice, place in zip(sets.choice, sets.place, strict=True):
        slots = OrderSetArrays(choice[lines], place[None]).slots_of_choices(choice[lines])
        counts = (slots[..., None] == np.arange(options)).sum(axis=1)
        distinct, times = np.unique(counts, axis=0, return_counts=True)
        yield distinct, times / len(lines)


def permuted_slot_histograms(
    sets: OrderSetArrays, options: int, rng: np.random.Generator, rounds: int
) -> Floats:
    """Slot counts, [round, slot], after random permutations of the choices within each order set: a
    sample of their distribution without a position effect."""
    drawn = np.zeros((rounds, options))
    if sets.choice.shape[1] <= MAX_LISTED_ORDERS:  # draw all sets with the same table at once
        alike: dict[bytes, list[tuple[Ints, Floats]]] = defaultdict(list)
        for table in _histograms_by_set(sets, options):
            alike[b"".join(part.tobytes() for part in table)].append(table)
        for (histograms, weights), *others in alike.values():
            drawn += rng.multinomial(1 + len(others), weights, rounds) @ histograms
        return drawn
    block = max(1, math.floor(2_000_000 / max(sets.choice.size, 1)))
    for start in range(0, rounds, block):
        size = min(block, rounds - start)
        choice = rng.permuted(np.broadcast_to(sets.choice, (size, *sets.choice.shape)), axis=-1)
        slots = OrderSetArrays(choice, np.broadcast_to(sets.place, (size, *sets.place.shape)))
        picked = slots.slots_of_choices(choice).reshape(size, -1)
        for slot in range(options):
            drawn[start : start + size, slot] = (picked == slot).sum(axis=1)
    return drawn


def order_set_entropy(frame: pd.DataFrame, options: int = 2) -> float | None:
    """Normalised slot entropy of the choices that `permutation_test` permutes: complete order sets,
    repeats reduced to the most frequent verdict. None without such sets, or if all are ties."""
    from metrics.estimation.entropy import normalised_entropy

    sets = arrange_order_sets(frame, options)
    if len(sets.choice) == 0:
        return None
    found = normalised_entropy(_slot_histogram(sets.slots_of_choices(sets.choice), options))
    return float(found) if np.isfinite(found) else None


def entropy_null_band(
    frame: pd.DataFrame, rng: np.random.Generator, options: int = 2, rounds: int = 999
) -> tuple[float, float] | None:
    """Central 95 % range (low, high) of the normalised slot entropy if only content mattered, from
    `rounds` random permutations; None without complete order sets of `options` options, or if all
    their verdicts are ties."""
    from metrics.estimation.entropy import normalised_entropy

    sets = arrange_order_sets(frame, options)
    if len(sets.choice) == 0:
        return None
    values = normalised_entropy(permuted_slot_histograms(sets, options, rng, rounds))
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
