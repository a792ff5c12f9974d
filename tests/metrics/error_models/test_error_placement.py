"""Placement of errors among N options, against published counts and laws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.error_models.error_placement import (
    FEW_WRONG_NOTE,
    error_placement,
    error_placement_section,
)
from metrics.estimation.intervals import student_t_quantile
from studies.frames.frame import SEP
from tests.metrics.frames import build
from tests.soak.coverage_studies import Tally, tolerance

OPTIONS = 4
NAMES = ("right", "x", "y", "z")


def choices(picks: dict[int, list[int]]) -> pd.DataFrame:
    """Choices among four options: position of the right answer -> slots picked, one item each;
    the items are the same for each position."""
    rows = []
    for truth, slots in picks.items():
        order = [*NAMES[1:]]
        order.insert(truth, NAMES[0])
        rows += [
            {
                "item": f"q{k}",
                "shown": order,
                "pick": pick,
                "known_answer": truth,
                "orders": OPTIONS,
            }
            for k, pick in enumerate(slots)
        ]
    return build(rows)


def counted(wrong: list[list[int]], items: int) -> pd.DataFrame:
    """Choices with these wrong picks, as [position of the right answer][position picked]."""
    table = {}
    for truth, counts in enumerate(wrong):
        slots = [k for k, count in enumerate(counts) for _ in range(count)]
        table[truth] = slots + [truth] * (items - len(slots))
    return choices(table)


def test_published_counts_of_a_judge_that_prefers_the_first_option() -> None:
    """themis-judge-reliability, Qwen2.5-7B, 150 items × 4 positions: picks 339/127/81/53 and
    accuracies .8533/.5333/.3933/.3000 give 211/47/22/8 of 288 wrong picks."""
    wrong = [[0, 8, 8, 6], [60, 0, 9, 1], [70, 20, 0, 1], [81, 19, 5, 0]]  # fits the margins
    frame = counted(wrong, 150)
    found = error_placement(frame, OPTIONS)
    assert found.picks == [339, 127, 81, 53]
    accuracy = [round(one.value or 0, 4) for one in found.accuracy]
    assert accuracy == [0.8533, 0.5333, 0.3933, 0.3]
    assert [one.value for one in found.wrong] == pytest.approx(
        [211 / 288, 47 / 288, 22 / 288, 8 / 288]
    )
    even = (288 - 22) / 3 / 288  # 22 of the wrong picks have the right answer in position A
    assert found.excess[0].value == pytest.approx(211 / 288 - even)
    assert found.excess[0].low is not None and found.excess[0].low > 0
    share = [(a.value or 0) / 4 + (e.value or 0) * 288 / 600 for a, e in zip(
        found.accuracy, found.wrong, strict=True)]  # fmt: skip
    assert share == pytest.approx([n / 600 for n in found.picks])


def test_published_counts_of_a_judge_without_preference() -> None:
    """The easiest row of the same table: picks 151/152/149/148, nearly all right."""
    frame = counted([[0, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0], [0, 2, 1, 0]], 150)
    found = error_placement(frame, OPTIONS)
    assert found.picks == [151, 152, 149, 148]
    assert [one.value for one in found.wrong] == pytest.approx([2 / 7, 3 / 7, 1 / 7, 1 / 7])
    assert all(one.low is not None and one.low < 0 < (one.high or 0) for one in found.excess)
    few = error_placement(counted([[0, 1, 0, 0], [1, 0, 0, 0], [0] * 4, [0] * 4], 150), OPTIONS)
    assert [one.note for one in few.wrong] == [FEW_WRONG_NOTE] * 4


def test_the_same_answer_is_compared_in_neighbouring_positions() -> None:
    """By hand: the right answer is picked in A by both items, in B by one, in C and D by none; the
    position B of x, which is left of the right answer in B, C and D, is never compared with A."""
    frame = choices({0: [0, 0], 1: [1, 0], 2: [0, 0], 3: [0, 0]})
    found = error_placement(frame, OPTIONS)
    # Answers shown in A and in B: the right one (1, then 1/2) and x (A: 5 of 6, B: 0 of 2).
    first = found.steps[0]
    rates_a, rates_b = np.array([[1, 2 / 3], [1, 1]]), np.array([[1, 0], [0, 0]])
    assert first.value == pytest.approx((rates_a - rates_b).mean())
    spread = (rates_a - rates_b).mean(axis=1)
    half = student_t_quantile(2) * np.std(spread, ddof=1) / np.sqrt(2)
    assert first.low == pytest.approx(max(spread.mean() - half, -1))
    assert found.steps[2].value == pytest.approx(0)


def test_a_tie_is_a_pick_in_no_position() -> None:
    frame = build(
        [
            {"item": f"q{k}", "shown": NAMES, "pick": "tie" if k else 0, "known_answer": 0}
            for k in range(10)
        ]
    )
    found = error_placement(frame, OPTIONS)
    assert found.picks == [1, 0, 0, 0] and found.accuracy[0].value == pytest.approx(0.1)
    assert found.wrong[0].note == FEW_WRONG_NOTE


def test_pairs_have_no_section() -> None:
    rows = [{"item": "q", "shown": ("a", "b"), "pick": 0, "known_answer": 1}]
    assert error_placement_section(build(rows)) == {}


WEIGHTS = np.array([0.5, 0.2, 0.2, 0.1])


def drawn(rng: np.random.Generator, items: int) -> pd.DataFrame:
    """Choices in all rotations of a judge that knows the right answer of an item with a
    probability that varies by item, and else picks a wrong position with the weights."""
    knows = rng.beta(2, 2, items)
    frame = counted([[0] * OPTIONS] * OPTIONS, items)
    turned = [SEP.join([*NAMES[-k:], *NAMES[:-k]]) if k else SEP.join(NAMES) for k in range(4)]
    truth = frame["known_answer"].to_numpy()
    chance = WEIGHTS * (np.arange(OPTIONS) != truth[:, None])
    bounds = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    wrong = (rng.random((len(truth), 1)) > bounds).sum(axis=1)
    right = rng.random(len(truth)) < np.tile(knows, OPTIONS)
    shown = pd.Categorical.from_codes(truth, turned)
    comparison = pd.Categorical([SEP.join(sorted(NAMES))] * len(truth))
    pick = np.where(right, truth, wrong).astype(np.int8)
    return frame.assign(pick=pick, shown=shown, comparison=comparison)


def coverage(items: int, studies: int) -> dict[str, float]:
    """Coverage of E_1, its excess, and the step from the first to the second position. Half of the
    picks are wrong in the limit."""
    others = 1 - WEIGHTS
    first = (WEIGHTS[0] / others[1:]).mean() * 3 / 4
    second = (WEIGHTS[1] / others[[0, 2, 3]]).mean() * 3 / 4
    limits = {"wrong": first, "excess": first - 0.25, "steps": 0.5 * (first - second)}
    tallies = {name: Tally() for name in limits}
    for seed in range(studies):
        found = error_placement(drawn(np.random.default_rng([items, seed]), items), OPTIONS)
        for name, limit in limits.items():
            tallies[name].add(getattr(found, name)[0], limit)
    return {name: tally.share for name, tally in tallies.items()}


@pytest.mark.extra
@pytest.mark.parametrize("items", [20, 64])
def test_intervals_cover(items: int) -> None:
    assert min(coverage(items, 200).values()) > 0.93 - tolerance(200)


def test_errors_are_placed_for_each_judge_and_prompt() -> None:
    # p: four right choices; q: always the first position.
    parts = [choices({k: [k] for k in range(4)}), choices({k: [0] for k in range(4)})]
    parts[1]["prompt"] = parts[1]["prompt"].cat.rename_categories(["q"])
    frame = pd.concat(parts, ignore_index=True)
    frame["prompt"] = frame["prompt"].astype("category")
    section = error_placement_section(frame)["j"]
    picks = {prompt: {n: one.picks for n, one in of.items()} for prompt, of in section.items()}
    assert picks == {"p": {"4": [1, 1, 1, 1]}, "q": {"4": [4, 0, 0, 0]}}


if __name__ == "__main__":
    for count in (8, 20, 64):
        print(count, coverage(count, 1000))
