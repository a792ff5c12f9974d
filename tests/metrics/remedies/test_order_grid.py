"""Arrangement of stored verdicts by judge, order and comparison, and the comparisons left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metrics.remedies import remedy_study
from metrics.remedies.decision_rules import Decisions
from metrics.remedies.order_grid import build_order_grid
from metrics.remedies.recommendation import format_points, held_out_gains
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.risk_coverage import _coverage_curve, graded_risk_curve, jury_risk_curve
from metrics.remedies.rotation_rules import rotation_rule_tables
from metrics.remedies.rule_names import rule_texts_of_id
from metrics.remedies.rule_sets import jury_rules, prompt_rules, rules_of_rater
from metrics.remedies.rule_table import estimate_rules
from tests.metrics.frames import build, pair, rotated
from tests.page_words import says


def test_verdicts_are_in_terms_of_the_first_by_name():
    frame = build(pair("q", 0, 0, better="y") + pair("r", "tie", 1, better="x"))
    grid = build_order_grid(frame)
    assert grid.verdicts[0].tolist() == [[1.0, 0.0], [-1.0, 1.0]]
    assert grid.known_winner.tolist() == [-1.0, 1.0]
    assert grid.source == "known answers"


def test_an_unusable_reply_is_missing_and_never_a_tie():
    frame = build(pair("q", 0, None, better="x") + pair("r", 0, 1, better="x"))
    study = build_remedy_study(frame)
    assert np.isnan(build_order_grid(frame).verdicts[0, 1, 0])
    assert study.grid.size == 1
    assert dict(study.left_out) == {"no truth": 0, "incomplete": 1}


def test_a_judge_with_few_complete_comparisons_does_not_shrink_the_table():
    good = [row for k in range(4) for row in pair(f"q{k}", 0, 1, better="x")]
    thin = pair("q0", 0, 1, better="x", judge="thin")
    study = build_remedy_study(build(good + thin))
    assert study.grid.size == 4
    assert study.incomplete_raters == (("thin", "p"),)


def test_a_majority_needs_more_than_half_of_the_votes():
    votes = [("human:1", 0), ("human:2", 0), ("human:3", 1), ("human:4", "tie")]
    half = [
        {
            "item": "q",
            "shown": ("x", "y"),
            "pick": pick,
            "judge": who,
            "orders": 1,
            "prompt": "vote",
        }
        for who, pick in votes
    ]
    assert build_order_grid(build(pair("q", 0, 1) + half)).known_winner.tolist() == [0.0]
    more = [*half, {**half[0], "judge": "human:5"}]
    assert build_order_grid(build(pair("q", 0, 1) + more)).known_winner.tolist() == [1.0]


def test_known_answers_go_before_votes_where_the_source_says_so():
    vote = {"item": "q", "shown": ("x", "y"), "pick": 0, "judge": "human:1", "prompt": "vote"}
    frame = build([*pair("q", 0, 1, better="y"), vote])
    assert build_order_grid(frame, source="known answers").known_winner.tolist() == [-1.0]
    assert build_order_grid(frame, source="people's majority").known_winner.tolist() == [1.0]


def test_rows_that_record_different_answers_leave_the_answer_unknown():
    rows = pair("q", 0, 1, better="x") + pair("r", 0, 1, better="x") + pair("s", 0, 1, better="x")
    rows[3]["known_answer"] = rows[3]["shown"].index(
        "y"
    )  # the second row of r contradicts the first
    del rows[4]["known_answer"]  # the first row of s records none
    assert build_order_grid(build(rows)).known_winner.tolist() == [1.0, 0.0, 1.0]


def test_judges_are_in_the_order_of_the_study():
    frame = build(pair("q", 0, 1, judge="a") + pair("q", 0, 1, judge="b"))
    assert build_order_grid(frame, ["b", "a"]).raters == (("b", "p"), ("a", "p"))


@pytest.mark.parametrize(
    ("more", "scores"),
    [
        ({"p": (0.7, 0.3)}, [0.4, -0.4]),
        ({"margin": 2, "prompt": "five-level"}, [1.0, -1.0]),
        ({"scores": (8.0, 6.0)}, [1.0, -1.0]),
    ],
    ids=["probabilities", "margins", "scores over their range"],
)
def test_graded_scores(more, scores):
    grid = build_order_grid(build(pair("q", 0, 0, better="x", **more)))
    assert grid.graded[0, :, 0].tolist() == pytest.approx(scores, abs=1e-6)


def test_repeats_with_other_labels_are_other_calls():
    rows = pair("q", 0, 1, better="x")
    again = pair("q", 1, 1, better="x", repeat=1)
    crossed = [{**row, "labels": "BA"} for row in pair("q", 1, 0, better="x")]
    grid = build_order_grid(build(rows + again + crossed))
    assert grid.repeats.shape == (1, 2, 2, 1)
    assert grid.repeats[0, :, :, 0].tolist() == [[1.0, -1.0], [1.0, 1.0]]


def test_rules_with_few_stored_replies_have_their_own_comparisons():
    rows = [row for k in range(30) for row in pair(f"q{k}", 0, 1, better="x")]
    for k in range(6):
        for repeat in (1, 2):
            rows += pair(f"q{k}", k % 2, 1, better="x", repeat=repeat, noise=True)
    study = build_remedy_study(build(rows))
    lines = estimate_rules(study.grid, rules_of_rater(study.grid, 0), np.random.default_rng(0))
    found = {line.rule.id: line for line in lines}
    assert found["pool"].agreement.n == 30 and found["pool"].complete
    assert found["repeats(3)"].agreement.n == 6 and not found["repeats(3)"].complete
    assert found["repeats(3)"].agreement.note.startswith("on 6 of 30 comparisons")


def test_rotations_take_the_option_chosen_most_often():
    # Options o0…o3, rotated right by 1, 2, 3, 4; o0 stands in the slots 1, 2, 3, 0.
    always_best = rotated("q", [1, 2, 3, 0], known_answer=0)
    truths = [1, 2, 3, 0]
    for row, slot in zip(always_best, truths, strict=True):
        row["known_answer"] = slot
    first_slot = rotated("r", [0, 0, 0, 0])
    for row, slot in zip(first_slot, truths, strict=True):
        row["known_answer"] = slot
    tables = rotation_rule_tables(build(always_best + first_slot), np.random.default_rng(0))
    single, rotations = tables["j", "choice"]
    assert single.agreement.value == pytest.approx((1 + 1 / 4) / 2)
    assert rotations.agreement.value == pytest.approx((1 + 1 / 4) / 2)  # undecided: 1/N
    assert rotations.decided.value == 0.5 and single.decided.value == 1.0
    assert rotations.rule.calls_per_comparison == 4


def test_points_have_a_sign_unless_they_are_zero():
    assert [format_points(value) for value in (0.019, -0.019, 0.0001, None)] == [
        "+1.9",
        "−1.9",
        "0.0",
        "–",
    ]


@pytest.mark.parametrize(
    ("id", "title"),
    [
        ("repeats(3)-both", "Three calls in each order"),
        ("ask-people(0.1)", "Both orders, and people for 10 %"),
        ("prompt:brief+pool", "Prompt brief, both orders"),
        ("jury-both", "Two judges, both orders"),
        ("margin(0.25)", "Both orders, graded, margin 0.25"),
    ],
)
def test_words_of_rules(id, title):
    assert rule_texts_of_id(id, ["a", "b"]).title == title


def test_rotations_use_the_first_call_in_each_order():
    # First calls choose o2 everywhere, two repeats o0, the right one.
    rows = [
        {**row, "repeat": repeat, "known_answer": row["shown"].index("o0")}
        for repeat, pick in ((0, 2), (1, 0), (2, 0))
        for row in rotated("q", [0, 0, 0])
        for row in [{**row, "pick": row["shown"].index(f"o{pick}")}]
    ]
    (table,) = rotation_rule_tables(build(rows), np.random.default_rng(0)).values()
    assert [(one.rule.calls_per_comparison, one.agreement.value) for one in table] == [
        (1, 0),
        (3, 0),
    ]


def test_a_vote_without_a_verdict_is_no_vote():
    vote = {"item": "q", "shown": "xy", "prompt": "vote", "orders": 1}
    votes = [
        {**vote, "judge": "human:1", "pick": 0},
        {**vote, "judge": "human:2", "pick": None},
        {**vote, "judge": "human:3", "pick": None},
        {**vote, "judge": "human:3", "pick": 0},
    ]
    grid = build_order_grid(build(pair("q", 0, 1) + votes))
    assert grid.known_winner.tolist() == [1.0]
    assert grid.votes is not None and grid.votes[0].tolist() == [1.0]


def test_the_calls_and_votes_of_every_rule_are_those_of_its_name() -> None:
    vote = {"item": "q", "shown": "xy", "pick": 0, "judge": "human:1", "prompt": "vote"}
    raters = (("a", "p"), ("a", "other"), ("b", "p"), ("c", "p"))
    rows = [
        {**row, "p": [0.7, 0.3]}
        for judge, prompt in raters
        for k in range(5)
        for row in pair("q", 0, 1, judge=judge, prompt=prompt, repeat=k)
    ]
    grid = build_order_grid(build([*rows, vote]))
    at = {rater: code for code, rater in enumerate(grid.raters)}
    first, b, c = at["a", "p"], at["b", "p"], at["c", "p"]
    rules = rules_of_rater(grid, first)
    assert {rule.id: (rule.calls_per_comparison, rule.votes) for rule in rules} == {
        "single": (1, 0), "pool": (2, 0), "agree": (2, 0),
        "ask-people(0.1)": (2, 0.1), "ask-people(0.25)": (2, 0.25),
        "calibrated": (1, 0), "graded": (2, 0), "margin(0.25)": (2, 0), "margin(0.5)": (2, 0),
        "repeats(3)": (3, 0), "repeats(3)-both": (6, 0),
        "repeats(5)": (5, 0), "repeats(5)-both": (10, 0),
    }  # fmt: skip
    assert {rule.members for rule in rules} == {(("a", "p"),)}
    prompts = prompt_rules(grid, first)
    assert [(rule.id, rule.members, rule.calls_per_comparison) for rule in prompts] == [
        ("prompt:other", (("a", "other"),), 1), ("prompt:other+pool", (("a", "other"),), 2),
    ]  # fmt: skip
    two, three = jury_rules(grid, [first, b]), jury_rules(grid, [first, b, c], picked=True)
    assert {rule.id: rule.calls_per_comparison for rule in two} == {
        "round-robin": 1, "opposite": 2, "jury-both": 4,
    }  # fmt: skip
    assert {rule.id: rule.calls_per_comparison for rule in three} == {
        "round-robin": pytest.approx(1), "jury": 3, "jury-both": 6,
    }  # fmt: skip
    assert [rule.picked for rule in (*two, *three)] == [False] * 3 + [True] * 3


def test_a_vote_that_is_part_of_the_majority_is_said() -> None:
    vote = {"item": "q", "shown": ("x", "y"), "pick": 0, "judge": "human:1", "prompt": "vote"}
    frame = build([*pair("q", 0, 1, better="y"), vote])
    for source, said in (("known answers", False), ("people's majority", True)):
        rules = rules_of_rater(build_order_grid(frame, source=source), 0)
        notes = {rule.note for rule in rules if rule.id.startswith("ask-people")}
        assert len(notes) == 1 and ("majority" in notes.pop()) is said


def test_juries_that_are_not_shown_have_two_and_three_judges() -> None:
    """Four equally good judges: with the first, three juries of two and three of three; those of
    a shown rule are left out."""
    rows = [
        one for k in range(6) for j in "abcd" for one in pair(f"q{k}", 0, 1, better="x", judge=j)
    ]
    study = build_remedy_study(build(rows))
    found = study.further_jury_rules(0, [])
    members = {"".join(sorted(name for name, _ in rule.members)) for rule in found}
    assert members == {"ab", "ac", "ad", "abc", "abd", "acd"}
    assert len(found) == 18, "three rules each"
    assert len(study.further_jury_rules(0, found[:2])) == 16
    shown = [(rule.id, len(rule.members)) for rule in study.rules_shown_for_rater(0)]
    assert [one for one in shown if one[1] > 1] == [
        ("round-robin", 2), ("opposite", 2), ("jury-both", 2),
        ("jury", 3), ("jury-both", 3), ("jury-both", 4),
    ]  # fmt: skip


def test_the_risk_curve_is_over_votes_only_without_graded_replies() -> None:
    def study(**more: object) -> RemedyStudy:
        rows = [row for k in range(6) for j in "ab"
                for row in pair(f"q{k}", 0, k % 2, better="x", judge=j, **more)]  # fmt: skip
        return build_remedy_study(build(rows))

    plain, graded = study(), study(margin=2, prompt="five-level")
    assert plain.risk_curve(0) == jury_risk_curve(plain.grid, [0, 1])
    assert [one.margin for one in plain.risk_curve(0)] == [1, 2, 3, 4]
    assert not plain.has_graded_curve(0) and graded.has_graded_curve(0)
    assert graded.risk_curve(0) == graded_risk_curve(graded.grid, 0)


def test_a_judges_verdict_in_an_unknown_order_is_left_out_and_a_vote_is_not() -> None:
    rows = [*pair("q", 0, 1, better="x"), *pair("r", 0, 1, better="x", orders=0)]
    vote = {"item": "q", "shown": ("x", "y"), "pick": 0, "judge": "human:1", "orders": 0}
    grid = build_order_grid(build([*rows, vote]))
    assert len(grid.items) == 1 and grid.votes is not None
    assert [one.tolist() for one in grid.votes] == [[1], [0]]


@pytest.mark.parametrize(("items", "partners"), [(3, [1]), (4, [])])
def test_a_judge_that_is_always_better_by_a_half_is_no_partner_from_four_items_on(
    items: int, partners: list[int]
) -> None:
    """The first judge always takes the first answer (credit ½), the second is always right. An
    unseen item could cost 1: ½ is more than z²/(n + z²) from n = z² = 3.84 on."""
    rows = [
        row for k in range(items) for judge, second in (("a", 0), ("b", 1))
        for row in pair(f"q{k}", 0, second, better="x", judge=judge)
    ]  # fmt: skip
    study = build_remedy_study(build(rows))
    assert study.jury_partners(0) == partners and study.jury_partners(1) == [0]


def test_without_comparisons_there_is_nothing_to_choose() -> None:
    """A judge whose only comparison has no known winner."""
    study = build_remedy_study(build(pair("q", 0, 1)))
    assert study.grid.size == 0
    assert study.agreement_of_pooled_orders == tuple(0.0 for _ in study.raters)
    assert held_out_gains(study.grid, [], np.random.default_rng(0)) == ()


def test_no_gain_is_held_out_with_one_rule_or_without_comparisons() -> None:
    grid = build_order_grid(build([r for k in range(8) for r in pair(f"q{k}", 0, 1, better="x")]))
    rules, draw = rules_of_rater(grid, 0), np.random.default_rng(0)
    (only,) = held_out_gains(grid, rules[:2], draw)  # two calls never do better than one
    assert only.rule is rules[0] and (only.gain.value, only.gain.n) == (0, 8)
    assert held_out_gains(grid, rules[:1], draw) == ()
    assert held_out_gains(grid.select(np.zeros(8, bool)), rules[:2], draw) == ()


def test_large_panels_and_large_studies_have_the_shown_juries_only(monkeypatch) -> None:
    rows = [row for k in range(6) for judge in "abcd"
            for row in pair(f"q{k}", 0, 1, better="x", judge=judge)]  # fmt: skip
    study = build_remedy_study(build(rows))
    for name, value in (("MAX_PANEL", 3), ("MAX_SELECTED", study.grid.size - 1)):
        with monkeypatch.context() as inside:
            inside.setattr(remedy_study, name, value)
            assert study.further_jury_rules(0, []) == []
            inside.setattr(remedy_study, name, value + 1)
            assert len(study.further_jury_rules(0, [])) == 18


def test_a_rule_without_all_replies_is_estimated_on_two_items_or_left_out() -> None:
    """The judge is right in one order of four comparisons: one call earns ½. A rule that is right
    on all of them lacks its replies on some."""
    grid = build_order_grid(build([r for k in range(4) for r in pair(f"q{k}", 0, 0, better="x")]))
    baseline = rules_of_rater(grid, 0)[0]
    for known, found in ((4, 1.0), (2, 1.0), (1, None)):
        first = np.where(np.arange(4) < known, 1.0, np.nan)
        right = replace(baseline, id="right", decisions=Decisions(first, first * 0))
        lines = estimate_rules(grid, [baseline, right], np.random.default_rng(0))
        assert lines[0].agreement.value == 0.5
        assert [one.agreement.value for one in lines[1:]] == ([] if found is None else [found])
        if known == 2:
            assert says(lines[1].agreement.note, "2 of 4") and lines[1].rule is right


def test_a_curve_without_a_score_has_no_points() -> None:
    grid = build_order_grid(build([r for k in range(4) for r in pair(f"q{k}", 0, 1, better="x")]))
    assert _coverage_curve(grid, np.full(4, np.nan), (0, 1)) == []
    (zero, one) = _coverage_curve(grid, np.array([1.0, 1.0, -0.5, np.nan]), (0, 1))
    assert (zero.margin, zero.decided.value, zero.right_when_decided.value) == (0, 1, 2 / 3)
    assert (one.margin, one.decided.value, one.right_when_decided.value) == (1, 2 / 3, 1)
    assert len(_coverage_curve(grid, np.full(4, 0.5), (0.5, 0.6))) == 1
