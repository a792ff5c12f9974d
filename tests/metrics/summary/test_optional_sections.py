"""Protocol sections of the summary, also on records that hold little."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from metrics.__main__ import format_estimate, render_tables
from metrics.estimation.contrasts import paired_contrasts
from metrics.protocols.benchmark_correlations import (
    add_study_as_benchmark,
    correlate_all_benchmarks,
)
from metrics.protocols.creation_alignment_table import human_alignment_table
from metrics.protocols.creation_table import creation_table
from metrics.protocols.grade_table import grade_cells, reply_reading_differences
from metrics.protocols.visit_leaderboard import cost_per_head_to_head, visit_leaderboard_rows
from metrics.summary import summary
from metrics.summary.summary import CONTRASTED_MEASURES, summarise_frame
from metrics.win_rates.prediction_powered import corrected_win_rates
from metrics.win_rates.win_rates import win_rate
from studies.domain import Estimate
from tests.metrics.battle_frames import duels
from tests.metrics.frames import build, json_sections, pair, rotated
from tests.samples import sample


def rng():
    return np.random.default_rng(0)


def five(item: str, first, second, margins=(2, 1), **more):
    rows = pair(item, first, second, x="base", y="m", **more)
    for row, margin in zip(rows, margins, strict=True):
        row["margin"] = margin
    return rows


def vote(item: str, who: str, pick, margin=1, shown=("base", "m")):
    return {"item": item, "judge": f"human:{who}", "prompt": "vote", "shown": shown, "pick": pick,
            "margin": margin, "orders": 1}  # fmt: skip


def test_creation_alignment_and_correction_are_printed_where_the_records_allow_it():
    rows = [
        *five("q1", 1, 0, category="poems"), *five("q2", 0, 1, category="mails"),
        *five("q3", 1, 1, category="mails"),
        vote("q1", "ann", 1, 2), vote("q1", "bob", 1), vote("q2", "ann", "tie"),
    ]  # fmt: skip
    got = summarise_frame(build(rows), rng=rng())
    # poems: +2, +1 → 100, 50: 75.
    assert got["creation"]["poems"]["m"]["reward"]["value"] == pytest.approx(75)
    assert got["creation"]["mails"]["m"]["counts"]["much_worse"] == 1
    # mails: −100 and −50, then +100 and −50.
    assert got["reward"]["m"]["value"] == pytest.approx((150 - 150 + 50) / 6)
    # q1: J (2 + 1)/2 against 1.5; q2: J −1.5 against 0. MAE ¾.
    dual = got["agreement"]["alignment"]["j"]["dual"]["overall"]
    assert dual["mae"]["value"] == pytest.approx(0.75)
    assert "always tie" in got["agreement"]["alignment"]
    # People on m: q1 1, q2 ½.
    assert got["corrected"]["m"]["people"]["value"] == pytest.approx(0.75)
    assert got["corrected"]["m"]["weight"] == 0
    assert set(got["corrected"]["m"]) >= {"judge", "corrected", "bias", "worth"}


def test_the_grade_has_what_stands_beside_it():
    rows = [row for k in range(3) for row in rotated(f"q{k}", [1, 2, 0])]
    for row in rows:
        row["known_answer"], row["scores"] = row["shown"].index("o0"), [5, 1, 1]
    parts = json_sections(build(rows), "grade")["grade"]["j"]["choice"]
    assert list(parts)[:3] == ["grade", "entropy", "choice"]
    assert (parts["accuracy"]["value"], parts["pooled_entropy"]["value"]) == (1, pytest.approx(1))
    # The first slot has the top grade; o0 stands there in one rotation of three.
    assert parts["contradictions"]["value"] == pytest.approx(2 / 3)
    assert "unrelated_share" not in parts


def test_the_protocols_leaderboard_is_printed_under_its_rule():
    rows = [*pair("q1", 0, 1, y="@reference"), *pair("q2", 0, None, y="@reference")]
    got = summarise_frame(build(rows), rng=rng(), combine="strict", unreadable="tie")["protocol"]
    row = got["leaderboard"]["x"]
    assert (row["matches"], row["wins"], row["ties"]) == (2, 1, 1)
    assert (row["against_reference"]["value"], row["against_reference"]["n"]) == (1, 1)


def test_label_probabilities_have_rates_of_their_own():
    rows = pair("q1", 0, 1) + pair("q2", 0, 0)
    for row, p in zip(rows, (0.9, 0.2, 0.6, 0.7), strict=True):
        row["p"] = [p, 1 - p]
    got = json_sections(build(rows), "probability")["probability"]
    assert got["win_rate"]["x"]["value"] == pytest.approx((0.9 + 0.8 + 0.6 + 0.3) / 4, abs=1e-6)
    assert got["bradley_terry"]["x"]["value"] > 1000
    assert not json_sections(build(pair("q1", 0, 1)), "probability")


def test_a_gap_without_end_is_printed_as_a_limit():
    got = summarise_frame(duels([("A", "B", 9, 0)]), rng=rng(), quick=True)
    gap = got["gaps"]["A"]["B"]
    assert gap["value"] == gap["low"] and gap["high"] is None
    assert format_estimate(gap).startswith("≥ ")
    assert format_estimate({**gap, "low": None, "high": gap["value"]}).startswith("≤ ")
    assert any("≥" in line for line in render_tables(got))


# -- records that hold little --------------------------------------------------------------------


LITTLE = {
    "no data": [],
    "one contestant": [
        {"item": "q", "shown": ["m"], "pick": None, "status": "ok", "scores": [7], "orders": 1}
    ],
    "all ties": [*pair("q1", "tie", "tie"), *pair("q2", "tie", "tie")],
    "separable": [row for k in range(6) for row in pair(f"q{k}", 0, 1)],
    "disconnected": [*pair("q1", 0, 0), *pair("q1", 0, 1, x="v", y="w")],
    "one order only": [{**pair(f"q{k}", k % 2, 0)[0], "orders": 1} for k in range(4)],
    "all unreadable": [*pair("q1", None, None), *rotated("q1", [None, None, None])],
    "one item": five("q1", 1, 0),
    "people only": [vote("q1", "ann", 1), vote("q1", "bob", "tie")],
    "people and silence": [vote("q1", "ann", 1), *pair("q1", None, None, x="base", y="m")],
    "options": [*rotated("q1", [0, 0, 0]), *rotated("q1", [1, 2, 0], judge="k")],
    "the reference alone": pair("q1", 0, 1, y="@reference"),
}


def every(value):
    """All estimates and plain numbers in a result, however deep."""
    if isinstance(value, Estimate):
        yield value
        yield from (end for end in (value.value, value.low, value.high) if end is not None)
    elif is_dataclass(value):
        for part in fields(value):
            yield from every(getattr(value, part.name))
    elif isinstance(value, dict):
        for one in value.values():
            yield from every(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from every(one)
    elif isinstance(value, int | float):
        yield float(value)


@pytest.mark.parametrize(
    "name",
    sample(
        LITTLE, "no data", "one contestant", "disconnected", "all unreadable", "people and silence"
    ),
)
def test_little_data_is_a_sensible_answer_or_a_reason(name):
    frame = build(LITTLE[name])
    results = [
        visit_leaderboard_rows(frame, rng=rng(), orders=3, rounds=3),
        visit_leaderboard_rows(
            frame, rng=rng(), combine="pooled", unreadable="exclude", by="category"
        ),
        cost_per_head_to_head(frame, np.ones(len(frame))),
        grade_cells(frame),
        grade_cells(frame, "gradelab"),
        reply_reading_differences(frame, frame),
        creation_table(frame),
        creation_table(frame, "base", ["category"]),
        human_alignment_table(frame),
        human_alignment_table({"images": frame, "context": frame}, "base"),
        corrected_win_rates(frame),
        paired_contrasts(frame, ["judge"], CONTRASTED_MEASURES, rng()),
        correlate_all_benchmarks(
            add_study_as_benchmark(win_rate(frame), {"other": {"x": 1.0, "y": 2.0}}), rng()
        ),
    ]
    found = list(every(results))
    assert found
    for one in found:
        if isinstance(one, Estimate):
            assert one.value is not None or one.note, one
        else:
            assert math.isfinite(one)


@pytest.mark.parametrize(("by", "kinds", "contrasts"), [("judge", 6, 45), ("prompt", 7, 0)])
def test_all_pairs_are_contrasted_up_to_sixty(by, kinds, contrasts):
    """Three measures of 6 · 5 / 2 = 15 pairs are 45 contrasts, of 7 · 6 / 2 = 21 pairs 63."""
    rows = [
        row
        for k in range(kinds)
        for item in "abc"
        for row in pair(item, 0, k % 2, known_answer=0, **{by: f"n{k}"})
    ]
    found = summary._default_contrasts(build(rows), rng())
    assert len(found) == contrasts
    assert len({(one.measure, one.left, one.right) for one in found}) == contrasts


@pytest.mark.parametrize("name", sample(LITTLE, "people only"))
def test_the_summary_of_little_data_is_plain_json(name):
    got = summarise_frame(
        build(LITTLE[name]), ["judge"], rng(), combine="strict", unreadable="tie", quick=True
    )
    assert json.loads(json.dumps(got, allow_nan=False)) == got
    assert list(render_tables(got))


def test_agreement_of_every_two_raters_and_of_every_two_voters():
    rows = [row for k in range(6) for row in pair(f"q{k}", 0, 1, judge="good")]
    rows += [row for k in range(6) for row in pair(f"q{k}", 0, 0, judge="first")]
    for k in range(6):
        for who, pick in (("ann", 0), ("bob", 0 if k < 4 else 1)):
            rows.append({"item": f"q{k}", "judge": f"human:{who}", "prompt": "vote",
                         "shown": "xy", "pick": pick, "orders": 1})  # fmt: skip
    got = json_sections(build(rows), "agreement")["agreement"]
    assert got["pairs"]["good"]["first"]["share"]["value"] == 0.5
    assert got["pairs"]["good"]["people"]["share"]["n"] == 12
    assert got["voter_pairs"]["human:ann"]["human:bob"]["share"]["value"] == pytest.approx(4 / 6)
    assert got["among_people"]["pair"]["share"]["value"] == pytest.approx(4 / 6)
    assert set(got["annotators"]) == {"good", "first"}
    assert "alignment" not in got, "no verdict is much better"


def test_position_has_order_effect_and_bounds_and_precision_is_there():
    rows = [row for k in range(8) for row in pair(f"q{k}", k % 2, 1)]
    rows += [row for k in range(2) for row in pair(f"lost{k}", None, 1)]
    rows += [{"item": f"q{k}", "shown": "xy", "pick": k % 2, "noise": True} for k in range(8)]
    got = summarise_frame(build(rows), quick=True)
    cell = got["position"]["j"]["p"]
    assert cell["order_effect"]["value"] == 0.5  # four of eight pairs flip, no repeat does
    assert got["position_pooled"]["order_effect"] == cell["order_effect"]  # one judge, one prompt
    assert (cell["consistency_bounds"]["low"], cell["consistency_bounds"]["high"]) == (0.4, 0.6)
    assert cell["first_share_bounds"]["note"] == "2 of 20 verdicts missing"
    assert got["precision"]["x"]["narrowing"]["item"] == pytest.approx(1 - 0.5**0.5)


def test_the_authors_grade_is_listed_where_there_are_more_orders_than_options():
    """Six orders of three options, slots 0 to 2 picked twice each and one option three times: ours
    divides the entropy log 3 by log 3, the authors' code by log 6."""
    orders = [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] * 2
    row = {"item": "q", "prompt": "grade-simple", "orders": 6}
    frame = build([{**row, "shown": one, "pick": k // 2} for k, one in enumerate(orders)])
    got = json_sections(frame, "grade")["grade"]["j"]["grade-simple"]
    assert got["entropy"]["value"] == pytest.approx(1)
    assert got["entropy_gradelab"]["value"] == pytest.approx(math.log(3) / math.log(6))
    assert got["choice_gradelab"]["value"] == got["choice"]["value"]
    three = build([{**row, "orders": 3, "shown": one, "pick": 0} for one in orders[:3]])
    got = json_sections(three, "grade")["grade"]["j"]["grade-simple"]
    assert "entropy_gradelab" not in got


def test_the_jury_of_three_judges_is_a_section():
    rows = [row for judge in "abc" for k in range(4) for row in pair(f"q{k}", 0, 1, judge=judge)]
    found = json_sections(build(rows), "jury")["jury"]
    assert found["panel"] == ["a", "b", "c"] and found["coverage"]["value"] == 1
    assert found["win_rate"]["x"]["value"] == 1 and {"bounds", "without_labels"} <= set(found)
    two = [row for row in rows if row["judge"] != "c"]
    assert not json_sections(build(two), "jury")


def test_win_rates_at_equal_length_have_an_opponent_without_a_baseline_too():
    """Without a baseline, the opponent is the model with the highest win rate."""
    frames = {"ab": (0, 1), "ac": (0, 1), "bc": (0, 1)}  # each pair is won by the earlier name
    rows = [
        row | {"length": lengths}
        for k in range(10)
        for (x, y), picks in frames.items()
        for both in [((9, 5), (5, 9))[:: 1 if k % 2 else -1]]
        for row, lengths in zip(pair(f"q{k}", *picks, x=x, y=y), both, strict=True)
    ]
    section = json_sections(build(rows), "length")["length"]
    assert {name: one["value"] for name, one in section["controlled"].items()} == {"b": 0, "c": 0}
