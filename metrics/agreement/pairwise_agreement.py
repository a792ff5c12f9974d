"""Agreement of any two raters on the same calls: share of equal verdicts, Cohen's κ, Krippendorff's
α.

All intervals are clustered by item. A call is here one case (the compared answers to one item) in
one order, and with one prompt if `same_prompt`. A rater is a value of the column `judge`; `people`
is the majority of the people who voted on the same answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metrics.agreement.majority_agreement import CASE_KEY, NO_CHOICE, majority_choices
from metrics.estimation import integer_codes, intervals, row_selection
from studies.domain import Estimate
from studies.frames.frame import QUESTION_COLUMN, TIE

Mask = row_selection.Mask
PEOPLE: Final = "people"
ASK_KEY: Final = (*CASE_KEY, "shown")
_READ_COLUMNS: Final = (*row_selection.ORDER_KEY, "options", "status", "noise", "pick")
"""Columns of the frame that are copied. Copying the others would take most of the memory for
millions of rows."""
FEW_DISAGREEMENTS: Final = 12
"""Number of disagreements below which the intervals of κ and α are widened. From this number on the
jackknife interval covers the true value in 93 % of samples."""
LIMITS: Final = (-1.0, 1.0)
"""Lowest and highest possible κ and nominal α of two raters. α too is at least −1: if a share d of
the pairs differs, no category has more than 1 − d/2 of the verdicts, so by chance at least
d(1 − d/2) would differ."""
NOTHING_COMMON_NOTE: Final = "no case judged by both"
NO_OTHERS_NOTE: Final = "no case on which two other people prefer the same answer"
SINGLE_VOTES_NOTE: Final = "no case has votes of two people"
CONSTANT_VERDICTS_NOTE: Final = "all verdicts of both are one and the same: κ and α are undefined"


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two raters: share of equal verdicts, Cohen's κ and Krippendorff's α (nominal).
    `decisive` and `kappa_decisive` are share and κ on the calls where neither rater gave a tie."""

    share: Estimate
    kappa: Estimate
    alpha: Estimate
    decisive: Estimate
    kappa_decisive: Estimate


def pair_agreement(
    first: intervals.Ints,
    second: intervals.Ints,
    item: intervals.Ints,
    note: str = "",
    weigh: Callable[[Mask], intervals.Floats] | None = None,
) -> PairAgreement:
    """Return the share of equal verdicts, κ and α of two raters, with intervals by item, from their
    verdicts on the same calls (a comparison in one order). `first` and `second` have one verdict
    for each call: the number of the chosen slot (or model), or TIE.

    `item` is the item of each call, and `note` the note of all estimates. `weigh` takes a mask of
    the calls that count and returns a weight for each of them (default: all weights are 1)."""
    decided = (first >= 0) & (second >= 0)
    parts = []
    for mask in (np.ones(len(first), np.bool_), decided):
        weight = None if weigh is None else weigh(mask)
        parts.append(_agreement_coefficients(first[mask], second[mask], item[mask], note, weight))
    (share, kappa, alpha), (decisive, kappa_decisive, _) = parts
    return PairAgreement(share, kappa, alpha, decisive, kappa_decisive)


