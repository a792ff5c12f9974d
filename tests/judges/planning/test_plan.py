"""Plans: asks, their keys (equal requests have equal keys), forecasts, and refused studies."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judges.judge_errors import PlanError
from judges.planning.forecast import IMAGE_TOKENS, SIMULATED_SECONDS, forecast_plan
from judges.planning.plan import (
    Plan,
    PlannedAsk,
    asks_of,
    identity_of,
    image_url,
    load_stored_plan,
    make_plan,
    plan_sha,
    render_call,
    save_plan,
)
from judges.rendering.messages import fence_part_of_call_key, make_answer_fence
from judges.rendering.prompt import load_prompt, parse_prompt
from studies.domain import Item
from studies.errors import StudyError
from studies.spec.study import study_from_mapping
from studies.store.store import PlanChange, Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, run_through, study_plan
from tests.page_words import pattern

ROOT = Path(__file__).parents[3]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OWN_PROMPT = """
name: own
messages: [{user: "$instruction [$label_first] $first [$label_second] $second <$fence>"}]
verdict: label
"""
JUDGE = {"name": "gpt", "model": "gpt-4o", "base_url": "http://127.0.0.1:9000/v1"}


def items(count: int = 3, names: str = "xy") -> tuple[Item, ...]:
    return tuple(
        Item(f"q{n}", f"question {n}", {name: f"{name} answers {n}" for name in names})
        for n in range(count)
    )


def plan(of: tuple[Item, ...] | None = None, folder: Path = Path(), **values: Any) -> Plan:
    """A plan without files: the study's fields as a study file has them."""
    study = study_from_mapping(
        {"name": "s", "judges": [JUDGE], "prompts": ["brief-letters"], **values}
    )
    prompts = tuple(load_prompt(name) for name in study.prompts)
    return Plan(study, of if of is not None else items(), prompts, folder)


def asks(made: Plan) -> list[PlannedAsk]:
    return list(asks_of(made))


def keys(made: Plan) -> set[str]:
    return {planned.ask.key for planned in asks_of(made)}


def one_key(of: Item | None = None, prompt: str = OWN_PROMPT, **values: Any) -> str:
    """The key of the first showing of one pair."""
    made = replace(plan((of or items(1)[0],), **values), prompts=(parse_prompt(prompt),))
    return next(p.ask.key for p in asks_of(made) if p.ask.shown == ("x", "y"))


def judged_by(**more: Any) -> dict[str, Any]:
    return {"judges": [{**JUDGE, **more}]}


# ---- keys --------------------------------------------------------------------------------------


