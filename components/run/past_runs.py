"""The list of past runs, and the details of one run."""

import time
from typing import Final

from components.html import pieces
from components.html.format import DASH, count, dollars, duration
from components.html.markup import EMPTY, Markup, fill, join
from components.html.tables.table import Cells, Table, TableCell
from components.run.failed_replies import html, unusable_replies_row_html
from studies.domain import STATUSES
from studies.store.queries import run_costs
from studies.store.store import Store, StoredRun

SCOPES: Final = ("This study", "All studies")
MAX_LISTED_RUNS: Final = 20
_STATE_BADGES: Final = {
    "done": ("s-ok", "\u2713"),
    "running": ("s-extracted", "\u25b8"),
    "paused": ("s-unreadable", "\u2016"),
    "stopped": ("s-truncated", "\u25a0"),
    "interrupted": ("s-unreadable", "\u21af"),
    "failed": ("s-error", "!"),
}
"""Badge colour and glyph of each run state."""


def runs_html(store: Store, name: str, scope: str, opened: str = "") -> Markup:
    """HTML list of the newest MAX_LISTED_RUNS runs of the study, or of all studies (`scope`),
    newest first; the run with the id `opened` is marked. A note if there are no runs."""
    runs = store.runs(name if scope == SCOPES[0] else None)
    if not runs:
        return pieces.empty_state(
            "No runs yet.", "Every run is listed here with its calls and costs."
        )
    shown = runs[:MAX_LISTED_RUNS]
    spent = run_costs.spending_by_run(store, [run.owner for run in shown])
    rows = [
        _run_row(run, spent.get(run.owner), with_study=scope != SCOPES[0], opened=run.id == opened)
        for run in shown
    ]
    more = count(len(runs) - MAX_LISTED_RUNS, "older run") if len(runs) > MAX_LISTED_RUNS else ""
    return pieces.wrap(html.runs(rows, more))


def _run_row(
    run: StoredRun, spent: run_costs.RunSpending | None, *, with_study: bool, opened: bool
) -> Markup:
    calls = (
        "no call" if spent is None else f"{count(spent.calls, 'attempt')}, {_cost_text(spent, run)}"
    )
    if run.state == "running":  # the list is not redrawn during a run
        calls = "in progress"
    go = pieces.Action("Close" if opened else "Open", {"close": 1} if opened else {"run": run.id})
    badge = _STATE_BADGES.get(run.state, ("s-unreadable", "?"))
    study, button = run.study if with_study else "", pieces.button_html(go, small=True)
    return html.run(run, badge, _start_time(run), calls, study, opened, button)


def _start_time(run: StoredRun) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))


def _cost_text(spent: run_costs.RunSpending, run: StoredRun) -> str:
    """Text on the cost of a run: "$1.20 so far" while it is active, then the dollars and how many
    attempts had an unknown price."""
    if run.state in ("running", "paused"):  # the cost of calls in flight is unknown
        return f"{dollars(spent.cost)} so far" if spent.cost else "so far"
    if spent.unknown == spent.calls:
        return "price unknown"
    if not spent.unknown:
        return dollars(spent.cost) if spent.cost else "$0"
    known = f"{dollars(spent.cost)} and " if spent.cost else ""
    return f"{known}{count(spent.unknown)} of them at an unknown price"


def run_html(store: Store, run_id: str, study: str) -> Markup:
    """HTML details of one run: state, reason, calls by outcome, failures; empty without an id, a
    notice if the store has no such run. `study`: the study now shown; only its judgements can be
    opened in Inspect."""
    if not run_id:
        return EMPTY
    run = next((run for run in store.runs() if run.id == run_id), None)
    if run is None:
        return pieces.notice_html(
            "warn", "No such run.", "This store has no run with this id. Choose one from the list."
        )
    mine = run_costs.attempt_totals_of_run(store, run.owner, run.study)
    title, totals = f"Run of {_start_time(run)}", f"{run.study}: {_run_totals_text(run, mine)}"
    parts = [
        pieces.panel_heading(title, totals),
        _run_state_notice(run, study),
        _calls_by_judge_table(mine, run),
        _failures_list(store, run, study),
    ]
    return pieces.wrap(fill('<div class="eh-run-open">{}</div>', join(parts)))


