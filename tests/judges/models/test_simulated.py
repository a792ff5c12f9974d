"""Simulated judges (docs/coverage.md, "The grid") and the metrics that recover their parameters."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.engine.engine import Engine
from judges.engine.outcome import ReplyOutcome, read_outcome
from judges.models.interface import JudgeCall
from judges.models.simulation.simulated import SIMULATED_FORMATS, SimulatedModel, _draw_margin
from judges.planning.plan import Plan, asks_of, save_plan
from judges.rendering.messages import PromptInputs
from judges.rendering.prompt import built_in_prompts, load_prompt
from metrics.position.position_measures import accuracy, first_share
from studies.domain import Item, JudgeSpec, Preference
from studies.spec.study import study_from_mapping
from studies.store.store import Store
from tests.samples import ALL

Outcome = tuple[tuple[str, ...], ReplyOutcome]
MANY = 600 if ALL else 250
"""Items of a study whose shares are compared with those of the design."""
ASKS = 2 * MANY


def items(count: int, names: str = "xy", best: str = "x") -> tuple[Item, ...]:
    """By design `best` beats every other; x is the longest answer, the last name the shortest."""
    human = (Preference("by-design", tuple(names), best),) if best else ()
    answers = {name: "word " * (2 * len(names) - place) for place, name in enumerate(names)}
    return tuple(Item(f"q{n:04}", f"question {n}", answers, human=human) for n in range(count))


def plan(of: Iterable[Item], prompt: str = "brief-letters", **more: Any) -> Plan:
    settings = {key: more.pop(key) for key in list(more) if key not in STUDY}
    judge = {"name": "sim", "model": "simulated", **settings}
    study = study_from_mapping({"name": "sim", "judges": [judge], "prompts": [prompt], **more})
    return Plan(study, tuple(of), (load_prompt(prompt),), Path())


STUDY = ("labels", "orders", "repeats", "families", "unrelated", "data")


def answers(made: Plan) -> list[Outcome]:
    """Every ask answered and read as the panel would, without a store."""

    async def ask_all() -> list[Outcome]:
        model = SimulatedModel(made.study.families)
        return [
            (planned.ask.shown, read_outcome(planned.call, await model.complete(planned.call)))
            for planned in asks_of(made)
        ]

    return asyncio.run(ask_all())


def picks(made: Plan) -> Iterator[Any]:
    """Who was picked: a contestant, "tie", or None."""
    for shown, read in answers(made):
        pick = read.verdict.pick if read.status == "ok" and read.verdict else None
        yield shown[pick] if isinstance(pick, int) else pick


def slots(made: Plan) -> Counter[Any]:
    return Counter(read.verdict.pick if read.verdict else None for _, read in answers(made))


def near(count: int, n: int, share: float) -> bool:
    """Within 4 standard deviations: a right judge fails once in 16,000."""
    return abs(count - n * share) <= 4 * math.sqrt(n * share * (1 - share))


# ---- the case of the issue ---------------------------------------------------------------------


@pytest.mark.extra
def test_metrics_recover_the_implied_marginals_of_two_thousand_asks(store: Store) -> None:
    # First slot: .3 + .7 x 1/2 = .65. Right: .3 x 1/2 + .7 x .8 = .71.
    made = plan(items(1000), first_bias=0.3, accuracy=0.8, seed=1)
    save_plan(made, store)
    engine = Engine()
    try:
        run = engine.start(made, store)
        assert run.wait(120)
    finally:
        engine.close()
    assert store.status_counts("sim") == {"planned": 2000, "ok": 2000}
    frame = store.frame("sim")
    share, right = first_share(frame), accuracy(frame)
    assert (share.n, right.n) == (2000, 2000)
    assert share.low is not None and share.high is not None and share.low < 0.65 < share.high
    assert right.low is not None and right.high is not None and right.low < 0.71 < right.high
    assert share.high - share.low < 0.06


# ---- the model, rule by rule -------------------------------------------------------------------


def test_a_judge_without_faults_always_picks_the_better_answer() -> None:
    assert set(picks(plan(items(50)))) == {"x"}
    assert set(picks(plan(items(50), accuracy=0))) == {"y"}


def test_the_first_slot_comes_before_everything_else() -> None:
    made = plan(items(50), "mt-bench-pair", first_bias=1, tie_rate=1, length_preference=1)
    assert slots(made) == {0: 100}


def test_first_bias_and_accuracy_have_the_marginals_of_the_design() -> None:
    made = plan(items(MANY), first_bias=0.5, accuracy=0.9, seed=3)
    found = answers(made)
    n = len(found)
    first = sum(read.verdict is not None and read.verdict.pick == 0 for _, read in found)
    right = sum(pick == "x" for pick in picks(made))
    # .5 + .5 x 1/2 = .75; .5 x 1/2 + .5 x .9 = .70
    assert near(first, n, 0.75) and near(right, n, 0.70)


def test_a_tie_rate_is_a_share_of_what_is_not_biased() -> None:
    made = plan(items(MANY), "mt-bench-pair", first_bias=0.2, tie_rate=0.25)
    # .8 x .25 = .20
    assert near(slots(made)["tie"], ASKS, 0.20)


def test_slot_weights_say_where_the_bias_goes() -> None:
    made = plan(
        items(MANY // 2, "wxyz", ""), "brief-options", first_bias=1, slot_weights=[1, 2, 3, 4]
    )
    counts = slots(made)
    assert all(near(counts[slot], ASKS, weight / 10) for slot, weight in enumerate([1, 2, 3, 4]))


def test_a_slot_without_a_weight_is_never_drawn_and_spare_weights_do_not_matter() -> None:
    short = plan(items(60, "wxyz"), "brief-options", first_bias=1, slot_weights=[1, 1])
    assert set(slots(short)) == {0, 1}
    spare = plan(items(200), first_bias=1, slot_weights=[1, 3, 9, 9])
    assert near(slots(spare)[1], 400, 0.75)


@pytest.mark.parametrize(("taste", "liked"), [(0.4, "x"), (-0.4, "y")])
def test_a_length_preference_is_for_the_longer_or_if_negative_the_shorter(
    taste: float, liked: str
) -> None:
    # Nobody knows which is better: seeded strengths, which the accuracy 0.5 washes out.
    made = plan(items(MANY, best=""), length_preference=taste, accuracy=0.5)
    # .4 + .6 x 1/2 = .70
    assert near(sum(pick == liked for pick in picks(made)), ASKS, 0.70)


def test_answers_of_one_length_leave_a_length_preference_nothing_to_like() -> None:
    alike = tuple(replace(item, responses={"x": "same", "y": "size"}) for item in items(100))
    assert set(picks(plan(alike, length_preference=1))) == {"x"}
    counts = slots(plan(alike, length_preference=1))
    assert counts[0] == counts[1] == 100


def test_a_self_preference_is_for_the_one_answer_of_its_own_family() -> None:
    made = plan(
        items(MANY), family="ours", self_preference=0.3, accuracy=0.8, families={"y": "ours"}
    )
    # x is better. y: .3 + .7 x .2 = .44
    assert near(sum(pick == "y" for pick in picks(made)), ASKS, 0.44)
    both = plan(items(50), family="ours", self_preference=1, families={"x": "ours", "y": "ours"})
    assert set(picks(both)) == {"x"}


def test_an_unreadable_rate_is_read_as_unreadable_and_as_nothing_else() -> None:
    found = Counter(read.status for _, read in answers(plan(items(MANY), unreadable_rate=0.15)))
    assert near(found["unreadable"], ASKS, 0.15)
    assert set(found) == {"ok", "unreadable"}


def test_truly_equal_answers_are_picked_evenly_and_never_by_place() -> None:
    equal = tuple(
        replace(item, human=(Preference("by-design", ("x", "y"), "tie"),)) for item in items(MANY)
    )
    found = list(picks(plan(equal)))
    assert near(found.count("x"), ASKS, 0.5) and "tie" not in found
    assert near(slots(plan(equal))[0], ASKS, 0.5)


def test_the_best_of_three_are_picked_evenly_if_two_are_equal() -> None:
    best = (Preference("ann", None, None, ranks={"x": 1, "y": 1, "z": 2}),)
    equal = [replace(item, human=best) for item in items(MANY, "xyz")]
    found = Counter(picks(plan(equal, "brief-options")))
    asked = sum(found.values())
    assert found.keys() == {"x", "y"} and near(found["x"], asked, 0.5)
    assert near(slots(plan(equal, "brief-options"))[0], asked, 1 / 3)


def test_where_nobody_knows_the_truth_seeded_strengths_decide_alike_everywhere() -> None:
    winners = {seed: set(picks(plan(items(20, best=""), seed=seed))) for seed in range(12)}
    assert all(len(names) == 1 for names in winners.values())
    assert {name for names in winners.values() for name in names} == {"x", "y"}


def test_an_unrelated_answer_is_never_the_better_one() -> None:
    made = plan(items(40, "wxyz", "z"), "brief-options", unrelated="add")
    assert set(picks(made)) == {"z"}


def test_a_wrong_pick_among_several_is_any_of_the_others() -> None:
    found = Counter(picks(plan(items(MANY // 2, "wxyz", "w"), "brief-options", accuracy=0.4)))
    # Right .4, each of the three others .2
    assert near(found["w"], ASKS, 0.4)
    assert all(near(found[name], ASKS, 0.2) for name in "xyz")


# ---- seeds, labels, formats --------------------------------------------------------------------


def test_a_seed_reproduces_and_another_one_does_not() -> None:
    def told(seed: int) -> list[Any]:
        return list(picks(plan(items(100), first_bias=0.4, accuracy=0.6, seed=seed)))

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_repeats_are_drawn_anew() -> None:
    found = answers(plan(items(200), first_bias=0.5, accuracy=0.5, repeats=2))
    by_ask = [read.verdict.pick for _, read in found if read.verdict]
    again = sum(one == two for one, two in zip(by_ask[::2], by_ask[1::2], strict=True))
    # First slot with probability .75: two draws agree with .75² + .25² = .625
    assert near(again, 400, 0.625)


def test_crossed_labels_change_what_is_said_and_not_what_is_meant() -> None:
    made = plan(items(100), labels="crossed", first_bias=1)
    assert slots(made) == {0: 200}
    said = {planned.ask.labels for planned in asks_of(made)}
    assert said == {("A", "B"), ("B", "A")}


def formats() -> list[str]:
    prompts = {name: load_prompt(name) for name in built_in_prompts()}
    judging = ("pairwise", "choice", "five-level")
    return [
        n for n, p in prompts.items() if p.protocol in judging and p.verdict in SIMULATED_FORMATS
    ]


@pytest.mark.parametrize("prompt", formats())
@pytest.mark.parametrize("labels", ["plain", "crossed"])
def test_a_verdict_is_read_back_as_it_was_meant_in_every_format(prompt: str, labels: str) -> None:
    of = (
        replace(item, reference="ideal", criteria={"subjective": "1. be good"})
        for item in items(8, "wxyz", "z")
    )
    made = plan(of, prompt, labels=labels, data={"seed": 3})
    found = answers(made)
    assert {read.status for _, read in found} == {"ok"}
    right = [shown.index("z") == read.verdict.pick for shown, read in found
             if "z" in shown and read.verdict]  # fmt: skip
    assert right and all(right)


@pytest.mark.parametrize("prompt", ["brief-letters", "brief-numbers", "label-probability"])
def test_a_simulated_judge_can_be_read_by_its_probabilities(prompt: str) -> None:
    found = answers(plan(items(20), prompt, read="probabilities", labels="crossed"))
    assert {read.status for _, read in found} == {"ok"}
    for shown, read in found:
        assert read.rule == "probabilities" and read.verdict is not None
        assert read.verdict.pick == shown.index("x")
        assert sum(read.verdict.label_probabilities) == pytest.approx(1)
        assert read.verdict.label_probabilities[shown.index("x")] >= 0.5


def test_every_format_it_claims_to_speak_is_one_it_is_tested_in() -> None:
    verdicts = {load_prompt(name).verdict for name in formats()}
    assert verdicts <= set(SIMULATED_FORMATS)
    assert {"overall-response", "selection-option", "mt-bench", "label"} <= verdicts


GRADED = {"graded_signal": 0.8, "graded_first": 0.7, "graded_noise": 1.0}


def test_graded_replies_carry_the_probability_of_the_first_slot():
    made = plan(items(600), read="probabilities", **GRADED)
    read = [(shown, got.verdict) for shown, got in answers(made)]
    logits = [
        math.log(verdict.label_probabilities[0] / verdict.label_probabilities[1])
        * (1 if shown[0] == "x" else -1)
        for shown, verdict in read
    ]
    by_order = {True: [], False: []}
    for (shown, _), logit in zip(read, logits, strict=True):
        by_order[shown[0] == "x"].append(logit)
    # In terms of the better answer: signal + first when it is shown first, signal - first if not.
    assert sum(by_order[True]) / 600 == pytest.approx(1.5, abs=0.15)
    assert sum(by_order[False]) / 600 == pytest.approx(0.1, abs=0.15)
    assert all((v.label_probabilities[0] > 0.5) == (v.pick == 0) for _, v in read)


def test_graded_replies_in_five_levels_are_strong_from_a_logit_on():
    made = plan(items(400), "arena-hard", graded_much=1.0, **GRADED)
    margins = Counter(got.verdict.margin for _, got in answers(made))
    # P(|N(1.5, 1)| > 1) = .698 and P(|N(.1, 1)| > 1) = .320
    assert margins[2] / sum(margins.values()) == pytest.approx((0.698 + 0.320) / 2, abs=0.05)


@pytest.mark.parametrize(
    ("votes", "margin"),
    [
        ([("by-design", "x", 2)], 2),
        ([("by-design", "x", 1), ("human:a", "x", 2)], 1),  # the design comes before people
        ([("human:a", "x", 2), ("human:b", "x", 1)], 1),  # a mean of 1.5 is not much better
        ([("human:a", "x", 2), ("human:b", "x", 2), ("human:c", "x", 1)], 2),
        ([("human:a", "x", 1), ("human:b", "x", 1), ("human:c", "y", 2)], 1),  # other picks
        ([("human:a", "y", 2)], 1),  # the picked answer is not the better one
        ([], 1),
    ],
)
def test_the_margin_is_that_of_the_votes_for_the_picked_answer(
    votes: list[tuple[str, str, int]], margin: int
) -> None:
    human = tuple(Preference(who, ("x", "y"), picked, size) for who, picked, size in votes)
    other = (Preference("human:z", ("x", "w"), "x", 2),) * 3  # about another pair
    item = Item("q", "hello", {"x": "one", "y": "two"}, human=(*human, *other))
    inputs = PromptInputs(item, ("x", "y"), ("one", "two"), ("A", "B"))
    spec = JudgeSpec("s", "simulated")
    call = JudgeCall("key", spec, load_prompt("arena-hard"), inputs, [], {})
    assert _draw_margin(call, 0, random.Random(1)) == margin
    much = replace(call, judge=replace(spec, simulation={"much_rate": 1.0}))
    assert _draw_margin(much, 0, random.Random(1)) == 2
    letters = replace(much, prompt=load_prompt("brief-letters"))
    assert _draw_margin(letters, 0, random.Random(1)) == 1
