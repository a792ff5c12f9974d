"""The options of `python -m judges run` that carry a study out on a cluster."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from judges.bulk.ray_run import RayCluster, run_on_ray
from judges.engine.run_costs import attempt_totals
from judges.judge_errors import PlanError
from judges.planning.plan import Plan
from studies.exchange.shard_import import ShardImport
from studies.store.store import Store

ENGINES: Final = ("live", "ray")
PROGRESS_SECONDS: Final = 5.0


def add_cluster_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--engine", choices=ENGINES, default="live",
                     help="live: in this process; ray: a Ray Data pipeline")  # fmt: skip
    ray = sub.add_argument_group("with --engine ray")
    ray.add_argument("--address", default="", help="of a running cluster; default: a local Ray")
    ray.add_argument("--workers", type=int, default=0,
                     help="processes that ask; default: by the study's concurrency")  # fmt: skip
    ray.add_argument("--shards", type=Path, default=None,
                     help="a folder that all workers see; default: beside the store")  # fmt: skip
    ray.add_argument("--weights", metavar="JUDGE=PATH", action="append", default=[],
                     help="let workers run this judge's weights with vLLM (untested on "
                     "GPUs)")  # fmt: skip


def parse_cluster_options(options: argparse.Namespace) -> RayCluster | None:
    """None: the live engine, to which the other options mean nothing."""
    given = [name for name in ("address", "workers", "shards", "weights") if getattr(options, name)]
    if options.engine != "ray":
        if given:
            raise PlanError(f"--{given[0]} goes with --engine ray")
        return None
    weights = {}
    for pair in options.weights:
        judge, equals, path = pair.partition("=")
        if not equals:
            raise PlanError(f"--weights {pair!r}: expected JUDGE=PATH")
        weights[judge] = path
    return RayCluster(options.address, max(0, options.workers), options.shards, weights)


def run_on_cluster(plan: Plan, store: Store, cluster: RayCluster) -> int:
    """0 only if no ask is pending or ended in `error`."""
    began = time.monotonic()
    taken, stopped = run_on_ray(plan, store, cluster, told=_progress_printer())
    name = plan.study.name
    counts = store.counts(name)
    spent = attempt_totals(store, name)
    print(f"{name}: {counts.pop('planned'):,} planned, {taken.stored:,} new in "
          f"{time.monotonic() - began:.0f} s, {taken.attempts:,} calls")  # fmt: skip
    for status, n in counts.items():
        print(f"  {status:<11} {n:,}")
    unknown = sum(line.unknown for line in spent)
    more = f", and {unknown:,} calls whose cost is not known" if unknown else ""
    print(f"  dollars     {sum(line.cost for line in spent):.4f}{more}")
    for judge, reason in stopped.items():
        print(f"stopped: {judge}: {reason}", file=sys.stderr)
    if others := [j.name for j in plan.study.judges if j.kind != "endpoint"]:
        print(f"left to the live engine: {', '.join(others)}; run again without --engine ray")
    if plan.study.extraction and counts.get("unreadable"):
        print("unreadable replies are left to the live engine, which extracts their verdicts: "
              "run again without --engine ray")  # fmt: skip
    store.close()
    return 1 if counts.get("pending", 0) + counts.get("error", 0) else 0


def _progress_printer() -> Callable[[ShardImport], None]:
    last = time.monotonic()

    def tell(taken: ShardImport) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            told = ", ".join(f"{n:,} {status}" for status, n in taken.by_status.most_common())
            print(f"{taken.stored:,} stored ({told}), ${taken.dollars:.4f}", file=sys.stderr)

    return tell
