"""Remedies of a study: rules of all judges on the same comparisons, juries, recommendations.

A rule decides a comparison from one or more stored verdicts. Agreement is here the mean half credit
against the known better answer (1 if right, ½ if undecided, 0 if wrong); a rater is a judge with a
prompt. "One call" is the rule without a remedy: the verdict of a single call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
import pandas as pd

from metrics.estimation import measures, row_selection
from metrics.estimation.intervals import Floats, jackknife_estimate
from metrics.remedies.decision_rules import decide_by_sum_of_orders
from metrics.remedies.known_winners import WinnerSource
from metrics.remedies.order_grid import OrderGrid, build_order_grid
from metrics.remedies.recommendation import Recommendation, recommend
from metrics.remedies.risk_coverage import CoveragePoint, graded_risk_curve, jury_risk_curve
from metrics.remedies.rule_sets import Rule, jury_rules, one_call_rule, prompt_rules, rules_of_rater
from metrics.remedies.rule_table import RuleEstimate, credit_totals_by_item, estimate_rules
from studies.domain import Estimate, Rater
from studies.lazy_values import cached_property

SEED: Final = 7
CREDIT: Final = "call_credit"
MIN_COMPLETE: Final = 0.5
"""Share of the comparisons with a known better answer that a rater must have judged in both orders.
A rater with a smaller share is left out, because only comparisons that all raters have are used."""
MIN_AVAILABLE: Final = 0.9
"""Share of comparisons: if a judge has graded replies on at least this share, the comparisons
without its graded replies are left out for all judges."""
MAX_PANEL: Final = 6
"""Number of judges (a judge and its possible partners) up to which all juries of two and of three
are tried; beyond, only the juries shown in the table."""

MAX_SELECTED: Final = 100_000
"""Largest number of comparisons for which all juries of two and of three judges are tried. With
more, only the juries shown in the table are: the best partner is then known precisely enough."""


COMPARED_PART: Final = "that every judge and prompt judged in both orders"
"""The comparisons of a RemedyStudy in words, for sentences on them."""


@dataclass(frozen=True, eq=False)
class RemedyStudy:
    """Verdicts on the comparisons with a known better answer that all raters, except those left out
    (`incomplete_raters`), have judged in both orders (`grid`: arrays by judge and prompt, order and
    comparison). `left_out` is reason -> number of comparisons left out. `call_grid` has the
    comparisons on which single calls are compared: those of `grid` or, if it has none, all with a
    known better answer."""

    grid: OrderGrid
    left_out: Mapping[str, int]
    incomplete_raters: tuple[Rater, ...]
    call_grid: OrderGrid

    @property
    def raters(self) -> tuple[Rater, ...]:
        """Judges and prompts whose verdicts are compared."""
        return self.grid.raters

    @cached_property
    def agreement_of_pooled_orders(self) -> tuple[float, ...]:
        """Agreement of every rater with the known better answers if the verdicts in both orders are
        added up; 0 without comparisons."""
        if not self.grid.size:
            return tuple(0.0 for _ in self.raters)
        return tuple(
            float(decide_by_sum_of_orders(verdicts).credit(self.grid.known_winner).mean())
            for verdicts in self.grid.verdicts
        )

    def raters_by_agreement(self, among: Iterable[int]) -> list[int]:
        """Sort the raters `among` (indices in `raters`), the one with the highest agreement first;
        agreement is that with both orders added up. Raters of equal agreement keep their order."""
        return sorted(among, key=lambda rater: -self.agreement_of_pooled_orders[rater])

    def raters_with_prompt(self, prompt: str) -> list[int]:
        """List the raters (indices in `raters`) of all judges that were called with this prompt."""
        return [k for k, (_, name) in enumerate(self.raters) if name == prompt]

    def rater_index(self, judge: str, prompt: str = "") -> int | None:
        """Return the index in `raters` of a judge and prompt (an empty prompt: the judge's first);
        None if unknown."""
        return next(
            (
                k
                for k, rater in enumerate(self.raters)
                if rater[0] == judge and prompt in ("", rater[1])
            ),
            None,
        )

    def rules_shown_for_rater(self, rater: int) -> list[Rule]:
        """List the rules (ways to decide a comparison from stored verdicts) shown for one rater, an
        index in `raters`: rules that use its own verdicts, then those that use the same judge's
        verdicts with another prompt, then those of juries (several judges) that contain it."""
        return [
            *rules_of_rater(self.grid, rater),
            *prompt_rules(self.grid, rater),
            *self._jury_rules_with(rater),
        ]

    @cached_property
    def _single_call_credits_by_item(self) -> Floats:
        """Credit of the rule "one call", as [item, rater], summed over the item's comparisons; the
        last column is the number of comparisons."""
        return credit_totals_by_item(
            self.grid, [one_call_rule(self.grid, rater) for rater in range(len(self.raters))]
        )

    @property
    def comparison_count_by_item(self) -> Floats:
        """Number of comparisons of each item."""
        return self._single_call_credits_by_item[:, -1]

    def jury_partners(self, rater: int) -> list[int]:
        """List other judges with the same prompt as possible jury members, best first.

        Judges whose single calls are significantly better than those of this rater are left out:
        such a judge would be used alone, without a jury.
        """
        panel = self.raters_with_prompt(self.raters[rater][1])
        return self.raters_by_agreement(
            k for k in panel if k != rater and not self._is_significantly_better(k, rater)
        )

    def has_graded_curve(self, rater: int) -> bool:
        """Whether the risk-coverage curve of a rater uses margins of graded scores; otherwise it
        uses leads of votes of a jury."""
        return bool(graded_risk_curve(self.grid, rater))

    def jury_of_risk_curve(self, rater: int) -> list[int]:
        """List the jury whose votes give the risk-coverage curve of a rater without graded scores:
        the rater and its two best partners."""
        return [rater, *self.jury_partners(rater)[:2]]

    def risk_curve(self, rater: int) -> list[CoveragePoint]:
        """Risk-coverage curve of a rater: share decided and share right, if a decision requires a
        margin. It is a margin of the graded score or, without graded scores, a lead of votes in a
        jury (`jury_of_risk_curve`)."""
        graded = graded_risk_curve(self.grid, rater)
        return graded or jury_risk_curve(self.grid, self.jury_of_risk_curve(rater))

    def _is_significantly_better(self, challenger: int, rater: int) -> bool:
        """Whether one call of rater `challenger` agrees significantly more often than one call of
        `rater`."""
        credit = self._single_call_credits_by_item
        sums = np.stack([credit[:, challenger] - credit[:, rater], credit[:, -1]], axis=1)
        got = jackknife_estimate(sums, measures.first_over_last, self.grid.size, effect=1.0)
        return got.low is not None and got.low > 0

    def estimate_single_calls(self, rater: int) -> list[RuleEstimate]:
        """Estimate the rule "one call" for the judge of a rater, then for each other judge with the
        same prompt."""
        panel = self.raters_with_prompt(self.raters[rater][1])
        order = [rater, *(k for k in panel if k != rater)]
        return estimate_rules(
            self.grid, [one_call_rule(self.grid, k) for k in order], _seeded_generator()
        )

    def _jury_rules_with(self, rater: int) -> list[Rule]:
        """List the rules of juries that contain this judge; its partners are other judges with the
        same prompt, best first (`jury_partners`). With the best partner: all rules. With the best
        two: all but "round-robin". With all judges that have this prompt: only "jury-both", if
        there are at least three partners and every other judge is one. Empty without a partner."""
        panel = self.raters_with_prompt(self.raters[rater][1])
        others = self.jury_partners(rater)
        found: list[Rule] = []
        if others:
            found += jury_rules(self.grid, [rater, others[0]], picked=len(others) > 1)
        if len(others) > 1:
            three = jury_rules(self.grid, [rater, *others[:2]], picked=len(others) > 2)
            found += [rule for rule in three if rule.id != "round-robin"]
        if len(others) > 2 and len(others) == len(panel) - 1:
            found += [r for r in jury_rules(self.grid, panel) if r.id == "jury-both"]
        return found

    def further_jury_rules(self, rater: int, shown: Sequence[Rule]) -> list[Rule]:
        """List the rules of the juries of two and of three judges with this judge that are not in
        `shown`; empty if there are too many judges (MAX_PANEL) or comparisons (MAX_SELECTED)."""
        others = self.jury_partners(rater)
        if len(others) >= MAX_PANEL or self.grid.size > MAX_SELECTED:
            return []
        listed = {rule.id_and_members for rule in shown}
        juries = [[rater, *part] for size in (1, 2) for part in combinations(others, size)]
        rules = (rule for jury in juries for rule in jury_rules(self.grid, jury, picked=True))
        return [rule for rule in rules if rule.id_and_members not in listed]

    @cached_property
    def _table_cache(self) -> dict[int, list[RuleEstimate]]:
        """Tables of rules computed so far, by rater."""
        return {}

    def estimate_rules_of_rater(self, rater: int) -> list[RuleEstimate]:
        """Estimate the rules shown for one judge and prompt, and their differences from one call,
        once. The intervals of the differences are adjusted together (as one family), except those
        of rules that lack some replies or ask people; a rule with replies on too few items is left
        out."""
        if rater not in self._table_cache:
            rules = self.rules_shown_for_rater(rater)
            self._table_cache[rater] = estimate_rules(self.grid, rules, _seeded_generator())
        return self._table_cache[rater]

    @cached_property
    def _advice_cache(self) -> dict[int, Recommendation]:
        """Recommendations computed so far, by rater."""
        return {}

    def advice(self, rater: int) -> Recommendation:
        """Return the recommendation for one judge and prompt, computed once."""
        if rater not in self._advice_cache:
            lines = self.estimate_rules_of_rater(rater)
            further = self.further_jury_rules(rater, [one.rule for one in lines])
            self._advice_cache[rater] = recommend(self.grid, lines, further, _seeded_generator())
        return self._advice_cache[rater]

    def rules_to_recommend_from(self, rater: int) -> list[Rule]:
        """List the rules from which a rater's recommendation is chosen, "one call" first. Rules
        that ask people, or lack replies on some comparisons, are left out."""
        shown = self.rules_shown_for_rater(rater)
        rules = [*shown, *self.further_jury_rules(rater, shown)]
        return [r for r in rules if not r.votes and np.isfinite(r.decisions.first).all()]

    def estimate_rules_of_jury(self, raters: Sequence[int]) -> list[RuleEstimate]:
        """Estimate the rules of a jury (several judges that decide together), after "one call" of
        its best member, with which they are compared. Rules in the table of this member are
        estimated there, in one family with its other rules; for the rest, the rules of the jury are
        the family."""
        best = max(raters, key=lambda rater: self.total_single_call_credit(rater))
        shown = {line.rule.id_and_members: line for line in self.estimate_rules_of_rater(best)}
        rules = [one_call_rule(self.grid, best), *jury_rules(self.grid, raters)]
        own = estimate_rules(self.grid, rules, _seeded_generator())
        return [shown.get(line.rule.id_and_members, line) for line in own]

    def best_rater_index(self) -> int | None:
        """Return the index of the rater whose rule "one call" has the highest agreement; None
        without raters."""
        return max(range(len(self.raters)), key=self.total_single_call_credit, default=None)

    def total_single_call_credit(self, rater: int) -> float:
        """Total credit of the rule "one call" over all comparisons. As all raters have judged the
        same comparisons, the rater with the highest total has the highest agreement."""
        return float(self._single_call_credits_by_item[:, rater].sum())


def _seeded_generator() -> np.random.Generator:
    """Return a random generator with a fixed seed, so that the same records give the same
    numbers."""
    return np.random.default_rng(SEED)


def build_remedy_study(
    frame: pd.DataFrame, judges: Sequence[str] = (), source: WinnerSource | None = None
) -> RemedyStudy:
    """Build the study of the comparisons with a known better answer that every rater has judged in
    both orders. `judges` gives the order of the judges (default: by name), `source` the source of
    the better answers (default: `default_winner_source`).

    First, each rater that judged less than half (MIN_COMPLETE) of the comparisons with a known
    better answer in both orders is left out; if none remains, no comparison is used. If a rater has
    graded replies (with a strength of preference) on nearly all these comparisons (MIN_AVAILABLE),
    comparisons without its graded replies are left out too.
    """
    whole = grid = build_order_grid(frame, judges, source)
    known = grid.known_winner != 0
    complete = np.asarray(np.isfinite(grid.verdicts).all(axis=1), np.bool_)
    enough = _share_among(complete, known) >= MIN_COMPLETE
    incomplete = tuple(rater for rater, ok in zip(grid.raters, enough, strict=True) if not ok)
    grid = _select_raters(grid, enough)
    common = known & complete[enough].all(axis=0) & _graded_mask(grid, known)
    if not enough.any():
        common = np.zeros_like(known)
    left_out = {"no truth": int((~known).sum()), "incomplete": int((known & ~common).sum())}
    selected = grid.select(common)
    calls = selected if common.any() else whole.select(known)
    return RemedyStudy(selected, left_out, incomplete, calls)


def add_call_credits(frame: pd.DataFrame, study: RemedyStudy | None = None) -> pd.DataFrame:
    """Return the frame with the column CREDIT: 1 for a call that decides for the better answer, ½
    for a tie, 0 for the other answer; nan for calls that `study` (default: the remedy study of this
    frame) does not compare, such as repeats. A frame that has the column is returned as it is."""
    if CREDIT in frame:
        return frame
    grid = (study or build_remedy_study(frame)).call_grid
    asked = grid.calls >= 0
    credit = np.full(len(frame), np.nan)
    right = np.sign(grid.verdicts) * grid.known_winner
    credit[grid.calls[asked]] = (1 + right[asked]) / 2
    return frame.assign(**{CREDIT: credit})


def _tally_call_credits(grouped: measures.GroupedFrame) -> measures.MeasureTally:
    """Tally the credit of single calls. The calls are weighted so that all calls of a judge with a
    prompt on one comparison together count as one."""
    frame = add_call_credits(grouped.frame)
    rows = row_selection.select_rows(frame, frame[CREDIT].notna().to_numpy())
    code, count = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)
    weight = 1 / np.bincount(code, minlength=count)[code]
    return measures.build_tally(rows, rows[CREDIT].to_numpy() * weight, weight)


CALL_AGREEMENT: Final = measures.Measure(
    "agreement",
    "share",
    _tally_call_credits,
    empty="no pair of answers has a known better answer, or fewer than half of these pairs have "
    "both orders",
)
"""Agreement of single calls with the better answers: the same number on the page, in the library
and in the summary."""


def estimate_call_agreement(frame: pd.DataFrame) -> dict[Rater, Estimate]:
    """Return (judge, prompt) -> agreement of single calls, people left out. If the frame lacks the
    column CREDIT, it is computed from the frame."""
    judged = row_selection.select_rows(frame, ~row_selection.people_mask(frame))
    found = CALL_AGREEMENT.by_cell(measures.GroupedFrame(judged, ["judge", "prompt"]))
    return {(judge, prompt): one for (judge, prompt), one in found.items()}


def _share_among(mask: row_selection.Mask, selected: row_selection.Mask) -> Floats:
    """Share of comparisons for which `mask` is true, among the comparisons that `selected` selects;
    the comparisons are the last axis of `mask`."""
    return np.asarray(mask[..., selected].sum(axis=-1) / max(int(selected.sum()), 1), np.float64)


def _select_raters(grid: OrderGrid, keep: row_selection.Mask) -> OrderGrid:
    return replace(
        grid,
        raters=tuple(rater for rater, ok in zip(grid.raters, keep, strict=True) if ok),
        calls=grid.calls[keep],
        verdicts=grid.verdicts[keep],
        graded=None if grid.graded is None else grid.graded[keep],
        labels=grid.labels[keep],
        repeats=None if grid.repeats is None else grid.repeats[keep],
    )


def _graded_mask(grid: OrderGrid, known: row_selection.Mask) -> row_selection.Mask:
    """Mask of the comparisons that have graded replies in both orders from every rater that usually
    gives them, that is, on at least the share MIN_AVAILABLE of the `known` comparisons. All true if
    there is no such rater."""
    keep = np.ones(grid.size, bool)
    if grid.graded is None:
        return keep
    for graded in grid.graded:
        whole = np.asarray(np.isfinite(graded).all(axis=0), np.bool_)
        if _share_among(whole, known) >= MIN_AVAILABLE:
            keep &= whole
    return keep
