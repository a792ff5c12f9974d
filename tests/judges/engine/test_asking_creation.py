"""Creation-MMBench, MT-Bench and Arena-Hard end to end, with the numbers that simulations imply."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from judges.planning.plan import Plan, asks_of
from judges.planning.plan_checks import skipped_items
from judges.rendering.messages import DESCRIPTION_NOTE
from metrics.protocols.creation_levels import (
    five_level_counts,
    reward_table,
    single_answer_ratings,
    visual_factuality,
)
from metrics.win_rates.win_rates import head_to_head
from studies.store.store import Store
from tests.judge_server import Asked, JudgeServer
from tests.judges.protocol_runs import asked, planned, simulated
from tests.judges.small_studies import endpoint

PIXEL = "data:image/png;base64," + base64.b64encode(b"\x89PNG not much of a picture").decode()
CRITERIA = {"subjective": "1. Style\n   - fits", "factuality": "1. Colour\n   - red"}


def task(name: str, **more: Any) -> dict[str, Any]:
    human = [
        {"judge": "by-design", "shown": ["base", "good"], "picked": "tie", "margin": 0},
        {"judge": "by-design", "shown": ["base", "bad"], "picked": "base", "margin": 1},
        {"judge": "by-design", "shown": ["base", "worst"], "picked": "base", "margin": 2},
    ]
    answers = {n: f"{n} writes {name}" for n in ("base", "good", "bad", "worst")}
    return {"id": name, "instruction": f"Write about {name}.", "responses": answers,
            "reference": f"reference on {name}", "context": f"a red {name}", "images": [PIXEL],
            "criteria": CRITERIA, "human": human, "category": "story", **more}  # fmt: skip


def prompts_by_item(plan: Plan) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in asks_of(plan):
        found.setdefault(one.ask.item, set()).add(one.ask.prompt)
    return found


# ---- what is sent ------------------------------------------------------------------------------

PARTS = {
    "role": "a florist.",
    "background": "A shop opens.",
    "requirements": "- one page\n- no jokes",
}


def test_a_query_is_built_from_its_parts_and_who_cannot_see_gets_the_text_only_variant(
    tmp_path: Path, store: Store
) -> None:
    seen: list[Asked] = []

    def note(one: Asked) -> str:
        seen.append(one)
        return "Final Verdict is: [[A=B]]"

    with JudgeServer(behaviour=note) as server:
        judges = [endpoint(server.base_url, "eye", vision=True),
                  endpoint(server.base_url, "reader", model="reader")]  # fmt: skip
        plan = planned(tmp_path, [task("roses", meta=PARTS)], "creation-mmbench", judges=judges,
                       contestants=["good"], prompts=["creation-subjective"])  # fmt: skip
        asked(plan, store)
    query = ("Assume you are a florist.\nA shop opens.\nPlease follow the requirements below to "
             "write about roses.\n- one page\n- no jokes\n")  # fmt: skip
    eyes = [one for one in seen if one.images]
    assert len(eyes) == 2 and len(seen) == 4
    for one in eyes:
        parts = one.messages[-1]["content"]
        assert [part["type"] for part in parts] == ["image_url", "text"], "images first"
        assert parts[0]["image_url"]["url"] == PIXEL
        assert query in parts[1]["text"] and DESCRIPTION_NOTE not in parts[1]["text"]
    for one in seen:
        if not one.images:
            assert f"{query}\n{DESCRIPTION_NOTE}\na red roses\n" in one.last_user
        text = one.last_user
        places = [text.index(part) for part in ("Instructions given", "Response of Assistant A",
                  "Criteria:", "Response of Assistant B", "Write an evaluation")]  # fmt: skip
        assert places == sorted(places)


def test_an_item_without_parts_is_a_query_already(tmp_path: Path) -> None:
    plan = planned(tmp_path, [task("roses", context="")], "creation-mmbench")
    text = next(asks_of(plan)).call.messages[-1]["content"]
    assert (
        "\nWrite about roses.\n" in text and DESCRIPTION_NOTE not in text and "Assume" not in text
    )


def test_judge_sees_context_gives_everybody_the_description(tmp_path: Path) -> None:
    judges = [endpoint("http://127.0.0.1:9/v1", "eye", vision=True)]
    plan = planned(tmp_path, [task("roses")], "creation-mmbench", judges=judges,
                   judge_sees="context")  # fmt: skip
    texts = [one.call.messages[-1]["content"] for one in asks_of(plan)]
    assert all(isinstance(text, str) for text in texts) and any(
        DESCRIPTION_NOTE in text for text in texts
    )


def test_no_image_is_sent_for_factuality(tmp_path: Path) -> None:
    judges = [endpoint("http://127.0.0.1:9/v1", "eye", vision=True)]
    plan = planned(tmp_path, [task("roses")], "creation-mmbench", judges=judges)
    sent = {one.ask.prompt: one.call.messages[-1]["content"] for one in asks_of(plan)}
    assert isinstance(sent["creation-subjective"], list)
    assert isinstance(sent["creation-factuality"], str)


# ---- who meets whom, with which prompt ---------------------------------------------------------


def test_the_baseline_is_a_in_the_first_run_and_b_in_the_second(tmp_path: Path) -> None:
    plan = planned(tmp_path, [task("roses")], "creation-mmbench", contestants=["good"])
    shown = [one.ask.shown for one in asks_of(plan) if one.ask.prompt == "creation-subjective"]
    assert shown == [("@reference", "good"), ("good", "@reference")]
    other = planned(tmp_path, [task("roses")], "creation-mmbench", baseline="base",
                    contestants=["bad"], protocol="five-level")  # fmt: skip
    assert [one.ask.shown for one in asks_of(other)] == [("base", "bad"), ("bad", "base")]


def test_factuality_goes_by_what_an_item_has(tmp_path: Path) -> None:
    subjective = {"subjective": CRITERIA["subjective"]}
    items = [task("truth", ground_truth="red"), task("plain"), task("none", criteria=subjective)]
    plan = planned(tmp_path, items, "creation-mmbench")
    assert prompts_by_item(plan) == {
        "truth": {"creation-subjective", "creation-factuality-truth"},
        "plain": {"creation-subjective", "creation-factuality"},
        "none": {"creation-subjective"},
    }
    told = {(s.prompt, s.why): s.items for s in skipped_items(plan.prompts, plan.items)}
    assert told == {
        (
            "creation-factuality",
            "with a ground truth, the prompt creation-factuality-truth is used instead",
        ): 1,
        ("creation-factuality", "no factuality criteria"): 1,
        ("creation-factuality-truth", "no factuality criteria"): 1,
        ("creation-factuality-truth", "no ground truth"): 1,
    }
    alone = planned(tmp_path, items, "creation-mmbench", prompts=["creation-factuality"])
    assert set(prompts_by_item(alone)) == {"truth", "plain"}, "without the other it scores both"


# ---- what the simulations imply ----------------------------------------------------------------

TASKS = 150


def within(estimate: Any, value: float) -> bool:
    """Within two half-widths of the interval, about four standard errors: a right judge fails
    once in 16,000 seeds."""
    assert estimate.low is not None and estimate.high is not None
    return bool(abs(estimate.value - value) <= estimate.high - estimate.low)


def test_five_levels_recover_reward_and_margins(tmp_path: Path, store: Store) -> None:
    # bad loses to base: readable ties .1; else base with .8, a win is much better with .3.
    # Reward of bad = -(.9 x .8 - .9 x .2) x (.7 x 50 + .3 x 100) = -.54 x 65 = -35.1.
    items = [task(f"q{n:03}") for n in range(TASKS)]
    judge = simulated(accuracy=0.8, tie_rate=0.1, much_rate=0.3, unreadable_rate=0.05, seed=4)
    plan = planned(tmp_path, items, "creation-mmbench", baseline="base", judges=[judge],
                   contestants=["base", "bad"], prompts=["creation-subjective"])  # fmt: skip
    frame = asked(plan, store)
    assert len(frame) == 2 * TASKS, "both runs are pooled"
    assert within(reward_table(frame, "base")["bad"], -35.1)
    counts = five_level_counts(frame, "base")["bad"]
    assert sum(counts.values()) == 2 * TASKS and counts["fail"] > 0
    assert all(counts[level] for level in ("much_better", "better", "tie", "worse", "much_worse"))


def test_without_a_rate_margins_are_those_of_the_design(tmp_path: Path, store: Store) -> None:
    plan = planned(tmp_path, [task(f"q{n}") for n in range(5)], "creation-mmbench",
                   baseline="base", prompts=["creation-subjective"])  # fmt: skip
    counts = five_level_counts(asked(plan, store), "base")
    assert counts["bad"]["worse"] == counts["worst"]["much_worse"] == 10
    assert counts["good"]["much_better"] + counts["good"]["much_worse"] == 0


def test_factuality_scores_recover_their_means_and_what_a_place_adds(
    tmp_path: Path, store: Store
) -> None:
    # Quality of bad: it loses to base, and nobody compared the rest: -1. base wins two of three
    # and ties one: 2/3. Points: 5 + 1.5 q + half of .8 for standing first every other time.
    items = [task(f"q{n:03}", ground_truth="red" if n % 2 else "") for n in range(TASKS)]
    judge = simulated(score_mean=5, score_spread=1.5, score_noise=0.5, first_points=0.8, seed=3)
    plan = planned(tmp_path, items, "creation-mmbench", baseline="base", judges=[judge],
                   contestants=["base", "bad"], protocol="factuality")  # fmt: skip
    frame = asked(plan, store)
    assert set(frame["prompt"]) == {"creation-factuality", "creation-factuality-truth"}
    assert (frame["pick"] == -2).all() and set(frame["status"]) == {"ok"}
    found = visual_factuality(frame)
    assert within(found["bad"], 5 - 1.5 + 0.4) and within(found["base"], 5 + 1.0 + 0.4)
    gap = (frame["score_0"] - frame["score_1"]).mean()  # over both orders only the place is left
    assert gap == pytest.approx(0.8, abs=0.12)


def test_mt_bench_asks_pairs_and_ratings_and_both_are_recovered(
    tmp_path: Path, store: Store
) -> None:
    items = [task(f"q{n:03}") for n in range(TASKS)]
    judge = simulated(accuracy=0.8, tie_rate=0.2, score_mean=6, score_spread=1, seed=2)
    plan = planned(tmp_path, items, "mt-bench", judges=[judge], contestants=["base", "bad"])
    frame = asked(plan, store)
    assert (frame["prompt"] == "mt-bench-pair").sum() == 2 * TASKS
    assert (frame["prompt"] == "mt-bench-single").sum() == 2 * TASKS
    rated = single_answer_ratings(frame[frame["prompt"] == "mt-bench-single"])
    assert within(rated["bad"], 5.0) and within(rated["base"], 6 + 2 / 3)
    pairs = frame[frame["prompt"] == "mt-bench-pair"]
    # base in one game: .64 wins, .2 ties, .16 losses. Both games alike: .64² against .16²; the
    # rest are ties. Adjusted win rate = .4096 + (1 - .4096 - .0256)/2 = .692.
    strict = head_to_head(pairs, plan.study.combine, plan.study.unreadable)["base"]["bad"]
    assert strict.n == TASKS and within(strict, 0.692)


def test_arena_hard_meets_the_baseline_in_two_games(tmp_path: Path, store: Store) -> None:
    plan = planned(tmp_path, [task(f"q{n}") for n in range(4)], "arena-hard", baseline="base",
                   judges=[simulated(much_rate=1.0)])  # fmt: skip
    frame = asked(plan, store)
    assert len(frame) == 4 * 3 * 2
    assert five_level_counts(frame, "base")["bad"]["much_worse"] == 8
    first = [one.ask.shown[0] for one in asks_of(plan)][::2]
    assert set(first) == {"base"}, "game 0: the baseline is A"


@pytest.mark.parametrize("verdict", ["result-n", "grade-letter", "rating-pair"])
def test_other_scores_are_spoken_too(tmp_path: Path, store: Store, verdict: str) -> None:
    protocol = "pairwise" if verdict == "rating-pair" else "single"
    both = "$first $second" if protocol == "pairwise" else "$first"
    own = f"name: own\nprotocol: {protocol}\nmessages: [{{user: '{both} $closing'}}]\n"
    (tmp_path / "own.yaml").write_text(f"{own}verdict: {verdict}", encoding="utf-8")
    plan = planned(tmp_path, [task("a"), task("b")], "mt-bench", prompts=["own.yaml"])
    frame = asked(plan, store)
    assert set(frame["status"]) == {"ok"} and frame["score_0"].notna().all()