def _agreement_coefficients(
    first: intervals.Ints,
    second: intervals.Ints,
    item: intervals.Ints,
    note: str,
    weight: intervals.Floats | None = None,
) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate the share of equal verdicts, κ and α of two arrays of verdicts (slots or TIE) on the
    same calls."""
    if len(first) == 0:
        why = note or NOTHING_COMMON_NOTE
        return (
            intervals.unknown_estimate(why, "share"),
            intervals.unknown_estimate(why, "kappa"),
            intervals.unknown_estimate(why, "alpha"),
        )
    size = int(max(first.max(), second.max())) + 2
    cell = (first + 1) * size + second + 1
    sums = _contingency_tables_by_item(cell, item, size * size, weight)
    return (
        _share_of_equal_verdicts(sums, size, len(first), note),
        _estimate_chance_corrected(sums, _kappa_statistic(size), len(first), "kappa", note),
        _estimate_chance_corrected(sums, _alpha_statistic(size), len(first), "alpha", note),
    )


def _share_of_equal_verdicts(sums: intervals.Floats, size: int, n: int, note: str) -> Estimate:
    """Estimate the share of equal verdicts from the two raters' contingency table of each item,
    `sums` [item, cell]; `size` is the number of categories (the slots and the tie)."""
    one = np.zeros(len(sums), np.int64)
    equal, counts = sums[:, :: size + 1].sum(axis=1), sums.sum(axis=1)
    return replace(intervals.proportions(equal, counts, one, 1, note=note)[0], n=n)


def _contingency_tables_by_item(
    cell: intervals.Ints, item: intervals.Ints, cells: int, weight: intervals.Floats | None = None
) -> intervals.Floats:
    """Count the calls (or add up their weights) in each cell of the two raters' contingency table,
    by item: [item, cell]. `cell` and `item` are those of each call, `cells` the table's size."""
    present, code = integer_codes.unique_codes(item)
    counts = np.bincount(code * cells + cell, weight, minlength=len(present) * cells)
    return counts.reshape(len(present), cells).astype(np.float64)


def _estimate_chance_corrected(
    sums: intervals.Floats, statistic: intervals.Statistic, n: int, unit: str, note: str
) -> Estimate:
    """Estimate κ or α (`statistic`) from the two raters' contingency table of each item, `sums`
    [item, cell]; the interval is widened if there are fewer than FEW_DISAGREEMENTS disagreements.
    Unknown if all verdicts of both raters are one and the same, such as always the first answer."""
    effect = _kappa_range(sums.sum(axis=0))
    got = intervals.jackknife_estimate(sums, statistic, n, unit, LIMITS, note, effect)
    if got.value is None:
        return intervals.unknown_estimate(intervals.join_notes(note, CONSTANT_VERDICTS_NOTE), unit)
    size = math.isqrt(sums.shape[1])
    counts = sums.sum(axis=1)
    differing = counts - sums[:, :: size + 1].sum(axis=1)
    got = intervals.widen_for_rare_events(got, differing, counts, FEW_DISAGREEMENTS)
    return got if got.low is None else replace(got, low=max(got.low, LIMITS[0]))


def _kappa_range(totals: intervals.Floats) -> float:
    """Difference between the κ of raters who always agree and the κ of raters who never agree: 1/(1
    − e), with e the agreement expected by chance; 0 if e is 1. The same holds for α. For e, both
    raters get the mean of their two distributions of verdicts. `totals` is their contingency table,
    flattened."""
    table = _reshape_to_square(totals, math.isqrt(len(totals)))
    given = (table.sum(axis=-1) + table.sum(axis=-2)) / (2 * table.sum())
    return float(np.nan_to_num(intervals.safe_divide(1.0, 1 - (given * given).sum())))


def _reshape_to_square(totals: intervals.Floats, size: int) -> intervals.Floats:
    return totals.reshape(*totals.shape[:-1], size, size)


def _kappa_statistic(size: int) -> intervals.Statistic:
    """Return the function that computes Cohen's κ from the two raters' contingency table, which is
    flattened and has `size` categories."""

    def statistic(totals: intervals.Floats) -> intervals.Floats:
        table = _reshape_to_square(totals, size)
        p = intervals.safe_divide(table, table.sum(axis=(-2, -1))[..., None, None])
        expected = (p.sum(axis=-1) * p.sum(axis=-2)).sum(axis=-1)
        return intervals.safe_divide(np.trace(p, axis1=-2, axis2=-1) - expected, 1 - expected)

    return statistic


def _alpha_statistic(size: int) -> intervals.Statistic:
    """Return the function that computes Krippendorff's nominal α from the two raters' contingency
    table, which is flattened and has `size` categories."""

    def statistic(totals: intervals.Floats) -> intervals.Floats:
        table = _reshape_to_square(totals, size)
        both = table + np.swapaxes(table, -2, -1)
        given = both.sum(axis=-1)
        n = given.sum(axis=-1)
        unequal = n - np.trace(both, axis1=-2, axis2=-1)
        return 1 - intervals.safe_divide((n - 1) * unequal, n * n - (given * given).sum(axis=-1))

    return statistic


