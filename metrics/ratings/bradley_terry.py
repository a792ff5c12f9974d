"""Bradley–Terry leaderboards: strengths on the Elo scale, gaps with intervals, ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import expit

from metrics.estimation.intervals import join_notes, unknown_estimate
from metrics.estimation.row_selection import OutcomeKind
from metrics.ratings import bradley_terry_fit
from metrics.ratings.battles import (
    Battles,
    Floats,
    Ints,
    PairCounts,
    Weighting,
    count_pairs,
    dense_codes,
    extract_battles,
)
from metrics.ratings.bradley_terry_fit import PSEUDO_COUNT, BootstrapStrengths
from metrics.ratings.conditional_logit import verdict_t_quantile
from metrics.ratings.unbounded_gaps import GapLimits
from studies.domain import Estimate

START_RATING: Final = 1000.0
ELO_PER_LOGIT: Final = 400.0 / math.log(10.0)

NOT_LINKED_NOTE: Final = "no battle links it to another contestant"
NO_BATTLES_NOTE: Final = "no readable verdict"
ONE_ITEM_NOTE: Final = "one item: no interval"
NO_SPREAD_NOTE: Final = "all items agree exactly: no interval can be had from them"
REGULARISED_NOTE: Final = (
    f"one side won every battle: no finite fit; shown with {PSEUDO_COUNT:g} wins added each way"
)
LOWER_BOUND_NOTE: Final = "at least: one side won every battle that tells them apart, no upper end"
UPPER_BOUND_NOTE: Final = "at most: one side lost every battle that tells them apart, no lower end"
NO_WIN_CHAIN_NOTE: Final = "no chain of battles tells which of the two is above"
LIMIT_METHOD: Final = "Bradley–Terry, exact limit, items"
MAX_CONTESTANTS_WITH_LIMITS: Final = 40
"""Contestants up to which a gap without end is given its limit: each takes some dozen fits, and of
hundreds, one after the other, that is minutes."""
TOO_MANY_CONTESTANTS_NOTE: Final = f"wins go one way only; of more than {MAX_CONTESTANTS_WITH_LIMITS} contestants no limit is given"
MAX_LIMIT_PAIRS: Final = 400
"""Pairs without an upper end up to which ranks look for who is surely above."""
RANK_METHOD: Final = "pairwise 95 % intervals of differences"


@dataclass(frozen=True, slots=True)
class RankRange:
    """Best and worst place the intervals of differences allow, and who is in the race."""

    place: int
    low: int
    high: int
    of: int

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Contestants who can be compared with each other, best first.

    Strengths θ sum to zero, on the Elo scale 1000 + 173.7178·θ. `regularised` is the badge for data
    that have no finite fit of their own. "A above B" is read off `gap`, never off two bars.
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
    def pseudo(self) -> float:
        return PSEUDO_COUNT if self.regularised else 0.0

    @property
    def method(self) -> str:
        return "Bradley–Terry, item sandwich, t"

    @cached_property
    def _quantile(self) -> float:
        """Student's t of the items; of battles won in part, all the spread is estimated."""
        fractions = bool((2 * self.counts.won % 1).any())
        verdicts = math.inf if fractions else float(self.counts.verdicts.sum())
        return verdict_t_quantile(self.items, verdicts)

    @cached_property
    def _errors(self) -> Floats | None:
        """Standard errors of all gaps, in logits."""
        return None if self.covariance is None else bradley_terry_fit.gap_errors(self.covariance)

    @cached_property
    def _limits(self) -> GapLimits:
        return GapLimits(self.counts)

    @cached_property
    def ratings(self) -> dict[str, Estimate]:
        """Each contestant against the mean of the board, on the Elo scale. Only to be looked at:
        whoever reads a line of the board for each contestant gets the one table."""
        return {name: self._rating(row) for row, name in enumerate(self.names)}

    def _rating(self, row: int) -> Estimate:
        error = None
        if self.covariance is not None and not self.regularised:
            error = math.sqrt(max(float(self.covariance[row, row]), 0.0))
        value = START_RATING + ELO_PER_LOGIT * float(self.theta[row])
        return self._estimate(value, error, int(self.matches[row]), apart=self.regularised)

    def _estimate(self, value: float, error: float | None, n: int, *, apart: bool) -> Estimate:
        """A value in Elo with the t interval of an error in logits, where there is one."""
        flat = error is not None and error < 1e-9 and len(self.names) > 1
        note = join_notes(
            self.note, REGULARISED_NOTE if apart else "", NO_SPREAD_NOTE if flat else ""
        )
        low = high = None
        if error is not None and not flat and self.items > 1:
            half = ELO_PER_LOGIT * error * self._quantile
            low, high = value - half, value + half
        return Estimate(value, low, high, n, self.items, "Elo", 0.95, self.method, note)

    def gap(self, above: str, below: str) -> Estimate:
        """How far one contestant is above another, in Elo, with the interval of the difference.

        Where wins between the two go one way only, the gap has no upper end (turned round: no
        lower). Then the value is the end there is, and the other one is None.
        """
        i, j = self.names.index(above), self.names.index(below)
        if i == j:
            return Estimate(0.0, 0.0, 0.0, int(self.matches[i]), self.items, "Elo")
        n = int(self.matches[i] + self.matches[j] - self._direct_verdicts(i, j))
        if self.strong_component[i] != self.strong_component[j]:
            return self._one_sided_gap(i, j, n)
        value = ELO_PER_LOGIT * float(self.theta[i] - self.theta[j])
        error = None if self._errors is None else float(self._errors[i, j])
        return self._estimate(value, error, n, apart=False)

    def _one_sided_gap(self, i: int, j: int, n: int) -> Estimate:
        """A gap without end by its one end; unknown where no chain of wins leads either way."""
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
        limit = self._limits.lower_limit(i, j)
        if limit is not None:
            least = ELO_PER_LOGIT * limit
            return Estimate(
                least, least, None, n, self.items, "Elo", 0.95, LIMIT_METHOD, LOWER_BOUND_NOTE
            )
        limit = self._limits.lower_limit(j, i)
        if limit is not None:
            most = -ELO_PER_LOGIT * limit
            return Estimate(
                most, None, most, n, self.items, "Elo", 0.95, LIMIT_METHOD, UPPER_BOUND_NOTE
            )
        return Estimate(
            None, None, None, n, self.items, "Elo", 0.95, LIMIT_METHOD, NO_WIN_CHAIN_NOTE
        )

    def _direct_verdicts(self, i: int, j: int) -> int:
        """Verdicts on this very pair: counted once among those with either of the two."""
        counts = self.counts
        here = (counts.low == min(i, j)) & (counts.high == max(i, j))
        return int(counts.verdicts[here].sum())

    def gaps(self) -> dict[str, dict[str, Estimate]]:
        """The matrix of differences: row above column."""
        return {a: {b: self.gap(a, b) for b in self.names} for a in self.names}

    def predicted_share(self, above: str, below: str) -> Estimate:
        """The score (wins + ties/2) that `above` is expected to take from a battle with `below`."""
        gap = self.gap(above, below)
        value, low, high = (
            None if x is None else float(expit(x / ELO_PER_LOGIT))
            for x in (gap.value, gap.low, gap.high)
        )
        return Estimate(value, low, high, gap.n, gap.items, "share", 0.95, gap.method, gap.note)

    @cached_property
    def ranks(self) -> dict[str, RankRange]:
        """Place and the range of places: who is surely above, who is surely below.

        Surely: the 95 % interval of the difference leaves out zero, or so does the lower end of one
        that has no upper. Without intervals everything in between stays possible.
        """
        above = self._significantly_above
        size = len(self.names)
        best, worst = 1 + above.sum(axis=0), size - above.sum(axis=1)
        return {
            name: RankRange(row + 1, int(best[row]), int(worst[row]), size)
            for row, name in enumerate(self.names)
        }

    @property
    def _significantly_above(self) -> Floats:
        size = len(self.names)
        if self._errors is None or self.items < 2:
            return np.zeros((size, size))
        gap = self.theta[:, None] - self.theta[None, :]
        sure = (gap > self._errors * self._quantile) & (self._errors > 1e-9)
        apart = self.strong_component[:, None] != self.strong_component[None, :]
        sure &= ~apart
        pairs = np.argwhere(apart & self._limits.reachable)
        for i, j in pairs if len(pairs) <= MAX_LIMIT_PAIRS else pairs[:0]:
            sure[i, j] = self._limits.is_significantly_positive(int(i), int(j))
        return np.asarray(sure, np.float64)

    def bootstrap(self, *, rng: np.random.Generator, rounds: int = 1000) -> BootstrapStrengths:
        """θ over the item bootstrap, columns in the order of `names`; slower than the sandwich."""
        if self.items < 2 or len(self.names) < 2:
            return BootstrapStrengths(np.zeros((0, len(self.names))), 0.0)
        return bradley_terry_fit.bootstrap_strengths(self.counts, rng=rng, rounds=rounds)

    def bootstrap_gap(self, drawn: BootstrapStrengths, above: str, below: str) -> Estimate:
        """The same gap with the percentiles of the item bootstrap; too narrow below 50 items."""
        i, j = self.names.index(above), self.names.index(below)
        gap = self.gap(above, below)
        draws = ELO_PER_LOGIT * (drawn.theta[:, i] - drawn.theta[:, j])
        low, high = np.percentile(draws, [2.5, 97.5]) if len(draws) else (None, None)
        needed = f"{drawn.regularised_share:.0%} of rounds had no finite fit of their own"
        return Estimate(
            gap.value,
            None if low is None else float(low),
            None if high is None else float(high),
            gap.n,
            gap.items,
            "Elo",
            0.95,
            f"Bradley–Terry, item bootstrap, {len(draws)} rounds",
            join_notes(gap.note, needed if drawn.regularised_share else ""),
        )


