"""Kinds of prompts in a study that mixes several protocols."""

from __future__ import annotations

import pandas as pd
import pytest

from metrics.estimation.prompt_kinds import five_level_mask, scoring_mask
from metrics.protocols import grade_score
from metrics.summary.summary import summarise_frame
from metrics.win_rates import counting_rules, win_rates
from metrics.win_rates.jury import decide_jury
from studies.frames.battle_frame import frame_from_battles
from tests.metrics.frames import build, json_sections, pair

BOTH = {"prompt": "pairs", "judge": "j"}


def scored(item: str, *scores: tuple[float, float] | None, prompt: str = "facts", judge: str = "j"):
    """x and y scored in both orders, shown order; None: the reply could not be read."""
    rows = pair(item, None, None, prompt=prompt, judge=judge)
    for row, both in zip(rows, scores, strict=True):
        row |= {"scores": both, "status": "unreadable" if both is None else "ok"}
    return rows


def test_a_prompt_that_was_read_as_scores_once_is_a_scoring_one_throughout():
    frame = build([*pair("q1", 0, None, **BOTH), *scored("q1", (7, 5), None)])
    assert scoring_mask(frame).tolist() == [False, False, True, True]
    # Our own needs no reading to be known.
    frame = build(scored("q1", None, None, prompt="creation-factuality-truth"))
    assert scoring_mask(frame).all()


def test_a_rating_of_pairs_that_also_picks_is_a_comparison():
    rows = pair("q1", 0, None, prompt="rated")
    rows[0]["scores"] = (7.0, 5.0)
    assert not scoring_mask(build(rows)).any()


def test_an_unread_score_is_no_tie_where_unread_verdicts_are():
    # x wins q1 twice; q2 was not read in one order: a tie there, and strict makes the pair a tie.
    # The unread factuality replies of q1 and q2 say nothing about who won.
    verdicts = [*pair("q1", 0, 1, **BOTH), *pair("q2", 0, None, **BOTH)]
    scores = [*scored("q1", (7, 5), None), *scored("q2", None, None)]
    alone, mixed = build(verdicts), build([*verdicts, *scores])
    expected = {"matches": 2, "wins": 1, "losses": 0, "ties": 1}
    assert win_rates.win_loss_record(mixed, "strict", "tie")["x"] == expected
    assert win_rates.win_rate(mixed, "strict", "tie") == win_rates.win_rate(alone, "strict", "tie")
    assert len(counting_rules.outcome_rows(mixed, "pooled", "tie")) == 4
    got = summarise_frame(mixed, combine="strict", unreadable="tie", quick=True)["protocol"]
    assert got["leaderboard"]["x"]["matches"] == 2
    assert got["elo"]["x"]["value"] == pytest.approx(1002 - 4 * (1 / (1 + 10 ** (-4 / 400)) - 0.5))


def test_an_unread_score_widens_no_bound_of_a_win_rate():
    # Of x's four verdicts one is missing: 2 won of 3, between 2/4 and 3/4.
    rows = [*pair("q1", 0, 1, **BOTH), *pair("q2", 1, None, **BOTH), *scored("q1", (7, 5), None)]
    got = win_rates.win_rate_bounds(build(rows))["x"]
    assert (got.low, got.value, got.high) == (0.5, pytest.approx(2 / 3), 0.75)


def test_an_unread_score_is_no_trial_of_the_grade_score():
    verdicts = [*pair("q1", 0, 1, **BOTH), *pair("q2", 0, None, **BOTH)]
    both = build([*verdicts, *scored("q1", (7, 5), None), *scored("q2", None, None)])
    table = grade_score.grade_table(both)
    assert table["item"].tolist() == ["q1"] and table.attrs["left_out"] == 1


def test_what_is_only_scored_is_no_case_for_a_jury():
    rows = [row for judge in "abc" for row in pair("q1", 0, 1, prompt="pairs", judge=judge)]
    rows += [row for judge in "abc" for row in scored("q1", (7, 5), (4, 6), judge=judge)]
    got = decide_jury(build(rows))
    assert (got.coverage.value, got.coverage.n) == (1, 1)
    assert got.win_rate["x"].value == 1


def test_reward_and_levels_are_of_five_level_prompts_alone():
    # Five levels: x much better, then better: (100 + 50)/2 = 75. The pairs prompt says y twice, and
    # two of its replies were not read; a factuality reply neither.
    rows = pair("q1", 0, 1, prompt="levels")
    rows[0]["margin"] = 2
    rows += [*pair("q1", 1, 0, **BOTH), *pair("q2", None, None, **BOTH)]
    rows += scored("q1", (7, 5), None)
    got = summarise_frame(build(rows), quick=True)
    assert got["reward"]["x"]["value"] == 75
    assert got["levels"]["x"] == {
        "much_better": 1, "better": 1, "tie": 0, "worse": 0, "much_worse": 0, "fail": 0,
    }  # fmt: skip


def test_a_five_level_judge_that_never_says_much_still_has_a_reward():
    frame = build(pair("q1", 0, 0, prompt="creation-subjective"))
    assert five_level_mask(frame).all()
    assert json_sections(frame, "reward")["reward"]["x"]["value"] == 0


def test_the_published_leaderboard_is_of_pairwise_prompts_where_there_are_some():
    # VisIT's board holds the pair of q1 once; the five-level verdicts on it are no second match.
    # Alone they make the board.
    levels = pair("q1", 1, 0, prompt="creation-subjective")
    mixed = summarise_frame(
        build([*pair("q1", 0, 1, **BOTH), *levels]), combine="strict", quick=True
    )
    board = mixed["protocol"]["leaderboard"]["x"]
    assert (board["matches"], board["wins"]) == (1, 1)
    alone = summarise_frame(build(levels), combine="strict", quick=True)
    assert alone["protocol"]["leaderboard"]["y"]["wins"] == 1


def test_categories_hold_no_verdict_of_another_protocol():
    rows = [*pair("q1", 0, 1, prompt="arena-hard", category="maths"),
            *pair("q2", 0, "tie", prompt="arena-hard", category="prose"),
            *pair("q1", 1, 0, category="maths", **BOTH)]  # fmt: skip
    got = json_sections(build(rows), "creation")["creation"]
    assert got["maths"]["x"]["reward"]["value"] == 50
    assert got["prose"]["x"]["reward"]["value"] == 25


def test_alignment_with_people_is_that_of_the_five_level_prompt():
    # P = +2. Five levels say +2 and +2; the pairs prompt says −1 twice, and is not asked here.
    rows = pair("q1", 0, 1, prompt="levels", margin=2)
    rows += pair("q1", 1, 0, **BOTH)
    rows += [{"item": "q1", "judge": "human:ann", "prompt": "vote", "shown": ("x", "y"), "pick": 0,
              "margin": 2, "orders": 1}]  # fmt: skip
    got = json_sections(build(rows), "agreement")["agreement"]["alignment"]["j"]
    assert got["dual"]["overall"]["mae"]["value"] == 0


def test_a_contestant_does_not_win_against_itself():
    # m beats n once; m against m says nothing about m.
    table = pd.DataFrame({"model_a": ["m", "m"], "model_b": ["n", "m"],
                          "winner": ["model_a", "tie"]})  # fmt: skip
    rates = win_rates.win_rate(frame_from_battles(table))
    assert (rates["m"].value, rates["m"].n) == (1, 1)
    assert win_rates.win_rate_measure("m").estimate(frame_from_battles(table)).n == 1
