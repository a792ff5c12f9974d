"""Estimates of remedies on the same comparisons: agreement, share decided, difference to one call
(the rule without a remedy, which takes the verdict of a single call).

An order grid has the verdicts of all judges in both orders, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from metrics.estimation import measures, row_selection
from metrics.estimation.contrasts import Contrast, PairedTotals, estimate_contrast_family
from metrics.estimation.intervals import Floats, Statistic, join_notes, proportions
from metrics.remedies.order_grid import OrderGrid
from metrics.remedies.rule_sets import Rule
from studies.domain import Estimate

MIN_ITEMS: Final = 2
"""Minimum number of items on which a rule has all replies that it needs. A rule that lacks replies
on some comparisons, and has fewer such items, is left out."""
SAME_CREDIT: Final = 1e-9
LARGEST_CHANGE: Final = {"pool": 0.25, "agree": 0.25}
"""Id of a rule -> largest difference in credit from one call that it can have on a comparison,
where this is less than 1: that of a tie in one order only."""


@dataclass(frozen=True)
class AgreementCredit:
    """The agreement (mean credit: 1 if right, ½ if undecided, 0 if wrong) as a measure, so that
    differences between rules are estimated like other contrasts."""

    name: str = "agreement"
    unit: str = "share"
    kind: str = "share"
    value_range: tuple[float, float] = (0.0, 1.0)

    def change_if_units_reversed(self, totals: Floats, statistic: Statistic) -> float:
        """Largest possible change of the agreement: its distance to 0 or to 1, whichever is
        farther."""
        value = float(statistic(totals))
        return max(value, 1 - value)


@dataclass(frozen=True, eq=False)
class RuleEstimate:
    """One line of the table of remedies: estimates for one rule.

    `difference` is the agreement minus that of one call, paired by item. `adjusted` is the same
    difference with an interval that holds for all rules of the table at once, except those that
    lack replies or ask people: theirs holds for the rule alone. `difference` and `adjusted` are
    None for the rule "one call". `changed` counts the comparisons whose credit differs from that of
    one call.
    """

    rule: Rule
    agreement: Estimate
    decided: Estimate
    right_when_decided: Estimate
    difference: Estimate | None = None
    adjusted: Estimate | None = None
    changed: int = 0

    @property
    def complete(self) -> bool:
        """Whether the rule was estimated on all comparisons of the table."""
        return not self.agreement.note.startswith("on ")


def estimate_rules(
    grid: OrderGrid, rules: Sequence[Rule], rng: np.random.Generator
) -> list[RuleEstimate]:
    """Estimate rules (ways to decide a comparison from one or more verdicts) on the comparisons of
    an order grid; the first must be the rule "one call".

    A rule that lacks replies on some comparisons is compared with one call on the others, with
    their number in a note; it is left out if these are of fewer than MIN_ITEMS items. Such rules,
    and rules that ask people, are not in the family for which intervals are adjusted.
    """
    baseline = rules[0]
    base = baseline.decisions.credit(grid.known_winner)
    whole = {id(rule) for rule in rules if np.isfinite(rule.decisions.first).all()}
    totals = {id(rule): _rule_totals(grid, rule, base) for rule in rules if id(rule) in whole}
    family = [r for r in rules if id(r) in whole and r is not baseline and not r.votes]
    contrasts = _contrasts_with_one_call(totals[id(baseline)], [totals[id(r)] for r in family], rng)
    adjusted = dict(zip(map(id, family), contrasts, strict=True))
    found = []
    for rule in rules:
        if rule is baseline:
            found.append(_build_rule_estimate(totals[id(rule)], None))
        elif id(rule) in whole:
            alone = adjusted.get(id(rule))
            if alone is None:
                (alone,) = _contrasts_with_one_call(totals[id(baseline)], [totals[id(rule)]], rng)
            found.append(_build_rule_estimate(totals[id(rule)], alone))
        elif (part := _estimate_where_replies_complete(grid, rule, baseline, rng)) is not None:
            found.append(part)
    return found


@dataclass(frozen=True, eq=False)
class _RuleTotals:
    """Results of a rule, added up by item: `sums` [item, total] has the totals credit, decided,
    right, and number of comparisons. `step` is the typical size of the rule's differences in credit
    from one call, such as 1/4 for the rule `pool` (the largest possible one if there are none);
    `changed` is the number of comparisons with such a difference."""

    rule: Rule
    sums: Floats
    step: float
    changed: int


def _rule_totals(grid: OrderGrid, rule: Rule, one_call: Floats) -> _RuleTotals:
    """Sum a rule's results by item; `one_call` is the credit of one call on each comparison."""
    right = rule.decisions.probability_right(grid.known_winner)
    decided = rule.decisions.probability_decided
    credit = right + (1 - decided) * rule.decisions.chance
    gap = np.abs(credit - one_call)
    size = float(gap.sum())
    sums = grid.sum_by_item([credit, decided, right, np.ones(grid.size)])
    step = float(gap @ gap) / size if size else LARGEST_CHANGE.get(rule.id, 1.0)
    return _RuleTotals(rule, sums, step, int((gap > SAME_CREDIT).sum()))


