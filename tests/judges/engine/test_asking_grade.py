"""Grade Score end to end: rotations, unrelated options, grades and both reading rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judges.operations.check_judge import reread_and_store_verdicts
from judges.planning.plan import asks_of
from metrics.protocols.grade_score import estimate_grade_score_measures
from metrics.protocols.grade_table import share_of_choices_against_own_grades
from studies.store.store import Store
from tests.judge_server import JudgeServer, say
from tests.judges.protocol_runs import asked, machines, planned, simulated
from tests.judges.small_studies import endpoint


def ranked(name: str, options: int) -> dict[str, Any]:
    names = [f"rank-{n}" for n in range(1, options + 1)]
    ranks = {option: place for place, option in enumerate(names, 1)}
    return {"id": name, "instruction": f"do {name}", "human": [{"judge": "people", "shown": None,
            "ranks": ranks}], "responses": {n: f"{n} does {name}" for n in names}}  # fmt: skip


@pytest.mark.parametrize("n", range(2, 10))
def test_every_option_stands_in_every_slot_once_whatever_n_is(
    tmp_path: Path, store: Store, n: int
) -> None:
    items = [ranked("a", n), ranked("b", n), ranked("c", n + 1)]
    judges = [simulated("right"), simulated("first", first_bias=1.0)]
    plan = planned(tmp_path, items, "grade-score", data={"options": n}, judges=judges,
                   prompts=["grade-simple", "grade-points"])  # fmt: skip
    frame = asked(plan, store)
    assert {item.id for item in plan.items} == {"a", "b"}, "only items with exactly n answers"
    assert len(frame) == 2 * 2 * 2 * n
    for _, rows in frame.groupby(["item", "judge", "prompt"], observed=True):
        shown = [tuple(text.split("\x1f")) for text in rows["shown"]]
        for slot in range(n):
            assert len({names[slot] for names in shown}) == n
    right, first = (
        estimate_grade_score_measures(frame[frame["judge"] == name]) for name in ("right", "first")
    )
    assert [right[part].value for part in ("grade", "entropy", "choice")] == pytest.approx([1] * 3)
    # Always the first slot: no entropy, and each option chosen once in n trials.
    assert (first["grade"].value, first["entropy"].value) == (0.0, 0.0)
    assert first["choice"].value == pytest.approx(1 / n)


def test_an_unrelated_option_is_one_more_or_stands_for_the_worst(tmp_path: Path) -> None:
    items = [ranked(name, 3) for name in "abcd"]
    for how, shown in (("add", 4), ("replace", 3)):
        plan = planned(tmp_path, items, "grade-score", unrelated=how, prompts=["grade-simple"])
        asks = [p for p in asks_of(plan) if p.ask.item == "a"]
        assert len(asks) == shown
        assert all(len(p.ask.shown) == shown for p in asks)
        slots = Counter(p.ask.shown.index("@unrelated") for p in asks)
        assert slots == dict.fromkeys(range(shown), 1)
        assert all(("rank-3" in p.ask.shown) == (how == "add") for p in asks)
        lent = asks[0].call.inputs.answers[asks[0].ask.shown.index("@unrelated")]
        assert "does a" not in lent


def test_the_grades_of_the_fourth_prompt_are_read_and_its_contradictions_recovered(
    tmp_path: Path, store: Store
) -> None:
    items = [ranked(f"q{n:03}", 3) for n in range(60)]
    plan = planned(tmp_path, items, "grade-score", labels="crossed",
                   judges=[simulated(contradiction_rate=0.2, accuracy=0.7, seed=5)])  # fmt: skip
    frame = asked(plan, store)
    points = frame[frame["prompt"] == "grade-points"]
    found = share_of_choices_against_own_grades(points)
    assert found.n == 180 and found.low is not None and found.high is not None
    assert found.low < 0.2 < found.high
    assert (
        share_of_choices_against_own_grades(frame[frame["prompt"] == "grade-debias"]).value is None
    )
    scores = points[["score_0", "score_1", "score_2"]].to_numpy()
    # In shown order, whatever the slots are called: the pick has 5, or 3 where it contradicts.
    picked = scores[range(len(points)), points["pick"].to_numpy()]
    assert set(picked) == {3.0, 5.0} and scores.max() == 5.0


# A heading that speaks of criteria and an early mention of Option 1: theirs reads the latter.
ECHO = "Selection Criteria: Option 1 is short, 2 is right.\nSelection: Option 2\nExplanation: so."


def test_the_authors_rule_and_ours_read_the_same_replies_apart(
    tmp_path: Path, store: Store
) -> None:
    with JudgeServer(behaviour=say(ECHO)) as server:
        judge = endpoint(server.base_url)
        plan = planned(tmp_path, [ranked("a", 3)], "grade-score", prompts=["grade-debias"],
                       judges=[judge])  # fmt: skip
        assert set(asked(plan, store)["pick"]) == {1}
        done = reread_and_store_verdicts(store, "s", "gradelab")
        assert done.changed == {"ok, another verdict": 3}
        assert set(machines(plan, store)["pick"]) == {0}
        again = planned(tmp_path, [ranked("b", 3)], "grade-score", prompts=["grade-debias"],
                        judges=[judge], reading="gradelab", name="theirs")  # fmt: skip
        assert set(asked(again, store)["pick"]) == {0}


def test_an_option_that_is_not_there_is_unreadable(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=say("Selection: Option 4")) as server:
        plan = planned(tmp_path, [ranked("a", 3)], "grade-score", prompts=["grade-simple"],
                       judges=[endpoint(server.base_url)])  # fmt: skip
        frame = asked(plan, store)
    assert set(frame["status"]) == {"unreadable"}
