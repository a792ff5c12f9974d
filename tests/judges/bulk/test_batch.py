"""Batch files: each reply is stored once, in any order and after failures."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from judges.__main__ import main
from judges.bulk import batch_api
from judges.bulk.batch_api import collect_batches, read_submitted_batches, submit_batches
from judges.bulk.batch_files import batch_files_by_judge, export_batch, import_batch
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, save_plan
from studies.store.queries.run_costs import attempt_totals
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, NoCache, containing, judge
from tests.judges.bulk.batch_stand_in import BatchServer, client, collected, rows, submitted
from tests.judges.small_studies import PRICE, QUICK, endpoint, engine, study_plan, written_study
from tests.page_words import pattern
from tests.samples import ALL

ASKS = 2_000 if ALL else 100


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    rules = [containing("question 13\n", Fault("context_overflow"))]
    with JudgeServer(cache=NoCache(), behaviour=judge("longer"), rules=rules) as made:
        yield made


def a_plan(folder: Path, server: JudgeServer, asks: int = 40, **more: Any) -> Plan:
    return study_plan(folder, [endpoint(server.base_url)], items=asks, **more)


def through_the_batch_api(
    plan: Plan, store: Store, folder: Path, batches: BatchServer, **limits: int
) -> None:
    import_batch(plan, store, collected(plan, store, folder, batches, **limits))


def test_a_batch_gives_the_store_that_a_live_run_gives(
    server: JudgeServer, batches: BatchServer, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, ASKS)
    live, batched = Store(tmp_path / "live.db"), Store(tmp_path / "batch.db")
    for store in (live, batched):
        save_plan(plan, store)
    with engine() as running:
        assert running.start(plan, live, settings=QUICK).wait(120)
    batches.shuffle, batches.repeat_share = True, 0.1
    batches.expire_share, batches.lose_share = 0.1, 0.05
    through_the_batch_api(plan, batched, tmp_path / "first", batches, most_lines=ASKS * 7 // 20)
    pending = batched.status_counts("small")["pending"]
    assert 0.05 * ASKS < pending < 0.3 * ASKS  # expired and lost lines stay pending
    batches.expire_share = batches.lose_share = 0.0
    through_the_batch_api(plan, batched, tmp_path / "second", batches)
    assert batched.status_counts("small").get("pending", 0) == 0
    assert rows(batched) == rows(live)
    assert live.status_counts("small")["too_long"] == 1
    live.close()
    batched.close()


def test_a_batch_costs_half_and_the_ledger_says_so(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 20, store=store)
    through_the_batch_api(plan, store, tmp_path / "out", batches)
    whole = sum(
        (j.usage.prompt or 0) * PRICE["input"] + (j.usage.completion or 0) * PRICE["output"]
        for j in store.judgements("small")
    )
    assert sum(line.cost for line in attempt_totals(store, "small")) == pytest.approx(whole / 2e6)


def test_files_are_cut_at_the_limits_and_hold_each_ask_once(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 25, store=store)
    files = export_batch(plan, store, tmp_path / "by lines", most_lines=10)
    assert [file.lines for file in files] == [10, 10, 5]
    small = export_batch(plan, store, tmp_path / "by bytes", most_bytes=5_000)
    assert all(file.bytes <= 5_000 for file in small)
    ids = [
        json.loads(line)["custom_id"]
        for file in files
        for line in file.path.read_text("utf-8").splitlines()
    ]
    assert sorted(ids) == sorted(ask.key for ask in store.asks("small"))
    line = json.loads(files[0].path.read_text("utf-8").splitlines()[0])
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["model"] == "judge"


def test_what_is_stored_is_not_exported_again(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 5, store=store)
    through_the_batch_api(plan, store, tmp_path / "out", batches)
    assert export_batch(plan, store, tmp_path / "again") == []


def test_a_crash_between_creating_and_noting_makes_no_second_batch(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 5, store=store)
    export_batch(plan, store, tmp_path / "out")
    (files,) = batch_files_by_judge(tmp_path / "out").values()
    batches.crash_after_create = True
    with pytest.raises(openai.APIConnectionError):
        submit_batches(client(batches), tmp_path / "out", files)
    assert read_submitted_batches(tmp_path / "out")[files[0].name].batch_id == ""
    submit_batches(client(batches), tmp_path / "out", files)
    assert len(batches.batches) == 1
    submit_batches(client(batches), tmp_path / "out", files)  # and a third time: nothing to do
    assert len(batches.batches) == 1
    assert len(batches.files) == 1


def test_collecting_early_leaves_all_pending_and_can_be_done_again(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 5, store=store)
    names = submitted(plan, store, tmp_path / "out", batches)
    assert collect_batches(client(batches), tmp_path / "out", names) == []
    found = collect_batches(client(batches), tmp_path / "out", names)
    assert import_batch(plan, store, found).stored == 5
    assert import_batch(plan, store, found).already_answered == 5


def test_waiting_sleeps_no_longer_than_is_left(
    server: JudgeServer,
    batches: BatchServer,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 1 s to wait and a look every minute: one pause of a second, by a clock that only pauses
    move."""
    plan = a_plan(tmp_path / "data", server, 5, store=store)
    names = submitted(plan, store, tmp_path / "out", batches)
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(batch_api, "time", clock)
    monkeypatch.setattr(batch_api, "_poll_and_download", lambda *_: None)
    assert collect_batches(client(batches), tmp_path / "out", names, wait=1, every=60) == []
    assert slept == [1]


