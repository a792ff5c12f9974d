"""Describe runs: image descriptions by a judge with vision, written to a new file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.__main__ import main
from judges.judge_errors import PlanError
from judges.operations.image_descriptions import (
    ASPECTS_PROMPT,
    DescribeResult,
    build_describe_plan,
    describe_images_to_file,
    remove_think_blocks,
)
from judges.planning.forecast import IMAGE_TOKENS, forecast_plan
from judges.planning.plan import make_plan
from judges.rendering.prompt import load_prompt
from studies.files.items import read_items
from studies.sources.load import load_items
from studies.spec.study import Study, study_from_mapping
from studies.store.store import Store
from tests.judge_server import Asked, Fault, JudgeServer, containing, say
from tests.judges.small_studies import PRICE, QUICK, endpoint
from tests.page_words import pattern, says

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def write_pictures(folder: Path, count: int = 3) -> Path:
    """Items with one picture more each (0, 1, 2 …); the first has none."""
    (folder / "images").mkdir(exist_ok=True)
    lines = []
    for n in range(count):
        names = [f"images/{n}-{k}.png" for k in range(n)]
        for name in names:
            (folder / name).write_bytes(PIXEL)
        lines.append(
            {"id": f"q{n}", "instruction": f"Write about scene {n}.", "context": f"old {n}",
             "responses": {"x": "one", "y": "two"}, "images": names}
        )  # fmt: skip
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def study(folder: Path, url: str, count: int = 3, **more: Any) -> Study:
    write_pictures(folder, count)
    judges = [endpoint(url, "eye", vision=True), endpoint(url, "reader", model="reader")]
    values = {
        "name": "pictures", "data": {"source": "items.jsonl"}, "judges": judges,
        "prompts": ["brief-letters"], **more,
    }  # fmt: skip
    return study_from_mapping(values, folder=folder)


def done(of: Study, folder: Path, store: Store, prompt: str = "creation-describe", **more: Any):  # type: ignore[no-untyped-def]
    return describe_images_to_file(
        of, "eye", prompt, folder / "new.jsonl", store, settings=QUICK, **more
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def seen(asked: Asked) -> str:
    """What the server was shown: how many images, and whether it was told what to attend to."""
    if "Aspects:" in asked.text:
        scene = asked.text.rsplit("scene ", 1)[1][0]
        return f"the colours of scene {scene}"
    attended = asked.text.rsplit("special attention to this:\n", 1)
    return f"Images: {asked.images}. {attended[1].strip() if len(attended) > 1 else ''}".strip()


# ---- what is written ---------------------------------------------------------------------------


def test_every_item_with_images_gets_a_description_and_the_original_stays(
    tmp_path: Path, store: Store
) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        before = (tmp_path / "items.jsonl").read_bytes()
        told = done(of, tmp_path, store)
        calls, dollars = server.bill.totals.calls, float(server.bill.totals.dollars)
    assert isinstance(told, DescribeResult)
    assert (told.described, told.without_images, told.failed, calls) == (2, 1, {}, 2)
    assert told.dollars == pytest.approx(dollars) and dollars > 0
    assert (tmp_path / "items.jsonl").read_bytes() == before
    contexts = {item.id: item.context for item in read_items(tmp_path / "new.jsonl")}
    assert contexts == {"q0": "old 0", "q1": "Images: 1.", "q2": "Images: 2."}
    stamps = [line.get("meta", {}).get("context_by", "") for line in lines(tmp_path / "new.jsonl")]
    sha = load_prompt("creation-describe").sha[:8]
    assert stamps == ["", *[f"eye, creation-describe version 1 ({sha})"] * 2]


def test_the_new_file_can_be_judged_by_one_who_cannot_see(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        done(of, tmp_path, store)
    values = {"name": "again", "data": {"source": "new.jsonl"}, "prompts": ["brief-letters"],
              "judges": [{"model": "simulated"}]}  # fmt: skip
    plan = make_plan(study_from_mapping(values, folder=tmp_path))
    assert {item.context for item in plan.items} == {"old 0", "Images: 1.", "Images: 2."}


def test_a_query_specific_description_is_told_aspects_from_the_question_alone(
    tmp_path: Path, store: Store
) -> None:
    asked: list[Asked] = []

    def note(one: Asked) -> str:
        asked.append(one)
        return seen(one)

    with JudgeServer(behaviour=note) as server:
        of = study(tmp_path, server.base_url)
        told = done(of, tmp_path, store, "creation-describe-query", aspects_judge="reader")
    assert told.described == 2
    first = [one for one in asked if "Aspects:" in one.text]
    assert {one.model for one in first} == {"reader"} and {one.images for one in first} == {0}
    contexts = [line["context"] for line in lines(tmp_path / "new.jsonl")]
    assert contexts[1:] == [f"Images: {n}. the colours of scene {n}" for n in (1, 2)]
    for one in asked:
        if one not in first:
            assert "Write about scene" not in one.text, "the question is never given away"


def test_a_file_elsewhere_carries_its_pictures_with_it(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        out = tmp_path / "elsewhere" / "new.jsonl"
        describe_images_to_file(of, "eye", "creation-describe", out, store, settings=QUICK)
    pixel = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    assert [item.images for item in read_items(out)] == [(), (pixel,), (pixel, pixel)]
    again = build_describe_plan(of, of.judges[0], load_prompt("creation-describe"), read_items(out))
    assert forecast_plan(again).asks == 2


def test_thoughts_are_no_description(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=say("<think>hm</think>\nA red door.")) as server:
        done(study(tmp_path, server.base_url), tmp_path, store)
    assert lines(tmp_path / "new.jsonl")[1]["context"] == "A red door."


# ---- the engine's promises ---------------------------------------------------------------------


def test_a_second_describing_asks_nothing_and_writes_the_same(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        first = done(of, tmp_path, store, "creation-describe-query")
        text, calls = (tmp_path / "new.jsonl").read_bytes(), server.bill.totals.calls
        assert done(of, tmp_path, store, "creation-describe-query") == first
        assert server.bill.totals.calls == calls == 4
    assert (tmp_path / "new.jsonl").read_bytes() == text


def test_a_replaced_picture_is_described_again(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        done(of, tmp_path, store)
        (tmp_path / "images" / "1-0.png").write_bytes(PIXEL + b"other")
        done(of, tmp_path, store)
        assert server.bill.totals.calls == 2 + 1


def test_what_fails_keeps_its_old_description_and_is_asked_again(
    tmp_path: Path, store: Store
) -> None:
    broken = [containing("Number of images: 2.", Fault("server_error"))]
    with JudgeServer(behaviour=seen, rules=broken) as server:
        of = study(tmp_path, server.base_url)
        told = done(of, tmp_path, store)
        assert told.described == 1 and list(told.failed) == ["q2"]
        assert "creation-describe: error" in told.failed["q2"]
        assert [line["context"] for line in lines(tmp_path / "new.jsonl")][2] == "old 2"
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        whole = done(of, tmp_path, store)
    assert whole.described == 2 and whole.failed == {}


def test_a_budget_holds_for_aspects_and_descriptions_together(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url, 8, budget_usd=0.004, concurrency=1)
        told = done(of, tmp_path, store, "creation-describe-query")
        spent = float(server.bill.totals.dollars)
    assert spent <= 0.004 and told.dollars == pytest.approx(spent)
    assert told.failed and "budget reached" in told.reason


def test_a_budget_holds_for_aspects_that_are_asked_for_later(tmp_path: Path, store: Store) -> None:
    with JudgeServer(behaviour=seen) as server:
        judges = [endpoint(server.base_url, "eye", vision=True, max_tokens=20)]
        of = study(tmp_path, server.base_url, 8, judges=judges)
        first = done(of, tmp_path, store, "creation-describe-query")
        of = study(tmp_path, server.base_url, 12, judges=judges, budget_usd=first.dollars)
        told = done(of, tmp_path, store, "creation-describe-query")
        assert told.dollars == pytest.approx(float(server.bill.totals.dollars))
    assert told.dollars == first.dollars and "budget reached" in told.reason


def test_the_forecast_of_a_describing_counts_pictures(tmp_path: Path) -> None:
    of = study(tmp_path, "http://127.0.0.1:9/v1")
    plan = build_describe_plan(
        of, of.judges[0], load_prompt("creation-describe"), load_items(of.data, of.folder)
    )
    told = forecast_plan(plan)
    assert told.asks == 2 and told.prompt_tokens > 3 * IMAGE_TOKENS
    assert told.dollars is not None and told.dollars > 0 and PRICE["input"] == 2.0


# ---- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "prompt", "out", "told"),
    [
        ("reader", "creation-describe", "new.jsonl", "'reader' has no vision; set vision: true"),
        ("nobody", "creation-describe", "new.jsonl", "no judge named 'nobody' in this study"),
        ("eye", "brief-letters", "new.jsonl", "'brief-letters' does not describe images"),
        ("eye", ASPECTS_PROMPT, "new.jsonl", "does not describe images"),
        ("eye", "creation-describe", "items.jsonl", "is the original"),
        ("eye", "creation-describe", "other.jsonl", "was not written by 'describe'"),
    ],
)
def test_what_cannot_be_described_is_refused_before_anything_is_asked(
    tmp_path: Path, store: Store, judge: str, prompt: str, out: str, told: str
) -> None:
    (tmp_path / "other.jsonl").write_text('{"id": "a"}\n')
    with JudgeServer(behaviour=seen) as server:
        of = study(tmp_path, server.base_url)
        with pytest.raises(PlanError, match=told):
            describe_images_to_file(of, judge, prompt, tmp_path / out, store, settings=QUICK)
        assert server.bill.totals.calls == 0


def test_a_slice_without_images_has_nothing_to_describe(tmp_path: Path, store: Store) -> None:
    of = study(tmp_path, "http://127.0.0.1:9/v1", 1)
    with pytest.raises(PlanError, match=pattern("image", "describe")):
        done(of, tmp_path, store)


# ---- the command -------------------------------------------------------------------------------


def test_the_command_describes_and_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer(behaviour=seen) as server:
        write_pictures(tmp_path)
        values = {"name": "pictures", "data": {"source": "items.jsonl"},
                  "judges": [endpoint(server.base_url, "eye", vision=True)]}  # fmt: skip
        file = tmp_path / "study.yaml"
        file.write_text(yaml.safe_dump(values), encoding="utf-8")
        out = tmp_path / "new.jsonl"
        command = ["describe", str(file), "--judge", "eye", "--out", str(out)]
        assert main(command) == 0
        assert says(capsys.readouterr().out, "2", "described, 1", "no", "0 failed")
        assert main(command) == 0
        assert server.bill.totals.calls == 2
        assert main([*command[:-1], str(tmp_path / "items.jsonl")]) == 2
    assert len(lines(out)) == 3


@pytest.mark.parametrize(
    ("reply", "rest"),
    [
        ("<think>hm</think>\nA red door.", "A red door."),
        ("A <think>x</think> B <think>y</think> C", "ABC"),
        (" plain ", "plain"),
        ("<think>never closed", "<think>never closed"),
        ("</think> text", "</think> text"),
        ("<think></think>", ""),
        ("", ""),
    ],
)
def test_closed_blocks_of_thought_are_removed(reply, rest):
    assert remove_think_blocks(reply) == rest
