"""Battles: the pairwise verdicts of a frame as integer codes, and their counts by item and pair."""

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metrics.estimation import row_selection
from studies.frames.battle_frame import CodedBattles
from studies.frames.frame import NO_PICK, QUESTION_COLUMN, TIE

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Weighting = Literal["sign", "arena-hard"]

STRONG_WINS: Final = 3
"""Number of wins that one verdict "much better" is worth under Arena-Hard's rule. In n, the number
of verdicts, it still counts once."""

BATTLE_COLUMNS: Final = ["item", "judge", "status", "noise", "pick", "margin", "first", "second"]
"""Frame columns that a battle is built from."""


@dataclass(frozen=True, eq=False)
class Battles:
    """Readable pairwise verdicts, one entry each in the order of the frame; contestants, items and
    judges are codes.

    `outcome` is the result of the answer shown first: 1 won, 0 lost, 0.5 tie, or a fraction
    from label probabilities. `weight` is the number of wins that a battle counts for, `items`
    the number of items. `names` includes contestants without a readable verdict, so that tables
    can list them."""

    names: tuple[str, ...]
    judges: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Floats
    item: Ints
    judge: Ints
    weight: Ints
    items: int

    def __len__(self) -> int:
        return len(self.first)

    @property
    def match_counts(self) -> Ints:
        """Number of readable verdicts on each contestant."""
        each = np.concatenate([self.first, self.second])
        return np.bincount(each, minlength=len(self.names))


def extract_battles(
    frame: pd.DataFrame,
    *,
    weighting: Weighting = "sign",
    outcome: row_selection.OutcomeKind = "verdict",
) -> Battles:
    """Extract the battles of a frame: readable verdicts on two different contestants.

    Every readable verdict of every order and repeat is one battle; a tie is half a win for each
    side. Left out are calls repeated only to measure noise, unreadable replies, and prompts that
    only score. `weighting="arena-hard"` gives "much better" the weight STRONG_WINS. With
    `outcome="probability"` a verdict with label probabilities counts by these instead of as win,
    loss or tie. ValueError for an unknown `weighting` or `outcome`."""
    if weighting not in ("sign", "arena-hard"):
        raise ValueError(f"No weighting named {weighting!r}. Known: sign, arena-hard")
    if outcome not in ("verdict", "probability"):
        raise ValueError(f"No outcome named {outcome!r}. Known: verdict, probability")
    soft = [name for name in ("p_0", "p_1") if name in frame and outcome == "probability"]
    unit = [name for name in (QUESTION_COLUMN,) if name in frame]
    pairs = frame.loc[(frame["options"] == 2) & ~frame["noise"], BATTLE_COLUMNS + soft + unit]
    names = observed_categories(pairs["first"], pairs["second"])
    rows = row_selection.select_picks(pairs)
    rows = row_selection.select_rows(
        rows, recode_column(rows["first"], names) != recode_column(rows["second"], names)
    )
    judges = observed_categories(rows["judge"])
    item = dense_codes(row_selection.resampling_unit(rows).cat.codes.to_numpy().astype(np.int64))
    strong = (rows["margin"].to_numpy() >= 2) & (weighting == "arena-hard")
    return Battles(
        names=names,
        judges=judges,
        first=recode_column(rows["first"], names),
        second=recode_column(rows["second"], names),
        outcome=_outcomes_of_first_answer(rows, outcome),
        item=item,
        judge=recode_column(rows["judge"], judges),
        weight=np.where(strong, STRONG_WINS, 1),
        items=int(item.max()) + 1 if len(item) else 0,
    )


def battles_from_codes(coded: CodedBattles) -> Battles:
    """Build battles from a table that is already coded as integers: the same as those of
    `extract_battles`, in less time, but with all judges pooled as one judge "all"."""
    rows = np.flatnonzero((coded.pick != NO_PICK) & (coded.first != coded.second))
    item = dense_codes(coded.item.codes[rows])
    return Battles(
        names=tuple(coded.names),
        judges=("all",),
        first=coded.first[rows],
        second=coded.second[rows],
        outcome=_outcomes_from_picks(coded.pick[rows]),
        item=item,
        judge=np.zeros(len(rows), np.int64),
        weight=np.ones(len(rows), np.int64),
        items=int(item.max()) + 1 if len(item) else 0,
    )


def _outcomes_of_first_answer(rows: pd.DataFrame, outcome: row_selection.OutcomeKind) -> Floats:
    """Outcome of the answer shown first in each row: 1 won, 0 lost, 0.5 tie; if `outcome` is
    "probability", its points from the label probabilities, where there are any."""
    hard = _outcomes_from_picks(rows["pick"].to_numpy())
    if outcome == "verdict" or len(rows) == 0:
        return hard
    soft = row_selection.points_from_probabilities(rows.assign(options=2))[:, 0]
    return np.where(np.isfinite(soft), soft, hard)


def _outcomes_from_picks(pick: npt.NDArray[np.int8]) -> Floats:
    """Outcome of the answer shown first: 1 won, 0 lost, 0.5 tie."""
    outcome = np.where(pick == TIE, 0.5, 0.0)
    outcome[pick == 0] = 1.0
    return outcome


def observed_categories(*columns: pd.Series) -> tuple[str, ...]:
    """List the categories that occur in the columns, sorted; categories that a filtered frame no
    longer uses are left out."""
    used = (name for column in columns for name in row_selection.used_categories(column))
    return tuple(sorted({str(name) for name in used}))


def recode_column(column: pd.Series, names: tuple[str, ...]) -> Ints:
    """Convert a categorical column to indices into `names`; −1 for a value not in `names`."""
    place = {name: code for code, name in enumerate(names)}
    table = np.array([place.get(name, -1) for name in column.cat.categories], np.int64)
    codes = column.cat.codes.to_numpy()
    return table[codes] if len(table) else np.zeros(0, np.int64)


