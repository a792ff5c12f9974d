"""python -m judges {export,import,submit,collect}-batch: the same study, through batches."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import openai

from judges.bulk.batch_api import SubmittedBatch, collect_batches, submit_batches
from judges.bulk.batch_files import (
    BATCH_PRICE_FACTOR,
    BatchImport,
    batch_files_by_judge,
    export_batch,
    import_batch,
)
from judges.engine.run_costs import study_spending
from judges.judge_errors import PlanError
from judges.models.factory import find_api_key
from judges.models.failures import classify_error
from judges.money.costs import check_budget
from judges.planning.plan import Plan, make_forecast, make_plan, save_plan
from judges.security.consent_commands import add_allow_option, confirm
from judges.security.endpoint_rules import check_url
from judges.security.key_consents import Consents, consents_in, origin_of
from studies.spec.study import load_study
from studies.store.store import Store

OPENAI: Final = "https://api.openai.com"
NEEDED: Final = frozenset(
    ("host", "authorization", "content-type", "content-length", "transfer-encoding", "accept",
     "accept-encoding", "connection", "user-agent", "idempotency-key")
)  # fmt: skip


def add_batch_commands(commands: Any) -> None:
    for name, command, told in (
        ("export-batch", export_files, "write what is pending as OpenAI Batch files"),
        ("submit-batch", submit_files, "upload the files of a folder and create their batches"),
        ("collect-batch", collect_files, "fetch what is finished, and store it"),
        ("import-batch", import_files, "store the output and error files of a batch"),
    ):
        sub = commands.add_parser(name, help=told, description=told)
        sub.add_argument("study", type=Path, help="a study file (YAML)")
        if name == "import-batch":
            sub.add_argument("files", type=Path, nargs="+", help="output and error files")
        else:
            sub.add_argument("folder", type=Path, help="where the batch files are")
        if name in ("collect-batch", "import-batch"):
            sub.add_argument("--price-factor", type=_parse_price_factor, default=BATCH_PRICE_FACTOR,
                             help="what a batch costs of the price of live calls")  # fmt: skip
        if name == "collect-batch":
            sub.add_argument("--wait", type=float, default=0.0, help="minutes to go on looking")
        if name in ("submit-batch", "collect-batch"):
            add_allow_option(sub)
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)


def _parse_price_factor(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text} is no share of a price: 0.5 is half of it")
    return value


def export_files(options: argparse.Namespace) -> int:
    plan, store = _open_plan_and_store(options)
    files = export_batch(plan, store, options.folder)
    for file in files:
        print(f"{file.path}: {file.lines:,} asks of {file.judge}, {file.bytes / 1e6:.1f} MB")
    if not files:
        print("nothing is pending for an endpoint")
    store.close()
    return 0


def submit_files(options: argparse.Namespace) -> int:
    plan, store = _open_plan_and_store(options)
    _check_budget(plan, store)
    confirm(plan.study, store, options)
    for judge, paths in batch_files_by_judge(options.folder).items():
        with _judge_client(plan, judge, consents_in(store.folder)) as client:
            _print_batches(submit_batches(client, options.folder, paths))
    store.close()
    return 0


def _check_budget(plan: Plan, store: Store) -> None:
    """A batch cannot be stopped at a dollar, so what it will cost by the forecast is measured
    before it is sent."""
    study = plan.study
    endpoints = tuple(judge for judge in study.judges if judge.kind == "endpoint")
    check_budget(study.budget_usd, endpoints)
    if study.budget_usd is None:
        return
    pending = {
        ask.key for judge in endpoints
        for _, ask in store.pending_asks(study.name, judge.name, -1, 10**9)
    }  # fmt: skip
    about = BATCH_PRICE_FACTOR * (make_forecast(plan, pending).dollars or 0.0)
    left = study.budget_usd - study_spending(store, study.name)
    if about > left:
        raise PlanError(
            f"what is pending will cost about ${about:.4f} as batches, and ${max(0.0, left):.4f} "
            f"of the budget of ${study.budget_usd:g} is left: raise budget_usd, or take fewer items"
        )


def collect_files(options: argparse.Namespace) -> int:
    plan, store = _open_plan_and_store(options)
    confirm(plan.study, store, options)
    found: list[Path] = []
    for judge, paths in batch_files_by_judge(options.folder).items():
        names = {path.name for path in paths}
        with _judge_client(plan, judge, consents_in(store.folder)) as client:
            found += collect_batches(
                client, options.folder, names, wait=60 * options.wait, told=_print_batches
            )
    done = import_batch(plan, store, found, price_factor=options.price_factor)
    return _print_import_and_close(done, plan, store)


def import_files(options: argparse.Namespace) -> int:
    plan, store = _open_plan_and_store(options)
    done = import_batch(plan, store, options.files, price_factor=options.price_factor)
    return _print_import_and_close(done, plan, store)


def _open_plan_and_store(options: argparse.Namespace) -> tuple[Plan, Store]:
    plan, store = make_plan(load_study(options.study)), Store(options.store)
    save_plan(plan, store)
    return plan, store


@contextlib.contextmanager
def _judge_client(plan: Plan, name: str, consents: Consents) -> Iterator[openai.OpenAI]:
    """A client of one judge's endpoint; what the endpoint refuses is said in a line."""
    judge = next((judge for judge in plan.study.judges if judge.name == name), None)
    if judge is None:
        raise PlanError(f"the files are for {name!r}, which is no judge of this study any more")
    check_url(judge.endpoint)
    held = find_api_key(judge, {}, consents)  # while it is held, nothing that is printed shows it
    key = held.use() or "none"
    client = openai.OpenAI(
        base_url=judge.endpoint,
        api_key=key,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"request": [_header_filter(judge.endpoint, key)]}
        ),
    )
    try:
        yield client
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        fault = classify_error(error.__cause__ or error, judge.endpoint, key)
        raise PlanError(
            f"{name}, {fault.reason}: {fault.detail}; what was done is noted "
            "in the folder, the same command goes on from there"
        ) from None


def _header_filter(endpoint: str, key: str) -> Callable[[httpx2.Request], None]:
    """Reduce a request to the headers it needs, where the endpoint is not OpenAI's.

    The client adds OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS of the environment to
    every request, whatever its host.
    """
    own = origin_of(endpoint) == OPENAI

    def reduce(request: httpx2.Request) -> None:
        if own:
            return
        for name in [name for name in request.headers if name.lower() not in NEEDED]:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {key}"

    return reduce


def _print_batches(notes: dict[str, SubmittedBatch]) -> None:
    for name, note in notes.items():
        counts = ", ".join(f"{n:,} {what}" for what, n in note.counts.items())
        print(f"{name}: {note.batch_id} {note.status} {counts}".rstrip())


def _print_import_and_close(done: BatchImport, plan: Plan, store: Store) -> int:
    """0 only if nothing is left to ask."""
    left = store.counts(plan.study.name).get("pending", 0)
    dollars = "unknown" if done.dollars is None else f"${done.dollars:.4f}"
    told = ", ".join(f"{n:,} {status}" for status, n in done.by_status.items())
    print(f"{done.stored:,} stored ({told or 'none'}), {done.already_answered:,} were there, "
          f"{done.unknown:,} are of no ask of this study; {dollars}")  # fmt: skip
    for why, n in done.pending.items():
        print(f"  {n:,} stay pending: {why}")
    for where in done.unreadable_lines[:10]:
        print(f"  not a line of a batch: {where}", file=sys.stderr)
    print(f"  {left:,} left to ask")
    store.close()
    return 1 if left else 0
