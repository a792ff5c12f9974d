"""Runs on a Ray cluster: `python -m judges run STUDY.yaml --engine ray`.

Ray schedules the work and restarts failed workers. Workers write results to Parquet files
(shards), and the driver (the process that starts the run) imports these into the store. A result
has the key of its ask (one planned request to a judge), so an ask that is made twice is stored
once. If a driver dies, the next run imports the shards that were not imported yet. The driver
needs the store; workers need one folder that all of them can access.

The pending asks are made in rounds of at most MAX_ROUND_ASKS. This limits the files on disk, and
the dollars spent beyond a budget. A round reserves its asks in the store (a lease), so that no
other run makes them. With a budget, it contains as many asks as fit into the rest at their
maximum cost, and the next round starts when the actual cost is known."""

import contextlib
import heapq
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from judges.bulk.ray_vllm import ProcessorFactory, add_vllm_steps_to_dataset, check_weights_option
from judges.bulk.ray_worker import EndpointWorker, RayJob, make_shard_folder, write_asks
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.money.costs import Ledger, price_of, require_prices_for_budget
from judges.planning.plan import Plan, plan_includes, render_call_to_send
from judges.security.key_consents import Consents, key_destination_of, user_consents
from studies import settings
from studies.domain import Ask, JudgeSpec
from studies.exchange.export import write_export
from studies.exchange.shard_import import ImportTally, import_shards
from studies.files.shards import ITEMS_FILE, find_shards, recover_journals
from studies.store.queries import run_costs, run_queries
from studies.store.run_owners import LeaseOwner, is_owner_alive_else_clean_up
from studies.store.store import Store

MAX_ROUND_ASKS: Final = 200_000
_PAGE_SIZE: Final = 500


class AskRounds:
    """The pending calls of a plan's endpoint judges, handed out in rounds: portions that are made
    one after another. A call that failed in this run is not handed out again."""

    def __init__(self, plan: Plan, store: Store, owner: str) -> None:
        self.plan, self.store, self.owner = plan, store, owner
        self.stopped_judges: dict[str, str] = {}
        """Judge that was stopped -> reason."""
        self.first_seq = store.last_seq()
        self._items = {item.id: item for item in plan.items}
        self._sha = store.plan_sha(plan.study.name)

    def unstopped_endpoint_judges(self) -> list[JudgeSpec]:
        """Endpoint judges of the study that were not stopped."""
        endpoints = [judge for judge in self.plan.study.judges if judge.kind == "endpoint"]
        return [judge for judge in endpoints if judge.name not in self.stopped_judges]

    def lease_next_round(self, max_asks: int = MAX_ROUND_ASKS) -> list[tuple[int, Ask, JudgeCall]]:
        """Reserve (lease) the next calls for this run, at most `max_asks` and no more than fit into
        the budget; return each as (index in the plan, ask, rendered request). Calls reserved by
        other runs are left out. The list is empty if nothing remains to be made."""
        study = self.plan.study
        ledger = Ledger(study.budget_usd, run_costs.study_spending(self.store, study.name))
        found: list[tuple[int, Ask, JudgeCall]] = []
        changed = self.store.plan_sha(study.name) != self._sha
        for position, ask in heapq.merge(
            *(self._iterate_pending_asks(judge.name) for judge in self.unstopped_endpoint_judges())
        ):
            if changed and not plan_includes(self.plan, ask, self._items):
                continue
            call = render_call_to_send(self.plan, ask, self._items)
            if len(found) == max_asks or ledger.reserve(call, price_of(call.judge)) is None:
                break
            found.append((position, ask, call))
        leased = self._lease_available([ask.key for _, ask, _ in found])
        return [row for row in found if row[1].key in leased]

    def release_leases(self) -> None:
        self.store.writer.run(lambda connection: run_queries.release_leases(connection, self.owner))

    def _iterate_pending_asks(self, judge: str) -> Iterator[tuple[int, Ask]]:
        after = -1
        name = self.plan.study.name
        while page := self.store.pending_asks(name, judge, after, _PAGE_SIZE, began=self.first_seq):
            after = page[-1][0]
            yield from page

    def _lease_available(self, keys: Collection[str]) -> set[str]:
        """Reserve (lease) those of the calls `keys` that have no reply yet and are not reserved by
        another active run; return the keys of the calls reserved.

        Check and reservation are one transaction, because other runs may work on the same study."""

        found: set[str] = self.store.writer.run(
            lambda connection: run_queries.lease_available_asks(
                connection, self.store.run_locks_folder, self.owner, keys, self.first_seq
            )
        )
        return found


