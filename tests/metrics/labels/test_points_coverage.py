"""Coverage and error rates of measures on single answers, on simulated judges of known parameters.

`python -m tests.metrics.labels.test_points_coverage` prints the lines of docs/coverage.md.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from metrics.labels.option_order import option_order_effects
from metrics.labels.point_ranking import model_rankings_by_rater
from metrics.labels.point_rules import compare_single_answer_rules_with_one_call
from metrics.labels.scores.intransitive_triples import intransitive_triples
from studies.frames.arrangement import Arrangement, rotations
from studies.frames.frame import SEP, frame_from_rows
from tests.soak.coverage_studies import LOW, SEEDS, Tally, shown, tolerance

pytestmark = pytest.mark.long

SCALE = ("1", "2", "3", "4", "5")
ORDERS = [SEP.join(Arrangement(one).labels) for one in rotations(SCALE)]
FIRST_OF = np.asarray([[float(name) for name in one] for one in rotations(SCALE)])
WEIGHTS = np.asarray([0.5, 0.2, 0.1, 0.1, 0.1])
ITEMS = (20, 64)
BIASES = (0.0, 0.2, 0.6)


def frame_of(rows: list[tuple], labels: dict[str, dict[str, float]]) -> pd.DataFrame:
    """Frame of (item, model, arrangement, score)."""
    made = [
        (k, item, "j", "p", who, offered, 0, False, len(ORDERS), "ok", None, None, f"[{score}]",
         None, k)
        for k, (item, who, offered, score) in enumerate(rows)
    ]  # fmt: skip
    return frame_from_rows(made, {item: {"labels": one} for item, one in labels.items()}, study="s")


def study(items: int, bias: float, seed: int, gap: float = 0.0) -> pd.DataFrame:
    """Two models judged in five orders: with probability `bias` an option by its place, else the
    label plus a step of noise. The second model's labels are higher by `gap` on average."""
    rng = np.random.default_rng([items, round(100 * bias), seed])
    rows: list[tuple] = []
    labels: dict[str, dict[str, float]] = {}
    for k in range(items):
        hard = rng.integers(0, 2)
        for who in "mn":
            label = float(2 + hard + (rng.random() < (0.5 + gap if who == "n" else 0.5)))
            labels.setdefault(f"q{k}", {})[who] = label
            for order, offered in enumerate(ORDERS):
                noise = float(rng.choice([-1, 0, 0, 1]))
                score = label + noise
                if rng.random() < bias:
                    score = FIRST_OF[order][rng.choice(5, p=WEIGHTS)]
                rows.append((f"q{k}", who, offered, min(5.0, max(1.0, score))))
    return frame_of(rows, labels)


def place_coverage(items: int, bias: float, seeds: int) -> Tally:
    """Coverage of the shares of all places: bias · weight + (1 − bias) / 5."""
    tally = Tally()
    for seed in range(seeds):
        found = option_order_effects(study(items, bias, seed))["j", "p"]
        for place, one in enumerate(found.places):
            tally.add(one.share, bias * WEIGHTS[place] + (1 - bias) / 5)
    return tally


def lead_coverage(items: int, seeds: int, gap: float) -> tuple[Tally, float]:
    """Coverage of the lead of the second model (its labels are higher by `gap`), and the share of
    studies that rank the two models apart."""
    tally, apart = Tally(), 0
    for seed in range(seeds):
        first, second = model_rankings_by_rater(study(items, 0.0, seed, gap))["j", "p"].models
        assert second.lead is not None
        sign = 1.0 if first.name == "n" else -1.0
        tally.add(second.lead, sign * gap)
        apart += first.ranks != second.ranks
    return tally, apart / seeds


def null_advice(items: int, seeds: int) -> float:
    """Share of studies of a judge without an order effect or noise in which a remedy is
    recommended."""
    advised = 0
    for seed in range(seeds):
        rng = np.random.default_rng([items, seed])
        rows, labels = [], {}
        for k in range(items):
            labels[f"q{k}"] = {"m": float(rng.integers(2, 5))}
            score = min(5.0, max(1.0, labels[f"q{k}"]["m"] + float(rng.choice([-1, 0, 1]))))
            rows += [(f"q{k}", "m", offered, score) for offered in ORDERS]
        advised += (
            compare_single_answer_rules_with_one_call(frame_of(rows, labels))["j", "p"].advice
            is not None
        )
    return advised / seeds


def null_triples(items: int, seeds: int) -> float:
    """Share of random judges whose comparisons are called more orderly than chance (p ≤ .05)."""
    pairs = list(itertools.combinations("abc", 2))
    called = 0
    for seed in range(seeds):
        rng = np.random.default_rng([items, seed])
        rows = [(f"q{k}", *pair, int(rng.choice([-1, 1]))) for k in range(items) for pair in pairs]
        table = pd.DataFrame(rows, columns=["item", "one", "other", "balance"])
        found = intransitive_triples(table)
        called += found is not None and found.p <= 0.05
    return called / seeds


FEWER = max(SEEDS // 5, 1)
"""Studies per line: five estimates each in the first table, slower permutations in the last."""


@pytest.mark.parametrize(("items", "bias"), list(itertools.product(ITEMS, BIASES)))
def test_shares_of_places_cover(items: int, bias: float) -> None:
    tally = place_coverage(items, bias, FEWER)
    assert tally.share >= LOW - tolerance(FEWER)


@pytest.mark.parametrize(("items", "gap"), list(itertools.product(ITEMS, (0.0, 0.3))))
def test_leads_cover_and_equal_models_are_rarely_ranked_apart(items: int, gap: float) -> None:
    tally, apart = lead_coverage(items, FEWER, gap)
    assert tally.share >= LOW - tolerance(FEWER)
    assert gap or apart <= 0.06 + tolerance(FEWER)


@pytest.mark.parametrize("items", ITEMS)
def test_a_judge_without_an_order_effect_gets_no_remedy(items: int) -> None:
    assert null_advice(items, FEWER) <= 0.06 + tolerance(FEWER)


@pytest.mark.parametrize("items", ITEMS)
def test_random_comparisons_are_not_called_orderly(items: int) -> None:
    assert null_triples(items, FEWER) <= 0.06 + tolerance(FEWER)


if __name__ == "__main__":
    print(f"{FEWER:,} studies a line")
    print("| items | bias | share of a place covers |\n|---|---|---|")
    for items, bias in itertools.product(ITEMS, BIASES):
        print(f"| {items} | {bias:g} | {shown(place_coverage(items, bias, FEWER).share)} |")
    print("\n| items | gap | lead covers | ranked apart |\n|---|---|---|---|")
    for items, gap in itertools.product(ITEMS, (0.0, 0.3)):
        tally, apart = lead_coverage(items, FEWER, gap)
        print(f"| {items} | {gap:g} | {shown(tally.share)} | {apart:.3f} |")
    print("\n| items | null remedy recommended | random judge called orderly |\n|---|---|---|")
    for items in ITEMS:
        print(f"| {items} | {null_advice(items, FEWER):.3f} | {null_triples(items, FEWER):.3f} |")
