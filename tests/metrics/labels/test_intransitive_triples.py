"""Circular triples: counted by hand, expected by the closed form of the permutation, ties apart."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from metrics.labels.scores import intransitive_triples as triples_module
from metrics.labels.scores.intransitive_triples import intransitive_triples, triples_as_json
from metrics.labels.scores.score_contradictions import (
    score_contradictions,
    score_contradictions_section,
)
from studies.frames.frame import SEP
from tests.metrics.frames import build, pair
from tests.metrics.labels.test_point_measures import UP, frame_of

CIRCLE = {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): -1}
ORDER = {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1}


def verdicts_of(items: list[dict[tuple[str, str], int]]) -> pd.DataFrame:
    rows = [
        (f"q{k}", one, other, balance)
        for k, item in enumerate(items)
        for (one, other), balance in item.items()
    ]
    return pd.DataFrame(rows, columns=["item", "one", "other", "balance"])


def test_circles_are_counted_and_ties_left_out() -> None:
    reverse = {pair: -balance for pair, balance in CIRCLE.items()}
    tied = CIRCLE | {("a", "c"): 0}
    found = intransitive_triples(verdicts_of([CIRCLE, reverse, ORDER, ORDER, tied]))
    assert found is not None
    assert (found.share.value, found.share.n, found.ties) == (0.5, 4, 1)
    without = dict.fromkeys(itertools.combinations("ab", 2), 1)
    assert intransitive_triples(verdicts_of([without])) is None
    assert intransitive_triples(verdicts_of([tied])) is None


def test_four_answers_have_four_triples() -> None:
    # d loses all; a, b and c form a circle.
    item = CIRCLE | {(name, "d"): 1 for name in "abc"}
    found = intransitive_triples(verdicts_of([item, item]))
    assert found is not None
    assert (found.share.value, found.share.n) == (0.25, 8)


def test_expected_share_follows_from_the_win_shares_of_the_pairs() -> None:
    # Shares of wins: a over b 3/4, b over c 1/2, a over c 3/4, all independent of the item.
    signs = {("a", "b"): (1, 1, 1, -1), ("b", "c"): (1, -1, 1, -1), ("a", "c"): (1, 1, -1, 1)}
    items = [{pair: signs[pair][k % 4] for pair in signs} for k in range(400)]
    found = intransitive_triples(verdicts_of(items))
    assert found is not None
    closed = 0.75 * 0.5 * 0.25 + 0.25 * 0.5 * 0.75
    assert found.expected == pytest.approx(closed, abs=0.003)
    assert found.expected_low < closed < found.expected_high
    # Circles by hand: the third item of four (a>b, b>c, c>a), and the fourth (b>a, c>b, a>c).
    assert found.share.value == pytest.approx(0.5)
    assert found.p == pytest.approx(1.0, abs=0.01), "more circles than by chance"


def test_a_judge_with_one_order_per_item_has_fewer_circles_than_by_chance() -> None:
    rng = np.random.default_rng(3)
    items = []
    for _ in range(60):
        strength = dict(zip("abcd", rng.permutation(4), strict=True))
        items.append(
            {
                (one, other): 1 if strength[one] > strength[other] else -1
                for one, other in itertools.combinations("abcd", 2)
            }
        )
    found = intransitive_triples(verdicts_of(items))
    assert found is not None
    assert found.share.value == 0 and found.share.n == 240
    assert found.expected == pytest.approx(0.25, abs=0.03) and found.p < 0.01


@pytest.mark.extra
def test_random_verdicts_are_rarely_called_more_orderly_than_chance() -> None:
    rng = np.random.default_rng(11)
    pairs = list(itertools.combinations("abc", 2))
    below = 0
    for _ in range(25):
        items = [{pair: int(rng.choice([-1, 1])) for pair in pairs} for _ in range(30)]
        found = intransitive_triples(verdicts_of(items))
        assert found is not None
        below += found.p <= 0.05
    assert below <= 5  # 1.25 expected; 6 or more has a probability of 0.1 %


def test_triples_stand_beside_the_contradictions_of_a_judge_with_both() -> None:
    scores = [("q", who, UP, [float(k)], False) for k, who in enumerate("abc", start=1)]
    picks = [("q", SEP.join(pair), None, 0 if won > 0 else 1, False)
             for pair, won in CIRCLE.items()]  # fmt: skip
    found = score_contradictions(frame_of([*scores, *picks]))["j"]
    assert found.triples is not None and found.triples.share.value == 1.0
    # a > b and b > c contradict the rising scores, c > a does not.
    assert found.share.value == pytest.approx(2 / 3)
    section = score_contradictions_section(frame_of([*scores, *picks]))["j"]
    assert section["triples"]["share"].value == 1.0


def test_verdicts_on_one_item_cannot_be_exchanged() -> None:
    # Every permutation is the observed one: 1,001 of 1,001.
    found = intransitive_triples(verdicts_of([CIRCLE]))
    assert found is not None
    assert (found.p, found.expected, found.expected_low, found.expected_high) == (1, 1, 1, 1)
    assert triples_as_json(found) == {
        "share": found.share, "expected": 1, "expected_range": [1, 1], "p": 1, "ties": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("most", "smallest"), [(20_000_000, 1 / 1001), (1, 1 / 21)])
def test_the_smallest_p_value_is_that_of_no_permutation(
    most: int, smallest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items in one of two opposite orders: a quarter of permuted triples is circular."""
    monkeypatch.setattr(triples_module, "MAX_PERMUTED", most)
    reverse = {pair: -balance for pair, balance in ORDER.items()}
    found = intransitive_triples(verdicts_of([ORDER, reverse] * 20))
    assert found is not None
    assert (found.share.value, found.p) == (0, pytest.approx(smallest))
    assert found.expected == pytest.approx(0.25, abs=0.05)
    assert 0 < found.expected_low < found.expected < found.expected_high


def test_margins_of_wins_do_not_count_only_their_sign() -> None:
    strong = {pair: 3 * balance for pair, balance in CIRCLE.items()}
    found = intransitive_triples(verdicts_of([strong, ORDER]))
    assert found is not None and found.share.value == 0.5


def test_intervals_resample_the_questions_that_items_share() -> None:
    verdicts = verdicts_of([CIRCLE, CIRCLE, ORDER, ORDER])
    found = intransitive_triples(verdicts.assign(unit=np.repeat([0, 1], 6)))
    assert found is not None and (found.share.n, found.share.items) == (4, 2)
    rows = [row for k in range(4) for row in pair(f"t{k}", 0, 1)]
    for k in range(4):
        for name, score in (("x", 7), ("y", 5)):
            one = {"item": f"t{k}", "shown": (name,), "pick": None, "status": "ok", "prompt": "s"}
            rows.append({**one, "scores": (score,)})
    frame = build(rows)
    question = [f"q{int(name[1]) // 2}" for name in frame["item"].astype(str)]
    share = score_contradictions(frame.assign(question=pd.Categorical(question)))["j"].share
    assert (share.value, share.n, share.items) == (0, 4, 2)