PROJECT_FOLDER: Final = Path(__file__).resolve().parents[2]
SENT_FOLDERS: Final = (
    (PROJECT_FOLDER / "judges", PROJECT_FOLDER / "studies")
    if __name__.startswith("judges.")
    else (PROJECT_FOLDER,)
)
"""Folders of code that are uploaded to a cluster: in a checkout `judges` and `studies`, in an
installation from the wheel the package `evenhand`, which contains both."""
OBJECT_STORE_BYTES: Final = 200 * 2**20
"""Size of a local Ray's object store in bytes. It is small, because only names of shards pass
through the object store."""
LOCAL_ADDRESS: Final = "127.0.0.1"
IMPORTED_MARK_FILE: Final = "imported"
CALLS_PER_WORKER: Final = 64
"""Calls in flight per worker, from which the number of workers follows (at least 2 are wanted) if
the command line does not set that number."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Settings of the cluster that executes a run."""

    address: str = ""
    """Address of a running cluster; if empty, a local Ray is started that ends with the run."""
    workers: int = 0
    """Number of workers; 0 if it is derived from the study's concurrency."""
    shards: Path | None = None
    """Folder for results that all workers can access; None for a folder beside the store."""
    weights: dict[str, str] = field(default_factory=dict)
    """Judge -> path of the weights, for the judges that workers run with vLLM."""
    processor: ProcessorFactory | None = None
    """Replacement for Ray's vLLM processor, for tests without a GPU."""


def run_on_ray(
    plan: Plan,
    store: Store,
    cluster: RayCluster,
    *,
    settings: RunSettings | None = None,
    max_asks: int = MAX_ROUND_ASKS,
    on_progress: Callable[[ImportTally], None] = lambda totals: None,
) -> tuple[ImportTally, dict[str, str]]:
    """Make the pending calls of the endpoint judges of a plan, as far as the budget allows, in
    rounds (portions) of at most `max_asks`; return the totals of the imported results, and judge ->
    reason for the judges that were stopped. `on_progress` is called with the totals so far.
    PlanError if Ray is missing or the plan cannot run on it."""
    ray = _import_ray()
    _check_cluster_plan(plan, cluster, user_consents())
    root = cluster.shards or default_shard_folder(store, plan.study.name)
    make_shard_folder(root)
    write_export(store, plan.study.name, "items", root / ITEMS_FILE)
    owner = LeaseOwner(store.run_locks_folder)
    run = run_queries.StoredRun(
        secrets.token_urlsafe(9), plan.study.name, "running", "", time.time(), None, owner.id
    )
    totals = _import_leftover_shards(store, plan, root, owner.id)
    rounds = AskRounds(plan, store, owner.id)
    try:
        store.writer.run(lambda connection: run_queries.put_run(connection, run))
        with _ray_session(ray, cluster):
            runner = _RoundRunner(
                ray, plan, store, cluster, rounds, settings or RunSettings(), totals, on_progress
            )
            runner.run_rounds(root, max_asks)
        left = store.status_counts(plan.study.name).get("pending", 0)
        state, reason = "stopped" if left else "done", "; ".join(rounds.stopped_judges.values())
    except BaseException as error:
        state, reason = "failed", f"{type(error).__name__}: {error}"[:300]
        raise
    finally:
        ended = replace(run, state=state, reason=reason, ended=time.time())
        totals.add(_import_leftover_shards(store, plan, root, owner.id))
        rounds.release_leases()
        store.writer.run(lambda connection: run_queries.put_run(connection, ended))
        owner.close()
    return totals, rounds.stopped_judges


