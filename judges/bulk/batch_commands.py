"""Commands `python -m judges {export,submit,collect,import}-batch`: run a study as batches."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2

from judges.bulk import batch_api, batch_files
from judges.judge_errors import PlanError
from judges.models.clients import find_api_key, tls_context
from judges.models.failures import classify_error
from judges.money.costs import require_prices_for_budget
from judges.planning.forecast import forecast_plan
from judges.planning.plan import Plan, make_plan, save_plan
from judges.security import endpoint_rules, key_consents, key_store
from studies.spec.study import load_study
from studies.store.queries.run_costs import study_spending
from studies.store.store import Store

if TYPE_CHECKING:
    import openai

OPENAI: Final = "https://api.openai.com"
NEEDED: Final = frozenset(
    ("host", "authorization", "content-type", "content-length", "transfer-encoding", "accept",
     "accept-encoding", "connection", "user-agent", "idempotency-key")
)  # fmt: skip


def add_batch_commands(commands: Any) -> None:
    for name, command, summary in (
        ("export-batch", export_batch_files, "write the pending calls as OpenAI Batch files"),
        (
            "submit-batch",
            submit_batch_files,
            "upload the files of a folder and create their batches",
        ),
        (
            "collect-batch",
            collect_finished_batches,
            "download the results of finished batches and store them",
        ),
        ("import-batch", import_batch_results, "store the output and error files of a batch"),
    ):
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.add_argument("study", type=Path, help="a study file (YAML)")
        if name == "import-batch":
            sub.add_argument(
                "files", type=Path, nargs="+", help="output and error files of the batches"
            )
        else:
            sub.add_argument("folder", type=Path, help="folder of the batch files")
        if name in ("collect-batch", "import-batch"):
            sub.add_argument(
                "--price-factor",
                type=_parse_price_factor,
                default=batch_files.BATCH_PRICE_FACTOR,
                help="price of batch calls as a share of the price of live calls; 0.5 is half",
            )
        if name == "collect-batch":
            sub.add_argument(
                "--wait", type=float, default=0.0, help="minutes to wait for the batches to finish"
            )
        if name in ("submit-batch", "collect-batch"):
            key_consents.add_allow_keys_option(sub)
        sub.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
        sub.set_defaults(command=command)


def _parse_price_factor(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(
            f"{text}: expected a factor for the price, 0 or more; 0.5 is half the price"
        )
    return value


def export_batch_files(options: argparse.Namespace) -> int:
    plan, store = _open_store_and_save_plan(options)
    files = batch_files.export_batch(plan, store, options.folder)
    for file in files:
        print(f"{file.path}: {file.lines:,} calls of {file.judge}, {file.bytes / 1e6:.1f} MB")
    if not files:
        print("no pending calls for an endpoint judge")
    store.close()
    return 0


def submit_batch_files(options: argparse.Namespace) -> int:
    plan, store = _open_store_and_save_plan(options)
    _check_budget_left(plan, store)
    key_consents.obtain_study_key_consents(plan.study, options)
    for judge, paths in batch_files.batch_files_by_judge(options.folder).items():
        with _open_judge_client(plan, judge, key_consents.user_consents()) as (client, _):
            _print_batches(batch_api.submit_batches(client, options.folder, paths))
    store.close()
    return 0


def _check_budget_left(plan: Plan, store: Store) -> None:
    """If the study has a budget, raise PlanError if a price is unknown or the forecast cost of the
    pending calls exceeds the rest of the budget. A submitted batch cannot be stopped when the
    budget is reached."""
    study = plan.study
    endpoints = tuple(judge for judge in study.judges if judge.kind == "endpoint")
    require_prices_for_budget(study.budget_usd, endpoints)
    if study.budget_usd is None:
        return
    pending = {
        ask.key
        for judge in endpoints
        for _, ask in store.pending_asks(study.name, judge.name, -1, 10**9)
    }
    forecast = batch_files.BATCH_PRICE_FACTOR * (forecast_plan(plan, pending).dollars or 0.0)
    left = study.budget_usd - study_spending(store, study.name)
    if forecast > left:
        raise PlanError(
            f"the pending calls will cost about ${forecast:.4f} as batches, but only "
            f"${max(0.0, left):.4f} of the budget of ${study.budget_usd:g} is left. Raise "
            "budget_usd, or use fewer items"
        )


def collect_finished_batches(options: argparse.Namespace) -> int:
    """Download the results of finished batches and store them; wait for the others, up to `--wait`
    minutes for each judge. Returns exit code 0 only if no call is pending."""
    plan, store = _open_store_and_save_plan(options)
    key_consents.obtain_study_key_consents(plan.study, options)
    found: list[Path] = []
    for judge, paths in batch_files.batch_files_by_judge(options.folder).items():
        names = {path.name for path in paths}
        with _open_judge_client(plan, judge, key_consents.user_consents()) as (client, key):
            found += batch_api.collect_batches(
                client,
                options.folder,
                names,
                wait=60 * options.wait,
                on_progress=_print_batches,
                mask=key.mask_whole_key_in_reply,
            )
    done = batch_files.import_batch(plan, store, found, price_factor=options.price_factor)
    return _print_import_and_close(done, plan, store)


def import_batch_results(options: argparse.Namespace) -> int:
    plan, store = _open_store_and_save_plan(options)
    done = batch_files.import_batch(plan, store, options.files, price_factor=options.price_factor)
    return _print_import_and_close(done, plan, store)


def _open_store_and_save_plan(options: argparse.Namespace) -> tuple[Plan, Store]:
    plan, store = make_plan(load_study(options.study)), Store(options.store)
    save_plan(plan, store)
    return plan, store


@contextlib.contextmanager
def _open_judge_client(
    plan: Plan, name: str, consents: key_consents.Consents
) -> Iterator[tuple[openai.OpenAI, key_store.SecretKey]]:
    """Context manager that yields a client of the endpoint of the judge `name`, and the judge's API
    key. PlanError if the study has no such judge, or if the key is missing or not allowed by
    `consents`; API errors in the block are raised as PlanError too."""
    import openai  # takes a second to import

    judge = next((judge for judge in plan.study.judges if judge.name == name), None)
    if judge is None:
        raise PlanError(
            f"the files are for the judge {name!r}, which this study no longer has; use the study "
            "file they were exported from"
        )
    endpoint_rules.check_url(judge.endpoint)
    secret = find_api_key(judge, {}, consents)  # masked in output as long as this object exists
    key = secret.read_and_keep_alive() or "none"
    client = openai.OpenAI(
        base_url=judge.endpoint,
        api_key=key,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            event_hooks={"request": [_make_header_rewriter(judge.endpoint, key)]},
            verify=tls_context(),
        ),
    )
    try:
        yield client, secret
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        fault = classify_error(error.__cause__ or error, judge.endpoint, key)
        raise PlanError(
            f"{name}, {fault.reason}: {fault.detail}. The folder records what was done; run "
            "the same command again to continue"
        ) from None


def _make_header_rewriter(endpoint: str, key: str) -> Callable[[httpx2.Request], None]:
    """Make a function that changes a request before it is sent: it removes every header that is not
    listed in NEEDED, and sets the API key. It does not change requests to OpenAI itself.

    Otherwise the client would send the values of OPENAI_ORG_ID, OPENAI_PROJECT_ID and
    OPENAI_CUSTOM_HEADERS to other providers too."""
    is_openai = key_consents.origin_of(endpoint) == OPENAI

    def strip_headers_and_set_key(request: httpx2.Request) -> None:
        if is_openai:
            return
        for name in [name for name in request.headers if name.lower() not in NEEDED]:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {key}"

    return strip_headers_and_set_key


def _print_batches(batches: dict[str, batch_api.SubmittedBatch]) -> None:
    for name, submitted in batches.items():
        counts = ", ".join(f"{n:,} {what}" for what, n in submitted.counts.items())
        print(f"{name}: {submitted.batch_id} {submitted.status} {counts}".rstrip())


def _print_import_and_close(done: batch_files.BatchImport, plan: Plan, store: Store) -> int:
    """Print a summary of the import and close the store; return exit code 0 if no call of the study
    is pending, else 1."""
    left = store.status_counts(plan.study.name).get("pending", 0)
    dollars = "unknown" if done.dollars is None else f"${done.dollars:.4f}"
    statuses = ", ".join(f"{n:,} {status}" for status, n in done.by_status.items())
    print(
        f"{done.stored:,} replies stored ({statuses or 'none'}), {done.already_answered:,} were "
        f"stored before, {done.unknown:,} do not belong to this study; cost {dollars}"
    )
    for why, n in done.pending.items():
        print(f"  {n:,} still pending: {why}")
    for where in done.unreadable_lines[:10]:
        print(f"  cannot be read as a line of a batch file: {where}", file=sys.stderr)
    print(f"  {left:,} calls left")
    store.close()
    return 1 if left else 0
