"""Estimates of remedies on the same comparisons: agreement, coverage, difference to one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from metrics.estimation.contrasts import Contrast, PairedTotals, adjust_family
from metrics.estimation.intervals import (
    Floats,
    Statistic,
    join_notes,
    proportions,
)
from metrics.estimation.measures import first_over_last
from metrics.remedies.order_grid import OrderGrid
from metrics.remedies.rule_sets import Rule
from studies.domain import Estimate

MIN_ITEMS: Final = 2
"""Items that a rule with too few stored replies needs for a line of its own."""
SAME_CREDIT: Final = 1e-9


@dataclass(frozen=True)
class AgreementCredit:
    """Half-credit agreement as the measure of paired differences between rules."""

    name: str = "agreement"
    unit: str = "share"
    kind: str = "share"

    def unit_effect(self, totals: Floats, statistic: Statistic) -> float:
        """Change if every comparison had another outcome: the farther end of 0 to 1."""
        value = float(statistic(totals))
        return max(value, 1 - value)


@dataclass(frozen=True, eq=False)
class RuleEstimate:
    """One line of the table of remedies.

    `difference` is the agreement minus that of one call, paired by item, and `adjusted` the same
    with the interval that holds for all rules of the table; both are None for the baseline.
    `changed` counts the comparisons whose credit differs from that of one call.
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
        """Whether the line belongs to the table of all comparisons."""
        return not self.agreement.note.startswith("on ")


def estimate_rules(
    grid: OrderGrid, rules: Sequence[Rule], rng: np.random.Generator
) -> list[RuleEstimate]:
    """Estimate rules on the comparisons of a grid; the first rule is the baseline.

    Rules that lack replies on some comparisons are estimated on the rest, against the baseline on
    the same comparisons, outside the family of the adjustment; a note names their number. Rules
    that ask people are outside the family too: a vote is no judge call.
    """
    baseline = rules[0]
    available = {id(rule): np.isfinite(rule.decisions.first) for rule in rules}
    whole = [rule for rule in rules if available[id(rule)].all()]
    family = [rule for rule in whole if rule is not baseline and not rule.votes]
    contrasts = _contrasts(grid, baseline, family, rng)
    found = []
    for rule in rules:
        if available[id(rule)].all():
            found.append(_estimate(grid, rule, baseline, contrasts.get(id(rule)), rng))
        elif (part := _on_part(grid, rule, baseline, available[id(rule)], rng)) is not None:
            found.append(part)
    return found


def _on_part(
    grid: OrderGrid, rule: Rule, baseline: Rule, keep: Floats, rng: np.random.Generator
) -> RuleEstimate | None:
    mask = np.asarray(keep, np.bool_)
    if len(np.unique(grid.items[mask])) < MIN_ITEMS:
        return None
    part = grid.select(mask)
    line = _estimate(part, restrict(rule, mask), restrict(baseline, mask), None, rng)
    note = f"on {int(mask.sum()):,} of {grid.size:,} comparisons"
    agreement = replace(line.agreement, note=join_notes(note, line.agreement.note))
    return replace(line, rule=rule, agreement=agreement)


def restrict(rule: Rule, keep: Floats | np.ndarray) -> Rule:
    """A rule on some of its comparisons."""
    first, second = rule.decisions.first[keep], rule.decisions.second[keep]
    return replace(rule, decisions=replace(rule.decisions, first=first, second=second))


def _estimate(
    grid: OrderGrid,
    rule: Rule,
    baseline: Rule,
    contrast: Contrast | None,
    rng: np.random.Generator,
) -> RuleEstimate:
    credit, decided = rule.decisions.credit(grid.truth), rule.decisions.decided
    ones = np.ones(grid.size)
    line = RuleEstimate(
        rule,
        _share(grid, credit, ones, rule.note),
        _share(grid, decided, ones),
        _share(grid, rule.decisions.right(grid.truth), decided),
    )
    if rule.decisions is baseline.decisions:
        return line
    if contrast is None:
        contrast = _contrasts(grid, baseline, [rule], rng)[id(rule)]
    gap = np.abs(credit - baseline.decisions.credit(grid.truth))
    return replace(
        line,
        difference=contrast.raw,
        adjusted=contrast.adjusted,
        changed=int((gap > SAME_CREDIT).sum()),
    )


def _share(grid: OrderGrid, successes: Floats, counts: Floats, note: str = "") -> Estimate:
    """Ratio of sums by item with the Wilson interval at the effective n."""
    sums = grid.sum_by_item([successes, counts])
    sums = sums[sums[:, 1] > 0]
    group = np.zeros(len(sums), np.int64)
    return proportions(sums[:, 0], sums[:, 1], group, 1, "share", note)[0]


def _contrasts(
    grid: OrderGrid, baseline: Rule, family: Sequence[Rule], rng: np.random.Generator
) -> Mapping[int, Contrast]:
    if not family or not grid.size:
        return {}
    sums = credit_totals(grid, [baseline, *family])
    items, count = np.arange(len(sums)), sums[:, -1:]
    base = baseline.decisions.credit(grid.truth)
    pairs = [
        PairedTotals(
            AgreementCredit(),
            (rule.id,),
            (baseline.id,),
            items,
            np.concatenate([sums[:, place : place + 1], count, sums[:, :1], count], axis=1),
            first_over_last,
            _typical_step(rule.decisions.credit(grid.truth) - base),
        )
        for place, rule in enumerate(family, start=1)
    ]
    return dict(zip(map(id, family), adjust_family(pairs, rng), strict=True))


def _typical_step(gaps: Floats) -> float:
    """Size of the differences of credit that occur: Σd²/Σ|d|, 1/4 for `pool` against one call."""
    size = float(np.abs(gaps).sum())
    return float((gaps**2).sum()) / size if size else 1.0


def credit_totals(grid: OrderGrid, rules: Sequence[Rule]) -> Floats:
    """For each item the credit of every rule and, last, its number of comparisons."""
    credits = [rule.decisions.credit(grid.truth) for rule in rules]
    return grid.sum_by_item([*credits, np.ones(grid.size)])