def dense_codes(codes: Ints) -> Ints:
    """Renumber codes without gaps, in the same order."""
    if not len(codes):
        return codes
    seen = np.bincount(codes) > 0
    return (np.cumsum(seen) - 1)[codes]


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Wins in each pair of contestants, in total and by kind of item.

    Pair p is (low[p], high[p]), two contestant codes with low < high; `wins_low` and `wins_high`
    are their wins, with a tie half to each. Items that consist of the same single battle form one
    *kind*, any other item a kind of its own; `multiplicity` is the number of items of each kind.
    The arrays `kind`, `pair`, `won` and `lost` belong together: an item of kind[e] has won[e] wins
    of the low and lost[e] wins of the high contestant of pair[e].
    """

    names: tuple[str, ...]
    low: Ints
    high: Ints
    wins_low: Floats
    wins_high: Floats
    verdicts: Ints
    multiplicity: Ints
    kind: Ints
    pair: Ints
    won: Floats
    lost: Floats

    @property
    def items(self) -> int:
        return int(self.multiplicity.sum())

    @property
    def total_wins(self) -> Floats:
        """Number of wins of both contestants together, in each pair."""
        return self.wins_low + self.wins_high


def count_wins_by_pair(data: Battles) -> PairCounts:
    """Count the wins of both contestants of each pair, in total and by kind of item (see
    `PairCounts`)."""
    models = len(data.names)
    code = np.minimum(data.first, data.second)
    code *= models
    code += np.maximum(data.first, data.second)
    times = np.bincount(code, minlength=models * models)
    seen = np.flatnonzero(times)
    place = np.zeros(models * models, np.int64)
    place[seen] = np.arange(len(seen))
    pair = place[code]
    # Outcome for the low contestant of the pair: 1 − outcome if it was shown second.
    share: Floats = np.abs(data.outcome - (data.first > data.second))
    cell = _battle_codes(pair, share, data.weight)
    won = share * data.weight
    lost = data.weight - won
    del code, share  # frees memory: one entry per battle each
    rows, kind, multiplicity = group_identical_items(data.item, data.items, cell)
    wins, losses = (_sum_by_code(pair, each, len(seen)) for each in (won, lost))
    if not _is_identity_order(rows, len(data)):
        pair, won, lost = pair[rows], won[rows], lost[rows]
    del cell, rows
    return PairCounts(
        names=data.names,
        low=seen // models if models else seen,
        high=seen % models if models else seen,
        wins_low=wins,
        wins_high=losses,
        verdicts=times[seen],
        multiplicity=multiplicity,
        **_sum_wins_by_kind(kind, pair, won, lost, len(seen)),
    )


def _is_identity_order(rows: Ints, count: int) -> bool:
    """Whether `rows` lists all rows in their original order, so that no copy is needed."""
    return len(rows) == count and bool((rows[1:] > rows[:-1]).all())


def _battle_codes(pair: Ints, share: Floats, weight: Ints) -> Ints:
    """Return a code for each battle, equal for battles with the same pair, result and weight; all
    different if outcomes are fractions."""
    result = (2 * share).astype(np.int8)
    if (result != 2 * share).any():  # fractional outcomes: every battle gets its own code
        return np.arange(len(pair))
    cell = pair * 3
    cell += result
    cell *= STRONG_WINS + 1
    cell += weight
    return cell


def _sum_wins_by_kind(
    kind: Ints, pair: Ints, won: Floats, lost: Floats, pairs: int
) -> dict[str, Any]:
    """Return the arrays `kind`, `pair`, `won` and `lost` of `PairCounts`: wins summed for each kind
    of item and pair of contestants, or one entry per battle if summing would need a much larger
    table. A kind is all items that consist of the same single battle, or one other item."""
    cells = (int(kind.max()) + 1) * pairs if len(kind) else 0
    if cells > 8 * len(kind):
        return {"kind": kind, "pair": pair, "won": won, "lost": lost}
    where = kind * pairs + pair
    sums, losses = _sum_by_code(where, won, cells), _sum_by_code(where, lost, cells)
    filled = np.flatnonzero(sums + losses)
    return {
        "kind": filled // pairs if pairs else filled,
        "pair": filled % pairs if pairs else filled,
        "won": sums[filled],
        "lost": losses[filled],
    }


def _sum_by_code(codes: Ints, values: Floats, size: int) -> Floats:
    return np.bincount(codes, values, size).astype(np.float64)


def group_identical_items(item: Ints, items: int, cell: Ints) -> tuple[Ints, Ints, Ints]:
    """Group the items that consist of the same single battle into kinds; any other item is a kind
    of its own.

    Returns the rows of one item of each kind, the kind of each of these rows, and the number of
    items of each kind. `cell` is a code of each battle: equal codes, equal battles.
    """
    size = np.bincount(item, minlength=items)
    alone = size[item] == 1
    several = np.flatnonzero(~alone)
    code, example, times = _distinct_codes(cell, np.flatnonzero(alone))
    rows = np.concatenate([example, several])
    kinds = np.concatenate([np.arange(len(code)), dense_codes(item[several]) + len(code)])
    return rows, kinds, np.concatenate([times, np.ones(int((size > 1).sum()), np.int64)])


def _distinct_codes(cell: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct codes in `cell` of the row numbers `rows`, in ascending order; for each
    of them one row number that has it; and how many of the rows have it."""
    if not len(rows):
        return rows, rows, rows
    counts = np.bincount(cell[rows])
    found = np.flatnonzero(counts)
    example = np.zeros(len(counts), np.int64)
    example[cell[rows]] = rows
    return found, example[found], counts[found]
