"""Do the intervals of remedies cover, and are null remedies left alone?

Limits are in closed form (tests/metrics/remedies/known_judges.py). Null remedies: each comparison
is decided by `pool` or by `agree`, at random (these are mirror images around one call, so that the
mixture has the expected credit of one call), or the decisions of `pool` by a judge without signal
are relabelled at random with the same decided share.
`python -m tests.soak.test_coverage_remedies` prints the tables of docs/coverage.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from metrics.remedies.decision_rules import Decisions
from metrics.remedies.order_grid import OrderGrid
from metrics.remedies.remedy_study import build_remedy_study
from metrics.remedies.rule_sets import Rule, jury_rules, rules_of_rater
from metrics.remedies.rule_table import estimate_rules
from tests.metrics.remedies.known_judges import (
    GradedJudge,
    HardJudge,
    credit,
    expected_credit,
    graded_both,
    graded_calibrated,
    graded_single,
    simulate,
)
from tests.soak.coverage_studies import HIGH, SEEDS, Tally, shown, within

ITEMS = (20, 64)
HARD = {
    "plain": HardJudge(0.3, 0.8, 0.1),
    "no bias": HardJudge(0.0, 0.8, 0.1),
    "strong bias": HardJudge(0.6, 0.8, 0.1),
    "many ties": HardJudge(0.3, 0.75, 0.4),
    "item effects": HardJudge(0.3, 0.7, 0.15, spread=0.25),
}
GRADED = {"graded": GradedJudge(0.8, 0.9, 1.2), "graded, weak": GradedJudge(0.3, 0.6, 1.2)}
SECOND = HardJudge(0.1, 0.7, 0.05)
NO_SIGNAL = {
    "first slot .5, no ties": (HardJudge(0.5, 0.5),),
    "first slot .3, ties .2": (HardJudge(0.3, 0.5, 0.2),),
    "graded, position only": (GradedJudge(0.0, 0.8),),
    "three judges": (HardJudge(0.5, 0.5, 0.1), HardJudge(0.2, 0.5, 0.2), HardJudge(0.0, 0.5, 0.1)),
}
WIDE = {("many ties", 20, "agree")}
"""Lines that cover more than 97 %: mostly undecided, so that credits vary less than the smallest
design effect allows."""
MAX_NULL_BETTER = 0.06
MIN_TOLD_NO = 0.94


def hard_limit(judges: Sequence[HardJudge], rule) -> float:
    """Mean of the closed form over easy and hard items, drawn for each judge independently."""
    if len(judges) == 1:
        return float(np.mean([expected_credit([kind], rule) for kind in judges[0].kinds]))
    pairs = [(one, two) for one in judges[0].kinds for two in judges[1].kinds]
    return float(np.mean([expected_credit(pair, rule) for pair in pairs]))


RULES = {
    "single": lambda v: (credit(v[0][0]) + credit(v[0][1])) / 2,
    "pool": lambda v: credit(sum(v[0])),
    "agree": lambda v: credit(v[0][0] if v[0][0] == v[0][1] else 0),
    "jury-both": lambda v: credit(sum(map(sum, v))),
}


def limits(name: str) -> dict[str, float]:
    """Expected agreement of each rule in a setting."""
    if name in GRADED:
        judge = GRADED[name]
        return {
            "single": graded_single(judge),
            "graded": graded_both(judge),
            "calibrated": graded_calibrated(judge),
        }
    judges = (HARD[name], SECOND)
    return {
        rule: hard_limit(judges if rule.startswith("jury") else judges[:1], form)
        for rule, form in RULES.items()
    }


def coverage(name: str, items: int, seeds: int) -> dict[str, float]:
    """Share of intervals that cover, by rule: agreement, and Δ (the difference to one call)."""
    truth = limits(name)
    tallies = {key: Tally() for rule in truth for key in (rule, f"Δ {rule}")}
    judges = (GRADED[name],) if name in GRADED else (HARD[name], SECOND)
    for seed in range(seeds):
        rng = np.random.default_rng([items, seed])
        grid = build_remedy_study(simulate(judges, items, rng, pairs=3)).grid
        rules = rules_of_rater(grid, 0)
        rules += jury_rules(grid, [0, 1]) if len(judges) > 1 else []
        wanted = [rule for rule in rules if rule.id in truth]
        for line in estimate_rules(grid, wanted, rng):
            tallies[line.rule.id].add(line.agreement, truth[line.rule.id])
            if line.difference is not None:
                gap = truth[line.rule.id] - truth["single"]
                tallies[f"Δ {line.rule.id}"].add(line.difference, gap)
    return {key: tally.share for key, tally in tallies.items() if tally.seeds}


def null_rule(grid: OrderGrid, rng: np.random.Generator) -> list[Rule]:
    """One call, and a mixture of `pool` and `agree` chosen by a coin for each comparison."""
    rules = {rule.id: rule for rule in rules_of_rater(grid, 0)}
    heads = rng.random(grid.size) < 0.5
    pool, agree = rules["pool"].decisions, rules["agree"].decisions
    mixed = Decisions(
        np.where(heads, pool.first, agree.first), np.where(heads, pool.second, agree.second)
    )
    return [rules["single"], replace(rules["pool"], id="null", decisions=mixed)]


def relabelled_rule(grid: OrderGrid, rng: np.random.Generator) -> list[Rule]:
    """One call, and `pool` with a random answer wherever it decides."""
    rules = {rule.id: rule for rule in rules_of_rater(grid, 0)}
    decided = rules["pool"].decisions.probability_decided
    first = decided * (rng.random(grid.size) < 0.5)
    labelled = Decisions(first, decided - first)
    return [rules["single"], replace(rules["pool"], id="null", decisions=labelled)]


NULLS = {
    "pool or agree by a coin, plain": (HARD["plain"], null_rule),
    "pool or agree by a coin, many ties": (HARD["many ties"], null_rule),
    "relabelled, no signal": (HardJudge(0.3, 0.5, 0.2), relabelled_rule),
}


def called_better(name: str, items: int, seeds: int) -> float:
    """Share of null remedies whose adjusted interval lies above zero."""
    judge, make = NULLS[name]
    better = 0
    for seed in range(seeds):
        rng = np.random.default_rng([items, seed, 5])
        grid = build_remedy_study(simulate((judge,), items, rng, pairs=3)).grid
        line = estimate_rules(grid, make(grid, rng), rng)[1]
        better += line.adjusted.low is not None and line.adjusted.low > 0
    return better / seeds


def told_no(name: str, items: int, seeds: int) -> float:
    """Share of judges without signal for which no remedy is recommended."""
    refused = 0
    for seed in range(seeds):
        rng = np.random.default_rng([items, seed, 6])
        study = build_remedy_study(simulate(NO_SIGNAL[name], items, rng, pairs=3))
        refused += study.advice(0).chosen is None
    return refused / seeds


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("name", [*HARD, *GRADED])
def test_intervals_of_remedies_cover(name, items, capsys):
    found = coverage(name, items, SEEDS)
    with capsys.disabled():
        print(f"\n{_row(name, items, found)}", flush=True)
    wrong = {key: share for key, share in found.items() if not within(share, SEEDS)}
    assert {key: share for key, share in wrong.items() if (name, items, key) not in WIDE} == {}
    assert all(share > HIGH for share in wrong.values())


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("name", NULLS)
def test_null_remedies_are_rarely_called_better(name, items):
    assert called_better(name, items, SEEDS) <= MAX_NULL_BETTER


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("name", NO_SIGNAL)
def test_judges_without_signal_are_told_that_no_remedy_helps(name, items):
    assert told_no(name, items, SEEDS) >= MIN_TOLD_NO


COLUMNS = ("single", "pool", "agree", "jury-both", "graded", "calibrated")


def _row(name: str, items: int, found: dict[str, float]) -> str:
    keys = [*COLUMNS, *(f"Δ {rule}" for rule in COLUMNS[1:])]
    cells = [shown(found[key]) if key in found else "" for key in keys]
    return f"| {name} | {items} | {' | '.join(cells)} |"


def _print_tables() -> None:
    heads = [*COLUMNS, *(f"Δ {rule}" for rule in COLUMNS[1:])]
    print(f"| setting | items | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 2)}")
    for name in (*HARD, *GRADED):
        for items in ITEMS:
            print(_row(name, items, coverage(name, items, SEEDS)), flush=True)
    print("\n| null remedy | items | called better |\n|---|---|---|")
    for name in NULLS:
        for items in ITEMS:
            print(f"| {name} | {items} | {called_better(name, items, SEEDS):.3f} |", flush=True)
    print(
        "\n| judge without signal | items | told that no remedy was shown to help |\n|---|---|---|"
    )
    for name in NO_SIGNAL:
        for items in ITEMS:
            print(f"| {name} | {items} | {told_no(name, items, SEEDS):.3f} |", flush=True)


if __name__ == "__main__":
    _print_tables()
