"""A cluster's parts without a cluster: what a worker does with a batch, and what is sent next."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judges.__main__ import main
from judges.bulk.ray_run import (
    AskRounds,
    RayCluster,
    _check_cluster_plan,
    _import_leftover_shards,
    _import_ray,
    _ray_session,
    default_shard_folder,
)
from judges.bulk.ray_vllm import (
    ERROR_COLUMN,
    VllmReplyReader,
    add_vllm_steps_to_dataset,
    check_weights_option,
    make_preprocess,
    postprocess_row,
)
from judges.bulk.ray_worker import (
    ASK_SCHEMA,
    EndpointWorker,
    RayJob,
    ShardWriter,
    parse_ask_row,
    write_asks,
)
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, save_plan
from judges.security.key_consents import NO_CONSENTS, key_destination_of
from studies.domain import Judgement
from studies.exchange.shard_import import import_shards
from studies.files.shards import find_shards
from studies.store.queries.run_costs import attempt_totals
from studies.store.run_journal import RunJournal
from studies.store.store import Store
from tests.judge_server import Fault, JudgeServer, NoCache, containing, first_attempt, judge
from tests.judges.small_studies import PRICE, QUICK, endpoint, engine, run_through, study_plan

SECRET = "sk-the-key-of-the-workers-0123456789"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(cache=NoCache(), behaviour=judge("longer")) as made:
        yield made


def a_plan(folder: Path, url: str, asks: int = 12, **more: Any) -> Plan:
    judge_more = more.pop("judge", {})
    return study_plan(folder, [endpoint(url, **judge_more)], items=asks, **more)


def job_of(plan: Plan, folder: Path) -> RayJob:
    folder.mkdir(exist_ok=True)
    judges = {judge.name: judge for judge in plan.study.judges}
    prompts = {prompt.name: prompt for prompt in plan.prompts}
    allowed = frozenset(filter(None, map(key_destination_of, plan.study.judges)))
    return RayJob(judges, prompts, plan.study.reading, "owner-1", str(folder), 8, QUICK, allowed)


def tables(plan: Plan, store: Store, folder: Path, size: int = 5) -> list[pa.Table]:
    """The files of asks that a round would write."""
    rounds = AskRounds(plan, store, "owner-1")
    files = write_asks(rounds.lease_next_round(), folder / "asks", size)
    return [pq.read_table(path) for path in files]


def rows(store: Store) -> list[Judgement]:
    """As stored, without what a clock says."""
    return [replace(j, time=0.0, seconds=0.0) for j in store.judgements("small")]


def test_workers_give_the_store_that_a_live_run_gives(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    """Row for row, with a retried fault, a refusal for good and a reply without a verdict."""
    server.schedule(
        containing("question 3\n", Fault("context_overflow")),
        containing("question 5\n", Fault("empty_content")),
        first_attempt(Fault("server_error")),
    )
    plan = a_plan(tmp_path / "data", server.base_url)
    live = Store(tmp_path / "live.db")
    run_through(plan, live)
    save_plan(plan, store)
    server.schedule(
        containing("question 3\n", Fault("context_overflow")),
        containing("question 5\n", Fault("empty_content")),
    )
    asker = EndpointWorker(job_of(plan, tmp_path / "shards"))
    for table in tables(plan, store, tmp_path):
        asker(table)
    taken = import_shards(store, find_shards(tmp_path / "shards"))
    assert rows(store) == rows(live)
    assert taken.by_status == {"ok": 10, "too_long": 1, "empty": 1}
    assert sum(line.cost for line in attempt_totals(store, "small")) == pytest.approx(
        sum(line.cost for line in attempt_totals(live, "small"))
    )
    live.close()


def test_the_ledger_equals_the_bill_with_retries(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    server.schedule(first_attempt(Fault("server_error")))
    plan = a_plan(tmp_path / "data", server.base_url, store=store)
    asker = EndpointWorker(job_of(plan, tmp_path / "shards"))
    for table in tables(plan, store, tmp_path):
        asker(table)
    import_shards(store, find_shards(tmp_path / "shards"))
    found = {line.outcome: line.calls for line in attempt_totals(store, "small")}
    assert found == {"HTTP 500": 12, "ok": 12}
    spent = sum(line.cost for line in attempt_totals(store, "small"))
    assert spent == pytest.approx(float(server.bill.totals.dollars))


def test_a_batch_that_is_done_again_asks_only_what_its_shards_do_not_hold(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    """As Ray does when a worker dies: the whole batch comes again, to another worker."""
    plan = a_plan(tmp_path / "data", server.base_url, store=store)
    (table,) = tables(plan, store, tmp_path, size=12)
    job = job_of(plan, tmp_path / "shards")
    EndpointWorker(job)(table.slice(0, 7))
    assert server.bill.totals.calls == 7
    report = EndpointWorker(job)(table)
    assert server.bill.totals.calls == 12
    assert report.column("asks").to_pylist() == [5]
    assert import_shards(store, find_shards(tmp_path / "shards")).stored == 12


def test_a_worker_that_dies_loses_no_answer(
    server: JudgeServer, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it writes a shard: its 7 answers are in the journal, and the batch that Ray
    sends again asks the other 5 only; a line that was cut off is asked again."""
    plan = a_plan(tmp_path / "data", server.base_url, store=store)
    (table,) = tables(plan, store, tmp_path, size=12)
    job = job_of(plan, tmp_path / "shards")
    with monkeypatch.context() as killed:
        killed.setattr(ShardWriter, "flush", lambda self: None)
        EndpointWorker(job)(table.slice(0, 7))
    (journal,) = (tmp_path / "shards").glob("*.journal")
    with journal.open("a") as out:
        out.write('{"ask": {"key": "cut o')
    assert not find_shards(tmp_path / "shards")
    EndpointWorker(job)(table)
    assert server.bill.totals.calls == 12
    assert import_shards(store, find_shards(tmp_path / "shards")).stored == 12
    assert not list((tmp_path / "shards").glob("*.journal"))


