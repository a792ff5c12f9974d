"""Five levels, Reward, Visual Factuality, and the jury."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.estimation.score_scale import ScoreScale
from metrics.protocols import creation_levels as p
from metrics.win_rates.jury import UNDECIDED, decide_jury
from tests.metrics.frames import RECORDS, build, pair

LEVELS = ("much_better", "better", "tie", "worse", "much_worse", "fail")


def dual(item: str, first, second, margins=(1, 1), **more):
    rows = pair(item, first, second, x="base", y="model", **more)
    for row, margin in zip(rows, margins, strict=True):
        row["margin"] = margin
    return rows


def test_both_orders_are_pooled_and_failures_are_not_in_the_denominator():
    # Baseline first, then model first. q1: model much better, model better. q2: tie, fail.
    # q3: base better (model worse), base much better. Points 100+50+0−50−100 = 0 over 5.
    rows = [*dual("q1", 1, 0, (2, 1)), *dual("q2", "tie", None), *dual("q3", 0, 1, (1, 2))]
    frame = build(rows)
    counts = p.five_level_counts(frame, "base")["model"]
    assert tuple(counts[name] for name in LEVELS) == (1, 1, 1, 1, 1, 1)
    assert p.reward_and_win_rate_from_counts(counts) == (0, 40)
    assert p.reward_table(frame, "base")["model"].value == pytest.approx(0)
    assert p.creation_win_rates(frame, "base")["model"].value == pytest.approx(0.4)
    assert p.creation_win_rates(frame, "base")["model"].n == 5
    assert "base" not in p.reward_table(frame, "base")


def test_without_a_baseline_rewards_mirror():
    got = p.reward_table(build(dual("q1", 1, 0, (2, 1))))
    assert got["model"].value == pytest.approx(75)
    assert got["base"].value == pytest.approx(-75)


def test_nothing_read_has_no_reward():
    assert p.reward_and_win_rate_from_counts(dict.fromkeys(LEVELS, 0)) == (None, None)
    assert p.reward_table(build(dual("q", None, None)), "base")["model"].value is None
    assert p.reward_table(build([])) == {}
    assert p.visual_factuality(build([])) == {}
    assert p.single_answer_ratings(build([])) == {}


def scored(item: str, shown, scores, **more):
    return {"item": item, "shown": shown, "pick": None, "status": "ok", "scores": scores, **more}


def test_visual_factuality_is_a_mean_of_item_means():
    # m on q1: 8 and 6 → 7; on q2 only one order read: 9. Mean 8. base vs m: q1 5, 5; q2 7: 6.
    rows = [
        scored("q1", ("base", "m"), [5, 8]),
        scored("q1", ("m", "base"), [6, 5]),
        scored("q2", ("base", "m"), [7, 9]),
        {"item": "q2", "shown": ("m", "base"), "pick": None},
        scored("q1", ("base", "k"), [9, 3]),
    ]
    got = {name: one.value for name, one in p.visual_factuality(build(rows), "base").items()}
    assert got == pytest.approx({"m": 8, "k": 3, "base (vs m)": 6, "base (vs k)": 9})
    assert p.visual_factuality(build(rows))["base"].value == pytest.approx((19 / 3 + 7) / 2)
    among_three = {"item": "q3", "shown": ("base", "m", "k"), "pick": 2}  # scores nothing
    beside = p.visual_factuality(build([*rows, among_three]), "base")
    assert {name: one.value for name, one in beside.items()} == pytest.approx(got)


def test_single_ratings_are_means_over_items():
    rows = [
        {"item": q, "shown": ["m"], "pick": None, "status": "ok", "scores": [s], "orders": 1}
        for q, s in (("q1", 8), ("q1", 6), ("q2", 9))
    ]
    assert p.single_answer_ratings(build(rows))["m"].value == pytest.approx(8)


def rated(item, score, prompt="p", judge="j", labels=None):
    row = {"item": item, "shown": ["m"], "pick": None, "status": "ok", "scores": [score],
           "orders": 1, "prompt": prompt, "judge": judge}  # fmt: skip
    return row | ({"labels": labels} if labels else {})


def test_several_scores_of_a_scorer_are_not_averaged_together():
    # A log with two scores of one scorer: .1604 and .625, not .3927.
    rows = [rated(f"q{k}", score, f"scorer/{name}") for k in range(4)
            for name, score in (("harm", 0.1604), ("refusals", 0.625))]  # fmt: skip
    got = p.single_answer_ratings(build(rows))
    assert {name: one.value for name, one in got.items()} == pytest.approx(
        {"m (scorer/harm)": 0.1604, "m (scorer/refusals)": 0.625}
    )


def test_a_rating_has_the_unit_and_bounds_of_its_scale():
    five = [rated(f"q{k}", score, labels=list("12345")) for k, score in enumerate((5, 5, 5, 4))]
    got = p.single_answer_ratings(build(five))["m"]
    assert (got.unit, got.high) == ("score, 1 to 5", 5)
    unknown = [rated(f"q{k}", score) for k, score in enumerate((0.9, 0.2, 1.0, 0.5))]
    assert p.single_answer_ratings(build(unknown))["m"].unit == "score"
    ten = [rated(f"q{k}", score, "mt-bench-single") for k, score in enumerate((9, 10, 10))]
    got = p.single_answer_ratings(build(ten))["m"]
    assert (got.unit, got.high) == ("score, 1 to 10", 10)


def test_ratings_of_several_judges_say_that_they_are_pooled():
    rows = [rated(f"q{k}", 4, judge=judge) for k in range(3) for judge in ("a", "b")]
    assert "2 judges" in p.single_answer_ratings(build(rows))["m"].note
    assert "judges" not in p.single_answer_ratings(build(rows[::2]))["m"].note


def test_creation_mmbench_table_5_follows_from_its_counts():
    path = RECORDS.parent / "reference" / "creation_mmbench_table5.csv"
    if not path.exists():
        pytest.skip(f"PUBLISHED TABLES ABSENT: no {path}; set EVENHAND_RECORDS beside them")
    table = pd.read_csv(path).dropna(subset=["much_better"])
    assert len(table) == 19
    for row in table.to_dict("records"):
        reward, rate = p.reward_and_win_rate_from_counts({name: int(row[name]) for name in LEVELS})
        assert reward == pytest.approx(row["reward"], abs=0.01)
        assert rate == pytest.approx(row["win_rate"], abs=0.01)


def vote(item: str, **said: str):
    """Judges by what they say in both orders: x, y, tie or nothing."""
    picks = {"x": (0, 1), "y": (1, 0), "tie": ("tie", "tie"), "none": (None, None), "split": (0, 0)}
    return [row for judge, word in said.items() for row in pair(item, *picks[word], judge=judge)]


def test_a_jury_needs_a_strict_majority_of_the_full_panel():
    rows = [
        *vote("q1", a="x", b="x", c="y"),  # 2 of 3: x
        *vote("q2", a="x", b="y", c="tie"),  # undecided
        *vote("q3", a="x", b="none", c="none"),  # 1 of 3, undecided: silence counts in the panel
        *vote("q4", a="split", b="tie", c="y"),  # a flip merges to a tie: 2 of 3 ties
    ]
    got = decide_jury(build(rows))
    assert got.panel == ("a", "b", "c")
    assert got.coverage.value == 0.5
    assert got.cases.set_index("item")["pick"].to_dict() == {
        "q1": 0, "q2": UNDECIDED, "q3": UNDECIDED, "q4": -1
    }  # fmt: skip
    # Decided: x wins q1, ties q4: 1.5 of 2. Undecided both lost: 1.5/4; both won: 3.5/4.
    assert got.win_rate["x"].value == 0.75
    assert (got.bounds["x"].low, got.bounds["x"].high) == (1.5 / 4, 3.5 / 4)


def test_an_empty_jury_decides_nothing():
    got = decide_jury(build([]))
    assert got.coverage.value is None and got.win_rate == {}
    silent = decide_jury(build(vote("q", a="none", b="none")))
    assert silent.coverage.value == 0
    assert silent.win_rate["x"].value is None


def test_a_mean_rating_counts_every_item_of_a_question_once():
    rows = [
        {"item": f"t{k}", "shown": "x", "pick": None, "status": "ok", "scores": (score,)}
        for k, score in enumerate((10, 10, 10, 1, 1, 1))
    ]
    frame = build(rows).assign(question=pd.Categorical(["q", "q", "q", "r", "s", "t"]))
    got = p.single_answer_ratings(frame)["x"]
    assert (got.value, got.n, got.items) == (5.5, 6, 4)


def test_a_single_reply_scores_both_answers() -> None:
    one = build([scored("q1", ("base", "m"), [5, 8])])
    got = {name: estimate.value for name, estimate in p.visual_factuality(one).items()}
    assert got == {"base": 5, "m": 8}
    assert p.visual_factuality(one.drop(columns="score_1")) == {}


def test_the_mean_score_over_items_weighs_each_item_once() -> None:
    frame = build([*dual("q1", 1, 0), *dual("q2", 1, 0)])
    score, scale = np.array([1.0, 3.0, 6.0, np.nan]), ScoreScale(0.0, 10.0)
    everything = np.ones(4, bool)
    assert p._mean_score_over_items(frame, score, everything, scale).value == (2 + 6) / 2
    only = p._mean_score_over_items(frame, score, np.array([True, False, False, True]), scale)
    assert (only.value, only.items) == (1.0, 1)
    for selected in (np.zeros(4, bool), np.array([False, False, False, True])):
        none = p._mean_score_over_items(frame, score, selected, scale)
        assert (none.value, none.unit, none.note) == (None, scale.unit, "no scores")