def _run_totals_text(run: StoredRun, totals: list[run_costs.AttemptTotals]) -> str:
    calls = sum(account.calls for account in totals)
    cost = run_costs.RunSpending(calls, sum(a.cost for a in totals), sum(a.unknown for a in totals))
    took = duration(run.ended - run.started) if run.ended is not None else "end not recorded"
    return f"{run.state}, {took}, {count(calls, 'attempt')}" + (
        f", {_cost_text(cost, run)}" if calls else ""
    )


def _run_state_notice(run: StoredRun, study: str) -> Markup:
    kind = {"failed": "bad", "interrupted": "warn"}.get(run.state, "calm")
    title = f"{run.state.capitalize()}."
    go = None if run.study == study else pieces.Action("Go to this study", {"study": run.study})
    next_step = {
        "interrupted": "The next run makes the missing calls.",
        "stopped": "The next run makes the missing calls.",
        "failed": "The replies of this run are stored; the next run makes the missing calls.",
        "done": "Every call has a stored reply or a stored error.",
    }.get(
        run.state,
        "Pause or stop this run on the Run tab of its study, in the process that started the run.",
    )
    text = ". ".join(part.rstrip(".") for part in (run.reason, next_step) if part) + "."
    return pieces.notice_html(kind, title, text, go)  # type: ignore[arg-type]


def _calls_by_judge_table(totals: list[run_costs.AttemptTotals], run: StoredRun) -> Markup:
    if not totals:
        return pieces.wrap(html.small("This run made no calls."))
    rows = []
    for judge in dict.fromkeys(account.judge for account in totals):
        own = [account for account in totals if account.judge == judge]
        whole = run_costs.RunSpending(
            *(sum(getattr(a, f) for a in own) for f in ("calls", "cost", "unknown"))
        )
        rows.append(
            [
                judge or DASH,
                join(_outcome_badge(a) for a in own),
                _token_text(own),
                _cost_text(whole, run),
            ]
        )
    columns: Cells = ["Judge", "Calls by outcome", TableCell("Tokens"), TableCell("Dollars")]
    return Table(columns, rows, "eh-tbl dense", box="eh-tbl-box eh-scroll").wrapped_html()


def _token_text(totals: list[run_costs.AttemptTotals]) -> str:
    """Text on the tokens of one judge's calls: input (with cached) and output (with reasoning)."""
    sent, cached, received, thought = (
        sum(values)
        for values in zip(
            *((a.prompt_tokens, a.cached_tokens, a.completion_tokens, a.reasoning_tokens)
              for a in totals),
            strict=True,
        )
    )  # fmt: skip
    sent_text = f"{count(sent)} in" + (f" ({count(cached)} cached)" if cached else "")
    return f"{sent_text}, {count(received)} out" + (
        f" ({count(thought)} reasoning)" if thought else ""
    )


def _outcome_badge(totals: run_costs.AttemptTotals) -> Markup:
    if totals.outcome in STATUSES:
        return pieces.status_badge(totals.outcome, totals.calls)
    words = "without an outcome" if totals.outcome == "unknown" else totals.outcome
    return fill(
        '<span class="eh-badge s-truncated">{} <b>{}</b></span>', words, count(totals.calls)
    )


def _failures_list(store: Store, run: StoredRun, study: str) -> Markup:
    failed = run_costs.failures_of_run(store, run.owner)
    if not failed:
        return EMPTY
    rows = [
        unusable_replies_row_html(
            kind.status,  # type: ignore[arg-type]
            kind.asks,
            store.judgement(run.study, kind.key),
            link_example=run.study == study,
            link_all=False,
        )
        for kind in failed
    ]
    head = "Failures of this run that no later call replaced"
    return pieces.wrap(html.failures(rows, head))