def test_the_answers_of_a_dead_driver_s_workers_are_imported_by_the_next_run(
    server: JudgeServer, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, store=store)
    (table,) = tables(plan, store, tmp_path, size=12)
    folder = tmp_path / "shards" / "dead-0000"
    folder.mkdir(parents=True)
    with monkeypatch.context() as killed:
        killed.setattr(ShardWriter, "flush", lambda self: None)
        EndpointWorker(job_of(plan, folder))(table)
    monkeypatch.setattr("judges.bulk.ray_run.is_owner_alive_else_clean_up", lambda *_: False)
    assert _import_leftover_shards(store, plan, tmp_path / "shards", "mine").stored == 12
    assert _import_leftover_shards(store, plan, tmp_path / "shards", "mine").stored == 0
    assert server.bill.totals.calls == 12 and store.status_counts("small").get("pending", 0) == 0


def test_a_local_ray_listens_on_the_loopback_alone() -> None:
    """The call that starts Ray; `make test-cluster` starts it."""
    asked: dict[str, Any] = {}
    context = SimpleNamespace(enable_progress_bars=True, print_on_execution_start=True)
    data = SimpleNamespace(DataContext=SimpleNamespace(get_current=lambda: context))
    ray = SimpleNamespace(init=lambda **given: asked.update(given), shutdown=dict, data=data)
    with _ray_session(ray, RayCluster()):
        assert asked["_node_ip_address"] == "127.0.0.1" and asked["include_dashboard"] is False