def test_a_key_is_the_same_on_every_machine_for_ever() -> None:
    """If this fails, every stored answer would be paid for again."""

    def sha(value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    template = "$instruction [$label_first] $first [$label_second] $second <$fence>"
    prompt = sha(["own", 1, "pairwise", [["user", template]], "label", ""])
    fence = sha([prompt, "q0", ["x", "y"]])[:8]
    request = {
        "endpoint": "http://127.0.0.1:9000/v1", "model": "gpt-4o", "prompt": prompt, "repeat": 0,
        "messages": [
            {"role": "user", "content": f"question 0 [A] x answers 0 [B] y answers 0 <{fence}>"}
        ],
        "parameters": {"max_tokens": 4096, "temperature": 0.0},
        "shown": ["x", "y"], "labels": ["A", "B"],
    }  # fmt: skip
    assert one_key() == sha(request)[:40] == "cd78ebf7b7fa9b614174eae4fa57e0d42a9faebc"


def test_the_fence_that_is_sent_depends_on_the_answers_and_the_key_uses_its_own() -> None:
    """Replies stored under earlier fences keep their keys."""
    made = replace(plan(items(1)), prompts=(parse_prompt(OWN_PROMPT),))
    for planned in asks(made):
        call = planned.call
        sent = call.messages[-1]["content"]
        assert f"<{make_answer_fence(call.prompt, call.inputs)}>" in sent
        assert fence_part_of_call_key(call.prompt, call.inputs) not in sent


@pytest.mark.extra
def test_a_key_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """A fresh process, another hash seed, another folder, another judge name."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.path.insert(0, sys.argv[2])\n"
        "import test_plan as t\n"
        "print(' '.join(sorted(t.keys(t.everything()))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(Path(__file__).parent)],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
    )  # fmt: skip
    assert run.stdout.split() == sorted(keys(everything()))


def everything() -> Plan:
    """Pairs and options, crossed, repeated, with noise and an unrelated answer."""
    return plan(
        items(5, "xyz"), prompts=["visit-reference-free", "grade-simple"], labels="crossed",
        repeats=2, noise_floor=0.5, unrelated="add",
        judges=[JUDGE, {"name": "sim", "model": "simulated", "first_bias": 0.3}],
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"judges": [{**JUDGE, "model": "gpt-5"}]},
        {"judges": [{**JUDGE, "base_url": "http://127.0.0.1:9001/v1"}]},
        {"judges": [{**JUDGE, "temperature": 0.5}]},
        {"judges": [{**JUDGE, "temperature": None}]},
        {"judges": [{**JUDGE, "top_p": 0.5}]},
        {"judges": [{**JUDGE, "seed": 1}]},
        {"judges": [{**JUDGE, "max_tokens": 10}]},
        {"judges": [{**JUDGE, "reasoning_effort": "low"}]},
        {"judges": [{**JUDGE, "read": "probabilities"}]},
        {"judges": [{**JUDGE, "extra_body": {"min_p": 0.1}}]},
        {"of": replace(items(1)[0], instruction="another question")},
        {"of": replace(items(1)[0], id="q7")},
        {"of": replace(items(1)[0], responses={"x": "another answer", "y": "y answers 0"})},
        {"prompt": OWN_PROMPT.replace("[{user", "[{system: Judge.}, {user")},
        {"prompt": OWN_PROMPT.replace("own", "other")},
        {"prompt": OWN_PROMPT + "version: 2"},
    ],
    ids=str,
)
def test_a_key_changes_with_each_part_of_the_request(change: dict[str, Any]) -> None:
    assert one_key(**change) != one_key()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another study"},
        {"judges": [{**JUDGE, "name": "another name"}]},
        {"judges": [{**JUDGE, "api_key_env": "ANOTHER_KEY"}]},
        {"judges": [{**JUDGE, "price": {"input": 1, "output": 2}}]},
        {"judges": [{**JUDGE, "family": "openai"}]},
        {"judges": [JUDGE, {"name": "second", "model": "simulated"}]},
        {"concurrency": 99},
        {"budget_usd": 1},
        {"combine": "strict"},
        {"reading": "last"},
        {"unreadable": "tie"},
        {"noise_floor": 1},
        {"repeats": 3},
        {"families": {"x": "openai"}},
        {"data": {"seed": 5}},
        {"of": replace(items(1)[0], category="maths", meta={"a": "b"})},
        {"prompt": OWN_PROMPT + "source: a paper\n# and a remark"},
    ],
    ids=str,
)
def test_a_key_changes_with_nothing_else(change: dict[str, Any]) -> None:
    assert one_key(**change) == one_key()


def test_a_plan_without_prompts_judges_no_single_answers() -> None:
    made = plan(prompts=["pass-fail"])
    assert made.judges_single_answers and not replace(made, prompts=()).judges_single_answers


def test_the_two_orders_and_the_two_labellings_have_keys_of_their_own() -> None:
    crossed = {
        key for seed in range(8) for key in keys(plan(labels="crossed", data={"seed": seed}))
    }
    # 3 items x 2 orders x 2 labellings: with eight seeds every pair is crossed in some.
    assert len(crossed) == 12 and keys(plan()) < crossed


def test_a_repeat_sends_the_same_bytes_under_another_key() -> None:
    made = asks(plan(items(1), prompts=["visit-reference-free"], repeats=3, orders="one"))
    assert len({p.ask.key for p in made}) == 3
    assert len({json.dumps(p.call.messages) for p in made}) == 1
    assert [p.ask.repeat for p in made] == [0, 1, 2]


def test_a_noise_repeat_is_the_ask_a_further_repeat_would_be() -> None:
    noisy = keys(plan(noise_floor=1))
    assert noisy == keys(plan(repeats=2))


def test_a_simulated_judge_is_known_by_its_settings_alone() -> None:
    def sim(**more: Any) -> set[str]:
        judges = [{"name": "sim", "model": "simulated", "first_bias": 0.3, **more}]
        return keys(plan(judges=judges, families={"x": "ours"}))

    assert sim() == sim(name="other") == sim(family="ours")
    assert not sim() & sim(first_bias=0.4) and not sim() & sim(seed=1)
    # Whoever prefers its family answers otherwise in another one.
    assert not sim(self_preference=1) & sim(self_preference=1, family="ours")


def test_neither_a_path_nor_the_name_of_a_key_is_in_a_request(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PIXEL)
    of = tuple(replace(item, images=("a.png",)) for item in items())
    made = plan(of, tmp_path, judge_sees="images", prompts=["creation-subjective"],
                **judged_by(vision=True, api_key_env="SECRET_NAME"))  # fmt: skip
    told = json.dumps([p.request for p in asks_of(made)])
    assert "SECRET_NAME" not in told and str(tmp_path) not in told


# ---- what is asked -----------------------------------------------------------------------------


def test_a_stored_ask_is_rendered_again_to_the_same_request() -> None:
    made = everything()
    by_id = {item.id: item for item in made.items}
    for planned in asks_of(made):
        assert render_call(made, planned.ask, by_id) == planned.call


def test_every_judge_is_asked_the_same_with_every_prompt() -> None:
    judges = [{**JUDGE, "name": name} for name in "ab"]
    made = asks(plan(judges=judges, prompts=["brief-letters", "mt-bench-pair"]))
    # 2 judges x 2 prompts x 3 items x 2 orders
    assert len(made) == 24
    by_judge = [
        [(p.ask.prompt, p.ask.item, p.ask.shown) for p in made if p.ask.judge == name]
        for name in "ab"
    ]
    assert by_judge[0] == by_judge[1] and len(set(by_judge[0])) == 12


def test_items_come_in_a_seeded_shuffle() -> None:
    order = [p.ask.item for p in asks_of(plan(items(30), orders="one"))]
    assert order != sorted(order) and set(order) == {f"q{n}" for n in range(30)}
    assert order == [p.ask.item for p in asks_of(plan(items(30), orders="one"))]


def test_a_judge_that_reads_probabilities_is_asked_for_one_token() -> None:
    (first, *_) = asks(plan(**judged_by(read="probabilities")))
    assert first.call.parameters == {
        "max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": 20
    }  # fmt: skip
    assert first.call.messages[-1]["role"] == "assistant"


def test_an_answer_of_another_item_plays_unrelated() -> None:
    for planned in asks(plan(items(4, "xyz"), prompts=["grade-simple"], unrelated="add")):
        slot = planned.ask.shown.index("@unrelated")
        lent = planned.call.inputs.answers[slot]
        assert planned.ask.unrelated_item != planned.ask.item
        assert lent.endswith(f"answers {planned.ask.unrelated_item[1:]}")


def pictured(count: int) -> tuple[Item, ...]:
    """Items with a picture and criteria, as creation prompts need them."""
    criteria = {"subjective": "1. be good", "factuality": "1. a dot"}
    return tuple(replace(item, images=("a.png",), criteria=criteria) for item in items(count))


def test_a_judge_that_sees_gets_images_as_data_urls(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PIXEL)
    of = (replace(pictured(1)[0], images=("a.png", "https://host/b.png"), context="a dot"),)
    values = {"prompts": ["creation-subjective"], "judge_sees": "images"}
    seeing = asks(plan(of, tmp_path, **values, **judged_by(vision=True)))[0].call
    urls = [p["image_url"]["url"] for p in seeing.messages[-1]["content"] if "image_url" in p]
    assert urls == [
        "data:image/png;base64," + base64.b64encode(PIXEL).decode(), "https://host/b.png"
    ]  # fmt: skip
    blind = asks(plan(of, tmp_path, **values))[0].call
    assert "a dot" in blind.messages[-1]["content"]


def test_another_picture_is_another_key(tmp_path: Path) -> None:
    of = pictured(1)
    seen = []
    for n in range(2):
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "a.png").write_bytes(PIXEL + b"\0" * n)
        made = plan(of, folder, judge_sees="images", prompts=["creation-subjective"],
                    **judged_by(vision=True))  # fmt: skip
        seen.append(keys(made))
    assert all(seen) and not seen[0] & seen[1]


def test_an_image_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=pattern("image 'gone.png' cannot", "No such")):
        image_url("gone.png", tmp_path)


# ---- refused before money is spent -------------------------------------------------------------


def made_from(folder: Path, **values: Any) -> Plan:
    lines = [
        {"id": "q1", "instruction": "i", "responses": {"x": "a", "y": "b"}, "reference": "r"},
        {"id": "q2", "instruction": "i", "responses": {"x": "a", "y": ""},
         "criteria": {"subjective": "s"}},
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    (folder / "own.yaml").write_text(OWN_PROMPT.replace("own", "brief-letters"), encoding="utf-8")
    by_name = "name: ab\nmessages: [{user: '{answer_a} {answer_b} $closing'}]\nverdict: mt-bench"
    (folder / "ab.yaml").write_text(by_name, encoding="utf-8")
    study = {
        "name": "s", "data": {"source": "items.jsonl"}, "judges": [JUDGE],
        "prompts": ["brief-letters"], **values,
    }  # fmt: skip
    return make_plan(study_from_mapping(study, folder=folder))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"judges": []}, "names no judge"),
        ({"prompts": []}, "names no prompt"),
        ({"protocol": "single"}, "none of the study's prompts has the protocol single"),
        ({"prompts": ["visit-extraction"]}, "has the protocol extraction and gives no verdict"),
        ({"prompts": ["brief-letters", "own.yaml"]}, "two prompts are named 'brief-letters@"),
        ({"contestants": ["x"]}, "prompt 'brief-letters' has nothing to judge"),
        ({"prompts": ["creation-subjective"]}, "prompt 'creation-subjective' has nothing to judge"),
        ({"prompts": ["visit-reference-backed"], "contestants": ["x", "@reference"]},
         "shows the judge the reference, but @reference is"),
        ({"prompts": ["visit-reference-backed"], "pairing": "baseline", "baseline": "@reference"},
         "shows the judge the reference, but @reference is"),
        ({"prompts": ["ab.yaml"], "labels": "crossed"}, "labels: crossed needs $first"),
        ({"prompts": ["arena-hard"], "judges": [{**JUDGE, "read": "probabilities"}]},
         "no single-token labels"),
        ({"judges": [{"model": "simulated", "tie_rate": 0.1}]}, "offers no tie"),
        ({"prompts": ["creation-factuality"]}, "no factuality criteria in any item"),
        ({"judge_sees": "images", "preset": "creation-mmbench"}, "no judge has vision: true"),
        ({"judge_sees": "images"}, "no judge has vision: true"),
        ({"judge_sees": "images", "judges": [{**JUDGE, "vision": True}]},
         "no prompt of the study shows $images"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_early(
    values: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises((PlanError, StudyError)) as error:
        made_from(tmp_path, **values)
    assert told in str(error.value)


def test_the_reference_may_help_a_judge_where_it_does_not_play(tmp_path: Path) -> None:
    made = made_from(tmp_path, prompts=["visit-reference-backed"])
    assert "r" in asks(made)[0].call.messages[-1]["content"]


# ---- saving ------------------------------------------------------------------------------------


def test_a_plan_saved_again_is_left_alone_and_a_changed_one_is_told(store: Store) -> None:
    assert save_plan(plan(), store) == PlanChange(0, 0, 6)
    assert save_plan(plan(), store) == PlanChange(6, 0, 0)
    assert save_plan(plan(items(2)), store) == PlanChange(4, 2, 0)
    assert {ask.key for ask in store.asks("s")} == keys(plan(items(2)))


def test_a_stored_plan_needs_neither_its_data_nor_its_prompt_files(
    store: Store, tmp_path: Path
) -> None:
    made = made_from(tmp_path, prompts=["arena-hard", "ab.yaml", "mt-bench-single"])
    (tmp_path / "other-name.yaml").write_text((tmp_path / "ab.yaml").read_text(), encoding="utf-8")
    made = made_from(tmp_path, prompts=["arena-hard", "other-name.yaml", "mt-bench-single"],
                     protocol="pairwise")  # fmt: skip
    save_plan(made, store)
    for path in tmp_path.glob("*.*l"):
        path.unlink()
    again = load_stored_plan(store, "s")
    assert [prompt.sha for prompt in again.prompts] == [made.prompts[0].sha]
    assert again.prompts[0].name == "ab", "the file's name is not the prompt's"
    ask = next(store.asks("s"))
    items_by_id = {item.id: item for item in again.items}
    assert render_call(again, ask, items_by_id) == render_call(made, ask, items_by_id)


def test_the_hash_of_a_plan_changes_with_study_data_and_prompts() -> None:
    hashes = {
        plan_sha(made)
        for made in (plan(), plan(items(2)), plan(repeats=2), plan(prompts=["brief-numbers"]))
    }
    assert len(hashes) == 4
    assert plan_sha(plan()) == plan_sha(plan())


def test_the_hash_of_a_plan_changes_with_an_image_that_a_judge_sees(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"

    def hashes(content: bytes) -> list[str]:
        picture.write_bytes(content)
        sights = [("images", True), ("images", False), ("context", True)]
        return [
            plan_sha(plan(pictured(2), tmp_path, judge_sees=sees, **judged_by(vision=vision)))
            for sees, vision in sights
        ]

    old, new, again = hashes(PIXEL), hashes(PIXEL + b"other"), hashes(PIXEL)
    assert old == again
    assert [one == other for one, other in zip(old, new, strict=True)] == [False, True, True]


def test_the_forecast_counts_asks_tokens_and_dollars() -> None:
    made = plan(noise_floor=1, judges=[{**JUDGE, "price": {"input": 2.0, "output": 8.0}}])
    told = forecast_plan(made)
    sent = [p.call.messages for p in asks_of(made)]
    tokens = sum(round(sum(len(m["content"]) for m in messages) / 4.2) for messages in sent)
    # 3 items x 2 orders, each again for the noise floor; a reply is reckoned at 250 tokens.
    assert (told.asks, told.noise) == (12, 6)
    assert (told.prompt_tokens, told.completion_tokens) == (tokens, 12 * 250)
    assert told.dollars == pytest.approx((tokens * 2 + 3000 * 8) / 1e6)


def test_a_price_nobody_knows_is_unknown_and_never_nothing() -> None:
    unknown = {**JUDGE, "model": "a-model-of-nobody"}
    assert forecast_plan(plan(judges=[unknown])).dollars is None
    assert forecast_plan(plan(judges=[{"model": "simulated"}])).dollars == 0.0
    assert forecast_plan(plan(judges=[{"model": "simulated"}, unknown])).dollars is None


def test_a_judge_that_says_one_token_is_reckoned_at_one() -> None:
    assert forecast_plan(plan(**judged_by(read="probabilities"))).completion_tokens == 6


def test_what_is_answered_is_left_out_of_the_forecast() -> None:
    made = plan()
    pending = set(sorted(keys(made))[:2])
    assert forecast_plan(made, pending).asks == 2


def test_judges_are_asked_side_by_side_so_the_slowest_decides() -> None:
    # 6 asks of 3 s each, 16 at once.
    one = forecast_plan(plan(judges=[JUDGE])).seconds
    assert one == pytest.approx(6 * 3 / 16)
    elsewhere = {**JUDGE, "name": "b", "base_url": "http://127.0.0.1:9001/v1"}
    other_key = {**JUDGE, "name": "b", "api_key_env": "ANOTHER"}
    for other in (elsewhere, other_key):
        assert forecast_plan(plan(judges=[JUDGE, other])).seconds == one
    # Two models at one endpoint share its 16 calls in flight.
    assert forecast_plan(plan(judges=[JUDGE, {**JUDGE, "name": "b"}])).seconds == 2 * one


def test_simulated_judges_are_computed_one_after_the_other() -> None:
    both = [{"name": name, "model": "simulated"} for name in "ab"]
    alone, together = (forecast_plan(plan(judges=judges)) for judges in (both[:1], both))
    assert alone.seconds == pytest.approx(alone.asks * SIMULATED_SECONDS)
    assert together.seconds == pytest.approx(2 * alone.seconds)
    slow = forecast_plan(plan(judges=[JUDGE])).seconds
    assert forecast_plan(plan(judges=[*both, JUDGE])).seconds == slow, "in parallel with the others"


@pytest.mark.extra
def test_the_forecast_of_simulated_judges_is_near_the_time_of_a_run(
    store: Store, tmp_path: Path
) -> None:
    judges = [{"name": name, "model": "simulated"} for name in "abcd"]
    made = study_plan(tmp_path, judges, items=250, store=store)
    told, began = forecast_plan(made).seconds, time.monotonic()
    run_through(made, store)
    took = time.monotonic() - began
    assert took / 5 < told < 5 * took, (told, took)  # 0.5 ms a call and judges in parallel: 1/15


def test_a_picture_is_reckoned_as_a_picture_and_not_as_its_letters(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PIXEL * 1000)
    of = pictured(1)
    values = {"prompts": ["creation-subjective"], "judge_sees": "images"}
    seen = forecast_plan(plan(of, tmp_path, **values, **judged_by(vision=True))).prompt_tokens
    read = forecast_plan(plan(of, tmp_path, prompts=["creation-subjective"])).prompt_tokens
    assert seen == pytest.approx(read + 2 * IMAGE_TOKENS, abs=2)


def test_two_versions_of_a_prompt_are_compared_and_share_stored_replies(tmp_path):
    (tmp_path / "items.jsonl").write_text(
        json.dumps({"id": "1", "instruction": "?", "responses": {"x": "a", "y": "b"}})
    )
    first = load_prompt("brief-letters")
    second = first.yaml.replace("version: 1", "version: 2")
    assert second != first.yaml
    (tmp_path / "v2.yaml").write_text(second, encoding="utf-8")
    values = {"name": "s", "data": {"source": "items.jsonl"}, "judges": [JUDGE]}
    one = make_plan(study_from_mapping({**values, "prompts": ["brief-letters"]}, folder=tmp_path))
    two = make_plan(
        study_from_mapping({**values, "prompts": ["brief-letters", "v2.yaml"]}, folder=tmp_path)
    )
    assert [prompt.name for prompt in two.prompts] == ["brief-letters@1", "brief-letters@2"]
    keys = {name: {a.ask.key for a in asks_of(two) if a.ask.prompt == name}
            for name in ("brief-letters@1", "brief-letters@2")}  # fmt: skip
    assert keys["brief-letters@1"] == {a.ask.key for a in asks_of(one)}
    assert keys["brief-letters@1"].isdisjoint(keys["brief-letters@2"])
    store = Store(tmp_path / "store.db")
    save_plan(two, store)
    assert load_stored_plan(store, "s").prompt("brief-letters@2").version == 2


@pytest.mark.parametrize(("calls", "measured"), [(4, False), (5, True)])
def test_the_speed_of_an_endpoint_is_known_from_five_calls_on(
    calls: int, measured: bool, store: Store, tmp_path: Path
) -> None:
    with JudgeServer(latency=0.01) as server:
        made = study_plan(tmp_path, [endpoint(server.base_url)], items=calls, store=store)
        run_through(made, store)
    (judge,) = made.study.judges
    rate = store.endpoint_throughput(identity_of(judge, made.study.families))
    assert (rate is not None) == measured
    assert rate is None or rate[1] < 100, "calls a second, each of 10 ms at least"