def _build_rule_estimate(totals: _RuleTotals, contrast: Contrast | None) -> RuleEstimate:
    credit, decided, right, count = totals.sums.T
    line = RuleEstimate(
        totals.rule,
        ratio_of_item_sums(credit, count, totals.rule.note),
        ratio_of_item_sums(decided, count),
        ratio_of_item_sums(right, decided),
    )
    if contrast is None:
        return line
    return replace(
        line, difference=contrast.raw, adjusted=contrast.adjusted, changed=totals.changed
    )


def _estimate_where_replies_complete(
    grid: OrderGrid, rule: Rule, baseline: Rule, rng: np.random.Generator
) -> RuleEstimate | None:
    """Estimate a rule on the comparisons for which it has all replies; None if these are of fewer
    than MIN_ITEMS items."""
    keep = np.isfinite(rule.decisions.first)
    if len(np.unique(grid.items[keep])) < MIN_ITEMS:
        return None
    part, one = grid.select(keep), _rule_on_selected_comparisons(baseline, keep)
    base = one.decisions.credit(part.known_winner)
    totals = _rule_totals(part, _rule_on_selected_comparisons(rule, keep), base)
    (contrast,) = _contrasts_with_one_call(_rule_totals(part, one, base), [totals], rng)
    line = _build_rule_estimate(totals, contrast)
    note = f"on {part.size:,} of {grid.size:,} comparisons"
    agreement = replace(line.agreement, note=join_notes(note, line.agreement.note))
    return replace(line, rule=rule, agreement=agreement)


def _rule_on_selected_comparisons(rule: Rule, keep: row_selection.Mask) -> Rule:
    """Return the rule with only the selected comparisons."""
    first, second = rule.decisions.first[keep], rule.decisions.second[keep]
    return replace(rule, decisions=replace(rule.decisions, first=first, second=second))


def ratio_of_item_sums(successes: Floats, counts: Floats, note: str = "") -> Estimate:
    """Estimate the ratio of two sums by item, with the Wilson interval at the effective n."""
    some = counts > 0
    group = np.zeros(int(some.sum()), np.int64)
    return proportions(successes[some], counts[some], group, 1, "share", note)[0]


def _contrasts_with_one_call(
    baseline: _RuleTotals, family: Sequence[_RuleTotals], rng: np.random.Generator
) -> list[Contrast]:
    """Estimate the agreement of each rule of the `family` minus that of the rule "one call",
    adjusted as one family; empty without rules or items."""
    if not family or not len(baseline.sums):
        return []
    items = np.arange(len(baseline.sums))
    credit_and_count = [0, -1]
    pairs = [
        PairedTotals(
            AgreementCredit(),
            (one.rule.id,),
            (baseline.rule.id,),
            items,
            np.hstack([one.sums[:, credit_and_count], baseline.sums[:, credit_and_count]]),
            measures.first_over_last,
            one.step,
        )
        for one in family
    ]
    return estimate_contrast_family(pairs, rng)


def credit_totals_by_item(grid: OrderGrid, rules: Sequence[Rule]) -> Floats:
    """Sum the credit of every rule by item, [item, rule]; the last column is the number of
    comparisons."""
    credits = [rule.decisions.credit(grid.known_winner) for rule in rules]
    return grid.sum_by_item([*credits, np.ones(grid.size)])
