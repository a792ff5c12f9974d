"""Bradley–Terry leaderboards: strengths on the Elo scale, rating gaps with intervals, and ranks."""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from metrics.estimation.intervals import (
    ITEMS_AGREE_NOTE,
    NO_SPREAD_LOGITS,
    join_notes,
    student_t_quantile,
    unknown_estimate,
)
from metrics.estimation.multiple_comparisons import t_quantile_from_normal
from metrics.estimation.row_selection import OutcomeKind
from metrics.ratings import bradley_terry_fit, conditional_logit, simultaneous_gaps, unbounded_gaps
from metrics.ratings.battles import (
    Battles,
    Floats,
    Ints,
    PairCounts,
    Weighting,
    count_wins_by_pair,
    dense_codes,
    extract_battles,
)
from metrics.ratings.bradley_terry_fit import PSEUDO_COUNT
from studies.domain import Estimate
from studies.lazy_values import cached_property

START_RATING: Final = 1000.0
ELO_PER_LOGIT: Final = 400.0 / math.log(10.0)

NOT_LINKED_NOTE: Final = "no battle connects this model with another model"
NO_BATTLES_NOTE: Final = "no readable verdict"
ONE_ITEM_NOTE: Final = "one item: no interval"
REGULARISED_NOTE: Final = (
    "one side won every battle: no finite fit; "
    f"shown with {PSEUDO_COUNT:g} wins added to both sides of every pair"
)
LOWER_BOUND_NOTE: Final = (
    "lower limit: the first model's group won every battle against the second model's group, so "
    "there is no upper limit"
)
UPPER_BOUND_NOTE: Final = (
    "upper limit: the first model's group lost every battle against the second model's group, "
    "so there is no lower limit"
)
NO_WIN_CHAIN_NOTE: Final = "no chain of wins leads from either of the two to the other"
LIMIT_METHOD: Final = "Bradley–Terry, exact limit by items"
MAX_CONTESTANTS_WITH_LIMITS: Final = 40
"""Maximum number of contestants for which limits are computed for rating gaps without a finite
estimate (one side won every battle). Each limit takes some dozen fits; for hundreds of contestants
that is minutes."""
TOO_MANY_CONTESTANTS_NOTE: Final = (
    "one group of models won every battle against the other; limits are computed for at most "
    f"{MAX_CONTESTANTS_WITH_LIMITS} models"
)
MAX_LIMIT_PAIRS: Final = 400
"""Number of gaps without a finite estimate (one side won every battle) above which none of these is
tested for the ranks: they then count as not significant."""