def test_broken_unknown_and_foreign_lines_are_counted_not_stored(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 2, store=store)
    known = next(store.asks("small")).key
    answer = {"status_code": 200, "body": {"choices": [{"message": {"content": "hm"}}]}}
    lines = [
        "{not json",
        json.dumps({"response": answer}),
        json.dumps({"custom_id": ["somebody", "else"], "response": answer}),
        json.dumps({"custom_id": known, "response": {"status_code": 500, "body": {}}}),
        json.dumps({"custom_id": known, "response": None, "error": {"code": "batch_expired"}}),
        json.dumps({"custom_id": known, "response": {"status_code": 200, "body": {"x": 1}}}),
    ]
    unreadable = lines[:2]
    random.Random(3).shuffle(lines)
    lines.append(json.dumps({"custom_id": known, "response": answer}))
    path = tmp_path / "output.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = import_batch(plan, store, [path])
    assert found.stored == 1
    assert found.by_status == {"unreadable": 1}  # "hm" names nobody, and is no tie
    assert found.unknown == 1
    bad = [number for number, line in enumerate(lines, 1) if line in unreadable]
    assert found.unreadable_lines == [f"output.jsonl:{number}" for number in bad]
    assert sum(found.pending.values()) == 3
    assert found.dollars is None, "a reply without token counts has an unknown cost"


def test_a_reply_replaces_the_error_before_it_and_a_refusal_costs_nothing(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 2, store=store)
    first, second = (ask.key for ask in store.asks("small"))
    refused = {"status_code": 400, "body": {"error": {"message": "bad field"}}}
    said = {"choices": [{"message": {"content": "hm"}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5}}  # fmt: skip
    answer = {"status_code": 200, "body": said}
    path = tmp_path / "output.jsonl"
    lines = [(second, refused), (first, refused), (first, answer), (first, answer)]
    path.write_text(
        "\n".join(json.dumps({"custom_id": key, "response": got}) for key, got in lines), "utf-8"
    )
    found = import_batch(plan, store, [path])
    assert found.by_status == {"unreadable": 1, "error": 1} and found.already_answered == 1
    assert found.dollars == pytest.approx((10 * PRICE["input"] + 5 * PRICE["output"]) / 2e6)
    assert sum(one.unknown for one in attempt_totals(store, "small")) == 0


def test_a_study_without_an_endpoint_says_so(tmp_path: Path, store: Store) -> None:
    plan = study_plan(tmp_path, [{"name": "s", "model": "simulated"}], 2)
    with pytest.raises(PlanError, match=pattern("batch files", "endpoint")):
        export_batch(plan, store, tmp_path / "out")


def test_an_old_file_is_not_written_over(server: JudgeServer, store: Store, tmp_path: Path) -> None:
    plan = a_plan(tmp_path / "data", server, 2, store=store)
    export_batch(plan, store, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(PlanError, match="already exists"):
        export_batch(plan, store, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_an_export_that_fails_leaves_no_files(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server, 2, store=store)
    _, second = (
        file.path.name for file in export_batch(plan, store, tmp_path / "whole", most_lines=1)
    )
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / second).write_text("mine")
    with pytest.raises(PlanError, match="already exists"):
        export_batch(plan, store, folder, most_lines=1)
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(second, "mine")]


def test_the_commands_go_the_whole_way(
    server: JudgeServer, batches: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = written_study(tmp_path, f"base_url: '{batches.url}'", 5)
    batches.looks_until_done = 1
    rest = [str(study), str(tmp_path / "out"), "--store", str(tmp_path / "e.db")]
    assert main(["export-batch", *rest]) == 0
    assert main(["submit-batch", *rest]) == 0
    assert main(["collect-batch", *rest, "--wait", "1"]) == 0
    said = capsys.readouterr().out
    assert "5 calls of judge" in said and "no pending calls" not in said
    assert "5 replies stored (5 ok)" in said
    assert "0 calls left" in said
    rest[1] = str(tmp_path / "second")
    assert main(["export-batch", *rest]) == 0
    assert "no pending calls" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("judge_more", "budget", "told"),
    [
        # 5 prompts of some hundred tokens at $2 and 250 out at $8 a million: about $0.012, halved.
        ("price: {input: 2, output: 8}", 0.003, "of the budget of $0.003 is left"),
        ("price: {input: 2, output: 8}", 0.05, ""),
        ("family: none", 5, "its price is not known"),
    ],
)
def test_a_batch_that_would_pass_the_budget_is_not_sent(
    judge_more: str, budget: float, told: str, server: JudgeServer, batches: BatchServer,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    judge = f"base_url: '{batches.url}', {judge_more}"
    study = written_study(tmp_path, judge, 5, f"budget_usd: {budget}\n")
    rest = [str(study), str(tmp_path / "out"), "--store", str(tmp_path / "e.db")]
    assert main(["export-batch", *rest]) == 0
    assert main(["submit-batch", *rest]) == (2 if told else 0)
    assert told in capsys.readouterr().err
    assert bool(read_submitted_batches(tmp_path / "out")) == (not told)