def fit_leaderboards(
    frame: pd.DataFrame, *, weighting: Weighting = "sign", outcome: OutcomeKind = "verdict"
) -> list[Leaderboard]:
    """One leaderboard per group of contestants linked by battles, the largest first.

    Every readable verdict of every order is one battle, ties half. Groups that never met are never
    ranked against each other. A contestant without a readable verdict is in no group. With
    `outcome="probability"` a battle is won in part: intervals are by items, so they still hold.
    """
    return fit_leaderboards_from_battles(
        extract_battles(frame, weighting=weighting, outcome=outcome)
    )


def fit_leaderboards_from_battles(data: Battles) -> list[Leaderboard]:
    """The same from coded battles."""
    counts = count_pairs(data)
    label = (
        bradley_terry_fit.component_labels(counts, strong=False)
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
    """Every contestant's rating, best first in its group; unlinked ones are unknown, with a note.

    Each group has its own mean of 1000, so a note says so where there are several.
    """
    data = extract_battles(frame, weighting=weighting, outcome=outcome)
    boards = fit_leaderboards_from_battles(data)
    table = {}
    for number, board in enumerate(boards, start=1):
        apart = f"group {number} of {len(boards)}: never compare across groups"
        for name, rating in board.ratings.items():
            table[name] = _add_note(rating, apart) if len(boards) > 1 else rating
    for name in data.names:
        table.setdefault(name, unknown_estimate(NO_BATTLES_NOTE, "Elo"))
    return table


def _add_note(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note=join_notes(estimate.note, note))


def _fit_leaderboard(counts: PairCounts, data: Battles) -> Leaderboard:
    strong = bradley_terry_fit.component_labels(counts, strong=True)
    pseudo = PSEUDO_COUNT if len(set(strong.tolist())) > 1 else 0.0
    theta = bradley_terry_fit.fit_strengths(counts, pseudo=pseudo)
    order = np.argsort(-theta.round(12), kind="stable")
    counts, theta, strong = restrict_counts(counts, order), theta[order], strong[order]
    several = counts.items > 1
    matches = dict(zip(data.names, data.matches.tolist(), strict=True))
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
    """The counts among some contestants, recoded to their order in `members`."""
    place = np.full(len(counts.names), -1, np.int64)
    place[members] = np.arange(len(members))
    kept = np.flatnonzero((place[counts.low] >= 0) & (place[counts.high] >= 0))
    low, high = place[counts.low[kept]], place[counts.high[kept]]
    turned = low > high
    number = np.full(len(counts.low), -1, np.int64)
    number[kept] = np.arange(len(kept))
    entries = number[counts.pair] >= 0
    pair, kind = number[counts.pair[entries]], counts.kind[entries]
    held = np.bincount(kind, minlength=len(counts.multiplicity)) > 0
    won, lost = counts.won[entries], counts.lost[entries]
    return PairCounts(
        names=tuple(counts.names[member] for member in members),
        low=np.where(turned, high, low),
        high=np.where(turned, low, high),
        wins_low=np.where(turned, counts.wins_high[kept], counts.wins_low[kept]),
        wins_high=np.where(turned, counts.wins_low[kept], counts.wins_high[kept]),
        verdicts=counts.verdicts[kept],
        multiplicity=counts.multiplicity[held],
        kind=dense_codes(kind),
        pair=pair,
        won=np.where(turned[pair], lost, won),
        lost=np.where(turned[pair], won, lost),
    )
