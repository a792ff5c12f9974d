"""Progress and summary of a run in a terminal: a progress bar if it is interactive, else plain
lines."""

import sys
import time
from collections.abc import Sequence
from typing import Final, TextIO

from judges.engine.run import Run
from judges.engine.snapshot import RunSnapshot
from studies.domain import STATUSES
from studies.store.queries.run_costs import AttemptTotals

BAR_WIDTH: Final = 30
PRINT_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 2.0
GIVE_UP_SECONDS: Final = 60.0
"""Seconds for which a run paused by failed writes is resumed repeatedly; then it is stopped."""


def supervise_run(run: Run, out: TextIO | None = None) -> RunSnapshot:
    """Print a run's progress until it ends, by default to the standard error output, and return its
    last snapshot. A paused run is resumed, or stopped if it stays paused (GIVE_UP_SECONDS). Ctrl-C
    stops the run, and replies in flight are still stored; a second Ctrl-C raises
    KeyboardInterrupt."""
    out = out or sys.stderr
    interactive = out.isatty()
    printed_at = time.monotonic()
    retrier = _PauseRetrier(run, out)
    stopping = False
    while not run.finished.is_set():
        try:
            run.wait(0.1 if interactive else 0.2)
            snapshot = run.snapshot()
            retrier.resume_or_stop_if_paused(snapshot)
            if interactive:
                out.write(f"\r\033[K{progress_bar(snapshot)}")
                out.flush()
            elif time.monotonic() - printed_at >= PRINT_SECONDS:
                printed_at = time.monotonic()
                print(progress_line(snapshot), file=out, flush=True)
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            run.stop()
            print("\nstopping: replies in flight are kept; Ctrl-C again drops them", file=out)
    if interactive:
        out.write("\r\033[K")
    return run.snapshot()


class _PauseRetrier:
    """Resumes a run that a failed write has paused, because a terminal has no resume button; stops
    the run if the pause lasts longer than GIVE_UP_SECONDS."""

    def __init__(self, run: Run, out: TextIO) -> None:
        self._run, self._out = run, out
        self._paused_since: float | None = None
        self._retried_at = 0.0

    def resume_or_stop_if_paused(self, snapshot: RunSnapshot) -> None:
        if snapshot.state != "paused":
            if (
                self._paused_since is not None
                and time.monotonic() - self._retried_at > RETRY_SECONDS
            ):
                self._paused_since = None
            return
        now = time.monotonic()
        if self._paused_since is None:
            self._paused_since = now
            print(f"\npaused: {snapshot.reason}; trying again", file=self._out, flush=True)
        if now - self._paused_since > GIVE_UP_SECONDS:
            self._run.stop()
        elif now - self._retried_at > RETRY_SECONDS:
            self._retried_at = now
            self._run.resume()


def progress_bar(snapshot: RunSnapshot) -> str:
    planned = max(1, snapshot.counts.get("planned", 0))
    filled = round(BAR_WIDTH * snapshot.done / planned)
    return f"[{'█' * filled}{'·' * (BAR_WIDTH - filled)}] {progress_line(snapshot)}"


def progress_line(snapshot: RunSnapshot) -> str:
    parts = [f"{snapshot.done:,} of {snapshot.counts.get('planned', 0):,}"]
    if snapshot.rate:
        parts.append(f"{snapshot.rate:.1f}/s")
    if snapshot.eta is not None:
        parts.append(f"{format_duration(snapshot.eta)} left")
    if snapshot.spent:
        parts.append(f"${snapshot.spent:.4f}")
    return ", ".join([*parts, *snapshot.wait_texts])


def run_summary(
    snapshot: RunSnapshot, tokens: tuple[int, int], ledger: Sequence[AttemptTotals] = ()
) -> str:
    """Return a summary of an ended run as text: calls planned and done, counts by status, tokens,
    dollars, seconds and failures. `tokens` are (sent, received). `ledger` has the totals of all
    attempts that the study's runs made; for each judge in it, a line is added."""
    by_status = [f"{s} {n:,}" for s in STATUSES if (n := snapshot.counts.get(s, 0))]
    seconds = (snapshot.ended or time.time()) - snapshot.started
    rows = [
        f"{snapshot.study}: {snapshot.state}{': ' + snapshot.reason if snapshot.reason else ''}",
        f"  planned {snapshot.counts.get('planned', 0):,}, done {snapshot.done:,}",
        f"  {', '.join(by_status) or 'no call made yet'}",
        f"  tokens {tokens[0]:,} in, {tokens[1]:,} out; {_format_spending(snapshot)} this run; "
        f"{seconds:.1f} s",
    ]
    rows += [
        f"  {failure.judge}: {failure.reason}, {failure.times:,} times: {failure.example}"
        for failure in snapshot.failures
    ]
    if snapshot.possibly_paid_twice:
        rows.append(
            f"  possibly paid twice: {snapshot.possibly_paid_twice:,} calls in flight when their "
            "process was killed"
        )
    return "\n".join([*rows, *_format_attempt_totals(ledger)])


def _format_spending(snapshot: RunSnapshot) -> str:
    dollars = f"${snapshot.spent:.4f}"
    if snapshot.unpriced:
        dollars += f" and {snapshot.unpriced:,} calls at an unknown price"
    if snapshot.unknown_usage:
        dollars += f" and {snapshot.unknown_usage:,} calls without token counts"
    return dollars


def _format_attempt_totals(ledger: Sequence[AttemptTotals]) -> list[str]:
    """Return one line per judge on all attempts of the study: counts by outcome, and dollars."""
    lines = []
    for judge in dict.fromkeys(totals.judge for totals in ledger):
        rows = [totals for totals in ledger if totals.judge == judge]
        outcomes = ", ".join(f"{totals.outcome} {totals.calls:,}" for totals in rows)
        unknown = sum(totals.unknown for totals in rows)
        dollars = f"${sum(totals.cost for totals in rows):.4f}"
        dollars += f", {unknown:,} calls at an unknown cost" if unknown else ""
        lines.append(f"  {judge}, all attempts so far: {outcomes}; {dollars}")
    return lines


def format_duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
