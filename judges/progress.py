"""A run in words, for terminals: a bar where there is one, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Final, TextIO

from judges.accounts import Account
from judges.runs import Run, Snapshot
from studies.records import STATUSES

WIDTH: Final = 30
EVERY: Final = 5.0
TRY_AGAIN: Final = 2.0
GIVE_UP: Final = 60.0
"""Seconds for which a run that the store has paused is tried again: nobody may be watching."""


def follow(run: Run, out: TextIO = sys.stderr) -> Snapshot:
    """Shows a run until it ends; Ctrl-C stops it cleanly and keeps what is in flight."""
    interactive = out.isatty()
    told = time.monotonic()
    nurse = _Nurse(run, out)
    stopping = False
    while not run.finished.is_set():
        try:
            run.wait(0.1 if interactive else 0.2)
            snapshot = run.snapshot()
            nurse.look(snapshot)
            if interactive:
                out.write(f"\r\033[K{bar(snapshot)}")
                out.flush()
            elif time.monotonic() - told >= EVERY:
                told = time.monotonic()
                print(line(snapshot), file=out, flush=True)
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            run.stop()
            print("\nstopping: answers in flight are kept; Ctrl-C again drops them", file=out)
    if interactive:
        out.write("\r\033[K")
    return run.snapshot()


class _Nurse:
    """A run that cannot write its store pauses itself; without a page somebody must resume it."""

    def __init__(self, run: Run, out: TextIO) -> None:
        self._run, self._out = run, out
        self._since: float | None = None
        self._tried = 0.0

    def look(self, snapshot: Snapshot) -> None:
        if snapshot.state != "paused":
            if self._since is not None and time.monotonic() - self._tried > TRY_AGAIN:
                self._since = None
            return
        now = time.monotonic()
        if self._since is None:
            self._since = now
            print(f"\npaused: {snapshot.reason}; trying again", file=self._out, flush=True)
        if now - self._since > GIVE_UP:
            self._run.stop()
        elif now - self._tried > TRY_AGAIN:
            self._tried = now
            self._run.resume()


def bar(snapshot: Snapshot) -> str:
    planned = max(1, snapshot.counts.get("planned", 0))
    filled = round(WIDTH * snapshot.done / planned)
    return f"[{'█' * filled}{'·' * (WIDTH - filled)}] {line(snapshot)}"


def line(snapshot: Snapshot) -> str:
    parts = [f"{snapshot.done:,} of {snapshot.counts.get('planned', 0):,}"]
    if snapshot.rate:
        parts.append(f"{snapshot.rate:.1f}/s")
    if snapshot.eta is not None:
        parts.append(f"{duration(snapshot.eta)} left")
    if snapshot.spent:
        parts.append(f"${snapshot.spent:.4f}")
    return ", ".join([*parts, *snapshot.waiting])


def summary(snapshot: Snapshot, tokens: tuple[int, int], ledger: Sequence[Account] = ()) -> str:
    """The closing lines: planned, done, by status, tokens, dollars, seconds."""
    by_status = [f"{s} {n:,}" for s in STATUSES if (n := snapshot.counts.get(s, 0))]
    seconds = (snapshot.ended or time.time()) - snapshot.started
    rows = [
        f"{snapshot.study}: {snapshot.state}{': ' + snapshot.reason if snapshot.reason else ''}",
        f"  planned {snapshot.counts.get('planned', 0):,}, done {snapshot.done:,}",
        f"  {', '.join(by_status) or 'nothing asked yet'}",
        f"  tokens {tokens[0]:,} in, {tokens[1]:,} out; {_spent(snapshot)} this run; "
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
    return "\n".join([*rows, *_judge_lines(ledger)])


def _spent(snapshot: Snapshot) -> str:
    dollars = f"${snapshot.spent:.4f}"
    if snapshot.unpriced:
        dollars += f" and {snapshot.unpriced:,} calls at an unknown price"
    if snapshot.untold:
        dollars += f" and {snapshot.untold:,} calls that did not tell what they used"
    return dollars


def _judge_lines(ledger: Sequence[Account]) -> list[str]:
    """The ledger of the whole study, judge by judge: every attempt, by how it ended."""
    lines = []
    for judge in dict.fromkeys(account.judge for account in ledger):
        mine = [account for account in ledger if account.judge == judge]
        ways = ", ".join(f"{account.outcome} {account.calls:,}" for account in mine)
        cost = sum(account.cost for account in mine)
        unknown = sum(account.unknown for account in mine)
        known = f"${cost:.4f}" + (f", {unknown:,} calls at an unknown cost" if unknown else "")
        lines.append(f"  {judge}, all attempts so far: {ways}; {known}")
    return lines


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
