"""Edge cases of batch files: images, permanent refusals, a failed batch, a crash, a budget."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from judges.__main__ import main
from judges.bulk.batch_api import collect_batches
from judges.bulk.batch_files import export_batch, import_batch
from judges.bulk.ray_run import _asks_per_file
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, make_plan, save_plan
from studies.spec.study import load_study, study_from_mapping
from studies.store.queries.run_costs import study_spending
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, NoCache, containing, judge
from tests.judges.bulk.batch_stand_in import BatchServer, client, collected, rows, submitted
from tests.judges.small_studies import endpoint, run_through, study_plan, written_study

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)

SEEN = """
name: seen
version: 1
source: ours
protocol: pairwise
messages:
  - user: |
      $images
      Question: $instruction
      Response $label_first: $first
      Response $label_second: $second
      $closing
verdict: overall-response
"""


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(cache=NoCache(), behaviour=judge("longer")) as made:
        yield made


def seen_plan(folder: Path, url: str) -> Plan:
    """One item with a picture, for a judge that sees."""
    (folder / "p.png").write_bytes(PIXEL)
    item = {"id": "q0", "instruction": "what is it?", "images": ["p.png"],
            "responses": {"x": "a dot", "y": "a longer dot"}}  # fmt: skip
    (folder / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    (folder / "seen.yaml").write_text(SEEN, encoding="utf-8")
    values = {
        "name": "small", "data": {"source": str(folder / "items.jsonl")}, "orders": "one",
        "prompts": ["seen.yaml"], "judge_sees": "images",
        "judges": [endpoint(url, vision=True)],
    }  # fmt: skip
    return make_plan(study_from_mapping(values, folder=folder))


def test_images_go_into_the_file_as_they_go_to_a_live_judge(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = seen_plan(tmp_path, server.base_url)
    save_plan(plan, store)
    (file,) = export_batch(plan, store, tmp_path / "out")
    body = json.loads(file.path.read_text("utf-8"))["body"]
    parts = [
        part for m in body["messages"] if isinstance(m["content"], list) for part in m["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if "image_url" in part]
    assert urls == ["data:image/png;base64," + base64.b64encode(PIXEL).decode()]
    with pytest.raises(PlanError, match="use smaller images"):
        export_batch(plan, store, tmp_path / "small", most_bytes=300)


@pytest.mark.long
def test_a_crash_in_each_step_and_all_kinds_of_loss_give_the_live_store(
    server: JudgeServer, batches: BatchServer, tmp_path: Path
) -> None:
    """Each command is a process that knows nothing but the folder and the store."""
    study = written_study(tmp_path, f"base_url: '{batches.url}'", 120)
    rest = [str(study), str(tmp_path / "out"), "--store", str(tmp_path / "e.db")]
    assert main(["export-batch", *rest]) == 0
    batches.crash_after_create = True
    assert main(["submit-batch", *rest]) == 2  # the answer to its creation was lost
    assert main(["submit-batch", *rest]) == 0
    assert len(batches.batches) == 1
    assert main(["submit-batch", *rest]) == 0  # once more, by somebody who forgot
    assert len(batches.batches) == 1
    batches.shuffle, batches.repeat_share = True, 0.3
    batches.expire_share, batches.lose_share = 0.2, 0.1
    assert main(["collect-batch", *rest, "--wait", "1"]) == 1
    store = Store(tmp_path / "e.db")
    pending = store.status_counts("small")["pending"]
    assert 10 < pending < 80
    assert main(["collect-batch", *rest]) == 1  # again: nothing new, nothing twice
    assert store.status_counts("small")["pending"] == pending
    batches.expire_share = batches.lose_share = 0.0
    batches.looks_until_done = 1
    rest[1] = str(tmp_path / "second")
    for command in ("export-batch", "submit-batch", "collect-batch"):
        assert main([command, *rest]) == 0
    # The live judge at the same address: the key holds the address, so the same asks.
    live = Store(tmp_path / "live.db")
    plan = make_plan(load_study(study))
    save_plan(plan, live)
    done = [
        *(tmp_path / "out").glob("*.output.jsonl"),
        *(tmp_path / "second").glob("*.output.jsonl"),
    ]
    import_batch(plan, live, done[::-1])
    assert rows(store) == rows(live)
    assert len(rows(store)) == 120
    store.close()
    live.close()


def test_a_batch_that_failed_whole_leaves_all_pending(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 4, store=store)
    names = submitted(plan, store, tmp_path / "out", batches)
    (batch,) = batches.batches.values()
    batch["status"], batch["looks"] = "failed", 99
    assert collect_batches(client(batches), tmp_path / "out", names) == []
    assert store.status_counts("small")["pending"] == 4


@pytest.mark.parametrize("status", ["expired", "completed", "cancelled"])
def test_calls_of_a_batch_without_results_can_be_sent_again(
    status: str, server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 4, store=store)
    submitted(plan, store, tmp_path / "out", batches)
    (batch,) = batches.batches.values()
    batch["status"], batch["looks"] = status, 99
    done = import_batch(plan, store, collected(plan, store, tmp_path / "again", batches))
    assert done.stored == 4 and len(batches.batches) == 2


def test_a_batch_of_calls_that_a_run_has_answered_meanwhile_is_paid_too(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 4, store=store)
    found = collected(plan, store, tmp_path / "out", batches)
    run_through(plan, store)
    live = study_spending(store, "small")
    for _ in range(2):  # a second import adds nothing
        done = import_batch(plan, store, found)
        assert (done.stored, done.already_answered) == (0, 4)
        assert study_spending(store, "small") == pytest.approx(1.5 * live)


def test_a_parameter_that_every_line_would_fail_with_is_refused_before_the_export(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "e.db")
    openai = "https://api.openai.com/v1"
    for temperature, files in ((0, 0), (None, 1)):
        judge = endpoint(openai, "o", model="o3", temperature=temperature)
        plan = study_plan(tmp_path / "data", [judge], store=store)
        with nullcontext() if files else pytest.raises(PlanError, match="temperature: null"):
            assert len(export_batch(plan, store, tmp_path / "out")) == files


def test_refusals_for_good_are_outcomes_and_rate_limits_are_not(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 6, store=store)
    server.schedule(
        containing("question 1\n", Fault("context_overflow")),
        containing("question 2\n", Fault("filtered_prompt")),
        containing("question 3\n", Fault("rate_limit_bare")),
        containing("question 4\n", Fault("server_error")),
    )
    found = collected(plan, store, tmp_path / "out", batches)
    done = import_batch(plan, store, found)
    assert done.by_status == {"ok": 2, "too_long": 1, "filtered": 1}
    assert sum(done.pending.values()) == 2
    assert store.status_counts("small")["pending"] == 2


def test_a_budget_counts_what_batches_have_cost(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 8, store=store)
    found = collected(plan, store, tmp_path / "out", batches)
    assert study_spending(store, "small") == 0.0
    done = import_batch(plan, store, found)
    assert done.dollars is not None and done.dollars > 0
    assert study_spending(store, "small") == pytest.approx(done.dollars)
    import_batch(plan, store, found)
    assert study_spending(store, "small") == pytest.approx(done.dollars)
    (run,) = store.runs("small")
    assert (run.state, run.reason) == ("done", "by batch files")


def test_what_a_batch_answered_is_not_asked_live(
    server: JudgeServer, batches: BatchServer, store: Store, tmp_path: Path
) -> None:
    plan = study_plan(tmp_path / "data", [endpoint(server.base_url)], 5, store=store)
    found = collected(plan, store, tmp_path / "out", batches)
    import_batch(plan, store, found)
    calls: Any = server.bill.totals.calls
    run_through(plan, store)
    assert server.bill.totals.calls == calls


def test_judges_with_the_same_file_name_get_files_of_their_own(tmp_path: Path) -> None:
    url = "https://host.example/v1"
    judges = [endpoint(url, "\u8bc4\u59d4\u4e00"), endpoint(url, "\u8bc4\u59d4", temperature=1)]
    store = Store(tmp_path / "e.db")
    plan = study_plan(tmp_path / "data", judges, store=store)
    files = export_batch(plan, store, tmp_path / "out")
    assert [file.path.name for file in files] == ["judge-0001.jsonl", "judge-2-0001.jsonl"]
    assert [file.judge for file in files] == [judge["name"] for judge in judges]


@pytest.mark.parametrize(
    ("asks", "in_flight", "size"),
    [
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 2),
        (1000, 1, 32),
        (1000, 8, 64),
        (100, 64, 50),
        (10**6, 999, 4096),
    ],
)
def test_a_file_of_a_cluster_keeps_a_worker_busy_and_two_workers_share_a_few_asks(
    asks: int, in_flight: int, size: int
) -> None:
    assert _asks_per_file(asks, in_flight) == size
