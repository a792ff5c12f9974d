"""Intransitive (circular) triples: three answers to one item, where a wins against b, b against c,
and c against a.

The number expected by chance comes from permutations: for every two models, the winners of their
comparisons are exchanged at random between items. Each model keeps its number of wins against each
other model; only the dependence between verdicts on the same item is removed.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from metrics.estimation.intervals import Floats, Ints, proportion
from studies.domain import Estimate

SEED: Final = 20_24
MAX_DRAWS: Final = 1000
MAX_PERMUTED: Final = 20_000_000
"""Limit of (verdicts × permutations): large studies get fewer than 1000 permutations, at least
20."""
PAIR: Final = ("one", "other")
"""Columns with the two answers of a pair, in alphabetical order."""


@dataclass(frozen=True, slots=True)
class IntransitiveTriples:
    """Triples of answers whose three pairs one judge compared."""

    share: Estimate
    """Share of circular triples among the triples with a winner in each of their three pairs."""
    expected: float
    """Mean share of circular triples if the winners are exchanged at random between items."""
    expected_low: float
    expected_high: float
    """`expected_low` to `expected_high` contains 95 % of the permuted shares."""
    p: float
    """Share of permutations with at most as many circular triples as observed; if small, the
    verdicts on an item agree better with one ranking than by chance."""
    ties: int
    """Number of triples in which a pair has no winner; such triples are left out of the share."""


def intransitive_triples(verdicts: pd.DataFrame) -> IntransitiveTriples | None:
    """Count circular triples among one judge's pair verdicts; None if no triple has a winner in
    each pair.

    `verdicts` has one row per pair and item, with the columns item, one and other (the two answers
    in alphabetical order), balance (wins of the first minus wins of the second) and, if several
    items share a question, unit (of resampling).
    """
    corners = _list_triples(verdicts)
    sign = np.sign(verdicts["balance"].to_numpy(np.float64))
    decided = (sign[corners] != 0).all(axis=1)
    kept = corners[decided]
    if not len(kept):
        return None
    circular = _circular_mask(sign, kept)
    item = pd.factorize(verdicts["unit" if "unit" in verdicts else "item"])[0][kept[:, 0]]
    permuted = _permuted_shares(sign, _pair_codes(verdicts), kept)
    low, high = np.quantile(permuted, (0.025, 0.975))
    observed = float(circular.mean())
    at_most = int((permuted <= observed + 1e-12).sum())
    return IntransitiveTriples(
        proportion(circular, item),
        float(permuted.mean()),
        float(low),
        float(high),
        (1 + at_most) / (1 + len(permuted)),
        int((~decided).sum()),
    )


def _list_triples(pairs: pd.DataFrame) -> Ints:
    """Return, for each triple of answers a < b < c, the row numbers of its pairs (a, b), (b, c) and
    (a, c): [triple, 3]."""
    rows = pairs[["item", *PAIR]].assign(edge=np.arange(len(pairs)))
    first = rows.rename(columns={"one": "a", "other": "b", "edge": "ab"})
    second = rows.rename(columns={"one": "b", "other": "c", "edge": "bc"})
    third = rows.rename(columns={"one": "a", "other": "c", "edge": "ac"})
    found = first.merge(second, on=["item", "b"]).merge(third, on=["item", "a", "c"])
    return np.asarray(found[["ab", "bc", "ac"]].to_numpy(np.int64))


def _circular_mask(sign: Floats, triples: Ints) -> np.ndarray:
    """Mask of the circular triples. `sign` is +1 for a pair whose first answer won, −1 if its
    second won; `triples` [triple, 3] has the row numbers of the pairs (a, b), (b, c) and (a, c)."""
    ab, bc, ac = sign[triples].T
    found: np.ndarray = (ab == bc) & (ac == -ab)
    return found


def _pair_codes(pairs: pd.DataFrame) -> Ints:
    return np.asarray(pairs.groupby([*PAIR], sort=False).ngroup().to_numpy(np.int64))


def _permuted_shares(sign: Floats, pair: Ints, triples: Ints) -> Floats:
    """Return the share of circular triples after each permutation of winners between items. By row,
    `sign` is +1 if the first answer of the pair won, −1 if the second did, else 0, and `pair` is
    the code of the two models; `triples` [triple, 3] has the rows of the three pairs of each
    triple."""
    rng = np.random.default_rng(SEED)
    decided = np.flatnonzero(sign)
    codes, values = pair[decided], sign[decided]
    place = decided[np.argsort(codes, kind="stable")]
    draws = int(np.clip(MAX_PERMUTED // max(len(decided), 1), 20, MAX_DRAWS))
    found = np.empty(draws)
    permuted = sign.copy()
    for draw in range(draws):
        permuted[place] = values[np.lexsort((rng.random(len(codes)), codes))]
        found[draw] = _circular_mask(permuted, triples).mean()
    return found


def triples_as_json(triples: IntransitiveTriples) -> dict[str, Any]:
    """Return the statistics on a judge's intransitive triples (share, share expected by chance, p,
    ties) as a JSON object."""
    return {
        "share": triples.share,
        "expected": triples.expected,
        "expected_range": [triples.expected_low, triples.expected_high],
        "p": triples.p,
        "ties": triples.ties,
    }