def default_shard_folder(store: Store, study: str) -> Path:
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", study).strip("-.") or "study"
    return store.path.with_name(store.path.name + "-shards") / name


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        if error.name == "ray":
            raise PlanError(
                "--engine ray needs Ray: pip install -r requirements/cluster.txt"
            ) from None
        raise PlanError(f"Ray is installed and cannot be imported: {error}") from error
    return ray


def _check_cluster_plan(plan: Plan, cluster: RayCluster, consents: Consents) -> None:
    names = {judge.name for judge in plan.study.judges if judge.kind == "endpoint"}
    if not names:
        raise PlanError(
            "no judge of this study is an endpoint: run embedded and simulated judges without "
            "--engine ray"
        )
    paid = [j for j in plan.study.judges if j.name in names and j.name not in cluster.weights]
    require_prices_for_budget(plan.study.budget_usd, paid)
    for judge in paid:
        consents.require_consent(judge)
    for name, path in cluster.weights.items():
        check_weights_option(plan, name, path)


@contextlib.contextmanager
def _ray_session(ray: Any, cluster: RayCluster) -> Iterator[None]:
    """Start Ray for the duration of a `with` block, with this project's code available to the
    workers.

    A local Ray imports the code from PROJECT_FOLDER; to a running cluster the code is uploaded.
    """
    settings.set_environment_value(settings.RAY_PROGRESS, settings.RAY_PROGRESS.read() or "1")
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if cluster.address:
        sent = [str(folder) for folder in SENT_FOLDERS]
        ray.init(address=cluster.address, runtime_env={"py_modules": sent}, **quiet)
    else:
        env = {"PYTHONPATH": os.pathsep.join([str(PROJECT_FOLDER), settings.PYTHON_PATH.read()])}
        quiet |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
        own = {"_node_ip_address": LOCAL_ADDRESS}  # Ray then listens on the loopback alone
        ray.init(address="local", runtime_env={"env_vars": env}, **own, **quiet)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    try:
        yield
    finally:
        ray.shutdown()


def _asks_per_file(asks: int, in_flight: int) -> int:
    """Return the number of asks to put into one file: enough to keep the `in_flight` calls of a
    worker busy, but few, because a file is processed again if its worker fails. At most half of
    all `asks`, so that two workers have a file each."""
    return max(1, min(4096, max(32, 8 * in_flight), math.ceil(asks / 2)))


