"""People's votes as arrays, grouped by person: the input of the voters' measures and flags.

A case is a set of answers to one item, whoever judges them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from metrics.agreement.majority_agreement import CASE_KEY
from metrics.agreement.pairwise_agreement import PeopleVotes, count_votes, extract_case_votes
from metrics.estimation import measures, row_selection
from metrics.estimation.intervals import (
    Floats,
    Ints,
    join_notes,
    proportions,
    safe_divide,
    sum_by_item,
    unknown_estimate,
)
from metrics.position.position_measures import CONSISTENCY
from studies.domain import HUMAN_PREFIX, Estimate
from studies.lazy_values import cached_property

NO_ORDER_NOTE: Final = "the order of the answers is not recorded"
ONE_ORDER_NOTE: Final = (
    "not every pair was seen in both orders: unless orders were random, better answers may have "
    "been shown first"
)
FIXED_ORDER_NOTE: Final = "votes on models that were always shown in one order are left out"
MIN_FIXED_ORDER: Final = 6
"""Number of votes on two models, all with the same one shown first, from which the order counts as
fixed. By chance it is the same in 6 votes in 3 % of cases."""
ALL_TIES_NOTE: Final = "no decisive vote"
NO_OTHERS_NOTE: Final = "no other person voted on the same answers"
NOT_REPEATED_NOTE: Final = "no comparison was shown twice with swapped positions"
MIN_SAME_CASES: Final = 10
"""A person who voted on at least this many comparisons with three or more votes is compared with
the others on these comparisons only."""


@dataclass(frozen=True, eq=False)
class PeerAgreement:
    """Agreement of each person with the others, and of the others with each other, as sums with an
    entry for each person.

    `own` is the sum, over `n` comparisons, of the share of the others who agree with the person.
    `rest` is the sum, over `m` comparisons, of the share of pairs of others who agree with each
    other. `pairs` is the sample size of `rest` in a test. In each comparison it counts half of the
    others, rounded down: as many pairs as can be formed if nobody is in two. For a person with
    fewer than MIN_SAME_CASES comparisons with three or more votes it is `m`."""

    own: Floats
    n: Ints
    rest: Floats
    m: Ints
    pairs: Ints


class VotesByPerson:
    """The votes of a frame grouped by person; person codes 0…n−1 follow the sorted names."""

    def __init__(self, picked: pd.DataFrame) -> None:
        rows = row_selection.select_rows(picked, row_selection.people_mask(picked))
        self.rows = rows
        judges = rows["judge"].astype(str)
        self.judges = sorted(set(judges))
        self.names = [judge.removeprefix(HUMAN_PREFIX) for judge in self.judges]
        codes = {judge: code for code, judge in enumerate(self.judges)}
        self.who: Ints = np.asarray(judges.map(codes), np.int64)
        self.pick = rows["pick"].to_numpy().astype(np.int64)
        self.options = rows["options"].to_numpy().astype(np.int64)
        self.item = row_selection.item_codes(rows)
        self.case, self.cases = row_selection.group_codes(rows, CASE_KEY)

    def estimate_mean_over_votes_by_person(
        self, values: Floats, selected: row_selection.Mask, note: str
    ) -> list[Estimate]:
        """Estimate each person's mean of `values` (0 to 1, one for each vote) over the selected
        votes, clustered by item. `note` is the note for a person without such votes."""
        return self._estimate_mean_by_person(
            values[selected], self.who[selected], self.item[selected], note
        )

    def _estimate_mean_by_person(
        self, values: Floats, person: Ints, item: Ints, note: str
    ) -> list[Estimate]:
        """Estimate each person's mean of `values`, clustered by item; `person` is the person and
        `item` the item of each value."""
        many = int(item.max(initial=0)) + 1
        cell, sums = sum_by_item(
            np.stack([values, np.ones(len(values))], axis=1), person * many + item
        )
        made = proportions(sums[:, 0], sums[:, 1], cell // many, len(self.names))
        return [one if one.value is not None else unknown_estimate(note, "share") for one in made]

    def votes_per_person(self, selected: row_selection.Mask | None = None) -> Ints:
        """Count each person's votes, or only the selected ones."""
        who = self.who if selected is None else self.who[selected]
        return np.bincount(who, minlength=len(self.names)).astype(np.int64)

    # ---- position

    @cached_property
    def decisive_known_order_mask(self) -> row_selection.Mask:
        """Mask of the votes that choose one answer (no tie) and whose order is recorded."""
        return (self.rows["orders"] != 0).to_numpy() & (self.pick >= 0)

    @cached_property
    def varied_order_mask(self) -> row_selection.Mask:
        """Those of `decisive_known_order_mask` on models that were not always shown in one order:
        a model that is always first is picked first as often as it is better."""
        return self.decisive_known_order_mask & ~self.fixed_order_mask

    @cached_property
    def fixed_order_mask(self) -> row_selection.Mask:
        """Mask of the votes on models that all people saw in one order only, in MIN_FIXED_ORDER
        votes or more."""
        models, sets = row_selection.group_codes(self.rows, ("comparison",))
        shown, _ = row_selection.group_codes(self.rows, ("comparison", "shown"))
        first = shown[row_selection.first_row_per_group(models, sets)]
        turned = np.bincount(models, shown != first[models], sets) > 0
        fixed = ~turned & (np.bincount(models, minlength=sets) >= MIN_FIXED_ORDER)
        return np.asarray(fixed[models], np.bool_)

    @cached_property
    def first_share_by_person(self) -> list[Estimate]:
        """Share of each person's decisive votes for the answer shown first, where the order is
        recorded and varies."""
        made = self.estimate_mean_over_votes_by_person(
            (self.pick == 0).astype(np.float64), self.varied_order_mask, ALL_TIES_NOTE
        )
        orders, fixed = self.rows["orders"].to_numpy(), self.fixed_order_mask
        masks = (orders != 0, fixed, (orders == 1) & ~fixed)
        counts = (self.votes_per_person(mask).tolist() for mask in masks)
        found = []
        for one, known, out, single in zip(made, *counts, strict=True):
            none = FIXED_ORDER_NOTE * (one.value is None and out > 0) if known else NO_ORDER_NOTE
            note = join_notes(one.note, FIXED_ORDER_NOTE * (out > 0), ONE_ORDER_NOTE * (single > 0))
            found.append(unknown_estimate(none, "share") if none else replace(one, note=note))
        return found

    def mean_by_person(self, values: Floats, selected: row_selection.Mask) -> Floats:
        """Return each person's mean of `values` over the selected votes; nan without votes."""
        return safe_divide(
            np.bincount(self.who[selected], values[selected], len(self.names)),
            self.votes_per_person(selected),
        )

    def chance_first_share_by_person(self, selected: row_selection.Mask) -> Floats:
        """Share of first picks of each person in the selected votes if all positions were picked at
        random: the mean of 1/N, with N answers shown; nan for a person without such votes."""
        return self.mean_by_person(1 / self.options, selected)

    @cached_property
    def position_bias_by_person(self) -> list[Estimate]:
        """Position bias of each person, (share of first picks − chance)/(1 − chance): 0 none, 1
        always the first answer."""
        chances = self.chance_first_share_by_person(self.varied_order_mask)
        shares = zip(self.first_share_by_person, chances, strict=True)
        return [_first_slot_bias(share, float(chance)) for share, chance in shares]

    @cached_property
    def consistency_by_person(self) -> list[Estimate]:
        got = CONSISTENCY.by_cell(measures.GroupedFrame(self.rows, ["judge"]))
        found = [got.get((judge,)) for judge in self.judges]
        return [
            e
            if e is not None and e.value is not None
            else unknown_estimate(NOT_REPEATED_NOTE, "share")
            for e in found
        ]

    # ---- others

    @cached_property
    def votes(self) -> PeopleVotes:
        """Votes as arrays, with only the first vote of each person on each case."""
        made = extract_case_votes(self.rows, np.ones(len(self.rows), bool), self.case, self.cases)
        return replace(made, voter=self.who[self.first_vote_rows])

    @cached_property
    def first_vote_rows(self) -> Ints:
        """Row numbers, in `rows`, of the votes in `votes` (a person's first vote on a case)."""
        group, groups = row_selection.group_codes(self.rows, (*CASE_KEY, "judge"))
        return row_selection.first_row_per_group(group, groups)

    @cached_property
    def peer_agreement_by_vote(self) -> tuple[Floats, Floats]:
        """Two shares for each vote in `votes`: the share of the other voters on the case who agree
        with the vote, and the share of pairs of other voters who agree with each other.

        The first share is nan without other voters, the second with fewer than two.
        """
        counts = count_votes(self.votes)
        n = counts.sum(axis=1)[self.votes.case]
        own = counts[self.votes.case, self.votes.choice + 1]
        agreeing = (counts * (counts - 1)).sum(axis=1)[self.votes.case]
        return safe_divide(own - 1, n - 1), safe_divide(agreeing - 2 * (own - 1), (n - 1) * (n - 2))

    @cached_property
    def agreement_with_others(self) -> list[Estimate]:
        """Estimate, for each person, how many of the others agree: the share of the other voters on
        a case who gave the same verdict, as the mean over the person's votes."""
        share = self.peer_agreement_by_vote[0]
        met = np.isfinite(share)
        return self._estimate_mean_by_person(
            share[met], self.votes.voter[met], self.votes.item[met], NO_OTHERS_NOTE
        )

    @cached_property
    def peer_agreement(self) -> PeerAgreement:
        """Agreement of each person with the others, and of the others with each other.

        Both are computed on the comparisons with at least three votes, so that difficult
        comparisons lower both. A person with fewer than MIN_SAME_CASES of these is compared on all
        comparisons with another voter, and the others' agreement on comparisons without this person
        counts too.
        """
        own, rest = self.peer_agreement_by_vote
        votes, people = self.votes, len(self.names)
        met, third = np.isfinite(own), np.isfinite(rest)

        def sum_by_person(values: Floats, selected: row_selection.Mask) -> Floats:
            weights = np.where(selected, values, 0.0)
            return np.asarray(np.bincount(votes.voter, weights, people), np.float64)

        one = np.ones(len(own))
        size = np.bincount(votes.case, minlength=votes.cases)
        total = np.bincount(votes.case, np.where(met, own, 0.0), votes.cases)
        of_case = safe_divide(total, np.where(size > 1, size, 0))
        elsewhere = float(np.nansum(of_case)) - sum_by_person(of_case[votes.case], met)
        cases = int(np.isfinite(of_case).sum()) - sum_by_person(one, met)
        same = sum_by_person(one, third) >= MIN_SAME_CASES
        n = np.where(same, sum_by_person(one, third), sum_by_person(one, met))
        m = np.where(same, n, cases + sum_by_person(one, third))
        pairs = np.where(same, sum_by_person(np.floor((size[votes.case] - 1) / 2), third), m)
        return PeerAgreement(
            np.where(same, sum_by_person(own, third), sum_by_person(own, met)), n.astype(np.int64),
            np.where(same, 0.0, elsewhere) + sum_by_person(rest, third), m.astype(np.int64),
            pairs.astype(np.int64),
        )  # fmt: skip

    @cached_property
    def agreement_among_others(self) -> list[float | None]:
        """Mean agreement of the other people with each other, for each person; None without
        comparisons that two other people judged."""
        return [
            float(t / m) if m else None
            for t, m in zip(self.peer_agreement.rest, self.peer_agreement.m, strict=True)
        ]

    # ---- speed

    @cached_property
    def seconds(self) -> Floats:
        """Duration of each vote in seconds; nan if not timed."""
        if "seconds" not in self.rows:
            return np.full(len(self.rows), np.nan)
        seconds = self.rows["seconds"].to_numpy(np.float64)
        return np.where(seconds > 0, seconds, np.nan)

    @cached_property
    def characters_shown(self) -> Floats:
        """Total characters of the answers shown in each vote; nan if unknown."""
        columns = [name for name in self.rows if str(name).startswith("length_")]
        if not columns:
            return np.full(len(self.rows), np.nan)
        table = self.rows[columns].to_numpy(np.float64)[:, : int(self.options.max(initial=2))]
        here = np.arange(table.shape[1]) < self.options[:, None]
        known = ((table >= 0) | ~here).all(axis=1)
        return np.where(known, np.where(here, table, 0).sum(axis=1), np.nan)

    def median_seconds_and_timed_votes(self, code: int) -> tuple[float | None, int]:
        """Return a person's median seconds per timed vote (None if no vote is timed), and the
        number of timed votes; `code` is the person's code in `who`."""
        timed = self.seconds[(self.who == code) & np.isfinite(self.seconds)]
        return (float(np.median(timed)) if len(timed) else None), len(timed)

    @cached_property
    def expected_first_probability(self) -> Floats:
        """For each vote, the expected probability of picking the answer shown first: its share of
        the other people's decisive votes on the same answers, or 1/N (N answers) if there are none.

        First picks are position bias only above this share, as the first answer may be the better
        one.
        """
        votes = self.votes
        counts = count_votes(votes)
        # For each row, the index of the model shown first in the alphabetical list of the
        # models shown.
        names = row_selection.contestants(self.rows)
        placed = row_selection.slot_contestants(self.rows, names)
        below = (placed >= 0) & (placed < placed[:, :1])
        first = np.asarray(below.sum(axis=1), np.int64)
        group, _ = row_selection.group_codes(self.rows, (*CASE_KEY, "judge"))
        own = votes.choice[group]
        decisive = counts[:, 1:].sum(axis=1)[self.case] - (own >= 0)
        width = counts.shape[1]
        for_first = counts[self.case, np.minimum(first + 1, width - 1)] * (first + 1 < width)
        share = safe_divide(for_first - (own == first), decisive)
        return np.where(np.isfinite(share), share, 1 / self.options)


def _first_slot_bias(share: Estimate, chance: float) -> Estimate:
    """Rescale a share of first picks to bias = (share − chance)/(1 − chance)."""
    if share.value is None:
        return replace(share, unit="bias")

    def above_chance(share: float | None) -> float | None:
        return None if share is None else (share - chance) / (1 - chance)

    return replace(
        share,
        value=above_chance(share.value),
        low=above_chance(share.low),
        high=above_chance(share.high),
        unit="bias",
    )