def test_an_import_error_inside_ray_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text("import a_library_ray_needs\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    with pytest.raises(PlanError, match=r"cannot be imported: .*a_library_ray_needs"):
        _import_ray()


def test_a_wrong_key_stops_the_judge_and_its_asks_stay_pending(
    store: Store, tmp_path: Path
) -> None:
    with JudgeServer(api_keys=["right"]) as server:
        plan = a_plan(tmp_path / "data", server.base_url, store=store)
        (table,) = tables(plan, store, tmp_path, size=12)
        asker = EndpointWorker(job_of(plan, tmp_path / "shards"))
        report = asker(table).to_pylist()
        said = [row["stopped"] for row in report if row["stopped"]]
        assert len(said) == 1
        assert "refused the API key (401)" in said[0]
        calls = server.bill.totals.calls
        assert asker(table).num_rows >= 1  # a worker that knows does not ask again
        assert server.bill.totals.calls == calls
    taken = import_shards(store, find_shards(tmp_path / "shards"))
    assert (taken.stored, taken.attempts) == (0, calls)
    assert store.status_counts("small")["pending"] == 12


def test_a_worker_without_the_variable_says_so_and_asks_nothing(
    server: JudgeServer, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOBODY_SET_THIS", raising=False)
    plan = a_plan(
        tmp_path / "data", server.base_url, judge={"api_key_env": "NOBODY_SET_THIS"}, store=store
    )
    (table,) = tables(plan, store, tmp_path, size=12)
    (row,) = EndpointWorker(job_of(plan, tmp_path / "shards"))(table).to_pylist()
    assert "NOBODY_SET_THIS is not set" in row["stopped"]
    assert server.bill.totals.calls == 0


def test_the_key_is_in_no_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the asks, not in the shards, not even where the provider repeats it in an error."""
    monkeypatch.setenv("WORKERS_KEY", SECRET)
    with JudgeServer(api_keys=[SECRET], echo_key=True) as server:
        plan = a_plan(
            tmp_path / "data", server.base_url, judge={"api_key_env": "WORKERS_KEY"}, store=store
        )
        (table,) = tables(plan, store, tmp_path, size=12)
        job = job_of(plan, tmp_path / "shards")
        refused = EndpointWorker(replace(job, allowed=frozenset()))(table).to_pylist()
        assert "wants to send $WORKERS_KEY" in refused[0]["stopped"]
        assert server.bill.totals.calls == 0
        EndpointWorker(job)(table)
    assert len(find_shards(tmp_path / "shards")) == 1
    for path in (path for path in tmp_path.rglob("*.parquet")):
        texts = json.dumps(pq.read_table(path).to_pylist())
        assert SECRET not in texts


def test_asks_are_leased_and_another_process_gets_none_of_them(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, store=store)
    somebody, nobody = RunJournal(store), "9-dead"  # one that is alive, one that is not
    try:
        alive = AskRounds(plan, store, somebody.owner.id)
        dead = AskRounds(plan, store, nobody)
        assert len(alive.lease_next_round(5)) == 5
        mine = AskRounds(plan, store, "me")
        assert len(mine.lease_next_round()) == 7
        alive.release_leases()
        assert len(dead.lease_next_round()) == 12  # what "me" and the dead hold is nobody's
    finally:
        somebody.close()


def test_a_round_holds_what_fits_into_the_budget_at_worst(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    # The worst case of an ask: 4,096 tokens out at $8 a million are $0.0328, the prompt less than
    # $0.003. So $0.10 has room for two asks, not for three.
    assert PRICE["output"] == 8.0
    plan = a_plan(tmp_path / "data", server.base_url, budget_usd=0.1, store=store)
    assert len(AskRounds(plan, store, "me").lease_next_round()) == 2


def test_what_another_run_answers_between_look_and_lease_is_not_asked_again(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, 6, store=store)
    rounds = AskRounds(plan, store, "me")
    keys = [ask.key for _, ask in store.pending_asks("small", "judge", -1, 10)]
    with engine() as made:  # meanwhile
        assert made.start(plan, store, settings=QUICK).wait(30)
    assert rounds._lease_available(keys) == set()
    assert store.read("SELECT count(*) FROM leases").fetchone() == (0,)


def test_what_failed_in_this_run_is_not_asked_again_by_it(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, 3, store=store)
    rounds = AskRounds(plan, store, "me")
    (table,) = tables(plan, store, tmp_path, size=12)
    server.schedule(containing("question 1\n", Fault("server_error")))
    EndpointWorker(job_of(plan, tmp_path / "shards"))(table)
    taken = import_shards(store, find_shards(tmp_path / "shards"))
    assert taken.by_status == {"ok": 2, "error": 1}
    assert rounds.lease_next_round() == []
    assert len(AskRounds(plan, store, "me").lease_next_round()) == 1  # the next run's business


# ----------------------------------------------------------------------------------- own weights


def replied(plan: Plan, job: RayJob, table: pa.Table, texts: list[str]) -> pa.Table:
    """What Ray's vLLM processor makes of asks, by its documented columns."""
    rows = []
    for row, text in zip(table.to_pylist(), texts, strict=True):
        sent = {**row, **make_preprocess(job)(row)}
        cap = sent["sampling_params"]["max_tokens"]
        if text.startswith("!"):
            rows.append(
                {**sent, ERROR_COLUMN: text[1:], "generated_text": "", "num_input_tokens": 0}
            )
            continue
        made = {"generated_text": text.rstrip("…"), "num_input_tokens": 100, ERROR_COLUMN: "",
                "num_generated_tokens": cap if text.endswith("…") else 7,
                "time_taken_llm": 0.5, "logprobs": None}  # fmt: skip
        rows.append({**sent, **made})
    good = [row if row[ERROR_COLUMN] else postprocess_row(row) for row in rows]
    columns = ["key", "batch", "position", "ask", "generated_text", "num_input_tokens",
               "num_generated_tokens", "logprobs", "seconds", ERROR_COLUMN]  # fmt: skip
    return pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in good])


def test_replies_of_own_weights_are_read_by_the_same_rules(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, 5, store=store)
    (table,) = tables(plan, store, tmp_path, size=12)
    job = job_of(plan, tmp_path / "shards")
    texts = [
        "Overall, Response A is better.",
        "Nobody can tell.",
        "",
        "Let me think…",
        "!ValueError: The decoder prompt is longer than the maximum context length of 4096",
    ]
    VllmReplyReader(job)(replied(plan, job, table, texts))
    import_shards(store, find_shards(tmp_path / "shards"))
    found = [judgement.status for judgement in store.judgements("small")]
    assert found == ["ok", "unreadable", "empty", "truncated", "too_long"]
    first = next(store.judgements("small"))
    assert first.verdict is not None
    assert first.ask.labels[int(first.verdict.pick or 0)] == "A"
    assert (first.usage.prompt, first.usage.completion, first.model) == (100, 7, "judge")
    # 100 in at $2 and 7 out at $8 a million
    assert first.cost == pytest.approx((100 * 2 + 7 * 8) / 1e6)