@dataclass(slots=True)
class _RoundRunner:
    """Makes the pending calls in rounds (portions), until no call can be leased (reserved for this
    run) or a round stores no result."""

    ray: Any
    plan: Plan
    store: Store
    cluster: RayCluster
    rounds: AskRounds
    settings: RunSettings
    totals: ImportTally
    on_progress: Callable[[ImportTally], None]
    imported_shards: set[Path] = field(default_factory=set)
    """Shards whose results are in the store."""

    def run_rounds(self, root: Path, max_asks: int) -> None:
        number = 0
        while calls := self.rounds.lease_next_round(max_asks):
            before = self.totals.stored
            folder = root / f"{self.rounds.owner}-{number:04d}"
            workers, in_flight = self._workers_and_calls_per_worker(len(calls))
            job = self._build_job(folder, in_flight)
            for vllm_judge, group in self._group_by_weights(calls).items():
                size = _asks_per_file(len(group), in_flight)
                files = write_asks(group, folder / f"asks-{vllm_judge}", size)
                data = self.ray.data.read_parquet([str(path) for path in files])
                stage = self._add_call_step(vllm_judge, data, job, workers)
                # Import shards into the store as they arrive, so that the page shows the progress;
                # note the judges that a worker stopped.
                for table in stage.iter_batches(batch_size=None, batch_format="pyarrow"):
                    for row in table.to_pylist():
                        if row["stopped"]:
                            self.rounds.stopped_judges.setdefault(row["judge"], row["stopped"])
                        else:
                            self._import_shards([folder / row["shard"]])
                    self.on_progress(self.totals)
            recover_journals(folder)  # of workers that died
            self._import_shards(find_shards(folder))
            _mark_imported_and_clean_up(folder, self.store, self.plan)
            self.rounds.release_leases()
            number += 1
            if self.totals.stored == before:
                break  # no call succeeded, so the next round would fail too

    def _group_by_weights(self, calls: list[Any]) -> dict[str, list[Any]]:
        """Return judge -> its calls, for judges whose weights the workers run with vLLM; the key ""
        has the calls of all other judges, which are sent to endpoints."""
        found: dict[str, list[Any]] = {}
        for row in calls:
            judge = row[1].judge
            found.setdefault(judge if judge in self.cluster.weights else "", []).append(row)
        return found

    def _build_job(self, folder: Path, in_flight: int) -> RayJob:
        study = self.plan.study
        return RayJob(
            {judge.name: judge for judge in study.judges},
            {prompt.name: prompt for prompt in self.plan.prompts},
            self.settings.reading or study.reading,
            self.rounds.owner,
            str(folder.resolve()),
            in_flight,
            self.settings,
            frozenset(
                pair for judge in study.judges if (pair := key_destination_of(judge)) is not None
            ),
        )

    def _workers_and_calls_per_worker(self, asks: int) -> tuple[int, int]:
        """Return the number of workers, at most `asks`, and the calls in flight per worker. Their
        product does not exceed the concurrency of the run's settings or, if they set none, of the
        study."""
        allowed = self.settings.concurrency or self.plan.study.concurrency
        wanted = self.cluster.workers or max(2, math.ceil(allowed / CALLS_PER_WORKER))
        workers = max(1, min(wanted, allowed, asks))
        return workers, max(1, allowed // workers)

    def _add_call_step(self, vllm_judge: str, data: Any, job: RayJob, workers: int) -> Any:
        """Add to the Ray dataset `data` (one row per call) the step that makes its calls, and
        return the new dataset; nothing is computed yet. The step runs vLLM with the weights of
        `vllm_judge`, or calls the endpoints if `vllm_judge` is ""."""
        if vllm_judge:
            path = self.cluster.weights[vllm_judge]
            return add_vllm_steps_to_dataset(self.cluster.processor, path, data, job, workers)
        return data.map_batches(
            EndpointWorker,
            fn_constructor_args=[job],
            batch_size=None,
            batch_format="pyarrow",
            compute=self.ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
            num_cpus=0.5,  # most of its time is waiting for replies
        )

    def _import_shards(self, paths: list[Path]) -> None:
        new = [path for path in paths if path not in self.imported_shards]
        self.totals.add(import_shards(self.store, new))
        self.imported_shards.update(new)


def _import_leftover_shards(store: Store, plan: Plan, root: Path, own_id: str) -> ImportTally:
    """Import the result files (shards) that earlier runs left in `root`: those not yet imported
    into this study, and not of another run that is still active. `own_id` is the id of this run;
    return the numbers of imported results."""
    totals = ImportTally()
    stamp = _text_marking_files_as_imported(store, plan)
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        owner = folder.name.rpartition("-")[0]
        if owner != own_id and is_owner_alive_else_clean_up(store.run_locks_folder, owner):
            continue  # another driver is still using it
        with contextlib.suppress(OSError):
            if stamp in (folder / IMPORTED_MARK_FILE).read_text(encoding="utf-8").split():
                continue
        recover_journals(folder)
        totals.add(import_shards(store, find_shards(folder)))
        _mark_imported_and_clean_up(folder, store, plan)
    return totals


def _text_marking_files_as_imported(store: Store, plan: Plan) -> str:
    """Return the text that is written beside result files after their import into this study of
    this store. It differs between stores, so that another store can import the same files."""
    return repr(store.creation_time(plan.study.name))


def _mark_imported_and_clean_up(folder: Path, store: Store, plan: Plan) -> None:
    """Note in `folder`, which belongs to one round (a portion of the calls), that all its result
    files are imported; delete its files of requests."""
    for asks in folder.glob("asks-*"):
        shutil.rmtree(asks, ignore_errors=True)
    with (folder / IMPORTED_MARK_FILE).open("a", encoding="utf-8") as out:
        out.write(_text_marking_files_as_imported(store, plan) + "\n")