@dataclass(frozen=True, slots=True)
class RankRange:
    """Rank (`place`) of a contestant among `of` contestants, and the best (`low`) and worst
    (`high`) rank that the intervals of differences allow."""

    place: int
    low: int
    high: int
    of: int

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Contestants who can be compared with each other, best first.

    Strengths θ sum to zero; ratings are on the Elo scale, 1000 + 173.7178·θ. `matches` is the
    number of verdicts on each contestant; contestants have the same code in `strong_component` if
    chains of wins lead from each to the other. `regularised` is true if the data have no finite
    maximum-likelihood fit. To decide whether A is above B use the interval of `gap`, not the
    intervals of the two ratings.
    """

    names: tuple[str, ...]
    theta: Floats
    covariance: Floats | None
    strong_component: Ints
    matches: Ints
    counts: PairCounts
    note: str = ""

    @cached_property
    def items(self) -> int:
        return self.counts.items

    @cached_property
    def regularised(self) -> bool:
        return len(set(self.strong_component.tolist())) > 1

    @property
    def method(self) -> str:
        return "Bradley–Terry, sandwich variance by item, t interval"

    @cached_property
    def _t_quantile(self) -> float:
        """Student's t quantile for the intervals (`verdict_t_quantile`); with fractional outcomes
        it has items − 1 degrees of freedom."""
        fractions = bool((2 * self.counts.won % 1).any())
        verdicts = math.inf if fractions else float(self.counts.verdicts.sum())
        return conditional_logit.verdict_t_quantile(self.items, verdicts)

    @cached_property
    def _rank_quantile(self) -> float:
        """Quantile of the largest |t| over all gaps, for statements about all gaps at once."""
        if self.covariance is None:
            return self._t_quantile
        z = simultaneous_gaps.quantile_of_largest_gap_z(self.covariance)
        widening = float(t_quantile_from_normal(z, self.items) / student_t_quantile(self.items))
        return self._t_quantile * widening

    @cached_property
    def _gap_errors(self) -> Floats | None:
        """Standard errors of the rating difference of every two models, in logits; None below two
        items."""
        return (
            None
            if self.covariance is None
            else bradley_terry_fit.gap_standard_errors(self.covariance)
        )

    @cached_property
    def _unbounded_gap_limits(self) -> unbounded_gaps.GapLimits:
        return unbounded_gaps.GapLimits(self.counts)

    @cached_property
    def ratings(self) -> dict[str, Estimate]:
        """Rating of each contestant on the Elo scale, with the mean of the leaderboard at 1000. The
        dictionary is cached; callers must not change it."""
        return {name: self._rating(row) for row, name in enumerate(self.names)}

    def _rating(self, row: int) -> Estimate:
        """Rating of the contestant in this row of `names`. It has no interval with fewer than two
        items, if all items agree exactly, or if some contestants won everything against the
        others, so that the ratings have no finite estimate (`regularised`)."""
        error = None
        if self.covariance is not None and not self.regularised:
            error = math.sqrt(max(float(self.covariance[row, row]), 0.0))
        value = START_RATING + ELO_PER_LOGIT * float(self.theta[row])
        return self._elo_estimate(
            value, error, int(self.matches[row]), regularised=self.regularised
        )

    def _elo_estimate(
        self, value: float, error: float | None, n: int, *, regularised: bool
    ) -> Estimate:
        """Build an estimate in Elo from a value, with the t interval of its standard error (in
        logits) if that is known and not zero."""
        flat = error is not None and error < NO_SPREAD_LOGITS and len(self.names) > 1
        note = join_notes(
            self.note, REGULARISED_NOTE if regularised else "", ITEMS_AGREE_NOTE if flat else ""
        )
        low = high = None
        if error is not None and not flat and self.items > 1:
            half = ELO_PER_LOGIT * error * self._t_quantile
            low, high = value - half, value + half
        return Estimate(value, low, high, n, self.items, "Elo", 0.95, self.method, note)

    def gap(self, above: str, below: str) -> Estimate:
        """Estimate the difference of two ratings in Elo, with the interval of the difference.

        If a chain of wins leads from one of the two to the other but not back, the gap has only one
        limit: `value` is this limit, and the other limit is None. If no chain leads either way, or
        if there are more than MAX_CONTESTANTS_WITH_LIMITS contestants, such a gap is unknown.
        """
        i, j = self.names.index(above), self.names.index(below)
        if i == j:
            return Estimate(0.0, 0.0, 0.0, int(self.matches[i]), self.items, "Elo")
        n = int(self.matches[i] + self.matches[j] - self._count_direct_verdicts(i, j))
        if self.strong_component[i] != self.strong_component[j]:
            return self._one_sided_gap(i, j, n)
        value = ELO_PER_LOGIT * float(self.theta[i] - self.theta[j])
        error = None if self._gap_errors is None else float(self._gap_errors[i, j])
        return self._elo_estimate(value, error, n, regularised=False)

    def adjusted_gap(self, above: str, below: str) -> Estimate:
        """Estimate `gap` with the wider interval by which the ranks are decided, adjusted for all
        gaps at once. The `level` of the estimate is the confidence level of this interval for the
        one gap alone, so it is above 95 %."""
        gap, widening = self.gap(above, below), self._rank_quantile / self._t_quantile
        if gap.value is None or gap.low is None or gap.high is None:
            return gap
        low, high = (gap.value + widening * (end - gap.value) for end in (gap.low, gap.high))
        return replace(gap, low=low, high=high, level=float(1 - 2 * ndtr(-1.96 * widening)))

    def _one_sided_gap(self, above: int, below: int, n: int) -> Estimate:
        """Estimate a gap that has only one limit, because a chain of wins leads from one contestant
        to the other but not back. Unknown if there is no such chain, or if there are too many
        contestants. `n` is the number of verdicts on either contestant."""
        if len(self.names) > MAX_CONTESTANTS_WITH_LIMITS:
            return Estimate(
                None,
                None,
                None,
                n,
                self.items,
                "Elo",
                0.95,
                LIMIT_METHOD,
                TOO_MANY_CONTESTANTS_NOTE,
            )
        limit = self._unbounded_gap_limits.lower_limit(above, below)
        if limit is not None:
            least = ELO_PER_LOGIT * limit
            return Estimate(
                least, least, None, n, self.items, "Elo", 0.95, LIMIT_METHOD, LOWER_BOUND_NOTE
            )
        limit = self._unbounded_gap_limits.lower_limit(below, above)
        if limit is not None:
            most = -ELO_PER_LOGIT * limit
            return Estimate(
                most, None, most, n, self.items, "Elo", 0.95, LIMIT_METHOD, UPPER_BOUND_NOTE
            )
        return Estimate(
            None, None, None, n, self.items, "Elo", 0.95, LIMIT_METHOD, NO_WIN_CHAIN_NOTE
        )

    def _count_direct_verdicts(self, above: int, below: int) -> int:
        """Number of verdicts on the pair of contestants `above` and `below` (row numbers). The
        match counts of both contain them, so the n of their gap subtracts them once."""
        counts = self.counts
        here = (counts.low == min(above, below)) & (counts.high == max(above, below))
        return int(counts.verdicts[here].sum())

    def gaps(self) -> dict[str, dict[str, Estimate]]:
        """Compute all differences of ratings as [above][below]."""
        return {a: {b: self.gap(a, b) for b in self.names} for a in self.names}

    def predicted_share(self, above: str, below: str) -> Estimate:
        """Estimate the share of points (wins + ties/2) that `above` is expected to win against
        `below`. If `gap` has only one limit, or is unknown, so is the share."""
        gap = self.gap(above, below)
        value, low, high = (
            None if x is None else float(expit(x / ELO_PER_LOGIT))
            for x in (gap.value, gap.low, gap.high)
        )
        return Estimate(value, low, high, gap.n, gap.items, "share", 0.95, gap.method, gap.note)

    @cached_property
    def ranks(self) -> dict[str, RankRange]:
        """Rank of each contestant, and the range of ranks that the significant differences allow.

        A difference is significant if its interval excludes zero, adjusted for all differences
        together (max-t). If it has no finite estimate, its lower limit must be above zero; with
        more than MAX_LIMIT_PAIRS such differences none of them is significant. Without intervals
        every rank is possible.
        """
        above = self._significantly_better_matrix
        size = len(self.names)
        best, worst = 1 + above.sum(axis=0), size - above.sum(axis=1)
        return {
            name: RankRange(row + 1, int(best[row]), int(worst[row]), size)
            for row, name in enumerate(self.names)
        }

    def is_significantly_better(self, above: str, below: str) -> bool:
        """Whether `above` is significantly better than `below`, adjusted for all pairs at once."""
        row, column = self.names.index(above), self.names.index(below)
        return bool(self._significantly_better_matrix[row, column])

    @cached_property
    def _significantly_better_matrix(self) -> Floats:
        """Matrix [i, j]: 1 if contestant i is significantly better than j, adjusted for all pairs
        (see `ranks`), else 0."""
        size = len(self.names)
        if self._gap_errors is None or self.items < 2:
            return np.zeros((size, size))
        gap = self.theta[:, None] - self.theta[None, :]
        varied = self._gap_errors > NO_SPREAD_LOGITS
        significant = (gap > self._gap_errors * self._rank_quantile) & varied
        unbounded = self.strong_component[:, None] != self.strong_component[None, :]
        significant &= ~unbounded
        pairs = np.argwhere(unbounded & self._unbounded_gap_limits.reachable)
        for i, j in pairs if len(pairs) <= MAX_LIMIT_PAIRS else pairs[:0]:
            significant[i, j] = self._unbounded_gap_limits.is_significantly_positive(int(i), int(j))
        return np.asarray(significant, np.float64)


def connected_leaderboards(
    frame: pd.DataFrame, *, weighting: Weighting = "sign", outcome: OutcomeKind = "verdict"
) -> list[Leaderboard]:
    """Fit one leaderboard for each group of contestants connected by battles, the largest group
    first.

    Every readable verdict of every order is one battle, a tie half a win each. Groups without a
    battle between them cannot be ranked against each other. A contestant without a battle is on no
    leaderboard, unless it is the only one. `weighting` is that of `extract_battles`. With
    `outcome="probability"` outcomes are fractions; the intervals stay valid as they are clustered
    by item.
    """
    return leaderboards_from_battles(extract_battles(frame, weighting=weighting, outcome=outcome))


def leaderboards_from_battles(data: Battles) -> list[Leaderboard]:
    """Fit leaderboards (see `connected_leaderboards`) from battles that are already extracted."""
    counts = count_wins_by_pair(data)
    label = (
        bradley_terry_fit.connected_component_codes(counts, strong=False)
        if counts.names
        else np.zeros(0, np.int64)
    )
    groups = [np.flatnonzero(label == code) for code in np.unique(label)]
    linked = [members for members in groups if len(members) > 1]
    boards = [_fit_leaderboard(restrict_counts(counts, members), data) for members in linked]
    if not boards and len(data.names) == 1:
        boards = [_fit_leaderboard(restrict_counts(counts, np.array([0])), data)]
    return sorted(boards, key=lambda board: (-len(board.names), -board.matches.sum(), board.names))


def bradley_terry_ratings(
    frame: pd.DataFrame, *, weighting: Weighting = "sign", outcome: OutcomeKind = "verdict"
) -> dict[str, Estimate]:
    """Return contestant -> rating, best first in each group of contestants connected by battles.

    Contestants without battles have an unknown rating with a note. Each group has its own mean of
    1000; a note states this if there are several groups. `weighting` and `outcome` are those of
    `extract_battles`.
    """
    return ratings_from_battles(extract_battles(frame, weighting=weighting, outcome=outcome))


def ratings_from_battles(data: Battles) -> dict[str, Estimate]:
    """Return contestant -> rating (see `bradley_terry_ratings`), from battles that are already
    extracted."""
    boards = leaderboards_from_battles(data)
    table = {}
    for number, board in enumerate(boards, start=1):
        group = f"group {number} of {len(boards)}: ratings of different groups are not comparable"
        for name, rating in board.ratings.items():
            table[name] = _add_note(rating, group) if len(boards) > 1 else rating
    for name in data.names:
        table.setdefault(name, unknown_estimate(NO_BATTLES_NOTE, "Elo"))
    return table


def _add_note(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note=join_notes(estimate.note, note))


def _fit_leaderboard(counts: PairCounts, data: Battles) -> Leaderboard:
    """Fit one leaderboard to the counts of connected contestants; `data` are all battles."""
    strong = bradley_terry_fit.connected_component_codes(counts, strong=True)
    pseudo = PSEUDO_COUNT if len(set(strong.tolist())) > 1 else 0.0
    theta = bradley_terry_fit.fit_strengths(counts, pseudo=pseudo)
    order = np.argsort(-theta.round(12), kind="stable")
    counts, theta, strong = restrict_counts(counts, order), theta[order], strong[order]
    several = counts.items > 1
    matches = dict(zip(data.names, data.match_counts.tolist(), strict=True))
    return Leaderboard(
        names=counts.names,
        theta=theta,
        covariance=bradley_terry_fit.strength_covariance(counts, theta, pseudo=pseudo)
        if several
        else None,
        strong_component=strong,
        matches=np.array([matches[name] for name in counts.names], np.int64),
        counts=counts,
        note=_leaderboard_note(counts),
    )


def _leaderboard_note(counts: PairCounts) -> str:
    if len(counts.names) < 2:
        return NOT_LINKED_NOTE
    return "" if counts.items > 1 else ONE_ITEM_NOTE


def restrict_counts(counts: PairCounts, members: Ints) -> PairCounts:
    """Return the counts among some contestants, recoded to their order in `members`."""
    place = np.full(len(counts.names), -1, np.int64)
    place[members] = np.arange(len(members))
    pairs = np.flatnonzero((place[counts.low] >= 0) & (place[counts.high] >= 0))
    low, high = place[counts.low[pairs]], place[counts.high[pairs]]
    swapped = low > high
    number = np.full(len(counts.low), -1, np.int64)
    number[pairs] = np.arange(len(pairs))
    entries = number[counts.pair] >= 0
    pair, kind = number[counts.pair[entries]], counts.kind[entries]
    used_kinds = np.bincount(kind, minlength=len(counts.multiplicity)) > 0
    won, lost = counts.won[entries], counts.lost[entries]
    return PairCounts(
        names=tuple(counts.names[member] for member in members),
        low=np.where(swapped, high, low),
        high=np.where(swapped, low, high),
        wins_low=np.where(swapped, counts.wins_high[pairs], counts.wins_low[pairs]),
        wins_high=np.where(swapped, counts.wins_low[pairs], counts.wins_high[pairs]),
        verdicts=counts.verdicts[pairs],
        multiplicity=counts.multiplicity[used_kinds],
        kind=dense_codes(kind),
        pair=pair,
        won=np.where(swapped[pair], lost, won),
        lost=np.where(swapped[pair], won, lost),
    )
