"""Options of `python -m judges run` for running a study on a Ray cluster."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from judges.judge_errors import PlanError
from judges.planning.plan import Plan
from studies.domain import count_calls_left
from studies.store.queries.run_costs import attempt_totals
from studies.store.store import Store

if TYPE_CHECKING:
    from judges.bulk.ray_run import RayCluster
    from studies.exchange.shard_import import ImportTally

ENGINES: Final = ("live", "ray")
PROGRESS_SECONDS: Final = 5.0


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="live",
        help="live: in this process; ray: a Ray Data pipeline",
    )
    ray = parser.add_argument_group("with --engine ray")
    ray.add_argument(
        "--address", default="", help="address of a running cluster; default: start a local Ray"
    )
    ray.add_argument(
        "--workers",
        type=int,
        default=0,
        help="number of worker processes; default: derived from the study's concurrency",
    )
    ray.add_argument(
        "--shards",
        type=Path,
        default=None,
        help="result folder that all workers can access; default: beside the store",
    )
    ray.add_argument(
        "--weights",
        metavar="JUDGE=PATH",
        action="append",
        default=[],
        help="run this judge's weights on the workers with vLLM (untested on GPUs)",
    )


def parse_cluster_options(options: argparse.Namespace) -> RayCluster | None:
    """Return the cluster settings given on the command line; None if the study runs without Ray.
    PlanError for a malformed option, or one that needs --engine ray."""
    given = [name for name in ("address", "workers", "shards", "weights") if getattr(options, name)]
    if options.engine != "ray":
        if given:
            raise PlanError(f"--{given[0]} needs --engine ray; add it")
        return None
    weights = {}
    for pair in options.weights:
        judge, equals, path = pair.partition("=")
        if not equals:
            raise PlanError(f"--weights {pair!r}: expected JUDGE=PATH")
        weights[judge] = path
    from judges.bulk.ray_run import RayCluster  # imports pyarrow

    return RayCluster(options.address, max(0, options.workers), options.shards, weights)


def run_on_cluster_and_close_store(plan: Plan, store: Store, cluster: RayCluster) -> int:
    """Make the calls of a study's endpoint judges on Ray, print a summary and close the store;
    return exit code 0 only if no call is pending and none has the status `error`."""
    from judges.bulk.ray_run import run_on_ray

    began = time.monotonic()
    imported, stopped = run_on_ray(plan, store, cluster, on_progress=_make_progress_printer())
    name = plan.study.name
    counts = store.status_counts(name)
    spent = attempt_totals(store, name)
    print(
        f"{name}: {counts.pop('planned'):,} planned, {imported.stored:,} new in "
        f"{time.monotonic() - began:.0f} s, {imported.attempts:,} calls"
    )
    for status, n in counts.items():
        print(f"  {status:<11} {n:,}")
    unknown = sum(line.unknown for line in spent)
    more = f", plus {unknown:,} calls of unknown cost" if unknown else ""
    print(f"  dollars     {sum(line.cost for line in spent):.4f}{more}")
    for judge, reason in stopped.items():
        print(f"stopped: {judge}: {reason}", file=sys.stderr)
    if others := [j.name for j in plan.study.judges if j.kind != "endpoint"]:
        print(f"not run on Ray: {', '.join(others)}; run again without --engine ray")
    if plan.study.extraction and counts.get("unreadable"):
        print(
            "verdicts were not extracted from unreadable replies; to do so, run again without "
            "--engine ray"
        )
    store.close()
    return 1 if count_calls_left(counts) else 0


def _make_progress_printer() -> Callable[[ImportTally], None]:
    last = time.monotonic()

    def print_progress(imported: ImportTally) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            statuses = ", ".join(f"{n:,} {s}" for s, n in imported.by_status.most_common())
            cost = f"${imported.dollars:.4f}"
            print(f"{imported.stored:,} stored ({statuses}), {cost}", file=sys.stderr)

    return print_progress