def test_label_probabilities_of_own_weights_are_read(store: Store, tmp_path: Path) -> None:
    plan = a_plan(
        tmp_path / "data", "http://127.0.0.1:9/v1", 1, judge={"read": "probabilities"},
        prompts=["brief-letters"], store=store
    )  # fmt: skip
    (table,) = tables(plan, store, tmp_path)
    job = job_of(plan, tmp_path / "shards")
    row = table.to_pylist()[0]
    sent = make_preprocess(job)(row)
    assert sent["sampling_params"] == {"max_tokens": 1, "temperature": 0.0, "logprobs": 20}
    assert sent["messages"][-1]["role"] == "assistant"  # the prefill, which vLLM goes on with
    last = {7: {"logprob": -1.5, "rank": 2, "decoded_token": " B"},
            5: {"logprob": -0.25, "rank": 1, "decoded_token": " A"}}  # fmt: skip
    made = {"generated_text": " A", "num_input_tokens": 9, "num_generated_tokens": 1,
            "logprobs": [last]}  # fmt: skip
    VllmReplyReader(job)(pa.Table.from_pylist([postprocess_row({**row, **sent, **made})]))
    import_shards(store, find_shards(tmp_path / "shards"))
    (judgement,) = store.judgements("small")
    assert judgement.status == "ok"
    assert judgement.verdict is not None
    # exp(-.25) = .7788 and exp(-1.5) = .2231, of which .7788/1.0019 = .7773
    slot = judgement.ask.labels.index("A")
    assert judgement.verdict.label_probabilities[slot] == pytest.approx(0.7773, abs=1e-4)


def test_the_stage_of_own_weights_puts_a_processor_before_the_reader() -> None:
    class Dataset(SimpleNamespace):
        def map_batches(self, reader: type, **options: Any) -> str:
            self.reader, self.options = reader, options
            return "stage"

    made: list[tuple[Any, ...]] = []

    def processor(path: str, before: Any, after: Any, workers: int) -> Any:
        made.append((path, after, workers))
        return lambda data: data

    data, job = Dataset(), SimpleNamespace()
    assert add_vllm_steps_to_dataset(processor, "weights", data, job, 3) == "stage"
    assert made == [("weights", postprocess_row, 3)]
    assert data.reader is VllmReplyReader and data.options["fn_constructor_args"] == [job]


def test_weights_for_nobody_are_refused(server: JudgeServer, tmp_path: Path) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, 1)
    with pytest.raises(PlanError, match="no endpoint judge of that name; known: judge"):
        check_weights_option(plan, "jugde", "/models/x")
    with pytest.raises(PlanError, match="a folder or a Hub id"):
        check_weights_option(plan, "judge", "")


# -------------------------------------------------------------------------------------- commands


def test_rows_of_asks_come_back_as_they_were(
    server: JudgeServer, store: Store, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, 3, labels="crossed", store=store)
    sent = AskRounds(plan, store, "me").lease_next_round()
    (path,) = write_asks(sent, tmp_path / "asks", 10)
    table = pq.read_table(path)
    assert table.schema.equals(ASK_SCHEMA)
    back = [parse_ask_row(row) for row in table.to_pylist()]
    assert [(row.position, row.ask) for row in back] == [(p, ask) for p, ask, _ in sent]
    assert [row.messages for row in back] == [call.messages for _, _, call in sent]


def test_options_of_a_cluster_go_with_the_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "s.yaml"), "--workers", "2"]) == 2
    assert "--workers needs --engine ray" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "s.yaml"), "--engine", "ray", "--weights", "judge"]) == 2
    assert "expected JUDGE=PATH" in capsys.readouterr().err


def test_shards_lie_beside_the_store_under_a_tame_name(store: Store) -> None:
    folder = default_shard_folder(store, "../My study: 1/2")
    assert folder.parent == store.path.with_name("evenhand.db-shards")
    assert folder.name == "My-study-1-2"


def test_a_budget_is_not_promised_for_a_judge_without_a_price(
    server: JudgeServer, tmp_path: Path
) -> None:
    plan = a_plan(tmp_path / "data", server.base_url, judge={"price": None}, budget_usd=1)
    with pytest.raises(PlanError, match="its price is not known"):
        _check_cluster_plan(plan, RayCluster(), NO_CONSENTS)
