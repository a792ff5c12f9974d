"""Remedies that can be computed from stored verdicts in both orders, for one judge or for a jury
(several judges that decide together).

A rater is a judge with a prompt. A graded reply also states how strongly it prefers an answer, by
probabilities, levels or scores.

A rule decides each comparison from one or more of these verdicts. An order grid has the verdicts of
all raters in both orders, as arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from metrics.remedies import decision_rules
from metrics.remedies.decision_rules import Decisions
from metrics.remedies.order_grid import OrderGrid
from studies.domain import Rater

SINGLE: Final = "single"
PEOPLE_SHARES: Final = (0.1, 0.25)
"""Shares of comparisons sent to people by the rule `ask-people`."""
REPEAT_COUNTS: Final = (3, 5)
SHOWN_MARGINS: Final = (0.25, 0.5)
"""Margins of the mean graded score that have a line in the table of remedies; the risk-coverage
curve uses further margins."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A remedy with its decisions on every comparison of a grid. `calls` is the number of judge
    calls per comparison, by rater; `votes` is the number of human votes per comparison;
    `needs_reference` is true if its prompt shows the judge a reference answer."""

    id: str
    members: tuple[Rater, ...]
    decisions: Decisions
    calls: Mapping[Rater, float]
    votes: float = 0.0
    note: str = ""
    picked: bool = False
    """Whether the judges were selected by their agreement on these same comparisons."""
    needs_reference: bool = False

    @property
    def calls_per_comparison(self) -> float:
        """Judge calls per comparison, over all judges."""
        return sum(self.calls.values())

    @property
    def id_and_members(self) -> tuple[str, frozenset[Rater]]:
        """Identity of a rule in a study: the same in whichever order its judges are listed."""
        return self.id, frozenset(self.members)


def rules_of_rater(grid: OrderGrid, rater: int) -> list[Rule]:
    """List the rules over the verdicts of one rater; the first is the rule without a remedy."""
    return [*_verdict_rules(grid, rater), *_graded_rules(grid, rater), *_repeat_rules(grid, rater)]


def one_call_rule(grid: OrderGrid, rater: int) -> Rule:
    """Build the rule without a remedy: the verdict of one call of a judge with a prompt decides."""
    decisions = decision_rules.decide_by_one_call(grid.verdicts[rater])
    return _rule_of_one_judge(grid, rater, SINGLE, decisions, 1)


def _verdict_rules(grid: OrderGrid, rater: int) -> list[Rule]:
    """List the rules over the plain verdicts of one rater: one call, both orders added up, both
    orders must agree and, if people voted, both orders with a share sent to people."""
    verdicts = grid.verdicts[rater]
    pool = decision_rules.decide_by_sum_of_orders(verdicts)
    agree = decision_rules.decide_if_both_orders_agree(verdicts)
    both = (("pool", pool), ("agree", agree))
    rules = [one_call_rule(grid, rater)]
    rules += [_rule_of_one_judge(grid, rater, name, decisions, 2) for name, decisions in both]
    if grid.votes is not None:
        rules += [_rule_sending_share_to_people(grid, rater, share) for share in PEOPLE_SHARES]
    return rules


def _rule_sending_share_to_people(grid: OrderGrid, rater: int, share: float) -> Rule:
    """Build the rule that decides by both orders, except for a `share` of the comparisons, which
    one human vote decides; comparisons whose two verdicts differ are sent to people first."""
    assert grid.votes is not None
    name, verdicts = grid.raters[rater], grid.verdicts[rater]
    decisions = decision_rules.decide_with_share_sent_to_people(verdicts, grid.votes, share)
    note = "the vote is part of the majority" if grid.source != "known answers" else ""
    return Rule(f"ask-people({share:g})", (name,), decisions, {name: 2.0}, share, note)


def _graded_rules(grid: OrderGrid, rater: int) -> list[Rule]:
    """List the rules over graded replies of one rater; empty without graded replies."""
    if grid.graded is None or not np.isfinite(grid.graded[rater]).any():
        return []
    graded = grid.graded[rater]
    calibrated = decision_rules.decide_by_calibrated_call(graded, grid.labels[rater], grid.items)
    rules = [
        _rule_of_one_judge(
            grid, rater, "calibrated", calibrated, 1, "position effect from the other items"
        ),
        _rule_of_one_judge(
            grid, rater, "graded", decision_rules.decide_by_mean_graded_score(graded), 2
        ),
    ]
    for margin in SHOWN_MARGINS:
        decisions = decision_rules.decide_by_margin(graded, margin)
        rules.append(_rule_of_one_judge(grid, rater, f"margin({margin:g})", decisions, 2))
    return rules


def _repeat_rules(grid: OrderGrid, rater: int) -> list[Rule]:
    """List the majority rules over repeated calls of one rater; empty without enough repeats."""
    if grid.repeats is None:
        return []
    repeats, rules = grid.repeats[rater], []
    for k in REPEAT_COUNTS:
        if repeats.shape[1] >= k and np.isfinite(repeats[:, k - 1]).any():
            one = decision_rules.decide_by_majority_in_one_order(repeats, k)
            both = decision_rules.decide_by_majority_of_both_orders(repeats, k)
            rules.append(_rule_of_one_judge(grid, rater, f"repeats({k})", one, k))
            rules.append(_rule_of_one_judge(grid, rater, f"repeats({k})-both", both, 2 * k))
    return rules


def _rule_of_one_judge(
    grid: OrderGrid, rater: int, rule_id: str, decisions: Decisions, calls: float, note: str = ""
) -> Rule:
    name = grid.raters[rater]
    needs = name[1] in grid.with_reference
    return Rule(rule_id, (name,), decisions, {name: float(calls)}, 0.0, note, False, needs)


def prompt_rules(grid: OrderGrid, rater: int) -> list[Rule]:
    """List the rules (ways to decide a comparison from stored verdicts) that use the same judge's
    verdicts with another prompt. There are two for each other prompt: decide by the verdict of one
    call, or by the sum of the verdicts in both orders."""
    judge, prompt = grid.raters[rater]
    rules = []
    for other, (name, words) in enumerate(grid.raters):
        if name == judge and words != prompt:
            verdicts = grid.verdicts[other]
            single = decision_rules.decide_by_one_call(verdicts)
            pool = decision_rules.decide_by_sum_of_orders(verdicts)
            rules.append(_rule_of_one_judge(grid, other, f"prompt:{words}", single, 1))
            rules.append(_rule_of_one_judge(grid, other, f"prompt:{words}+pool", pool, 2))
    return rules


def jury_rules(grid: OrderGrid, raters: Sequence[int], picked: bool = False) -> list[Rule]:
    """List the rules of a jury: judges take turns ("round-robin"), one call of each judge
    ("opposite" for two judges, else "jury"), both orders of each judge ("jury-both"). `picked`
    states whether the members were selected by their agreement."""
    verdicts = [grid.verdicts[rater] for rater in raters]
    members = tuple(grid.raters[rater] for rater in raters)
    found = {
        "round-robin": (decision_rules.decide_by_judge_in_turn(verdicts), 1 / len(raters)),
        "opposite" if len(raters) == 2 else "jury": (decision_rules.decide_by_jury(verdicts), 1.0),
        "jury-both": (decision_rules.decide_by_full_jury(verdicts), 2.0),
    }
    needs = any(prompt in grid.with_reference for _, prompt in members)
    return [
        Rule(id, members, decisions, dict.fromkeys(members, calls), 0.0, "", picked, needs)
        for id, (decisions, calls) in found.items()
    ]