# -- judges and the people's majority --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VerdictGrid:
    """Verdicts of raters (rows) on calls (columns): a slot, TIE, or NO_CHOICE if the rater gave no
    verdict."""

    raters: list[str]
    picks: NDArray[np.int8]
    item: intervals.Ints
    asks: pd.DataFrame
    """One row of the frame for each call; it contains the answers shown."""

    def agreement_between(self, first: str, second: str, note: str = "") -> PairAgreement:
        a, b = (self.picks[self.raters.index(name)].astype(np.int64) for name in (first, second))
        both = (a != NO_CHOICE) & (b != NO_CHOICE)
        return pair_agreement(a[both], b[both], self.item[both], note)

    def chance_agreement(self, rater: str, reference: str, merged: bool = False) -> float | None:
        """Share of equal verdicts if the rater chose at random among the N answers of each call,
        with as many ties as measured: r(1 − u)/N + (1 − r)u, with the share r of calls that the
        rater decides and the share u of ties of the reference. In one order r is 1 − t, with the
        rater's share t of ties; if the orders are `merged` (an answer must win in all N), it is
        N((1 − t)/N)ᴺ. None if no call has verdicts of both."""
        a, b = (self.picks[self.raters.index(name)] for name in (rater, reference))
        both = (a != NO_CHOICE) & (b != NO_CHOICE)
        if not both.any():
            return None
        t, u = (float((picks[both] == TIE).mean()) for picks in (a, b))
        options = self.asks["options"].to_numpy(np.float64)[both]
        decided = options * ((1 - t) / options) ** (options if merged else 1)
        return float((decided * (1 - u) / options + (1 - decided) * u).mean())


def build_verdict_grid(frame: pd.DataFrame, same_prompt: bool = False) -> VerdictGrid:
    """Build the array of verdicts [rater, call]: the people's majority first, if people voted, then
    each judge. A judge's repeats in one order are reduced to the most frequent verdict.

    With `same_prompt`, verdicts with different prompts are different calls. Without it each value
    of the column `judge` must stand for one prompt, so that raters with different prompts can be
    compared.
    """
    read = [*_READ_COLUMNS, *(name for name in (QUESTION_COLUMN,) if name in frame)]
    rows = row_selection.keep_first_votes(row_selection.select_picks(frame[read]))
    human = row_selection.people_mask(rows)
    machine = row_selection.modal_verdicts(row_selection.select_rows(rows, ~human))
    key = (*ASK_KEY, "prompt") if same_prompt else ASK_KEY
    ask, asks = row_selection.group_codes(machine, key)
    judge = machine["judge"].astype("category").cat.remove_unused_categories()
    names = sorted(str(name) for name in judge.cat.categories)
    line = np.array([names.index(str(name)) for name in judge.cat.categories], np.int64)
    picks = np.full((len(names), asks), NO_CHOICE, np.int8)
    picks[line[judge.cat.codes.to_numpy()], ask] = machine["pick"]
    first = machine.iloc[row_selection.first_row_per_group(ask, asks)]
    item = row_selection.item_codes(first)
    if not human.any() or asks == 0:
        return VerdictGrid(names, picks, item, first)
    majority = _people_majority_slot_by_call(first, row_selection.select_rows(rows, human))
    picks = np.concatenate([majority[None, :], picks])
    return VerdictGrid([PEOPLE, *names], picks, item, first)


def _people_majority_slot_by_call(asks: pd.DataFrame, votes: pd.DataFrame) -> NDArray[np.int8]:
    """Return, for each call (row of `asks`), the slot of the answer that most people chose (rows of
    `votes`); TIE if no single choice is the most frequent, NO_CHOICE without votes."""
    both = pd.concat([asks[[*ASK_KEY, "options", "pick"]], votes[[*ASK_KEY, "options", "pick"]]])
    both = both.astype(dict.fromkeys(ASK_KEY, "category"))
    case, cases = row_selection.group_codes(both, CASE_KEY)
    names = row_selection.contestants(both)
    voted = np.arange(len(both)) >= len(asks)
    chosen = row_selection.chosen_contestants(both, names)
    winner = majority_choices(case[voted], chosen[voted], cases)[case[: len(asks)]]
    placed = row_selection.slot_contestants(both.iloc[: len(asks)], names)
    slot = (placed == winner[:, None]).argmax(axis=1)
    return np.where(winner >= 0, slot, winner).astype(np.int8)


def agreement_matrix(
    frame: pd.DataFrame, same_prompt: bool = False
) -> dict[str, dict[str, PairAgreement]]:
    """Compute the agreement of every two raters (judges and, if people voted, their majority as
    PEOPLE), as a symmetric matrix [rater][rater]; `same_prompt` as in `build_verdict_grid`."""
    grid = build_verdict_grid(frame, same_prompt)
    table: dict[str, dict[str, PairAgreement]] = {name: {} for name in grid.raters}
    for first, second in combinations(grid.raters, 2):
        got = grid.agreement_between(first, second)
        table[first][second] = table[second][first] = got
    return table


# -- people among themselves -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement among people: of any two people (`pair`), and of a person with the majority of the
    others (`others`). `one_person` is measured as for a judge: the share of votes equal to the
    answer that more than half of the other voters on the case (at least two) prefer; a tie counts
    half."""

    pair: PairAgreement
    others: PairAgreement
    one_person: Estimate
    voters: int
    cases: int
    single_vote_cases: int
    """Number of cases with a single vote, which cannot be compared with another vote."""


@dataclass(frozen=True, eq=False)
class PeopleVotes:
    """People's votes as arrays: case, item, voter and choice of each vote. `choice` is the chosen
    model, numbered from 0 among the alphabetically sorted models of the case, or TIE."""

    case: intervals.Ints
    cases: int
    item: intervals.Ints
    voter: intervals.Ints
    choice: intervals.Ints


def extract_people_votes(frame: pd.DataFrame) -> PeopleVotes:
    """Extract people's votes from a frame; of a person's repeated votes on a case only the
    first."""
    rows = row_selection.select_picks(
        row_selection.select_rows(frame, row_selection.people_mask(frame))
    )
    case, cases = row_selection.group_codes(rows, CASE_KEY)
    return extract_case_votes(rows, np.ones(len(rows), bool), case, cases)


def extract_case_votes(
    rows: pd.DataFrame, human: row_selection.Mask, case: intervals.Ints, cases: int
) -> PeopleVotes:
    """Extract people's votes, the rows where `human` is true; of a person's repeated votes on a
    case only the first. `case` has the number of each row's case, `cases` is the number of
    cases."""
    votes = row_selection.select_rows(rows, human)
    one, ones = row_selection.group_codes(votes, (*CASE_KEY, "judge"))
    first = row_selection.first_row_per_group(one, ones)
    votes = votes.iloc[first]
    voter = row_selection.column_codes(votes["judge"])[0]
    return PeopleVotes(
        case[human][first],
        cases,
        row_selection.item_codes(votes),
        voter,
        picks_as_sorted_name_indices(votes),
    )


def picks_as_sorted_name_indices(rows: pd.DataFrame) -> intervals.Ints:
    """Convert the slot picked in each row to an index in the sorted names of the models shown in
    that row; a tie stays TIE."""
    if len(rows) == 0:
        return np.zeros(0, np.int64)
    names = row_selection.contestants(rows)
    placed = row_selection.slot_contestants(rows, names)
    chosen = row_selection.chosen_contestants(rows, names)
    below = (placed >= 0) & (placed < chosen[:, None])
    return np.where(chosen >= 0, below.sum(axis=1), chosen)


def agreement_among_people(frame: pd.DataFrame) -> PeopleAgreement:
    """Compute the agreement of people with each other from a frame, to compare a judge with it."""
    return agreement_among_votes(extract_people_votes(frame))


def agreement_among_votes(votes: PeopleVotes) -> PeopleAgreement:
    """Compute the agreement among people from their votes as arrays."""
    a, b = vote_pairs_on_same_case(votes)
    item = votes.item[a]
    # Each pair in both directions, so that κ does not depend on which vote comes first.
    left, right = np.concatenate([a, b]), np.concatenate([b, a])
    pair = pair_agreement(
        votes.choice[left],
        votes.choice[right],
        np.concatenate([item, item]),
        "" if len(a) else SINGLE_VOTES_NOTE,
        lambda mask: _krippendorff_vote_pair_weights(left[mask]),
    )
    size = np.bincount(votes.case, minlength=votes.cases)
    return PeopleAgreement(
        _halve_n(pair),
        _agreement_with_plurality_of_others(votes),
        _agreement_with_absolute_majority_of_others(votes),
        len(np.unique(votes.voter)),
        int((size > 0).sum()),
        int((size == 1).sum()),
    )


def _krippendorff_vote_pair_weights(votes: intervals.Ints) -> intervals.Floats:
    """Return the weight ½·1/(m − 1) of each pair of votes, for a case with m votes.

    A vote belongs to m − 1 pairs, so every vote has the same total weight (Krippendorff); the ½ is
    there because each pair is listed in both directions. `votes` has, for each pair, the row number
    of its first vote.
    """
    return np.asarray(0.5 / np.bincount(votes)[votes], np.float64)


def _halve_n(pair: PairAgreement) -> PairAgreement:
    """Halve n in all estimates, because every pair of votes was counted in both directions."""
    parts = {
        name: replace(getattr(pair, name), n=getattr(pair, name).n // 2)
        for name in ("share", "kappa", "alpha", "decisive", "kappa_decisive")
    }
    return PairAgreement(**parts)


def vote_pairs_on_same_case(votes: PeopleVotes) -> tuple[intervals.Ints, intervals.Ints]:
    """Return all pairs of votes by different people on the same case, as two arrays of row
    numbers."""
    order = np.argsort(votes.case, kind="stable")
    case = votes.case[order]
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for gap in range(1, int(np.bincount(case).max(initial=0))):
        same = case[gap:] == case[:-gap]
        first.append(order[:-gap][same])
        second.append(order[gap:][same])
    a, b = np.concatenate(first), np.concatenate(second)
    different = votes.voter[a] != votes.voter[b]
    return a[different], b[different]


def _agreement_with_plurality_of_others(votes: PeopleVotes) -> PairAgreement:
    """Compare each vote with the majority of the other votes on its case; several most frequent
    choices count as a tie."""
    counts = count_votes(votes)
    own = counts[votes.case]
    own[np.arange(len(own)), votes.choice + 1] -= 1
    selected = own.sum(axis=1) > 0
    top = own.max(axis=1, keepdims=True)
    most = np.where((own == top).sum(axis=1) == 1, own.argmax(axis=1) - 1, TIE)
    note = "" if selected.any() else SINGLE_VOTES_NOTE
    return pair_agreement(votes.choice[selected], most[selected], votes.item[selected], note)


def _agreement_with_absolute_majority_of_others(votes: PeopleVotes) -> Estimate:
    """Estimate how often a vote equals the answer that more than half of the other voters on its
    case prefer; a tie counts ½. Votes are left out if there are fewer than two other voters, or if
    there is no such answer."""
    counts = count_votes(votes)
    others = counts[votes.case]
    others[np.arange(len(others)), votes.choice + 1] -= 1
    total = others.sum(axis=1)
    answers = others[:, 1:]
    selected = (total > 1) & (2 * answers.max(axis=1) > total)
    choice, best = votes.choice[selected], answers[selected].argmax(axis=1)
    credit = np.where(choice == TIE, 0.5, choice == best)
    return intervals.proportion(
        credit, votes.item[selected], note="" if len(choice) else NO_OTHERS_NOTE
    )


def count_votes(votes: PeopleVotes, width: int | None = None) -> intervals.Ints:
    """Count the votes for each choice, as [case, choice]: column 0 counts ties, the next columns
    the models of the case in alphabetical order. `width` is the number of columns (default: as
    needed)."""
    wide = int(votes.choice.max(initial=0)) + 2 if width is None else width
    flat = np.bincount(votes.case * wide + votes.choice + 1, minlength=votes.cases * wide)
    return flat.reshape(votes.cases, wide).astype(np.int64)
